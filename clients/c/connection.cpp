#include "clients/c/connection.h"

#include <cstring>
#include <span>

#include "runtime/base/limits.h"
#include "runtime/os/socket.h"

namespace trident::client {
namespace {

/// Bytes of one read; large enough for a hundred answers.
constexpr std::size_t kReadBytes = 16 * 1024;
/// Descriptors that wait for their frames; a well-behaved daemon has one in flight per frame.
constexpr std::size_t kDescriptorsMax = 2 * os::kFdsPerMessageMax;

Error disconnected(const char* what) {
  return make_error(ErrorCode::kDisconnected, "daemon: %s", what);
}

}  // namespace

Connection::Connection(os::Fd socket)
    : socket_(std::move(socket)), chunk_(std::make_unique_for_overwrite<std::byte[]>(kReadBytes)) {}

Result<void> Connection::flush() {
  while (sent_ < outgoing_.size()) {
    const os::Io io = os::send_bytes(socket_, std::span(outgoing_).subspan(sent_));
    if (io.status == os::IoStatus::would_block) return {};
    if (io.status != os::IoStatus::ok) return disconnected("the connection broke");
    sent_ += io.bytes;
  }
  outgoing_.clear();
  sent_ = 0;
  return {};
}

Result<void> Connection::receive(std::vector<Arrival>& arrivals) {
  TRY_VOID(read_some());
  TRY_VOID(decode_frames(arrivals));
  if (incoming_.empty()) descriptors_.clear();
  return {};
}

Result<void> Connection::read_some() {
  os::ReceivedFds received;
  const os::Io io = os::receive(socket_, {chunk_.get(), kReadBytes}, received);
  for (std::size_t i = 0; i < received.count; ++i) descriptors_.push_back(std::move(received.fds[i]));
  switch (io.status) {
    case os::IoStatus::ok: break;
    case os::IoStatus::would_block: return {};
    case os::IoStatus::closed: return disconnected("closed the connection");
    case os::IoStatus::failed:
      lost_descriptors_ = true;  // in all likelihood: this process has no room for another descriptor
      return disconnected("reading failed");
  }
  if (descriptors_.size() > kDescriptorsMax) {
    return make_error(ErrorCode::kRejectedMessage, "the daemon sent file descriptors without a message");
  }
  received_bytes_ += io.bytes;
  incoming_.insert(incoming_.end(), chunk_.get(), chunk_.get() + io.bytes);
  return {};
}

Result<void> Connection::decode_frames(std::vector<Arrival>& arrivals) {
  std::size_t at = 0;
  std::vector<std::uint64_t> aligned;  // FlatBuffers reads 8-byte fields in place
  for (;;) {
    std::uint32_t length = 0;
    if (incoming_.size() - at < sizeof(length)) break;
    std::memcpy(&length, incoming_.data() + at, sizeof(length));
    if (length == 0 || length > limits::kFrameBytesMax) {
      return make_error(ErrorCode::kRejectedMessage, "the daemon sent a frame of %u bytes, which is empty or too large",
                        length);
    }
    if (incoming_.size() - at - sizeof(length) < length) break;
    aligned.resize((length + 7) / 8);
    std::memcpy(aligned.data(), incoming_.data() + at + sizeof(length), length);
    at += sizeof(length) + length;
    TRY(wire::Incoming message, wire::decode(std::as_bytes(std::span(aligned)).first(length)));
    Arrival arrival{std::move(message), {}};
    const auto* ready = std::get_if<wire::KernelReady>(&arrival.message);
    if (ready != nullptr && !ready->inline_image && !descriptors_.empty()) {
      arrival.image = std::move(descriptors_.front());
      descriptors_.pop_front();
    }
    arrivals.push_back(std::move(arrival));
  }
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

}  // namespace trident::client
