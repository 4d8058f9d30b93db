#include "jit/expr/functions.h"

#include <algorithm>
#include <array>
#include <string>

#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr Function kFunctions[] = {
#define X(id, Name, text, ...) {text, Form::Op, Op::Name},
#include "jit/expr/ops.def"
#undef X
#define A(name, target) {#name, Form::Op, Op::target},
#define C(name, target) {#name, Form::target, Op::Constant},
#include "jit/expr/functions.def"
#undef A
#undef C
};
constexpr std::size_t kFunctionCount = std::size(kFunctions);

// Leaves and conversions have ops but no function of that name.
constexpr bool callable(const Function& f) {
  const Signature signature = info(f.op).signature;
  return f.form != Form::Op || (signature != Signature::Leaf && signature != Signature::Convert);
}

struct Foreign {
  std::string_view name, cure;
};
constexpr Foreign kForeign[] = {
#define W(name, text) {#name, "write " text},
#define S(name, sentence) {#name, sentence},
#include "jit/expr/foreign_functions.def"
#undef W
#undef S
};

constexpr std::size_t kSlots = 512;
static_assert(kFunctionCount * 2 <= kSlots);

constexpr auto kIndex = [] {
  std::array<std::uint8_t, kSlots> slots{};
  static_assert(kFunctionCount < 255);
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    if (!callable(kFunctions[i])) continue;
    std::size_t slot = hash_name(kFunctions[i].name) % kSlots;
    while (slots[slot] != 0) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<std::uint8_t>(i + 1);
  }
  return slots;
}();

std::size_t edits(std::string_view a, std::string_view b) {
  std::array<std::size_t, limits::kNameBytesMax + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const Function* find_function(std::string_view name, std::uint32_t hash) {
  for (std::size_t slot = hash % kSlots; kIndex[slot] != 0; slot = (slot + 1) % kSlots) {
    const Function& f = kFunctions[kIndex[slot] - 1];
    if (f.name == name) return &f;
  }
  return nullptr;
}

/// Returns the function name with the fewest edits from `name` (at most a third of it); empty when none is near.
static std::string_view nearest_function(std::string_view name) {
  if (name.size() > 32) return {};
  std::string_view best;
  std::size_t best_edits = name.size() / 3 + 1;
  for (const Function& f : kFunctions) {
    if (!callable(f) || f.form == Form::Missing) continue;
    const std::size_t distance = edits(name, f.name);
    if (distance < best_edits) {
      best_edits = distance;
      best = f.name;
    }
  }
  return best;
}

std::string unknown_function(std::string_view name) {
  std::string said = "unknown function '" + std::string(name.substr(0, 60)) + "'";
  const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
  const std::string_view word = name.substr(0, digits), rest = name.substr(digits);
  constexpr std::string_view kWords[] = {"i", "u", "f", "int", "uint", "float", "bool"};
  const bool is_number = rest.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_number && std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords))
    return said + "; a cast names " + kElementNames;
  const auto foreign = std::ranges::find(kForeign, name, &Foreign::name);
  if (foreign != std::end(kForeign)) return said + "; " + std::string(foreign->cure);
  const std::string_view near = nearest_function(name);
  return near.empty() ? said : said + "; did you mean '" + std::string(near) + "'?";
}

std::uint32_t arity_of(const Function& function) {
  switch (function.form) {
    case Form::Op: return info(function.op).arity;
    case Form::Clamp: return 3;
    case Form::Fdim:
    case Form::Remainder: return 2;
    case Form::Square:
    case Form::IsNan:
    case Form::IsInf:
    case Form::IsFinite:
    case Form::IsNormal:
    case Form::SignBit:
    case Form::Any:
    case Form::All:
    case Form::First:
    case Form::Var:
    case Form::Std:
    case Form::Missing: return 1;
  }
  CHECK(false);
}

}  // namespace trident::expr
