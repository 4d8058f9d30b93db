// One function per op of ours; names of values are v<id>.
#include "runtime/nn/onnx.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/nn/onnx_graph.h"

namespace trident::nn {
namespace {

using autodiff::Activation;
using autodiff::OpKind;
using autodiff::OpRecord;
using autodiff::Source;
using autodiff::Tape;
using autodiff::Value;

using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

ProtobufMessage cast_to(OnnxType type) {
  return integer_attribute("to", static_cast<std::int64_t>(type));
}

std::vector<std::size_t> extents(const tensor::Shape& shape) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < shape.rank(); ++i) all.push_back(shape[static_cast<int>(i)]);
  return all;
}

class Exporter {
 public:
  explicit Exporter(const Tape<float>& tape) : tape_(tape) {}
  Result<std::string> run(const Value<float>& output);

 private:
  [[nodiscard]] static std::string name(std::uint32_t id) { return "v" + std::to_string(id); }

  /// Inputs of the graph and plain parameters, once each. What an op wants in another layout it writes itself.
  void declare(std::uint32_t id, OpKind user);
  [[nodiscard]] std::span<const float> floats(std::uint32_t id) const;
  void activate(const OpRecord& op, const std::string& x);
  std::string plus_bias(const std::string& x, std::uint32_t bias);
  void linear(const OpRecord& op);
  void sparse_bag(const OpRecord& op);
  void conv1d(const OpRecord& op);
  void batch_norm(const OpRecord& op);
  void attention(const OpRecord& op);
  Result<void> translate(const OpRecord& op);

  const Tape<float>& tape_;
  OnnxGraph graph_;
  std::vector<bool> declared_;
};

Result<std::string> Exporter::run(const Value<float>& output) {
  const auto& ops = tape_.ops();
  std::vector<bool> needed(tape_.values().size());
  needed[output.id] = true;
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (!needed[ops[i].outputs[0]]) continue;
    for (const std::uint32_t id : ops[i].inputs) {
      if (id != UINT32_MAX) needed[id] = true;
    }
  }
  for (const OpRecord& op : ops) {
    if (!needed[op.outputs[0]]) continue;
    for (const std::uint32_t id : op.inputs) {
      if (id != UINT32_MAX) declare(id, op.kind);
    }
    TRY_VOID(translate(op));
  }
  return graph_.model(name(output.id), output.shape);
}

void Exporter::declare(std::uint32_t id, OpKind user) {
  if (declared_.size() <= id) declared_.resize(id + 1);
  if (declared_[id]) return;
  const auto& value = tape_.values()[id];
  const bool laid_out_anew = user == OpKind::batch_norm || (user == OpKind::conv1d && value.shape.rank() == 3);
  switch (value.source) {
    case Source::input: graph_.input(name(id), OnnxType::real, value.shape, value.shape.rank()); break;
    case Source::integers:
      if (user == OpKind::attention) graph_.input(name(id), OnnxType::int32, value.shape, 3);
      break;
    case Source::parameter:
    case Source::constant:
      if (laid_out_anew) return;
      graph_.constant(name(id), extents(value.shape), floats(id));
      break;
    case Source::rows:
    case Source::result: break;
  }
  declared_[id] = true;
}

std::span<const float> Exporter::floats(std::uint32_t id) const {
  const auto& value = tape_.values()[id];
  return {static_cast<const float*>(value.data), value.shape.count()};
}

void Exporter::activate(const OpRecord& op, const std::string& x) {
  const std::string& out = name(op.outputs[0]);
  switch (static_cast<Activation>(static_cast<int>(op.attribute("activation")))) {
    case Activation::none: graph_.node("Identity", {x}, {}, out); return;
    case Activation::relu: graph_.node("Relu", {x}, {}, out); return;
    case Activation::clipped_relu: graph_.node("Clip", {x, graph_.scalar(0), graph_.scalar(1)}, {}, out); return;
    case Activation::gelu: {
      const std::string inner =
          graph_.node("Erf", {graph_.node("Mul", {x, graph_.scalar(static_cast<float>(std::sqrt(0.5)))})});
      const std::string sum = graph_.node("Add", {inner, graph_.scalar(1)});
      graph_.node("Mul", {graph_.node("Mul", {x, graph_.scalar(0.5f)}), sum}, {}, out);
      return;
    }
  }
}

std::string Exporter::plus_bias(const std::string& x, std::uint32_t bias) {
  return bias == UINT32_MAX ? x : graph_.node("Add", {x, name(bias)});
}

void Exporter::linear(const OpRecord& op) {
  const std::string x = name(op.inputs[0]), w = name(op.inputs[1]);
  if (tape_.values()[op.inputs[0]].shape.rank() == 2) {
    Names inputs = {x, w};
    if (op.inputs[2] != UINT32_MAX) inputs.push_back(name(op.inputs[2]));
    return activate(op, graph_.node("Gemm", inputs));
  }
  activate(op, plus_bias(graph_.node("MatMul", {x, w}), op.inputs[2]));
}

void Exporter::sparse_bag(const OpRecord& op) {
  const auto& table = *static_cast<const tensor::RowTable<float>*>(tape_.values()[op.inputs[0]].data);
  std::vector<float> rows((table.rows() + 1) * table.width());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    std::copy_n(table.row(r), table.width(), rows.begin() + static_cast<std::ptrdiff_t>(r * table.width()));
  }
  const std::string weights = graph_.constant(name(op.inputs[0]), {table.rows() + 1, table.width()}, rows);
  std::string ids = tape_.values()[op.inputs[1]].name;
  ids = ids.substr(0, ids.rfind(".ids"));
  graph_.input(ids, OnnxType::int64, {1}, 2);
  const std::string gathered = graph_.node("Gather", {weights, ids}, {integer_attribute("axis", 0)});
  const std::string sum =
      graph_.node("ReduceSum", {gathered, graph_.integers({1})}, {integer_attribute("keepdims", 0)});
  activate(op, plus_bias(sum, op.inputs[3]));
}

void Exporter::conv1d(const OpRecord& op) {
  const auto& shape = tape_.values()[op.inputs[1]].shape;
  const std::size_t taps = shape[0], in = shape[1], out = shape[2];
  const auto w = floats(op.inputs[1]);
  std::vector<float> turned(w.size());  // [taps, in, out] to [out, in, taps]
  for (std::size_t k = 0; k < taps; ++k) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t o = 0; o < out; ++o) turned[(o * in + i) * taps + k] = w[(k * in + i) * out + o];
    }
  }
  const std::string weights = graph_.constant({out, in, taps}, turned);
  const std::string x = graph_.node("Transpose", {name(op.inputs[0])}, {integers_attribute("perm", {0, 2, 1})});
  Names inputs = {x, weights};
  if (op.inputs[2] != UINT32_MAX) inputs.push_back(name(op.inputs[2]));
  const auto half = static_cast<std::int64_t>(taps / 2);
  const std::string y = graph_.node("Conv", inputs, {integers_attribute("pads", {half, half})});
  activate(op, graph_.node("Transpose", {y}, {integers_attribute("perm", {0, 2, 1})}));
}

void Exporter::batch_norm(const OpRecord& op) {
  const auto gain = floats(op.inputs[1]), bias = floats(op.inputs[2]), mean = floats(op.inputs[3]);
  const auto variance = floats(op.inputs[4]);
  std::vector<float> scale(gain.size()), shift(gain.size());
  for (std::size_t c = 0; c < gain.size(); ++c) {
    scale[c] = gain[c] / std::sqrt(variance[c] + static_cast<float>(op.attribute("epsilon")));
    shift[c] = bias[c] - mean[c] * scale[c];
  }
  const std::string scaled = graph_.node("Mul", {name(op.inputs[0]), graph_.constant({scale.size()}, scale)});
  graph_.node("Add", {scaled, graph_.constant({shift.size()}, shift)}, {}, name(op.outputs[0]));
}

void Exporter::attention(const OpRecord& op) {
  const std::size_t channels = tape_.values()[op.inputs[0]].shape[2];
  const auto heads = static_cast<std::int64_t>(op.attribute("heads"));
  const auto width = static_cast<std::int64_t>(channels) / heads;
  const auto split = [&](std::uint32_t id, const Integers& order) {
    const std::string parts = graph_.node("Reshape", {name(id), graph_.integers({0, 0, heads, width})});
    return graph_.node("Transpose", {parts}, {integers_attribute("perm", order)});
  };
  const std::string q = split(op.inputs[0], {0, 2, 1, 3}), k = split(op.inputs[1], {0, 2, 3, 1});
  const std::string v = split(op.inputs[2], {0, 2, 1, 3});
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  std::string scores = graph_.node("Mul", {graph_.node("MatMul", {q, k}), graph_.scalar(scale)});
  std::string mask;
  if (op.inputs[3] != UINT32_MAX) {
    mask = graph_.node("Unsqueeze", {name(op.inputs[3]), graph_.integers({1})});
    const std::string seen = graph_.node("Cast", {mask}, {cast_to(OnnxType::boolean)});
    scores = graph_.node("Where", {seen, scores, graph_.scalar(-1e30f)});
  }
  std::string shares = graph_.node("Softmax", {scores}, {integer_attribute("axis", -1)});
  if (!mask.empty()) shares = graph_.node("Mul", {shares, graph_.node("Cast", {mask}, {cast_to(OnnxType::real)})});
  const std::string mixed = graph_.node("MatMul", {shares, v});
  const std::string joined = graph_.node("Transpose", {mixed}, {integers_attribute("perm", {0, 2, 1, 3})});
  graph_.node("Reshape", {joined, graph_.integers({0, 0, static_cast<std::int64_t>(channels)})}, {},
              name(op.outputs[0]));
}

Result<void> Exporter::translate(const OpRecord& op) {
  const std::string out = name(op.outputs[0]);
  Names inputs;
  for (const std::uint32_t id : op.inputs) {
    if (id != UINT32_MAX) inputs.push_back(name(id));
  }
  switch (op.kind) {
    case OpKind::linear: linear(op); return {};
    case OpKind::sparse_bag: sparse_bag(op); return {};
    case OpKind::conv1d: conv1d(op); return {};
    case OpKind::layer_norm:
      graph_.node(
          "LayerNormalization", inputs,
          {integer_attribute("axis", -1), real_attribute("epsilon", static_cast<float>(op.attribute("epsilon")))}, out);
      return {};
    case OpKind::batch_norm: batch_norm(op); return {};
    case OpKind::activate: activate(op, inputs[0]); return {};
    case OpKind::max_pool_time:
      if (op.inputs[1] != UINT32_MAX) break;
      graph_.node("ReduceMax", inputs, {integers_attribute("axes", {1}), integer_attribute("keepdims", 0)}, out);
      return {};
    case OpKind::attention: attention(op); return {};
    case OpKind::add: graph_.node("Add", inputs, {}, out); return {};
    case OpKind::multiply: graph_.node("Mul", inputs, {}, out); return {};
    case OpKind::concat: graph_.node("Concat", inputs, {integer_attribute("axis", -1)}, out); return {};
    case OpKind::slice: {
      const std::string from = graph_.integers({static_cast<std::int64_t>(op.attribute("from"))});
      const std::string to = graph_.integers({static_cast<std::int64_t>(op.attribute("to"))});
      graph_.node("Slice", {inputs[0], from, to, graph_.integers({-1})}, {}, out);
      return {};
    }
    case OpKind::reshape: {
      Integers shape = {-1};
      const auto all = extents(tape_.values()[op.outputs[0]].shape);
      for (std::size_t i = 1; i < all.size(); ++i) shape.push_back(static_cast<std::int64_t>(all[i]));
      graph_.node("Reshape", {inputs[0], graph_.integers(shape)}, {}, out);
      return {};
    }
    case OpKind::dueling: {
      const std::string mean = graph_.node("ReduceMean", {inputs[1]}, {integers_attribute("axes", {1})});
      graph_.node("Add", {graph_.node("Sub", {inputs[1], mean}), inputs[0]}, {}, out);
      return {};
    }
    case OpKind::gather_action:
    case OpKind::softmax_cross_entropy:
    case OpKind::mse:
    case OpKind::huber:
    case OpKind::pairwise_rank: break;
  }
  return make_error(ErrorCode::kUnsupported, "%s cannot be exported to ONNX: export an output before it",
                    std::string(name_of(op.kind)).c_str());
}

}  // namespace

Result<std::string> onnx_model(const Tape<float>& tape, const Value<float>& output) {
  if (tape.mode() != autodiff::Mode::infer) {
    return make_error(ErrorCode::kInvalidArgument, "only a tape recorded for inference can be exported to ONNX");
  }
  return Exporter(tape).run(output);
}

}  // namespace trident::nn
