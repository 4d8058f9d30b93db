// Compares ways to run guest loops: the host's compiler at -O3, our machine code alone, Unicorn, Unicorn with swapped
// loops, qemu-user. Results and memory are compared first; then the columns take turns.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "bench/loops/column.h"
#include "bench/loops/costs.h"
#include "bench/loops/unicorn_column.h"
#include "bench/ratio.h"

namespace trident::bench {
namespace {

enum Place : std::size_t { kNative, kAlone, kUnicorn, kSwapped, kQemu, kColumns };
constexpr const char* kTitles[kColumns] = {"-O3", "alone", "Unicorn", "swapped", "qemu"};
constexpr std::uint64_t kSizes[] = {64, 4096, 1u << 20};
constexpr const char* kSizeNames[] = {"64 B", "4 KiB", "1 MiB"};
constexpr std::size_t kRounds = 7;
constexpr double kSliceNs = 1e6;  ///< of one column and round, at least

struct Contestant {
  std::unique_ptr<Column> column;
  std::uint64_t calls = 1;   ///< of a slice
  std::vector<double> ns{};  ///< of a round of the loop

  void slice() { ns.push_back(column->cpu_ns(calls) / static_cast<double>(calls) / column->rounds()); }
  /// A run that was disturbed may seem long enough: the shortest of three counts.
  void choose_calls() {
    const auto run = [&] { return column->cpu_ns(calls); };
    while (std::min({run(), run(), run()}) < kSliceNs && calls < (1u << 24)) calls *= 2;
  }
};

std::vector<Contestant> contestants(Work work, SwapColumn*& swapped) {
  std::vector<Contestant> all(kColumns);
  all[kNative].column = native_column(work);
  all[kAlone].column = alone_column(work);
  all[kUnicorn].column = unicorn_column(work);
  auto swap = swap_column(work);
  swapped = swap.get();
  all[kSwapped].column = std::move(swap);
  all[kQemu].column = qemu_column(work);
  return all;
}

/// Compares results and memory of all columns with the host's.
void check_answers(Work work, std::vector<Contestant>& all, const char* when) {
  const Answer right = all[kNative].column->answer();
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (!all[c].column || !all[c].column->has_answers() || all[c].column->answer() == right) continue;
    std::printf("%s of %llu bytes: column %s is wrong %s\n", kernels[work.kernel].name,
                static_cast<unsigned long long>(work.bytes), kTitles[c], when);
    ++wrong_answers();
  }
}

void take_turns(std::vector<Contestant>& all) {
  for (Contestant& contestant : all)
    if (contestant.column) contestant.choose_calls();
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < kColumns; ++i) {
      Contestant& contestant = all[(i + round) % kColumns];
      if (contestant.column) contestant.slice();
    }
}

struct Row {
  double ns[kColumns] = {};  ///< 0: not there
  double native_share = 0;   ///< rounds that native code has made, of all
};

Row measured(Work work) {
  SwapColumn* swapped = nullptr;
  std::vector<Contestant> all = contestants(work, swapped);
  check_answers(work, all, "at first");
  if (swapped != nullptr) swapped->warm();
  take_turns(all);
  Row row;
  for (std::size_t c = 0; c < kColumns; ++c)
    if (all[c].column) row.ns[c] = stats::median(all[c].ns);
  if (swapped != nullptr) {
    (void)swapped->native_rounds();
    all[kSwapped].column->cpu_ns(all[kSwapped].calls);
    row.native_share =
        static_cast<double>(swapped->native_rounds()) / (static_cast<double>(all[kSwapped].calls) * work.rounds());
  }
  check_answers(work, all, "after the swap");
  return row;
}

/// Geometric mean of ratios of two columns.
class Geomean {
 public:
  Geomean(Place over, Place under) : over_(over), under_(under) {}
  void add(const Row& row) {
    if (row.ns[over_] == 0 || row.ns[under_] == 0) return;
    log_ += std::log(row.ns[over_] / row.ns[under_]);
    ++count_;
  }
  void print(const std::string& size) const {
    if (count_ == 0) return;
    print_figure("geomean " + std::string(kTitles[over_]) + " / " + kTitles[under_] + ", " + size,
                 std::exp(log_ / count_));
  }

 private:
  Place over_, under_;
  double log_ = 0;
  int count_ = 0;
};

/// The loop that swapping slows down most.
class Worst {
 public:
  void add(const char* name, const Row& row) {
    if (row.ns[kSwapped] == 0 || row.ns[kSwapped] / row.ns[kUnicorn] <= ratio_) return;
    ratio_ = row.ns[kSwapped] / row.ns[kUnicorn];
    name_ = name;
  }
  void print(const std::string& size) const {
    print_figure("slowest swapped / Unicorn, " + size, ratio_);
    std::printf("  which is %s\n", name_);
  }

 private:
  double ratio_ = 0;
  const char* name_ = "none";
};

void print_row(const char* name, const Row& row) {
  std::printf("%-14s", name);
  for (const double ns : row.ns) ns == 0 ? std::printf(" %9s", "-") : std::printf(" %9.3f", ns);
  if (row.ns[kSwapped] != 0) {
    std::printf(" %8.1f", row.ns[kUnicorn] / row.ns[kSwapped]);
    row.ns[kQemu] == 0 ? std::printf(" %8s", "-") : std::printf(" %8.2f", row.ns[kQemu] / row.ns[kSwapped]);
    std::printf(" %6.1f %%", 100 * row.native_share);
  }
  std::puts("");
  std::fflush(stdout);
}

void run_size(std::size_t s, const char* only) {
  std::printf("\n%s: ns a round of the loop; how many times as fast swapped loops are; share of native rounds\n%-14s",
              kSizeNames[s], "loop");
  for (const char* title : kTitles) std::printf(" %9s", title);
  std::printf(" %8s %8s %8s\n", "Unicorn/", "qemu/", "native");
  std::vector<Geomean> means = {
      {kUnicorn, kSwapped}, {kQemu, kSwapped}, {kUnicorn, kAlone}, {kAlone, kNative}, {kSwapped, kNative}};
  Worst worst;
  for (std::uint32_t k = 0; k < kernel_count; ++k) {
    if (kernels[k].is_quadratic != 0 && kSizes[s] > 4096) continue;
    if (only != nullptr && std::strcmp(only, kernels[k].name) != 0) continue;
    const Row row = measured({k, kSizes[s]});
    print_row(kernels[k].name, row);
    for (Geomean& mean : means) mean.add(row);
    worst.add(kernels[k].name, row);
  }
  for (const Geomean& mean : means) mean.print(kSizeNames[s]);
  worst.print(kSizeNames[s]);
}

int run(const char* only) {
  const bool costs_only = only != nullptr && std::strcmp(only, "costs") == 0;
  for (std::size_t s = 0; s < std::size(kSizes) && !costs_only; ++s) run_size(s, only);
  if (only == nullptr || costs_only) {
    print_entry_cost();
    print_detection_cost();
  }
  return wrong_answers() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

/// `bench_loops [KERNEL]`, or `bench_loops costs`.
int main(int argc, char** argv) {
  return trident::bench::run(argc > 1 ? argv[1] : nullptr);
}
