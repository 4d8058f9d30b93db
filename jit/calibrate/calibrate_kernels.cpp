#include "jit/calibrate/calibrate_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "jit/calibrate/calibrate.h"
#include "jit/calibrate/costs_file.h"
#include "jit/corpus/corpus_reader.h"
#include "jit/expr/builder.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/learn/packed_kernels.h"
#include "jit/learn/programs.h"
#include "jit/learn/scrambles.h"
#include "jit/learn/timed_kernels.h"
#include "jit/learn/variant_timing.h"
#include "jit/learn/variants.h"
#include "runtime/json/json.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"
#include "runtime/stats/robust.h"

namespace trident::calibrate {
namespace {

/// Families that are made before they are timed: enough for threads to share, few enough to lose at the end.
constexpr std::size_t kBatch = 32;
/// Variants of a random family; of a kernel that somebody wrote, of which there are few.
constexpr std::uint32_t kVariantsMin = 8, kVariantsMax = 16, kCorpusVariants = 32;
/// Fewer say nothing about each other.
constexpr std::size_t kUsefulMin = 3;
constexpr std::uint64_t kPerSeed = std::uint64_t{1} << 32;
/// One part in N of a full cache is timed anew when it has become old.
constexpr std::uint64_t kRenewedPart = 8;
/// Kernels of other builds and processors that are kept, in parts of N.
constexpr std::uint64_t kOfOthers = 1;
constexpr std::uint64_t kSeedsMax = std::uint64_t{1} << 30;

/// Something to make a family of.
struct Task {
  std::string name, generator;
  std::uint64_t seed = 0;
  std::optional<expr::Expr> source{};  ///< of a corpus
};

struct MadeFamily {
  std::vector<learn::KernelVariant> variants;
  learn::CompiledFamily code;
};

Result<std::vector<Task>> corpus_tasks(const CalibrateKernelsOptions& options) {
  std::vector<Task> tasks;
  const auto add = [&](const std::string& name, Result<expr::Expr> source, expr::Type type) {
    if (!source.ok()) return;  // what cannot be compiled has no time
    const std::string typed = name + "." + std::string(ir::name_of(type));
    tasks.push_back({typed, "corpus", options.seed * kPerSeed + tasks.size(), *std::move(source)});
  };
  for (const std::string& path : options.corpora) {
    const std::string file = std::filesystem::path(path).stem().string();
    if (path.ends_with(".fpcore")) {
      TRY(const std::vector<std::string> cores, corpus::read_fpcores(path));
      for (std::size_t i = 0; i < cores.size(); ++i)
        for (const expr::Type type : {expr::Type::f32, expr::Type::f64})
          add(fmt::format("fpbench-{}/{}", file, i), expr::parse_fpcore(cores[i], {.type = type, .variables = {}}),
              type);
      continue;
    }
    TRY(const std::vector<corpus::CorpusKernel> kernels, corpus::read_corpus(path));
    for (const corpus::CorpusKernel& kernel : kernels)
      for (const expr::Type type : {expr::Type::f32, expr::Type::f64})
        add(file + "/" + kernel.name, corpus::to_expr(kernel, type), type);
  }
  return tasks;
}

/// Number `n` of those without an end: two scrambles, of which every other one comes to nothing, then a program.
Task random_task(std::uint64_t seed, std::uint64_t n) {
  const bool program = n % 3 == 2;
  const std::uint64_t number = program ? n / 3 : n / 3 * 2 + n % 3;
  const char* generator = program ? "program" : "scramble";
  return {fmt::format("{}-{}-{}", generator, seed, number), generator, seed * kPerSeed + number, {}};
}

/// Half of the scrambles in f32: compositions are of f64.
expr::Expr in_f32(expr::Expr e) {
  for (expr::Variable& v : e.variables)
    if (v.type == expr::Type::f64) v.type = expr::Type::f32;
  for (expr::Node& n : e.nodes) {
    if (n.type != expr::Type::f64) continue;
    if (n.op == expr::Op::Constant) n.imm = expr::bits_of(expr::Type::f32, expr::value_of(expr::Type::f64, n.imm));
    n.type = expr::Type::f32;
  }
  return e;
}

std::optional<expr::Expr> source_of(const Task& task) {
  if (task.source) return task.source;
  if (task.generator == "program") return learn::random_program(task.seed);
  const auto scramble = learn::scrambled(task.seed);
  if (!scramble) return std::nullopt;
  return task.seed % 4 < 2 ? scramble->expr : in_f32(scramble->expr);
}

/// Returns nothing when the task makes no family.
Result<std::optional<MadeFamily>> make_family(const Task& task, codegen::Isa isa, egraph::Guide* guide) {
  const std::optional<expr::Expr> source = source_of(task);
  if (!source || !expr::check(*source).ok()) return std::optional<MadeFamily>();
  learn::VariantOptions options{.seed = task.seed, .isa = isa, .guide = guide};
  options.wanted = task.source
                       ? kCorpusVariants
                       : kVariantsMin + static_cast<std::uint32_t>(task.seed % (kVariantsMax - kVariantsMin + 1));
  auto variants = learn::variants_of(*source, options);
  if (!variants.ok() || variants->size() < kUsefulMin) return std::optional<MadeFamily>();
  auto code = learn::compile(*source, *variants, isa);
  if (!code.ok() && code.error().code == ErrorCode::kOsError) return code.error();
  if (!code.ok() || code->kernels.size() < kUsefulMin) return std::optional<MadeFamily>();
  return std::optional(MadeFamily{*std::move(variants), *std::move(code)});
}

class Run {
 public:
  explicit Run(const CalibrateKernelsOptions& options) : options_(options), seed_(options.seed) {}

  Result<CalibratedKernels> all() {
    const std::uint64_t start = os::monotonic_ns();
    os::cycle_counter_ns();  // measured once here, not in every child
    TRY(corpus_, corpus_tasks(options_));
    const learn::Machine machine{os::cpu_model(), std::string(codegen::name_of(options_.isa)), os::build_id(), today()};
    std::error_code code;
    if (const auto folder = std::filesystem::path(options_.path).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, code);
    TRY(auto writer, learn::TimedKernelWriter::open(options_.path, machine));
    TRY(const std::vector<std::string> names, writer.families());
    done_.insert(names.begin(), names.end());
    TRY(result_.kernels, writer.kernels());
    const std::uint64_t before = result_.kernels;
    TRY_VOID(plan(writer));
    if (result_.kept) return result_;
    for (unsigned t = 0; t < std::max(options_.threads, 1u); ++t) {
      TRY(auto guide, expr::rewrite::AnyGuide::make(expr::rewrite::GuideKind::network));
      guides_.push_back(std::move(guide));
    }
    while (result_.kernels < wanted_ && !stopped()) {
      TRY_VOID(batch(writer));
      TRY(result_.kernels, writer.kernels());
    }
    result_.added = result_.kernels - before;
    if (options_.stale_days && !stopped()) {
      TRY(result_.dropped, writer.drop_oldest(options_.kernels, (1 + kOfOthers) * options_.kernels));
      TRY(result_.kernels, writer.kernels());
    }
    result_.interrupted = stopped();
    TRY_VOID(figures(machine));
    result_.seconds = static_cast<double>(os::monotonic_ns() - start) * 1e-9;
    return result_;
  }

 private:
  /// How many kernels there shall be before the oldest go, and by which seed; or that all stays as it is.
  Result<void> plan(learn::TimedKernelWriter& writer) {
    wanted_ = options_.kernels;
    if (!options_.stale_days) return {};
    TRY(const std::string newest, writer.newest());
    const bool recent = is_recent(newest, *options_.stale_days);
    const bool full = result_.kernels >= options_.kernels;
    result_.kept = full && recent;
    if (!newest.empty()) {
      using namespace std::chrono;
      const auto today = floor<days>(system_clock::now()).time_since_epoch();
      seed_ = weekly_seed(options_.seed, today.count());
    }
    if (full && !recent) wanted_ = result_.kernels + std::max<std::uint64_t>(options_.kernels / kRenewedPart, 1);
    return {};
  }

  [[nodiscard]] bool stopped() const { return options_.stopped && options_.stopped(); }
  void show(std::uint64_t beside, const std::string& what) const {
    if (options_.progress) options_.progress(std::min(result_.kernels + beside, wanted_), what);
  }

  /// The next tasks whose families are not there.
  std::vector<Task> next_tasks() {
    std::vector<Task> tasks;
    while (tasks.size() < kBatch) {
      const Task task = next_ < corpus_.size() ? corpus_[next_] : random_task(seed_, next_ - corpus_.size());
      ++next_;
      if (!done_.contains(task.name)) tasks.push_back(task);
    }
    return tasks;
  }

  Result<std::vector<std::optional<MadeFamily>>> make(const std::vector<Task>& tasks) {
    std::vector<std::optional<MadeFamily>> made(tasks.size());
    std::vector<std::optional<Error>> errors(tasks.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](egraph::Guide* guide) {
      for (std::size_t i = next++; i < tasks.size() && !stopped(); i = next++) {
        auto family = make_family(tasks[i], options_.isa, guide);
        if (family.ok())
          made[i] = *std::move(family);
        else
          errors[i] = family.error();
      }
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < guides_.size(); ++t) others.emplace_back(work, guides_[t].get());
    work(guides_[0].get());
    for (std::thread& thread : others) thread.join();
    for (const auto& error : errors)
      if (error) return *error;
    return made;
  }

  Result<void> batch(learn::TimedKernelWriter& writer) {
    const std::vector<Task> tasks = next_tasks();
    show(0, "making families");
    TRY(const auto made, make(tasks));
    std::vector<learn::FamilyTimes> timed;
    std::uint64_t kernels = 0;
    for (std::size_t i = 0; i < tasks.size() && result_.kernels + kernels < wanted_ && !stopped(); ++i) {
      if (!made[i]) continue;
      show(kernels, tasks[i].name);
      auto family = times_of(tasks[i], *made[i]);
      // An interrupt ends the child too: what it had measured is not whole.
      if (stopped()) break;
      if (!family.ok()) return family.error();
      if (family->kernels.size() < kUsefulMin) continue;
      kernels += family->kernels.size();
      timed.push_back(*std::move(family));
    }
    return writer.append(timed);
  }

  Result<learn::FamilyTimes> times_of(const Task& task, const MadeFamily& made) {
    TRY(const learn::FamilyTiming timing,
        learn::time_family(made.code, {.seed = task.seed, .rounds = options_.rounds}));
    learn::FamilyTimes family{task.name, task.generator, {}, {}};
    // A family without the source's own time is useless.
    if (timing.times[0].ns <= 0 || timing.times[0].ns_again <= 0) return family;
    for (std::size_t k = 0; k < timing.times.size(); ++k) {
      const auto& [ns, ns_again] = timing.times[k];
      if (ns <= 0 || ns_again <= 0) continue;
      for (std::size_t a = 0; a < timing.earlier.size(); ++a)
        if (const auto& attempt = timing.earlier[a]; attempt[k].ns > 0 && attempt[k].ns_again > 0)
          family.earlier.push_back({static_cast<std::uint32_t>(family.kernels.size()), attempt[k].ns,
                                    attempt[k].ns_again, static_cast<std::uint32_t>(a + (a >= timing.kept ? 2 : 1))});
      const learn::KernelVariant& variant = made.variants[made.code.kernels[k]];
      family.kernels.push_back({0, variant.text, variant.how, ns, ns_again});
    }
    result_.repeated += timing.earlier.empty() ? 0 : 1;
    result_.unsteady += learn::repeats(timing.times) ? 0 : 1;
    return family;
  }

  /// Over all that the cache has of this machine.
  Result<void> figures(const learn::Machine& machine) {
    if (result_.kernels == 0) return {};
    TRY(const learn::TimedKernels cache, learn::load_timed_kernels(options_.path));
    std::vector<double> first, second, differences, within, tried, tried_again;
    for (const learn::TimedFamily& family : cache.families) {
      const learn::Machine& there = cache.machines[family.machine];
      if (there.cpu != machine.cpu || there.isa != machine.isa || there.build != machine.build) continue;
      ++result_.families[family.generator];
      const std::size_t from = first.size();
      for (std::uint32_t k = family.first; k < family.end; ++k) {
        const learn::TimedKernel& kernel = cache.kernels[k];
        first.push_back(kernel.ns), second.push_back(kernel.ns_again);
        tried.push_back(kernel.first_ns > 0 ? kernel.first_ns : kernel.ns);
        tried_again.push_back(kernel.first_ns > 0 ? kernel.first_ns_again : kernel.ns_again);
        differences.push_back(std::fabs(std::log(second.back() / first.back())));
      }
      if (first.size() - from >= 4)
        within.push_back(stats::rank_correlation(std::span(first).subspan(from), std::span(second).subspan(from)));
    }
    result_.rho = stats::rank_correlation(first, second);
    result_.rho_first = stats::rank_correlation(tried, tried_again);
    if (!within.empty()) result_.rho_family = stats::median(within);
    if (!differences.empty()) result_.error = stats::median(differences);
    return {};
  }

  const CalibrateKernelsOptions& options_;
  std::vector<Task> corpus_;
  std::uint64_t next_ = 0, wanted_ = 0;
  std::uint64_t seed_ = 0;  ///< of random families
  std::set<std::string> done_;
  std::vector<expr::rewrite::AnyGuide> guides_;  ///< one for each thread
  CalibratedKernels result_;
};

}  // namespace

Result<std::string> user_kernels_path(std::string_view isa) {
  TRY(const std::string costs, user_costs_path(isa));
  return std::filesystem::path(costs).replace_extension(".kernels").string();
}

std::uint64_t weekly_seed(std::uint64_t seed, std::int64_t day) {
  const auto week = static_cast<std::uint64_t>(std::max<std::int64_t>(day, 0)) / 7;
  return kSeedsMax + seed * (std::uint64_t{1} << 12) % kSeedsMax + week % (std::uint64_t{1} << 12);
}

Result<CalibratedKernels> calibrate_kernels(const CalibrateKernelsOptions& options) {
  return Run(options).all();
}

Result<std::size_t> pack_kernels(const std::string& cache, std::size_t kernels, const std::string& to) {
  TRY(const learn::TimedKernels all, learn::load_timed_kernels(cache));
  const learn::TimedKernels some = learn::cut(all, kernels);
  TRY(os::AtomicFile file, os::AtomicFile::create(to));
  TRY_VOID(file.append(learn::pack(some)));
  TRY_VOID(file.commit());
  return some.kernels.size();
}

std::string calibrated_text(const CalibratedKernels& done) {
  std::string text = fmt::format("{} kernels, {} of them new, in {:.1f} s", done.kernels, done.added, done.seconds);
  if (done.added > 0)
    text += fmt::format(" ({:.2f} ms a kernel)", done.seconds * 1e3 / static_cast<double>(done.added));
  text += "\nfamilies:";
  const char* gap = " ";
  for (const auto& [generator, count] : done.families)
    text += fmt::format("{}{} {}", std::exchange(gap, ", "), count, generator);
  text += fmt::format("\nmeasured again: {} families, of which {} never gave two agreeing measurements\n",
                      done.repeated, done.unsteady);
  text += fmt::format(
      "two measurements agree to {:.2f} % (median); rank correlation {:.5f}, within families {:.5f} (median); of first "
      "attempts, whether they agree or not, {:.5f}\n",
      100 * done.error, done.rho, done.rho_family, done.rho_first);
  if (done.dropped > 0) text += fmt::format("removed {} kernels that were too old\n", done.dropped);
  return text;
}

std::string calibrated_json(const CalibratedKernels& done, const CalibrateKernelsOptions& options) {
  Json root = {{"file", options.path},
               {"isa", std::string(codegen::name_of(options.isa))},
               {"seed", options.seed},
               {"kernels", done.kernels},
               {"added", done.added}};
  root["families"] = Json::object();
  for (const auto& [generator, count] : done.families) root["families"][generator] = count;
  root["repeated"] = done.repeated, root["unsteady"] = done.unsteady;
  root["test_retest"] = {{"spearman", done.rho},
                         {"spearman_in_families", done.rho_family},
                         {"spearman_of_first_attempts", done.rho_first},
                         {"median_error", done.error}};
  root["dropped"] = done.dropped;
  root["seconds"] = done.seconds;
  root["interrupted"] = done.interrupted;
  return root.dump(1) + "\n";
}

}  // namespace trident::calibrate
