#include "clients/cli/library/function_story.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "clients/cli/library/file_program.h"
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
  double interpreted_ns = 0, baseline_ns = 0, optimised_ns = 0;
};

std::string call_text(const Function& f, const function::Case& test) {
  std::string text = f.name + "(";
  for (std::size_t i = 0; i < test.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + function::print(test.arguments[i]);
  constexpr std::size_t kShown = 60;
  return (text.size() > kShown ? text.substr(0, kShown) + ".." : text) + ")";
}

struct Native {
  function::Lowered lowered;
  image::Mapped mapped;
};

Result<Native> mapped(const Result<pipeline::CompiledFunction>& made) {
  if (!made) return made.error();
  TRY(const os::Fd fd, image::seal(made->image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  return Native{made->lowered, std::move(mapped)};
}

/// Nanoseconds of a call of `native`, which must answer as `expected`.
Result<double> native_ns(const Function& f, const Native& native, const function::Case& test,
                         const function::Returned& expected) {
  const auto run = [&] { return function::call(f, native.lowered, native.mapped.region_entry(), test.arguments); };
  TRY(const function::Returned got, run());
  const bool same = expected.result == got.result && expected.arguments == got.arguments &&
                    expected.fault.has_value() == got.fault.has_value();
  if (!same) return make_error(ErrorCode::kNotEquivalent, "%s: the code answers otherwise", call_text(f, test).c_str());
  return least_ns([&] { (void)run().ok(); });
}

Result<std::vector<Timed>> times_of(const Function& f, const Native& baseline, const Native& optimised) {
  std::vector<Timed> rows;
  for (const function::Case& test : f.tests) {
    const auto interpret = [&] { return function::call(f, baseline.lowered, test.arguments); };
    TRY(const function::Returned expected, interpret());
    Timed row{.call = call_text(f, test), .interpreted_ns = least_ns([&] { (void)interpret().ok(); })};
    TRY(row.baseline_ns, native_ns(f, baseline, test, expected));
    TRY(row.optimised_ns, native_ns(f, optimised, test, expected));
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_rows(const std::string& name, const std::vector<Timed>& rows, bool json) {
  if (json) {
    Json out = Json::array();
    for (const Timed& row : rows)
      out.push_back({{"call", row.call},
                     {"interpreted_ns", row.interpreted_ns},
                     {"baseline_ns", row.baseline_ns},
                     {"optimised_ns", row.optimised_ns}});
    std::printf("%s\n", Json{{"function", name}, {"calls", out}}.dump(2).c_str());
    return;
  }
  std::printf("%12s %12s %12s  call (of @test lines; with the copies of its arrays)\n", "interpreted", "baseline",
              "optimised");
  for (const Timed& row : rows)
    std::printf("%9.0f ns %9.0f ns %9.0f ns  %s\n", row.interpreted_ns, row.baseline_ns, row.optimised_ns,
                row.call.c_str());
}

Result<std::string> code_text(const pipeline::CompiledFunction& made) {
  const bool is_optimised = made.image.header().tier == TRIDENT_TIER_OPTIMISED;
  TRY(const codegen::Isa isa, image::isa_of(made.image.header().isa));
  const auto& t = made.trials;
  char head[300];
  std::snprintf(head, sizeof head,
                "; machine code: %s, tier %s, %s, frame %s\n"
                "; trials: %s, %u of %u blocks reached, the same as the interpreter's\n",
                std::string(codegen::name_of(isa)).c_str(), is_optimised ? "optimised" : "baseline",
                counted(made.code.code_size, "byte").c_str(), counted(made.lowered.frame_bytes, "byte").c_str(),
                counted(t.runs, "run").c_str(), t.blocks_reached, t.blocks);
  const auto listing = codegen::disassemble(made.code, isa);
  return head + (listing.ok() ? *listing : "; " + listing.error().message + "\n");
}

/// The code of a tier; the optimised one has vectors of `bulk`.
Result<pipeline::CompiledFunction> compiled(const function::Program& program, std::optional<codegen::Isa> bulk) {
  const pipeline::FunctionOptions options{.bulk = bulk};
  return bulk ? pipeline::compile_fastest(program.function(), program.library, options)
              : pipeline::compile_function(program.function(), program.library, options);
}

}  // namespace

bool names_function(const std::string& operand) {
  return operand.ends_with(".fn");
}

Result<void> explain_function(const FunctionFile& file, const FunctionStages& stages,
                              std::optional<codegen::Isa> bulk) {
  TRY(const function::Program program, program_of_file(file.name, file.library));
  const Function& f = program.function();
  if (stages.text) std::printf("; function: %s\n%s\n", f.name.c_str(), function::print(f).c_str());
  TRY(const function::Lowered lowered, function::lower(f, program.library));
  if (const auto expression = function::to_expr(f, lowered); stages.text && expression)
    std::printf("; as an expression: %s\n\n", expr::print_infix(*expression).c_str());
  if (stages.region)
    std::printf("; region: %zu instructions, %zu variables, %u windows\n%s\n", lowered.region.insts.size(),
                lowered.region.variables.size(), static_cast<unsigned>(lowered.region.windows),
                region::print(lowered.region).c_str());
  TRY(const pipeline::CompiledFunction made, compiled(program, bulk));
  TRY(const std::string code, code_text(made));
  std::fputs(code.c_str(), stdout);
  return {};
}

Result<void> bench_function(const FunctionFile& file, bool json) {
  TRY(const function::Program program, program_of_file(file.name, file.library));
  const Function& f = program.function();
  if (f.tests.empty())
    return make_error(ErrorCode::kInvalidArgument, "%s: it has no @test line, whose arguments would be timed",
                      file.name.c_str());
  TRY(const Native baseline, mapped(compiled(program, {})));
  TRY(const Native optimised, mapped(compiled(program, pipeline::bulk_isa())));
  TRY(const std::vector<Timed> rows, times_of(f, baseline, optimised));
  print_rows(f.name, rows, json);
  return {};
}

}  // namespace trident::cli
