// Random well-formed kernels, for tests that compare two ways of running kir (interpreter levels, hosts).
#pragma once

#include <algorithm>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/kir/kir.h"
#include "jit/kir/sample_bits.h"

namespace trident::kir {

struct RandomKernelOptions {
  std::uint32_t ops = 30;
  std::vector<Type> types = {Type::f32, Type::f64, Type::i32, Type::i64};
  bool conversions_of_width = true;  ///< Convert between lanes of 4 and 8 bytes
  bool lookups = true;
  bool reductions = true;
};

class RandomKernel {
 public:
  RandomKernel(std::uint64_t seed, const RandomKernelOptions& options) : sample_(seed), options_(options) {}

  /// A kernel that passes check(). Preconditions of ops (Scalef's, Lookup's) hold for any input bits; no flag is set.
  Kernel make() {
    Kernel kernel;
    for (int i = 0; i < 4; ++i) kernel.inputs.push_back({"x" + std::to_string(i), random_type()});
    for (int i = 0; i < 2; ++i) kernel.params.push_back({"s" + std::to_string(i), random_type()});
    Builder b(kernel);
    for (std::uint32_t i = 0; i < 4; ++i) values_.push_back(b.input(i));
    for (std::uint32_t i = 0; i < 2; ++i) values_.push_back(b.param(i));
    for (const Type t : options_.types) {
      values_.push_back(b.constant_bits(t, sample_(t)));
      values_.push_back(b.count(t));
    }
    for (std::uint32_t i = 0; i < options_.ops; ++i)
      if (const Value v = random_op(b); v.valid()) values_.push_back(v);
    add_outputs(b);
    return kernel;
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return sample_.number() % n; }
  Type random_type() { return options_.types[pick(options_.types.size())]; }

  /// A value of one of the wanted types; recent ones more often. Invalid if there is none.
  template <class F>
  Value random_value(const Builder& b, F wanted) {
    std::vector<Value> fitting;
    for (const Value v : values_)
      if (wanted(b.type_of(v))) fitting.push_back(v);
    if (fitting.empty()) return {};
    const std::size_t recent = std::min<std::size_t>(fitting.size(), 6);
    return pick(2) == 0 ? fitting[pick(fitting.size())] : fitting[fitting.size() - 1 - pick(recent)];
  }
  Value value_of(const Builder& b, Type type) {
    return random_value(b, [&](Type t) { return t == type; });
  }

  static bool allowed(Types types, Type type) {
    if (types == Types::F) return is_float(type);
    if (types == Types::I) return is_int(type);
    if (types == Types::B) return !is_float(type);
    return types == Types::A || !is_mask(type);
  }

  Value random_op(Builder& b) {
    const Op op = static_cast<Op>(pick(kOpCount));
    const OpInfo& row = info(op);
    const Value a = random_value(b, [&](Type t) { return allowed(row.types, t) || (op == Op::Convert && is_mask(t)); });
    if (!a.valid()) return {};
    switch (row.signature) {
      case Signature::Leaf: return b.constant_bits(b.type_of(a), is_mask(b.type_of(a)) ? 0 : sample_(b.type_of(a)));
      case Signature::Same:
        if (op == Op::Scalef) return scalef(b, a);
        return b.op(op, a, row.arity > 1 ? value_of(b, b.type_of(a)) : Value(),
                    row.arity > 2 ? value_of(b, b.type_of(a)) : Value());
      case Signature::Compare: return b.op(op, a, value_of(b, b.type_of(a)));
      case Signature::Select: {
        const Value mask = value_of(b, mask_of(b.type_of(a)));
        return mask.valid() ? b.select(mask, a, value_of(b, b.type_of(a))) : Value();
      }
      case Signature::Convert: return conversion(b, op, a);
      case Signature::Reduce: return {};
    }
    return {};
  }

  Value scalef(Builder& b, Value a) {
    const Type t = b.type_of(a), i = int_of(t);
    const std::uint64_t mantissa = t == Type::f32 ? 0x807F'FFFFu : 0x800F'FFFF'FFFF'FFFFu;
    const std::uint64_t one = t == Type::f32 ? 0x3F80'0000u : 0x3FF0'0000'0000'0000u;
    const Value low = b.op(Op::And, b.as_int(a), b.constant_bits(i, mantissa));
    const Value unit = b.as_float(b.op(Op::Or, low, b.constant_bits(i, one)));
    return b.op(Op::Scalef, unit, b.rint(value_of(b, t)));
  }

  Value conversion(Builder& b, Op op, Value a) {
    const Type from = b.type_of(a);
    if (op == Op::Convert) {
      if (is_mask(from)) return options_.conversions_of_width ? b.convert(op, other_mask(from), a) : Value();
      const Type to = random_type();
      return options_.conversions_of_width || bytes_of(to) == bytes_of(from) ? b.convert(op, to, a) : Value();
    }
    if (op == Op::ToIntRint) return is_float(from) ? b.convert(op, int_of(from), a) : Value();
    if (op == Op::Bitcast) return is_float(from) ? b.as_int(a) : b.as_float(a);
    if (!is_int(from) || !options_.lookups) return {};
    const std::size_t size = std::size_t{2} << pick(5);
    const Type type = pick(2) == 0 ? from : bytes_of(from) == 4 ? Type::f32 : Type::f64;
    Table table{type, {}};
    for (std::size_t i = 0; i < size; ++i) table.entries.push_back(sample_(type));
    const Value index = b.op(Op::And, a, b.constant_int(from, static_cast<std::int64_t>(size) - 1));
    return b.lookup(b.add_table(std::move(table)), index);
  }

  static Type other_mask(Type t) { return t == Type::b32 ? Type::b64 : Type::b32; }

  void add_outputs(Builder& b) {
    Kernel& kernel = b.kernel();
    const auto numeric = [](Type t) { return !is_mask(t); };
    for (int i = 0; i < 3; ++i)
      kernel.outputs.push_back({"y" + std::to_string(i), random_value(b, numeric), OutputKind::array});
    if (!options_.reductions) return;
    for (const Op op : {Op::Sum, Op::MinOf, Op::MaxOf}) {
      const Value r = b.reduce(op, random_value(b, numeric));
      kernel.outputs.push_back({"r" + std::to_string(kernel.outputs.size()), r, OutputKind::scalar});
      const Value twice = b.add(r, r);
      if (pick(2) == 0)
        kernel.outputs.push_back({"d" + std::to_string(kernel.outputs.size()), twice, OutputKind::scalar});
    }
  }

  SampleBits sample_;
  const RandomKernelOptions& options_;
  std::vector<Value> values_;
};

inline Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options = {}) {
  return RandomKernel(seed, options).make();
}

}  // namespace trident::kir
