// Compiled three times on x86-64 (see cmake/levels.cmake): as it is, with -DTRIDENT_LEVEL_AVX2 and with
// -DTRIDENT_LEVEL_AVX512 and the flags of these sets; once elsewhere. All but the table of functions has internal
// linkage, and no header with inline functions is included, so that nothing compiled for one level is linked into
// another.
//
// Inside Tip5 words are in Montgomery form (its table of bytes is defined on that form, and the reduction is cheap for
// this p), and may be any of the one or two integers below 2^64 that stand for an element; the table and the result
// want the one below p.
#include "runtime/field/kernels.h"

#if defined(TRIDENT_LEVEL_AVX2) || defined(TRIDENT_LEVEL_AVX512)
#include <immintrin.h>
#endif

namespace trident::field {
namespace {

constexpr std::uint64_t kP = 0xffff'ffff'0000'0001, kEps = 0xffff'ffff;

// --- A vocabulary of 64-bit lanes: V, and what a level can do with it ---

#if defined(TRIDENT_LEVEL_AVX512)
constexpr std::size_t kLanes = 8;
#elif defined(TRIDENT_LEVEL_AVX2)
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 1;
#endif

#if defined(TRIDENT_LEVEL_AVX512) || defined(TRIDENT_LEVEL_AVX2)
typedef std::uint64_t V __attribute__((vector_size(8 * kLanes)));
#else
using V = std::uint64_t;
#endif

inline V load(const std::uint64_t* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(std::uint64_t* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}
inline V all(std::uint64_t x) {
  return V{} + x;
}
inline V upper(V a) {
  return a >> 32;
}
inline V shifted_up(V a) {
  return a << 32;
}

#if defined(TRIDENT_LEVEL_AVX2)
/// x + c or x - c where a < b, else x. AVX2 blends slower than it masks.
inline V add_if_less(V x, V a, V b, V c) {
  return x + (V(a < b) & c);
}
inline V sub_if_less(V x, V a, V b, V c) {
  return x - (V(a < b) & c);
}
#else
inline V add_if_less(V x, V a, V b, V c) {
  return a < b ? x + c : x;
}
inline V sub_if_less(V x, V a, V b, V c) {
  return a < b ? x - c : x;
}
#endif

/// Multiplies the lower 32 bits of each lane.
#if defined(TRIDENT_LEVEL_AVX512)
inline V mul32(V a, V b) {
  return V(_mm512_mul_epu32(__m512i(a), __m512i(b)));
}
#elif defined(TRIDENT_LEVEL_AVX2)
inline V mul32(V a, V b) {
  return V(_mm256_mul_epu32(__m256i(a), __m256i(b)));
}
#endif

// --- Products and their reductions ---

struct Wide {
  V high, low;
};

inline Wide product(V a, V b) {
#if defined(TRIDENT_LEVEL_AVX512) || defined(TRIDENT_LEVEL_AVX2)
  const V mask = all(kEps), a1 = upper(a), b1 = upper(b);
  const V p00 = mul32(a, b), p01 = mul32(a, b1), p10 = mul32(a1, b), p11 = mul32(a1, b1);
  const V middle = p10 + upper(p00), lower = p01 + (middle & mask);
  return {p11 + (upper(middle) + upper(lower)), shifted_up(lower) + (p00 & mask)};
#else
  const unsigned __int128 wide = static_cast<unsigned __int128>(a) * b;
  return {static_cast<std::uint64_t>(wide >> 64), static_cast<std::uint64_t>(wide)};
#endif
}

/// x / 2^64 mod p, below 2^64; below p if x.high is.
inline V montgomery_reduced(Wide x) {
  const V a = x.low + shifted_up(x.low);
  const V b = sub_if_less(a - upper(a), a, x.low, all(1));
  return sub_if_less(x.high - b, x.high, b, all(kEps));
}

/// x mod p, below 2^64.
inline V reduced(Wide x) {
  const V x2 = upper(x.high), x1 = x.high & all(kEps);
  const V difference = sub_if_less(x.low - x2, x.low, x2, all(kEps));
  const V folded = shifted_up(x1) - x1, sum = difference + folded;
  return add_if_less(sum, sum, folded, all(kEps));
}

inline V below_p(V x) {
  return sub_if_less(x, all(kP - 1), x, all(kP));
}

/// f over all lanes of arrays; the last few through a vector of their own.
template <V (*f)(V, V)>
void each(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, f(load(a + i), load(b + i)));
  if (i == count) return;
  std::uint64_t x[kLanes] = {}, y[kLanes] = {};
  for (std::size_t k = i; k < count; ++k) x[k - i] = a[k], y[k - i] = b[k];
  store(x, f(load(x), load(y)));
  for (std::size_t k = i; k < count; ++k) out[k] = x[k - i];
}

inline V sum_of(V a, V b) {
  const V sum = a + b;  // wraps where sum < a; then, or above p, p is to be taken off
  return below_p(add_if_less(sum, sum, a, all(kEps)));
}
inline V difference_of(V a, V b) {
  return sub_if_less(a - b, a, b, all(kEps));
}
inline V product_of(V a, V b) {
  return below_p(reduced(product(a, b)));
}

// --- Tip5 ---

constexpr std::size_t kHalf = kTip5Width / 2;

/// The circulant matrix of 16 columns, split by x^16 - 1 = (x^8 - 1)(x^8 + 1): a cyclic convolution of what the halves
/// of the state sum to, and a negacyclic one of how they differ. Halved, so that the two parts only have to be added
/// and subtracted. Row j is what word j of the sum or difference is multiplied by, for the outputs 0 to 7.
struct alignas(64) SplitMatrix {
  double cyclic[kHalf][kHalf], negacyclic[kHalf][kHalf];
};
constexpr SplitMatrix kMatrix = [] {
  SplitMatrix m{};
  for (std::size_t j = 0; j < kHalf; ++j)
    for (std::size_t i = 0; i < kHalf; ++i) {
      const std::size_t k = (i + kHalf - j) % kHalf;
      const double low = kTip5Matrix[k], high = kTip5Matrix[k + kHalf];
      m.cyclic[j][i] = (low + high) / 2;
      m.negacyclic[j][i] = (i < j ? high - low : low - high) / 2;
    }
  return m;
}();

inline V montgomery_form(V x) {  // x (2^32 - 1)
  const V high = upper(x), folded = shifted_up(high) - high, sum = shifted_up(x) + folded;
  const V whole = add_if_less(sum, sum, folded, all(kEps));
  return sub_if_less(whole - x, whole, x, all(kEps));
}

inline V seventh_power(V x) {
  const V x2 = montgomery_reduced(product(x, x)), x3 = montgomery_reduced(product(x2, x));
  const V x4 = montgomery_reduced(product(x2, x2));
  return montgomery_reduced(product(x3, x4));
}

/// low + 2^32 high + constant mod p, below 2^64; low and high below 2^52, the constant below p.
inline V gathered(V low, V high, V constant) {
  const V high1 = upper(high), small = low + (shifted_up(high1) - high1);
  const V sum = small + shifted_up(high), folded = add_if_less(sum, sum, small, all(kEps));
  const V total = folded + constant;
  return add_if_less(total, total, constant, all(kEps));
}

#if defined(TRIDENT_LEVEL_AVX512) || defined(TRIDENT_LEVEL_AVX2)

/// ((b + 1)^3 - 1) mod 257 of sixteen bytes b in lanes of 16 bits. With c = b + 1 or b + 1 - 257, |c| <= 128, nothing
/// leaves 16 bits: 256 q + r = r - q mod 257 makes c^2 at most 255 and its product with c at most 32640.
inline __m256i cubed(__m256i b) {
  const __m256i one = _mm256_set1_epi16(1), byte = _mm256_set1_epi16(255), m = _mm256_set1_epi16(257);
  __m256i c = _mm256_add_epi16(b, one);
  c = _mm256_sub_epi16(c, _mm256_and_si256(_mm256_cmpgt_epi16(c, _mm256_set1_epi16(128)), m));
  const auto folded = [&](__m256i x) { return _mm256_sub_epi16(_mm256_and_si256(x, byte), _mm256_srai_epi16(x, 8)); };
  const __m256i square = folded(_mm256_mullo_epi16(c, c)), cube = folded(_mm256_mullo_epi16(square, c));
  // In [-127, 383], and not 0 mod 257.
  const __m256i up = _mm256_and_si256(_mm256_cmpgt_epi16(one, cube), m);
  const __m256i down = _mm256_and_si256(_mm256_cmpgt_epi16(cube, _mm256_set1_epi16(256)), m);
  return _mm256_sub_epi16(_mm256_sub_epi16(_mm256_add_epi16(cube, up), down), one);
}

/// Every byte of four words through the table.
inline __m256i bytes_looked_up(__m256i words) {
  const __m256i zero = _mm256_setzero_si256();
  return _mm256_packus_epi16(cubed(_mm256_unpacklo_epi8(words, zero)), cubed(_mm256_unpackhi_epi8(words, zero)));
}

typedef double Doubles __attribute__((vector_size(8 * kLanes)));
inline Doubles as_doubles(V x) {  // of integers below 2^52
  const Doubles magic = Doubles{} + 0x1p52;
  return Doubles(x | V(magic)) - magic;
}
inline V as_integers(Doubles x) {
  const Doubles magic = Doubles{} + 0x1p52;
  return V(x + magic) ^ V(magic);
}

#endif

#if defined(TRIDENT_LEVEL_AVX512)

void tip5(std::uint64_t* state, Tip5Lookups& lookups) {
  V first = montgomery_form(load(state)), second = montgomery_form(load(state + kHalf));
  alignas(64) double sums[2][kHalf], differences[2][kHalf];
  for (unsigned round = 0; round < kTip5Rounds; ++round) {
    const __m256i words = _mm512_castsi512_si256(__m512i(below_p(first)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lookups.word[round]), words);
    first = V(_mm512_inserti64x4(__m512i(seventh_power(first)), bytes_looked_up(words), 0));
    second = seventh_power(second);
    const auto split = [&](V a, V b, unsigned part) {
      const Doubles x = as_doubles(a), y = as_doubles(b);
      _mm512_store_pd(sums[part], x + y);
      _mm512_store_pd(differences[part], x - y);
    };
    split(first & all(kEps), second & all(kEps), 0);
    split(upper(first), upper(second), 1);
    __m512d cyclic[2][2] = {}, negacyclic[2][2] = {};  // two sums each, for the pipeline
    for (std::size_t j = 0; j < kHalf; ++j) {
      const __m512d c = _mm512_load_pd(kMatrix.cyclic[j]), n = _mm512_load_pd(kMatrix.negacyclic[j]);
      for (unsigned part = 0; part < 2; ++part) {
        __m512d &x = cyclic[part][j % 2], &y = negacyclic[part][j % 2];
        x = _mm512_fmadd_pd(_mm512_set1_pd(sums[part][j]), c, x);
        y = _mm512_fmadd_pd(_mm512_set1_pd(differences[part][j]), n, y);
      }
    }
    V parts[2][2];
    for (unsigned part = 0; part < 2; ++part) {
      const Doubles x = cyclic[part][0] + cyclic[part][1], y = negacyclic[part][0] + negacyclic[part][1];
      parts[0][part] = as_integers(x + y);
      parts[1][part] = as_integers(x - y);
    }
    const std::uint64_t* constants = kTip5Constants + round * kTip5Width;
    first = gathered(parts[0][0], parts[0][1], load(constants));
    second = gathered(parts[1][0], parts[1][1], load(constants + kHalf));
  }
  store(state, montgomery_reduced({all(0), first}));
  store(state + kHalf, montgomery_reduced({all(0), second}));
}

#elif defined(TRIDENT_LEVEL_AVX2)

/// The matrix times the lower or upper halves of the words, which are below 2^32.
inline void convolved(const V* words, V* out) {
  alignas(64) double sums[kHalf], differences[kHalf];
  for (unsigned k = 0; k < 2; ++k) {
    const Doubles x = as_doubles(words[k]), y = as_doubles(words[k + 2]);
    _mm256_store_pd(sums + k * kLanes, x + y);
    _mm256_store_pd(differences + k * kLanes, x - y);
  }
  __m256d cyclic[2] = {}, negacyclic[2] = {};
  for (std::size_t j = 0; j < kHalf; ++j) {
    const __m256d s = _mm256_broadcast_sd(sums + j), d = _mm256_broadcast_sd(differences + j);
    for (unsigned k = 0; k < 2; ++k) {
      cyclic[k] = _mm256_fmadd_pd(s, _mm256_load_pd(kMatrix.cyclic[j] + k * kLanes), cyclic[k]);
      negacyclic[k] = _mm256_fmadd_pd(d, _mm256_load_pd(kMatrix.negacyclic[j] + k * kLanes), negacyclic[k]);
    }
  }
  for (unsigned k = 0; k < 2; ++k) {
    out[k] = as_integers(cyclic[k] + negacyclic[k]);
    out[k + 2] = as_integers(cyclic[k] - negacyclic[k]);
  }
}

void tip5(std::uint64_t* state, Tip5Lookups& lookups) {
  constexpr unsigned kVectors = kTip5Width / kLanes;
  V s[kVectors];
  for (unsigned v = 0; v < kVectors; ++v) s[v] = montgomery_form(load(state + v * kLanes));
  for (unsigned round = 0; round < kTip5Rounds; ++round) {
    const V words = below_p(s[0]);
    store(lookups.word[round], words);
    s[0] = V(bytes_looked_up(__m256i(words)));
    for (unsigned v = 1; v < kVectors; ++v) s[v] = seventh_power(s[v]);
    V lower[kVectors], higher[kVectors], low[kVectors], high[kVectors];
    for (unsigned v = 0; v < kVectors; ++v) lower[v] = s[v] & all(kEps), higher[v] = upper(s[v]);
    convolved(lower, low);
    convolved(higher, high);
    for (unsigned v = 0; v < kVectors; ++v)
      s[v] = gathered(low[v], high[v], load(kTip5Constants + round * kTip5Width + v * kLanes));
  }
  for (unsigned v = 0; v < kVectors; ++v) store(state + v * kLanes, montgomery_reduced({all(0), s[v]}));
}

#else

struct ByteTable {
  std::uint8_t of[256];
};
constexpr ByteTable kBytes = [] {
  ByteTable table{};
  for (unsigned b = 0; b < 256; ++b) table.of[b] = static_cast<std::uint8_t>(((b + 1) * (b + 1) * (b + 1) - 1) % 257);
  return table;
}();

std::uint64_t bytes_looked_up(std::uint64_t word) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64; shift += 8) out |= std::uint64_t{kBytes.of[(word >> shift) & 255]} << shift;
  return out;
}

/// kMatrix in integers, not halved.
struct SplitIntegers {
  std::int64_t cyclic[kHalf][kHalf], negacyclic[kHalf][kHalf];
};
constexpr SplitIntegers kIntegers = [] {
  SplitIntegers m{};
  for (std::size_t j = 0; j < kHalf; ++j)
    for (std::size_t i = 0; i < kHalf; ++i) {
      m.cyclic[j][i] = static_cast<std::int64_t>(2 * kMatrix.cyclic[j][i]);
      m.negacyclic[j][i] = static_cast<std::int64_t>(2 * kMatrix.negacyclic[j][i]);
    }
  return m;
}();

void convolved(const std::uint64_t* words, std::uint64_t* out) {
  std::int64_t cyclic[kHalf] = {}, negacyclic[kHalf] = {};
  for (std::size_t j = 0; j < kHalf; ++j) {
    const auto a = static_cast<std::int64_t>(words[j]), b = static_cast<std::int64_t>(words[j + kHalf]);
    for (std::size_t i = 0; i < kHalf; ++i) {
      cyclic[i] += (a + b) * kIntegers.cyclic[j][i];
      negacyclic[i] += (a - b) * kIntegers.negacyclic[j][i];
    }
  }
  for (std::size_t i = 0; i < kHalf; ++i) {
    out[i] = static_cast<std::uint64_t>(cyclic[i] + negacyclic[i]) / 2;
    out[i + kHalf] = static_cast<std::uint64_t>(cyclic[i] - negacyclic[i]) / 2;
  }
}

void tip5(std::uint64_t* state, Tip5Lookups& lookups) {
  std::uint64_t s[kTip5Width];
  for (unsigned i = 0; i < kTip5Width; ++i) s[i] = montgomery_form(state[i]);
  for (unsigned round = 0; round < kTip5Rounds; ++round) {
    for (unsigned i = 0; i < kTip5LookedUp; ++i) {
      lookups.word[round][i] = below_p(s[i]);
      s[i] = bytes_looked_up(lookups.word[round][i]);
    }
    for (unsigned i = kTip5LookedUp; i < kTip5Width; ++i) s[i] = seventh_power(s[i]);
    std::uint64_t lower[kTip5Width], higher[kTip5Width], low[kTip5Width], high[kTip5Width];
    for (unsigned i = 0; i < kTip5Width; ++i) lower[i] = s[i] & kEps, higher[i] = s[i] >> 32;
    convolved(lower, low);
    convolved(higher, high);
    for (unsigned i = 0; i < kTip5Width; ++i) s[i] = gathered(low[i], high[i], kTip5Constants[round * kTip5Width + i]);
  }
  for (unsigned i = 0; i < kTip5Width; ++i) state[i] = montgomery_reduced({0, s[i]});
}

#endif

}  // namespace

#if defined(TRIDENT_LEVEL_AVX512)
#define TRIDENT_KERNELS kAvx512Kernels
#elif defined(TRIDENT_LEVEL_AVX2)
#define TRIDENT_KERNELS kAvx2Kernels
#else
#define TRIDENT_KERNELS kPortableKernels
#endif
const Kernels TRIDENT_KERNELS = {each<sum_of>, each<difference_of>, each<product_of>, tip5};
#undef TRIDENT_KERNELS

}  // namespace trident::field
