// Noting calls, and looking at what they noted by a clock of the test. Oracles: ranges and rates
// that are written down; for many threads, sums and extremes of all calls.
#include "clients/c/data_watch.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <thread>

#include "clients/c/slot_fixture.h"

namespace trident::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000, kStartNs = 1000 * kMs;

std::vector<expr::Variable> one_array() {
  expr::Variable x;
  x.type = ir::Type::f32;
  return {x};
}

void note(SeenRanges& seen, const std::vector<float>& x) {
  const void* const in[] = {x.data()};
  seen.note(x.size(), in, nullptr);
}

TEST(SeenRanges, CallsWithPowersOfTwoAreLookedAtAndAllAreCounted) {
  const auto variables = one_array();
  SeenRanges seen(variables);
  for (int call = 1; call <= 8; ++call) note(seen, {static_cast<float>(call), static_cast<float>(-call * 10)});
  EXPECT_EQ(seen.calls(), 8u);
  EXPECT_EQ(seen.elements(), 16u);
  EXPECT_EQ(seen.ranges()[0].hi, 8);
  EXPECT_EQ(seen.ranges()[0].lo, -80);
  note(seen, {1e9F});  // the ninth
  EXPECT_EQ(seen.ranges()[0].hi, 8);
  seen.clear();
  EXPECT_EQ(seen.ranges()[0].hi, INFINITY);
  note(seen, {2});
  EXPECT_EQ(seen.ranges()[0].lo, 2);
  EXPECT_EQ(seen.ranges()[0].hi, 2);
}

TEST(SeenRanges, NothingSeenLeavesAnythingAndNanIsNotedBesideTheNumbers) {
  const auto variables = one_array();
  SeenRanges seen(variables);
  seen.note(0, nullptr, nullptr);
  EXPECT_EQ(seen.calls(), 0u);
  EXPECT_EQ(seen.ranges()[0].lo, -INFINITY);
  note(seen, {NAN, NAN});
  EXPECT_EQ(seen.ranges()[0].lo, -INFINITY);
  note(seen, {1, 3});
  EXPECT_EQ(seen.ranges()[0].lo, 1);
  EXPECT_EQ(seen.ranges()[0].hi, 3);
  EXPECT_TRUE(seen.ranges()[0].or_nan);
  seen.clear();
  note(seen, {2});
  EXPECT_FALSE(seen.ranges()[0].or_nan);
}

TEST(SeenRanges, TrapsOfTheCallersAreNotTripped) {
  const auto variables = one_array();
  SeenRanges seen(variables);
  std::fenv_t before;
  std::feholdexcept(&before);
  ASSERT_EQ(::feenableexcept(FE_ALL_EXCEPT) & FE_INVALID, 0);
  const std::uint32_t signalling = 0x7FA0'0001;
  float x[2] = {1e-40F, 0};
  std::memcpy(&x[1], &signalling, sizeof(float));
  const void* const in[] = {x};
  seen.note(2, in, nullptr);
  EXPECT_NE(::fegetexcept() & FE_INVALID, 0);
  std::fesetenv(&before);
  EXPECT_EQ(seen.ranges()[0].hi, x[0]);
  EXPECT_TRUE(seen.ranges()[0].or_nan);
}

TEST(SeenRanges, ThreadsNoteAtOnce) {
  const auto variables = one_array();
  SeenRanges seen(variables);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int call = 0; call < 10'000; ++call) note(seen, {static_cast<float>(t), static_cast<float>(-t)});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.calls(), 40'000u);
  EXPECT_EQ(seen.elements(), 80'000u);
  EXPECT_LE(seen.ranges()[0].hi, 3);
  EXPECT_EQ(seen.ranges()[0].lo, -seen.ranges()[0].hi);
}

// --- looks ---

void detour(const void*, std::uint64_t, const void* const*, void* const*, const std::uint64_t*) {}

/// A submission without code of its own, and its watch.
class DataWatchTest : public ::testing::Test, protected Submitted {
 protected:
  void SetUp() override {
    if (greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
  }

  void complete(ImageClaim&) const override {}
  void append_request(wire::Frame&, std::uint64_t, bool) const override {}
  void compile(const Engine&, std::uint32_t, const std::atomic<bool>&, EngineAnswer&) override {}

  void call(float x, std::size_t n = 1000, std::uint64_t misses = 0) { call(std::vector<float>(n, x), misses); }
  void call(const std::vector<float>& data, std::uint64_t misses) {
    const void* const in[] = {data.data()};
    if (submission_.slot.has_detour()) watch_.note(data.size(), in, nullptr);
    misses_ += misses;
  }
  /// Looks after some more time.
  std::uint64_t look(std::uint64_t ms) {
    now_ns_ += ms * kMs;
    return watch_.look(now_ns_);
  }
  void publish(std::uint8_t tier, std::uint16_t number, bool speculative) {
    NumberImage image = number_image(tier, number, speculative);
    image.claim.may_speculate = true;
    auto map = map_image_bytes(image.bytes, image.claim);
    ASSERT_TRUE(map.ok()) << map.error().message;
    submission_.slot.publish(std::move(map).value());
  }
  [[nodiscard]] std::uint64_t answer() const { return submission_.slot.code<Number>()(); }
  /// Learns that values lie in [-1, 1], and gets code for that.
  void become_fast(bool after_general_code = true) {
    publish(1, 1, false);
    if (after_general_code) publish(2, 2, false);
    look(0);
    for (int i = 0; i < 16; ++i) call(i % 2 == 0 ? 1 : -1);
    look(1);
    EXPECT_TRUE(told(-1, 1, 0));
    publish(2, 3, true);
    look(1);
  }
  /// Returns whether these were told since the last such question.
  bool told(double lo, double hi, std::uint64_t misses, bool or_nan = false) {
    const bool is = !submission_.observed_told && submission_.observed.size() == 1 &&
                    submission_.observed[0].lo == lo && submission_.observed[0].hi == hi &&
                    (submission_.observed[0].or_nan == or_nan || std::isinf(lo)) &&
                    submission_.observed_misses == misses;
    submission_.observed_told = true;
    return is;
  }
  /// Misses that the code finds in calls of a thousand elements with one value, and looks at these.
  void miss(float x, std::uint64_t each) {
    for (int i = 0; i < 20; ++i) call(x, 1000, each);
    look(300);
    for (int i = 0; i < 20; ++i) call(x, 1000, each);
    look(300);
  }

  const std::vector<expr::Variable> variables_ = one_array();
  Number* entry_ = nullptr;
  std::uint64_t misses_ = 0, now_ns_ = kStartNs;
  Submission submission_{*this, entry_, &fallback_number};
  DataWatch watch_{variables_, submission_, &detour, misses_, true};
};

TEST_F(DataWatchTest, LearnsFromSixteenCallsOrATenthOfASecondAndEndsTheDetour) {
  EXPECT_TRUE(submission_.slot.has_detour());
  EXPECT_EQ(look(0), kStartNs + 2 * kMs);
  EXPECT_EQ(look(800), kStartNs + 900 * kMs);  // an eighth of the time
  call(3);
  look(100);
  EXPECT_TRUE(submission_.observed_told);
  look(99);
  EXPECT_TRUE(submission_.observed_told);
  EXPECT_EQ(look(1), DataWatch::kNever);
  EXPECT_TRUE(told(3, 3, 0));
  EXPECT_FALSE(submission_.slot.has_detour());
}

TEST_F(DataWatchTest, TellsNothingOfDataThatMayBeAnything) {
  look(0);
  for (int i = 0; i < 16; ++i) call(NAN);
  EXPECT_EQ(look(1), DataWatch::kNever);
  EXPECT_TRUE(submission_.observed.empty());
  EXPECT_FALSE(submission_.slot.has_detour());
}

TEST_F(DataWatchTest, TellsTheRangeOfDataWithNan) {
  look(0);
  for (int i = 0; i < 16; ++i) call({2, NAN, -1}, 0);
  look(1);
  EXPECT_TRUE(told(-1, 2, 0, true));
}

/// NaN that comes later is told as wider ranges are, and told once.
TEST_F(DataWatchTest, NanThatBeginsToComeIsToldBesideTheRange) {
  become_fast();
  const auto miss_with_nan = [&] {
    for (int i = 0; i < 20; ++i) call({0.5F, NAN}, 1);
    look(300);
    for (int i = 0; i < 20; ++i) call({0.5F, NAN}, 1);
    look(300);
  };
  for (int i = 0; i < 20; ++i) call({0.5F, NAN}, 1);
  miss_with_nan();
  EXPECT_TRUE(told(-1, 1, misses_, true));
  publish(2, 4, true);
  look(1);
  miss_with_nan();
  EXPECT_TRUE(told(-INFINITY, INFINITY, misses_)) << "NaN does not explain more misses";
  EXPECT_EQ(answer(), 2u);
}

TEST_F(DataWatchTest, DoesNotLearnWhatTheCallerHasShown) {
  submission_.observed = {{5, 6}};
  call(1);
  EXPECT_EQ(look(1), DataWatch::kNever);
  EXPECT_EQ(submission_.observed[0].lo, 5);
  EXPECT_FALSE(submission_.slot.has_detour());
}

TEST_F(DataWatchTest, CodeForShownDataIsWatchedWhereNothingIsLearnt) {
  Number* entry = nullptr;
  std::uint64_t misses = 0;
  Submission submission(*this, entry, &fallback_number);
  DataWatch watch(variables_, submission, &detour, misses, false);
  EXPECT_EQ(entry, &fallback_number);
  EXPECT_EQ(watch.look(kStartNs), DataWatch::kNever);
  NumberImage image = number_image(2, 5, true);
  image.claim.may_speculate = true;
  auto map = map_image_bytes(image.bytes, image.claim);
  ASSERT_TRUE(map.ok());
  submission.observed = {{0, 1}};
  submission.slot.publish(std::move(map).value());
  EXPECT_EQ(watch.look(kStartNs + kMs), kStartNs + 251 * kMs);
  misses = 16;
  watch.look(kStartNs + 251 * kMs);
  EXPECT_TRUE(submission.slot.has_detour());
}

TEST_F(DataWatchTest, PublicationsDuringTheDetourChangeTheCodeBehindIt) {
  const Number* const on_detour = entry_;
  publish(1, 7, false);
  EXPECT_EQ(entry_, on_detour);
  EXPECT_EQ(answer(), 7u);
  submission_.slot.revoke(1);
  EXPECT_EQ(answer(), kFallbackNumber);
  publish(2, 8, false);
  submission_.slot.end_detour();
  EXPECT_EQ(entry_(), 8u);
}

TEST_F(DataWatchTest, RareMissesAreMeasuredAndLeftAlone) {
  become_fast();
  for (int i = 0; i < 20; ++i) call(1, 1000, 1);
  look(300);
  EXPECT_TRUE(submission_.slot.has_detour());
  for (int i = 0; i < 20; ++i) call(1, 1'000'000, 1);  // one in a million
  look(300);
  EXPECT_TRUE(submission_.observed_told);
  EXPECT_FALSE(submission_.slot.has_detour());
  EXPECT_EQ(answer(), 3u);
}

TEST_F(DataWatchTest, DataThatChangeAreToldWiderTwiceThenTakenBack) {
  become_fast();
  miss(8, 1);
  EXPECT_TRUE(told(-1, 8, misses_));
  EXPECT_FALSE(submission_.slot.has_detour());
  miss(9, 1);  // until other code comes nothing is told
  EXPECT_TRUE(submission_.observed_told);
  publish(2, 4, true);
  look(1);
  miss(-70, 1);
  EXPECT_TRUE(told(-70, 8, misses_));
  publish(2, 5, true);
  look(1);
  miss(900, 1);
  EXPECT_TRUE(told(-INFINITY, INFINITY, misses_));
  EXPECT_EQ(answer(), 2u);  // the general code of before
  EXPECT_EQ(look(100'000), DataWatch::kNever);
}

TEST_F(DataWatchTest, MissesThatNoSampleExplainsEndTheSpeculation) {
  become_fast();
  miss(1, 1);
  EXPECT_TRUE(told(-INFINITY, INFINITY, misses_));
  EXPECT_EQ(answer(), 2u);
}

TEST_F(DataWatchTest, DataThatMayBeAnythingEndTheSpeculation) {
  become_fast();
  miss(NAN, 1);
  EXPECT_TRUE(told(-INFINITY, INFINITY, misses_));
  EXPECT_EQ(answer(), 2u);
  EXPECT_EQ(look(1), DataWatch::kNever);
}

TEST_F(DataWatchTest, SpeculativeCodeStaysUntilGeneralCodeOfItsTierComes) {
  become_fast(false);
  miss(NAN, 1);
  EXPECT_TRUE(told(-INFINITY, INFINITY, misses_));
  EXPECT_EQ(answer(), 3u) << "the baseline is slower";
  publish(2, 4, false);
  EXPECT_EQ(answer(), 4u);
  EXPECT_FALSE(submission_.slot.has_detour());
}

TEST_F(DataWatchTest, SpeculationEndsWhereNobodyAnswersWiderRanges) {
  become_fast();
  miss(8, 1);
  look(59'000);
  EXPECT_EQ(answer(), 3u);
  EXPECT_EQ(look(1'000), DataWatch::kNever);
  EXPECT_EQ(answer(), 2u);
}

}  // namespace
}  // namespace trident::client
