// Constants behind the code.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace trident::codegen {

class ConstantPool {
 public:
  explicit ConstantPool(std::pmr::memory_resource* arena) : bytes(arena) {}
  /// Adds `count` copies of the low `lane_bytes` of `bits`, aligned to its size. Returns the offset.
  std::int32_t add_repeated(std::uint64_t bits, std::uint32_t lane_bytes, std::uint32_t count);
  /// Adds bytes, or shares equal ones near the start of the pool. Returns the offset.
  std::int32_t add_bytes(const std::uint8_t* data, std::uint32_t size, std::uint32_t align);

  std::pmr::vector<std::uint8_t> bytes;
};

}  // namespace trident::codegen
