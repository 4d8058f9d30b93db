#include "daemon/publish/publish.h"

#include "jit/pipeline/pipeline.h"
#include "runtime/base/limits.h"
#include "schemas/control_generated.h"

namespace trident::publish {
namespace {

static_assert(static_cast<int>(wire::Tier::baseline) == TRIDENT_TIER_BASELINE);
static_assert(static_cast<int>(wire::Tier::optimised) == TRIDENT_TIER_OPTIMISED);
#define X(name, NAME, does) static_assert(static_cast<int>(wire::Stage::name) == static_cast<int>(Stage::name));
#include "schemas/stages.def"
#undef X
static_assert(static_cast<std::size_t>(wire::Stage::MAX) + 1 == kStageCount);
static_assert(static_cast<int>(wire::Outcome::published) == static_cast<int>(pipeline::Outcome::published));
static_assert(static_cast<int>(wire::Outcome::no_gain) == static_cast<int>(pipeline::Outcome::no_gain));
static_assert(static_cast<int>(wire::Outcome::budget_spent) == static_cast<int>(pipeline::Outcome::budget_spent));
static_assert(static_cast<int>(wire::Outcome::not_equivalent) == static_cast<int>(pipeline::Outcome::not_equivalent));

/// The rest of a frame is for the message around the image.
constexpr std::size_t kInlineBytesMax = limits::kFrameBytesMax - 1024;

/// One builder for all messages: its memory is reused.
flatbuffers::FlatBufferBuilder& fresh_builder() {
  static flatbuffers::FlatBufferBuilder builder(4096);
  builder.Clear();
  return builder;
}

template <class Body>
std::span<const std::byte> finish(flatbuffers::FlatBufferBuilder& builder, wire::Body kind,
                                  flatbuffers::Offset<Body> body) {
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, kind, body.Union()));
  return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
}

}  // namespace

void welcome(net::Channel& channel, std::uint8_t isa, std::uint64_t features, std::string_view build) {
  auto& builder = fresh_builder();
  const auto text = builder.CreateString(build.data(), build.size());
  const auto version = static_cast<std::uint16_t>(wire::Protocol::version);
  channel.send(finish(builder, wire::Body::Welcome, wire::CreateWelcome(builder, version, isa, features, text)));
}

void accepted(net::Channel& channel, std::uint64_t job, bool cached) {
  auto& builder = fresh_builder();
  channel.send_later(finish(builder, wire::Body::Accepted, wire::CreateAccepted(builder, job, cached)));
}

void progress(net::Channel& channel, std::uint64_t job, Stage stage, std::uint32_t done, std::uint32_t total,
              double best_ratio) {
  auto& builder = fresh_builder();
  channel.send(finish(builder, wire::Body::Progress,
                      wire::CreateProgress(builder, job, static_cast<wire::Stage>(stage), done, total, best_ratio)));
}

Result<void> kernel_ready(net::Channel& channel, std::uint64_t job, const image::ImageBytes& image,
                          const KernelTimes& times, const KernelTravel& travel) {
  auto& builder = fresh_builder();
  const trident_image_header& header = image.header();
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> bytes;
  if (!travel.file) {
    if (image.bytes.size() > kInlineBytesMax)
      return make_error(ErrorCode::kLimitExceeded, "the image is too large for a message");
    bytes = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(image.bytes.data()), image.bytes.size());
  }
  const auto ready =
      wire::CreateKernelReady(builder, job, static_cast<wire::Tier>(header.tier), header.total_size, header.digest[0],
                              header.digest[1], bytes, times.baseline_ns, times.optimised_ns);
  const auto message = finish(builder, wire::Body::KernelReady, ready);
  travel.more ? channel.send_later(message, travel.file) : channel.send(message, travel.file);
  return {};
}

void revoke(net::Channel& channel, std::uint64_t job, std::uint8_t tier) {
  auto& builder = fresh_builder();
  channel.send(finish(builder, wire::Body::Revoke, wire::CreateRevoke(builder, job, static_cast<wire::Tier>(tier))));
}

void done(net::Channel& channel, std::uint64_t job, std::uint8_t outcome, std::string_view reason) {
  auto& builder = fresh_builder();
  flatbuffers::Offset<flatbuffers::String> text;
  if (!reason.empty()) text = builder.CreateString(reason.data(), reason.size());
  channel.send(
      finish(builder, wire::Body::Done, wire::CreateDone(builder, job, static_cast<wire::Outcome>(outcome), text)));
}

void failure(net::Channel& channel, std::uint64_t job, const Error& error, std::uint32_t retry_after_ms) {
  auto& builder = fresh_builder();
  const auto text = builder.CreateString(error.message);
  channel.send(finish(builder, wire::Body::Failure,
                      wire::CreateFailure(builder, job, static_cast<std::uint8_t>(error.code), text, retry_after_ms)));
}

void loop_refused(net::Channel& channel, std::uint64_t job, std::uint8_t reason, std::uint64_t address,
                  std::string_view text) {
  auto& builder = fresh_builder();
  const auto sentence = builder.CreateString(text.data(), text.size());
  channel.send(
      finish(builder, wire::Body::LoopRefused, wire::CreateLoopRefused(builder, job, reason, address, sentence)));
}

void program(net::Channel& channel, std::span<const std::byte> message) {
  channel.send_later(message);
}

void stats(net::Channel& channel, std::uint64_t request, std::string_view json) {
  auto& builder = fresh_builder();
  const auto text = builder.CreateString(json.data(), json.size());
  channel.send(finish(builder, wire::Body::Stats, wire::CreateStats(builder, request, text)));
}

}  // namespace trident::publish
