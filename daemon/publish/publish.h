// The messages that the daemon sends, as frames on a client's channel.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/cache/cache.h"
#include "daemon/net/channel.h"
#include "runtime/base/result.h"
#include "schemas/stages.h"

namespace trident::publish {

void welcome(net::Channel& channel, std::uint8_t isa, std::uint64_t features, std::string_view build);
/// Travels with the job's next message: every path from here sends one.
void accepted(net::Channel& channel, std::uint64_t job, bool cached);
void progress(net::Channel& channel, std::uint64_t job, Stage stage, std::uint32_t done, std::uint32_t total,
              double best_ratio);

struct KernelTimes {
  double baseline_ns = 0, optimised_ns = 0;
};
struct KernelTravel {
  net::SharedFd file;  ///< the image as a sealed memfd; null: its bytes travel in the message
  bool more = false;   ///< travels with the job's next message
};
/// Errors: LimitExceeded when the image is too large to travel in the message.
Result<void> kernel_ready(net::Channel& channel, std::uint64_t job, const image::ImageBytes& image,
                          const KernelTimes& times, const KernelTravel& travel);
void revoke(net::Channel& channel, std::uint64_t job, std::uint8_t tier);
/// `reason`: why nothing better was sent; nothing when published.
void done(net::Channel& channel, std::uint64_t job, std::uint8_t outcome, std::string_view reason = {});
void failure(net::Channel& channel, std::uint64_t job, const Error& error, std::uint32_t retry_after_ms = 0);
/// `address`: of the instruction that is the reason.
void loop_refused(net::Channel& channel, std::uint64_t job, std::uint8_t reason, std::uint64_t address,
                  std::string_view text);
/// A ProgramReady as it is.
void program(net::Channel& channel, std::span<const std::byte> message);
void stats(net::Channel& channel, std::uint64_t request, std::string_view json);

}  // namespace trident::publish
