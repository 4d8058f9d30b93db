#include "jit/trials/draw_call.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trident::trials {
namespace {

/// Steps of the interpreter in all runs, roughly, and in one.
constexpr std::uint64_t kStepsOfAllCalls = 120'000, kStepsOfOneCall = 400'000;
/// Bytes that no array may touch lie before each local array.
constexpr std::size_t kLocalGapBytes = 64;
/// Elements of most arrays, at most: work of nested loops grows fast.
constexpr std::uint64_t kFewElements = 12;

constexpr Contents kArrayContents[] = {Contents::letters, Contents::small, Contents::rising, Contents::mixed,
                                       Contents::same};

/// Layouts of floats beside those above, where a function has arrays of them; a stage has room for eight in all.
constexpr int kFloatLayouts = 3;

std::uint8_t drawn_letter(SplitMix64& random) {
  constexpr std::string_view kLetters = "aab bAZ0129-+xf\t/:@";
  if (random.one_in(10)) return 0;
  return random.one_in(16) ? static_cast<std::uint8_t>(random.next())
                           : static_cast<std::uint8_t>(kLetters[random.below(kLetters.size())]);
}

/// Draws the bits of a float: small numbers and halves, corners, or anything.
std::uint64_t drawn_float(SplitMix64& random) {
  constexpr double kCorners[] = {0.0,
                                 0.49999999999999994,
                                 0x1p52 + 1,
                                 0x1p63,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::signaling_NaN(),
                                 std::numeric_limits<double>::denorm_min(),
                                 std::numeric_limits<double>::min(),
                                 std::numeric_limits<double>::max()};
  const std::uint64_t sign = random.next() & std::uint64_t{1} << 63;
  switch (random.below(4)) {
    case 0: return sign | std::bit_cast<std::uint64_t>(kCorners[random.below(std::size(kCorners))]);
    case 1: return random.next();
    case 2: return sign | std::bit_cast<std::uint64_t>(random.unit());
    default: return sign | std::bit_cast<std::uint64_t>(static_cast<double>(random.below(64)) / 4);
  }
}

std::uint64_t drawn_element(Contents kind, std::size_t at, SplitMix64& random) {
  const std::uint64_t drawn = random.next();
  switch (kind) {
    case Contents::small: return random.below(5);
    case Contents::same: return random.one_in(12) ? drawn : 0x0101'0101'0101'0101;
    case Contents::rising: return at + random.below(8);
    case Contents::floats: return drawn_float(random);
    case Contents::mixed: return random.one_in(2) ? drawn : drawn_number(random);
    case Contents::letters:
    case Contents::own: break;
  }
  std::uint64_t word = 0;
  for (unsigned byte = 0; byte < 8; ++byte) word |= std::uint64_t{drawn_letter(random)} << 8 * byte;
  return word;
}

Layout drawn_call_layout(Contents kind, SplitMix64& random) {
  Layout layout;
  layout.kind = kind;
  layout.contents.resize(Arena::kMemoryBytes);
  for (std::size_t at = 0; at < layout.contents.size(); at += 8) {
    const std::uint64_t word = drawn_element(kind, at, random);
    std::memcpy(layout.contents.data() + at, &word, sizeof word);
  }
  return layout;
}

template <class T>
void put(std::vector<std::byte>& frame, std::size_t slot, T value) {
  std::memcpy(frame.data() + slot, &value, sizeof value);
}

class CallDraw {
 public:
  CallDraw(const Subject& subject, const Arena& arena, const Layout& layout, SplitMix64& random)
      : subject_(subject), shape_(*subject.call), arena_(arena), random_(random) {
    run_.layout = &layout;
    run_.local_bytes = local_bytes(subject);
    run_.frame.resize(subject.frame_bytes);
    for (std::byte& byte : run_.frame) byte = static_cast<std::byte>(random.next());
    draw_arrays();
    add_locals();
    for (const CallShape::Number& number : shape_.numbers) put(run_.frame, number.slot, drawn(number));
    put(run_.frame, offsetof(region::FrameHead, budget), random_.one_in(5) ? random_.below(8) : std::uint64_t{2000});
  }

  /// Returns the steps that the run takes. Notes blocks that control comes to in `reached`.
  std::uint64_t settle(std::span<std::uint8_t> reached) {
    set_up(run_, arena_);
    const region::Outcome outcome = interpret(subject_, run_, arena_, kStepsOfOneCall, reached);
    ended_ = outcome.exit.has_value();
    if (!ended_) return outcome.steps;
    run_.exit = *outcome.exit;
    constexpr std::size_t kBudget = offsetof(region::FrameHead, budget);
    run_.took_way_back = std::memcmp(run_.frame.data() + kBudget, arena_.frame().data() + kBudget, 8) != 0;
    run_.expected = arena_.digest(run_.local_bytes);
    return outcome.steps;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  Run take() { return std::move(run_); }

 private:
  /// Each mapping is parted among as many arrays as the number of mappings demands.
  void draw_arrays() {
    const std::size_t parts = (shape_.arrays.size() + kMappings - 1) / kMappings;
    for (std::size_t a = 0; a < shape_.arrays.size(); ++a) {
      const std::size_t bytes = kMappingBytes / parts / 8 * 8;
      const auto room = arena_.mapping(a % kMappings).subspan(a / kMappings * bytes, bytes);
      const CallShape::Array& array = shape_.arrays[a];
      region::Window window = drawn_window(room, array.element_bytes);
      if (a > 0 && random_.one_in(5)) window.delta = shared_memory(window.span, a);
      run_.windows.push_back(window);
      put(run_.frame, array.slot, window.span / array.element_bytes);
    }
  }

  /// Arrays end at the end of their memory, behind which nothing may be read, or begin at its start.
  region::Window drawn_window(std::span<std::byte> room, std::uint64_t element_bytes) {
    const std::uint64_t most = room.size() / element_bytes;
    std::uint64_t count = random_.below(std::min(most, kFewElements) + 1);
    if (random_.one_in(4)) count = random_.below(2);
    if (random_.one_in(8)) count = random_.one_in(2) ? most : random_.below(most + 1);
    if (!run_.windows.empty() && random_.one_in(3)) count = std::min(most, run_.windows.back().span / element_bytes);
    const std::uint64_t span = count * element_bytes;
    std::byte* const start = random_.one_in(3) ? room.data() : room.data() + room.size() - span;
    return {0, span, reinterpret_cast<std::uint64_t>(start)};
  }

  /// Memory of an earlier array for one of `span` bytes: the same start, if it has room for that many.
  std::uint64_t shared_memory(std::uint64_t span, std::size_t number) {
    const region::Window& other = run_.windows[random_.below(number)];
    const auto own = reinterpret_cast<std::uint64_t>(arena_.mapping(number % kMappings).data());
    return other.span >= span ? other.delta : own;
  }

  void add_locals() {
    std::byte* place = arena_.locals(run_.local_bytes).data();
    for (const std::uint64_t bytes : shape_.local_bytes) {
      place += kLocalGapBytes;
      run_.windows.push_back({0, bytes, reinterpret_cast<std::uint64_t>(place)});
      place += bytes;
    }
  }

  /// A number is often the length of an array, or near it: an index, or the end of a part.
  std::int64_t drawn(const CallShape::Number& number) {
    if (number.is_float) return float_within(number);
    std::uint64_t bits = drawn_number(random_);
    if (!run_.windows.empty() && random_.one_in(3)) {
      const region::Window& window = run_.windows[random_.below(run_.windows.size())];
      bits = random_.one_in(3) ? window.span - random_.below(3) : random_.below(window.span + 1);
      if (random_.one_in(2)) bits /= 8;
    }
    if (random_.one_in(8)) bits = static_cast<std::uint64_t>(random_.one_in(2) ? number.lo : number.hi);
    if (random_.one_in(6) && !run_.windows.empty() && run_.windows[0].span >= 8)
      std::memcpy(&bits, run_.layout->contents.data() + (run_.windows[0].delta - memory_begin()), 8);
    return within(number, bits);
  }

  [[nodiscard]] std::uint64_t memory_begin() const { return reinterpret_cast<std::uint64_t>(arena_.memory().data()); }

  std::int64_t float_within(const CallShape::Number& number) {
    const auto lo = std::bit_cast<double>(number.lo), hi = std::bit_cast<double>(number.hi);
    const bool is_free = !(std::isfinite(lo) && std::isfinite(hi));
    for (int tries = 0; tries < 4; ++tries) {
      const std::uint64_t bits = drawn_float(random_);
      const double value = std::bit_cast<double>(bits);
      if (is_free || (value >= lo && value <= hi)) return static_cast<std::int64_t>(bits);
    }
    if (random_.one_in(4)) return random_.one_in(2) ? number.lo : number.hi;
    return std::bit_cast<std::int64_t>(std::clamp(lo + (hi - lo) * random_.unit(), lo, hi));
  }

  static std::int64_t within(const CallShape::Number& number, std::uint64_t bits) {
    const auto value = static_cast<std::int64_t>(bits);
    if (value >= number.lo && value <= number.hi) return value;
    const std::uint64_t lo = static_cast<std::uint64_t>(number.lo);
    const std::uint64_t width = static_cast<std::uint64_t>(number.hi) - lo + 1;  // not 0: nothing lies outside then
    return static_cast<std::int64_t>(lo + bits % width);
  }

  const Subject& subject_;
  const CallShape& shape_;
  const Arena& arena_;
  SplitMix64& random_;
  Run run_;
  bool ended_ = false;
};

void count_call(Coverage& coverage, const Run& run, std::span<const std::uint8_t> reached) {
  ++coverage.runs;
  coverage.rounds += run.took_way_back ? 1 : 0;
  ++coverage.left;
  coverage.blocks = static_cast<std::uint32_t>(reached.size());
  coverage.blocks_reached = static_cast<std::uint32_t>(std::count(reached.begin(), reached.end(), 1));
}

}  // namespace

std::size_t local_bytes(const Subject& subject) {
  std::size_t bytes = 0;
  if (subject.call)
    for (const std::uint64_t local : subject.call->local_bytes) bytes += kLocalGapBytes + local;
  return bytes == 0 ? 0 : bytes + kLocalGapBytes;
}

Draw draw_calls(const Subject& subject, const Options& options, const Arena& arena) {
  Draw draw;
  SplitMix64 random(options.seed);
  for (const Contents contents : kArrayContents) draw.layouts.push_back(drawn_call_layout(contents, random));
  const auto& arrays = subject.call->arrays;
  if (std::any_of(arrays.begin(), arrays.end(), [](const auto& array) { return array.is_float; }))
    for (int i = 0; i < kFloatLayouts; ++i) draw.layouts.push_back(drawn_call_layout(Contents::floats, random));
  std::vector<std::uint8_t> reached(subject.region.blocks.size());
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < runs_max(options) && steps < kStepsOfAllCalls; ++i) {
    if (i >= options.runs && draw.coverage.blocks_reached == draw.coverage.blocks) break;
    CallDraw one(subject, arena, draw.layouts[i % draw.layouts.size()], random);
    steps += one.settle(reached);
    if (!one.ended()) continue;
    draw.runs.push_back(one.take());
    count_call(draw.coverage, draw.runs.back(), reached);
  }
  return draw;
}

}  // namespace trident::trials
