#include "jit/tir/equiv/ram.h"

#include <algorithm>

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
  // Takes the least of those that no earlier one must precede, again and again.
  std::vector<Store> left = stores_, out;
  while (!left.empty()) {
    std::size_t best = left.size();
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (best != left.size() && left[best].address < left[i].address) continue;
      const bool free = std::all_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i), [&](const Store& s) {
        return s.word == left[i].word || differ(s.address, left[i].address);
      });
      if (free) best = i;
    }
    out.push_back(left[best]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return out;
}

}  // namespace trident::tir::equiv
