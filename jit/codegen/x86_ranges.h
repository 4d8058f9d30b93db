// Exits that test inputs for ranges (jit/kir/guard.h). A comparison makes a mask, and masks are slow with AVX-512: two
// comparisons and two joins a vector cost more than many a kernel. So the least and the greatest value of all vectors
// of a step are kept instead, as bits, and compared once a step; inputs of one range share them. Floats that are not
// negative are ordered as their bits are, and negative ones and NaN lie above all of them as unsigned integers.
//
// AVX2 has extremes of 32-bit integers only. Those of the upper halves of f64 find negative values and NaN, and decide
// all where the lower half of the greatest end is all ones and that of the least all zeros. Other ends need the
// extremes as floats too; these lose a NaN, which the halves have found. With AVX-512, where halves decide all, those
// of two vectors of f64 are packed into one, which saves a quarter of the instructions.
//
// Where NaN may pass, extremes are those of floats, which lose NaN: vminps and vmaxps give their second operand where
// either is NaN. Both begin as the ends of the range and never become NaN.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

class X86Selector;

class X86Ranges {
 public:
  X86Ranges(X86Selector& selector, std::pmr::memory_resource* arena);

  /// Finds the ranges that the exit tests. None are taken where none can be tested by bits.
  void find();
  [[nodiscard]] bool any() const { return !tests_.empty(); }
  /// Returns whether `v` computes only what is tested by bits.
  [[nodiscard]] bool replaces(std::uint32_t v) const { return of_tests_[v] != 0; }
  /// Begins a body of `copies` copies.
  void begin_body(std::uint32_t copies);
  /// Takes the inputs of this copy into the extremes of the step. Returns the mask of all other tests so far.
  VReg join(VReg holds);
  /// Returns the mask of the lanes in which all vectors of the step stay.
  VReg within(VReg holds);

 private:
  struct Bound {
    enum class Kind : std::uint8_t { least, greatest, size };
    kir::Value input;
    Kind kind;
    std::uint64_t bits;
  };
  /// An input with the least and the greatest of its bits, and those of this step so far.
  struct Test {
    kir::Value input;
    std::optional<std::uint64_t> least{}, greatest{};
    bool by_size = false;   ///< of its absolute value
    bool or_nan = false;    ///< NaN passes
    std::size_t group = 0;  ///< the first test of the same range, which keeps the extremes of all these
    std::array<kir::Value, 2> masks{};
    std::uint8_t mask_count = 0;
    VReg fewest{}, most{};
    VReg least_value{}, greatest_value{};  ///< the same as floats, where halves do not decide
    VReg waiting{};                        ///< an input whose upper halves wait for those of another one
  };
  [[nodiscard]] std::optional<Bound> bound_of(kir::Value v, kir::Op op) const;
  [[nodiscard]] static bool add(std::pmr::vector<Test>& tests, const Bound& bound, kir::Value mask, bool or_nan);
  bool collect_strays(kir::Value v);
  [[nodiscard]] bool takes(const Test& test) const;
  [[nodiscard]] bool by_halves(const Test& test) const;
  [[nodiscard]] bool compares_greatest(const Test& test) const;
  [[nodiscard]] bool compares_least(const Test& test) const;
  [[nodiscard]] static bool has_least(const Test& test);
  void collect(kir::Value v);
  void replace(const Test& test);
  void group_tests();
  [[nodiscard]] bool packs(const Test& test) const;
  void take_pair(Test& group, VReg second);
  VReg compare_pairs(VReg holds);
  VReg compare_halves(VReg extreme, std::uint8_t predicate, std::uint64_t bits);
  VReg bits_of(const Test& test);
  VReg extreme(std::uint32_t id, VReg so_far, VReg value, bool first);
  VReg compare_values(const Test& test, VReg holds);
  void take_number(Test& group, VReg x);
  VReg at_most(VReg a, VReg b);
  VReg compare(VReg extreme, std::uint8_t predicate, std::uint64_t bits);
  VReg both(VReg a, VReg b);

  X86Selector& s_;
  bool packs_ = false;  ///< the body has so many vectors that it pays
  std::pmr::vector<Test> tests_;
  std::pmr::vector<kir::Value> others_;      ///< masks that must hold too
  std::pmr::vector<std::uint8_t> of_tests_;  ///< by kir value
};

}  // namespace trident::codegen
