#include "jit/tir/equiv/shrink.h"

#include <algorithm>

namespace trident::tir::equiv {
namespace {

constexpr unsigned kTriesMax = 600;

/// Drops parts of one list, from the end: what is read last is the least needed.
template <class Part>
void shrink(State& state, std::vector<Part> State::*list, unsigned& tries,
            const std::function<bool(const State&)>& differs) {
  for (std::size_t size = (state.*list).size(); size > 0; size /= 2) {
    for (std::size_t end = (state.*list).size(); end > 0 && tries < kTriesMax; end -= std::min(size, end)) {
      State smaller = state;
      auto& parts = smaller.*list;
      const auto last = parts.begin() + static_cast<std::ptrdiff_t>(end);
      parts.erase(last - static_cast<std::ptrdiff_t>(std::min(size, end)), last);
      ++tries;
      if (differs(smaller)) state = std::move(smaller);
    }
  }
}

}  // namespace

State shrunk(State state, const std::function<bool(const State&)>& differs) {
  unsigned tries = 0;
  shrink(state, &State::public_input, tries, differs);
  shrink(state, &State::secret_input, tries, differs);
  shrink(state, &State::secret_digests, tries, differs);
  shrink(state, &State::ram, tries, differs);
  return state;
}

}  // namespace trident::tir::equiv
