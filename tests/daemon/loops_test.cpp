// Guests' loops over the socket, in words that no sound client says too. Oracle: the contract of schemas/control.fbs
// and the daemon's own counters. tests/client/loops_test.cpp runs the code.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "jit/image/image.h"
#include "schemas/loop_image.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

constexpr std::uint64_t kHead = 0x400000;
// ldrb w3, [x1], #1; strb w3, [x0], #1; subs x2, x2, #1; b.ne to the first
const std::vector<std::uint32_t> kCopy = {0x38401423, 0x38001403, 0xf1000442, 0x54ffffa1};
// bl; subs x2, x2, #1; b.ne to the first
const std::vector<std::uint32_t> kCall = {0x94000000, 0xf1000442, 0x54ffffc1};

Payload loop_message(const std::vector<std::uint32_t>& words, const LoopTerms& terms = {}) {
  return tests::loop_message(std::as_bytes(std::span(words)), terms);
}

nlohmann::json loops_of(RawClient& client) {
  return nlohmann::json::parse(client.stats())["loops"];
}

class GuestLoops : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "code of loops is made for x86-64";
#endif
  }
};

TEST_F(GuestLoops, TheWelcomeSaysThatTheyAreKnown) {
  const PrivateDaemon daemon;
  RawClient client(daemon.socket());
  client.send(hello_message());
  const auto welcome = client.next();
  ASSERT_TRUE(welcome);
  const auto bit = static_cast<std::uint64_t>(wire::Feature::loops);
  EXPECT_EQ(bit, welcome->message().body_as_Welcome()->features() & bit);
}

TEST_F(GuestLoops, ComeBackAsImagesOfTheirOwnVersion) {
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(loop_message(kCopy));
  const auto accepted = client.next();
  ASSERT_TRUE(accepted);
  EXPECT_EQ(wire::Body::Accepted, accepted->kind());
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  ASSERT_EQ(wire::Body::KernelReady, answer->kind());
  const auto* image = answer->message().body_as_KernelReady()->image();
  ASSERT_NE(nullptr, image);
  const auto bytes = std::as_bytes(std::span(image->data(), image->size()));
  EXPECT_TRUE(image::validate(bytes).ok());
  trident_image_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(TRIDENT_LOOP_IMAGE_VERSION, header.version);
  const auto done = client.next_result();
  ASSERT_TRUE(done);
  ASSERT_EQ(wire::Body::Done, done->kind());
  EXPECT_EQ(wire::Outcome::published, done->message().body_as_Done()->outcome());
}

// The code does not say where it stands, so equal loops at other addresses share it; a reason is each one's own.
TEST_F(GuestLoops, EqualOnesAtOtherAddressesShareTheAnswer) {
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  for (std::uint64_t job = 1; job <= 3; ++job) {
    const std::uint64_t head = kHead + 0x1000 * job;
    client.send(loop_message(kCall, {.job = job, .head = head, .base = head}));
    const auto answer = client.next_result();
    ASSERT_TRUE(answer);
    ASSERT_EQ(wire::Body::LoopRefused, answer->kind());
    const auto* refused = answer->message().body_as_LoopRefused();
    EXPECT_EQ(4, refused->reason());
    EXPECT_EQ(head, refused->address());
    EXPECT_NE(0u, refused->text()->size());
  }
  const nlohmann::json loops = loops_of(client);
  EXPECT_EQ(3, loops["refused"]["call"]);
  EXPECT_EQ(2, loops["known_failures"]);
}

TEST_F(GuestLoops, TenThousandEqualOnesShareOneJob) {
  constexpr std::uint64_t kCount = 10'000;
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  std::uint64_t images = 0, sent = 0;
  while (images < kCount) {
    for (int i = 0; i < 500 && sent < kCount; ++i) client.send(loop_message(kCopy, {.job = ++sent}));
    while (images < sent) {
      const auto answer = client.next_result();
      ASSERT_TRUE(answer);
      ASSERT_NE(wire::Body::Failure, answer->kind());
      images += answer->kind() == wire::Body::KernelReady ? 1 : 0;
    }
  }
  const nlohmann::json loops = loops_of(client);
  EXPECT_EQ(1, loops["compiled"]);
  EXPECT_EQ(kCount, loops["submitted"]);
  EXPECT_EQ(kCount - 1, loops["shared"].get<std::uint64_t>() + loops["cached"].get<std::uint64_t>());
}

TEST_F(GuestLoops, UnsoundOnesAreRefusedAndTheConnectionGoesOn) {
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  const std::vector<std::uint32_t> long_code(TRIDENT_LOOP_CODE_BYTES_MAX / 4 + 1, 0xd503201f);
  const std::vector<Payload> unsound = {
      loop_message(std::vector<std::uint32_t>()),
      loop_message(long_code),
      loop_message(kCopy, {.guest = 2}),
      loop_message(kCopy, {.guest = 257}),  // a byte of which is 1
      loop_message(kCopy, {.head = kHead + 16}),
      loop_message(kCopy, {.head = kHead - 4}),
      loop_message(kCopy, {.head = kHead + 2}),
      loop_message(kCopy, {.head = 8, .base = ~std::uint64_t{0} - 7}),
      tests::loop_message(std::as_bytes(std::span(kCopy)).first(15)),
      loop_message(kCopy, {.job = 0}),
  };
  for (const Payload& message : unsound) {
    client.send(message);
    const auto answer = client.next_result();
    ASSERT_TRUE(answer);
    EXPECT_EQ(wire::Body::Failure, answer->kind());
  }
  client.send(loop_message(kCopy));
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  EXPECT_EQ(wire::Body::KernelReady, answer->kind());
}

TEST_F(GuestLoops, GarbageGetsAnAnswerAndHurtsNoWorker) {
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  std::mt19937 random(1);
  constexpr int kLoops = 300;
  for (int i = 1; i <= kLoops; ++i) {
    std::vector<std::uint32_t> words = i % 2 == 0 ? kCopy : std::vector<std::uint32_t>(1 + random() % 200);
    for (std::uint32_t& word : words)
      if (i % 2 != 0 || random() % 3 == 0)
        word = i % 2 != 0 ? static_cast<std::uint32_t>(random()) : word ^ 1u << random() % 32;
    if (i % 3 == 0) words.back() = 0x54000001u | ((0u - static_cast<std::uint32_t>(words.size() - 1)) & 0x7ffffu) << 5;
    const std::uint64_t head = kHead + 4 * (random() % words.size());
    client.send(loop_message(words, {.job = static_cast<std::uint64_t>(i), .head = head}));
    const auto answer = client.next_result();
    ASSERT_TRUE(answer) << i;
    if (answer->kind() == wire::Body::KernelReady) {
      ASSERT_TRUE(client.next_result()) << i;
    }
  }
  const nlohmann::json stats = nlohmann::json::parse(client.stats());
  EXPECT_EQ(kLoops, stats["loops"]["submitted"]);
  EXPECT_EQ(0, stats["loops"]["lost"]);
  EXPECT_EQ(0, stats["workers"]["crashed"]);
}

// Counters are a client's word: they count for loops that it has, and no sum wraps.
TEST_F(GuestLoops, TalesOfLoopsAreCountedForOwnLoopsOnly) {
  const PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  const auto tell = [&](std::uint64_t job, std::uint64_t entries) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::CreateLoopSeen(builder, job, entries, 2, 30, 10);
    wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::LoopSeen, body.Union()));
    client.send(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  };
  tell(1, 5);
  EXPECT_EQ(0, loops_of(client)["entries"]);
  client.send(loop_message(kCopy));
  ASSERT_TRUE(client.next_result());
  ASSERT_TRUE(client.next_result());
  tell(1, 5);
  EXPECT_EQ(5, loops_of(client)["entries"]);
  EXPECT_EQ(20, loops_of(client)["saved_ns"]);
  tell(1, ~std::uint64_t{0});
  EXPECT_EQ(~std::uint64_t{0}, loops_of(client)["entries"]);
}

}  // namespace
}  // namespace trident::tests
