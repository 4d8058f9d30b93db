// Compiled three times on x86-64 (see cmake/levels.cmake): portable (SSE2), -DTRIDENT_LEVEL_AVX2 and
// -DTRIDENT_LEVEL_AVX512 with the flags of these sets; once elsewhere (NEON on AArch64). Everything here has internal
// linkage, and xsimd's namespace is renamed per level, so that no inline function compiled for one level can be linked
// into another.
//
// xsimd serves for ops that it computes exactly on every level. For the others (fma on AVX-512 and SSE2, rounding on
// SSE2 and NEON, division and roots on NEON, conversions out of range, shifts by vectors), `lanes` applies a scalar
// function to each lane, which the compiler turns into vector instructions where the level has them.
#include "jit/kir/block_ops.h"

#if defined(TRIDENT_LEVEL_AVX512)
#define xsimd xsimd_kir_avx512
#elif defined(TRIDENT_LEVEL_AVX2)
#define xsimd xsimd_kir_avx2
#else
#define xsimd xsimd_kir_portable
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "jit/kir/estimates.h"
#include "jit/kir/reduction.h"

namespace trident::kir {

namespace {

#if defined(TRIDENT_LEVEL_AVX512)
using Arch = xsimd::avx512bw;
#elif defined(TRIDENT_LEVEL_AVX2)
using Arch = xsimd::fma3<xsimd::avx2>;
#elif defined(__aarch64__)
using Arch = xsimd::neon64;
#else
using Arch = xsimd::sse2;
#define TRIDENT_LEVEL_SSE2
#endif

template <class T>
using V = xsimd::batch<T, Arch>;
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <class T>
using UnsignedOf = std::make_unsigned_t<IntOf<T>>;

template <class T>
V<T> load(const void* array, std::size_t i) {
  return V<T>::load_unaligned(static_cast<const T*>(array) + i);
}

template <class T>
void store(const V<T>& v, void* array, std::size_t i) {
  v.store_unaligned(static_cast<T*>(array) + i);
}

// --- loops over blocks ---

template <class T, class F>
void map1(BlockArgs x, F f) {
  for (std::size_t i = 0; i < x.n; i += V<T>::size) store<T>(f(load<T>(x.a, i & x.a_mask)), x.d, i);
}

template <class T, class F>
void map2(BlockArgs x, F f) {
  for (std::size_t i = 0; i < x.n; i += V<T>::size)
    store<T>(f(load<T>(x.a, i & x.a_mask), load<T>(x.b, i & x.b_mask)), x.d, i);
}

template <class T, class F>
void map3(BlockArgs x, F f) {
  for (std::size_t i = 0; i < x.n; i += V<T>::size)
    store<T>(f(load<T>(x.a, i & x.a_mask), load<T>(x.b, i & x.b_mask), load<T>(x.c, i & x.c_mask)), x.d, i);
}

template <class T>
struct LaneArray {
  alignas(64) T lane[V<T>::size];
  LaneArray() = default;
  explicit LaneArray(const V<T>& v) { v.store_aligned(lane); }
};

/// Applies a scalar function lane by lane.
template <class T, class F, class... Vs>
V<T> lanes(F f, const Vs&... vs) {
  const auto each = [&](const auto&... arrays) {
    LaneArray<T> out;
    for (std::size_t j = 0; j < V<T>::size; ++j) out.lane[j] = f(arrays.lane[j]...);
    return V<T>::load_aligned(out.lane);
  };
  return each(LaneArray<T>(vs)...);
}

/// Converts between types of any widths by a scalar function.
template <class To, class From, class F>
void convert_each(BlockArgs x, F f) {
  auto* d = static_cast<To*>(x.d);
  const auto* a = static_cast<const From*>(x.a);
  if (x.a_mask == 0) {
    const To value = f(a[0]);
    for (std::size_t i = 0; i < x.n; ++i) d[i] = value;
    return;
  }
  for (std::size_t i = 0; i < x.n; ++i) d[i] = f(a[i]);
}

/// Joins elements with their partial results: f(partial, a), or f(partial, a, b) for an op of two operands.
template <class T, class F>
void reduce(BlockArgs x, F f) {
  const auto join = [&](const V<T>& partial, std::size_t at, auto operand) {
    if constexpr (std::is_invocable_v<F, const V<T>&, const V<T>&, const V<T>&>)
      return f(partial, operand(x.a, at & x.a_mask), operand(x.b, at & x.b_mask));
    else
      return f(partial, operand(x.a, at & x.a_mask));
  };
  const auto vector = [](const void* from, std::size_t at) { return load<T>(from, at); };
  const auto element = [](const void* from, std::size_t at) { return V<T>(static_cast<const T*>(from)[at]); };
  auto* partials = static_cast<T*>(x.d);
  constexpr std::size_t kRow = kPartialBytes / sizeof(T), kSize = V<T>::size;
  const std::size_t whole = x.n / kSize * kSize;
  std::size_t i = 0, at = x.first % kRow;
  const auto vectors_to = [&](std::size_t end) {
    for (; i < end; i += kSize, at = (at + kSize) % kRow)
      store<T>(join(load<T>(partials, at), i, vector), partials, at);
  };
  vectors_to(std::min(whole, (kRow - at) % kRow));
  if (i + kRow <= whole) {
    V<T> sums[kRow / kSize];
    for (std::size_t j = 0; j < kRow / kSize; ++j) sums[j] = load<T>(partials, j * kSize);
    for (; i + kRow <= whole; i += kRow)
      for (std::size_t j = 0; j < kRow / kSize; ++j) sums[j] = join(sums[j], i + j * kSize, vector);
    for (std::size_t j = 0; j < kRow / kSize; ++j) store<T>(sums[j], partials, j * kSize);
  }
  vectors_to(whole);
  for (; i < x.n; ++i, ++at) partials[at] = LaneArray<T>(join(V<T>(partials[at]), i, element)).lane[0];
}

// --- ops on vectors ---

template <class T>
V<T> product(const V<T>& a, const V<T>& b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return lanes<T>([](T p, T q) { return static_cast<T>(UnsignedOf<T>(p) * UnsignedOf<T>(q)); }, a, b);
}

template <class T>
V<T> least(const V<T>& a, const V<T>& b) {
  return xsimd::select(a < b, a, b);
}

template <class T>
V<T> greatest(const V<T>& a, const V<T>& b) {
  return xsimd::select(b < a, a, b);
}

template <class T>
V<T> fused(const V<T>& a, const V<T>& b, const V<T>& c) {
#if defined(TRIDENT_LEVEL_AVX2) || defined(__aarch64__)
  return xsimd::fma(a, b, c);
#else
  // xsimd's AVX-512 form rounds twice, SSE2 has no form; the C library's is exact.
  return lanes<T>(
      [](T x, T y, T z) {
        if constexpr (sizeof(T) == 4)
          return __builtin_fmaf(x, y, z);
        else
          return __builtin_fma(x, y, z);
      },
      a, b, c);
#endif
}

template <class T>
V<T> quotient(const V<T>& a, const V<T>& b) {
#ifdef __aarch64__
  return lanes<T>([](T x, T y) { return x / y; }, a, b);  // xsimd's f32 form is a Newton iteration
#else
  return a / b;
#endif
}

template <class T>
V<T> root(const V<T>& a) {
#ifdef __aarch64__
  return lanes<T>([](T x) -> T { return std::sqrt(x); }, a);  // likewise
#else
  return xsimd::sqrt(a);
#endif
}

template <class T>
V<T> negated(const V<T>& a) {
  const V<IntOf<T>> sign(std::numeric_limits<IntOf<T>>::min());
  return xsimd::bitwise_cast<V<T>>(xsimd::bitwise_cast<V<IntOf<T>>>(a) ^ sign);
}

enum class Rounding { even, down, up, zero };

template <class T, Rounding kRounding>
V<T> rounded(const V<T>& a) {
#if defined(TRIDENT_LEVEL_SSE2) || defined(__aarch64__)
  return lanes<T>(
      [](T x) -> T {
        if constexpr (kRounding == Rounding::even) return std::nearbyint(x);
        if constexpr (kRounding == Rounding::down) return std::floor(x);
        if constexpr (kRounding == Rounding::up) return std::ceil(x);
        return std::trunc(x);
      },
      a);
#else
  if constexpr (kRounding == Rounding::even) return xsimd::nearbyint(a);
  if constexpr (kRounding == Rounding::down) return xsimd::floor(a);
  if constexpr (kRounding == Rounding::up) return xsimd::ceil(a);
  return xsimd::trunc(a);
#endif
}

/// Computes a * 2^b in two steps, as in lane.cpp; only the second may round.
template <class T>
V<T> scaled(const V<T>& a, const V<T>& b) {
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr int kBias = sizeof(T) == 4 ? 127 : 1023;
  constexpr T kLow = T(5 - kBias), kHigh = T(kBias - 4);
  const auto power_of_two = [](const V<T>& k) {
    // k + bias + 1.5 * 2^mantissa has k + bias in its low bits.
    constexpr T kMagic = T(std::int64_t{3} << (kMantissa - 1)) + T(kBias);
    return xsimd::bitwise_cast<V<T>>(xsimd::bitwise_cast<V<IntOf<T>>>(k + V<T>(kMagic)) << kMantissa);
  };
  const V<T> whole = least(greatest(b, V<T>(kLow - T(kBias - 1))), V<T>(kHigh + T(kBias)));
  const V<T> first = least(greatest(whole, V<T>(kLow)), V<T>(kHigh));
  const V<T> product = a * power_of_two(first) * power_of_two(whole - first);
  return xsimd::select(b == b, product, b);
}

template <class T, class From>
T truncated(From value) {
  constexpr From kEnd = From(UnsignedOf<T>{1} << (sizeof(T) * 8 - 1));
  constexpr T kLeast = std::numeric_limits<T>::min();
  // NaN fails the comparison. A value below -kEnd either truncates to the least integer anyway or does not fit.
  const bool fits = value >= -kEnd && value < kEnd;
  const T whole = static_cast<T>(fits ? value : From(0));
  return fits ? whole : kLeast;
}

// --- the tables ---

template <class T>
BlockFn float_fn(Op op) {
  // clang-format off
#define TRIDENT_MAP1(expression) return [](const BlockArgs& x) { map1<T>(x, [](const V<T>& a) { return expression; }); }
#define TRIDENT_MAP2(expression) \
  return [](const BlockArgs& x) { map2<T>(x, [](const V<T>& a, const V<T>& b) { return expression; }); }
#define TRIDENT_MAP3(expression) \
  return [](const BlockArgs& x) { map3<T>(x, [](const V<T>& a, const V<T>& b, const V<T>& c) { return expression; }); }
  if (op == Op::Add) TRIDENT_MAP2(a + b);
  if (op == Op::Sub) TRIDENT_MAP2(a - b);
  if (op == Op::Mul) TRIDENT_MAP2(product<T>(a, b));
  if (op == Op::Div) TRIDENT_MAP2(quotient<T>(a, b));
  if (op == Op::Neg) TRIDENT_MAP1(negated<T>(a));
  if (op == Op::Abs) TRIDENT_MAP1(xsimd::bitwise_cast<V<T>>(
      xsimd::bitwise_cast<V<IntOf<T>>>(a) & V<IntOf<T>>(std::numeric_limits<IntOf<T>>::max())));
  if (op == Op::Min) TRIDENT_MAP2(least<T>(a, b));
  if (op == Op::Max) TRIDENT_MAP2(greatest<T>(a, b));
  if (op == Op::Sqrt) TRIDENT_MAP1(root<T>(a));
  if (op == Op::Fma) TRIDENT_MAP3(fused<T>(a, b, c));
  if (op == Op::Fms) TRIDENT_MAP3(fused<T>(a, b, negated<T>(c)));
  if (op == Op::Fnma) TRIDENT_MAP3(fused<T>(negated<T>(a), b, c));
  if (op == Op::Fnms) TRIDENT_MAP3(fused<T>(negated<T>(a), b, negated<T>(c)));
  if (op == Op::Rint) TRIDENT_MAP1((rounded<T, Rounding::even>(a)));
  if (op == Op::Floor) TRIDENT_MAP1((rounded<T, Rounding::down>(a)));
  if (op == Op::Ceil) TRIDENT_MAP1((rounded<T, Rounding::up>(a)));
  if (op == Op::Trunc) TRIDENT_MAP1((rounded<T, Rounding::zero>(a)));
  if (op == Op::Scalef) TRIDENT_MAP2(scaled<T>(a, b));
  if constexpr (sizeof(T) == 4) {
    if (op == Op::Sqrt14) TRIDENT_MAP1(lanes<T>(sqrt14, a));
    if (op == Op::Rsqrt14) TRIDENT_MAP1(lanes<T>(rsqrt14, a));
    if (op == Op::Div14) TRIDENT_MAP2(lanes<T>(div14, a, b));
    if (op == Op::Sqrt12) TRIDENT_MAP1(lanes<T>(sqrt12, a));
    if (op == Op::Rsqrt12) TRIDENT_MAP1(lanes<T>(rsqrt12, a));
    if (op == Op::Div12) TRIDENT_MAP2(lanes<T>(div12, a, b));
  }
  // clang-format on
  return nullptr;
}

template <class T>
BlockFn int_fn(Op op) {
  // clang-format off
  using U = UnsignedOf<T>;
  constexpr U kWidth = sizeof(T) * 8;
  if (op == Op::Add) TRIDENT_MAP2(a + b);
  if (op == Op::Sub) TRIDENT_MAP2(a - b);
  if (op == Op::Mul) TRIDENT_MAP2(product<T>(a, b));
  if (op == Op::Neg) TRIDENT_MAP1(V<T>(T{0}) - a);
  if (op == Op::Abs) TRIDENT_MAP1(xsimd::select(a < V<T>(T{0}), V<T>(T{0}) - a, a));
  if (op == Op::Min) TRIDENT_MAP2(least<T>(a, b));
  if (op == Op::Max) TRIDENT_MAP2(greatest<T>(a, b));
  if (op == Op::And) TRIDENT_MAP2(a & b);
  if (op == Op::Or) TRIDENT_MAP2(a | b);
  if (op == Op::Xor) TRIDENT_MAP2(a ^ b);
  if (op == Op::Not) TRIDENT_MAP1(a ^ V<T>(T{-1}));
  if (op == Op::AndNot) TRIDENT_MAP2((a ^ V<T>(T{-1})) & b);
  if (op == Op::Shl) TRIDENT_MAP2(lanes<T>([](T p, T q) {
    const U shifted = U(p) << (U(q) % kWidth);
    return static_cast<T>(U(q) < kWidth ? shifted : U{0});
  }, a, b));
  if (op == Op::Shr) TRIDENT_MAP2(lanes<T>([](T p, T q) {
    const U shifted = U(p) >> (U(q) % kWidth);
    return static_cast<T>(U(q) < kWidth ? shifted : U{0});
  }, a, b));
  if (op == Op::Sar) TRIDENT_MAP2(lanes<T>([](T p, T q) {
    return static_cast<T>(p >> (U(q) < kWidth ? U(q) : kWidth - 1));
  }, a, b));
  // clang-format on
  return nullptr;
}

#undef TRIDENT_MAP1
#undef TRIDENT_MAP2
#undef TRIDENT_MAP3

template <class T, class F>
void compare_block(BlockArgs x, F compare) {
  const V<T> ones = xsimd::bitwise_cast<V<T>>(V<IntOf<T>>(IntOf<T>{-1}));
  for (std::size_t i = 0; i < x.n; i += V<T>::size) {
    const auto holds = compare(load<T>(x.a, i & x.a_mask), load<T>(x.b, i & x.b_mask));
    store<T>(xsimd::select(holds, ones, V<T>(T{0})), x.d, i);
  }
}

template <class T>
BlockFn compare_fn(Op op) {
  // clang-format off
#define TRIDENT_COMPARE(expression) \
  return [](const BlockArgs& x) { compare_block<T>(x, [](const V<T>& a, const V<T>& b) { return expression; }); }
  if (op == Op::Lt) TRIDENT_COMPARE(a < b);
  if (op == Op::Le) TRIDENT_COMPARE(a <= b);
  if (op == Op::Eq) TRIDENT_COMPARE(a == b);
  if (op == Op::Ne) TRIDENT_COMPARE(!(a == b));
#undef TRIDENT_COMPARE
  // clang-format on
  return nullptr;
}

template <class I>
void select_block(const BlockArgs& x) {
  map3<I>(x, [](const V<I>& a, const V<I>& b, const V<I>& c) { return xsimd::select(a == V<I>(I{0}), c, b); });
}

template <class I>
void copy_block(const BlockArgs& x) {
  map1<I>(x, [](const V<I>& a) { return a; });
}

template <class I>
void lookup_block(const BlockArgs& args) {
  const BlockArgs x = args;
  auto* d = static_cast<I*>(x.d);
  const auto* a = static_cast<const I*>(x.a);
  const auto* table = static_cast<const I*>(x.b);
  for (std::size_t i = 0; i < x.n; ++i) d[i] = table[static_cast<std::size_t>(a[i & x.a_mask]) & x.b_mask];
}

// --- reading tables --------------------------------------------------------------------------------------------------

template <class I>
void index_block(const BlockArgs& args) {
  const BlockArgs x = args;
  auto* d = static_cast<UnsignedOf<I>*>(x.d);
  for (std::size_t i = 0; i < x.n; ++i) d[i] = static_cast<UnsignedOf<I>>(x.first + i);
}

/// Elements move as integers of their width: no NaN changes on the way.
template <class T>
T element(const BlockArgs& x, std::uint64_t length, std::int64_t number) {
  return static_cast<std::uint64_t>(number) < length ? static_cast<const T*>(x.table)[number] : T{0};
}

std::uint64_t length_of(const BlockArgs& x) {
  const std::int64_t length = *static_cast<const std::int64_t*>(x.c);
  return length > 0 ? static_cast<std::uint64_t>(length) : 0;
}

template <class T, class I>
void gather_block(const BlockArgs& args) {
  const BlockArgs x = args;
  const std::uint64_t length = length_of(x);
  auto* d = static_cast<T*>(x.d);
  const auto* a = static_cast<const I*>(x.a);
  for (std::size_t i = 0; i < x.n; ++i) d[i] = element<T>(x, length, a[i & x.a_mask]);
}

template <class T>
void strided_block(const BlockArgs& args) {
  const BlockArgs x = args;
  const std::uint64_t length = length_of(x);
  const auto stride = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(x.a));
  const auto offset = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(x.b));
  auto* d = static_cast<T*>(x.d);
  for (std::size_t i = 0; i < x.n; ++i)
    d[i] = element<T>(x, length, static_cast<std::int64_t>(stride * (x.first + i) + offset));
}

template <class T>
BlockFn read_fn(Op op, Type operand) {
  if (op == Op::Strided) return strided_block<T>;
  return operand == Type::i32 ? gather_block<T, std::int32_t> : gather_block<T, std::int64_t>;
}

template <class From, class To>
BlockFn convert_number_fn() {
  return [](const BlockArgs& x) {
    convert_each<To, From>(x, [](From v) {
      if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>)
        return truncated<To>(v);
      else
        return static_cast<To>(v);
    });
  };
}

template <class From>
BlockFn convert_fn_from(Type to) {
  if (to == Type::f32) return convert_number_fn<From, float>();
  if (to == Type::f64) return convert_number_fn<From, double>();
  if (to == Type::i32) return convert_number_fn<From, std::int32_t>();
  return convert_number_fn<From, std::int64_t>();
}

BlockFn convert_fn(Type from, Type to) {
  switch (from) {
    case Type::f32: return convert_fn_from<float>(to);
    case Type::f64: return convert_fn_from<double>(to);
    case Type::i32: return convert_fn_from<std::int32_t>(to);
    case Type::i64: return convert_fn_from<std::int64_t>(to);
    case Type::b32: return to == Type::b32 ? copy_block<std::int32_t> : convert_number_fn<std::int32_t, std::int64_t>();
    case Type::b64: return to == Type::b64 ? copy_block<std::int64_t> : convert_number_fn<std::int64_t, std::int32_t>();
  }
  CHECK(false);
}

template <class T>
void round_to_int_block(const BlockArgs& args) {
  const BlockArgs x = args;
  for (std::size_t i = 0; i < x.n; i += V<T>::size) {
    const LaneArray<T> whole(rounded<T, Rounding::even>(load<T>(x.a, i & x.a_mask)));
    auto* d = static_cast<IntOf<T>*>(x.d) + i;
    for (std::size_t j = 0; j < V<T>::size; ++j) d[j] = truncated<IntOf<T>>(whole.lane[j]);
  }
}

template <class T>
BlockFn reduce_fn(Op op) {
  if constexpr (std::is_floating_point_v<T>)
    if (op == Op::Dot)
      return [](const BlockArgs& x) {
        reduce<T>(x, [](const V<T>& sum, const V<T>& a, const V<T>& b) { return fused<T>(a, b, sum); });
      };
  if (op == Op::Sum)
    return [](const BlockArgs& x) { reduce<T>(x, [](const V<T>& a, const V<T>& b) { return a + b; }); };
  if (op == Op::Prod)
    return [](const BlockArgs& x) { reduce<T>(x, [](const V<T>& a, const V<T>& b) { return product<T>(a, b); }); };
  if (op == Op::MinOf)
    return [](const BlockArgs& x) { reduce<T>(x, [](const V<T>& a, const V<T>& b) { return least<T>(b, a); }); };
  return [](const BlockArgs& x) { reduce<T>(x, [](const V<T>& a, const V<T>& b) { return greatest<T>(b, a); }); };
}

template <template <class> class Table>
BlockFn by_type(Op op, Type type) {
  switch (type) {
    case Type::f32: return Table<float>::find(op);
    case Type::f64: return Table<double>::find(op);
    case Type::i32:
    case Type::b32: return Table<std::int32_t>::find(op);
    case Type::i64:
    case Type::b64: return Table<std::int64_t>::find(op);
  }
  CHECK(false);
}

template <class T>
struct SameTable {
  static BlockFn find(Op op) {
    if constexpr (std::is_floating_point_v<T>)
      return float_fn<T>(op);
    else
      return int_fn<T>(op);
  }
};
template <class T>
struct CompareTable {
  static BlockFn find(Op op) { return compare_fn<T>(op); }
};
template <class T>
struct ReduceTable {
  static BlockFn find(Op op) { return reduce_fn<T>(op); }
};

BlockFn find(Op op, Type result, Type operand) {
  const bool narrow = ir::bytes_of(result) == 4;
  switch (info(op).signature) {
    case Signature::Same: return by_type<SameTable>(op, result);
    case Signature::Compare: return by_type<CompareTable>(op, operand);
    case Signature::Reduce: return by_type<ReduceTable>(op, result);
    case Signature::Select: return narrow ? select_block<std::int32_t> : select_block<std::int64_t>;
    case Signature::Convert:
      if (op == Op::Bitcast) return narrow ? copy_block<std::int32_t> : copy_block<std::int64_t>;
      if (op == Op::Lookup) return narrow ? lookup_block<std::int32_t> : lookup_block<std::int64_t>;
      if (op == Op::ToIntRint) return narrow ? round_to_int_block<float> : round_to_int_block<double>;
      return convert_fn(operand, result);
    case Signature::Read: return narrow ? read_fn<std::int32_t>(op, operand) : read_fn<std::int64_t>(op, operand);
    case Signature::Leaf:
      if (op == Op::Index) return narrow ? index_block<std::int32_t> : index_block<std::int64_t>;
      break;
  }
  return nullptr;
}

}  // namespace

#if defined(TRIDENT_LEVEL_AVX512)
BlockFn find_block_fn_avx512(Op op, Type result, Type operand) {
  return find(op, result, operand);
}
#elif defined(TRIDENT_LEVEL_AVX2)
BlockFn find_block_fn_avx2(Op op, Type result, Type operand) {
  return find(op, result, operand);
}
#else
BlockFn find_block_fn_portable(Op op, Type result, Type operand) {
  return find(op, result, operand);
}
#endif

}  // namespace trident::kir
