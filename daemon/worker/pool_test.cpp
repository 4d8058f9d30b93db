// The front against workers that lie. The workers are this program again (the pool starts /proc/self/exe): they answer
// each request with exactly what its message orders. Oracle: what protocol.h promises of a response.
#include "daemon/worker/pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "daemon/worker/compile.h"
#include "runtime/base/limits.h"
#include "runtime/os/memfd.h"
#include "runtime/os/socket.h"

namespace trident::worker {
namespace {

enum class Attached : std::uint8_t { nothing, sealed, unsealed, two_pages_too_many };

/// A message that the worker obeys.
struct Order {
  ResponseHeader response;
  std::uint32_t frame_bytes = sizeof(ResponseHeader);
  Attached attached = Attached::nothing;
};

os::Fd file_for(Attached attached) {
  std::vector<std::byte> bytes(os::page_bytes());
  if (attached == Attached::two_pages_too_many) bytes.resize(limits::kImageBytesMax + 2 * os::page_bytes());
  if (attached == Attached::unsealed) return os::Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  return std::move(os::make_sealed_memfd("order", bytes, std::byte{}).value());
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
    const os::Fd file = order.attached == Attached::nothing ? os::Fd() : file_for(order.attached);
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&order.frame_bytes, 1)),
                                                 std::as_bytes(std::span(&order.response, 1)).first(order.frame_bytes)};
    (void)os::send_pieces(front, pieces, file.get());
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
  static Order image_of(std::uint32_t size, Attached attached = Attached::sealed) {
    Order order;
    order.response.ticket = kTicket;
    order.response.kind = Kind::baseline_image;
    order.response.size = size;
    order.attached = attached;
    return order;
  }
  static Order outcome(pipeline::Outcome code, Attached attached = Attached::nothing) {
    Order order = image_of(4096, attached);
    order.response.kind = Kind::outcome;
    order.response.code = static_cast<std::uint8_t>(code);
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
    give(lane == Lane::baseline ? image_of(4096) : outcome(pipeline::Outcome::no_gain), lane);
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
                  [this](const ResponseHeader& header, std::string_view, const os::Fd& fd) {
                    EXPECT_EQ(header.ticket, kTicket);
                    ++responses_;
                    with_image_ += fd.valid() ? 1 : 0;
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
  Order short_one = image_of(4096);
  short_one.frame_bytes = sizeof(ResponseHeader) - 1;
  expect_caught(short_one, "a short response");
  Order stranger = image_of(4096);
  stranger.response.ticket = kTicket + 1;
  expect_caught(stranger, "a ticket that nobody gave");
  Order unknown = image_of(4096);
  unknown.response.kind = static_cast<Kind>(static_cast<std::uint8_t>(Kind::failed) + 1);
  expect_caught(unknown, "an unknown kind");
  Order strange = outcome(pipeline::Outcome::not_equivalent);
  ++strange.response.code;
  expect_caught(strange, "an unknown outcome", Lane::optimise);
}

TEST_F(LyingWorker, IsCaughtByTheImage) {
  expect_caught(image_of(4096, Attached::nothing), "no descriptor");
  expect_caught(image_of(4096, Attached::unsealed), "a file without seals");
  expect_caught(image_of(4096, Attached::two_pages_too_many), "a file above the limit");
  expect_caught(image_of(static_cast<std::uint32_t>(os::page_bytes()) + 1), "an image larger than its file");
  expect_caught(image_of(TRIDENT_IMAGE_HEADER_BYTES - 1), "an image smaller than its header");
  expect_caught(outcome(pipeline::Outcome::published), "a winner without a descriptor", Lane::optimise);
}

TEST_F(LyingWorker, AnImageThatNoResponseMayCarryIsNotPassedOn) {
  give(outcome(pipeline::Outcome::no_gain, Attached::sealed), Lane::optimise);
  EXPECT_EQ(responses_, 1);
  EXPECT_EQ(with_image_, 0);
}

}  // namespace
}  // namespace trident::worker
