#include "jit/kir/plan.h"

#include <algorithm>
#include <cstring>

#include "jit/kir/interpreter.h"
#include "runtime/os/level_variants.h"

namespace trident::kir {

namespace {

/// Scratch of one block that leaves room in a 32 KiB L1 for the arrays that stream through it.
constexpr std::size_t kComfortableBytes = 24 * 1024;
constexpr std::size_t kBlockMax = 1024;

using os::SimdLevel;

constexpr os::LevelVariant<FindBlockFn> kVariants[] = {
    {SimdLevel::portable, &find_block_fn_portable},
#ifdef __x86_64__
    {SimdLevel::avx2, &find_block_fn_avx2},
    {SimdLevel::avx512, &find_block_fn_avx512},
#endif
};

template <Storage kStorage>
void widen_block(const BlockArgs& x) {
  ir::widen(kStorage, x.a, x.d, x.n);
}
// By storage.
constexpr BlockFn kWideners[ir::kStorageCount] = {nullptr,
                                                  &widen_block<Storage::u8>,
                                                  &widen_block<Storage::boolean>,
                                                  &widen_block<Storage::i8>,
                                                  &widen_block<Storage::u16>,
                                                  &widen_block<Storage::i16>,
                                                  &widen_block<Storage::u32>,
                                                  nullptr,
                                                  &widen_block<Storage::f16>};

class Planner {
 public:
  Planner(const Kernel& kernel, FindBlockFn& find)
      : kernel_(kernel), find_(find), plan_(std::make_shared<PlanState>()) {}

  std::shared_ptr<PlanState> run();

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFFu;
  static constexpr std::uint32_t kNowhere = kNone;  // a place's base

  [[nodiscard]] const Inst& inst(std::uint32_t i) const { return kernel_.insts[i]; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(kernel_.insts.size()); }
  [[nodiscard]] std::uint32_t root(Value v) const { return roots_[v.index]; }

  template <class F>
  void for_operands(std::uint32_t i, F f) const {
    for (const Value v : {inst(i).a, inst(i).b, inst(i).c})
      if (v.valid()) f(root(v));
  }

  /// A bitcast is another name for its operand's bits.
  void resolve_bitcasts() {
    roots_.resize(count());
    for (std::uint32_t i = 0; i < count(); ++i) roots_[i] = inst(i).op == Op::Bitcast ? root(inst(i).a) : i;
  }

  [[nodiscard]] BlockFn block_fn(Op op, Type result, Type operand) const {
    const BlockFn fn = find_(op, result, operand);
    CHECK(fn != nullptr);
    return fn;
  }

  void find_live() {
    live_.resize(count());
    for (const Output& output : kernel_.outputs) live_[root(output.value)] = true;
    if (kernel_.exit.valid()) live_[root(kernel_.exit)] = true;
    for (std::uint32_t i = count(); i-- > 0;)
      if (live_[i]) for_operands(i, [&](std::uint32_t operand) { live_[operand] = true; });
  }

  /// Reserves `bytes` of the scratch, in whole lines.
  Place new_room(std::size_t bytes) {
    const Place place{kScratchBase, static_cast<std::uint32_t>(room_bytes_), false};
    room_bytes_ += (bytes + sizeof(ScratchLine) - 1) / sizeof(ScratchLine) * sizeof(ScratchLine);
    return place;
  }
  Place new_splat() { return new_room(kSplatBytes); }

  /// Reserves `bytes` of the plan's constants, in whole lines.
  Place new_constant(std::size_t bytes) {
    const std::size_t at = plan_->constants.size() * sizeof(ScratchLine);
    plan_->constants.resize(plan_->constants.size() + (bytes + sizeof(ScratchLine) - 1) / sizeof(ScratchLine));
    return {kConstantBase, static_cast<std::uint32_t>(at), false};
  }

  Place new_constant_splat(Type type, std::uint64_t bits);

  Place new_constant_table(const Table& table) {
    const std::size_t width = ir::bytes_of(table.type);
    const Place place = new_constant(table.entries.size() * width);
    std::byte* to = plan_->constants.data()->bytes + place.offset;
    for (std::size_t e = 0; e < table.entries.size(); ++e) std::memcpy(to + e * width, &table.entries[e], width);
    return place;
  }

  /// Returns the array that an input instruction reads.
  [[nodiscard]] Place array_place(std::uint32_t i) const {
    return {kFirstArrayBase + static_cast<std::uint32_t>(inst(i).imm), 0, true};
  }

  void place_splats();

  /// The lengths of tables are parameters that need not be instructions.
  void place_lengths();
  void place_arrays();

  /// Returns whether an instruction reads an array of elements that are values.
  [[nodiscard]] bool is_plain_input(std::uint32_t i) const {
    return inst(i).op == Op::Input && !ir::converts(kernel_.inputs[inst(i).imm].storage);
  }
  [[nodiscard]] bool is_widening(std::uint32_t i) const { return inst(i).op == Op::Input && !is_plain_input(i); }

  [[nodiscard]] bool is_body_step(std::uint32_t i) const {
    if (!live_[i] || is_plain_input(i)) return false;
    return inst(i).section == Section::body || is_reduction(inst(i));
  }

  /// Returns whether every step after `i` leaves the input arrays alone, and `i` itself reads them element by element
  /// in the width that it writes. Then the result may go straight to an output array that is the same as an input.
  [[nodiscard]] bool may_write_in_place(std::uint32_t i) const;

  /// Outputs that are inputs unchanged are copied into a slot first: another output may be that input's array.
  void find_copies_and_direct_outputs();

  /// Linear scan over the body: a slot is free again after its value's last use. Until choose_block, the offset of a
  /// slot's place is its number.
  void allocate_slots();

  [[nodiscard]] bool has_slot(std::uint32_t i) const { return places_[i].is_array && places_[i].base == kScratchBase; }

  void choose_block();
  [[nodiscard]] Step step_for(std::uint32_t i) const;
  void emit_steps();
  void emit_stores();

  const Kernel& kernel_;
  FindBlockFn& find_;
  std::shared_ptr<PlanState> plan_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::uint8_t> live_;
  std::vector<std::uint8_t> direct_;  ///< written straight to an output array
  std::vector<Place> places_;
  std::vector<Place> partials_;  ///< of reductions
  std::vector<Place> tables_;
  std::vector<Place> lengths_;  ///< of table inputs, splats
  std::vector<std::uint32_t> copied_outputs_;
  std::vector<Place> copy_slots_;  ///< of copied_outputs_
  std::size_t room_bytes_ = 0;
  std::size_t tail_offset_ = 0;
  std::uint32_t last_input_use_ = 0;
  std::uint32_t slot_count_ = 0;
  std::size_t body_step_count_ = 0;
  std::size_t slot_width_ = 4;
};

std::shared_ptr<PlanState> Planner::run() {
  resolve_bitcasts();
  find_live();
  place_splats();
  place_lengths();
  place_arrays();
  allocate_slots();
  choose_block();
  emit_steps();
  emit_stores();
  if (plan_->scratch_bytes > kStackScratchBytes)
    plan_->large_scratch.resize((plan_->scratch_bytes + sizeof(ScratchLine) - 1) / sizeof(ScratchLine));
  return std::move(plan_);
}

Place Planner::new_constant_splat(Type type, std::uint64_t bits) {
  const Place place = new_constant(kSplatBytes);
  std::byte* to = plan_->constants.data()->bytes + place.offset;
  if (ir::bytes_of(type) == 4) bits |= bits << 32;
  const std::size_t bytes = kBlockGranule * ir::bytes_of(type);
  for (std::size_t at = 0; at < bytes; at += 8) std::memcpy(to + at, &bits, 8);
  return place;
}

void Planner::place_splats() {
  places_.resize(count());
  partials_.resize(count());
  std::size_t constants = 0;
  for (std::uint32_t i = 0; i < count(); ++i) constants += live_[i] != 0 && inst(i).op == Op::Constant ? 1 : 0;
  plan_->constants.reserve(constants * (kSplatBytes / sizeof(ScratchLine)));
  for (std::uint32_t i = 0; i < count(); ++i) {
    const Inst& x = inst(i);
    if (!live_[i] || x.section == Section::body) continue;
    if (x.op == Op::Constant) {
      places_[i] = new_constant_splat(x.type, x.imm);
      continue;
    }
    places_[i] = new_splat();
    if (x.op == Op::Param || x.op == Op::Count)
      plan_->fills.push_back({x.type, x.op == Op::Count, static_cast<std::uint32_t>(x.imm), places_[i]});
    if (!is_reduction(x)) continue;
    partials_[i] = new_room(kPartialBytes);
    plan_->reductions.push_back({x.op, x.type, partials_[i], new_room(sizeof(ChunkBits)), places_[i]});
  }
  for (const Table& table : kernel_.tables) tables_.push_back(new_constant_table(table));
}

void Planner::place_lengths() {
  lengths_.resize(kernel_.inputs.size(), {kNowhere});
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (!live_[i] || info(inst(i).op).signature != Signature::Read) continue;
    Place& place = lengths_[inst(i).imm];
    if (place.base != kNowhere) continue;
    place = new_splat();
    plan_->fills.push_back({Type::i64, false, *kernel_.inputs[inst(i).imm].length, place});
  }
}

void Planner::place_arrays() {
  tail_offset_ = room_bytes_;
  const auto array = [&](std::uint32_t bytes) {
    const ArrayPlan plan{bytes, static_cast<std::uint32_t>(tail_offset_)};
    tail_offset_ += kSplatBytes;
    return plan;
  };
  for (const Input& input : kernel_.inputs) {
    plan_->inputs.push_back(array(element_bytes(input)));
    plan_->inputs.back().bytes = 0;  // until something reads it
  }
  for (const Output& output : kernel_.outputs)
    plan_->outputs.push_back(output.kind == OutputKind::array ? array(element_bytes(kernel_, output)) : ArrayPlan{});
  for (std::uint32_t i = 0; i < count(); ++i)
    if (live_[i] && inst(i).op == Op::Input) {
      if (is_plain_input(i)) places_[i] = array_place(i);
      plan_->inputs[inst(i).imm].bytes = element_bytes(kernel_.inputs[inst(i).imm]);
    }
}

bool Planner::may_write_in_place(std::uint32_t i) const {
  if (i < last_input_use_) return false;
  if (kernel_.leaves_steps() && i < root(kernel_.exit)) return false;
  bool same_width = true;
  for_operands(i, [&](std::uint32_t operand) {
    if (is_plain_input(operand)) same_width &= ir::bytes_of(inst(operand).type) == ir::bytes_of(inst(i).type);
  });
  return same_width;
}

void Planner::find_copies_and_direct_outputs() {
  for (std::uint32_t i = 0; i < count(); ++i)
    if (is_body_step(i)) {
      if (is_widening(i)) last_input_use_ = i;
      for_operands(i, [&](std::uint32_t operand) {
        if (is_plain_input(operand)) last_input_use_ = i;
      });
    }
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    const std::uint32_t r = root(kernel_.outputs[o].value);
    if (kernel_.outputs[o].kind != OutputKind::array || inst(r).section != Section::body) continue;
    if (is_plain_input(r)) {
      last_input_use_ = count();
      copied_outputs_.push_back(o);
    }
  }
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    const std::uint32_t r = root(kernel_.outputs[o].value);
    if (kernel_.outputs[o].kind != OutputKind::array || !is_body_step(r) || direct_[r] || !may_write_in_place(r) ||
        ir::converts(kernel_.outputs[o].storage))
      continue;
    direct_[r] = true;
    places_[r] = {kFirstArrayBase + static_cast<std::uint32_t>(kernel_.inputs.size()) + o, 0, true};
  }
}

void Planner::allocate_slots() {
  direct_.resize(count());
  find_copies_and_direct_outputs();
  std::vector<std::uint32_t> last_use(count(), 0);
  for (std::uint32_t i = 0; i < count(); ++i)
    if (is_body_step(i)) for_operands(i, [&](std::uint32_t operand) { last_use[operand] = i; });
  for (const Output& output : kernel_.outputs) last_use[root(output.value)] = kNone;

  std::vector<std::uint32_t> free_slots;
  const auto new_slot = [&] {
    if (free_slots.empty()) return slot_count_++;
    const std::uint32_t slot = free_slots.back();
    free_slots.pop_back();
    return slot;
  };
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (!is_body_step(i)) continue;
    ++body_step_count_;
    const bool wants_slot = !direct_[i] && !is_reduction(inst(i));
    bool same_width = true;
    for_operands(i, [&](std::uint32_t x) { same_width &= ir::bytes_of(inst(x).type) == ir::bytes_of(inst(i).type); });
    const auto release = [&] {
      for_operands(i, [&](std::uint32_t operand) {
        if (!has_slot(operand) || last_use[operand] != i) return;
        free_slots.push_back(places_[operand].offset);
        last_use[operand] = kNone;  // an operand used twice is released once
      });
    };
    if (same_width) release();
    if (wants_slot) {
      places_[i] = {kScratchBase, new_slot(), true};
      slot_width_ = std::max(slot_width_, std::size_t{ir::bytes_of(inst(i).type)});
    }
    if (!same_width) release();
  }
  for (const std::uint32_t o : copied_outputs_) {
    copy_slots_.push_back({kScratchBase, new_slot(), true});
    slot_width_ = std::max(slot_width_, std::size_t{ir::bytes_of(kernel_.type_of(kernel_.outputs[o].value))});
  }
}

void Planner::choose_block() {
  const std::size_t bytes_per_element = std::max<std::size_t>(slot_count_ * slot_width_, 1);
  std::size_t block = std::min(kBlockMax, kComfortableBytes / bytes_per_element);
  block = std::max(block / kBlockGranule * kBlockGranule, kBlockGranule);
  plan_->block = block;
  plan_->scratch_bytes = tail_offset_ + slot_count_ * slot_width_ * block;
  const auto fix = [&](Place& place) {
    place.offset = static_cast<std::uint32_t>(tail_offset_ + place.offset * slot_width_ * block);
  };
  for (std::uint32_t i = 0; i < count(); ++i)
    if (has_slot(i)) fix(places_[i]);
  for (Place& place : copy_slots_) fix(place);
}

Step Planner::step_for(std::uint32_t i) const {
  const Inst& x = inst(i);
  if (is_widening(i)) {
    const auto storage = static_cast<std::size_t>(kernel_.inputs[x.imm].storage);
    return {.function = kWideners[storage], .d = places_[i], .a = array_place(i)};
  }
  const Value typed = info(x.op).signature == Signature::Select ? x.b : x.a;
  const Type operand = typed.valid() ? kernel_.type_of(typed) : x.type;
  Step step{.function = block_fn(x.op, x.type, operand), .d = places_[i], .is_reduction = is_reduction(x)};
  if (step.is_reduction) step.d = partials_[i];
  if (x.a.valid()) step.a = places_[root(x.a)];
  if (x.b.valid()) step.b = places_[root(x.b)];
  if (x.c.valid()) step.c = places_[root(x.c)];
  if (info(x.op).signature == Signature::Read) {
    step.c = lengths_[x.imm];
    step.table_base = kFirstArrayBase + static_cast<std::uint32_t>(x.imm);
  }
  if (x.op == Op::Lookup) {
    step.b = tables_[x.imm];
    step.is_lookup = true;
    step.last_entry = kernel_.tables[x.imm].entries.size() - 1;
  }
  return step;
}

void Planner::emit_steps() {
  plan_->body_steps.reserve(body_step_count_ + copied_outputs_.size());
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (!live_[i] || (info(inst(i).op).arity == 0 && inst(i).op != Op::Index && !is_widening(i))) continue;
    if (is_body_step(i))
      plan_->body_steps.push_back(step_for(i));
    else if (inst(i).section == Section::invariant)
      plan_->invariant_steps.push_back(step_for(i));
    else
      plan_->epilogue_steps.push_back(step_for(i));
    if (kernel_.leaves_steps() && i == root(kernel_.exit)) plan_->steps_to_exit = plan_->body_steps.size();
  }
  if (kernel_.leaves_chunks()) plan_->decided = places_[root(kernel_.exit)];
  if (kernel_.leaves_steps())
    plan_->exit = Store{.bytes = ir::bytes_of(kernel_.type_of(kernel_.exit)), .place = places_[root(kernel_.exit)]};
  for (std::size_t k = 0; k < copied_outputs_.size(); ++k) {
    const std::uint32_t input = root(kernel_.outputs[copied_outputs_[k]].value);
    const Type type = inst(input).type;
    plan_->body_steps.push_back(
        {.function = block_fn(Op::Bitcast, type, type), .d = copy_slots_[k], .a = places_[input]});
  }
}

void Planner::emit_stores() {
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    const Output& output = kernel_.outputs[o];
    const std::uint32_t r = root(output.value);
    Store store{o, element_bytes(kernel_, output), places_[r], output.storage};
    if (output.kind == OutputKind::array && inst(r).section == Section::body) plan_->body_outputs.push_back(o);
    if (output.kind == OutputKind::scalar) {
      plan_->scalar_stores.push_back(store);
    } else if (inst(r).section != Section::body) {
      plan_->filled_arrays.push_back(store);
    } else if (is_plain_input(r)) {
      store.place = copy_slots_[std::ranges::find(copied_outputs_, o) - copied_outputs_.begin()];
      plan_->block_stores.push_back(store);
    } else if (store.place.base != kFirstArrayBase + kernel_.inputs.size() + o) {
      plan_->block_stores.push_back(store);
    }
  }
}

}  // namespace

bool is_available(SimdLevel level) {
  return os::variant_at(kVariants, level) != nullptr;
}

SimdLevel best_level() {
  return os::best_variant(kVariants).level;
}

Plan Plan::prepare(const Kernel& kernel, SimdLevel level) {
  CHECK(is_available(level));
  std::shared_ptr<PlanState> state = Planner(kernel, *os::variant_at(kVariants, level)).run();
  state->param_count = kernel.params.size();
  if (!kernel.before.empty()) state->before = prepare(kernel.before.front(), level).state_;
  return Plan(std::move(state));
}

}  // namespace trident::kir
