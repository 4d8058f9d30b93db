// Oracle: the kernel itself (bytes read back through the received descriptor, errno semantics of a second bind).
#include "runtime/os/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/os/memfd.h"
#include "runtime/os/text_bytes.h"

namespace trident::os {
namespace {

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/trident-socket-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  void TearDown() override { (void)!std::system(("rm -rf " + directory_).c_str()); }
  std::string directory_;
};

TEST_F(SocketTest, DescriptorTravelsWithItsBytes) {
  auto pair = socket_pair(Blocking::yes, Blocking::yes);
  ASSERT_TRUE(pair.ok());
  auto memfd = make_sealed_memfd("trident-test", bytes_of("carried"), std::byte{0});
  ASSERT_TRUE(memfd.ok());
  const std::string_view head = "head", tail = "tail";
  const std::span<const std::byte> pieces[] = {bytes_of(head), bytes_of(tail)};
  EXPECT_EQ(send_pieces(pair->first, pieces, memfd->get()).bytes, 8u);
  memfd->reset();

  std::array<std::byte, 64> buffer{};
  ReceivedFds fds;
  const Io io = receive(pair->second, buffer, fds);
  ASSERT_EQ(io.status, IoStatus::ok);
  EXPECT_EQ(std::memcmp(buffer.data(), "headtail", 8), 0);
  ASSERT_EQ(fds.count, 1u);
  EXPECT_NE(::fcntl(fds.fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  char text[7];
  ASSERT_EQ(::pread(fds.fds[0].get(), text, 7, 0), 7);
  EXPECT_EQ(std::memcmp(text, "carried", 7), 0);
}

TEST_F(SocketTest, StatusesOfANonBlockingPair) {
  auto pair = socket_pair(Blocking::no, Blocking::no);
  ASSERT_TRUE(pair.ok());
  std::vector<std::byte> block(1 << 16);
  ReceivedFds fds;
  EXPECT_EQ(receive(pair->second, block, fds).status, IoStatus::would_block);
  Io io;
  std::size_t sent = 0;
  while ((io = send_bytes(pair->first, block)).status == IoStatus::ok) sent += io.bytes;
  EXPECT_EQ(io.status, IoStatus::would_block);
  EXPECT_GT(sent, 0u);
  std::size_t got = 0;
  while ((io = receive(pair->second, block, fds)).status == IoStatus::ok) got += io.bytes;
  EXPECT_EQ(got, sent);
  pair->first.reset();
  EXPECT_EQ(receive(pair->second, block, fds).status, IoStatus::closed);
  EXPECT_EQ(send_bytes(pair->second, block).status, IoStatus::closed);  // and no SIGPIPE
}

TEST_F(SocketTest, SurplusDescriptorsFailTheReceive) {
  auto pair = socket_pair(Blocking::yes, Blocking::yes);
  ASSERT_TRUE(pair.ok());
  ReceivedFds fds;
  std::array<std::byte, 8> buffer{};
  for (std::size_t i = 0; i < kFdsPerMessageMax; ++i) {
    ASSERT_EQ(send_bytes(pair->first, bytes_of("x"), pair->first.get()).status, IoStatus::ok);
    ASSERT_EQ(receive(pair->second, buffer, fds).status, IoStatus::ok);
  }
  ASSERT_EQ(send_bytes(pair->first, bytes_of("x"), pair->first.get()).status, IoStatus::ok);
  EXPECT_EQ(receive(pair->second, buffer, fds).status, IoStatus::failed);
}

TEST_F(SocketTest, ListenerMakesPrivateDirectoryAndRemovesItsSocket) {
  const std::string path = directory_ + "/a/b/daemon.sock";
  {
    auto listener = UnixListener::bind(path, 0600, 8);
    ASSERT_TRUE(listener.ok()) << listener.error().message;
    struct stat s {};
    ASSERT_EQ(::stat((directory_ + "/a/b").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777u, 0700u);
    ASSERT_EQ(::stat(path.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777u, 0600u);

    EXPECT_EQ(accept_unix(listener->fd()).status, AcceptStatus::would_block);
    auto client = connect_unix(path, Blocking::no);
    ASSERT_TRUE(client.ok());
    auto accepted = accept_unix(listener->fd());
    ASSERT_EQ(accepted.status, AcceptStatus::ok);
    auto peer = peer_of(accepted.socket);
    ASSERT_TRUE(peer.ok());
    EXPECT_EQ(peer->uid, ::geteuid());
    EXPECT_EQ(peer->pid, ::getpid());
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(SocketTest, SecondListenerIsRefusedAndDoesNotHarmTheFirst) {
  const std::string path = directory_ + "/s";
  auto first = UnixListener::bind(path, 0600, 8);
  ASSERT_TRUE(first.ok());
  auto second = UnixListener::bind(path, 0600, 8);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_TRUE(connect_unix(path, Blocking::yes).ok());
}

TEST_F(SocketTest, StaleSocketOfADeadProcessIsReplaced) {
  const std::string path = directory_ + "/s";
  const pid_t child = ::fork();
  if (child == 0) {
    auto listener = UnixListener::bind(path, 0600, 8);
    ::_exit(listener.ok() ? 0 : 1);  // no destructor: the socket file stays
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(::access(path.c_str(), F_OK), 0);
  auto listener = UnixListener::bind(path, 0600, 8);
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  EXPECT_TRUE(connect_unix(path, Blocking::yes).ok());
}

TEST_F(SocketTest, ForeignFilesAndListenersAreLeftAlone) {
  const std::string path = directory_ + "/file";
  { Fd file(::open(path.c_str(), O_CREAT | O_WRONLY, 0600)); }
  auto on_file = UnixListener::bind(path, 0600, 8);
  ASSERT_FALSE(on_file.ok());
  EXPECT_EQ(on_file.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);

  EXPECT_EQ(UnixListener::bind(directory_ + "/" + std::string(200, 'x'), 0600, 8).error().code,
            ErrorCode::kInvalidArgument);

  // A listener that holds no lock of ours: found by connecting.
  const std::string other = directory_ + "/other";
  auto mine = UnixListener::bind(other, 0600, 8);
  ASSERT_TRUE(mine.ok());
  ASSERT_EQ(::unlink((other + ".lock").c_str()), 0);
  EXPECT_EQ(UnixListener::bind(other, 0600, 8).error().code, ErrorCode::kBusy);
}

TEST_F(SocketTest, AdoptTakesListeningUnixSocketsOnly) {
  auto pair = socket_pair(Blocking::yes, Blocking::yes);
  ASSERT_TRUE(pair.ok());
  EXPECT_FALSE(UnixListener::adopt(std::move(pair->first)).ok());
  EXPECT_FALSE(UnixListener::adopt(Fd(::open("/dev/null", O_RDONLY))).ok());
}

}  // namespace
}  // namespace trident::os
