// Dying workers, dying daemons, damaged caches, exhausted descriptors, idleness, signals. Oracle: /proc, wait statuses,
// and the promise that the next request is served.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/os/clock.h"
#include "tests/daemon/notify_socket.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

/// Messages of one job up to its last.
struct Story {
  bool cached = false, baseline = false, optimised = false, revoked = false;
  std::optional<wire::Outcome> outcome;
  std::optional<ErrorCode> failure;
};
Story follow(RawClient& client) {
  Story story;
  while (const auto incoming = client.next()) {
    const wire::Message& message = incoming->message();
    if (const auto* accepted = message.body_as_Accepted()) story.cached = accepted->cached();
    if (const auto* ready = message.body_as_KernelReady())
      (ready->tier() == wire::Tier::baseline ? story.baseline : story.optimised) = true;
    if (message.body_as_Revoke() != nullptr) story.revoked = true;
    if (const auto* failure = message.body_as_Failure()) story.failure = static_cast<ErrorCode>(failure->code());
    if (const auto* done = message.body_as_Done()) story.outcome = done->outcome();
    if (story.failure || story.outcome) break;
  }
  return story;
}

Story submit_and_follow(PrivateDaemon& daemon, const std::string& text, wire::Policy policy = wire::Policy::bounded) {
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(text, {.policy = policy}));
  return follow(client);
}

TEST(Fault, KilledWorkersAreReplacedAndTheNextRequestIsServed) {
  NotifySocket notifications;
  PrivateDaemon daemon;
  ASSERT_TRUE(notifications.hears("READY=1", 60'000));  // a daemon whose workers die before that does not start
  for (int round = 0; round < 5; ++round) {
    ::kill(daemon.workers("baseline").at(0), SIGKILL);
    ::kill(daemon.workers("optimise").at(0), SIGKILL);
    RawClient client = RawClient::ready(daemon.socket());
    client.send(submit_message("x + " + std::to_string(round)));
    const auto ready = client.next_result();
    ASSERT_TRUE(ready.has_value()) << round;
    EXPECT_EQ(ready->kind(), wire::Body::KernelReady) << round;
  }
}

TEST(Fault, AWorkerKilledInTheMiddleOfAJobCostsATryNotTheJob) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  const int worker = daemon.workers("baseline").at(0);
  ::kill(worker, SIGSTOP);
  for (std::uint64_t i = 1; i <= 5; ++i) client.send(submit_message("x * " + std::to_string(i), {.job = i}));
  ASSERT_TRUE(eventually(
      [&] { return nlohmann::json::parse(RawClient::ready(daemon.socket()).stats())["jobs"]["flights"] == 5; }));
  ::kill(worker, SIGKILL);
  std::size_t baselines = 0;
  while (baselines < 5) {
    const auto incoming = client.next_result();
    ASSERT_TRUE(incoming.has_value());
    ASSERT_NE(incoming->kind(), wire::Body::Failure);
    if (const auto* ready = incoming->message().body_as_KernelReady())
      baselines += ready->tier() == wire::Tier::baseline ? 1 : 0;
  }
}

/// Kills three baseline workers while each has the job `text`. False when one answered before it could be stopped.
bool kill_three_workers_with(PrivateDaemon& daemon, RawClient& client, const std::string& text, std::uint64_t job) {
  int worker = daemon.workers("baseline").at(0);
  ::kill(worker, SIGSTOP);
  client.send(submit_message(text, {.job = job}));
  for (int death = 1;; ++death) {
    if (client.next(100)) {
      ::kill(worker, SIGCONT);
      follow(client);
      return false;
    }
    ::kill(worker, SIGKILL);
    if (death == 3) return true;
    const int dead = worker;
    while (worker == dead)
      if (const auto workers = daemon.workers("baseline"); !workers.empty()) worker = workers[0];
    ::kill(worker, SIGSTOP);  // while it still loads its libraries
  }
}

TEST(Fault, AnExpressionThatKillsThreeWorkersIsRefused) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  std::uint64_t job = 1;
  const auto text = [&] { return "x * y + " + std::to_string(job); };
  while (!kill_three_workers_with(daemon, client, text(), job)) ASSERT_LT(++job, 20u);
  std::optional<Incoming> failure;
  while ((failure = client.next_result()) && failure->kind() != wire::Body::Failure) {
  }
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->message().body_as_Failure()->job(), job);
  EXPECT_EQ(static_cast<ErrorCode>(failure->message().body_as_Failure()->code()), ErrorCode::kInternal);
  const Story again = submit_and_follow(daemon, text());
  EXPECT_EQ(again.failure, ErrorCode::kUnsupported);
  EXPECT_TRUE(submit_and_follow(daemon, "x + y").baseline);  // others are served
}

TEST(Fault, AnExpressionThatKillsOptimiseWorkersKeepsItsBaseline) {
  PrivateDaemon daemon({"--budget-ms", "60000"});
  RawClient client = RawClient::ready(daemon.socket());
  RawClient observer = RawClient::ready(daemon.socket());
  const auto lost = [&] { return nlohmann::json::parse(observer.stats())["jobs"]["lost"].get<int>(); };
  int worker = daemon.workers("optimise").at(0);
  ::kill(worker, SIGSTOP);
  client.send(submit_message(kText));
  ASSERT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  for (int death = 1; death <= 3; ++death) {
    ::kill(worker, SIGKILL);
    ASSERT_TRUE(eventually([&] { return lost() == death; }));
    if (death == 3) break;
    const int dead = worker;
    while (worker == dead)
      if (const auto workers = daemon.workers("optimise"); !workers.empty()) worker = workers[0];
    ::kill(worker, SIGSTOP);  // an optimise job takes far longer than this
  }
  const Story first = follow(client);
  EXPECT_EQ(first.outcome, wire::Outcome::budget_spent);
  const Story again = submit_and_follow(daemon, kText);
  EXPECT_TRUE(again.baseline);
  EXPECT_EQ(again.outcome, wire::Outcome::budget_spent);
  EXPECT_EQ(lost(), 3);
}

// Every optimise worker dies: three times with the optimise job, three times with the check that follows it. A check
// takes milliseconds: when one ends before its worker is stopped, another expression is tried.
TEST(Fault, ABaselineThatCannotBeCheckedIsRevoked) {
  ::testing::internal::CaptureStderr();  // the daemon's too
  PrivateDaemon daemon({"--budget-ms", "60000"});
  RawClient observer = RawClient::ready(daemon.socket());
  const auto lost = [&] { return nlohmann::json::parse(observer.stats())["jobs"]["lost"].get<int>(); };
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::string text = "x*y + " + std::to_string(attempt);
    RawClient client = RawClient::ready(daemon.socket());
    const int before = lost();
    int worker = 0;
    while (worker == 0)
      if (const auto workers = daemon.workers("optimise"); !workers.empty()) worker = workers[0];
    ::kill(worker, SIGSTOP);
    client.send(submit_message(text));
    ASSERT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
    for (int death = 1; death <= 6; ++death) {
      const int dead = worker;
      ::kill(worker, SIGKILL);
      if (death == 6) break;
      while (worker == dead)
        if (const auto workers = daemon.workers("optimise"); !workers.empty()) worker = workers[0];
      ::kill(worker, SIGSTOP);
      if (!eventually([&] { return lost() >= before + death; }, 0.3)) break;  // it had answered
    }
    ::kill(worker, SIGCONT);
    const Story story = follow(client);
    ASSERT_TRUE(story.outcome.has_value());
    if (!story.revoked) continue;
    EXPECT_EQ(story.outcome, wire::Outcome::not_equivalent);
    EXPECT_EQ(submit_and_follow(daemon, text).failure, ErrorCode::kUnsupported);  // not sent out again for a while
    EXPECT_TRUE(submit_and_follow(daemon, "x - y").baseline);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("is revoked: job "), std::string::npos) << log;
    EXPECT_NE(log.find("v0 * v1 + " + std::to_string(attempt)), std::string::npos) << log;
    return;
  }
  FAIL() << "no check could be interrupted";
}

TEST(Fault, WithoutAPlaceInTheQueueTheBaselineIsCheckedAllTheSame) {
  PrivateDaemon daemon({"--optimise-queue-per-user", "0", "--budget-ms", "500"});
  RawClient client = RawClient::ready(daemon.socket());
  for (std::uint64_t job = 1; job <= 10; ++job)
    client.send(submit_message("x*y + " + std::to_string(job), {.job = job}));
  for (int ends = 0; ends < 10; ++ends) ASSERT_TRUE(follow(client).outcome.has_value());
  const auto stats = nlohmann::json::parse(client.stats());
  EXPECT_GT(stats["jobs"]["checked_alone"], 0);
  EXPECT_EQ(stats["jobs"]["revoked"], 0);
}

TEST(Fault, TerminationDoesNotEndWhatTheNextDaemonCanFinish) {
  PrivateDaemon daemon({"--budget-ms", "60000"});
  ::kill(daemon.workers("optimise").at(0), SIGSTOP);
  RawClient client = RawClient::ready(daemon.socket());
  for (std::uint64_t job = 1; job <= 3; ++job) {
    client.send(submit_message("x*y + " + std::to_string(job), {.job = job}));
    ASSERT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), "exit 0");
  // A Done would tell the client to ask nobody else.
  while (const auto incoming = client.next()) EXPECT_NE(incoming->kind(), wire::Body::Done);
}

TEST(Fault, AHungWorkerIsReplacedWhenItsTimeIsUp) {
  // Long enough for the next worker to start and answer in time on a busy machine.
  PrivateDaemon daemon({"--baseline-timeout-ms", "1500"});
  const int worker = daemon.workers("baseline").at(0);
  ::kill(worker, SIGSTOP);
  const Story story = submit_and_follow(daemon, kText);
  EXPECT_EQ(story.failure, ErrorCode::kTimeout);
  EXPECT_NE(daemon.workers("baseline").at(0), worker);
  EXPECT_TRUE(submit_and_follow(daemon, "x + y").baseline);
}

TEST(Fault, AHungOptimiseWorkerCostsTheOptimisedKernelOnly) {
  PrivateDaemon daemon({"--budget-ms", "100", "--optimise-grace-ms", "100"});
  ::kill(daemon.workers("optimise").at(0), SIGSTOP);
  const Story story = submit_and_follow(daemon, kText);
  EXPECT_TRUE(story.baseline);
  EXPECT_FALSE(story.optimised);
  EXPECT_EQ(story.outcome, wire::Outcome::budget_spent);
}

// Progress past the check of the baseline is enough for it to stay: no second check, which could fail in its turn.
TEST(Fault, AWorkerThatHangsAfterTheCheckLeavesTheBaselineChecked) {
  PrivateDaemon daemon({"--budget-ms", "2000", "--optimise-grace-ms", "100"});
  for (int attempt = 0; attempt < 20; ++attempt) {
    RawClient client = RawClient::ready(daemon.socket());
    const int worker = daemon.workers("optimise").at(0);
    client.send(submit_message("x*y + " + std::to_string(attempt)));
    std::optional<Incoming> incoming;
    while ((incoming = client.next()) && incoming->kind() != wire::Body::Done)
      if (incoming->kind() == wire::Body::Progress &&
          incoming->message().body_as_Progress()->stage() >= wire::Stage::emit)
        break;
    ASSERT_TRUE(incoming.has_value());
    if (incoming->kind() == wire::Body::Done) continue;  // it came to no such stage in its time
    ::kill(worker, SIGSTOP);
    const Story story = follow(client);
    const auto stats = nlohmann::json::parse(client.stats());
    if (stats["jobs"]["lost"] == 0) {  // it was done before it was stopped
      ::kill(worker, SIGCONT);
      continue;
    }
    EXPECT_EQ(story.outcome, wire::Outcome::budget_spent);
    EXPECT_FALSE(story.revoked);
    EXPECT_EQ(stats["jobs"]["checked_alone"], 0);
    return;
  }
  FAIL() << "no worker could be stopped in time";
}

// A budget that ends before the baseline was compared with its reference says so of the optimised kernel only: the
// comparison becomes a job of its own.
TEST(Fault, ABudgetSpentBeforeTheCheckLeavesTheCheckToItsOwnJob) {
  std::string text = "x";
  for (int depth = 0; depth < 30; ++depth) text = "tanh(" + text + " + y)";
  PrivateDaemon daemon({"--budget-ms", "10", "--optimise-grace-ms", "60000"});
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(text));
  const Story story = follow(client);
  EXPECT_TRUE(story.baseline);
  EXPECT_EQ(story.outcome, wire::Outcome::budget_spent);
  const auto stats = nlohmann::json::parse(client.stats());
  EXPECT_EQ(stats["jobs"]["lost"], 0);
  EXPECT_EQ(stats["jobs"]["checked_alone"], 1);
}

TEST(Fault, WorkersDieWithTheirDaemon) {
  PrivateDaemon daemon;
  const int baseline = daemon.workers("baseline").at(0), optimise = daemon.workers("optimise").at(0);
  daemon.signal(SIGKILL);
  daemon.wait();
  EXPECT_TRUE(eventually([&] { return !is_running(baseline) && !is_running(optimise); }));
}

TEST(Fault, TheCacheSurvivesRestartsAndKills) {
  PrivateDaemon daemon;
  const std::string text = text_with_certain_gain(0);
  const Story first = submit_and_follow(daemon, text, wire::Policy::exact);
  ASSERT_EQ(first.outcome, wire::Outcome::published);
  const Story hot = submit_and_follow(daemon, text, wire::Policy::exact);
  EXPECT_TRUE(hot.cached);
  EXPECT_EQ(hot.outcome, first.outcome);
  for (const int signal : {SIGTERM, SIGKILL}) {
    daemon.signal(signal);
    EXPECT_EQ(daemon.wait(), signal == SIGTERM ? "exit 0" : "signal 9");
    daemon.restart();
    const Story stored = submit_and_follow(daemon, text, wire::Policy::exact);
    EXPECT_TRUE(stored.cached) << signal;
    EXPECT_EQ(stored.outcome, first.outcome);
    EXPECT_TRUE(stored.optimised);
  }
}

TEST(Fault, ADamagedCacheIsSetAsideAndFilledAgain) {
  PrivateDaemon daemon;
  submit_and_follow(daemon, kText);
  daemon.signal(SIGTERM);
  daemon.wait();
  {
    std::fstream file(daemon.cache(), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.good());
    for (int i = 0; i < 4000; ++i) file.put('x');
  }
  daemon.restart();
  const Story again = submit_and_follow(daemon, kText);
  EXPECT_FALSE(again.cached);
  EXPECT_TRUE(again.baseline);
  EXPECT_TRUE(std::filesystem::exists(daemon.cache() + ".corrupt"));
}

TEST(Fault, ADaemonWithoutAWritableCacheServes) {
  PrivateDaemon daemon({"--cache", "/proc/nowhere/kernels.db"});
  EXPECT_TRUE(submit_and_follow(daemon, kText).baseline);
  const auto stats = nlohmann::json::parse(RawClient::ready(daemon.socket()).stats());
  EXPECT_EQ(stats["cache"]["mode"], "memory");
}

TEST(Fault, AnIdleDaemonUsesNoProcessor) {
  PrivateDaemon daemon;
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(RawClient::ready(daemon.socket()));
  clients[0].send(submit_message(kText));
  follow(clients[0]);
  std::vector<int> processes = {daemon.pid()};
  for (const char* lane : {"baseline", "optimise"}) processes.push_back(daemon.workers(lane).at(0));
  sleep_ms(200);
  // Processor time is counted in ticks of ten milliseconds, too coarse for a timer that does little: what sleeps all
  // the time is not switched to either.
  std::vector<double> before;
  std::vector<std::uint64_t> switches_before;
  for (const int pid : processes) {
    before.push_back(cpu_seconds(pid));
    switches_before.push_back(context_switches(pid));
  }
  sleep_ms(2000);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    EXPECT_EQ(cpu_seconds(processes[i]), before[i]) << i;
    EXPECT_EQ(context_switches(processes[i]), switches_before[i]) << i;
  }
}

TEST(Fault, TerminationDrainsAndRemovesTheSocket) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(kText));
  ASSERT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), "exit 0");
  EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
  EXPECT_TRUE(client.closed_by_daemon());
}

TEST(Fault, HangupReloadsLimitsAndKeepsThemWhenTheFileIsWrong) {
  PrivateDaemon daemon;
  const std::string file = daemon.directory() + "/tridentd.toml";
  const auto write = [&](const char* text) { std::ofstream(file, std::ios::trunc) << text; };
  write("connections = 50\n");
  daemon.restart({"--config", file});
  const auto connects = [&](std::size_t count) {
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < count; ++i) {
      clients.emplace_back(daemon.socket());
      clients.back().send(hello_message());
      const auto answer = clients.back().next();
      if (!answer || answer->kind() != wire::Body::Welcome) return false;
    }
    return true;
  };
  EXPECT_TRUE(connects(10));
  write("connections = 5\n");
  daemon.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !connects(10); }));
  write("connections = many\n");
  daemon.signal(SIGHUP);
  sleep_ms(100);
  EXPECT_TRUE(eventually([&] { return connects(4); }));
  EXPECT_FALSE(connects(10));
}

/// A kernel of an expression that is new to the daemon.
bool gets_a_kernel(RawClient& client, std::uint64_t job) {
  client.send(submit_message("x * " + std::to_string(job) + " + y", {.job = job}));
  while (const auto answer = client.next_result()) {
    const auto* ready = answer->message().body_as_KernelReady();
    if (ready != nullptr && ready->job() == job) return true;
    if (answer->kind() == wire::Body::Failure) return false;
  }
  return false;
}

void expect_service_without_descriptors(const std::string& open_files, int others) {
  SCOPED_TRACE(open_files + " descriptors");
  // It logs at its start too: UBSan looks at the type of the log's objects through a pipe, once, and takes them for
  // wrong when there is no descriptor left for one.
  PrivateDaemon daemon({"--open-files", open_files, "--log-level", "info", "--connections-per-user", "1000"});
  RawClient first = RawClient::ready(daemon.socket());
  EXPECT_TRUE(gets_a_kernel(first, 1));
  std::vector<RawClient> clients;
  for (int i = 0; i < others; ++i) {  // connected by the kernel, accepted or not
    clients.emplace_back(daemon.socket());
    clients.back().send(hello_message());
  }
  sleep_ms(300);
  const double before = cpu_seconds(daemon.pid());
  sleep_ms(1000);
  EXPECT_LE(cpu_seconds(daemon.pid()) - before, 0.05);  // no spinning
  for (std::uint64_t job = 2; job <= 20; ++job) EXPECT_TRUE(gets_a_kernel(first, job)) << job;
  const auto stats = nlohmann::json::parse(first.stats());
  EXPECT_EQ(stats["workers"]["crashed"], 0);
  EXPECT_LT(stats["sessions"]["connections"], others / 2);
  // A worker that dies meanwhile is started anew.
  ::kill(daemon.workers("baseline").at(0), SIGKILL);
  EXPECT_TRUE(gets_a_kernel(first, 21));
  clients.clear();
  RawClient late = RawClient::ready(daemon.socket());
  EXPECT_TRUE(gets_a_kernel(late, 22));
}

// Silent ones fill the daemon several times over; nobody waits for as many hello timeouts of 5 s.
TEST(Fault, WithoutDescriptorsThoseThatSayNothingGiveWay) {
  PrivateDaemon daemon({"--open-files", "40", "--connections-per-user", "1000"});
  RawClient first = RawClient::ready(daemon.socket());
  EXPECT_TRUE(gets_a_kernel(first, 1));
  std::vector<RawClient> silent;
  for (int i = 0; i < 40; ++i) silent.emplace_back(daemon.socket());
  const std::uint64_t start_ns = os::monotonic_ns();
  RawClient late = RawClient::ready(daemon.socket());
  EXPECT_TRUE(gets_a_kernel(late, 2));
  EXPECT_LT(os::monotonic_ns() - start_ns, 5'000'000'000u);
  EXPECT_TRUE(gets_a_kernel(first, 3));
}

TEST(Fault, WithoutDescriptorsTheConnectedAreServedAndTheOthersWait) {
  expect_service_without_descriptors("64", 200);
  expect_service_without_descriptors("40", 100);
}

// A limit without room for a worker of each processor is met by fewer workers, unless their number was asked for.
TEST(Fault, FewDescriptorsAreSharedByFewerWorkers) {
  PrivateDaemon daemon({"--open-files", "40", "--baseline-workers", "2", "--workers", "0"});
  RawClient client = RawClient::ready(daemon.socket());
  EXPECT_TRUE(gets_a_kernel(client, 1));
  EXPECT_EQ(daemon.workers("baseline", 2).size(), 2u);
  EXPECT_EQ(daemon.workers("optimise").size(), 1u);
}

TEST(Fault, ABurstTakesNoDescriptors) {
  PrivateDaemon daemon(
      {"--open-files", "64", "--baseline-queue-per-user", "4000", "--optimise-queue-per-user", "4000"});
  RawClient client = RawClient::ready(daemon.socket());
  constexpr std::uint64_t kBurst = 1500;
  for (std::uint64_t job = 1; job <= kBurst; ++job)
    client.send(submit_message("x * " + std::to_string(job) + " - y", {.job = job}));
  std::size_t baselines = 0;
  while (baselines < kBurst) {
    const auto answer = client.next_result();
    ASSERT_TRUE(answer.has_value()) << baselines;
    ASSERT_NE(answer->kind(), wire::Body::Failure) << answer->message().body_as_Failure()->message()->str();
    const auto* ready = answer->message().body_as_KernelReady();
    if (ready != nullptr && ready->tier() == wire::Tier::baseline) ++baselines;
  }
  const auto stats = nlohmann::json::parse(client.stats());
  EXPECT_EQ(stats["workers"]["crashed"], 0);
  EXPECT_EQ(stats["workers"]["protocol_errors"], 0);
}

TEST(Fault, TwoDaemonsDoNotShareASocket) {
  PrivateDaemon daemon;
  auto second = os::Child::spawn(
      {.program = TRIDENTD_PATH, .arguments = {"tridentd", "--socket", daemon.socket(), "--cache", "none"}});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->wait(), "exit 1");
  EXPECT_TRUE(submit_and_follow(daemon, kText).baseline);
}

}  // namespace
}  // namespace trident::tests
