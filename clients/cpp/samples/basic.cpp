// The smallest use: compile an expression, call it, print a few values.
#include <cstdio>
#include <vector>

#include "trident.hpp"

int main() {
  const trident::context ctx;
  const trident::kernel k = ctx.compile("a * sin(x) + y", {trident::scalar("a")});
  std::vector<double> x(1000), y(1000, 1.0), z(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 * static_cast<double>(i);
  k(trident::out(z), x, y, 2.0);
  for (std::size_t i = 0; i < x.size(); i += 250) std::printf("2 sin(%4.2f) + 1 = %.15g\n", x[i], z[i]);
}
