// Tests which socket paths are trusted. Each test makes a small tree and breaks one rule.
#include "clients/c/peer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/os/socket.h"

namespace trident::client {
namespace {

class PeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/trident-peer-XXXXXX";  // /tmp is sticky and belongs to root: allowed
    ASSERT_NE(nullptr, ::mkdtemp(name));
    top_ = name;
    std::filesystem::create_directory(top_ + "/d");
    ::chmod((top_ + "/d").c_str(), 0755);
    path_ = top_ + "/d/s";
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  os::UnixListener listen() { return os::UnixListener::bind(path_, 0600, 4).value(); }
  std::string top_, path_;
};

TEST_F(PeerTest, OwnSocketInOwnFolder) {
  const auto listener = listen();
  const auto real = check_socket_path(path_);
  ASSERT_TRUE(real) << real.error().message;
  EXPECT_EQ(path_, *real);
  EXPECT_TRUE(connect_to_daemon(path_));
}

TEST_F(PeerTest, SymbolicLinksAreResolved) {
  const auto listener = listen();
  const std::string link = top_ + "/link";
  ASSERT_EQ(0, ::symlink((top_ + "/d").c_str(), link.c_str()));
  const auto real = check_socket_path(link + "/s");
  ASSERT_TRUE(real);
  EXPECT_EQ(path_, *real);
}

TEST_F(PeerTest, FolderThatOthersMayWrite) {
  const auto listener = listen();
  for (const mode_t mode : {0777, 0775, 0757}) {
    ::chmod((top_ + "/d").c_str(), mode);
    EXPECT_FALSE(check_socket_path(path_)) << std::oct << mode;
    EXPECT_FALSE(connect_to_daemon(path_));
  }
  ::chmod((top_ + "/d").c_str(), 01777);
  EXPECT_TRUE(check_socket_path(path_));
  ::chmod(top_.c_str(), 0777);  // further up counts too
  EXPECT_FALSE(check_socket_path(path_));
}

TEST_F(PeerTest, FolderOrSocketOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  const auto listener = listen();
  ASSERT_EQ(0, ::chown(path_.c_str(), 12345, 0));
  EXPECT_FALSE(check_socket_path(path_));
  ASSERT_EQ(0, ::chown(path_.c_str(), 0, 0));
  ASSERT_EQ(0, ::chown((top_ + "/d").c_str(), 12345, 0));
  EXPECT_FALSE(check_socket_path(path_));
  ::setenv("TRIDENT_TRUSTED_UID", "12345", 1);
  EXPECT_TRUE(check_socket_path(path_));
  for (const char* bad : {"12346", "", "12345x", "-1", "99999999999999999999"}) {
    ::setenv("TRIDENT_TRUSTED_UID", bad, 1);
    EXPECT_FALSE(check_socket_path(path_)) << bad;
  }
  ::unsetenv("TRIDENT_TRUSTED_UID");
}

TEST_F(PeerTest, WhatIsNoSocketOrNotThere) {
  EXPECT_EQ(ErrorCode::kDisconnected, check_socket_path(path_).error().code);
  std::ofstream(path_) << "a file";
  EXPECT_FALSE(check_socket_path(path_));
}

// The folder is there, so "no such file" would name the wrong cause.
TEST_F(PeerTest, APathIsTooLongForASocket) {
  const std::string longest = path_ + std::string(108 - path_.size(), 's');
  for (const std::string& path : {longest, longest + std::string(5000, 's')}) {
    const auto checked = check_socket_path(path);
    ASSERT_FALSE(checked);
    EXPECT_NE(std::string::npos, checked.error().message.find("at most 107 bytes")) << checked.error().message;
  }
  EXPECT_EQ(ErrorCode::kDisconnected, check_socket_path(longest.substr(0, 107)).error().code);
}

TEST_F(PeerTest, NobodyListens) {
  { const auto listener = listen(); }
  EXPECT_EQ(ErrorCode::kDisconnected, connect_to_daemon(path_).error().code);
}

TEST(SocketPath, OptionThenEnvironmentThenDefaults) {
  ::setenv("TRIDENT_SOCKET", "/from/environment", 1);
  EXPECT_EQ("/from/option", daemon_socket_path("/from/option"));
  EXPECT_EQ("/from/environment", daemon_socket_path(nullptr));
  ::unsetenv("TRIDENT_SOCKET");
  ::setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
  EXPECT_EQ("/run/trident/tridentd.sock", daemon_socket_path(nullptr));
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ("/run/trident/tridentd.sock", daemon_socket_path(""));
}

}  // namespace
}  // namespace trident::client
