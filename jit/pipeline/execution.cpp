#include "jit/pipeline/execution.h"

namespace trident::pipeline {
namespace {

judge::GuardedRun plan_run(const expr::Expr& source, const equiv::CodeRun& asked, std::uint64_t cpu_ns) {
  const equiv::Samples& samples = asked.samples;
  judge::GuardedRun run;
  run.elements = samples.n;
  for (std::size_t v = 0; v < source.variables.size(); ++v)
    if (!source.variables[v].is_scalar()) run.inputs.emplace_back(samples.columns[v]);
  run.flush_start = asked.flush_start;
  run.cpu_ns = cpu_ns;
  for (const equiv::Call& call : asked.calls) {
    auto params = equiv::params_of(source, samples, call);
    if (run.params.empty() || run.params.back() != params) run.params.push_back(std::move(params));
    run.calls.push_back({call.first, call.n, static_cast<std::uint32_t>(run.params.size() - 1), call.in_place});
  }
  if (run.params.empty()) run.params.emplace_back();
  return run;
}

std::string describe_failure(const judge::GuardedResults& results, const std::vector<equiv::Call>& calls) {
  std::string text = judge::describe(results);
  if (results.calls_done < calls.size()) {
    const equiv::Call& call = calls[results.calls_done];
    text += " in a call of " + std::to_string(call.n) + " elements" + (call.in_place ? ", in place" : "");
  }
  return text;
}

}  // namespace

equiv::Execute execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                  const image::Mapped& image, std::uint64_t cpu_ns) {
  return [&source, &signature, &image,
          cpu_ns](std::span<const equiv::CodeRun> runs) -> Result<std::vector<equiv::Executed>> {
    std::vector<judge::GuardedRun> plans;
    for (const equiv::CodeRun& run : runs) plans.push_back(plan_run(source, run, cpu_ns));
    TRY(std::vector<judge::GuardedResults> results, judge::run_guarded(image, signature, plans));
    std::vector<equiv::Executed> executed;
    for (judge::GuardedResults& r : results) {
      const std::string failure = r.sound() ? "" : describe_failure(r, runs[executed.size()].calls);
      executed.push_back({failure, std::move(r.outputs)});
    }
    return executed;
  };
}

}  // namespace trident::pipeline
