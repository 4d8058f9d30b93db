// Learning in the background: what the compiler has met goes into a buffer; a round of learning makes new weights of
// it, and they are promoted only if they are better on blocks that were held out than those in use, which are the
// shipped ones until something is promoted. A promoted version that is worse there than the shipped ones is dropped.
//
// Better is first what the compiler gains by them: of what they propose (propose.h) the best that is right. Only where
// that is the same, how near their drafts come (fitness.h).
//
//   FOLDER/blocks       the buffer (block_buffer.h)
//   FOLDER/left         what other processes have met, taken in by the next round (left_blocks.h)
//   FOLDER/rounds       a line of JSON for each round that had enough blocks; those before in rounds.before
//   FOLDER/population   where evolution stands (evolution.h)
//   FOLDER/weights/     versions by content, one of them chosen, those chosen before it kept (runtime/store/versions.h)
//
// Every file is replaced in one step, so that whatever ends the process, the next one goes on from a whole state. A
// file that cannot be read is as good as absent: blocks and populations come again.
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

/// How much smaller `written` is than `original`, as a share of it; none where it is not known to do the same. Called
/// from several threads; must depend on its arguments alone.
using BlockJudge =
    std::function<std::optional<double>(std::span<const Instruction> original, std::span<const Instruction> written)>;

struct RoundOptions {
  std::uint64_t seed = 1;
  std::uint64_t generations = 4;
  std::uint64_t warm_start_steps = 60;  ///< from answers; 0: none
  /// A twentieth of what teaches from nothing: five times this, and what is known already is lost faster than new
  /// blocks are learnt.
  double warm_start_rate = 1e-4;
  std::size_t blocks_min = 24;  ///< to learn from and held out, each: with fewer nothing is done
  unsigned threads = 1;
};

struct RoundReport {
  std::size_t learned_from = 0, held_out = 0;  ///< blocks
  /// Means on what was held out, of the weights in use and of the best of the round: gains as shares of the blocks, and
  /// fitness in units of a block that is right and as large.
  double gain_before = 0, gain_after = 0, before = 0, after = 0;
  bool enough = false;  ///< blocks; without, nothing was learnt
  bool promoted = false;
  bool dropped = false;  ///< the chosen version was worse than the shipped weights, which are in use again
  std::string chosen;    ///< the version afterwards; store::Versions::kNone for none
};

/// Not for several threads at once, but for add().
class Apprentice {
 public:
  /// Makes the folder where absent. `shipped`: what is in use where nothing is chosen; none: weights that know nothing.
  /// OsError.
  static Result<Apprentice> open(const std::string& folder, std::optional<Weights> shipped = {});

  /// InvalidArgument as of BlockBuffer::add.
  Result<void> add(BlockRecord record);
  [[nodiscard]] std::size_t blocks() const;
  /// The weights that were promoted last; none where there are none. RejectedRecord, OsError.
  [[nodiscard]] Result<std::optional<Weights>> chosen() const;
  /// Learns once, from what is in the buffer now. OsError, RejectedRecord.
  Result<RoundReport> round(const BlockJudge& judge, const RoundOptions& options);
  /// Back to the weights before; returns their version. NotFound.
  Result<std::string> roll_back() { return versions_.roll_back(); }
  [[nodiscard]] const store::Versions& versions() const { return versions_; }
  /// Where the rounds of an apprentice of this folder are noted.
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

/// Rounds in a thread that runs when nothing else wants to, until stopped or `rounds` are done.
class BackgroundLearning {
 public:
  /// `apprentice` must outlive this. `report` is called from the thread after each round.
  BackgroundLearning(Apprentice& apprentice, BlockJudge judge, RoundOptions options, std::uint64_t rounds,
                     std::function<void(const Result<RoundReport>&)> report);
  /// Waits for the round that is under way.
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
