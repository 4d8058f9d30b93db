// An ONNX graph as it is written: nodes, constants and inputs, each a protobuf message. It knows the format and no op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/nn/protobuf.h"
#include "runtime/tensor/shape.h"

namespace trident::nn {

/// Types of elements, by TensorProto.DataType.
enum class OnnxType : std::uint8_t { real = 1, int32 = 6, int64 = 7, boolean = 9 };

ProtobufMessage integer_attribute(const char* name, std::int64_t value);
ProtobufMessage real_attribute(const char* name, float value);
ProtobufMessage integers_attribute(const char* name, const std::vector<std::int64_t>& values);

class OnnxGraph {
 public:
  /// Adds a node with one output; without a name for it, it gets a fresh one. Returns the output's name.
  std::string node(const char* type, const std::vector<std::string>& inputs,
                   const std::vector<ProtobufMessage>& attributes = {}, std::string output = "");
  /// Adds an input of `rank` dimensions: the first free, those beyond the shape's own free too.
  void input(const std::string& name, OnnxType type, const tensor::Shape& shape, std::size_t rank);

  /// Adds a constant. Returns its name; a fresh one where none is given.
  std::string constant(const std::string& name, const std::vector<std::size_t>& shape, std::span<const float> values);
  std::string constant(const std::vector<std::size_t>& shape, std::span<const float> values);
  std::string scalar(float value) { return constant({}, std::span(&value, 1)); }
  std::string integers(const std::vector<std::int64_t>& values);

  /// Returns the bytes of a ModelProto whose graph has this one output.
  [[nodiscard]] std::string model(const std::string& output, const tensor::Shape& shape) const;

 private:
  std::string fresh_name() { return "t" + std::to_string(temporaries_++); }

  std::vector<ProtobufMessage> nodes_, constants_, inputs_;
  std::size_t temporaries_ = 0;
};

}  // namespace trident::nn
