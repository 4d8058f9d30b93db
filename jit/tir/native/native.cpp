#include "jit/tir/native/native.h"

#include <algorithm>
#include <array>
#include <memory>

#include "runtime/base/limits.h"
#include "runtime/field/element.h"
#include "runtime/field/inverses.h"
#include "runtime/os/cpu.h"

namespace trident::tir::native {

namespace {

/// Least number of stacks for stages; fewer are inverted faster one by one.
constexpr std::uint64_t kStagedMin = 16;
/// Number of stacks that go through all stages together: their columns stay in the nearest cache.
constexpr std::uint64_t kChunk = 1024;

/// Marks stacks whose word is not in [1, p) as failed and puts 1 in its place, so that the common product is not 0.
void fail_where_not_invertible(std::uint64_t* words, std::uint64_t* failed, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t fails = words[i] - 1 < field::kModulus - 1 ? 0 : 1;
    failed[i] |= fails;
    words[i] = fails != 0 ? 1 : words[i];
  }
}

}  // namespace

Result<codegen::Isa> best_isa() {
  if (os::cpu_features().avx512) return codegen::Isa::avx512;
  if (os::cpu_features().avx2_fma) return codegen::Isa::avx2;
  return make_error(ErrorCode::kUnsupported, "this processor has no instruction set that blocks are compiled for");
}

Result<NativeBlock::Part> NativeBlock::Part::compile(Translation translation, codegen::Isa isa,
                                                     const codegen::Variant& variant) {
  TRY(const codegen::MachineCode code, codegen::emit(translation.kernel, isa, variant));
  const image::ImageBytes bytes =
      image::build(code, image::counts_of(translation.kernel), isa, TRIDENT_TIER_BASELINE, {});
  TRY(const os::Fd file, image::seal(bytes));
  TRY(image::Mapped mapped, image::Mapped::map(file));
  return Part{std::move(translation), std::move(mapped)};
}

void NativeBlock::Part::run(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const {
  std::array<const void*, limits::kInputsMax> in;
  std::array<void*, limits::kOutputsMax> out;
  const Translation& t = translation;
  for (std::size_t i = 0; i < t.reads.size(); ++i) in[i] = t.reads[i] == kFailedBefore ? failed : columns[t.reads[i]];
  for (std::size_t o = 0; o < t.writes.size(); ++o) out[o] = columns[t.writes[o]];
  out[t.writes.size()] = failed;
  mapped.entry()(nullptr, stacks, in.data(), out.data(), nullptr);
}

Result<NativeBlock> NativeBlock::compile(std::span<const tasm::Instruction> block, codegen::Isa isa,
                                         const codegen::Variant& variant) {
  const Target target = isa == codegen::Isa::avx512 ? Target::avx512 : Target::any;
  TRY(Translation translation, translate(block, target));
  TRY(Part whole, Part::compile(std::move(translation), isa, variant));
  NativeBlock native(std::move(whole));
  auto stages = translate_stages(block, target);
  if (!stages.ok() && stages.error().code == ErrorCode::kLimitExceeded) return native;
  if (!stages.ok()) return stages.error();
  for (Translation& stage : *stages) {
    TRY(Part part, Part::compile(std::move(stage), isa, variant));
    native.stages_.push_back(std::move(part));
  }
  return native;
}

void NativeBlock::run(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const {
  if (!stages_.empty() && stacks >= kStagedMin) return run_stages(stacks, columns, failed);
  whole_.run(stacks, columns, failed);
}

void NativeBlock::run_stages(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const {
  const std::size_t own = std::max(translation().reach, translation().height);
  std::size_t cells = own;
  for (const Part& stage : stages_) cells = std::max<std::size_t>(cells, stage.translation.height);
  // Columns of cells that exist only in stages, and memory for the inversion.
  const auto scratch = std::make_unique_for_overwrite<std::uint64_t[]>((cells - own) * kChunk + 2 * kChunk + 64);
  std::vector<std::uint64_t*> at(cells);
  for (std::uint64_t from = 0; from < stacks; from += kChunk) {
    const std::uint64_t count = std::min<std::uint64_t>(kChunk, stacks - from);
    for (std::size_t cell = 0; cell < cells; ++cell)
      at[cell] = cell < own ? columns[cell] + from : scratch.get() + (cell - own) * kChunk;
    for (const Part& stage : stages_) {
      stage.run(count, at.data(), failed + from);
      if (&stage == &stages_.back()) continue;
      std::uint64_t* const words = at[stage.translation.height - 1];
      fail_where_not_invertible(words, failed + from, count);
      field::invert_nonzero(words, count, scratch.get() + (cells - own) * kChunk);
    }
  }
}

}  // namespace trident::tir::native
