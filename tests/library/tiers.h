// A function of the language by its interpreter and as machine code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/function/call.h"
#include "jit/pipeline/function.h"

namespace trident::test {

/// A function in a tier: by the interpreter where it has no machine code.
struct Tier {
  std::string name = "interpreted";
  function::Lowered lowered{};
  std::optional<image::Mapped> code{};

  [[nodiscard]] function::Entry entry() const { return code ? code->region_entry() : nullptr; }
  [[nodiscard]] Result<function::Returned> call(const function::Function& f,
                                                const std::vector<function::Argument>& arguments) const {
    constexpr std::uint64_t kBudget = 10'000'000;
    return code ? function::call(f, lowered, entry(), arguments, kBudget)
                : function::call(f, lowered, arguments, kBudget);
  }
};

/// The interpreter, and where it can run machine code that has passed its trials.
std::vector<Tier> tiers(const function::Function& f);

}  // namespace trident::test
