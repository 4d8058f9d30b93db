// Random functions through every tier.
//
//   function_campaign [--runs N] [--seed N] [--show N]
//
// Each function is printed and parsed, lowered, and compiled; its machine code must do on drawn calls what the region's
// interpreter does, and so must its expression, where it is one (function_check.h). `--show N` prints function N and
// checks it alone. Exit 0: no difference.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "jit/function/submission.h"
#include "jit/region/forward.h"
#include "jit/regionopt/bulk.h"
#include "runtime/base/check.h"
#include "tests/fuzz/function_check.h"
#include "tests/fuzz/random_function.h"

namespace {

using namespace trident;

struct Counts {
  std::uint64_t lowered = 0, expressions = 0, bulk = 0, reused = 0;
};

/// Counts nothing for a function that is too large to be lowered.
void check_one(std::uint64_t number, Counts& counts) {
  const std::string text = fuzz::random_function(number);
  const auto program = function::resolve(text, &fuzz::shipped_functions, nullptr);
  if (!program.ok()) {
    std::fprintf(stderr, "function_campaign: number %llu: %s\n", static_cast<unsigned long long>(number),
                 program.error().message.c_str());
    std::abort();
  }
  fuzz::check_printing(program->function());
  const auto lowered = function::lower(program->function(), program->library);
  if (!lowered.ok()) return;
  CHECK(region::check(lowered->region).ok());
  fuzz::check_code(*program, *lowered);
  counts.expressions += fuzz::check_expression(*program, *lowered) ? 1 : 0;
  ++counts.lowered;
  const regionopt::Bulk bulk = regionopt::optimise(region::forward_copies(lowered->region));
  counts.bulk += bulk.loops.empty() ? 0 : 1;
  counts.reused += bulk.reuses ? 1 : 0;
  if (!bulk.loops.empty() || bulk.reuses) fuzz::check_bulk_code(*program, *lowered);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 2000, seed = 1;
  Counts counts;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--runs") == 0) runs = number;
    if (std::strcmp(argv[i], "--seed") == 0) seed = number;
    if (std::strcmp(argv[i], "--show") == 0) {
      std::fputs(fuzz::random_function(number).c_str(), stdout);
      check_one(number, counts);
      return counts.lowered == 1 ? 0 : 1;
    }
  }
  for (std::uint64_t n = 0; n < runs; ++n) {
    if (n % 4096 == 0)
      std::fprintf(stderr, "function_campaign: from number %llu\n", static_cast<unsigned long long>(seed + n));
    check_one(seed + n, counts);
  }
  std::printf(
      "%llu functions, %llu of them compiled and compared, %llu as expressions too, %llu with bulk loops of "
      "their own, no difference\n",
      static_cast<unsigned long long>(runs), static_cast<unsigned long long>(counts.lowered),
      static_cast<unsigned long long>(counts.expressions), static_cast<unsigned long long>(counts.bulk));
  return counts.lowered > runs / 2 && counts.expressions > runs / 20 && counts.bulk > runs / 20 ? 0 : 1;
}
