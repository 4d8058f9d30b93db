// Sums and products of literals among integers: those whose value fits the type have it, all others are refused. The
// oracle of random trees computes in 128 bits from the text's own structure; values of texts are written by hand.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "jit/expr/expr.h"

namespace trident::expr {
namespace {

std::string refusal_of(const std::string& text) {
  const Result<Expr> expr = parse(text, {});
  return expr.ok() ? "" : expr.error().message;
}

bool has_value(const std::string& text, const std::string& value) {
  const Result<Expr> a = parse(text, {}), b = parse(value, {});
  return a.ok() && b.ok() && canonical_bytes(*a) == canonical_bytes(*b);
}

TEST(LiteralValues, SumsBeyondTheTypeAreRefused) {
  for (const char* text :
       {"i:i32; i < 50000*50000", "(< i:i32 (* 50000 50000))", "i:i32 + 2^31", "i:i32 + 2^40", "i:u8; i < 50000*50000",
        "i:i32 + (-2147483648 - 1)", "i:i32 + abs(-2147483648)", "t = 50000; i:i32 + t*t", "i:i32 & (65536*65536 - 1)",
        "i:i32 + max(2147483647 + 1, 2)", "i:i32; (i < 0 ? 50000 : 2)*50000 + i", "i:i32 > 0 ? i : 50000*50000",
        "i:i32 + (-3)^21", "i:i32 + sign(2147483647 + 1)"}) {
    EXPECT_NE(refusal_of(text).find("does not fit i32: cast what it meets with i64(...)"), std::string::npos) << text;
  }
  EXPECT_NE(refusal_of("i:i32 < 50000*50000").find("1:14: 2500000000 does not fit i32"), std::string::npos);
  for (const char* text : {"i:i64 + (9223372036854775807 + 1)", "i:i64 < 5000000000*5000000000", "i:i64 + 2^64",
                           "i:i64 + (-9223372036854775807 - 2)", "i:i64 + (5000000000*5000000000 - 1)"}) {
    EXPECT_NE(refusal_of(text).find("does not fit i64: write them as floats"), std::string::npos) << text;
  }
}

TEST(LiteralValues, SumsThatFitStay) {
  for (const char* text :
       {"i:i32 + (2^31 - 1)", "i:i32 + ((2^30 - 1)*2 + 1)", "i:i32 + (-2)^31", "i:i32; (i < 0 ? 40000 : 2)*50000 + i",
        "i:i32 ^^ (0xFFFFFFFF + 0)", "i:i32 + min(50000, 3)*50000", "i:i64 < 50000*50000", "i64(i:i32) + 50000*50000",
        "i:i64 + (2^63 - 1)", "i:i64 + (-2)^63", "i:i32 + (-1)^2147483647", "i:i32 + i64(50000*50000)"}) {
    EXPECT_EQ("", refusal_of(text)) << text;
  }
  // Among floats nothing wraps.
  EXPECT_EQ("", refusal_of("x:f64 < 5000000000*5000000000"));
  EXPECT_EQ("", refusal_of("x:f32*(9007199254740993*9007199254740993)"));
  EXPECT_EQ("", refusal_of("x:f64 + (9007199254740993 + 1)/2 + (9007199254740993 + 1)^(-1)"));
}

// Through f64 it would be 9007199254740992.
TEST(LiteralValues, SumsOfLongIntegersKeepTheirLastBits) {
  EXPECT_TRUE(has_value("i:i64 + (9007199254740993 + 0)", "i:i64 + (9007199254740993i64 + 0i64)"));
  EXPECT_TRUE(has_value("i:i64 + 3*9007199254740993", "i:i64 + 3i64*9007199254740993i64"));
  EXPECT_TRUE(has_value("i:i64 + max(9007199254740993, 1)", "i:i64 + max(9007199254740993i64, 1i64)"));
  EXPECT_TRUE(
      has_value("i:i64; i + (i < 0 ? 9007199254740993 : 1)", "i:i64; i + (i < 0 ? 9007199254740993i64 : 1i64)"));
}

// A cast wraps the value, which is not wrapped before.
TEST(LiteralValues, CastsWrapWhatTheyCast) {
  EXPECT_TRUE(has_value("i:i32 + i32(50000*50000)", "i:i32 + i32(50000i64*50000i64)"));
  EXPECT_TRUE(has_value("i:i32 + i32(max(3000000000, 1))", "i:i32 + i32(max(3000000000i64, 1i64))"));
  EXPECT_TRUE(has_value("i:i32 + i32(20*30)", "i:i32 + 20i32*30i32"));
}

struct Tree {
  std::string text;
  __int128 value = 0;
};

/// Returns a tree whose value is below 2^100, so that 128 bits hold it.
Tree random_tree(std::mt19937& random, int depth) {
  constexpr int kLeaves[] = {0, 1, 2, 3, 7, 255, 32768, 46340, 46341, 65535, 65536, 1000000, 2147483647};
  if (depth == 0 || random() % 8 == 0) {
    const int leaf = kLeaves[random() % std::size(kLeaves)];
    return {std::to_string(leaf), leaf};
  }
  const Tree a = random_tree(random, depth - 1), b = random_tree(random, depth - 1);
  switch (random() % 4) {
    case 0: return {"(" + a.text + " + " + b.text + ")", a.value + b.value};
    case 1: return {"(" + a.text + " - " + b.text + ")", a.value - b.value};
    case 2: return {"(-" + a.text + ")", -a.value};
    default: break;
  }
  constexpr __int128 kFactor = __int128{1} << 49;
  if (a.value > kFactor || -a.value > kFactor || b.value > kFactor || -b.value > kFactor) return a;
  return {"(" + a.text + " * " + b.text + ")", a.value * b.value};
}

TEST(LiteralValues, RandomTreesAreRefusedWhereTheirValueDoesNotFit) {
  std::mt19937 random(35);
  int refused = 0, accepted = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Tree tree = random_tree(random, 1 + trial % 5);
    for (const int bits : {32, 64}) {
      const __int128 end = __int128{1} << (bits - 1);
      const std::string text = "i:i" + std::to_string(bits) + " + " + tree.text, why = refusal_of(text);
      const bool fits = -end <= tree.value && tree.value < end;
      if (fits && !why.empty()) {  // it may pass i64 on the way
        EXPECT_NE(why.find("the value of these numbers"), std::string::npos) << text << "\n" << why;
      } else {
        EXPECT_EQ(fits, why.empty()) << text << "\n" << why;
      }
      (why.empty() ? accepted : refused) += 1;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace trident::expr
