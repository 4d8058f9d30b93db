// A C++ program with libtrident-embedded.a in it, and with the standard library's own static variables of inline
// functions (std::make_shared, std::to_chars, std::from_chars), which the library has, too. Linked with the shared and
// with the static standard library: where names of the library are visible that should not be, the linker finds them
// twice.
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include "clients/cpp/trident.hpp"

int main() {
  const auto text = std::make_shared<std::string>("x*x + 1");
  char digits[24] = {};
  std::to_chars(digits, digits + sizeof digits - 1, 123456789u);
  int read = 0;
  std::from_chars(digits, digits + 6, read, 16);
  const trident::context context(TRIDENT_MODE_EMBEDDED);
  const trident::kernel kernel = context.compile(*text);
  if (!kernel.wait(1, 60000)) return 1;
  const std::vector<double> x{1, 2, 3};
  std::vector<double> z(3);
  kernel(trident::out(z), x);
  return z == std::vector<double>{2, 5, 10} && read == 0x123456 ? 0 : 2;
}
