// NEON code of every reduction of every type has the bits of the order in jit/kir/reduction.h. Unicorn runs it. Oracle:
// reduction_cases.h.
#include <gtest/gtest.h>

#include "tests/differential/neon_guest.h"
#include "tests/differential/reduction_cases.h"

namespace trident::testing {
namespace {

constexpr codegen::Variant kVariants[] = {{.schedule = false}, {.vectors = 4}, {.vectors = 8}};
constexpr std::size_t kLengths[] = {0, 1, 63, 65, 4095, 4096, 4101, 8255, 12289};  // an emulator is slow

template <class T>
class NeonReductionBits : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(NeonReductionBits, Types);

template <class T>
void compare(const Case<T>& one, const kir::Kernel& kernel, const Run& run) {
  const ir::Type type = kernel.type_of(kernel.outputs[0].value);
  for (const Pattern pattern : kPatterns)
    for (const std::size_t n : kLengths) {
      const std::vector<T> x = values_of<T>(pattern, n);
      ASSERT_EQ(answer_of(type, bits_by(run, x.data(), n)), one.answer({x}))
          << one.text << ", n " << n << ", pattern " << static_cast<int>(pattern);
    }
}

TYPED_TEST(NeonReductionBits, AreThoseOfTheOrder) {
  for (const auto& one : cases<TypeParam>()) {
    const kir::Kernel kernel = reduction_kernel(one.text, type_of<TypeParam>());
    for (const codegen::Variant& variant : kVariants) {
      const auto code = codegen::emit(kernel, codegen::Isa::neon, variant);
      ASSERT_TRUE(code.ok()) << one.text << ": " << code.error().message;
      const Run run = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
        NeonGuest(kernel, *code).run(n, in, out, params);
        return n;
      };
      ASSERT_NO_FATAL_FAILURE(compare(one, kernel, run));
    }
  }
}

}  // namespace
}  // namespace trident::testing
