#include "jit/kir/builder.h"
#include "tests/support/random_kernel.h"

namespace trident::testing {

using kir::Op;
using kir::Type;
using kir::Value;

std::vector<kir::Kernel> half_product_kernels() {
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.inputs = {{"x", Type::i64}, {"y", Type::i64}, {"z", Type::i32}};
  kernel.params = {{"p", Type::i64}, {"q", Type::i32}};
  const auto number = [&](std::int64_t v) { return b.constant_int(Type::i64, v); };
  const auto widened = [&](Value v) { return b.convert(Op::Convert, Type::i64, v); };
  std::vector<Value> factors = {b.input(0), widened(b.input(2)), widened(b.param(1)),
                                widened(b.add(b.input(2), b.param(1)))};
  for (const std::int64_t v :
       {-1LL, 3LL, 0x7FFF'FFFFLL, 0x8000'0000LL, 0x1'0000'0000LL, -0x8000'0000LL, -0x8000'0001LL})
    factors.push_back(number(v));
  for (const Value v : {b.input(0), b.input(1), b.param(0), b.add(b.input(1), b.param(0))}) {
    factors.push_back(widened(b.convert(Op::Convert, Type::i32, v)));
    for (const std::int64_t mask : {0x7FFF'FFFFLL, 0xFFFF'FFFFLL, -1LL - 0xFFFF'FFFFLL})
      factors.push_back(b.op(Op::And, v, number(mask)));
    for (const std::int64_t by : {32, 33}) factors.push_back(b.op(Op::Shr, v, number(by)));
  }
  std::vector<kir::Kernel> kernels;
  for (std::size_t first = 0; first < factors.size(); ++first) {
    kernel.outputs.clear();
    for (std::size_t second = first; second < factors.size(); ++second)
      kernel.outputs.push_back({"o" + std::to_string(second), b.mul(factors[first], factors[second])});
    if (first % 2 == 0) kernel.outputs.push_back({"factor", factors[first]});
    kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace trident::testing
