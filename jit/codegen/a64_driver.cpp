// The drivers on AArch64. That of speculative kernels (speculative.h) has its state in registers that calls keep:
//
//   x19 elements left   x20 of the chunk   x21 the next block   x22 params   x23 elements of this call   x24 misses
#include <asmjit/arm/a64assembler.h>

#include <algorithm>
#include <bit>

#include "jit/codegen/a64_emit.h"
#include "jit/codegen/driver.h"

namespace trident::codegen {
namespace {

namespace a64 = asmjit::a64;

/// Restores registers, which lie in `saved_bytes` above `bytes` of a frame, and returns; the unwinder can follow.
void close_frame(a64::Assembler& a, UnwindWriter& unwind, std::span<const std::uint8_t> saved,
                 std::uint32_t saved_bytes, std::uint32_t bytes) {
  const auto offset = [&] { return static_cast<std::uint32_t>(a.offset()); };
  a.add(a64::sp, a64::sp, bytes);
  unwind.def_cfa(offset(), kUnwindA64.stack_register, saved_bytes);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    a.ldr(a64::x(saved[i]), a64::ptr(a64::sp, static_cast<std::int32_t>(8 * i)));
    unwind.restored(offset(), saved[i]);
  }
  a.add(a64::sp, a64::sp, saved_bytes);
  unwind.def_cfa(offset(), kUnwindA64.stack_register, 0);
  a.ret(a64::x30);
}

class A64Driver : public Driver<a64::Assembler> {
 public:
  A64Driver(const ArrayBytes& arrays, const Division& division, UnwindWriter& unwind)
      : Driver(asmjit::Arch::kAArch64, asmjit::AlignMode::kZero, arrays, division, unwind) {}

  void emit() {
    enter();
    const asmjit::Label chunk = a_.newLabel(), again = a_.newLabel(), block = a_.newLabel(), done = a_.newLabel();
    a_.bind(chunk);
    start_chunk();
    if (ends_shortly()) {
      a_.mov(kThis, kOfChunk);
      compare(kThis, division_.shortest);
      a_.b_lo(block);
    }
    a_.bind(again);
    a_.mov(a64::x1, kOfChunk);
    call(first_);
    a_.mov(kThis, a64::x0);
    advance();
    a_.cbz(kOfChunk, done);
    a_.add(kMisses, kMisses, 1);
    choose_block();
    a_.bind(block);
    a_.mov(a64::x1, kThis);
    call(second_);
    advance();
    a_.cbnz(kOfChunk, again);
    a_.bind(done);
    a_.cbnz(kLeft, chunk);
    count_misses();
    leave();
  }

 private:
  static constexpr std::uint8_t kSaved[] = {19, 20, 21, 22, 23, 24, 30};
  static constexpr std::uint32_t kSavedBytes = 64;
  static_assert(8 * std::size(kSaved) <= kSavedBytes);
  static constexpr std::uint8_t kStack = kUnwindA64.stack_register;
  static constexpr a64::GpX kLeft = a64::x19, kOfChunk = a64::x20, kBlock = a64::x21, kParams = a64::x22,
                            kThis = a64::x23, kMisses = a64::x24;

  void enter() {
    a_.embedUInt32(kBtiC);
    if (division_.shortest != 0)
      leave_short_calls();
    else
      leave_empty_calls();
    a_.sub(a64::sp, a64::sp, kSavedBytes);
    unwind_.def_cfa(offset(), kStack, kSavedBytes);
    for (std::size_t i = 0; i < std::size(kSaved); ++i) {
      a_.str(a64::x(kSaved[i]), place(static_cast<std::uint32_t>(8 * i)));
      unwind_.saved(offset(), kSaved[i], kSavedBytes - static_cast<std::uint32_t>(8 * i));
    }
    a_.sub(a64::sp, a64::sp, frame_bytes_);
    unwind_.def_cfa(offset(), kStack, kSavedBytes + frame_bytes_);
    a_.str(a64::x0, place(frame_.self));
    a_.mov(kLeft, a64::x1);
    a_.mov(kParams, a64::x4);
    a_.mov(kMisses, a64::xzr);
    copy_pointers(a64::x2, frame_.inputs, arrays_.inputs.size());
    copy_pointers(a64::x3, frame_.outputs, arrays_.outputs.size());
  }

  /// No elements, no work: the tables of pointers may be null.
  void leave_empty_calls() {
    const asmjit::Label some = a_.newLabel();
    a_.cbnz(a64::x1, some);
    a_.ret(a64::x30);
    a_.bind(some);
  }

  /// Calls of no elements are short calls, so that these meet one test.
  void leave_short_calls() {
    const asmjit::Label long_enough = a_.newLabel();
    compare(a64::x1, division_.shortest);
    a_.b_hs(long_enough);
    a_.b(second_);
    a_.bind(long_enough);
  }

  void copy_pointers(const a64::GpX& from, std::uint32_t to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      a_.ldr(a64::x9, a64::ptr(from, static_cast<std::int32_t>(8 * i)));
      a_.str(a64::x9, place(to + 8 * static_cast<std::uint32_t>(i)));
    }
  }

  void start_chunk() {
    a_.mov(kOfChunk, kLeft);
    if (division_.chunk != 0) limit(kOfChunk, division_.chunk);
    a_.mov(kBlock, kBlockFirst / kBlockGrowth);
  }

  void compare(const a64::GpX& reg, std::uint32_t with) {
    a_.mov(a64::x9, with);
    a_.cmp(reg, a64::x9);
  }

  void limit(const a64::GpX& reg, std::uint32_t most) {
    compare(reg, most);
    a_.csel(reg, reg, a64::x9, a64::CondCode::kLS);
  }

  /// Calls a kernel over the x1 elements that come next.
  void call(const asmjit::Label& kernel) {
    a_.add(a64::x2, a64::sp, frame_.inputs);
    a_.add(a64::x3, a64::sp, frame_.outputs);
    a_.mov(a64::x4, kParams);
    a_.bl(kernel);
  }

  /// Goes on by the elements that are done.
  void advance() {
    for_arrays(arrays_, frame_, [&](std::uint32_t at, std::uint32_t bytes) {
      a_.ldr(a64::x9, place(at));
      a_.add(a64::x9, a64::x9, kThis, a64::lsl(static_cast<std::uint32_t>(std::countr_zero(bytes))));
      a_.str(a64::x9, place(at));
    });
    a_.sub(kLeft, kLeft, kThis);
    a_.sub(kOfChunk, kOfChunk, kThis);
  }

  /// Chooses the next block from the last one and what the fast kernel has done since.
  void choose_block() {
    const asmjit::Label longest = a_.newLabel(), chosen = a_.newLabel();
    a_.cbz(kThis, longest);
    a_.cmp(kThis, kBlockMax);
    a_.mov(kThis, kBlockFirst);
    a_.b_hs(chosen);
    a_.mov(a64::x9, kBlockGrowth);
    a_.mul(kThis, kBlock, a64::x9);
    a_.cmp(kThis, kBlockMax);
    a_.b_ls(chosen);
    a_.bind(longest);
    a_.mov(kThis, kBlockMax);
    a_.bind(chosen);
    a_.mov(kBlock, kThis);
    a_.cmp(kThis, kOfChunk);
    a_.csel(kThis, kThis, kOfChunk, a64::CondCode::kLS);
  }

  void count_misses() {
    const asmjit::Label none = a_.newLabel(), again = a_.newLabel();
    a_.cbz(kMisses, none);
    a_.ldr(a64::x9, place(frame_.self));
    a_.cbz(a64::x9, none);
    a_.ldr(a64::x9, a64::ptr(a64::x9, kMissesOffset));
    a_.cbz(a64::x9, none);
    a_.bind(again);
    a_.ldxr(a64::x10, a64::ptr(a64::x9));
    a_.add(a64::x10, a64::x10, kMisses);
    a_.stxr(a64::w11, a64::x10, a64::ptr(a64::x9));
    a_.cbnz(a64::w11, again);
    a_.bind(none);
  }

  void leave() { close_frame(a_, unwind_, kSaved, kSavedBytes, frame_bytes_); }

  static a64::Mem place(std::uint32_t at) { return a64::ptr(a64::sp, static_cast<std::int32_t>(at)); }
};

// Keeps self, n, inputs, outputs and params in x19 to x23.
class A64SelectDriver : public TwoKernels<a64::Assembler> {
 public:
  explicit A64SelectDriver(UnwindWriter& unwind)
      : TwoKernels(asmjit::Arch::kAArch64, asmjit::AlignMode::kZero, unwind) {}

  void emit(std::uint32_t shortest) {
    const asmjit::Label long_enough = a_.newLabel(), misses = a_.newLabel(), done = a_.newLabel();
    a_.embedUInt32(kBtiC);
    a_.mov(a64::x9, std::max(shortest, 1u));
    a_.cmp(a64::x1, a64::x9);
    a_.b_hs(long_enough);
    a_.b(third_);
    a_.bind(long_enough);
    a_.sub(a64::sp, a64::sp, kSavedBytes);
    unwind_.def_cfa(offset(), kStack, kSavedBytes);
    for (std::size_t i = 0; i < std::size(kSaved); ++i) {
      a_.str(a64::x(kSaved[i]), a64::ptr(a64::sp, static_cast<std::int32_t>(8 * i)));
      unwind_.saved(offset(), kSaved[i], kSavedBytes - static_cast<std::uint32_t>(8 * i));
    }
    for (std::uint32_t i = 0; i < kKept; ++i) a_.mov(a64::x(19 + i), a64::x(i));
    a_.bl(first_);
    a_.cmp(a64::x0, a64::x20);
    a_.b_ne(misses);
    call(second_);
    a_.b(done);
    a_.bind(misses);
    count_misses();
    call(third_);
    a_.bind(done);
    close_frame(a_, unwind_, kSaved, kSavedBytes, 0);
  }

 private:
  static constexpr std::uint8_t kSaved[] = {19, 20, 21, 22, 23, 30};
  static constexpr std::uint32_t kSavedBytes = 8 * std::size(kSaved), kKept = 5;
  static_assert(kSavedBytes % 16 == 0);
  static constexpr std::uint8_t kStack = kUnwindA64.stack_register;

  void call(const asmjit::Label& kernel) {
    for (std::uint32_t i = 0; i < kKept; ++i) a_.mov(a64::x(i), a64::x(19 + i));
    a_.bl(kernel);
  }

  void count_misses() {
    const asmjit::Label none = a_.newLabel(), again = a_.newLabel();
    a_.cbz(a64::x19, none);
    a_.ldr(a64::x9, a64::ptr(a64::x19, kMissesOffset));
    a_.cbz(a64::x9, none);
    a_.lsr(a64::x12, a64::x20, kMissElementsLog2);
    a_.add(a64::x12, a64::x12, 1);
    a_.bind(again);
    a_.ldxr(a64::x10, a64::ptr(a64::x9));
    a_.add(a64::x10, a64::x10, a64::x12);
    a_.stxr(a64::w11, a64::x10, a64::ptr(a64::x9));
    a_.cbnz(a64::w11, again);
    a_.bind(none);
  }
};

// Keeps the call's n, inputs and outputs in x19, x20 and x21.
class A64PassDriver : public PassDriver<A64PassDriver, a64::Assembler> {
 public:
  A64PassDriver(const PassShape& shape, UnwindWriter& unwind)
      : PassDriver(asmjit::Arch::kAArch64, asmjit::AlignMode::kZero, shape, unwind) {}

 private:
  static constexpr std::uint8_t kSaved[] = {19, 20, 21, 30};
  static constexpr std::uint32_t kSavedBytes = 8 * std::size(kSaved);
  static_assert(kSavedBytes % 16 == 0);
  static constexpr std::uint8_t kStack = kUnwindA64.stack_register;
  friend class PassDriver<A64PassDriver, a64::Assembler>;

  void enter() {
    a_.embedUInt32(kBtiC);
    if (!shape_.always) {  // no elements, no work: the tables may be null
      const asmjit::Label some = a_.newLabel();
      a_.cbnz(a64::x1, some);
      a_.ret(a64::x30);
      a_.bind(some);
    }
    a_.sub(a64::sp, a64::sp, kSavedBytes);
    unwind_.def_cfa(offset(), kStack, kSavedBytes);
    for (std::size_t i = 0; i < std::size(kSaved); ++i) {
      a_.str(a64::x(kSaved[i]), place(static_cast<std::uint32_t>(8 * i)));
      unwind_.saved(offset(), kSaved[i], kSavedBytes - static_cast<std::uint32_t>(8 * i));
    }
    a_.sub(a64::sp, a64::sp, frame_.bytes);
    unwind_.def_cfa(offset(), kStack, kSavedBytes + frame_.bytes);
  }

  void copy_parameter(std::uint32_t from, std::uint32_t to) {
    a_.ldr(a64::x9, a64::ptr(a64::x4, static_cast<std::int32_t>(from)));
    a_.str(a64::x9, place(to));
  }
  /// Writes the address of one place in the frame to another.
  void put_place(std::uint32_t of, std::uint32_t to) {
    a_.add(a64::x9, a64::sp, of);
    a_.str(a64::x9, place(to));
  }
  void keep_call() {
    a_.mov(a64::x19, a64::x1);
    a_.mov(a64::x20, a64::x2);
    a_.mov(a64::x21, a64::x3);
  }
  void restore_call() {
    a_.mov(a64::x1, a64::x19);
    a_.mov(a64::x2, a64::x20);
    a_.mov(a64::x3, a64::x21);
  }
  void pass_places() { a_.add(a64::x3, a64::sp, frame_.places); }
  void pass_parameters() { a_.add(a64::x4, a64::sp, frame_.params); }
  void call(const asmjit::Label& pass) { a_.bl(pass); }
  void leave() { close_frame(a_, unwind_, kSaved, kSavedBytes, frame_.bytes); }

  static a64::Mem place(std::uint32_t at) { return a64::ptr(a64::sp, static_cast<std::int32_t>(at)); }
};

}  // namespace

Joined drive_passes_a64(const MachineCode& first, const MachineCode& second, const PassShape& shape,
                        UnwindWriter& unwind) {
  A64PassDriver driver(shape, unwind);
  driver.emit();
  return driver.join(first, second);
}

Joined select_a64(const Selected& kernels, std::uint32_t shortest, UnwindWriter& unwind) {
  A64SelectDriver driver(unwind);
  driver.emit(shortest);
  return driver.join(kernels.scan, kernels.fast, &kernels.general);
}

Joined drive_a64(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                 const Division& division, UnwindWriter& unwind) {
  A64Driver driver(arrays, division, unwind);
  driver.emit();
  return driver.join(fast, general);
}

}  // namespace trident::codegen
