#include "clients/cli/library/function_story.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/function/call.h"
#include "jit/function/folder.h"
#include "jit/function/submission.h"
#include "jit/function/to_expr.h"
#include "jit/image/image.h"
#include "jit/pipeline/function.h"
#include "jit/region/region.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/os/clock.h"

namespace trident::cli {
namespace {

using function::Function;

/// A file's function may have the name of a shipped one, which it then stands for.
Result<function::Program> program_of_file(const std::string& file) {
  const auto shipped = [](const void*) -> const function::Library& { return function::Library::shipped(); };
  TRY(const std::string text, function::read_file(file));
  return function::resolve(text, shipped, nullptr, file);
}

/// Nanoseconds of a call: the least of many samples, each of many calls.
template <class Call>
double least_ns(const Call& call) {
  constexpr int kSamples = 15;
  constexpr std::uint64_t kSampleNs = 2'000'000;
  double least = 1e300;
  std::uint64_t calls = 1;
  for (int i = 0; i < kSamples;) {
    const std::uint64_t begin = os::monotonic_ns();
    for (std::uint64_t c = 0; c < calls; ++c) call();
    const std::uint64_t taken = os::monotonic_ns() - begin;
    if (taken < kSampleNs && calls < (1u << 24)) {
      calls *= 2;
      continue;
    }
    least = std::min(least, static_cast<double>(taken) / static_cast<double>(calls));
    ++i;
  }
  return least;
}

struct Timed {
  std::string call;
  double interpreted_ns = 0, native_ns = 0;
};

std::string call_text(const Function& f, const function::Case& test) {
  std::string text = f.name + "(";
  for (std::size_t i = 0; i < test.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + function::print(test.arguments[i]);
  constexpr std::size_t kShown = 60;
  return (text.size() > kShown ? text.substr(0, kShown) + ".." : text) + ")";
}

Result<std::vector<Timed>> times_of(const Function& f, const pipeline::CompiledFunction& made, function::Entry entry) {
  std::vector<Timed> rows;
  for (const function::Case& test : f.tests) {
    const auto interpret = [&] { return function::call(f, made.lowered, test.arguments); };
    const auto run = [&] { return function::call(f, made.lowered, entry, test.arguments); };
    TRY(const function::Returned expected, interpret());
    TRY(const function::Returned got, run());
    const bool same = expected.result == got.result && expected.arguments == got.arguments &&
                      expected.fault.has_value() == got.fault.has_value();
    if (!same)
      return make_error(ErrorCode::kNotEquivalent, "%s: the code answers otherwise", call_text(f, test).c_str());
    rows.push_back(
        {call_text(f, test), least_ns([&] { (void)interpret().ok(); }), least_ns([&] { (void)run().ok(); })});
  }
  return rows;
}

void print_rows(const std::string& name, const std::vector<Timed>& rows, bool json) {
  if (json) {
    Json out = Json::array();
    for (const Timed& row : rows)
      out.push_back({{"call", row.call}, {"interpreted_ns", row.interpreted_ns}, {"native_ns", row.native_ns}});
    std::printf("%s\n", Json{{"function", name}, {"calls", out}}.dump(2).c_str());
    return;
  }
  std::printf("%12s %12s  call (of @test lines; with the copies of its arrays)\n", "interpreted", "native");
  for (const Timed& row : rows)
    std::printf("%9.0f ns %9.0f ns  %s\n", row.interpreted_ns, row.native_ns, row.call.c_str());
}

std::string code_text(const pipeline::CompiledFunction& made) {
  const auto& t = made.trials;
  char head[200];
  std::snprintf(head, sizeof head,
                "; machine code: %s, frame %s\n; trials: %s, %u of %u blocks reached, the same as the interpreter's\n",
                counted(made.code.code_size, "byte").c_str(), counted(made.lowered.frame_bytes, "byte").c_str(),
                counted(t.runs, "run").c_str(), t.blocks_reached, t.blocks);
  const auto listing = codegen::disassemble(made.code, codegen::Isa::avx2);
  return head + (listing.ok() ? *listing : "; " + listing.error().message + "\n");
}

}  // namespace

bool names_function(const std::string& operand) {
  return operand.ends_with(".fn");
}

Result<void> explain_function(const std::string& file, const FunctionStages& stages) {
  TRY(const function::Program program, program_of_file(file));
  const Function& f = program.function();
  if (stages.text) std::printf("; function: %s\n%s\n", f.name.c_str(), function::print(f).c_str());
  TRY(function::Lowered lowered, function::lower(f, program.library));
  if (const auto expression = function::to_expr(f, lowered); stages.text && expression)
    std::printf("; as an expression: %s\n\n", expr::print_infix(*expression).c_str());
  if (stages.region)
    std::printf("; region: %zu instructions, %zu variables, %u windows\n%s\n", lowered.region.insts.size(),
                lowered.region.variables.size(), static_cast<unsigned>(lowered.region.windows),
                region::print(lowered.region).c_str());
  if (!stages.code) return {};
  TRY(const pipeline::CompiledFunction made, pipeline::compile_function(f, std::move(lowered), {}));
  std::fputs(code_text(made).c_str(), stdout);
  return {};
}

Result<void> bench_function(const std::string& file, bool json) {
  TRY(const function::Program program, program_of_file(file));
  const Function& f = program.function();
  if (f.tests.empty())
    return make_error(ErrorCode::kInvalidArgument, "%s: it has no @test line, whose arguments would be timed",
                      file.c_str());
  TRY(const pipeline::CompiledFunction made, pipeline::compile_function(f, program.library, {}));
  TRY(const os::Fd fd, image::seal(made.image));
  TRY(const image::Mapped mapped, image::Mapped::map(fd));
  TRY(const std::vector<Timed> rows, times_of(f, made, mapped.region_entry()));
  print_rows(f.name, rows, json);
  return {};
}

}  // namespace trident::cli
