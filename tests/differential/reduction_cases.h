// Every reduction as a text with its answer, for the tests of their bits. Oracle: plain C++, one element at a time in
// the order of tests/support/reduction_order.h, and searches from the first element to the last.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "jit/expr/expr.h"
#include "tests/support/native_kernel.h"
#include "tests/support/reduction_order.h"

namespace trident::testing {

// --- the oracle ------------------------------------------------------------------------------------------------------

// Arithmetic of C++ on integers would overflow.
template <class T, class Operation>
T wrapping(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(operation(static_cast<Bits>(a), static_cast<Bits>(b)));
  } else {
    return operation(a, b);
  }
}

template <class T>
struct Oracle {
  using Float = std::conditional_t<std::is_floating_point_v<T>, T, double>;  ///< of means
  const std::vector<T>& x;

  template <class U, class Join>
  static U reduced(const std::vector<U>& values, U start, Join join) {
    return reduced_in_order([&](std::size_t i) { return values[i]; }, values.size(), sizeof(U), start, join);
  }
  template <class U>
  static U total(const std::vector<U>& values) {
    return reduced(values, U{0}, [](U a, U b) { return wrapping(a, b, [](auto p, auto q) { return p + q; }); });
  }
  [[nodiscard]] T prod() const {
    return reduced(x, T{1}, [](T a, T b) { return wrapping(a, b, [](auto p, auto q) { return p * q; }); });
  }
  [[nodiscard]] T minof() const {
    using Limits = std::numeric_limits<T>;
    const T start = Limits::has_infinity ? Limits::infinity() : Limits::max();
    return reduced(x, start, [](T earlier, T later) { return later < earlier ? later : earlier; });
  }
  [[nodiscard]] T maxof() const {
    using Limits = std::numeric_limits<T>;
    const T start = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    return reduced(x, start, [](T earlier, T later) { return later > earlier ? later : earlier; });
  }
  [[nodiscard]] std::vector<Float> floats() const { return {x.begin(), x.end()}; }
  [[nodiscard]] Float mean() const { return total(floats()) / static_cast<Float>(x.size()); }
  /// The squared distances from the mean, each rounded twice, added and divided.
  [[nodiscard]] Float var(std::size_t less) const {
    const Float middle = mean();
    std::vector<Float> squares = floats();
    for (Float& value : squares) value = value - middle;
    for (Float& value : squares) value = value * value;
    return total(squares) / static_cast<Float>(x.size() < less ? 0 : x.size() - less);
  }
  [[nodiscard]] std::int64_t any() const {
    return std::any_of(x.begin(), x.end(), [](T value) { return value != 0; }) ? 1 : 0;
  }
  [[nodiscard]] std::int64_t all() const {
    return std::all_of(x.begin(), x.end(), [](T value) { return value != 0; }) ? 1 : 0;
  }
  /// The number of the first element for which `holds`, or that of all elements.
  template <class Holds>
  [[nodiscard]] std::int64_t first_that(Holds holds) const {
    return std::find_if(x.begin(), x.end(), holds) - x.begin();
  }
  template <class Precedes>
  [[nodiscard]] std::int64_t first(Precedes precedes) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != x[i]) return static_cast<std::int64_t>(i);
    std::size_t best = 0;
    for (std::size_t i = 1; i < x.size(); ++i)
      if (precedes(x[i], x[best])) best = i;
    return x.empty() ? -1 : static_cast<std::int64_t>(best);
  }
};

/// A scalar as its bits and its type; any NaN equals any NaN.
struct Answer {
  ir::Type type = ir::Type::f32;
  std::uint64_t bits = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

template <class T>
constexpr ir::Type type_of() {
  if (std::is_same_v<T, float>) return ir::Type::f32;
  if (std::is_same_v<T, double>) return ir::Type::f64;
  return sizeof(T) == 4 ? ir::Type::i32 : ir::Type::i64;
}

template <class T>
Answer answer(T value) {
  if (value != value) value = std::numeric_limits<T>::quiet_NaN();
  Answer made{type_of<T>(), 0};
  std::memcpy(&made.bits, &value, sizeof value);
  return made;
}

inline Answer answer_of(ir::Type type, std::uint64_t bits) {
  if (type == ir::Type::f32) return answer(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == ir::Type::f64) return answer(std::bit_cast<double>(bits));
  return {type, bits};
}

template <class T>
struct Case {
  const char* text;
  Answer (*answer)(const Oracle<T>&);
};

template <class T>
std::vector<Case<T>> cases() {
  using O = const Oracle<T>&;
  return {{"sum(x)", [](O o) { return answer(o.total(o.x)); }},
          {"prod(x)", [](O o) { return answer(o.prod()); }},
          {"minof(x)", [](O o) { return answer(o.minof()); }},
          {"maxof(x)", [](O o) { return answer(o.maxof()); }},
          {"mean(x)", [](O o) { return answer(o.mean()); }},
          {"var(x)", [](O o) { return answer(o.var(0)); }},
          {"var(x, 1)", [](O o) { return answer(o.var(1)); }},
          {"std(x)", [](O o) { return answer(std::sqrt(o.var(0))); }},
          {"std(x, 2)", [](O o) { return answer(std::sqrt(o.var(2))); }},
          {"i64(any(x))", [](O o) { return answer(o.any()); }},
          {"i64(all(x))", [](O o) { return answer(o.all()); }},
          {"first(x)", [](O o) { return answer(o.first_that([](T v) { return v != 0; })); }},
          {"first(x > 2)", [](O o) { return answer(o.first_that([](T v) { return v > 2; })); }},
          {"first(x != x)", [](O o) { return answer(o.first_that([](T v) { return v != v; })); }},
          {"argmin(x)", [](O o) { return answer(o.first([](T a, T b) { return a < b; })); }},
          {"argmax(x)", [](O o) { return answer(o.first([](T a, T b) { return a > b; })); }}};
}

// --- data ------------------------------------------------------------------------------------------------------------

enum class Pattern { plain, special, equal, zeros };
inline constexpr Pattern kPatterns[] = {Pattern::plain, Pattern::special, Pattern::equal, Pattern::zeros};

template <class T>
T drawn(Pattern pattern, Random& random) {
  constexpr bool kFloats = std::is_floating_point_v<T>;
  if (pattern == Pattern::zeros) return kFloats && random.below(2) == 0 ? -T{0} : T{0};
  if (pattern == Pattern::equal) return static_cast<T>(static_cast<int>(random.below(7)) - 3);
  if constexpr (!kFloats) {
    return static_cast<T>(random.next());
  } else {
    using Limits = std::numeric_limits<T>;
    const T special[] = {Limits::quiet_NaN(),  Limits::infinity(), -Limits::infinity(), -T{0},
                         Limits::denorm_min(), Limits::max()};
    if (pattern == Pattern::special && random.below(500) == 0) return special[random.below(6)];
    return static_cast<T>(1 + (static_cast<double>(random.below(2'000'001)) - 1e6) * 1e-8);  // products stay finite
  }
}

template <class T>
std::vector<T> values_of(Pattern pattern, std::size_t n) {
  Random random(n + 17 * static_cast<std::uint64_t>(pattern) + sizeof(T));
  std::vector<T> values(n);
  for (T& value : values) value = drawn<T>(pattern, random);
  return values;
}

// --- calls -----------------------------------------------------------------------------------------------------------

inline kir::Kernel reduction_kernel(const std::string& text, ir::Type type) {
  expr::Variable x;
  x.name = "x", x.type = type;
  const auto parsed = expr::parse(text, {.type = ir::is_int(type) ? ir::Type::f64 : type, .variables = {x}});
  CHECK(parsed.ok());
  auto kernel = expr::lower(*parsed, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

template <class T>
std::uint64_t bits_by(const Run& run, const T* x, std::size_t n) {
  std::uint64_t bits = 0;
  const void* const in[] = {x};
  void* const out[] = {&bits};
  run(n, in, out, nullptr);
  return bits;
}

}  // namespace trident::testing
