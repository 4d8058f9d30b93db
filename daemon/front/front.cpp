#include "daemon/front/front.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include "daemon/admin/admin.h"
#include "daemon/cache/cache.h"
#include "daemon/front/service_status.h"
#include "daemon/front/starter.h"
#include "daemon/jobs/jobs.h"
#include "daemon/learning/costs_source.h"
#include "daemon/learning/journal.h"
#include "daemon/learning/weights_source.h"
#include "daemon/net/listener.h"
#include "daemon/net/loop.h"
#include "daemon/session/session.h"
#include "jit/rulecheck/rule_files.h"
#include "runtime/base/limits.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"
#include "runtime/os/confinement/confinement.h"
#include "runtime/os/directory.h"
#include "runtime/os/inherited.h"
#include "runtime/os/memfd.h"
#include "runtime/os/regular_file.h"
#include "runtime/os/sandbox.h"
#include "runtime/os/self.h"
#include "runtime/os/service.h"
#include "runtime/os/socket.h"

namespace trident::front {
namespace {

constexpr unsigned kSocketMode = 0600;
constexpr int kBacklog = 4096;
/// How long SIGTERM waits for baseline jobs and for clients to read what was sent.
constexpr std::uint64_t kDrainMaxMs = 2000, kDrainLookMs = 10;
constexpr std::uint64_t kNsPerMs = 1'000'000;
/// How often a start looks for its workers, and how long it waits for them.
constexpr std::uint64_t kStartLookMs = 5, kStartMaxMs = 30'000;

void configure_log(const config::Settings& settings) {
  const auto level = config::log_level_of(settings.log_level);
  log::configure({.level = level.ok() ? *level : log::Level::info,
                  .form = settings.log_json ? log::Form::json : log::detect_form(),
                  .tag = "tridentd"});
}

session::Limits session_limits(const config::Settings& s) {
  return {.connections = static_cast<std::uint32_t>(s.connections),
          .connections_per_user = static_cast<std::uint32_t>(s.connections_per_user),
          .hello_timeout_ms = s.hello_timeout_ms,
          .frame_timeout_ms = s.frame_timeout_ms,
          .frame_bytes_max = limits::kFrameBytesMax,
          .write_queue_bytes_max = s.write_queue_bytes,
          .shared_image_bytes = std::min(s.image_bytes_per_user, s.image_bytes),
          .jobs_per_connection = static_cast<std::uint32_t>(s.jobs_per_connection)};
}

jobs::Limits job_limits(const config::Settings& s) {
  return {.baseline_queue_per_user = static_cast<std::uint32_t>(s.baseline_queue_per_user),
          .optimise_queue_per_user = static_cast<std::uint32_t>(s.optimise_queue_per_user),
          .flights = static_cast<std::uint32_t>(s.jobs),
          .flight_bytes_per_user = s.job_bytes_per_user,
          .flight_bytes = s.job_bytes,
          .optimise_budget_ms = s.budget_ms};
}

/// --socket, else the first socket that was passed in, else the standard path.
Result<os::UnixListener> listening_socket(const config::Settings& settings, std::vector<os::PassedSocket> passed) {
  if (settings.socket.empty() && !passed.empty()) return os::UnixListener::adopt(std::move(passed.front().fd));
  return os::UnixListener::bind(config::socket_path(settings), kSocketMode, kBacklog);
}

Error with_socket_mend(const Error& error) {
  return make_error(ErrorCode::kInvalidArgument,
                    "%s: let user %lu make a socket there, or name another path with --socket", error.message.c_str(),
                    static_cast<unsigned long>(os::effective_uid()));
}

/// A socket that can never be had is a mistake in the settings; one that another program holds may be had later.
Result<os::UnixListener> socket_of(const config::Settings& settings, std::vector<os::PassedSocket> passed) {
  auto socket = listening_socket(settings, std::move(passed));
  if (socket.ok() || socket.error().code != ErrorCode::kOsError) return socket;
  return with_socket_mend(socket.error());
}

/// Looks at the socket's path without making anything. A socket that somebody listens at, or that is root's, is right
/// as it is: before a reload it is the daemon's own, in a folder that only the service manager may write to, and
/// members of a group alone may connect to it.
Result<void> check_named_socket(const config::Settings& settings) {
  const std::filesystem::path path = config::socket_path(settings);
  TRY_VOID(os::check_socket_length(path));
  if (os::is_socket_of_root(path) || os::connect_unix(path, os::Blocking::no).ok()) return {};
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_socket(path, unknown))
    return with_socket_mend(make_error(ErrorCode::kInvalidArgument, "%s exists and is not a socket", path.c_str()));
  const auto usable = os::check_usable_directory(path.parent_path());
  return usable.ok() ? Result<void>() : with_socket_mend(usable.error());
}

/// The error with its mend.
Error with_mend(const Error& error, const std::string& mend) {
  return make_error(error.code, "%s: %s", error.message.c_str(), mend.c_str());
}

/// The cache file with its directory made; without a directory the store says itself that it cannot have the file.
std::string prepared_cache_path(const config::Settings& settings) {
  std::string path = config::cache_path(settings);
  if (const auto made = os::make_private_directory_of(path); !made.ok())
    log::error("{}: kernels are cached in memory only; let user {} write there, or name another file with --cache",
               made.error().message, os::effective_uid());
  return path;
}

/// A cache file that the settings name must be one that can be had. Only --check-config asks: a daemon without its
/// cache serves, and says so.
Result<void> check_named_cache(const config::Settings& settings) {
  if (settings.cache.empty() || settings.cache == "none") return {};
  const std::filesystem::path path = settings.cache;
  std::error_code unknown;
  const bool other = std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown);
  const Result<void> usable = other ? make_error(ErrorCode::kInvalidArgument, "%s: not a regular file", path.c_str())
                                    : os::check_usable_directory(path.parent_path());
  if (usable.ok()) return {};
  return with_mend(usable.error(), fmt::format("let user {} write there, or name another file (or none) with --cache",
                                               os::effective_uid()));
}

/// A folder that the settings name must be one that can be had; `tried` makes it, or asks only.
Result<void> check_named_state(const config::Settings& settings, Result<void> (*tried)(const std::string&)) {
  if (settings.state.empty() || settings.state == "none") return {};
  const auto usable = tried(settings.state);
  if (usable.ok()) return {};
  return with_mend(usable.error(), fmt::format("let user {} write there, or name another folder (or none) with --state",
                                               os::effective_uid()));
}

/// Reads the file of --costs, else the costs measured into the state folder. Errors: those of CostsSource::make().
Result<std::unique_ptr<learning::CostsSource>> measured_costs(const config::Settings& settings) {
  if (!settings.costs.empty()) {
    auto named = learning::CostsSource::make(settings.costs, true);
    return named.ok() ? std::move(named) : with_mend(named.error(), config::cure_of_reading(settings.costs, "--costs"));
  }
  const std::string state = config::state_path(settings);
  return learning::CostsSource::make(state.empty() ? "" : state + "/costs", false);
}

/// The folder of the network of programs; empty without a state folder.
std::string programs_folder(const config::Settings& settings) {
  const std::string state = config::state_path(settings);
  return state.empty() ? "" : state + "/programs";
}

/// The start has failed: a line of the log for each of the message.
int refused(const Error& error, int exit_status = front::kExitConfiguration) {
  if (exit_status == front::kExitConfiguration) turn_clients_away();
  for (std::size_t at = 0; at < error.message.size();) {
    const std::size_t end = std::min(error.message.find('\n', at), error.message.size());
    log::error("{}", std::string_view(error.message).substr(at, end - at));
    at = end + 1;
  }
  tell_status(error.message);
  return exit_status;
}

/// Tries to run code in a sealed memfd, in a sandboxed child. A filter of system calls that forbids this makes every
/// job fail the same way.
Result<void> try_execution() {
  constexpr std::byte kReturn{0xC3};  // nobody runs it
  TRY_VOID(os::map_code(std::span(&kReturn, 1)));
  TRY_VOID(os::run_sandboxed(
      {}, [](void*) {}, nullptr));
  return {};
}

/// Rules of the owner's files: as workers are told them, and as keys need them.
struct OwnRules {
  std::string text;
  pipeline::SearchRules rules;
};

std::vector<std::string> rule_files(const config::Settings& settings) {
  std::vector<std::string> files = settings.rules;
  std::erase(files, "");
  return files;
}

/// Opens the rule files, to report unreadable ones before the long check.
Result<void> check_rule_files(const config::Settings& settings) {
  for (const std::string& file : rule_files(settings))
    if (const auto opened = os::open_regular_file(file); !opened.ok())
      return with_mend(opened.error(), config::cure_of_reading(file, "--rules"));
  return {};
}

/// Why rules were not taken: what they say, or that they could not be checked here and now.
int exit_status_of_rules(const Error& error) {
  const bool passing =
      error.code == ErrorCode::kOsError || error.code == ErrorCode::kOutOfMemory || error.code == ErrorCode::kInternal;
  return passing ? 1 : kExitConfiguration;
}

/// Loads the rules of --rules, if any. Thousands of rules take minutes, so the service manager is told of progress.
/// Errors: those of rulecheck::load_user_rules().
Result<std::optional<OwnRules>> own_rules(const config::Settings& settings) {
  const std::vector<std::string> files = rule_files(settings);
  if (files.empty()) return std::optional<OwnRules>();
  std::uint64_t told_ns = 0;
  const auto progress = [&](std::size_t done, std::size_t total, const std::string&) {
    constexpr std::uint64_t kEveryNs = 1'000'000'000, kOneRuleMaxUs = 60'000'000;
    const std::uint64_t now = os::monotonic_ns();
    if (done == 0) log::info("checking {} rules of --rules", total);
    if (done != 0 && now - told_ns < kEveryNs) return;
    told_ns = now;
    os::notify_service_manager(
        fmt::format("STATUS=checking rules: {} of {}\nEXTEND_TIMEOUT_USEC={}", done, total, kOneRuleMaxUs));
  };
  TRY(rulecheck::UserRules user, rulecheck::load_user_rules(files, progress));
  TRY(pipeline::SearchRules rules, pipeline::SearchRules::parse(user.text, files.front()));
  log::info("using {} rules besides the built-in ones", user.set.rules.size());
  return std::make_optional<OwnRules>(OwnRules{std::move(user.text), std::move(rules)});
}

class Front {
 public:
  Front(const config::Settings& settings, std::unique_ptr<learning::CostsSource> costs, const OwnRules* own,
        os::Confined confined);
  /// Takes signals from here on, and then connections. `argc` and `argv` outlive this object.
  Result<void> listen(std::vector<os::PassedSocket> passed, int argc, const char* const* argv);

  /// Returns the exit status.
  int serve();

 private:
  void turn_clients_away(const Error& error);

  /// Ready is who has workers: with none, clients would wait for nothing.
  void look_for_workers();

  /// Weights that were trained here, and the journal that they are trained on.
  void learn_in(const std::string& state);
  std::string stats_json() const;
  void reload(int argc, const char* const* argv);

  /// All or nothing.
  Result<void> take_settings(int argc, const char* const* argv);
  void drain();
  void look_whether_drained();

  config::Settings settings_;
  const config::Settings started_with_;
  const os::Confined confined_;  ///< what workers give up
  std::vector<std::string> restart_due_;
  std::string reload_error_;  ///< of the last reload; empty: it went well
  std::uint64_t started_ns_, drain_started_ns_ = 0;
  net::Loop loop_;
  cache::Cache cache_;
  std::unique_ptr<learning::CostsSource> costs_;
  std::optional<learning::WeightsSource> weights_;  ///< with a state folder
  std::optional<learning::Journal> journal_;
  std::uint64_t weights_changed_ = 0, costs_changed_ = 0;
  jobs::Jobs jobs_;
  session::Sessions sessions_;
  net::Timer starting_, drain_;
  Watchdog watchdog_;
  Starter starter_;
  int exit_status_ = 0;
  std::optional<net::SignalWatch> terminate_, interrupt_, reload_signal_;
  std::unique_ptr<net::Listener> listener_;
};

Front::Front(const config::Settings& settings, std::unique_ptr<learning::CostsSource> costs, const OwnRules* own,
             os::Confined confined)
    : settings_(settings),
      started_with_(settings),
      confined_(std::move(confined)),
      started_ns_(os::monotonic_ns()),
      cache_({.path = prepared_cache_path(settings),
              .bytes_max = settings.cache_bytes,
              .hot_entries_max = static_cast<std::uint32_t>(settings.cache_hot),
              .hot_bytes_max = settings.cache_hot_bytes}),
      costs_(std::move(costs)),
      jobs_(
          loop_,
          {.baseline_workers = static_cast<std::uint32_t>(settings.baseline_workers),
           .optimise_workers = config::optimise_workers(settings, os::open_files_limit()),
           .program_folder = programs_folder(settings),
           .baseline_timeout_ms = settings.baseline_timeout_ms,
           .costs = costs_->told(),
           .rules = own != nullptr ? own->text : "",
           .optimise_grace_ms = settings.optimise_grace_ms},
          job_limits(settings), cache_,
          [this](const auto& subscriber, const jobs::Event& event) { sessions_.on_event(subscriber, event); },
          costs_->costs(), own != nullptr ? &own->rules : nullptr),
      sessions_(loop_, session_limits(settings), [this] { return stats_json(); }),
      starting_(loop_),
      drain_(loop_),
      watchdog_(loop_, jobs_),
      starter_(loop_, [this] { jobs_.release_standard_error(); }) {
  sessions_.set_jobs(jobs_);
  for (const std::string& missing : config::missing_places(settings)) log::warning("{}", missing);
  if (const auto tried = try_execution(); !tried.ok()) turn_clients_away(tried.error());
  if (const std::string state = config::state_path(settings); !state.empty()) learn_in(state);
  costs_->watch(loop_, [this] {
    ++costs_changed_;
    jobs_.set_costs(costs_->costs(), costs_->told());
  });
}

Result<void> Front::listen(std::vector<os::PassedSocket> passed, int argc, const char* const* argv) {
  // Before the socket is there: who can connect may take the daemon for started and end it.
  terminate_.emplace(loop_, SIGTERM, [this] { drain(); });
  interrupt_.emplace(loop_, SIGINT, [this] { drain(); });
  reload_signal_.emplace(loop_, SIGHUP, [this, argc, argv] { reload(argc, argv); });
  TRY(auto socket, socket_of(settings_, std::move(passed)));
  TRY(listener_, net::Listener::make(
                     loop_, std::move(socket), [this](os::Fd fd) { sessions_.add(std::move(fd)); },
                     [this] { sessions_.make_room(); }));
  return {};
}

int Front::serve() {
  starting_.start(
      0, [this] { look_for_workers(); }, kStartLookMs);
  starter_.watch();
  loop_.run();
  log::info("stopped");
  return exit_status_;
}

void Front::turn_clients_away(const Error& error) {
  log::error("kernels cannot be compiled here, so clients are refused: {}", error.message);
  sessions_.turn_away(
      make_error(ErrorCode::kUnsupported, "the daemon cannot compile kernels: %s", error.message.c_str()));
}

void Front::look_for_workers() {
  if (jobs_.pool().ready()) {
    starting_.stop();
    watchdog_.start();
    os::notify_service_manager("READY=1\nSTATUS=serving");
    log::info("serving; build {}", os::build_id());
    return;
  }
  std::string trouble = jobs_.pool().trouble(0);
  if (trouble.empty() && os::monotonic_ns() - started_ns_ > kStartMaxMs * kNsPerMs)
    trouble = "the worker processes do not answer";
  if (trouble.empty()) return;
  exit_status_ = refused(make_error(ErrorCode::kOsError, "cannot start: %s", trouble.c_str()), 1);
  loop_.stop();
}

void Front::learn_in(const std::string& state) {
  weights_.emplace(loop_, state + "/weights", [this] {
    ++weights_changed_;
    jobs_.set_weights(weights_->weights(), weights_->told());
  });
  jobs_.set_weights(weights_->weights(), weights_->told());
  if (settings_.journal_bytes == 0) return;
  journal_.emplace(state + "/journal", settings_.journal_bytes);
  jobs_.set_journal([this](std::uint32_t uid, const expr::Expr& expr) { journal_->note(uid, expr); });
}

std::string Front::stats_json() const {
  const double uptime = static_cast<double>(os::monotonic_ns() - started_ns_) / 1e9;
  return admin::stats_json(uptime, sessions_.stats(), jobs_.stats(), jobs_.pool().stats(), jobs_.pool().alive(),
                           cache_.stats(),
                           {.weights = weights_ ? weights_->name() : std::string(store::Versions::kNone),
                            .weights_changed = weights_changed_,
                            .costs = costs_->name(),
                            .costs_changed = costs_changed_,
                            .noted = journal_ ? journal_->stats().noted : 0,
                            .lost = journal_ ? journal_->stats().lost : 0,
                            .journal_fault = journal_ ? journal_->fault() : ""},
                           {.confined = confined_.describe(),
                            .not_confined = confined_.missing,
                            .restart_due = restart_due_,
                            .reload_error = reload_error_});
}

void Front::reload(int argc, const char* const* argv) {
  os::notify_service_manager("RELOADING=1");
  const Result<void> taken = take_settings(argc, argv);
  reload_error_ = taken.ok() ? "" : taken.error().message;
  const std::string due = fmt::format("{}", fmt::join(restart_due_, ", "));
  if (!taken.ok())
    log::error("the reload failed, and the old settings stay in force: {}", reload_error_);
  else if (due.empty())
    log::info("configuration reloaded");
  else
    log::warning("configuration reloaded, except settings that need a restart: {}", due);
  tell_status(!taken.ok()   ? "serving; the last reload failed: " + reload_error_
              : due.empty() ? "serving"
                            : "serving; settings that need a restart: " + due,
              "READY=1\n");
}

Result<void> Front::take_settings(int argc, const char* const* argv) {
  TRY(const auto loaded, config::load(argc, argv));
  const auto* settings = std::get_if<config::Settings>(&loaded);
  if (settings == nullptr) return make_error(ErrorCode::kInvalidArgument, "the flags do not start a daemon");
  TRY_VOID(costs_->look());
  settings_ = *settings;
  restart_due_ = config::waiting_for_restart(started_with_, settings_);
  configure_log(settings_);
  sessions_.set_limits(session_limits(settings_));
  jobs_.set_limits(job_limits(settings_));
  return {};
}

void Front::drain() {
  if (!listener_) return;
  starting_.stop();
  os::notify_service_manager("STOPPING=1\nSTATUS=draining");
  listener_.reset();
  jobs_.drain();
  drain_started_ns_ = os::monotonic_ns();
  drain_.start(
      0, [this] { look_whether_drained(); }, kDrainLookMs);
}

void Front::look_whether_drained() {
  const bool late = os::monotonic_ns() - drain_started_ns_ > kDrainMaxMs * kNsPerMs;
  if (!late && !(jobs_.idle() && sessions_.all_written())) return;
  drain_.stop();
  loop_.stop();
}

}  // namespace

void turn_clients_away() {
  for (os::PassedSocket& passed : os::take_passed_sockets()) {
    const auto listener = os::UnixListener::adopt(std::move(passed.fd));
    while (listener.ok() && os::accept_unix(listener->fd()).status == os::AcceptStatus::ok) {
    }
  }
}

/// Refuses fewer descriptors than front, workers and one client need.
Result<void> check_open_files(const config::Settings& settings, std::uint64_t allowed) {
  const std::uint64_t workers = config::optimise_workers(settings, allowed) + settings.baseline_workers;
  const std::uint64_t needed = config::kOpenFilesOfFront + config::kOpenFilesOfWorker * workers;
  if (allowed >= needed) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "the daemon may open %llu files and needs %llu with so many workers: raise open_files or the limit "
                    "of who starts it (ulimit -n, LimitNOFILE=), or lower workers",
                    static_cast<unsigned long long>(allowed), static_cast<unsigned long long>(needed));
}

int check_settings(const config::Settings& settings) {
  configure_log(settings);
  os::raise_open_files_limit();
  const std::uint64_t allowed = os::open_files_limit();
  const std::uint64_t wanted = settings.open_files == 0 ? allowed : std::min(settings.open_files, allowed);
  if (const auto files = check_open_files(settings, wanted); !files.ok()) return refused(files.error());
  if (const auto socket = check_named_socket(settings); !socket.ok()) return refused(socket.error());
  if (const auto cache = check_named_cache(settings); !cache.ok()) return refused(cache.error());
  if (const auto state = check_named_state(settings, os::check_usable_directory); !state.ok())
    return refused(state.error());
  if (const auto costs = measured_costs(settings); !costs.ok()) return refused(costs.error());
  if (const auto rules = check_rule_files(settings); !rules.ok()) return refused(rules.error());
  return 0;
}

int run_front(const config::Settings& settings, int argc, const char* const* argv) {
  configure_log(settings);
  os::release_standard_output();  // which nothing is written to, and whose other end somebody may wait for
  os::forbid_inspection();
  os::ignore_write_signals();
  os::raise_open_files_limit();
  if (settings.open_files != 0)
    if (const auto set = os::set_resource_limits({.open_files = settings.open_files}); !set.ok())
      log::warning("{}", set.error().message);
  if (const auto files = check_open_files(settings, os::open_files_limit()); !files.ok()) return refused(files.error());
  os::deny_writable_code();
  if (const auto state = check_named_state(settings, os::make_usable_directory); !state.ok())
    return refused(state.error());
  auto costs = measured_costs(settings);
  if (!costs.ok()) return refused(costs.error());
  if (const auto rules = check_rule_files(settings); !rules.ok()) return refused(rules.error());
  const auto own = own_rules(settings);
  if (!own.ok()) return refused(own.error(), exit_status_of_rules(own.error()));
  os::Confined confined = os::try_confinement();  // before there are threads
  if (!confined.missing.empty())
    log::warning("workers are not fully confined (restricted: {}): {}", confined.describe(), confined.missing);
  // Before the loop takes the number of a descriptor that was passed in, and is closed.
  std::vector<os::PassedSocket> passed = os::take_passed_sockets();
  Front front(settings, std::move(costs).value(), *own ? &**own : nullptr, std::move(confined));
  if (const auto listening = front.listen(std::move(passed), argc, argv); !listening.ok())
    return refused(listening.error(), listening.error().code == ErrorCode::kInvalidArgument ? kExitConfiguration : 1);
  return front.serve();
}

}  // namespace trident::front
