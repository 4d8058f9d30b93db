// A daemon of the test's own: a temporary directory with its socket and cache, and the process, killed at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/os/child.h"

namespace trident::tests {

class PrivateDaemon {
 public:
  /// Starts tridentd with `flags` on top of --socket, --cache and --state, and waits until it accepts.
  explicit PrivateDaemon(std::vector<std::string> flags = {});
  ~PrivateDaemon();
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string socket() const { return directory_ + "/run/tridentd.sock"; }
  [[nodiscard]] std::string cache() const { return directory_ + "/cache/kernels.db"; }
  [[nodiscard]] std::string state() const { return directory_ + "/state"; }
  [[nodiscard]] int pid() const { return child_.pid(); }

  /// Worker processes of a lane ("baseline" or "optimise"), waited for until there are `count`.
  [[nodiscard]] std::vector<int> workers(const std::string& lane, std::size_t count = 1) const;

  void signal(int number) const;
  /// Waits for the end; "exit 0", "signal 9".
  std::string wait() { return child_.wait(); }
  /// Starts again in the same directory.
  void restart();
  void restart(std::vector<std::string> flags);

 private:
  void start();
  std::string directory_;
  std::vector<std::string> flags_;
  os::Child child_;
};

/// PrivateDaemon::workers() of any daemon.
std::vector<int> workers_of(int daemon, const std::string& lane, std::size_t count = 1);
/// An expression of x and y for which a better kernel than the baseline is certain, on however busy a machine: a
/// baseline is compiled as written, and every policy lets the optimiser leave out the many operations that change
/// nothing.
std::string text_with_certain_gain(unsigned number);
/// Returns true when a process runs (a zombie that nobody has reaped yet does not).
bool is_running(int pid);
/// Processor time that a process has used, in seconds.
double cpu_seconds(int pid);
/// How often its threads have been switched from, of their own will or not.
std::uint64_t context_switches(int pid);
/// Waits until `condition` holds, for at most `seconds`; returns whether it does. The default is long because a busy
/// machine is slow; only a test that fails waits so long.
template <class Condition>
bool eventually(Condition condition, double seconds = 60);
void sleep_ms(unsigned ms);

template <class Condition>
bool eventually(Condition condition, double seconds) {
  for (double waited = 0; waited < seconds; waited += 0.005) {
    if (condition()) return true;
    sleep_ms(5);
  }
  return condition();
}

}  // namespace trident::tests
