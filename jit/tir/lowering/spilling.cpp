#include "jit/tir/lowering/spilling.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::tir::lowering {

using tasm::kIndexMax;
using tasm::kRegisters;
using tasm::Op;

Spilling::Slot& Spilling::slot(std::uint64_t depth) {
  return slots_[slots_.size() - 1 - depth];
}

/// Counts the elements above `depth` that are on the stack, not spilled.
std::uint64_t Spilling::depth_on_stack(std::uint64_t depth) const {
  return static_cast<std::uint64_t>(std::count_if(slots_.end() - static_cast<std::ptrdiff_t>(depth), slots_.end(),
                                                  [](const Slot& s) { return s.on_stack(); }));
}

void Spilling::know(std::uint64_t takes, std::uint64_t gives) {
  const std::uint64_t before = std::max(height_, takes);
  if (before + gives < takes + spilled_ + kRegisters) restore();
  height_ = std::max<std::uint64_t>(before + gives - takes, kRegisters);
}

void Spilling::load(std::uint64_t address) {
  out_.push_back({Op::kPush, base_ + tasm::Element(address)});
  emit(Op::kReadMem, 1);
  emit(Op::kPop, 1);
}

void Spilling::spill(std::uint64_t depth) {
  Slot& s = slot(depth);
  const std::uint64_t place = depth_on_stack(depth);
  CHECK(s.on_stack());
  CHECK(place <= kIndexMax);
  if (place > 0) emit(Op::kPick, place);
  s.address = static_cast<std::uint64_t>(std::find(taken_.begin(), taken_.end(), false) - taken_.begin());
  if (s.address == taken_.size()) taken_.push_back(false);
  taken_[s.address] = true;
  ++spilled_;
  out_.push_back({Op::kPush, base_ + tasm::Element(s.address)});
  emit(Op::kWriteMem, 1);
  emit(Op::kPop, 1);
}

/// Spills elements above until this one is within reach of the registers. Among equally old ones it takes the deepest.
void Spilling::reach(std::uint64_t depth, bool keep_top) {
  while (depth_on_stack(depth) > kIndexMax) {
    std::uint64_t oldest = depth;
    for (std::uint64_t d = keep_top ? 1 : 0; d < depth; ++d) {
      if (!slot(d).on_stack() || depth_on_stack(d) > kIndexMax) continue;
      if (oldest == depth || slot(d).used <= slot(oldest).used) oldest = d;
    }
    CHECK(oldest != depth);
    spill(oldest);
  }
}

void Spilling::dup(std::uint64_t depth) {
  know(depth + 1, depth + 2);
  while (slots_.size() <= depth) slots_.emplace_front();
  if (slot(depth).on_stack()) {
    reach(depth, false);
    emit(Op::kDup, depth_on_stack(depth));
  } else {
    load(slot(depth).address);
  }
  touch(slot(depth));
  slots_.emplace_back();
  touch(slots_.back());
}

void Spilling::swap(std::uint64_t depth) {
  know(depth + 1, depth + 1);
  while (slots_.size() <= depth) slots_.emplace_front();
  if (!slot(0).on_stack() || !slot(depth).on_stack()) restore();
  reach(depth, true);
  emit(Op::kSwap, depth_on_stack(depth));
  touch(slot(depth));
  touch(slot(0));
}

void Spilling::pop(std::uint64_t count) {
  know(count, 0);
  std::uint64_t there = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (slots_.empty() || slots_.back().on_stack()) {
      ++there;
    } else {
      taken_[slots_.back().address] = false;
      --spilled_;
    }
    if (!slots_.empty()) slots_.pop_back();
  }
  for (; there > 0; there -= std::min(there, tasm::kCountMax)) emit(Op::kPop, std::min(there, tasm::kCountMax));
}

void Spilling::apply(std::uint64_t takes, std::uint64_t gives) {
  know(takes, gives);
  for (std::uint64_t d = 0; d < std::min<std::uint64_t>(takes, slots_.size()); ++d)
    if (!slot(d).on_stack()) {
      restore();
      break;
    }
  for (std::uint64_t i = 0; i < takes && !slots_.empty(); ++i) slots_.pop_back();
  for (std::uint64_t i = 0; i < gives; ++i) {
    slots_.emplace_back();
    touch(slots_.back());
  }
}

void Spilling::restore() {
  while (spilled_ > 0) {
    // Deepest first: it has at most as many elements above it as when it was spilled, unless many were pushed.
    std::uint64_t deepest = slots_.size() - 1;
    while (slot(deepest).on_stack()) --deepest;
    while (depth_on_stack(deepest) > kIndexMax) {
      std::uint64_t top = 0;
      while (!slot(top).on_stack()) ++top;
      spill(top);
    }
    load(slot(deepest).address);
    if (const std::uint64_t place = depth_on_stack(deepest); place > 0) emit(Op::kPlace, place);
    taken_[slot(deepest).address] = false;
    slot(deepest).address = kOnStack;
    --spilled_;
  }
}

void Spilling::forget() {
  CHECK(spilled_ == 0);
  slots_.clear();
  height_ = kRegisters;
}

}  // namespace trident::tir::lowering
