// Times the contestants of one kernel against each other, in a forked child of their own.
//
// Noise on a shared machine is slow (other tenants, frequency) and fast (interrupts). Against the slow kind all
// contestants of a kernel take turns within each round, over the same buffers, so that a ratio is formed of neighbours
// in time; against the fast kind a round is a batch of calls of at least 20 us and only medians are reported. The child
// is pinned to one processor, and is where compilers' objects are loaded, so that nothing they do reaches this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clients/cli/bench/machine_rates.h"
#include "clients/cli/bench/numexpr_peer.h"
#include "jit/expr/expr.h"
#include "jit/kir/guard.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/result.h"
#include "schemas/kernel_image.h"

namespace trident::cli {

/// Exactly one of the four ways to run is set.
struct Contestant {
  std::string name;
  trident_entry entry = nullptr;           ///< mapped machine code
  std::string object{};                    ///< a shared object with kContestantSymbol
  const kir::Plan* interpreted = nullptr;  ///< the interpreter
  NumexprPeer* numexpr = nullptr;          ///< must have load()ed the kernel
};

/// Inputs and outputs of one kernel: 64-byte aligned arrays, staggered so that no two start at the same offset within
/// a page (stores and loads 4 KiB apart disturb each other).
class Workload {
 public:
  /// Fills the inputs of `expr` by uniform samples of the ranges of `sampled`, which are expr's variables (perhaps with
  /// other ranges); [-2, 2] where there is none. The same for the same seed; every sample is in range after rounding to
  /// its type.
  Workload(const expr::Expr& expr, const std::vector<expr::Variable>& sampled, std::uint64_t n, std::uint64_t seed);

  [[nodiscard]] std::uint64_t n() const { return n_; }
  [[nodiscard]] const std::vector<const void*>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<void*>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<std::uint64_t>& params() const { return params_; }
  [[nodiscard]] const std::vector<std::size_t>& output_bytes() const { return output_bytes_; }
  [[nodiscard]] std::size_t output_bytes_total() const;
  /// Least and greatest value of each variable's samples, as the client library observes them.
  [[nodiscard]] const std::vector<kir::Assumed>& seen() const { return seen_; }
  /// Input arrays and output arrays, for the copy of the same shape.
  [[nodiscard]] std::size_t stream_bytes_per_element() const { return stream_bytes_; }

 private:
  std::uint64_t n_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<std::uint64_t> params_;
  std::vector<std::size_t> output_bytes_;
  std::vector<kir::Assumed> seen_;
  std::size_t stream_bytes_ = 0;
};

struct TimingOptions {
  std::vector<std::uint64_t> sizes;  ///< elements per call; each at most the workload's n
  unsigned rounds = 101;
  double batch_ns = 20'000;
  unsigned rates_bits = 0;  ///< vectors whose machine rates are sampled in every round: 256, 512 or 0 for none
  ir::Type rates_type = ir::Type::f64;
};

/// Observations of one contestant.
struct Timing {
  std::string failure;                          ///< why it has no figures; empty when it ran
  std::vector<std::vector<double>> ns;          ///< [size][round], nanoseconds per call
  std::vector<std::vector<std::byte>> outputs;  ///< of a call over all n elements, taken before any timing
  [[nodiscard]] double median_ns(std::size_t size) const;
};

struct TimingRun {
  std::vector<Timing> contestants;
  double clock_ghz = 0;  ///< core clock, from a chain of dependent multiplications beside the timed batches
  std::vector<std::vector<MachineRates>> rates;  ///< [size][round], sampled every few rounds, the last sample repeated
};

/// Runs all contestants. A contestant that crashes, sets FTZ/DAZ or cannot be loaded gets a failure, and the others are
/// run again without it. An Error only when nothing could be run at all.
Result<TimingRun> time_contestants(std::span<const Contestant> contestants, const Workload& workload,
                                   const TimingOptions& options);

/// Median over rounds of a / b: the ratio of neighbours in time.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace trident::cli
