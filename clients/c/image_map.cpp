#include "clients/c/image_map.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/limits.h"
#include "runtime/os/cpu.h"
#include "schemas/image_checks.h"

namespace trident::client {
namespace {

Error refused(const char* why) {
  return make_error(ErrorCode::kRejectedImage, "kernel image refused: %s", why);
}

bool runs_here(std::uint8_t isa, std::uint16_t version) {
  const std::uint8_t greatest = greatest_isa();
  if (image::is_region_image(version) && isa != TRIDENT_ISA_NEON && !os::cpu_features().bmi2) return false;
  return isa != 0 && (isa == greatest || (isa == TRIDENT_ISA_AVX2 && greatest == TRIDENT_ISA_AVX512));
}

/// Ranges rise: the first and the last say it. `h` and the description are sound.
bool is_of_submitted_code(std::span<const std::byte> image, const trident_image_header& h, const ImageClaim& claim) {
  if (h.version != TRIDENT_LOOP_IMAGE_VERSION) return true;
  const auto description = image.subspan(h.description_offset, h.description_size);
  const auto head = image::description_item<trident_loop_description>(description, 0, 0);
  const auto range = [&](std::size_t i) {
    return image::description_item<trident_loop_range>(description, sizeof head, i);
  };
  const auto first = range(0), last = range(head.ranges - 1);
  return -first.offset <= static_cast<std::int64_t>(claim.code_before) &&
         last.offset + last.bytes <= static_cast<std::int64_t>(claim.code_after);
}

/// `h` and the description are sound.
bool is_of_submitted_function(std::span<const std::byte> image, const trident_image_header& h,
                              const ImageClaim& claim) {
  if (h.version != TRIDENT_FUNCTION_IMAGE_VERSION) return true;
  const auto description = image.subspan(h.description_offset, h.description_size);
  const auto head = image::description_item<trident_function_description>(description, 0, 0);
  return head.parameters == claim.parameters && head.locals + claim.windows <= TRIDENT_FUNCTION_WINDOWS_MAX;
}

Result<void> validate_digest(std::span<const std::byte> image, const trident_image_header& h, const ImageClaim& claim) {
  const XXH128_hash_t digest = image::digest_of(image);
  if (digest.low64 != h.digest[0] || digest.high64 != h.digest[1]) return refused("digest");
  if (digest.low64 != claim.digest_low || digest.high64 != claim.digest_high)
    return refused("it is not the announced image");
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
    return make_error(ErrorCode::kExecDenied, "this process is not allowed to make memory executable");
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

void* ImageMap::entry_address() const {
  return static_cast<std::byte*>(mapping_.base()) + header().entry_offset;
}

trident_entry ImageMap::entry() const {
  return reinterpret_cast<trident_entry>(entry_address());
}

std::span<const std::byte> ImageMap::description() const {
  return mapping_.bytes().subspan(header().description_offset, header().description_size);
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
  if (bytes.size() < TRIDENT_IMAGE_HEADER_BYTES) return refused("it is shorter than a header");
  trident_image_header h;
  std::memcpy(&h, bytes.data(), sizeof(h));
  if (const char* fault = image::header_fault(h, claim.size)) return refused(fault);
  if (!runs_here(h.isa, h.version)) return refused("it needs an instruction set that this CPU lacks");
  if (h.tier != claim.tier) return refused("tier");
  if (h.total_size > bytes.size() || h.total_size > limits::kImageBytesMax) return refused("total size");
  const bool speculates = claim.may_speculate && h.version == TRIDENT_SPECULATIVE_IMAGE_VERSION;
  if (h.version != claim.version && !speculates) return refused("it is of another kind than what was asked for");
  if (h.inputs != claim.inputs || h.outputs != claim.outputs || h.params != claim.params) {
    return refused("it was made for another kernel");
  }
  const auto image = bytes.first(h.total_size);
  if (!image::enters_at_landing_pad(image, h)) return refused("it has no landing pad at its entry");
  if (const char* fault = image::image_description_fault(image, h)) return refused(fault);
  if (!is_of_submitted_code(image, h, claim)) return refused("it stands for code that was not submitted");
  if (!is_of_submitted_function(image, h, claim)) return refused("it was made for another function");
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
