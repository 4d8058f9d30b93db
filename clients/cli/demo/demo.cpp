#include "clients/cli/demo/demo.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <optional>

#include "clients/c/trident.h"
#include "clients/cli/bench/answers.h"
#include "clients/cli/bench/timing.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/directory.h"
#include "runtime/os/interrupt.h"
#include "runtime/report/progress_bar.h"
#include "runtime/stats/robust.h"
#include "schemas/stages.h"

namespace trident::cli {
namespace {

constexpr std::uint32_t kDaemonStartTimeoutMs = 10'000;
/// Time for which a kernel is called before the next one has its turn, and least number of calls.
struct Turn {
  std::uint64_t ns;
  unsigned calls_min;
};
constexpr Turn kFirstTurn{0, 4};  ///< at once after the submission, and after the daemon's death
constexpr Turn kShortTurn{200'000, 4};
/// Turn for a steady figure: of the interpreter, and of the last tier once the daemon is done. It has enough calls that
/// other processes on the machine do not disturb the median one.
constexpr Turn kSteadyTurn{20'000'000, 32};
constexpr useconds_t kPauseUs = 20'000;
constexpr std::uint64_t kShowNs = 100'000'000;
/// The policy of the demo's submissions.
constexpr expr::Policy kPolicy{expr::PolicyKind::bounded, 2};

/// Times at which the tiers came in, written by the library's thread.
struct Swaps {
  std::array<std::atomic<std::uint64_t>, kTiers> at_ns{};
  std::atomic<std::uint64_t> done_ns{0};
};

/// Times of the last calls of a tier.
class CallTimes {
 public:
  void add(double ns) {
    if (ns_.size() < kKept)
      ns_.push_back(ns);
    else
      ns_[next_++ % kKept] = ns;
  }
  /// 0 without calls.
  [[nodiscard]] double median_ns() const { return ns_.empty() ? 0 : stats::median(ns_); }

 private:
  static constexpr std::size_t kKept = 1001;
  std::vector<double> ns_;
  std::size_t next_ = 0;
};

/// One kernel under way.
struct Live {
  trident_kernel* kernel = nullptr;
  trident_kernel* interpreted = nullptr;
  std::unique_ptr<expr::Expr> expr;
  std::unique_ptr<Workload> workload;
  std::unique_ptr<AnswerChecker> checker;
  Swaps swaps;
  std::uint64_t submitted_ns = 0;
  std::optional<DemoAnswers> answers;
  std::array<CallTimes, kTiers> times;
};

struct Client {
  trident_ctx *ctx = nullptr, *interpreter = nullptr;
  std::vector<std::unique_ptr<Live>> kernels;
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    for (const auto& live : kernels)
      for (trident_kernel* kernel : {live->kernel, live->interpreted})
        if (kernel != nullptr) trident_close_kernel(kernel);
    for (trident_ctx* open : {ctx, interpreter})
      if (open != nullptr) trident_close(open);
  }
};

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof info;
  (void)trident_info(kernel, &info);
  return info;
}

DemoCode code_of(const trident_kernel* kernel) {
  const trident_kernel_info info = info_of(kernel);
  return {std::min<std::uint32_t>(info.tier, kTiers - 1), info.swaps};
}

void on_change(trident_kernel* kernel, void* user) {
  auto& swaps = *static_cast<Swaps*>(user);
  const std::uint64_t now = os::monotonic_ns();
  const trident_kernel_info info = info_of(kernel);
  std::uint64_t expected = 0;
  if (info.tier < kTiers) swaps.at_ns[info.tier].compare_exchange_strong(expected, now);
  expected = 0;
  if (info.done != 0) swaps.done_ns.compare_exchange_strong(expected, now);
}

Result<void> open_client(Client& client, const std::string& socket) {
  trident_options options{};
  options.struct_size = sizeof options;
  options.mode = TRIDENT_MODE_DAEMON;
  options.socket_path = socket.c_str();
  options.connect_timeout_ms = kDaemonStartTimeoutMs;
  if (trident_open(&options, &client.ctx) != TRIDENT_OK)
    return make_error(ErrorCode::kDisconnected, "the demo's daemon: %s", trident_last_error());
  return {};
}

/// The submit options of a corpus kernel, with the storage that they point to.
struct Submission {
  std::vector<trident_variable> variables;
  trident_submit_options options{};
  Submission(const Live& live, const corpus::CorpusKernel& source, ir::Type type) {
    const std::uint32_t wire_type = type == ir::Type::f32 ? TRIDENT_F32 : TRIDENT_F64;
    for (const expr::Variable& v : source.variables) variables.push_back({v.name.c_str(), wire_type, 0, v.lo, v.hi});
    options.struct_size = sizeof options;
    options.type = wire_type;
    options.policy = TRIDENT_BOUNDED;
    options.variables = variables.data();
    options.variable_count = static_cast<std::uint32_t>(variables.size());
    options.elements_hint = static_cast<std::uint32_t>(live.workload->n());
  }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
};

Result<void> submit(Client& client, Live& live, const corpus::CorpusKernel& source, ir::Type type, DemoKernel& k) {
  const Submission submission(live, source, type);
  live.submitted_ns = os::monotonic_ns();
  const trident_status status =
      trident_submit(client.ctx, source.definition.c_str(), &submission.options, &live.kernel);
  k.submit_ns = os::monotonic_ns() - live.submitted_ns;
  if (status != TRIDENT_OK) return make_error(ErrorCode::kInvalidArgument, "%s", trident_last_error());
  trident_on_change(live.kernel, on_change, &live.swaps);
  on_change(live.kernel, &live.swaps);  // what came in before the callback was set
  return {};
}

/// A handle that stays with the interpreter: the daemon may be quicker than a first call, and then the kernel's own
/// handle never shows how the interpreter answers.
Result<void> submit_interpreted(Client& client, Live& live, const corpus::CorpusKernel& source, ir::Type type) {
  if (client.interpreter == nullptr) {
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = TRIDENT_MODE_INTERP;
    if (trident_open(&options, &client.interpreter) != TRIDENT_OK)
      return make_error(ErrorCode::kInternal, "%s", trident_last_error());
  }
  const Submission submission(live, source, type);
  if (trident_submit(client.interpreter, source.definition.c_str(), &submission.options, &live.interpreted) !=
      TRIDENT_OK)
    return make_error(ErrorCode::kInvalidArgument, "%s", trident_last_error());
  return {};
}

class Pass {
 public:
  Pass(const std::vector<corpus::CorpusKernel>& sources, ir::Type type, const DemoOptions& options,
       const std::function<void(const DemoPass&)>& show)
      : sources_(sources), options_(options), show_(show) {
    pass_.type = type;
  }

  Result<DemoPass> run() {
    os::note_interrupts();
    TRY(const std::unique_ptr<PrivateDaemon> daemon, PrivateDaemon::start(options_.daemon_program));
    TRY_VOID(open_client(client_, daemon->socket()));
    prepare();
    TRY_VOID(measure_interpreter());
    start_ns_ = os::monotonic_ns();
    submit_all();
    TRY_VOID(serve());
    pass_.wall_ns = os::monotonic_ns() - start_ns_;
    daemon->kill();
    call_all_again();
    show_(pass_);
    return std::move(pass_);
  }

 private:
  /// Inputs and references, before the clock runs.
  void prepare() {
    for (const corpus::CorpusKernel& source : sources_) {
      auto live = std::make_unique<Live>();
      DemoKernel k;
      k.name = source.name;
      if (auto e = corpus::to_expr(source, pass_.type); e.ok()) {
        live->expr = std::make_unique<expr::Expr>(std::move(*e));
        live->workload = std::make_unique<Workload>(*live->expr, live->expr->variables, options_.n, options_.seed);
        auto checker = AnswerChecker::make(*live->expr, *live->workload);
        if (checker.ok())
          live->checker = std::move(*checker);
        else
          k.failure = checker.error().message;
      } else {
        k.failure = e.error().message;
      }
      if (live->checker) live->answers.emplace(*live->checker, kPolicy);
      client_.kernels.push_back(std::move(live));
      pass_.kernels.push_back(std::move(k));
    }
  }

  Result<void> measure_interpreter() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      TRY_VOID(os::check_interrupted());
      DemoKernel& k = pass_.kernels[i];
      if (!k.failure.empty()) continue;
      Live& live = *client_.kernels[i];
      if (const auto made = submit_interpreted(client_, live, sources_[i], pass_.type); !made.ok())
        k.failure = made.error().message;
      else
        call(live.interpreted, i, kSteadyTurn);
    }
    return {};
  }

  void submit_all() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      DemoKernel& k = pass_.kernels[i];
      if (!k.failure.empty()) continue;
      const auto submitted = submit(client_, *client_.kernels[i], sources_[i], pass_.type, k);
      if (!submitted.ok())
        k.failure = submitted.error().message;
      else
        call(client_.kernels[i]->kernel, i, kFirstTurn);  // the first answer, at once
    }
  }

  /// Calls all kernels in turn until the daemon has nothing more to say, or the time is over.
  Result<void> serve() {
    std::uint64_t shown_ns = 0;
    const std::uint64_t deadline_ns = start_ns_ + std::uint64_t{options_.timeout_ms} * 1'000'000;
    while (true) {
      TRY_VOID(os::check_interrupted());
      bool all_done = true;
      for (std::size_t i = 0; i < pass_.kernels.size(); ++i) {
        DemoKernel& k = pass_.kernels[i];
        if (!k.failure.empty() || k.done) continue;
        const trident_kernel_info info = info_of(client_.kernels[i]->kernel);
        const bool done = info.done != 0;
        k.stage = stage_of(info);
        call(client_.kernels[i]->kernel, i, done ? kSteadyTurn : kShortTurn);
        note_times(i);
        k.done = done;
        all_done = all_done && done;
      }
      const std::uint64_t now = os::monotonic_ns();
      if (now - shown_ns >= kShowNs) show_(pass_), shown_ns = now;
      if (all_done) return {};
      if (now < deadline_ns) {
        ::usleep(kPauseUs);  // a client that does other things too: the daemon measures on the same machine
        continue;
      }
      for (DemoKernel& k : pass_.kernels) k.late = !k.done && k.failure.empty();
      return {};
    }
  }

  /// "judge 3/12, best 0.62 of the baseline's time"; empty while nothing was heard.
  static std::string stage_of(const trident_kernel_info& info) {
    const std::string stage(name_of_info_stage(info.stage));
    if (stage.empty()) return "";
    return report::stage_text(stage + " " + std::to_string(info.stage_done) + "/" + std::to_string(info.stage_total),
                              info.best_ratio);
  }

  void call_all_again() {
    pass_.right_without_daemon = true;
    for (std::size_t i = 0; i < pass_.kernels.size(); ++i)
      if (pass_.kernels[i].failure.empty()) call(client_.kernels[i]->kernel, i, kFirstTurn);
    for (const DemoKernel& k : pass_.kernels)
      pass_.right_without_daemon = pass_.right_without_daemon && k.failure.empty();
  }

  /// Calls `kernel`, a handle of kernel `i`, for a turn: times each call by itself and checks its answer.
  void call(const trident_kernel* kernel, std::size_t i, const Turn& turn) {
    Live& live = *client_.kernels[i];
    DemoKernel& k = pass_.kernels[i];
    const Workload& w = *live.workload;
    const std::uint64_t start = os::monotonic_ns();
    for (unsigned calls = 0; calls < turn.calls_min || os::monotonic_ns() - start < turn.ns; ++calls) {
      DemoAnswers::spoil(w);
      const DemoCode before = code_of(kernel);
      const std::uint64_t begin = os::cycle_counter();
      trident_call(kernel, w.n(), w.inputs().data(), w.outputs().data(), w.params().data());
      const double ns = static_cast<double>(os::cycle_counter() - begin) * os::cycle_counter_ns();
      const DemoCode after = code_of(kernel);
      k.tier = after.tier;
      TierResult& tier = k.tiers[k.tier];
      ++tier.calls;
      // A call during which a swap came belongs to no tier.
      if (before == after) live.times[k.tier].add(ns);
      k.failure = live.answers->judge(w, before, after);
      tier.bound_share = live.answers->bound_share(k.tier);
      if (!k.failure.empty()) return;
    }
    for (std::size_t t = 0; t < kTiers; ++t) k.tiers[t].call_ns = live.times[t].median_ns();
  }

  void note_times(std::size_t i) {
    const Live& live = *client_.kernels[i];
    DemoKernel& k = pass_.kernels[i];
    for (std::size_t t = 1; t < kTiers; ++t)
      if (const std::uint64_t at = live.swaps.at_ns[t].load(); at > live.submitted_ns)
        k.tiers[t].first_ns = at - live.submitted_ns;
    if (const std::uint64_t at = live.swaps.done_ns.load(); at > live.submitted_ns) k.done_ns = at - live.submitted_ns;
  }

  const std::vector<corpus::CorpusKernel>& sources_;
  const DemoOptions& options_;
  const std::function<void(const DemoPass&)>& show_;
  Client client_;
  DemoPass pass_;
  std::uint64_t start_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<PrivateDaemon>> PrivateDaemon::start(const std::string& program) {
  std::unique_ptr<PrivateDaemon> daemon(new PrivateDaemon);
  TRY(const std::string folder, os::make_temporary_directory("trident-demo"));
  daemon->folder_ = folder;
  daemon->socket_ = folder + "/tridentd.sock";
  os::Process::Options options;
  options.merge_errors = true;
  // A short search for a kernel, on every core: the demo is to end within a minute.
  const std::string workers = std::to_string(os::usable_cpus());
  auto process = os::Process::spawn(
      std::vector<std::string>{program, "--socket", daemon->socket_, "--cache", folder + "/kernels.db", "--state",
                               "none", "--log-level", "warning", "--budget-ms", "2500", "--workers", workers},
      options);
  if (!process) return process.error();
  daemon->process_ = std::make_unique<os::Process>(std::move(*process));
  const std::uint64_t deadline_ns = os::monotonic_ns() + std::uint64_t{kDaemonStartTimeoutMs} * 1'000'000;
  while (::access(daemon->socket_.c_str(), F_OK) != 0) {
    const auto exit = daemon->process_->wait(5);
    if (exit.ok()) {
      const auto said = daemon->process_->read_all(1000);
      return make_error(ErrorCode::kOsError, "%s: %s\n%s", program.c_str(), exit->describe().c_str(),
                        said ? said->c_str() : "");
    }
    if (os::monotonic_ns() > deadline_ns)
      return make_error(ErrorCode::kTimeout, "%s did not open its socket in time", program.c_str());
  }
  return daemon;
}

void PrivateDaemon::kill() {
  if (process_ && process_->running()) {
    process_->send_signal(SIGKILL);
    (void)process_->wait(5000);
  }
}

PrivateDaemon::~PrivateDaemon() {
  if (process_ && process_->running()) {
    process_->send_signal(SIGTERM);
    (void)process_->wait(5000);
  }
  std::error_code code;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, code);
}

double DemoKernel::speedup() const {
  const auto last = std::find_if(tiers.rbegin(), tiers.rend(), [](const TierResult& tier) { return tier.call_ns > 0; });
  return last == tiers.rend() ? 0 : tiers[0].call_ns / last->call_ns;
}

std::optional<double> DemoKernel::bound_share() const {
  std::optional<double> worst;
  for (const TierResult& tier : tiers) worst = std::max(worst, tier.bound_share);  // nothing is least
  return worst;
}

double DemoPass::geomean_speedup() const {
  double sum = 0;
  std::size_t count = 0;
  for (const DemoKernel& k : kernels) {
    if (k.speedup() <= 0) continue;
    sum += std::log(k.speedup());
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

bool DemoPass::failed() const {
  return !right_without_daemon ||
         std::any_of(kernels.begin(), kernels.end(), [](const DemoKernel& k) { return !k.failure.empty(); });
}

std::size_t DemoPass::late() const {
  return static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const DemoKernel& k) { return k.late; }));
}

Result<DemoPass> run_demo(const std::vector<corpus::CorpusKernel>& kernels, ir::Type type, const DemoOptions& options,
                          const std::function<void(const DemoPass&)>& show) {
  return Pass(kernels, type, options, show).run();
}

}  // namespace trident::cli
