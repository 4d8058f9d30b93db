// Roots by an estimate and one step, whose meaning and error jit/kir/estimates.h states: for AVX-512 only.
#pragma once

#include <memory_resource>
#include <vector>

#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

class X86Selector;

class X86Roots {
 public:
  explicit X86Roots(X86Selector& selector) : s_(selector) {}

  /// Forgets what is shared: another section or copy begins.
  void clear() { steps_.clear(); }
  VReg select(const kir::Inst& inst);

 private:
  struct Step {
    kir::Value of;
    VReg x, y, g, r, special;  ///< as estimates.h names them; mask of zeros and infinity
  };
  Step step(kir::Value of);

  X86Selector& s_;
  std::vector<Step> steps_;  ///< of this section and copy
};

}  // namespace trident::codegen
