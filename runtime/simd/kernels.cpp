// Compiled three times on x86-64 (see cmake/levels.cmake): as it is, with -DTRIDENT_LEVEL_AVX2 and with
// -DTRIDENT_LEVEL_AVX512VNNI and the flags of these sets; once elsewhere. All but the table of functions has internal
// linkage, and no header with inline functions is included, so that nothing compiled for one level is linked into
// another.
#include "runtime/simd/kernels.h"

#if defined(TRIDENT_LEVEL_AVX2) || defined(TRIDENT_LEVEL_AVX512VNNI)
#include <immintrin.h>
#endif

namespace trident::simd {
namespace {

#if defined(TRIDENT_LEVEL_AVX2) || defined(TRIDENT_LEVEL_AVX512VNNI)

// --- A vocabulary of registers: V, half of one, and what a level can do with them ---

#if defined(TRIDENT_LEVEL_AVX512VNNI)

using V = __m512i;  // a node vector is eight registers, an accumulator sixteen
using Half = __m256i;
V widen_bytes(Half bytes) {
  return _mm512_cvtepi8_epi16(bytes);
}
V widen_words(Half words) {
  return _mm512_cvtepi16_epi32(words);
}
Half lower_half(V v) {
  return _mm512_castsi512_si256(v);
}
Half upper_half(V v) {
  return _mm512_extracti64x4_epi64(v, 1);
}
V clipped(V dwords, V most) {
  return _mm512_min_epi32(_mm512_max_epi32(dwords, V{}), most);
}
/// Packs four registers of non-negative dwords into bytes, in order, at most 127 each.
V packed(const V* dwords) {
  // Packing takes 128 bits of each register in turn: this puts groups of four bytes back into their order.
  const V order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const V low = _mm512_packs_epi32(dwords[0], dwords[1]), high = _mm512_packs_epi32(dwords[2], dwords[3]);
  return _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
}

#else

using V = __m256i;
using Half = __m128i;
V widen_bytes(Half bytes) {
  return _mm256_cvtepi8_epi16(bytes);
}
V widen_words(Half words) {
  return _mm256_cvtepi16_epi32(words);
}
Half lower_half(V v) {
  return _mm256_castsi256_si128(v);
}
Half upper_half(V v) {
  return _mm256_extracti128_si256(v, 1);
}
V clipped(V dwords, V most) {
  return _mm256_min_epi32(_mm256_max_epi32(dwords, V{}), most);
}
V packed(const V* dwords) {
  const V order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const V low = _mm256_packs_epi32(dwords[0], dwords[1]), high = _mm256_packs_epi32(dwords[2], dwords[3]);
  return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
}

#endif

// The rest is the same for both, in the compiler's vector extensions.
typedef std::uint16_t Words __attribute__((vector_size(sizeof(V))));
typedef std::uint32_t Dwords __attribute__((vector_size(sizeof(V))));
constexpr std::size_t kWords = sizeof(V) / 2, kDwords = sizeof(V) / 4;  // lanes of a register

V load(const void* p) {
  return *static_cast<const V*>(p);
}
Half load_half(const void* p) {
  return *static_cast<const Half*>(p);
}
void store(void* p, V v) {
  *static_cast<V*>(p) = v;
}
V all_dwords(std::int32_t x) {
  return V(Dwords{} + static_cast<std::uint32_t>(x));
}
V add_words(V a, V b) {
  return V(Words(a) + Words(b));
}
V sub_words(V a, V b) {
  return V(Words(a) - Words(b));
}
V add_dwords(V a, V b) {
  return V(Dwords(a) + Dwords(b));
}
V multiply_dwords(V a, V b) {
  return V(Dwords(a) * Dwords(b));
}

// --- Sums ---

// Eight registers of sums at a time, whatever that is of a row.
constexpr std::size_t kAtOnce = 8;

struct Sums {
  V v[kAtOnce];
};

[[gnu::always_inline]] inline Sums sums_from(const Terms& t, std::size_t lane) {
  Sums s;
  for (V& v : s.v) v = V{};
  for (std::size_t i = 0; i < t.plus_count; ++i) {
    const std::int8_t* row = t.rows + t.plus[i] * kLanes + lane;
    for (std::size_t j = 0; j < kAtOnce; ++j) s.v[j] = add_words(s.v[j], widen_bytes(load_half(row + j * kWords)));
  }
  for (std::size_t i = 0; i < t.minus_count; ++i) {
    const std::int8_t* row = t.rows + t.minus[i] * kLanes + lane;
    for (std::size_t j = 0; j < kAtOnce; ++j) s.v[j] = sub_words(s.v[j], widen_bytes(load_half(row + j * kWords)));
  }
  for (std::size_t i = 0; i < t.plus_vectors_count; ++i) {
    const std::int16_t* h = t.plus_vectors[i]->lane + lane;
    for (std::size_t j = 0; j < kAtOnce; ++j) s.v[j] = add_words(s.v[j], load(h + j * kWords));
  }
  for (std::size_t i = 0; i < t.minus_vectors_count; ++i) {
    const std::int16_t* h = t.minus_vectors[i]->lane + lane;
    for (std::size_t j = 0; j < kAtOnce; ++j) s.v[j] = sub_words(s.v[j], load(h + j * kWords));
  }
  return s;
}

void sum(NodeVector& out, const Terms& terms) {
  for (std::size_t lane = 0; lane < kLanes; lane += kAtOnce * kWords) {
    const Sums s = sums_from(terms, lane);
    for (std::size_t j = 0; j < kAtOnce; ++j) store(out.lane + lane + j * kWords, s.v[j]);
  }
}

void update(Accumulator& accumulator, const Terms& terms) {
  for (std::size_t lane = 0; lane < kLanes; lane += kAtOnce * kWords) {
    const Sums s = sums_from(terms, lane);
    for (std::size_t j = 0; j < kAtOnce; ++j) {
      std::int32_t* const at = accumulator.lane + lane + j * kWords;
      store(at, add_dwords(load(at), widen_words(lower_half(s.v[j]))));
      store(at + kDwords, add_dwords(load(at + kDwords), widen_words(upper_half(s.v[j]))));
    }
  }
}

#else

void sum(NodeVector& out, const Terms& t) {
  std::int16_t s[kLanes] = {};
  const auto add = [&](const auto* from) {
    for (std::size_t l = 0; l < kLanes; ++l) s[l] = static_cast<std::int16_t>(s[l] + from[l]);
  };
  const auto take = [&](const auto* from) {
    for (std::size_t l = 0; l < kLanes; ++l) s[l] = static_cast<std::int16_t>(s[l] - from[l]);
  };
  for (std::size_t i = 0; i < t.plus_count; ++i) add(t.rows + t.plus[i] * kLanes);
  for (std::size_t i = 0; i < t.minus_count; ++i) take(t.rows + t.minus[i] * kLanes);
  for (std::size_t i = 0; i < t.plus_vectors_count; ++i) add(t.plus_vectors[i]->lane);
  for (std::size_t i = 0; i < t.minus_vectors_count; ++i) take(t.minus_vectors[i]->lane);
  for (std::size_t l = 0; l < kLanes; ++l) out.lane[l] = s[l];
}

void update(Accumulator& accumulator, const Terms& terms) {
  NodeVector s;
  sum(s, terms);
  for (std::size_t l = 0; l < kLanes; ++l) accumulator.lane[l] += s.lane[l];
}

#endif

// --- pooling ---

#if defined(TRIDENT_LEVEL_AVX2) || defined(TRIDENT_LEVEL_AVX512VNNI)

template <bool with_delta>
V pooled(const Accumulator& a, const NodeVector* delta, std::size_t lane, V factor, V bound) {
  V v = load(a.lane + lane);
  if constexpr (with_delta) v = add_dwords(v, widen_words(load_half(delta->lane + lane)));
  return V(Dwords(multiply_dwords(clipped(v, bound), factor)) >> 16);
}

template <bool with_delta>
void pool_lanes(std::uint8_t* out, const Accumulator& a, const NodeVector* delta, Pool pool) {
  const V factor = all_dwords(pool.factor), bound = all_dwords(pool.bound);
  for (std::size_t lane = 0; lane < kLanes; lane += 4 * kDwords) {
    V v[4];
    for (std::size_t j = 0; j < 4; ++j) v[j] = pooled<with_delta>(a, delta, lane + j * kDwords, factor, bound);
    store(out + lane, packed(v));
  }
}

#else

template <bool with_delta>
void pool_lanes(std::uint8_t* out, const Accumulator& a, const NodeVector* delta, Pool pool) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    std::int32_t v = a.lane[l];
    if constexpr (with_delta) v += delta->lane[l];
    v = v < 0 ? 0 : v < pool.bound ? v : pool.bound;
    v = (v * pool.factor) >> 16;
    out[l] = static_cast<std::uint8_t>(v < 127 ? v : 127);
  }
}

#endif

void pool(std::uint8_t* out, const Accumulator& accumulator, const NodeVector* delta, Pool pool) {
  if (delta != nullptr)
    pool_lanes<true>(out, accumulator, delta, pool);
  else
    pool_lanes<false>(out, accumulator, delta, pool);
}

// --- the head ---

[[maybe_unused]] std::uint32_t group_of(const void* values, std::size_t i) {  // four bytes, or two words
  std::uint32_t group;
  __builtin_memcpy(&group, static_cast<const char*>(values) + 4 * i, sizeof group);
  return group;
}

#if defined(TRIDENT_LEVEL_AVX512VNNI)

std::int32_t output(const Head& head, V z0, V z1) {
  const V most = all_dwords(head.most);
  const auto weighted = [&](V z, const std::int8_t* w2) {
    z = _mm512_srav_epi32(z, all_dwords(static_cast<int>(head.shift)));
    return multiply_dwords(clipped(z, most),
                           _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w2))));
  };
  return head.b2 + _mm512_reduce_add_epi32(add_dwords(weighted(z0, head.w2), weighted(z1, head.w2 + kDwords)));
}

// `count` states share each load of the weights.
template <std::size_t count>
void score_some(std::int32_t* out, const Head& head, const Accumulator& accumulator, const Afterstate* states) {
  alignas(64) std::uint8_t x[count][kLanes];
  V z[count][2][2];  // two chains each, since a dot product takes several cycles
  for (std::size_t c = 0; c < count; ++c) {
    pool(x[c], accumulator, states[c].delta, states[c].pool);
    for (std::size_t half = 0; half < 2; ++half) {
      z[c][half][0] = load(states[c].bias + half * kDwords);
      z[c][half][1] = V{};
    }
  }
  for (std::size_t i = 0; i < kScalars / 2; ++i) {
    for (std::size_t half = 0; half < 2; ++half) {
      const V w = load(head.ws[i][half * kDwords]);
      for (std::size_t c = 0; c < count; ++c)
        z[c][half][1] =
            _mm512_dpwssd_epi32(z[c][half][1], all_dwords(static_cast<int>(group_of(states[c].scalars, i))), w);
    }
  }
  for (std::size_t i = 0; i < kLanes / 4; i += 2) {
    for (std::size_t chain = 0; chain < 2; ++chain) {
      const V w0 = load(head.w1[i + chain][0]), w1 = load(head.w1[i + chain][kDwords]);
      for (std::size_t c = 0; c < count; ++c) {
        const V group = all_dwords(static_cast<int>(group_of(x[c], i + chain)));
        z[c][0][chain] = _mm512_dpbusd_epi32(z[c][0][chain], group, w0);
        z[c][1][chain] = _mm512_dpbusd_epi32(z[c][1][chain], group, w1);
      }
    }
  }
  for (std::size_t c = 0; c < count; ++c)
    out[c] = output(head, add_dwords(z[c][0][0], z[c][0][1]), add_dwords(z[c][1][0], z[c][1][1]));
}

#elif defined(TRIDENT_LEVEL_AVX2)

template <std::size_t count>
void score_some(std::int32_t* out, const Head& head, const Accumulator& accumulator, const Afterstate* states) {
  constexpr std::size_t kParts = kHidden / kDwords;
  const V ones = _mm256_set1_epi16(1), most = all_dwords(head.most);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(head.shift));
  for (std::size_t c = 0; c < count; ++c) {
    alignas(64) std::uint8_t x[kLanes];
    pool(x, accumulator, states[c].delta, states[c].pool);
    V z[kParts];
    for (std::size_t p = 0; p < kParts; ++p) z[p] = load(states[c].bias + p * kDwords);
    for (std::size_t i = 0; i < kScalars / 2; ++i) {
      const V group = all_dwords(static_cast<int>(group_of(states[c].scalars, i)));
      for (std::size_t p = 0; p < kParts; ++p)
        z[p] = add_dwords(z[p], _mm256_madd_epi16(group, load(head.ws[i][p * kDwords])));
    }
    for (std::size_t i = 0; i < kLanes / 4; ++i) {
      const V group = all_dwords(static_cast<int>(group_of(x, i)));
      for (std::size_t p = 0; p < kParts; ++p) {
        const V pairs = _mm256_maddubs_epi16(group, load(head.w1[i][p * kDwords]));
        z[p] = add_dwords(z[p], _mm256_madd_epi16(pairs, ones));
      }
    }
    V total = V{};
    for (std::size_t p = 0; p < kParts; ++p) {
      const V a = clipped(_mm256_sra_epi32(z[p], shift), most);
      const V w2 = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(head.w2 + p * kDwords)));
      total = add_dwords(total, multiply_dwords(a, w2));
    }
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
    out[c] = head.b2 + _mm_cvtsi128_si32(s);
  }
}

#else

template <std::size_t count>
void score_some(std::int32_t* out, const Head& head, const Accumulator& accumulator, const Afterstate* states) {
  for (std::size_t c = 0; c < count; ++c) {
    std::uint8_t x[kLanes];
    pool(x, accumulator, states[c].delta, states[c].pool);
    std::int32_t z[kHidden];
    for (std::size_t j = 0; j < kHidden; ++j) z[j] = states[c].bias[j];
    for (std::size_t i = 0; i < kScalars; ++i)
      for (std::size_t j = 0; j < kHidden; ++j) z[j] += states[c].scalars[i] * head.ws[i / 2][j][i % 2];
    for (std::size_t i = 0; i < kLanes; ++i)
      for (std::size_t j = 0; j < kHidden; ++j) z[j] += x[i] * head.w1[i / 4][j][i % 4];
    std::int32_t total = head.b2;
    for (std::size_t j = 0; j < kHidden; ++j) {
      const std::int32_t a = z[j] >> head.shift;
      total += head.w2[j] * (a < 0 ? 0 : a < head.most ? a : head.most);
    }
    out[c] = total;
  }
}

#endif

void score(std::int32_t* out, const Head& head, const Accumulator& accumulator, const Afterstate* states,
           std::size_t count) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) score_some<4>(out + i, head, accumulator, states + i);
  for (; i < count; ++i) score_some<1>(out + i, head, accumulator, states + i);
}

}  // namespace

#if defined(TRIDENT_LEVEL_AVX512VNNI)
const Kernels kAvx512VnniKernels{sum, update, pool, score};
#elif defined(TRIDENT_LEVEL_AVX2)
const Kernels kAvx2Kernels{sum, update, pool, score};
#else
const Kernels kPortableKernels{sum, update, pool, score};
#endif

}  // namespace trident::simd
