// Kernels with large frames on a thread whose stack is too small for them: they must fault on the guard page, and never
// reach memory beyond it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "jit/kir/builder.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBeyondBytes = 256 << 10;  // more than any frame
constexpr std::size_t kStackBytes = 32 << 10;

/// Builds a kernel with `count` values of f64, all live until the end: that many vectors of stack.
kir::Kernel wide(std::uint32_t count) {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  kernel.inputs.push_back({"x", ir::Type::f64});
  std::vector<kir::Value> values = {builder.input(0)};
  for (std::uint32_t i = 1; i < count; ++i)
    values.push_back(builder.fma(values.back(), values.front(), builder.constant(ir::Type::f64, i)));
  kir::Value sum = values.back();
  for (std::size_t i = 0; i < values.size(); ++i) sum = builder.fma(sum, values[i], values[values.size() - 1 - i]);
  kernel.outputs.push_back({"o", sum, kir::OutputKind::array});
  return kernel;
}

struct Attempt {
  trident_entry entry = nullptr;
  bool faulted = false, finished = false;
};
Attempt* attempt = nullptr;
std::uintptr_t fault_address = 0;
sigjmp_buf landing;

void on_fault(int, siginfo_t* info, void*) {
  fault_address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  siglongjmp(landing, 1);
}

void* run(void* signal_stack) {
  stack_t alternate{};
  alternate.ss_sp = signal_stack;
  alternate.ss_size = 16 * kPage;
  sigaltstack(&alternate, nullptr);
  double x[64];
  double o[64];
  std::fill(std::begin(x), std::end(x), 0.5);
  const void* in[] = {x};
  void* out[] = {o};
  if (sigsetjmp(landing, 1) == 0) {
    attempt->entry(nullptr, 64, in, out, nullptr);
    attempt->finished = true;
  } else {
    attempt->faulted = true;
  }
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, nullptr);
  return nullptr;
}

void expect_guard_holds(const kir::Kernel& kernel, Isa isa, const Variant& variant, std::uint32_t frame_least) {
  const auto code = emit(kernel, isa, variant);
  ASSERT_TRUE(code.ok()) << code.error().message;
  ASSERT_GE(code->frame_bytes, frame_least);
  const auto native = testing::map_native(kernel, isa, variant);
  ASSERT_TRUE(native.ok());
  EXPECT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = 67}), "");  // correct where there is room

  // [beyond | guard page | stack]
  const std::size_t bytes = kBeyondBytes + kPage + kStackBytes;
  auto* memory =
      static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  std::memset(memory, 0x5A, kBeyondBytes);
  std::byte* guard = memory + kBeyondBytes;
  ASSERT_EQ(mprotect(guard, kPage, PROT_NONE), 0);
  std::vector<std::byte> signal_stack(16 * kPage);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, guard + kPage, kStackBytes), 0);
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
  Attempt it{.entry = native->entry()};
  attempt = &it;
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, signal_stack.data()), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  sigaction(SIGSEGV, &before, nullptr);

  const auto first = reinterpret_cast<std::uintptr_t>(guard);
  EXPECT_TRUE(it.faulted) << name_of(isa) << ": a frame of " << code->frame_bytes << " bytes";
  EXPECT_TRUE(fault_address >= first && fault_address < first + kPage)
      << name_of(isa) << ": touched " << static_cast<std::int64_t>(fault_address - first) << " bytes from the guard";
  EXPECT_TRUE(std::all_of(memory, guard, [](std::byte b) { return b == std::byte{0x5A}; }))
      << name_of(isa) << ": wrote beyond the guard page";
  munmap(memory, bytes);
}

TEST(Stack, LargeFramesMeetTheGuardPage) {
  for (const Isa isa : testing::runnable_isas()) {
    for (const std::uint32_t count : {700u, 800u, 900u}) {
      const auto vectors = static_cast<std::uint8_t>(isa == Isa::avx512 ? 1 : 2);
      expect_guard_holds(wide(count), isa, {.vectors = vectors}, kStackBytes);
      expect_guard_holds(wide(count), isa, {.vectors = vectors, .schedule = false}, kStackBytes);
    }
  }
}

// Values that lose their register on the way must not be read again past the end of an array: the arrays end at an
// inaccessible page.
TEST(Stack, CrowdedTailsStayInsideTheirArrays) {
  for (const Isa isa : testing::runnable_isas()) {
    for (const std::uint32_t count : {20u, 40u, 100u, 300u}) {
      for (const bool schedule : {false, true}) {
        const kir::Kernel kernel = wide(count);
        const auto native = testing::map_native(kernel, isa, {.vectors = 1, .schedule = schedule});
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (std::uint64_t n = 1; n <= 35; ++n)
          ASSERT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = n}), "") << name_of(isa) << " " << count;
      }
    }
  }
}

// Between probes the stack pointer moves by one page at most, on NEON too, which this machine cannot run.
TEST(Stack, NeonTouchesEveryPage) {
  const kir::Kernel kernel = wide(900);
  const auto code = emit(kernel, Isa::neon, {.vectors = 2, .schedule = false});
  ASSERT_TRUE(code.ok()) << code.error().message;
  ASSERT_GE(code->frame_bytes, 4 * kPage);
  const auto listing = disassemble(*code, Isa::neon);
  ASSERT_TRUE(listing.ok());
  std::size_t probes = 0;
  for (std::size_t at = 0; (at = listing->find("str xzr, [sp]", at)) != std::string::npos; ++at) ++probes;
  EXPECT_EQ(probes, code->frame_bytes / kPage) << listing->substr(0, 2000);
}

}  // namespace
}  // namespace trident::codegen
