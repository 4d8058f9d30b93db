#include "jit/codegen/x86_bulk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "jit/codegen/x86_bulk_lanes.h"
#include "jit/region/region.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
using regionopt::BulkLoop;
using regionopt::Limit;
using regionopt::Linear;
using regionopt::Reduction;
using regionopt::Reference;

namespace {

/// Fewer rounds are not worth it.
constexpr std::uint32_t kRoundsMin = 4;
/// So many groups follow one another where a group is so small; variables and pointers then move once.
constexpr std::uint32_t kUnrolledGroups = 4;
constexpr std::size_t kUnrolledNodesMax = 48;
constexpr std::uint32_t kLineBytes = 64;

/// References that keep their distance share a pointer.
bool is_one_stream(const Reference& a, const Reference& b) {
  return a.window == b.window && a.step == b.step && a.index.terms == b.index.terms;
}

std::vector<std::uint32_t> streams_of(const BulkLoop& loop) {
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t r = 0; r < loop.references.size(); ++r)
    if (std::none_of(firsts.begin(), firsts.end(),
                     [&](std::uint32_t f) { return is_one_stream(loop.references[f], loop.references[r]); }))
      firsts.push_back(r);
  return firsts;
}

class BulkWriter {
 public:
  BulkWriter(X86Writer& writer, const Function& function, ConstantPool& pool, std::span<const VReg> variables,
             const BulkLoop& loop, Isa isa, const BulkRegisters& registers)
      : writer_(writer),
        a_(writer.assembler()),
        f_(function),
        variables_(variables),
        loop_(loop),
        registers_(registers),
        streams_(streams_of(loop)),
        avx512_(isa == Isa::avx512),
        direction_(direction_of(loop)),
        lanes_(writer, pool, loop, {.avx512 = avx512_, .backwards = direction_ < 0, .free = registers.vectors}),
        rounds_(x86::gpq(registers.rounds)),
        count_(lanes_.count()) {}

  void write() {
    done_ = a_.newLabel();
    limits();
    guards();
    if (loop_.lane_bytes == 0) {
      closed();
    } else {
      a_.cmp(rounds_, has_tail() ? kRoundsMin : count_);
      a_.jb(done_);
      groups();
    }
    a_.bind(done_);
  }

 private:
  /// 1: all references go up; -1: all go down; 0: both.
  static int direction_of(const BulkLoop& loop) {
    const bool up =
        std::any_of(loop.references.begin(), loop.references.end(), [](const auto& r) { return r.step > 0; });
    const bool down =
        std::any_of(loop.references.begin(), loop.references.end(), [](const auto& r) { return r.step < 0; });
    return up == down ? 0 : up ? 1 : -1;
  }
  /// Rounds that do not fill the lanes are done under a mask.
  [[nodiscard]] bool has_tail() const { return avx512_ && direction_ != 0; }

  // --- numbers -------------------------------------------------------------------------------------------------------

  [[nodiscard]] asmjit::Operand variable(std::uint32_t number) const {
    const VRegInfo& info = f_[variables_[number]];
    if (info.fixed != kNoReg) return x86::gpq(info.fixed);
    return writer_.memory(info.home, 8);
  }
  void emit(std::uint32_t id, const asmjit::Operand_& a, const asmjit::Operand_& b) { a_.emit(id, a, b); }

  /// target = the variable, an f64 as its bits.
  void copy_bits(const x86::Gp& target, std::uint32_t number);
  /// target = form; nothing else changes.
  void linear(const x86::Gp& target, const Linear& form);

  static x86::Mem window_word(std::uint32_t window, std::size_t offset) {
    return x86::qword_ptr(x86::gpq(x86_allocated::kWindows),
                          static_cast<std::int32_t>(window * sizeof(region::Window) + offset));
  }
  void window_base(const x86::Gp& target, std::uint32_t window) {
    a_.mov(target, window_word(window, offsetof(region::Window, lo)));
    a_.add(target, window_word(window, offsetof(region::Window, delta)));
  }

  // --- how many rounds -----------------------------------------------------------------------------------------------

  void limits();

  /// rax = rounds that the limit allows, or control goes to done_.
  void order_limit(const Limit& limit);

  void element_limit(const Limit& limit);

  void guards();

  // --- groups --------------------------------------------------------------------------------------------------------

  void groups();
  /// Does `count` groups, again and again while so many rounds are left.
  void repeat(std::uint32_t count);
  void move_on(std::uint32_t count);
  /// Does the rounds before the next line of the cache begins: a vector that lies in two lines takes twice the time.
  void align();
  void rounds_to_line();
  [[nodiscard]] bool is_unrolled() const {
    return loop_.stops.empty() && loop_.nodes.size() <= kUnrolledNodesMax &&
           std::none_of(loop_.reductions.begin(), loop_.reductions.end(), [](const Reduction& r) {
             return r.kind == Reduction::Kind::last || r.kind == Reduction::Kind::series;
           });
  }

  static asmjit::Imm imm(std::int64_t value) { return asmjit::Imm(value); }

  void pointers();

  /// The place of a reference's element in the next round.
  [[nodiscard]] BulkLanes::Places pointers_view() const {
    return [this](std::uint32_t reference) {
      const Reference& of = loop_.references[reference];
      std::size_t s = 0;
      while (!is_one_stream(loop_.references[streams_[s]], of)) ++s;
      const std::int64_t ahead = of.step * static_cast<std::int64_t>(group_ * count_);
      return x86::ptr(x86::gpq(registers_.pointers[s]),
                      static_cast<std::int32_t>((static_cast<std::int64_t>(of.index.constant) + ahead) * of.bytes));
    };
  }

  /// Stores and reductions of the lanes at hand.
  void work();

  void last(const Reduction& r);

  /// Adds `value` of the rounds at hand: count * first + step * count * (count - 1) / 2.
  void series(const Reduction& r);

  /// Does rax rounds that change nothing but steps.
  void skip_rounds();

  [[nodiscard]] bool only_looks() const { return loop_.stores.empty() && loop_.reductions.empty(); }

  /// The lanes before the first that stops.
  void after_stop();

  void tail();

  /// Where no lane is asked, all rounds are one group.
  void closed() {
    work();
    a_.mov(x86::rax, rounds_);
    skip_rounds();
  }

  X86Writer& writer_;
  x86::Assembler& a_;
  const Function& f_;
  std::span<const VReg> variables_;
  const BulkLoop& loop_;
  const BulkRegisters& registers_;
  const std::vector<std::uint32_t> streams_;
  const bool avx512_;
  const int direction_;
  BulkLanes lanes_;
  const x86::Gp rounds_;
  const std::uint32_t count_;
  std::uint32_t group_ = 0;  ///< of those since pointers have moved
  asmjit::Label done_, finish_, tail_, stopped_;
};

void BulkWriter::copy_bits(const x86::Gp& target, std::uint32_t number) {
  const VRegInfo& info = f_[variables_[number]];
  if (info.reg_class == RegClass::vector && info.fixed != kNoReg) return void(a_.vmovq(target, x86::xmm(info.fixed)));
  emit(x86::Inst::kIdMov, target, variable(number));
}

void BulkWriter::linear(const x86::Gp& target, const Linear& form) {
  bool is_first = true;
  for (const bool negative : {false, true})
    for (const Linear::Term& term : form.terms) {
      if ((term.factor < 0) != negative) continue;
      if (is_first) {
        copy_bits(target, term.variable);
        if (negative) a_.neg(target);
      } else {
        emit(negative ? x86::Inst::kIdSub : x86::Inst::kIdAdd, target, variable(term.variable));
      }
      is_first = false;
    }
  const auto constant = static_cast<std::int64_t>(form.constant);
  if (is_first)
    a_.mov(target, constant);
  else if (constant != 0)
    a_.add(target, constant);
}

void BulkWriter::limits() {
  bool is_first = true;
  for (const Limit& limit : loop_.limits) {
    limit.kind == Limit::Kind::element ? element_limit(limit) : order_limit(limit);
    if (limit.closing == 0) continue;
    if (is_first) {
      a_.mov(rounds_, x86::rax);
    } else {
      a_.cmp(rounds_, x86::rax);
      a_.cmova(rounds_, x86::rax);
    }
    is_first = false;
  }
}

void BulkWriter::order_limit(const Limit& limit) {
  linear(x86::rdx, limit.first);
  linear(x86::rax, limit.second);
  if (limit.kind == Limit::Kind::differ && limit.closing < 0) {
    a_.xchg(x86::rax, x86::rdx);
  }
  a_.sub(x86::rax, x86::rdx);
  switch (limit.kind) {
    case Limit::Kind::below: a_.jle(done_); break;
    case Limit::Kind::below_unsigned: a_.jbe(done_); break;
    case Limit::Kind::at_most: a_.jl(done_); break;
    case Limit::Kind::differ: a_.je(done_); break;
    case Limit::Kind::element: CHECK(false);
  }
  if (limit.kind == Limit::Kind::at_most || limit.closing == 2) a_.add(x86::rax, 1);
  if (limit.closing == 2) a_.shr(x86::rax, 1);
}

void BulkWriter::element_limit(const Limit& limit) {
  linear(x86::rax, limit.first);
  a_.mov(x86::rdx, window_word(limit.window, offsetof(region::Window, span)));
  if (limit.bytes > 1) a_.shr(x86::rdx, static_cast<std::uint32_t>(std::countr_zero(limit.bytes)));
  if (limit.closing > 0) {
    a_.sub(x86::rdx, x86::rax);
    a_.jbe(done_);
    a_.mov(x86::rax, x86::rdx);
  } else {
    a_.cmp(x86::rax, x86::rdx);
    a_.jae(done_);
    a_.add(x86::rax, 1);
  }
}

void BulkWriter::guards() {
  for (const std::uint32_t v : loop_.bytes) {
    emit(x86::Inst::kIdMov, x86::rax, variable(v));
    a_.cmp(x86::rax, 255);
    a_.ja(done_);
  }
  auto apart = loop_.apart;
  std::sort(apart.begin(), apart.end());
  apart.erase(std::unique(apart.begin(), apart.end()), apart.end());
  for (const auto& [first, second] : apart) {
    // Each begins behind the other, counted around.
    window_base(x86::rdx, first);
    window_base(x86::rax, second);
    a_.sub(x86::rax, x86::rdx);
    a_.cmp(x86::rax, window_word(first, offsetof(region::Window, span)));
    a_.jb(done_);
    a_.neg(x86::rax);
    a_.cmp(x86::rax, window_word(second, offsetof(region::Window, span)));
    a_.jb(done_);
  }
}

void BulkWriter::groups() {
  pointers();
  lanes_.begin([&](const x86::Gp& target, const Linear& form) { linear(target, form); });
  finish_ = a_.newLabel();
  tail_ = a_.newLabel();
  stopped_ = a_.newLabel();
  if (is_unrolled() && avx512_ && direction_ > 0) align();
  if (is_unrolled()) repeat(kUnrolledGroups);
  repeat(1);
  if (!loop_.stops.empty()) a_.jmp(has_tail() ? tail_ : finish_);
  a_.bind(stopped_);
  if (!loop_.stops.empty()) after_stop();
  a_.bind(tail_);
  if (has_tail()) tail();
  a_.bind(finish_);
  lanes_.finish([&](std::uint32_t v) { emit(x86::Inst::kIdAdd, variable(v), x86::rax); },
                [&](std::uint32_t v) { emit(x86::Inst::kIdMov, variable(v), x86::rax); });
}

void BulkWriter::repeat(std::uint32_t count) {
  const asmjit::Label again = a_.newLabel(), enough = a_.newLabel();
  a_.cmp(rounds_, count * count_);
  a_.jb(enough);
  a_.align(asmjit::AlignMode::kCode, 32);
  a_.bind(again);
  for (group_ = 0; group_ < count; ++group_) {
    lanes_.begin_group(false);
    if (!loop_.stops.empty()) {
      lanes_.any_stops(loop_.stops, pointers_view());
      a_.jnz(stopped_);
    }
    work();
    lanes_.next_group();
  }
  group_ = 0;
  move_on(count);
  a_.cmp(rounds_, count * count_);
  a_.jae(again);
  a_.bind(enough);
}

/// rax = rounds before the element that is stored, or the first that is loaded, begins a line.
void BulkWriter::rounds_to_line() {
  a_.lea(x86::rax, pointers_view()(loop_.stores.empty() ? 0 : loop_.stores[0].reference));
  a_.neg(x86::rax);
  a_.and_(x86::eax, kLineBytes - 1);
  a_.shr(x86::eax, static_cast<std::uint32_t>(std::countr_zero(loop_.lane_bytes)));
}

void BulkWriter::align() {
  const asmjit::Label aligned = a_.newLabel();
  a_.cmp(rounds_, kUnrolledGroups * count_);
  a_.jb(aligned);
  rounds_to_line();
  a_.test(x86::eax, x86::eax);
  a_.jz(aligned);
  a_.mov(x86::edx, x86::eax);
  lanes_.set_active(x86::rdx);
  lanes_.begin_group(true);
  work();
  rounds_to_line();
  a_.sub(rounds_, x86::rax);
  skip_rounds();
  lanes_.skip_rounds();
  for (const std::uint8_t pointer : registers_.pointers)
    a_.lea(x86::gpq(pointer),
           x86::ptr(x86::gpq(pointer), x86::rax, static_cast<std::uint32_t>(std::countr_zero(loop_.lane_bytes))));
  lanes_.set_all_active();
  a_.bind(aligned);
}

void BulkWriter::move_on(std::uint32_t count) {
  const std::int64_t rounds = count * count_;
  for (const regionopt::Step& s : loop_.steps) a_.emit(x86::Inst::kIdAdd, variable(s.variable), imm(s.step * rounds));
  for (std::size_t s = 0; s < streams_.size(); ++s)
    a_.add(x86::gpq(registers_.pointers[s]), loop_.references[streams_[s]].step * rounds * loop_.lane_bytes);
  a_.sub(rounds_, rounds);
}

void BulkWriter::pointers() {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Reference& reference = loop_.references[streams_[s]];
    Linear index = reference.index;
    index.constant = 0;
    linear(x86::rax, index);
    window_base(x86::rdx, reference.window);
    a_.lea(x86::gpq(registers_.pointers[s]),
           x86::ptr(x86::rdx, x86::rax, static_cast<std::uint32_t>(std::countr_zero(reference.bytes))));
  }
}

void BulkWriter::work() {
  lanes_.read(pointers_view());
  for (const regionopt::Store& store : loop_.stores) lanes_.store(store, pointers_view());
  for (const Reduction& r : loop_.reductions) {
    switch (r.kind) {
      case Reduction::Kind::count:
        lanes_.bits_of(r.node, pointers_view());
        a_.popcnt(x86::rax, x86::rax);
        emit(x86::Inst::kIdAdd, variable(r.variable), x86::rax);
        break;
      case Reduction::Kind::last: last(r); break;
      case Reduction::Kind::series: series(r); break;
      case Reduction::Kind::sum:
      case Reduction::Kind::least:
      case Reduction::Kind::greatest: lanes_.reduce(r, pointers_view()); break;
    }
  }
}

void BulkWriter::last(const Reduction& r) {
  const asmjit::Label none = a_.newLabel();
  lanes_.bits_of(r.node, pointers_view());
  a_.test(x86::rax, x86::rax);
  a_.jz(none);
  lanes_.last_bit();
  if (r.step != 1) a_.imul(x86::rax, x86::rax, r.step);
  linear(x86::rdx, r.value);
  a_.add(x86::rax, x86::rdx);
  emit(x86::Inst::kIdMov, variable(r.variable), x86::rax);
  a_.bind(none);
}

void BulkWriter::series(const Reduction& r) {
  if (!lanes_.is_partial() && loop_.lane_bytes != 0) {
    linear(x86::rax, r.value);
    a_.imul(x86::rax, x86::rax, count_);
    a_.add(x86::rax, r.step * (std::int64_t{count_} * (count_ - 1) / 2));
    return emit(x86::Inst::kIdAdd, variable(r.variable), x86::rax);
  }
  linear(x86::rax, r.value);
  a_.imul(x86::rax, rounds_);
  emit(x86::Inst::kIdAdd, variable(r.variable), x86::rax);
  if (r.step == 0) return;
  // One of the two factors is even.
  a_.lea(x86::rax, x86::ptr(rounds_, -1));
  a_.mov(x86::rdx, rounds_);
  const asmjit::Label odd = a_.newLabel(), halved = a_.newLabel();
  a_.test(x86::edx, 1);
  a_.jnz(odd);
  a_.shr(x86::rdx, 1);
  a_.jmp(halved);
  a_.bind(odd);
  a_.shr(x86::rax, 1);
  a_.bind(halved);
  a_.imul(x86::rax, x86::rdx);
  a_.imul(x86::rax, x86::rax, r.step);
  emit(x86::Inst::kIdAdd, variable(r.variable), x86::rax);
}

void BulkWriter::skip_rounds() {
  for (const regionopt::Step& s : loop_.steps) {
    if (s.step == 1) {
      emit(x86::Inst::kIdAdd, variable(s.variable), x86::rax);
    } else if (s.step == -1) {
      emit(x86::Inst::kIdSub, variable(s.variable), x86::rax);
    } else {
      a_.imul(x86::rdx, x86::rax, s.step);
      emit(x86::Inst::kIdAdd, variable(s.variable), x86::rdx);
    }
  }
}

void BulkWriter::after_stop() {
  if (only_looks()) {
    lanes_.first_stop();
    skip_rounds();
    a_.jmp(finish_);
  } else if (has_tail()) {
    a_.mov(rounds_, count_);
  } else {
    a_.jmp(finish_);
  }
}

void BulkWriter::tail() {
  a_.test(rounds_, rounds_);
  a_.jz(finish_);
  lanes_.set_active(rounds_);
  lanes_.begin_group(true);
  if (!loop_.stops.empty()) {
    const asmjit::Label none = a_.newLabel();
    lanes_.any_stops(loop_.stops, pointers_view());
    a_.jz(none);
    lanes_.first_stop();
    a_.mov(rounds_, x86::rax);
    a_.jmp(tail_);
    a_.bind(none);
  }
  work();
  a_.mov(x86::rax, rounds_);
  skip_rounds();
}

}  // namespace

std::uint32_t BulkRegisters::written() const {
  std::uint32_t bits = 1u << rounds;
  for (const std::uint8_t p : pointers) bits |= 1u << p;
  return bits;
}

std::optional<BulkRegisters> choose_bulk_registers(const BulkLoop& loop, Isa isa, std::uint32_t general,
                                                   std::uint32_t saved, std::uint32_t vectors) {
  const bool avx512 = isa == Isa::avx512;
  BulkRegisters chosen{.pointers = {}, .vectors = avx512 ? vectors | 0xFFFF'0000u : vectors & 0xFFFFu};
  if (!BulkLanes::can(loop, avx512, static_cast<std::uint32_t>(std::popcount(chosen.vectors)))) return {};
  const std::size_t wanted = 1 + streams_of(loop).size();
  std::vector<std::uint8_t> registers;
  for (const bool is_saved : {false, true})
    for (std::uint8_t r = 0; r < 16; ++r)
      if ((general >> r & 1) != 0 && (saved >> r & 1) == (is_saved ? 1u : 0u)) registers.push_back(r);
  if (registers.size() < wanted) return {};
  chosen.rounds = registers[0];
  chosen.pointers.assign(registers.begin() + 1, registers.begin() + static_cast<std::ptrdiff_t>(wanted));
  return chosen;
}

void write_bulk_loop(X86Writer& writer, const Function& function, ConstantPool& pool, std::span<const VReg> variables,
                     const BulkLoop& loop, Isa isa, const BulkRegisters& registers) {
  BulkWriter(writer, function, pool, variables, loop, isa, registers).write();
}

}  // namespace trident::codegen
