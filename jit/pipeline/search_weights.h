// Weights of the search's guide other than the shipped ones and, perhaps behind
// them in the same file, those of a judge that has learnt this machine's times.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jit/expr/rewrite/time_model.h"
#include "jit/image/image.h"
#include "runtime/base/result.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::pipeline {

class SearchWeights {
 public:
  /// Maps the file read-only, shared with all processes that do, and checks that its bytes have the digest (64
  /// hexadecimal digits) and are weights for this program's kinds of nodes. Errors: NotFound, OsError, RejectedRecord.
  static Result<SearchWeights> map(const std::string& path, std::string_view digest);
  /// Maps a file that is open already, for a process that can open none; `name` is its name in errors.
  static Result<SearchWeights> map(const os::Fd& file, const std::string& name, std::string_view digest);

  [[nodiscard]] const nn::AccumulatorWeights& weights() const { return *weights_; }
  /// Returns the judge of the file, or null if it has none.
  [[nodiscard]] const expr::rewrite::TimeModel* judge() const { return judge_.get(); }
  /// Returns the digest of the bytes, which distinguishes kernels searched by these weights.
  [[nodiscard]] const image::Key& digest() const { return digest_; }

 private:
  SearchWeights() = default;

  std::shared_ptr<const os::Mapping> mapping_;
  std::unique_ptr<const nn::AccumulatorWeights> weights_, judge_weights_;  ///< at fixed addresses
  std::unique_ptr<const expr::rewrite::TimeModel> judge_;
  image::Key digest_{};
};

}  // namespace trident::pipeline
