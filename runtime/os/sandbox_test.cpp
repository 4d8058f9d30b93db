// Every way in which untried code can misbehave must end its child and nothing else. The oracle is the kernel: the
// signal that it reports, and memory that must not have changed.
#include "runtime/os/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/os/clock.h"

namespace trident::os {
namespace {

using Kind = SandboxEnd::Kind;

SandboxEnd run(void (*body)(void*), void* context = nullptr, std::uint64_t cpu_ns = 2'000'000'000,
               std::uint64_t wall_ns = 60'000'000'000) {
  auto end = run_sandboxed({.cpu_ns = cpu_ns, .wall_ns = wall_ns}, body, context);
  EXPECT_TRUE(end.ok()) << end.error().message;
  return end.ok() ? *end : SandboxEnd{};
}

void write_to_unmapped_memory() {
  volatile std::uintptr_t address = 16;
  *reinterpret_cast<volatile int*>(address) = 1;
}

// The compiler must not see that this never returns: before a call that does not, AddressSanitizer has the stack
// unpoisoned with system calls, which kill the child.
void spin(void*) {
  volatile bool forever = true;
  while (forever) asm volatile("");
}

void expect_crash(void (*body)(void*), int signal) {
  const SandboxEnd end = run(body);
  EXPECT_EQ(end.kind, Kind::crashed);
  EXPECT_EQ(end.signal, signal) << describe(end);
}

TEST(Sandbox, ComputesAndReportsThroughSharedMemory) {
  auto shared = map_shared(4096);
  ASSERT_TRUE(shared.ok());
  const SandboxEnd end = run(
      [](void* context) {
        auto* words = static_cast<std::uint64_t*>(context);
        words[0] = 42;
        words[1] = monotonic_ns();
        words[2] = cycle_counter();
      },
      shared->base());
  EXPECT_EQ(end.kind, Kind::finished);
  const auto* words = static_cast<const std::uint64_t*>(shared->base());
  EXPECT_EQ(words[0], 42u);
  EXPECT_GT(words[1], 0u);
  EXPECT_GT(words[2], 0u);
}

TEST(Sandbox, PrivateMemoryOfTheParentIsOutOfReach) {
  std::uint64_t mine = 1;
  EXPECT_EQ(run([](void* context) { *static_cast<std::uint64_t*>(context) = 2; }, &mine).kind, Kind::finished);
  EXPECT_EQ(mine, 1u);
}

TEST(Sandbox, CrashesAreAnswers) {
  expect_crash([](void*) { write_to_unmapped_memory(); }, SIGSEGV);
#if defined(__x86_64__)
  expect_crash([](void*) { asm volatile("ud2"); }, SIGILL);
  expect_crash([](void*) { asm volatile("int3"); }, SIGTRAP);
  expect_crash([](void*) { asm volatile("xor %%ecx, %%ecx; div %%ecx" ::: "eax", "ecx", "edx"); }, SIGFPE);
  // A wild stack pointer: the fault cannot be handled on the stack either.
  expect_crash([](void*) { asm volatile("mov $8, %%rsp; push %%rax" ::: "memory"); }, SIGSEGV);
#endif
}

TEST(Sandbox, EndlessLoopTimesOut) {
  const std::uint64_t start = monotonic_ns();
  const SandboxEnd end = run(spin, nullptr, 50'000'000);
  EXPECT_EQ(end.kind, Kind::timed_out);
  EXPECT_GE(monotonic_ns() - start, 50'000'000u);
}

// The clock is the limit of a child that uses none of its CPU time; that says nothing about its code.
TEST(Sandbox, AChildThatGetsNoProcessorIsAnError) {
  const std::uint64_t start = monotonic_ns();
  const auto end = run_sandboxed({.cpu_ns = 3'000'000'000, .wall_ns = 20'000'000}, spin, nullptr);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::kOsError);
  EXPECT_NE(end.error().message.find("the machine is busy"), std::string::npos) << end.error().message;
  EXPECT_GE(monotonic_ns() - start, 20'000'000u);
}

void send_to_children(int signal) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    for (std::ifstream children(entry.path() / "children"); children;)
      if (pid_t child = 0; children >> child) ::kill(child, signal);
}

// As the kernel does that has no memory left.
TEST(Sandbox, AChildThatIsKilledFromOutsideIsAnError) {
  auto shared = map_shared(sizeof(bool));
  ASSERT_TRUE(shared.ok());
  std::thread killer([&] {
    while (!*static_cast<volatile bool*>(shared->base())) ::usleep(1000);
    send_to_children(SIGKILL);
  });
  const auto end = run_sandboxed(
      {.cpu_ns = 20'000'000'000, .cpu_seconds = 30},
      [](void* running) {
        *static_cast<volatile bool*>(running) = true;
        spin(nullptr);
      },
      shared->base());
  killer.join();
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.error().message.find("killed by another process"), std::string::npos) << end.error().message;
}

// Neither how little stack the host may have nor how much of it is in use reaches the child.
TEST(Sandbox, AChildHasAStackOfItsOwn) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &before), 0);
  const rlimit small{64 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_STACK, &small), 0);
  const SandboxEnd end = run([](void*) {
    volatile char frame[512 * 1024];
    for (std::size_t i = sizeof frame; i > 0; i -= 1024) frame[i - 1] = 1;
  });
  ASSERT_EQ(::setrlimit(RLIMIT_STACK, &before), 0);
  EXPECT_EQ(end.kind, Kind::finished) << describe(end);
}

#if defined(__x86_64__)
TEST(Sandbox, AStackThatOverflowsIsItsCodesFault) {
  expect_crash([](void*) { asm volatile("1: push %%rax; jmp 1b" ::: "memory"); }, SIGSEGV);
}

// Little lies between the frame of a body and the stack's end, so wherever the system has placed the stack, a read of a
// page further ends the child.
TEST(Sandbox, AReadAboveTheStackIsItsCodesFault) {
  expect_crash([](void*) { asm volatile("mov 4096(%%rsp), %%rax" ::: "rax", "memory"); }, SIGSEGV);
}
#endif

TEST(Sandbox, AChildHasNoDescriptors) {
  // The pipe's end comes though a child lives on: none has a copy of it.
  auto shared = map_shared(sizeof(bool));
  ASSERT_TRUE(shared.ok());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread sandboxed([&] {
    (void)run_sandboxed(
        {.cpu_ns = 500'000'000},
        [](void* running) {
          *static_cast<volatile bool*>(running) = true;
          spin(nullptr);
        },
        shared->base());
  });
  while (!*static_cast<volatile bool*>(shared->base())) ::usleep(1000);
  ::close(ends[1]);
  char byte = 0;
  const std::uint64_t start = monotonic_ns();
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  EXPECT_LT(monotonic_ns() - start, 200'000'000u);
  sandboxed.join();
  ::close(ends[0]);
}

TEST(Sandbox, WorkOfChildrenCountsForTheThreadThatWaits) {
  const std::uint64_t before = thread_work_ns();
  EXPECT_EQ(run([](void*) {
              while (thread_cpu_ns() < 60'000'000) asm volatile("");
            }).kind,
            Kind::finished);
  // The kernel may account in ticks of up to 10 ms.
  EXPECT_GE(thread_work_ns() - before, 45'000'000u);
}

// Oracle: the clock that it stands for.
TEST(WorkLimit, IsReachedWhenTheWorkIsDone) {
  EXPECT_TRUE(WorkLimit(0).reached());
  EXPECT_TRUE(WorkLimit(thread_work_ns()).reached());
  const std::uint64_t end_ns = thread_work_ns() + 30'000'000;
  WorkLimit limit(end_ns);
  EXPECT_FALSE(limit.reached());
  while (!limit.reached()) ASSERT_LT(thread_work_ns(), end_ns + 20'000'000);
  EXPECT_GE(thread_work_ns(), end_ns);
  EXPECT_TRUE(limit.reached());
}

TEST(WorkLimit, SleepIsNoWorkAndThatOfChildrenIs) {
  WorkLimit limit(thread_work_ns() + 40'000'000);
  ::usleep(60'000);
  EXPECT_FALSE(limit.reached());
  run([](void*) {
    while (thread_cpu_ns() < 60'000'000) asm volatile("");
  });
  EXPECT_TRUE(limit.reached());
}

TEST(Sandbox, ChildrenAreCounted) {
  const std::uint64_t before = thread_children();
  run([](void*) {});
  run([](void*) { write_to_unmapped_memory(); });
  EXPECT_EQ(thread_children() - before, 2u);
}

#if defined(__x86_64__)
/// The signal that ends an i386 call in the sandbox: the filter's, or a fault where the kernel has no i386 calls.
int signal_of_i386_calls() {
  const pid_t child = ::fork();
  if (child == 0) {
    asm volatile("mov $1, %%eax; xor %%ebx, %%ebx; int $0x80" ::: "rax", "rbx", "memory");  // exit(0)
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SIGSYS : SIGSEGV;
}
#endif

TEST(Sandbox, EverySystemCallButTheClockAndExitKills) {
  expect_crash([](void*) { ::syscall(SYS_getpid); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_write, 2, "x", 1); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_execve, "/bin/true", nullptr, nullptr); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_kill, ::getppid(), SIGKILL); }, SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_mmap, nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
               SIGSYS);
  expect_crash([](void*) { ::syscall(SYS_ptrace, 0, 0, 0, 0); }, SIGSYS);
#if defined(__x86_64__)
  expect_crash([](void*) { ::syscall(0x40000000 + SYS_exit_group, 0); }, SIGSYS);  // the x32 convention
  const int i386 = signal_of_i386_calls();
  // The i386 one: getpid, and the two calls (fgetxattr, fsetxattr) whose numbers there are those of allowed calls.
  expect_crash([](void*) { asm volatile("mov $20, %%eax; int $0x80" ::: "rax", "memory"); }, i386);
  static_assert(SYS_exit_group == 231 && SYS_clock_gettime == 228);
  expect_crash([](void*) { asm volatile("mov $231, %%eax; int $0x80" ::: "rax", "memory"); }, i386);
  expect_crash([](void*) { asm volatile("mov $228, %%eax; int $0x80" ::: "rax", "memory"); }, i386);
#endif
}

TEST(Sandbox, ReadOnlyRegionsCannotBeWritten) {
  auto input = GuardedMapping::make(100);
  ASSERT_TRUE(input.ok());
  input->bytes()[0] = std::byte{7};
  const std::span<std::byte> regions[] = {input->bytes()};
  auto reads = run_sandboxed(
      {}, [](void* p) { (void)*static_cast<volatile char*>(p); }, input->bytes().data(), regions);
  ASSERT_TRUE(reads.ok());
  EXPECT_EQ(reads->kind, Kind::finished);
  auto writes = run_sandboxed(
      {}, [](void* p) { *static_cast<volatile char*>(p) = 1; }, input->bytes().data(), regions);
  ASSERT_TRUE(writes.ok());
  EXPECT_EQ(writes->kind, Kind::crashed);
  EXPECT_EQ(input->bytes()[0], std::byte{7});
  input->bytes()[0] = std::byte{8};  // still ours to write
}

// A host with its own handlers: they must not run in the child, and the child must not disturb the host's waiting.
std::atomic<int> handler_runs{0};
TEST(Sandbox, HostHandlersAndWaitsAreLeftAlone) {
  struct sigaction mine {};
  mine.sa_handler = [](int) {
    ++handler_runs;
    ::_exit(0);  // what a host's crash handler might do: it would make a crash look like success
  };
  struct sigaction before_segv {};
  struct sigaction before_child {};
  ASSERT_EQ(::sigaction(SIGSEGV, &mine, &before_segv), 0);
  ASSERT_EQ(::sigaction(SIGCHLD, &mine, &before_child), 0);
  expect_crash([](void*) { write_to_unmapped_memory(); }, SIGSEGV);
  EXPECT_EQ(handler_runs, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  ::sigaction(SIGSEGV, &before_segv, nullptr);
  ::sigaction(SIGCHLD, &before_child, nullptr);
}

struct SharedFlags {
  volatile bool running, handled, sent;
};
SharedFlags* flags_of_handler = nullptr;
TEST(Sandbox, SignalsFromOutsideReachNoHandlerInAChild) {
  auto shared = map_shared(sizeof(SharedFlags));
  ASSERT_TRUE(shared.ok());
  flags_of_handler = static_cast<SharedFlags*>(shared->base());
  const std::array signals = {SIGUSR1, SIGTERM, SIGALRM, SIGSEGV, SIGRTMIN};
  struct sigaction mine {};
  mine.sa_handler = [](int) { flags_of_handler->handled = true; };
  std::array<struct sigaction, signals.size()> before{};
  for (std::size_t i = 0; i < signals.size(); ++i) ASSERT_EQ(::sigaction(signals[i], &mine, &before[i]), 0);
  std::thread sender([&] {
    while (!flags_of_handler->running) ::usleep(1000);
    for (const int signal : signals) send_to_children(signal);
    flags_of_handler->sent = true;
  });
  const SandboxEnd end = run([](void*) {
    flags_of_handler->running = true;
    while (!flags_of_handler->sent) asm volatile("");
    for (const std::uint64_t end_ns = thread_cpu_ns() + 20'000'000; thread_cpu_ns() < end_ns;) asm volatile("");
  });
  sender.join();
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before[i], nullptr);
  EXPECT_EQ(end.kind, Kind::finished) << describe(end);
  EXPECT_FALSE(flags_of_handler->handled);
}

TEST(Sandbox, WorksFromManyThreadsThatAllocate) {
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    while (!stop) std::vector<char>(1000).swap(*std::make_unique<std::vector<char>>());
  });
  std::vector<std::thread> threads;
  std::atomic<int> finished{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) finished += run([](void*) {}).kind == Kind::finished ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  stop = true;
  noise.join();
  EXPECT_EQ(finished, 100);
}

}  // namespace
}  // namespace trident::os
