// The weights that the search's guide goes by when they are not those that come with the program, and perhaps behind
// them, in the same file, those of a judge that has learnt this machine's times.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jit/expr/rewrite/judge.h"
#include "jit/image/image.h"
#include "runtime/base/result.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::pipeline {

class SearchWeights {
 public:
  /// Maps the file read-only, shared with all who do, and looks whether its bytes have the digest (64 hexadecimal
  /// digits) and are weights for this program's kinds of nodes. Errors: NotFound, OsError, RejectedRecord.
  static Result<SearchWeights> map(const std::string& path, std::string_view digest);
  /// The same of a file that is open already, for a process that can open none; `name` is its name in errors.
  static Result<SearchWeights> map(const os::Fd& file, const std::string& name, std::string_view digest);

  [[nodiscard]] const nn::AccumulatorWeights& weights() const { return *weights_; }
  /// Null: there is none of its own.
  [[nodiscard]] const expr::rewrite::Judge* judge() const { return judge_.get(); }
  /// Of the bytes: what kernels searched by these weights are told by from others.
  [[nodiscard]] const image::Key& digest() const { return digest_; }

 private:
  SearchWeights() = default;

  std::shared_ptr<const os::Mapping> mapping_;
  std::unique_ptr<const nn::AccumulatorWeights> weights_, judge_weights_;  ///< which stay where they are
  std::unique_ptr<const expr::rewrite::Judge> judge_;
  image::Key digest_{};
};

}  // namespace trident::pipeline
