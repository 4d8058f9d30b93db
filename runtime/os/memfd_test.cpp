#include "runtime/os/memfd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/os/self.h"

namespace trident::os {
namespace {

std::vector<std::byte> pattern(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

TEST(Memfd, SealedContentIsReadBackWithPadding) {
  const auto bytes = pattern(5000);
  auto fd = make_sealed_memfd("trident-test", bytes, std::byte{0xCC});
  ASSERT_TRUE(fd.ok());
  auto size = sealed_size(*fd);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(*size, round_to_pages(5000));
  auto mapped = map_read_only(*fd, *size);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(std::memcmp(mapped->base(), bytes.data(), bytes.size()), 0);
  for (std::size_t i = bytes.size(); i < *size; ++i) ASSERT_EQ(mapped->bytes()[i], std::byte{0xCC}) << i;
}

TEST(Memfd, SealedFileRefusesEveryChange) {
  auto fd = make_sealed_memfd("trident-test", pattern(100), std::byte{0});
  ASSERT_TRUE(fd.ok());
  const char c = 'x';
  EXPECT_EQ(::pwrite(fd->get(), &c, 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd->get(), 0), -1);
  EXPECT_EQ(::ftruncate(fd->get(), 1 << 20), -1);
  EXPECT_EQ(::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0), MAP_FAILED);
}

TEST(Memfd, MappedCodeCanNeverBeMadeWritable) {
  auto fd = make_sealed_memfd("trident-test", pattern(100), std::byte{0});
  ASSERT_TRUE(fd.ok());
  void* probe = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, fd->get(), 0);
  if (probe == MAP_FAILED) GTEST_SKIP() << "this kernel refuses shared mappings of sealed files";
  ::munmap(probe, page_bytes());
  auto mapped = map_executable(*fd, 100);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(::mprotect(mapped->base(), mapped->size(), PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(errno, EACCES);
}

TEST(Memfd, UnsealedOrForeignDescriptorsAreRefused) {
  Fd plain(::memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(sealed_size(plain).error().code, ErrorCode::kRejectedImage);
  Fd null_device(::open("/dev/null", O_RDONLY));
  EXPECT_EQ(sealed_size(null_device).error().code, ErrorCode::kRejectedImage);
  EXPECT_EQ(sealed_size(Fd()).error().code, ErrorCode::kRejectedImage);
}

TEST(MapCode, CanBeReadAndNeverWritten) {
  const auto bytes = pattern(page_bytes() + 100);
  auto code = map_code(bytes);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(std::memcmp(code->base(), bytes.data(), bytes.size()), 0);
  volatile auto* p = static_cast<volatile char*>(code->base());
  EXPECT_DEATH(p[0] = 1, "");
}

TEST(MapCode, IsPossibleWhereWritableCodeIsDenied) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        (void)deny_writable_code();  // where the system does not know it there is nothing to deny
        ::_exit(map_code(pattern(10)).ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Memfd, GuardPagesKillOnBothSides) {
  auto guarded = GuardedMapping::make(10);
  ASSERT_TRUE(guarded.ok());
  auto bytes = guarded->bytes();
  ASSERT_EQ(bytes.size(), page_bytes());
  bytes.front() = std::byte{1};
  bytes.back() = std::byte{2};
  volatile auto* p = reinterpret_cast<volatile char*>(bytes.data());
  EXPECT_DEATH(p[-1] = 1, "");
  EXPECT_DEATH(p[page_bytes()] = 1, "");
}

}  // namespace
}  // namespace trident::os
