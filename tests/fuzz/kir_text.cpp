// Fuzz target: bytes as kir text. Whatever parses and checks must print to text that parses to the same kernel, and
// run: the interpreter at every level of this machine gives the bits that eval_lane gives one instruction and one
// element at a time. Kernels that break what ops.def asks of operands at run time (Lookup, Scalef, the flags of
// divisions), or that look at the bits of a NaN, have no one result and are not run.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "runtime/base/check.h"
#include "tests/support/reduction_order.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(id, Name, text, arity, signature, types, meaning) text " ",
#include "jit/kir/ops.def"
#undef X
    "%0", "%1", "%2",     "%4294967295",        "exit %", "then\n", " = ", "f32", "f64", "i32", "i64", "b32", "b64",
    ", ", "\n", "kernel", "0x7ff8000000000000", nullptr};

namespace {

using namespace trident;
using kir::Inst;
using kir::Op;
using kir::Section;
using kir::Type;
using kir::Value;

constexpr std::size_t kElements = 67;        // more than the partial results of a reduction
constexpr std::size_t kInstsMax = 1u << 12;  // of kernels that are run: the model is slow

double number_of(Type type, std::uint64_t bits) {
  return type == Type::f32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                           : std::bit_cast<double>(bits);
}
bool is_nan(Type type, std::uint64_t bits) {
  return ir::is_float(type) && std::isnan(number_of(type, bits));
}
std::uint64_t low_bits(Type type, std::uint64_t bits) {
  return ir::bytes_of(type) == 4 ? bits & 0xFFFF'FFFFu : bits;
}

/// Lanes from a fixed sequence: numbers of every size, zeros, small integers, infinities and NaN.
std::uint64_t lane_of(Type type, std::uint64_t index) {
  constexpr double kNumbers[] = {0.0, -1.5, 1e30, 0.5, 3.0, -0.0, 1e-40, -7.0, 2.0, 1e300, -1e-310, 0.75};
  const std::uint64_t mixed = (index + 1) * 0x9E37'79B9'7F4A'7C15u;
  if (ir::is_int(type)) return low_bits(type, index % 3 == 0 ? mixed : index % 3 == 1 ? index : -index);
  double x = kNumbers[mixed % std::size(kNumbers)];
  if (mixed >> 60 == 0) x = std::numeric_limits<double>::infinity();
  if (mixed >> 60 == 1) x = std::numeric_limits<double>::quiet_NaN();
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return std::bit_cast<std::uint64_t>(x);
}

/// Parameter number `i`: tables have as many elements as arrays.
std::uint64_t param_of(const kir::Kernel& kernel, std::uint64_t i) {
  for (const kir::Input& input : kernel.inputs)
    if (input.length == i) return kElements;
  return lane_of(kernel.params[i].type, 1000 + i);
}

/// The kernel's meaning, an element at a time.
class Model {
 public:
  explicit Model(const kir::Kernel& kernel)
      : kernel_(kernel), values_(kernel.insts.size()), reduced_(kernel.insts.size()), factors_(kernel.insts.size()) {
    for (const kir::Kernel& before : kernel.before) run_before(before);
  }

  /// The bits of every output, or nothing where a precondition does not hold.
  std::optional<std::vector<std::vector<std::uint64_t>>> run() {
    std::vector<std::vector<std::uint64_t>> out(kernel_.outputs.size());
    if (results_.size() != kernel_.param_count() - kernel_.params.size()) return std::nullopt;
    if (!section(Section::invariant, 0)) return std::nullopt;
    for (std::size_t e = 0; e < kElements; ++e) {
      if (!section(Section::body, e)) return std::nullopt;
      if (kernel_.leaves_steps() && values_[kernel_.exit.index] != 0) done_ = std::min(done_, e / 16 * 16);
      for (std::size_t i = 0; i < kernel_.insts.size(); ++i) {
        const Inst& x = kernel_.insts[i];
        if (kir::is_reduction(x)) reduced_[i].push_back(values_[x.a.index]);
        if (x.op == Op::Dot) factors_[i].push_back(values_[x.b.index]);
      }
      for (std::size_t o = 0; o < out.size(); ++o) {
        if (kernel_.outputs[o].kind == kir::OutputKind::array)
          out[o].push_back(values_[kernel_.outputs[o].value.index]);
      }
    }
    for (std::size_t i = 0; i < kernel_.insts.size(); ++i) {
      if (kir::is_reduction(kernel_.insts[i])) values_[i] = reduced(i);
    }
    if (!section(Section::epilogue, 0)) return std::nullopt;
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (kernel_.outputs[o].kind == kir::OutputKind::scalar)
        out[o].push_back(values_[kernel_.outputs[o].value.index]);
      else
        out[o].resize(done_);
    }
    return out;
  }

  /// The number of elements before the exit, which is where the interpreter stops.
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  /// Takes the results of the pass before; none where it has no one meaning.
  void run_before(const kir::Kernel& before) {
    const auto out = Model(before).run();
    if (!out) return;
    for (const std::vector<std::uint64_t>& lanes : *out) results_.push_back(lanes[0]);
  }

  static std::uint64_t start_of(const Inst& x) {
    if (x.op == Op::Sum || x.op == Op::Dot) return 0;
    if (x.op == Op::Prod) return x.type == Type::f32 ? 0x3F80'0000u : x.type == Type::f64 ? 0x3FF0'0000'0000'0000u : 1u;
    const bool least = x.op == Op::MinOf;
    if (x.type == Type::f32) return least ? 0x7F80'0000u : 0xFF80'0000u;
    if (x.type == Type::f64) return least ? 0x7FF0'0000'0000'0000u : 0xFFF0'0000'0000'0000u;
    const std::uint64_t greatest = x.type == Type::i32 ? 0x7FFF'FFFFu : 0x7FFF'FFFF'FFFF'FFFFu;
    return least ? greatest : greatest + 1;
  }

  [[nodiscard]] std::uint64_t reduced(std::size_t i) const {
    const Inst& x = kernel_.insts[i];
    const bool sums = x.op == Op::Sum || x.op == Op::Dot;
    const Op op = sums ? Op::Add : x.op == Op::Prod ? Op::Mul : x.op == Op::MinOf ? Op::Min : Op::Max;
    const auto join = [&](std::uint64_t earlier, std::uint64_t later) {
      return kir::eval_lane(op, x.type, x.type, later, earlier, 0);
    };
    const auto take = [&](std::uint64_t partial, std::size_t e) {
      if (x.op != Op::Dot) return join(partial, reduced_[i][e]);
      return kir::eval_lane(Op::Fma, x.type, x.type, reduced_[i][e], factors_[i][e], partial);
    };
    return testing::reduced_by(take, kElements, ir::bytes_of(x.type), start_of(x), join);
  }

  // Returns true when the result of `x` on these operands is specified.
  [[nodiscard]] bool defined(const Inst& x, std::uint64_t a, std::uint64_t b) const {
    if (x.flags != 0) return false;
    if (x.op == Op::Lookup) return a < kernel_.tables[x.imm].entries.size();
    if (x.op == Op::Bitcast) return !is_nan(kernel_.type_of(x.a), a);
    if (x.op != Op::Scalef) return true;
    const double size = std::fabs(number_of(x.type, a));
    const double by = number_of(x.type, b);
    const bool whole = std::isnan(by) || std::isinf(by) || std::trunc(by) == by;
    const bool in_range = std::isnan(size) || (size >= 0x1p-4 && size < 0x1p4) || (size == 0 && !(by == HUGE_VAL));
    return whole && in_range;
  }

  bool section(Section section, std::size_t element) {
    for (std::size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& x = kernel_.insts[i];
      if (x.section != section || kir::is_reduction(x)) continue;
      const auto operand = [&](Value v) { return v.valid() ? values_[v.index] : 0; };
      if (!defined(x, operand(x.a), operand(x.b))) return false;
      values_[i] = value_of(x, element, operand(x.a), operand(x.b), operand(x.c));
    }
    return true;
  }

  [[nodiscard]] std::uint64_t value_of(const Inst& x, std::size_t element, std::uint64_t a, std::uint64_t b,
                                       std::uint64_t c) const {
    if (x.op == Op::Constant) return x.imm;
    if (x.op == Op::Input) return lane_of(x.type, 100 * x.imm + element);
    if (x.op == Op::Param && x.imm >= kernel_.params.size()) return results_[x.imm - kernel_.params.size()];
    if (x.op == Op::Param) return param_of(kernel_, x.imm);
    if (x.op == Op::Count) return kir::eval_lane(Op::Convert, x.type, Type::i64, kElements, 0, 0);
    if (x.op == Op::Lookup) return kernel_.tables[x.imm].entries[a];
    if (x.op == Op::Index) return element;
    if (x.op == Op::Gather) {
      const bool narrow = kernel_.type_of(x.a) == Type::i32;
      return element_of(x, narrow ? static_cast<std::int32_t>(a) : static_cast<std::int64_t>(a));
    }
    if (x.op == Op::Strided) return element_of(x, static_cast<std::int64_t>(a * element + b));
    return kir::eval_lane(x.op, x.type, kernel_.type_of(x.op == Op::Select ? x.b : x.a), a, b, c);
  }

  [[nodiscard]] std::uint64_t element_of(const Inst& x, std::int64_t number) const {
    const bool inside = number >= 0 && number < static_cast<std::int64_t>(kElements);
    return inside ? lane_of(x.type, 100 * x.imm + static_cast<std::uint64_t>(number)) : 0;
  }

  const kir::Kernel& kernel_;
  std::vector<std::uint64_t> values_;
  std::vector<std::vector<std::uint64_t>> reduced_;  ///< elements of reductions
  std::vector<std::vector<std::uint64_t>> factors_;  ///< the other factors of dot
  std::vector<std::uint64_t> results_;               ///< of the pass before
  std::size_t done_ = kElements;
};

void compare(const kir::Kernel& kernel, os::SimdLevel level, const std::vector<std::vector<std::uint64_t>>& wanted,
             std::size_t done) {
  std::vector<std::vector<std::byte>> inputs(kernel.inputs.size());
  std::vector<std::vector<std::byte>> outputs(kernel.outputs.size(), std::vector<std::byte>(8 * kElements));
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<std::uint64_t> params;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t bytes = ir::bytes_of(kernel.inputs[i].type);
    inputs[i].resize(bytes * kElements);
    for (std::size_t e = 0; e < kElements; ++e) {
      const std::uint64_t bits = lane_of(kernel.inputs[i].type, 100 * i + e);
      std::memcpy(inputs[i].data() + bytes * e, &bits, bytes);
    }
    in.push_back(inputs[i].data());
  }
  for (std::size_t i = 0; i < kernel.params.size(); ++i) params.push_back(param_of(kernel, i));
  for (auto& each : outputs) out.push_back(each.data());
  const kir::Plan plan = kir::Plan::prepare(kir::without_storage(kernel), level);  // the arrays hold values
  CHECK(plan.run(kElements, in.data(), out.data(), params.data()) == done);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Type type = kernel.type_of(kernel.outputs[o].value);
    for (std::size_t e = 0; e < wanted[o].size(); ++e) {
      std::uint64_t got = 0;
      std::memcpy(&got, outputs[o].data() + ir::bytes_of(type) * e, ir::bytes_of(type));
      const bool both_nan = is_nan(type, got) && is_nan(type, wanted[o][e]);
      CHECK(got == low_bits(type, wanted[o][e]) || both_nan);
    }
  }
}

void run(const kir::Kernel& kernel) {
  for (const kir::Kernel* pass = &kernel;; pass = &pass->before.front()) {
    if (pass->insts.size() > kInstsMax) return;
    if (pass->before.empty()) break;
  }
  Model model(kernel);
  const auto wanted = model.run();
  if (!wanted) return;
  for (const os::SimdLevel level : os::kSimdLevels) {
    if (kir::is_available(level)) compare(kernel, level, *wanted, model.done());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<kir::Kernel> kernel = kir::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!kernel.ok()) {
    CHECK(!kernel.error().message.empty());
    return 0;
  }
  if (!kir::check(*kernel).ok()) return 0;
  const std::string text = kir::print(*kernel);
  const Result<kir::Kernel> again = kir::parse(text);
  CHECK(again.ok());
  CHECK(kir::print(*again) == text);
  run(*kernel);
  ++fuzz_accepted;
  return 0;
}
