// Random and mutated bytes as loops, through discovery, lifting, code and trials: no crash, no hang, and no code that
// Unicorn contradicts. A case that ends the process is printed as hex digits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "tests/loops/kernel_rows.h"
#include "tests/loops/unicorn_guest.h"

namespace trident::tests {
namespace {

constexpr unsigned kHangSeconds = 60;
constexpr std::uint64_t kBudget = 100, kStepsMax = 1'000'000;
constexpr std::size_t kGuestInstructionsMax = 20'000, kWordsMax = 256;

using Words = std::vector<std::uint32_t>;

struct Case {
  Words words;
  std::size_t head = 0;  ///< number of a word
  [[nodiscard]] std::string text() const {
    std::string text = "head " + std::to_string(head) + ":";
    char word[12];
    for (const std::uint32_t w : words) std::snprintf(word, sizeof word, " %08x", w), text += word;
    return text + "\n";
  }
};

std::string g_current;  ///< the case at hand, for the end of the process

void print_current(int signal) {
  if (::write(2, g_current.data(), g_current.size()) < 0) ::_exit(98);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

// --- cases -----------------------------------------------------------------------------------------------------------

std::vector<Words> seeds() {
  std::vector<Words> all;
  for (const char* file : {"kernel_loops.jsonl", "hand_made.jsonl"})
    for (const KernelRow& row : kernel_rows(file)) {
      Words& words = all.emplace_back(std::min(row.source.code.size() / 4, kWordsMax));
      std::memcpy(words.data(), row.source.code.data(), words.size() * 4);
    }
  return all;
}

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : random_(seed), seeds_(seeds()) {}

  Case next() {
    Case drawn{.words = random_.one_in(4) ? random_words() : mutant(), .head = 0};
    if (random_.one_in(6)) drawn.head = random_.below(static_cast<std::uint32_t>(drawn.words.size()));
    return drawn;
  }

 private:
  std::uint32_t any_word() {
    if (random_.one_in(16)) return static_cast<std::uint32_t>(random_.next());
    const loop::aarch64::Row& row = loop::aarch64::kRows[random_.below(loop::aarch64::kRowCount)];
    return (static_cast<std::uint32_t>(random_.next()) & ~row.mask) | row.fixed;
  }

  /// b.cond or b from word `from` to word `to`.
  std::uint32_t branch(std::size_t from, std::size_t to) {
    const auto distance = static_cast<std::uint32_t>(to - from);
    const bool always = random_.one_in(4);
    return always ? 0x1400'0000 | (distance & 0x03FF'FFFF)
                  : 0x5400'0000 | (distance & 0x7'FFFF) << 5 | random_.below(15);
  }

  Words random_words() {
    Words words(1 + random_.below(14));
    for (std::uint32_t& word : words) word = any_word();
    words.push_back(branch(words.size(), random_.below(static_cast<std::uint32_t>(words.size()))));
    return words;
  }

  Words mutant() {
    Words words = seeds_[random_.below(static_cast<std::uint32_t>(seeds_.size()))];
    for (std::uint32_t changes = 1 + random_.below(4); changes > 0; --changes) change(words);
    return words;
  }

  void change(Words& words) {
    const auto size = static_cast<std::uint32_t>(words.size());
    const std::uint32_t at = random_.below(size);
    switch (random_.below(6)) {
      case 0: words[at] = any_word(); break;
      case 1: words[at] = branch(at, random_.below(size)); break;
      case 2: std::swap(words[at], words[random_.below(size)]); break;
      case 3: words.insert(words.begin() + at, any_word()); break;
      case 4:
        if (size > 1) words.erase(words.begin() + at);
        break;
      default: words[at] ^= 1u << random_.below(32);
    }
  }

  testing::Random random_;
  std::vector<Words> seeds_;
};

// --- checks ----------------------------------------------------------------------------------------------------------

class LoopBytes : public ::testing::Test {
 protected:
  pipeline::LoopSource source_of(const Case& drawn) {
    const auto bytes = std::as_bytes(std::span(drawn.words));
    return {.head = kCodeBase + 4 * drawn.head, .code_base = kCodeBase, .code = {bytes.begin(), bytes.end()}};
  }

  GuestFrame drawn_frame(const Case& drawn) {
    GuestFrame frame{};
    frame.head.budget = kBudget;
    for (std::uint64_t& x : frame.x) {
      x = random_.one_in(3) ? tests::drawn(random_.next()) : kDataBase + kDataBytes / 4 + random_.below(kDataBytes / 2);
      if (random_.one_in(4)) x = random_.below(16);
    }
    frame.nzcv = random_.below(16) << 28;
    frame.pc = (random_.one_in(2) ? kOtherCodeBase : kCodeBase) + 4 * drawn.head;
    return frame;
  }

  /// Windows to the guest's data; for literals to the code.
  std::vector<region::Window> windows_of(const pipeline::CompiledLoop& loop, const Case& drawn, std::uint64_t base) {
    std::vector<region::Window> windows;
    for (const loop::Window& window : loop::windows_of(loop.loop)) {
      const bool is_code = window.base == loop::aarch64::kPcBase;
      const std::uint64_t lo = is_code ? base : kDataBase;
      const auto host =
          reinterpret_cast<std::uint64_t>(is_code ? static_cast<const void*>(drawn.words.data()) : memory_.data());
      windows.push_back({lo, is_code ? drawn.words.size() * 4 : kDataBytes, host - lo});
    }
    return windows;
  }

  void compare(const pipeline::CompiledLoop& loop, const Case& drawn) {
    GuestFrame ours = drawn_frame(drawn), theirs = ours;
    fill(memory_, random_);
    std::copy(memory_.begin(), memory_.end(), guest_.data().begin());
    const std::uint64_t base = ours.pc - 4 * drawn.head;
    const auto outcome = region::interpret(loop.region, std::as_writable_bytes(std::span(&ours, 1)),
                                           windows_of(loop, drawn, base), kStepsMax);
    // The guest would go on, or it may read what no window has: code.
    if (!outcome.exit || *outcome.exit == region::Exit::budget) return;
    const bool missed = *outcome.exit == region::Exit::miss;
    if (missed && is_near_code(ours.head.exit_address)) return;
    ASSERT_EQ(guest_.run(drawn.words, theirs, missed ? ~0ull : ours.pc, kGuestInstructionsMax, 4 * drawn.head),
              !missed);
    ++compared_;
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(ours.x[r], theirs.x[r]) << "x" << r;
    ASSERT_EQ(ours.nzcv, theirs.nzcv);
    ASSERT_EQ(ours.pc, theirs.pc);
    constexpr std::size_t kWidestStore = 16;  // Unicorn stores the bytes in front of a fault
    const std::size_t bytes = kDataBytes - (missed ? kWidestStore : 0);
    ASSERT_TRUE(
        std::equal(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(bytes), guest_.data().begin()));
  }

  static bool is_near_code(std::uint64_t address) {
    constexpr std::uint64_t kNear = 0x1'0000;
    return address - kCodeBase + kNear < 2 * kNear || address - kOtherCodeBase + kNear < 2 * kNear;
  }

  void check(const Case& drawn, std::uint64_t seed) {
    const auto outcome = pipeline::compile_loop(source_of(drawn), {.seed = seed, .key = {}, .stage = stage_.get()});
    if (!outcome.ok() && outcome.error().code == ErrorCode::kOsError) {
      ++no_child_;
      return;
    }
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    const auto* loop = std::get_if<pipeline::CompiledLoop>(&*outcome);
    if (loop == nullptr) return;
    ++compiled_;
    for (int i = 0; i < 4 && !HasFatalFailure(); ++i) compare(*loop, drawn);
  }

  static std::unique_ptr<trials::Stage> made_stage() {
    auto stage = pipeline::loop_stage();
    EXPECT_TRUE(stage.ok()) << stage.error().message;
    return stage.ok() ? std::move(*stage) : nullptr;
  }

  std::unique_ptr<trials::Stage> stage_ = made_stage();
  UnicornGuest guest_;
  testing::Random random_{23};
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(kDataBytes);
  std::size_t compiled_ = 0, compared_ = 0, no_child_ = 0;
};

TEST_F(LoopBytes, NeitherCrashNorHangNorAreWrong) {
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of loops needs a processor with AVX2 and BMI2";
  for (const int signal : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGALRM}) std::signal(signal, print_current);
  const std::size_t wanted = cases(3000);
  Cases all(9);
  for (std::size_t i = 0; i < wanted && !HasFatalFailure(); ++i) {
    const Case drawn = all.next();
    g_current = "case " + std::to_string(i) + ", " + drawn.text();
    ::alarm(kHangSeconds);
    check(drawn, i);
    if (HasFatalFailure()) std::fputs(g_current.c_str(), stderr);
  }
  ::alarm(0);
  std::printf("%zu cases, %zu compiled, %zu runs compared, %zu without a child\n", wanted, compiled_, compared_,
              no_child_);
  EXPECT_GT(compiled_, wanted / 8);
  EXPECT_GT(compared_, compiled_ / 2);
  EXPECT_LE(no_child_, wanted / 100);
}

}  // namespace
}  // namespace trident::tests
