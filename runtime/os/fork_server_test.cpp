// Oracle: the kernel, which says what ran, where, and how it ended; and what run_sandboxed() says of the same bodies.
#include "runtime/os/fork_server.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/os/clock.h"
#include "runtime/os/memfd.h"

namespace trident::os {
namespace {

using Kind = SandboxEnd::Kind;

/// An order to the body, in memory that it shares.
struct Order {
  enum class Deed : std::uint8_t { add, crash, spin, system_call, wait_on_another_word } deed = Deed::add;
  volatile std::uint64_t sum = 0;
  volatile int pid = 0;
  volatile bool prepared = false;
};

void obey(void* opaque) {
  auto& order = *static_cast<Order*>(opaque);
  switch (order.deed) {
    case Order::Deed::add: order.sum = order.sum + 1; return;
    case Order::Deed::crash: *static_cast<volatile int*>(nullptr) = 1; return;
    case Order::Deed::spin:
      for (;;) asm volatile("");
    case Order::Deed::system_call: ::syscall(SYS_getpid); return;
    case Order::Deed::wait_on_another_word:
      ::syscall(SYS_futex, &order.sum, FUTEX_WAKE, 1, nullptr, nullptr, 0);
      return;
  }
}

void prepare(void* opaque) {
  static_cast<Order*>(opaque)->prepared = true;
}

class Served {
 public:
  explicit Served(std::uint64_t cpu_ns = 1'000'000'000)
      : memory_(std::move(*map_shared(sizeof(Order)))),
        order_(*new (memory_.base()) Order),
        server_(std::move(*ForkServer::start({.cpu_ns = cpu_ns}, {prepare, obey, &order_}))) {}

  Order& order() { return order_; }
  ForkServer& server() { return server_; }

  SandboxEnd run(Order::Deed deed) {
    const auto waits = server_.wait_for_child();
    EXPECT_TRUE(waits.ok());
    order_.deed = deed;
    const auto end = server_.run();
    EXPECT_TRUE(end.ok()) << end.error().message;
    return end.ok() ? *end : SandboxEnd{};
  }

 private:
  Mapping memory_;
  Order& order_;
  ForkServer server_;
};

TEST(ForkServer, RunsChildAfterChildOnSharedMemory) {
  Served served;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    EXPECT_EQ(served.run(Order::Deed::add).kind, Kind::finished);
    ASSERT_EQ(served.order().sum, i);
  }
  EXPECT_TRUE(served.order().prepared);
}

TEST(ForkServer, AnyEndIsAValueAndTheNextChildIsWell) {
  Served served(50'000'000);
  const struct {
    Order::Deed deed;
    Kind kind;
    int signal;
  } cases[] = {{Order::Deed::crash, Kind::crashed, SIGSEGV},
               {Order::Deed::spin, Kind::timed_out, SIGKILL},
               {Order::Deed::system_call, Kind::crashed, SIGSYS},
               {Order::Deed::wait_on_another_word, Kind::crashed, SIGSYS}};
  for (const auto& [deed, kind, signal] : cases) {
    const SandboxEnd end = served.run(deed);
    EXPECT_EQ(end.kind, kind) << describe(end);
    EXPECT_EQ(end.signal, signal);
    EXPECT_EQ(served.run(Order::Deed::add).kind, Kind::finished);
  }
  EXPECT_EQ(served.order().sum, std::size(cases));
}

TEST(ForkServer, ReadOnlyMemoryCannotBeWritten) {
  auto memory = map_shared(page_bytes());
  ASSERT_TRUE(memory.ok());
  const std::span<std::byte> all[] = {memory->bytes()};
  auto server = ForkServer::start(
      {}, {.body = [](void* p) { *static_cast<volatile char*>(p) = 1; }, .context = memory->base(), .read_only = all});
  ASSERT_TRUE(server.ok());
  ASSERT_TRUE(server->wait_for_child().ok());
  const auto end = server->run();
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->kind, Kind::crashed);
  EXPECT_EQ(memory->bytes()[0], std::byte{0});
}

TEST(ForkServer, ChildrenAreCounted) {
  Served served(200'000'000);
  const std::uint64_t before = thread_work_ns(), children = thread_children();
  EXPECT_EQ(served.run(Order::Deed::spin).kind, Kind::timed_out);
  EXPECT_EQ(thread_children() - children, 1u);
  EXPECT_GE(thread_work_ns() - before, 150'000'000u);
}

/// The only child of the only thread of process `pid`, or 0.
int child_of(int pid) {
  const std::string number = std::to_string(pid);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  int child = 0;
  file >> child;
  return child;
}

/// A process that has ended may wait for ever to be reaped, where nobody does that.
bool lives(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  const auto name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] != 'Z';
}

bool ends(int pid) {
  for (int i = 0; i < 2000 && lives(pid); ++i) ::usleep(1000);
  return !lives(pid);
}

TEST(ForkServer, NothingOutlivesIt) {
  int server = 0, child = 0;
  {
    Served served;
    EXPECT_EQ(served.run(Order::Deed::add).kind, Kind::finished);
    ASSERT_TRUE(served.server().wait_for_child().ok());
    server = child_of(::getpid());
    child = child_of(server);
    ASSERT_TRUE(server > 0 && child > 0);
  }
  EXPECT_FALSE(lives(server));
  EXPECT_TRUE(ends(child));
}

TEST(ForkServer, ASharedServerThatIsKilledIsAnError) {
  Served served;
  ASSERT_TRUE(served.server().wait_for_child().ok());
  ::kill(child_of(::getpid()), SIGKILL);
  const std::uint64_t begin = monotonic_ns();
  const auto end = served.server().run();
  EXPECT_FALSE(end.ok() && served.server().wait_for_child().ok());
  EXPECT_LT(monotonic_ns() - begin, 5'000'000'000u);
}

}  // namespace
}  // namespace trident::os
