#include "clients/c/observation.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::client {
namespace {

/// Elements of one array that are looked at.
constexpr std::uint64_t kLookedAt = 4096;

template <class T>
wire::Range numbers_of(const void* data, std::uint64_t n, std::uint64_t looked_at) {
  const auto* bytes = static_cast<const std::byte*>(data);
  const std::uint64_t step = n / looked_at + 1;
  const wire::Range anything;
  wire::Range range{anything.hi, anything.lo};
  for (std::uint64_t i = 0; i < n; i += step) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    const auto x = static_cast<double>(element);
    range.or_nan |= x != x;
    range.lo = std::min(range.lo, x);  // of these two, a NaN as the second is never taken
    range.hi = std::max(range.hi, x);
  }
  return range;
}

}  // namespace

wire::Range numbers_of(ir::Type type, const void* data, std::uint64_t n, std::uint64_t looked_at) {
  switch (type) {
    case ir::Type::f32: return numbers_of<float>(data, n, looked_at);
    case ir::Type::f64: return numbers_of<double>(data, n, looked_at);
    case ir::Type::i32: return numbers_of<std::int32_t>(data, n, looked_at);
    case ir::Type::i64: return numbers_of<std::int64_t>(data, n, looked_at);
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

std::vector<wire::Range> ranges_of(const std::vector<expr::Variable>& variables, std::uint64_t n, const void* const* in,
                                   const std::uint64_t* params) {
  std::vector<wire::Range> ranges(variables.size());
  if (n == 0) return ranges;
  for_each_argument(variables, in, params, [&](std::size_t v, const void* data) {
    const wire::Range numbers = numbers_of(variables[v].type, data, variables[v].is_scalar() ? 1 : n, kLookedAt);
    if (numbers.lo <= numbers.hi) ranges[v] = numbers;
  });
  return ranges;
}

}  // namespace trident::client
