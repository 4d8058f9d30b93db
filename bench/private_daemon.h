// A tridentd for one bench, in a folder of its own, without cache and state. TRIDENTD_PATH names the program.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/os/child.h"

namespace trident::bench {

class PrivateDaemon {
 public:
  /// `more`: arguments besides the usual ones.
  explicit PrivateDaemon(const std::vector<std::string>& more = {}) {
    char pattern[] = "/dev/shm/trident-bench-XXXXXX";
    CHECK(::mkdtemp(pattern) != nullptr);
    directory_ = pattern;
    std::vector<std::string> arguments = {"tridentd", "--socket", socket(),      "--cache", "none",
                                          "--state",  "none",     "--log-level", "warning"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto child = os::Child::spawn({.program = TRIDENTD_PATH, .arguments = arguments});
    CHECK(child.ok());
    child_ = std::move(*child);
  }
  ~PrivateDaemon() {
    child_ = {};
    std::filesystem::remove_all(directory_);
  }
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;
  [[nodiscard]] std::string socket() const { return directory_ + "/s"; }

 private:
  std::string directory_;
  os::Child child_;
};

}  // namespace trident::bench
