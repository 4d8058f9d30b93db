#include "jit/tir/equiv/program_states.h"

#include <algorithm>
#include <iterator>

namespace trident::tir::equiv {
namespace {

constexpr std::size_t kWords = 48, kDigests = 16;  ///< numbers of random inputs

void change(std::vector<Element>& list, States& source, Random& random) {
  for (Element& e : list) {
    if (!random.one_in(6)) continue;
    e = random.one_in(3) ? list[random.below(list.size())]
                         : source.element(static_cast<unsigned>(random.next() % States::kKinds));
  }
}

/// Lists all words that a program can read; words that it may read one after another are neighbours.
std::vector<Element*> words_of(State& state) {
  std::vector<Element*> out;
  for (std::size_t i = 0; i < std::max(state.public_input.size(), state.secret_input.size()); ++i)
    for (auto* list : {&state.public_input, &state.secret_input})
      if (i < list->size()) out.push_back(&(*list)[i]);
  for (auto& [address, word] : state.ram) out.push_back(&word);
  return out;
}

/// Makes words equal or close to earlier ones: programs compare the words they read.
void repeat_words(State& state, Random& random) {
  constexpr std::uint64_t kNear = 16;
  const std::vector<Element*> words = words_of(state);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!random.one_in(3)) continue;
    *words[i] = *words[i - 1 - random.below(std::min<std::uint64_t>(i, kNear))];
    if (random.one_in(6)) *words[i] += random.one_in(2) ? field::kOne : field::kMinusOne;
  }
}

/// Fills a list with the same few words again and again, with exceptions: for vectors that are compared as a whole.
void repeat_vectors(std::vector<Element>& list, Random& random) {
  constexpr std::size_t kPeriods[] = {1, 2, 3, field::kDigestWords};
  const std::size_t period = kPeriods[random.below(std::size(kPeriods))];
  for (std::size_t i = period; i < list.size(); ++i)
    if (!random.one_in(12)) list[i] = list[i - period];
}

}  // namespace

State changed(const State& given, States& source, Random& random) {
  State s = given;
  change(s.public_input, source, random);
  change(s.secret_input, source, random);
  for (field::Digest& digest : s.secret_digests)
    if (random.one_in(8)) digest[random.below(digest.size())] = source.element(0);
  for (auto& [address, word] : s.ram)
    if (random.one_in(8)) word = source.element(static_cast<unsigned>(random.next() % States::kKinds));
  return s;
}

State made(const State& given, States& source, Random& random) {
  State s = source.next();
  s.absorbed.reset();
  s.stack = given.stack;
  const auto kind = static_cast<unsigned>(random.next() % States::kKinds);
  s.public_input.clear();
  s.secret_input.clear();
  s.secret_digests.clear();
  for (std::size_t i = 0; i < kWords; ++i) s.public_input.push_back(source.element(kind));
  for (std::size_t i = 0; i < kWords; ++i) s.secret_input.push_back(source.element(kind));
  for (std::size_t i = 0; i < kDigests; ++i) {
    s.secret_digests.emplace_back();
    for (Element& e : s.secret_digests.back()) e = source.element(0);
  }
  for (auto* list : {&s.public_input, &s.secret_input})
    if (random.one_in(3)) (*list)[0] = Element(random.below(12));  // often a length
  if (random.one_in(3)) repeat_words(s, random);
  if (random.one_in(6)) {
    repeat_vectors(s.public_input, random);
    repeat_vectors(s.secret_input, random);
  }
  return s;
}

State of_switches(const State& given, States& source, Random& random) {
  State s = made(given, source, random);
  const std::uint64_t zeros = 1 + random.below(4);
  for (auto* list : {&s.public_input, &s.secret_input})
    for (Element& e : *list) e = Element(random.below(zeros + 1) < zeros ? 0 : 1 + random.below(3));
  return s;
}

}  // namespace trident::tir::equiv
