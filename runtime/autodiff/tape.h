// Record once, replay: a model is recorded for fixed shapes, which gives every value its buffers and yields a list of
// ops; a step is then two loops over function pointers, with no allocation, no shape check and no reference count.
//
//   Tape<float> tape(store, Mode::train);
//   auto x = tape.input("x", {64, 144});
//   auto y = linear(tape, x, tape.parameter(w), tape.parameter(b), Activation::relu);
//   auto loss = mse(tape, y, target);
//   tape.finish(loss);
//   ... write x.data ...; tape.forward(); tape.backward();     // tape.gradient() is parallel to store.flat()
//
// Which op is the first to write a gradient is known when recording ends: it overwrites, later ones add, and nothing is
// cleared between steps. Ops that no loss depends on have no part in backward(). A tape reads the store's weights and
// owns everything else, so that several tapes over one store may run in several threads. Real: float, and double for
// checks of gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/os/memfd.h"
#include "runtime/tensor/arena.h"
#include "runtime/tensor/gemm_code.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/parameter_store.h"
#include "runtime/tensor/shape.h"

namespace trident::autodiff {

using tensor::Activation;
using tensor::Shape;

enum class Mode : std::uint8_t { train, infer };

enum class OpKind : std::uint8_t {
#define X(name) name,
#include "runtime/autodiff/ops.def"
#undef X
};
std::string_view name_of(OpKind kind);

/// A value of the tape. `gradient` is null where none is wanted: inputs, and everything in Mode::infer.
template <class Real>
struct Value {
  Real* data = nullptr;
  Real* gradient = nullptr;
  Shape shape;
  std::uint32_t id = UINT32_MAX;
  [[nodiscard]] bool present() const { return data != nullptr; }
  [[nodiscard]] std::span<Real> values() const { return {data, shape.count()}; }
  [[nodiscard]] std::span<Real> gradients() const { return {gradient, gradient ? shape.count() : 0}; }
};

/// Whole numbers that a step is fed: labels, actions, masks, groups.
struct Integers {
  std::int32_t* data = nullptr;
  Shape shape;
  std::uint32_t id = UINT32_MAX;
  [[nodiscard]] bool present() const { return data != nullptr; }
  [[nodiscard]] std::span<std::int32_t> values() const { return {data, shape.count()}; }
};

/// Lists of ids, one per sample: list b is ids[offsets[b] .. offsets[b + 1]), offsets[0] is 0.
struct Bags {
  Integers ids, offsets;
  [[nodiscard]] std::size_t count() const { return offsets.shape.count() - 1; }
};

/// Calls f(list, ids, count) for every list, once it is checked: it lies within the ids, and names rows below `rows`.
template <class F>
void for_lists(const Bags& bags, std::size_t rows, F f) {
  const std::int32_t *ids = bags.ids.data, *offsets = bags.offsets.data;
  const std::size_t lists = bags.count();
  CHECK(offsets[0] == 0 && static_cast<std::size_t>(offsets[lists]) <= bags.ids.shape.count());
  for (std::size_t list = 0; list < lists; ++list) {
    const std::int32_t from = offsets[list], to = offsets[list + 1];
    CHECK(from <= to);
    std::uint32_t largest = 0;  // a negative id is a large one
    for (std::int32_t i = from; i < to; ++i) largest = std::max(largest, static_cast<std::uint32_t>(ids[i]));
    CHECK(from == to || largest < rows);
    f(list, ids + from, static_cast<std::size_t>(to - from));
  }
}

/// A value as an op reads it, and writes its gradient: `accumulate` says whether it adds.
template <class Real>
struct Operand {
  Real* data = nullptr;
  Real* gradient = nullptr;
  bool accumulate = false;
  std::uint32_t id = UINT32_MAX;
  Operand() = default;
  explicit Operand(const Value<Real>& value) : data(value.data), gradient(value.gradient), id(value.id) {}
  /// Zero to overwrite, one to add: the beta of a gemm.
  [[nodiscard]] Real beta() const { return accumulate ? Real{1} : Real{0}; }
  /// Zeroes a gradient that is to be overwritten, for a backward that only adds.
  void clear_unless_accumulated(std::size_t count) const {
    if (gradient && !accumulate) std::fill_n(gradient, count, Real{0});
  }
};

/// Memory of a step that every op shares: what is in it lasts for one forward or backward of one op.
template <class Real>
struct Scratch {
  Real* data = nullptr;  ///< set when recording ends
};

/// The functions that the loops call; ops derive from it and live in the tape's arena.
template <class Real>
struct Op {
  void (*forward)(Op&) = nullptr;
  void (*backward)(Op&) = nullptr;
  /// Called once when recording ends and every operand knows whether it accumulates: tells the op's products.
  void (*prepare)(Op&, tensor::GemmCode<Real>&) = nullptr;
  const tensor::Kernels<Real>* kernels = nullptr;
};

/// A named number of an op that remains after recording, for hashes and exports.
struct Attribute {
  std::string name;
  double value;
};
struct OpRecord {
  OpKind kind;
  std::vector<std::uint32_t> inputs, outputs;  ///< ids of values; UINT32_MAX stands for an absent operand
  std::vector<Attribute> attributes;
  [[nodiscard]] double attribute(std::string_view name) const;
};
enum class Source : std::uint8_t { input, integers, parameter, rows, result, constant };
struct ValueRecord {
  Source source;
  std::string name;  ///< of inputs, slices and tables
  Shape shape;
  const void* data;
};

/// The gradient of the rows of a table after backward(): row ids[i] gets gradient row b for each i of list b.
template <class Real>
struct RowGradient {
  tensor::RowTable<Real>* table;
  const std::int32_t* ids;
  const std::int32_t* offsets;
  std::size_t bags;
  const Real* gradient;  ///< bags x table->width()
  std::size_t ids_max;   ///< ids that the lists have room for together
};

template <class Real>
class Tape {
 public:
  /// `source` compiled: no code is made for this tape's products; the bits of every result are the same.
  Tape(tensor::ParameterStore<Real>& store, Mode mode, tensor::GemmSource source = tensor::GemmSource::emitted);

  Value<Real> input(std::string_view name, Shape shape, bool wants_gradient = false);
  Integers integers(std::string_view name, Shape shape);
  /// Room for `count` lists with at most `ids_max` ids together.
  Bags bags(std::string_view name, std::size_t count, std::size_t ids_max);
  /// Values that never change, such as class weights.
  Value<Real> constant(std::span<const Real> values, Shape shape);
  Value<Real> parameter(std::size_t slice);
  Value<Real> parameter(std::string_view name);

  /// Ends recording. With a loss (one element), backward() computes its gradient; without, only forward() may run.
  void finish(const Value<Real>& loss);
  void finish();
  void forward() {
    for (Op<Real>* op : forward_) op->forward(*op);
  }
  void backward() {
    for (Op<Real>* op : backward_) op->backward(*op);
  }

  /// Parallel to the store's flat vector; valid after backward(). Empty in Mode::infer.
  [[nodiscard]] std::span<Real> gradient() const;
  [[nodiscard]] const std::vector<RowGradient<Real>>& row_gradients() const { return row_gradients_; }
  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] tensor::ParameterStore<Real>& store() const { return store_; }
  [[nodiscard]] const tensor::Kernels<Real>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<OpRecord>& ops() const { return records_; }
  [[nodiscard]] const std::vector<ValueRecord>& values() const { return values_; }
  /// Bytes of machine code made for this tape's products; 0 where the process may make none.
  [[nodiscard]] std::size_t code_bytes() const { return gemm_code_.code_bytes(); }
  /// Bytes of buffers.
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes() + scratch_arena_.bytes(); }

  // For ops: buffers and entries of the lists.
  tensor::Arena& arena() { return arena_; }
  /// Takes an op with these functions and the tape's kernels from the arena; the rest of it is zero.
  template <class Made>
  Made* take(void (*forward)(Op<Real>&), void (*backward)(Op<Real>&),
             void (*prepare)(Op<Real>&, tensor::GemmCode<Real>&) = nullptr) {
    auto* op = arena_.template take<Made>();
    op->forward = forward;
    op->backward = backward;
    op->prepare = prepare;
    op->kernels = &kernels_;
    return op;
  }
  /// Room for the inputs of `count` activations; null where no slope needs them: only gelu's does, in Mode::train.
  Real* activation_inputs(Activation activation, std::size_t count) {
    return activation == Activation::gelu && mode_ == Mode::train ? arena_.template take<Real>(count) : nullptr;
  }
  /// Room for `count` elements; not zeroed.
  const Scratch<Real>* scratch(std::size_t count);
  /// A result; it has a gradient in Mode::train.
  Value<Real> result(Shape shape);
  /// Adds a value that shares the memory of `of` under another shape.
  Value<Real> alias(const Value<Real>& of, Shape shape);
  std::uint32_t rows_value(const tensor::RowTable<Real>& table);
  /// Takes an op into the lists. `operands` are those whose gradient its backward writes, in the order in which it
  /// does; `op` may be null where nothing runs.
  void record(Op<Real>* op, std::initializer_list<Operand<Real>*> operands, OpRecord record);
  void record(Op<Real>* op, std::span<Operand<Real>* const> operands, OpRecord record);
  void add_row_gradient(RowGradient<Real> gradient) { row_gradients_.push_back(gradient); }

 private:
  std::uint32_t add_value(Source source, std::string_view name, Shape shape, const void* data);

  tensor::ParameterStore<Real>& store_;
  Mode mode_;
  const tensor::Kernels<Real>& kernels_;
  // Weights stand in the store, their gradients in gradient_. arena_: all that lasts for a step. scratch_arena_: as
  // much as the op takes that needs the most.
  tensor::Arena arena_, scratch_arena_;
  Scratch<Real>* scratch_;
  std::size_t scratch_count_ = 0;
  os::Mapping gradient_;
  tensor::GemmCode<Real> gemm_code_;
  std::vector<Op<Real>*> forward_, backward_;
  std::vector<OpRecord> records_;
  std::vector<ValueRecord> values_;
  std::vector<std::uint32_t> root_;  // of aliases: the value that owns the memory
  std::vector<Op<Real>*> ops_;       // parallel to records_
  std::vector<std::vector<Operand<Real>*>> operands_;
  std::vector<Value<Real>> parameters_;  // by slice, once asked for
  std::vector<RowGradient<Real>> row_gradients_;
  bool finished_ = false;
};

extern template class Tape<float>;
extern template class Tape<double>;

}  // namespace trident::autodiff
