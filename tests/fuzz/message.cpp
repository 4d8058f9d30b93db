// Fuzz target: wire messages. An input is either raw bytes for the daemon's reader, or a recipe: which valid submission
// to start from, and patches to its bytes, so that mutation gets past the FlatBuffers verifier. Whatever the reader
// lets through must be well-formed, lower to kir that checks, and compile for both instruction sets.

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/ingest/ingest.h"
#include "jit/codegen/codegen.h"
#include "runtime/base/check.h"
#include "schemas/control_generated.h"

extern "C" const char* const fuzz_dictionary[] = {"TRDW", "\1\2\3\4", "\xff\xff\xff\xff", nullptr};

namespace {

using namespace trident;

/// Bytes aligned as the daemon's channel aligns them.
struct Message {
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)).first(size); }
};

Message aligned(const std::uint8_t* data, std::size_t size) {
  Message message{std::vector<std::uint64_t>(size / 8 + 1), size};
  if (size > 0) std::memcpy(message.words.data(), data, size);
  return message;
}

Message submission(const expr::Expr& expr) {
  std::vector<wire::Node> nodes;
  for (const expr::Node& n : expr.nodes)
    nodes.emplace_back(static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), std::uint16_t{0}, n.a.index,
                       n.b.index, n.c.index, n.imm);
  std::vector<wire::Variable> variables;
  for (const expr::Variable& v : expr.variables)
    variables.emplace_back(static_cast<std::uint8_t>(v.type), static_cast<std::uint8_t>(v.scalar), std::uint16_t{0},
                           std::uint32_t{0}, v.lo, v.hi);
  std::vector<std::uint32_t> outputs;
  for (const expr::Output& o : expr.outputs) outputs.push_back(o.node.index);
  flatbuffers::FlatBufferBuilder builder;
  const auto node_vector = builder.CreateVectorOfStructs(nodes);
  const auto variable_vector = builder.CreateVectorOfStructs(variables);
  const auto output_vector = builder.CreateVector(outputs);
  const auto body = wire::CreateSubmit(builder, 7, wire::Policy::bounded, 2, 4096, node_vector, variable_vector,
                                       output_vector, false);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::Submit, body.Union()));
  return aligned(builder.GetBufferPointer(), builder.GetSize());
}

std::vector<Message> valid_submissions() {
  std::vector<Message> messages;
  for (const char* text :
       {"x", "x*x + 1", "sin(x)^2 + cos(x)*exp(-y)", "x < y ? sqrt(abs(x)) : log(y)", "sqrt(sum(x*x)) + mean(y)",
        "pow(x, y) - tanh(z)", "f32(x) + 1", "(i:i64 << 3) ^^ (j:i64 & 255)", "min(x, max(y, floor(z)))",
        "atan2(y, x) * hypot(x, y)", "fmod(x, y) + round(z)", "grad(x*y*exp(z); x, y, z)"}) {
    const Result<expr::Expr> parsed = expr::parse(text);
    CHECK(parsed.ok());
    const Result<expr::Expr> plain = expr::eliminate_derivatives(*parsed);
    CHECK(plain.ok());
    messages.push_back(submission(*plain));
  }
  return messages;
}

void compile(const expr::Expr& expr) {
  CHECK(expr::check(expr).ok());
  expr::LowerOptions options;
  options.simplify = false;
  const Result<kir::Kernel> kernel = expr::lower(expr, options);
  if (!kernel.ok()) return;
  CHECK(kir::check(*kernel).ok());
  for (const codegen::Isa isa : {codegen::Isa::avx2, codegen::Isa::avx512}) {
    const Result<codegen::MachineCode> code = codegen::emit(*kernel, isa, {.schedule = false});
    CHECK(code.ok() || !code.error().message.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Message> kValid = valid_submissions();
  if (size == 0) return 0;
  Message message;
  if (data[0] % 4 == 0) {
    message = aligned(data + 1, size - 1);
  } else {
    message = kValid[data[0] / 4 % kValid.size()];
    for (std::size_t i = 1; i + 2 < size && i < 64; i += 3) {
      const std::size_t at = (data[i] | std::size_t{data[i + 1]} << 8) % message.size;
      message.bytes()[at] = std::byte{data[i + 2]};
    }
    if (size % 16 == 0) message.size -= data[size - 1] % message.size;
  }
  const Result<ingest::Request> request = ingest::read(message.bytes());
  if (!request.ok()) return 0;
  if (const auto* submit = std::get_if<ingest::Submit>(&*request); submit != nullptr && submit->work.ok())
    compile(submit->work->expr);
  return 0;
}
