#include "jit/tir/oracle/rows.h"
#include "runtime/field/extension.h"
#include "runtime/field/poseidon.h"
#include "runtime/field/tip5.h"
#include "runtime/field/tip5_constants.h"

namespace trident::tir::oracle {
namespace {

using field::Extension;

Extension extension(const Json& list) {
  const auto c = element_array<3>(list);
  return {{c[0], c[1], c[2]}};
}
std::vector<Element> listed(const Extension& x) {
  return {x.c[0], x.c[1], x.c[2]};
}

/// Calls f(row, where) for each row of a list that may be missing.
template <class F>
void each(const Json& all, const char* key, Verdict& verdict, F f) {
  if (!all.contains(key)) return;
  std::size_t index = 0;
  for (const Json& row : all.at(key)) {
    f(row, std::string(key) + "[" + std::to_string(index++) + "] ");
    ++verdict.checked;
  }
}

void check_field(const Json& all, Verdict& v) {
  each(all, "bfe", v, [&](const Json& row, const std::string& where) {
    const Element a = element(row.at("a")), b = element(row.at("b"));
    const std::pair<const char*, Element> results[] = {
        {"add", a + b}, {"sub", a - b}, {"mul", a * b}, {"inv_or_zero_a", inverse(a)}};
    for (const auto& [what, found] : results) compare(v, where + what, element(row.at(what)).value(), found.value());
    if (row.contains("pow")) compare(v, where + "pow", element(row.at("pow")).value(), power(a, b.value()).value());
  });
  each(all, "xfe", v, [&](const Json& row, const std::string& where) {
    const Extension a = extension(row.at("a")), b = extension(row.at("b"));
    const std::pair<const char*, Extension> results[] = {
        {"add", a + b}, {"sub", a - b}, {"mul", a * b}, {"inv_a", inverse(a)}};
    for (const auto& [what, found] : results) compare(v, where + what, elements(row.at(what)), listed(found));
  });
}

using Tip5State = std::array<Element, field::kTip5Width>;

/// Computes ((byte + 1)^3 - 1) mod 257.
std::uint64_t looked_up(std::uint64_t byte) {
  return ((byte + 1) * (byte + 1) * (byte + 1) - 1) % 257;
}

/// Computes one round word by word, after section 3.3 of the design. The vectors' states in between are checked by it,
/// as the kernels expose only the words that go through the table.
Tip5State round_of(const Tip5State& state, std::size_t round) {
  const Element unit(field::kEpsilon), back = inverse(unit);  // Montgomery forms are 2^64 = 2^32 - 1 times the word
  Tip5State powers, out;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (i >= field::kTip5LookedUp) {
      powers[i] = power(state[i], 7);
      continue;
    }
    const std::uint64_t form = (state[i] * unit).value();
    std::uint64_t replaced = 0;
    for (unsigned bit = 0; bit < 64; bit += 8) replaced |= looked_up(form >> bit & 0xff) << bit;
    powers[i] = Element(replaced) * back;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = Element(field::kTip5Constants[round * field::kTip5Width + i]) * back;
    for (std::size_t j = 0; j < powers.size(); ++j)
      out[i] += Element(field::kTip5Matrix[(i + field::kTip5Width - j) % field::kTip5Width]) * powers[j];
  }
  return out;
}

void check_tip5_parameters(const Json& all, Verdict& v) {
  if (!all.contains("tip5_params")) return;
  const Json& parameters = all.at("tip5_params");
  const std::string where = "tip5_params ";
  const std::pair<const char*, std::uint64_t> numbers[] = {{"state", field::kTip5Width},
                                                           {"rate", field::kTip5Rate},
                                                           {"capacity", field::kTip5Width - field::kTip5Rate},
                                                           {"rounds", field::kTip5Rounds},
                                                           {"split_and_lookup", field::kTip5LookedUp}};
  for (const auto& [what, found] : numbers)
    if (parameters.contains(what)) compare(v, where + what, parameters.at(what).get<std::uint64_t>(), found);
  std::vector<Element> table, column, constants;
  for (std::uint64_t byte = 0; byte < 256; ++byte) table.emplace_back(looked_up(byte));
  for (const std::uint16_t entry : field::kTip5Matrix) column.emplace_back(entry);
  for (const std::uint64_t form : field::kTip5Constants)
    constants.push_back(Element(form) * inverse(Element(field::kEpsilon)));
  const std::pair<const char*, const std::vector<Element>*> lists[] = {
      {"lookup_table", &table}, {"mds_first_column", &column}, {"round_constants", &constants}};
  for (const auto& [what, found] : lists)
    if (parameters.contains(what)) compare(v, where + what, elements(parameters.at(what)), *found);
  ++v.checked;
}

void check_tip5(const Json& all, Verdict& v) {
  using oracle::listed;
  each(all, "tip5_permutation", v, [&](const Json& row, const std::string& where) {
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
    Tip5State state = in;
    for (std::size_t round = 0; round <= field::kTip5Rounds; ++round) {
      compare(v, where + "state after " + std::to_string(round) + " rounds", elements(row.at("rounds").at(round)),
              {state.begin(), state.end()});
      if (round < field::kTip5Rounds) state = round_of(state, round);
    }
    compare(v, where + "states", field::kTip5Rounds + 1, row.at("rounds").size());
  });
  each(all, "tip5_hash_10", v, [&](const Json& row, const std::string& where) {
    compare(v, where, elements(row.at("out")),
            listed(field::tip5_hash_10(element_array<field::kTip5Rate>(row.at("in")))));
  });
  each(all, "tip5_hash_pair", v, [&](const Json& row, const std::string& where) {
    const auto left = element_array<5>(row.at("left")), right = element_array<5>(row.at("right"));
    compare(v, where, elements(row.at("out")), listed(field::tip5_hash_pair(left, right)));
  });
  each(all, "tip5_hash_varlen", v, [&](const Json& row, const std::string& where) {
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

void check_poseidon(const Json& all, Verdict& v) {
  using oracle::listed;
  each(all, "perm", v, [&](const Json& row, const std::string& where) {
    auto state = element_array<field::kPoseidonWidth>(row.at("in"));
    field::poseidon_permute(state);
    compare(v, where, elements(row.at("out")), listed(state));
  });
  each(all, "hash_fields", v, [&](const Json& row, const std::string& where) {
    compare(v, where, elements(row.at("out")), listed(field::poseidon_hash(elements(row.at("in")))));
  });
  each(all, "hash_bytes", v, [&](const Json& row, const std::string& where) {
    const auto found = field::poseidon_hash_bytes(bytes_of(row.at("in_hex").get<std::string>()));
    const auto expected = bytes_of(row.at("out_hex").get<std::string>());
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
      v.wrong.push_back(where + "expected another digest");
  });
}

}  // namespace

void check_vectors(const Json& all, Verdict& verdict) {
  check_field(all, verdict);
  check_tip5_parameters(all, verdict);
  check_tip5(all, verdict);
  check_poseidon(all, verdict);
}

}  // namespace trident::tir::oracle
