#include "tests/loops/random_loop.h"

#include <algorithm>

#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "tests/loops/random_body.h"

namespace trident::tests {
namespace {

constexpr std::uint64_t kBudget = 300, kStepsMax = 100'000;
/// A bound costs Unicorn milliseconds.
constexpr std::size_t kInstructionsMax = 1000;
/// Unicorn stores the bytes on the good page before it faults on the next.
constexpr std::size_t kWidestStore = 16;

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
  return with_state(RandomBody(random).code(1 + random.below(12)), random);
}

RandomLoop random_loops_in_a_row(testing::Random& random) {
  RandomBody body(random);
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
