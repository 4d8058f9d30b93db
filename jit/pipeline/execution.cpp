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

/// Returns the results of one kernel's runs, as far as they came.
std::vector<equiv::Executed> executed_of(std::vector<judge::GuardedResults> results,
                                         std::span<const equiv::CodeRun> runs) {
  std::vector<equiv::Executed> executed;
  for (judge::GuardedResults& r : results) {
    const std::string failure = r.sound() ? "" : describe_failure(r, runs[executed.size()].calls);
    executed.push_back({failure, std::move(r.outputs)});
  }
  return executed;
}

/// Runs that differ, in the order in which they are first asked for.
class Plans {
 public:
  Plans(const expr::Expr& source, std::uint64_t cpu_ns) : source_(source), cpu_ns_(cpu_ns) {}

  /// Returns the number of the plan for a run.
  std::size_t number_of(const equiv::CodeRun& run) {
    for (std::size_t i = 0; i < asked_.size(); ++i)
      if (same(*asked_[i], run)) return i;
    asked_.push_back(&run);
    plans_.push_back(plan_run(source_, run, cpu_ns_));
    return asked_.size() - 1;
  }
  [[nodiscard]] std::span<const judge::GuardedRun> all() const { return plans_; }

 private:
  static bool same(const equiv::CodeRun& a, const equiv::CodeRun& b) {
    return &a.samples == &b.samples && a.flush_start == b.flush_start && a.calls == b.calls;
  }

  const expr::Expr& source_;
  std::uint64_t cpu_ns_;
  std::vector<const equiv::CodeRun*> asked_;
  std::vector<judge::GuardedRun> plans_;
};

}  // namespace

equiv::ExecuteAll execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                     std::span<const image::Mapped* const> images, std::uint64_t cpu_ns) {
  return [&source, &signature, images, cpu_ns](
             std::span<const std::vector<equiv::CodeRun>> runs) -> Result<std::vector<std::vector<equiv::Executed>>> {
    Plans plans(source, cpu_ns);
    std::vector<judge::GuardedKernel> kernels;
    for (std::size_t k = 0; k < images.size(); ++k) {
      kernels.push_back({images[k], {}});
      for (const equiv::CodeRun& run : runs[k]) kernels.back().runs.push_back(plans.number_of(run));
    }
    TRY(auto results, judge::run_guarded(kernels, signature, plans.all()));
    std::vector<std::vector<equiv::Executed>> executed;
    for (std::size_t k = 0; k < images.size(); ++k) executed.push_back(executed_of(std::move(results[k]), runs[k]));
    return executed;
  };
}

equiv::Execute execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                  const image::Mapped& image, std::uint64_t cpu_ns) {
  return [&source, &signature, &image,
          cpu_ns](std::span<const equiv::CodeRun> runs) -> Result<std::vector<equiv::Executed>> {
    const image::Mapped* const one[] = {&image};
    const std::vector<equiv::CodeRun> all(runs.begin(), runs.end());
    TRY(auto executed, execute_in_sandbox(source, signature, one, cpu_ns)(std::span(&all, 1)));
    return std::move(executed[0]);
  };
}

}  // namespace trident::pipeline
