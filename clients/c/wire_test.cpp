// Hostile bytes against the receiving side: wire::decode() and Connection must give an error or a message, never crash,
// read out of bounds or leak (the sanitizer builds see to that), whatever is done to a good stream.
#include "clients/c/wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "clients/c/connection.h"
#include "runtime/os/memfd.h"
#include "runtime/os/socket.h"
#include "schemas/control_generated.h"

namespace trident::client {
namespace {

namespace fbs = ::trident::wire;

template <class Make>
void append(std::vector<std::vector<std::byte>>& list, fbs::Body kind, Make make) {
  flatbuffers::FlatBufferBuilder b;
  const auto body = make(b).Union();
  fbs::FinishMessageBuffer(b, fbs::CreateMessage(b, kind, body));
  const auto* first = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
  list.emplace_back(first, first + b.GetSize());
}

std::vector<std::vector<std::byte>> good_messages() {
  std::vector<std::vector<std::byte>> list;
  append(list, fbs::Body::Welcome, [](auto& b) { return fbs::CreateWelcomeDirect(b, 1, 2, 3, "build"); });
  append(list, fbs::Body::Accepted, [](auto& b) { return fbs::CreateAccepted(b, 7, true); });
  append(list, fbs::Body::Progress, [](auto& b) { return fbs::CreateProgress(b, 7, fbs::Stage::judge, 3, 9, 0.25); });
  append(list, fbs::Body::KernelReady, [](auto& b) {
    const std::vector<std::uint8_t> image(100, 7);
    return fbs::CreateKernelReadyDirect(b, 7, fbs::Tier::optimised, 100, 1, 2, &image, 3.5, 2.5);
  });
  append(list, fbs::Body::Revoke, [](auto& b) { return fbs::CreateRevoke(b, 7, fbs::Tier::baseline); });
  append(list, fbs::Body::Done, [](auto& b) { return fbs::CreateDone(b, 7, fbs::Outcome::published); });
  append(list, fbs::Body::Failure, [](auto& b) { return fbs::CreateFailureDirect(b, 7, 17, "busy", 250); });
  append(list, fbs::Body::Stats, [](auto& b) { return fbs::CreateStatsDirect(b, 9, "{}"); });
  return list;
}

TEST(Wire, DecodesWhatADaemonSends) {
  const auto list = good_messages();
  const auto decoded = [&](std::size_t i) { return wire::decode(list[i]).value(); };
  EXPECT_EQ(1, std::get<wire::Welcome>(decoded(0)).version);
  EXPECT_EQ(7u, std::get<wire::Accepted>(decoded(1)).job);
  const auto progress = std::get<wire::Progress>(decoded(2));
  EXPECT_EQ(7u, progress.job);
  EXPECT_EQ(3, progress.stage);
  EXPECT_EQ(3u, progress.done);
  EXPECT_EQ(9u, progress.total);
  EXPECT_EQ(0.25, progress.best_ratio);
  const auto ready = std::get<wire::KernelReady>(decoded(3));
  EXPECT_EQ(7u, ready.job);
  EXPECT_EQ(2, ready.tier);
  EXPECT_EQ(100u, ready.size);
  EXPECT_EQ(1u, ready.digest_low);
  EXPECT_EQ(2u, ready.digest_high);
  EXPECT_TRUE(ready.inline_image);
  EXPECT_EQ(std::vector<std::byte>(100, std::byte{7}), ready.image);
  EXPECT_EQ(3.5, ready.baseline_ns);
  EXPECT_EQ(2.5, ready.optimised_ns);
  EXPECT_EQ(1, std::get<wire::Revoke>(decoded(4)).tier);
  EXPECT_EQ(wire::Done::Outcome::published, std::get<wire::Done>(decoded(5)).outcome);
  const auto failure = std::get<wire::Failure>(decoded(6));
  EXPECT_EQ(17, failure.code);
  EXPECT_EQ(250u, failure.retry_after_ms);
  EXPECT_EQ("busy", failure.message);
  EXPECT_EQ("{}", std::get<wire::Stats>(decoded(7)).json);
}

TEST(Wire, SubmissionSaysWhatTheExpressionSays) {
  auto parsed = expr::parse("param a: f32; x: f32 in [0, 2]; (y = a * x + 3, s = sum(x))");
  ASSERT_TRUE(parsed);
  wire::Frame frame;
  wire::append_submit(frame, *parsed,
                      {.job = 99, .policy = {expr::PolicyKind::fast, 4}, .elements = 12, .inline_images = true});
  std::uint32_t length = 0;
  std::memcpy(&length, frame.data(), 4);
  ASSERT_EQ(frame.size(), 4 + length);
  std::vector<std::byte> message(frame.begin() + 4, frame.end());
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(message.data()), message.size(), 8, 32);
  ASSERT_TRUE(fbs::VerifyMessageBuffer(verifier));
  const fbs::Submit* submit = fbs::GetMessage(message.data())->body_as_Submit();
  ASSERT_NE(nullptr, submit);
  EXPECT_EQ(99u, submit->job());
  EXPECT_EQ(fbs::Policy::fast, submit->policy());
  EXPECT_EQ(4.0, submit->k());
  EXPECT_EQ(12u, submit->elements());
  EXPECT_TRUE(submit->inline_images());
  ASSERT_EQ(parsed->nodes.size(), submit->nodes()->size());
  for (std::uint32_t i = 0; i < submit->nodes()->size(); ++i) {
    const auto& sent = *submit->nodes()->Get(i);
    const auto& node = parsed->nodes[i];
    EXPECT_EQ(static_cast<int>(node.op), sent.op());
    EXPECT_EQ(static_cast<int>(node.type), sent.type());
    EXPECT_EQ(node.a.index, sent.a());
    EXPECT_EQ(node.b.index, sent.b());
    EXPECT_EQ(node.c.index, sent.c());
    EXPECT_EQ(node.imm, sent.imm());
  }
  ASSERT_EQ(2u, submit->variables()->size());
  EXPECT_EQ(1, submit->variables()->Get(0)->scalar());
  EXPECT_EQ(2.0, submit->variables()->Get(1)->hi());
  ASSERT_EQ(2u, submit->outputs()->size());
  EXPECT_EQ(parsed->outputs[1].node.index, submit->outputs()->Get(1));
}

/// Daemons that know of no NaN are told nothing of a variable that may be NaN.
TEST(Wire, NanBesideARangeIsToldToDaemonsThatKnowOfIt) {
  const wire::Range ranges[] = {{0, 1}, {2, 3, true}, {}};
  for (const std::uint64_t features : {wire::kFeatureObserved, wire::kFeatureObserved | wire::kFeatureMissing})
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
      const bool knows = features != wire::kFeatureObserved;
      wire::Frame frame;
      wire::append_observed(frame, 7, std::span(ranges).first(count), 5, features);
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(frame.data()) + 4;
      flatbuffers::Verifier verifier(bytes, frame.size() - 4, 8, 32);
      ASSERT_TRUE(fbs::VerifyMessageBuffer(verifier));
      const fbs::Observed* const observed = fbs::GetMessage(bytes)->body_as_Observed();
      ASSERT_NE(observed, nullptr);
      EXPECT_EQ(observed->misses(), 5u);
      ASSERT_EQ(observed->ranges()->size(), count);
      EXPECT_EQ(observed->ranges()->Get(0)->hi(), 1);
      ASSERT_EQ(observed->or_nan() != nullptr, knows && count > 1);
      if (count == 1) continue;
      EXPECT_EQ(observed->ranges()->Get(1)->lo(), knows ? 2 : -INFINITY);
      EXPECT_EQ(observed->ranges()->Get(1)->hi(), knows ? 3 : INFINITY);
      if (!knows) continue;
      EXPECT_EQ(std::vector<std::uint8_t>(observed->or_nan()->begin(), observed->or_nan()->end()),
                (std::vector<std::uint8_t>{0, 1, 0}));
    }
}

TEST(Wire, MutatedMessagesAreRefusedOrDecoded) {
  std::mt19937_64 random(20240607);
  const auto list = good_messages();
  std::size_t refused = 0, accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    auto message = list[random() % list.size()];
    for (auto flips = random() % 4 + 1; flips-- > 0;) {
      message[random() % message.size()] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) message.resize(random() % (message.size() + 1));
    wire::decode(message) ? ++accepted : ++refused;
  }
  EXPECT_GT(refused, 10'000u);
  EXPECT_GT(accepted, 10'000u);
}

TEST(Connection, MutatedStreamsInAnyPieces) {
  std::mt19937_64 random(7);
  const auto list = good_messages();
  const auto file = os::make_sealed_memfd("test", list[0], std::byte{0});
  ASSERT_TRUE(file);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> stream;
    for (int i = 0; i < 8; ++i) {
      const auto& message = list[random() % list.size()];
      const auto length = static_cast<std::uint32_t>(message.size());
      const auto* head = reinterpret_cast<const std::byte*>(&length);
      stream.insert(stream.end(), head, head + sizeof(length));
      stream.insert(stream.end(), message.begin(), message.end());
    }
    const bool mutated = round % 4 != 0;
    if (mutated) stream[random() % stream.size()] ^= static_cast<std::byte>(1u << random() % 8);
    auto pair = os::socket_pair(os::Blocking::no, os::Blocking::no);
    ASSERT_TRUE(pair);
    Connection connection(std::move(pair->first));
    std::vector<Arrival> arrivals;
    bool alive = true;
    for (std::size_t at = 0; at < stream.size() && alive;) {
      const std::size_t size = std::min<std::size_t>(stream.size() - at, random() % 200 + 1);
      const int fd = random() % 4 == 0 ? file->get() : -1;
      ASSERT_EQ(os::IoStatus::ok, os::send_bytes(pair->second, std::span(stream).subspan(at, size), fd).status);
      at += size;
      alive = connection.receive(arrivals).ok();
    }
    if (!mutated) {
      EXPECT_TRUE(alive);
      EXPECT_EQ(8u, arrivals.size());
      EXPECT_FALSE(connection.has_partial_frame());
    }
  }
}

}  // namespace
}  // namespace trident::client
