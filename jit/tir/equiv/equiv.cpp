#include "jit/tir/equiv/equiv.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <vector>

#include "runtime/field/tip5.h"

namespace trident::tir::equiv {
namespace {

/// Limits passes. Each assumes what both blocks were found to require; more than three such layers are rare.
constexpr int kPassesMax = 6;

std::string shape_difference(const Shape& a, const Shape& b, std::size_t stack_min) {
  if (a.halts != b.halts) return "only one ends the program";
  if (a.height_change != b.height_change) return "the stacks have different heights";
  if (std::max(a.size_min, stack_min) != std::max(b.size_min, stack_min)) return "they need stacks of different depths";
  if (a.public_words != b.public_words || a.secret_words != b.secret_words || a.digests != b.digests)
    return "they read different numbers of words";
  if (a.output_words != b.output_words) return "they write different numbers of words";
  if (a.uses_sponge != b.uses_sponge || a.touches_sponge != b.touches_sponge) return "they use the sponge differently";
  return "";
}

std::string end_difference(const End& a, const End& b) {
  if (a.stack != b.stack) return "the stacks have different normal forms";
  if (a.output != b.output) return "the outputs have different normal forms";
  if (a.stores != b.stores) return "the stores have different normal forms";
  if (a.sponge != b.sponge) return "the sponges have different normal forms";
  return "";
}

void assume(Values& values, const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::u32: return values.bound(condition.value, 0xffff'ffff);
    case Condition::Kind::not_zero: return values.assume_not_zero(condition.value);
    case Condition::Kind::zero: return values.assume_zero(condition.value);
  }
}

/// Looks for a difference in `count` states.
bool found(Pair& pair, States& states, unsigned count, const std::function<bool(unsigned, unsigned)>& goes_on,
           Decision& decision) {
  for (unsigned i = 0; i < count && (!goes_on || goes_on(i, count)); ++i) {
    State state = states.next();
    std::string difference = pair.difference(state);
    if (difference.empty()) continue;
    decision = {Answer::differs, 0, std::move(difference), std::move(state)};
    return true;
  }
  return false;
}

/// Lists values that a block tests for 0 or fails by. Blocks that are the same nearly everywhere may differ where
/// one of them is 0.
std::vector<Value> asked(const Values& values, std::initializer_list<const End*> ends) {
  std::vector<Value> out = values.asked();
  for (const End* end : ends)
    for (const Condition& condition : end->conditions)
      if (condition.kind != Condition::Kind::u32) out.push_back(condition.value);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Looks for a difference where one of the asked() values is 0: in states where one word that the value depends on
/// was changed to make it so.
bool found_at_roots(Pair& pair, States& states, Block a, Block b, const Options& options, Decision& decision) {
  constexpr std::size_t kValuesMax = 24;
  constexpr int kStates = 3;
  const Shape x = shape_of(a), y = shape_of(b);
  if (!x.straight || !y.straight) return false;
  Values values(options.seed);
  const std::size_t cells = std::max(x.cells, y.cells);
  const End end_a = execute(values, a, cells), end_b = execute(values, b, cells);
  std::vector<Value> list = asked(values, {&end_a, &end_b});
  list.resize(std::min(list.size(), kValuesMax));
  const auto word = [](State& state, AtomKind kind, std::uint32_t position) -> Element* {
    std::vector<Element>& words = kind == AtomKind::cell          ? state.stack
                                  : kind == AtomKind::public_word ? state.public_input
                                                                  : state.secret_input;
    if (position >= words.size()) return nullptr;
    return kind == AtomKind::cell ? &words[words.size() - 1 - position] : &words[position];
  };
  for (const Value value : list)
    for (int i = 0; i < kStates; ++i) {
      State state = states.next();
      const auto roots = values.roots(value, [&](AtomKind kind, std::uint32_t position) -> std::optional<Element> {
        const Element* at = word(state, kind, position);
        return at == nullptr ? std::nullopt : std::optional<Element>(*at);
      });
      for (const Values::Root& root : roots) {
        State changed = state;
        *word(changed, root.kind, root.position) = root.word;
        std::string difference = pair.difference(changed);
        if (difference.empty()) continue;
        decision = {Answer::differs, 0, std::move(difference), std::move(changed)};
        return true;
      }
    }
  return false;
}

/// Looks for a difference where an element of the extension field is 0, that is, where all three words are.
bool found_at_zero_elements(Pair& pair, States& states, Block a, Block b, Decision& decision) {
  const auto inverts = [](const Instruction& i) { return i.op == tasm::Op::kXInvert; };
  if (std::none_of(a.begin(), a.end(), inverts) && std::none_of(b.begin(), b.end(), inverts)) return false;
  constexpr std::size_t kPlaces = 32, kWords = 3;
  for (std::vector<Element> State::*const kind : {&State::stack, &State::public_input, &State::secret_input}) {
    for (std::size_t at = 0; at < kPlaces; ++at) {
      State state = states.next();
      std::vector<Element>& words = state.*kind;
      if (at + kWords > words.size()) break;
      const std::size_t first = kind == &State::stack ? words.size() - kWords - at : at;
      std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(first), kWords, Element(0));
      std::string difference = pair.difference(state);
      if (difference.empty()) continue;
      decision = {Answer::differs, 0, std::move(difference), std::move(state)};
      return true;
    }
  }
  return false;
}

bool legal(Block block) {
  return std::all_of(block.begin(), block.end(),
                     [](const Instruction& i) { return tasm::legal_argument(tasm::row(i.op).argument, i.argument); });
}

/// Derives the random points from a hash of both blocks: whoever knew them beforehand could write two blocks that
/// differ and agree on them.
std::uint64_t points_seed(std::uint64_t seed, Block a, Block b) {
  std::vector<Element> text{Element(seed), Element(a.size()), Element(b.size())};
  for (const Block block : {a, b})
    for (const Instruction& i : block) {
      text.emplace_back(static_cast<std::uint64_t>(i.op));
      text.push_back(i.argument);
    }
  return field::tip5_hash_varlen(text)[0].value();
}

Decision unusable() {
  return {Answer::unknown,
          0,
          "a block is malformed: an argument is out of range, or a call goes to where no instruction begins",
          {}};
}

}  // namespace

/// Executes and compares both blocks, pass after pass. A condition that both require must hold for either to succeed,
/// so the next pass may assume it. In every pass a block succeeds if and only if the assumptions and its remaining
/// conditions hold; the blocks fail alike once their remaining conditions are equal.
Proof prove(Block baseline, Block candidate, const Options& options) {
  const Shape a = shape_of(baseline), b = shape_of(candidate);
  if (!a.straight || !b.straight) return {false, 0, "there is control flow in a block"};
  const std::string shapes = shape_difference(a, b, options.stack_min);
  Values values(points_seed(options.seed, baseline, candidate));
  std::vector<Condition> assumed;
  for (int pass = 0; pass < kPassesMax; ++pass) {
    const std::size_t cells = std::max(a.cells, b.cells);
    const End x = execute(values, baseline, cells), y = execute(values, candidate, cells);
    if (!x.out_of_reach.empty() || !y.out_of_reach.empty())
      return {false, 0, x.out_of_reach.empty() ? y.out_of_reach : x.out_of_reach};
    if (x.fails && y.fails) return {true, values.error_bound(), ""};
    if (x.fails || y.fails) return {false, 0, "only one always fails"};
    if (!shapes.empty()) return {false, 0, shapes};
    const std::string ends = end_difference(x, y);
    if (x.conditions == y.conditions && ends.empty()) return {true, values.error_bound(), ""};
    std::vector<Condition> shared, gained;
    std::set_intersection(x.conditions.begin(), x.conditions.end(), y.conditions.begin(), y.conditions.end(),
                          std::back_inserter(shared));
    std::set_difference(shared.begin(), shared.end(), assumed.begin(), assumed.end(), std::back_inserter(gained));
    if (gained.empty())
      return {false, 0, ends.empty() ? "the conditions of failure have different normal forms" : ends};
    for (const Condition& condition : gained) assume(values, condition);
    assumed.insert(assumed.end(), gained.begin(), gained.end());
    std::sort(assumed.begin(), assumed.end());
  }
  return {false, 0, "their conditions depend on each other too deeply"};
}

Decider::Decider(Block baseline, const Options& options)
    : baseline_(baseline),
      options_(options),
      screen_(legal(baseline) ? baseline : Block(), options.seed, options.stack_min) {}

Decision Decider::decide(Block candidate) {
  if (!legal(candidate) || !legal(baseline_)) return unusable();
  Pair pair(baseline_, candidate);
  if (!pair.runnable()) return unusable();
  Decision decision;
  if (!screen_.survives(candidate)) {
    decision.witness = screen_.witness();
    decision.reason = pair.difference(decision.witness);
    decision.answer = Answer::differs;
    if (!decision.reason.empty()) return decision;
    DCHECK(false);  // the lanes and the machine are the same machine
    decision = {};
  }
  const Proof proof = prove(baseline_, candidate, options_);
  States states(options_.seed, baseline_, candidate, options_.stack_min);
  // A callback cannot skip the rerun of blocks about to be called equal.
  if (proof.equal ? found(pair, states, options_.rerun, {}, decision)
                  : found_at_roots(pair, states, baseline_, candidate, options_, decision) ||
                        found_at_zero_elements(pair, states, baseline_, candidate, decision) ||
                        found(pair, states, options_.searched, options_.goes_on, decision))
    return decision;
  decision.answer = proof.equal ? Answer::equal : Answer::unknown;
  decision.error_bound = proof.error_bound;
  decision.reason = proof.reason;
  return decision;
}

Decision decide(Block baseline, Block candidate, const Options& options) {
  return Decider(baseline, options).decide(candidate);
}

}  // namespace trident::tir::equiv
