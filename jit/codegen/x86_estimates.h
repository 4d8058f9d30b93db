// Roots and quotients by an estimate and one step, whose meaning and error jit/kir/estimates.h states: of 14 bits with
// AVX-512, of 12 with AVX2.
#pragma once

#include <initializer_list>
#include <vector>

#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

class X86Selector;

class X86Estimates {
 public:
  explicit X86Estimates(X86Selector& selector) : s_(selector) {}

  /// Forgets what is shared: another section or copy begins.
  void clear() {
    roots_.clear();
    reciprocals_.clear();
  }
  VReg select(const kir::Inst& inst);

 private:
  // As estimates.h names them.
  struct Root {
    kir::Value of;
    VReg x, y, g, r;
    VReg special;   ///< 14 bits: mask of zeros and infinity
    VReg p;         ///< 12 bits
    VReg doubtful;  ///< 12 bits, once it is asked for
  };
  struct Reciprocal {
    kir::Value of;
    VReg b, y;
    VReg series;  ///< 12 bits: r + r r
    VReg middle;  ///< 14 bits, once it is asked for: the lanes whose divisor is
  };
  Root& root(kir::Value of);
  Reciprocal& reciprocal(kir::Value of);
  VReg select_root14(const kir::Inst& inst);
  VReg select_root12(const kir::Inst& inst);
  VReg select_quotient14(const kir::Inst& inst);
  VReg select_quotient12(const kir::Inst& inst);
  VReg middle14(VReg so_far, VReg value);
  VReg exact_where_doubtful(VReg result, std::initializer_list<VReg> operands, VReg condition, std::uint8_t how);

  X86Selector& s_;
  std::vector<Root> roots_;  ///< of this section and copy
  std::vector<Reciprocal> reciprocals_;
};

}  // namespace trident::codegen
