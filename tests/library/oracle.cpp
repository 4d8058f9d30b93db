#include "tests/library/oracle.h"

#include "tests/library/oracle/arguments.h"

namespace trident::test {

std::span<const Oracle> oracles() {
  static const std::vector<Oracle> all = [] {
    std::vector<Oracle> list;
    for (const auto area :
         {math_oracles(), array_oracles(), bitwise_oracles(), string_oracles(), float_oracles(), collections_oracles()})
      list.insert(list.end(), area.begin(), area.end());
    return list;
  }();
  return all;
}

}  // namespace trident::test
