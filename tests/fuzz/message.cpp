// Fuzz target: wire messages for the daemon's reader. An input is raw bytes, or a recipe that gets past the FlatBuffers
// verifier: which valid submission to start from, and patches to its bytes or to the fields of its nodes. Whatever the
// reader lets through must be well-formed, lower to kir that checks, compile for every instruction set, and there give
// the interpreter's bits (value_oracle.h). session_campaign.cpp sends messages to a whole daemon.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "daemon/ingest/ingest.h"
#include "runtime/base/check.h"
#include "schemas/control_generated.h"
#include "schemas/function_image.h"
#include "schemas/loop_image.h"
#include "tests/fuzz/value_oracle.h"

extern "C" {
extern const bool fuzz_is_text = false;
std::uint64_t fuzz_accepted = 0;
}
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
    variables.emplace_back(static_cast<std::uint8_t>(v.type), static_cast<std::uint8_t>(v.kind), std::uint16_t{0},
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

/// A loop whose numbers and code are the input's.
Message loop_submission(std::span<const std::uint8_t> input) {
  std::uint64_t numbers[3] = {};
  const std::size_t taken = std::min(input.size(), sizeof numbers);
  std::memcpy(numbers, input.data(), taken);
  const auto code = input.subspan(taken);
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = builder.CreateVector(code.data(), code.size());
  // Most are near each other, as they must be.
  const std::uint64_t base = numbers[0] % 2 == 0 ? (numbers[1] - numbers[2] % 64) & ~std::uint64_t{3} : numbers[2];
  const auto body = wire::CreateSubmitLoop(builder, 7, static_cast<std::uint16_t>(1 + numbers[0] % 256 / 250),
                                           numbers[1], base, bytes, false);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::SubmitLoop, body.Union()));
  return aligned(builder.GetBufferPointer(), builder.GetSize());
}

/// A function whose texts are the input's.
Message function_submission(std::span<const std::uint8_t> input) {
  const std::size_t cut = input.empty() ? 0 : input[0] % input.size();
  const auto text_of = [](std::span<const std::uint8_t> bytes) { return std::string(bytes.begin(), bytes.end()); };
  std::string text = text_of(input.subspan(cut)), calls = text_of(input.first(cut));
  if (input.size() % 32 == 0) calls.resize(TRIDENT_FUNCTION_TEXT_BYTES_MAX);
  flatbuffers::FlatBufferBuilder builder;
  const auto text_at = builder.CreateString(text), calls_at = builder.CreateString(calls);
  const auto body = wire::CreateSubmitFunction(builder, 7, text_at, calls_at, false);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::SubmitFunction, body.Union()));
  return aligned(builder.GetBufferPointer(), builder.GetSize());
}

void check_function(const ingest::FunctionWork& work) {
  CHECK(!work.text.empty() && work.text.size() + work.calls.size() <= TRIDENT_FUNCTION_TEXT_BYTES_MAX);
}

/// Everybody behind the reader relies on these.
void check_loop(const ingest::LoopWork& loop) {
  CHECK(loop.guest == TRIDENT_GUEST_AARCH64);
  CHECK(!loop.code.empty() && loop.code.size() <= TRIDENT_LOOP_CODE_BYTES_MAX && loop.code.size() % 4 == 0);
  CHECK(loop.head % 4 == 0 && loop.head >= loop.code_base && loop.head - loop.code_base < loop.code.size());
}

std::vector<expr::Expr> valid_expressions() {
  std::vector<expr::Expr> expressions;
  for (const char* text :
       {"x", "x*x + 1", "sin(x)^2 + cos(x)*exp(-y)", "x < y ? sqrt(abs(x)) : log(y)", "sqrt(sum(x*x)) + mean(y)",
        "pow(x, y) - tanh(z)", "f32(x) + 1", "(i:i64 << 3) ^^ (j:i64 & 255)", "min(x, max(y, floor(z)))",
        "atan2(y, x) * hypot(x, y)", "fmod(x, y) + round(z)", "grad(x*y*exp(z); x, y, z)"}) {
    const Result<expr::Expr> parsed = expr::parse(text);
    CHECK(parsed.ok());
    const Result<expr::Expr> plain = expr::eliminate_derivatives(*parsed);
    CHECK(plain.ok());
    expressions.push_back(*plain);
  }
  return expressions;
}

/// The first op from `from` on (cyclically) that takes and gives what `like` does.
expr::Op similar_op(expr::Op like, std::uint8_t from) {
  for (std::uint32_t i = 0; i < expr::kOpCount; ++i) {
    const auto op = static_cast<expr::Op>((from + i) % expr::kOpCount);
    if (expr::info(op).arity == expr::info(like).arity && expr::info(op).signature == expr::info(like).signature)
      return op;
  }
  return like;
}

/// Up to three patches of three bytes: a node, one of its fields, a value. Most are plausible, some are not.
Message with_patched_nodes(expr::Expr e, std::span<const std::uint8_t> patches) {
  const std::size_t count = patches.empty() ? 0 : 1 + patches[0] % 3;
  for (std::size_t i = 0; i < count && 3 * i + 3 < patches.size(); ++i) {
    const std::uint8_t field = patches[3 * i + 2], value = patches[3 * i + 3];
    const std::size_t index = patches[3 * i + 1] % e.nodes.size();
    expr::Node& node = e.nodes[index];
    const auto below = static_cast<std::uint32_t>(value % (index + 1));
    switch (field % 8) {
      case 0: node.op = static_cast<expr::Op>(value % (expr::kOpCount + 1)); break;
      case 1: node.type = static_cast<expr::Type>(value % 7); break;
      case 2: node.a.index = below; break;
      case 3: node.b.index = below; break;
      case 4: node.c.index = below; break;
      case 5: node.imm = value < 128 ? value : std::uint64_t{value} << (value % 64); break;
      default: node.op = similar_op(node.op, value);
    }
  }
  return submission(e);
}

void compile(const expr::Expr& expr) {
  CHECK(expr::check(expr).ok());
  const Result<kir::Kernel> kernel =
      expr::lower(expr, {.policy = {expr::PolicyKind::exact}, .simplify = false});  // as the baseline tier does
  if (!kernel.ok()) return;
  CHECK(kir::check(*kernel).ok());
  fuzz::check_code(expr, *kernel, fuzz_accepted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<expr::Expr> kValid = valid_expressions();
  if (size == 0) return 0;
  const expr::Expr& start = kValid[data[0] / 8 % kValid.size()];
  Message message;
  switch (data[0] % 8) {
    case 0: message = aligned(data + 1, size - 1); break;
    case 1:
    case 2:
      message = submission(start);
      for (std::size_t i = 1; i + 2 < size && i < 64; i += 3) {
        const std::size_t at = (data[i] | std::size_t{data[i + 1]} << 8) % message.size;
        message.bytes()[at] = std::byte{data[i + 2]};
      }
      if (size % 16 == 0) message.size -= data[size - 1] % message.size;
      break;
    case 3:
      message = data[0] < 128 ? loop_submission({data + 1, size - 1}) : function_submission({data + 1, size - 1});
      break;
    default: message = with_patched_nodes(start, {data + 1, size - 1});
  }
  const Result<ingest::Request> request = ingest::read(message.bytes());
  if (!request.ok()) return 0;
  if (const auto* function = std::get_if<ingest::SubmitFunction>(&*request); function != nullptr && function->work.ok())
    check_function(*function->work);
  if (const auto* loop = std::get_if<ingest::SubmitLoop>(&*request); loop != nullptr && loop->work.ok())
    check_loop(*loop->work);
  if (const auto* submit = std::get_if<ingest::Submit>(&*request); submit != nullptr && submit->work.ok()) {
    ++fuzz_accepted;
    compile(submit->work->expr);
  }
  return 0;
}
