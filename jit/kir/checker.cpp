// kir::check: every rule that codegen and the interpreter rely on, in one pass over the instructions.
#include <algorithm>
#include <bit>

#include "jit/kir/kir.h"
#include "runtime/base/limits.h"

namespace trident::kir {

namespace {

constexpr std::size_t kTableEntriesMax = 32;

std::uint64_t lane_ones(Type type) {
  return ir::bytes_of(type) == 4 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
}

bool allowed(Types types, Type type) {
  switch (types) {
    case Types::N: return !is_mask(type);
    case Types::F: return is_float(type);
    case Types::S: return type == Type::f32;
    case Types::I: return is_int(type);
    case Types::B: return !is_float(type);
    case Types::A: return true;
  }
  return false;
}

/// One instruction's faults as a sentence, or nothing.
class InstChecker {
 public:
  InstChecker(const Kernel& kernel, std::uint32_t index) : kernel_(kernel), index_(index), inst_(kernel.insts[index]) {}

  [[nodiscard]] const char* fault() const {
    if (static_cast<std::uint32_t>(inst_.op) >= kOpCount) return "no such op";
    if (static_cast<std::uint8_t>(inst_.type) > static_cast<std::uint8_t>(Type::b64)) return "no such type";
    if (const char* f = operands_fault()) return f;
    const bool compares = info(inst_.op).signature == Signature::Compare;
    const Type of = compares ? kernel_.type_of(inst_.a) : inst_.type;
    if (!allowed(info(inst_.op).types, of)) return "the op does not exist for this type";
    if (const char* f = types_fault()) return f;
    if (const char* f = immediate_fault()) return f;
    if (const char* f = flags_fault()) return f;
    const auto section = section_for(kernel_, inst_);
    if (!section) return "operands from the body and from the epilogue are mixed";
    if (*section != inst_.section) return "wrong section";
    return nullptr;
  }

 private:
  [[nodiscard]] const char* flags_fault() const {
    const bool known = inst_.flags == kNormal || inst_.flags == kBounded || inst_.flags == kFalling;
    if (inst_.flags != 0 && !known) return "unknown flag";
    const bool takes = inst_.op == Op::Scalef ||
                       (inst_.flags != kFalling && (inst_.op == Op::Div || inst_.op == Op::Sqrt)) ||
                       (inst_.flags == kNormal && has_doubtful_operands(inst_.op));
    return inst_.flags == 0 || takes ? nullptr : "flag on an op that takes none";
  }

  [[nodiscard]] const char* operands_fault() const {
    const Value operands[] = {inst_.a, inst_.b, inst_.c};
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (operands[i].valid() != (i < info(inst_.op).arity)) return "wrong number of operands";
      if (operands[i].valid() && operands[i].index >= index_) return "operand is not defined before its use";
    }
    return nullptr;
  }

  [[nodiscard]] const char* types_fault() const {
    const auto type = [&](Value v) { return kernel_.type_of(v); };
    switch (info(inst_.op).signature) {
      case Signature::Leaf: return nullptr;
      case Signature::Same:
      case Signature::Reduce:
        for (const Value v : {inst_.a, inst_.b, inst_.c})
          if (v.valid() && type(v) != inst_.type) return "operand type differs from the result's";
        return nullptr;
      case Signature::Compare:
        if (type(inst_.a) != type(inst_.b)) return "the operands' types differ";
        return inst_.type == ir::mask_of(type(inst_.a)) ? nullptr
                                                        : "the result must be the mask of the operands' width";
      case Signature::Select:
        if (type(inst_.b) != inst_.type || type(inst_.c) != inst_.type) return "operand type differs from the result's";
        return type(inst_.a) == ir::mask_of(inst_.type) ? nullptr : "the first operand must be a mask of this width";
      case Signature::Convert: return convert_fault(type(inst_.a));
      case Signature::Read: return read_fault();
    }
    return nullptr;
  }

  [[nodiscard]] const char* convert_fault(Type from) const {
    const bool same_width = ir::bytes_of(from) == ir::bytes_of(inst_.type);
    if (inst_.op == Op::Convert) return is_mask(from) == is_mask(inst_.type) ? nullptr : "masks convert to masks only";
    if (inst_.op == Op::Bitcast) return !is_mask(from) && same_width ? nullptr : "bitcast between different widths";
    if (inst_.op == Op::ToIntRint)
      return is_float(from) && is_int(inst_.type) && same_width ? nullptr
                                                                : "to_int_rint is float to integer of one width";
    return is_int(from) && same_width ? nullptr : "the index must be an integer as wide as the result";
  }

  [[nodiscard]] const char* read_fault() const {
    if (inst_.op == Op::Gather) return is_int(kernel_.type_of(inst_.a)) ? nullptr : "the index must be an integer";
    const Inst& stride = kernel_.at(inst_.a);
    if (stride.op != Op::Constant || stride.type != Type::i64) return "the stride must be an i64 constant";
    const auto value = static_cast<std::int64_t>(stride.imm);
    if (value == 0 || value < -kStrideMax || value > kStrideMax) return "the stride is 0 or too large";
    const Inst& offset = kernel_.at(inst_.b);
    return offset.type == Type::i64 && offset.section == Section::invariant ? nullptr
                                                                            : "the offset must be an invariant i64";
  }

  [[nodiscard]] const char* immediate_fault() const {
    const std::uint64_t imm = inst_.imm;
    const bool reads = info(inst_.op).signature == Signature::Read;
    if (inst_.op == Op::Constant) {
      if ((imm & ~lane_ones(inst_.type)) != 0) return "constant wider than its type";
      if (is_mask(inst_.type) && imm != 0 && imm != lane_ones(inst_.type)) return "a mask is all zeros or all ones";
    } else if (inst_.op == Op::Input || reads) {
      if (imm >= kernel_.inputs.size()) return "no such input";
      if (kernel_.inputs[imm].type != inst_.type) return "type differs from the input's";
      if (kernel_.inputs[imm].is_table() != reads) return "tables are read by gather and strided, and nothing else is";
    } else if (inst_.op == Op::Param) {
      if (imm >= kernel_.param_count()) return "no such parameter";
      if (kernel_.param_type(imm) != inst_.type) return "type differs from the parameter's";
    } else if (inst_.op == Op::Lookup) {
      if (imm >= kernel_.tables.size()) return "no such table";
      if (kernel_.tables[imm].type != inst_.type) return "type differs from the table's";
    } else if (imm != 0) {
      return "immediate on an op that takes none";
    }
    return nullptr;
  }

  const Kernel& kernel_;
  std::uint32_t index_;
  const Inst& inst_;
};

Result<void> check_interface(const Kernel& kernel) {
  if (kernel.inputs.size() + kernel.params.size() > limits::kInputsMax)
    return make_error(ErrorCode::kLimitExceeded, "more than %u inputs and parameters", limits::kInputsMax);
  if (kernel.outputs.size() > limits::kOutputsMax)
    return make_error(ErrorCode::kLimitExceeded, "more than %u outputs", limits::kOutputsMax);
  if (kernel.outputs.empty() && !kernel.exit.valid())
    return make_error(ErrorCode::kInvalidArgument, "a kernel needs an output, or an exit that is all it is for");
  for (const auto* list : {&kernel.inputs, &kernel.params})
    for (const Input& input : *list) {
      if (is_mask(input.type)) return make_error(ErrorCode::kTypeError, "input '%s' is a mask", input.name.c_str());
      if (input.name.size() > limits::kNameBytesMax)
        return make_error(ErrorCode::kLimitExceeded, "a name is longer than %zu bytes", limits::kNameBytesMax);
    }
  for (const Input& input : kernel.inputs)
    if (!ir::fits(input.type, input.storage) || (input.is_table() && input.storage != Storage::own))
      return make_error(ErrorCode::kTypeError, "input '%s' cannot be kept so", input.name.c_str());
  for (const Input& input : kernel.inputs)
    if (input.is_table() && (*input.length >= kernel.params.size() || kernel.params[*input.length].type != Type::i64))
      return make_error(ErrorCode::kTypeError, "the length of table '%s' is no i64 parameter", input.name.c_str());
  for (const Input& param : kernel.params)
    if (param.is_table() || param.storage != Storage::own)
      return make_error(ErrorCode::kTypeError, "parameter '%s' has a length or a storage", param.name.c_str());
  if (kernel.tables.size() > limits::kKirTablesMax)
    return make_error(ErrorCode::kLimitExceeded, "more than %u tables", limits::kKirTablesMax);
  for (std::size_t i = 0; i < kernel.tables.size(); ++i) {
    const Table& table = kernel.tables[i];
    const std::size_t size = table.entries.size();
    if (is_mask(table.type) || size < 2 || size > kTableEntriesMax || !std::has_single_bit(size))
      return make_error(ErrorCode::kInvalidArgument, "table %zu: 2, 4, 8, 16 or 32 numeric entries are allowed", i);
    if (std::ranges::any_of(table.entries, [&](std::uint64_t bits) { return (bits & ~lane_ones(table.type)) != 0; }))
      return make_error(ErrorCode::kInvalidArgument, "table %zu: an entry is wider than its type", i);
  }
  return {};
}

Result<void> check_output(const Kernel& kernel, const Output& output) {
  const char* name = output.name.c_str();
  if (output.name.size() > limits::kNameBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "a name is longer than %zu bytes", limits::kNameBytesMax);
  if (output.value.index >= kernel.insts.size())
    return make_error(ErrorCode::kInvalidArgument, "output '%s' names no instruction", name);
  const Inst& inst = kernel.at(output.value);
  if (is_mask(inst.type)) return make_error(ErrorCode::kTypeError, "output '%s' is a mask", name);
  if (!ir::fits(inst.type, output.storage) || (output.kind == OutputKind::scalar && output.storage != Storage::own))
    return make_error(ErrorCode::kTypeError, "output '%s' cannot be kept so", name);
  if (output.kind == OutputKind::array && inst.section == Section::epilogue)
    return make_error(ErrorCode::kTypeError, "array output '%s' comes from the epilogue", name);
  if (output.kind == OutputKind::scalar && inst.section == Section::body)
    return make_error(ErrorCode::kTypeError, "scalar output '%s' comes from the body", name);
  return {};
}

/// Chunks that are left out leave no trace in extrema of integers, and no array may have gaps.
Result<void> check_early_end(const Kernel& kernel) {
  const auto is_array = [](const Output& output) { return output.kind == OutputKind::array; };
  if (std::ranges::any_of(kernel.outputs, is_array))
    return make_error(ErrorCode::kTypeError, "a kernel that ends early has an array output");
  const auto needs_all = [](const Inst& inst) {
    const bool is_extremum = inst.op == Op::MinOf || inst.op == Op::MaxOf;
    return info(inst.op).signature == Signature::Reduce && !(is_extremum && is_int(inst.type));
  };
  if (std::ranges::any_of(kernel.insts, needs_all))
    return make_error(ErrorCode::kTypeError, "a kernel that ends early has another reduction than extrema of integers");
  return {};
}

Result<void> check_exit(const Kernel& kernel) {
  if (!kernel.exit.valid()) return {};
  if (kernel.exit.index >= kernel.insts.size())
    return make_error(ErrorCode::kInvalidArgument, "the exit names no instruction");
  if (!is_mask(kernel.type_of(kernel.exit))) return make_error(ErrorCode::kTypeError, "the exit is no mask");
  if (kernel.leaves_chunks()) return check_early_end(kernel);
  const auto is_epilogue = [](const Inst& inst) { return inst.section == Section::epilogue; };
  if (std::ranges::any_of(kernel.insts, is_epilogue) || kernel.has_scalar_output())
    return make_error(ErrorCode::kTypeError, "a kernel with an exit has reductions or scalar outputs");
  return {};
}

Result<void> check_pass(const Kernel& kernel) {
  if (kernel.insts.size() > limits::kKirInstsMax)
    return make_error(ErrorCode::kLimitExceeded, "more than %u kir instructions", limits::kKirInstsMax);
  TRY_VOID(check_interface(kernel));
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
    if (const char* fault = InstChecker(kernel, i).fault())
      return make_error(ErrorCode::kTypeError, "kir %%%u: %s", i, fault);
  }
  for (const Output& output : kernel.outputs) TRY_VOID(check_output(kernel, output));
  return check_exit(kernel);
}

bool same_declarations(const std::vector<Input>& a, const std::vector<Input>& b) {
  return std::ranges::equal(a, b, [](const Input& x, const Input& y) {
    return x.type == y.type && x.length == y.length && x.storage == y.storage;
  });
}

/// Checks what a pass and the one before it, which is well-formed, have to do with each other.
Result<void> check_before(const Kernel& kernel, const Kernel& before) {
  if (!same_declarations(kernel.inputs, before.inputs) || !same_declarations(kernel.params, before.params))
    return make_error(ErrorCode::kTypeError, "the pass before has other inputs or parameters");
  const auto is_scalar = [](const Output& output) { return output.kind == OutputKind::scalar; };
  if (!std::ranges::all_of(before.outputs, is_scalar))
    return make_error(ErrorCode::kTypeError, "the pass before has an array output");
  if (kernel.leaves_steps() || before.leaves_steps())
    return make_error(ErrorCode::kTypeError, "a kernel with an exit has one pass");
  return {};
}

/// Checks from the first pass on: the types of parameters are those of results before.
Result<void> check_passes(const Kernel& kernel, std::uint32_t passes_max) {
  if (passes_max == 0) return make_error(ErrorCode::kLimitExceeded, "more than %u passes", kPassesMax);
  if (kernel.before.size() > 1) return make_error(ErrorCode::kInvalidArgument, "one pass comes before another");
  for (const Kernel& before : kernel.before) {
    TRY_VOID(check_passes(before, passes_max - 1));
    TRY_VOID(check_before(kernel, before));
  }
  return check_pass(kernel);
}

}  // namespace

bool converts_elements(const Kernel& kernel) {
  const auto converts = [](const auto& array) { return ir::converts(array.storage); };
  return std::ranges::any_of(kernel.inputs, converts) || std::ranges::any_of(kernel.outputs, converts);
}

Kernel without_storage(Kernel kernel) {
  for (Input& input : kernel.inputs) input.storage = Storage::own;
  for (Output& output : kernel.outputs) output.storage = Storage::own;
  for (Kernel& before : kernel.before) before = without_storage(std::move(before));
  return kernel;
}

Result<void> check(const Kernel& kernel) {
  return check_passes(kernel, kPassesMax);
}

}  // namespace trident::kir
