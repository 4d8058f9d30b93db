#include "jit/tir/vm/profile.h"

#include <algorithm>

#include "jit/tir/vm/machine.h"

namespace trident::tir::vm {
namespace {

void add(Heights& to, const Heights& rows) {
  for (std::size_t t = 0; t < kTableCount; ++t) to.rows[t] += rows.rows[t];
}

void add_since(Heights& to, const Heights& before, const Heights& now) {
  for (std::size_t t = 0; t < kTableCount; ++t) to.rows[t] += now.rows[t] - before.rows[t];
}

}  // namespace

void Profile::begin(const Code& code) {
  code_ = &code;
  text = code.text_rows();
  frames.assign(1, {0, 0, 1, {}});
  steps.assign(code.steps.size(), {});
  frames_cut = false;
  path_.assign(1, 0);
  calls_.clear();
  depth_.assign(1, 0);
  above_.assign(code.steps.size() + 1, 0);
  looked_from_ = 0;
  rows_ = {};
  counted_.clear();
  counted_at_.assign(code.steps.size() + 1, 0);
  open_.clear();
  open(0);
  u32_rows_ = 0;
  cascade_rows_ = code.cascade.size();
}

void Profile::count(std::uint32_t executed, std::size_t depth, std::uint32_t next, std::uint64_t u32_rows,
                    std::uint64_t cascade_rows) {
  const Code::Step& step = code_->steps[executed];
  Heights rows;
  rows.of(Table::processor) = rows.of(Table::jump_stack) = 1;
  rows.of(Table::op_stack) = step.stack_rows;
  rows.of(Table::ram) = step.ram_rows;
  rows.of(Table::hash) = step.hash_rows;
  rows.of(Table::u32) = u32_rows - u32_rows_;
  rows.of(Table::cascade) = cascade_rows - cascade_rows_;
  u32_rows_ = u32_rows;
  cascade_rows_ = cascade_rows;
  add(steps[executed], rows);
  add(frames[path_.back()].own, rows);
  add(counted_[open_.back()].rows.own, rows);
  add(rows_, rows);

  if (depth + 1 < path_.size()) {
    path_.pop_back();
    close();
  }
  if (depth + 1 > path_.size()) {
    open(next);
    const std::uint32_t frame = frame_of_call(path_.back(), next);
    if (frames[frame].entry == next) ++frames[frame].calls;
    path_.push_back(frame);
  }
}

std::uint32_t Profile::frame_of_call(std::uint32_t caller, std::uint32_t entry) {
  const std::uint64_t call = std::uint64_t{caller} << 32 | entry;
  if (const auto known = calls_.find(call); known != calls_.end()) return known->second;
  const std::uint32_t frame = frame_of_first_call(caller, entry);
  if (!frames_cut) calls_.emplace(call, frame);  // else there may be as many as cycles
  return frame;
}

std::uint32_t Profile::frame_of_first_call(std::uint32_t caller, std::uint32_t entry) {
  look_from(caller);
  if (above_[entry] != 0) return above_[entry];
  if (frames.size() == kFramesMax) {
    frames_cut = true;
    return caller;
  }
  const auto frame = static_cast<std::uint32_t>(frames.size());
  frames.push_back({caller, entry, 0, {}});
  depth_.push_back(depth_[caller] + 1);
  return frame;
}

// A frame's step is not among those above it, so each has one place in above_.
void Profile::look_from(std::uint32_t frame) {
  std::uint32_t from = looked_from_, to = frame;
  while (from != to) {  // up to their lowest common frame
    if (depth_[from] >= depth_[to]) {
      above_[frames[from].entry] = 0;
      from = frames[from].parent;
    } else {
      to = frames[to].parent;
    }
  }
  for (std::uint32_t at = frame; at != to; at = frames[at].parent) above_[frames[at].entry] = at;
  looked_from_ = frame;
}

void Profile::open(std::uint32_t entry) {
  std::uint32_t& place = counted_at_[entry];
  if (place == 0) {
    counted_.push_back({{entry, 0, {}, {}}, 0, {}});
    place = static_cast<std::uint32_t>(counted_.size());
  }
  Counted& counted = counted_[place - 1];
  ++counted.rows.calls;
  if (counted.open++ == 0) counted.before = rows_;
  open_.push_back(place - 1);
}

void Profile::close() {
  Counted& counted = counted_[open_.back()];
  open_.pop_back();
  if (--counted.open == 0) add_since(counted.rows.inclusive, counted.before, rows_);
}

std::vector<Profile::Subroutine> Profile::subroutines() const {
  std::vector<Subroutine> out;
  for (const Counted& counted : counted_) {
    out.push_back(counted.rows);
    if (counted.open > 0) add_since(out.back().inclusive, counted.before, rows_);
  }
  std::sort(out.begin(), out.end(), [](const Subroutine& a, const Subroutine& b) { return a.entry < b.entry; });
  return out;
}

}  // namespace trident::tir::vm
