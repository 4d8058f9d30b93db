// An image is checked twice: here when it is built (CHECK: a violation is our bug) and by validate() wherever it comes
// from outside (an Error: somebody else's bytes). The digest catches nearly every changed byte. The field checks make
// sure that even bytes with a right digest cannot lead outside the mapping. The client makes the same layout checks
// (schemas/image_checks.h).
#include "jit/image/image.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "jit/codegen/speculative.h"
#include "runtime/base/limits.h"
#include "schemas/image_checks.h"

namespace trident::image {
namespace {

static_assert(std::is_trivially_copyable_v<trident_image_header>);

constexpr std::byte kTrapX86{0xCC};  // int3
constexpr std::byte kTrapArm{0x00};  // udf #0 is all zeros

constexpr const char* kFileName = "trident-kernel";  // in /proc/PID/maps

std::byte trap_byte(std::uint8_t isa) {
  return isa == TRIDENT_ISA_NEON ? kTrapArm : kTrapX86;
}

struct IsaNumber {
  codegen::Isa isa;
  std::uint8_t number;
};
constexpr IsaNumber kIsaNumbers[] = {{codegen::Isa::avx2, TRIDENT_ISA_AVX2},
                                     {codegen::Isa::avx512, TRIDENT_ISA_AVX512},
                                     {codegen::Isa::neon, TRIDENT_ISA_NEON}};

std::size_t align_up(std::size_t n) {
  return (n + TRIDENT_IMAGE_ALIGN - 1) / TRIDENT_IMAGE_ALIGN * TRIDENT_IMAGE_ALIGN;
}

Error refused(const char* what) {
  return make_error(ErrorCode::kRejectedImage, "kernel image refused: %s", what);
}

/// Loops and functions take no arguments of kernels.
const char* counts_of_arguments_fault(const trident_image_header& h) {
  if (is_region_image(h.version))
    return (h.inputs | h.outputs | h.params) == 0 ? nullptr : "number of inputs and outputs of a loop or function";
  if (h.inputs > limits::kInputsMax || h.params > limits::kInputsMax || h.inputs + h.params > limits::kInputsMax)
    return "number of inputs";
  return h.outputs == 0 || h.outputs > limits::kOutputsMax ? "number of outputs" : nullptr;
}

}  // namespace

std::uint8_t isa_number(codegen::Isa isa) {
  for (const IsaNumber& row : kIsaNumbers)
    if (row.isa == isa) return row.number;
  CHECK(false);
}

Result<codegen::Isa> isa_of(std::uint8_t number) {
  for (const IsaNumber& row : kIsaNumbers)
    if (row.number == number) return row.isa;
  return make_error(ErrorCode::kUnsupported, "no instruction set has the number %u", number);
}

const trident_image_header& ImageBytes::header() const {
  CHECK(bytes.size() >= sizeof(trident_image_header));
  return *reinterpret_cast<const trident_image_header*>(bytes.data());
}

Counts counts_of(const kir::Kernel& kernel) {
  return {static_cast<std::uint32_t>(kernel.inputs.size()), static_cast<std::uint32_t>(kernel.outputs.size()),
          static_cast<std::uint32_t>(kernel.params.size())};
}

namespace {

/// Fills the places of code, pool and unwind part; returns the offset of the next byte.
std::size_t place_code(const codegen::MachineCode& code, trident_image_header& h) {
  CHECK(code.pool_offset % TRIDENT_IMAGE_ALIGN == 0);
  CHECK(code.code_size <= code.pool_offset);
  CHECK(code.pool_offset <= align_up(code.bytes.size()));
  const std::size_t code_offset = TRIDENT_IMAGE_HEADER_BYTES;
  const std::size_t pool_offset = code_offset + code.pool_offset;
  const std::size_t pool_size = code.bytes.size() > code.pool_offset ? code.bytes.size() - code.pool_offset : 0;
  // The FDE's pc_begin is relative to its own place, so the distance is fixed.
  const std::size_t unwind_offset =
      code.eh_frame.empty() ? pool_offset + pool_size : code_offset + code.eh_frame_distance;
  CHECK(unwind_offset >= pool_offset + pool_size);
  h.code_offset = static_cast<std::uint32_t>(code_offset);
  h.code_size = code.code_size;
  h.entry_offset = h.code_offset;
  h.pool_offset = static_cast<std::uint32_t>(pool_offset);
  h.pool_size = static_cast<std::uint32_t>(pool_size);
  h.unwind_offset = static_cast<std::uint32_t>(unwind_offset);
  h.unwind_size = static_cast<std::uint32_t>(code.eh_frame.size());
  return unwind_offset + code.eh_frame.size();
}

trident_image_header header_of(std::uint16_t version, codegen::Isa isa, trident_tier tier, const Key& key) {
  trident_image_header h{};
  h.magic = TRIDENT_IMAGE_MAGIC;
  h.version = version;
  h.isa = isa_number(isa);
  h.tier = static_cast<std::uint8_t>(tier);
  std::copy(key.begin(), key.end(), h.key);
  return h;
}

/// Writes the parts where `h` says they lie, and the digest.
ImageBytes lay_out(trident_image_header& h, const codegen::MachineCode& code, std::span<const std::byte> description) {
  ImageBytes image;
  image.bytes.assign(h.total_size, trap_byte(h.isa));
  const auto put = [&](std::size_t offset, std::span<const std::byte> part) {
    if (!part.empty()) std::memcpy(image.bytes.data() + offset, part.data(), part.size());
  };
  const auto header = std::as_bytes(std::span(&h, 1));
  put(0, header);
  put(h.code_offset, code.bytes);
  put(h.unwind_offset, code.eh_frame);
  put(h.description_offset, description);
  const XXH128_hash_t digest = digest_of(image.bytes);
  h.digest[0] = digest.low64;
  h.digest[1] = digest.high64;
  put(0, header);
  return image;
}

}  // namespace

namespace {

ImageBytes build_kernel(trident_image_header h, const codegen::MachineCode& code, const Counts& counts) {
  const std::size_t end = place_code(code, h);
  CHECK(end <= UINT32_MAX);
  h.total_size = static_cast<std::uint32_t>(end);
  h.inputs = counts.inputs;
  h.outputs = counts.outputs;
  h.params = counts.params;
  return lay_out(h, code, {});
}

}  // namespace

ImageBytes build(const codegen::MachineCode& code, const Counts& counts, codegen::Isa isa, trident_tier tier,
                 const Key& key) {
  return build_kernel(header_of(TRIDENT_IMAGE_VERSION, isa, tier, key), code, counts);
}

ImageBytes build_speculative(const codegen::MachineCode& code, const Counts& counts, codegen::Isa isa, const Key& key) {
  static_assert(TRIDENT_SELF_MISSES_OFFSET == codegen::kMissesOffset);
  return build_kernel(header_of(TRIDENT_SPECULATIVE_IMAGE_VERSION, isa, TRIDENT_TIER_OPTIMISED, key), code, counts);
}

namespace {

ImageBytes build_region(trident_image_header h, const codegen::MachineCode& code,
                        std::span<const std::byte> description) {
  constexpr std::size_t kAlign = TRIDENT_IMAGE_DESCRIPTION_ALIGN;
  const std::size_t offset = (place_code(code, h) + kAlign - 1) / kAlign * kAlign;
  CHECK(offset + description.size() <= UINT32_MAX);
  h.description_offset = static_cast<std::uint32_t>(offset);
  h.description_size = static_cast<std::uint32_t>(description.size());
  h.total_size = h.description_offset + h.description_size;
  return lay_out(h, code, description);
}

}  // namespace

ImageBytes build_loop(const codegen::MachineCode& code, std::span<const std::byte> description, codegen::Isa isa,
                      trident_tier tier, const Key& key) {
  CHECK(description_fault(description) == nullptr);
  return build_region(header_of(TRIDENT_LOOP_IMAGE_VERSION, isa, tier, key), code, description);
}

ImageBytes build_function(const codegen::MachineCode& code, std::span<const std::byte> description, codegen::Isa isa,
                          trident_tier tier, const Key& key) {
  CHECK(function_description_fault(description) == nullptr);
  return build_region(header_of(TRIDENT_FUNCTION_IMAGE_VERSION, isa, tier, key), code, description);
}

Result<void> validate(std::span<const std::byte> bytes) {
  if (bytes.size() < TRIDENT_IMAGE_HEADER_BYTES) return refused("it is shorter than a header");
  if (bytes.size() > limits::kImageBytesMax) return refused("it is longer than the limit of images");
  trident_image_header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (const char* fault = header_fault(h, bytes.size())) return refused(fault);
  if (!isa_of(h.isa).ok()) return refused("instruction set");
  if (const char* fault = counts_of_arguments_fault(h)) return refused(fault);
  if (!enters_at_landing_pad(bytes, h)) return refused("no landing pad at the entry");
  if (const char* fault = image_description_fault(bytes, h)) return refused(fault);
  const XXH128_hash_t digest = digest_of(bytes);
  if (h.digest[0] != digest.low64 || h.digest[1] != digest.high64) return refused("digest");
  return {};
}

Result<os::Fd> seal(const ImageBytes& image) {
  TRY_VOID(validate(image.bytes));
  return os::make_sealed_memfd(kFileName, image.bytes, trap_byte(image.header().isa));
}

Result<Mapped> Mapped::map(const os::Fd& fd) {
  TRY(const std::size_t size, os::sealed_size(fd));
  if (size < TRIDENT_IMAGE_HEADER_BYTES || size > os::round_to_pages(limits::kImageBytesMax)) return refused("size");
  TRY(os::Mapping mapping, os::map_executable(fd, size));
  trident_image_header h;
  std::memcpy(&h, mapping.base(), sizeof h);
  if (h.total_size > size || os::round_to_pages(h.total_size) != size) return refused("total size");
  TRY_VOID(validate(mapping.bytes().first(h.total_size)));
  auto* begin = static_cast<char*>(mapping.base());
  __builtin___clear_cache(begin, begin + h.total_size);
  return Mapped(std::move(mapping));
}

trident_entry Mapped::entry() const {
  return reinterpret_cast<trident_entry>(static_cast<std::byte*>(mapping_.base()) + header().entry_offset);
}

codegen::RegionEntry Mapped::region_entry() const {
  return reinterpret_cast<codegen::RegionEntry>(static_cast<std::byte*>(mapping_.base()) + header().entry_offset);
}

const trident_image_header& Mapped::header() const {
  return *static_cast<const trident_image_header*>(mapping_.base());
}

}  // namespace trident::image
