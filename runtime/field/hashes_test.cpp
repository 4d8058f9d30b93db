// Oracle: vectors computed by the library that Triton VM uses, and the rules by which Tip5's constants are made, over
// libcrypto's SHA-256 and a BLAKE3 of one block written out here; for the ad hoc Poseidon2 the digests that the
// compiler it comes from has published.
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/field/extension.h"
#include "runtime/field/poseidon.h"
#include "runtime/field/tip5.h"
#include "tests/support/unpacked.h"

namespace trident::field {
namespace {

using nlohmann::json;

json vectors(const std::string& name) {
  return json::parse(test::unpacked("tests/tir/oracles/" + name + ".xz"));
}
std::vector<Element> elements(const json& list) {
  std::vector<Element> out;
  for (const auto& e : list) out.push_back(Element(e.get<std::uint64_t>()));
  return out;
}
Digest digest(const json& list) {
  Digest out;
  for (std::size_t i = 0; i < kDigestWords; ++i) out[i] = elements(list)[i];
  return out;
}
Extension extension(const json& list) {
  const auto c = elements(list);
  return {{c[0], c[1], c[2]}};
}

TEST(FieldVectors, Elements) {
  const json all = vectors("data_vectors.json")["bfe"];
  ASSERT_GT(all.size(), 100u);
  for (const auto& row : all) {
    const Element a(row["a"].get<std::uint64_t>()), b(row["b"].get<std::uint64_t>());
    EXPECT_EQ((a + b).value(), row["add"]);
    EXPECT_EQ((a - b).value(), row["sub"]);
    EXPECT_EQ((a * b).value(), row["mul"]);
    EXPECT_EQ(inverse(a).value(), row["inv_or_zero_a"]);
  }
}

TEST(FieldVectors, Extensions) {
  const json all = vectors("data_vectors.json")["xfe"];
  ASSERT_EQ(all.size(), 12u);
  for (const auto& row : all) {
    const Extension a = extension(row["a"]), b = extension(row["b"]);
    EXPECT_EQ(a + b, extension(row["add"]));
    EXPECT_EQ(a - b, extension(row["sub"]));
    EXPECT_EQ(a * b, extension(row["mul"]));
    EXPECT_EQ(inverse(a), extension(row["inv_a"]));
    EXPECT_EQ(b.c[0] * a, (Extension{{b.c[0], kZero, kZero}} * a));
  }
  EXPECT_TRUE(inverse(Extension{}).is_zero());
}

TEST(Tip5, HashesAreThoseOfTheMachine) {
  const json all = vectors("data_vectors.json");
  for (const auto& row : all["tip5_hash_10"])
    EXPECT_EQ(tip5_hash_10(std::span<const Element, kTip5Rate>(elements(row["in"]).data(), kTip5Rate)),
              digest(row["out"]));
  for (const auto& row : all["tip5_hash_pair"])
    EXPECT_EQ(tip5_hash_pair(digest(row["left"]), digest(row["right"])), digest(row["out"]));
  for (const auto& row : all["tip5_hash_varlen"]) EXPECT_EQ(tip5_hash_varlen(elements(row["in"])), digest(row["out"]));
}

/// BLAKE3 of at most 64 bytes: one compression with the flags of a first, last and root chunk.
std::array<std::uint8_t, 32> blake3(const std::string& text) {
  constexpr std::uint32_t kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  constexpr unsigned kOrder[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  std::uint32_t m[16] = {};
  std::memcpy(m, text.data(), text.size());
  std::uint32_t v[16];
  std::copy(kStart, kStart + 8, v);
  std::copy(kStart, kStart + 4, v + 8);
  v[12] = v[13] = 0, v[14] = static_cast<std::uint32_t>(text.size()), v[15] = 1 | 2 | 8;
  const auto mix = [&](unsigned a, unsigned b, unsigned c, unsigned d, std::uint32_t x, std::uint32_t y) {
    v[a] += v[b] + x, v[d] = std::rotr(v[d] ^ v[a], 16), v[c] += v[d], v[b] = std::rotr(v[b] ^ v[c], 12);
    v[a] += v[b] + y, v[d] = std::rotr(v[d] ^ v[a], 8), v[c] += v[d], v[b] = std::rotr(v[b] ^ v[c], 7);
  };
  for (int round = 0; round < 7; ++round) {
    for (unsigned i = 0; i < 4; ++i) mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
    for (unsigned i = 0; i < 4; ++i)
      mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i]);
    std::uint32_t permuted[16];
    for (unsigned i = 0; i < 16; ++i) permuted[i] = m[kOrder[i]];
    std::copy(permuted, permuted + 16, m);
  }
  std::array<std::uint8_t, 32> out;
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint32_t word = v[i] ^ v[i + 8];
    std::memcpy(out.data() + 4 * i, &word, 4);
  }
  return out;
}

TEST(Tip5, ConstantsFollowTheirRules) {
  std::uint8_t sha[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const std::uint8_t*>("Tip5"), 4, sha);
  for (unsigned i = 0; i < kTip5Width; ++i) EXPECT_EQ(kTip5Matrix[i], sha[2 * i] | sha[2 * i + 1] << 8);
  for (unsigned i = 0; i < kTip5Rounds * kTip5Width; ++i) {
    unsigned __int128 first16 = 0;
    std::memcpy(&first16, blake3(std::string("Tip5") + static_cast<char>(i)).data(), 16);
    EXPECT_EQ(kTip5Constants[i], static_cast<std::uint64_t>(first16 % kModulus)) << i;
  }
}

std::string hex(const ContentAddress& bytes) {
  std::string out;
  for (const std::uint8_t b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

TEST(Poseidon, IsThatOfTheCompilerItComesFrom) {
  const auto hash = [](const std::string& text) {
    return hex(poseidon_hash_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
  };
  // As printed in its changelog, in part.
  EXPECT_TRUE(hash("").starts_with("0c3c1eaef3b8f8d5") && hash("").ends_with("8de91b59"));
  EXPECT_TRUE(hash("trident").starts_with("0027d32685465f66") && hash("trident").ends_with("26026a86"));
  EXPECT_TRUE(hash("fn main() { pub_write(42) }").starts_with("5f4ccf1c8d38936c"));

  const json all = vectors("poseidon2_vectors.json");
  for (const auto& row : all["perm"]) {
    std::array<Element, kPoseidonWidth> state;
    for (std::size_t i = 0; i < kPoseidonWidth; ++i) state[i] = elements(row["in"])[i];
    poseidon_permute(state);
    for (std::size_t i = 0; i < kPoseidonWidth; ++i) EXPECT_EQ(state[i], elements(row["out"])[i]);
  }
  for (const auto& row : all["hash_fields"]) {
    const auto out = poseidon_hash(elements(row["in"]));
    EXPECT_EQ(std::vector<Element>(out.begin(), out.end()), elements(row["out"]));
  }
  for (const auto& row : all["hash_bytes"]) {
    const std::string in = row["in_hex"];
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < in.size(); i += 2)
      bytes.push_back(static_cast<std::uint8_t>(std::stoi(in.substr(i, 2), nullptr, 16)));
    EXPECT_EQ(hex(poseidon_hash_bytes(bytes)), row["out_hex"]);
  }
}

}  // namespace
}  // namespace trident::field
