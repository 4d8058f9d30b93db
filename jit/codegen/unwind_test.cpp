// Oracle: the compiler's own unwinder. A kernel faults in its loop. A walk from the signal handler must arrive in the
// calling function, with that function's callee-saved registers, whatever the kernel has pushed and however deep its
// frame is.
#include "jit/codegen/unwind.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "jit/codegen/speculative.h"
#include "jit/codegen/x86_writer.h"
#include "jit/kir/builder.h"
#include "jit/kir/guard.h"
#include "runtime/os/memfd.h"
#include "tests/support/foreign_floats.h"
#include "tests/support/native_kernel.h"

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

// call_marked(entry, in, out, marks): calls the kernel on 64 elements with the marks in rbx, rbp, r12 to r15.
extern "C" void call_marked(trident_entry entry, const void* const* in, void* const* out, const std::uint64_t* marks);
extern "C" const char call_marked_end[];
asm(R"(
  .text
  .type call_marked, @function
call_marked:
  .cfi_startproc
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  sub $8, %rsp
  .cfi_def_cfa_offset 64
  .cfi_offset %rbx, -16
  .cfi_offset %rbp, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  mov %rdi, %rax
  mov (%rcx), %rbx
  mov 8(%rcx), %rbp
  mov 16(%rcx), %r12
  mov 24(%rcx), %r13
  mov 32(%rcx), %r14
  mov 40(%rcx), %r15
  mov %rdx, %rcx
  mov %rsi, %rdx
  mov $64, %esi
  xor %edi, %edi
  xor %r8d, %r8d
  call *%rax
  add $8, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
call_marked_end:
  .size call_marked, . - call_marked
)");

namespace trident::codegen {
namespace {

/// DWARF numbers of rbx, rbp, r12 to r15 (System V ABI, figure 3.36); call_marked() puts the marks there.
constexpr int kKept[] = {3, 6, 12, 13, 14, 15};
constexpr testing::FloatEnvironment kStandardFloats{"standard", kStandardMxcsr, kStandardX87};
constexpr std::uint64_t kMarks[] = {0xB0B0, 0xB1B1, 0x1212, 0x1313, 0x1414, 0x1515};

struct Walk {
  std::uintptr_t code_begin = 0, code_end = 0;
  int frames = 0;
  bool in_kernel = false, came_out = false;
  bool caller_next = false;                   ///< the frame right after the kernel's is its caller's
  std::uint64_t kept[std::size(kKept)] = {};  ///< the registers as of that frame
};
Walk walk;
sigjmp_buf landing;

_Unwind_Reason_Code on_frame(_Unwind_Context* context, void*) {
  const std::uintptr_t ip = _Unwind_GetIP(context);
  const bool inside = ip >= walk.code_begin && ip < walk.code_end;
  if (walk.in_kernel && !inside && !walk.came_out) {
    walk.came_out = true;
    walk.caller_next =
        ip >= reinterpret_cast<std::uintptr_t>(&call_marked) && ip < reinterpret_cast<std::uintptr_t>(&call_marked_end);
    for (std::size_t i = 0; i < std::size(kKept); ++i) walk.kept[i] = _Unwind_GetGR(context, kKept[i]);
  }
  walk.in_kernel |= inside;
  return ++walk.frames < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void on_fault(int) {
  _Unwind_Backtrace(on_frame, nullptr);
  siglongjmp(landing, 1);
}

/// Calls `entry`, which faults, and expects the walk to arrive in call_marked with the marks.
void expect_walk_out(trident_entry entry, std::uintptr_t begin, std::size_t code_size, void* frames,
                     std::size_t arrays_max, const testing::FloatEnvironment& environment) {
  walk = {.code_begin = begin, .code_end = begin + code_size};
  const std::vector<const void*> in(arrays_max, nullptr);
  const std::vector<void*> out(arrays_max, nullptr);
  __register_frame(frames);
  struct sigaction action {
  }, before{};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &before);
  {
    const testing::ForeignFloats floats(environment);
    if (sigsetjmp(landing, 1) == 0) call_marked(entry, in.data(), out.data(), kMarks);
  }
  sigaction(SIGSEGV, &before, nullptr);
  __deregister_frame(frames);
  EXPECT_TRUE(walk.in_kernel);
  EXPECT_TRUE(walk.came_out);
  EXPECT_TRUE(walk.caller_next) << "frames " << walk.frames;
  for (std::size_t i = 0; i < std::size(kKept); ++i) EXPECT_EQ(walk.kept[i], kMarks[i]) << "register " << kKept[i];
}

void expect_walk_out(const kir::Kernel& kernel, Isa isa, const Variant& variant, bool has_frame,
                     bool standard_floats = true) {
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
  expect_walk_out(native->entry(), begin, header.code_size, frames,
                  std::max(kernel.inputs.size(), kernel.outputs.size()),
                  standard_floats ? kStandardFloats : testing::kForeignFloats[0]);
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

/// Builds a kernel whose inputs are all live at once, twice over: more than there are registers.
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

TEST(Unwind, OutOfKernelsThatHaveChangedTheFloatEnvironment) {
  for (const Isa isa : testing::runnable_isas()) {
    expect_walk_out(sum_of(2), isa, {.vectors = 4}, false, false);
    expect_walk_out(sum_of(30), isa, {.vectors = 1}, false, false);
    expect_walk_out(crowded(), isa, {.vectors = 1, .schedule = false}, true, false);
  }
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

// The fast kernel faults: the walk passes the driver's frame.
TEST(Unwind, OutOfSpeculativeKernels) {
  for (const Isa isa : testing::runnable_isas())
    for (const auto& environment : {kStandardFloats, testing::kForeignFloats[0]}) {
      const kir::Kernel general = sum_of(7);
      kir::Kernel fast = general;
      const std::vector<kir::Assumed> ranges(7, kir::Assumed{0, 1});
      ASSERT_TRUE(kir::guard(fast, ranges, {}));
      const auto a = emit(fast, isa, {.vectors = 1}), b = emit(general, isa, {.vectors = 4});
      ASSERT_TRUE(a.ok() && b.ok());
      const auto code = join_speculative(*a, *b, array_bytes(general), {}, isa);
      ASSERT_TRUE(code.ok());
      const auto fd = image::seal(image::build(*code, image::counts_of(general), isa, TRIDENT_TIER_OPTIMISED, {}));
      ASSERT_TRUE(fd.ok());
      const auto native = image::Mapped::map(*fd);
      ASSERT_TRUE(native.ok());
      const auto begin = reinterpret_cast<std::uintptr_t>(native->entry());
      const trident_image_header& header = native->header();
      expect_walk_out(native->entry(), begin, header.code_size,
                      reinterpret_cast<void*>(begin - header.entry_offset + header.unwind_offset), 7, environment);
    }
}

// The last pass faults where it writes: the walk passes the driver's frame.
TEST(Unwind, OutOfTheLastOfSeveralPasses) {
  kir::Kernel kernel = sum_of(7);
  kir::Kernel before = kernel;
  kir::Builder builder(before);
  before.outputs = {{"n", builder.count(ir::Type::f32), kir::OutputKind::scalar}};
  kernel.before.push_back(before);
  for (const Isa isa : testing::runnable_isas()) {
    expect_walk_out(kernel, isa, {.vectors = 1}, true);
    expect_walk_out(kernel, isa, {.vectors = 4}, true, false);
  }
}

/// Emits a function that makes a frame of `bytes`, saves and overwrites rbx or r12, and faults.
void emit_faulting(X86Writer& writer, UnwindWriter& unwind, std::uint8_t saved, std::uint32_t bytes) {
  namespace x86 = asmjit::x86;
  x86::Assembler& a = writer.assembler();
  a.push(x86::gpq(saved));
  unwind.def_cfa(writer.offset(), x86_gpr::kDwarfStack, 16);
  unwind.saved(writer.offset(), x86_gpr::dwarf(saved), 16);
  a.sub(x86::rsp, bytes);
  unwind.def_cfa(writer.offset(), x86_gpr::kDwarfStack, 16 + bytes);
  a.xor_(x86::gpd(saved), x86::gpd(saved));
  a.mov(x86::eax, x86::dword_ptr(x86::gpq(saved)));
}

TEST(Unwind, OutOfEachOfSeveralFunctions) {
  std::pmr::monotonic_buffer_resource arena;
  const Function none(&arena);
  X86Writer writer(none);
  UnwindWriter unwind{UnwindHost{}};
  emit_faulting(writer, unwind, 3, 40);
  const std::uint32_t second = writer.offset();
  unwind.start_function(second);
  emit_faulting(writer, unwind, 12, 4000);
  const std::uint32_t size = writer.offset(), distance = (size + 7) / 8 * 8;
  const std::vector<std::byte> frames = unwind.finish(size, distance);
  std::vector<std::byte> bytes(distance + frames.size());
  std::memcpy(bytes.data(), writer.assembler().bufferData(), size);
  std::memcpy(bytes.data() + distance, frames.data(), frames.size());
  ASSERT_TRUE(writer.link(bytes.data(), distance));
  const auto code = os::map_code(bytes);
  ASSERT_TRUE(code.ok());
  const auto begin = reinterpret_cast<std::uintptr_t>(code->base());
  for (const std::uintptr_t entry : {begin, begin + second})
    expect_walk_out(reinterpret_cast<trident_entry>(entry), begin, size, code->bytes().data() + distance, 0,
                    kStandardFloats);
}

/// Checks that calls name an address in the code.
void expect_calls_inside(const std::string& listing, std::uint32_t code_size) {
  for (std::size_t at = listing.find("call"); at != std::string::npos; at = listing.find("call", at + 1)) {
    const std::size_t to = listing.find("0x", at);
    ASSERT_LT(to, listing.find('\n', at)) << listing.substr(at, 40);
    EXPECT_LT(std::strtoull(listing.c_str() + to, nullptr, 16), code_size);
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
    expect_calls_inside(*listing, code->code_size);
    EXPECT_NE(listing->find("vzeroupper"), std::string::npos);
  }
}

}  // namespace
}  // namespace trident::codegen
