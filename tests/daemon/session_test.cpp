// Checks the daemon's answers to a client, sound or not. Oracle: schemas/control.fbs and naive C++ for results.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "jit/image/image.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "runtime/os/self.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

ErrorCode code_of(const Incoming& failure) {
  return static_cast<ErrorCode>(failure.message().body_as_Failure()->code());
}

/// Runs `x*y + 3*x` as it came over the wire and compares with the compiler's own arithmetic, bit for bit.
void expect_right_results(const os::Fd& fd, std::size_t n) {
  auto mapped = image::Mapped::map(fd);
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  std::vector<double> x(n), y(n), z(n + 1, -7.0);
  std::mt19937_64 random(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::ldexp(static_cast<double>(random()), -60);
    y[i] = std::ldexp(static_cast<double>(random()), -61);
  }
  const void* in[] = {x.data(), y.data()};
  void* out[] = {z.data()};
  mapped->entry()(nullptr, n, in, out, nullptr);
  for (std::size_t i = 0; i < n; ++i) {
    const volatile double product = x[i] * y[i], triple = 3 * x[i];
    ASSERT_EQ(z[i], product + triple) << i;
  }
  ASSERT_EQ(z[n], -7.0);  // not past the end
}

const SubmitTerms kExact{.job = 5, .policy = wire::Policy::exact};

TEST(Session, HelloIsWelcomedWithVersionIsaAndBuild) {
  PrivateDaemon daemon;
  RawClient client(daemon.socket());
  client.send(hello_message(0, 9));
  const auto welcome = client.next();
  ASSERT_TRUE(welcome.has_value());
  const auto* body = welcome->message().body_as_Welcome();
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->version(), 1);
  EXPECT_GE(body->isa(), TRIDENT_ISA_AVX2);
  EXPECT_EQ(body->build()->size(), 40u);
}

// A client may have less than the daemon's processor: its kernels are for what it has.
TEST(Session, AClientWithAvx2GetsKernelsForAvx2) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "no AVX2 here";
  PrivateDaemon daemon;
  RawClient client(daemon.socket());
  client.send(hello_message(1, 1, 0, TRIDENT_ISA_AVX2));
  const auto welcome = client.next();
  ASSERT_TRUE(welcome.has_value());
  ASSERT_EQ(welcome->kind(), wire::Body::Welcome);
  EXPECT_EQ(welcome->message().body_as_Welcome()->isa(), TRIDENT_ISA_AVX2);
  client.send(submit_message(kText, kExact));
  const auto baseline = client.next_result();
  ASSERT_TRUE(baseline.has_value());
  ASSERT_EQ(baseline->kind(), wire::Body::KernelReady);
  trident_image_header header{};
  ASSERT_EQ(static_cast<ssize_t>(sizeof header), ::pread(baseline->fd.get(), &header, sizeof header, 0));
  EXPECT_EQ(header.magic, TRIDENT_IMAGE_MAGIC);
  EXPECT_EQ(header.isa, TRIDENT_ISA_AVX2);
}

/// The instruction set of the image that a client of `isa` gets of a function whose loop goes over an array.
std::uint32_t isa_of_function(const std::string& socket, std::uint8_t isa) {
  RawClient client(socket);
  client.send(hello_message(1, 1, 0, isa));
  if (const auto welcome = client.next(); !welcome || welcome->kind() != wire::Body::Welcome) return 0;
  client.send(function_message(
      "fn total(x: [i64]) -> i64 { let s = 0; for i in 0..len(x) { s = s + x[i]; } return s; }", "", 1));
  const auto answer = client.next_result();
  if (!answer || answer->kind() != wire::Body::KernelReady) return 0;
  const auto* image = answer->message().body_as_KernelReady()->image();
  trident_image_header header{};
  std::memcpy(&header, image->data(), sizeof header);
  return header.isa;
}

// One daemon serves both in turn: neither may get from the cache what was made for the other.
TEST(Session, AClientGetsFunctionsForItsOwnInstructionSet) {
  if (!os::cpu_features().avx512 || !os::cpu_features().bmi2) GTEST_SKIP() << "no AVX-512 here";
  for (const std::uint8_t first : {TRIDENT_ISA_AVX2, TRIDENT_ISA_AVX512}) {
    const PrivateDaemon daemon;
    const std::uint8_t second = first == TRIDENT_ISA_AVX2 ? TRIDENT_ISA_AVX512 : TRIDENT_ISA_AVX2;
    for (const std::uint8_t isa : {first, second, first}) EXPECT_EQ(isa, isa_of_function(daemon.socket(), isa));
  }
}

TEST(Session, AClientWithoutAnInstructionSetInCommonIsTold) {
  PrivateDaemon daemon;
  RawClient client(daemon.socket());
  client.send(hello_message(1, 1, 0, os::cpu_features().neon ? TRIDENT_ISA_AVX2 : TRIDENT_ISA_NEON));
  const auto answer = client.next();
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->kind(), wire::Body::Failure);
  EXPECT_EQ(answer->message().body_as_Failure()->job(), 0u);
  EXPECT_TRUE(client.closed_by_daemon());
}

TEST(Session, SubmissionGivesBaselineThenAnOutcome) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(kText, kExact));
  const auto accepted = client.next();
  ASSERT_TRUE(accepted.has_value());
  ASSERT_EQ(accepted->kind(), wire::Body::Accepted);
  EXPECT_EQ(accepted->message().body_as_Accepted()->job(), 5u);
  EXPECT_FALSE(accepted->message().body_as_Accepted()->cached());

  const auto baseline = client.next_result();
  ASSERT_TRUE(baseline.has_value());
  const auto* ready = baseline->message().body_as_KernelReady();
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->job(), 5u);
  EXPECT_EQ(ready->tier(), wire::Tier::baseline);
  const auto size = os::sealed_size(baseline->fd);
  ASSERT_TRUE(size.ok());
  EXPECT_GE(*size, ready->size());
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 1000u}) expect_right_results(baseline->fd, n);

  auto last = client.next_result();
  ASSERT_TRUE(last.has_value());
  std::size_t published = 0;  // a search publishes what is better as soon as it finds it
  for (; last->kind() == wire::Body::KernelReady; ++published) {
    EXPECT_EQ(last->message().body_as_KernelReady()->tier(), wire::Tier::optimised);
    for (const std::size_t n : {0u, 1u, 63u, 64u, 65u, 1000u}) expect_right_results(last->fd, n);
    last = client.next_result();
    ASSERT_TRUE(last.has_value());
  }
  ASSERT_EQ(last->kind(), wire::Body::Done);
  const auto outcome = last->message().body_as_Done()->outcome();
  EXPECT_EQ(outcome == wire::Outcome::published, published > 0);
  EXPECT_NE(outcome, wire::Outcome::not_equivalent);
}

TEST(Session, InlineImagesComeAsBytesThatValidate) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(kText, {.inline_images = true}));
  const auto baseline = client.next_result();
  ASSERT_TRUE(baseline.has_value());
  const auto* ready = baseline->message().body_as_KernelReady();
  ASSERT_NE(ready, nullptr);
  ASSERT_NE(ready->image(), nullptr);
  EXPECT_EQ(ready->image()->size(), ready->size());
  const auto bytes = std::as_bytes(std::span(ready->image()->data(), ready->image()->size()));
  const auto valid = image::validate(bytes);
  EXPECT_TRUE(valid.ok()) << valid.error().message;
}

/// Connected and welcomed as another user. Needs root.
RawClient connect_as(PrivateDaemon& daemon, uid_t uid) {
  EXPECT_EQ(::chmod(daemon.directory().c_str(), 0755), 0);
  EXPECT_EQ(::chmod((daemon.directory() + "/run").c_str(), 0755), 0);
  EXPECT_EQ(::chmod(daemon.socket().c_str(), 0666), 0);
  EXPECT_EQ(::seteuid(uid), 0);
  RawClient client(daemon.socket());
  EXPECT_EQ(::seteuid(0), 0);
  return client;
}
RawClient ready_as(PrivateDaemon& daemon, uid_t uid) {
  RawClient client = connect_as(daemon, uid);
  client.send(hello_message());
  EXPECT_EQ(client.next()->kind(), wire::Body::Welcome);
  return client;
}
constexpr uid_t kSomebody = 1000;

/// The baseline of an expression that is new to the daemon, and its descriptor if one came; the job is then closed.
Incoming take_kernel(RawClient& client, std::uint64_t job) {
  client.send(submit_message("x*y + " + std::to_string(job), {.job = job}));
  while (auto answer = client.next_result()) {
    EXPECT_NE(answer->kind(), wire::Body::Failure);
    const auto* ready = answer->message().body_as_KernelReady();
    if (ready == nullptr || ready->job() != job) continue;
    client.send(cancel_message(job));
    return std::move(*answer);
  }
  ADD_FAILURE() << "no answer to job " << job;
  return {};
}

std::string path_of(const os::Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

/// Opens one file again and again on a thread of its own, as nobody may who was to hold the daemon up.
class Reopener {
 public:
  Reopener()
      : thread_([this] {
          while (!stop_)
            if (const int held = held_; held >= 0)
              ::close(::open(("/proc/self/fd/" + std::to_string(held)).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        }) {}
  ~Reopener() {
    stop_ = true;
    thread_.join();
  }
  void turn_to(int fd) { held_ = fd; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int> held_ = -1;
  std::thread thread_;
};

// O_PATH holds a file without being seen as a reader or writer: a daemon that took a lease on it would get it, and die
// of the signal that comes when the file is opened while the lease holds.
TEST(Session, AnImageThatIsHeldAndOpenedAnewDoesNotHarmTheDaemon) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  Reopener reopener;
  for (std::uint64_t job = 1; job <= 60; ++job) {
    const Incoming kernel = take_kernel(client, job);
    ASSERT_TRUE(kernel.fd.valid());
    const os::Fd held(::open(path_of(kernel.fd).c_str(), O_PATH | O_CLOEXEC));
    ASSERT_TRUE(held.valid());
    reopener.turn_to(held.get());
    sleep_ms(60);  // the daemon goes on meanwhile with work of a closed job
    reopener.turn_to(-1);
    sleep_ms(1);
  }
  EXPECT_TRUE(is_running(daemon.pid()));
  EXPECT_FALSE(client.stats().empty());
}

TEST(Session, AnotherUserGetsBytesAndNeverADescriptor) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to connect as another user";
  PrivateDaemon daemon;
  RawClient client = ready_as(daemon, kSomebody);
  for (std::uint64_t job = 1; job <= 20; ++job) {
    const Incoming kernel = take_kernel(client, job);
    EXPECT_FALSE(kernel.fd.valid());
    const auto* image = kernel.message().body_as_KernelReady()->image();
    ASSERT_NE(image, nullptr);
    const auto valid = image::validate(std::as_bytes(std::span(image->data(), image->size())));
    EXPECT_TRUE(valid.ok()) << valid.error().message;
  }
  EXPECT_EQ(nlohmann::json::parse(client.stats())["sessions"]["image_bytes"], 0);
}

// A process may hold the daemon's memory by O_PATH, as a mapping or as a plain descriptor, job closed or not.
TEST(Session, SharedMemoryIsBoundedHoweverItIsHeld) {
  constexpr std::uint64_t kLimit = 128 * 1024;
  PrivateDaemon daemon({"--image-bytes-per-user", std::to_string(kLimit), "--cache", "none"});
  RawClient observer = RawClient::ready(daemon.socket());
  const auto charged = [&] {
    return nlohmann::json::parse(observer.stats())["sessions"]["image_bytes"].get<std::uint64_t>();
  };
  std::vector<os::Fd> held;
  std::uint64_t held_bytes = 0, inline_images = 0;
  RawClient client = RawClient::ready(daemon.socket()), second = RawClient::ready(daemon.socket());
  for (std::uint64_t job = 1; job <= 80; ++job) {
    const Incoming kernel = take_kernel(job % 2 == 0 ? client : second, job);
    if (kernel.fd.valid()) {
      held_bytes += *os::sealed_size(kernel.fd);
      held.emplace_back(::open(path_of(kernel.fd).c_str(), O_PATH | O_CLOEXEC));
    } else {
      EXPECT_NE(kernel.message().body_as_KernelReady()->image(), nullptr);
      ++inline_images;
    }
    EXPECT_LE(charged(), kLimit);
  }
  EXPECT_GT(inline_images, 0u);
  EXPECT_LE(held_bytes, kLimit);
  EXPECT_GE(held_bytes, kLimit / 2);
  EXPECT_GE(charged(), held_bytes);  // a better kernel may have come unseen
  client.close();
  second.close();
  EXPECT_TRUE(eventually([&] { return charged() == 0; }));
  EXPECT_TRUE(take_kernel(observer, 1000).fd.valid());
}

// Images in messages are the daemon's memory until they are read: a burst whose client is slow to read loses nothing.
TEST(Session, ImagesThatWaitToBeReadAreBoundedAndAskedForAgain) {
  PrivateDaemon daemon({"--write-queue-bytes", "65536"});
  RawClient client = RawClient::ready(daemon.socket());
  constexpr std::uint64_t kJobs = 1000;
  const auto submit = [&](std::uint64_t job) {
    client.send(submit_message("x*y + " + std::to_string(job), {.job = job, .inline_images = true}));
  };
  for (std::uint64_t job = 1; job <= kJobs; ++job) submit(job);
  RawClient observer = RawClient::ready(daemon.socket());
  ASSERT_TRUE(eventually(
      [&] {
        return nlohmann::json::parse(observer.stats())["jobs"]["baseline_ready"].get<std::uint64_t>() >= kJobs / 2;
      },
      60));
  std::set<std::uint64_t> got;
  std::uint64_t again = 0;
  while (got.size() < kJobs) {
    const auto answer = client.next_result();
    ASSERT_TRUE(answer.has_value()) << got.size();
    if (const auto* failure = answer->message().body_as_Failure()) {
      ASSERT_EQ(code_of(*answer), ErrorCode::kBusy);
      EXPECT_GT(failure->retry_after_ms(), 0u);
      ++again;
      got.erase(failure->job());
      submit(failure->job());
    } else if (const auto* ready = answer->message().body_as_KernelReady()) {
      got.insert(ready->job());
    }
  }
  EXPECT_GT(again, 0u);
  EXPECT_EQ(nlohmann::json::parse(observer.stats())["sessions"]["overflows"], 0);
}

TEST(Session, AUserWhoStandsForManyIsRefusedWithAReason) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to connect as another user";
  PrivateDaemon daemon;
  RawClient nobody = connect_as(daemon, os::overflow_uid());
  const auto failure = nobody.next();
  ASSERT_TRUE(failure.has_value());
  ASSERT_EQ(failure->kind(), wire::Body::Failure);
  EXPECT_EQ(failure->message().body_as_Failure()->job(), 0u);
  EXPECT_EQ(code_of(*failure), ErrorCode::kUnsupported);
  EXPECT_NE(failure->message().body_as_Failure()->message()->str().find("user namespace"), std::string::npos);
  EXPECT_TRUE(nobody.closed_by_daemon());
  (void)ready_as(daemon, kSomebody);
}

TEST(Session, VersionsThatDoNotMeetAreRefused) {
  PrivateDaemon daemon;
  for (const auto& [least, most] : {std::pair{2, 9}, {0, 0}}) {
    RawClient client(daemon.socket());
    client.send(hello_message(static_cast<std::uint16_t>(least), static_cast<std::uint16_t>(most)));
    const auto failure = client.next();
    ASSERT_TRUE(failure.has_value());
    ASSERT_EQ(failure->kind(), wire::Body::Failure) << least << " to " << most;
    EXPECT_EQ(failure->message().body_as_Failure()->job(), 0u);
    EXPECT_EQ(code_of(*failure), ErrorCode::kUnsupported);
    EXPECT_TRUE(client.closed_by_daemon());
  }
}

TEST(Session, TheFirstMessageMustBeAHelloAndTheOnlyOne) {
  PrivateDaemon daemon;
  RawClient early(daemon.socket());
  early.send(submit_message(kText));
  ASSERT_EQ(early.next()->kind(), wire::Body::Failure);
  EXPECT_TRUE(early.closed_by_daemon());
  RawClient twice = RawClient::ready(daemon.socket());
  twice.send(hello_message());
  ASSERT_EQ(twice.next()->kind(), wire::Body::Failure);
  EXPECT_TRUE(twice.closed_by_daemon());
}

TEST(Session, ABadExpressionFailsItsJobOnly) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  Payload bad = submit_message(kText, {.job = 9});
  const auto* nodes = wire::GetMessage(bad.data())->body_as_Submit()->nodes();
  static_assert(sizeof(wire::Node) == 24);  // its first byte is the op
  *const_cast<std::uint8_t*>(nodes->Data()) = 200;
  client.send(bad);
  const auto failure = client.next();
  ASSERT_TRUE(failure.has_value());
  ASSERT_EQ(failure->kind(), wire::Body::Failure);
  EXPECT_EQ(failure->message().body_as_Failure()->job(), 9u);
  EXPECT_EQ(code_of(*failure), ErrorCode::kRejectedMessage);

  client.send(submit_message(kText, {.job = 9}));  // the number is free again
  EXPECT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  client.send(submit_message("x+1", {.job = 9}));  // and now it is not
  bool refused = false;
  while (const auto incoming = client.next_result(2000))
    if (incoming->kind() == wire::Body::Failure) {
      EXPECT_EQ(code_of(*incoming), ErrorCode::kInvalidArgument);
      refused = true;
      break;
    }
  EXPECT_TRUE(refused);
}

TEST(Session, MalformedFramesCloseTheirConnectionAndNoOther) {
  PrivateDaemon daemon;
  RawClient bystander = RawClient::ready(daemon.socket());
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    RawClient client(daemon.socket());
    Payload bytes;
    switch (i % 4) {
      case 0:  // noise
        for (int k = 0; k < 100; ++k) bytes.push_back(static_cast<std::byte>(random()));
        break;
      case 1: bytes = framed({}); break;                                                            // an empty frame
      case 2: bytes = {std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0x7F}}; break;  // 2 GiB
      case 3: {  // a sound hello, cut short
        Payload hello = hello_message();
        hello.resize(random() % hello.size());
        bytes = framed(hello);
        break;
      }
    }
    client.send_bytes(bytes);
    if (i % 4 == 0)
      client.close();  // noise may announce a long frame and be waited for
    else
      EXPECT_TRUE(client.closed_by_daemon()) << i;
  }
  bystander.send(submit_message(kText));
  EXPECT_EQ(bystander.next_result()->kind(), wire::Body::KernelReady);
}

TEST(Session, MutatedMessagesNeverHarmTheDaemon) {
  PrivateDaemon daemon;
  std::mt19937_64 random(12);
  const int pid = daemon.pid();
  for (int i = 0; i < 2000; ++i) {
    RawClient client = RawClient::ready(daemon.socket());
    Payload message = submit_message(i % 2 == 0 ? kText : "(sin(x)*exp(y), sum(x*y))");
    for (std::uint64_t k = 0; k < 1 + random() % 8; ++k)
      message[random() % message.size()] ^= static_cast<std::byte>(1u << random() % 8);
    client.send(message);
  }
  EXPECT_EQ(::kill(pid, 0), 0);
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(kText));
  EXPECT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  const auto stats = nlohmann::json::parse(client.stats());
  EXPECT_EQ(stats["workers"]["protocol_errors"], 0);
  EXPECT_EQ(stats["workers"]["crashed"], 0);
}

TEST(Session, ADescriptorFromAClientIsRefused) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send_bytes(framed(stats_message(1)), client.fd().get());
  EXPECT_TRUE(client.closed_by_daemon());
}

TEST(Session, SlowSendersAreWaitedForButNotForEver) {
  PrivateDaemon daemon({"--frame-timeout-ms", "400", "--hello-timeout-ms", "300"});
  RawClient silent(daemon.socket());
  RawClient stuck = RawClient::ready(daemon.socket());
  const Payload half = framed(submit_message(kText));
  stuck.send_bytes(std::span(half).first(half.size() / 2));
  // Another, in ten pieces over 200 ms, is served.
  RawClient slow = RawClient::ready(daemon.socket());
  for (std::size_t at = 0; at < half.size();) {
    const std::size_t part = std::min(half.size() / 10 + 1, half.size() - at);
    ASSERT_TRUE(slow.send_bytes(std::span(half).subspan(at, part)));
    at += part;
    sleep_ms(20);
  }
  EXPECT_EQ(slow.next_result()->kind(), wire::Body::KernelReady);
  EXPECT_TRUE(stuck.closed_by_daemon(5000));
  EXPECT_TRUE(silent.closed_by_daemon(5000));
  const auto stats = nlohmann::json::parse(slow.stats());
  EXPECT_EQ(stats["sessions"]["frame_timeouts"], 1);
  EXPECT_EQ(stats["sessions"]["hello_timeouts"], 1);
}

TEST(Session, OneThatDoesNotReadIsCutOff) {
  PrivateDaemon daemon({"--write-queue-bytes", "65536"});
  RawClient deaf = RawClient::ready(daemon.socket());
  const Payload request = framed(stats_message(1));
  for (int i = 0; i < 5000 && deaf.send_bytes(request); ++i) {
  }
  RawClient other = RawClient::ready(daemon.socket());
  const auto stats = nlohmann::json::parse(other.stats());
  EXPECT_EQ(stats["sessions"]["overflows"], 1);
  EXPECT_EQ(stats["sessions"]["connections"], 1);
}

TEST(Session, ManyFramesInOneWriteAreAllAnswered) {
  PrivateDaemon daemon;
  RawClient client(daemon.socket());
  Payload bytes = framed(hello_message());
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const Payload frame = framed(stats_message(i));
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  client.send_bytes(bytes);
  ASSERT_EQ(client.next()->kind(), wire::Body::Welcome);
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const auto incoming = client.next();
    ASSERT_TRUE(incoming.has_value());
    ASSERT_EQ(incoming->message().body_as_Stats()->request(), i);
  }
}

/// The limit holds for another user than the daemon's, which has no share of its own. Root's test becomes that user.
TEST(Session, ConnectionsOfAUserAreBounded) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user takes root";
  constexpr uid_t kSomebody = 12345;
  PrivateDaemon daemon({"--connections-per-user", "3"});
  for (const std::string& path : {daemon.directory(), daemon.directory() + "/run", daemon.socket()})
    std::filesystem::permissions(path, std::filesystem::perms(0777));
  ASSERT_EQ(::seteuid(kSomebody), 0);
  const std::unique_ptr<void, void (*)(void*)> back(&daemon, [](void*) { (void)!::seteuid(0); });
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(RawClient::ready(daemon.socket()));
  RawClient fourth(daemon.socket());
  const auto failure = fourth.next();
  ASSERT_TRUE(failure.has_value());
  ASSERT_EQ(failure->kind(), wire::Body::Failure);
  EXPECT_EQ(code_of(*failure), ErrorCode::kBusy);
  EXPECT_GT(failure->message().body_as_Failure()->retry_after_ms(), 0u);
  EXPECT_TRUE(fourth.closed_by_daemon());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawClient again(daemon.socket());
    again.send(hello_message());
    const auto answer = again.next();
    return answer && answer->kind() == wire::Body::Welcome;
  }));
}

TEST(Session, EqualSubmissionsShareOneCompilation) {
  PrivateDaemon daemon;
  // The worker is stopped, so that all submissions are in the works at once.
  const int worker = daemon.workers("baseline").at(0);
  ::kill(worker, SIGSTOP);
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(RawClient::ready(daemon.socket()));
    clients.back().send(submit_message("x/y - x", {.job = 1}));
  }
  ASSERT_TRUE(eventually(
      [&] { return nlohmann::json::parse(RawClient::ready(daemon.socket()).stats())["jobs"]["shared"] == 7; }));
  ::kill(worker, SIGCONT);
  for (RawClient& client : clients) {
    const auto ready = client.next_result();
    ASSERT_TRUE(ready.has_value());
    EXPECT_EQ(ready->kind(), wire::Body::KernelReady);
  }
  const auto stats = nlohmann::json::parse(clients[0].stats());
  EXPECT_EQ(stats["jobs"]["baseline_ready"], 1);
}

TEST(Session, JobsOfTheGoneLeaveTheQueues) {
  PrivateDaemon daemon;
  ::kill(daemon.workers("baseline").at(0), SIGSTOP);
  {
    RawClient client = RawClient::ready(daemon.socket());
    for (std::uint64_t i = 1; i <= 100; ++i) client.send(submit_message("x + " + std::to_string(i), {.job = i}));
    ASSERT_TRUE(eventually(
        [&] { return nlohmann::json::parse(RawClient::ready(daemon.socket()).stats())["jobs"]["flights"] == 100; }));
  }
  RawClient other = RawClient::ready(daemon.socket());
  EXPECT_TRUE(eventually([&] { return nlohmann::json::parse(other.stats())["jobs"]["flights"] <= 8; }));
}

TEST(Session, AFullBaselineQueueSaysBusyAndWhenToRetry) {
  PrivateDaemon daemon({"--baseline-queue-per-user", "4"});
  ::kill(daemon.workers("baseline").at(0), SIGSTOP);
  RawClient client = RawClient::ready(daemon.socket());
  for (std::uint64_t i = 1; i <= 20; ++i) client.send(submit_message("x + " + std::to_string(i), {.job = i}));
  for (std::uint64_t i = 13; i <= 20; ++i) {  // 8 in the worker's socket and 4 in the queue
    const auto failure = client.next_result();
    ASSERT_TRUE(failure.has_value());
    ASSERT_EQ(failure->kind(), wire::Body::Failure);
    EXPECT_EQ(failure->message().body_as_Failure()->job(), i);
    EXPECT_EQ(code_of(*failure), ErrorCode::kBusy);
    EXPECT_GT(failure->message().body_as_Failure()->retry_after_ms(), 0u);
  }
}

TEST(Session, MemoryForWaitingExpressionsIsBounded) {
  PrivateDaemon daemon({"--job-bytes-per-user", "1048576"});
  ::kill(daemon.workers("baseline").at(0), SIGSTOP);
  RawClient client = RawClient::ready(daemon.socket());
  std::string sum = "x";
  for (int i = 2; i <= 1200; ++i) sum += " + x * " + std::to_string(i);
  std::uint64_t taken = 0;
  for (std::uint64_t job = 1; job <= 30; ++job) {
    const Payload message = submit_message(sum + " + " + std::to_string(job), {.job = job});
    ASSERT_GT(message.size(), 50'000u);
    client.send(message);
    const auto failure = client.next_result(300);
    if (failure) {
      ASSERT_EQ(failure->kind(), wire::Body::Failure);
      EXPECT_EQ(code_of(*failure), ErrorCode::kBusy);
      break;
    }
    taken = job;
  }
  EXPECT_GT(taken, 1u);
  EXPECT_LT(taken, 20u);
}

TEST(Session, AFullOptimiseQueueEndsTheJobWithItsBaselineOnceThatIsChecked) {
  PrivateDaemon daemon({"--optimise-queue-per-user", "1", "--budget-ms", "60000"});
  const int worker = daemon.workers("optimise").at(0);
  ::kill(worker, SIGSTOP);
  RawClient client = RawClient::ready(daemon.socket());
  for (std::uint64_t i = 1; i <= 3; ++i) {
    client.send(submit_message("x + " + std::to_string(i), {.job = i}));
    ASSERT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  }
  // One is in the worker, one in the queue; the third waits to be checked, as nobody has looked at its baseline.
  RawClient observer = RawClient::ready(daemon.socket());
  EXPECT_TRUE(eventually([&] { return nlohmann::json::parse(observer.stats())["jobs"]["check_waiting"] == 1; }));
  ::kill(worker, SIGCONT);
  std::optional<wire::Outcome> third;
  while (!third) {
    const auto incoming = client.next_result();
    ASSERT_TRUE(incoming.has_value());
    const auto* done = incoming->message().body_as_Done();
    if (done != nullptr && done->job() == 3) third = done->outcome();
  }
  EXPECT_EQ(third, wire::Outcome::budget_spent);
  EXPECT_EQ(nlohmann::json::parse(observer.stats())["jobs"]["checked_alone"], 1);
}

}  // namespace
}  // namespace trident::tests
