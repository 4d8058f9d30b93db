#include "clients/c/image_map.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/base/limits.h"
#include "runtime/os/cpu.h"

namespace trident::client {
namespace {

constexpr std::uint32_t kAlign = 64;

Error refused(const char* why) {
  return make_error(ErrorCode::kRejectedImage, "kernel image refused: %s", why);
}

Result<void> validate_layout(const trident_image_header& h) {
  const std::uint64_t code_end = std::uint64_t{h.code_offset} + h.code_size;
  const std::uint64_t pool_end = std::uint64_t{h.pool_offset} + h.pool_size;
  const std::uint64_t unwind_end = std::uint64_t{h.unwind_offset} + h.unwind_size;
  if (h.code_offset < TRIDENT_IMAGE_HEADER_BYTES || h.code_offset % kAlign != 0) return refused("code offset");
  if (h.code_size == 0 || code_end > h.total_size) return refused("code size");
  if (h.entry_offset < h.code_offset || h.entry_offset >= code_end) return refused("entry outside the code");
  if (h.pool_offset < code_end || h.pool_offset % kAlign != 0) return refused("pool offset");
  if (pool_end > h.unwind_offset || unwind_end > h.total_size) return refused("unwind place");
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  if (h.reserved0 != 0 || !std::all_of(std::begin(h.reserved1), std::end(h.reserved1), is_zero)) {
    return refused("reserved bytes");
  }
  return {};
}

bool runs_here(std::uint8_t isa) {
  const std::uint8_t greatest = greatest_isa();
  return isa != 0 && (isa == greatest || (isa == TRIDENT_ISA_AVX2 && greatest == TRIDENT_ISA_AVX512));
}

bool starts_with_landing_pad(std::span<const std::byte> code) {
#if defined(__aarch64__)
  constexpr unsigned char kPad[4] = {0x5f, 0x24, 0x03, 0xd5};  // bti c
#else
  constexpr unsigned char kPad[4] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
#endif
  return code.size() >= sizeof(kPad) && std::memcmp(code.data(), kPad, sizeof(kPad)) == 0;
}

Result<void> validate_digest(std::span<const std::byte> image, const trident_image_header& h, const ImageClaim& claim) {
  const XXH64_hash_t seed = XXH3_64bits(image.data(), TRIDENT_IMAGE_DIGEST_OFFSET);
  const auto body = image.subspan(TRIDENT_IMAGE_HEADER_BYTES);
  const XXH128_hash_t digest = XXH3_128bits_withSeed(body.data(), body.size(), seed);
  if (digest.low64 != h.digest[0] || digest.high64 != h.digest[1]) return refused("digest");
  if (digest.low64 != claim.digest_low || digest.high64 != claim.digest_high) return refused("not the announced image");
  return {};
}

// Makes fresh code visible to the instruction stream of every thread, before its address is published. The
// registration belongs to the address space and may be lost over fork: ask, register, ask again. A kernel without
// membarrier (ENOSYS, EINVAL) is left to the interrupts that mmap and the page fault imply on x86.
void synchronise_code(const os::Mapping& mapping) {
  auto* first = static_cast<char*>(mapping.base());
  __builtin___clear_cache(first, first + mapping.size());
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0 || errno != EPERM) return;
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0) {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  }
}

Result<os::Mapping> map_own_copy(std::span<const std::byte> bytes) {
  if (auto fd = os::make_sealed_memfd("trident-kernel", bytes, std::byte{0xCC})) {
    if (auto mapping = os::map_executable(*fd, bytes.size())) return mapping;
  }
  const std::size_t size = os::round_to_pages(bytes.size());
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return make_error(ErrorCode::kExecDenied, "mmap: %s", std::strerror(errno));
  os::Mapping mapping(base, size);
  std::memcpy(base, bytes.data(), bytes.size());
  if (::mprotect(base, size, PROT_READ | PROT_EXEC) != 0) {
    return make_error(ErrorCode::kExecDenied, "this process may not make memory executable");
  }
  return mapping;
}

// The bytes that will run are the ones that are checked: `mapping` can no longer change.
Result<ImageMap> accept(os::Mapping mapping, const ImageClaim& claim) {
  TRY_VOID(validate_image(mapping.bytes(), claim));
  synchronise_code(mapping);
  return ImageMap(std::move(mapping));
}

}  // namespace

trident_entry ImageMap::entry() const {
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_.base()) + header().entry_offset;
  return reinterpret_cast<trident_entry>(address);
}

std::uint8_t greatest_isa() {
  static const std::uint8_t isa = [] {
    const os::CpuFeatures& cpu = os::cpu_features();
    const char* text = ::secure_getenv("TRIDENT_ISA");
    const std::string_view limit = text != nullptr ? text : "";
    if (limit == "none") return std::uint8_t{0};
    if (cpu.neon) return std::uint8_t{TRIDENT_ISA_NEON};
    if (cpu.avx512 && limit != "avx2") return std::uint8_t{TRIDENT_ISA_AVX512};
    return cpu.avx2_fma ? std::uint8_t{TRIDENT_ISA_AVX2} : std::uint8_t{0};
  }();
  return isa;
}

Result<void> validate_image(std::span<const std::byte> bytes, const ImageClaim& claim) {
  if (bytes.size() < TRIDENT_IMAGE_HEADER_BYTES) return refused("shorter than a header");
  trident_image_header h;
  std::memcpy(&h, bytes.data(), sizeof(h));
  if (h.magic != TRIDENT_IMAGE_MAGIC) return refused("magic number");
  if (h.version != TRIDENT_IMAGE_VERSION) return refused("version");
  if (!runs_here(h.isa)) return refused("an instruction set that this CPU lacks");
  if (h.tier != claim.tier || h.tier == TRIDENT_TIER_INTERPRETER) return refused("tier");
  if (h.total_size != claim.size || h.total_size > bytes.size() || h.total_size > limits::kImageBytesMax ||
      h.total_size < TRIDENT_IMAGE_HEADER_BYTES) {
    return refused("total size");
  }
  TRY_VOID(validate_layout(h));
  if (h.inputs != claim.inputs || h.outputs != claim.outputs || h.params != claim.params) {
    return refused("made for another kernel");
  }
  const auto image = bytes.first(h.total_size);
  if (!starts_with_landing_pad(image.subspan(h.entry_offset, h.code_offset + h.code_size - h.entry_offset))) {
    return refused("no landing pad at the entry");
  }
  return validate_digest(image, h, claim);
}

Result<ImageMap> map_image(const os::Fd& fd, const ImageClaim& claim) {
  TRY(const std::size_t size, os::sealed_size(fd));
  if (size < TRIDENT_IMAGE_HEADER_BYTES || size > os::round_to_pages(limits::kImageBytesMax) || size < claim.size) {
    return refused("size of the file");
  }
  auto mapping = os::map_executable(fd, size);
  if (mapping) return accept(std::move(mapping).value(), claim);
  TRY(const os::Mapping source, os::map_read_only(fd, size));
  return map_image_bytes(source.bytes(), claim);
}

Result<ImageMap> map_image_bytes(std::span<const std::byte> bytes, const ImageClaim& claim) {
  TRY_VOID(validate_image(bytes, claim));
  TRY(os::Mapping mapping, map_own_copy(bytes.first(claim.size)));
  return accept(std::move(mapping), claim);
}

}  // namespace trident::client
