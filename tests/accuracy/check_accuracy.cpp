// The accuracy campaign: `make campaign NAME=accuracy`, and on inputs that nothing was tuned on `make campaign
// NAME=heldout`. Every kernel of a corpus, and random expressions, in f32 and f64, in every form that the optimiser
// would publish, at a million points of its ranges, under the policy bounded(2); the machine code of every instruction
// set of this machine must give the interpreter's bits at all of them. Prints a table; exits 1 on a violation.
//
// A form is published when the optimiser's own, smaller check accepts it. So a form counts as a violation when that
// check accepts it and the large one refuses it; the unrewritten form always counts.
#include <atomic>
#include <cstdio>
#include <fstream>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "jit/corpus/corpus_reader.h"
#include "jit/corpus/setting_names.h"
#include "jit/equiv/checker.h"
#include "jit/equiv/parts.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/refine.h"
#include "jit/pipeline/second_look.h"
#include "runtime/command_line/usage_error.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

struct Settings {
  std::vector<std::string> corpora = {"bench/corpus/kernels.tsv"};
  std::uint64_t random = 0;   ///< expressions of the fuzz generator beside the corpora
  std::uint64_t seconds = 0;  ///< no kernel is begun later than that; 0: all are
  std::string only;
  std::uint64_t points = 1'000'000;
  std::uint64_t seed = 20240601;
  unsigned threads = 2;
  double k = 2;
  bool source_only = false;
  bool whole = false;
  bool open_ranges = false;
  std::string isa = "auto";  ///< that forms are made for: their estimates are its own
};

struct Task {
  std::string name;
  expr::Type type;
  const corpus::CorpusKernel* kernel = nullptr;  ///< of a corpus, or
  std::string fpcore{};                          ///< one core of an FPCore file, or
  std::uint64_t seed = 0;                        ///< of a random expression
};

// Ranges for all variables: without them most points overflow, and there is little to measure.
expr::Expr random_source(const Task& task) {
  testing::RandomExprOptions options;
  options.f32 = task.type == expr::Type::f32;
  options.f64 = task.type == expr::Type::f64;
  options.ranged = 1;
  options.nodes_max = 16;
  return testing::random_expr(task.seed, options);
}

Result<expr::Expr> source_as_written(const Task& task) {
  if (task.kernel != nullptr) return corpus::to_expr(*task.kernel, task.type);
  if (task.fpcore.empty()) return random_source(task);
  return expr::parse_fpcore(task.fpcore, {.type = task.type, .variables = {}});
}

Result<expr::Expr> source_of(const Task& task, const Settings& settings) {
  TRY(expr::Expr source, source_as_written(task));
  const expr::Variable open;
  for (expr::Variable& variable : source.variables)
    if (settings.open_ranges && ir::is_float(variable.type)) variable.lo = open.lo, variable.hi = open.hi;
  return source;
}

// The cores of an FPCore file, each in both types.
Result<std::vector<Task>> read_fpcores(const std::string& path) {
  TRY(const std::vector<std::string> cores, corpus::read_fpcores(path));
  const std::string file_name = path.substr(path.find_last_of('/') + 1);
  std::vector<Task> tasks;
  for (const std::string& core : cores) {
    const std::string name = file_name.substr(0, file_name.find('.')) + " " + std::to_string(tasks.size() / 2);
    for (const expr::Type type : {expr::Type::f32, expr::Type::f64}) tasks.push_back({name, type, nullptr, core});
  }
  return tasks;
}

struct Row {
  std::string text;
  bool violated = false;
};

std::vector<codegen::Isa> host_isas() {
  std::vector<codegen::Isa> isas;
  if (os::cpu_features().avx2_fma) isas.push_back(codegen::Isa::avx2);
  if (os::cpu_features().avx512) isas.push_back(codegen::Isa::avx512);
  if (os::cpu_features().neon) isas.push_back(codegen::Isa::neon);
  return isas;
}

// The code of `kernel` in the baseline's variant and the most promising one, on every instruction set that has its
// estimates, at every point.
Result<equiv::Verdict> check_codes(const expr::Expr& source, const kir::Kernel& kernel, equiv::Checker& checker,
                                   const equiv::Checker::Prepared& prepared) {
  const judge::Signature signature = judge::signature_of(kernel);
  equiv::Verdict verdict = prepared.meaning;
  for (const codegen::Isa isa : host_isas()) {
    if (!kir::has_estimates_only_of(codegen::estimate_bits(isa), kernel)) continue;
    for (const codegen::Variant& variant : {pipeline::kBaselineVariant, codegen::variants(kernel, isa).front()}) {
      TRY(const codegen::MachineCode code, codegen::emit(kernel, isa, variant));
      TRY(const os::Fd fd, image::seal(image::build(code, image::counts_of(kernel), isa, TRIDENT_TIER_OPTIMISED, {})));
      TRY(const image::Mapped mapped, image::Mapped::map(fd));
      TRY(verdict,
          checker.check_code(prepared, pipeline::execute_in_sandbox(source, signature, mapped), equiv::Effort::full));
      if (!verdict.same()) return verdict;
    }
  }
  return verdict;
}

std::string line(const Task& task, const std::string& form, const equiv::Verdict& verdict, const char* outcome) {
  char text[200];
  std::snprintf(text, sizeof text, "%-18s %-4s %-12s %9llu %9llu %8.3f %12.4g %8.4f  %s\n", task.name.c_str(),
                std::string(ir::name_of(task.type)).c_str(), form.c_str(),
                static_cast<unsigned long long>(verdict.points), static_cast<unsigned long long>(verdict.undecided),
                verdict.bound_share, verdict.max_error_ulp, 100 * verdict.either_side, outcome);
  return text;
}

// Judges the source itself by its own running error, a single unit an operation: what fails here shows a fault of the
// bound (or of the kernel), since no form is involved.
Result<Row> check_source(const Task& task, const Settings& settings) {
  TRY(const expr::Expr written, source_of(task, settings));
  TRY(const expr::Expr source, expr::eliminate_derivatives(written));
  const expr::Policy policy{expr::PolicyKind::bounded, settings.k};
  equiv::CheckOptions options;
  options.samples = {.points = settings.points, .seed = settings.seed};
  options.refined_max = settings.points / 16;
  TRY(const auto kernel, expr::lower(source, {.policy = policy, .simplify = false}));
  if (!settings.whole) options.screened = &kernel;
  TRY(const auto checker, equiv::Checker::make(source, policy, options));
  TRY(const auto prepared, checker->check_meaning(kernel, equiv::Demand::policy));
  const equiv::Verdict& verdict = prepared.meaning;
  Row row{line(task, "source", verdict, verdict.same() ? "ok" : "VIOLATION"), !verdict.same()};
  if (row.violated) row.text += equiv::print(verdict) + "\n";
  return row;
}

Result<Row> check_forms(const Task& task, const Settings& settings) {
  TRY(const expr::Expr source, source_of(task, settings));
  TRY(const codegen::Isa isa, corpus::parse_isa(settings.isa));
  const pipeline::Options options{.target = {.isa = isa, .policy = {expr::PolicyKind::bounded, settings.k}}};
  const std::function<void(const pipeline::Progress&)> nobody;
  const pipeline::PassScope passes(options, nobody);
  TRY(std::vector<pipeline::Form> forms, pipeline::forms(source, source, options, passes));

  equiv::CheckOptions small;
  small.samples = {.points = equiv::suggested_points(source), .seed = options.search.seed};
  TRY(const auto small_checker, equiv::Checker::make(source, options.target.policy, small));
  equiv::CheckOptions large;
  large.samples = {.points = settings.points, .seed = settings.seed};
  large.refined_max = settings.points / 16;
  TRY(const auto large_checker, equiv::Checker::make(source, options.target.policy, large));

  pipeline::SecondLooks second_looks(source, options.target.policy, small);
  std::vector<pipeline::Tried> tried;
  for (pipeline::Form& form : forms) {
    const bool first = tried.empty();
    const auto demand = first ? equiv::Demand::policy : equiv::Demand::any_set;
    TRY(auto answer, small_checker->check_meaning(form.kernel, demand, first ? nullptr : &*tried[0].prepared));
    if (!first && answer.meaning.same() && !form.keeps_roundings) {
      TRY(auto again, second_looks.ask(form.kernel, answer.meaning.risk));
      if (!again.same()) answer.meaning = std::move(again);
    }
    tried.push_back({.form = std::move(form), .prepared = std::move(answer), .rare_checked = true});
  }
  pipeline::FormChecks checks(source, options.target.policy, small, *small_checker);
  const auto holds = [&](std::size_t form) -> Result<bool> { return tried[form].holds(); };
  TRY(auto refined, pipeline::refine({source, tried, *small_checker, checks, holds, options, passes}));
  if (refined) {
    constexpr double kAnyError = std::numeric_limits<double>::infinity();
    TRY(auto again, second_looks.ask(refined->form.kernel, kAnyError));
    if (!again.same()) refined->prepared->meaning = std::move(again);
    tried.push_back(std::move(*refined));
  }

  Row row;
  for (const pipeline::Tried& one : tried) {
    const pipeline::Form& form = one.form;
    const bool unrewritten = &one == &tried[0];
    bool counts = one.holds() || unrewritten;
    if (counts && !form.keeps_roundings) {
      TRY(const equiv::Verdict parts, equiv::check_parts(source, form.expr, form.how, {}));
      counts = parts.same();
    }
    if (!counts) {
      row.text += line(task, form.name, one.prepared->meaning, "refused by the optimiser");
      continue;
    }
    TRY(const auto prepared, large_checker->check_meaning(form.kernel, equiv::Demand::policy));
    equiv::Verdict verdict = prepared.meaning;
    if (verdict.same()) {
      TRY(verdict, check_codes(source, form.kernel, *large_checker, prepared));
    }
    row.text += line(task, form.name, verdict, verdict.same() ? "ok" : "VIOLATION");
    if (verdict.same()) continue;
    row.violated = true;
    row.text += equiv::print(verdict) + "\n";
  }
  return row;
}

struct Tasks {
  std::list<std::vector<corpus::CorpusKernel>> kernels;  ///< that `tasks` point to
  std::vector<Task> tasks;
};
Result<Tasks> read_tasks(const Settings& settings) {
  Tasks result;
  constexpr expr::Type kTypes[] = {expr::Type::f32, expr::Type::f64};
  for (const std::string& corpus : settings.corpora) {
    if (corpus.ends_with(".fpcore")) {
      TRY(const std::vector<Task> cores, read_fpcores(corpus));
      result.tasks.insert(result.tasks.end(), cores.begin(), cores.end());
      continue;
    }
    TRY(auto kernels, corpus::read_corpus(corpus));
    for (auto& kernel : kernels)  // by_hand.tsv has another form behind a tab
      kernel.definition = kernel.definition.substr(0, kernel.definition.find('\t'));
    auto& kept = result.kernels.emplace_back(std::move(kernels));
    for (const auto& kernel : kept)
      for (const expr::Type type : kTypes) result.tasks.push_back({kernel.name, type, &kernel});
  }
  for (std::uint64_t i = 0; i < settings.random; ++i)
    for (const expr::Type type : kTypes)
      result.tasks.push_back({"random " + std::to_string(settings.seed + i), type, nullptr, {}, settings.seed + i});
  std::erase_if(result.tasks, [&](const Task& t) { return t.name.find(settings.only) == std::string::npos; });
  // In a run that may be cut short each kind has its share.
  testing::Random random(settings.seed);
  for (std::size_t i = result.tasks.size(); settings.seconds != 0 && i > 1; --i)
    std::swap(result.tasks[i - 1], result.tasks[random.below(static_cast<std::uint32_t>(i))]);
  return result;
}

int run(const Settings& settings) {
  const auto corpus = read_tasks(settings);
  if (!corpus.ok()) {
    std::fprintf(stderr, "%s\n", corpus.error().message.c_str());
    return 2;
  }
  const std::vector<Task>& tasks = corpus->tasks;
  std::printf("policy bounded(%g), %llu points in each drawn set, seed %llu\n", settings.k,
              static_cast<unsigned long long>(settings.points), static_cast<unsigned long long>(settings.seed));
  std::printf("%-18s %-4s %-12s %9s %9s %8s %12s %8s\n", "kernel", "type", "form", "points", "undecided", "of bound",
              "ulp", "% steps");
  std::atomic<std::size_t> next{0};
  std::atomic<int> violations{0}, skipped{0}, judged{0};
  std::mutex printing;
  const std::uint64_t start_ns = os::monotonic_ns();
  const auto in_time = [&] {
    return settings.seconds == 0 || os::monotonic_ns() - start_ns < settings.seconds * 1'000'000'000;
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size() && in_time(); i = next++) {
      const auto row = settings.source_only ? check_source(tasks[i], settings) : check_forms(tasks[i], settings);
      const std::lock_guard lock(printing);
      if (!row.ok() && row.error().code != ErrorCode::kOsError && !tasks[i].fpcore.empty()) {
        ++skipped;  // loops, tensors and the like: not ours
        continue;
      }
      if (!row.ok()) {
        std::printf("%-18s %-4s %s\n", tasks[i].name.c_str(), std::string(ir::name_of(tasks[i].type)).c_str(),
                    row.error().message.c_str());
        ++violations;
        continue;
      }
      ++judged;
      std::fputs(row->text.c_str(), stdout);
      std::fflush(stdout);
      violations += row->violated ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < settings.threads; ++t) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
  const auto left = static_cast<int>(tasks.size()) - judged - skipped;
  std::printf("%d violations in %d kernels x types, %d cores skipped that are no expressions, %d not reached, %.0f s\n",
              violations.load(), judged.load(), skipped.load(), left,
              static_cast<double>(os::monotonic_ns() - start_ns) * 1e-9);
  return violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  trident::Settings settings;
  trident::command_line::Application program(
      "Checks the accuracy of every kernel of a corpus, in every form that would be published.", "check_accuracy");
  const trident::command_line::Command app = program.command();
  app.add_option("--corpus", settings.corpora, "files like kernels.tsv, kernels.sexp, rewrite.txt, or of FPCore")
      .capture_default_str();
  app.add_option("--random", settings.random, "as many random expressions, their seeds from --seed on");
  app.add_option("--seconds", settings.seconds, "begin no kernel later than this; 0: all").capture_default_str();
  app.add_option("--kernel", settings.only, "only kernels whose name contains this");
  app.add_option("--points", settings.points, "points of each drawn set").capture_default_str();
  app.add_option("--seed", settings.seed, "of the points").capture_default_str();
  app.add_option("--threads", settings.threads, "kernels checked at once").capture_default_str();
  app.add_option("-k", settings.k, "of the policy bounded(k)").capture_default_str();
  app.add_flag("--source", settings.source_only, "only the unrewritten kernels");
  app.add_flag("--whole", settings.whole, "with --source: judge every point by the reference, without a quick screen");
  app.add_option("--isa", settings.isa, "that the forms are made for: auto, avx2, avx512 or neon")
      .capture_default_str();
  app.add_flag("--no-ranges", settings.open_ranges, "take away the declared ranges of floats");
  if (const auto status = trident::command_line::exit_status(program, program.parse(argc, argv))) return *status;
  return trident::run(settings);
}
