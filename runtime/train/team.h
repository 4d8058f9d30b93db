// A fixed number of threads that share out numbered pieces of work. Which thread does which piece is left to chance;
// the pieces and what comes of each are not, so results do not depend on the number of threads. No allocation after
// start.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace trident::train {

class Team {
 public:
  /// `threads` counts the caller: 1 starts none.
  explicit Team(unsigned threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Calls work(i) once for each i < count and returns when all have returned. One caller at a time.
  template <class Work>
  void run(std::size_t count, Work&& work) {
    run_pieces(
        count, [](void* context, std::size_t i) { (*static_cast<std::remove_reference_t<Work>*>(context))(i); }, &work);
  }

 private:
  using Piece = void (*)(void* context, std::size_t index);
  void run_pieces(std::size_t count, Piece piece, void* context);
  void take_pieces();
  void work_until_stopped();

  std::vector<std::thread> workers_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_{0};  // workers that have not finished the round
  std::atomic<std::size_t> next_{0};
  std::size_t count_ = 0;
  Piece piece_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> stopped_{false};
};

}  // namespace trident::train
