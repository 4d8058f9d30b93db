// Learns in the background: blocks that the compiler has met go into a buffer, and a round of learning trains new
// weights on it. They are promoted only if they beat the weights in use on held-out blocks; those in use are the
// shipped ones until something is promoted. A promoted version that is worse there than the shipped ones is dropped.
//
// Better means first the compiler's gain by the best correct proposal (propose.h). Only between equal gains counts how
// near the drafts come (fitness.h).
//
//   FOLDER/blocks       the buffer (block_buffer.h)
//   FOLDER/left         blocks that other processes have met, taken in by the next round (left_blocks.h)
//   FOLDER/rounds       a line of JSON for each round that had enough blocks; those before in rounds.before
//   FOLDER/population   state of evolution (evolution.h)
//   FOLDER/weights/     versions by content, one of them chosen, those chosen before it kept (runtime/store/versions.h)
//
// Every file is replaced in one step, so that the next process finds a whole state however this one ends. A
// file that cannot be read counts as absent: blocks and populations come again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "jit/tir/neural/block_buffer.h"
#include "jit/tir/neural/evolution.h"
#include "jit/tir/neural/fitness.h"
#include "runtime/store/versions.h"

namespace trident::tir::neural {

/// Returns how much smaller `written` is than `original`, as a share of it; none if it is not known to do the same.
/// Called from several threads; must depend on its arguments alone.
using BlockJudge =
    std::function<std::optional<double>(std::span<const Instruction> original, std::span<const Instruction> written)>;

struct RoundOptions {
  std::uint64_t seed = 1;
  std::uint64_t generations = 4;
  std::uint64_t warm_start_steps = 60;  ///< training steps on answers; 0: none
  /// A twentieth of the rate for training from nothing. At five times this rate old knowledge is lost faster than new
  /// blocks are learnt.
  double warm_start_rate = 1e-4;
  std::size_t blocks_min = 24;  ///< least number of blocks on each side; with fewer a round does nothing
  unsigned threads = 1;
};

struct RoundReport {
  std::size_t learned_from = 0, held_out = 0;  ///< blocks
  /// Means on held-out blocks, for the weights in use and the best of the round: gains as shares of the blocks, and
  /// fitness in units of a block that is right and as large.
  double gain_before = 0, gain_after = 0, before = 0, after = 0;
  bool enough = false;  ///< there were enough blocks; else nothing was learnt
  bool promoted = false;
  bool dropped = false;  ///< the chosen version was worse than the shipped weights, which are in use again
  std::string chosen;    ///< the version afterwards; store::Versions::kNone for none
};

/// Owns the folder of learning. Only add() may be called from several threads at once.
class Apprentice {
 public:
  /// Opens or makes the folder. `shipped`: the weights in use while nothing is chosen; none: untrained weights.
  /// Errors: OsError.
  static Result<Apprentice> open(const std::string& folder, std::optional<Weights> shipped = {});

  /// Adds a block. Errors: InvalidArgument as of BlockBuffer::add.
  Result<void> add(BlockRecord record);
  [[nodiscard]] std::size_t blocks() const;
  /// Returns the weights that were promoted last, or none. Errors: RejectedRecord, OsError.
  [[nodiscard]] Result<std::optional<Weights>> chosen() const;
  /// Learns once, from the buffer as it is now. Errors: OsError, RejectedRecord.
  Result<RoundReport> round(const BlockJudge& judge, const RoundOptions& options);
  /// Goes back to the weights before and returns their version. Errors: NotFound.
  Result<std::string> roll_back() { return versions_.roll_back(); }
  [[nodiscard]] const store::Versions& versions() const { return versions_; }
  /// Returns the path at which an apprentice of this folder notes its rounds.
  static std::string rounds_path(const std::string& folder) { return folder + "/rounds"; }

 private:
  Apprentice(std::string folder, store::Versions versions);
  Result<RoundReport> learned_round(const BlockJudge& judge, const RoundOptions& options);
  void take_in_left();
  [[nodiscard]] Result<void> note(const RoundReport& report) const;
  Result<void> promote(const Weights& weights, const RoundReport& report, const std::string& instead_of);
  [[nodiscard]] Evolution population(std::span<const Weights> founders, const RoundOptions& options) const;

  std::string folder_;
  std::optional<Weights> shipped_;
  store::Versions versions_;
  std::unique_ptr<std::mutex> mutex_;  ///< guards buffer_
  BlockBuffer buffer_;
};

/// Runs rounds in a thread of idle priority, until stopped or `rounds` are done.
class BackgroundLearning {
 public:
  /// `apprentice` must outlive this. `report` is called from the thread after each round.
  BackgroundLearning(Apprentice& apprentice, BlockJudge judge, RoundOptions options, std::uint64_t rounds,
                     std::function<void(const Result<RoundReport>&)> report);
  /// Waits for the round in progress.
  ~BackgroundLearning();
  BackgroundLearning(const BackgroundLearning&) = delete;
  BackgroundLearning& operator=(const BackgroundLearning&) = delete;
  void stop() { stopped_ = true; }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  std::atomic<bool> stopped_{false}, finished_{false};
  std::thread thread_;
};

}  // namespace trident::tir::neural
