// Reports of AddressSanitizer, LeakSanitizer and UBSan in the processes that a test starts: the daemon and its workers
// write to a standard error that nobody reads. From construction on, children that are started write theirs to files
// here. Without sanitizers there are none.
#pragma once

#include <string>

namespace trident::tests {

class SanitizerReports {
 public:
  SanitizerReports();
  ~SanitizerReports();
  SanitizerReports(const SanitizerReports&) = delete;
  SanitizerReports& operator=(const SanitizerReports&) = delete;

  /// Returns true when there are no reports so far. Prints those that there are.
  [[nodiscard]] bool none() const;

 private:
  std::string directory_;
};

}  // namespace trident::tests
