// Oracle: what the test itself has put under the name; the whole program hangs where an opening waits.
#include "runtime/os/regular_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/os/atomic_file.h"
#include "runtime/os/mapped_file.h"

namespace trident::os {
namespace {

class RegularFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "regular_file_" + std::to_string(::getpid()) + "/";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

// All three ways to a file's bytes.
void expect_refusal(const std::string& path, ErrorCode code, const std::string& reason) {
  for (const Error& error : {open_regular_file(path).error(), map_file(path).error(), read_file(path, 100).error()}) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_EQ(error.message, path + ": " + reason);
  }
}

TEST_F(RegularFile, NothingElseIsReadOrWaitedFor) {
  const std::string fifo = folder_ + "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refusal(fifo, ErrorCode::kInvalidArgument, "is a FIFO, not a regular file");
  expect_refusal(folder_, ErrorCode::kInvalidArgument, "is a folder, not a file");
  expect_refusal("/dev/zero", ErrorCode::kInvalidArgument, "is a device or a socket, not a regular file");
  expect_refusal(folder_ + "none", ErrorCode::kNotFound, "cannot be read: No such file or directory");
  const std::string listener = folder_ + "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(listener.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, listener.data(), listener.size());
  const Fd bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refusal(listener, ErrorCode::kInvalidArgument, "is a device or a socket, not a regular file");
  std::filesystem::create_symlink("fifo", folder_ + "link");
  expect_refusal(folder_ + "link", ErrorCode::kInvalidArgument, "is a FIFO, not a regular file");
}

TEST_F(RegularFile, IsReadWhole) {
  std::ofstream(folder_ + "file") << "abc";
  const auto opened = open_regular_file(folder_ + "file");
  ASSERT_TRUE(opened.ok());
  char text[8];
  EXPECT_EQ(::read(opened->get(), text, sizeof text), 3);
  EXPECT_EQ(std::memcmp(map_file(folder_ + "file")->bytes().data(), "abc", 3), 0);
  EXPECT_EQ(read_file(folder_ + "file", 3)->size(), 3u);
}

TEST_F(RegularFile, IsAtItsPathUntilItIsMovedOrReplaced) {
  const std::string path = folder_ + "file", aside = folder_ + "aside";
  std::ofstream(path) << "abc";
  const auto opened = open_regular_file(path);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(is_at(*opened, path));
  std::filesystem::rename(path, aside);
  EXPECT_FALSE(is_at(*opened, path));
  EXPECT_TRUE(is_at(*opened, aside));
  std::ofstream(path) << "abc";
  EXPECT_FALSE(is_at(*opened, path));
  std::filesystem::remove(aside);
  EXPECT_FALSE(is_at(*opened, aside));
}

}  // namespace
}  // namespace trident::os
