// Kernel images: machine code in the layout of schemas/kernel_image.h, sealed in a memfd, mapped to run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/codegen/region.h"
#include "runtime/base/result.h"
#include "runtime/os/fd.h"
#include "runtime/os/memfd.h"
#include "schemas/kernel_image.h"

namespace trident::image {

using Key = std::array<std::uint8_t, 32>;

/// Returns the number of an instruction set in images and messages (enum trident_isa).
std::uint8_t isa_number(codegen::Isa isa);
/// Returns the instruction set of a number. Errors: Unsupported for an unknown number.
Result<codegen::Isa> isa_of(std::uint8_t number);

/// The bytes of an image (header first), ready to be sealed or stored.
struct ImageBytes {
  std::vector<std::byte> bytes;
  [[nodiscard]] const trident_image_header& header() const;
};

/// The numbers of arguments that a caller of the image's entry must pass.
struct Counts {
  std::uint32_t inputs = 0, outputs = 0, params = 0;
};
Counts counts_of(const kir::Kernel& kernel);

/// Lays the code of a kernel out as an image. Fills digest and counts.
ImageBytes build(const codegen::MachineCode& code, const Counts& counts, codegen::Isa isa, trident_tier tier,
                 const Key& key);

/// Does the same for a speculative kernel of the optimised tier (jit/codegen/speculative.h), whose image has version 3.
ImageBytes build_speculative(const codegen::MachineCode& code, const Counts& counts, codegen::Isa isa, const Key& key);

/// Lays the code of a loop out as an image of version 2. `description` is that of schemas/loop_image.h, which must pass
/// the checks (schemas/loop_checks.h).
ImageBytes build_loop(const codegen::MachineCode& code, std::span<const std::byte> description, codegen::Isa isa,
                      trident_tier tier, const Key& key);

/// Lays the code of a function out as an image of version 4, with the description of schemas/function_image.h.
ImageBytes build_function(const codegen::MachineCode& code, std::span<const std::byte> description, codegen::Isa isa,
                          trident_tier tier, const Key& key);

/// Checks every field of the header against `bytes`, and the digest, which covers every other byte. For bytes from
/// outside: any change of a valid image is refused (RejectedImage), nothing is ever read out of bounds.
Result<void> validate(std::span<const std::byte> bytes);

/// Returns a sealed memfd (write, shrink, grow, seal) that holds `image`, padded with trapping bytes to whole pages.
Result<os::Fd> seal(const ImageBytes& image);

/// An executable mapping of a sealed image; unmapped on destruction.
class Mapped {
 public:
  /// Maps and validates. RejectedImage when the file is not a sealed, valid image; ExecDenied where the system refuses.
  static Result<Mapped> map(const os::Fd& fd);
  [[nodiscard]] trident_entry entry() const;
  [[nodiscard]] codegen::RegionEntry region_entry() const;  ///< of a loop or a function
  [[nodiscard]] const trident_image_header& header() const;

 private:
  explicit Mapped(os::Mapping mapping) : mapping_(std::move(mapping)) {}
  os::Mapping mapping_;
};

}  // namespace trident::image
