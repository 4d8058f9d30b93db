#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/tensor/generator.h"

namespace trident::tensor {

/// Draws values from [-1, 1), for tests; each stream gives others.
template <class Real>
std::vector<Real> random_values(std::size_t count, std::uint64_t stream) {
  Generator generator(7, stream);
  std::vector<Real> values(count);
  for (Real& value : values) value = static_cast<Real>(2 * generator.uniform() - 1);
  return values;
}

}  // namespace trident::tensor
