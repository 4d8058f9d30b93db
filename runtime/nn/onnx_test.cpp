// Oracle: protobuf's published example bytes; protoc-free reading of the wire format by a second, independent walker.
// That the models mean the same is for `make campaign NAME=onnx` (onnx.checker and ONNX Runtime).
#include "runtime/nn/onnx.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/nn/layers.h"
#include "runtime/nn/protobuf.h"

namespace trident::nn {
namespace {

using autodiff::Mode;
using tensor::ParameterStore;

TEST(Protobuf, PublishedExamples) {  // protobuf.dev/programming-guides/encoding
  EXPECT_EQ(ProtobufMessage().number(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtobufMessage().text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtobufMessage().message(3, ProtobufMessage().number(1, 150)).bytes(),
            std::string("\x1a\x03\x08\x96\x01"));
}

/// Field number to payloads of one message; fails the test when the bytes do not end with a field.
std::multimap<unsigned, std::string> fields(const std::string& bytes) {
  std::multimap<unsigned, std::string> found;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    ADD_FAILURE() << "a number without an end";
    return value;
  };
  while (at < bytes.size()) {
    const std::uint64_t key = varint();
    if (key % 8 == 0)
      found.emplace(key >> 3, std::to_string(varint()));
    else {
      const std::uint64_t length = key % 8 == 5 ? 4 : varint();
      EXPECT_LE(length, bytes.size() - at);
      found.emplace(key >> 3, bytes.substr(at, length));
      at += length;
    }
  }
  return found;
}

TEST(Onnx, AnMlpIsTwoProductsAndAnActivation) {
  ParameterStore<float> store(1);
  Tape<float> tape(store, Mode::infer);
  const auto y = mlp(tape, "m", tape.input("x", {4, 3}), {5, 2});
  const auto model = onnx_model(tape, y);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto top = fields(*model);
  EXPECT_EQ(top.find(1)->second, "8");
  EXPECT_EQ(fields(top.find(8)->second).find(2)->second, "17");
  const auto graph = fields(top.find(7)->second);
  std::string types;
  for (auto [at, end] = graph.equal_range(1); at != end; ++at) types += fields(at->second).find(4)->second + " ";
  EXPECT_EQ(types, "Gemm Relu Gemm Identity ");
  EXPECT_EQ(graph.count(5), 4u);
  EXPECT_EQ(graph.count(11), 1u);
  const auto weight = fields(graph.find(5)->second);
  EXPECT_EQ(weight.find(9)->second.size(), 3 * 5 * 4u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(store.values(store.slices()[0]).data()), 60),
            weight.find(9)->second);
}

TEST(Onnx, WhatHasNoCounterpartIsRefused) {
  ParameterStore<float> store(1);
  Tape<float> tape(store, Mode::infer), train(store, Mode::train);
  const auto q = linear(tape, "q", tape.input("x", {4, 3}), 2, Activation::none);
  const auto chosen = gather_action(tape, q, tape.integers("actions", {4}));
  EXPECT_NE(onnx_model(tape, chosen).error().message.find("gather_action"), std::string::npos);
  const auto trained = linear(train, "q", train.input("x", {4, 3}), 2, Activation::none);
  EXPECT_EQ(onnx_model(train, trained).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace trident::nn
