#include "jit/codegen/x86_bulk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "jit/codegen/x86_bulk_lanes.h"
#include "jit/codegen/x86_bulk_rounds.h"
#include "jit/region/region.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
using regionopt::BulkLoop;
using regionopt::Linear;
using regionopt::Reduction;
using regionopt::Reference;

namespace {

/// Fewer rounds are not worth it.
constexpr std::uint32_t kRoundsMin = 4;
/// Calls with fewer groups are done before aligned accesses pay.
constexpr std::uint32_t kAlignedGroupsMin = 4;
/// So many groups follow one another where a round has no more nodes; pointers then move once.
constexpr std::uint32_t kUnrolledGroups = 8;
constexpr std::size_t kUnrolledNodesMax = 24;
/// Larger rounds.
constexpr std::uint32_t kFewGroups = 4;
constexpr std::size_t kFewGroupsNodesMax = 48;
/// So many partial results keep groups from waiting for each other.
constexpr std::uint32_t kPartialResults = 4;
constexpr std::uint32_t kLineBytes = 64, kLoopAlign = 32;

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
        loop_(loop),
        registers_(registers),
        streams_(streams_of(loop)),
        avx512_(isa == Isa::avx512),
        direction_(direction_of(loop)),
        lanes_(writer, pool, loop, {.avx512 = avx512_, .backwards = direction_ < 0, .free = registers.vectors}),
        numbers_(writer, function, variables, loop, registers.rounds),
        rounds_(x86::gpq(registers.rounds)),
        count_(lanes_.count()) {}

  void write() {
    done_ = a_.newLabel();
    numbers_.count(done_);
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

  void emit(std::uint32_t id, const asmjit::Operand_& a, const asmjit::Operand_& b) { a_.emit(id, a, b); }

  void groups();
  /// Moves variables behind all rounds that groups will do.
  void skip_all();
  /// Does all full groups where none can stop, so many at a time at first.
  void full_groups(std::uint32_t most);
  /// Does `count` groups, again and again while so many rounds are left.
  void repeat(std::uint32_t count);
  /// Does group after group with its variables, until one stops.
  void group_by_group();
  /// Does so many groups, and moves pointers behind them.
  void do_groups(std::uint32_t count);
  void move_on(std::uint32_t count);
  /// Does the rounds before the next line of the cache begins: a vector that lies in two lines takes twice the time.
  void align();
  void rounds_to_line();
  /// Returns whether all rounds will be done, and no group asks what a variable is.
  [[nodiscard]] bool is_straight() const {
    return loop_.stops.empty() &&
           std::none_of(loop_.reductions.begin(), loop_.reductions.end(), [](const Reduction& r) {
             return r.kind == Reduction::Kind::last || r.kind == Reduction::Kind::series;
           });
  }
  [[nodiscard]] std::uint32_t groups_at_once() const {
    const std::size_t nodes = loop_.nodes.size();
    return nodes <= kUnrolledNodesMax ? kUnrolledGroups : nodes <= kFewGroupsNodesMax ? kFewGroups : 1;
  }

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

  [[nodiscard]] bool only_looks() const { return loop_.stores.empty() && loop_.reductions.empty(); }

  /// The lanes before the first that stops.
  void after_stop();

  void tail();

  /// Where no lane is asked, all rounds are one group.
  void closed() {
    work();
    a_.mov(x86::rax, rounds_);
    numbers_.skip();
  }

  X86Writer& writer_;
  x86::Assembler& a_;
  const BulkLoop& loop_;
  const BulkRegisters& registers_;
  const std::vector<std::uint32_t> streams_;
  const bool avx512_;
  const int direction_;
  BulkLanes lanes_;
  BulkRounds numbers_;
  const x86::Gp rounds_;
  const std::uint32_t count_;
  std::uint32_t group_ = 0;  ///< of those since pointers have moved
  asmjit::Label done_, finish_, tail_, stopped_;
};

void BulkWriter::groups() {
  pointers();
  lanes_.begin([&](const x86::Gp& target, const Linear& form) { numbers_.linear(target, form); });
  finish_ = a_.newLabel();
  tail_ = a_.newLabel();
  stopped_ = a_.newLabel();
  if (is_straight()) {
    skip_all();
    if (has_tail() && direction_ > 0 && groups_at_once() > 1) align();
    full_groups(groups_at_once());
  } else {
    group_by_group();
  }
  if (!loop_.stops.empty()) a_.jmp(has_tail() ? tail_ : finish_);
  a_.bind(stopped_);
  if (!loop_.stops.empty()) after_stop();
  a_.bind(tail_);
  if (has_tail()) tail();
  a_.bind(finish_);
  lanes_.finish([&](std::uint32_t v) { emit(x86::Inst::kIdAdd, numbers_.variable(v), x86::rax); },
                [&](std::uint32_t v) { emit(x86::Inst::kIdMov, numbers_.variable(v), x86::rax); });
}

void BulkWriter::skip_all() {
  a_.mov(x86::rax, rounds_);
  if (!has_tail()) a_.and_(x86::rax, -static_cast<std::int64_t>(count_));
  numbers_.skip();
}

void BulkWriter::full_groups(std::uint32_t most) {
  repeat(most);
  if (most > kFewGroups) repeat(kFewGroups);
  if (most > 1) repeat(1);
}

void BulkWriter::repeat(std::uint32_t count) {
  const asmjit::Label again = a_.newLabel(), enough = a_.newLabel();
  a_.cmp(rounds_, count * count_);
  a_.jb(enough);
  lanes_.spread(std::min(count, kPartialResults));
  a_.align(asmjit::AlignMode::kCode, kLoopAlign);
  a_.bind(again);
  do_groups(count);
  a_.sub(rounds_, count * count_);
  a_.cmp(rounds_, count * count_);
  a_.jae(again);
  lanes_.gather();
  a_.bind(enough);
}

void BulkWriter::do_groups(std::uint32_t count) {
  for (group_ = 0; group_ < count; ++group_) {
    lanes_.begin_group(false, group_);
    work();
    lanes_.next_group();
  }
  group_ = 0;
  move_on(count);
}

void BulkWriter::group_by_group() {
  const asmjit::Label again = a_.newLabel(), enough = a_.newLabel();
  a_.cmp(rounds_, count_);
  a_.jb(enough);
  a_.align(asmjit::AlignMode::kCode, kLoopAlign);
  a_.bind(again);
  lanes_.begin_group(false);
  if (!loop_.stops.empty()) {
    lanes_.any_stops(loop_.stops, pointers_view());
    a_.jnz(stopped_);
  }
  work();
  lanes_.next_group();
  numbers_.skip(count_);
  move_on(1);
  a_.sub(rounds_, count_);
  a_.cmp(rounds_, count_);
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
  a_.cmp(rounds_, kAlignedGroupsMin * count_);
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
  lanes_.skip_rounds();
  for (const std::uint8_t pointer : registers_.pointers)
    a_.lea(x86::gpq(pointer),
           x86::ptr(x86::gpq(pointer), x86::rax, static_cast<std::uint32_t>(std::countr_zero(loop_.lane_bytes))));
  lanes_.set_all_active();
  a_.bind(aligned);
}

void BulkWriter::move_on(std::uint32_t count) {
  const std::int64_t rounds = count * count_;
  for (std::size_t s = 0; s < streams_.size(); ++s)
    a_.add(x86::gpq(registers_.pointers[s]), loop_.references[streams_[s]].step * rounds * loop_.lane_bytes);
}

void BulkWriter::pointers() {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Reference& reference = loop_.references[streams_[s]];
    Linear index = reference.index;
    index.constant = 0;
    const x86::Gp pointer = x86::gpq(registers_.pointers[s]);
    numbers_.linear(pointer, index);
    numbers_.window_base(x86::rdx, reference.window);
    a_.lea(pointer, x86::ptr(x86::rdx, pointer, static_cast<std::uint32_t>(std::countr_zero(reference.bytes))));
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
        emit(x86::Inst::kIdAdd, numbers_.variable(r.variable), x86::rax);
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
  numbers_.linear(x86::rdx, r.value);
  a_.add(x86::rax, x86::rdx);
  emit(x86::Inst::kIdMov, numbers_.variable(r.variable), x86::rax);
  a_.bind(none);
}

void BulkWriter::series(const Reduction& r) {
  if (!lanes_.is_partial() && loop_.lane_bytes != 0) {
    numbers_.linear(x86::rax, r.value);
    a_.imul(x86::rax, x86::rax, count_);
    a_.add(x86::rax, r.step * (std::int64_t{count_} * (count_ - 1) / 2));
    return emit(x86::Inst::kIdAdd, numbers_.variable(r.variable), x86::rax);
  }
  numbers_.linear(x86::rax, r.value);
  a_.imul(x86::rax, rounds_);
  emit(x86::Inst::kIdAdd, numbers_.variable(r.variable), x86::rax);
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
  emit(x86::Inst::kIdAdd, numbers_.variable(r.variable), x86::rax);
}

void BulkWriter::after_stop() {
  if (only_looks()) {
    lanes_.first_stop();
    numbers_.skip();
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
  if (is_straight()) return;
  a_.mov(x86::rax, rounds_);
  numbers_.skip();
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
