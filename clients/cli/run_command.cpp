// `trident run`: evaluates an expression through the client library, as any program would, and prints the results.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "clients/c/engine_library.h"
#include "clients/c/peer.h"
#include "clients/c/trident.h"
#include "clients/cli/commands.h"
#include "clients/cli/daemon_stats.h"
#include "clients/cli/library/file_program.h"
#include "clients/cli/library/function_story.h"
#include "clients/cli/library/run_function.h"
#include "clients/cli/run_inputs.h"
#include "clients/cli/triton/run_program.h"
#include "clients/cli/verb/kernel_options.h"
#include "clients/cli/verb/verb.h"
#include "jit/corpus/setting_names.h"
#include "jit/image/image.h"
#include "runtime/base/counted.h"
#include "runtime/report/progress_bar.h"
#include "schemas/kernel_image.h"
#include "schemas/stages.h"

namespace trident::cli {
namespace {

constexpr std::uint64_t kElementsMax = 100'000'000;

struct RunVerb {
  KernelOptions kernel;
  std::string text, library, mode = "auto", tier = "any", csv;
  std::vector<std::string> inputs;
  std::uint64_t n = 0, budget = 0;
  unsigned head = 8, timeout_ms = 10'000;
  ProgramRun program;
};

/// Converts a type's number in trident.h.
ir::Element element_of(int type) {
  return ir::element_of_number(static_cast<std::uint32_t>(type)).value_or(ir::Element{});
}

/// One output and its computed values.
struct OutputValues {
  std::string name;
  ir::Type type = ir::Type::f64;
  bool scalar = false;
  bool is_unsigned = false;  ///< elements of u64, which kernels compute as i64
  std::vector<std::byte> bytes;

  /// Element i as f is called with it.
  template <class F>
  auto visit(std::uint64_t i, F f) const {
    const auto as = [&]<class T>(T value) {
      std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
      return f(value);
    };
    if (type == ir::Type::f32) return as(float{});
    if (type == ir::Type::i32) return as(std::int32_t{});
    if (type == ir::Type::i64) return is_unsigned ? as(std::uint64_t{}) : as(std::int64_t{});
    return as(double{});
  }
  [[nodiscard]] double at(std::uint64_t i) const {
    return visit(i, [](auto value) { return static_cast<double>(value); });
  }
  [[nodiscard]] bool less(std::uint64_t i, std::uint64_t j) const {
    return visit(i, [&](auto a) { return visit(j, [&](auto b) { return a < static_cast<decltype(a)>(b); }); });
  }
  /// Prints integers in full and floats with `digits` digits; 0: all digits.
  [[nodiscard]] std::string text(std::uint64_t i, int digits = 0) const {
    return visit(i, [&](auto value) -> std::string {
      using Limits = std::numeric_limits<decltype(value)>;
      if constexpr (Limits::is_integer) return std::to_string(value);
      if (value != value) return "nan";
      char text[40];
      std::snprintf(text, sizeof text, "%.*g", digits == 0 ? Limits::max_digits10 : digits, static_cast<double>(value));
      return text;
    });
  }
};

/// Closes the kernel and the context whatever happens.
struct Session {
  trident_ctx* ctx = nullptr;
  trident_kernel* kernel = nullptr;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (kernel != nullptr) trident_close_kernel(kernel);
    if (ctx != nullptr) trident_close(ctx);
  }
};

Error client_error(trident_status status) {
  const ErrorCode code = status == TRIDENT_E_SYNTAX        ? ErrorCode::kSyntaxError
                         : status == TRIDENT_E_TYPE        ? ErrorCode::kTypeError
                         : status == TRIDENT_E_INVALID     ? ErrorCode::kInvalidArgument
                         : status == TRIDENT_E_LIMIT       ? ErrorCode::kLimitExceeded
                         : status == TRIDENT_E_UNSUPPORTED ? ErrorCode::kUnsupported
                         : status == TRIDENT_E_TIMEOUT     ? ErrorCode::kTimeout
                                                           : ErrorCode::kDisconnected;
  if (status == TRIDENT_E_DAEMON) return no_daemon(code, trident_last_error());
  return make_error(code, "%s", trident_last_error());
}

Result<trident_syntax> syntax_of(const std::string& name) {
  if (name == "auto") return TRIDENT_SYNTAX_AUTO;
  if (name == "infix") return TRIDENT_SYNTAX_INFIX;
  if (name == "sexpr") return TRIDENT_SYNTAX_SEXPR;
  if (name == "fpcore") return TRIDENT_SYNTAX_FPCORE;
  return make_error(ErrorCode::kInvalidArgument, "--syntax %s: expected auto, infix, sexpr or fpcore", name.c_str());
}

/// The client library takes its greatest instruction set from the environment, as for any program.
Result<void> limit_isa(const std::string& isa) {
  if (isa == "auto") return {};
  TRY([[maybe_unused]] const codegen::Isa here, corpus::parse_isa(isa));
  ::setenv("TRIDENT_ISA", isa.c_str(), 1);
  return {};
}

Result<void> submit_function(const RunVerb& verb, Session& session) {
  TRY(session.kernel, submit_file(*session.ctx, verb.text, verb.library));
  return {};
}

Result<void> open_session(const RunVerb& verb, Session& session) {
  if (verb.tier != "any" && verb.tier != "baseline" && verb.tier != "optimised")
    return make_error(ErrorCode::kInvalidArgument, "--tier %s: expected any, baseline or optimised", verb.tier.c_str());
  if (verb.tier != "any" && verb.mode == "interp")
    return make_error(ErrorCode::kInvalidArgument, "--tier %s: mode interp has no compiled tier", verb.tier.c_str());
  TRY_VOID(limit_isa(verb.kernel.isa));
  const std::vector<std::pair<std::string, trident_mode>> modes = {{"auto", TRIDENT_MODE_AUTO},
                                                                   {"daemon", TRIDENT_MODE_DAEMON},
                                                                   {"embedded", TRIDENT_MODE_EMBEDDED},
                                                                   {"interp", TRIDENT_MODE_INTERP}};
  trident_options options{};
  options.struct_size = sizeof options;
  const auto mode = std::find_if(modes.begin(), modes.end(), [&](const auto& m) { return m.first == verb.mode; });
  if (mode == modes.end())
    return make_error(ErrorCode::kInvalidArgument, "--mode %s: expected auto, daemon, embedded or interp",
                      verb.mode.c_str());
  options.mode = mode->second;
  if (const auto s = trident_open(&options, &session.ctx); s != TRIDENT_OK) return client_error(s);
  if (names_function(verb.text)) return submit_function(verb, session);

  TRY(const ir::Type type, corpus::parse_float_type(verb.kernel.type));
  TRY(const expr::Policy policy, corpus::parse_policy(verb.kernel.policy));
  expr::ParseOptions parse{.type = type};
  TRY(parse.variables, declared_variables(verb.kernel, type));
  corpus::take_declared_types(verb.text, verb.kernel.syntax, parse);
  std::vector<trident_variable> variables;
  for (const expr::Variable& v : parse.variables)
    variables.push_back(
        {v.name.c_str(), ir::element_number(v.type, v.storage), static_cast<std::uint32_t>(v.kind), v.lo, v.hi});
  trident_submit_options submit{};
  submit.struct_size = sizeof submit;
  submit.type = type == ir::Type::f32 ? TRIDENT_F32 : TRIDENT_F64;
  submit.policy = policy.kind == expr::PolicyKind::exact  ? TRIDENT_EXACT
                  : policy.kind == expr::PolicyKind::fast ? TRIDENT_FAST
                                                          : TRIDENT_BOUNDED;
  submit.k = policy.k;
  TRY(submit.syntax, syntax_of(verb.kernel.syntax));
  submit.elements_hint = static_cast<std::uint32_t>(std::min<std::uint64_t>(verb.n, UINT32_MAX));
  submit.variables = variables.data();
  submit.variable_count = static_cast<std::uint32_t>(variables.size());
  if (const auto s = trident_submit(session.ctx, verb.text.c_str(), &submit, &session.kernel); s != TRIDENT_OK)
    return client_error(s);
  return {};
}

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof info;
  (void)trident_info(kernel, &info);
  return info;
}

/// Waits for --tier, with a bar that shows what the daemon does meanwhile.
Result<void> wait_for_tier(const RunVerb& verb, trident_kernel* kernel) {
  if (verb.tier == "any") return {};
  constexpr std::uint32_t kLookMs = 50;
  const std::uint32_t tier = verb.tier == "baseline" ? TRIDENT_TIER_BASELINE : TRIDENT_TIER_OPTIMISED;
  report::ProgressBar bar(verb.tier, 0);
  for (std::uint32_t waited_ms = 0;;) {
    const std::uint32_t part_ms = bar.shown() ? std::min(kLookMs, verb.timeout_ms - waited_ms) : verb.timeout_ms;
    const trident_status status = trident_wait(kernel, tier, part_ms);
    if (status == TRIDENT_OK && info_of(kernel).tier != TRIDENT_TIER_INTERPRETER) return {};
    if (status == TRIDENT_OK)
      return make_error(ErrorCode::kUnsupported, "tier %s cannot be reached: %s", verb.tier.c_str(),
                        trident_kernel_note(kernel));
    waited_ms += part_ms;
    if (status != TRIDENT_E_TIMEOUT) return client_error(status);
    if (waited_ms >= verb.timeout_ms) {
      const std::string_view error = trident_last_error();  // "...; no daemon: ...; no engine: ..."
      const std::string why(error.substr(std::min(error.find(';'), error.size())));
      return make_error(ErrorCode::kTimeout, "tier %s was not reached in %u ms%s", verb.tier.c_str(), verb.timeout_ms,
                        why.c_str());
    }
    const trident_kernel_info info = info_of(kernel);
    const std::string_view stage = name_of_info_stage(info.stage);
    bar.update(info.stage_done, info.stage_total,
               report::stage_text(stage.empty() ? "waiting" : stage, info.best_ratio));
  }
}

/// Describes the code that answers now, and why no better code does, unless that was said.
std::string answered_by(const trident_kernel* kernel, bool said) {
  const trident_kernel_info info = info_of(kernel);
  std::string note = said || info.note == nullptr ? "" : std::string("note: ") + info.note + "\n";
  if (note.starts_with("note: no daemon: "))
    note.insert(note.size() - 1, ": start tridentd, or name its socket with TRIDENT_SOCKET");
  if (info.tier == TRIDENT_TIER_INTERPRETER)
    return "answered by the interpreter\n" +
           (note.empty() && !said ? "note: no compiler had answered yet; --tier baseline waits for it\n" : note);
  const auto isa = image::isa_of(static_cast<std::uint8_t>(info.isa));
  std::string text = std::string("answered by ") + (info.tier == TRIDENT_TIER_BASELINE ? "baseline " : "optimised ") +
                     (isa.ok() ? std::string(codegen::name_of(*isa)) : "unknown") + " code";
  if (info.tier == TRIDENT_TIER_OPTIMISED && info.optimised_ns > 0 && info.baseline_ns > 0) {
    char ratio[48];
    std::snprintf(ratio, sizeof ratio, ", %.2f of the baseline's time", info.optimised_ns / info.baseline_ns);
    text += ratio;
  }
  return text + "\n" + note;
}

/// The --inputs, checked against the kernel's variables; n becomes the longest list's length where --n does not say.
Result<std::vector<InputValues>> given_inputs(const RunVerb& verb, const expr::Expr& parsed,
                                              const trident_kernel* kernel, std::uint64_t& n) {
  std::vector<InputValues> inputs;
  n = verb.n;
  const auto is_table = [&](const std::string& name) {
    return std::any_of(parsed.variables.begin(), parsed.variables.end(),
                       [&](const expr::Variable& v) { return v.is_table() && v.name == name; });
  };
  for (const std::string& text : verb.inputs) {
    TRY(InputValues input, parse_input(text));
    if (input.name.ends_with(expr::kLengthSuffix) &&
        is_table(input.name.substr(0, input.name.size() - expr::kLengthSuffix.size())))
      return make_error(ErrorCode::kInvalidArgument, "--input %s: a table is as long as the list of its values",
                        text.c_str());
    if (trident_array_index(kernel, input.name.c_str()) < 0 && trident_scalar_index(kernel, input.name.c_str()) < 0)
      return make_error(ErrorCode::kInvalidArgument, "--input %s: the expression has no variable '%s'", text.c_str(),
                        input.name.c_str());
    const auto again = [&](const InputValues& other) { return other.name == input.name; };
    if (std::any_of(inputs.begin(), inputs.end(), again))
      return make_error(ErrorCode::kInvalidArgument, "--input %s: '%s' has values already", text.c_str(),
                        input.name.c_str());
    if (trident_scalar_index(kernel, input.name.c_str()) >= 0 && input.values.size() != 1)
      return make_error(ErrorCode::kInvalidArgument, "--input %s: '%s' is a scalar: expected one value, found %s",
                        text.c_str(), input.name.c_str(),
                        input.values.empty() ? "a range" : (std::to_string(input.values.size()) + " values").c_str());
    if (verb.n == 0 && input.values.size() > 1 && !is_table(input.name))
      n = std::max<std::uint64_t>(n, input.values.size());
    inputs.push_back(std::move(input));
  }
  if (n == 0) n = 8;
  for (const InputValues& input : inputs)
    if (input.values.size() > 1 && input.values.size() != n && !is_table(input.name))
      return make_error(ErrorCode::kInvalidArgument, "--input %s: found %zu values, expected one or %llu%s",
                        input.name.c_str(), input.values.size(), static_cast<unsigned long long>(n),
                        verb.n != 0 ? ", which --n says: leave --n out" : "");
  return inputs;
}

/// Variables that no --input names get values all the same, and standard error says which: the line can be copied.
void assume_the_rest(const expr::Expr& parsed, std::uint64_t n, std::vector<InputValues>& inputs) {
  std::string assumed;
  for (const expr::Variable& variable : parsed.variables) {
    const auto named = [&](const InputValues& input) { return input.name == variable.name; };
    if (std::any_of(inputs.begin(), inputs.end(), named)) continue;
    AssumedInput input = assumed_input(variable, n);
    assumed += " --input " + input.option;
    inputs.push_back(std::move(input.values));
  }
  if (!assumed.empty()) std::fprintf(stderr, "trident: assuming%s\n", assumed.c_str());
}

/// Given or assumed: every variable has values.
const InputValues& input_of(const std::vector<InputValues>& inputs, const char* name) {
  const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const InputValues& i) { return i.name == name; });
  CHECK(at != inputs.end());
  return *at;
}

Result<void> check_fits(const InputValues& input, ir::Storage storage) {
  if (!ir::converts(storage) || !ir::is_integer(storage)) return {};
  const ir::StorageFacts& row = ir::facts_of(storage);
  for (const Number& number : input.values)
    if (!(number.real >= row.lo && number.real <= row.hi))
      return make_error(ErrorCode::kInvalidArgument, "--input %s: %g is no %s, which go from %.0f to %.0f",
                        input.name.c_str(), number.real, row.name.data(), row.lo, row.hi);
  return {};
}

/// Makes values of narrow elements, which stand at the front of the output's room.
void widen(ir::Storage storage, OutputValues& output) {
  if (!ir::converts(storage)) return;
  const std::vector<std::byte> elements = output.bytes;
  ir::widen(storage, elements.data(), output.bytes.data(), elements.size() / ir::bytes_of(output.type));
}

Result<std::vector<OutputValues>> evaluate(const RunVerb& verb, trident_kernel* kernel, std::uint64_t& n) {
  TRY(const expr::Expr parsed, parse_expression({verb.text}, verb.kernel));
  TRY(std::vector<InputValues> inputs, given_inputs(verb, parsed, kernel, n));
  assume_the_rest(parsed, n, inputs);
  std::vector<std::vector<std::byte>> arrays;
  std::map<std::string, std::uint64_t> lengths;  ///< of tables, by the names of the parameters that say them
  std::vector<const void*> in;
  for (std::uint32_t a = 0; trident_array_name(kernel, a) != nullptr; ++a) {
    const InputValues& input = input_of(inputs, trident_array_name(kernel, a));
    const ir::Element element = element_of(trident_array_type(kernel, a));
    const ir::Type type = element.type;
    TRY_VOID(check_fits(input, type));
    TRY_VOID(check_fits(input, element.storage));
    const std::string length = input.name + std::string(expr::kLengthSuffix);
    const bool table = trident_scalar_index(kernel, length.c_str()) >= 0;
    const std::uint64_t count = table && !input.values.empty() ? input.values.size() : n;
    if (table) lengths[length] = count;
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * ir::bytes_of(type));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = bits_at(input, type, i, count);
      std::memcpy(bytes.data() + i * ir::bytes_of(type), &bits, ir::bytes_of(type));
    }
    if (ir::converts(element.storage)) {
      const std::vector<std::byte> values = std::move(bytes);
      bytes.assign(static_cast<std::size_t>(count) * ir::facts_of(element.storage).bytes, std::byte{0});
      ir::narrow(element.storage, values.data(), bytes.data(), static_cast<std::size_t>(count));
    }
    arrays.push_back(std::move(bytes));
  }
  for (const auto& array : arrays) in.push_back(array.data());
  std::vector<std::uint64_t> params;
  for (std::uint32_t s = 0; trident_scalar_name(kernel, s) != nullptr; ++s) {
    if (const auto length = lengths.find(trident_scalar_name(kernel, s)); length != lengths.end()) {
      params.push_back(length->second);
      continue;
    }
    const InputValues& input = input_of(inputs, trident_scalar_name(kernel, s));
    const auto [type, storage] = element_of(trident_scalar_type(kernel, s));
    TRY_VOID(check_fits(input, type));
    TRY_VOID(check_fits(input, storage));
    params.push_back(bits_at(input, type, 0, 1));
  }
  std::vector<OutputValues> outputs(info_of(kernel).output_count);
  std::vector<void*> out;
  for (std::uint32_t k = 0; k < outputs.size(); ++k) {
    outputs[k].type = element_of(trident_output_type(kernel, k)).type;
    outputs[k].is_unsigned = trident_output_type(kernel, k) == TRIDENT_U64;
    outputs[k].scalar = trident_output_is_scalar(kernel, k) == 1;
    outputs[k].bytes.resize((outputs[k].scalar ? 1 : static_cast<std::size_t>(n)) * ir::bytes_of(outputs[k].type));
    out.push_back(outputs[k].bytes.data());
  }
  trident_call(kernel, n, in.data(), out.data(), params.data());
  for (std::uint32_t k = 0; k < outputs.size(); ++k)
    widen(element_of(trident_output_type(kernel, k)).storage, outputs[k]);
  return outputs;
}

std::string as_csv(const std::vector<OutputValues>& outputs, std::uint64_t n) {
  std::string text;
  bool any_array = false;
  for (const OutputValues& o : outputs) {
    text += (text.empty() ? "" : ",") + o.name;
    any_array = any_array || !o.scalar;
  }
  text += "\n";
  for (std::uint64_t i = 0; i < (any_array ? n : 1); ++i)
    for (std::size_t k = 0; k < outputs.size(); ++k)
      text += outputs[k].text(outputs[k].scalar ? 0 : i) + (k + 1 < outputs.size() ? "," : "\n");
  return text;
}

std::string range_text(const OutputValues& o, std::uint64_t n) {
  std::uint64_t least = n, greatest = n, nans = 0;  // n: nobody yet
  long double sum = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (std::isnan(o.at(i))) {
      ++nans;
      continue;
    }
    sum += o.at(i);
    if (least == n || o.less(i, least)) least = i;
    if (greatest == n || o.less(greatest, i)) greatest = i;
  }
  const std::string count = "  " + counted(n, "element") + ", ";
  if (nans == n) return count + "all NaN\n";
  const double average = static_cast<double>(sum / static_cast<long double>(n - nans));
  char mean[40];  // that of two infinities is NaN, whose sign means nothing
  std::snprintf(mean, sizeof mean, "%.9g", std::isnan(average) ? std::fabs(average) : average);
  return count + "min " + o.text(least, 9) + ", max " + o.text(greatest, 9) + ", mean " + mean +
         (nans > 0 ? ", " + std::to_string(nans) + " NaN" : "") + "\n";
}

std::string as_summary(const std::vector<OutputValues>& outputs, std::uint64_t n, unsigned head) {
  std::string text;
  for (const OutputValues& o : outputs) {
    text += o.name + " =";
    const std::uint64_t shown = o.scalar ? 1 : std::min<std::uint64_t>(n, head);
    for (std::uint64_t i = 0; i < shown; ++i) text += " " + o.text(i);
    if (shown < n && !o.scalar) text += " ...";
    text += "\n";
    if (!o.scalar && n > 1) text += range_text(o, n);
  }
  return text;
}

/// Mode auto answers in any case. Says on standard error where only the interpreter can, and returns true then.
bool note_interpreter(const RunVerb& verb, const Session& session) {
  const char* mode = std::getenv("TRIDENT_MODE");
  if (verb.mode != "auto" || (mode != nullptr && *mode != '\0' && std::strcmp(mode, "auto") != 0)) return false;
  if (info_of(session.kernel).tier != TRIDENT_TIER_INTERPRETER) return false;
  const auto engine = client::load_engine();
  if (engine.ok()) return false;
  const auto daemon = client::connect_to_daemon(client::daemon_socket_path(nullptr));
  if (daemon.ok()) return false;
  std::fprintf(
      stderr,
      "trident: no daemon answers (%s) and no engine can be loaded (%s), so the interpreter does the work: start "
      "tridentd, or name its socket with TRIDENT_SOCKET\n",
      daemon.error().message.c_str(), engine.error().message.c_str());
  return true;
}

/// Calls a function once.
int run_function(const RunVerb& verb) {
  Session session;
  if (const auto r = open_session(verb, session); !r) return report(r.error());
  if (const auto r = wait_for_tier(verb, session.kernel); !r) return report(r.error());
  const auto text = call_with_inputs(session.kernel, verb.inputs, verb.budget);
  if (!text) return report(text.error());
  const bool said = note_interpreter(verb, session);
  std::fputs((*text + answered_by(session.kernel, said)).c_str(), stdout);
  return 0;
}

int run(const RunVerb& verb) {
  Session session;
  if (const auto r = open_session(verb, session); !r) return report(r.error());
  if (const auto r = wait_for_tier(verb, session.kernel); !r) return report(r.error());
  std::uint64_t n = 0;
  auto outputs = evaluate(verb, session.kernel, n);
  if (!outputs) return report(outputs.error());
  for (std::size_t k = 0; k < outputs->size(); ++k)
    (*outputs)[k].name = trident_output_name(session.kernel, static_cast<std::uint32_t>(k));
  const bool said = note_interpreter(verb, session);
  if (!verb.csv.empty()) {
    const auto written = write_text(verb.csv, as_csv(*outputs, n));
    return written.ok() ? 0 : report(written.error());
  }
  std::fputs((as_summary(*outputs, n, verb.head) + answered_by(session.kernel, said)).c_str(), stdout);
  return 0;
}

/// A function has inputs and somebody who answers: the other options mean nothing for it.
int run_given_function(const RunVerb& state, const Verb& verb) {
  constexpr std::string_view kTaken[] = {"--input", "--mode", "--tier", "--timeout-ms", "--budget", "--library"};
  for (const std::string& option : verb.given())
    if (std::find(std::begin(kTaken), std::end(kTaken), option) == std::end(kTaken))
      return report(make_error(ErrorCode::kInvalidArgument, "%s is a function: %s means nothing for it",
                               state.text.c_str(), option.c_str()));
  return run_function(state);
}

}  // namespace

void add_run_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("run", "Evaluate an expression, call a function, or run a program of Triton VM");
  auto state = std::make_shared<RunVerb>();
  verb.add_option("EXPR", state->text, "Expression, function NAME.fn, or file of a program: TIR in a .tir, else TASM")
      .required();
  verb.add_option("-i,--input", state->inputs,
                  "Values of a variable: x=2.5, x=1,2,3, x=lo:hi (evenly spaced) or x=FILE; of a function: x=2.5, "
                  "x=1,2,3, or any text for bytes; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("-n,--n", state->n, "Elements; default: length of the longest list, else 8")
      .check(range(std::uint64_t{1}, kElementsMax));
  state->kernel.add_text_options(verb);
  state->kernel.add_code_options(verb);
  verb.add_option("--mode", state->mode, "Who answers: auto, daemon, embedded or interp").capture_default_str();
  verb.add_option("--budget", state->budget, "Rounds of loops that a function may do; default: 2^32")
      .check(range(std::uint64_t{1}, std::uint64_t{1} << 63));
  add_library_option(verb, state->library);
  const Option tier =
      verb.add_option("--tier", state->tier, "Wait for this tier before the call: any, baseline or optimised")
          .capture_default_str();
  const Option timeout = verb.add_option("--timeout-ms", state->timeout_ms, "Longest wait for --tier")
                             .check(negative_fault)
                             .capture_default_str();
  timeout.needs(tier);
  const Option csv = verb.add_option("--csv", state->csv, "Write all values as CSV to a file, or - for standard output")
                         .check(file_name_fault);
  verb.add_option("--head", state->head, "Values to print for each output")
      .check(negative_fault)
      .capture_default_str()
      .excludes(csv);
  add_program_options(verb, state->program);
  group_program_options(verb);
  verb.callback([state, verb, &status] {
    if (names_function(state->text)) {
      status = run_given_function(*state, verb);
      return;
    }
    if (verb.count("--budget") > 0) {
      status = report(make_error(ErrorCode::kInvalidArgument, "--budget is about functions, which are files NAME.fn"));
      return;
    }
    if (const auto fits = check_library_fits(verb); !fits) {
      status = report(fits.error());
      return;
    }
    const bool program = names_program(state->text);
    if (const auto fit = check_options_fit(verb, program); !fit) {
      status = report(fit.error());
      return;
    }
    if (!program) {
      status = run(*state);
      return;
    }
    state->program.file = state->text;
    state->program.public_input = state->inputs;
    const auto code = run_program(state->program);
    status = code ? *code : report(with_reading(state->text, code.error()));
  });
}

}  // namespace trident::cli
