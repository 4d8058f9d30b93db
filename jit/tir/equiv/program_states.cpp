#include "jit/tir/equiv/program_states.h"

namespace trident::tir::equiv {
namespace {

constexpr std::size_t kWords = 48, kDigests = 16;  ///< of random inputs

void change(std::vector<Element>& list, States& source, Random& random) {
  for (Element& e : list)
    if (random.one_in(6)) e = source.element(static_cast<unsigned>(random.next() % States::kKinds));
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
