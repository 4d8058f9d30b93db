#include "jit/codegen/constant_pool.h"

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
  const std::size_t size = std::size_t{count} * lane_bytes;
  const std::size_t at = (bytes.size() + size - 1) / size * size;
  bytes.resize(at + size);
  for (std::size_t i = 0; i < size; i += lane_bytes) std::memcpy(&bytes[at + i], &bits, lane_bytes);
  return static_cast<std::int32_t>(at);
}

}  // namespace trident::codegen
