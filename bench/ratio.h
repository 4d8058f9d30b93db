// Code that the bench programs share: interleaved rounds of two or more contestants, medians, and figures that
// bench/run.py compares with the bars of bench/benches.toml. Built on Google Benchmark for its command line and
// reports.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "runtime/os/clock.h"
#include "runtime/stats/robust.h"

namespace trident::bench {

/// Answers that were wrong so far in this process.
inline int& wrong_answers() {
  static int count = 0;
  return count;
}

/// Prints a figure in the form that bench/run.py reads. Its bar, if any, is in bench/benches.toml under that name.
inline void print_figure(const std::string& name, double value) {
  std::printf("%-48s %10.4f\n", name.c_str(), value);
  std::fflush(stdout);
}

/// One time per contestant and round, in nanoseconds; the contestants take turns within a round.
struct Rounds {
  std::vector<std::vector<double>> ns;

  [[nodiscard]] double median_ns(std::size_t contestant) const { return stats::median(ns[contestant]); }
  /// Median over rounds of a's time / b's.
  [[nodiscard]] double ratio(std::size_t a, std::size_t b) const {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < ns[a].size(); ++r) ratios.push_back(ns[a][r] / ns[b][r]);
    return stats::median(ratios);
  }
  /// Median over rounds of a's time - b's.
  [[nodiscard]] double difference_ns(std::size_t a, std::size_t b) const {
    std::vector<double> differences;
    for (std::size_t r = 0; r < ns[a].size(); ++r) differences.push_back(ns[a][r] - ns[b][r]);
    return stats::median(differences);
  }
};

/// Runs each contestant once per round of `state`; `calls` is how many calls one contestant's turn makes.
inline Rounds run_rounds(benchmark::State& state, const std::vector<std::function<void()>>& contestants,
                         double calls = 1) {
  Rounds rounds;
  rounds.ns.resize(contestants.size());
  for (const auto& contestant : contestants) contestant();  // warm up
  std::size_t turn = 0;
  for (auto _ : state) {
    double first_ns = 0;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const std::size_t c = (i + turn) % contestants.size();
      const std::uint64_t start = os::cycle_counter();
      contestants[c]();
      const double ns = static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns();
      rounds.ns[c].push_back(ns / calls);
      if (c == 0) first_ns = ns;
    }
    ++turn;
    state.SetIterationTime(first_ns * 1e-9);
  }
  return rounds;
}

/// The main function of a bench program: exit 1 after a wrong answer.
inline int run_benchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return wrong_answers() == 0 ? 0 : 1;
}

}  // namespace trident::bench
