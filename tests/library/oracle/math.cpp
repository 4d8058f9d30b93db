#include <algorithm>
#include <numeric>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

Int power(Word base, Int exponent) {
  Word result = 1;
  for (int bit = 62; bit >= 0; --bit) {
    result *= result;
    if (exponent >> bit & 1) result *= base;
  }
  return wrapped(result);
}

bool prime(Int n) {
  if (n < 2) return false;
  for (Int d = 2; d * d <= n; d += d == 2 ? 1 : 2)
    if (n % d == 0) return false;
  return true;
}

Int square_root(Int n) {
  Word low = 0, high = 3037000500;  // low^2 <= n < high^2
  while (high - low > 1) {
    const Word middle = (low + high) / 2;
    (middle * middle <= static_cast<Word>(n) ? low : high) = middle;
  }
  return wrapped(low);
}

void small_exponent(Arguments& a, Random& random) {
  if (random() % 2 == 0) a[1].number = below(random, 70);
}

constexpr Oracle kMathOracles[] = {
    {"abs_i64", [](Arguments& a) -> Answer { return wrapped(number(a, 0) < 0 ? 0 - word(a, 0) : word(a, 0)); },
     nullptr},
    {"clamp", [](Arguments& a) -> Answer { return std::min(std::max(number(a, 0), number(a, 1)), number(a, 2)); },
     nullptr},
    {"div_ceil",
     [](Arguments& a) -> Answer {
       if (number(a, 1) == 0) return {};
       const __int128 x = number(a, 0), y = number(a, 1);
       __int128 q = x / y;
       if (q * y != x && (x < 0) == (y < 0)) ++q;
       return static_cast<Int>(q);
     },
     nullptr, function::Failure::division},
    {"factorial",
     [](Arguments& a) -> Answer {
       List n(static_cast<std::size_t>(number(a, 0)));
       std::iota(n.begin(), n.end(), 1);
       return std::accumulate(n.begin(), n.end(), Int{1}, std::multiplies<>());
     },
     nullptr},
    {"fibonacci",
     [](Arguments& a) -> Answer {
       std::vector<Word> f{0, 1};
       while (f.size() <= static_cast<std::size_t>(number(a, 0))) f.push_back(f[f.size() - 1] + f[f.size() - 2]);
       return wrapped(f[static_cast<std::size_t>(number(a, 0))]);
     },
     nullptr},
    {"gcd", [](Arguments& a) -> Answer { return std::gcd(number(a, 0), number(a, 1)); }, nullptr},
    {"is_even", [](Arguments& a) -> Answer { return number(a, 0) % 2 == 0; }, nullptr},
    {"is_positive", [](Arguments& a) -> Answer { return number(a, 0) > 0; }, nullptr},
    {"is_prime", [](Arguments& a) -> Answer { return prime(number(a, 0)); },
     [](Arguments& a, Random& random) {
       if (random() % 50 != 0) a[0].number = below(random, 20000);
     }},
    {"isqrt", [](Arguments& a) -> Answer { return square_root(number(a, 0)); }, nullptr},
    {"lcm", [](Arguments& a) -> Answer { return std::lcm(number(a, 0), number(a, 1)); }, nullptr},
    {"loop_count", [](Arguments& a) -> Answer { return std::max<Int>(number(a, 0), 0); },
     [](Arguments& a, Random& random) { a[0].number = below(random, 600) - 100; }},
    {"loop_sum",
     [](Arguments& a) -> Answer {
       const Int first = number(a, 0), last = number(a, 1);
       return last < first ? 0 : (first + last) * (last - first + 1) / 2;
     },
     [](Arguments& a, Random& random) {
       a[0].number = below(random, 600) - 300;
       a[1].number = below(random, 600) - 300;
     }},
    {"max", [](Arguments& a) -> Answer { return std::max(number(a, 0), number(a, 1)); }, nullptr},
    {"power", [](Arguments& a) -> Answer { return power(word(a, 0), number(a, 1)); }, small_exponent},
    {"sign", [](Arguments& a) -> Answer { return sign_of(number(a, 0)); }, nullptr},
    {"triangle_number",
     [](Arguments& a) -> Answer {
       return static_cast<Int>(static_cast<__int128>(number(a, 0)) * (number(a, 0) + 1) / 2);
     },
     nullptr},
    {"min", [](Arguments& a) -> Answer { return std::min(number(a, 0), number(a, 1)); }, nullptr},
};

}  // namespace

std::span<const Oracle> math_oracles() {
  return kMathOracles;
}

}  // namespace trident::test
