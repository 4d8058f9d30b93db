// The front against workers that lie. The workers are this program again (the pool starts /proc/self/exe): they answer
// each request with exactly what its message orders. Oracle: what protocol.h promises of a response.
#include "daemon/worker/pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "daemon/worker/compile.h"
#include "jit/image/image.h"
#include "runtime/os/socket.h"

namespace trident::worker {
namespace {

enum class Carried : std::uint8_t { nothing, baseline, optimised, damaged, cut_short };

/// A message that the worker obeys.
struct Order {
  ResponseHeader response;
  std::uint32_t frame_bytes = sizeof(ResponseHeader);
  Carried carried = Carried::nothing;
  bool attaches_descriptor = false;
};

/// Builds an image of bytes that only look like code.
std::vector<std::byte> image_for(Carried carried) {
  if (carried == Carried::nothing) return {};
  codegen::MachineCode code;
  code.bytes.assign(64, std::byte{0xC3});
  constexpr unsigned char kLandingPad[] = {0xF3, 0x0F, 0x1E, 0xFA};
  std::memcpy(code.bytes.data(), kLandingPad, sizeof(kLandingPad));
  code.code_size = 16;
  code.pool_offset = 64;
  const trident_tier tier = carried == Carried::optimised ? TRIDENT_TIER_OPTIMISED : TRIDENT_TIER_BASELINE;
  std::vector<std::byte> bytes = image::build(code, {.outputs = 1}, codegen::Isa::avx2, tier, {}).bytes;
  if (carried == Carried::damaged) bytes.back() ^= std::byte{1};
  if (carried == Carried::cut_short) bytes.resize(bytes.size() - 1);
  return bytes;
}

/// Never returns: answers until the front has gone.
[[noreturn]] void obey() {
  const os::Fd front(os::kInheritedFd);
  struct {
    std::uint32_t length;
    std::byte bytes[sizeof(RequestHeader) + sizeof(Order)];
  } frame;
  static_assert(sizeof(frame) == sizeof(frame.length) + sizeof(frame.bytes), "no padding");
  std::size_t got = 0;
  while (true) {
    os::ReceivedFds none;
    const os::Io io = os::receive(front, std::as_writable_bytes(std::span(&frame, 1)).subspan(got), none);
    if (io.status != os::IoStatus::ok) ::_exit(0);
    got += io.bytes;
    if (got < sizeof(frame)) continue;
    got = 0;
    Order order;
    std::memcpy(&order, frame.bytes + sizeof(RequestHeader), sizeof(order));
    const std::vector<std::byte> image = image_for(order.carried);
    const auto length = static_cast<std::uint32_t>(order.frame_bytes + image.size());
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&length, 1)),
                                                 std::as_bytes(std::span(&order.response, 1)).first(order.frame_bytes),
                                                 image};
    (void)os::send_pieces(front, pieces, order.attaches_descriptor ? front.get() : -1);
  }
}

__attribute__((constructor)) void be_a_worker_where_asked(int argc, char** argv, char**) {
  if (argc == 3 && std::string_view(argv[1]) == kWorkerArgument) obey();
}

class LyingWorker : public ::testing::Test {
 protected:
  void turn_until(const std::function<bool()>& done) {
    for (int ms = 0; ms < 20'000 && !done(); ++ms, ::usleep(1000)) uv_run(loop_.raw(), UV_RUN_NOWAIT);
    ASSERT_TRUE(done());
  }
  /// Sends the order under ticket 7 and waits until the request has ended one way or the other.
  void give(const Order& order, Lane lane = Lane::baseline) {
    turn_until([&] { return pool_.has_room(lane); });
    RequestHeader header;
    header.ticket = kTicket;
    header.lane = lane;
    header.budget_ns = 1'000'000'000;
    responses_ = with_image_ = lost_ = 0;
    pool_.request(header, std::as_bytes(std::span(&order, 1)));
    turn_until([&] { return responses_ + lost_ > 0; });
  }
  static Order baseline(Carried carried = Carried::baseline) {
    Order order;
    order.response.ticket = kTicket;
    order.response.kind = Kind::baseline_image;
    order.carried = carried;
    return order;
  }
  static Order outcome(pipeline::Outcome code, Carried carried = Carried::nothing) {
    Order order = baseline(carried);
    order.response.kind = Kind::outcome;
    order.response.code = static_cast<std::uint8_t>(code);
    order.response.baseline_checked = 1;
    return order;
  }
  /// The lie costs the worker its life, and the next one serves.
  void expect_caught(const Order& lie, const char* what, Lane lane = Lane::baseline) {
    const PoolStats before = pool_.stats();
    give(lie, lane);
    EXPECT_EQ(responses_, 0) << what;
    EXPECT_EQ(lost_, 1) << what;
    EXPECT_EQ(fate_, PoolEvents::Fate::crashed) << what;
    EXPECT_EQ(pool_.stats().protocol_errors, before.protocol_errors + 1) << what;
    give(lane == Lane::baseline ? baseline() : outcome(pipeline::Outcome::no_gain), lane);
    EXPECT_EQ(responses_, 1) << what;
    EXPECT_EQ(with_image_, lane == Lane::baseline ? 1 : 0) << what;
  }

  static constexpr Ticket kTicket = 7;
  net::Loop loop_;
  int responses_ = 0, with_image_ = 0, lost_ = 0;
  PoolEvents::Fate fate_ = PoolEvents::Fate::unharmed;
  Pool pool_{loop_,
             {.optimise_workers = 1, .baseline_timeout_ms = 20'000, .optimise_grace_ms = 20'000},
             {.on_response =
                  [this](const ResponseHeader& header, std::string_view tail) {
                    EXPECT_EQ(header.ticket, kTicket);
                    ++responses_;
                    with_image_ += tail.empty() ? 0 : 1;
                  },
              .on_lost =
                  [this](Ticket ticket, PoolEvents::Fate fate) {
                    EXPECT_EQ(ticket, kTicket);
                    ++lost_;
                    fate_ = fate;
                  },
              .on_free = [](Lane) {}}};
};

TEST_F(LyingWorker, IsCaughtByTheHeader) {
  Order short_one = baseline();
  short_one.frame_bytes = sizeof(ResponseHeader) - 1;
  expect_caught(short_one, "a short response");
  Order stranger = baseline();
  stranger.response.ticket = kTicket + 1;
  expect_caught(stranger, "a ticket that nobody gave");
  Order unknown = baseline();
  unknown.response.kind = static_cast<Kind>(static_cast<std::uint8_t>(Kind::ready) + 1);
  expect_caught(unknown, "an unknown kind");
  Order strange = outcome(pipeline::Outcome::not_equivalent);
  ++strange.response.code;
  expect_caught(strange, "an unknown outcome", Lane::optimise);
  strange.response.kind = Kind::progress;
  strange.response.code = kStageCount;
  expect_caught(strange, "an unknown stage", Lane::optimise);
  Order kept = outcome(pipeline::Outcome::published);
  kept.response.kind = Kind::kept;
  expect_caught(kept, "a search that was to end", Lane::optimise);
  for (const auto code : {pipeline::Outcome::published, pipeline::Outcome::no_gain}) {
    Order unchecked = outcome(code, code == pipeline::Outcome::published ? Carried::optimised : Carried::nothing);
    unchecked.response.baseline_checked = 0;
    expect_caught(unchecked, "an outcome over a baseline that nobody has checked", Lane::optimise);
  }
}

// A baseline worker that one user's input broke must not answer another user with a kernel that nobody has checked.
TEST_F(LyingWorker, IsCaughtByItsLane) {
  expect_caught(outcome(pipeline::Outcome::published, Carried::optimised), "a winner of a baseline worker");
  expect_caught(outcome(pipeline::Outcome::no_gain), "an outcome of a baseline worker");
  expect_caught(baseline(), "a baseline of an optimise worker", Lane::optimise);
}

TEST_F(LyingWorker, IsCaughtByTheImage) {
  expect_caught(baseline(Carried::nothing), "no image");
  expect_caught(baseline(Carried::damaged), "a flipped bit");
  expect_caught(baseline(Carried::cut_short), "a byte too few");
  expect_caught(baseline(Carried::optimised), "an image of another tier");
  expect_caught(outcome(pipeline::Outcome::published), "a winner without an image", Lane::optimise);
  expect_caught(outcome(pipeline::Outcome::published, Carried::baseline), "a baseline as winner", Lane::optimise);
}

TEST_F(LyingWorker, IsCaughtByAnInterimImage) {
  Order interim = outcome(pipeline::Outcome::published, Carried::optimised);
  interim.response.kind = Kind::interim;
  expect_caught(interim, "an interim image of another lane");
  interim.carried = Carried::baseline;
  expect_caught(interim, "an interim image of another tier", Lane::optimise);
  interim.carried = Carried::optimised;
  interim.response.baseline_checked = 0;
  expect_caught(interim, "an interim image over a baseline that nobody has checked", Lane::optimise);
  interim.response.baseline_checked = 1;
  give(interim, Lane::optimise);
  EXPECT_EQ(with_image_, 1);
  EXPECT_FALSE(pool_.has_room(Lane::optimise)) << "the outcome is still to come";
}

TEST_F(LyingWorker, IsCaughtByADescriptor) {
  const PoolStats before = pool_.stats();
  Order order = baseline();
  order.attaches_descriptor = true;
  give(order);
  EXPECT_EQ(lost_, 1);
  EXPECT_EQ(pool_.stats().protocol_errors, before.protocol_errors + 1);
}

}  // namespace
}  // namespace trident::worker
