#include "tests/loops/random_loop.h"

#include <algorithm>

#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"

namespace trident::tests {
namespace {

using loop::aarch64::Format;
using loop::aarch64::Lift;

/// Registers: x0..x15 hold data, x20..x23 point to memory, x24 is an index, x28 counts down, x27 in a second loop.
constexpr unsigned kDataRegisters = 16, kFirstBase = 20, kBases = 4, kIndex = 24, kSecondCounter = 27, kCounter = 28;
constexpr std::uint64_t kBudget = 300, kStepsMax = 100'000;
/// A bound costs Unicorn milliseconds.
constexpr std::size_t kInstructionsMax = 1000;
/// Unicorn stores the bytes on the good page before it faults on the next.
constexpr std::size_t kWidestStore = 16;

/// Puts `value` where a pattern has `letter`.
std::uint32_t with_field(std::uint32_t word, std::string_view pattern, char letter, std::uint32_t value) {
  for (std::size_t i = pattern.size(); i-- > 0;) {
    if (pattern[i] != letter) continue;
    const std::uint32_t bit = 1u << (31 - i);
    word = (value & 1) != 0 ? word | bit : word & ~bit;
    value >>= 1;
  }
  return word;
}

class Body {
 public:
  explicit Body(testing::Random& random) : random_(random) {}

  /// `length` instructions.
  std::vector<std::uint32_t> straight(std::uint32_t length) {
    std::vector<std::uint32_t> words;
    while (words.size() < length) {
      const auto left = static_cast<std::uint32_t>(length - words.size());
      if (const auto word = one(left)) words.push_back(*word);
    }
    return words;
  }

  /// `length` instructions, then the counter and the jump to the first.
  std::vector<std::uint32_t> code(std::uint32_t length, unsigned counter = kCounter) {
    std::vector<std::uint32_t> words = straight(length);
    words.push_back(0xF100'0400 | counter << 5 | counter);  // subs xN, xN, #1
    const auto distance = static_cast<std::uint32_t>(words.size());
    words.push_back(0x5400'0001 | ((0u - distance) & 0x7'FFFF) << 5);  // b.ne
    return words;
  }

 private:
  /// Nothing when the drawn word is reserved.
  std::optional<std::uint32_t> one(std::uint32_t left) {
    const loop::aarch64::Row& row = loop::aarch64::kRows[random_.below(loop::aarch64::kRowCount)];
    if (row.format == Format::Literal || row.lift == Lift::nothing) return {};
    auto word = (static_cast<std::uint32_t>(random_.next()) & ~row.mask) | row.fixed;
    const bool is_memory = row.pattern.find('t') != std::string_view::npos && row.lift != Lift::branch;
    for (const char letter : {'d', 't', 'u', 'a', 'm'})
      word = with_field(word, row.pattern, letter, random_.one_in(12) ? 31 : random_.below(kDataRegisters));
    if (is_memory) {
      word = with_field(word, row.pattern, 'n', kFirstBase + random_.below(kBases));
      word = with_field(word, row.pattern, 'm', kIndex);
      if (row.format == Format::UnsignedOffset) word = with_field(word, row.pattern, 'i', random_.below(16));
    } else {
      word = with_field(word, row.pattern, 'n', random_.below(kDataRegisters));
    }
    if (row.lift == Lift::branch) word = with_field(word, row.pattern, 'i', 1 + random_.below(std::min(left, 4u)));
    const auto instruction = loop::aarch64::decode(word);
    // An addition's target 31 is the stack pointer, which is nobody's base here.
    return instruction ? std::optional(word) : std::nullopt;
  }

  testing::Random& random_;
};

GuestFrame drawn_frame(testing::Random& random) {
  GuestFrame frame{};
  frame.head.budget = kBudget;
  for (std::uint64_t& x : frame.x) x = drawn(random.next());
  for (unsigned b = 0; b < kBases; ++b)
    frame.x[kFirstBase + b] = kDataBase + (random.one_in(6) ? kDataBytes - 40 : 300 + random.below(kDataBytes - 2000));
  if (random.one_in(3)) frame.x[kFirstBase] = frame.x[kFirstBase + 1] + random.below(64) - 32;  // they overlap
  frame.x[kIndex] = random.below(64);
  for (const unsigned counter : {kCounter, kSecondCounter})
    frame.x[counter] = random.one_in(4) ? 1 : 1 + random.below(20);
  frame.nzcv = random.below(16) << 28;
  frame.pc = random.one_in(2) ? kOtherCodeBase : kCodeBase;
  return frame;
}

/// The guest's part of `memory`.
std::span<const std::uint8_t> inner(const std::vector<std::uint8_t>& memory) {
  return std::span(memory).subspan(kMarginBytes, kDataBytes);
}

std::string register_difference(const GuestFrame& ours, const GuestFrame& theirs) {
  for (unsigned r = 0; r < 32; ++r)
    if (ours.x[r] != theirs.x[r])
      return "x" + std::to_string(r) + " is " + std::to_string(ours.x[r]) + ", Unicorn has " +
             std::to_string(theirs.x[r]);
  if (ours.nzcv != theirs.nzcv) return "the flags differ";
  return ours.pc == theirs.pc ? "" : "the guest would go on elsewhere";
}

std::string difference_of(const Compared& ours, const RandomLoop& loop, UnicornGuest& guest, std::size_t instructions) {
  if (!ours.exit) return "the region does not end";
  if (*ours.exit == region::Exit::budget) return "";  // the guest would go on
  std::copy(inner(loop.memory).begin(), inner(loop.memory).end(), guest.data().begin());
  const bool missed = *ours.exit == region::Exit::miss;
  GuestFrame theirs = loop.frame;
  if (guest.run(loop.code, theirs, missed ? ~0ull : ours.frame.pc, instructions) == missed)
    return missed ? "the region misses, the guest does not" : "the guest misses, the region does not";
  if (std::string text = register_difference(ours.frame, theirs); !text.empty()) return text;
  const auto memory = inner(ours.memory).first(kDataBytes - (missed ? kWidestStore : 0));
  return std::equal(memory.begin(), memory.end(), guest.data().begin()) ? "" : "memory differs";
}

}  // namespace

namespace {

RandomLoop with_state(std::vector<std::uint32_t> code, testing::Random& random) {
  RandomLoop loop{.code = std::move(code), .frame = drawn_frame(random), .memory = {}};
  loop.memory.resize(kDataBytes + 2 * kMarginBytes);
  fill(loop.memory, random);
  return loop;
}

}  // namespace

RandomLoop random_loop(testing::Random& random) {
  return with_state(Body(random).code(1 + random.below(12)), random);
}

RandomLoop random_loops_in_a_row(testing::Random& random) {
  Body body(random);
  std::vector<std::uint32_t> code = body.code(1 + random.below(8));
  for (const auto& part : {body.straight(random.below(4)), body.code(1 + random.below(8), kSecondCounter)})
    code.insert(code.end(), part.begin(), part.end());
  return with_state(std::move(code), random);
}

loop::Loop discovered(const RandomLoop& random) {
  auto found = loop::discover({kCodeBase, std::as_bytes(std::span(random.code))}, kCodeBase);
  CHECK(std::holds_alternative<loop::Loop>(found));
  return std::get<loop::Loop>(std::move(found));
}

std::optional<loop::Loop> discovered_joined(const RandomLoop& random) {
  return loop::discover_joined({kCodeBase, std::as_bytes(std::span(random.code))}, kCodeBase);
}

std::string listing(const std::vector<std::uint32_t>& code) {
  std::string text;
  std::uint64_t address = kCodeBase;
  for (const std::uint32_t word : code) {
    text += loop::aarch64::print(*loop::aarch64::decode(word), address) + "\n";
    address += 4;
  }
  return text;
}

std::vector<region::Window> windows_to(std::vector<std::uint8_t>& memory, const region::Region& region,
                                       std::size_t widened) {
  const auto host = reinterpret_cast<std::uint64_t>(memory.data()) + kMarginBytes;
  return {region.windows, {kDataBase - widened, kDataBytes + 2 * widened, host - kDataBase}};
}

Compared compared(const region::Region& region, const RandomLoop& loop, UnicornGuest& guest, const Weakness& weakness) {
  Compared ours{.exit = {}, .frame = loop.frame, .memory = loop.memory, .difference = {}};
  const auto windows = windows_to(ours.memory, region, weakness.widened);
  ours.exit = region::interpret(region, std::as_writable_bytes(std::span(&ours.frame, 1)), windows, kStepsMax).exit;
  ours.difference = difference_of(ours, loop, guest, weakness.is_any ? kInstructionsMax : 0);
  return ours;
}

}  // namespace trident::tests
