#include "tests/support/narrow_kernels.h"

#include "jit/kir/builder.h"

namespace trident::testing {

using ir::Storage;

kir::Kernel narrow_kernel(Storage elements, ir::Type beside) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", ir::facts_of(elements).type, {}, elements}, {"y", beside}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0);
  kernel.outputs = {{"copy", x, kir::OutputKind::array, elements},
                    {"wide", x},
                    {"square", b.mul(x, x), kir::OutputKind::array, elements},
                    {"sum", b.add(b.convert(kir::Op::Convert, beside, x), b.input(1))}};
  return kernel;
}

kir::Kernel doubling_kernel(Storage elements) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", ir::facts_of(elements).type, {}, elements}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0);
  kernel.outputs = {{"copy", x, kir::OutputKind::array, elements},
                    {"sum", b.add(x, x), kir::OutputKind::array, elements}};
  return kernel;
}

std::vector<std::uint64_t> all_elements(Storage elements) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 65'536; ++i) all.push_back(ir::facts_of(elements).bytes == 4 ? i * 65'537 : i);
  return all;
}

kir::Kernel with_random_storage(kir::Kernel kernel, Random& random) {
  const auto choose = [&](ir::Type type, Storage& storage) {
    const Storage wanted = kConverting[random.below(std::size(kConverting))];
    if (ir::fits(type, wanted)) storage = wanted;
  };
  for (kir::Input& input : kernel.inputs)
    if (!input.is_table()) choose(input.type, input.storage);
  for (kir::Output& output : kernel.outputs)
    if (output.kind == kir::OutputKind::array) choose(kernel.type_of(output.value), output.storage);
  return kernel;
}

}  // namespace trident::testing
