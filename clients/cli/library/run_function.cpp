#include "clients/cli/library/run_function.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "clients/c/abi_edge.h"
#include "clients/c/function_api.h"
#include "clients/c/trident_function.h"
#include "clients/cli/library/file_program.h"
#include "jit/function/call.h"
#include "jit/function/folder.h"

namespace trident::cli {
namespace {

/// A parameter of the function, and the memory of its array.
struct Filled {
  trident_parameter facts{};
  std::vector<std::int64_t> words{};
  std::vector<std::uint8_t> bytes{};
  trident_argument argument{};
  bool given = false;

  [[nodiscard]] bool is_array() const { return facts.passing != TRIDENT_BY_VALUE; }
  [[nodiscard]] bool has_bytes() const { return facts.type == TRIDENT_U8; }
  void resize(std::size_t count) { has_bytes() ? bytes.resize(count) : words.resize(count); }
  void point() {
    argument.data = has_bytes() ? static_cast<void*>(bytes.data()) : words.data();
    argument.count = has_bytes() ? bytes.size() : words.size();
  }
};

Error bad_input(std::string_view text, const std::string& why) {
  return make_error(ErrorCode::kInvalidArgument, "--input %s: %s", std::string(text).c_str(), why.c_str());
}

const char* kind_of(std::uint32_t type) {
  return type == TRIDENT_F64 ? "number" : type == TRIDENT_BOOL ? "truth value, true or false," : "whole number";
}

/// The bits of a number of the parameter's type.
std::optional<std::int64_t> number_of(std::string_view text, std::uint32_t type) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  if (type == TRIDENT_F64) {
    trident_value value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value.f);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value.i;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

Result<void> fill_array(Filled& p, std::string_view value, std::string_view text) {
  if (p.facts.passing == TRIDENT_OUT) {
    const auto count = number_of(value, TRIDENT_I64);
    constexpr std::int64_t kCountMax = 100'000'000;
    if (!count || *count < 0 || *count > kCountMax) return bad_input(text, "an array that is written takes its length");
    p.resize(static_cast<std::size_t>(*count));
    return {};
  }
  if (p.has_bytes()) {
    p.bytes.assign(value.begin(), value.end());
    return {};
  }
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    const auto number = number_of(value.substr(0, end), p.facts.type);
    if (!number)
      return bad_input(text, std::string("a function takes ") + kind_of(p.facts.type) +
                                 "s with commas between: no file, and no range lo:hi");
    p.words.push_back(*number);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return {};
}

std::string names_of(const std::vector<Filled>& parameters) {
  std::string names;
  for (const Filled& p : parameters) names += (names.empty() ? "" : ", ") + std::string(p.facts.name);
  return names;
}

Result<void> fill(std::vector<Filled>& parameters, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return bad_input(text, "name=value is expected");
  const auto p = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Filled& one) { return text.compare(0, equals, one.facts.name) == 0; });
  if (p == parameters.end())
    return bad_input(text, "the function has no such parameter, only: " + names_of(parameters));
  if (p->given) return bad_input(text, "it has a value already");
  p->given = true;
  const std::string_view value = std::string_view(text).substr(equals + 1);
  if (p->is_array()) return fill_array(*p, value, text);
  const auto number = number_of(value, p->facts.type);
  if (!number) return bad_input(text, std::string("a ") + kind_of(p->facts.type) + " is expected");
  p->argument.value.i = *number;
  return {};
}

Result<std::vector<Filled>> parameters_of(const trident_kernel* kernel, const trident_function_facts& facts) {
  std::vector<Filled> parameters(facts.parameters);
  for (std::uint32_t i = 0; i < facts.parameters; ++i) {
    parameters[i].facts.struct_size = sizeof(trident_parameter);
    if (trident_function_parameter(kernel, i, &parameters[i].facts) != TRIDENT_OK)
      return make_error(ErrorCode::kInternal, "%s", trident_last_error());
  }
  return parameters;
}

std::string value_text(trident_value value, int type) {
  if (type == TRIDENT_BOOL) return value.i != 0 ? "true" : "false";
  if (type != TRIDENT_F64) return std::to_string(value.i);
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value.f);
  return text;
}

std::string array_text(const Filled& p) {
  std::string text;
  constexpr std::size_t kShown = 64;
  if (p.has_bytes()) {
    function::Argument argument{.is_array = true, .is_text = true};
    argument.elements.assign(p.bytes.begin(), p.bytes.end());
    return function::print(argument);
  }
  for (std::size_t i = 0; i < std::min(kShown, p.words.size()); ++i) {
    trident_value value{};
    value.i = p.words[i];
    text += (i == 0 ? "" : ", ") + value_text(value, static_cast<int>(p.facts.type));
  }
  return "[" + text + (p.words.size() > kShown ? ", .." : "") + "]";
}

std::string outcome_text(const trident_function_facts& facts, const trident_returned& returned,
                         const std::vector<Filled>& parameters) {
  std::string text;
  if (facts.result_type >= 0) text += "result = " + value_text(returned.value, facts.result_type) + "\n";
  for (const Filled& p : parameters)
    if (p.facts.passing == TRIDENT_OUT || p.facts.passing == TRIDENT_INOUT)
      text += std::string(p.facts.name) + " = " + array_text(p) + "\n";
  return text;
}

/// Returns the line of the function's own text that a failure is about: that of the statement, or the @param line.
std::string line_of(const trident_returned& returned, const trident_function_facts& facts) {
  if (std::string_view(returned.function) != facts.name) return {};
  const std::string_view text = facts.text;
  if (returned.argument == nullptr) return "\n  " + function::text_of_line(text, returned.line);
  const std::size_t at = text.find("@param " + std::string(returned.argument) + " in ");
  return at == std::string_view::npos ? "" : "\n  " + std::string(text.substr(at, text.find('\n', at) - at));
}

/// Says where and why a call failed.
Error failed(const trident_returned& returned, const trident_function_facts& facts) {
  constexpr const char* kWhy[] = {"", "a division by zero", "an index outside of its array",
                                  "more rounds of loops than the budget allows",
                                  "an argument outside of its declared range"};
  const char* why = returned.failure < std::size(kWhy) ? kWhy[returned.failure] : "it failed";
  const char* argument = returned.argument == nullptr ? "" : returned.argument;
  return make_error(ErrorCode::kInvalidArgument, "%s: line %u: %s%s%s%s", returned.function, returned.line, why,
                    *argument == '\0' ? "" : ": ", argument, line_of(returned, facts).c_str());
}

}  // namespace

Result<trident_kernel*> submit_file(trident_ctx& ctx, const std::string& file, const std::string& library) {
  TRY(function::Program program, program_of_file(file, library));
  return client::submit_program(ctx, std::move(program));
}

Result<std::string> call_with_inputs(const trident_kernel* kernel, const std::vector<std::string>& inputs,
                                     std::uint64_t budget) {
  trident_function_facts facts{};
  facts.struct_size = sizeof facts;
  if (trident_function_info(kernel, &facts) != TRIDENT_OK)
    return make_error(ErrorCode::kInternal, "%s", trident_last_error());
  TRY(std::vector<Filled> parameters, parameters_of(kernel, facts));
  for (const std::string& text : inputs) TRY_VOID(fill(parameters, text));
  std::vector<trident_argument> arguments;
  for (Filled& p : parameters) {
    if (!p.given)
      return make_error(ErrorCode::kInvalidArgument, "%s has no value: --input %s=..", p.facts.name, p.facts.name);
    if (p.is_array()) p.point();
    arguments.push_back(p.argument);
  }
  trident_returned returned{};
  returned.struct_size = sizeof returned;
  if (trident_function_call(kernel, arguments.data(), static_cast<std::uint32_t>(arguments.size()), budget,
                            &returned) != TRIDENT_OK)
    return make_error(ErrorCode::kInvalidArgument, "%s", trident_last_error());
  if (returned.failure != TRIDENT_RETURNED) return failed(returned, facts);
  return outcome_text(facts, returned, parameters);
}

}  // namespace trident::cli
