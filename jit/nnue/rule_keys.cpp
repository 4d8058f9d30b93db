#include "jit/nnue/rule_keys.h"

#include <string>
#include <unordered_map>

namespace trident::nnue {

std::uint64_t key_of(const egraph::Rule& rule, std::span<const egraph::OpRow> ops) {
  // Names variables by number, whatever they are called.
  std::vector<std::string> names;
  for (std::size_t v = 0; v < rule.variables.size(); ++v) names.push_back(std::to_string(v));
  const std::string text = egraph::print(rule.left, ops, names) + " => " + egraph::print(rule.right, ops, names);
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;  // FNV-1a (Fowler, Noll, Vo)
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3u;
  return hash != 0 ? hash : 1;
}

std::vector<std::uint32_t> rows_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops,
                                   std::span<const std::uint64_t> keys) {
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  for (std::uint32_t r = 1; r < keys.size(); ++r) row_of.emplace(keys[r], r);
  std::vector<std::uint32_t> rows;
  for (const egraph::Rule& rule : rules) {
    const auto found = row_of.find(key_of(rule, ops));
    rows.push_back(found != row_of.end() ? found->second : 0);
  }
  return rows;
}

std::vector<std::uint64_t> keys_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops) {
  std::vector<std::uint64_t> keys{0};
  for (const egraph::Rule& rule : rules) keys.push_back(key_of(rule, ops));
  return keys;
}

}  // namespace trident::nnue
