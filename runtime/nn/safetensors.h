// safetensors, the one format of weights and checkpoints:
//
//   u64 length of the header | header: JSON, padded with spaces to a multiple of 8 | data, little-endian, without holes
//   {"__metadata__": {"architecture": "<hash>", ..}, "<name>": {"dtype": "F32", "shape": [..], "data_offsets": [from,
//   to]}}
//
// __metadata__ of our own files has the checksum of the data, which is verified where it is there. Files are written
// beside their place and moved there when they are durable. Reading trusts nothing: every bound is
// checked before anything is used, holes and overlaps and repeated names are refused, and load_weights changes no
// weight before all of the file has been found good.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/tensor/parameter_store.h"

namespace trident::nn {

inline constexpr std::size_t kHeaderBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kWeightFileBytesMax = std::size_t{8} << 30;

enum class ElementType : std::uint8_t { f32, u32 };

/// One tensor to write: `rows` stretches of `row_elements`, `row_stride` elements apart.
struct TensorSource {
  std::string name;
  ElementType type;
  std::vector<std::uint64_t> shape;
  const void* base;
  std::size_t rows, row_elements, row_stride;
};
using Metadata = std::map<std::string, std::string>;

Result<void> write_safetensors(const std::string& path, const Metadata& metadata,
                               std::span<const TensorSource> tensors);

/// A file that has been read and found well-formed.
struct SafetensorsFile {
  struct Tensor {
    ElementType type;
    std::vector<std::uint64_t> shape;
    std::span<const std::byte> data;
  };
  Metadata metadata;
  std::map<std::string, Tensor> tensors;
  std::vector<std::byte> bytes;
};

/// `path` is only for messages. RejectedRecord says what is wrong and where.
Result<SafetensorsFile> parse_safetensors(const std::string& path, std::vector<std::byte> bytes);
Result<SafetensorsFile> read_safetensors(const std::string& path);

/// The slices of a store and the weights of its tables, for write_safetensors.
std::vector<TensorSource> weight_sources(const tensor::ParameterStore<float>& store);

/// Writes all weights with `metadata` and the architecture's hash.
Result<void> save_weights(const std::string& path, const tensor::ParameterStore<float>& store,
                          const std::string& architecture, Metadata metadata = {});

/// Fills the store from `file`: its metadata must name `architecture`, and it must have every slice and table in its
/// shape. Tensors whose names start with "optimiser." are left alone, any other surplus is refused.
Result<void> load_weights(const std::string& path, const SafetensorsFile& file, tensor::ParameterStore<float>& store,
                          const std::string& architecture);
/// Reads and fills; returns the metadata.
Result<Metadata> load_weights(const std::string& path, tensor::ParameterStore<float>& store,
                              const std::string& architecture);

/// Checks one tensor of a file against its expected type and shape; RejectedRecord when it differs.
Result<std::span<const std::byte>> expect_tensor(const std::string& path, const SafetensorsFile& file,
                                                 const std::string& name, ElementType type,
                                                 std::span<const std::uint64_t> shape);

}  // namespace trident::nn
