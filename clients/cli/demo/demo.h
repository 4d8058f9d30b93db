// `trident demo`: a private daemon, a real client, the kernels of a corpus. Each kernel answers at once through the
// interpreter, then through the daemon's baseline code, then through its optimised code, swapped in while calls go on.
// Every answer of every call is checked: the first of each tier against MPFR, the others by digest against that one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/demo/demo_answers.h"
#include "clients/cli/demo/demo_guest.h"
#include "clients/cli/demo/demo_program.h"
#include "jit/corpus/corpus_reader.h"
#include "runtime/base/result.h"
#include "runtime/os/process.h"

namespace trident::cli {

struct DemoOptions {
  std::uint64_t n = 4096;
  std::uint64_t seed = 1;
  std::uint32_t timeout_ms = 600'000;  ///< for all kernels of one type together
  std::string daemon_program;          ///< path of tridentd
};

/// Results of one tier of one kernel.
struct TierResult {
  std::uint64_t first_ns = 0;         ///< when its code came in, from the kernel's submission; 0 for the interpreter
  std::uint64_t calls = 0;            ///< each of them checked
  double call_ns = 0;                 ///< median time of a call
  std::optional<double> bound_share;  ///< greatest error as a share of what the policy allows there
  [[nodiscard]] bool seen() const { return calls > 0; }
};

struct DemoKernel {
  std::string name;
  std::array<TierResult, kTiers> tiers;
  std::uint64_t submit_ns = 0;  ///< how long the submit call took
  std::uint64_t done_ns = 0;    ///< when the daemon had nothing more to say, from submission
  std::uint32_t tier = 0;       ///< now
  bool done = false;
  std::string stage;    ///< what the daemon does with it now
  std::string failure;  ///< a wrong answer or an error, in a sentence
  bool late = false;    ///< the time was over before the daemon had done with it; its answers were right
  /// The interpreter's time over that of the last tier; 0 when either is unknown.
  [[nodiscard]] double speedup() const;
  [[nodiscard]] std::optional<double> bound_share() const;  ///< greatest of all tiers
};

/// A daemon of our own on a temporary socket with an empty cache; stopped and its files removed on destruction.
class PrivateDaemon {
 public:
  static Result<std::unique_ptr<PrivateDaemon>> start(const std::string& program);
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;
  ~PrivateDaemon();
  [[nodiscard]] const std::string& socket() const { return socket_; }
  /// kill -9.
  void kill();

 private:
  PrivateDaemon() = default;
  std::string folder_, socket_;
  std::unique_ptr<os::Process> process_;
};

struct DemoPass {
  ir::Type type = ir::Type::f32;
  std::vector<DemoKernel> kernels;
  std::uint64_t wall_ns = 0;
  bool right_without_daemon = false;       ///< after kill -9 of the daemon every kernel was called again, and was right
  [[nodiscard]] bool failed() const;       ///< a kernel failed, or some answered wrong without the daemon
  [[nodiscard]] std::size_t late() const;  ///< kernels that were not done in time
  /// Over the kernels whose speed-up is known; 0 when none is.
  [[nodiscard]] double geomean_speedup() const;
};

/// Runs all kernels of one type through the daemon. `show` is called some times a second with the state so far.
Result<DemoPass> run_demo(const std::vector<corpus::CorpusKernel>& kernels, ir::Type type, const DemoOptions& options,
                          const std::function<void(const DemoPass&)>& show);

std::string demo_html(const std::vector<DemoPass>& passes, const DemoProgram& program, const DemoGuest& guest,
                      const DemoOptions& options);

}  // namespace trident::cli
