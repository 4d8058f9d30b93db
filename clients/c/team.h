// Threads that help with one call at a time. A call is divided into numbered pieces, and its caller and the helpers
// begin with a share each, the same in every call of that length: what a processor keeps in its caches of the arrays of
// one call serves it in the next. Whoever is done with its share takes pieces of the others'.
//
// Helpers start with the first call that wants them, and sleep between calls. Nobody waits for one that wakes up late:
// it joins a round only while that is open, and the caller closes it when no piece is left. So a round costs a caller
// who does all of it little more than the wake-up. After a round helpers look for another one for a moment before they
// sleep (runtime/os/linger.h).
//
//   state_    number of the round | open | helpers in it          one word, so that joining and closing exclude each
//   other
//
// Helpers block the program's signals but not its faults, which the program may mend where they occur. A caller whose
// thread is cancelled in a piece leaves when its helpers have.
//
// A second caller is refused and does his call alone: he has his own processor already. In a child of fork() there are
// no helpers: its copy is made anew in place (fork.cpp).
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace trident::client {

/// Threads that one call may use, its caller among them.
inline constexpr unsigned kTeamMax = 64;

class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls work(i) once for each i < pieces, on this thread and at most `threads` - 1 others, and returns true when all
  /// calls have returned. Returns false, and has called nothing, where another call uses the team, where it has been
  /// stopped, or where no thread can be started.
  template <class Work>
  bool run(unsigned threads, std::uint64_t pieces, const Work& work) {
    return run_pieces(
        threads, pieces, [](const void* context, std::uint64_t piece) { (*static_cast<const Work*>(context))(piece); },
        &work);
  }

  /// Waits for the call that runs and ends the helpers; for good.
  void stop();

 private:
  using Piece = void (*)(const void* context, std::uint64_t piece);
  /// Pieces that one thread takes first.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> next = 0;
    std::uint64_t end = 0;
  };
  class Use;
  struct Member {
    Team* team = nullptr;
    unsigned number = 0;
    pthread_t thread{};
  };

  bool run_pieces(unsigned threads, std::uint64_t pieces, Piece piece, const void* context);
  bool start(unsigned helpers);
  static void* main(void* member);
  void help(unsigned number);
  void share_out(std::uint64_t pieces);
  void take_pieces(unsigned number);
  void take_share(unsigned number);
  std::uint32_t next_state(std::uint32_t seen) const;
  bool join(std::uint32_t round);
  void leave();
  void close_round();

  std::atomic<bool> used_ = false;
  bool stopping_ = false;  ///< written before state_
  unsigned helper_count_ = 0;
  std::array<Member, kTeamMax - 1> helpers_{};
  // The round:
  alignas(64) std::atomic<std::uint32_t> state_ = 0;
  unsigned wanted_ = 0;  ///< helpers
  Piece piece_ = nullptr;
  const void* context_ = nullptr;
  std::array<Share, kTeamMax> shares_;  ///< the caller's, then the wanted helpers'
};

}  // namespace trident::client
