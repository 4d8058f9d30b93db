#include "runtime/nn/safetensors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/json/json.h"
#include "runtime/os/atomic_file.h"

namespace trident::nn {
namespace {

constexpr std::size_t kElementBytes = 4;  // of both types
constexpr const char* kArchitecture = "architecture";
constexpr std::size_t kRankMax = 8;
constexpr const char* kChecksum = "data_xxh3";  // of files that we wrote: XXH3-64 of all data, in hexadecimal

const char* name_of(ElementType type) {
  return type == ElementType::f32 ? "F32" : "U32";
}

template <class... Arguments>
Error reject(const std::string& path, const char* format, Arguments... arguments) {
  Error error = make_error(ErrorCode::kRejectedRecord, format, arguments...);
  error.message = path + ": " + error.message;
  return error;
}

std::string text_of(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<Json> parse_header(const std::string& path, std::string_view text) {
  Json header = Json::parse(text);
  if (!header.is_object()) return reject(path, "the header is not a JSON object");
  if (Json::repeats_a_name(text)) return reject(path, "the header has a duplicate key");
  return header;
}

std::string hexadecimal(std::uint64_t x) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
  return text;
}

/// The stretches of a tensor's data, in order.
template <class F>
Result<void> each_stretch(const TensorSource& tensor, F f) {
  for (std::size_t r = 0; r < tensor.rows; ++r)
    TRY_VOID(f(std::span(static_cast<const std::byte*>(tensor.base) + r * tensor.row_stride * kElementBytes,
                         tensor.row_elements * kElementBytes)));
  return {};
}

std::string checksum_of(std::span<const TensorSource> tensors) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const TensorSource& tensor : tensors)
    CHECK(each_stretch(tensor, [&](std::span<const std::byte> bytes) -> Result<void> {
            XXH3_64bits_update(&state, bytes.data(), bytes.size());
            return {};
          }).ok());
  return hexadecimal(XXH3_64bits_digest(&state));
}

struct Extent {
  std::uint64_t from, to;
  std::string name;
};

Result<SafetensorsFile::Tensor> parse_tensor(const std::string& path, const std::string& name, const Json& entry,
                                             std::span<const std::byte> data, std::vector<Extent>& extents) {
  const char* n = name.c_str();
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return reject(path, "tensor %s: its entry must have dtype, shape and data_offsets", n);
  }
  SafetensorsFile::Tensor tensor{};
  const Json &dtype = entry.at("dtype"), &shape = entry.at("shape"), &offsets = entry.at("data_offsets");
  if (dtype.is_text("F32"))
    tensor.type = ElementType::f32;
  else if (dtype.is_text("U32"))
    tensor.type = ElementType::u32;
  else
    return reject(path, "tensor %s: its dtype is neither F32 nor U32", n);
  if (!shape.is_array() || shape.size() > kRankMax)
    return reject(path, "tensor %s: its shape is not a list of at most 8 extents", n);
  std::uint64_t bytes = kElementBytes;
  for (const Json& extent : shape) {
    if (!extent.is_natural()) return reject(path, "tensor %s: an extent of its shape is not an unsigned integer", n);
    tensor.shape.push_back(extent.get<std::uint64_t>());
    if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes)) {
      return reject(path, "tensor %s: its shape %s is too large", n, text_of(tensor.shape).c_str());
    }
  }
  if (!offsets.is_array() || offsets.size() != 2 || !offsets.at(0).is_natural() || !offsets.at(1).is_natural()) {
    return reject(path, "tensor %s: data_offsets are not two unsigned integers", n);
  }
  const auto from = offsets.at(0).get<std::uint64_t>(), to = offsets.at(1).get<std::uint64_t>();
  if (from > to || to > data.size()) {
    return reject(path, "tensor %s: data_offsets [%llu, %llu) are outside the %zu bytes of data", n,
                  static_cast<unsigned long long>(from), static_cast<unsigned long long>(to), data.size());
  }
  if (to - from != bytes) {
    return reject(path, "tensor %s: %llu bytes of data, but shape %s takes %llu", n,
                  static_cast<unsigned long long>(to - from), text_of(tensor.shape).c_str(),
                  static_cast<unsigned long long>(bytes));
  }
  tensor.data = data.subspan(from, to - from);
  if (to > from) extents.push_back({from, to, name});
  return tensor;
}

}  // namespace

Result<void> write_safetensors(const std::string& path, const Metadata& metadata,
                               std::span<const TensorSource> tensors) {
  Json header = Json::object();
  Metadata said = metadata;
  said[kChecksum] = checksum_of(tensors);
  Json& notes = header["__metadata__"] = Json::object();
  for (const auto& [name, text] : said) notes[name] = text;
  std::uint64_t at = 0;
  for (const TensorSource& tensor : tensors) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : tensor.shape) count *= extent;
    CHECK(count == tensor.rows * tensor.row_elements && !header.contains(tensor.name));
    header[tensor.name] = {{"dtype", name_of(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", std::vector{at, at + count * kElementBytes}}};
    at += count * kElementBytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  const std::uint64_t length = text.size();
  TRY_VOID(file.append(std::as_bytes(std::span(&length, 1))));
  TRY_VOID(file.append(std::as_bytes(std::span(text))));
  for (const TensorSource& tensor : tensors)
    TRY_VOID(each_stretch(tensor, [&](std::span<const std::byte> bytes) { return file.append(bytes); }));
  return file.commit();
}

Result<SafetensorsFile> parse_safetensors(const std::string& path, std::vector<std::byte> bytes) {
  SafetensorsFile file;
  file.bytes = std::move(bytes);
  std::uint64_t length = 0;
  if (file.bytes.size() < sizeof length)
    return reject(path, "too short for a safetensors file: %zu bytes", file.bytes.size());
  std::memcpy(&length, file.bytes.data(), sizeof length);
  if (length > kHeaderBytesMax || length > file.bytes.size() - sizeof length) {
    return reject(path, "the header claims %llu bytes, but the file has %zu and the limit is %zu",
                  static_cast<unsigned long long>(length), file.bytes.size(), kHeaderBytesMax);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()) + sizeof length, length);
  if (text.empty() || text[0] != '{') return reject(path, "the header does not begin with '{'");
  TRY(const Json header, parse_header(path, text));
  const auto data = std::span<const std::byte>(file.bytes).subspan(sizeof length + length);
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return reject(path, "__metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return reject(path, "__metadata__: %s is not a string", key.c_str());
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    TRY(auto tensor, parse_tensor(path, name, entry, data, extents));
    file.tensors.emplace(name, std::move(tensor));
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.from < b.from; });
  std::uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.from != end) {
      return reject(path, "tensor %s begins at byte %llu of the data, where %llu was expected: %s", extent.name.c_str(),
                    static_cast<unsigned long long>(extent.from), static_cast<unsigned long long>(end),
                    extent.from < end ? "two tensors overlap" : "there is a gap");
    }
    end = extent.to;
  }
  if (end != data.size()) {
    return reject(path, "the tensors end at byte %llu of %zu bytes of data", static_cast<unsigned long long>(end),
                  data.size());
  }
  if (const auto sum = file.metadata.find(kChecksum); sum != file.metadata.end()) {
    if (sum->second != hexadecimal(XXH3_64bits(data.data(), data.size())))
      return reject(path, "the data is damaged: its checksum is not the one in the header");
    file.metadata.erase(sum);
  }
  return file;
}

Result<SafetensorsFile> read_safetensors(const std::string& path) {
  TRY(std::vector<std::byte> bytes, os::read_file(path, kWeightFileBytesMax));
  return parse_safetensors(path, std::move(bytes));
}

std::vector<TensorSource> weight_sources(const tensor::ParameterStore<float>& store) {
  std::vector<TensorSource> sources;
  for (const auto& slice : store.slices()) {
    std::vector<std::uint64_t> shape;
    for (std::size_t i = 0; i < slice.shape.rank(); ++i) shape.push_back(slice.shape[static_cast<int>(i)]);
    const std::size_t count = slice.shape.count();
    sources.push_back({slice.name, ElementType::f32, shape, store.values(slice).data(), 1, count, count});
  }
  for (const auto& table : store.tables()) {
    sources.push_back({table->name(),
                       ElementType::f32,
                       {table->rows(), table->width()},
                       table->base(),
                       table->rows(),
                       table->width(),
                       table->row_stride()});
  }
  return sources;
}

Result<void> save_weights(const std::string& path, const tensor::ParameterStore<float>& store,
                          const std::string& architecture, Metadata metadata) {
  metadata[kArchitecture] = architecture;
  metadata.emplace("seed", std::to_string(store.seed()));
  const auto sources = weight_sources(store);
  return write_safetensors(path, metadata, sources);
}

Result<std::span<const std::byte>> expect_tensor(const std::string& path, const SafetensorsFile& file,
                                                 const std::string& name, ElementType type,
                                                 std::span<const std::uint64_t> shape) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return reject(path, "tensor %s is missing", name.c_str());
  if (found->second.type != type) {
    return reject(path, "tensor %s is %s; %s was expected", name.c_str(), name_of(found->second.type), name_of(type));
  }
  if (!std::equal(shape.begin(), shape.end(), found->second.shape.begin(), found->second.shape.end())) {
    return reject(path, "tensor %s has shape %s; %s was expected", name.c_str(), text_of(found->second.shape).c_str(),
                  text_of(shape).c_str());
  }
  return found->second.data;
}

Result<void> load_weights(const std::string& path, const SafetensorsFile& file, tensor::ParameterStore<float>& store,
                          const std::string& architecture) {
  const auto named = file.metadata.find(kArchitecture);
  if (named == file.metadata.end() || named->second != architecture) {
    return reject(
        path,
        "these are weights of another model: its architecture is %s, not %s; train again, or name a file of this model",
        named == file.metadata.end() ? "unknown" : named->second.c_str(), architecture.c_str());
  }
  const auto sources = weight_sources(store);
  std::vector<std::span<const std::byte>> data;
  std::size_t known = 0;
  for (const TensorSource& source : sources) {
    TRY(auto bytes, expect_tensor(path, file, source.name, source.type, source.shape));
    data.push_back(bytes);
    ++known;
  }
  for (const auto& [name, tensor] : file.tensors) known += name.starts_with("optimiser.") ? 1 : 0;
  if (known != file.tensors.size())
    return reject(path, "it has %zu tensors that this model does not have", file.tensors.size() - known);
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (std::size_t at = 0; at < data[i].size(); at += kElementBytes) {
      float weight;
      std::memcpy(&weight, data[i].data() + at, sizeof weight);
      if (!std::isfinite(weight)) return reject(path, "tensor %s: a weight is not finite", sources[i].name.c_str());
    }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const TensorSource& source = sources[i];
    // The sources point into the store, which we were given to change.
    auto* to = const_cast<std::byte*>(static_cast<const std::byte*>(source.base));
    const std::size_t row_bytes = source.row_elements * kElementBytes;
    for (std::size_t r = 0; r < source.rows; ++r) {
      std::memcpy(to + r * source.row_stride * kElementBytes, data[i].data() + r * row_bytes, row_bytes);
    }
  }
  return {};
}

Result<Metadata> load_weights(const std::string& path, tensor::ParameterStore<float>& store,
                              const std::string& architecture) {
  TRY(SafetensorsFile file, read_safetensors(path));
  TRY_VOID(load_weights(path, file, store, architecture));
  return std::move(file.metadata);
}

}  // namespace trident::nn
