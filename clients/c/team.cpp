#include "clients/c/team.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "clients/c/quiet_thread.h"
#include "runtime/base/float_environment.h"
#include "runtime/base/limits.h"
#include "runtime/os/linger.h"

namespace trident::client {
namespace {

/// A kernel's frame, and beside it the interpreter's scratch.
constexpr std::size_t kStackBytes = 512u << 10;
static_assert(kStackBytes >= 2 * limits::kKernelFrameBytesMax);

constexpr std::uint32_t kInside = 0xFF, kOpen = 0x100, kRound = 0x200;
static_assert(kTeamMax <= kInside);

constexpr std::uint32_t round_of(std::uint32_t state) {
  return state / kRound;
}

}  // namespace

/// Ends the team's use, and the round if there is one, also where a piece throws or ends its caller's thread
/// (pthread_cancel): helpers use what the caller has on its stack.
class Team::Use {
 public:
  explicit Use(Team& team) : team_(team) {}
  ~Use() {
    if (open_) team_.close_round();
    team_.used_.store(false, std::memory_order_release);
    team_.used_.notify_one();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  void open_round() {
    team_.state_.fetch_add(kRound + kOpen, std::memory_order_release);
    team_.state_.notify_all();
    open_ = true;
  }

 private:
  Team& team_;
  bool open_ = false;
};

bool Team::run_pieces(unsigned threads, std::uint64_t pieces, Piece piece, const void* context) {
  if (threads < 2 || pieces < 2 || used_.exchange(true, std::memory_order_acquire)) return false;
  Use use(*this);
  wanted_ = static_cast<unsigned>(std::min<std::uint64_t>({threads - 1, pieces - 1, helpers_.size()}));
  if (!start(wanted_)) return false;
  piece_ = piece;
  context_ = context;
  share_out(pieces);
  use.open_round();
  take_pieces(0);
  return true;
}

/// Starts helpers up to that number. Returns whether there are any.
bool Team::start(unsigned helpers) try {
  for (; helper_count_ < helpers; ++helper_count_) {
    Member& member = helpers_[helper_count_];
    member.team = this;
    member.number = helper_count_;
    const auto started = start_quiet_thread("trident-call", kStackBytes, &Team::main, &member);
    if (!started.ok()) break;
    member.thread = started.value();
  }
  return helper_count_ != 0;
} catch (const std::bad_alloc&) {  // too little memory for a thread, and for the message that says so
  return helper_count_ != 0;
}

void* Team::main(void* member) {
  const StandardFloats floats;  // a thread inherits its creator's
  unblock_faults();
  const Member& self = *static_cast<Member*>(member);
  self.team->help(self.number);
  return nullptr;
}

void Team::help(unsigned number) {
  std::uint32_t seen = 0;
  for (;;) {
    seen = round_of(next_state(seen));
    if (!join(seen)) continue;
    const bool stops = stopping_;
    if (!stops && number < wanted_) take_pieces(number + 1);
    leave();
    if (stops) return;
  }
}

/// Waits for another round than the one that was seen last.
std::uint32_t Team::next_state(std::uint32_t seen) const {
  os::Linger linger;
  if (seen != 0) linger.begin();
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    if (round_of(state) != seen) return state;
    if (!linger.goes_on()) state_.wait(state, std::memory_order_acquire);
  }
}

bool Team::join(std::uint32_t round) {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while (round_of(state) == round && (state & kOpen) != 0)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
  return false;
}

void Team::leave() {
  const std::uint32_t before = state_.fetch_sub(1, std::memory_order_release);
  if ((before & (kInside | kOpen)) == 1) state_.notify_all();
}

void Team::share_out(std::uint64_t pieces) {
  const std::uint64_t threads = wanted_ + 1, each = pieces / threads, more = pieces % threads;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < threads; ++i) {
    shares_[i].next.store(begin, std::memory_order_relaxed);
    shares_[i].end = begin += each + (i < more ? 1 : 0);
  }
}

/// Takes the pieces of its own share, then those that are left of the others'.
void Team::take_pieces(unsigned number) {
  const unsigned threads = wanted_ + 1;
  for (unsigned i = 0; i < threads; ++i) take_share((number + i) % threads);
}

void Team::take_share(unsigned number) {
  Share& share = shares_[number];
  for (;;) {
    const std::uint64_t piece = share.next.fetch_add(1, std::memory_order_relaxed);
    if (piece >= share.end) return;
    piece_(context_, piece);
  }
}

void Team::close_round() {
  os::Linger linger;
  linger.begin();
  std::uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
  while ((state & kInside) != 0) {
    if (!linger.goes_on()) state_.wait(state, std::memory_order_acquire);
    state = state_.load(std::memory_order_acquire);
  }
}

void Team::stop() {
  while (used_.exchange(true, std::memory_order_acquire)) used_.wait(true, std::memory_order_relaxed);
  stopping_ = true;
  state_.fetch_add(kRound + kOpen, std::memory_order_release);
  state_.notify_all();
  for (; helper_count_ != 0; --helper_count_) ::pthread_join(helpers_[helper_count_ - 1].thread, nullptr);
}

}  // namespace trident::client
