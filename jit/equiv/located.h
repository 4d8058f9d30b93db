// argmin and argmax over the elements of a call: the first NaN, else the first of the least or greatest elements.
//
// An evaluation whose elements lie anywhere in their intervals may find another number than the correct one. Element e
// may be the greatest if its upper end lies above the lower ends of all others, or at that of no earlier one; the
// result's interval holds all such numbers. An element that is beyond its type, or may be, may be infinite. If some
// element may be NaN, any may be found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "jit/equiv/intervals.h"
#include "jit/equiv/lanes.h"

namespace trident::equiv {

/// The first NaN or the first greatest element of those seen.
class FirstGreatest {
 public:
  void add(std::int64_t number, bool is_nan, bool is_greater) {
    if (found_nan_ || (!is_nan && number_ >= 0 && !is_greater)) return;
    number_ = number;
    found_nan_ = is_nan;
  }
  [[nodiscard]] bool leads() const { return number_ >= 0; }
  [[nodiscard]] bool found_nan() const { return found_nan_; }
  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  std::int64_t number_ = -1;  ///< none so far
  bool found_nan_ = false;
};

template <class N>
class Located {
 public:
  explicit Located(bool least = false) : least_(least) {}

  /// Takes lane `i` of a value of `type`, the next element.
  void add(expr::Type type, const Lanes<N>& a, std::size_t i) {
    const auto number = static_cast<std::int64_t>(ends_.size());
    if (!ir::is_float(type)) return add_integer(a, i, number);
    const double s = a.s[i];
    const N& c = a.c[i];
    const bool nan = std::isnan(approximate(c));
    const bool above = strict_.leads() && (least_ ? s < strict_best_ : s > strict_best_);
    strict_.add(number, std::isnan(s), above);
    if (strict_.number() == number) strict_best_ = s;
    correct_.add(number, nan, correct_.leads() && (least_ ? less(c, correct_best_) : less(correct_best_, c)));
    if (correct_.number() == number) correct_best_ = c;
    any_ = any_ || std::isnan(s) != nan || (a.unsure[i] & kMayBeNan) != 0;
    add_ends(around(a, i), (a.unsure[i] & (kOverflows | kMayOverflow)) != 0);
  }

  void finish(Lanes<N>& r) const {
    r.si[0] = strict_.number();
    r.ci[0] = correct_.number();
    r.whole[0] = ends_.empty() || correct_.found_nan() ? Whole{r.ci[0], r.ci[0]} : reached();
    if (any_) r.whole[0] = {0, static_cast<std::int64_t>(ends_.size()) - 1};
    if (!r.whole[0].sure()) r.unsure[0] |= kEitherSide;
  }

 private:
  struct Ends {
    long double lo, hi;  ///< of an element; of its negative where the least is sought
  };

  void add_integer(const Lanes<N>& a, std::size_t i, std::int64_t number) {
    const auto add = [&](FirstGreatest& first, std::int64_t& best, std::int64_t x) {
      first.add(number, false, first.leads() && (least_ ? x < best : x > best));
      if (first.number() == number) best = x;
    };
    add(strict_, strict_integer_, a.si[i]);
    add(correct_, correct_integer_, a.ci[i]);
    const auto lo = static_cast<long double>(a.whole[i].lo), hi = static_cast<long double>(a.whole[i].hi);
    ends_.push_back(least_ ? Ends{-hi, -lo} : Ends{lo, hi});
  }

  void add_ends(const Around& x, bool overflows) {
    constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
    const long double d = x.d >= 0 ? x.d : kInfinity, v = least_ ? -x.v : x.v;
    Ends ends{v - d, v + d};
    if (std::isinf(v)) ends = {v, v};
    if (std::isinf(d)) ends = {-kInfinity, kInfinity};
    if (overflows) (v > 0 ? ends.hi : ends.lo) = std::copysign(kInfinity, v);
    ends_.push_back(ends);
  }

  [[nodiscard]] Whole reached() const {
    long double highest = -std::numeric_limits<long double>::infinity();  // of the lower ends
    for (const Ends& ends : ends_) highest = std::max(highest, ends.lo);
    Whole found{-1, -1};
    bool met = false;  // an earlier lower end is the highest
    for (std::size_t e = 0; e < ends_.size(); ++e) {
      const auto number = static_cast<std::int64_t>(e);
      if (ends_[e].hi > highest || (ends_[e].hi == highest && !met)) found = {found.lo < 0 ? number : found.lo, number};
      met = met || ends_[e].lo == highest;
    }
    return found;
  }

  bool least_;
  bool any_ = false;
  FirstGreatest strict_, correct_;
  double strict_best_ = 0;
  N correct_best_{};
  std::int64_t strict_integer_ = 0, correct_integer_ = 0;
  std::vector<Ends> ends_;
};

}  // namespace trident::equiv
