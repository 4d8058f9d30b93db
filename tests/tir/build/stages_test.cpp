// Oracle: the machine on both results. `build` with all stages may not cost more than with any one of them left out.
//
// `make test` takes the programs that were worse once; TRIDENT_TIR_STAGES=all takes the whole corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "jit/tir/build/build.h"
#include "tests/tir/build/ending.h"
#include "tests/tir/corpus/corpus.h"

namespace trident::tir::build {
namespace {

constexpr std::string_view kWorseOnce[] = {"bfs",     "bigint_add", "bigint_compare", "bigint_divide",
                                           "catalan", "elevator",   "ext_dot",        "fibonacci_mod",
                                           "hamming", "hash_table", "sponge_hash",    "tiny_machine"};

bool is_taken(const corpus::Case& c) {
  static const bool all = std::getenv("TRIDENT_TIR_STAGES") != nullptr;
  return all || std::find(std::begin(kWorseOnce), std::end(kWorseOnce), c.name) != std::end(kWorseOnce);
}

Request request_of(const corpus::Case& c) {
  return {.form = Form::tir,
          .name = c.name,
          .text = c.text,
          .runs = {{.public_input = c.public_input,
                    .secret_input = c.secret_input,
                    .secret_digests = c.secret_digests,
                    .ram = c.ram}},
          .milliseconds = 60'000};
}

/// Builds without the stages of `left_out`, and measures the result as the prover runs it.
tournament::Score score_without(Request request, std::uint8_t left_out, const corpus::Case& c) {
  request.left_out = left_out;
  const auto built = build(request);
  EXPECT_TRUE(built) << built.error().message;
  if (!built) return {};
  const tasm::Program program = assembled(built->tasm);
  const corpus::Measured run = corpus::run(program, c);
  EXPECT_EQ(run.failure, vm::Failure::none) << run.failure_text;
  EXPECT_EQ(run.output, c.expected_output);
  tournament::Score out{.words = program.words()};
  out.add(run.heights);
  return out;
}

TEST(Stages, AllAreNotWorseThanAllButOne) {
  std::size_t taken = 0;
  for (const corpus::Case& c : corpus::read_cases()) {
    if (!is_taken(c)) continue;
    ++taken;
    SCOPED_TRACE(c.name);
    const Request request = request_of(c);
    const tournament::Score all = score_without(request, 0, c);
    for (std::size_t stage = 0; stage < std::size(kStageNames); ++stage) {
      const tournament::Score fewer = score_without(request, static_cast<std::uint8_t>(1u << stage), c);
      EXPECT_FALSE(fewer < all) << "without " << kStageNames[stage] << ": tallest " << fewer.tallest << " against "
                                << all.tallest << ", words " << fewer.words << " against " << all.words << ", rows "
                                << fewer.rows << " against " << all.rows;
    }
  }
  EXPECT_GE(taken, std::size(kWorseOnce));
}

}  // namespace
}  // namespace trident::tir::build
