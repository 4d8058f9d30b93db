// The measured costs of instructions, for the search (`trident calibrate --ops`, which a timer repeats). They come from
// the file that the settings name, else from `costs` in the state folder. The folder is watched: new measurements are
// used at once. Without a file for this processor the built-in costs are used.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/net/loop.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/base/result.h"
#include "runtime/os/folder_watch.h"

namespace trident::learning {

class CostsSource {
 public:
  /// `file`: empty for none. `named`: by the settings, so that it must be there and be sound. Errors, only then:
  /// NotFound, those of cost::parse().
  static Result<std::unique_ptr<CostsSource>> make(std::string file, bool named);

  /// `changed` is called from the loop, not from here. A folder that cannot be watched is a line of the log.
  void watch(net::Loop& loop, std::function<void()> changed);
  /// Reads the file again; tells of a change as the watch does. A file that is gone or damaged changes nothing; the
  /// latter is an error.
  Result<void> look();

  /// Null: those that are built in. Stays until the change after the next.
  [[nodiscard]] const expr::rewrite::OpCosts* costs() const { return costs_.get(); }
  /// Text for worker::PoolOptions::costs.
  [[nodiscard]] const std::string& told() const { return told_; }
  /// Text for people: where and when the costs were measured, or "built in".
  [[nodiscard]] std::string name() const;

 private:
  explicit CostsSource(std::string file) : file_(std::move(file)) {}
  /// Returns true when the costs have changed. Errors: NotFound without a file, those of cost::parse().
  Result<bool> load();
  Result<void> start_watch(net::Loop& loop);
  void look_and_tell();

  std::string file_;
  std::optional<os::FolderWatch> watch_;
  net::Poller poller_;
  std::function<void()> changed_;
  std::unique_ptr<const expr::rewrite::OpCosts> costs_, before_;  ///< before_: a listener may still hold it
  std::string told_;
};

}  // namespace trident::learning
