#include "jit/pipeline/execution.h"

namespace trident::pipeline {
namespace {

judge::GuardedRun plan_run(const expr::Expr& source, const equiv::Samples& samples,
                           const std::vector<equiv::Call>& calls, bool flush_start, std::uint64_t cpu_ns) {
  judge::GuardedRun run;
  run.elements = samples.n;
  for (std::size_t v = 0; v < source.variables.size(); ++v)
    if (!source.variables[v].is_scalar()) run.inputs.emplace_back(samples.columns[v]);
  run.flush_start = flush_start;
  run.cpu_ns = cpu_ns;
  for (const equiv::Call& call : calls) {
    auto params = equiv::params_of(source, samples, call);
    if (run.params.empty() || run.params.back() != params) run.params.push_back(std::move(params));
    run.calls.push_back({call.first, call.n, static_cast<std::uint32_t>(run.params.size() - 1), call.in_place});
  }
  if (run.params.empty()) run.params.emplace_back();
  return run;
}

std::string describe_failure(const judge::GuardedResults& results, const std::vector<equiv::Call>& calls) {
  std::string text = results.wrote_outside ? "wrote outside its outputs" : os::describe(results.end);
  if (results.calls_done < calls.size()) {
    const equiv::Call& call = calls[results.calls_done];
    text += " in a call of " + std::to_string(call.n) + " elements" + (call.in_place ? ", in place" : "");
  }
  return text;
}

}  // namespace

equiv::Execute execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                  const image::Mapped& image, std::uint64_t cpu_ns) {
  return [&source, &signature, &image, cpu_ns](const equiv::Samples& samples, const std::vector<equiv::Call>& calls,
                                               bool flush_start) -> Result<equiv::Executed> {
    TRY(judge::GuardedResults results,
        judge::run_guarded(image, signature, plan_run(source, samples, calls, flush_start, cpu_ns)));
    if (!results.sound()) return equiv::Executed{describe_failure(results, calls), {}};
    return equiv::Executed{"", std::move(results.outputs)};
  };
}

}  // namespace trident::pipeline
