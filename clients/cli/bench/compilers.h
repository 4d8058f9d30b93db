// The benchmark's compilers: finds them, builds C sources into shared objects, remembers what it built.
//
// "Best compiler" is pinned: g++-12 and clang-19, -O3 -march=native -ffast-math, each with and without libmvec, the
// fastest of the four per kernel; for strict IEEE arithmetic clang-19 -O3 -march=native alone. libmvec comes
//   with g++ through <math.h>, which declares the vector forms when __FAST_MATH__ is defined
//     (bits/math-vector.h); "-U__FAST_MATH__" takes the declarations away and changes no optimisation;
//   with clang through -fveclib=libmvec; without the flag it has none.
//
// Compiling and linking are two commands: a gcc link with -ffast-math adds crtfastmath.o, which would set FTZ/DAZ in
// every process that loads the object, our kernels' timing included. Linked plainly, all contestants run under the
// same MXCSR (the timing child checks that).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/codegen/codegen.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// The flags of the pinned compilers.
enum class Against : std::uint8_t { fast_math, strict };

struct Compiler {
  std::string name;                ///< "g++-12 libmvec": the contestant's name in tables and JSON
  std::string program;             ///< "g++-12"
  std::vector<std::string> flags;  ///< of the compile step
  bool pinned = false;             ///< one of those that make "best compiler"
  std::string version;             ///< first line of --version
};

/// The pinned compilers and those that are shown beside them. With Isa::avx2 all of the pinned ones and of the strict
/// ones are kept from AVX-512. NotFound, with the Debian package to install, when one is missing: a missing contestant
/// fails the benchmark.
///   fast_math   the four, and g++ -O2
///   strict      clang-19 -O3 -march=native. Shown: the same with -fno-math-errno, which lets it vectorise square
///               roots, with libmvec beside that flag, whose functions are good to 4 ulp, g++-12 -O3 -march=native with
///               and without the flag, and g++ -O2. All at their default of -ffp-contract, which fuses products into
///               sums: in their favour, as under exact we may not.
Result<std::vector<Compiler>> find_compilers(codegen::Isa isa, Against against = Against::fast_math);

/// One thing to build.
struct Build {
  std::string source;  ///< C
  const Compiler* compiler = nullptr;
  std::string object;   ///< out: path of the shared object, empty when it failed
  std::string error;    ///< out: what the compiler said
  bool cached = false;  ///< out
};

/// Builds all, `jobs` at a time, through the cache in $XDG_CACHE_HOME/trident/bench (keyed by source, flags, compiler
/// version and processor). `progress(done)` is called from one thread at a time.
Result<void> build_all(std::vector<Build>& builds, unsigned jobs, const std::function<void(std::size_t)>& progress);

}  // namespace trident::cli
