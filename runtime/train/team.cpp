#include "runtime/train/team.h"

#include "runtime/base/check.h"

namespace trident::train {

Team::Team(unsigned threads) {
  CHECK(threads >= 1);
  for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { work_until_stopped(); });
}

Team::~Team() {
  stopped_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::take_pieces() {
  for (std::size_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) piece_(context_, i);
}

void Team::run_pieces(std::size_t count, Piece piece, void* context) {
  count_ = count;
  piece_ = piece;
  context_ = context;
  next_ = 0;
  if (workers_.empty() || count <= 1) return take_pieces();
  busy_ = static_cast<std::uint32_t>(workers_.size());
  round_.fetch_add(1);
  round_.notify_all();
  take_pieces();
  for (std::uint32_t busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
}

void Team::work_until_stopped() {
  std::uint32_t seen = 0;
  for (;;) {
    round_.wait(seen);
    // Rounds do not overlap: the caller waits for every worker, so none is skipped.
    seen = round_;
    if (stopped_) return;
    take_pieces();
    if (busy_.fetch_sub(1) == 1) busy_.notify_one();
  }
}

}  // namespace trident::train
