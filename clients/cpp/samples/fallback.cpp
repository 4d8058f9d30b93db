// No daemon, no compiler, a bad text: what the program sees. The answer is the same, only slower; errors are
// exceptions.
#include <cstdio>
#include <vector>

#include "trident.hpp"

int main() {
  const trident::context ctx(TRIDENT_MODE_AUTO, "/nonexistent/tridentd.sock");
  const trident::kernel k = ctx.compile("x*x + 1");
  const std::vector<double> x = {1, 2, 3};
  std::vector<double> y(3);
  k(trident::out(y), x);
  std::printf("without a daemon: %g %g %g\n", y[0], y[1], y[2]);
  try {
    const trident::context needs_daemon(TRIDENT_MODE_DAEMON, "/nonexistent/tridentd.sock");
  } catch (const trident::error& e) {
    std::printf("mode daemon says: %s\n", e.what());
  }
  try {
    const trident::kernel bad = ctx.compile("x + sine(x)");
  } catch (const trident::error& e) {
    std::printf("a bad text says:\n%s\n", e.what());
  }
}
