// Choices by planted times. Oracle: images that are fast or slow by construction; limits are those that the header and
// docs state, written out here.
#include "jit/pipeline/speculative_division.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kLong = 1'000'000;

/// A machine on which images take the times that a test says.
struct Machine {
  std::function<double(const JoinPlan&)> matching = [](const JoinPlan&) { return 0.5; };
  std::function<SpeculationTime(const JoinPlan&, std::uint64_t)> time = [](const JoinPlan&, std::uint64_t) {
    return all(0.5);
  };
  DivisionQuestion question = {.shape = {.vectors = 8},
                               .can_stream = true,
                               .usual_elements = 4096,
                               .element_bytes = 8,
                               .lengths = {16, 256, 1024, 4096, kLong}};
  std::vector<JoinPlan> joined;
  std::vector<std::uint64_t> timed;  ///< lengths of calls

  static SpeculationTime all(double ratio) { return {.matching = ratio, .missing = 1, .few = 1}; }
  static SpeculationTime missing(double ratio) { return {.matching = 0.5, .missing = ratio, .few = 1}; }

  DivisionChoice choose() {
    joined.clear(), timed.clear();
    const DivisionTrials trials = {.join = [&](const JoinPlan& plan) -> Result<void> {
                                     joined.push_back(plan);
                                     return {};
                                   },
                                   .time_matching = [&]() -> Result<double> { return matching(joined.back()); },
                                   .time = [&](std::uint64_t elements) -> Result<SpeculationTime> {
                                     timed.push_back(elements);
                                     SpeculationTime one = time(joined.back(), elements);
                                     one.elements = elements;
                                     if (one.general_ns == 0) one.general_ns = static_cast<double>(elements);
                                     return one;
                                   }};
    auto choice = choose_division(question, trials);
    EXPECT_TRUE(choice.ok());
    EXPECT_EQ(choice->plan.division.streams, joined.back().division.streams) << "what was joined last is the choice";
    EXPECT_EQ(choice->plan.division.shortest, joined.back().division.shortest);
    EXPECT_EQ(choice->plan.shape, joined.back().shape);
    return std::move(choice).value();
  }

  [[nodiscard]] bool joined_streaming() const {
    return std::any_of(joined.begin(), joined.end(), [](const JoinPlan& plan) { return plan.division.streams; });
  }
};

// --- the gain ---

TEST(SpeculativeDivision, AGainOfThreePercentIsPublishedAndNoSmallerOne) {
  Machine machine;
  machine.matching = [](const JoinPlan&) { return 0.969; };
  EXPECT_EQ(machine.choose().refused, "");
  machine.matching = [](const JoinPlan&) { return 0.971; };
  const DivisionChoice refused = machine.choose();
  EXPECT_NE(refused.refused.find("it gains too little on data in the ranges: 0.97"), std::string::npos)
      << refused.refused;
  EXPECT_TRUE(refused.times.empty()) << "no other data or lengths are timed then";
}

/// The first look may have been lucky: the time of usual calls, beside those of others, decides.
TEST(SpeculativeDivision, UsualCallsMustGainWhenAllLengthsAreTimed) {
  Machine machine;
  const auto usual_takes = [&](std::uint64_t usual, double ratio) {
    machine.question.usual_elements = usual;
    machine.time = [=](const JoinPlan&, std::uint64_t n) { return Machine::all(n == usual ? ratio : 0.5); };
    return machine.choose().refused;
  };
  EXPECT_EQ(usual_takes(4096, 0.969), "");
  EXPECT_NE(usual_takes(4096, 0.971).find("gains too little"), std::string::npos);
  EXPECT_NE(usual_takes(256, 0.971).find("gains too little"), std::string::npos);
  machine.question.usual_elements = 4096;
  machine.time = [](const JoinPlan&, std::uint64_t n) { return Machine::all(n == 256 ? 0.99 : 0.5); };
  EXPECT_EQ(machine.choose().refused, "") << "other calls need not gain";
}

TEST(SpeculativeDivision, TheFastestShapeIsJoined) {
  for (const int fastest : {2, 4, 8}) {
    Machine machine;
    machine.matching = [=](const JoinPlan& plan) { return plan.shape.vectors == fastest ? 0.5 : 0.9; };
    EXPECT_EQ(machine.choose().plan.shape, (codegen::Variant{.vectors = static_cast<std::uint8_t>(fastest)}));
    machine.question.whole = true;
    EXPECT_EQ(machine.choose().plan.shape.vectors, 8) << "code without a guard is as it has won";
  }
}

// --- chunks ---

TEST(SpeculativeDivision, ChunksAreForPoliciesThatDoNotFixTheBits) {
  Machine machine;
  EXPECT_EQ(machine.choose().plan.division.chunk, 4096u);
  machine.question.exact = true;
  EXPECT_EQ(machine.choose().plan.division.chunk, 0u);
  machine.question.exact = false, machine.question.whole = true;
  EXPECT_EQ(machine.choose().plan.division.chunk, 0u);
}

// --- streams ---

/// Plain stores lose in long calls, on data in the ranges or on others.
SpeculationTime of_plain_stores(const JoinPlan& plan, std::uint64_t n, bool matching) {
  const bool loses = n == kLong && !plan.division.streams;
  return matching ? Machine::all(loses ? 1.5 : 0.5) : Machine::missing(loses ? 1.5 : 1);
}

TEST(SpeculativeDivision, LongCallsThatLoseAreTimedAgainWithStoresPastTheCaches) {
  for (const bool matching : {false, true}) {
    Machine machine;
    machine.time = [=](const JoinPlan& plan, std::uint64_t n) { return of_plain_stores(plan, n, matching); };
    const DivisionChoice choice = machine.choose();
    EXPECT_EQ(choice.refused, "");
    EXPECT_TRUE(choice.plan.division.streams);
    EXPECT_EQ(std::count(machine.timed.begin(), machine.timed.end(), kLong), 2);
    EXPECT_EQ(std::count(machine.timed.begin(), machine.timed.end(), 16), 2) << "all lengths are timed again";
    EXPECT_LT(choice.times.back().matching, 1);
    EXPECT_LE(choice.times.back().missing, 1);
  }
}

TEST(SpeculativeDivision, StoresPastTheCachesThatLoseTooAreRefused) {
  Machine machine;
  machine.time = [](const JoinPlan&, std::uint64_t n) { return Machine::missing(n == kLong ? 1.06 : 1); };
  EXPECT_EQ(machine.choose().refused,
            "it loses too much in calls of 1000000 elements: 1.06 of the general kernel's time on data that never fit");
  EXPECT_TRUE(machine.joined_streaming());
  EXPECT_EQ(std::count(machine.timed.begin(), machine.timed.end(), kLong), 2) << "there is one retry";
}

TEST(SpeculativeDivision, ThereAreNoStreamsWherePlainStoresDoNotLoseInLongCalls) {
  Machine machine;
  machine.choose();
  EXPECT_FALSE(machine.joined_streaming());
  machine.time = [](const JoinPlan&, std::uint64_t n) { return Machine::missing(n == 4096 ? 1.5 : 1); };
  EXPECT_NE(machine.choose().refused, "");
  EXPECT_FALSE(machine.joined_streaming()) << "calls that stay in the caches";
}

TEST(SpeculativeDivision, NothingStreamsThatCannot) {
  Machine machine;
  machine.time = [](const JoinPlan& plan, std::uint64_t n) { return of_plain_stores(plan, n, false); };
  machine.question.whole = true;
  EXPECT_NE(machine.choose().refused, "");
  EXPECT_FALSE(machine.joined_streaming()) << "calls as a whole";
  machine.question.whole = false, machine.question.can_stream = false;
  EXPECT_NE(machine.choose().refused, "");
  EXPECT_FALSE(machine.joined_streaming()) << "a host without such stores";
}

TEST(SpeculativeDivision, AKernelThatHasWonWithStreamsStreamsFromTheBeginning) {
  Machine machine;
  machine.question.streams = true;
  machine.time = [](const JoinPlan&, std::uint64_t n) { return Machine::missing(n == kLong ? 1.5 : 1); };
  EXPECT_NE(machine.choose().refused, "");
  for (const JoinPlan& plan : machine.joined) EXPECT_TRUE(plan.division.streams);
  EXPECT_EQ(std::count(machine.timed.begin(), machine.timed.end(), kLong), 1) << "there is nothing else to try";
}

// --- short calls ---

TEST(SpeculativeDivision, ShortCallsThatLoseAreLeftToTheGeneralKernel) {
  Machine machine;
  machine.time = [](const JoinPlan& plan, std::uint64_t n) {
    return Machine::missing(n < 1000 && n >= plan.division.shortest ? 1.3 : 1);
  };
  const DivisionChoice choice = machine.choose();
  EXPECT_EQ(choice.refused, "");
  EXPECT_EQ(choice.plan.division.shortest, 1024u);
  EXPECT_EQ(choice.times[0].missing, 1) << "timed again as they are now";
}

TEST(SpeculativeDivision, UsualCallsAreNotLeftToTheGeneralKernel) {
  Machine machine;
  machine.question.usual_elements = 256;
  machine.time = [](const JoinPlan&, std::uint64_t n) { return Machine::missing(n <= 256 ? 1.3 : 1); };
  EXPECT_NE(machine.choose().refused.find("in calls of 256 elements"), std::string::npos);
}

/// A jump to the general kernel that seems slow is the mapping's fault: two more places are tried.
TEST(SpeculativeDivision, ShortCallsThatStillSeemToLoseAreTimedElsewhere) {
  const auto slow_places = [](std::ptrdiff_t slow) {
    Machine machine;
    machine.time = [&](const JoinPlan& plan, std::uint64_t n) {
      const auto elsewhere =
          std::count_if(machine.joined.begin(), machine.joined.end(), [](const JoinPlan& p) { return p.elsewhere; });
      const bool is_slow = plan.division.shortest == 0 || elsewhere < slow;
      return Machine::missing(n == 16 && is_slow ? 4.1 : 1);
    };
    return machine.choose().refused;
  };
  EXPECT_EQ(slow_places(0), "");
  EXPECT_EQ(slow_places(2), "");
  EXPECT_NE(slow_places(3), "");
}

// --- long calls ---

/// Returns how long the longest call is where the general kernel takes so long for each of 4,096 elements.
std::uint64_t longest_of(double each_ns, double element_bytes = 8) {
  Machine machine;
  machine.question.element_bytes = element_bytes;
  machine.time = [=](const JoinPlan&, std::uint64_t n) {
    SpeculationTime time = Machine::all(0.5);
    time.general_ns = each_ns * static_cast<double>(n);
    return time;
  };
  EXPECT_EQ(machine.choose().refused, "");
  return machine.timed.back();
}

/// A million elements where memory may count; else as many as take 10 ms, and 65,536 at least, which no cache near the
/// processor holds.
TEST(SpeculativeDivision, LongCallsAreAsLongAsMemoryAndTimeDemand) {
  EXPECT_EQ(longest_of(1), kLong);
  EXPECT_EQ(longest_of(7.9), kLong) << "a byte in less than a nanosecond";
  EXPECT_EQ(longest_of(9), kLong) << "9 ms";
  EXPECT_EQ(longest_of(20), 500'000u);
  EXPECT_EQ(longest_of(100), 100'000u);
  EXPECT_EQ(longest_of(1000), 65'536u);
  EXPECT_EQ(longest_of(100'000), 65'536u);
}

/// Sixty arrays of a million doubles take half a gigabyte: 64 MB of them are more than the caches hold, too.
TEST(SpeculativeDivision, LongCallsOfManyArraysAreShorter) {
  EXPECT_EQ(longest_of(100, 504), (64u << 20) / 504);
  EXPECT_EQ(longest_of(2, 504), kLong) << "2 ms";
  EXPECT_EQ(longest_of(20, 64), kLong) << "64 bytes an element are 64 MB";
  EXPECT_EQ(longest_of(1000, 2000), 65'536u);
}

TEST(SpeculativeDivision, ShorterCallsAreTimedAsTheyAre) {
  Machine machine;
  machine.time = [](const JoinPlan&, std::uint64_t n) {
    SpeculationTime time = Machine::all(0.5);
    time.general_ns = 1e6 * static_cast<double>(n);
    return time;
  };
  machine.question.lengths = {16, 256, 1024, 4096, 50'000};
  machine.choose();
  EXPECT_EQ(machine.timed, (std::vector<std::uint64_t>{16, 256, 1024, 4096, 50'000}));
}

}  // namespace
}  // namespace trident::pipeline
