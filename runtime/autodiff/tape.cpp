#include "runtime/autodiff/tape.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::autodiff {

std::string_view name_of(OpKind kind) {
  switch (kind) {
#define X(name)      \
  case OpKind::name: \
    return #name;
#include "runtime/autodiff/ops.def"
#undef X
  }
  return "unknown";
}

double OpRecord::attribute(std::string_view name) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == name; });
  CHECK(found != attributes.end());
  return found->value;
}

template <class Real>
Tape<Real>::Tape(tensor::ParameterStore<Real>& store, Mode mode, tensor::GemmSource source)
    : store_(store),
      mode_(mode),
      kernels_(tensor::kernels<Real>()),
      scratch_(arena_.take<Scratch<Real>>()),
      gemm_code_(source) {}

template <class Real>
const Scratch<Real>* Tape<Real>::scratch(std::size_t count) {
  CHECK(!finished_);
  scratch_count_ = std::max(scratch_count_, count);
  return scratch_;
}

template <class Real>
std::uint32_t Tape<Real>::add_value(Source source, std::string_view name, Shape shape, const void* data) {
  CHECK(!finished_);
  values_.push_back({source, std::string(name), shape, data});
  root_.push_back(static_cast<std::uint32_t>(root_.size()));
  return root_.back();
}

template <class Real>
Value<Real> Tape<Real>::input(std::string_view name, Shape shape, bool wants_gradient) {
  Value<Real> value;
  value.data = arena_.take<Real>(shape.count());
  if (wants_gradient && mode_ == Mode::train) value.gradient = arena_.take<Real>(shape.count());
  value.shape = shape;
  value.id = add_value(Source::input, name, shape, value.data);
  return value;
}

template <class Real>
Integers Tape<Real>::integers(std::string_view name, Shape shape) {
  Integers value;
  value.data = arena_.take<std::int32_t>(shape.count());
  value.shape = shape;
  value.id = add_value(Source::integers, name, shape, value.data);
  return value;
}

template <class Real>
Bags Tape<Real>::bags(std::string_view name, std::size_t count, std::size_t ids_max) {
  const std::string stem(name);
  return {integers(stem + ".ids", {ids_max}), integers(stem + ".offsets", {count + 1})};
}

template <class Real>
Value<Real> Tape<Real>::constant(std::span<const Real> values, Shape shape) {
  CHECK(values.size() == shape.count());
  Value<Real> value;
  value.data = arena_.take<Real>(shape.count());
  std::copy(values.begin(), values.end(), value.data);
  value.shape = shape;
  value.id = add_value(Source::constant, "", shape, value.data);
  return value;
}

template <class Real>
Value<Real> Tape<Real>::parameter(std::size_t slice_index) {
  CHECK(slice_index < store_.slices().size());
  if (parameters_.size() <= slice_index) parameters_.resize(slice_index + 1);
  Value<Real>& value = parameters_[slice_index];
  if (value.present()) return value;
  const tensor::Slice& slice = store_.slices()[slice_index];
  value.data = store_.flat().data() + slice.offset;
  value.shape = slice.shape;
  if (mode_ == Mode::train) {
    if (!gradient_.base()) {
      auto memory = os::map_private(store_.elements_max() * sizeof(Real));
      CHECK(memory.ok());
      gradient_ = std::move(memory).value();
    }
    value.gradient = static_cast<Real*>(gradient_.base()) + slice.offset;
  }
  value.id = add_value(Source::parameter, slice.name, slice.shape, value.data);
  return value;
}

template <class Real>
Value<Real> Tape<Real>::parameter(std::string_view name) {
  const tensor::Slice* slice = store_.find(name);
  CHECK(slice != nullptr);
  return parameter(static_cast<std::size_t>(slice - store_.slices().data()));
}

template <class Real>
Value<Real> Tape<Real>::result(Shape shape) {
  Value<Real> value;
  value.data = arena_.take<Real>(shape.count());
  if (mode_ == Mode::train) value.gradient = arena_.take<Real>(shape.count());
  value.shape = shape;
  value.id = add_value(Source::result, "", shape, value.data);
  return value;
}

template <class Real>
Value<Real> Tape<Real>::alias(const Value<Real>& of, Shape shape) {
  CHECK(shape.count() == of.shape.count());
  Value<Real> value = of;
  value.shape = shape;
  value.id = add_value(Source::result, "", shape, value.data);
  root_[value.id] = root_[of.id];
  return value;
}

template <class Real>
std::uint32_t Tape<Real>::rows_value(const tensor::RowTable<Real>& table) {
  return add_value(Source::rows, table.name(), {table.rows(), table.width()}, &table);
}

template <class Real>
void Tape<Real>::record(Op<Real>* op, std::initializer_list<Operand<Real>*> operands, OpRecord record) {
  this->record(op, std::span<Operand<Real>* const>(operands.begin(), operands.size()), std::move(record));
}

template <class Real>
void Tape<Real>::record(Op<Real>* op, std::span<Operand<Real>* const> operands, OpRecord record) {
  CHECK(!finished_);
  ops_.push_back(op);
  operands_.emplace_back(operands.begin(), operands.end());
  records_.push_back(std::move(record));
  if (op) forward_.push_back(op);
}

template <class Real>
void Tape<Real>::finish(const Value<Real>& loss) {
  CHECK(mode_ == Mode::train && loss.shape.count() == 1 && loss.gradient != nullptr);
  std::vector<bool> written(values_.size());
  loss.gradient[0] = Real{1};
  written[root_[loss.id]] = true;
  for (std::size_t i = ops_.size(); i-- > 0;) {
    if (!ops_[i] || !ops_[i]->backward) continue;
    const auto& outputs = records_[i].outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](std::uint32_t id) { return written[root_[id]]; })) continue;
    for (Operand<Real>* operand : operands_[i]) {
      if (operand->id == UINT32_MAX || !operand->gradient) continue;
      operand->accumulate = written[root_[operand->id]];
      written[root_[operand->id]] = true;
    }
    backward_.push_back(ops_[i]);
  }
  finish();
}

template <class Real>
void Tape<Real>::finish() {
  CHECK(!finished_);
  finished_ = true;
  for (Op<Real>* op : ops_) {
    if (op && op->prepare) op->prepare(*op, gemm_code_);
  }
  gemm_code_.seal();
  if (scratch_count_ > 0) scratch_->data = scratch_arena_.take<Real>(scratch_count_);
}

template <class Real>
std::span<Real> Tape<Real>::gradient() const {
  if (!gradient_.base()) return {};
  return {static_cast<Real*>(gradient_.base()), store_.flat().size()};
}

template class Tape<float>;
template class Tape<double>;

}  // namespace trident::autodiff
