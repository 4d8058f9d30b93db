// Timed kernels, which the judge learns from (`trident calibrate --kernels` makes them). They lie
// in an SQLite file, the benchmark cache:
//
//   machine   cpu, isa, build of Trident, day of the first kernel
//   family    machine, name, generator, day; a name once per machine
//   kernel    family, place in it, expression, how it was made, ns, ns_again
//   earlier   attempt, and the times of a kernel that were measured more than once, because they did not repeat, and
//             were not kept: the missing attempt is the kept one
//
// Files of version 1, which lack day and attempt, can be read; a writer updates them.
//
// The kernels of a family mean the same over the reals, by the rules of jit/expr/rules. Their results in
// floating point are not checked: they are here to be timed and learnt from, and are never published.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

struct sqlite3;

namespace trident::learn {

/// Origin of times.
struct Machine {
  std::string cpu, isa;  ///< os::cpu_model(), codegen::name_of()
  std::string build;     ///< os::build_id() of the program that compiled and timed
  std::string date;      ///< YYYY-MM-DD
};

struct TimedFamily {
  std::string name, generator;  ///< "corpus", "scramble", "program"
  std::uint32_t machine = 0;    ///< number in TimedKernels::machines
  std::uint32_t first = 0;      ///< first of its kernels in TimedKernels::kernels: the source as it was given,
  std::uint32_t end = 0;        ///< then the statically best form, then others
};

struct TimedKernel {
  std::uint32_t family = 0;  ///< number in TimedKernels::families
  std::string text;          ///< expr::parse() reads it, with the types and ranges of its variables
  std::string how;           ///< "source", "best", ...
  double ns = 0;             ///< per element
  double ns_again = 0;       ///< likewise, by a second, independent measurement
  double first_ns = 0;       ///< first attempt's time, if another one was kept; else 0
  double first_ns_again = 0;
};

/// Families in the order of writing, kernels by family and place.
struct TimedKernels {
  std::vector<Machine> machines;
  std::vector<TimedFamily> families;
  std::vector<TimedKernel> kernels;
  bool knows_attempts = false;  ///< first attempts are known; false for a packed cache
};

/// Limits of a cache; more is refused.
inline constexpr std::size_t kTimedKernelsMax = 8'000'000;
inline constexpr std::size_t kFamilyKernelsMax = 64;
/// Limit of a time: a second per element is far beyond any kernel.
inline constexpr double kTimedNsMax = 1e9;

/// Loads a cache, or a packed one (packed_kernels.h). Errors: NotFound without a file; RejectedRecord for a file
/// that is no cache, is one of another version, or is damaged; LimitExceeded; OsError.
Result<TimedKernels> load_timed_kernels(const std::string& path);

/// A family to write. Only text, how and times of `kernels` count.
struct FamilyTimes {
  std::string name, generator;
  std::vector<TimedKernel> kernels;
  struct Earlier {
    std::uint32_t place = 0;
    double ns = 0, ns_again = 0;
    std::uint32_t attempt = 0;  ///< counted from 1
  };
  std::vector<Earlier> earlier{};
};

/// Appends to a cache, and makes it if needed. Several processes may do so at the same time; if one is killed,
/// the file still holds whole families.
class TimedKernelWriter {
 public:
  /// Errors as of load_timed_kernels(); a missing file is none.
  static Result<TimedKernelWriter> open(const std::string& path, const Machine& machine);

  /// Returns the names of this machine's families in the file; kernels() counts their kernels. Any writer's count.
  [[nodiscard]] Result<std::vector<std::string>> families();
  [[nodiscard]] Result<std::uint64_t> kernels();

  /// Returns the day of the newest of them; empty if there is none.
  [[nodiscard]] Result<std::string> newest();
  /// Removes whole families, the oldest first: of this machine as long as `kernels_min` kernels are left, of other
  /// machines and builds as long as the file has more than `of_all_max`. Returns the number of removed kernels.
  Result<std::uint64_t> drop_oldest(std::uint64_t kernels_min, std::uint64_t of_all_max);

  /// Appends all or nothing; it is on the disk on return. Leaves existing families as they are. Errors: InvalidArgument
  /// for families that load_timed_kernels() would refuse.
  Result<void> append(std::span<const FamilyTimes> families);

 private:
  struct CloseDb {
    void operator()(sqlite3* db) const;
  };
  TimedKernelWriter(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, CloseDb> db_;
  std::string path_, date_;
  std::int64_t machine_ = 0;
};

}  // namespace trident::learn
