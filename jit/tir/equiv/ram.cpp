#include "jit/tir/equiv/ram.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace trident::tir::equiv {

bool Ram::differ(Value a, Value b) {
  if (a == b) return false;
  const Value difference = values_.subtract(a, b);
  return values_.never_zero(difference) || values_.never_zero(values_.normed(difference));
}

Value Ram::load(Value address) {
  std::vector<Value> relevant;  // addresses and words, the last first
  for (auto s = stores_.rbegin(); s != stores_.rend(); ++s) {
    if (s->address == address && relevant.empty()) return s->word;
    if (differ(s->address, address)) continue;
    relevant.push_back(s->address);
    relevant.push_back(s->word);
    if (s->address == address) break;
  }
  if (relevant.empty()) return values_.atom(AtomKind::ram_word, address);
  return values_.atom(AtomKind::loaded, values_.tuple(relevant), address);
}

void Ram::store(Value address, Value word) {
  if (load(address) == word) return;  // it is there already
  std::erase_if(stores_, [&](const Store& s) { return s.address == address; });
  stores_.push_back({address, word});
}

std::vector<Store> Ram::stores() {
  // Finds the normal form: among all orders that keep stores which do not commute, the least by addresses' names.
  const std::size_t count = stores_.size();
  std::vector<std::vector<std::size_t>> followers(count);
  std::vector<std::size_t> waits(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j)
      if (stores_[i].word != stores_[j].word && !differ(stores_[i].address, stores_[j].address)) {
        followers[i].push_back(j);
        ++waits[j];
      }
  using Named = std::pair<Value, std::size_t>;  // address, index
  std::priority_queue<Named, std::vector<Named>, std::greater<>> free;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) free.emplace(stores_[i].address, i);
  std::vector<Store> out;
  while (!free.empty()) {
    const std::size_t i = free.top().second;
    free.pop();
    out.push_back(stores_[i]);
    for (const std::size_t j : followers[i])
      if (--waits[j] == 0) free.emplace(stores_[j].address, j);
  }
  return out;
}

}  // namespace trident::tir::equiv
