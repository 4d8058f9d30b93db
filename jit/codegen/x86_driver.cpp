// The drivers on x86-64. That of speculative kernels (speculative.h) has its state in registers that calls keep:
//
//   r12 elements left   r13 of the chunk   r14 the next block   r15 params   rbp elements of this call   rbx misses
#include <asmjit/x86.h>

#include <algorithm>
#include <bit>

#include "jit/codegen/driver.h"
#include "jit/codegen/x86_writer.h"

namespace trident::codegen {
namespace {

namespace x86 = asmjit::x86;

std::uint32_t offset_of(const x86::Assembler& a) {
  return static_cast<std::uint32_t>(a.offset());
}

/// Saves registers above `bytes` of a frame; the unwinder can follow at every instruction.
void open_frame(x86::Assembler& a, UnwindWriter& unwind, std::span<const std::uint8_t> saved, std::uint32_t bytes) {
  std::uint32_t below = 8;  // the return address
  for (const std::uint8_t reg : saved) {
    a.push(x86::gpq(reg));
    below += 8;
    unwind.def_cfa(offset_of(a), x86_gpr::kDwarfStack, below);
    unwind.saved(offset_of(a), x86_gpr::dwarf(reg), below);
  }
  a.sub(x86::rsp, bytes);
  unwind.def_cfa(offset_of(a), x86_gpr::kDwarfStack, below + bytes);
}

/// Undoes open_frame() and returns.
void close_frame(x86::Assembler& a, UnwindWriter& unwind, std::span<const std::uint8_t> saved, std::uint32_t bytes) {
  std::uint32_t below = 8 + 8 * static_cast<std::uint32_t>(saved.size());
  a.add(x86::rsp, bytes);
  unwind.def_cfa(offset_of(a), x86_gpr::kDwarfStack, below);
  for (std::size_t i = saved.size(); i-- > 0;) {
    a.pop(x86::gpq(saved[i]));
    below -= 8;
    unwind.restored(offset_of(a), x86_gpr::dwarf(saved[i]));
    unwind.def_cfa(offset_of(a), x86_gpr::kDwarfStack, below);
  }
  a.ret();
}

class X86Driver : public Driver<x86::Assembler> {
 public:
  X86Driver(const ArrayBytes& arrays, const Division& division, UnwindWriter& unwind)
      : Driver(asmjit::Arch::kX64, asmjit::AlignMode::kCode, arrays, division, unwind) {
    // Behind the pushes and the return address, 7 words, calls see an aligned stack.
    frame_bytes_ += 8;
  }

  void emit() {
    enter();
    const asmjit::Label chunk = a_.newLabel(), again = a_.newLabel(), block = a_.newLabel(), done = a_.newLabel();
    a_.bind(chunk);
    start_chunk();
    if (ends_shortly()) {
      a_.mov(x86::rbp, x86::r13);
      a_.cmp(x86::rbp, division_.shortest);
      a_.jb(block);
    }
    a_.bind(again);
    a_.mov(x86::rsi, x86::r13);
    call(first_);
    a_.mov(x86::rbp, x86::rax);
    advance();
    a_.jz(done);
    a_.inc(x86::rbx);
    choose_block();
    a_.bind(block);
    a_.mov(x86::rsi, x86::rbp);
    call(second_);
    advance();
    a_.jnz(again);
    a_.bind(done);
    a_.test(x86::r12, x86::r12);
    a_.jnz(chunk);
    count_misses();
    leave();
  }

 private:
  static constexpr std::uint8_t kSaved[] = {3, 5, 12, 13, 14, 15};  // rbx, rbp, r12 to r15

  void enter() {
    a_.emit(x86::Inst::kIdEndbr64);
    const x86::Gp self = division_.streams ? x86::rax : x86::rdi;
    if (division_.streams) {
      a_.mov(self, x86::rdi);
      a_.mov(x86::rdi, x86::rsi);
    }
    if (division_.shortest != 0)
      leave_short_calls();
    else
      leave_empty_calls();
    open_frame(a_, unwind_, kSaved, frame_bytes_);
    a_.mov(place(frame_.self), self);
    if (division_.streams) a_.mov(place(frame_.elements), x86::rsi);
    a_.mov(x86::r12, x86::rsi);
    a_.mov(x86::r15, x86::r8);
    a_.xor_(x86::ebx, x86::ebx);
    copy_pointers(x86::rdx, frame_.inputs, arrays_.inputs.size());
    copy_pointers(x86::rcx, frame_.outputs, arrays_.outputs.size());
  }

  /// Calls of no elements are short calls, so that these meet one test.
  void leave_short_calls() {
    a_.cmp(x86::rsi, division_.shortest);
    a_.jb(second_);
  }

  /// No elements, no work: the tables of pointers may be null.
  void leave_empty_calls() {
    const asmjit::Label some = a_.newLabel();
    a_.test(x86::rsi, x86::rsi);
    a_.jnz(some);
    a_.ret();
    a_.bind(some);
  }

  void copy_pointers(const x86::Gp& from, std::uint32_t to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      a_.mov(x86::rax, x86::qword_ptr(from, static_cast<std::int32_t>(8 * i)));
      a_.mov(place(to + 8 * static_cast<std::uint32_t>(i)), x86::rax);
    }
  }

  void start_chunk() {
    a_.mov(x86::r13, x86::r12);
    if (division_.chunk != 0) limit(x86::r13, division_.chunk);
    a_.mov(x86::r14d, kBlockFirst / kBlockGrowth);
  }

  void limit(const x86::Gp& reg, std::uint32_t most) {
    a_.mov(x86::ecx, most);
    a_.cmp(reg, x86::rcx);
    a_.cmova(reg, x86::rcx);
  }

  /// Calls a kernel over the rsi elements that come next. In place of `self`, which no kernel reads, it sees the length
  /// of the whole call (Variant::part).
  void call(const asmjit::Label& kernel) {
    if (division_.streams) a_.mov(x86::rdi, place(frame_.elements));
    a_.lea(x86::rdx, place(frame_.inputs));
    a_.lea(x86::rcx, place(frame_.outputs));
    a_.mov(x86::r8, x86::r15);
    a_.call(kernel);
  }

  /// Goes on by the rbp elements that are done; sets the zero flag if none of the chunk are left.
  void advance() {
    std::uint32_t in_rcx = 0;
    for_arrays(arrays_, frame_, [&](std::uint32_t at, std::uint32_t bytes) {
      if (bytes != in_rcx) a_.lea(x86::rcx, x86::ptr(0, x86::rbp, static_cast<std::uint32_t>(std::countr_zero(bytes))));
      in_rcx = bytes;
      a_.add(place(at), x86::rcx);
    });
    a_.sub(x86::r12, x86::rbp);
    a_.sub(x86::r13, x86::rbp);
  }

  /// Chooses the next block from the last one and what the fast kernel has done since, rbp elements.
  void choose_block() {
    const asmjit::Label longest = a_.newLabel(), chosen = a_.newLabel();
    a_.test(x86::rbp, x86::rbp);
    a_.jz(longest);
    a_.cmp(x86::rbp, kBlockMax);
    a_.mov(x86::ebp, kBlockFirst);
    a_.jae(chosen);
    a_.imul(x86::rbp, x86::r14, kBlockGrowth);
    a_.cmp(x86::rbp, kBlockMax);
    a_.jbe(chosen);
    a_.bind(longest);
    a_.mov(x86::ebp, kBlockMax);
    a_.bind(chosen);
    a_.mov(x86::r14, x86::rbp);
    a_.cmp(x86::rbp, x86::r13);
    a_.cmova(x86::rbp, x86::r13);
  }

  void count_misses() {
    const asmjit::Label none = a_.newLabel();
    a_.test(x86::rbx, x86::rbx);
    a_.jz(none);
    a_.mov(x86::rax, place(frame_.self));
    a_.test(x86::rax, x86::rax);
    a_.jz(none);
    a_.mov(x86::rax, x86::qword_ptr(x86::rax, kMissesOffset));
    a_.test(x86::rax, x86::rax);
    a_.jz(none);
    a_.lock().add(x86::qword_ptr(x86::rax), x86::rbx);
    a_.bind(none);
  }

  void leave() { close_frame(a_, unwind_, kSaved, frame_bytes_); }

  x86::Mem place(std::uint32_t at) const { return x86::qword_ptr(x86::rsp, static_cast<std::int32_t>(at)); }
};

// Keeps self, n, inputs, outputs and params in rbx, r12, r13, r14 and r15.
class X86SelectDriver : public TwoKernels<x86::Assembler> {
 public:
  explicit X86SelectDriver(UnwindWriter& unwind) : TwoKernels(asmjit::Arch::kX64, asmjit::AlignMode::kCode, unwind) {}

  void emit(std::uint32_t shortest) {
    const asmjit::Label misses = a_.newLabel(), done = a_.newLabel();
    a_.emit(x86::Inst::kIdEndbr64);
    a_.cmp(x86::rsi, std::max(shortest, 1u));
    a_.jb(third_);
    open_frame(a_, unwind_, kSaved, 0);
    for (std::size_t i = 0; i < std::size(kKept); ++i) a_.mov(kKept[i], kArguments[i]);
    a_.call(first_);
    a_.cmp(x86::rax, x86::r12);
    a_.jne(misses);
    call(second_);
    a_.jmp(done);
    a_.bind(misses);
    count_misses();
    call(third_);
    a_.bind(done);
    close_frame(a_, unwind_, kSaved, 0);
  }

 private:
  static constexpr std::uint8_t kSaved[] = {3, 12, 13, 14, 15};  // with the return address they keep the stack aligned
  static_assert((8 + 8 * std::size(kSaved)) % 16 == 0);
  static constexpr x86::Gp kArguments[] = {x86::rdi, x86::rsi, x86::rdx, x86::rcx, x86::r8};
  static constexpr x86::Gp kKept[] = {x86::rbx, x86::r12, x86::r13, x86::r14, x86::r15};

  void call(const asmjit::Label& kernel) {
    for (std::size_t i = 0; i < std::size(kKept); ++i) a_.mov(kArguments[i], kKept[i]);
    a_.call(kernel);
  }

  void count_misses() {
    const asmjit::Label none = a_.newLabel();
    a_.test(x86::rbx, x86::rbx);
    a_.jz(none);
    a_.mov(x86::rax, x86::qword_ptr(x86::rbx, kMissesOffset));
    a_.test(x86::rax, x86::rax);
    a_.jz(none);
    a_.mov(x86::rcx, x86::r12);
    a_.shr(x86::rcx, kMissElementsLog2);
    a_.inc(x86::rcx);
    a_.lock().add(x86::qword_ptr(x86::rax), x86::rcx);
    a_.bind(none);
  }
};

// Keeps the call's n, inputs and outputs in rbx, r12 and r13.
class X86PassDriver : public PassDriver<X86PassDriver, x86::Assembler> {
 public:
  X86PassDriver(const PassShape& shape, UnwindWriter& unwind)
      : PassDriver(asmjit::Arch::kX64, asmjit::AlignMode::kCode, shape, unwind) {}

 private:
  static constexpr std::uint8_t kSaved[] = {3, 12, 13};  // with the return address they keep the stack aligned
  static_assert((8 + 8 * std::size(kSaved)) % 16 == 0);
  friend class PassDriver<X86PassDriver, x86::Assembler>;

  void enter() {
    a_.emit(x86::Inst::kIdEndbr64);
    if (!shape_.always) {  // no elements, no work: the tables may be null
      const asmjit::Label some = a_.newLabel();
      a_.test(x86::rsi, x86::rsi);
      a_.jnz(some);
      a_.ret();
      a_.bind(some);
    }
    open_frame(a_, unwind_, kSaved, frame_.bytes);
  }

  void copy_parameter(std::uint32_t from, std::uint32_t to) {
    a_.mov(x86::rax, x86::qword_ptr(x86::r8, static_cast<std::int32_t>(from)));
    a_.mov(place(to), x86::rax);
  }
  /// Writes the address of one place in the frame to another.
  void put_place(std::uint32_t of, std::uint32_t to) {
    a_.lea(x86::rax, place(of));
    a_.mov(place(to), x86::rax);
  }
  void keep_call() {
    a_.mov(x86::rbx, x86::rsi);
    a_.mov(x86::r12, x86::rdx);
    a_.mov(x86::r13, x86::rcx);
  }
  void restore_call() {
    a_.mov(x86::rsi, x86::rbx);
    a_.mov(x86::rdx, x86::r12);
    a_.mov(x86::rcx, x86::r13);
  }
  void pass_places() { a_.lea(x86::rcx, place(frame_.places)); }
  void pass_parameters() { a_.lea(x86::r8, place(frame_.params)); }
  void call(const asmjit::Label& pass) { a_.call(pass); }
  void leave() { close_frame(a_, unwind_, kSaved, frame_.bytes); }

  x86::Mem place(std::uint32_t at) const { return x86::qword_ptr(x86::rsp, static_cast<std::int32_t>(at)); }
};

}  // namespace

Joined drive_passes_x86(const MachineCode& first, const MachineCode& second, const PassShape& shape,
                        UnwindWriter& unwind) {
  X86PassDriver driver(shape, unwind);
  driver.emit();
  return driver.join(first, second);
}

Joined select_x86(const Selected& kernels, std::uint32_t shortest, UnwindWriter& unwind) {
  X86SelectDriver driver(unwind);
  driver.emit(shortest);
  return driver.join(kernels.scan, kernels.fast, &kernels.general);
}

Joined drive_x86(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                 const Division& division, UnwindWriter& unwind) {
  X86Driver driver(arrays, division, unwind);
  driver.emit();
  return driver.join(fast, general);
}

}  // namespace trident::codegen
