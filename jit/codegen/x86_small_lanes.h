// Bodies in lanes of one or two bytes (small_lanes.h) on x86-64. AVX2 has no masks for such lanes: what is left of a
// call is done in lanes of four bytes.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include "jit/codegen/mir.h"
#include "jit/codegen/small_lanes.h"

namespace trident::codegen {

class X86Selector;

class X86SmallLanes {
 public:
  X86SmallLanes(X86Selector& selector, std::optional<SmallLanes> plan, std::pmr::memory_resource* arena)
      : s_(selector), plan_(std::move(plan)), values_(arena), constants_(arena), params_(arena) {}

  /// Returns whether there are any.
  [[nodiscard]] bool any() const { return plan_.has_value(); }
  /// Returns the elements of a vector.
  [[nodiscard]] std::uint32_t lanes() const;
  /// Selects `copies` vectors of the body, one after the other; under masks when `masked` (AVX-512 only).
  Block select_body(std::uint32_t copies, bool masked);

 private:
  [[nodiscard]] bool bytes() const { return plan_->bytes == 1; }
  [[nodiscard]] std::uint32_t by_width(std::uint32_t byte_id, std::uint32_t word_id) const {
    return bytes() ? byte_id : word_id;
  }
  void set_lanes();
  void select(kir::Value v);
  VReg reg(kir::Value v);
  VReg leaf(kir::Value v);
  VReg constant(std::uint64_t bits);
  VReg param(std::uint64_t number);
  [[nodiscard]] bool is_constant(kir::Value v, std::uint64_t bits) const;
  VReg load(const kir::Inst& input);
  VReg computed(kir::Op op, const LaneValue& value);
  VReg arithmetic(kir::Op op, const LaneValue& value);
  VReg saturated(const LaneValue& value);
  VReg average_down(VReg a, VReg b);
  VReg shifted(kir::Op op, const LaneValue& value);
  VReg compared(kir::Op op, const LaneValue& value);
  VReg compared_vectors(kir::Op op, bool is_signed, VReg a, VReg b);
  VReg mask_logic(kir::Op op, const LaneValue& value);
  VReg selected(const LaneValue& value);
  [[nodiscard]] std::uint64_t ones() const { return bytes() ? 0xFF : 0xFFFF; }
  void store(std::uint32_t output);
  VReg packed(VReg words);
  VReg tail_mask();

  X86Selector& s_;
  std::optional<SmallLanes> plan_;
  std::pmr::vector<VReg> values_;  ///< of the copy being selected
  bool masked_ = false;
  VReg tail_mask_{};
  struct Global {
    std::uint64_t key;
    VReg vreg;
  };
  std::pmr::vector<Global> constants_;  ///< by their bits
  std::pmr::vector<Global> params_;     ///< by their number
};

}  // namespace trident::codegen
