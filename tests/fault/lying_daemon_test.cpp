// The client against daemons that lie, stutter and die. Oracle: x + 1 computed here; a kernel of the scripted daemon
// stores a constant instead, so each answer tells whose code ran. Whatever the daemon does, every element must be one
// of the two that are right at that moment, no call may fail, and no descriptor may be left open.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "clients/c/trident.h"
#include "runtime/base/result.h"
#include "schemas/kernel_image.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::testing {
namespace {

constexpr std::uint32_t kPatienceMs = 20'000;
constexpr double kBaseline = 4242.0, kOptimised = 4343.0;

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

/// A context on a scripted daemon and one kernel, x + 1.
class Client {
 public:
  explicit Client(const ScriptedDaemon& daemon) {
    ::setenv("TRIDENT_ENGINE", "/nonexistent/libtrident-engine.so", 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = daemon.path().c_str();
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
    kernel = submit();
  }
  ~Client() {
    trident_close_kernel(kernel);
    trident_close(ctx);
  }
  trident_kernel* submit() const {
    trident_kernel* made = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &made)) << trident_last_error();
    return made;
  }
  /// Returns the kernel's answer for x = 1, after checking that all elements come from one and the same code.
  static double answer(const trident_kernel* k) {
    std::array<double, 37> x, y;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 + static_cast<double>(i);
    y.fill(-1);
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    trident_call(k, x.size(), in, out, nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], y[0] == 2.0 ? x[i] + 1 : y[0]) << "element " << i;
    return y[0];
  }
  [[nodiscard]] double answer() const { return answer(kernel); }
  [[nodiscard]] trident_kernel_info info() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
    return info;
  }
  [[nodiscard]] trident_stats stats() const {
    trident_stats stats{};
    stats.struct_size = sizeof(stats);
    EXPECT_EQ(TRIDENT_OK, trident_get_stats(ctx, &stats));
    return stats;
  }
  trident_status wait(std::uint32_t tier) const { return trident_wait(kernel, tier, kPatienceMs); }

  trident_ctx* ctx = nullptr;
  trident_kernel* kernel = nullptr;
};

template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void send_honest(ScriptedConnection& c, std::uint64_t job, double value, std::uint8_t tier) {
  const Bytes image = build_image({.value = value, .tier = tier});
  const os::Fd fd = seal_image(image);
  c.ready(job, image, fd.get());
}

TEST(LyingDaemon, HonestOneSwapsTwiceAndRevokes) {
  std::atomic<int> step = 0;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    if (job == 0) return;
    send_honest(c, job, kBaseline, TRIDENT_TIER_BASELINE);
    while (step < 1) std::this_thread::yield();
    send_honest(c, job, kOptimised, TRIDENT_TIER_OPTIMISED);
    while (step < 2) std::this_thread::yield();
    c.revoke(job, TRIDENT_TIER_OPTIMISED);
    send_honest(c, job, kOptimised, TRIDENT_TIER_OPTIMISED);  // withdrawn: must not come back
    c.done(job);
    c.drain();
  });
  Client client(daemon);
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_BASELINE));
  EXPECT_EQ(kBaseline, client.answer());
  EXPECT_EQ(static_cast<unsigned>(TRIDENT_ISA_AVX2), client.info().isa);
  step = 1;
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_OPTIMISED));
  EXPECT_EQ(kOptimised, client.answer());
  EXPECT_EQ(2u, client.info().swaps);
  step = 2;
  EXPECT_TRUE(eventually([&] { return client.info().done == 1; }));
  EXPECT_EQ(0u, client.info().tier);
  EXPECT_EQ(2.0, client.answer());
  EXPECT_EQ(1u, client.stats().baseline_received);
  EXPECT_EQ(1u, client.stats().optimised_received);
}

TEST(LyingDaemon, InlineImageWorks) {
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    c.ready_inline(job, build_image({.value = kBaseline}));
    c.drain();
  });
  Client client(daemon);
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_BASELINE));
  EXPECT_EQ(kBaseline, client.answer());
}

/// One bad image, then a good one of the higher tier, so that the test knows when the bad one has been dealt with.
void expect_refused(const std::function<void(ScriptedConnection&, std::uint64_t)>& lie, std::uint64_t refusals = 1) {
  const std::size_t before = open_descriptors();
  {
    std::atomic<bool> over = false;
    ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
      if (!c.greet()) return;
      const std::uint64_t job = c.read_submit();
      if (job == 0) return;
      lie(c, job);
      c.done(job);
      while (!over) std::this_thread::yield();
      send_honest(c, job, kOptimised, TRIDENT_TIER_OPTIMISED);
      c.drain();
    });
    Client client(daemon);
    EXPECT_TRUE(eventually([&] { return client.info().done == 1; }));
    EXPECT_EQ(2.0, client.answer());
    EXPECT_EQ(0u, client.info().tier);
    EXPECT_EQ(refusals, client.stats().rejected_images);
    over = true;
    EXPECT_TRUE(eventually([&] { return client.info().tier == TRIDENT_TIER_OPTIMISED; }));
    EXPECT_EQ(kOptimised, client.answer());
  }
  EXPECT_EQ(before, open_descriptors());
}

TEST(LyingDaemon, MissingSealsAreRefused) {
  const int all[] = {F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL};
  for (const int missing : all) {
    int seals = 0;
    for (const int seal : all) seals |= seal == missing ? 0 : seal;
    SCOPED_TRACE(missing);
    expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
      const Bytes image = build_image({.value = kBaseline});
      const os::Fd fd = seal_image(image, seals);
      c.ready(job, image, fd.get());
    });
  }
}

TEST(LyingDaemon, WhatIsNoMemfdIsRefused) {
  const Bytes image = build_image({.value = kBaseline});
  char name[] = "/tmp/trident-file-XXXXXX";
  const os::Fd file(::mkstemp(name));
  ::unlink(name);
  ASSERT_EQ(static_cast<ssize_t>(image.size()), ::write(file.get(), image.data(), image.size()));
  int pipe_ends[2];
  ASSERT_EQ(0, ::pipe(pipe_ends));
  const os::Fd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  const os::Fd zero(::open("/dev/zero", O_RDONLY)), directory(::open("/tmp", O_RDONLY | O_DIRECTORY));
  for (const int fd : {file.get(), read_end.get(), write_end.get(), zero.get(), directory.get()}) {
    SCOPED_TRACE(fd);
    expect_refused([&](ScriptedConnection& c, std::uint64_t job) { c.ready(job, image, fd); });
  }
}

TEST(LyingDaemon, WrongClaimsAreRefused) {
  const Bytes image = build_image({.value = kBaseline});
  trident_image_header h;
  std::memcpy(&h, image.data(), sizeof(h));
  struct Claim {
    std::uint8_t tier;
    std::uint32_t size;
    std::uint64_t low, high;
  };
  const Claim claims[] = {
      {TRIDENT_TIER_OPTIMISED, h.total_size, h.digest[0], h.digest[1]},
      {TRIDENT_TIER_BASELINE, h.total_size - 1, h.digest[0], h.digest[1]},
      {TRIDENT_TIER_BASELINE, h.total_size + 1, h.digest[0], h.digest[1]},
      {TRIDENT_TIER_BASELINE, 0, h.digest[0], h.digest[1]},
      {TRIDENT_TIER_BASELINE, 0xFFFF'FFFF, h.digest[0], h.digest[1]},
      {TRIDENT_TIER_BASELINE, h.total_size, h.digest[0] ^ 1, h.digest[1]},
      {TRIDENT_TIER_BASELINE, h.total_size, h.digest[0], h.digest[1] ^ 1},
      {77, h.total_size, h.digest[0], h.digest[1]},
  };
  for (const Claim& claim : claims) {
    SCOPED_TRACE(&claim - claims);
    expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
      const os::Fd fd = seal_image(image);
      c.ready_claiming(job, claim.tier, claim.size, claim.low, claim.high, {fd.get()});
    });
  }
}

TEST(LyingDaemon, ImagesForOtherKernelsAreRefused) {
  const ConstantImage others[] = {{.value = kBaseline, .inputs = 2},
                                  {.value = kBaseline, .inputs = 0},
                                  {.value = kBaseline, .outputs = 2},
                                  {.value = kBaseline, .params = 1},
                                  {.value = kBaseline, .tier = TRIDENT_TIER_BASELINE, .inputs = 1, .outputs = 0}};
  for (const ConstantImage& other : others) {
    SCOPED_TRACE(&other - others);
    expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
      const Bytes image = build_image(other);
      const os::Fd fd = seal_image(image);
      c.ready(job, image, fd.get());
    });
  }
}

TEST(LyingDaemon, EveryFlippedByteIsRefused) {
  const Bytes good = build_image({.value = kBaseline});
  trident_image_header h;
  std::memcpy(&h, good.data(), sizeof(h));
  // In batches below the number of refusals at which the client gives a daemon up.
  constexpr std::size_t kBatch = 12;
  for (std::size_t first = 0; first < good.size(); first += kBatch) {
    SCOPED_TRACE(first);
    const std::size_t last = std::min(good.size(), first + kBatch);
    expect_refused(
        [&](ScriptedConnection& c, std::uint64_t job) {
          for (std::size_t at = first; at < last; ++at) {
            Bytes bad = good;
            bad[at] ^= std::byte{0x10};
            const os::Fd fd = seal_image(bad);
            c.ready_claiming(job, h.tier, h.total_size, h.digest[0], h.digest[1], {fd.get()});
          }
        },
        last - first);
  }
}

TEST(LyingDaemon, TruncatedAndPaddedFiles) {
  const Bytes good = build_image({.value = kBaseline});
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{128}, good.size() - 1}) {
    SCOPED_TRACE(size);
    expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
      Bytes part = good;
      part.resize(size);
      const os::Fd fd = seal_image(part);
      c.ready(job, good, fd.get());
    });
  }
  expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
    Bytes longer = good;
    longer.resize((1u << 20) + 4096 + 1);
    const os::Fd fd = seal_image(longer);
    c.ready(job, good, fd.get());
  });
}

TEST(LyingDaemon, BadInlineImagesAreRefused) {
  expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
    Bytes image = build_image({.value = kBaseline});
    image[150] ^= std::byte{1};
    c.ready_inline(job, image);
  });
}

TEST(LyingDaemon, ReadyWithoutADescriptorIsRefused) {
  expect_refused([&](ScriptedConnection& c, std::uint64_t job) {
    trident_image_header h;
    const Bytes image = build_image({.value = kBaseline});
    std::memcpy(&h, image.data(), sizeof(h));
    c.ready_claiming(job, h.tier, h.total_size, h.digest[0], h.digest[1], {});
  });
}

TEST(LyingDaemon, UnknownJobsAndSurplusDescriptorsAreIgnored) {
  expect_refused(
      [&](ScriptedConnection& c, std::uint64_t job) {
        const Bytes image = build_image({.value = kBaseline});
        const os::Fd fd = seal_image(image);
        for (const std::uint64_t wrong :
             {std::uint64_t{0}, job + 1, job ^ (std::uint64_t{1} << 32), ~std::uint64_t{0}}) {
          c.ready(wrong, image, fd.get());
          c.revoke(wrong, 1);
          c.done(wrong);
          if (wrong != 0) c.failure(wrong, 0, 0);
        }
        flatbuffers::FlatBufferBuilder b;
        c.send_frame(b, wire::Body::Accepted, wire::CreateAccepted(b, job, false).Union(),
                     {fd.get(), fd.get(), fd.get(), fd.get(), fd.get()});
      },
      0);
}

TEST(LyingDaemon, SlowBytesAreFine) {
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    flatbuffers::FlatBufferBuilder b;
    const Bytes image = build_image({.value = kBaseline});
    trident_image_header h;
    std::memcpy(&h, image.data(), sizeof(h));
    wire::FinishMessageBuffer(
        b, wire::CreateMessage(
               b, wire::Body::KernelReady,
               wire::CreateKernelReady(b, job, wire::Tier::baseline, h.total_size, h.digest[0], h.digest[1]).Union()));
    const std::uint32_t length = b.GetSize();
    Bytes frame(4 + length);
    std::memcpy(frame.data(), &length, 4);
    std::memcpy(frame.data() + 4, b.GetBufferPointer(), length);
    const os::Fd fd = seal_image(image);
    for (std::size_t i = 0; i < frame.size(); ++i) {
      c.send_raw({frame[i]}, i == 0 ? std::vector<int>{fd.get()} : std::vector<int>{});
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    c.drain();
  });
  Client client(daemon);
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_BASELINE));
  EXPECT_EQ(kBaseline, client.answer());
}

TEST(LyingDaemon, FloodOfDescriptorsEndsTheConnection) {
  const std::size_t before = open_descriptors();
  {
    ScriptedDaemon daemon([&](ScriptedConnection& c, int number) {
      if (number > 0 || !c.greet()) return c.drain();
      const os::Fd fd = seal_image(build_image({}));
      const std::vector<int> many(200, fd.get());
      const std::uint32_t never_complete = 1u << 19;
      Bytes head(4);
      std::memcpy(head.data(), &never_complete, 4);
      c.send_raw(head);
      for (int i = 0; i < 200; ++i) c.send_raw(Bytes(1), many);
      c.drain();
    });
    Client client(daemon);
    EXPECT_TRUE(eventually([&] { return client.stats().connected == 0 && daemon.connections() >= 1; }));
    EXPECT_EQ(2.0, client.answer());
    EXPECT_LT(open_descriptors(), before + 64);
  }
  EXPECT_EQ(before, open_descriptors());
}

Bytes bytes_of(std::initializer_list<unsigned> list) {
  Bytes bytes;
  for (const unsigned value : list) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(LyingDaemon, GarbageEndsTheConnectionAndNothingElse) {
  Bytes noise(65536);
  std::uint64_t state = 88172645463325252ull;
  for (std::byte& b : noise) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    b = static_cast<std::byte>(state);
  }
  const Bytes lies[] = {
      noise,                                           // a huge length, most likely
      bytes_of({0xff, 0xff, 0xff, 0xff}),              // 4 GiB to come
      bytes_of({0, 0, 0, 0}),                          // an empty message
      bytes_of({8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}),  // bytes that are no message
  };
  for (const Bytes& lie : lies) {
    for (const bool before_welcome : {true, false}) {
      std::atomic<bool> hung_up = false;
      ScriptedDaemon daemon([&](ScriptedConnection& c, int number) {
        if (number > 0) return;
        if (before_welcome || c.greet()) c.send_raw(lie);
        c.drain();
        hung_up = true;
      });
      Client client(daemon);
      EXPECT_TRUE(eventually([&] { return hung_up.load(); }));
      EXPECT_EQ(2.0, client.answer());
      EXPECT_EQ(0u, client.stats().errors);
    }
  }
}

TEST(LyingDaemon, ClientsMessagesFromADaemonEndTheConnection) {
  std::atomic<bool> hung_up = false;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int number) {
    if (number > 0 || !c.greet()) return;
    flatbuffers::FlatBufferBuilder b;
    c.send_frame(b, wire::Body::Cancel, wire::CreateCancel(b, 1).Union());
    c.drain();
    hung_up = true;
  });
  Client client(daemon);
  EXPECT_TRUE(eventually([&] { return hung_up.load(); }));
  EXPECT_EQ(2.0, client.answer());
}

TEST(LyingDaemon, AnotherProtocolMeansLocalMode) {
  std::atomic<bool> hung_up = false;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    c.read();
    c.welcome(99);
    c.drain();
    hung_up = true;
  });
  Client client(daemon);
  EXPECT_TRUE(eventually([&] { return hung_up.load(); }));
  EXPECT_EQ(2.0, client.answer());
  EXPECT_EQ(0u, client.stats().connected);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(1, daemon.connections());  // no loop
}

TEST(LyingDaemon, HangsUpAtEveryStep) {
  // Connection k goes away at step k; the last one is honest.
  constexpr int kSteps = 8;
  const std::size_t before = open_descriptors();
  {
    ScriptedDaemon daemon([&](ScriptedConnection& c, int number) {
      int left = number;
      const auto gone = [&] { return left-- == 0; };
      if (gone()) return;
      const auto hello = c.read();
      if (!hello || gone()) return;
      c.welcome();
      if (gone()) return;
      const std::uint64_t job = c.read_submit();
      if (job == 0 || gone()) return;
      flatbuffers::FlatBufferBuilder b;
      c.send_frame(b, wire::Body::Accepted, wire::CreateAccepted(b, job, false).Union());
      if (gone()) return;
      const Bytes image = build_image({.value = kBaseline});
      const os::Fd fd = seal_image(image);
      if (gone()) return c.send_raw(bytes_of({200, 0, 0, 0, 1, 2, 3}), {fd.get()});
      c.ready(job, image, fd.get());
      if (gone()) return;
      send_honest(c, job, kOptimised, TRIDENT_TIER_OPTIMISED);
      if (gone()) return;
      c.done(job);
      c.drain();
    });
    Client client(daemon);
    while (client.info().done == 0 && !::testing::Test::HasFailure()) {
      const double answer = client.answer();
      EXPECT_TRUE(answer == 2.0 || answer == kBaseline || answer == kOptimised) << answer;
      EXPECT_EQ(TRIDENT_OK, trident_wait(client.kernel, TRIDENT_TIER_INTERPRETER, 0));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(kSteps + 1, daemon.connections());
    EXPECT_EQ(kOptimised, client.answer());
    EXPECT_EQ(0u, client.stats().errors);
    EXPECT_EQ(2u, client.info().swaps);  // the same image again is not a swap
  }
  EXPECT_EQ(before, open_descriptors());
}

TEST(LyingDaemon, BusyMeansLater) {
  std::atomic<int> submissions = 0;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t job = c.read_submit();
      if (job == 0) return;
      ++submissions;
      if (i < 2) {
        c.failure(job, static_cast<std::uint8_t>(ErrorCode::kBusy), 30);
      } else {
        send_honest(c, job, kBaseline, TRIDENT_TIER_BASELINE);
      }
    }
    c.drain();
  });
  Client client(daemon);
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_BASELINE));
  EXPECT_EQ(3, submissions);
  EXPECT_EQ(kBaseline, client.answer());
}

TEST(LyingDaemon, FailureLeavesTheInterpreter) {
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    c.failure(c.read_submit(), static_cast<std::uint8_t>(ErrorCode::kUnsupported), 0);
    c.drain();
  });
  Client client(daemon);
  EXPECT_TRUE(eventually([&] { return client.info().done == 1; }));
  EXPECT_EQ(1u, client.stats().errors);
  EXPECT_EQ(2.0, client.answer());
}

TEST(LyingDaemon, SwapsAreBounded) {
  std::atomic<bool> sent = false;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    for (int i = 0; i < 100; ++i) send_honest(c, job, 5000.0 + i, TRIDENT_TIER_OPTIMISED);
    c.done(job);
    sent = true;
    c.drain();
  });
  Client client(daemon);
  EXPECT_TRUE(eventually([&] { return client.info().done == 1; }));
  EXPECT_EQ(8u, client.info().swaps);
  EXPECT_EQ(5007.0, client.answer());
}

TEST(LyingDaemon, KernelsClosedWhileTheirImagesAreUnderWay) {
  const std::size_t before = open_descriptors();
  {
    ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
      if (!c.greet()) return;
      const Bytes image = build_image({.value = kBaseline});
      const os::Fd fd = seal_image(image);
      while (const std::uint64_t job = c.read_submit()) c.ready(job, image, fd.get());
    });
    Client client(daemon);
    for (int i = 0; i < 500; ++i) {
      trident_kernel* k = client.submit();
      if (i % 3 == 0) {
        EXPECT_EQ(TRIDENT_OK, trident_wait(k, TRIDENT_TIER_BASELINE, kPatienceMs));
        EXPECT_EQ(kBaseline, Client::answer(k));
      } else {
        const double answer = Client::answer(k);
        EXPECT_TRUE(answer == 2.0 || answer == kBaseline);
      }
      trident_close_kernel(k);
    }
  }
  EXPECT_EQ(before, open_descriptors());
}

TEST(LyingDaemon, CallbackMayCloseItsKernel) {
  std::atomic<bool> all_submitted = false;
  std::atomic<int> closed = 0;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    while (const std::uint64_t job = c.read_submit()) {
      while (!all_submitted) std::this_thread::yield();
      send_honest(c, job, kBaseline, TRIDENT_TIER_BASELINE);
      c.done(job);
    }
  });
  Client client(daemon);
  for (int i = 0; i < 50; ++i) {
    trident_kernel* k = client.submit();
    trident_on_change(
        k,
        [](trident_kernel* kernel, void* user) {
          ++*static_cast<std::atomic<int>*>(user);
          trident_close_kernel(kernel);
        },
        &closed);
  }
  all_submitted = true;
  EXPECT_TRUE(eventually([&] { return closed == 50; }));
  EXPECT_EQ(TRIDENT_OK, client.wait(TRIDENT_TIER_BASELINE));
}

TEST(LyingDaemon, ModeDaemonWaitsForTheWelcome) {
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_DAEMON;
  options.connect_timeout_ms = 100;
  trident_ctx* ctx = nullptr;
  {
    ScriptedDaemon silent([](ScriptedConnection& c, int) { c.drain(); });
    options.socket_path = silent.path().c_str();
    EXPECT_EQ(TRIDENT_E_DAEMON, trident_open(&options, &ctx));
    EXPECT_EQ(nullptr, ctx);
  }
  options.connect_timeout_ms = kPatienceMs;
  ScriptedDaemon honest([](ScriptedConnection& c, int) {
    c.greet();
    c.drain();
  });
  options.socket_path = honest.path().c_str();
  EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  trident_close(ctx);
}

TEST(LyingDaemon, StatsAreAnsweredOrRefused) {
  ScriptedDaemon daemon([](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    int asked = 0;
    while (auto request = c.read()) {
      const auto* stats = request->message().body_as_StatsRequest();
      if (stats == nullptr) continue;
      if (asked++ == 1) return;  // hangs up on the second question
      flatbuffers::FlatBufferBuilder b;
      c.send_frame(b, wire::Body::Stats, wire::CreateStatsDirect(b, stats->request() + 1, "{\"wrong\":1}").Union());
      flatbuffers::FlatBufferBuilder b2;
      c.send_frame(b2, wire::Body::Stats, wire::CreateStatsDirect(b2, stats->request(), "{\"jobs\":3}").Union());
    }
  });
  Client client(daemon);
  char json[64];
  EXPECT_EQ(TRIDENT_OK, trident_daemon_stats(client.ctx, json, sizeof(json), kPatienceMs)) << trident_last_error();
  EXPECT_STREQ("{\"jobs\":3}", json);
  EXPECT_EQ(TRIDENT_E_DAEMON, trident_daemon_stats(client.ctx, json, sizeof(json), kPatienceMs));
}

TEST(LyingDaemon, UntrustedSocketsAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a socket of another user";
  std::atomic<bool> asked = false;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    asked = true;
    c.greet();
    c.drain();
  });
  ASSERT_EQ(0, ::chown(daemon.path().c_str(), 12345, 12345));
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_DAEMON;
  options.connect_timeout_ms = 100;
  options.socket_path = daemon.path().c_str();
  trident_ctx* ctx = nullptr;
  EXPECT_EQ(TRIDENT_E_DAEMON, trident_open(&options, &ctx));
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "not trusted")) << trident_last_error();
  EXPECT_FALSE(asked);
  ::setenv("TRIDENT_TRUSTED_UID", "12345", 1);
  options.connect_timeout_ms = kPatienceMs;
  EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  trident_close(ctx);
  ::unsetenv("TRIDENT_TRUSTED_UID");
}

}  // namespace
}  // namespace trident::testing
