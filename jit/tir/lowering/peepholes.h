// Shortens straight-line pieces of any program soundly; each pass is a row of peepholes.def. From every state the
// shorter piece ends as the longer one does, failures included, though it may fail earlier.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "jit/tir/tasm/program.h"

namespace trident::tir::lowering {

enum class Pass : std::uint8_t {
#define X(name, meaning) name,
#include "jit/tir/lowering/peepholes.def"
#undef X
};
inline constexpr std::size_t kPassCount =
#define X(...) 1 +
#include "jit/tir/lowering/peepholes.def"
#undef X
    0;

std::string_view name_of(Pass pass);
std::string_view meaning_of(Pass pass);
std::optional<Pass> pass_named(std::string_view name);

class PassSet {
 public:
  static PassSet all() { return PassSet(~std::bitset<kPassCount>()); }
  static PassSet none() { return PassSet({}); }
  static PassSet only(Pass pass) { return none().with(pass); }
  [[nodiscard]] PassSet with(Pass pass) const {
    PassSet out = *this;
    out.set_.set(static_cast<std::size_t>(pass));
    return out;
  }
  [[nodiscard]] bool has(Pass pass) const { return set_[static_cast<std::size_t>(pass)]; }

 private:
  explicit PassSet(std::bitset<kPassCount> set) : set_(set) {}
  std::bitset<kPassCount> set_;
};

/// Applies the passes to every straight-line piece until none finds anything.
tasm::Program peephole(const tasm::Program& program, PassSet passes = PassSet::all());
std::vector<tasm::Instruction> peephole(std::span<const tasm::Instruction> piece, PassSet passes = PassSet::all());

}  // namespace trident::tir::lowering
