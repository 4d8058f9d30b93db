// A framed connection on the loop: u32 little-endian length, then that many bytes; descriptors beside those sent.
//
//   read:  socket -> scratch buffer (one for all channels) -> whole frames to on_frame
//                         \-> a frame that is not whole yet waits in the channel's own buffer
//   write: send() -> sendmsg at once -> only bytes that the socket refuses wait in the queue
//
// An idle channel therefore owns no buffers and no timers. The peer is not trusted: an announced length above the
// limit, a frame that does not complete in time, a descriptor, or a queue that the peer does not drain end the
// channel. While its gate is shut, what the peer sends stays in the socket, except at most one read that has begun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/net/gate.h"
#include "daemon/net/loop.h"
#include "runtime/os/fd.h"
#include "runtime/os/socket.h"

namespace trident::net {

/// A descriptor that may be sent to several peers and outlive its first owner.
using SharedFd = std::shared_ptr<const os::Fd>;

enum class CloseReason : std::uint8_t {
  peer_closed,
  frame_too_large,
  frame_timeout,
  unasked_descriptor,
  queue_overflow,  ///< the peer does not read what it asked for
  socket_error
};
std::string_view name_of(CloseReason reason);

struct ChannelLimits {
  std::size_t frame_bytes_max = 0;
  std::size_t queue_bytes_max = 0;
  std::uint64_t frame_timeout_ms = 0;  ///< from a frame's first byte to its last; 0: unbounded
};

class Channel {
 public:
  /// `on_frame(payload)`: 8-byte aligned, valid during the call. `on_close`: once, unless the owner destroyed the
  /// channel first. Both may destroy the channel.
  using OnFrame = std::function<void(std::span<const std::byte>)>;
  using OnClose = std::function<void(CloseReason)>;
  static Result<std::unique_ptr<Channel>> make(Loop& loop, os::Fd socket, const ChannelLimits& limits, OnFrame on_frame,
                                               OnClose on_close);
  /// Without a gate the channel always reads.
  void set_gate(std::shared_ptr<Gate> gate) { gate_ = std::move(gate); }
  /// Reads on after the gate was shut. May destroy the channel.
  void resume();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Sends a frame, after anything queued before it. Never calls back: a failure shows at the next turn of the loop.
  void send(std::span<const std::byte> payload, SharedFd fd = nullptr);
  /// Queues a frame that travels with the next send() (one system call and one wake-up of the peer instead of two).
  void send_later(std::span<const std::byte> payload, SharedFd fd = nullptr);
  void flush();

  /// Returns true when the peer reads more slowly than it is sent to.
  [[nodiscard]] bool blocked() const { return blocked_; }
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  [[nodiscard]] const os::Fd& socket() const { return socket_; }

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
    SharedFd fd;  ///< null once its first byte has gone
  };

  Channel(Loop& loop, os::Fd socket, const ChannelLimits& limits, OnFrame on_frame, OnClose on_close);
  void on_ready(int events);
  void read();
  void take_turns();
  [[nodiscard]] bool goes_on();
  void watch_frame_time();
  bool take_bytes(std::span<const std::byte> bytes);
  std::optional<std::size_t> deliver_frames(std::span<const std::byte> bytes);
  void enqueue(std::span<const std::byte> payload, std::size_t already_sent, SharedFd fd);
  bool write_queue();
  void watch();
  void fail_later(CloseReason reason);
  void close(CloseReason reason);

  Loop& loop_;
  os::Fd socket_;
  Poller poller_;
  ChannelLimits limits_;
  OnFrame on_frame_;
  OnClose on_close_;

  std::vector<std::byte> partial_;  ///< the beginning of a frame, length prefix included
  std::unique_ptr<Timer> frame_timer_;
  std::deque<Outgoing> queue_;
  std::size_t queued_bytes_ = 0;
  std::shared_ptr<Gate> gate_;
  bool shut_ = false;     ///< by the gate, until resume()
  bool blocked_ = false;  ///< the socket takes no more for now
  int watched_ = 0;
  std::optional<CloseReason> failed_;
  bool* destroyed_ = nullptr;  ///< set while a callback runs
};

}  // namespace trident::net
