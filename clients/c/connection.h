// The socket to the daemon: bytes out, frames and descriptors in. Never waits; the I/O thread polls.
//
// Descriptors arrive beside the bytes, not inside them. The k-th descriptor belongs to the k-th KernelReady without an
// inline image (schemas/control.fbs), so they are kept in a queue; recvmsg ends a read at the bytes that carried one,
// hence a descriptor that is still there when no byte is left over belongs to nothing and is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "clients/c/wire.h"
#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::client {

/// One decoded frame; `image` is the descriptor that belongs to it, if any.
struct Arrival {
  wire::Incoming message;
  os::Fd image;
};

class Connection {
 public:
  explicit Connection(os::Fd socket);

  [[nodiscard]] int fd() const { return socket_.get(); }

  /// The frame that wire::append_*() appends to; flush() sends it.
  wire::Frame& outgoing() { return outgoing_; }
  [[nodiscard]] std::size_t outgoing_bytes() const { return outgoing_.size() - sent_; }
  /// Sends as much as the socket accepts. Disconnected when the other side is gone.
  Result<void> flush();

  /// Reads once and appends what is complete to `arrivals`; there may be more to read. Any error (Disconnected,
  /// RejectedMessage) ends the connection; arrivals decoded before it are good.
  Result<void> receive(std::vector<Arrival>& arrivals);

  /// Bytes read since the connection was made.
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
  /// Bytes of a frame that is not complete yet.
  [[nodiscard]] bool has_partial_frame() const { return !incoming_.empty(); }
  /// The system had no room for a descriptor that the daemon sent: images should come inline from now on.
  [[nodiscard]] bool lost_descriptors() const { return lost_descriptors_; }

 private:
  Result<void> read_some();
  Result<void> decode_frames(std::vector<Arrival>& arrivals);

  os::Fd socket_;
  wire::Frame outgoing_;
  std::size_t sent_ = 0;
  std::unique_ptr<std::byte[]> chunk_;  // where reads land
  std::vector<std::byte> incoming_;     // an incomplete frame, between reads
  std::deque<os::Fd> descriptors_;
  bool lost_descriptors_ = false;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace trident::client
