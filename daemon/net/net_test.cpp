// Oracle: the bytes that were written, however the stream cuts them up.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "daemon/net/channel.h"
#include "runtime/os/memfd.h"

namespace trident::net {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes framed(const Bytes& payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  const auto prefix = std::as_bytes(std::span(&length, 1));
  Bytes bytes(prefix.begin(), prefix.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

/// A channel on one end of a pair; the test has the other end.
class ChannelTest : public ::testing::Test {
 protected:
  void open(const ChannelLimits& limits) {
    auto pair = os::socket_pair(os::Blocking::no, os::Blocking::no);
    ASSERT_TRUE(pair.ok());
    peer_ = std::move(pair->second);
    auto made = Channel::make(
        loop_, std::move(pair->first), limits,
        [this](auto frame) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.data()) % 8, 0u);
          frames_.emplace_back(frame.begin(), frame.end());
          if (on_frame_) on_frame_();
        },
        [this](CloseReason reason) {
          closed_ = reason;
          channel_.reset();
        });
    ASSERT_TRUE(made.ok());
    channel_ = std::move(*made);
  }
  void turn() { uv_run(loop_.raw(), UV_RUN_NOWAIT); }
  void turn_for(int ms) {
    for (int i = 0; i < ms; ++i, ::usleep(1000)) turn();
  }
  /// Everything that the channel has sent.
  Bytes read_peer(os::ReceivedFds& fds) {
    Bytes all, chunk(1 << 16);
    os::Io io;
    while ((io = os::receive(peer_, chunk, fds)).status == os::IoStatus::ok)
      all.insert(all.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(io.bytes));
    return all;
  }

  Loop loop_;
  os::Fd peer_;
  std::unique_ptr<Channel> channel_;
  std::vector<Bytes> frames_;
  std::function<void()> on_frame_;
  std::optional<CloseReason> closed_;
};

/// Opens for a number of reads and frames.
class CountingGate : public Gate {
 public:
  explicit CountingGate(int left) : left(left) {}
  bool open() override { return left > 0 && left-- > 0; }
  int left;
  std::uint64_t told = 0;

 protected:
  void took(std::uint64_t) override { ++told; }
};

constexpr ChannelLimits kLimits{.frame_bytes_max = 1 << 20, .queue_bytes_max = 1 << 20};

TEST_F(ChannelTest, FramesArriveWholeHoweverTheyAreCut) {
  open(kLimits);
  std::mt19937_64 random(1);
  std::vector<Bytes> sent;
  Bytes stream;
  for (int i = 0; i < 200; ++i) {
    sent.push_back(random_bytes(random, random() % (i % 20 == 0 ? 200'000 : 300)));
    const Bytes frame = framed(sent.back());
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t part = std::min<std::size_t>(1 + random() % (random() % 4 == 0 ? 7 : 90'000), stream.size() - at);
    const os::Io io = os::send_bytes(peer_, std::span(stream).subspan(at, part));
    at += io.bytes;
    turn();
  }
  turn_for(5);
  EXPECT_EQ(frames_, sent);
  EXPECT_FALSE(closed_.has_value());
}

TEST_F(ChannelTest, WhatTheSocketDoesNotTakeIsSentLaterInOrderWithItsDescriptors) {
  open({.frame_bytes_max = 1 << 20, .queue_bytes_max = 64u << 20});
  std::mt19937_64 random(2);
  Bytes expected;
  std::vector<std::string> contents;
  for (int i = 0; i < 300; ++i) {
    const Bytes payload = random_bytes(random, random() % 20'000);
    SharedFd fd;
    if (random() % 10 == 0) {
      contents.push_back("descriptor " + std::to_string(i));
      auto memfd = os::make_sealed_memfd("t", std::as_bytes(std::span(contents.back())), std::byte{0});
      ASSERT_TRUE(memfd.ok());
      fd = std::make_shared<const os::Fd>(std::move(*memfd));
    }
    if (!fd && random() % 3 == 0)
      channel_->send_later(payload);
    else
      channel_->send(payload, fd);
    const Bytes frame = framed(payload);
    expected.insert(expected.end(), frame.begin(), frame.end());
  }
  channel_->flush();
  EXPECT_GT(channel_->queued_bytes(), 0u);
  Bytes got;
  std::vector<std::string> got_contents;
  for (int i = 0; i < 1000 && got.size() < expected.size(); ++i) {
    Bytes chunk(50'000);
    os::ReceivedFds fds;
    const os::Io io = os::receive(peer_, chunk, fds);
    got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(io.bytes));
    for (std::size_t k = 0; k < fds.count; ++k) {
      char text[64] = {};
      ASSERT_GT(::pread(fds.fds[k].get(), text, sizeof(text) - 1, 0), 0);
      got_contents.emplace_back(text);
    }
    turn();
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(got_contents, contents);
  EXPECT_EQ(channel_->queued_bytes(), 0u);
}

TEST_F(ChannelTest, SendLaterTravelsWithTheNextSend) {
  open(kLimits);
  const Bytes first(3, std::byte{1}), second(5, std::byte{2});
  os::ReceivedFds fds;
  channel_->send_later(first);
  EXPECT_TRUE(read_peer(fds).empty());
  channel_->send(second);
  Bytes both = framed(first);
  const Bytes tail = framed(second);
  both.insert(both.end(), tail.begin(), tail.end());
  EXPECT_EQ(read_peer(fds), both);
}

TEST_F(ChannelTest, ALengthAboveTheLimitEndsTheChannelWithoutAllocating) {
  open({.frame_bytes_max = 100, .queue_bytes_max = 100});
  os::send_bytes(peer_, framed(Bytes(100)));
  const std::uint32_t length = 101;
  os::send_bytes(peer_, std::as_bytes(std::span(&length, 1)));
  turn_for(2);
  EXPECT_EQ(frames_.size(), 1u);
  EXPECT_EQ(closed_, CloseReason::frame_too_large);
}

TEST_F(ChannelTest, AFrameThatStopsHalfwayTimesOutButASilentPeerDoesNot) {
  open({.frame_bytes_max = 100, .queue_bytes_max = 100, .frame_timeout_ms = 500});
  turn_for(600);
  EXPECT_FALSE(closed_.has_value());
  const Bytes frame = framed(Bytes(90));
  os::send_bytes(peer_, std::span(frame).first(50));
  turn_for(20);
  EXPECT_FALSE(closed_.has_value());
  for (int i = 0; i < 10'000 && !closed_; ++i) turn_for(1);
  EXPECT_EQ(closed_, CloseReason::frame_timeout);
}

TEST_F(ChannelTest, APeerThatDoesNotReadOverflowsTheQueue) {
  open({.frame_bytes_max = 100, .queue_bytes_max = 100'000});
  const Bytes payload(10'000);
  for (int i = 0; i < 100 && !closed_; ++i) {
    channel_->send(payload);
    turn();
  }
  EXPECT_EQ(closed_, CloseReason::queue_overflow);
}

TEST_F(ChannelTest, DescriptorsNobodyAskedForEndTheChannel) {
  open(kLimits);
  os::send_bytes(peer_, framed(Bytes(4)), peer_.get());
  turn_for(2);
  EXPECT_EQ(closed_, CloseReason::unasked_descriptor);
}

TEST_F(ChannelTest, MayBeDestroyedInsideItsOwnFrame) {
  open(kLimits);
  on_frame_ = [this] { channel_.reset(); };
  Bytes two = framed(Bytes(8));
  const Bytes second = framed(Bytes(8));
  two.insert(two.end(), second.begin(), second.end());
  os::send_bytes(peer_, two);
  turn_for(2);
  EXPECT_EQ(frames_.size(), 1u);
}

TEST_F(ChannelTest, NothingIsReadWhileTheGateIsShutAndNothingIsLost) {
  open(kLimits);
  const auto gate = std::make_shared<CountingGate>(0);
  channel_->set_gate(gate);
  std::mt19937_64 random(3);
  std::vector<Bytes> sent;
  Bytes stream;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(random_bytes(random, random() % (i % 30 == 0 ? 100'000 : 300)));
    const Bytes frame = framed(sent.back());
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (std::size_t at = 0; frames_.size() < sent.size();) {
    if (at < stream.size()) at += os::send_bytes(peer_, std::span(stream).subspan(at)).bytes;
    turn_for(2);
    ASSERT_EQ(gate->left, 0);
    const std::size_t before = frames_.size();
    gate->left = 7;
    channel_->resume();
    while (gate->left > 0) turn();
    ASSERT_LE(frames_.size(), before + 7);
  }
  EXPECT_EQ(frames_, sent);
  EXPECT_GT(gate->told, 0u);
  EXPECT_FALSE(closed_.has_value());
}

TEST_F(ChannelTest, AFramesTimeRunsOnlyWhileTheGateIsOpen) {
  open({.frame_bytes_max = 100, .queue_bytes_max = 100, .frame_timeout_ms = 20});
  const auto gate = std::make_shared<CountingGate>(1);  // one read, and none of its frames
  channel_->set_gate(gate);
  Bytes stream = framed(Bytes(90));
  stream.insert(stream.end(), stream.begin(), stream.begin() + 50);
  os::send_bytes(peer_, stream);
  turn_for(200);
  EXPECT_TRUE(frames_.empty());
  EXPECT_FALSE(closed_.has_value());
  gate->left = 100;
  channel_->resume();
  EXPECT_EQ(frames_.size(), 1u);
  for (int i = 0; i < 10'000 && !closed_; ++i) turn_for(1);
  EXPECT_EQ(closed_, CloseReason::frame_timeout);
}

TEST_F(ChannelTest, TheGateIsToldOfTheFrameThatDestroysTheChannel) {
  open(kLimits);
  const auto gate = std::make_shared<CountingGate>(100);
  channel_->set_gate(gate);
  std::uint64_t told_before = 0;
  on_frame_ = [&] {
    told_before = gate->told;
    channel_.reset();
  };
  os::send_bytes(peer_, framed(Bytes(8)));
  turn_for(2);
  EXPECT_EQ(gate->told, told_before + 1);
}

TEST_F(ChannelTest, AnswersAreWrittenAndAClosedPeerIsNoticedAfterTheGateWasShut) {
  open({.frame_bytes_max = 1 << 20, .queue_bytes_max = 16u << 20});
  const auto gate = std::make_shared<CountingGate>(1);
  channel_->set_gate(gate);
  os::send_bytes(peer_, framed(Bytes(8)));
  turn_for(2);
  ASSERT_TRUE(frames_.empty());
  Bytes answer(4'000'000, std::byte{7}), got, chunk(1 << 16);
  channel_->send(answer);
  os::ReceivedFds fds;
  for (int i = 0; i < 10'000 && got.size() < answer.size() + 4; ++i, turn()) {
    const os::Io io = os::receive(peer_, chunk, fds);
    got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(io.bytes));
  }
  EXPECT_EQ(got, framed(answer));
  peer_.reset();
  turn_for(2);
  EXPECT_FALSE(closed_.has_value());
  gate->left = 100;
  channel_->resume();
  turn_for(3);
  EXPECT_EQ(frames_.size(), 1u);
  EXPECT_EQ(closed_, CloseReason::peer_closed);
}

TEST_F(ChannelTest, PeerClosingIsReportedAfterItsLastFrame) {
  open(kLimits);
  os::send_bytes(peer_, framed(Bytes(8)));
  peer_.reset();
  turn_for(3);
  EXPECT_EQ(frames_.size(), 1u);
  EXPECT_EQ(closed_, CloseReason::peer_closed);
}

}  // namespace
}  // namespace trident::net
