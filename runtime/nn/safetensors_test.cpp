// Oracle: bytes written by hand after the published format; what was saved; thousands of damaged files, none of which
// may be taken for good with other tensors than its own bytes say, and none of which may change a weight when refused.
#include "runtime/nn/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "runtime/os/atomic_file.h"
#include "runtime/tensor/generator.h"

namespace trident::nn {
namespace {

using tensor::Initialiser;
using tensor::ParameterStore;
using tensor::SliceKind;

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) bytes[8 + header.size() + i] = static_cast<std::byte>(i);
  return bytes;
}

struct Refused {
  const char* header;
  std::size_t data_bytes;
  const char* message;
};

TEST(Safetensors, RefusesWhatIsNotWellFormed) {
  const Refused cases[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7, "outside"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12, "end at byte 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "gap"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "overlap"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
       16, "duplicate"},
      {R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8, "dtype"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "takes 12"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "unsigned"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "outside"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "two unsigned"},
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, "shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", 8, "must have"},
      {R"({"a":[1]})", 0, "must have"},
      {R"({"__metadata__":{"k":1}})", 0, "not a string"},
      {R"({"__metadata__":[]})", 0, "not an object"},
      {R"([1])", 0, "begin with"},
      {R"({"a":)", 0, "not a JSON object"},
      {"", 0, "begin with"},
  };
  for (const Refused& c : cases) {
    const auto parsed = parse_safetensors("FILE", file_of(c.header, c.data_bytes));
    ASSERT_FALSE(parsed.ok()) << c.header;
    EXPECT_EQ(parsed.error().code, ErrorCode::kRejectedRecord);
    EXPECT_NE(parsed.error().message.find(c.message), std::string::npos) << c.header << ": " << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find("FILE: "), 0u);
  }
  EXPECT_FALSE(parse_safetensors("FILE", std::vector<std::byte>(7)).ok());
  std::vector<std::byte> huge(16, std::byte{0xff});
  EXPECT_NE(parse_safetensors("FILE", huge).error().message.find("header claims"), std::string::npos);
}

TEST(Safetensors, ReadsWhatTheFormatSays) {
  const auto file = parse_safetensors("FILE", file_of(R"({"b":{"dtype":"U32","shape":[],"data_offsets":[8,12]},)"
                                                      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                                                      R"("__metadata__":{"k":"v"}}  )",
                                                      12));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata.at("k"), "v");
  EXPECT_EQ(file->tensors.at("a").data[7], std::byte{7});
  EXPECT_EQ(file->tensors.at("b").data[0], std::byte{8});
  EXPECT_TRUE(file->tensors.at("b").shape.empty());
}

class Weights : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "weights_test_" + std::to_string(::getpid()) + ".safetensors";
    declare(store_);
    ASSERT_TRUE(save_weights(path_, store_, "hash", {{"step", "7"}}).ok());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  static void declare(ParameterStore<float>& store, std::size_t width = 5) {
    store.declare("w", {3, width}, SliceKind::weight, Initialiser::he_uniform, 3);
    store.declare("b", {5}, SliceKind::bias, Initialiser::ones);
    store.declare_rows("t", 4, 6, 3, 1.0f);
  }
  static std::string refusal(const std::string& path, ParameterStore<float>& store, const std::string& hash) {
    const auto loaded = load_weights(path, store, hash);
    return loaded.ok() ? "" : loaded.error().message;
  }
  static std::vector<float> all(const ParameterStore<float>& store) {
    std::vector<float> values(store.flat().begin(), store.flat().end());
    for (const auto& table : store.tables()) {
      for (std::size_t r = 0; r < table->rows(); ++r)
        values.insert(values.end(), table->row(r), table->row(r) + table->width());
    }
    return values;
  }
  std::string path_;
  ParameterStore<float> store_{1};
};

TEST_F(Weights, ComeBackAsTheyWere) {
  ParameterStore<float> other(2);
  declare(other);
  EXPECT_NE(all(other), all(store_));
  const auto metadata = load_weights(path_, other, "hash");
  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_EQ(all(other), all(store_));
  EXPECT_EQ(metadata->at("step"), "7");
  EXPECT_EQ(metadata->at("architecture"), "hash");
  EXPECT_EQ(metadata->at("seed"), "1");
}

TEST_F(Weights, OfAnotherModelAreRefusedAndChangeNothing) {
  ParameterStore<float> other(2), wide(2), more(2);
  declare(other), declare(wide, 6), declare(more);
  more.declare("more", {1}, SliceKind::bias, Initialiser::zeros);
  ParameterStore<float> fewer(2);
  fewer.declare("w", {3, 5}, SliceKind::weight, Initialiser::zeros);
  const auto before = all(other);
  EXPECT_NE(refusal(path_, other, "other").find("another model"), std::string::npos);
  EXPECT_NE(refusal(path_, wide, "hash").find("tensor w has shape [3, 5]; [3, 6] was expected"), std::string::npos);
  EXPECT_NE(refusal(path_, more, "hash").find("tensor more is missing"), std::string::npos);
  EXPECT_NE(refusal(path_, fewer, "hash").find("2 tensors that this model does not have"), std::string::npos);
  EXPECT_NE(refusal(path_ + ".none", other, "hash").find("cannot be read"), std::string::npos);
  EXPECT_EQ(all(other), before);
}

TEST_F(Weights, DamagedFilesAreRefusedOrReadAsTheirBytesSay) {
  const auto good = os::read_file(path_, 1 << 20);
  ASSERT_TRUE(good.ok());
  const std::size_t header_end = 8 + *reinterpret_cast<const std::uint64_t*>(good->data());
  tensor::Generator generator(1);
  std::size_t refused = 0, read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = *good;
    const std::size_t edits = 1 + generator.below(3);
    for (std::size_t e = 0; e < edits && !bytes.empty(); ++e) {
      const std::size_t at =
          generator.below(2) ? generator.below(std::min(header_end, bytes.size())) : generator.below(bytes.size());
      switch (generator.below(4)) {
        case 0: bytes[at] ^= static_cast<std::byte>(1u << generator.below(8)); break;
        case 1: bytes[at] = static_cast<std::byte>("0123456789[]{},:\""[generator.below(17)]); break;
        case 2: bytes.resize(at); break;
        default: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte{'9'}); break;
      }
    }
    ParameterStore<float> other(2);
    declare(other);
    const auto before = all(other);
    const bool same_length = bytes.size() == good->size();
    const std::vector<std::byte> data(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(header_end, bytes.size())),
                                      bytes.end());
    const std::string text(reinterpret_cast<const char*>(bytes.data()), std::min(header_end, bytes.size()));
    const auto file = parse_safetensors("FILE", std::move(bytes));
    // Where the checksum still has its name, all data is as it was.
    if (file.ok() && text.find("\"data_xxh3\"") != std::string::npos)
      ASSERT_TRUE(std::equal(data.begin(), data.end(), good->begin() + static_cast<std::ptrdiff_t>(header_end)));
    if (file.ok() && load_weights("FILE", *file, other, "hash").ok()) {
      ++read;
      ASSERT_TRUE(same_length);
      // Three tensors, packed in their order in the file: the values are the bytes of the data.
      const auto sources = weight_sources(other);
      std::size_t at = 0;
      for (const auto& source : sources) {
        for (std::size_t r = 0; r < source.rows; ++r, at += source.row_elements * 4) {
          ASSERT_EQ(std::memcmp(static_cast<const float*>(source.base) + r * source.row_stride, data.data() + at,
                                source.row_elements * 4),
                    0);
        }
      }
    } else {
      ++refused;
      ASSERT_EQ(std::memcmp(all(other).data(), before.data(), before.size() * 4), 0);
    }
  }
  EXPECT_GT(refused, 10000u);
  EXPECT_GT(read, 100u);
}

}  // namespace
}  // namespace trident::nn
