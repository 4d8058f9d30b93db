#include "jit/tir/oracle/rows.h"
#include "runtime/field/extension.h"
#include "runtime/field/poseidon.h"

namespace trident::tir::oracle {
namespace {

using field::Extension;

Extension extension(const json& list) {
  const auto c = element_array<3>(list);
  return {{c[0], c[1], c[2]}};
}
std::vector<Element> listed(const Extension& x) {
  return {x.c[0], x.c[1], x.c[2]};
}

/// f(row, where) for each row of a list that may be missing.
template <class F>
void each(const json& all, const char* key, Verdict& verdict, F f) {
  if (!all.contains(key)) return;
  std::size_t index = 0;
  for (const json& row : all.at(key)) {
    f(row, std::string(key) + "[" + std::to_string(index++) + "] ");
    ++verdict.checked;
  }
}

void check_field(const json& all, Verdict& v) {
  each(all, "bfe", v, [&](const json& row, const std::string& where) {
    const Element a = element(row.at("a")), b = element(row.at("b"));
    const std::pair<const char*, Element> results[] = {
        {"add", a + b}, {"sub", a - b}, {"mul", a * b}, {"inv_or_zero_a", inverse(a)}};
    for (const auto& [what, found] : results) compare(v, where + what, element(row.at(what)).value(), found.value());
    if (row.contains("pow")) compare(v, where + "pow", element(row.at("pow")).value(), power(a, b.value()).value());
  });
  each(all, "xfe", v, [&](const json& row, const std::string& where) {
    const Extension a = extension(row.at("a")), b = extension(row.at("b"));
    const std::pair<const char*, Extension> results[] = {
        {"add", a + b}, {"sub", a - b}, {"mul", a * b}, {"inv_a", inverse(a)}};
    for (const auto& [what, found] : results) compare(v, where + what, elements(row.at(what)), listed(found));
  });
}

void check_tip5(const json& all, Verdict& v) {
  using oracle::listed;
  each(all, "tip5_permutation", v, [&](const json& row, const std::string& where) {
    const auto in = element_array<field::kTip5Width>(row.at("in"));
    field::Tip5 sponge;
    for (std::size_t i = 0; i < in.size(); ++i) sponge.set_word(i, in[i]);
    field::Tip5Lookups lookups;
    sponge.permute(lookups);
    std::vector<Element> out;
    for (std::size_t i = 0; i < in.size(); ++i) out.push_back(sponge.word(i));
    compare(v, where + "out", elements(row.at("rounds").at(field::kTip5Rounds)), out);
    for (std::size_t round = 0; round < field::kTip5Rounds; ++round)
      for (std::size_t i = 0; i < field::kTip5LookedUp; ++i)
        compare(v, where + "round " + std::to_string(round), lookups.word[round][i],
                (element(row.at("rounds").at(round).at(i)) * Element(field::kEpsilon)).value());
  });
  each(all, "tip5_hash_10", v, [&](const json& row, const std::string& where) {
    compare(v, where, elements(row.at("out")),
            listed(field::tip5_hash_10(element_array<field::kTip5Rate>(row.at("in")))));
  });
  each(all, "tip5_hash_pair", v, [&](const json& row, const std::string& where) {
    const auto left = element_array<5>(row.at("left")), right = element_array<5>(row.at("right"));
    compare(v, where, elements(row.at("out")), listed(field::tip5_hash_pair(left, right)));
  });
  each(all, "tip5_hash_varlen", v, [&](const json& row, const std::string& where) {
    compare(v, where, elements(row.at("out")), listed(field::tip5_hash_varlen(elements(row.at("in")))));
  });
}

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> out;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return out;
}

void check_poseidon(const json& all, Verdict& v) {
  using oracle::listed;
  each(all, "perm", v, [&](const json& row, const std::string& where) {
    auto state = element_array<field::kPoseidonWidth>(row.at("in"));
    field::poseidon_permute(state);
    compare(v, where, elements(row.at("out")), listed(state));
  });
  each(all, "hash_fields", v, [&](const json& row, const std::string& where) {
    compare(v, where, elements(row.at("out")), listed(field::poseidon_hash(elements(row.at("in")))));
  });
  each(all, "hash_bytes", v, [&](const json& row, const std::string& where) {
    const auto found = field::poseidon_hash_bytes(bytes_of(row.at("in_hex")));
    const auto expected = bytes_of(row.at("out_hex"));
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
      v.wrong.push_back(where + "expected another digest");
  });
}

}  // namespace

void check_vectors(const json& all, Verdict& verdict) {
  check_field(all, verdict);
  check_tip5(all, verdict);
  check_poseidon(all, verdict);
}

}  // namespace trident::tir::oracle
