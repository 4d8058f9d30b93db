// Bytes of keys. Oracles: sha256sum, and the layout written out by hand.
#include "jit/pipeline/key.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "runtime/os/self.h"
#include "runtime/store/sha256.h"

namespace trident::pipeline {
namespace {

using expr::Type;

expr::Expr key_source(std::string_view text, Type type = Type::f64) {
  auto e = expr::parse_infix(text, {.type = type, .variables = {}});
  CHECK(e.ok());
  return std::move(e).value();
}

std::string hexadecimal(const image::Key& key) {
  std::string text;
  char digits[3];
  for (const std::uint8_t byte : key) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

// printf '\6\0\0\0\0\0\0\0domain\3\0\0\0\0\0\0\0abc\0\0\0\0\0\0\0\0' | sha256sum
TEST(KeyWriter, GivesTheDigestOfPiecesWithTheirLengths) {
  KeyWriter key("domain");
  key.add("abc");
  key.add("");
  EXPECT_EQ(hexadecimal(key.finish()), "c0ed13d4c5a2443aa9e1320979f4ed970e8847b33bff159137af3060b6065736");
}

TEST(KeyWriter, KeepsDomainsAndNeighboursApart) {
  const auto key = [](std::string_view domain, std::initializer_list<std::string_view> pieces) {
    KeyWriter writer(domain);
    for (const std::string_view piece : pieces) writer.add(piece);
    return writer.finish();
  };
  std::set<image::Key> keys = {key("a", {"bc", "d"})};
  EXPECT_TRUE(keys.insert(key("ab", {"c", "d"})).second);
  EXPECT_TRUE(keys.insert(key("a", {"b", "cd"})).second);
  EXPECT_TRUE(keys.insert(key("a", {"bcd"})).second);
  EXPECT_TRUE(keys.insert(key("a", {"bc", "d", ""})).second);
  EXPECT_TRUE(keys.insert(key("b", {"bc", "d"})).second);
}

TEST(ExprKey, NamesWhatMattersAndNothingElse) {
  const auto key = [](std::string_view text, const Target& target) { return expr_key(key_source(text), target, {}); };
  std::set<image::Key> keys;
  keys.insert(key("a + b * 2", {}));
  EXPECT_EQ(keys.count(key("u + v * 2", {})), 1u);  // names do not matter
  EXPECT_TRUE(keys.insert(key("a + b * 3", {})).second);
  EXPECT_TRUE(keys.insert(key("a - b * 2", {})).second);
  EXPECT_TRUE(keys.insert(key("a + b * 2", {.policy = {expr::PolicyKind::exact, 2}})).second);
  // Call lengths count by the distance of the arrays, not one by one.
  for (const std::uint64_t elements : {1u << 10, 1u << 18, 1u << 24})
    EXPECT_TRUE(keys.insert(key("a + b * 2", {.elements = elements})).second) << elements;
  EXPECT_EQ(key("a + b * 2", {.elements = 1u << 24}), key("a + b * 2", {.elements = 1u << 23}));
  EXPECT_EQ(key("a + b * 2", {.elements = 1000}), key("a + b * 2", {.elements = 1}));
  EXPECT_TRUE(keys.insert(key("a + b * 2", {.policy = {expr::PolicyKind::bounded, 3}})).second);
  EXPECT_TRUE(keys.insert(key("a + b * 2", {.isa = codegen::Isa::avx512})).second);
  EXPECT_TRUE(keys.insert(expr_key(key_source("a + b * 2", Type::f32), {}, {})).second);
}

/// Bytes with their number in front, as they go into a key.
void append_piece(std::vector<std::byte>& bytes, std::span<const std::byte> piece) {
  const std::uint64_t size = piece.size();
  const auto number = std::as_bytes(std::span(&size, 1));
  bytes.insert(bytes.end(), number.begin(), number.end());
  bytes.insert(bytes.end(), piece.begin(), piece.end());
}
void append_piece(std::vector<std::byte>& bytes, std::string_view text) {
  append_piece(bytes, std::as_bytes(std::span(text)));
}

// Kernels in caches are found by these bytes. Oracle: the layout, written out by hand.
TEST(ExprKey, ItsBytesStayAsTheyAre) {
  const auto e = key_source("a + b * 2");
  const expr::rewrite::OpCosts costs(cost::shipped("avx2"));
  const auto rules = SearchRules::parse("gelu: (neg (neg (neg ?a))) => (neg ?a) ;; ieee=exact real=ok\n", "test.rules");
  ASSERT_TRUE(rules.ok());
  const Target target{.policy = {expr::PolicyKind::bounded, 3}, .elements = 1u << 17};
  const Search search{.disabled = {"rel3", "careful"}, .costs = &costs, .rules = &*rules};
  std::vector<std::byte> wanted;
  append_piece(wanted, "trident kernel key 3");
  append_piece(wanted, os::build_id());
  append_piece(wanted, expr::canonical_bytes(e));
  const double k = 3;
  std::byte fixed[16] = {};  // AVX2, bounded, three arrays of a megabyte each
  fixed[2] = std::byte{2};
  std::memcpy(fixed + 8, &k, sizeof k);
  fixed[0] = std::byte{static_cast<std::uint8_t>(codegen::Isa::avx2)};
  fixed[1] = std::byte{static_cast<std::uint8_t>(expr::PolicyKind::bounded)};
  append_piece(wanted, fixed);
  append_piece(wanted, "rel3");
  append_piece(wanted, "careful");
  append_piece(wanted, "costs");
  append_piece(wanted, std::as_bytes(std::span(costs.table().figures)));
  append_piece(wanted, "rules");
  append_piece(wanted, std::as_bytes(std::span(rules->digest())));
  EXPECT_EQ(expr_key(e, target, search), store::sha256_of(wanted));
}

}  // namespace
}  // namespace trident::pipeline
