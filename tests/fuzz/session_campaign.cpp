// The message campaign against a whole daemon: its sockets, frames, sessions, jobs and workers.
//
//   session_campaign [--messages N] [--seed N]
//
// Connections send sequences that no sound client would: messages in wrong order, mutated, truncated, oversized, that
// only a daemon may send, cut into odd pieces, with descriptors nobody asked for, between sound ones. What comes back
// is held to the protocol: every frame is a message, nothing but a Failure comes before the Welcome, and a kernel for a
// submission that was sent unharmed gives the interpreter's bits. Some connections wait for their answers, which must
// come; most go away at a random point.
//
// Exit 0: the same daemon serves at the end, no worker crashed, its descriptors and memory are what they were, it ends
// by SIGTERM with status 0, and no sanitizer reported anything, leaks included.
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/limits.h"
#include "runtime/os/clock.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"
#include "tests/daemon/sanitizer_reports.h"
#include "tests/fuzz/tokens.h"
#include "tests/fuzz/value_oracle.h"

namespace trident {
namespace {

using fuzz::Random;
using tests::Payload;
using tests::RawClient;

struct Totals {
  std::uint64_t messages = 0, connections = 0, welcomed = 0, answers = 0, kernels = 0, failures = 0, followed = 0;
};

const char* const kTexts[] = {
    "x*y + 3*x",    "sin(x)^2 + cos(x)*exp(-y)",         "x < y ? sqrt(abs(x)) : log(y)",
    "sum(x*y)",     "(i:i64 << 3) ^^ (j:i64 & 255)",     "pow(x, y) - tanh(z)",
    "f32(x)*2 + 1", "(x + 1, min(x, max(y, floor(z))))", "atan2(y, x) * hypot(x, y)",
};

/// A submission with all data needed for its right answer.
struct Sound {
  expr::Expr expr;
  kir::Kernel kernel;
};

class Connection {
 public:
  Connection(const std::string& socket, Random& random, Totals& totals)
      : client_(socket), random_(random), totals_(totals) {
    ++totals_.connections;
  }

  void run() {
    // A third sound, a third with some harm, a third wild.
    constexpr std::size_t kNever = 0;
    const std::size_t harm_in_64 = std::array<std::size_t, 3>{kNever, 3, 32}[random_.below(3)];
    if (harm_in_64 == kNever || random_.below(8) != 0) send(tests::hello_message());
    for (std::size_t steps = 1 + random_.below(20); steps > 0 && !broken_; --steps)
      random_.below(64) < harm_in_64 ? harm() : behave();
    if (!broken_ && !harmed_ && random_.below(16) == 0) return follow();
    if (random_.below(4) == 0) ::shutdown(client_.fd().get(), SHUT_WR);
    const int patience_ms = random_.below(16) == 0 ? 3 : 0;
    while (const auto incoming = client_.next(patience_ms)) check(*incoming);
  }

 private:
  void behave() {
    switch (random_.below(6)) {
      case 5: return send(function(random_.next() | std::uint64_t{1} << 63));
      case 0: return cancel();
      case 1: return send(tests::stats_message(random_.next()));
      case 2: return send(loop(random_.next() | std::uint64_t{1} << 63));
      default: return submit();
    }
  }

  void harm() {
    harmed_ = true;
    switch (random_.below(8)) {
      case 0: return send(tests::hello_message());  // a second one, or one too late
      case 1: return send_foreign();
      case 2: return send_truncated();
      case 3: return send_oversized();
      case 4: return send_with_descriptors();
      default: return send_mutated();
    }
  }

  void cancel() {
    if (random_.below(2) == 0 || sound_.empty()) return send(tests::cancel_message(random_.below(9)));
    const std::uint64_t job = sound_.begin()->first;
    answered_.insert(job);
    send(tests::cancel_message(job));
  }

  /// Sends a message that only a daemon may send.
  void send_foreign() {
    flatbuffers::FlatBufferBuilder builder;
    const auto finish = [&](wire::Body kind, flatbuffers::Offset<void> body) {
      wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, kind, body));
    };
    switch (random_.below(4)) {
      case 0: finish(wire::Body::Welcome, wire::CreateWelcome(builder, 1, 2).Union()); break;
      case 1: finish(wire::Body::Done, wire::CreateDone(builder, random_.below(9)).Union()); break;
      case 2: finish(wire::Body::Revoke, wire::CreateRevoke(builder, random_.below(9)).Union()); break;
      default: finish(wire::Body::KernelReady, wire::CreateKernelReady(builder, random_.below(9)).Union());
    }
    const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    send(Payload(data, data + builder.GetSize()));
  }

  void submit() {
    // Numbers that no mutated message comes by.
    const std::uint64_t job = random_.next() | std::uint64_t{1} << 63;
    std::string text = kTexts[random_.below(std::size(kTexts))];
    if (random_.below(4) == 0) text = "x*" + std::to_string(random_.below(100'000)) + " + y";
    auto parsed = expr::parse(text);
    CHECK(parsed.ok());
    auto kernel = expr::lower(*parsed, {.policy = {expr::PolicyKind::exact}, .simplify = false});
    CHECK(kernel.ok());
    sound_[job] = {std::move(*parsed), std::move(*kernel)};
    send(tests::submit_message(text,
                               {.job = job, .policy = wire::Policy::exact, .inline_images = random_.below(4) == 0}));
  }

  /// A guest's copy of bytes, often with a word changed: ldrb, strb, subs, b.ne to the first.
  Payload loop(std::uint64_t job) {
    std::array<std::uint32_t, 4> words = {0x38401423, 0x38001403, 0xf1000442, 0x54ffffa1};
    if (random_.below(2) == 0) words[random_.below(words.size())] ^= 1u << random_.below(32);
    return tests::loop_message(std::as_bytes(std::span(words)), {.job = job});
  }

  /// A function, often with a byte changed, that another one may call.
  Payload function(std::uint64_t job) {
    std::string text =
        "fn f(x: inout [i64], n: i64) -> i64 { let s = 0; for i in 0..len(x) { if x[i] > n { s = s + "
        "g(x[i] / n); } } return s; }";
    std::string calls = "fn g(a: i64) -> i64 { while a > 9 { a = a / 2; } return a; }" + std::string(1, '\0');
    if (random_.below(2) == 0) text[random_.below(text.size())] = static_cast<char>(random_.below(128));
    if (random_.below(4) == 0) calls[random_.below(calls.size())] = static_cast<char>(random_.below(128));
    return tests::function_message(text, calls, job);
  }

  Payload any_message() {
    switch (random_.below(7)) {
      case 4: return function(random_.below(9));
      case 3: return loop(random_.below(9));
      case 0: return tests::hello_message();
      case 1: return tests::cancel_message(random_.below(9));
      case 2: return tests::stats_message(1);
      default: return tests::submit_message(kTexts[random_.below(std::size(kTexts))], {.job = random_.below(9)});
    }
  }

  void send_mutated() {
    Payload message = any_message();
    for (std::size_t flips = 1 + random_.below(6); flips > 0; --flips) {
      const std::size_t at = random_.below(message.size());
      message[at] = random_.below(2) == 0 ? message[at] ^ static_cast<std::byte>(1u << random_.below(8))
                                          : static_cast<std::byte>(random_.below(80));
    }
    send(message);
  }

  void send_truncated() {
    Payload bytes = any_message();
    bytes.resize(random_.below(bytes.size()));
    if (random_.below(2) == 0) return send(bytes);  // a whole frame of half a message
    ++totals_.messages;
    Payload half = tests::framed(any_message());  // half a frame, then the end or bytes that are no frame
    half.resize(random_.below(half.size()));
    broken_ = !client_.send_bytes(half) || random_.below(2) == 0;
  }

  void send_oversized() {
    if (random_.below(16) == 0) return send(Payload(limits::kFrameBytesMax, std::byte{0x55}));
    ++totals_.messages;
    const std::uint32_t lengths[] = {limits::kFrameBytesMax + 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0};
    const std::uint32_t length = lengths[random_.below(std::size(lengths))];
    broken_ = !client_.send_bytes(std::as_bytes(std::span(&length, 1)));
  }

  void send_with_descriptors() {
    ++totals_.messages;
    broken_ = !client_.send_bytes(tests::framed(any_message()), client_.fd().get());
  }

  void send(const Payload& payload) {
    ++totals_.messages;
    const Payload bytes = tests::framed(payload);
    std::span<const std::byte> rest = bytes;
    while (!rest.empty() && !broken_) {
      const std::size_t piece = random_.below(8) == 0 ? 1 + random_.below(rest.size()) : rest.size();
      broken_ = !client_.send_bytes(rest.first(piece));
      rest = rest.subspan(piece);
    }
  }

  /// The daemon has had nothing but sound messages: every submission is answered, or the connection was refused as a
  /// whole.
  void follow() {
    ++totals_.followed;
    constexpr std::uint64_t kLast = 42;
    bool last = false;
    send(tests::stats_message(kLast));
    constexpr int kPatienceMs = 60'000;
    while (const auto incoming = client_.next(kPatienceMs)) {
      check(*incoming);
      const wire::Message& message = incoming->message();
      if (const auto* failure = message.body_as_Failure(); failure != nullptr && failure->job() == 0) return;
      if (const auto* stats = message.body_as_Stats()) last = last || stats->request() == kLast;
      if (last && answered_.size() == sound_.size()) return;
    }
    std::fprintf(stderr, "session_campaign: no answer in a minute (%zu submissions)\n", sound_.size());
    std::abort();
  }

  void check(const tests::Incoming& incoming) {
    ++totals_.answers;
    const wire::Message& message = incoming.message();
    const auto* failure = message.body_as_Failure();
    if (failure != nullptr) {
      ++totals_.failures;
      if (sound_.contains(failure->job())) answered_.insert(failure->job());
    }
    if (message.body_type() == wire::Body::Welcome) {
      CHECK(!welcomed_);
      welcomed_ = true;
      ++totals_.welcomed;
    }
    CHECK(welcomed_ || (failure != nullptr && failure->job() == 0));
    for (const wire::Body of_client : {wire::Body::NONE, wire::Body::Hello, wire::Body::Submit, wire::Body::Cancel,
                                       wire::Body::StatsRequest, wire::Body::SubmitLoop, wire::Body::LoopSeen,
                                       wire::Body::Observed, wire::Body::SubmitFunction, wire::Body::Called})
      CHECK(message.body_type() != of_client);
    if (const auto* ready = message.body_as_KernelReady()) check_kernel(*ready, incoming.fd);
  }

  void check_kernel(const wire::KernelReady& ready, const os::Fd& fd) {
    os::Fd sealed;
    if (ready.image() != nullptr) {
      const auto* bytes = reinterpret_cast<const std::byte*>(ready.image()->data());
      image::ImageBytes image;
      image.bytes.assign(bytes, bytes + ready.image()->size());
      CHECK(image::validate(image.bytes).ok());
      auto made = image::seal(image);
      CHECK(made.ok());
      sealed = std::move(*made);
    }
    const auto mapped = image::Mapped::map(ready.image() != nullptr ? sealed : fd);
    CHECK(mapped.ok());
    const auto at = sound_.find(ready.job());
    if (at == sound_.end()) return;
    answered_.insert(ready.job());
    ++totals_.kernels;
    const std::string difference =
        fuzz::difference_from_interpreter(at->second.expr, at->second.kernel, *mapped, totals_.messages);
    if (difference.empty()) return;
    std::fprintf(stderr, "session_campaign: WRONG VALUE: %s\n%s", expr::print_infix(at->second.expr).c_str(),
                 difference.c_str());
    std::abort();
  }

  RawClient client_;
  Random& random_;
  Totals& totals_;
  std::map<std::uint64_t, Sound> sound_;
  std::set<std::uint64_t> answered_;  ///< of sound_: a kernel or a failure came, or it was cancelled
  bool broken_ = false;               ///< nothing can be sent any more
  bool harmed_ = false;               ///< something was sent that may end the connection
  bool welcomed_ = false;
};

std::size_t open_descriptors(int pid) {
  DIR* directory = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  CHECK(directory != nullptr);
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

std::size_t resident_kib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (std::size_t kib = 0; word == "VmRSS:" && status >> kib) return kib;
  return 0;
}

int campaign(std::uint64_t messages, std::uint64_t seed) {
  ::signal(SIGPIPE, SIG_IGN);
  constexpr const char* kHotEntries = "8";  // each holds a descriptor
  const tests::SanitizerReports reports;
  tests::PrivateDaemon daemon({"--budget-ms", "50", "--frame-timeout-ms", "5000", "--cache-hot", kHotEntries});
  const int pid = daemon.pid();
  Random random{seed};
  Totals totals;
  const std::uint64_t begin_ns = os::monotonic_ns();
  std::size_t descriptors = 0, memory_kib = 0;
  const auto settled_descriptors = [&] {
    std::size_t least = ~std::size_t{0};
    tests::eventually([&] { return (least = std::min(least, open_descriptors(pid))) <= descriptors; }, 20);
    return least;
  };
  bool sound = true;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "\nsession_campaign: FAILED: %s\n", what);
    sound = sound && holds;
  };
  for (std::uint64_t next_look = messages / 20; totals.messages < messages;) {
    Connection(daemon.socket(), random, totals).run();
    if (totals.messages < next_look) continue;
    next_look += messages / 20;
    if (descriptors == 0) {  // caches and pools are as large now as they will be
      tests::sleep_ms(1000);
      descriptors = open_descriptors(pid);
      memory_kib = resident_kib(pid);
    }
    std::printf("\r%9llu messages, %llu kernels compared, daemon %zu MiB",
                static_cast<unsigned long long>(totals.messages), static_cast<unsigned long long>(totals.kernels),
                resident_kib(pid) >> 10);
    std::fflush(stdout);
  }
  const std::string stats_text = RawClient::ready(daemon.socket()).stats();
  const auto stats = nlohmann::json::parse(stats_text);
  expect(stats["workers"]["crashed"] == 0, "a worker crashed");
  expect(stats["workers"]["protocol_errors"] == 0, "a worker broke the protocol");
  expect(stats["workers"]["timed_out"] == 0, "a worker hung");
  expect(totals.kernels > totals.connections / 100, "too few kernels to mean anything");
  const std::size_t descriptors_after = settled_descriptors(), after_kib = resident_kib(pid);
  expect(descriptors_after <= descriptors + 8, "descriptors leak");
  expect(daemon.pid() == pid && tests::is_running(pid), "the daemon died");
  daemon.signal(SIGTERM);
  expect(daemon.wait() == "exit 0", "the daemon did not end well");
  expect(reports.none(), "a sanitizer reported");
  std::printf(
      "\n%llu messages on %llu connections (%llu welcomed), seed %llu, %.0f s: %llu answers (%llu failures), %llu "
      "kernels compared, %llu connections followed to the end; daemon: %llu malformed, descriptors %zu then %zu, "
      "memory "
      "%zu then %zu KiB\n",
      static_cast<unsigned long long>(totals.messages), static_cast<unsigned long long>(totals.connections),
      static_cast<unsigned long long>(totals.welcomed), static_cast<unsigned long long>(seed),
      static_cast<double>(os::monotonic_ns() - begin_ns) * 1e-9, static_cast<unsigned long long>(totals.answers),
      static_cast<unsigned long long>(totals.failures), static_cast<unsigned long long>(totals.kernels),
      static_cast<unsigned long long>(totals.followed), stats["sessions"]["malformed"].get<unsigned long long>(),
      descriptors, descriptors_after, memory_kib, after_kib);
  return sound ? 0 : 1;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  std::uint64_t messages = 1'000'000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--messages") == 0) messages = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return trident::campaign(messages, seed);
}
