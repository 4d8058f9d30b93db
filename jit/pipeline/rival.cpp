#include "jit/pipeline/rival.h"

#include <algorithm>

#include "runtime/stats/robust.h"

namespace trident::pipeline {
namespace {

/// Variants of a form that are timed: the others rarely win by much.
constexpr std::size_t kVariants = 5;
/// The first look, at many kernels, must not miss one that is of use: what is slower by less than this goes on.
constexpr judge::TimingRules kLook = {.rounds = 7, .batch_ns = 5'000, .cpu_ns = 50'000'000};
constexpr double kDoubt = 1.05;
constexpr judge::TimingRules kDecision = {.rounds = 21, .batch_ns = 10'000, .cpu_ns = 50'000'000};

struct Code {
  codegen::MachineCode code;
  image::Mapped mapped;
};

Result<Code> code_of(const kir::Kernel& kernel, const codegen::Variant& variant, codegen::Isa isa) {
  TRY(codegen::MachineCode code, codegen::emit(kernel, isa, variant));
  const image::ImageBytes image = image::build(code, image::counts_of(kernel), isa, TRIDENT_TIER_OPTIMISED, {});
  TRY(const os::Fd fd, image::seal(image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  return Code{std::move(code), std::move(mapped)};
}

/// Makes code of the first variants of a form and of the rival's, as far as there is any.
void add_variants(const Form& form, const codegen::Variant& of_rival, const Options& options,
                  std::vector<Code>& codes) {
  const codegen::Isa isa = options.target.isa;
  auto variants = codegen::variants(form.kernel, isa, divider_of(isa, options.search));
  variants.resize(std::min(variants.size(), kVariants));
  if (std::find(variants.begin(), variants.end(), of_rival) == variants.end()) variants.push_back(of_rival);
  for (const codegen::Variant& variant : variants)
    if (auto code = code_of(form.kernel, variant, isa); code.ok()) codes.push_back(std::move(code).value());
}

/// Returns the least of the kernels' times over the rival's, which is the first; 0 where one was not timed.
double least_ratio(const judge::Timings& timings) {
  const auto is_empty = [](const std::vector<double>& ns) { return ns.empty(); };
  if (std::any_of(timings.ns.begin(), timings.ns.end(), is_empty)) return 0;
  double least = stats::median(timings.ns[1]);
  for (std::size_t i = 2; i < timings.ns.size(); ++i) least = std::min(least, stats::median(timings.ns[i]));
  return least / stats::median(timings.ns[0]);
}

}  // namespace

Result<judge::Timings> time_in_sandbox(std::span<const image::Mapped* const> kernels, const judge::Signature& signature,
                                       const judge::Workload& workload, const judge::TimingRules& rules) {
  return judge::time_rounds(kernels, signature, workload, rules);
}

Result<bool> may_beat(const Rival& rival, std::span<const Tried> tried, const Options& options,
                      const judge::Workload& workload, const TimeKernels& time) {
  std::vector<Code> codes;
  for (const Tried& one : tried) add_variants(one.form, rival.variant, options, codes);
  if (codes.empty()) return true;
  std::vector<const image::Mapped*> kernels = {&rival.image};
  for (const Code& code : codes) kernels.push_back(&code.mapped);
  const judge::Signature signature = judge::signature_of(tried[0].form.kernel);
  TRY(const judge::Timings timings, time(kernels, signature, workload, kLook));
  return least_ratio(timings) <= rival.most * kDoubt;
}

Result<bool> beats(const Rival& rival, const image::Mapped& kernel, const judge::Signature& signature,
                   const judge::Workload& workload) {
  const image::Mapped* const both[] = {&rival.image, &kernel};
  TRY(const judge::Timings timings, judge::time_rounds(both, signature, workload, kDecision));
  return least_ratio(timings) <= rival.most;
}

}  // namespace trident::pipeline
