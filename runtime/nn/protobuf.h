// The wire format of protocol buffers, as far as writing ONNX needs it (protobuf.dev/programming-guides/encoding).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace trident::nn {

/// A message under construction: its bytes.
class ProtobufMessage {
 public:
  ProtobufMessage& number(unsigned field, std::uint64_t value) {
    varint(field << 3 | 0);
    varint(value);
    return *this;
  }
  ProtobufMessage& text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtobufMessage& real(unsigned field, float value) {
    varint(field << 3 | 5);
    char raw[4];
    std::memcpy(raw, &value, 4);
    bytes_.append(raw, 4);
    return *this;
  }
  ProtobufMessage& message(unsigned field, const ProtobufMessage& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace trident::nn
