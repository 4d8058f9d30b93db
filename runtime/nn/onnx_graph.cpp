// Field numbers are those of onnx.proto3 (onnx 1.12).
#include "runtime/nn/onnx_graph.h"

namespace trident::nn {
namespace {

std::uint64_t number_of(OnnxType type) {
  return static_cast<std::uint64_t>(type);
}

ProtobufMessage value_description(const std::string& name, OnnxType type, const tensor::Shape& shape,
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
      2, ProtobufMessage().message(1, ProtobufMessage().number(1, number_of(type)).message(2, dimensions)));
}

}  // namespace

ProtobufMessage integer_attribute(const char* name, std::int64_t value) {
  return ProtobufMessage().text(1, name).number(3, static_cast<std::uint64_t>(value)).number(20, 2);
}

ProtobufMessage real_attribute(const char* name, float value) {
  return ProtobufMessage().text(1, name).real(2, value).number(20, 1);
}

ProtobufMessage integers_attribute(const char* name, const std::vector<std::int64_t>& values) {
  ProtobufMessage attribute;
  attribute.text(1, name);
  for (const std::int64_t value : values) attribute.number(8, static_cast<std::uint64_t>(value));
  return attribute.number(20, 7);
}

std::string OnnxGraph::node(const char* type, const std::vector<std::string>& inputs,
                            const std::vector<ProtobufMessage>& attributes, std::string output) {
  if (output.empty()) output = fresh_name();
  ProtobufMessage message;
  for (const std::string& input : inputs) message.text(1, input);
  message.text(2, output).text(3, output).text(4, type);
  for (const ProtobufMessage& attribute : attributes) message.message(5, attribute);
  nodes_.push_back(std::move(message));
  return output;
}

void OnnxGraph::input(const std::string& name, OnnxType type, const tensor::Shape& shape, std::size_t rank) {
  inputs_.push_back(value_description(name, type, shape, rank));
}

std::string OnnxGraph::constant(const std::string& name, const std::vector<std::size_t>& shape,
                                std::span<const float> values) {
  ProtobufMessage tensor;
  for (const std::size_t extent : shape) tensor.number(1, extent);
  tensor.number(2, number_of(OnnxType::real)).text(8, name);
  tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  constants_.push_back(std::move(tensor));
  return name;
}

std::string OnnxGraph::constant(const std::vector<std::size_t>& shape, std::span<const float> values) {
  return constant(fresh_name(), shape, values);
}

std::string OnnxGraph::integers(const std::vector<std::int64_t>& values) {
  const std::string name = fresh_name();
  ProtobufMessage tensor;
  tensor.number(1, values.size()).number(2, number_of(OnnxType::int64)).text(8, name);
  tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
  constants_.push_back(std::move(tensor));
  return name;
}

std::string OnnxGraph::model(const std::string& output, const tensor::Shape& shape) const {
  ProtobufMessage graph;
  for (const ProtobufMessage& node : nodes_) graph.message(1, node);
  graph.text(2, "trident");
  for (const ProtobufMessage& tensor : constants_) graph.message(5, tensor);
  for (const ProtobufMessage& input : inputs_) graph.message(11, input);
  graph.message(12, value_description(output, OnnxType::real, shape, shape.rank()));
  ProtobufMessage model;
  model.number(1, 8).text(2, "trident").message(7, graph).message(8, ProtobufMessage().text(1, "").number(2, 17));
  return model.bytes();
}

}  // namespace trident::nn
