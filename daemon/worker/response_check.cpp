#include "daemon/worker/response_check.h"

#include <cstring>

#include "jit/image/image.h"
#include "jit/pipeline/pipeline.h"
#include "schemas/function_image.h"
#include "schemas/loop_image.h"
#include "schemas/stages.h"

namespace trident::worker {
namespace {

constexpr std::size_t kLoopReasons = 0
#define X(...) +1
#include "jit/loop/refusals.def"
#undef X
    ;

/// The kind of thing that an image is of.
enum class Domain : std::uint8_t { kernel, loop, function };

Domain domain_of(std::uint16_t version) {
  if (version == TRIDENT_LOOP_IMAGE_VERSION) return Domain::loop;
  return version == TRIDENT_FUNCTION_IMAGE_VERSION ? Domain::function : Domain::kernel;
}

Result<void> check_image(std::span<const std::byte> image, trident_tier tier, Domain domain = Domain::kernel) {
  TRY_VOID(image::validate(image));
  trident_image_header header;
  std::memcpy(&header, image.data(), sizeof(header));
  if (domain_of(header.version) != domain)
    return make_error(ErrorCode::kRejectedImage, "an image of another kind than the response says");
  if (domain != Domain::function && header.tier != tier)
    return make_error(ErrorCode::kRejectedImage, "an image of the wrong tier");
  return {};
}

/// Refuses outcomes of workers that search nothing, and those that replace or keep a baseline that was not found right.
Result<void> check_outcome(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail) {
  using pipeline::Outcome;
  if (lane != Lane::optimise)
    return make_error(ErrorCode::kRejectedMessage, "an outcome, which only an optimise worker may send");
  const auto outcome = static_cast<Outcome>(header.code);
  if (outcome > Outcome::not_equivalent) return make_error(ErrorCode::kRejectedMessage, "an unknown outcome");
  if ((outcome == Outcome::published || outcome == Outcome::no_gain) && header.baseline_checked == 0)
    return make_error(ErrorCode::kRejectedMessage, "an outcome although its baseline was not checked");
  return outcome == Outcome::published ? check_image(tail, TRIDENT_TIER_OPTIMISED) : Result<void>();
}

Result<void> check_interim(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail) {
  if (lane != Lane::optimise)
    return make_error(ErrorCode::kRejectedMessage, "an interim image, which only an optimise worker may send");
  if (header.baseline_checked == 0)
    return make_error(ErrorCode::kRejectedMessage, "an interim image although its baseline was not checked");
  return check_image(tail, TRIDENT_TIER_OPTIMISED);
}

Result<void> check_kept(Lane lane, const ResponseHeader& header) {
  if (lane != Lane::optimise)
    return make_error(ErrorCode::kRejectedMessage, "a kept search, which only an optimise worker may have");
  if (header.baseline_checked == 0)
    return make_error(ErrorCode::kRejectedMessage, "a kept search although its baseline was not checked");
  return {};
}

Result<void> check_loop(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail) {
  if (lane != Lane::baseline)
    return make_error(ErrorCode::kRejectedMessage, "a loop, which only a baseline worker may answer");
  if (header.kind == Kind::loop_refused)
    return header.code < kLoopReasons ? Result<void>()
                                      : make_error(ErrorCode::kRejectedMessage, "an unknown reason to refuse a loop");
  if (header.baseline_checked == 0)
    return make_error(ErrorCode::kRejectedMessage, "an image of a loop that was not tried");
  return check_image(tail, TRIDENT_TIER_BASELINE, Domain::loop);
}

/// Images of functions are of either tier: one that is better comes first, and alone.
Result<void> check_function(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail) {
  if (lane != Lane::baseline)
    return make_error(ErrorCode::kRejectedMessage, "a function, which only a baseline worker may answer");
  if (header.baseline_checked == 0)
    return make_error(ErrorCode::kRejectedMessage, "an image of a function that was not tried");
  return check_image(tail, TRIDENT_TIER_BASELINE, Domain::function);
}

}  // namespace

Result<void> check_response(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail) {
  switch (header.kind) {
    case Kind::baseline_image:
      if (lane != Lane::baseline)
        return make_error(ErrorCode::kRejectedMessage, "a baseline image, which only a baseline worker may send");
      return check_image(tail, TRIDENT_TIER_BASELINE);
    case Kind::outcome: return check_outcome(lane, header, tail);
    case Kind::loop_image:
    case Kind::loop_refused: return check_loop(lane, header, tail);
    case Kind::function_image: return check_function(lane, header, tail);
    case Kind::program:
      if (lane != Lane::programs)
        return make_error(ErrorCode::kRejectedMessage, "a program, which only a programs worker may send");
      return {};
    case Kind::progress:
      if (header.code >= kStageCount) return make_error(ErrorCode::kRejectedMessage, "an unknown stage");
      return {};
    case Kind::interim: return check_interim(lane, header, tail);
    case Kind::kept: return check_kept(lane, header);
    case Kind::failed: return {};
    case Kind::ready: break;  // answers no request
  }
  return make_error(ErrorCode::kRejectedMessage, "an unknown kind of response");
}

}  // namespace trident::worker
