// Writes models to FOLDER for `make campaign NAME=onnx`: NAME.onnx, and NAME.json with random inputs and the results of our
// own inference, for run_models.js to repeat with ONNX Runtime.
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/nn/layers.h"
#include "runtime/nn/onnx.h"
#include "runtime/tensor/generator.h"

namespace trident {
namespace {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Integers;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using Json = nlohmann::json;

constexpr std::size_t kBatch = 5;

/// One model under construction, and the JSON of its inputs. Inputs are named as they are on the tape's graph.
struct Case {
  tensor::ParameterStore<float> store{23};
  Tape<float> tape{store, Mode::infer};
  tensor::Generator generator{7};
  Json inputs = Json::array();

  float random() { return static_cast<float>(2 * generator.uniform() - 1); }
  static std::string graph_name(std::uint32_t id) { return "v" + std::to_string(id); }
  static Json extents(const tensor::Shape& shape) {
    Json all = Json::array();
    for (std::size_t i = 0; i < shape.rank(); ++i) all.push_back(shape[static_cast<int>(i)]);
    return all;
  }
  Value<float> input(tensor::Shape shape) {
    const auto value = tape.input("x", shape);
    for (float& v : value.values()) v = 2 * random();
    inputs.push_back(
        {{"name", graph_name(value.id)}, {"type", "float32"}, {"dims", extents(shape)}, {"data", value.values()}});
    return value;
  }
  Integers mask(tensor::Shape shape) {
    const auto value = tape.integers("mask", shape);
    for (auto& v : value.values()) v = static_cast<std::int32_t>(generator.below(2));
    std::fill_n(value.data, shape[-1], 0);  // one query sees nothing
    inputs.push_back(
        {{"name", graph_name(value.id)}, {"type", "int32"}, {"dims", extents(shape)}, {"data", value.values()}});
    return value;
  }
  /// Lists of different lengths; padded with `rows` for the graph.
  Bags bags(const std::string& name, std::size_t count, std::size_t longest, std::size_t rows, bool exact = false) {
    const Bags bags = tape.bags(name, count, count * longest);
    Json padded = Json::array();
    std::int32_t at = 0;
    for (std::size_t b = 0; b < count; ++b) {
      const std::size_t length = exact ? longest : (b == 0 ? 0 : 1 + generator.below(longest));
      for (std::size_t i = 0; i < longest; ++i) {
        const auto id = i < length ? static_cast<std::int32_t>(generator.below(rows)) : static_cast<std::int32_t>(rows);
        if (i < length) bags.ids.data[at++] = id;
        padded.push_back(id);
      }
      bags.offsets.data[b + 1] = at;
    }
    inputs.push_back({{"name", name}, {"type", "int64"}, {"dims", {count, longest}}, {"data", padded}});
    return bags;
  }
};

Value<float> text_convolution(Case& c) {
  auto h = reshape(
      c.tape,
      nn::sparse_bag(c.tape, "embed", c.bags("bytes", kBatch * 12, 1, 261, true), 261, 16, 1, 1, Activation::none),
      {kBatch, 12, 16});
  h = nn::batch_norm(c.tape, "norm", nn::conv1d(c.tape, "one", h, 3, 24, Activation::relu));
  h = activate(c.tape, h, Activation::gelu);
  h = max_pool_time(c.tape, nn::conv1d(c.tape, "two", h, 5, 20, Activation::clipped_relu), {});
  return nn::linear(c.tape, "head", h, 7, Activation::none);
}

Value<float> attention(Case& c) {
  const auto queries = c.input({kBatch, 6, 16}), context = c.input({kBatch, 9, 16});
  const auto h = nn::layer_norm(c.tape, "norm", queries);
  const auto mixed = nn::attention(c.tape, "a", h, context, c.mask({kBatch, 6, 9}), 4);
  const auto sum = add(c.tape, queries, mixed);
  return nn::mlp(c.tape, "f", nn::layer_norm(c.tape, "after", sum), {32, 16}, Activation::gelu);
}

Value<float> mixture(Case& c) {
  const auto x = c.input({kBatch, 8}), y = c.input({kBatch, 8});
  const Value<float> parts[] = {slice(c.tape, x, 2, 7), multiply(c.tape, x, y), add(c.tape, x, y)};
  const auto joined = autodiff::concat<float>(c.tape, parts);
  return nn::linear(c.tape, "out", joined, 3, Activation::clipped_relu);
}

const std::pair<const char*, std::function<Value<float>(Case&)>> kModels[] = {
    {"mlp",
     [](Case& c) {
       return nn::mlp(c.tape, "m", c.input({kBatch, 144}), {128, 64, 6});
     }},
    {"dueling",
     [](Case& c) {
       const auto h = nn::linear(c.tape, "m", c.input({kBatch, 144}), 64, Activation::relu);
       return nn::dueling_head(c.tape, "q", h, 6);
     }},
    {"conv", text_convolution},
    {"attention", attention},
    {"bag",
     [](Case& c) {
       const auto h = nn::sparse_bag(c.tape, "features", c.bags("features", kBatch, 20, 500), 500, 64, 3, 20,
                                     Activation::clipped_relu);
       return nn::mlp(c.tape, "m", h, {32, 1});
     }},
    {"mixture", mixture},
};

int write_models(const std::string& folder) {
  for (const auto& [name, build] : kModels) {
    Case c;
    const Value<float> output = build(c);
    c.tape.finish();
    for (const auto& slice : c.store.slices()) {  // no neutral parameters: they would hide what is left out
      for (float& v : c.store.values(slice)) {
        if (slice.name.ends_with("variance"))
          v = 0.5f + c.random() * 0.4f;
        else
          v += 0.2f * c.random();
      }
    }
    c.tape.forward();
    const auto model = nn::onnx_model(c.tape, output);
    if (!model.ok()) {
      std::fprintf(stderr, "%s: %s\n", name, model.error().message.c_str());
      return 1;
    }
    std::ofstream(folder + "/" + name + ".onnx", std::ios::binary) << *model;
    const Json expected = {
        {"name", Case::graph_name(output.id)}, {"dims", Case::extents(output.shape)}, {"data", output.values()}};
    std::ofstream(folder + "/" + name + ".json") << Json{{"inputs", c.inputs}, {"output", expected}};
  }
  return 0;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: export_onnx_models FOLDER\n");
    return 2;
  }
  return trident::write_models(argv[1]);
}
