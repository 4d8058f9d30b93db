#include "jit/codegen/x86_reduce.h"

#include <asmjit/x86.h>

#include <algorithm>

#include "jit/codegen/x86_select.h"
#include "jit/kir/reduction.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

namespace {

constexpr std::uint32_t kVectorAlign = 64;

MemRef slot_of(MemRef ref) {
  ref.place = Place::slot;
  return ref;
}

}  // namespace

const kir::Inst& X86Reducer::inst(const Reduction& reduction) const {
  return s_.kernel_.at(reduction.value);
}

/// Returns how many vectors of the body the partial results are.
std::uint32_t X86Reducer::vectors_of(const Reduction& reduction) const {
  return static_cast<std::uint32_t>(kir::partials_of(inst(reduction).type)) / s_.target_.lanes;
}

std::uint32_t X86Reducer::held_of(const Reduction& reduction) const {
  return columns_ != 0 ? columns_ : vectors_of(reduction);
}

std::uint32_t X86Reducer::row_elements() const {
  return static_cast<std::uint32_t>(kir::partials_of(inst(reductions_.front()).type));
}

void X86Reducer::take_columns(std::uint32_t copies) {
  const auto is_scalar = [](const kir::Output& output) { return output.kind == kir::OutputKind::scalar; };
  if (!any() || !std::all_of(s_.kernel_.outputs.begin(), s_.kernel_.outputs.end(), is_scalar)) return;
  const bool fits = std::all_of(reductions_.begin(), reductions_.end(), [&](const Reduction& reduction) {
    return kir::partials_of(inst(reduction).type) == row_elements() && copies < vectors_of(reduction);
  });
  if (fits) columns_ = copies;
}

void X86Reducer::add(kir::Value v) {
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(s_.kernel_.type_of(v)));
  Reduction& reduction = reductions_.emplace_back();
  reduction.value = v;
  reduction.partials = s_.f_.add_room(kir::kPartialBytes, kVectorAlign, lane_bytes);
  reduction.partials.place = Place::partial;
  reduction.tree = s_.f_.add_slot(kTreeBytes, lane_bytes);
  reduction.trees = s_.f_.add_room(kTreeBytes * kir::kChunkLevels, kTreeBytes, lane_bytes);
  reduction.trees.place = Place::level;
}

void X86Reducer::begin_body(std::uint32_t copies) {
  copies_ = copies;
  for (Reduction& reduction : reductions_) {
    if (reduction.first_partial != kInFrame || copies % held_of(reduction) != 0) continue;
    reduction.first_partial = held_partials();
    const std::uint8_t lane_bytes = reduction.partials.lane_bytes;
    for (std::uint32_t p = 0; p < held_of(reduction); ++p)
      partials_.push_back(
          s_.f_.add({.global = true, .width = s_.target_.width_of(lane_bytes), .lane_bytes = lane_bytes}));
  }
}

VReg X86Reducer::join(const kir::Inst& reduction, VReg earlier, VReg later) {
  const Op op = kir::joining_op(reduction.op);
  const ir::Type type = reduction.type;
  if (type == ir::Type::i64 && op != Op::Add && !s_.target_.avx512)
    return op == Op::Mul ? s_.mul_i64(later, earlier) : s_.min_max_i64(op == Op::Max, later, earlier);
  constexpr std::array<std::array<std::uint32_t, 4>, 4> kIds = {{
      {Inst::kIdVaddps, Inst::kIdVaddpd, Inst::kIdVpaddd, Inst::kIdVpaddq},
      {Inst::kIdVminps, Inst::kIdVminpd, Inst::kIdVpminsd, Inst::kIdVpminsq},
      {Inst::kIdVmaxps, Inst::kIdVmaxpd, Inst::kIdVpmaxsd, Inst::kIdVpmaxsq},
      {Inst::kIdVmulps, Inst::kIdVmulpd, Inst::kIdVpmulld, Inst::kIdVpmullq},
  }};
  const std::size_t row = op == Op::Add ? 0 : op == Op::Min ? 1 : op == Op::Max ? 2 : 3;
  const std::uint32_t id = kIds[row][static_cast<std::size_t>(type)];
  const std::uint8_t latency = is_float(type) ? 4 : op == Op::Mul ? 10 : 1;
  const bool commutes = op == Op::Add || op == Op::Mul;  // then the array's element may be in memory
  return commutes ? s_.emit(id, {earlier, later}, latency, 2) : s_.emit(id, {later, earlier}, latency, 2);
}

VReg X86Reducer::join_element(const kir::Inst& reduction, VReg partial) {
  if (reduction.op == Op::Dot) {
    const bool swap = s_.kernel_.at(reduction.a).op == Op::Input && s_.kernel_.at(reduction.b).op != Op::Input;
    const VReg factor = s_.reg(swap ? reduction.b : reduction.a);
    const VReg other = s_.foldable(swap ? reduction.a : reduction.b);
    return s_.fused(s_.pick(Inst::kIdVfmadd132ps, Inst::kIdVfmadd132pd), factor, other, partial);
  }
  const bool folds = reduction.op == Op::Sum || (reduction.op == Op::Prod && reduction.type != ir::Type::i64);
  return join(reduction, partial, folds ? s_.foldable(reduction.a) : s_.reg(reduction.a));
}

bool X86Reducer::adds_under_mask(kir::Value v) const {
  const kir::Inst& chosen = s_.kernel_.at(v);
  if (!s_.target_.avx512 || chosen.op != Op::Select || !ir::is_int(chosen.type) || s_.body_uses_[v.index] != 1)
    return false;
  const kir::Inst& if_clear = s_.kernel_.at(chosen.c);
  if (chosen.section != kir::Section::body || if_clear.op != Op::Constant || if_clear.imm != 0) return false;
  return std::any_of(reductions_.begin(), reductions_.end(), [&](const Reduction& reduction) {
    return inst(reduction).op == Op::Sum && inst(reduction).a == v && copies_ % held_of(reduction) == 0;
  });
}

void X86Reducer::accumulate(std::size_t index) {
  const Reduction& reduction = reductions_[index];
  const kir::Inst& reducing = inst(reduction);
  s_.set_type(reducing.type);
  if (copies_ % held_of(reduction) == 0) {
    const VReg partial = partials_[reduction.first_partial + s_.copy_ % held_of(reduction)];
    if (adds_under_mask(reducing.a))
      add_under_mask(s_.kernel_.at(reducing.a), partial);
    else
      join_element(reducing, partial);
    s_.block_->insts.back().def = partial;
    return;
  }
  MemRef place = reduction.partials;
  place.disp += static_cast<std::int32_t>(s_.copy_ * s_.target_.lanes * s_.lane_);
  const VReg partial = load(place);
  store(join_element(reducing, partial), place);
}

void X86Reducer::add_under_mask(const kir::Inst& chosen, VReg partial) {
  const VReg mask = s_.reg(chosen.a), kept = s_.reg(chosen.b);
  s_.set_type(chosen.type);
  MInst& made = s_.push(s_.pick(Inst::kIdVpaddd, Inst::kIdVpaddq), {partial, kept, mask});
  made.form = x86_form::kMasked;
  made.ties = 1;  // lanes outside the mask keep what is in the result's register
}

VReg X86Reducer::load(const MemRef& from) {
  MInst& load = s_.push(s_.pick(Inst::kIdVmovups, Inst::kIdVmovupd), {});
  load.form = x86_form::kMemory;
  load.mem = from;
  load.latency = 7;
  load.unit = Unit::load;
  return load.def;
}

/// Stores a vector; in the tail only the lanes of elements.
void X86Reducer::store(VReg value, const MemRef& to) {
  const VReg mask = s_.masked_ ? s_.tail_mask(s_.lane_) : VReg{};
  const std::uint32_t whole = s_.pick(Inst::kIdVmovups, Inst::kIdVmovupd);
  MInst& store = !s_.masked_         ? s_.push(whole, {value})
                 : s_.target_.avx512 ? s_.push(whole, {value, mask})
                                     : s_.push(s_.pick(Inst::kIdVmaskmovps, Inst::kIdVmaskmovpd), {mask, value});
  store.form = x86_form::kMemory;
  if (s_.masked_ && s_.target_.avx512) store.form |= x86_form::kMasked;
  store.def = {};
  store.unit = Unit::store;
  store.mem = to;
  s_.f_.vregs.pop_back();  // the result that push made room for
}

void X86Reducer::load_results() {
  for (const Reduction& reduction : reductions_) {
    s_.set_type(inst(reduction).type);
    s_.values_[reduction.value.index] = tree(reduction);
  }
}

// --- blocks ----------------------------------------------------------------------------------------------------------

void X86Reducer::start_block(Block& block) {
  s_.block_ = &block;
  s_.context_ = X86Selector::Context::epilogue;
}

void X86Reducer::set_body_type(const Reduction& reduction) {
  s_.lane_ = reduction.partials.lane_bytes;
  s_.width_ = s_.target_.width_of(s_.lane_);
}

Block X86Reducer::select_start() {
  Block block(s_.f_.arena);
  start_block(block);
  for (const Reduction& reduction : reductions_) {
    set_body_type(reduction);
    const VReg start = s_.constant(kir::start_bits(inst(reduction).op, inst(reduction).type));
    MemRef place = slot_of(reduction.partials);
    for (std::uint32_t p = 0; p < held_of(reduction); ++p, place.disp += s_.width_) {
      if (reduction.first_partial == kInFrame) {
        store(start, place);
        continue;
      }
      MInst& move = s_.push(s_.pick(Inst::kIdVmovaps, Inst::kIdVmovapd), {start});
      s_.f_.vregs.pop_back();
      move.def = partials_[reduction.first_partial + p];
    }
  }
  return block;
}

Block X86Reducer::select_parking() {
  Block block(s_.f_.arena);
  start_block(block);
  for (const Reduction& reduction : reductions_) {
    if (reduction.first_partial == kInFrame) continue;
    set_body_type(reduction);
    MemRef place = slot_of(reduction.partials);
    if (columns_ != 0) place.place = Place::level;  // the bytes before the group stand where a level's would
    for (std::uint32_t p = 0; p < held_of(reduction); ++p, place.disp += s_.width_)
      store(partials_[reduction.first_partial + p], place);
  }
  return block;
}

VReg X86Reducer::tree(const Reduction& reduction) {
  if (reduction.first_partial == kInFrame) return load(reduction.tree);
  return s_.emit(s_.pick(Inst::kIdVmovaps, Inst::kIdVmovapd), {partials_[reduction.first_partial]});
}

void X86Reducer::set_tree(const Reduction& reduction) {
  MInst& last = s_.block_->insts.back();
  if (reduction.first_partial == kInFrame)
    store(last.def, reduction.tree);
  else
    last.def = partials_[reduction.first_partial];
}

/// Joins the partial results: those in the frame in the widest vectors, whatever the width of the body's.
VReg X86Reducer::result_of_chunk(const Reduction& reduction, bool parked) {
  const kir::Inst& reducing = inst(reduction);
  const bool loads = parked || reduction.first_partial == kInFrame;
  set_body_type(reduction);
  if (loads) s_.width_ = static_cast<std::uint8_t>(s_.target_.vector_bytes);
  MemRef place = slot_of(reduction.partials);
  std::array<VReg, kir::kPartialBytes / 32> partial;
  std::uint32_t count = static_cast<std::uint32_t>(kir::kPartialBytes) / s_.width_;
  for (std::uint32_t p = 0; p < count; ++p, place.disp += s_.width_)
    partial[p] = loads ? load(place) : partials_[reduction.first_partial + p];
  for (count /= 2; count != 0; count /= 2)
    for (std::uint32_t j = 0; j < count; ++j) partial[j] = join(reducing, partial[j], partial[j + count]);
  for (std::uint32_t bytes = s_.width_ / 2u; bytes >= s_.lane_; bytes /= 2) {
    VReg upper;
    if (bytes >= 16) {
      const std::uint32_t quarter = s_.target_.avx512 ? Inst::kIdVextractf32x4 : Inst::kIdVextractf128;
      upper = s_.emit_imm(bytes == 32 ? Inst::kIdVextractf64x4 : quarter, {partial[0]}, 1, 3);
      s_.width_ = static_cast<std::uint8_t>(bytes);
      s_.block_->insts.back().def_width = s_.f_[upper].width = s_.width_;
    } else {
      upper = s_.emit_imm(Inst::kIdVpshufd, {partial[0]}, bytes == 8 ? 0xEE : 0x55, 1);
    }
    partial[0] = join(reducing, partial[0], upper);
  }
  return partial[0];
}

Block X86Reducer::select_chunk_end(bool parked) {
  Block block(s_.f_.arena);
  start_block(block);
  for (const Reduction& reduction : reductions_) {
    result_of_chunk(reduction, parked);
    set_tree(reduction);
  }
  return block;
}

template <class Each>
Block X86Reducer::tree_block(Each each) {
  Block block(s_.f_.arena);
  start_block(block);
  for (const Reduction& reduction : reductions_) {
    s_.set_type(inst(reduction).type);
    each(reduction);
  }
  return block;
}

Block X86Reducer::select_join() {
  return tree_block([this](const Reduction& reduction) {
    const VReg earlier = load(reduction.trees), later = tree(reduction);
    join(inst(reduction), earlier, later);
    set_tree(reduction);
  });
}

Block X86Reducer::select_keep() {
  return tree_block([this](const Reduction& reduction) { store(tree(reduction), reduction.trees); });
}

}  // namespace trident::codegen
