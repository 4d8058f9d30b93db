#include "daemon/ingest/ingest.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "jit/tir/build/runs.h"
#include "runtime/base/limits.h"
#include "runtime/base/submission_limits.h"
#include "schemas/control_generated.h"
#include "schemas/function_image.h"
#include "schemas/loop_image.h"

namespace trident::ingest {
namespace {

constexpr flatbuffers::uoffset_t kVerifierDepthMax = 8;
constexpr flatbuffers::uoffset_t kVerifierTablesMax = 32;
constexpr std::uint32_t kAbsent = Id<expr::NodeTag>::kNoIndex;

// The wire's structs and enums are the table's: a change of one must be a change of both.
static_assert(sizeof(wire::Node) == 24);
static_assert(sizeof(wire::Variable) == 24);
static_assert(static_cast<int>(wire::Policy::exact) == static_cast<int>(expr::PolicyKind::exact));
static_assert(static_cast<int>(wire::Policy::bounded) == static_cast<int>(expr::PolicyKind::bounded));
static_assert(static_cast<int>(wire::Policy::fast) == static_cast<int>(expr::PolicyKind::fast));

Error refused(const char* what, std::uint32_t index) {
  return make_error(ErrorCode::kRejectedMessage, "%s (number %u)", what, index);
}

/// The verifier of FlatBuffers 2.0 checks the place of a vector's length, not of its elements, which may need more.
template <class T>
bool is_aligned(const flatbuffers::Vector<const T*>* elements) {
  return elements == nullptr || reinterpret_cast<std::uintptr_t>(elements->Data()) % alignof(T) == 0;
}

bool is_type(std::uint8_t type) {
  return type <= static_cast<std::uint8_t>(ir::Type::b64);
}

/// Operands that the op has lie below the node; the others are absent.
bool operands_fit(std::uint32_t index, unsigned arity, const std::uint32_t (&operands)[3]) {
  for (unsigned i = 0; i < 3; ++i)
    if (i < arity ? operands[i] >= index : operands[i] != kAbsent) return false;
  return true;
}

Result<expr::Node> read_node(const wire::Node& in, std::uint32_t index, std::size_t variables) {
  if (in.op() >= expr::kOpCount) return refused("unknown op of node", index);
  if (!is_type(in.type())) return refused("unknown type of node", index);
  const auto op = static_cast<expr::Op>(in.op());
  if (!operands_fit(index, expr::info(op).arity, {in.a(), in.b(), in.c()}))
    return refused("invalid operands of node", index);
  if (op == expr::Op::Variable && in.imm() >= variables) return refused("unknown variable of node", index);
  expr::Node node;
  node.op = op;
  node.type = static_cast<ir::Type>(in.type());
  node.a = expr::NodeId(in.a());
  node.b = expr::NodeId(in.b());
  node.c = expr::NodeId(in.c());
  node.imm = in.imm();
  return node;
}

Result<expr::Variable> read_variable(const wire::Variable& in, std::uint32_t index) {
  const std::optional<ir::Element> element = ir::element_of_number(in.type());
  if (!element) return refused("unknown type of variable", index);
  if (in.scalar() > static_cast<std::uint8_t>(expr::VariableKind::table))
    return refused("unknown kind of variable", index);
  if (std::isnan(in.lo()) || std::isnan(in.hi()) || in.lo() > in.hi())
    return refused("invalid range of variable", index);
  expr::Variable variable;
  variable.name = "v" + std::to_string(index);  // names do not travel: they mean nothing to a kernel
  variable.type = element->type;
  variable.storage = element->storage;
  variable.kind = static_cast<expr::VariableKind>(in.scalar());
  variable.lo = in.lo();
  variable.hi = in.hi();
  return variable;
}

Result<expr::Expr> read_expr(const wire::Submit& in) {
  if (in.nodes() == nullptr || in.outputs() == nullptr)
    return make_error(ErrorCode::kRejectedMessage, "the submission has no nodes or no outputs");
  if (!is_aligned(in.nodes()) || !is_aligned(in.variables()))
    return make_error(ErrorCode::kRejectedMessage, "nodes or variables are not aligned");
  const std::uint32_t variables = in.variables() != nullptr ? in.variables()->size() : 0;
  if (in.nodes()->size() > limits::kExprNodesMax || variables > limits::kInputsMax ||
      in.outputs()->size() > limits::kOutputsMax)
    return make_error(ErrorCode::kLimitExceeded,
                      "%u operations, inputs and constants (at most %u), %u variables (%u), %u outputs (%u)",
                      in.nodes()->size(), limits::kExprNodesMax, variables, limits::kInputsMax, in.outputs()->size(),
                      limits::kOutputsMax);
  expr::Expr expr;
  expr.variables.reserve(variables);
  for (std::uint32_t i = 0; i < variables; ++i) {
    TRY(expr::Variable variable, read_variable(*in.variables()->Get(i), i));
    expr.variables.push_back(std::move(variable));
  }
  expr.nodes.reserve(in.nodes()->size());
  for (std::uint32_t i = 0; i < in.nodes()->size(); ++i) {
    TRY(const expr::Node node, read_node(*in.nodes()->Get(i), i, variables));
    expr.nodes.push_back(node);
  }
  expr.outputs.reserve(in.outputs()->size());
  for (std::uint32_t i = 0; i < in.outputs()->size(); ++i) {
    std::optional<expr::Output> output = expr::output_of_word("o" + std::to_string(i), in.outputs()->Get(i));
    if (!output || output->node.index >= in.nodes()->size()) return refused("unknown node of output", i);
    expr.outputs.push_back(std::move(*output));
  }
  TRY_VOID(expr::check(expr));
  return expr;
}

Result<Work> read_work(const wire::Submit& in) {
  const auto policy = static_cast<std::uint8_t>(in.policy());
  if (policy > static_cast<std::uint8_t>(expr::PolicyKind::fast))
    return make_error(ErrorCode::kRejectedMessage, "unknown policy %u", unsigned{policy});
  if (!(in.k() >= limits::kPolicyKMin && in.k() <= limits::kPolicyKMax))
    return make_error(ErrorCode::kRejectedMessage, "the policy's k is outside %g..%g", limits::kPolicyKMin,
                      limits::kPolicyKMax);
  if (in.elements() == 0 || in.elements() > limits::kElementsHintMax)
    return make_error(ErrorCode::kRejectedMessage, "the number of elements is outside 1..%u", limits::kElementsHintMax);
  Work work;
  TRY(work.expr, read_expr(in));
  work.policy.kind = static_cast<expr::PolicyKind>(policy);
  work.policy.k = in.k();
  work.elements = in.elements();
  return work;
}

using Words = flatbuffers::Vector<std::uint64_t>;

Result<std::vector<field::Element>> read_elements(const Words* in, const char* what) {
  std::vector<field::Element> out;
  if (in == nullptr) return out;
  out.reserve(in->size());
  for (std::uint32_t i = 0; i < in->size(); ++i) {
    if (in->Get(i) >= field::kModulus)
      return make_error(ErrorCode::kRejectedMessage, "%s: word %u is not below p = 2^64 - 2^32 + 1", what, i);
    out.push_back(field::Element::canonical(in->Get(i)));
  }
  return out;
}

Result<tir::build::Run> read_run(const wire::SubmitProgram& in) {
  tir::build::Run out;
  TRY(out.public_input, read_elements(in.public_input(), "public input"));
  TRY(out.secret_input, read_elements(in.secret_input(), "secret input"));
  TRY(const std::vector<field::Element> digests, read_elements(in.secret_digests(), "secret digests"));
  TRY(const std::vector<field::Element> ram, read_elements(in.ram(), "RAM"));
  if (digests.size() % field::kDigestWords != 0 || ram.size() % 2 != 0)
    return make_error(ErrorCode::kRejectedMessage,
                      "a digest has five words, and each entry of RAM an address and a word");
  out.secret_digests.resize(digests.size() / field::kDigestWords);
  for (std::size_t i = 0; i < digests.size(); ++i)
    out.secret_digests[i / field::kDigestWords][i % field::kDigestWords] = digests[i];
  for (std::size_t i = 0; i < ram.size(); i += 2) out.ram.emplace_back(ram[i], ram[i + 1]);
  return out;
}

Result<tir::build::Request> read_program(const wire::SubmitProgram& in) {
  if (in.text() == nullptr) return make_error(ErrorCode::kRejectedMessage, "the program has no text");
  if (in.form() != wire::ProgramForm::tasm && in.form() != wire::ProgramForm::tir)
    return make_error(ErrorCode::kRejectedMessage, "the program's form is neither TASM nor TIR");
  if (in.milliseconds() > limits::kBuildMillisecondsMax || in.programs() > limits::kBuildProgramsMax ||
      in.cycles() > limits::kVmCycles)
    return make_error(ErrorCode::kLimitExceeded, "at most %u milliseconds, %u programs and %llu cycles",
                      limits::kBuildMillisecondsMax, limits::kBuildProgramsMax,
                      static_cast<unsigned long long>(limits::kVmCycles));
  tir::build::Request out;
  out.form = in.form() == wire::ProgramForm::tir ? tir::build::Form::tir : tir::build::Form::tasm;
  out.text = in.text()->str();
  TRY(out.runs[0], read_run(in));
  if (in.runs() != nullptr) {
    TRY(std::vector<tir::build::Run> more, tir::build::runs_of({in.runs()->data(), in.runs()->size()}));
    std::move(more.begin(), more.end(), std::back_inserter(out.runs));
  }
  if (in.cycles() != 0) out.cycles = in.cycles();
  out.milliseconds = in.milliseconds();
  out.programs = in.programs();
  out.left_out = in.left_out();
  return out;
}

Result<LoopWork> read_loop(const wire::SubmitLoop& in) {
  constexpr std::uint64_t kInstructionBytes = 4;
  const auto refused_code = [](const char* why) {
    return make_error(ErrorCode::kRejectedMessage, "the loop's code %s", why);
  };
  if (in.guest() != TRIDENT_GUEST_AARCH64)
    return make_error(ErrorCode::kUnsupported, "guest %u is not known to this daemon: 1 is AArch64", in.guest());
  const std::uint64_t size = in.code() == nullptr ? 0 : in.code()->size();
  if (size == 0) return refused_code("is empty");
  if (size > TRIDENT_LOOP_CODE_BYTES_MAX)
    return make_error(ErrorCode::kLimitExceeded, "the loop's code has %llu bytes, at most %u are taken",
                      static_cast<unsigned long long>(size), TRIDENT_LOOP_CODE_BYTES_MAX);
  if (in.code_base() + (size - 1) < in.code_base()) return refused_code("wraps around");
  if ((in.code_base() | in.head() | size) % kInstructionBytes != 0) return refused_code("is not of whole instructions");
  if (in.head() - in.code_base() >= size) return refused_code("does not have the head");
  const auto* first = reinterpret_cast<const std::byte*>(in.code()->data());
  return LoopWork{static_cast<std::uint8_t>(in.guest()), in.head(), in.code_base(), {first, first + size}, in.joined()};
}

std::string_view view_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

Result<FunctionWork> read_function(const wire::SubmitFunction& in) {
  const std::string_view text = view_of(in.text()), calls = view_of(in.calls());
  if (text.empty()) return make_error(ErrorCode::kRejectedMessage, "the function has no text");
  if (text.size() + calls.size() > TRIDENT_FUNCTION_TEXT_BYTES_MAX)
    return make_error(ErrorCode::kLimitExceeded, "the function's texts have %zu bytes, at most %u are taken",
                      text.size() + calls.size(), TRIDENT_FUNCTION_TEXT_BYTES_MAX);
  return FunctionWork{std::string(text), std::string(calls)};
}

Observed read_observed(const wire::Observed& in) {
  Observed out{in.job(), {}, in.misses()};
  if (in.ranges() == nullptr || !is_aligned(in.ranges())) return out;
  for (std::uint32_t i = 0; i < std::min(in.ranges()->size(), limits::kInputsMax); ++i)
    out.ranges.push_back({in.ranges()->Get(i)->lo(), in.ranges()->Get(i)->hi()});
  const std::size_t flags = in.or_nan() == nullptr ? 0 : in.or_nan()->size();
  for (std::uint32_t i = 0; i < std::min(out.ranges.size(), flags); ++i)
    out.ranges[i].or_nan = in.or_nan()->Get(i) != 0;
  return out;
}

}  // namespace

Result<Request> read(std::span<const std::byte> message) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(message.data()), message.size(),
                                 kVerifierDepthMax, kVerifierTablesMax);
  if (!wire::VerifyMessageBuffer(verifier))
    return make_error(ErrorCode::kRejectedMessage, "its %zu-byte message is not a valid flatbuffer", message.size());
  const wire::Message& root = *wire::GetMessage(message.data());
  if (root.body() == nullptr) return Request(Unknown{});
  switch (root.body_type()) {
    case wire::Body::Hello: {
      const wire::Hello& in = *root.body_as_Hello();
      return Request(Hello{in.version_min(), in.version_max(), in.isa(), in.features()});
    }
    case wire::Body::Submit: {
      const wire::Submit& in = *root.body_as_Submit();
      return Request(Submit{in.job(), in.inline_images(), read_work(in)});
    }
    case wire::Body::SubmitProgram: {
      const wire::SubmitProgram& in = *root.body_as_SubmitProgram();
      return Request(SubmitProgram{in.job(), read_program(in)});
    }
    case wire::Body::SubmitLoop: {
      const wire::SubmitLoop& in = *root.body_as_SubmitLoop();
      return Request(SubmitLoop{in.job(), in.inline_images(), read_loop(in)});
    }
    case wire::Body::SubmitFunction: {
      const wire::SubmitFunction& in = *root.body_as_SubmitFunction();
      return Request(SubmitFunction{in.job(), in.inline_images(), read_function(in)});
    }
    case wire::Body::LoopSeen: {
      const wire::LoopSeen& in = *root.body_as_LoopSeen();
      return Request(LoopSeen{in.job(), in.entries(), in.iterations(), in.guest_ns(), in.kernel_ns()});
    }
    case wire::Body::Observed: return Request(read_observed(*root.body_as_Observed()));
    case wire::Body::Called: return Request(Called{root.body_as_Called()->job(), root.body_as_Called()->weight()});
    case wire::Body::Cancel: return Request(Cancel{root.body_as_Cancel()->job()});
    case wire::Body::StatsRequest: return Request(StatsRequest{root.body_as_StatsRequest()->request()});
    case wire::Body::Welcome:
    case wire::Body::Accepted:
    case wire::Body::Progress:
    case wire::Body::KernelReady:
    case wire::Body::Revoke:
    case wire::Body::Done:
    case wire::Body::Failure:
    case wire::Body::Stats:
    case wire::Body::ProgramReady:
    case wire::Body::LoopRefused:
      return make_error(ErrorCode::kRejectedMessage, "a client sent a message that only a daemon may send");
    case wire::Body::NONE: break;
  }
  return Request(Unknown{});
}

}  // namespace trident::ingest
