// The gain of each way of rewriting on the programs of the corpus (tests/tir/corpus), always against the classical
// lowering with its peephole passes and always over the same programs: padded heights, cliffs crossed, tallest tables.
// Every program that is counted has given the expected output, and does what the plain lowering does for other inputs
// too. Nothing here is timed but the search itself. Exit status 1 below a bar; the bars are for all programs, not for
// --name.
//
// Proposers are measured alone, with blocks and peephole passes only, and beside the changes of subroutines. Programs
// that somebody wrote by hand are compared with the result of `build` from their TIR.
//
//   bench_tir_gains [--json] [--name PART]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/tir_blocks.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/neural/propose.h"
#include "jit/tir/neural/shipped_weights.h"
#include "jit/tir/tournament/tournament.h"
#include "tests/tir/corpus/corpus.h"

namespace trident::bench {
namespace {

using nlohmann::json;
using tir::corpus::Case;
using tir::corpus::Measured;
namespace tournament = tir::tournament;

constexpr const char* kWays[] = {"none",          "peephole",       "subroutines", "superopt. alone",
                                 "network alone", "superoptimiser", "network",     "all"};
constexpr std::size_t kWayCount = std::size(kWays), kPeephole = 1, kSuperoptimiser = 5, kAll = 7;
/// Bars for the programs held out: the share whose padded height falls, and the mean reduction of the tallest table.
constexpr double kCrossedBar = 0.10, kReductionBar = 0.08;

struct Row {
  Case c;
  Measured runs[kWayCount];
  std::optional<Measured> by_hand;
  double seconds = 0;
  std::vector<tournament::Tally> tallies;
  tir::neural::ProposeCounts counts;  ///< of the network alone
};

/// Ends the benchmark where the program does something else than `plain`, which is believed, for other inputs.
void check_other_inputs(const tir::tasm::Program& program, const tir::tasm::Program& plain, Case c, const char* way) {
  tir::vm::Budget longer = tir::corpus::kOtherInputBudget;
  longer.cycles *= 4;
  tir::corpus::for_each_other_input(c, [&] {
    const Measured a = tir::corpus::run(plain, c, tir::corpus::kOtherInputBudget);
    if (a.failure >= tir::vm::Failure::kCycleLimit) return;
    const Measured b = tir::corpus::run(program, c, longer);
    if ((a.failure == tir::vm::Failure::none) == (b.failure == tir::vm::Failure::none) &&
        (a.failure != tir::vm::Failure::none || a.output == b.output))
      return;
    std::fprintf(stderr, "%s, %s: something else for other inputs: %s / %s\n", c.name.c_str(), way,
                 a.failure_text.c_str(), b.failure_text.c_str());
    std::exit(1);
  });
}

Measured checked_run(const tir::tasm::Program& program, const tir::tasm::Program& plain, const Case& c,
                     const char* way) {
  Measured run = tir::corpus::run(program, c);
  if (run.output == c.expected_output) {
    check_other_inputs(program, plain, c, way);
    return run;
  }
  std::fprintf(stderr, "%s, %s: another output than expected %s\n", c.name.c_str(), way, run.failure_text.c_str());
  std::exit(1);
}

tournament::Outcome optimised(const tir::tasm::Program& program, const Case& c,
                              std::span<const tournament::Proposer> proposers, bool subroutines = true) {
  const tir::vm::Inputs sample = c.inputs();
  tournament::Options options;
  options.subroutines = subroutines;
  auto outcome = tournament::optimise(program, std::span(&sample, 1), proposers, options);
  if (!outcome) {
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), outcome.error().message.c_str());
    std::exit(1);
  }
  for (const std::string& fault : outcome->put_aside) {
    std::fprintf(stderr, "%s: put aside: %s\n", c.name.c_str(), fault.c_str());
    std::exit(1);
  }
  return std::move(*outcome);
}

Row measured(const Case& c) {
  const auto tir = tir::corpus::program_of(c);
  Row row{c, {}, {}, 0, {}, {}};
  const auto plain = tir::lowering::lower(tir, {.passes = tir::lowering::PassSet::none()});
  const auto lowered = tir::lowering::lower(tir);
  static tir::neural::Network network(tir::neural::shipped_weights());
  tir::neural::ProposeCounts* counted = nullptr;
  const tournament::Proposer proposers[] = {
      tournament::superoptimiser(), {"network", [&counted](std::span<const tir::tasm::Instruction> block, const auto&) {
                                       return tir::neural::propose(network, block, {.counts = counted});
                                     }}};
  const std::span superoptimiser = std::span(proposers).first(1), by_network = std::span(proposers).last(1);
  const auto put = [&](std::size_t way, const tir::tasm::Program& program) {
    row.runs[way] = checked_run(program, plain, c, kWays[way]);
  };
  put(0, plain);
  put(kPeephole, lowered);
  put(2, optimised(lowered, c, {}).program);
  const auto superoptimiser_alone = optimised(lowered, c, superoptimiser, false);
  counted = &row.counts;
  const auto network_alone = optimised(lowered, c, by_network, false);
  counted = nullptr;
  put(3, superoptimiser_alone.program);
  put(4, network_alone.program);
  put(kSuperoptimiser, optimised(lowered, c, superoptimiser).program);
  put(6, optimised(lowered, c, by_network).program);
  const auto begin = std::chrono::steady_clock::now();
  const auto both = optimised(lowered, c, proposers);
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  put(kAll, both.program);
  if (const auto hand = tir::corpus::hand_of(c)) row.by_hand = checked_run(*hand, plain, c, "by hand");
  row.tallies = {superoptimiser_alone.tallies[0], network_alone.tallies[0]};
  return row;
}

std::uint64_t tallest(const Measured& run) {
  return run.heights.of(run.heights.tallest());
}

/// The tallest table of the result of `build` divided by that of the program by hand.
double to_hand(const Row& row) {
  return double(tallest(row.runs[kAll])) / double(tallest(*row.by_hand));
}

/// Comparison with the programs that were written by hand.
struct Hand {
  std::size_t programs = 0, not_taller = 0, padded_higher = 0;
  double log_ratio = 0;

  explicit Hand(const std::vector<Row>& rows, bool other_methods) {
    for (const Row& row : rows) {
      if (!row.by_hand || (row.c.other_method() && !other_methods)) continue;
      ++programs;
      log_ratio += std::log(to_hand(row));
      not_taller += to_hand(row) <= 1 ? 1 : 0;
      padded_higher += row.runs[kAll].heights.padded() > row.by_hand->heights.padded() ? 1 : 0;
    }
  }
  [[nodiscard]] double geomean() const { return std::exp(log_ratio / double(std::max<std::size_t>(programs, 1))); }
};

/// Gain of one way over the peephole passes, on the programs of a split.
struct Gain {
  std::size_t programs = 0, crossed = 0, worse = 0;
  double log2_padded = 0, reduction = 0;

  void add(const Measured& before, const Measured& after) {
    ++programs;
    crossed += after.heights.padded() < before.heights.padded() ? 1 : 0;
    worse += after.heights.padded() > before.heights.padded() ? 1 : 0;
    log2_padded += std::log2(double(after.heights.padded()) / double(before.heights.padded()));
    reduction += 1 - double(tallest(after)) / double(tallest(before));
  }
  [[nodiscard]] bool meets_bars() const {
    const auto n = double(programs);
    return double(crossed) >= kCrossedBar * n && reduction >= kReductionBar * n;
  }
  [[nodiscard]] json object() const {
    const double n = double(std::max<std::size_t>(programs, 1));
    return {{"programs", programs},
            {"cliffs_crossed", crossed},
            {"worse", worse},
            {"mean_log2_padded", log2_padded / n},
            {"mean_tallest_reduction", reduction / n}};
  }
  void print(const char* split, const char* way) const {
    const double n = double(std::max<std::size_t>(programs, 1));
    std::printf(
        "%-5s %-15s %3zu programs, padded lower in %2zu (%4.1f %%), higher in %zu, log2 padded %+.3f, tallest table "
        "%+.1f %%\n",
        split, way, programs, crossed, 100 * double(crossed) / n, worse, log2_padded / n, -100 * reduction / n);
  }
};

void print_table(const std::vector<Row>& rows) {
  std::printf("rows of the tallest table and its name; padded height\n%-20s %-5s", "program", "split");
  for (const char* way : kWays) std::printf(" %-25s", way);
  std::printf(" %-25s all to hand seconds\n", "by hand");
  for (const Row& row : rows) {
    std::printf("%-20s %-5s", row.c.name.c_str(), row.c.held_out ? "test" : "train");
    const auto print = [](const Measured& run) {
      std::printf(" %6llu %-10s %7llu", (unsigned long long)tallest(run),
                  tir::vm::kTableNames[static_cast<std::size_t>(run.heights.tallest())].data(),
                  (unsigned long long)run.heights.padded());
    };
    for (const Measured& run : row.runs) print(run);
    if (row.by_hand) {
      print(*row.by_hand);
      std::printf(" %8.2f%s", to_hand(row), row.c.other_method() ? " *" : "  ");
    } else {
      std::printf(" %36s", "");
    }
    std::printf(" %6.1f\n", row.seconds);
  }
}

/// Reports the fate of the network's drafts; into `out` if given, else as text.
void report_drafts(const std::vector<Row>& rows, json* out) {
  tir::neural::ProposeCounts sum;
  std::size_t proposed = 0;
  for (const Row& row : rows) {
    const auto& from = row.counts.decoded;
    auto& to = sum.decoded;
    to.looked_at += from.looked_at, to.lost += from.lost, to.repeated += from.repeated, to.too_long += from.too_long;
    to.ended += from.ended, to.ends_refused += from.ends_refused;
    sum.not_smaller += row.counts.not_smaller, sum.repeated += row.counts.repeated, sum.beyond += row.counts.beyond,
        sum.merged += row.counts.merged;
    proposed += row.tallies[1].proposed;
  }
  if (out == nullptr) return print_counts(sum, proposed);
  (*out)["network_drafts"] = {{"looked_at", sum.decoded.looked_at},
                              {"lost", sum.decoded.lost},
                              {"standing_where_another_does", sum.decoded.repeated},
                              {"too_long", sum.decoded.too_long},
                              {"ends_decoded", sum.decoded.ended + sum.decoded.ends_refused},
                              {"ends_refused", sum.decoded.ends_refused},
                              {"not_smaller", sum.not_smaller},
                              {"repeated", sum.repeated},
                              {"beyond", sum.beyond},
                              {"merged", sum.merged}};
}

int report(const std::vector<Row>& rows, bool as_json) {
  json out;
  if (!as_json) print_table(rows);
  bool good = true;
  for (const auto& [split, held_out] : {std::pair("train", 0), std::pair("test", 1), std::pair("all", -1)})
    for (std::size_t way = 0; way < kWayCount; ++way) {
      Gain gain;
      for (const Row& row : rows)
        if (held_out < 0 || row.c.held_out == (held_out == 1)) gain.add(row.runs[kPeephole], row.runs[way]);
      good &= way <= kPeephole || gain.worse == 0;
      if (held_out == 1 && way == kSuperoptimiser) good &= gain.meets_bars();
      if (as_json)
        out[split][kWays[way]] = gain.object();
      else
        gain.print(split, kWays[way]);
    }
  report_drafts(rows, as_json ? &out : nullptr);
  for (std::size_t who = 0; who < 2; ++who) {
    tournament::Tally sum;
    for (const Row& row : rows) {
      const tournament::Tally& t = row.tallies[who];
      sum.name = t.name;
      sum.proposed += t.proposed, sum.equal += t.equal, sum.differ += t.differ, sum.unknown += t.unknown;
      sum.won += t.won;
    }
    if (as_json)
      out[sum.name] = {{"proposed", sum.proposed},
                       {"equal", sum.equal},
                       {"differ", sum.differ},
                       {"unknown", sum.unknown},
                       {"won", sum.won}};
    else
      std::printf("%s alone: %zu proposed, %zu equal, %zu differ, %zu not decided, %zu won\n", sum.name.c_str(),
                  sum.proposed, sum.equal, sum.differ, sum.unknown, sum.won);
  }
  for (const auto& [what, other_methods] : {std::pair("same_method", false), std::pair("any_method", true)}) {
    const Hand hand(rows, other_methods);
    if (as_json)
      out["to_hand"][what] = {{"programs", hand.programs},
                              {"geomean_tallest", hand.geomean()},
                              {"not_taller", hand.not_taller},
                              {"padded_higher", hand.padded_higher}};
    else
      std::printf(
          "to hand, %s: %zu programs, tallest table %.3f times (geomean), not taller in %zu, padded higher in %zu\n",
          other_methods ? "other methods (*) too" : "the same method", hand.programs, hand.geomean(), hand.not_taller,
          hand.padded_higher);
  }
  if (as_json) std::printf("%s\n", out.dump(2).c_str());
  return good ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  using namespace trident::bench;
  bool as_json = false;
  const char* part = "";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) as_json = true;
    if (std::strcmp(argv[i], "--name") == 0 && i + 1 < argc) part = argv[++i];
  }
  std::vector<Row> rows;
  for (const auto& c : trident::tir::corpus::read_cases())
    if (c.name.find(part) != std::string::npos) {
      rows.push_back(measured(c));
      std::fprintf(stderr, "%s %.1f s\n", c.name.c_str(), rows.back().seconds);
    }
  return report(rows, as_json);
}
