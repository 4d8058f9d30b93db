#include "clients/c/program.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "clients/c/connection.h"
#include "clients/c/peer.h"
#include "runtime/base/limits.h"
#include "schemas/kernel_image.h"

namespace trident::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 100;
/// A daemon that knows programs says at once that it has one.
constexpr auto kAcceptedWithin = std::chrono::seconds(5);
constexpr std::uint64_t kJob = 1;

#if defined(__aarch64__)
constexpr std::uint8_t kIsa = TRIDENT_ISA_NEON;
#else
constexpr std::uint8_t kIsa = TRIDENT_ISA_AVX2;
#endif

/// State of the job while it is waited for.
struct Waiting {
  bool accepted = false;
  std::uint32_t done = 0, total = 0;
  std::optional<wire::ProgramReady> ready;
  std::optional<Error> failure;

  void take(wire::Incoming& message) {
    if (auto* progress = std::get_if<wire::Progress>(&message)) {
      done = progress->done, total = progress->total;
    } else if (std::holds_alternative<wire::Accepted>(message)) {
      accepted = true;
    } else if (auto* program = std::get_if<wire::ProgramReady>(&message)) {
      ready = std::move(*program);
    } else if (auto* failed = std::get_if<wire::Failure>(&message)) {
      const auto known = static_cast<std::uint8_t>(ErrorCode::kBusy);
      failure = Error{failed->code <= known ? static_cast<ErrorCode>(failed->code) : ErrorCode::kInternal,
                      std::move(failed->message)};
    }
  }
};

}  // namespace

bool nobody_builds(const Error& error) {
  constexpr ErrorCode kOfDaemons[] = {ErrorCode::kDisconnected, ErrorCode::kOsError, ErrorCode::kUnsupported,
                                      ErrorCode::kLimitExceeded, ErrorCode::kBusy};
  return std::find(std::begin(kOfDaemons), std::end(kOfDaemons), error.code) != std::end(kOfDaemons);
}

Result<wire::ProgramReady> build_program(const std::string& path, const wire::SubmitProgram& program,
                                         const std::function<bool(std::uint32_t, std::uint32_t)>& progress) {
  TRY(os::Fd socket, connect_to_daemon(path));
  Connection connection(std::move(socket));
  wire::append_hello(connection.outgoing(), kIsa);
  const std::size_t before = connection.outgoing().size();
  wire::append_submit_program(connection.outgoing(), kJob, program);
  if (const std::size_t bytes = connection.outgoing().size() - before;
      bytes > trident::limits::kFrameBytesMax + sizeof(std::uint32_t))
    return make_error(ErrorCode::kLimitExceeded,
                      "the program and its inputs take %zu bytes, but a message to the daemon has at most %zu", bytes,
                      trident::limits::kFrameBytesMax);
  Waiting waiting;
  const Clock::time_point begun = Clock::now();
  while (true) {
    TRY_VOID(connection.flush());
    pollfd poll{connection.fd(), static_cast<short>(POLLIN | (connection.outgoing_bytes() > 0 ? POLLOUT : 0)), 0};
    ::poll(&poll, 1, kLookMs);
    if ((poll.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      std::vector<Arrival> arrivals;
      const auto received = connection.receive(arrivals);
      for (Arrival& arrival : arrivals) waiting.take(arrival.message);
      if (waiting.ready && waiting.ready->runs == 1 && !program.runs.empty())
        return make_error(ErrorCode::kUnsupported, "%s: this older daemon measures a program on one run only",
                          path.c_str());
      if (waiting.ready) return *std::move(waiting.ready);
      if (waiting.failure) return *std::move(waiting.failure);
      TRY_VOID(received);
    }
    if (!waiting.accepted && Clock::now() - begun > kAcceptedWithin)
      return make_error(ErrorCode::kUnsupported,
                        "%s: the daemon does not answer, perhaps because it is too old to build programs",
                        path.c_str());
    if (progress && !progress(waiting.done, waiting.total)) {
      wire::append_cancel(connection.outgoing(), kJob);
      TRY_VOID(connection.flush());
      return make_error(ErrorCode::kCancelled, "given up");
    }
  }
}

}  // namespace trident::client
