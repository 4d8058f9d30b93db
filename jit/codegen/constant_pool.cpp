#include "jit/codegen/constant_pool.h"

#include <array>
#include <cstring>

namespace trident::codegen {

std::int32_t ConstantPool::add_bytes(const std::uint8_t* data, std::uint32_t size, std::uint32_t align) {
  for (std::size_t at = 0; at + size <= bytes.size() && at < 4096; at += align)
    if (std::memcmp(&bytes[at], data, size) == 0) return static_cast<std::int32_t>(at);
  bytes.resize((bytes.size() + align - 1) / align * align);
  bytes.insert(bytes.end(), data, data + size);
  return static_cast<std::int32_t>(bytes.size() - size);
}

std::int32_t ConstantPool::add_repeated(std::uint64_t bits, std::uint32_t lane_bytes, std::uint32_t count) {
  std::array<std::uint8_t, 64> buffer;
  for (std::uint32_t i = 0; i < count; ++i) std::memcpy(&buffer[i * lane_bytes], &bits, lane_bytes);
  return add_bytes(buffer.data(), count * lane_bytes, count * lane_bytes);
}

}  // namespace trident::codegen
