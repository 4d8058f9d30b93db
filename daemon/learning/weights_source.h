// The weights of the search's guide: those that are chosen in a folder of versions, else those that come with
// the program. The folder is watched, so that a promotion or a rollback is seen at once and an idle daemon does
// nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/net/loop.h"
#include "jit/pipeline/search_weights.h"
#include "runtime/os/folder_watch.h"
#include "runtime/store/versions.h"

namespace trident::learning {

class WeightsSource {
 public:
  /// `changed` is called from the loop, not from here. A folder that cannot be had or watched is a line of the log: the
  /// weights that come with the program then.
  WeightsSource(net::Loop& loop, const std::string& folder, std::function<void()> changed);

  /// Null: those that come with the program.
  [[nodiscard]] const pipeline::SearchWeights* weights() const { return weights_.get(); }
  /// Text for worker::PoolOptions::weights.
  [[nodiscard]] const std::string& told() const { return told_; }
  /// Text for people: a digest, or store::Versions::kNone.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Result<void> watch(net::Loop& loop, const std::string& folder);
  /// Returns true when the weights have changed.
  bool load();

  std::optional<store::Versions> versions_;
  std::optional<os::FolderWatch> watch_;
  net::Poller poller_;
  std::function<void()> changed_;
  std::unique_ptr<const pipeline::SearchWeights> weights_, before_;  ///< before_: a listener may still hold it
  std::string told_, name_{store::Versions::kNone};
};

}  // namespace trident::learning
