#include "jit/codegen/x86_bulk_rounds.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "jit/region/region.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
using regionopt::BulkLoop;
using regionopt::Limit;
using regionopt::Linear;

namespace {

x86::Mem window_word(std::uint32_t window, std::size_t offset) {
  return x86::qword_ptr(x86::gpq(x86_allocated::kWindows),
                        static_cast<std::int32_t>(window * sizeof(region::Window) + offset));
}

bool is_zero(const Linear& form) {
  return form.terms.empty() && form.constant == 0;
}

}  // namespace

BulkRounds::BulkRounds(X86Writer& writer, const Function& function, std::span<const VReg> variables,
                       const BulkLoop& loop, std::uint8_t rounds)
    : writer_(writer),
      a_(writer.assembler()),
      f_(function),
      variables_(variables),
      loop_(loop),
      rounds_(x86::gpq(rounds)) {}

// --- numbers ---------------------------------------------------------------------------------------------------------

asmjit::Operand BulkRounds::variable(std::uint32_t number) const {
  const VRegInfo& info = f_[variables_[number]];
  if (info.fixed != kNoReg) return x86::gpq(info.fixed);
  return writer_.memory(info.home, 8);
}

std::optional<x86::Gp> BulkRounds::register_of(const Linear& form) const {
  if (form.terms.size() != 1 || form.terms[0].factor < 0) return {};
  const VRegInfo& info = f_[variables_[form.terms[0].variable]];
  if (info.reg_class == RegClass::vector || info.fixed == kNoReg) return {};
  return x86::gpq(info.fixed);
}

/// target = the variable, an f64 as its bits.
void BulkRounds::copy_bits(const Gp& target, std::uint32_t number) {
  const VRegInfo& info = f_[variables_[number]];
  if (info.reg_class == RegClass::vector && info.fixed != kNoReg) return void(a_.vmovq(target, x86::xmm(info.fixed)));
  emit(x86::Inst::kIdMov, target, variable(number));
}

void BulkRounds::linear(const Gp& target, const Linear& form) {
  const auto constant = static_cast<std::int64_t>(form.constant);
  if (is_zero(form)) return void(a_.xor_(target.r32(), target.r32()));
  if (form.terms.empty()) return void(a_.mov(target, constant));
  if (const auto reg = register_of(form); reg && constant == static_cast<std::int32_t>(constant) && constant != 0)
    return void(a_.lea(target, x86::ptr(*reg, static_cast<std::int32_t>(constant))));
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
  if (constant != 0) a_.add(target, constant);
}

void BulkRounds::subtract(const Gp& target, const Linear& form) {
  if (const auto reg = register_of(form); reg && form.constant == 0) return void(a_.sub(target, *reg));
  linear(x86::rdx, form);
  a_.sub(target, x86::rdx);
}

void BulkRounds::window_base(const Gp& target, std::uint32_t window) {
  a_.mov(target, window_word(window, offsetof(region::Window, lo)));
  a_.add(target, window_word(window, offsetof(region::Window, delta)));
}

void BulkRounds::skip() {
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

void BulkRounds::skip(std::int64_t rounds) {
  for (const regionopt::Step& s : loop_.steps)
    emit(x86::Inst::kIdAdd, variable(s.variable), asmjit::Imm(s.step * rounds));
}

// --- how many rounds -------------------------------------------------------------------------------------------------

void BulkRounds::count(const asmjit::Label& none) {
  none_ = none;
  bool is_first = true;
  for (const Limit& l : loop_.limits) {
    const bool counts = l.closing != 0;
    limit(l, counts && is_first ? rounds_ : x86::rax);
    if (!counts) continue;
    if (!is_first) {
      a_.cmp(rounds_, x86::rax);
      a_.cmova(rounds_, x86::rax);
    }
    is_first = false;
  }
  guards();
}

void BulkRounds::limit(const Limit& limit, const Gp& to) {
  limit.kind == Limit::Kind::element ? element_limit(limit, to) : order_limit(limit, to);
}

void BulkRounds::order_limit(const Limit& limit, const Gp& to) {
  const bool falls = limit.kind == Limit::Kind::differ && limit.closing < 0;
  linear(to, falls ? limit.first : limit.second);
  const Linear& other = falls ? limit.second : limit.first;
  is_zero(other) ? void(a_.test(to, to)) : subtract(to, other);
  switch (limit.kind) {
    case Limit::Kind::below: a_.jle(none_); break;
    case Limit::Kind::below_unsigned: a_.jbe(none_); break;
    case Limit::Kind::at_most: a_.jl(none_); break;
    case Limit::Kind::differ: a_.je(none_); break;
    case Limit::Kind::element: CHECK(false);
  }
  if (limit.closing == 0) return;
  if (limit.kind == Limit::Kind::at_most || limit.closing == 2) a_.add(to, 1);
  if (limit.closing == 2) a_.shr(to, 1);
}

/// target = how many elements the limit's window has.
void BulkRounds::elements_of(const Gp& target, const Limit& limit) {
  a_.mov(target, window_word(limit.window, offsetof(region::Window, span)));
  if (limit.bytes > 1) a_.shr(target, static_cast<std::uint32_t>(std::countr_zero(limit.bytes)));
}

void BulkRounds::element_limit(const Limit& limit, const Gp& to) {
  if (limit.closing > 0) {
    elements_of(to, limit);
    subtract(to, limit.first);
    a_.jbe(none_);
  } else {
    linear(to, limit.first);
    elements_of(x86::rdx, limit);
    a_.cmp(to, x86::rdx);
    a_.jae(none_);
    a_.add(to, 1);
  }
}

void BulkRounds::guards() {
  for (const std::uint32_t v : loop_.bytes) {
    emit(x86::Inst::kIdMov, x86::rax, variable(v));
    a_.cmp(x86::rax, 255);
    a_.ja(none_);
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
    a_.jb(none_);
    a_.neg(x86::rax);
    a_.cmp(x86::rax, window_word(second, offsetof(region::Window, span)));
    a_.jb(none_);
  }
}

}  // namespace trident::codegen
