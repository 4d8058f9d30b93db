// The layout of a set of points: columns of values, and the calls that the points come in.
#pragma once

#include "jit/equiv/samples.h"

namespace trident::equiv {

class SetLayout {
 public:
  explicit SetLayout(const expr::Expr& expr);

  [[nodiscard]] bool has_tables() const { return has_tables_; }
  /// Returns whether what a kernel does with an element depends on nothing else of the call.
  [[nodiscard]] bool elementwise() const { return !has_scalars_ && !has_reductions_ && !has_tables_ && !has_numbers_; }

  /// Makes a set of `n` points, all zero, without calls.
  Samples empty(const char* name, std::uint64_t n) const;
  void put(Samples& s, std::uint64_t index, std::size_t variable, Bits bits) const;
  [[nodiscard]] Bits get(const Samples& s, std::uint64_t index, std::size_t variable) const;
  [[nodiscard]] Point point(const Samples& s, std::uint64_t index) const;

  /// Splits a set into calls: of many lengths where reductions make it matter; equal where only parameters vary.
  void split(Samples& s) const;
  /// Makes a set of these points (at least one), padded to a multiple of 64 with repeats. Makes calls of
  /// `call_elements`, or of one and then 32, where parameters or reductions make length matter.
  Samples packed(const char* name, std::vector<Point>& points, std::uint64_t call_elements = 32) const;

 private:
  void hold_scalars(Samples& s, const Call& call) const;

  const expr::Expr& expr_;
  bool has_scalars_ = false;
  bool has_reductions_ = false;
  bool has_tables_ = false;
  bool has_numbers_ = false;  ///< elements' own numbers count
};

}  // namespace trident::equiv
