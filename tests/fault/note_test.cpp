// trident_kernel_note(): each way in which a kernel stays without better code, and the sentence for it. Oracle:
// reviewed words for what the scripted daemon and the test have done.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
#include "runtime/base/result.h"
#include "runtime/base/submission_limits.h"
#include "schemas/kernel_image.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::testing {
namespace {

std::string note_of(const trident_kernel* kernel) {
  const char* text = trident_kernel_note(kernel);
  return text == nullptr ? "" : text;
}

struct Client {
  explicit Client(const std::string& socket, trident_mode mode = TRIDENT_MODE_AUTO) {
    ::setenv("TRIDENT_ENGINE", "/nonexistent/engine.so", 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &kernel)) << trident_last_error();
  }
  ~Client() {
    trident_close_kernel(kernel);
    if (ctx != nullptr) trident_close(ctx);
  }
  [[nodiscard]] trident_kernel_info info() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
    return info;
  }
  /// Waits for a note with these words.
  void expect_note(const std::string& words) const {
    for (int ms = 0; ms < 20'000 && note_of(kernel).find(words) == std::string::npos; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_NE(std::string::npos, note_of(kernel).find(words)) << "wanted: " << words << "\nis: " << note_of(kernel);
    const char* in_info = info().note;
    EXPECT_EQ(note_of(kernel), in_info == nullptr ? "" : in_info);
  }
  void expect_done() const {
    for (int ms = 0; ms < 20'000 && info().done == 0; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(1u, info().done);
  }
  trident_ctx* ctx = nullptr;
  trident_kernel* kernel = nullptr;
};

/// Runs one job against a daemon that acts so, and checks its note.
void expect_note_after(const std::function<void(ScriptedConnection&, std::uint64_t)>& act, const std::string& words) {
  const ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    act(c, c.read_submit());
    c.drain();
  });
  const Client client(daemon.path());
  client.expect_note(words);
}

void send_baseline(ScriptedConnection& c, std::uint64_t job) {
  const Bytes image = build_image({.value = 1});
  const os::Fd fd = seal_image(image);
  c.ready(job, image, fd.get());
}

TEST(Note, OfWhatTheDaemonSays) {
  expect_note_after([](auto& c, auto job) { c.failure(job, static_cast<std::uint8_t>(ErrorCode::kLimitExceeded), 0); },
                    "the daemon refused it: scripted");
  expect_note_after(
      [](auto& c, auto job) {
        send_baseline(c, job);
        c.done(job, wire::Outcome::no_gain, "eleven kernels timed");
      },
      "eleven kernels timed");
  expect_note_after(
      [](auto& c, auto job) {
        send_baseline(c, job);
        c.done(job);
      },
      "nothing faster than the baseline");
  expect_note_after(
      [](auto& c, auto job) {
        send_baseline(c, job);
        c.done(job, wire::Outcome::budget_spent);
      },
      "ended before anything faster");
  expect_note_after(
      [](auto& c, auto job) {
        send_baseline(c, job);
        c.revoke(job, TRIDENT_TIER_BASELINE);
        c.done(job, wire::Outcome::not_equivalent, "differs:\nx = 3, got 4");
      },
      "differs: x = 3, got 4");
}

TEST(Note, OfAnImageThatWasRefusedOutlivesTheEnd) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    Bytes image = build_image({.value = 1});
    image[150] ^= std::byte{1};
    c.ready_inline(job, image);
    c.done(job);
    c.drain();
  });
  const Client client(daemon.path());
  client.expect_done();
  client.expect_note("kernel image refused: digest");
}

TEST(Note, GoesWhenOptimisedCodeComes) {
  const ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    const Bytes image = build_image({.value = 1, .tier = TRIDENT_TIER_OPTIMISED});
    const os::Fd fd = seal_image(image);
    c.ready(job, image, fd.get());
    c.done(job, wire::Outcome::published);
    c.drain();
  });
  const Client client(daemon.path());
  client.expect_done();
  EXPECT_EQ("", note_of(client.kernel));
  EXPECT_EQ(nullptr, client.info().note);
}

TEST(Note, OfNobodyWhoCompiles) {
  Client client("/nonexistent/tridentd.sock");
  client.expect_note("no daemon: /nonexistent/tridentd.sock: No such file or directory; no engine: ");
  const char* before = trident_kernel_note(client.kernel);
  const std::string text = before;
  trident_close(std::exchange(client.ctx, nullptr));
  client.expect_note("the context was closed");
  EXPECT_EQ(text, before);  // it lives as long as the kernel
  Client(std::string(200, 'x'), TRIDENT_MODE_INTERP).expect_note("mode interp");
}

TEST(Note, OfAPathThatNoSocketCanHave) {
  char folder[] = "/tmp/trident-note-XXXXXX";
  ASSERT_NE(nullptr, ::mkdtemp(folder));
  const std::string path = std::string(folder) + "/" + std::string(128, 's');
  Client(path).expect_note("at most 107 bytes");
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_DAEMON;
  options.connect_timeout_ms = 10'000;
  options.socket_path = path.c_str();
  const auto begin = std::chrono::steady_clock::now();
  trident_ctx* ctx = nullptr;
  EXPECT_EQ(TRIDENT_E_DAEMON, trident_open(&options, &ctx));
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "at most 107 bytes")) << trident_last_error();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5))
      << "a starting daemon cannot change that";
  ::rmdir(folder);
}

TEST(Note, OfMoreKernelsThanMayWait) {
  const Client client("/nonexistent/tridentd.sock");
  std::vector<trident_kernel*> kernels;
  for (std::size_t i = 0; i < limits::kUnfinishedKernelsMax; ++i) {
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_submit(client.ctx, "x", nullptr, &kernel)) << trident_last_error();
    kernels.push_back(kernel);
  }
  EXPECT_NE(std::string::npos, note_of(kernels.back()).find("65536 kernels")) << note_of(kernels.back());
  EXPECT_EQ(std::string::npos, note_of(kernels.front()).find("65536 kernels"));
  for (trident_kernel* kernel : kernels) trident_close_kernel(kernel);
  trident_kernel* next = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(client.ctx, "x", nullptr, &next));
  EXPECT_EQ(std::string::npos, note_of(next).find("65536 kernels"));
  trident_close_kernel(next);
}

// A caller that was built against a smaller struct gets what it knows, and no byte more.
TEST(Note, OlderCallersOfInfoAreNotWrittenBeyond) {
  const Client client("/nonexistent/tridentd.sock", TRIDENT_MODE_INTERP);
  struct {
    trident_kernel_info info;
    std::uint64_t behind;
  } older{};
  std::memset(&older, 0x5A, sizeof(older));
  older.info.struct_size = offsetof(trident_kernel_info, note);
  ASSERT_EQ(TRIDENT_OK, trident_info(client.kernel, &older.info));
  EXPECT_EQ(1u, older.info.done);
  std::uint64_t note = 0;
  std::memcpy(&note, &older.info.note, sizeof(note));
  EXPECT_EQ(0x5A5A5A5A5A5A5A5Aull, note);
}

}  // namespace
}  // namespace trident::testing
