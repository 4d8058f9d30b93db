// Arrays of every element type through trident.h: random texts over random types, lengths and addresses, by the
// interpreter, by baseline code and by optimised code. Oracle: the same operations in C++ on one element at a time.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "tests/support/random.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 120'000;

struct ElementType {
  int number;
  const char* name;
  std::size_t bytes;
  char kind;  ///< of its values: i (i32), l (i64), f (f32), d (f64)
};
constexpr ElementType kTypes[] = {
    {TRIDENT_U8, "u8", 1, 'i'},   {TRIDENT_BOOL, "bool8", 1, 'i'}, {TRIDENT_I8, "i8", 1, 'i'},
    {TRIDENT_U16, "u16", 2, 'i'}, {TRIDENT_I16, "i16", 2, 'i'},    {TRIDENT_U32, "u32", 4, 'l'},
    {TRIDENT_U64, "u64", 8, 'l'}, {TRIDENT_F16, "f16", 2, 'f'},    {TRIDENT_F32, "f32", 4, 'f'},
    {TRIDENT_F64, "f64", 8, 'd'}, {TRIDENT_I32, "i32", 4, 'i'},    {TRIDENT_I64, "i64", 8, 'l'}};

/// A value as C++ has it; which member counts follows from the kind.
struct Number {
  std::int32_t i = 0;
  std::int64_t l = 0;
  float f = 0;
  double d = 0;
};
using Row = std::vector<Number>;

float float_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction != 0 ? std::nanf("") : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25));
}

/// Rounds by quanta: nearbyint() takes ties to even.
std::uint16_t half_of_float(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7E00;
  const double size = std::fabs(static_cast<double>(value));
  if (size >= 65520) return sign | 0x7C00;
  const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  const auto units = static_cast<std::uint16_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (units + ((exponent + 14) << 10)));
}

template <class T>
Number loaded(const std::byte* place) {
  T element;
  std::memcpy(&element, place, sizeof(T));
  return {static_cast<std::int32_t>(element), static_cast<std::int64_t>(element), static_cast<float>(element),
          static_cast<double>(element)};
}

Number load(const ElementType& type, const std::byte* place) {
  switch (type.number) {
    case TRIDENT_U8:
    case TRIDENT_BOOL: return loaded<std::uint8_t>(place);
    case TRIDENT_I8: return loaded<std::int8_t>(place);
    case TRIDENT_U16: return loaded<std::uint16_t>(place);
    case TRIDENT_I16: return loaded<std::int16_t>(place);
    case TRIDENT_U32: return loaded<std::uint32_t>(place);
    case TRIDENT_I32: return loaded<std::int32_t>(place);
    case TRIDENT_F32: {
      Number number;
      std::memcpy(&number.f, place, sizeof(float));
      return number;
    }
    case TRIDENT_F64: {
      Number number;
      std::memcpy(&number.d, place, sizeof(double));
      return number;
    }
    case TRIDENT_F16: {
      std::uint16_t half = 0;
      std::memcpy(&half, place, sizeof half);
      Number number;
      number.f = float_of_half(half);
      return number;
    }
    default: return loaded<std::int64_t>(place);
  }
}

/// A text, and what it means.
struct Term {
  std::string text;
  char kind = 'i';
  std::function<Number(const Row&)> value;
};

class Writer {
 public:
  Writer(testing::Random& random, const std::vector<ElementType>& inputs) : random_(random), inputs_(inputs) {}

  Term term(char kind, int depth) {
    if (depth == 0 || random_.one_in(5)) return leaf(kind);
    const Term a = term(kind, depth - 1), b = term(kind, depth - 1);
    const bool integer = kind == 'i' || kind == 'l';
    switch (random_.below(integer ? 7 : 4)) {
      case 0: return joined(a, " + ", b, [](auto x, auto y) { return wrapped(x, y, std::plus<>()); });
      case 1: return joined(a, " - ", b, [](auto x, auto y) { return wrapped(x, y, std::minus<>()); });
      case 2: return joined(a, " * ", b, [](auto x, auto y) { return wrapped(x, y, std::multiplies<>()); });
      case 3: return lesser(a, b);
      case 4: return of_bits(a, " & ", b, std::bit_and<>());
      case 5: return of_bits(a, " | ", b, std::bit_or<>());
      default: return of_bits(a, " ^^ ", b, std::bit_xor<>());
    }
  }

 private:
  template <class T, class F>
  static T wrapped(T x, T y, F f) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(f(static_cast<std::make_unsigned_t<T>>(x), static_cast<std::make_unsigned_t<T>>(y)));
    else
      return f(x, y);
  }

  template <class F>
  static Term joined(const Term& a, const char* sign, const Term& b, F f) {
    return {"(" + a.text + sign + b.text + ")", a.kind, [a, b, f](const Row& row) {
              const Number x = a.value(row), y = b.value(row);
              return Number{f(x.i, y.i), f(x.l, y.l), f(x.f, y.f), f(x.d, y.d)};
            }};
  }
  template <class F>
  static Term of_bits(const Term& a, const char* sign, const Term& b, F f) {
    return {"(" + a.text + sign + b.text + ")", a.kind, [a, b, f](const Row& row) {
              const Number x = a.value(row), y = b.value(row);
              return Number{f(x.i, y.i), f(x.l, y.l), 0, 0};
            }};
  }
  static Term lesser(const Term& a, const Term& b) {
    Term made = joined(a, "", b, [](auto x, auto y) { return x < y ? x : y; });
    made.text = "select(" + a.text + " < " + b.text + ", " + a.text + ", " + b.text + ")";
    return made;
  }

  /// A variable as a value of the kind, converted if need be, or a small number.
  Term leaf(char kind) {
    const std::size_t v = random_.below(static_cast<std::uint32_t>(inputs_.size()));
    const char own = inputs_[v].kind;
    const std::string name = "v" + std::to_string(v);
    const char* const casts[] = {"i32", "i64", "f32", "f64"};
    const std::string cast = casts[std::string_view("ilfd").find(kind)];
    if (random_.one_in(4)) {
      const int number = static_cast<int>(random_.below(300));
      return {cast + "(" + std::to_string(number) + ")", kind, [number](const Row&) {
                return Number{number, number, static_cast<float>(number), static_cast<double>(number)};
              }};
    }
    return {own == kind ? name : cast + "(" + name + ")", kind,
            [v, own, kind](const Row& row) { return converted(row[v], own, kind); }};
  }

 public:
  /// Drops the fraction; what does not fit, and NaN, is the least integer.
  template <class To, class From>
  static To whole(From value) {
    const auto least = static_cast<From>(std::numeric_limits<To>::min());
    return value >= least && value < -least ? static_cast<To>(value) : std::numeric_limits<To>::min();
  }
  static Number converted(const Number& x, char from, char to) {
    if (from == to) return x;
    Number y;
    if (from == 'i') y = {x.i, x.i, static_cast<float>(x.i), static_cast<double>(x.i)};
    if (from == 'l') y = {static_cast<std::int32_t>(x.l), x.l, static_cast<float>(x.l), static_cast<double>(x.l)};
    if (from == 'f') y = {whole<std::int32_t>(x.f), whole<std::int64_t>(x.f), x.f, static_cast<double>(x.f)};
    if (from == 'd') y = {whole<std::int32_t>(x.d), whole<std::int64_t>(x.d), static_cast<float>(x.d), x.d};
    return y;
  }

 private:
  testing::Random& random_;
  const std::vector<ElementType>& inputs_;
};

/// Rounds and clamps.
std::int64_t saturated(const Number& x, char kind, std::int64_t lo, std::int64_t hi) {
  if (kind == 'i' || kind == 'l') return std::clamp<std::int64_t>(kind == 'i' ? x.i : x.l, lo, hi);
  const double value = kind == 'f' ? static_cast<double>(x.f) : x.d;
  if (std::isnan(value) || value <= static_cast<double>(lo)) return lo;
  return value >= static_cast<double>(hi) ? hi : static_cast<std::int64_t>(std::nearbyint(value));
}

/// An output's bits in the low bytes of the result.
std::uint64_t stored(const ElementType& type, bool saturates, const Number& x, char kind) {
  const auto whole =
      static_cast<std::uint64_t>(type.bytes <= 2 ? static_cast<std::int64_t>(Writer::converted(x, kind, 'i').i)
                                                 : Writer::converted(x, kind, 'l').l);
  const std::uint64_t low = type.bytes == 8 ? whole : whole & ((std::uint64_t{1} << 8 * type.bytes) - 1);
  const int bits = static_cast<int>(8 * type.bytes);
  switch (type.number) {
    case TRIDENT_BOOL: return kind == 'i' ? x.i != 0 : kind == 'l' ? x.l != 0 : kind == 'f' ? x.f != 0 : x.d != 0;
    case TRIDENT_F16: return half_of_float(Writer::converted(x, kind, 'f').f);
    case TRIDENT_U8:
    case TRIDENT_U16:
    case TRIDENT_U32:
      if (!saturates) return low;
      return static_cast<std::uint64_t>(saturated(x, kind, 0, (std::int64_t{1} << bits) - 1));
    case TRIDENT_I8:
    case TRIDENT_I16: {
      if (!saturates) return low;
      const std::int64_t end = std::int64_t{1} << (bits - 1);
      return static_cast<std::uint64_t>(saturated(x, kind, -end, end - 1)) & ((std::uint64_t{1} << bits) - 1);
    }
    default: return low;
  }
}

/// An array anywhere, with bytes around it that must stay.
class Array {
 public:
  Array(std::size_t bytes, std::size_t offset)
      : bytes_(bytes + offset + 64, std::byte{0x5A}), offset_(offset), size_(bytes) {}
  [[nodiscard]] std::byte* data() { return bytes_.data() + offset_; }
  [[nodiscard]] bool surroundings_untouched() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < offset_ || i >= offset_ + size_) && bytes_[i] != std::byte{0x5A}) return false;
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t offset_, size_;
};

struct Case {
  std::vector<ElementType> inputs;
  ElementType output{};
  bool saturates = false;
  Term term;
  std::string text;
};

Case make_case(testing::Random& random) {
  Case made;
  const std::size_t count = 1 + random.below(3);
  for (std::size_t i = 0; i < count; ++i) made.inputs.push_back(kTypes[random.below(std::size(kTypes))]);
  made.output = kTypes[random.below(8)];
  const std::string name = made.output.name;
  made.saturates = name != "bool8" && name != "u64" && name != "f16" && random.one_in(2);
  made.term = Writer(random, made.inputs).term("ilfd"[random.below(4)], 3);
  for (std::size_t i = 0; i < count; ++i)
    made.text += (i == 0 ? "v" : ", v") + std::to_string(i) + ": " + made.inputs[i].name;
  made.text += "; " + name + (made.saturates ? "_sat(" : "(") + made.term.text + ")";
  return made;
}

/// Runs a call on arrays of `n` random elements, and compares every byte.
void expect_right(const Case& c, const trident_kernel* kernel, std::size_t n, testing::Random& random) {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<const void*> in;
  for (const ElementType& type : c.inputs) {
    // C++ lets nobody read a float at an odd address, but bytes of narrow elements may lie anywhere.
    const std::size_t offset = random.below(64) * (type.bytes <= 2 ? 1 : type.bytes);
    arrays.push_back(std::make_unique<Array>(n * type.bytes, offset));
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t bits = random.next();
      if (type.number == TRIDENT_BOOL) bits &= 1;
      if (type.number == TRIDENT_F32)
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(bits % 100'000)) / 64 - 300);
      if (type.number == TRIDENT_F64)
        bits =
            std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int32_t>(bits % 1'000'000)) / 256 - 900);
      std::memcpy(arrays.back()->data() + i * type.bytes, &bits, type.bytes);
    }
    in.push_back(arrays.back()->data());
  }
  std::vector<std::uint64_t> wanted(n);
  for (std::size_t i = 0; i < n; ++i) {
    Row row;
    for (std::size_t v = 0; v < c.inputs.size(); ++v)
      row.push_back(load(c.inputs[v], static_cast<const std::byte*>(in[v]) + i * c.inputs[v].bytes));
    wanted[i] = stored(c.output, c.saturates, c.term.value(row), c.term.kind);
  }
  const bool in_place = c.inputs[0].number == c.output.number && random.one_in(2);
  arrays.push_back(std::make_unique<Array>(n * c.output.bytes, random.below(64)));
  void* out[] = {in_place ? const_cast<void*>(in[0]) : arrays.back()->data()};
  trident_call(kernel, n, in.data(), out, nullptr);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t got = 0;
    std::memcpy(&got, static_cast<const std::byte*>(out[0]) + i * c.output.bytes, c.output.bytes);
    const bool nan = c.output.number == TRIDENT_F16 && (got & 0x7FFF) > 0x7C00 && (wanted[i] & 0x7FFF) > 0x7C00;
    ASSERT_EQ(nan ? wanted[i] : got, wanted[i]) << c.text << "\nelement " << i << " of " << n;
  }
  for (const auto& array : arrays) ASSERT_TRUE(array->surroundings_untouched()) << c.text;
}

class Elements : public ::testing::TestWithParam<trident_mode> {
 protected:
  void SetUp() override {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = GetParam();
    ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  void TearDown() override { trident_close(ctx_); }

  trident_kernel* submit(const std::string& text, std::uint32_t policy = TRIDENT_EXACT) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = policy;
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx_, text.c_str(), &options, &kernel)) << text << "\n"
                                                                                 << trident_last_error();
    return kernel;
  }

  trident_ctx* ctx_ = nullptr;
};

TEST_P(Elements, RandomTextsGiveWhatCppGives) {
  testing::Random random(GetParam() + 1);
  const bool embedded = GetParam() == TRIDENT_MODE_EMBEDDED;
  for (int number = 0; number < (embedded ? 120 : 400); ++number) {
    const Case c = make_case(random);
    trident_kernel* kernel = submit(c.text);
    ASSERT_NE(kernel, nullptr);
    const std::uint32_t tier = !embedded ? 0 : number % 12 == 0 ? 2 : 1;
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs));
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    trident_info(kernel, &info);
    EXPECT_GE(info.tier, embedded ? 1u : 0u) << c.text << "\n" << (info.note == nullptr ? "" : info.note);
    ASSERT_EQ(trident_output_type(kernel, 0), c.output.number) << c.text;
    ASSERT_EQ(trident_array_type(kernel, 0), c.inputs[0].number) << c.text;
    for (const std::size_t n : {0u, 1u, 2 + random.below(30), 30 + random.below(400), 5000u}) {
      expect_right(c, kernel, n, random);
      if (HasFatalFailure()) return;
    }
    trident_close_kernel(kernel);
  }
}

TEST_P(Elements, CallersDeclareThemToo) {
  const trident_variable variables[] = {{"p", TRIDENT_U8, TRIDENT_ARRAY, -HUGE_VAL, HUGE_VAL},
                                        {"m", TRIDENT_BOOL, TRIDENT_ARRAY, -HUGE_VAL, HUGE_VAL}};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.type = TRIDENT_F32;
  options.variables = variables;
  options.variable_count = 2;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_, "u8_sat(select(m != 0, f32(p) * 2.5, f32(p)))", &options, &kernel))
      << trident_last_error();
  trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
  std::uint8_t p[256], m[256], out[256];
  for (int i = 0; i < 256; ++i) p[i] = static_cast<std::uint8_t>(i), m[i] = i % 3 == 0;
  const void* in[] = {p, m};
  void* outs[] = {out};
  trident_call(kernel, 256, in, outs, nullptr);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(out[i], m[i] != 0 ? std::min(255.0, std::nearbyint(i * 2.5)) : i) << i;
  trident_close_kernel(kernel);
}

TEST_P(Elements, ScalarsHaveTheirRange) {
  const trident_variable variables[] = {{"p", TRIDENT_U8, TRIDENT_ARRAY, -HUGE_VAL, HUGE_VAL},
                                        {"s", TRIDENT_I8, TRIDENT_SCALAR, -HUGE_VAL, HUGE_VAL}};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.variables = variables;
  options.variable_count = 2;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_, "(u8(p + s), u8_sat(p - s))", &options, &kernel)) << trident_last_error();
  trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
  std::uint8_t p[2048], sum[2048], difference[2048];
  for (int i = 0; i < 2048; ++i) p[i] = static_cast<std::uint8_t>(i);
  const void* in[] = {p};
  void* outs[] = {sum, difference};
  for (const int s : {-128, -1, 0, 100, 127}) {
    const std::uint64_t scalars[] = {static_cast<std::uint64_t>(s)};
    trident_call(kernel, 2048, in, outs, scalars);
    for (int i = 0; i < 2048; ++i) {
      ASSERT_EQ(sum[i], static_cast<std::uint8_t>(i + s)) << i << " " << s;
      ASSERT_EQ(difference[i], std::clamp(p[i] - s, 0, 255)) << i << " " << s;
    }
  }
  trident_close_kernel(kernel);
}

// Whatever a caller gives, the code of every tier wraps it: ranges that the optimiser goes by hold by construction.
TEST_P(Elements, ScalarsOutsideOfTheirTypeAreWrapped) {
  struct Row {
    const char* text;
    std::int32_t (*wanted)(std::int32_t x, std::int64_t s);
  };
  const Row rows[] = {
      {"x: u8, param s: u8; i32(s & 255) + x", [](std::int32_t x, std::int64_t s) { return x + std::uint8_t(s); }},
      {"x: u8, param s: u8; select(s < 256, x, -1) + 0", [](std::int32_t x, std::int64_t) { return x; }},
      {"x: u8, param s: u8; min(s, 255) + abs(s) + x",
       [](std::int32_t x, std::int64_t s) { return x + 2 * std::uint8_t(s); }},
      {"x: u8, param s: i8; max(s, -128) + x", [](std::int32_t x, std::int64_t s) { return x + std::int8_t(s); }},
      {"x: u8, param s: u16; x + (s >> 1)", [](std::int32_t x, std::int64_t s) { return x + (std::uint16_t(s) >> 1); }},
      {"x: u8, param s: i16; x + max(s, -32768)", [](std::int32_t x, std::int64_t s) { return x + std::int16_t(s); }},
      {"x: u8, param s: bool8; x + select(s < 2, s, 9)",
       [](std::int32_t x, std::int64_t s) { return x + (std::int32_t(s) != 0); }},
      {"x: u8, param s: u32; i32(min(s, 4294967295) >> 8) + x",
       [](std::int32_t x, std::int64_t s) { return x + std::int32_t(std::uint32_t(s) >> 8); }}};
  std::uint8_t x[777];
  for (int i = 0; i < 777; ++i) x[i] = static_cast<std::uint8_t>(i);
  for (const Row& row : rows) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = TRIDENT_EXACT;
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_, row.text, &options, &kernel)) << trident_last_error();
    for (const bool waits : {false, true}) {
      if (waits) trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
      for (const std::int64_t s : {0L, 1L, 128L, 255L, 300L, 32768L, 70000L, -1L, -129L, -32769L, 0x1234567890L}) {
        const void* in[] = {x};
        std::int32_t out[777];
        void* outs[] = {out};
        const std::uint64_t scalars[] = {static_cast<std::uint64_t>(s)};
        trident_call(kernel, 777, in, outs, scalars);
        for (int i = 0; i < 777; ++i) ASSERT_EQ(out[i], row.wanted(x[i], s)) << row.text << " " << i << " " << s;
      }
    }
    trident_close_kernel(kernel);
  }
}

TEST_P(Elements, BytesOfTruthsMayHaveAnyValue) {
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK,
            trident_submit(ctx_, "m: bool8; (bool8(m), i32(m), u8(select(m <= 1, 7, 9)))", nullptr, &kernel));
  trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
  std::uint8_t m[1000], truth[1000], choice[1000];
  std::int32_t number[1000];
  for (int i = 0; i < 1000; ++i) m[i] = static_cast<std::uint8_t>(i);
  const void* in[] = {m};
  void* outs[] = {truth, number, choice};
  trident_call(kernel, 1000, in, outs, nullptr);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(truth[i], m[i] != 0) << i;
    ASSERT_EQ(number[i], m[i]) << i;
    ASSERT_EQ(choice[i], m[i] <= 1 ? 7 : 9) << i;
  }
  trident_close_kernel(kernel);
}

// docs/embedding.md says how to write them.
TEST_P(Elements, ValuesOfU64ThatArePositiveThroughout) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.policy = TRIDENT_EXACT;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_,
                                       "x: u64, y: u64; (f64(x >> 32 & 0xFFFFFFFF)*4294967296 + f64(x & 0xFFFFFFFF), "
                                       "bool8((x ^^ 0x8000000000000000) < (y ^^ 0x8000000000000000)))",
                                       &options, &kernel))
      << trident_last_error();
  trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
  std::uint64_t x[999], y[999];
  double number[999];
  std::uint8_t less[999];
  for (std::uint64_t i = 0; i < 999; ++i) x[i] = i * 0x9E3779B97F4A7C15, y[i] = ~(i * i * 0xD1B54A32D192ED03) >> i % 64;
  const void* in[] = {x, y};
  void* outs[] = {number, less};
  trident_call(kernel, 999, in, outs, nullptr);
  for (int i = 0; i < 999; ++i) {
    ASSERT_EQ(number[i], static_cast<double>(x[i])) << x[i];
    ASSERT_EQ(less[i], x[i] < y[i]) << x[i] << " " << y[i];
  }
  trident_close_kernel(kernel);
}

TEST_P(Elements, HalvesInsideAnExpressionAreRounded) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.policy = TRIDENT_EXACT;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_, "x: f32; half = f16(x); (f32(half), f16(half*3))", &options, &kernel))
      << trident_last_error();
  trident_wait(kernel, GetParam() == TRIDENT_MODE_INTERP ? 0 : 2, kPatienceMs);
  std::vector<float> x, rounded(1 << 18);
  for (std::uint32_t half = 0; half < 1 << 16; ++half) {  // each half, the tie above it, and the neighbours of that
    const std::uint32_t tie = std::bit_cast<std::uint32_t>(float_of_half(static_cast<std::uint16_t>(half))) + 0x1000;
    for (const std::uint32_t bits : {tie - 0x1000, tie - 1, tie, tie + 1}) x.push_back(std::bit_cast<float>(bits));
  }
  std::vector<std::uint16_t> thrice(x.size());
  const void* in[] = {x.data()};
  void* outs[] = {rounded.data(), thrice.data()};
  trident_call(kernel, x.size(), in, outs, nullptr);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = float_of_half(half_of_float(x[i]));
    if (std::isnan(wanted)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(wanted)) << x[i];
    ASSERT_EQ(thrice[i], half_of_float(wanted * 3)) << x[i];
  }
  trident_close_kernel(kernel);
}

TEST_P(Elements, MistakesAreRefusedWithTheCure) {
  const auto error_of = [&](const char* text) {
    trident_kernel* kernel = nullptr;
    EXPECT_NE(TRIDENT_OK, trident_submit(ctx_, text, nullptr, &kernel)) << text;
    return std::string(trident_last_error());
  };
  EXPECT_NE(error_of("param s: f16; x * s").find("declare it as f32"), std::string::npos);
  EXPECT_NE(error_of("table t: u16; t[index]").find("declare it as i32"), std::string::npos);
  EXPECT_NE(error_of("x: u8 in [300, 400]; x + 1").find("has no u8"), std::string::npos);
  EXPECT_NE(error_of("u8(x, y)").find("1 argument"), std::string::npos);
}

std::string name_of_mode(const ::testing::TestParamInfo<trident_mode>& mode) {
  return mode.param == TRIDENT_MODE_INTERP ? "interpreted" : "embedded";
}
INSTANTIATE_TEST_SUITE_P(Modes, Elements, ::testing::Values(TRIDENT_MODE_INTERP, TRIDENT_MODE_EMBEDDED), name_of_mode);

}  // namespace
}  // namespace trident::tests
