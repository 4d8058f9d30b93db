// A list of levels from easy to hard; the next begins when enough of the last episodes at this one were solved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/tensor/generator.h"

namespace trident::train {

struct Level {
  std::uint32_t difficulty;
  double threshold = 1;            ///< share solved of the last `window` episodes that ends the level
  std::uint64_t episodes_max = 0;  ///< most episodes of a level; 0: no bound
};

class Curriculum {
 public:
  /// `rehearsal`: how likely an episode is to be of an earlier level (each alike), so that it is not forgotten.
  Curriculum(std::vector<Level> levels, std::size_t window, double rehearsal = 0)
      : levels_(std::move(levels)), solved_(window), rehearsal_(rehearsal) {
    CHECK(!levels_.empty() && window > 0 && rehearsal >= 0 && rehearsal <= 1);
  }

  [[nodiscard]] std::size_t level() const { return level_; }
  [[nodiscard]] std::uint32_t difficulty() const { return levels_[level_].difficulty; }
  [[nodiscard]] bool at_last() const { return level_ + 1 == levels_.size(); }
  /// Episodes of this level so far, and the share solved of the last `window` of them (of all while there are fewer).
  [[nodiscard]] std::uint64_t episodes() const { return episodes_; }
  [[nodiscard]] double success() const {
    const std::uint64_t n = episodes_ < solved_.size() ? episodes_ : solved_.size();
    return n == 0 ? 0 : static_cast<double>(solved_count_) / static_cast<double>(n);
  }

  /// The level (an index) of the next episode.
  std::size_t draw(tensor::Generator& generator) const {
    if (level_ > 0 && generator.uniform() < rehearsal_) return generator.below(level_);
    return level_;
  }
  [[nodiscard]] std::uint32_t difficulty(std::size_t level) const { return levels_[level].difficulty; }

  /// The end of an episode of `level`. Those of earlier levels do not count. True when the next level begins.
  bool record(std::size_t level, bool solved) {
    if (level != level_) return false;
    const std::size_t slot = episodes_ % solved_.size();
    solved_count_ -= solved_[slot];
    solved_[slot] = solved;
    solved_count_ += solved;
    ++episodes_;
    const Level& now = levels_[level_];
    const bool enough = episodes_ >= solved_.size() && success() >= now.threshold;
    const bool spent = now.episodes_max > 0 && episodes_ >= now.episodes_max;
    if (at_last() || !(enough || spent)) return false;
    ++level_;
    episodes_ = solved_count_ = 0;
    solved_.assign(solved_.size(), 0);
    return true;
  }

 private:
  std::vector<Level> levels_;
  std::vector<std::uint8_t> solved_;  // ring of the last episodes of this level
  double rehearsal_;
  std::size_t level_ = 0;
  std::uint64_t episodes_ = 0, solved_count_ = 0;
};

}  // namespace trident::train
