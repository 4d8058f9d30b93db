// Daemons that hang, forget or flood, seen from a client in mode auto. Oracles: whose code answers (a scripted daemon's
// kernels store constants), the clock, and the system's account of the library's thread.
#include <dirent.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "clients/c/allowance.h"
#include "clients/c/answer_watch.h"
#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::testing {
namespace {

using client::Allowance;
using client::AnswerWatch;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kPatienceMs = 60'000;
constexpr double kForeign = 4242;
constexpr std::uint64_t kSecond = 1'000'000'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Client {
  explicit Client(const ScriptedDaemon& daemon, const char* engine = TRIDENT_ENGINE_PATH) {
    ::setenv("TRIDENT_ENGINE", engine, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = daemon.path().c_str();
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
    kernel = submit("x + 1");
  }
  ~Client() {
    trident_close_kernel(kernel);
    trident_close(ctx);
  }
  [[nodiscard]] trident_kernel* submit(const char* text) const {
    trident_kernel* made = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, text, nullptr, &made)) << trident_last_error();
    return made;
  }
  static double answer(const trident_kernel* k) {
    const double x = 1;
    double y = -1;
    const void* in[] = {&x};
    void* out[] = {&y};
    trident_call(k, 1, in, out, nullptr);
    return y;
  }
  static trident_kernel_info info(const trident_kernel* k) {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(k, &info));
    return info;
  }
  [[nodiscard]] std::string note() const {
    const char* text = trident_kernel_note(kernel);
    return text == nullptr ? "" : text;
  }
  trident_ctx* ctx = nullptr;
  trident_kernel* kernel = nullptr;
};

template <class Condition>
bool eventually(Condition condition) {
  const auto begin = Clock::now();
  while (!condition()) {
    if (seconds_since(begin) * 1000 > kPatienceMs) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// The engine compiles for the client within `seconds`, whatever the daemon does.
void expect_engine_takes_over(const ScriptedDaemon& daemon, double seconds) {
  const auto begin = Clock::now();
  const Client client(daemon);
  EXPECT_EQ(TRIDENT_OK, trident_wait(client.kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  EXPECT_GE(Client::info(client.kernel).tier, static_cast<unsigned>(TRIDENT_TIER_BASELINE));
  EXPECT_LT(seconds_since(begin), seconds);
  EXPECT_EQ(2.0, Client::answer(client.kernel));
}

TEST(HungDaemon, SilentAfterTheWelcome) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (c.greet()) c.drain();
  });
  expect_engine_takes_over(daemon, 15);
}

TEST(HungDaemon, SilentBeforeTheWelcome) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) { c.drain(); });
  expect_engine_takes_over(daemon, 10);
}

// It greets anew after every loss: the jobs must not go back to it each time.
TEST(HungDaemon, TheEngineKeepsWhatItHasTaken) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (c.greet()) c.drain();
  });
  const Client client(daemon);
  std::vector<trident_kernel*> kernels;
  for (int i = 0; i < 3; ++i) kernels.push_back(client.submit(("sin(x*" + std::to_string(i) + ")*exp(x)").c_str()));
  for (trident_kernel* k : kernels)
    EXPECT_EQ(TRIDENT_OK, trident_wait(k, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
  for (trident_kernel* k : kernels) trident_close_kernel(k);
}

TEST(HungDaemon, WithoutAnEngineTheNoteSaysIt) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (c.greet()) c.drain();
  });
  const Client client(daemon, "/nonexistent/engine.so");
  EXPECT_TRUE(eventually([&] { return client.note().find("does not answer") != std::string::npos; })) << client.note();
  EXPECT_TRUE(eventually([&] { return client.note().find("no engine") != std::string::npos; })) << client.note();
  EXPECT_EQ(2.0, Client::answer(client.kernel));
}

void serve_all_but_the_first(ScriptedConnection& c) {
  std::uint64_t forgotten = 0;
  while (const auto request = c.read(60'000)) {
    c.answer_stats(*request);
    const auto* submit = request->message().body_as_Submit();
    if (submit == nullptr) continue;
    if (std::exchange(forgotten, submit->job()) == 0) continue;
    const Bytes image = build_image({.value = kForeign});
    const os::Fd fd = seal_image(image);
    c.ready(submit->job(), image, fd.get());
    c.done(submit->job());
  }
}

TEST(HungDaemon, AForgottenJobIsTheEngines) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (c.greet()) serve_all_but_the_first(c);
  });
  const Client client(daemon);
  trident_kernel* other = client.submit("x + 2");
  EXPECT_EQ(TRIDENT_OK, trident_wait(other, TRIDENT_TIER_BASELINE, kPatienceMs));
  EXPECT_EQ(kForeign, Client::answer(other));
  EXPECT_EQ(TRIDENT_OK, trident_wait(client.kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  EXPECT_EQ(2.0, Client::answer(client.kernel));
  EXPECT_EQ(1, daemon.connections());
  trident_close_kernel(other);
}

TEST(HungDaemon, AForgottenJobEndsWithANoteWhereThereIsNoEngine) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (c.greet()) serve_all_but_the_first(c);
  });
  const Client client(daemon, "/nonexistent/engine.so");
  EXPECT_TRUE(eventually([&] { return Client::info(client.kernel).done == 1; }));
  EXPECT_NE(std::string::npos, client.note().find("said nothing of this job")) << client.note();
}

/// Processor time of the library's thread, in seconds.
double io_thread_seconds() {
  double ns = 0;
  DIR* tasks = ::opendir("/proc/self/task");
  while (const dirent* task = ::readdir(tasks)) {
    const std::string folder = std::string("/proc/self/task/") + task->d_name;
    std::string name;
    std::ifstream(folder + "/comm") >> name;
    double on_cpu = 0;
    if (name == "trident-io" && std::ifstream(folder + "/schedstat") >> on_cpu) ns += on_cpu;
  }
  ::closedir(tasks);
  return ns * 1e-9;
}

void expect_flood_is_given_up(const std::function<void(ScriptedConnection&, std::uint64_t)>& one_message) {
  std::atomic<bool> over = false;
  const ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    for (int i = 0; i < 50'000'000 && !over; ++i) one_message(c, job);
  });
  const Client client(daemon, "/nonexistent/engine.so");
  const auto begin = Clock::now();
  EXPECT_TRUE(eventually([&] { return client.note().find("floods") != std::string::npos; })) << client.note();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LT(io_thread_seconds(), 0.1 * seconds_since(begin));
  EXPECT_EQ(2.0, Client::answer(client.kernel));
  over = true;
}

TEST(HungDaemon, AFloodOfProgressIsGivenUp) {
  expect_flood_is_given_up([](ScriptedConnection& c, std::uint64_t job) { c.progress(job); });
}
TEST(HungDaemon, SoIsOneOfLargeMessages) {
  const std::string text(900'000, 'x');
  expect_flood_is_given_up([&](ScriptedConnection& c, std::uint64_t) {
    flatbuffers::FlatBufferBuilder b;
    c.send_frame(b, wire::Body::Stats, wire::CreateStatsDirect(b, 77, text.c_str()).Union());
  });
}
TEST(HungDaemon, SoIsOneOfImages) {
  const Bytes image = build_image({.value = kForeign, .tier = TRIDENT_TIER_OPTIMISED});
  expect_flood_is_given_up([&](ScriptedConnection& c, std::uint64_t) { c.ready_inline(77, image); });
}
TEST(HungDaemon, SoIsOneOfRevocations) {
  expect_flood_is_given_up([](ScriptedConnection& c, std::uint64_t job) { c.revoke(job, TRIDENT_TIER_BASELINE); });
}

/// A daemon that welcomes and hangs up at once, again and again, is asked less and less often.
TEST(HungDaemon, OneThatHangsUpIsAskedNowAndThen) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) { c.greet(); });
  const Client client(daemon, "/nonexistent/engine.so");
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(4));
  EXPECT_LT(io_thread_seconds(), 0.05 * seconds_since(begin));
  EXPECT_GE(daemon.connections(), 2);
  EXPECT_LT(daemon.connections(), 20);
  EXPECT_EQ(2.0, Client::answer(client.kernel));
}

TEST(Allowance, AnswersToSubmissionsAreNoFlood) {
  Allowance allowance(0);
  std::uint64_t now = 0;
  for (int i = 0; i < 20'000; ++i) allowance.grant();
  for (int i = 0; i < 20'000; ++i) allowance.take(6, 5'000, now += 1000);
  EXPECT_LE(allowance.pause_until_ns(), now);
  EXPECT_FALSE(allowance.is_flood(now));
}

TEST(Allowance, BoundsTheMessagesOfASecond) {
  Allowance allowance(0);
  std::uint64_t messages = 0, now = 0;
  while (now < 100 * kSecond) {
    allowance.take(300, 10'000, now);
    messages += 300;
    now = std::max(now + 1000, allowance.pause_until_ns());
  }
  EXPECT_LT(messages, 100u * 2000 + 10'000);
  EXPECT_TRUE(allowance.is_flood(now));
}

TEST(AnswerWatch, SilenceIsAskedAboutBeforeItCounts) {
  AnswerWatch watch(0);
  EXPECT_FALSE(watch.wants_probe(kSecond));
  EXPECT_TRUE(watch.wants_probe(2 * kSecond));
  watch.probed(2 * kSecond);
  EXPECT_FALSE(watch.is_silent(3 * kSecond));
  EXPECT_TRUE(watch.is_silent(4 * kSecond));
  watch.heard(4 * kSecond);
  EXPECT_FALSE(watch.is_silent(4 * kSecond));
}

TEST(AnswerWatch, OnlyJobsWithoutAnAnswerAreOverdue) {
  AnswerWatch watch(0);
  for (std::uint64_t job = 1; job <= 3; ++job) watch.sent(job, job * kSecond);
  const auto answered = [](std::uint64_t job) { return job == 1; };
  EXPECT_EQ(0u, watch.take_overdue(11 * kSecond, answered));
  EXPECT_EQ(2u, watch.take_overdue(12 * kSecond, answered));
  EXPECT_EQ(0u, watch.take_overdue(12 * kSecond, answered));
  EXPECT_EQ(3u, watch.take_overdue(13 * kSecond, answered));
}

}  // namespace
}  // namespace trident::testing
