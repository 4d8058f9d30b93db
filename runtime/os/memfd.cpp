#include "runtime/os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/os/os_error.h"

#ifndef MFD_NOEXEC_SEAL  // Linux 6.3; Debian 12's headers are older
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace trident::os {
namespace {

constexpr std::byte kBreakpoint{0xCC};  // of x86; elsewhere as good as any
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// `bytes` and then `padding`, from the start of the file; one system call in all likelihood.
Result<void> write_all(const Fd& fd, std::span<const std::byte> bytes, std::span<const std::byte> padding) {
  std::size_t offset = 0;
  while (!bytes.empty() || !padding.empty()) {
    const std::array<iovec, 2> pieces = {{{const_cast<std::byte*>(bytes.data()), bytes.size()},
                                          {const_cast<std::byte*>(padding.data()), padding.size()}}};
    const ssize_t n = ::pwritev(fd.get(), pieces.data(), pieces.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return os_error("pwritev to memfd");
    const auto written = static_cast<std::size_t>(n);
    const std::size_t first = std::min(written, bytes.size());
    bytes = bytes.subspan(first);
    padding = padding.subspan(written - first);
    offset += written;
  }
  return {};
}

Result<Fd> make_memfd(const char* name) {
  int raw = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (raw < 0 && errno == EINVAL) raw = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (raw < 0) return os_error("memfd_create");
  return Fd(raw);
}

Result<Mapping> map_sealed(const Fd& fd, std::size_t size, int protection, ErrorCode refused) {
  const std::size_t length = round_to_pages(size);
  void* base = ::mmap(nullptr, length, protection, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) base = ::mmap(nullptr, length, protection, MAP_PRIVATE, fd.get(), 0);
  if (base == MAP_FAILED) return make_error(refused, "mmap of a memfd: %s", std::strerror(errno));
  return Mapping(base, length);
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (base_ != nullptr) ::munmap(base_, size_);
    base_ = std::exchange(other.base_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, size_);
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_to_pages(std::size_t size) {
  const std::size_t page = page_bytes();
  return (size + page - 1) / page * page;
}

Result<Fd> make_sealed_memfd(const char* name, std::span<const std::byte> bytes, std::byte padding) {
  TRY(Fd fd, make_memfd(name));
  // No ftruncate: writing makes the file as long as it is to be.
  const std::size_t size = round_to_pages(std::max<std::size_t>(bytes.size(), 1));
  const std::vector<std::byte> rest(size - bytes.size(), padding);
  TRY_VOID(write_all(fd, bytes, rest));
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return os_error("sealing a memfd");
  return fd;
}

Result<std::size_t> sealed_size(const Fd& fd) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals)
    return make_error(ErrorCode::kRejectedImage, "the descriptor is not a sealed memfd");
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_size < 0)
    return make_error(ErrorCode::kRejectedImage, "the descriptor is not a regular file");
  return static_cast<std::size_t>(s.st_size);
}

Result<Mapping> map_executable(const Fd& fd, std::size_t size) {
  return map_sealed(fd, size, PROT_READ | PROT_EXEC, ErrorCode::kExecDenied);
}

Result<Mapping> map_read_only(const Fd& fd, std::size_t size) {
  return map_sealed(fd, size, PROT_READ, ErrorCode::kOsError);
}

Result<Mapping> map_shared(std::size_t size) {
  const std::size_t length = round_to_pages(std::max<std::size_t>(size, 1));
  void* base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return os_error("mmap of shared memory");
  return Mapping(base, length);
}

Result<Mapping> map_private(std::size_t size) {
  constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
  const std::size_t length = round_to_pages(std::max<std::size_t>(size, 1));
  void* base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return os_error("mmap of private memory");
#ifdef MADV_HUGEPAGE
  if (length >= 2 * kHugePageBytes) (void)::madvise(base, length, MADV_HUGEPAGE);  // advice: refused is as good
#endif
  return Mapping(base, length);
}

Result<Mapping> map_code(std::span<const std::byte> code) {
  TRY(const Fd fd, make_sealed_memfd("trident-code", code, kBreakpoint));
  TRY(Mapping memory, map_executable(fd, code.size()));
  auto* const base = static_cast<char*>(memory.base());
  __builtin___clear_cache(base, base + code.size());
  return memory;
}

Result<CodeFile> CodeFile::make(std::size_t bytes) {
  const std::size_t length = round_to_pages(bytes);
  TRY(Fd fd, make_memfd("trident-trial-code"));
  TRY_VOID(write_all(fd, {}, std::vector<std::byte>(length, kBreakpoint)));
  TRY(Mapping mapping, map_executable(fd, length));
  return CodeFile(std::move(fd), std::move(mapping));
}

Result<void> CodeFile::write(std::span<const std::byte> code) {
  CHECK(code.size() <= mapping_.size());
  const std::size_t left = std::max(written_, code.size()) - code.size();
  TRY_VOID(write_all(fd_, code, std::vector<std::byte>(left, kBreakpoint)));
  written_ = code.size();
  auto* const base = static_cast<char*>(mapping_.base());
  __builtin___clear_cache(base, base + code.size());
  return {};
}

// Three parts of one length; the middle one is memory. The others are address space only.
Result<GuardedMapping> GuardedMapping::make(std::size_t size) {
  const std::size_t length = round_to_pages(std::max<std::size_t>(size, 1));
  void* const base = ::mmap(nullptr, 3 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return os_error("mmap of guard pages");
  Mapping whole(base, 3 * length);
  void* const middle = whole.bytes().data() + length;
  if (::mmap(middle, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return os_error("mmap of guarded memory");
  return GuardedMapping(std::move(whole));
}

std::span<std::byte> GuardedMapping::bytes() const {
  const std::size_t length = whole_.size() / 3;
  return whole_.bytes().subspan(length, length);
}

}  // namespace trident::os
