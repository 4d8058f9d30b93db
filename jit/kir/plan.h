// The plan: Plan::prepare makes it (plan.cpp) and Plan::run walks it (interpreter.cpp).
//
// The scratch of one run, all offsets fixed at preparation:
//
//   | splats: parameters, invariants, epilogue; reductions | tails: one granule per array | slots: one block each |
//
// A splat is one value repeated kBlockGranule times, so that the loops over blocks can read it with index mask 0; the
// sections that run once are evaluated on splats by the same functions as the body. Body values share slots by
// liveness. Input arrays are read where they are; the last body values are written straight to their output arrays. Of
// arrays whose elements are no values (jit/ir/storage.h), each block is widened into a slot, and narrowed out of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/kir/block_ops.h"
#include "jit/kir/reduction.h"
#include "runtime/base/limits.h"

namespace trident::kir {

/// Bytes of one splat, whatever its type.
inline constexpr std::size_t kSplatBytes = kBlockGranule * 8;
/// Scratch that a run takes from the stack.
inline constexpr std::size_t kStackScratchBytes = 48 * 1024;

/// Bases that places refer to: the scratch, the plan's constants, then the input and the output arrays at the block
/// being worked on.
inline constexpr std::uint32_t kScratchBase = 0, kConstantBase = 1, kFirstArrayBase = 2;
inline constexpr std::size_t kBasesMax = kFirstArrayBase + limits::kInputsMax + limits::kOutputsMax;

inline constexpr std::uint32_t kNoTable = 0;  ///< no array has that base

struct Place {
  std::uint32_t base = kScratchBase;
  std::uint32_t offset = 0;  ///< bytes
  bool is_array = false;     ///< else a splat
};

struct Step {
  BlockFn function = nullptr;
  Place d{}, a{}, b{}, c{};
  std::uint64_t last_entry = 0;  ///< Lookup: the table's size less one
  bool is_lookup = false;
  bool is_reduction = false;
  std::uint32_t table_base = kNoTable;  ///< Gather, Strided
};

using ChunkBits = ChunkRun<std::uint64_t>;

struct Reduction {
  Op op = Op::Sum;
  Type type = Type::f32;
  Place partials, chunks;  ///< of the partial results and the ChunkRun of the results so far
  Place result;            ///< a splat
};

struct Fill {
  Type type = Type::f32;
  bool is_count = false;  ///< else parameter number `param`
  std::uint32_t param = 0;
  Place place;
};

struct Store {
  std::uint32_t output = 0;
  std::uint32_t bytes = 0;  ///< of one element
  Place place;
  Storage storage = Storage::own;  ///< of the array
};

struct ArrayPlan {
  std::uint32_t bytes = 0;  ///< of one element; 0: a scalar output, a table, or an input that nothing reads
  std::uint32_t tail = 0;   ///< offset of its granule for the last, incomplete one
};

struct alignas(64) ScratchLine {
  std::byte bytes[64];
};

struct PlanState {
  std::shared_ptr<const PlanState> before;  ///< the pass before, or null
  std::size_t param_count = 0;              ///< those of the call
  std::vector<Step> invariant_steps, body_steps, epilogue_steps;
  std::size_t steps_to_exit = 0;  ///< body steps that make the mask of the exit; no output is written by them
  std::optional<Store> exit;      ///< the place of that mask, and its bytes
  std::optional<Place> decided;   ///< the place of the mask of an exit behind chunks, a splat
  std::vector<Fill> fills;
  std::vector<Reduction> reductions;
  std::vector<Store> block_stores;   ///< body values copied to their array after each block
  std::vector<Store> filled_arrays;  ///< arrays that hold an invariant in every element
  std::vector<Store> scalar_stores;
  std::vector<std::uint32_t> body_outputs;  ///< arrays that get a body value
  std::vector<ArrayPlan> inputs, outputs;
  std::vector<ScratchLine> constants;  ///< splats and tables
  std::size_t block = kBlockGranule;   ///< elements of one block
  std::size_t scratch_bytes = 0;

  mutable std::mutex large_scratch_lock;
  mutable std::vector<ScratchLine> large_scratch;  ///< when scratch_bytes exceeds kStackScratchBytes
};

}  // namespace trident::kir
