// `trident calibrate --kernels N`: families of kernels that mean the same (jit/learn/variants.h), from corpora,
// scrambled compositions of rules and random programs, compiled, timed in sandboxed children and appended to a
// benchmark cache (jit/learn/timed_kernels.h) until it holds N kernels of this processor, instruction set and build.
//
// With an age (`--stale DAYS`, as the weekly timer asks) a cache that is full does not stay as it is for ever: where
// its newest family is older, an eighth of N is timed anew, families of the corpora that have gone first and then
// random ones by a seed of the week, and the oldest families go until N are left. Kernels of other builds go first,
// beyond another N. So a machine that has changed is learnt anew in eight weeks, and figures that are cheap to keep
// stay.
//
// Families are made by several threads and timed by one while the others rest: work beside a kernel would be timed
// with it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/codegen/codegen.h"
#include "runtime/base/result.h"

namespace trident::calibrate {

struct CalibrateKernelsOptions {
  std::string path;  ///< of the cache
  std::uint64_t kernels = 0;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  codegen::Isa isa = codegen::Isa::avx2;
  std::vector<std::string> corpora;  ///< files of kernels, or of FPCore where the name ends so
  std::uint32_t rounds = 9;
  std::optional<std::uint32_t> stale_days{};
  std::function<void(std::uint64_t done, const std::string& what)> progress{};  ///< kernels in the cache
  std::function<bool()> stopped{};                                              ///< asked before every family
};

struct CalibratedKernels {
  std::uint64_t kernels = 0, added = 0;             ///< of this processor, instruction set and build
  std::map<std::string, std::uint64_t> families{};  ///< by generator
  std::uint64_t repeated = 0;                       ///< families of this run that were measured more than once
  std::uint64_t unsteady = 0;                       ///< ... and never agreed with themselves
  double rho = 0;         ///< rank correlation of the two measurements, over all kernels: the ceiling of any model
  double rho_family = 0;  ///< the median of those within families of four or more
  double error = 0;       ///< the median of |log| of the quotient of the two
  double seconds = 0;
  double rho_first = 0;       ///< rho of first attempts alone, which is not chosen for agreeing
  std::uint64_t dropped = 0;  ///< kernels that were too old
  bool kept = false;          ///< the cache is full and recent: nothing was done
  bool interrupted = false;
};

/// Seed of random families in the week of a day (days since 1970): another one every week, none that --seed gives.
std::uint64_t weekly_seed(std::uint64_t seed, std::int64_t day);

/// $XDG_CACHE_HOME/trident/<isa>.kernels, else ~/.cache/trident/<isa>.kernels. NotFound without a home.
Result<std::string> user_kernels_path(std::string_view isa);

/// Errors: those of the corpora and of the cache; Unsupported for an instruction set that is not here; OsError.
Result<CalibratedKernels> calibrate_kernels(const CalibrateKernelsOptions& options);

/// Writes a cut of the cache in little room (jit/learn/packed_kernels.h) to `to`; how many kernels it has.
Result<std::size_t> pack_kernels(const std::string& cache, std::size_t kernels, const std::string& to);

std::string calibrated_text(const CalibratedKernels& done);
std::string calibrated_json(const CalibratedKernels& done, const CalibrateKernelsOptions& options);

}  // namespace trident::calibrate
