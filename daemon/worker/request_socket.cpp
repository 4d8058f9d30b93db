#include "daemon/worker/request_socket.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/os/clock.h"

namespace trident::worker {
namespace {

constexpr std::size_t kPrefixBytes = 4;
constexpr std::size_t kRequestBytesMax =
    sizeof(RequestHeader) + std::max(limits::kFrameBytesMax, limits::kRulesTextBytesMax);

}  // namespace

std::span<const std::byte> RequestSocket::next() {
  begin_ += taken_;
  taken_ = 0;
  if (begin_ == end_) begin_ = end_ = 0;
  while (true) {
    if (end_ - begin_ >= kPrefixBytes) {
      std::uint32_t length;
      std::memcpy(&length, buffer_.data() + begin_, kPrefixBytes);
      if (length > kRequestBytesMax) return {};
      if (end_ - begin_ >= kPrefixBytes + length) {
        taken_ = kPrefixBytes + length;
        aligned_.resize(length / 8 + 1);
        std::memcpy(aligned_.data(), buffer_.data() + begin_ + kPrefixBytes, length);
        return std::as_bytes(std::span(aligned_)).first(length);
      }
    }
    if (!read_more()) return {};
  }
}

std::optional<os::Fd> RequestSocket::take_fd() {
  if (fds_.empty()) return {};
  os::Fd oldest = std::move(fds_.front());
  fds_.pop_front();
  return oldest;
}

bool RequestSocket::is_cancelled(std::uint64_t ticket) {
  if (os::is_readable(socket_) && !read_more()) return true;
  const std::size_t at = begin_ + taken_ + kPrefixBytes;
  RequestHeader header;
  if (end_ < at + sizeof(header)) return false;
  std::memcpy(&header, buffer_.data() + at, sizeof(header));
  return header.tail == Tail::cancel && header.ticket == ticket;
}

bool RequestSocket::send(const ResponseHeader& header, std::string_view tail) {
  const auto length = static_cast<std::uint32_t>(sizeof(header) + tail.size());
  std::vector<std::byte> rest;
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&length, 1)),
                                               std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(tail))};
  // The socket blocks, so a short write means a signal or a full buffer: the rest follows.
  os::Io io = os::send_pieces(socket_, pieces);
  std::size_t sent = io.bytes;
  const std::size_t total = kPrefixBytes + length;
  if (io.status == os::IoStatus::ok && sent == total) return true;
  for (const auto piece : pieces) rest.insert(rest.end(), piece.begin(), piece.end());
  while (io.status == os::IoStatus::ok && sent < total) {
    io = os::send_bytes(socket_, std::span(rest).subspan(sent));
    sent += io.bytes;
  }
  return sent == total;
}

bool RequestSocket::read_more() {
  if (begin_ > 0 && end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  os::wait_readable(socket_);
  os::ReceivedFds received;
  const os::Io io = os::receive(socket_, std::span(buffer_).subspan(end_), received);
  for (std::size_t i = 0; i < received.count; ++i) fds_.push_back(std::move(received.fds[i]));
  end_ += io.bytes;
  return io.status == os::IoStatus::ok;
}

bool send_failure(RequestSocket& front, std::uint64_t ticket, const Error& error, std::uint64_t cpu_ns) {
  ResponseHeader response;
  response.ticket = ticket;
  response.kind = Kind::failed;
  response.code = static_cast<std::uint8_t>(error.code);
  response.cpu_ns = cpu_ns;
  constexpr std::size_t kMessageBytesMax = 4096;
  return front.send(response, std::string_view(error.message).substr(0, kMessageBytesMax));
}

}  // namespace trident::worker
