// Compiles blocks of TASM to machine code that runs many stacks at once.
//
//   block --translate--> kir --codegen--> image --sealed, mapped--> entry
//
// The code is an image like any kernel's (schemas/kernel_image.h): position-independent, sealed before it becomes
// executable, with the same entry, so that it can be called through a slot like a kernel.
//
// A block with inversions is also cut at each of them: many stacks go through it stage by stage, and between two stages
// their words are inverted together (runtime/field/inverses.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/image/image.h"
#include "jit/tir/native/translate.h"

namespace trident::tir::native {

/// Returns the widest instruction set that this processor runs; Unsupported if there is none.
Result<codegen::Isa> best_isa();

/// Returns the loop that suits most blocks: a product is a long chain, and several of them side by side fill the pipes,
/// as many as the registers allow.
constexpr codegen::Variant variant_of(codegen::Isa isa) {
  return {.vectors = static_cast<std::uint8_t>(isa == codegen::Isa::avx512 ? 3 : 2)};
}

class NativeBlock {
 public:
  /// Errors: those of translate(), codegen::emit() and image::Mapped::map().
  static Result<NativeBlock> compile(std::span<const tasm::Instruction> block, codegen::Isa isa,
                                     const codegen::Variant& variant);
  static Result<NativeBlock> compile(std::span<const tasm::Instruction> block, codegen::Isa isa) {
    return compile(block, isa, variant_of(isa));
  }

  /// Runs `stacks` stacks. columns[c] is the array of cell c, for all cells below max(reach, height), with one word
  /// below p per stack; it is changed in place. failed[i] becomes 1 if stack i fails, else 0. All arrays are disjoint;
  /// alignment to 64 bytes is fastest. Any number of threads may run one block at once.
  void run(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const;

  [[nodiscard]] const Translation& translation() const { return whole_.translation; }
  /// Returns the whole block as one kernel, inversions included.
  [[nodiscard]] trident_entry entry() const { return whole_.mapped.entry(); }

 private:
  struct Part {
    Translation translation;
    image::Mapped mapped;

    static Result<Part> compile(Translation translation, codegen::Isa isa, const codegen::Variant& variant);
    void run(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const;
  };

  explicit NativeBlock(Part whole) : whole_(std::move(whole)) {}
  void run_stages(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const;

  Part whole_;
  std::vector<Part> stages_;  ///< empty for a block without inversions
};

}  // namespace trident::tir::native
