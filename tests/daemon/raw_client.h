// A client that speaks the wire by hand, so that tests can also say what no sound client would. Shares no code with
// clients/c: the two check each other against schemas/control.fbs.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/os/fd.h"
#include "runtime/os/socket.h"
#include "schemas/control_generated.h"

namespace trident::tests {

struct SubmitTerms {
  std::uint64_t job = 1;
  wire::Policy policy = wire::Policy::bounded;
  double k = 2;
  std::uint32_t elements = 4096;
  bool inline_images = false;
};

/// Payloads of frames (without the length).
using Payload = std::vector<std::byte>;
/// `isa`: a trident_isa; 0: the greatest of this processor.
Payload hello_message(std::uint16_t version_min = 1, std::uint16_t version_max = 1, std::uint64_t features = 0,
                      std::uint8_t isa = 0);
/// A submission that each daemon takes.
inline constexpr const char* kText = "x*y + 3*x";
/// `text` in any syntax of jit/expr, of type f64.
Payload submit_message(const std::string& text, const SubmitTerms& terms = {});
/// Terms of a guest's loop; the message asks for its image inline.
struct LoopTerms {
  std::uint64_t job = 1;
  std::uint16_t guest = 1;
  std::uint64_t head = 0x400000, base = 0x400000;
};
Payload loop_message(std::span<const std::byte> code, const LoopTerms& terms = {});
Payload function_message(std::string_view text, std::string_view calls, std::uint64_t job);
Payload cancel_message(std::uint64_t job);
Payload stats_message(std::uint64_t request);
/// Puts the length in front.
Payload framed(std::span<const std::byte> payload);

/// A message that came, and the descriptor that belongs to it.
struct Incoming {
  Payload bytes;
  os::Fd fd;
  [[nodiscard]] const wire::Message& message() const { return *wire::GetMessage(bytes.data()); }
  [[nodiscard]] wire::Body kind() const { return message().body_type(); }
};

/// Time to wait for an answer that will come, on a busy machine and under a sanitizer.
inline constexpr int kPatienceMs = 60'000;

class RawClient {
 public:
  explicit RawClient(const std::string& socket_path);
  /// Connected and welcomed.
  static RawClient ready(const std::string& socket_path, std::uint64_t features = 0);

  void send(std::span<const std::byte> payload) { send_bytes(framed(payload)); }
  /// False when the daemon has closed.
  bool send_bytes(std::span<const std::byte> bytes, int fd = -1);
  /// The next message; nothing when the daemon has closed or `timeout_ms` has passed.
  std::optional<Incoming> next(int timeout_ms = kPatienceMs);
  /// The next message that is no Accepted and no Progress.
  std::optional<Incoming> next_result(int timeout_ms = kPatienceMs);
  /// Waits until the daemon has closed the connection; drops messages that come before.
  bool closed_by_daemon(int timeout_ms = 20'000);
  /// The daemon's statistics as JSON text.
  std::string stats();
  [[nodiscard]] const os::Fd& fd() const { return socket_; }
  void close() { socket_.reset(); }

 private:
  bool read_more(int timeout_ms);
  os::Fd socket_;
  bool ended_ = false;
  Payload buffer_;
  std::deque<os::Fd> fds_;
};

}  // namespace trident::tests
