// Loops through the spine. Oracle: the loops read by hand, and the same work in C++.
#include "jit/pipeline/loop.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "clients/c/trident_loop.h"
#include "runtime/os/cpu.h"
#include "schemas/loop_image.h"

namespace trident::pipeline {
namespace {

#define REQUIRE_LOOP_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of loops needs a processor with AVX2 and BMI2"

constexpr std::uint64_t kHead = 0x40'1000;

/// ldrb w3, [x1, x2]; strb w3, [x0, x2]; add x2, x2, #1; cmp x2, x4; b.ne head
const std::vector<std::uint32_t> kCopy = {0x38626823, 0x38226803, 0x91000442, 0xEB04005F, 0x54FFFF81};

LoopSource source_of(const std::vector<std::uint32_t>& words, std::uint64_t head = kHead) {
  const auto bytes = std::as_bytes(std::span(words));
  return {.head = head, .code_base = head, .code = {bytes.begin(), bytes.end()}};
}

LoopOutcome outcome_of(const LoopSource& source) {
  auto outcome = compile_loop(source, {});
  CHECK(outcome.ok());
  return std::move(*outcome);
}

using Frame = trident_loop_frame;
static_assert(sizeof(Frame) == TRIDENT_AARCH64_FRAME_BYTES && offsetof(Frame, x) == TRIDENT_AARCH64_FRAME_X);
static_assert(offsetof(Frame, pc) == TRIDENT_AARCH64_FRAME_PC && offsetof(Frame, nzcv) == TRIDENT_AARCH64_FRAME_NZCV);
static_assert(offsetof(Frame, iterations) == TRIDENT_AARCH64_FRAME_ITERATIONS);
static_assert(offsetof(Frame, scratch) == TRIDENT_AARCH64_FRAME_PRIVATE);
static_assert(sizeof(trident_region_frame) == sizeof(region::FrameHead));
static_assert(offsetof(trident_region_frame, exit) == offsetof(region::FrameHead, exit));
static_assert(offsetof(trident_region_frame, exit_window) == offsetof(region::FrameHead, exit_window));
static_assert(sizeof(trident_region_window) == sizeof(region::Window));
static_assert(TRIDENT_LOOP_LEFT == static_cast<int>(region::Exit::left));
static_assert(TRIDENT_LOOP_LAST == static_cast<int>(region::Exit::last));
static_assert(TRIDENT_LOOP_BUDGET == static_cast<int>(region::Exit::budget));
static_assert(TRIDENT_LOOP_MISS == static_cast<int>(region::Exit::miss));

TEST(CompileLoop, ItsImageCopiesWhereverTheLoopStands) {
  REQUIRE_LOOP_CODE();
  const LoopOutcome outcome = outcome_of(source_of(kCopy));
  ASSERT_TRUE(std::holds_alternative<CompiledLoop>(outcome));
  const image::ImageBytes& image = std::get<CompiledLoop>(outcome).image;
  const auto fd = image::seal(image);
  ASSERT_TRUE(fd.ok()) << fd.error().message;
  const auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_EQ(mapped->header().version, TRIDENT_LOOP_IMAGE_VERSION);
  for (const std::uint64_t head : {kHead, std::uint64_t{0xFFFF'0000'0000'0008}}) {
    std::vector<std::uint8_t> memory(256), expected;
    std::iota(memory.begin(), memory.end(), std::uint8_t{1});
    expected = memory;
    std::copy_n(expected.begin(), 100, expected.begin() + 120);
    const region::Window window{0x1'0000, memory.size(), reinterpret_cast<std::uint64_t>(memory.data()) - 0x1'0000};
    const region::Window windows[] = {window, window};
    Frame frame{};
    frame.region.budget = 1000;
    frame.x[0] = 0x1'0000 + 120, frame.x[1] = 0x1'0000, frame.x[4] = 100, frame.pc = head;
    mapped->region_entry()(&frame, windows);
    EXPECT_EQ(frame.region.exit, static_cast<std::uint32_t>(region::Exit::left));
    EXPECT_EQ(frame.pc, head + 20);
    EXPECT_EQ(frame.x[2], 100u);
    EXPECT_EQ(frame.nzcv, 0x6000'0000u);  // Z and C of 100 - 100
    EXPECT_EQ(memory, expected);
  }
}

std::string refusal_of(const std::vector<std::uint32_t>& words) {
  const LoopOutcome outcome = outcome_of(source_of(words));
  const auto* refusal = std::get_if<LoopRefusal>(&outcome);
  return refusal == nullptr ? "compiled" : refusal->text;
}

TEST(CompileLoop, RefusalsNameTheInstruction) {
  REQUIRE_LOOP_CODE();
  // nop; fadd v0.4s, v0.4s, v1.4s; b head
  EXPECT_EQ(refusal_of({0xD503201F, 0x4E21D400, 0x17FFFFFE}),
            "at 0x401004 (fadd v0.4s, v0.4s, v1.4s): every way round has an instruction on floats or vectors");
  // ldr w1, [x0]; cbz w1, head
  EXPECT_EQ(refusal_of({0xB9400001, 0x34FFFFE1}),
            "at 0x401000 (ldr w1, [x0]): the loop waits for a word that it does not write itself");
  EXPECT_EQ(refusal_of({}),
            "at 0x401000 (no code): the head lies outside of the code that was sent, or is not aligned");
  EXPECT_EQ(refusal_of(std::vector<std::uint32_t>(4097, 0xD503201F)),
            "at 0x401000 (nop): more code was sent than a loop may have");
}

/// A loop with `bases` base registers: ldrb w30, [xN] for each, then sub x29, x29, #1; cbnz x29, head.
std::vector<std::uint32_t> loop_with_bases(std::uint32_t bases) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t n = 0; n < bases; ++n) words.push_back(0x3940'001E | n << 5);
  words.push_back(0xD100'07BD);
  words.push_back(0xB500'001D | ((0u - static_cast<std::uint32_t>(words.size())) & 0x7'FFFF) << 5);
  return words;
}

TEST(CompileLoop, CodeThatDiffersIsNoImage) {
  REQUIRE_LOOP_CODE();
  const auto returns_at_once = [](codegen::MachineCode& code) { code.bytes[4] = std::byte{0xC3}; };
  const auto outcome = compile_loop(source_of(kCopy), {.key = {}, .spoil = returns_at_once});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotEquivalent);
  EXPECT_EQ(outcome.error().message.substr(0, 45), "the code is not the same as the loop: run 0: ");
}

TEST(CompileLoop, SixteenWindowsAreTheMost) {
  REQUIRE_LOOP_CODE();
  EXPECT_EQ(refusal_of(loop_with_bases(16)), "compiled");
  EXPECT_EQ(refusal_of(loop_with_bases(17)),
            "at 0x401000 (ldrb w30, [x0]): the loop's addresses come from more registers than a loop has windows");
}

/// ldrb w3, [x1], #1; add x4, x4, x3; subs x2, x2, #1; b.ne head; then x1 becomes x5, and words are summed: mov x1, x5;
/// ldr x3, [x1], #8; add x4, x4, x3; subs x6, x6, #1; b.ne back to the load; ret
const std::vector<std::uint32_t> kTwoSums = {0x38401423, 0x8B030084, 0xF1000442, 0x54FFFFA1, 0xAA0503E1,
                                             0xF8408423, 0x8B030084, 0xF10004C6, 0x54FFFFA1, 0xD65F03C0};

CompiledLoop joined_of(const std::vector<std::uint32_t>& words) {
  LoopSource source = source_of(words);
  source.joined = true;
  LoopOutcome outcome = outcome_of(source);
  CHECK(std::holds_alternative<CompiledLoop>(outcome));
  return std::get<CompiledLoop>(std::move(outcome));
}

TEST(CompileLoop, OneEntryRunsJoinedLoops) {
  REQUIRE_LOOP_CODE();
  const CompiledLoop made = joined_of(kTwoSums);
  EXPECT_EQ(made.loop.instructions.size(), 9u);
  EXPECT_EQ(made.trials.ways, 2u);
  EXPECT_EQ(made.trials.ways_taken, 2u) << "trials came to the second loop";
  const auto fd = image::seal(made.image);
  const auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  const std::array<std::uint8_t, 5> bytes = {1, 2, 3, 4, 255};
  const std::array<std::uint64_t, 3> words = {1000, 1u << 20, std::uint64_t{1} << 40};
  const auto host = [](const auto& array, std::uint64_t lo) {
    return region::Window{lo, sizeof array, reinterpret_cast<std::uint64_t>(array.data()) - lo};
  };
  const region::Window windows[] = {host(bytes, 0x1000), host(words, 0x8000)};
  Frame frame{};
  frame.region.budget = 100;
  frame.x[1] = 0x1000, frame.x[2] = bytes.size(), frame.x[5] = 0x8000, frame.x[6] = words.size(), frame.pc = kHead;
  mapped->region_entry()(&frame, windows);
  EXPECT_EQ(frame.region.exit, static_cast<std::uint32_t>(region::Exit::left));
  EXPECT_EQ(frame.pc, kHead + 36);
  EXPECT_EQ(frame.x[4], 1 + 2 + 3 + 4 + 255 + 1000 + (1u << 20) + (std::uint64_t{1} << 40));
  EXPECT_EQ(frame.x[1], 0x8000 + sizeof words);
  EXPECT_EQ(frame.region.budget, 100u - 4 - 2);
}

TEST(CompileLoop, ALoopThatWaitsIsNotJoined) {
  REQUIRE_LOOP_CODE();
  std::vector<std::uint32_t> words(kTwoSums.begin(), kTwoSums.begin() + 5);
  for (const std::uint32_t word : {0xB9400023u, 0x34FFFFE3u, 0xD65F03C0u}) words.push_back(word);  // ldr w3, [x1]; cbz
  EXPECT_EQ(joined_of(words).loop.instructions.size(), 4u);
  EXPECT_EQ(std::get<CompiledLoop>(outcome_of(source_of(kTwoSums))).loop.instructions.size(), 4u) << "nobody asked";
}

TEST(LoopKey, JoinedLoopsHaveAnother) {
  LoopSource source = source_of(kTwoSums), alone = source_of(kCopy);
  const image::Key key = loop_key(source), key_alone = loop_key(alone);
  source.joined = alone.joined = true;
  EXPECT_NE(loop_key(source), key);
  EXPECT_EQ(loop_key(alone), key_alone) << "no loop follows";
  const image::Key key_joined = loop_key(source);
  source.code[4 * 6] ^= std::byte{1};  // of the second loop
  EXPECT_NE(loop_key(source), key_joined);
}

TEST(CompileLoop, AnUnknownGuestIsAnError) {
  LoopSource source = source_of(kCopy);
  source.guest = 9;
  EXPECT_EQ(compile_loop(source, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(LoopKey, IsThatOfTheLoopAlone) {
  const image::Key key = loop_key(source_of(kCopy));
  EXPECT_EQ(loop_key(source_of(kCopy, 0x7FFF'0000'1230)), key);
  LoopSource more = source_of(kCopy);
  more.code.resize(more.code.size() + 64, std::byte{0x42});  // what follows is not of the loop
  EXPECT_EQ(loop_key(more), key);
  more.code.insert(more.code.begin(), 8, std::byte{0});
  more.code_base -= 8;
  EXPECT_EQ(loop_key(more), key);
  LoopSource other = source_of(kCopy);
  other.guest = 2;
  EXPECT_NE(loop_key(other), key);
}

TEST(LoopKey, EveryBitOfTheLoopCounts) {
  const LoopSource source = source_of(kCopy);
  const image::Key key = loop_key(source);
  for (std::size_t bit = 0; bit < source.code.size() * 8; ++bit) {
    LoopSource changed = source;
    changed.code[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_NE(loop_key(changed), key) << bit;
  }
}

}  // namespace
}  // namespace trident::pipeline
