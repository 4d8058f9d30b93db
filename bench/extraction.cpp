// The value of choosing by the judge without measurement: of the forms that one search of a kernel finds, the
// one that costs least by the static table against the one that is taken by the judge, as the pipeline asks it
// (jit/pipeline/forms.h), with the judge, the margin and the costs that are built in; --judge FILE: another one, as one
// that has learnt this machine's times.
//
// Forms are compiled as the pipeline compiles what a search has found and checked against the source: the meaning
// against MPFR, the code against the interpreter (jit/equiv). Those that break the policy fall away before anything is
// chosen, as they do in the pipeline; under bounded(2) those are most of some corpora, so all is asked again under
// `fast`. The rest run turn by turn in a sandboxed child, on arrays that the first cache holds, over and over;
// `possible` is what the fastest of them gives, which nobody knows beforehand. No tournament plays a part.
//
// Slower or faster is what differs by over 1 % and by more than the noise: less than a twentieth of the rounds' ratios
// lie on the other side of 1. Kernels where both choose the same, or of which nothing cheaper is found, count as 1.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jit/corpus/corpus_reader.h"
#include "jit/equiv/checker.h"
#include "jit/learn/variant_timing.h"
#include "jit/nnue/shipped_weights.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/forms.h"
#include "jit/training/train_daemon_judge.h"
#include "runtime/os/cpu.h"
#include "runtime/os/mapped_file.h"
#include "runtime/stats/robust.h"

namespace trident {
namespace {

constexpr double kGainMin = 1.02, kSlowerMax = 0.05;
constexpr double kNoise = 0.01;
constexpr double kOtherSideMax = 0.05;
constexpr std::uint32_t kMeasurements = 40;
constexpr std::uint64_t kPoints = 2048;

struct Outcome {
  bool compared = false, differ = false;
  double gain = 1, possible = 1;  ///< static time over that of the learned choice, over that of the fastest
  bool slower = false, faster = false;
};

/// Returns true when a form keeps the policy and its code gives the form's results.
bool is_right(equiv::Checker& checker, const expr::Expr& source, const kir::Kernel& kernel,
              const learn::CompiledFamily& code, std::size_t which) {
  const auto prepared = checker.check_meaning(kernel, equiv::Demand::policy);
  if (!prepared.ok() || !prepared->meaning.same()) return false;
  const auto verdict = checker.check_code(
      *prepared, pipeline::execute_in_sandbox(source, code.signature, code.code[which]), equiv::Effort::brief);
  return verdict.ok() && verdict->same();
}

struct Sound {
  std::vector<learn::KernelVariant> forms;
  std::vector<double> guesses;
};

/// The forms that keep the policy, no two with the same instructions.
Sound sound_forms(const pipeline::Extraction& found, const expr::Expr& source, const pipeline::Options& options) {
  Sound all, sound;
  const auto plain = expr::lower(source, pipeline::unrewritten(options.target.policy));
  auto checker = equiv::Checker::make(source, options.target.policy, {.samples = {.points = kPoints, .seed = 1}});
  if (!plain.ok() || !checker.ok()) return sound;
  for (std::size_t i = 0; i < found.found.size(); ++i) {
    auto kernel = pipeline::lower_found(found.found[i], options.target.policy);
    if (!kernel.ok() || found.guesses.size() <= i) continue;
    pipeline::keep_totals(*plain, *kernel);
    const auto is_same = [&](const learn::KernelVariant& v) { return pipeline::same_kernel(v.kernel, *kernel); };
    if (std::any_of(all.forms.begin(), all.forms.end(), is_same)) continue;
    all.forms.push_back({"", "found", std::move(kernel).value()});
    all.guesses.push_back(found.guesses[i]);
  }
  if (all.forms.empty()) return sound;
  const auto code = learn::compile(source, all.forms, options.target.isa);
  if (!code.ok()) return sound;
  for (std::size_t k = 0; k < code->kernels.size(); ++k) {
    const std::size_t i = code->kernels[k];
    if (!is_right(**checker, source, all.forms[i].kernel, *code, k)) continue;
    sound.forms.push_back(all.forms[i]);
    sound.guesses.push_back(all.guesses[i]);
  }
  return sound;
}

/// ratios[form]: the first form's times over its own, of measurements in which all took turns.
std::vector<std::vector<double>> measured(const learn::CompiledFamily& code) {
  std::vector<std::vector<double>> ratios(code.code.size());
  for (std::uint32_t attempt = 0; attempt < kMeasurements / 2; ++attempt) {
    const auto timed = learn::time_family(code, {.seed = 1, .rounds = 9, .attempts = 1});
    if (!timed.ok()) continue;
    for (std::size_t k = 0; k < ratios.size(); ++k) {
      const auto &first = timed->times[0], &own = timed->times[k];
      if (first.ns > 0 && own.ns > 0) ratios[k].push_back(first.ns / own.ns);
      if (first.ns_again > 0 && own.ns_again > 0) ratios[k].push_back(first.ns_again / own.ns_again);
    }
  }
  return ratios;
}

/// Returns true when nearly all ratios are on one side of 1.
bool is_clear(const std::vector<double>& ratios, bool above) {
  const auto others = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return above ? r <= 1 : r >= 1; });
  return static_cast<double>(others) <= kOtherSideMax * static_cast<double>(ratios.size());
}

Outcome compare(const expr::Expr& submitted, const pipeline::Options& options) {
  Outcome out;
  const auto source =
      has_derivatives(submitted) ? expr::eliminate_derivatives(submitted) : Result<expr::Expr>(submitted);
  if (!source.ok() || !expr::check(*source).ok()) return out;
  const pipeline::Extraction found = pipeline::extract(submitted, *source, options);
  out.compared = found.found.empty();
  const Sound sound = sound_forms(found, *source, options);
  if (sound.forms.empty()) return out;
  out.compared = true;
  if (sound.forms.size() == 1) return out;
  const auto code = learn::compile(*source, sound.forms, options.target.isa);
  if (!code.ok() || code->code.size() != sound.forms.size()) return out;
  const std::vector<std::vector<double>> ratios = measured(*code);
  for (const std::vector<double>& r : ratios) {
    if (r.empty()) return out;
    out.possible = std::max(out.possible, stats::median(r));
  }
  const std::size_t learned = pipeline::learned_choice(sound.guesses, found.margin);
  out.differ = learned != 0;
  if (!out.differ) return out;
  out.gain = stats::median(ratios[learned]);
  out.slower = std::log(out.gain) < -kNoise && is_clear(ratios[learned], false);
  out.faster = std::log(out.gain) > kNoise && is_clear(ratios[learned], true);
  return out;
}

int run(const std::vector<std::string>& files, const expr::Policy& policy, const char* name,
        const pipeline::SearchWeights* weights) {
  const codegen::Isa isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
  const pipeline::Options options{.target = {.isa = isa, .policy = policy}, .search = {.weights = weights}};
  std::size_t kernels = 0, differ = 0, refused = 0, slower = 0, faster = 0;
  double logs = 0, possible = 0;
  for (const std::string& file : files) {
    const auto corpus = corpus::read_corpus(file);
    if (!corpus.ok()) {
      std::fprintf(stderr, "%s\n", corpus.error().message.c_str());
      return 2;
    }
    for (const corpus::CorpusKernel& kernel : *corpus)
      for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
        const auto submitted = corpus::parse_definition(kernel, type);
        const Outcome o = submitted.ok() ? compare(*submitted, options) : Outcome();
        if (!o.compared) {
          ++refused;
          continue;
        }
        ++kernels;
        differ += o.differ ? 1 : 0, slower += o.slower ? 1 : 0, faster += o.faster ? 1 : 0;
        logs += std::log(o.gain), possible += std::log(o.possible);
        if (!o.differ && o.possible < 1 + kNoise) continue;
        std::printf("%-34s %-4s %7.3f possible %7.3f %s\n", kernel.name.c_str(), std::string(ir::name_of(type)).c_str(),
                    o.gain, o.possible,
                    o.slower   ? "slower"
                    : o.faster ? "faster"
                               : "");
        std::fflush(stdout);
      }
  }
  if (kernels == 0) return 2;
  std::printf("policy %s\n", name);
  const auto count = static_cast<double>(kernels);
  const double gain = std::exp(logs / count), share = static_cast<double>(slower) / count;
  std::printf(
      "%zu kernels; the judge chooses otherwise in %zu; of %zu more no form that a search finds keeps the policy\n",
      kernels, differ, refused);
  std::printf("learned against static extraction: %.4f in the geometric mean (bar: at least %.2f); possible: %.4f\n",
              gain, kGainMin, std::exp(possible / count));
  std::printf("slower by over 1 %%: %.1f %% (bar: at most %.0f %%); faster: %.1f %%\n", 100 * share, 100 * kSlowerMax,
              100 * static_cast<double>(faster) / count);
  return gain >= kGainMin && share <= kSlowerMax ? 0 : 1;
}

/// A judge that was trained elsewhere (`trident train judge`), behind the guide that is built in.
Result<pipeline::SearchWeights> with_judge(const std::string& path) {
  TRY(const os::Mapping judge, os::map_file(path));
  char pattern[] = "/tmp/trident-extraction-XXXXXX";
  const char* folder = ::mkdtemp(pattern);
  if (folder == nullptr) return make_error(ErrorCode::kOsError, "no folder in /tmp");
  auto found = [&]() -> Result<pipeline::SearchWeights> {
    TRY(store::Versions versions, store::Versions::open(folder));
    TRY(const std::string name, versions.add(training::guide_and_judge(nnue::shipped_weights(), judge.bytes()), "{}"));
    return pipeline::SearchWeights::map(versions.path_of(name), name);
  }();
  std::filesystem::remove_all(folder);
  return found;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  using trident::expr::PolicyKind;
  std::vector<std::string> files(argv + 1, argv + argc);
  std::optional<trident::pipeline::SearchWeights> weights;
  if (files.size() > 2 && files[0] == "--judge") {
    auto found = trident::with_judge(files[1]);
    if (!found.ok()) {
      std::fprintf(stderr, "%s\n", found.error().message.c_str());
      return 2;
    }
    weights.emplace(std::move(found).value());
    files.erase(files.begin(), files.begin() + 2);
  }
  const trident::pipeline::SearchWeights* const own = weights ? &*weights : nullptr;
  const int bounded = trident::run(files, {.kind = PolicyKind::bounded, .k = 2}, "bounded(2)", own);
  const int fast = trident::run(files, {.kind = PolicyKind::fast}, "fast", own);
  return std::max(bounded, fast);
}
