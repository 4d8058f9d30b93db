// Oracle: the compiler's own unwinder. A kernel faults in its loop, and a walk from the signal handler has to come out
// in the function that called it, whatever the kernel has pushed and however deep its frame is.
#include "jit/codegen/unwind.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <csetjmp>
#include <csignal>
#include <cstring>

#include "jit/kir/builder.h"
#include "tests/support/native_kernel.h"

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

namespace trident::codegen {
namespace {

struct Walk {
  std::uintptr_t code_begin = 0, code_end = 0;
  int frames = 0;
  bool in_kernel = false, came_out = false;
  bool caller_next = false;  ///< the frame right after the kernel's is its caller's
};
Walk walk;
std::uintptr_t caller_return_begin = 0, caller_return_end = 0;
sigjmp_buf landing;

_Unwind_Reason_Code on_frame(_Unwind_Context* context, void*) {
  const std::uintptr_t ip = _Unwind_GetIP(context);
  const bool inside = ip >= walk.code_begin && ip < walk.code_end;
  if (walk.in_kernel && !inside && !walk.came_out) {
    walk.came_out = true;
    walk.caller_next = ip >= caller_return_begin && ip < caller_return_end;
  }
  walk.in_kernel |= inside;
  return ++walk.frames < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void on_fault(int) {
  _Unwind_Backtrace(on_frame, nullptr);
  siglongjmp(landing, 1);
}

/// Calls `entry` from a place that the walk can recognise.
[[gnu::noinline, gnu::noclone]] void call_kernel(trident_entry entry, const void* const* in, void* const* out) {
  caller_return_begin = reinterpret_cast<std::uintptr_t>(&call_kernel);
  caller_return_end = caller_return_begin + 4096;
  entry(nullptr, 64, in, out, nullptr);
  asm volatile("" ::: "memory");  // no tail call
}

void expect_walk_out(const kir::Kernel& kernel, Isa isa, const Variant& variant, bool has_frame) {
  ASSERT_TRUE(kir::check(kernel).ok());
  auto code = emit(kernel, isa, variant);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->frame_bytes != 0, has_frame);
  EXPECT_EQ(code->frame_bytes % 64, 0u);
  auto native = testing::map_native(kernel, isa, variant);
  ASSERT_TRUE(native.ok());
  const auto begin = reinterpret_cast<std::uintptr_t>(native->entry());
  const trident_image_header& header = native->header();
  void* frames = reinterpret_cast<void*>(begin - header.entry_offset + header.unwind_offset);
  walk = {.code_begin = begin, .code_end = begin + header.code_size};
  const std::vector<const void*> in(kernel.inputs.size(), nullptr);
  const std::vector<void*> out(kernel.outputs.size(), nullptr);
  __register_frame(frames);
  struct sigaction action {
  }, before{};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &before);
  if (sigsetjmp(landing, 1) == 0) call_kernel(native->entry(), in.data(), out.data());
  sigaction(SIGSEGV, &before, nullptr);
  __deregister_frame(frames);
  EXPECT_TRUE(walk.in_kernel);
  EXPECT_TRUE(walk.came_out);
  EXPECT_TRUE(walk.caller_next) << "frames " << walk.frames;
}

kir::Kernel sum_of(std::uint32_t arrays) {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  kir::Value sum;
  for (std::uint32_t i = 0; i < arrays; ++i) {
    kernel.inputs.push_back({"a" + std::to_string(i), ir::Type::f32});
    sum = i == 0 ? builder.input(0) : builder.add(sum, builder.input(i));
  }
  kernel.outputs.push_back({"o", sum, kir::OutputKind::array});
  return kernel;
}

/// All inputs are alive at once, twice over: more than there are registers.
kir::Kernel crowded() {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  std::vector<kir::Value> values;
  for (std::uint32_t i = 0; i < 40; ++i) {
    kernel.inputs.push_back({"a" + std::to_string(i), ir::Type::f64});
    values.push_back(builder.mul(builder.input(i), builder.input(0)));
  }
  kir::Value sum = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) sum = builder.fma(values[i], values[values.size() - i], sum);
  for (std::size_t i = 1; i < values.size(); ++i) sum = builder.add(sum, values[i]);
  kernel.outputs.push_back({"o", sum, kir::OutputKind::array});
  return kernel;
}

TEST(Unwind, OutOfKernelsWithAndWithoutFrames) {
  for (const Isa isa : testing::runnable_isas()) {
    expect_walk_out(sum_of(1), isa, {.vectors = 1, .schedule = false}, false);
    expect_walk_out(sum_of(2), isa, {.vectors = 4}, false);
    expect_walk_out(sum_of(7), isa, {.vectors = 1}, false);   // pushes, no frame
    expect_walk_out(sum_of(30), isa, {.vectors = 1}, false);  // all callee-saved registers
    expect_walk_out(crowded(), isa, {.vectors = 1, .schedule = false}, true);
  }
}

TEST(Unwind, KernelsAreSelfContained) {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const auto code = emit(crowded(), isa, {.vectors = 2});
    ASSERT_TRUE(code.ok());
    const std::uint8_t kEndbr64[] = {0xF3, 0x0F, 0x1E, 0xFA};
    EXPECT_EQ(std::memcmp(code->bytes.data(), kEndbr64, sizeof kEndbr64), 0);
    EXPECT_EQ(code->pool_offset % 64, 0u);
    EXPECT_LE(code->code_size, code->pool_offset);
    EXPECT_GE(code->eh_frame_distance, code->bytes.size());
    EXPECT_GT(code->spills, 0u);
    const auto listing = disassemble(*code, isa);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(listing->find("call"), std::string::npos);
    EXPECT_NE(listing->find("vzeroupper"), std::string::npos);
  }
}

}  // namespace
}  // namespace trident::codegen
