#include "jit/calibrate/op_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::calibrate {
namespace {

using cost::Form;
using cost::Row;
using ir::Type;
using kir::Op;
using kir::Section;
using kir::Signature;
using kir::Value;

Type float_of(unsigned bytes) {
  return bytes == 4 ? Type::f32 : Type::f64;
}

/// The type that a chain of the row starts from: an element of the inputs, or a mask made of one.
Type start_type(const Row& row) {
  if (row.op == Op::Lookup) return ir::int_of(row.type);
  return row.from;
}
Type input_type(const Row& row) {
  const Type start = start_type(row);
  return ir::is_mask(start) ? float_of(ir::bytes_of(start)) : start;
}

// The parameters, in this order: those of the row, of its inputs' type, then those of the reference.
enum Parameter : std::uint32_t { kNear, kSmall, kOne, kMinusOne, kThird, kReferenceNear, kReferenceSmall, kParameters };

constexpr double kNearOne = 1 - 0x1p-20, kSmallStep = 0x1p-12, kThirdValue = 2.3;

double parameter_value(Parameter p) {
  switch (p) {
    case kNear:
    case kReferenceNear: return kNearOne;
    case kSmall:
    case kReferenceSmall: return kSmallStep;
    case kOne: return 1;
    case kMinusOne: return -1;
    case kThird: return kThirdValue;
    case kParameters: break;
  }
  CHECK(false);
}

// Integers take every bit pattern in the same time.
constexpr std::int64_t kIntegers[] = {0x7edc'ba97, 0x1357'9bdf, 1, -1, 0x2468'ace1};

std::uint64_t bits_of(Type type, double value) {
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

constexpr int kShift = 1;
constexpr std::uint32_t kTableEntries = 16;

/// Appends instructions as they come: the Builder would fold conversions there and back.
class Chain {
 public:
  explicit Chain(const Row& row) : row_(row) {
    const Type own = input_type(row), reference = reference_type(row);
    for (unsigned i = 0; i < 2 * kChains; ++i)
      kernel_.inputs.push_back({"x" + std::to_string(i), i < kChains ? own : reference});
    for (std::uint32_t i = 0; i < kParameters; ++i)
      kernel_.params.push_back({"p" + std::to_string(i), i < kReferenceNear ? own : reference});
    if (row.op == Op::Lookup) {
      kir::Table table{row.type, {}};
      // A walk through all entries.
      for (std::uint64_t e = 0; e < kTableEntries; ++e) table.entries.push_back((5 * e + 3) % kTableEntries);
      kernel_.tables.push_back(std::move(table));
    }
  }

  Value append(Op op, Type type, Value a = {}, Value b = {}, Value c = {}, std::uint64_t imm = 0,
               std::uint8_t flags = 0) {
    const auto section = kir::section_for(kernel_, op, a, b, c);
    CHECK(section.has_value());
    kernel_.insts.push_back({op, type, *section, flags, a, b, c, imm});
    return Value{static_cast<std::uint32_t>(kernel_.insts.size() - 1)};
  }
  Value input(unsigned index) { return append(Op::Input, kernel_.inputs[index].type, {}, {}, {}, index); }
  Value param(Parameter p) {
    if (!params_[p].valid()) params_[p] = append(Op::Param, kernel_.params[p].type, {}, {}, {}, p);
    return params_[p];
  }
  Value shift_count() {
    if (!count_.valid()) count_ = append(Op::Constant, row_.type, {}, {}, {}, kShift);
    return count_;
  }
  /// A mask that is the same for all steps.
  Value mask() {
    if (!mask_.valid()) {
      const Type type = input_type(row_);
      mask_ = append(Op::Lt, ir::mask_of(type), input(kChains - 1), param(kThird));
    }
    return mask_;
  }
  void output(Value v, kir::OutputKind kind = kir::OutputKind::array) {
    kernel_.outputs.push_back({"y" + std::to_string(kernel_.outputs.size()), v, kind});
  }
  kir::Kernel take() { return std::move(kernel_); }

 private:
  const Row& row_;
  kir::Kernel kernel_;
  std::array<Value, kParameters> params_{};
  Value count_{}, mask_{};
};

/// The parameter that is the other operand of an op of two operands.
Parameter companion_of(Op op, unsigned turn) {
  if (op == Op::Add || op == Op::Sub) return kSmall;
  if (op == Op::Min || op == Op::Max) return kThird;
  if (op == Op::Scalef) return turn % 2 == 0 ? kOne : kMinusOne;
  return kNear;
}

/// One step of a chain at `v`; `turn` counts them.
Value step(Chain& c, const Row& row, Measure measure, Value v, unsigned turn) {
  const Type type = row.type;
  const kir::OpInfo& info = kir::info(row.op);
  const std::uint8_t flags = row.form == Form::newton ? kir::kNormal : std::uint8_t{0};
  if (info.signature == Signature::Compare)
    return c.append(Op::Select, type, c.append(row.op, ir::mask_of(type), v, c.param(kThird)), c.param(kNear), v);
  if (info.signature == Signature::Select) return c.append(row.op, type, c.mask(), v, c.param(kThird));
  if (row.op == Op::Lookup) {
    const Value found = c.append(row.op, type, v);
    return ir::is_float(type) ? c.append(Op::Bitcast, ir::int_of(type), found) : found;
  }
  if (row.op == Op::ToIntRint) return c.append(Op::Convert, row.from, c.append(row.op, type, v));
  if (info.signature == Signature::Convert) return c.append(row.op, row.from, c.append(row.op, type, v));
  if (ir::is_mask(type)) return c.append(row.op, type, v, info.arity > 1 ? c.mask() : Value());
  if (row.op == Op::Div) return c.append(row.op, type, c.param(kThird), v, {}, 0, flags);  // two values, in turn
  if (row.op == Op::Sqrt) {
    const Value root = c.append(row.op, type, v, {}, {}, 0, flags);
    return measure == Measure::latency ? c.append(Op::Mul, type, root, c.param(kThird)) : root;
  }
  if (info.types == kir::Types::I) return c.append(row.op, type, v, c.shift_count());
  return c.append(row.op, type, v, info.arity > 1 ? c.param(companion_of(row.op, turn)) : Value(),
                  info.arity > 2 ? c.param(kSmall) : Value());
}

kir::Kernel reductions(const Row& row, unsigned count) {
  Chain c(row);
  std::vector<Value> inputs;
  for (unsigned i = 0; i < count; ++i) inputs.push_back(c.input(i));
  const Value factor = kir::info(row.op).arity == 2 ? c.param(kNear) : Value();
  for (const Value v : inputs) c.output(c.append(row.op, row.type, v, factor), kir::OutputKind::scalar);
  return c.take();
}

}  // namespace

OpStep step_of(const Row& row, Measure measure) {
  const Row select{Op::Select, row.type, row.type, Form::plain};
  if (kir::info(row.op).signature == Signature::Compare) return {1, {select}};
  if (row.op == Op::Sqrt && measure == Measure::latency) return {1, {{Op::Mul, row.type, row.type, Form::plain}}};
  if (row.op == Op::Convert || row.op == Op::Bitcast) return {0.5, {}};
  if (row.op == Op::ToIntRint) return {1, {{Op::Convert, row.from, row.type, Form::plain}}};
  return {};
}

kir::Kernel op_kernel(const Row& row, Measure measure, unsigned chains, unsigned steps) {
  CHECK(chains >= 1);
  CHECK(chains <= kChains);
  if (kir::info(row.op).signature == Signature::Reduce) return reductions(row, chains);
  Chain c(row);
  std::vector<Value> at, start;
  for (unsigned i = 0; i < chains; ++i) {
    start.push_back(c.input(i));
    const bool mask = ir::is_mask(start_type(row));
    at.push_back(mask ? c.append(Op::Lt, start_type(row), start[i], c.param(kNear)) : start[i]);
  }
  for (unsigned s = 0; s < steps; ++s)
    for (Value& v : at) v = step(c, row, measure, v, s);
  for (unsigned i = 0; i < chains; ++i) {
    const bool mask = ir::is_mask(start_type(row));
    c.output(mask ? c.append(Op::Select, input_type(row), at[i], start[i], c.param(kThird)) : at[i]);
  }
  return c.take();
}

Type reference_type(const Row& row) {
  return float_of(std::max(ir::bytes_of(row.type), ir::bytes_of(row.from)));
}

kir::Kernel reference_kernel(const Row& row, unsigned chains, unsigned steps) {
  Chain c(row);
  const Type type = reference_type(row);
  std::vector<Value> at;
  for (unsigned i = 0; i < chains; ++i) at.push_back(c.input(kChains + i));
  for (unsigned s = 0; s < steps; ++s)
    for (Value& v : at) v = c.append(Op::Fma, type, v, c.param(kReferenceNear), c.param(kReferenceSmall));
  for (const Value v : at) c.output(v);
  return c.take();
}

codegen::Variant op_variant(const Row& row) {
  constexpr std::uint8_t kNewtonAll = 8;
  constexpr std::uint8_t kAllPartials = 8;  // at least: a step takes all partial results of a reduction
  return {.vectors = kir::info(row.op).signature == Signature::Reduce ? kAllPartials : std::uint8_t{1},
          .schedule = true,
          .non_temporal = false,
          .newton = row.form == Form::newton ? kNewtonAll : std::uint8_t{0},
          .vector_bits = 0};
}

OpInputs op_inputs(const Row& row, std::uint64_t elements) {
  OpInputs inputs;
  const Type own = input_type(row), reference = reference_type(row);
  for (unsigned a = 0; a < 2 * kChains; ++a) {
    const Type type = a < kChains ? own : reference;
    const std::size_t bytes = ir::bytes_of(type);
    auto& array = inputs.arrays.emplace_back(elements * bytes);
    for (std::uint64_t i = 0; i < elements; ++i) {
      // In (1, 2); roots of roots of roots stay far from 1 where they start at large numbers.
      const double x = 1.1 + 0.8 * static_cast<double>((i * 7 + a * 13) % 97) / 97;
      const std::uint64_t word = row.op == Op::Lookup ? i % kTableEntries : i * 0x9E37'79B9 + a;
      const std::uint64_t bits = ir::is_int(type)                    ? word
                                 : row.op == Op::Sqrt && a < kChains ? bits_of(type, x * 0x1p80)
                                                                     : bits_of(type, x);
      std::memcpy(array.data() + i * bytes, &bits, bytes);
    }
  }
  for (std::uint32_t p = 0; p < kParameters; ++p) {
    const Type type = p < kReferenceNear ? own : reference;
    inputs.params.push_back(ir::is_int(type) ? static_cast<std::uint64_t>(kIntegers[p])
                                             : bits_of(type, parameter_value(static_cast<Parameter>(p))));
  }
  return inputs;
}

}  // namespace trident::calibrate
