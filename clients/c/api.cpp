// The ABI edge: arguments are checked, structs of older callers are widened, errors become a status and a text, and no
// exception passes (the only one there is, bad_alloc, becomes TRIDENT_E_MEMORY).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "clients/c/abi_edge.h"
#include "clients/c/context.h"
#include "clients/c/divided_call.h"
#include "clients/c/function.h"
#include "clients/c/function_api.h"
#include "clients/c/kernel.h"
#include "clients/c/peer.h"
#include "clients/c/strided_call.h"
#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "runtime/base/limits.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/cpu_quota.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::Result;
using trident::client::FunctionHandle;
using trident::client::guarded;
using trident::client::Handle;
using trident::client::invalid;
using trident::client::Kernel;
using trident::client::narrowed;
using trident::client::Settings;
using trident::client::widened;
namespace expr = trident::expr;

/// Expressions with more nodes are lowered in trident_submit, so that a limit they break is reported there; smaller
/// ones cannot reach limits::kKirInstsMax.
constexpr std::size_t kLazyNodesMax = 256;

Error unknown_word(const char* variable, std::string_view value, const char* expected) {
  return trident::make_error(ErrorCode::kInvalidArgument, "%s is '%s': expected %s", variable,
                             std::string(value).c_str(), expected);
}

/// Refuses words in the environment that would be passed over; a setuid program passes over all of them.
Result<void> check_environment() {
  const auto value_of = [](const char* variable) {
    const char* text = ::secure_getenv(variable);
    return std::string_view(text != nullptr ? text : "");
  };
  const std::string_view isa = value_of("TRIDENT_ISA"), required = value_of("TRIDENT_REQUIRE_DAEMON");
#if defined(__aarch64__)
  constexpr std::string_view kIsas[] = {"", "auto", "none", "neon"}, kChoice = "auto, none or neon on this processor";
#else
  constexpr std::string_view kIsas[] = {"", "auto", "none", "avx2", "avx512"},
                             kChoice = "auto, none, avx2 or avx512 on this processor";
#endif
  if (std::find(std::begin(kIsas), std::end(kIsas), isa) == std::end(kIsas))
    return unknown_word("TRIDENT_ISA", isa, std::string(kChoice).c_str());
  if (!required.empty() && required != "0" && required != "1")
    return unknown_word("TRIDENT_REQUIRE_DAEMON", required, "0 or 1");
  const std::string_view speculate = value_of("TRIDENT_SPECULATE");
  if (!speculate.empty() && speculate != "0" && speculate != "1")
    return unknown_word("TRIDENT_SPECULATE", speculate, "0 or 1");
  const std::string_view user = value_of("TRIDENT_TRUSTED_UID");
  const bool digits = std::all_of(user.begin(), user.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || user.size() > 10) return unknown_word("TRIDENT_TRUSTED_UID", user, "the number of a user");
  return {};
}

/// Threads of a call that does not say; 0 is the environment's number, or else all that there are.
Result<unsigned> threads_of(std::uint32_t option, unsigned all) {
  if (option > trident::client::kTeamMax) return invalid("trident_options.threads is more than 64");
  if (option != 0) return std::min(option, all);
  const char* text = ::secure_getenv("TRIDENT_NUM_THREADS");
  if (text == nullptr || *text == '\0') return all;
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(text, text + std::strlen(text), number);
  const bool is_great = problem == std::errc::result_out_of_range && *text != '-';  // set for a larger machine, maybe
  if ((problem != std::errc() && !is_great) || *end != '\0' || (number == 0 && !is_great))
    return unknown_word("TRIDENT_NUM_THREADS", text, "a number from 1 on");
  return is_great ? all : std::min(number, all);
}

Result<trident_mode> mode_of(std::uint32_t option) {
  if (option > TRIDENT_MODE_INTERP) return invalid("trident_options.mode is none of TRIDENT_MODE_...");
  if (trident::client::is_privileged_process()) return TRIDENT_MODE_INTERP;
  if (option != TRIDENT_MODE_AUTO) return static_cast<trident_mode>(option);
  const char* text = ::secure_getenv("TRIDENT_MODE");
  const std::string_view name = text != nullptr ? text : "";
  if (name == "daemon") return TRIDENT_MODE_DAEMON;
  if (name == "embedded") return TRIDENT_MODE_EMBEDDED;
  if (name == "interp") return TRIDENT_MODE_INTERP;
  if (!name.empty() && name != "auto") return unknown_word("TRIDENT_MODE", name, "auto, daemon, embedded or interp");
  const char* required = ::secure_getenv("TRIDENT_REQUIRE_DAEMON");
  const bool require = required != nullptr && std::strcmp(required, "1") == 0;
  return require ? TRIDENT_MODE_DAEMON : TRIDENT_MODE_AUTO;
}

Result<expr::Variable> variable_of(const trident_variable& from, std::uint32_t syntax) {
  if (from.name == nullptr || *from.name == '\0') return invalid("a variable without a name");
  if (std::strlen(from.name) > trident::limits::kNameBytesMax) return invalid("a variable's name is too long");
  if (!expr::is_name(from.name, syntax != TRIDENT_SYNTAX_INFIX)) {
    return Error{ErrorCode::kInvalidArgument, "no text can name a variable '" + std::string(from.name) + "'"};
  }
  const std::optional<trident::ir::Element> element = trident::ir::element_of_number(from.type);
  if (!element)
    return Error{ErrorCode::kInvalidArgument, "unknown type of the variable '" + std::string(from.name) + "'"};
  if (from.scalar > TRIDENT_TABLE) {
    return invalid("trident_variable.scalar is neither TRIDENT_ARRAY, TRIDENT_SCALAR nor TRIDENT_TABLE");
  }
  if (!(from.lo <= from.hi))
    return Error{ErrorCode::kInvalidArgument, "the range of '" + std::string(from.name) + "' is empty"};
  const auto kind = static_cast<expr::VariableKind>(from.scalar);
  // A designated initialiser that names no range leaves zeros. Nobody passes a variable in that is always zero.
  if (from.lo == 0 && from.hi == 0)
    return expr::Variable{.name = from.name, .type = element->type, .kind = kind, .storage = element->storage};
  return expr::Variable{from.name, element->type, kind, from.lo, from.hi, element->storage};
}

Result<expr::ParseOptions> parse_options_of(const trident_submit_options& options) {
  if (options.type != TRIDENT_F32 && options.type != TRIDENT_F64) {
    return invalid("trident_submit_options.type is neither TRIDENT_F32 nor TRIDENT_F64");
  }
  if (options.variable_count > trident::limits::kInputsMax) {
    return Error{ErrorCode::kLimitExceeded, std::to_string(options.variable_count) +
                                                " variables; a kernel takes at most " +
                                                std::to_string(trident::limits::kInputsMax)};
  }
  if (options.variable_count != 0 && options.variables == nullptr)
    return invalid("trident_submit_options.variables is null");
  expr::ParseOptions parse;
  parse.type = static_cast<trident::ir::Type>(options.type);
  parse.variables.reserve(options.variable_count);
  for (std::uint32_t i = 0; i < options.variable_count; ++i) {
    TRY(expr::Variable variable, variable_of(options.variables[i], options.syntax));
    parse.variables.push_back(std::move(variable));
  }
  return parse;
}

Result<expr::Expr> parse_text(std::string_view text, const trident_submit_options& options) {
  TRY(const expr::ParseOptions parse, parse_options_of(options));
  switch (options.syntax) {
    case TRIDENT_SYNTAX_AUTO: return expr::parse(text, parse);
    case TRIDENT_SYNTAX_INFIX: return expr::parse_infix(text, parse);
    case TRIDENT_SYNTAX_SEXPR: return expr::parse_sexpr(text, parse);
    case TRIDENT_SYNTAX_FPCORE: return expr::parse_fpcore(text, parse);
    default: return invalid("trident_submit_options.syntax is none of TRIDENT_SYNTAX_...");
  }
}

Result<expr::Expr> expression_of(std::string_view text, const trident_submit_options& options) {
  auto parsed = parse_text(text, options);
  if (parsed.ok() || !(text.starts_with("fn ") || text.starts_with('@'))) return parsed;
  return Error{parsed.error().code, parsed.error().message +
                                        "\nfunctions with statements are submitted with TRIDENT_SYNTAX_FUNCTION "
                                        "(C++: trident::function, Python: trident.function)"};
}

Result<expr::Policy> policy_of(const trident_submit_options& options) {
  if (options.policy > TRIDENT_FAST)
    return invalid("trident_submit_options.policy is none of TRIDENT_EXACT, _BOUNDED, _FAST");
  if (options.k != 0 && !(options.k >= trident::limits::kPolicyKMin && options.k <= trident::limits::kPolicyKMax)) {
    return invalid("trident_submit_options.k is neither 0 nor from 2 to 1e6");
  }
  return expr::Policy{static_cast<expr::PolicyKind>(options.policy), options.k == 0 ? 2.0 : options.k};
}

Result<void> submit(trident_ctx* ctx, const char* text, const trident_submit_options* given, trident_kernel** kernel) {
  if (kernel == nullptr) return invalid("null pointer");
  *kernel = nullptr;
  if (ctx == nullptr || text == nullptr) return invalid("null pointer");
  static const trident_submit_options kDefaults = TRIDENT_SUBMIT_OPTIONS_INIT;
  TRY(const trident_submit_options options, widened(given, kDefaults));
  TRY(const expr::Policy policy, policy_of(options));
  const std::size_t size = ::strnlen(text, trident::limits::kTextBytesMax + 1);
  if (size > trident::limits::kTextBytesMax)
    return trident::make_error(ErrorCode::kLimitExceeded, "the text is too long: at most %zu bytes",
                               std::size_t{trident::limits::kTextBytesMax});
  if (options.syntax == TRIDENT_SYNTAX_FUNCTION) {
    TRY(*kernel, trident::client::submit_function(*ctx, {text, size}));
    return {};
  }
  TRY(expr::Expr parsed, expression_of({text, size}, options));
  const auto is_diff = [](const expr::Node& node) { return node.op == expr::Op::Diff; };
  if (std::any_of(parsed.nodes.begin(), parsed.nodes.end(), is_diff)) {
    TRY(parsed, expr::eliminate_derivatives(parsed));
  }
  const std::uint32_t elements =
      options.elements_hint == 0 ? 4096 : std::min(options.elements_hint, trident::limits::kElementsHintMax);
  auto fresh = std::make_unique<Kernel>(*ctx, std::move(parsed), policy, elements);
  if (fresh->expr.nodes.size() > kLazyNodesMax) {
    TRY([[maybe_unused]] const auto lowered, fresh->lower());
  }
  ctx->add(fresh->submission);
  *kernel = fresh.release();
  return {};
}

/// The arguments of a call, in order: some of them are in `in` and some in `params`.
const std::vector<expr::Variable>& candidates(const trident_kernel* kernel, bool scalar) {
  if (Handle::of(kernel)->is_function) return FunctionHandle::of(kernel)->columns(scalar);
  return scalar ? Kernel::of(kernel)->scalars : Kernel::of(kernel)->expr.variables;
}

/// The index-th array or table (or scalar); null out of range.
const expr::Variable* variable_at(const trident_kernel* kernel, bool scalar, std::uint32_t index) {
  if (kernel == nullptr) return nullptr;
  for (const expr::Variable& variable : candidates(kernel, scalar)) {
    if (variable.is_scalar() == scalar && index-- == 0) return &variable;
  }
  return nullptr;
}

int variable_index(const trident_kernel* kernel, bool scalar, const char* name) {
  if (kernel == nullptr || name == nullptr) return -1;
  int index = 0;
  for (const expr::Variable& variable : candidates(kernel, scalar)) {
    if (variable.is_scalar() != scalar) continue;
    if (variable.name == name) return index;
    ++index;
  }
  return -1;
}

/// Comparison results leave a kernel as integers of their width, all ones for true.
int type_of(trident::ir::Type type, trident::ir::Storage storage = trident::ir::Storage::own) {
  return trident::ir::element_number(trident::ir::is_mask(type) ? trident::ir::Type::i32 : type, storage);
}

struct OutputFacts {
  const char* name = nullptr;
  int type = -1;
  bool is_scalar = false;
};

std::uint32_t output_count(const Handle& handle) {
  if (handle.is_function) return FunctionHandle::of(&handle)->is_kernel() ? 2 : 0;
  return static_cast<std::uint32_t>(Kernel::of(&handle)->expr.outputs.size());
}

/// Nothing out of range, and for null.
std::optional<OutputFacts> output_at(const trident_kernel* kernel, std::uint32_t index) {
  if (kernel == nullptr || index >= output_count(*Handle::of(kernel))) return {};
  if (Handle::of(kernel)->is_function) return OutputFacts{index == 0 ? "result" : "status", TRIDENT_I64};
  const Kernel& made = *Kernel::of(kernel);
  const auto& output = made.expr.outputs[index];
  return OutputFacts{output.name.c_str(), type_of(made.expr.at(output.node).type, output.storage),
                     (made.scalar_outputs >> index & 1) != 0};
}

void count_arguments(const Handle& handle, trident_kernel_info& info) {
  info.output_count = output_count(handle);
  if (handle.is_function) {
    info.array_count = static_cast<std::uint32_t>(FunctionHandle::of(&handle)->columns(false).size());
    return;
  }
  const Kernel& kernel = *Kernel::of(&handle);
  info.array_count = kernel.array_count;
  info.scalar_count = kernel.scalar_count;
  info.misses = __atomic_load_n(&kernel.miss_count, __ATOMIC_RELAXED);
  const trident::client::Lowered* const lowered = kernel.lowered.load(std::memory_order_acquire);
  info.divides = lowered != nullptr && lowered->division.possible ? 1 : 0;
}

}  // namespace

extern "C" {

trident_status trident_open(const trident_options* options, trident_ctx** ctx) {
  return guarded([&]() -> Result<void> {
    if (ctx == nullptr) return invalid("null pointer");
    *ctx = nullptr;
    TRY(const trident_options widened_options, widened(options, trident_options{}));
    Settings settings;
    TRY_VOID(check_environment());
    TRY(settings.mode, mode_of(widened_options.mode));
    settings.socket_path = trident::client::daemon_socket_path(widened_options.socket_path);
    if (widened_options.no_speculation > 1) return invalid("trident_options.no_speculation is neither 0 nor 1");
    const char* const speculate = ::secure_getenv("TRIDENT_SPECULATE");
    settings.speculate = widened_options.no_speculation == 0 && (speculate == nullptr || *speculate != '0');
    settings.threads_max = trident::os::affordable_cpus();
    TRY(settings.threads, threads_of(widened_options.threads, settings.threads_max));
    if (widened_options.connect_timeout_ms != 0) settings.connect_timeout_ms = widened_options.connect_timeout_ms;
    auto* opened = new trident_ctx(std::move(settings));
    const Result<void> started = opened->start();
    if (!started) {
      opened->close();
      return started;
    }
    *ctx = opened;
    return {};
  });
}

void trident_close(trident_ctx* ctx) {
  if (ctx != nullptr) ctx->close();
}

trident_status trident_submit(trident_ctx* ctx, const char* text, const trident_submit_options* options,
                              trident_kernel** kernel) {
  return guarded([&] { return submit(ctx, text, options, kernel); });
}

void trident_close_kernel(trident_kernel* kernel) {
  if (kernel == nullptr) return;
  Handle& handle = *Handle::of(kernel);
  if (handle.is_function) trident_close_kernel(FunctionHandle::of(kernel)->elements());
  handle.context.remove(handle.record());
}

int trident_array_index(const trident_kernel* kernel, const char* name) {
  return variable_index(kernel, false, name);
}

int trident_scalar_index(const trident_kernel* kernel, const char* name) {
  return variable_index(kernel, true, name);
}

int trident_output_index(const trident_kernel* kernel, const char* name) {
  if (name == nullptr) return -1;
  for (uint32_t index = 0; const auto output = output_at(kernel, index); ++index)
    if (std::strcmp(output->name, name) == 0) return static_cast<int>(index);
  return -1;
}

const char* trident_array_name(const trident_kernel* kernel, uint32_t index) {
  const expr::Variable* variable = variable_at(kernel, false, index);
  return variable == nullptr ? nullptr : variable->name.c_str();
}

const char* trident_scalar_name(const trident_kernel* kernel, uint32_t index) {
  const expr::Variable* variable = variable_at(kernel, true, index);
  return variable == nullptr ? nullptr : variable->name.c_str();
}

const char* trident_output_name(const trident_kernel* kernel, uint32_t index) {
  return output_at(kernel, index).value_or(OutputFacts{}).name;
}

int trident_array_type(const trident_kernel* kernel, uint32_t index) {
  const expr::Variable* variable = variable_at(kernel, false, index);
  return variable == nullptr ? -1 : type_of(variable->type, variable->storage);
}

int trident_scalar_type(const trident_kernel* kernel, uint32_t index) {
  const expr::Variable* variable = variable_at(kernel, true, index);
  return variable == nullptr ? -1 : type_of(variable->type, variable->declared);
}

int trident_output_type(const trident_kernel* kernel, uint32_t index) {
  return output_at(kernel, index).value_or(OutputFacts{}).type;
}

int trident_output_is_scalar(const trident_kernel* kernel, uint32_t index) {
  const auto output = output_at(kernel, index);
  return output ? static_cast<int>(output->is_scalar) : -1;
}

void trident_observe(const trident_kernel* kernel, uint64_t n, const void* const* in, const uint64_t* params) {
  static_cast<void>(guarded([&]() -> Result<void> {
    if (kernel != nullptr && !Handle::of(kernel)->is_function) Kernel::of(kernel)->observe(n, in, params);
    return {};
  }));
}

void trident_run(const trident_kernel* kernel, uint64_t n, const void* const* in, void* const* out,
                 const uint64_t* params) {
  trident_call(kernel, n, in, out, params);
}

void trident_call_parallel(const trident_kernel* kernel, uint64_t n, const void* const* in, void* const* out,
                           const uint64_t* params, uint32_t threads) {
  if (n < trident::client::kFromLineMin || Handle::of(kernel)->is_function)
    return trident_call(kernel, n, in, out, params);
  trident::client::call_divided(*Kernel::of(kernel), threads, n, in, out, params);
}

trident_status trident_call_strided(const trident_kernel* kernel, uint32_t dimensions, const uint64_t* shape,
                                    const void* const* in, const int64_t* const* in_strides, void* const* out,
                                    const int64_t* const* out_strides, const uint64_t* params, uint32_t threads) {
  return guarded([&]() -> Result<void> {
    if (kernel == nullptr) return invalid("null pointer");
    if (Handle::of(kernel)->is_function) return invalid("a function's kernel takes no strided arrays");
    const trident::client::StridedArguments arguments{dimensions, shape, in, in_strides, out, out_strides, params};
    return trident::client::call_strided(*Kernel::of(kernel), threads, arguments);
  });
}

void trident_for_each_piece(const trident_kernel* kernel, uint64_t pieces, void (*work)(uint64_t, void*), void* user,
                            uint32_t threads) {
  trident::client::for_each_piece(*Kernel::of(kernel), threads, pieces, work, user);
}

trident_status trident_wait(trident_kernel* kernel, uint32_t tier, uint32_t timeout_ms) {
  return guarded([&]() -> Result<void> {
    if (kernel == nullptr) return invalid("null pointer");
    if (tier > TRIDENT_TIER_OPTIMISED) return invalid("unknown tier");
    Handle& waiting = *Handle::of(kernel);
    if (tier != TRIDENT_TIER_INTERPRETER) return waiting.context.wait(waiting.record(), tier, timeout_ms);
    if (waiting.is_function) return {};  // its region was made when it was submitted
    TRY([[maybe_unused]] const auto lowered, Kernel::of(kernel)->lower());
    return {};
  });
}

void trident_on_change(trident_kernel* kernel, void (*callback)(trident_kernel*, void*), void* user) {
  if (kernel != nullptr) Handle::of(kernel)->set_callback(callback, user);
}

trident_status trident_info(const trident_kernel* handle, trident_kernel_info* info) {
  return guarded([&]() -> Result<void> {
    if (handle == nullptr) return invalid("null pointer");
    const Handle& kernel = *Handle::of(handle);
    trident_kernel_info now{};
    count_arguments(kernel, now);
    {
      const std::lock_guard lock(kernel.context.mutex);
      const trident::client::Submission& submission = kernel.record();
      now.tier = submission.slot.tier();
      now.swaps = submission.slot.swaps();
      now.done = submission.state == trident::client::JobState::finished ? 1 : 0;
      now.isa = submission.slot.isa();
      now.baseline_ns = submission.baseline_ns;
      now.optimised_ns = submission.optimised_ns;
      now.stage = submission.stage;
      now.stage_done = submission.stage_done;
      now.stage_total = submission.stage_total;
      now.best_ratio = submission.best_ratio;
    }
    now.note = trident_kernel_note(handle);
    return narrowed(now, info);
  });
}

const char* trident_kernel_note(const trident_kernel* kernel) {
  if (kernel == nullptr) return nullptr;
  auto* const noted =
      Handle::of(const_cast<trident_kernel*>(kernel));  // notes are written down when they are asked for
  try {
    return noted->context.note_of(noted->record());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

trident_status trident_get_stats(trident_ctx* ctx, trident_stats* stats) {
  return guarded([&]() -> Result<void> {
    if (ctx == nullptr) return invalid("null pointer");
    return narrowed(ctx->stats(), stats);
  });
}

trident_status trident_daemon_stats(trident_ctx* ctx, char* buffer, size_t size, uint32_t timeout_ms) {
  return guarded([&]() -> Result<void> {
    if (ctx == nullptr || buffer == nullptr || size == 0) return invalid("null pointer");
    TRY(const std::string json, ctx->daemon_stats(timeout_ms));
    if (json.size() + 1 > size) return Error{ErrorCode::kLimitExceeded, "the buffer is too small"};
    std::memcpy(buffer, json.c_str(), json.size() + 1);
    return {};
  });
}

const char* trident_last_error(void) {
  return trident::client::last_error();
}

uint32_t trident_abi_version(void) {
  return TRIDENT_ABI_VERSION;
}

}  // extern "C"
