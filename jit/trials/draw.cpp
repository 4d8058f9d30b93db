#include "jit/trials/draw.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/base/split_mix.h"

namespace trident::trials {
namespace {

/// Draws of one state: the first, and those after a miss that told more.
constexpr std::uint32_t kAttempts = 12;
/// Steps of the interpreter in all runs, roughly, and in one.
constexpr std::uint64_t kStepsOfAll = 60'000, kStepsOfOne = 1'000'000;
/// Runs of a subject whose first ones show too little.
constexpr std::uint32_t kRunsFactor = 3;
/// More rounds for each of several stages: most loops that stand in a row take some dozens.
constexpr std::uint64_t kRoundsFactor = 16;
/// Steps of all runs for each of several stages.
constexpr std::uint64_t kStepsFactor = 4;

// --- memory ----------------------------------------------------------------------------------------------------------

std::uint64_t drawn_base(SplitMix64& random) {
  constexpr std::uint64_t kPage = ~std::uint64_t{0xFFF};
  switch (random.next() % 5) {
    case 0: return (random.next() & 0xF'FFFF) & kPage;               // low, 0 among them
    case 1: return (random.next() >> 17) & kPage;                    // a program's
    case 2: return (random.next() | 0xFFFF'8000'0000'0000) & kPage;  // a kernel's
    case 3: return 0 - kMappingBytes;                                // up to 2^64
    default: return (random.next() & 0xFFFF'FFFF) & kPage;
  }
}

/// Mappings behind the first: adjacent, behind a hole, or elsewhere.
Layout drawn_places(SplitMix64& random) {
  Layout layout;
  layout.count = 3 + random.below(3);
  for (std::size_t m = 0; m < layout.count; ++m) {
    const std::uint64_t choice = m == 0 ? 2 : random.next() % 3;
    layout.address[m] = choice == 2 ? drawn_base(random) : layout.address[m - 1] + (1 + choice) * kMappingBytes;
  }
  return layout;
}

std::uint64_t drawn_address(const Layout& layout, SplitMix64& random);

std::uint64_t drawn_word(const Layout& layout, SplitMix64& random) {
  const std::uint64_t drawn = random.next();
  if (layout.kind == Contents::small) return drawn & 0x0000'0003'0001'0003;
  if (layout.kind == Contents::same) return random.one_in(40) ? drawn : 0x0101'0101'0101'0101;
  if (layout.kind == Contents::own) return drawn & 0x0000'0007'0000'01FF;
  if (drawn % 4 == 0) return drawn_address(layout, random) & ~std::uint64_t{7};
  return drawn % 4 == 1 ? drawn >> 8 & 0x0F0F'0F0F'0000'000F : drawn;
}

Layout drawn_layout(Contents kind, SplitMix64& random) {
  Layout layout = drawn_places(random);
  layout.kind = kind;
  if (kind == Contents::own) layout.address[0] = 0;
  layout.contents.resize(Arena::kMemoryBytes);
  for (std::size_t at = 0; at < layout.contents.size(); at += 8) {
    const std::uint64_t word = drawn_word(layout, random);
    std::memcpy(layout.contents.data() + at, &word, sizeof word);
  }
  return layout;
}

/// An offset in `bytes` bytes: often at an edge or beyond it.
std::uint64_t drawn_offset(std::uint64_t bytes, SplitMix64& random) {
  switch (random.below(8)) {
    case 0: return random.below(16);
    case 1:
    case 2: return bytes - 1 - random.below(16);
    case 3: return random.below(bytes);
    default: return (bytes / 4 + random.below(bytes / 2)) & ~std::uint64_t{7};
  }
}

std::uint64_t drawn_address(const Layout& layout, SplitMix64& random) {
  return layout.address[random.next() % layout.count] + drawn_offset(kMappingBytes, random);
}

constexpr Contents kLayouts[] = {Contents::mixed, Contents::own, Contents::small, Contents::own, Contents::same};

// --- numbers ---------------------------------------------------------------------------------------------------------

std::uint64_t word_at(std::span<const std::byte> frame, std::uint32_t slot) {
  std::uint64_t word = 0;
  std::memcpy(&word, frame.data() + slot, sizeof word);
  return word;
}

void put_word(std::span<std::byte> frame, std::uint32_t slot, std::uint64_t word) {
  std::memcpy(frame.data() + slot, &word, sizeof word);
}

// --- a run -----------------------------------------------------------------------------------------------------------

/// Homes of scratch variables become what they were: no code keeps them.
void restore_scratch(const Subject& subject, const Run& run, const Arena& arena) {
  for (const region::Variable& v : subject.region.variables)
    if (v.scratch) std::memcpy(arena.frame().data() + v.slot, run.frame.data() + v.slot, bytes_of(v.type));
}

/// An earlier window whose addresses come from the word that those of `window` come from.
std::optional<std::uint32_t> window_of_the_same_home(const Subject& subject, std::uint32_t window) {
  for (std::uint32_t w = 0; w < window; ++w)
    if (subject.bases[w].slot == subject.bases[window].slot) return w;
  return {};
}

class RunDraw {
 public:
  RunDraw(const Subject& subject, const Arena& arena, const Layout& layout, SplitMix64& random)
      : subject_(subject), arena_(arena), random_(random), reached_(subject.region.blocks.size()) {
    run_.layout = &layout;
    run_.frame.resize(subject.frame_bytes);
    draw_windows();
    draw_frame();
  }

  /// Returns the steps that the run takes, those of earlier stages again and again; the run is nothing when it takes
  /// too many.
  std::uint64_t settle() {
    const bool keeps_misses = random_.one_in(6);
    std::uint64_t repeated = 0;
    for (std::uint32_t attempt = 1;; ++attempt) {
      region::Outcome outcome = interpret();
      repeated += outcome.steps;
      if (subject_.stages > 1) outcome.steps = repeated;
      if (!outcome.exit) return outcome.steps;
      if (attempt == kAttempts * subject_.stages || !change_after(*outcome.exit, keeps_misses)) return finish(outcome);
    }
  }
  [[nodiscard]] bool ended() const { return ended_; }
  Run take() { return std::move(run_); }
  /// Blocks that control came to in the run, as bytes that are not 0.
  [[nodiscard]] std::span<const std::uint8_t> reached() const { return reached_; }

 private:
  /// Changes the state, if a run of another one may show more.
  bool change_after(region::Exit exit, bool keeps_misses);

  void draw_windows() {
    const Layout& layout = *run_.layout;
    const bool is_own = layout.kind == Contents::own;
    const bool is_shared = is_own || random_.one_in(3);
    const std::size_t shared = is_own ? 0 : random_.below(layout.count);
    std::vector<std::size_t> mappings;
    for (std::uint32_t w = 0; w < subject_.region.windows; ++w) {
      std::size_t mapping = is_shared ? shared : random_.next() % layout.count;
      if (const auto other = window_of_the_same_home(subject_, w)) mapping = mappings[*other];
      mappings.push_back(mapping);
      const auto host = reinterpret_cast<std::uint64_t>(arena_.mapping(mapping).data());
      region::Window window{layout.address[mapping], kMappingBytes, host - layout.address[mapping]};
      if (random_.one_in(4)) cut(window);
      run_.windows.push_back(window);
    }
  }

  /// Leaves a part of the window. Bytes outside of it are its neighbours, which no access may touch.
  void cut(region::Window& window) {
    const std::uint64_t from = random_.next() % 64;
    window.lo += from;
    window.span = random_.one_in(8) ? random_.next() % 24 : window.span - from - random_.next() % 64;
  }

  std::uint64_t address_in(const region::Window& window) {
    return window.lo + drawn_offset(std::max<std::uint64_t>(window.span, 64), random_);
  }

  void draw_frame() {
    for (std::size_t at = 0; at < run_.frame.size(); at += 8)
      put_word(run_.frame, static_cast<std::uint32_t>(at), random_.next());
    for (const region::Variable& v : subject_.region.variables) draw_variable(v);
    for (std::uint32_t w = 0; w < run_.windows.size(); ++w) {
      std::uint64_t base = address_in(run_.windows[w]);
      if (w > 0 && random_.one_in(3))
        base = word_at(run_.frame, subject_.bases[w - 1].slot) + random_.next() % 129 - 64;
      const bool is_drawn = random_.one_in(24);
      if (is_drawn) base = random_.next();
      if (!window_of_the_same_home(subject_, w)) put_word(run_.frame, subject_.bases[w].slot, base);
    }
    for (const region::Variable& v : subject_.region.variables) relate(v);
    draw_budget();
  }

  void draw_variable(const region::Variable& v) {
    const std::uint64_t bits = drawn_number(random_);
    if (v.type != region::Type::i32) return put_word(run_.frame, v.slot, bits);
    const auto flags = static_cast<std::uint32_t>(random_.next());
    std::memcpy(run_.frame.data() + v.slot, &flags, sizeof flags);
  }

  /// A word that no address comes from may be the end of a range, or another address.
  void relate(const region::Variable& v) {
    const auto is_home = [&](const Home& home) { return home.slot == v.slot; };
    if (v.type != region::Type::i64 || run_.windows.empty() || !random_.one_in(4)) return;
    if (std::any_of(subject_.bases.begin(), subject_.bases.end(), is_home)) return;
    const std::uint64_t base = word_at(run_.frame, subject_.bases[random_.next() % subject_.bases.size()].slot);
    put_word(run_.frame, v.slot, base + (random_.next() % 12 << random_.next() % 4));
  }

  void draw_budget() {
    std::uint64_t most =
        std::clamp<std::uint64_t>(4000 / std::max<std::size_t>(subject_.region.insts.size(), 1), 3, 40);
    if (subject_.stages > 1 && !random_.one_in(3)) most *= kRoundsFactor * subject_.stages;
    const std::uint64_t budget = random_.one_in(3) ? 1 + random_.next() % 3 : 1 + most / 2 + random_.next() % most;
    put_word(run_.frame, offsetof(region::FrameHead, budget), budget);
  }

  region::Outcome interpret() {
    set_up(run_, arena_);
    std::fill(reached_.begin(), reached_.end(), std::uint8_t{0});
    const region::Outcome outcome =
        region::interpret(subject_.region, arena_.frame(), run_.windows, kStepsOfOne, reached_);
    scratch_words_.clear();
    for (const region::Variable& v : subject_.region.variables)
      if (v.scratch && v.type == region::Type::i64) scratch_words_.push_back(word_at(arena_.frame(), v.slot));
    restore_scratch(subject_, run_, arena_);
    return outcome;
  }

  [[nodiscard]] bool took_way_back() const {
    constexpr std::uint32_t kBudget = offsetof(region::FrameHead, budget);
    return word_at(run_.frame, kBudget) != word_at(arena_.frame(), kBudget);
  }

  std::uint64_t finish(const region::Outcome& outcome) {
    run_.exit = *outcome.exit;
    run_.took_way_back = took_way_back();
    run_.expected = arena_.digest();
    ended_ = true;
    return outcome.steps;
  }

  /// Moves the word that the address came from, so that the access hits. Where that has not helped, moves the origin,
  /// then the window.
  void move_after_miss() {
    const auto [address, w] = miss();
    if (w >= run_.windows.size()) return;  // an access of an element notes nothing
    const std::uint64_t distance = address_in(run_.windows[w]) - address;
    if (address == missed_address_ && w == missed_window_) stuck_ |= 1u << w;
    missed_address_ = address, missed_window_ = w;
    if ((stuck_ >> w & 1) == 0) return move(subject_.bases[w], distance);
    if (subject_.origin && !moved_origin_) {
      moved_origin_ = true;
      return move(*subject_.origin, distance);
    }
    move_window(w, distance);
  }

  /// The address and the window of the access that missed.
  [[nodiscard]] std::pair<std::uint64_t, std::uint32_t> miss() const {
    std::uint32_t w = 0;
    std::memcpy(&w, arena_.frame().data() + offsetof(region::FrameHead, exit_window), sizeof w);
    return {word_at(arena_.frame(), offsetof(region::FrameHead, exit_address)), w};
  }

  void move_window(std::uint32_t w, std::uint64_t distance) {
    run_.windows[w].delta += distance;
    run_.windows[w].lo -= distance;
  }

  /// Code between stages sets pointers to places that no word of the frame tells. Moves each window there once.
  bool move_window_of_later_stage() {
    const auto [address, w] = miss();
    if (subject_.stages == 1 || w >= run_.windows.size() || (moved_windows_ >> w & 1) != 0) return false;
    moved_windows_ |= 1u << w;
    move_window(w, address_in(run_.windows[w]) - address);
    return true;
  }

  /// Gives a word that has stayed the value that another one has now: the loop ends here if it compares the two.
  void aim_at_end();

  /// Scratch words are what was compared last, as a rule: makes them equal where the run has come to. Moves a word that
  /// has stayed, the end of a range, or else the start of one that counts up to a constant.
  bool aim_at_what_was_compared();

  [[nodiscard]] bool may_be_compared(const region::Variable& v) const {
    const bool is_word = v.type == region::Type::i64 && !v.scratch && v.slot >= region::kFrameHeadBytes;
    return is_word && !(subject_.origin && subject_.origin->slot == v.slot);
  }

  void move(const Home& home, std::uint64_t distance) {
    put_word(run_.frame, home.slot, word_at(run_.frame, home.slot) + distance / home.step * home.step);
  }

  const Subject& subject_;
  const Arena& arena_;
  SplitMix64& random_;
  Run run_;
  std::vector<std::uint8_t> reached_;
  std::vector<std::uint64_t> scratch_words_;  ///< when the interpreter had run
  std::uint64_t missed_address_ = 0;
  std::uint32_t missed_window_ = UINT32_MAX;
  std::uint32_t stuck_ = 0;          ///< windows whose addresses do not follow the word that they come from
  std::uint32_t moved_windows_ = 0;  ///< of later stages
  bool moved_origin_ = false;
  std::uint32_t aims_ = 0;
  bool ended_ = false;
};

bool RunDraw::change_after(region::Exit exit, bool keeps_misses) {
  const bool is_miss = exit == region::Exit::miss, is_early = is_miss && !took_way_back();
  if (keeps_misses && (is_early || (is_miss && subject_.stages > 1))) return false;
  if (is_early) {
    move_after_miss();
    return true;
  }
  if (is_miss && move_window_of_later_stage()) return true;
  if (exit == region::Exit::left || aims_ == subject_.stages || !random_.one_in(2)) return false;
  aim_at_end();
  return true;
}

void RunDraw::aim_at_end() {
  ++aims_;
  if (subject_.stages > 1 && aim_at_what_was_compared()) return;
  std::vector<std::uint32_t> moved, stayed;
  for (const region::Variable& v : subject_.region.variables) {
    if (!may_be_compared(v)) continue;
    (word_at(run_.frame, v.slot) == word_at(arena_.frame(), v.slot) ? stayed : moved).push_back(v.slot);
  }
  if (moved.empty() || stayed.empty()) return;
  const std::uint32_t from = moved[random_.below(moved.size())], to = stayed[random_.below(stayed.size())];
  put_word(run_.frame, to, word_at(arena_.frame(), from));
}

bool RunDraw::aim_at_what_was_compared() {
  if (scratch_words_.size() != 2) return false;
  for (const bool stayed : {true, false}) {
    for (const region::Variable& v : subject_.region.variables) {
      const std::uint64_t before = word_at(run_.frame, v.slot), now = word_at(arena_.frame(), v.slot);
      const bool is_first = now == scratch_words_[0], is_compared = is_first || now == scratch_words_[1];
      if (!may_be_compared(v) || !is_compared || (now == before) != stayed) continue;
      put_word(run_.frame, v.slot, before + scratch_words_[is_first ? 1 : 0] - now);
      return true;
    }
  }
  return false;
}

void count(Coverage& coverage, const Run& run) {
  ++coverage.runs;
  coverage.rounds += run.took_way_back ? 1 : 0;
  switch (run.exit) {
    case region::Exit::left:
    case region::Exit::last: ++coverage.left; break;
    case region::Exit::budget: ++coverage.spent; break;
    case region::Exit::miss: ++coverage.missed; break;
  }
}

/// Says whether the runs show all that a region with ways back can do.
bool is_enough(const Coverage& coverage, const Subject& subject) {
  if (subject.stages > 1 && coverage.ways_taken < coverage.ways) return false;
  return std::min({coverage.rounds, coverage.left, coverage.spent}) >= 2;
}

/// Which of a region's blocks take from the budget, as each way back does, and which of these a run came to.
class WaysBack {
 public:
  explicit WaysBack(const region::Region& region) {
    for (std::uint32_t b = 0; b < region.blocks.size(); ++b)
      if (spends(region, region.blocks[b])) ways_.push_back({b, false});
  }
  void note(std::span<const std::uint8_t> reached) {
    for (Way& way : ways_) way.is_taken |= reached[way.block] != 0;
  }
  void count_in(Coverage& coverage) const {
    coverage.ways = static_cast<std::uint32_t>(ways_.size());
    const auto taken = std::count_if(ways_.begin(), ways_.end(), [](const Way& way) { return way.is_taken; });
    coverage.ways_taken = static_cast<std::uint32_t>(taken);
  }

 private:
  struct Way {
    std::uint32_t block;
    bool is_taken;
  };
  static bool spends(const region::Region& region, const region::Block& block) {
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const region::Inst& inst = region.insts[i];
      if (inst.op == region::Op::Set && region.variables[inst.imm].slot == offsetof(region::FrameHead, budget))
        return true;
    }
    return false;
  }
  std::vector<Way> ways_;
};

}  // namespace

void set_up(const Run& run, const Arena& arena) {
  std::memcpy(arena.frame().data(), run.frame.data(), run.frame.size());
  std::memcpy(arena.memory().data(), run.layout->contents.data(), Arena::kMemoryBytes);
  soil(arena.locals(run.local_bytes));
}

void soil(std::span<std::byte> locals) {
  constexpr int kDirt = 0xA5;
  if (!locals.empty()) std::memset(locals.data(), kDirt, locals.size());
}

std::uint64_t drawn_number(SplitMix64& random) {
  const std::uint64_t drawn = random.next();
  switch (drawn % 10) {
    case 0: return 0 - (drawn >> 8) % 16;
    case 1: return std::uint64_t{1} << (drawn >> 8) % 64;
    case 2: return static_cast<std::uint32_t>(drawn >> 8);
    case 3: return 0x7FFF'FFFF'FFFF'FFFF + (drawn >> 8) % 3;
    case 4: return 0x7FFF'FFFF + (drawn >> 8) % 3;
    case 5: return random.next();
    case 6: return (drawn >> 8) % 12;
    default: return (drawn >> 8) % 4;
  }
}

region::Outcome interpret(const Subject& subject, const Run& run, const Arena& arena, std::uint64_t steps,
                          std::span<std::uint8_t> reached) {
  const region::Outcome outcome = region::interpret(subject.region, arena.frame(), run.windows, steps, reached);
  restore_scratch(subject, run, arena);
  return outcome;
}

namespace {

/// The number of the layout for run `run`. Pointers and indices of several stages hold out longer where memory has
/// small numbers, the same in most places.
std::size_t layout_of(std::size_t run, const Subject& subject) {
  constexpr std::size_t kSmall = 2, kSame = 4;
  static_assert(kLayouts[kSmall] == Contents::small && kLayouts[kSame] == Contents::same);
  if (subject.stages == 1 || run % 3 == 0) return run % std::size(kLayouts);
  return run % 2 == 0 ? kSmall : kSame;
}

}  // namespace

std::size_t runs_max(const Options& options) {
  return kRunsFactor * std::size_t{options.runs};
}

Draw draw_runs(const Subject& subject, const Options& options, const Arena& arena) {
  Draw draw;
  SplitMix64 random(options.seed);
  WaysBack ways(subject.region);
  for (const Contents contents : kLayouts) draw.layouts.push_back(drawn_layout(contents, random));
  std::uint64_t steps = 0;
  const std::uint64_t most_steps = kStepsOfAll * (subject.stages > 1 ? kStepsFactor * subject.stages : 1);
  for (std::size_t i = 0; i < runs_max(options); ++i) {
    const bool is_long = steps > most_steps && i > options.runs / 4;
    if ((i >= options.runs || is_long) && is_enough(draw.coverage, subject)) break;
    if (steps > kRunsFactor * most_steps) break;
    RunDraw one(subject, arena, draw.layouts[layout_of(i, subject)], random);
    steps += one.settle();
    if (!one.ended()) continue;
    ways.note(one.reached());
    draw.runs.push_back(one.take());
    count(draw.coverage, draw.runs.back());
    ways.count_in(draw.coverage);
  }
  return draw;
}

}  // namespace trident::trials
