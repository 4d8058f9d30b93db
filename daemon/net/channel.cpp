#include "daemon/net/channel.h"

#include <array>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::net {
namespace {

constexpr std::size_t kPrefixBytes = 4;
constexpr std::size_t kScratchBytes = 64 * 1024;
/// Reads in a row before the loop serves others: a flooding peer takes turns.
constexpr int kReadsPerTurn = 4;
constexpr std::size_t kPiecesPerWrite = 16;

/// The buffer that every channel reads into. A frame that arrives whole is handed on from here; it starts at 4, so its
/// payload is aligned.
struct alignas(8) Scratch {
  std::array<std::byte, kScratchBytes> bytes;
};
Scratch scratch;

/// A payload that lies unaligned in the stream is moved here first.
std::vector<std::uint64_t> aligned_copy;

std::uint32_t length_of(std::span<const std::byte> prefix) {
  std::uint32_t length;
  std::memcpy(&length, prefix.data(), kPrefixBytes);
  return length;
}

std::span<const std::byte> aligned(std::span<const std::byte> payload) {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) == 0) return payload;
  aligned_copy.resize((payload.size() + 7) / 8);
  std::memcpy(aligned_copy.data(), payload.data(), payload.size());
  return std::as_bytes(std::span(aligned_copy)).first(payload.size());
}

std::array<std::byte, kPrefixBytes> prefix_for(std::size_t size) {
  const auto length = static_cast<std::uint32_t>(size);
  std::array<std::byte, kPrefixBytes> prefix;
  std::memcpy(prefix.data(), &length, kPrefixBytes);
  return prefix;
}

}  // namespace

std::string_view name_of(CloseReason reason) {
  switch (reason) {
    case CloseReason::peer_closed: return "peer closed";
    case CloseReason::frame_too_large: return "frame too large";
    case CloseReason::frame_timeout: return "frame not completed in time";
    case CloseReason::unasked_descriptor: return "unasked descriptor";
    case CloseReason::queue_overflow: return "peer does not read";
    case CloseReason::socket_error: return "socket error";
  }
  CHECK(false);
}

Channel::Channel(Loop& loop, os::Fd socket, const ChannelLimits& limits, OnFrame on_frame, OnClose on_close)
    : loop_(loop),
      socket_(std::move(socket)),
      limits_(limits),
      on_frame_(std::move(on_frame)),
      on_close_(std::move(on_close)) {}

Result<std::unique_ptr<Channel>> Channel::make(Loop& loop, os::Fd socket, const ChannelLimits& limits, OnFrame on_frame,
                                               OnClose on_close) {
  std::unique_ptr<Channel> channel(
      new Channel(loop, std::move(socket), limits, std::move(on_frame), std::move(on_close)));
  TRY(channel->poller_, Poller::make(loop, channel->socket_));
  channel->poller_.watch(Poller::kReadable, [raw = channel.get()](int events) { raw->on_ready(events); });
  channel->watched_ = Poller::kReadable;
  return channel;
}

Channel::~Channel() {
  if (destroyed_ != nullptr) *destroyed_ = true;
}

void Channel::on_ready(int events) {
  if (failed_) return close(*failed_);
  if (events == 0) return close(CloseReason::socket_error);
  if ((events & Poller::kWritable) != 0) {
    blocked_ = false;
    flush();
    if (failed_) return close(*failed_);
  }
  if ((events & Poller::kReadable) != 0 && !shut_) read();
}

void Channel::read() {
  const std::shared_ptr<Gate> gate = gate_;  // a callback may destroy this
  if (gate) gate->begin();
  take_turns();
  if (gate) gate->tell();
}

void Channel::resume() {
  if (failed_ || !shut_) return;
  shut_ = false;
  watch();
  watch_frame_time();
  read();
}

bool Channel::goes_on() {
  if (!gate_ || shut_) return !shut_;
  gate_->tell();
  shut_ = !gate_->open();
  if (shut_) watch();
  return !shut_;
}

void Channel::take_turns() {
  bool destroyed = false;
  if (!partial_.empty() && gate_) {  // whole frames may have been kept back
    destroyed_ = &destroyed;
    const bool sound = take_bytes({});
    if (destroyed) return;
    destroyed_ = nullptr;
    if (!sound) return close(CloseReason::frame_too_large);
    if (failed_) return close(*failed_);
  }
  for (int turn = 0; turn < kReadsPerTurn && goes_on(); ++turn) {
    os::ReceivedFds fds;
    const std::size_t offset = partial_.empty() ? kPrefixBytes : 0;
    const auto into = std::span(scratch.bytes).subspan(offset);
    const os::Io io = os::receive(socket_, into, fds);
    if (io.status == os::IoStatus::would_block) return;
    if (io.status == os::IoStatus::closed) return close(CloseReason::peer_closed);
    if (fds.count > 0) return close(CloseReason::unasked_descriptor);
    if (io.status == os::IoStatus::failed) return close(CloseReason::socket_error);
    destroyed_ = &destroyed;
    const bool sound = take_bytes(into.first(io.bytes));
    if (destroyed) return;
    destroyed_ = nullptr;
    if (!sound) return close(CloseReason::frame_too_large);
    if (failed_) return close(*failed_);
    if (io.bytes < into.size()) return;  // the socket is drained; a later byte wakes the loop again
  }
}

/// Hands on every whole frame, while the gate is open, and keeps the rest. False: a frame announced too great a length.
bool Channel::take_bytes(std::span<const std::byte> bytes) {
  bool* const destroyed = destroyed_;
  std::vector<std::byte> joined;
  if (!partial_.empty()) {
    partial_.insert(partial_.end(), bytes.begin(), bytes.end());
    if (partial_.size() < kPrefixBytes) return true;
    const std::size_t length = length_of(partial_);
    if (length > limits_.frame_bytes_max) return false;
    if (partial_.size() < kPrefixBytes + length) return true;
    joined.swap(partial_);  // on_frame may look at this channel again; it owns nothing half-read then
    bytes = joined;
  }
  const auto consumed = deliver_frames(bytes);
  if (*destroyed) return true;
  if (!consumed) return false;
  const auto rest = bytes.subspan(*consumed);
  partial_.assign(rest.begin(), rest.end());
  if (partial_.empty() && partial_.capacity() > kScratchBytes) partial_.shrink_to_fit();
  watch_frame_time();
  return true;
}

/// The peer has its time for a frame that it has begun; it is not to blame while nothing is read.
void Channel::watch_frame_time() {
  if (failed_) return;
  if (partial_.empty() || shut_) {
    if (frame_timer_) frame_timer_->stop();
  } else if (limits_.frame_timeout_ms != 0) {
    if (!frame_timer_) frame_timer_ = std::make_unique<Timer>(loop_);
    frame_timer_->start(limits_.frame_timeout_ms, [this] { close(CloseReason::frame_timeout); });
  }
}

/// Bytes consumed, or nothing when a length is above the limit.
std::optional<std::size_t> Channel::deliver_frames(std::span<const std::byte> bytes) {
  bool* const destroyed = destroyed_;
  std::size_t at = 0;
  while (bytes.size() - at >= kPrefixBytes) {
    const std::size_t length = length_of(bytes.subspan(at));
    if (length > limits_.frame_bytes_max) return std::nullopt;
    if (bytes.size() - at - kPrefixBytes < length || !goes_on()) break;
    on_frame_(aligned(bytes.subspan(at + kPrefixBytes, length)));
    if (*destroyed) return at;
    at += kPrefixBytes + length;
  }
  return at;
}

void Channel::send(std::span<const std::byte> payload, SharedFd fd) {
  if (failed_) return;
  CHECK(payload.size() <= UINT32_MAX);
  if (!queue_.empty() || blocked_) {
    enqueue(payload, 0, std::move(fd));
    return flush();
  }
  const auto prefix = prefix_for(payload.size());
  const std::span<const std::byte> pieces[] = {prefix, payload};
  const os::Io io = os::send_pieces(socket_, pieces, fd ? fd->get() : -1);
  if (io.status == os::IoStatus::ok && io.bytes == kPrefixBytes + payload.size()) return;
  if (io.status == os::IoStatus::closed || io.status == os::IoStatus::failed)
    return fail_later(io.status == os::IoStatus::closed ? CloseReason::peer_closed : CloseReason::socket_error);
  if (io.bytes > 0) fd = nullptr;
  enqueue(payload, io.bytes, std::move(fd));
  blocked_ = true;
  watch();
}

void Channel::send_later(std::span<const std::byte> payload, SharedFd fd) {
  if (!failed_) enqueue(payload, 0, std::move(fd));
}

void Channel::enqueue(std::span<const std::byte> payload, std::size_t already_sent, SharedFd fd) {
  Outgoing out;
  out.bytes.reserve(kPrefixBytes + payload.size());
  const auto prefix = prefix_for(payload.size());
  out.bytes.insert(out.bytes.end(), prefix.begin(), prefix.end());
  out.bytes.insert(out.bytes.end(), payload.begin(), payload.end());
  out.sent = already_sent;
  out.fd = std::move(fd);
  queued_bytes_ += out.bytes.size() - already_sent;
  queue_.push_back(std::move(out));
  if (queued_bytes_ > limits_.queue_bytes_max) fail_later(CloseReason::queue_overflow);
}

void Channel::flush() {
  while (!failed_ && !blocked_ && !queue_.empty())
    if (!write_queue()) break;
  if (!failed_) watch();
}

/// One sendmsg from the head of the queue: at most one descriptor, which the receiver gets in order whatever stands
/// before it. False when nothing more can be written now.
bool Channel::write_queue() {
  std::array<std::span<const std::byte>, kPiecesPerWrite> pieces;
  std::size_t count = 0, total = 0;
  Outgoing* carrier = nullptr;
  for (Outgoing& out : queue_) {
    if (count == pieces.size() || (out.fd && carrier != nullptr)) break;
    if (out.fd) carrier = &out;
    pieces[count++] = std::span(out.bytes).subspan(out.sent);
    total += out.bytes.size() - out.sent;
  }
  const os::Io io =
      os::send_pieces(socket_, std::span(pieces).first(count), carrier != nullptr ? carrier->fd->get() : -1);
  if (io.status == os::IoStatus::closed || io.status == os::IoStatus::failed) {
    fail_later(io.status == os::IoStatus::closed ? CloseReason::peer_closed : CloseReason::socket_error);
    return false;
  }
  if (io.bytes < total) blocked_ = true;
  if (io.bytes > 0 && carrier != nullptr) carrier->fd = nullptr;
  queued_bytes_ -= io.bytes;
  std::size_t left = io.bytes;
  while (left > 0) {
    Outgoing& out = queue_.front();
    const std::size_t part = out.bytes.size() - out.sent;
    if (left < part) {
      out.sent += left;
      break;
    }
    left -= part;
    queue_.pop_front();
  }
  return !blocked_;
}

void Channel::watch() {
  const int events = (shut_ ? 0 : Poller::kReadable) | (blocked_ ? Poller::kWritable : 0);
  if (events == watched_) return;
  watched_ = events;
  events == 0 ? poller_.stop() : poller_.watch(events);
}

/// The owner is in the middle of something when it sends: it hears of a failure from the loop, not from under send().
void Channel::fail_later(CloseReason reason) {
  if (failed_) return;
  failed_ = reason;
  queue_.clear();
  queued_bytes_ = 0;
  if (!frame_timer_) frame_timer_ = std::make_unique<Timer>(loop_);
  poller_.stop();
  watched_ = 0;
  frame_timer_->start(0, [this] { close(*failed_); });
}

void Channel::close(CloseReason reason) {
  poller_.stop();
  if (frame_timer_) frame_timer_->stop();
  failed_ = reason;
  const OnClose on_close = std::move(on_close_);
  on_close_ = nullptr;
  if (on_close) on_close(reason);
}

}  // namespace trident::net
