#include <algorithm>
#include <bit>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

constexpr Oracle kBitwiseOracles[] = {
    {"bswap", [](Arguments& a) -> Answer { return wrapped(__builtin_bswap64(word(a, 0))); }, nullptr},
    {"clear_lowest_bit",
     [](Arguments& a) -> Answer {
       Word x = word(a, 0);
       for (int bit = 0; bit < 64; ++bit)
         if (x >> bit & 1) return wrapped(x ^ Word{1} << bit);
       return 0;
     },
     nullptr},
    {"clz", [](Arguments& a) -> Answer { return std::countl_zero(word(a, 0)); }, nullptr},
    {"ctz", [](Arguments& a) -> Answer { return std::countr_zero(word(a, 0)); }, nullptr},
    {"extract_bits",
     [](Arguments& a) -> Answer {
       Word out = 0;
       for (Int i = 0; i < number(a, 2) && number(a, 1) + i < 64; ++i)
         out |= (word(a, 0) >> (number(a, 1) + i) & 1) << i;
       return wrapped(out);
     },
     nullptr},
    {"highest_set_bit", [](Arguments& a) -> Answer { return std::bit_width(word(a, 0)) - 1; }, nullptr},
    {"insert_bits",
     [](Arguments& a) -> Answer {
       Word out = word(a, 0);
       for (Int i = 0; i < number(a, 3) && number(a, 2) + i < 64; ++i) {
         const Word bit = Word{1} << (number(a, 2) + i);
         out = (word(a, 1) >> i & 1) != 0 ? out | bit : out & ~bit;
       }
       return wrapped(out);
     },
     nullptr},
    {"is_power_of_2", [](Arguments& a) -> Answer { return number(a, 0) > 0 && std::has_single_bit(word(a, 0)); },
     nullptr},
    {"isolate_lowest_bit",
     [](Arguments& a) -> Answer { return word(a, 0) == 0 ? 0 : wrapped(Word{1} << std::countr_zero(word(a, 0))); },
     nullptr},
    {"lowest_set_bit", [](Arguments& a) -> Answer { return word(a, 0) == 0 ? -1 : std::countr_zero(word(a, 0)); },
     nullptr},
    {"next_power_of_2",
     [](Arguments& a) -> Answer { return number(a, 0) < 1 ? 1 : wrapped(std::bit_ceil(word(a, 0))); }, nullptr},
    {"parity", [](Arguments& a) -> Answer { return std::popcount(word(a, 0)) % 2; }, nullptr},
    {"popcount", [](Arguments& a) -> Answer { return std::popcount(word(a, 0)); }, nullptr},
    {"reverse_bits",
     [](Arguments& a) -> Answer {
       Word out = 0;
       for (int bit = 0; bit < 64; ++bit) out = out << 1 | (word(a, 0) >> bit & 1);
       return wrapped(out);
     },
     nullptr},
    {"rotl", [](Arguments& a) -> Answer { return wrapped(std::rotl(word(a, 0), static_cast<int>(word(a, 1) % 64))); },
     nullptr},
    {"rotr", [](Arguments& a) -> Answer { return wrapped(std::rotr(word(a, 0), static_cast<int>(word(a, 1) % 64))); },
     nullptr},
};

}  // namespace

std::span<const Oracle> bitwise_oracles() {
  return kBitwiseOracles;
}

}  // namespace trident::test
