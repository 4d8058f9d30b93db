// Turns a descriptor or bytes that a daemon sent into code that may be called.
//
// A daemon is trusted to write code that runs with our rights (peer.h says which daemons are), but nothing here rests
// on its being free of bugs: every field of the header is checked against the bytes and against the kernel that asked,
// the bytes against their digest, and the file must be sealed so that it can change neither while nor after we look.
//
// Ways to map, in this order, each refused by some real system: the sent file MAP_SHARED (nobody in this
// process can make it writable again), the sent file MAP_PRIVATE (kernels that refuse shared mappings of write-sealed
// files), our own sealed copy of the bytes (the file's type may not be executable for us), an anonymous copy that
// turns from writable to executable. If all fail the error is ExecDenied and the interpreter stays.
//
// The sender has made the same checks (jit/image). They are one header, schemas/image_checks.h, because the client
// links no code generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"
#include "runtime/os/memfd.h"
#include "schemas/kernel_image.h"

namespace trident::client {

/// An executable image, validated; unmapped on destruction.
class ImageMap {
 public:
  ImageMap() = default;
  explicit ImageMap(os::Mapping mapping) : mapping_(std::move(mapping)) {}
  [[nodiscard]] const trident_image_header& header() const {
    return *static_cast<const trident_image_header*>(mapping_.base());
  }
  [[nodiscard]] trident_entry entry() const;
  /// The entry of an image of any version.
  [[nodiscard]] void* entry_address() const;
  /// Returns the description of a loop or function, which passed the checks.
  [[nodiscard]] std::span<const std::byte> description() const;

 private:
  os::Mapping mapping_;
};

/// An image's description, from the message and from the kernel or loop that asked.
struct ImageClaim {
  std::uint32_t size = 0;
  std::uint64_t digest_low = 0, digest_high = 0;
  std::uint8_t tier = 0;
  std::uint32_t inputs = 0, outputs = 0, params = 0;
  std::uint16_t version = TRIDENT_IMAGE_VERSION;  ///< of loops and functions another one; their counts are 0
  bool may_speculate = false;                     ///< TRIDENT_SPECULATIVE_IMAGE_VERSION will do as well
  std::uint32_t parameters = 0, windows = 0;      ///< a function: its parameters, and arrays among them
  std::uint64_t code_before = 0, code_after = 0;  ///< a loop: bytes submitted before its head, and from it on
};

/// The greatest trident_isa that this CPU and system can run; 0 when there is none. TRIDENT_ISA=avx2 or =none lowers
/// it; trident_open() refuses other words.
std::uint8_t greatest_isa();

/// Checks that `bytes` begin with an image of the claim that this CPU can run. Public for the tests.
Result<void> validate_image(std::span<const std::byte> bytes, const ImageClaim& claim);

/// RejectedImage: not what it claims to be. ExecDenied: this process may not map code. `fd` may be closed afterwards.
Result<ImageMap> map_image(const os::Fd& fd, const ImageClaim& claim);
Result<ImageMap> map_image_bytes(std::span<const std::byte> bytes, const ImageClaim& claim);

}  // namespace trident::client
