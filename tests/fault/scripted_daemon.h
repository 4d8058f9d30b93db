// A daemon that does what a test tells it to: it listens on a private socket, and each connection runs a script that
// may speak the protocol, break it, or go away. Its kernels are hand-written machine code that stores one constant, so
// a test sees at once whose code answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/os/fd.h"
#include "schemas/control_generated.h"

namespace trident::testing {

using Bytes = std::vector<std::byte>;

/// A kernel image for one f64 output whose elements all become `value`, with the counts of the kernel it is for.
struct ConstantImage {
  double value = 0;
  std::uint8_t tier = 1;
  std::uint32_t inputs = 1, outputs = 1, params = 0;
};
Bytes build_image(const ConstantImage& image);
/// A sealed memfd with `image`; `seals` as for F_ADD_SEALS.
os::Fd seal_image(const Bytes& image, int seals);
os::Fd seal_image(const Bytes& image);

/// A received frame's message.
struct Request {
  Bytes bytes;
  [[nodiscard]] const wire::Message& message() const { return *wire::GetMessage(bytes.data()); }
};

class ScriptedConnection {
 public:
  explicit ScriptedConnection(os::Fd socket) : socket_(std::move(socket)) {}

  /// The next request of the client, or none when it is gone or silent for `timeout_ms`.
  std::unique_ptr<Request> read(int timeout_ms = 5000);
  /// Reads requests until one is a Submit and returns its job; 0 when the client is gone.
  std::uint64_t read_submit(int timeout_ms = 5000);

  void send_raw(const Bytes& bytes, const std::vector<int>& fds = {});
  void send_frame(flatbuffers::FlatBufferBuilder& builder, wire::Body kind, flatbuffers::Offset<void> body,
                  const std::vector<int>& fds = {});
  void welcome(std::uint16_t version = 1);
  /// KernelReady with a descriptor; the announced size and digest are those of the image.
  void ready(std::uint64_t job, const Bytes& image, int fd);
  void ready_inline(std::uint64_t job, const Bytes& image);
  void ready_claiming(std::uint64_t job, std::uint8_t tier, std::uint32_t size, std::uint64_t low, std::uint64_t high,
                      const std::vector<int>& fds);
  void revoke(std::uint64_t job, std::uint8_t tier);
  void done(std::uint64_t job, wire::Outcome outcome = wire::Outcome::no_gain, const char* reason = nullptr);
  void failure(std::uint64_t job, std::uint8_t code, std::uint32_t retry_after_ms);
  void progress(std::uint64_t job);
  /// Answers a StatsRequest; nothing for other requests.
  void answer_stats(const Request& request);
  /// Hello in, Welcome out. False when the client does not say hello.
  bool greet();
  /// Waits until the client hangs up.
  void drain();

 private:
  os::Fd socket_;
  Bytes incoming_;
};

class ScriptedDaemon {
 public:
  /// `script(connection, n)` runs in a thread of its own for the n-th connection, n from 0.
  using Script = std::function<void(ScriptedConnection&, int)>;
  explicit ScriptedDaemon(Script script);
  ~ScriptedDaemon();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int connections() const { return connections_.load(); }

 private:
  void accept_all();

  Script script_;
  std::string directory_, path_;
  os::Fd listener_, stop_;
  std::thread acceptor_;
  std::vector<std::thread> threads_;
  std::vector<int> sockets_;  // duplicates, to cut connections at the end
  std::mutex mutex_;
  std::atomic<int> connections_{0};
};

}  // namespace trident::testing
