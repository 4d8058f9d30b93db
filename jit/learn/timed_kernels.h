// Kernels with the time that they take: what the Judge learns from (`trident calibrate --kernels` makes them). They lie
// in an SQLite file, the benchmark cache:
//
//   machine   cpu, isa, build of Trident, day of the first kernel
//   family    machine, name, generator; a name once per machine
//   kernel    family, place in it, expression, how it was made, ns, ns_again
//   earlier   times of a kernel that were measured again, because they did not repeat
//
// The kernels of a family mean the same over the reals, by the rules of jit/expr/rules. Nothing has checked what they
// compute in floating point: they are here to be timed and learnt from, and are never published.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

struct sqlite3;

namespace trident::learn {

/// Where times are from.
struct Machine {
  std::string cpu, isa;  ///< os::cpu_model(), codegen::name_of()
  std::string build;     ///< os::build_id() of who compiled and timed
  std::string date;      ///< YYYY-MM-DD
};

struct TimedFamily {
  std::string name, generator;  ///< "corpus", "scramble", "program"
  std::uint32_t machine = 0;    ///< number in TimedKernels::machines
  std::uint32_t first = 0;      ///< of its kernels in TimedKernels::kernels: the source as it was given,
  std::uint32_t end = 0;        ///< then the statically best form, then others
};

struct TimedKernel {
  std::uint32_t family = 0;  ///< number in TimedKernels::families
  std::string text;          ///< expr::parse() reads it, with the types and ranges of its variables
  std::string how;           ///< "source", "best", ...
  double ns = 0;             ///< per element
  double ns_again = 0;       ///< the same by a second, independent measurement
};

/// Families in the order of writing, kernels by family and place.
struct TimedKernels {
  std::vector<Machine> machines;
  std::vector<TimedFamily> families;
  std::vector<TimedKernel> kernels;
};

/// What a cache may hold; more is refused.
inline constexpr std::size_t kTimedKernelsMax = 8'000'000;
inline constexpr std::size_t kFamilyKernelsMax = 64;
/// A second for an element is far beyond any kernel.
inline constexpr double kTimedNsMax = 1e9;

/// Of a cache, or of one in little room (packed_kernels.h). Errors: NotFound without a file; RejectedRecord for a file
/// that is no cache, is one of another version, or is damaged; LimitExceeded; OsError.
Result<TimedKernels> load_timed_kernels(const std::string& path);

/// A family to be written. Of `kernels` only text, how and times count.
struct FamilyTimes {
  std::string name, generator;
  std::vector<TimedKernel> kernels;
  struct Earlier {
    std::uint32_t place = 0;
    double ns = 0, ns_again = 0;
  };
  std::vector<Earlier> earlier{};
};

/// Appends to a cache, which it makes where there is none. Several processes may at the same time; whatever happens to
/// one, the file holds whole families.
class TimedKernelWriter {
 public:
  /// Errors as of load_timed_kernels(), but for NotFound where only the file is missing.
  static Result<TimedKernelWriter> open(const std::string& path, const Machine& machine);

  /// Names of the families that are there for this machine, and the number of their kernels, whoever wrote them.
  [[nodiscard]] Result<std::vector<std::string>> families();
  [[nodiscard]] Result<std::uint64_t> kernels();

  /// All or nothing, and on the disk on return. A family that is there by now is left as it is. InvalidArgument for
  /// what load_timed_kernels() would refuse.
  Result<void> append(std::span<const FamilyTimes> families);

 private:
  struct CloseDb {
    void operator()(sqlite3* db) const;
  };
  TimedKernelWriter(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, CloseDb> db_;
  std::string path_;
  std::int64_t machine_ = 0;
};

}  // namespace trident::learn
