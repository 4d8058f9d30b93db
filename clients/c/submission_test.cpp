// A context with things of a domain that it does not know: entry, answers, hooks and end of each are right without a
// word about kernels. Oracle: what the domain here has counted, and the numbers that its images return.
#include "clients/c/submission.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "clients/c/abi_edge.h"
#include "clients/c/context.h"
#include "clients/c/slot_fixture.h"

namespace trident::client {
namespace {

struct Counts {
  int completed = 0, told = 0, destroyed = 0;
};

/// Something that returns a number, and wants its images to say that they have `inputs` inputs.
struct Counter final : Submitted {
  explicit Counter(Counts& of) : counts(of) {}
  ~Counter() override { ++counts.destroyed; }

  void complete(ImageClaim& claim) const override {
    ++counts.completed;
    claim.inputs = inputs;
  }
  void append_request(wire::Frame& out, std::uint64_t, bool) const override { out.push_back({}); }
  void compile(const Engine&, std::uint32_t, const std::atomic<bool>&, EngineAnswer& answer) override {
    answer.result.outcome = TRIDENT_ENGINE_ERROR;
  }
  [[nodiscard]] bool listens() const override { return true; }
  void tell(std::unique_lock<std::mutex>& lock) override {
    lock.unlock();
    ++counts.told;
    if (closes_when_told != nullptr) closes_when_told->remove(submission);
    lock.lock();
  }

  [[nodiscard]] std::uint64_t call() const { return __atomic_load_n(&entry, __ATOMIC_ACQUIRE)(); }

  Number* entry = nullptr;
  Counts& counts;
  std::uint32_t inputs = 0;
  Context* closes_when_told = nullptr;
  Submission submission{*this, entry, &fallback_number};
};

class SubmissionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
    Settings settings;
    settings.mode = TRIDENT_MODE_INTERP;  // no threads: what a daemon would say is said here
    context_ = new trident_ctx(std::move(settings));
  }
  void TearDown() override {
    if (context_ != nullptr) context_->close();
  }
  Counter& add() {
    auto* counter = new Counter(counts_);
    context_->add(counter->submission);
    return *counter;
  }
  Result<void> deliver(const Counter& counter, const NumberImage& image) {
    Delivery delivery;
    delivery.claim = image.claim;
    delivery.inline_image = true;
    delivery.bytes = image.bytes;
    return context_->deliver(counter.submission.job, std::move(delivery));
  }
  Counts counts_;
  trident_ctx* context_ = nullptr;
};

TEST_F(SubmissionTest, ImagesOfAnyDomainAreSwapped) {
  Counter& first = add();
  Counter& second = add();
  EXPECT_EQ(kFallbackNumber, first.call());
  ASSERT_TRUE(deliver(first, number_image(TRIDENT_TIER_BASELINE, 1)).ok());
  EXPECT_EQ(1u, first.call());
  EXPECT_EQ(kFallbackNumber, second.call());
  ASSERT_TRUE(deliver(second, number_image(TRIDENT_TIER_OPTIMISED, 2)).ok());
  EXPECT_EQ(1u, first.call());
  EXPECT_EQ(2u, second.call());
  EXPECT_EQ(2, counts_.told);
  EXPECT_EQ(2, counts_.completed);
  context_->revoke(second.submission.job, TRIDENT_TIER_OPTIMISED, "wrong");
  EXPECT_EQ(kFallbackNumber, second.call());
  EXPECT_STREQ("wrong", context_->note_of(second.submission));
  EXPECT_EQ(3, counts_.told);
  context_->remove(first.submission);
  EXPECT_EQ(1, counts_.destroyed);
  context_->remove(second.submission);
  EXPECT_EQ(2, counts_.destroyed);
}

// The domain's part of the claim decides: an image for another one is refused, and the fallback stays.
TEST_F(SubmissionTest, TheDomainCompletesTheClaim) {
  Counter& counter = add();
  counter.inputs = 1;
  const auto refused = deliver(counter, number_image(TRIDENT_TIER_BASELINE, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(ErrorCode::kRejectedImage, refused.error().code);
  EXPECT_EQ(kFallbackNumber, counter.call());
  EXPECT_EQ(0, counts_.told);
  EXPECT_EQ(1u, context_->stats().rejected_images);
  context_->remove(counter.submission);
}

TEST_F(SubmissionTest, AnswersForAClosedOneFindNothing) {
  Counter& counter = add();
  const std::uint64_t job = counter.submission.job;
  context_->remove(counter.submission);
  Counter& next = add();  // in the same row of the table
  ASSERT_NE(job, next.submission.job);
  EXPECT_FALSE(context_->pin(job));
  Delivery late;
  late.claim = number_image(TRIDENT_TIER_BASELINE, 1).claim;
  EXPECT_TRUE(context_->deliver(job, std::move(late)).ok());
  context_->revoke(job, TRIDENT_TIER_BASELINE, "late");
  EXPECT_EQ(kFallbackNumber, next.call());
  EXPECT_EQ(0, counts_.told);
  context_->remove(next.submission);
}

TEST_F(SubmissionTest, APinnedOneIsDestroyedByItsPin) {
  Counter& counter = add();
  {
    const Pin pin = context_->pin(counter.submission.job);
    ASSERT_TRUE(pin);
    EXPECT_EQ(&counter.submission, &*pin);
    {
      const Pin second = context_->pin(counter.submission.job);
      context_->remove(counter.submission);
    }
    EXPECT_EQ(0, counts_.destroyed);
    EXPECT_EQ(kFallbackNumber, counter.call());
  }
  EXPECT_EQ(1, counts_.destroyed);
}

TEST_F(SubmissionTest, MayCloseItselfWhenTold) {
  Counter& counter = add();
  counter.closes_when_told = context_;
  ASSERT_TRUE(deliver(counter, number_image(TRIDENT_TIER_BASELINE, 1)).ok());
  EXPECT_EQ(1, counts_.told);
  EXPECT_EQ(1, counts_.destroyed);
}

TEST_F(SubmissionTest, OutlivesItsContext) {
  Counter& counter = add();
  ASSERT_TRUE(deliver(counter, number_image(TRIDENT_TIER_BASELINE, 1)).ok());
  Context* const context = context_;
  context->close();
  context_ = nullptr;
  EXPECT_EQ(1u, counter.call());
  context->remove(counter.submission);
  EXPECT_EQ(1, counts_.destroyed);
}

}  // namespace
}  // namespace trident::client
