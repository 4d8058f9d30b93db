// Field numbers are those of onnx.proto3 (onnx 1.12). One function per op of ours; names of values are v<id>.
#include "runtime/nn/onnx.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/nn/protobuf.h"

namespace trident::nn {
namespace {

using autodiff::Activation;
using autodiff::OpKind;
using autodiff::OpRecord;
using autodiff::Source;
using autodiff::Tape;
using autodiff::Value;

constexpr std::uint64_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;
using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

ProtobufMessage integer_attribute(const char* name, std::int64_t value) {
  return ProtobufMessage().text(1, name).number(3, static_cast<std::uint64_t>(value)).number(20, 2);
}
ProtobufMessage real_attribute(const char* name, float value) {
  return ProtobufMessage().text(1, name).real(2, value).number(20, 1);
}
ProtobufMessage integers_attribute(const char* name, const Integers& values) {
  ProtobufMessage attribute;
  attribute.text(1, name);
  for (const std::int64_t value : values) attribute.number(8, static_cast<std::uint64_t>(value));
  return attribute.number(20, 7);
}

class Exporter {
 public:
  explicit Exporter(const Tape<float>& tape) : tape_(tape) {}

  Result<std::string> run(const Value<float>& output) {
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
    ProtobufMessage graph;
    for (const ProtobufMessage& node : nodes_) graph.message(1, node);
    graph.text(2, "trident");
    for (const ProtobufMessage& tensor : initialisers_) graph.message(5, tensor);
    for (const ProtobufMessage& input : inputs_) graph.message(11, input);
    graph.message(12, value_description(name(output.id), kFloat, output.shape, output.shape.rank()));
    ProtobufMessage model;
    model.number(1, 8).text(2, "trident").message(7, graph).message(8, ProtobufMessage().text(1, "").number(2, 17));
    return model.bytes();
  }

 private:
  [[nodiscard]] static std::string name(std::uint32_t id) { return "v" + std::to_string(id); }

  /// `rank` dimensions: the first free, those beyond the shape's own free too.
  static ProtobufMessage value_description(const std::string& name, std::uint64_t type, const tensor::Shape& shape,
                                           std::size_t rank) {
    ProtobufMessage dimensions;
    for (std::size_t i = 0; i < rank; ++i) {
      ProtobufMessage dimension;
      if (i == 0)
        dimension.text(2, "batch");
      else if (i < shape.rank())
        dimension.number(1, shape[static_cast<int>(i)]);
      else
        dimension.text(2, "length");
      dimensions.message(1, dimension);
    }
    return ProtobufMessage().text(1, name).message(
        2, ProtobufMessage().message(1, ProtobufMessage().number(1, type).message(2, dimensions)));
  }

  std::string initialiser(const std::string& name, const std::vector<std::size_t>& shape,
                          std::span<const float> values) {
    ProtobufMessage tensor;
    for (const std::size_t extent : shape) tensor.number(1, extent);
    tensor.number(2, kFloat).text(8, name);
    tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    initialisers_.push_back(std::move(tensor));
    return name;
  }
  std::string integers(const Integers& values) {
    ProtobufMessage tensor;
    tensor.number(1, values.size()).number(2, kInt64).text(8, fresh());
    tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
    initialisers_.push_back(std::move(tensor));
    return last_;
  }
  std::string scalar(float value) { return initialiser(fresh(), {}, std::span(&value, 1)); }
  const std::string& fresh() { return last_ = "t" + std::to_string(temporaries_++); }

  std::string node(const char* type, const Names& inputs, const std::vector<ProtobufMessage>& attributes = {},
                   std::string output = "") {
    if (output.empty()) output = fresh();
    ProtobufMessage message;
    for (const std::string& input : inputs) message.text(1, input);
    message.text(2, output).text(3, output).text(4, type);
    for (const ProtobufMessage& attribute : attributes) message.message(5, attribute);
    nodes_.push_back(std::move(message));
    return output;
  }

  /// Inputs of the graph and plain parameters, once each. What an op wants in another layout it writes itself.
  void declare(std::uint32_t id, OpKind user) {
    if (declared_.size() <= id) declared_.resize(id + 1);
    if (declared_[id]) return;
    const auto& value = tape_.values()[id];
    const bool laid_out_anew = user == OpKind::batch_norm || (user == OpKind::conv1d && value.shape.rank() == 3);
    switch (value.source) {
      case Source::input:
        inputs_.push_back(value_description(name(id), kFloat, value.shape, value.shape.rank()));
        break;
      case Source::integers:
        if (user == OpKind::attention) inputs_.push_back(value_description(name(id), kInt32, value.shape, 3));
        break;
      case Source::parameter:
      case Source::constant:
        if (laid_out_anew) return;
        initialiser(name(id), extents(value.shape), floats(id));
        break;
      case Source::rows:
      case Source::result: break;
    }
    declared_[id] = true;
  }
  static std::vector<std::size_t> extents(const tensor::Shape& shape) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < shape.rank(); ++i) all.push_back(shape[static_cast<int>(i)]);
    return all;
  }
  [[nodiscard]] std::span<const float> floats(std::uint32_t id) const {
    const auto& value = tape_.values()[id];
    return {static_cast<const float*>(value.data), value.shape.count()};
  }

  void activate(const OpRecord& op, const std::string& x) {
    const std::string& out = name(op.outputs[0]);
    switch (static_cast<Activation>(static_cast<int>(op.attribute("activation")))) {
      case Activation::none: node("Identity", {x}, {}, out); return;
      case Activation::relu: node("Relu", {x}, {}, out); return;
      case Activation::clipped_relu: node("Clip", {x, scalar(0), scalar(1)}, {}, out); return;
      case Activation::gelu: {
        const std::string inner = node("Erf", {node("Mul", {x, scalar(static_cast<float>(std::sqrt(0.5)))})});
        const std::string sum = node("Add", {inner, scalar(1)});
        node("Mul", {node("Mul", {x, scalar(0.5f)}), sum}, {}, out);
        return;
      }
    }
  }
  std::string plus_bias(const std::string& x, std::uint32_t bias) {
    return bias == UINT32_MAX ? x : node("Add", {x, name(bias)});
  }

  void linear(const OpRecord& op) {
    const std::string x = name(op.inputs[0]), w = name(op.inputs[1]);
    if (tape_.values()[op.inputs[0]].shape.rank() == 2) {
      Names inputs = {x, w};
      if (op.inputs[2] != UINT32_MAX) inputs.push_back(name(op.inputs[2]));
      return activate(op, node("Gemm", inputs));
    }
    activate(op, plus_bias(node("MatMul", {x, w}), op.inputs[2]));
  }

  void sparse_bag(const OpRecord& op) {
    const auto& table = *static_cast<const tensor::RowTable<float>*>(tape_.values()[op.inputs[0]].data);
    std::vector<float> rows((table.rows() + 1) * table.width());
    for (std::size_t r = 0; r < table.rows(); ++r) {
      std::copy_n(table.row(r), table.width(), rows.begin() + static_cast<std::ptrdiff_t>(r * table.width()));
    }
    const std::string weights = initialiser(name(op.inputs[0]), {table.rows() + 1, table.width()}, rows);
    std::string ids = tape_.values()[op.inputs[1]].name;
    ids = ids.substr(0, ids.rfind(".ids"));
    inputs_.push_back(value_description(ids, kInt64, {1}, 2));
    const std::string gathered = node("Gather", {weights, ids}, {integer_attribute("axis", 0)});
    const std::string sum = node("ReduceSum", {gathered, integers({1})}, {integer_attribute("keepdims", 0)});
    activate(op, plus_bias(sum, op.inputs[3]));
  }

  void conv1d(const OpRecord& op) {
    const auto& shape = tape_.values()[op.inputs[1]].shape;
    const std::size_t taps = shape[0], in = shape[1], out = shape[2];
    const auto w = floats(op.inputs[1]);
    std::vector<float> turned(w.size());  // [taps, in, out] to [out, in, taps]
    for (std::size_t k = 0; k < taps; ++k) {
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o) turned[(o * in + i) * taps + k] = w[(k * in + i) * out + o];
      }
    }
    const std::string weights = initialiser(fresh(), {out, in, taps}, turned);
    const std::string x = node("Transpose", {name(op.inputs[0])}, {integers_attribute("perm", {0, 2, 1})});
    Names inputs = {x, weights};
    if (op.inputs[2] != UINT32_MAX) inputs.push_back(name(op.inputs[2]));
    const auto half = static_cast<std::int64_t>(taps / 2);
    const std::string y = node("Conv", inputs, {integers_attribute("pads", {half, half})});
    activate(op, node("Transpose", {y}, {integers_attribute("perm", {0, 2, 1})}));
  }

  void batch_norm(const OpRecord& op) {
    const auto gain = floats(op.inputs[1]), bias = floats(op.inputs[2]), mean = floats(op.inputs[3]);
    const auto variance = floats(op.inputs[4]);
    std::vector<float> scale(gain.size()), shift(gain.size());
    for (std::size_t c = 0; c < gain.size(); ++c) {
      scale[c] = gain[c] / std::sqrt(variance[c] + static_cast<float>(op.attribute("epsilon")));
      shift[c] = bias[c] - mean[c] * scale[c];
    }
    const std::string scaled = node("Mul", {name(op.inputs[0]), initialiser(fresh(), {scale.size()}, scale)});
    node("Add", {scaled, initialiser(fresh(), {shift.size()}, shift)}, {}, name(op.outputs[0]));
  }

  void attention(const OpRecord& op) {
    const std::size_t channels = tape_.values()[op.inputs[0]].shape[2];
    const auto heads = static_cast<std::int64_t>(op.attribute("heads"));
    const auto width = static_cast<std::int64_t>(channels) / heads;
    const auto split = [&](std::uint32_t id, const Integers& order) {
      const std::string parts = node("Reshape", {name(id), integers({0, 0, heads, width})});
      return node("Transpose", {parts}, {integers_attribute("perm", order)});
    };
    const std::string q = split(op.inputs[0], {0, 2, 1, 3}), k = split(op.inputs[1], {0, 2, 3, 1});
    const std::string v = split(op.inputs[2], {0, 2, 1, 3});
    const float scale = 1 / std::sqrt(static_cast<float>(width));
    std::string scores = node("Mul", {node("MatMul", {q, k}), scalar(scale)});
    std::string mask;
    if (op.inputs[3] != UINT32_MAX) {
      mask = node("Unsqueeze", {name(op.inputs[3]), integers({1})});
      const std::string seen = node("Cast", {mask}, {integer_attribute("to", kBool)});
      scores = node("Where", {seen, scores, scalar(-1e30f)});
    }
    std::string shares = node("Softmax", {scores}, {integer_attribute("axis", -1)});
    if (!mask.empty()) shares = node("Mul", {shares, node("Cast", {mask}, {integer_attribute("to", kFloat)})});
    const std::string mixed = node("MatMul", {shares, v});
    const std::string joined = node("Transpose", {mixed}, {integers_attribute("perm", {0, 2, 1, 3})});
    node("Reshape", {joined, integers({0, 0, static_cast<std::int64_t>(channels)})}, {}, name(op.outputs[0]));
  }

  Result<void> translate(const OpRecord& op) {
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
        node("LayerNormalization", inputs,
             {integer_attribute("axis", -1), real_attribute("epsilon", static_cast<float>(op.attribute("epsilon")))},
             out);
        return {};
      case OpKind::batch_norm: batch_norm(op); return {};
      case OpKind::activate: activate(op, inputs[0]); return {};
      case OpKind::max_pool_time:
        if (op.inputs[1] != UINT32_MAX) break;
        node("ReduceMax", inputs, {integers_attribute("axes", {1}), integer_attribute("keepdims", 0)}, out);
        return {};
      case OpKind::attention: attention(op); return {};
      case OpKind::add: node("Add", inputs, {}, out); return {};
      case OpKind::multiply: node("Mul", inputs, {}, out); return {};
      case OpKind::concat: node("Concat", inputs, {integer_attribute("axis", -1)}, out); return {};
      case OpKind::slice: {
        const std::string from = integers({static_cast<std::int64_t>(op.attribute("from"))});
        const std::string to = integers({static_cast<std::int64_t>(op.attribute("to"))});
        node("Slice", {inputs[0], from, to, integers({-1})}, {}, out);
        return {};
      }
      case OpKind::reshape: {
        Integers shape = {-1};
        const auto all = extents(tape_.values()[op.outputs[0]].shape);
        for (std::size_t i = 1; i < all.size(); ++i) shape.push_back(static_cast<std::int64_t>(all[i]));
        node("Reshape", {inputs[0], integers(shape)}, {}, out);
        return {};
      }
      case OpKind::dueling: {
        const std::string mean = node("ReduceMean", {inputs[1]}, {integers_attribute("axes", {1})});
        node("Add", {node("Sub", {inputs[1], mean}), inputs[0]}, {}, out);
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

  const Tape<float>& tape_;
  std::vector<ProtobufMessage> nodes_, initialisers_, inputs_;
  std::vector<bool> declared_;
  std::string last_;
  std::size_t temporaries_ = 0;
};

}  // namespace

Result<std::string> onnx_model(const Tape<float>& tape, const Value<float>& output) {
  if (tape.mode() != autodiff::Mode::infer) {
    return make_error(ErrorCode::kInvalidArgument, "only a tape recorded for inference can be exported to ONNX");
  }
  return Exporter(tape).run(output);
}

}  // namespace trident::nn
