// Faster code arrives while the program runs: each line shows which tier answered and how long a call took.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "trident.hpp"

int main() {
  const trident::context ctx;
  const trident::kernel k = ctx.compile("exp(-x*x) * cos(3*x) + sqrt(x*x + 1)");
  std::vector<double> x(4096), y(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.001 * static_cast<double>(i);
  const char* const tiers[] = {"interpreter", "baseline", "optimised"};
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::seconds(3);
  std::uint32_t shown = ~0u;
  while (clock::now() < end) {
    const auto begin = clock::now();
    k(trident::out(y), x);
    const std::chrono::duration<double, std::micro> took = clock::now() - begin;
    const trident_kernel_info info = k.info();
    if (info.swaps != shown) {
      std::printf("%-11s  %8.2f us a call of %zu elements, y[1000] = %.15g\n", tiers[info.tier], took.count(), x.size(),
                  y[1000]);
    }
    shown = info.swaps;
    if (info.done == 1) break;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}
