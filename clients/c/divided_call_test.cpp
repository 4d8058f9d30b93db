// Oracle: the whole call, which the interpreter's and the emitters' own tests compare with others; plain loops for what
// divides and what does not.
#include "clients/c/divided_call.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <type_traits>

#include "clients/c/context.h"
#include "clients/c/interpreted_context.h"
#include "clients/c/kernel.h"
#include "clients/c/team.h"
#include "jit/kir/reduction.h"
#include "runtime/os/cpu.h"

namespace trident::client {
namespace {

TEST(Team, TakesEachPieceOnceHoweverManyHelp) {
  Team team;
  for (unsigned threads = 2; threads <= 8; ++threads) {
    for (const std::size_t pieces : {2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> taken(pieces);
      ASSERT_TRUE(team.run(threads, pieces, [&](std::uint64_t piece) { ++taken[piece]; }));
      for (std::size_t i = 0; i < pieces; ++i) ASSERT_EQ(1, taken[i]) << i << " of " << pieces;
    }
  }
  team.stop();
  EXPECT_FALSE(team.run(2, 2, [](std::uint64_t) { FAIL(); }));
}

TEST(Team, RefusesASecondCallerAndOneThread) {
  Team team;
  EXPECT_FALSE(team.run(1, 9, [](std::uint64_t) { FAIL(); }));
  EXPECT_FALSE(team.run(2, 1, [](std::uint64_t) { FAIL(); }));
  std::atomic<bool> inside = false, refused = false;
  std::thread second([&] {
    inside.wait(false);
    EXPECT_FALSE(team.run(2, 2, [](std::uint64_t) { FAIL(); }));
    refused = true;
    refused.notify_all();
  });
  EXPECT_TRUE(team.run(2, 2, [&](std::uint64_t) {
    inside = true;
    inside.notify_all();
    refused.wait(false);
  }));
  second.join();
  team.stop();
}

TEST(Team, HelpersWorkInParallelAndComeBackAfterSleeping) {
  Team team;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> inside = 0;
    ASSERT_TRUE(team.run(3, 3, [&](std::uint64_t) {  // ends only when three threads are in it
      ++inside;
      while (inside < 3) std::this_thread::yield();
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than helpers look for another round
  }
  team.stop();
}

std::size_t thread_count() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Forbids this process more address space, and takes the stacks of earlier threads, which the C library keeps.
void exhaust_stacks() {
  const rlimit none{0, RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &none);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512u << 10);
  const auto sleep = [](void*) -> void* {
    for (;;) ::pause();
  };
  for (pthread_t thread{}; pthread_create(&thread, &small, sleep, nullptr) == 0;) {
  }
}

void exhaust_memory() {
  exhaust_stacks();
  for (const std::size_t bytes : {65'536, 4096, 512, 128, 64, 48, 32, 16})
    while (std::malloc(bytes) != nullptr) {
    }
}

TEST(Team, WithoutMemoryForAThreadACallerIsRefusedAndTheTeamGoesOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends a program without memory";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    Team team;
    exhaust_memory();
    bool called = false;
    const auto work = [&](std::uint64_t) { called = true; };
    const bool refused = !team.run(2, 2, work) && !team.run(2, 2, work);
    team.stop();
    ::_exit(refused && !called ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
}

/// Bytes of address space that this process has.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Team, FewerHelpersThanWantedTakeAllPieces) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends a program without memory";
#endif
  constexpr std::size_t kStack = 512u << 10, kPieces = 1000;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    Team team;
    std::vector<std::atomic<int>> taken(kPieces);
    exhaust_stacks();
    const std::size_t before = thread_count();
    const rlimit one_stack{address_space() + kStack + kStack / 2, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &one_stack);
    for (int round = 0; round < 3; ++round)
      if (!team.run(8, kPieces, [&](std::uint64_t piece) { ++taken[piece]; })) ::_exit(2);
    if (thread_count() != before + 1) ::_exit(3);
    const bool all = std::all_of(taken.begin(), taken.end(), [](const auto& count) { return count == 3; });
    ::_exit(all ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
}

std::byte* locked_pages;
std::size_t locked_bytes;

void unlock_page(int, siginfo_t* fault, void*) {
  auto* const at = static_cast<std::byte*>(fault->si_addr);
  if (at < locked_pages || at >= locked_pages + locked_bytes) ::_exit(1);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ::mprotect(locked_pages + static_cast<std::size_t>(at - locked_pages) / page * page, page, PROT_READ | PROT_WRITE);
}

// A program that loads the pages of its arrays when they are first read, as the system does for files.
TEST(Team, FaultsOfHelpersReachTheProgramsHandler) {
  constexpr std::size_t kThreads = 4;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  locked_bytes = kThreads * page;
  void* const pages = ::mmap(nullptr, locked_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, pages);
  locked_pages = static_cast<std::byte*>(pages);
  struct sigaction unlock = {}, before = {};
  unlock.sa_sigaction = &unlock_page;
  unlock.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &unlock, &before);
  Team team;
  std::atomic<std::size_t> inside = 0;
  EXPECT_TRUE(team.run(kThreads, kThreads, [&](std::uint64_t piece) {
    ++inside;
    while (inside < kThreads) std::this_thread::yield();  // one piece for each thread
    *static_cast<volatile std::byte*>(locked_pages + piece * page) = std::byte{1};
  }));
  ::sigaction(SIGSEGV, &before, nullptr);
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_EQ(std::byte{1}, locked_pages[i * page]);
  team.stop();
  ::munmap(pages, locked_bytes);
}

std::atomic<int> signals_taken;

TEST(Team, SignalsOfTheProgramAreLeftToItsThreads) {
  signals_taken = 0;
  struct sigaction count = {}, before = {};
  count.sa_handler = [](int) { ++signals_taken; };
  ::sigaction(SIGUSR1, &count, &before);
  sigset_t own, mask;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &own, &mask);
  Team team;
  std::atomic<int> inside = 0;
  EXPECT_TRUE(team.run(4, 4, [&](std::uint64_t piece) {
    ++inside;
    while (inside < 4) std::this_thread::yield();  // all helpers are there
    if (piece == 0) ::kill(::getpid(), SIGUSR1);
  }));
  team.stop();
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(1, sigismember(&pending, SIGUSR1));
  EXPECT_EQ(0, signals_taken) << "a helper took it";
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_EQ(1, signals_taken);
  ::sigaction(SIGUSR1, &before, nullptr);
}

/// Calls a team from a thread that is cancelled in a piece of its own.
struct CancelledCall {
  Team team;
  std::atomic<int> others_inside = 0;
  std::atomic<bool> has_helper = false;

  void run() {
    const pthread_t caller = pthread_self();
    team.run(2, 40, [&](std::uint64_t) {
      if (pthread_equal(caller, pthread_self())) return end_with_helper();
      ++others_inside;
      has_helper = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      --others_inside;
    });
  }
  void end_with_helper() {
    while (!has_helper) std::this_thread::yield();
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
};

TEST(Team, ACancelledCallerLeavesAfterItsHelpersAndTheTeamGoesOn) {
  CancelledCall call;
  const auto main = [](void* shared) -> void* {
    static_cast<CancelledCall*>(shared)->run();
    return nullptr;
  };
  pthread_t caller{};
  ASSERT_EQ(0, pthread_create(&caller, nullptr, main, &call));
  void* result = nullptr;
  ASSERT_EQ(0, pthread_join(caller, &result));
  EXPECT_EQ(PTHREAD_CANCELED, result);
  EXPECT_EQ(0, call.others_inside) << "the caller's stack is gone";
  std::atomic<int> taken = 0;
  EXPECT_TRUE(call.team.run(2, 9, [&](std::uint64_t) { ++taken; }));
  EXPECT_EQ(9, taken);
  call.team.stop();
}

TEST(Pieces, AreWholeChunksAndHoldAllElements) {
  Division arrays;
  arrays.array_bytes = 4;
  Division reducing;
  reducing.scalar_count = 1;
  for (const Division& division : {arrays, reducing}) {
    for (std::uint64_t n = 1; n < std::uint64_t{1} << 40; n += n / 3 + 1) {
      for (const unsigned threads : {1u, 2u, 7u, 64u}) {
        const auto pieces = pieces_of(division, n, threads);
        if (!pieces) continue;
        EXPECT_EQ(0u, pieces->elements % kir::kChunk);
        EXPECT_LT((pieces->count - 1) * pieces->elements, n);
        EXPECT_GE(pieces->count * pieces->elements, n);
        if (division.scalar_count == 0) continue;
        EXPECT_TRUE(std::has_single_bit(pieces->elements)) << "no tree of the whole";
        EXPECT_EQ(pieces->elements, pieces_of(division, n, 1)->elements) << "the result would depend on threads";
      }
    }
  }
}

// Kernels that read tables alone may have so many elements.
TEST(Pieces, AreCountedWithoutOverflow) {
  Division reducing;
  reducing.scalar_count = 1;
  Division arrays;
  arrays.array_bytes = 8;
  for (const Division& division : {reducing, arrays}) {
    for (const std::uint64_t n : {~std::uint64_t{0}, (std::uint64_t{1} << 63) + 1, std::uint64_t{1} << 61}) {
      const auto pieces = pieces_of(division, n, 2);
      ASSERT_TRUE(pieces);
      __extension__ using Wide = unsigned __int128;
      EXPECT_LT(Wide{pieces->count - 1} * pieces->elements, n);
      EXPECT_GE(Wide{pieces->count} * pieces->elements, n);
    }
  }
}

class DividedCallTest : public InterpretedContext {
 protected:
  trident_kernel* submit(const char* text, trident_type type) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = type;
    options.policy = TRIDENT_EXACT;
    return InterpretedContext::submit(text, &options);
  }
  [[nodiscard]] static bool divides(const trident_kernel* kernel) {
    const auto lowered = Kernel::of(kernel)->lower();
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
    EXPECT_EQ(lowered.value()->division.possible, info.divides == 1);
    return lowered.value()->division.possible;
  }
};

/// Outputs of a call of `text`, as bits: arrays of n elements and scalars, one after the other.
template <class T>
struct Outputs {
  explicit Outputs(const trident_kernel* kernel, std::size_t n) {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
    for (std::uint32_t i = 0; i < info.output_count; ++i)
      arrays.emplace_back(trident_output_is_scalar(kernel, i) == 1 ? 1 : n, T{-77});
    for (std::vector<T>& array : arrays) pointers.push_back(array.data());
  }
  [[nodiscard]] bool has_bits_of(const Outputs& other) const {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (std::memcmp(arrays[i].data(), other.arrays[i].data(), arrays[i].size() * sizeof(T)) != 0) return false;
    return true;
  }
  std::vector<std::vector<T>> arrays;
  std::vector<void*> pointers;
};

template <class T>
std::vector<T> random_values(std::size_t n) {
  std::mt19937_64 random(n);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(std::ldexp(static_cast<double>(random()), -60)) - T{3};
  return values;
}

const char* const kDividing[] = {"x*y + 1",
                                 "sin(x) / y",
                                 "sum(x)",
                                 "sum(x*y)",
                                 "prod(1 + x/65536)",
                                 "minof(x)",
                                 "maxof(y)",
                                 "p = x - y; s = sum(x); m = maxof(x*y); (p, s, m)",
                                 "(x < y) * x",
                                 "any(x > 12.999)",
                                 "all(x > y - 15.99)",
                                 "any(x > 13.5) ? 0 : 1",
                                 "a = any(x > 12); b = all(y < 12.9999); c = any(x > 14); (a, b, c)",
                                 "p = x + 1; a = all(x < 13); (p, a, sum(y))"};

template <class T>
void expect_equal_bits(trident_kernel* kernel, std::size_t n) {
  const std::vector<T> x = random_values<T>(n), y = random_values<T>(n + 1);
  const void* in[2] = {x.data(), y.data()};
  if (trident_array_index(kernel, "x") < 0) in[0] = y.data();
  Outputs<T> whole(kernel, n);
  trident_call(kernel, n, in, whole.pointers.data(), nullptr);
  for (std::uint32_t threads = 0; threads <= 8; ++threads) {
    Outputs<T> divided(kernel, n);
    trident_call_parallel(kernel, n, in, divided.pointers.data(), nullptr, threads);
    EXPECT_TRUE(divided.has_bits_of(whole)) << n << " elements, " << threads << " threads";
  }
}

// Lengths around the ends of chunks, of pieces, and of the trees of a reduction.
const std::size_t kLengths[] = {1,       4097,    32'768,  32'769,    65'537,       131'072,
                                262'144, 262'145, 800'003, 4096 * 37, 4096 * 73 + 1};

TEST_F(DividedCallTest, AnyNumberOfThreadsGivesTheBitsOfTheWholeCall) {
  for (const char* text : kDividing) {
    trident_kernel* const f64 = submit(text, TRIDENT_F64);
    trident_kernel* const f32 = submit(text, TRIDENT_F32);
    ASSERT_TRUE(f64 != nullptr && f32 != nullptr);
    EXPECT_TRUE(divides(f64)) << text;
    SCOPED_TRACE(text);
    for (const std::size_t n : kLengths) {
      expect_equal_bits<double>(f64, n);
      expect_equal_bits<float>(f32, n);
    }
  }
}

TEST_F(DividedCallTest, WhatDependsOnPlaceOrOnAReductionIsNotDivided) {
  for (const char* text : {"x + f64(index)", "x - mean(x)", "sqrt(sum(x))", "mean(x)", "2*sum(x)", "first(x > 9)",
                           "any(x > 9) || all(x < 9)", "any(x > 9) ? 3 : 1", "any(x > 9) ? sum(x) : 0",
                           "x + any(x > 9)", "maxof(x) > 9 ? 1 : 0"}) {
    trident_kernel* const kernel = submit(text, TRIDENT_F64);
    ASSERT_NE(nullptr, kernel);
    EXPECT_FALSE(divides(kernel)) << text;
    expect_equal_bits<double>(kernel, 400'003);
  }
}

// Each piece ends by itself, behind the chunk that decides it.
TEST_F(DividedCallTest, SearchesEndEarlyInPieces) {
  trident_kernel* const kernel = submit("maxof(select(x > y, i32(1), i32(0)))", TRIDENT_F64);
  ASSERT_NE(nullptr, kernel);
  EXPECT_TRUE(divides(kernel));
  constexpr std::size_t kElements = 400'003;
  std::vector<double> x(kElements), y(kElements);
  const void* const in[] = {x.data(), y.data()};
  const auto found = [&] {
    std::int32_t result = -77;
    void* const out[] = {&result};
    trident_call_parallel(kernel, kElements, in, out, nullptr, 3);
    return result;
  };
  EXPECT_EQ(0, found());
  for (const std::size_t place : {std::size_t{0}, kElements / 2, kElements - 1}) {
    x[place] = 1;
    EXPECT_EQ(1, found()) << place;
    x[place] = 0;
  }
}

std::atomic<int> searched_pieces;

/// Code of any(x > 0) that counts its calls.
void search_piece(const trident_kernel*, std::uint64_t n, const void* const* in, void* const* out,
                  const std::uint64_t*) {
  ++searched_pieces;
  const auto* const x = static_cast<const double*>(in[0]);
  const double found = std::any_of(x, x + n, [](double value) { return value > 0; }) ? 1 : 0;
  std::memcpy(out[0], &found, sizeof found);
}

// No piece runs behind one that has decided a search, and its first piece runs before any thread is woken.
TEST_F(DividedCallTest, SearchesLeaveOutPiecesBehindTheDecidingOne) {
  trident_kernel* const kernel = submit("any(x > 0)", TRIDENT_F64);
  ASSERT_NE(nullptr, kernel);
  EXPECT_TRUE(divides(kernel));
  __atomic_store_n(&kernel->entry, &search_piece, __ATOMIC_RELEASE);
  constexpr std::size_t kElements = 2'000'003;
  std::vector<double> x(kElements);
  const void* const in[] = {x.data()};
  const auto pieces = static_cast<int>(pieces_of(Kernel::of(kernel)->lower().value()->division, kElements, 2)->count);
  const auto search = [&](double expected) {
    searched_pieces = 0;
    double result = -77;
    void* const out[] = {&result};
    trident_call_parallel(kernel, kElements, in, out, nullptr, 2);
    EXPECT_EQ(expected, result);
    return searched_pieces.load();
  };
  EXPECT_EQ(pieces, search(0));
  x[5] = 1;
  EXPECT_EQ(1, search(1));
  x[5] = 0, x[kElements / 4] = 1;
  EXPECT_LT(search(1), pieces);
  x[kElements / 4] = 0, x[kElements - 1] = 1;
  EXPECT_LE(search(1), pieces);
}

TEST_F(DividedCallTest, PiecesAreTakenOnceEachAndMayCallTheKernel) {
  trident_kernel* const kernel = submit("x + 1", TRIDENT_F64);
  struct Sum {
    trident_kernel* kernel;
    std::vector<std::atomic<int>> taken = std::vector<std::atomic<int>>(100);
    std::atomic<int> wrong = 0;
  } sum{kernel};
  const auto work = [](std::uint64_t piece, void* user) {
    Sum& all = *static_cast<Sum*>(user);
    ++all.taken[piece];
    std::vector<double> x(40'000, static_cast<double>(piece)), y(x.size());
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    trident_call_parallel(all.kernel, x.size(), in, out, nullptr, 2);
    all.wrong += y.front() == x.front() + 1 && y.back() == x.front() + 1 ? 0 : 1;
  };
  trident_for_each_piece(kernel, 100, work, &sum, 2);
  for (const std::atomic<int>& count : sum.taken) EXPECT_EQ(1, count);
  EXPECT_EQ(0, sum.wrong);
  trident_for_each_piece(kernel, 0, work, nullptr, 2);
}

TEST_F(DividedCallTest, AnOutputMayBeAnInput) {
  trident_kernel* const kernel = submit("x*x + 1", TRIDENT_F64);
  std::vector<double> x = random_values<double>(100'001), expected = x;
  for (double& value : expected) value = value * value + 1;
  const void* in[] = {x.data()};
  void* out[] = {x.data()};
  trident_call_parallel(kernel, x.size(), in, out, nullptr, 2);
  EXPECT_EQ(expected, x);
}

TEST_F(DividedCallTest, WhereArraysLieChangesNoBitAndNothingBesideThemIsWritten) {
  constexpr std::size_t kMost = 33'333, kRoom = 64;
  const std::vector<float> x = random_values<float>(kMost), y = random_values<float>(kMost + 1);
  const void* given[] = {x.data(), y.data()};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.type = TRIDENT_F32;
  options.policy = TRIDENT_EXACT;
  trident_kernel* const exact = InterpretedContext::submit("p = sin(x)*y; (p, x + y)", &options);
  options.policy = TRIDENT_BOUNDED;
  trident_kernel* const bounded = InterpretedContext::submit("p = sin(x)*y; (p, x + y)", &options);
  Outputs<float> whole(exact, kMost);
  trident_call(exact, kMost, given, whole.pointers.data(), nullptr);
  // 32 places, each with a length that is divided, one that only begins at a line, and one that does neither.
  for (std::size_t call = 0; call < 96; ++call) {
    const std::size_t place = call % 32, elements = std::array<std::size_t, 3>{kMost, 4097, 4095}[call / 32];
    // In and out at the same place of a line, at others, and at addresses that no float has.
    const std::size_t places[] = {4 * place, place % 3 == 0 ? 4 * place : 20, 4 * (place % 5),
                                  place % 4 == 0 ? 7u : 4 * place};
    std::vector<std::vector<std::byte>> memory(
        4, std::vector<std::byte>((elements + kRoom) * sizeof(float), std::byte{0x5A}));
    const auto at = [&](std::size_t i) { return memory[i].data() + places[i]; };
    std::memcpy(at(0), x.data(), elements * sizeof(float));
    std::memcpy(at(1), y.data(), elements * sizeof(float));
    const void* in[] = {at(0), at(1)};
    void* out[] = {at(2), at(3)};
    auto expected = memory;
    for (std::size_t i = 2; i < 4; ++i)
      std::memcpy(expected[i].data() + places[i], whole.arrays[i - 2].data(), elements * sizeof(float));
    trident_call_parallel(call % 2 == 0 ? exact : bounded, elements, in, out, nullptr, 1 + call / 2 % 2);
    EXPECT_TRUE(expected == memory) << "place " << place << " of " << elements;
  }
}

// Oracle: all of the 64 choices.
TEST(Lines, TheMostBytesBeginOne) {
  std::mt19937_64 random(7);
  std::array<int, 64> chosen{};
  for (int round = 0; round < 20'000; ++round) {
    Division division;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<std::uint32_t> bytes;
    const std::size_t outputs = 1 + random() % 2, inputs = random() % 4;
    for (std::size_t i = 0; i < outputs + inputs; ++i) {
      bytes.push_back(1u << random() % 4);
      const bool is_table = i >= outputs && random() % 8 == 0, is_odd = random() % 16 == 0;
      const std::uintptr_t address = 0x10000 + random() % 64 * (is_odd ? 1 : bytes.back());
      if (i < outputs) {
        division.outputs.emplace_back().element_bytes = bytes.back();
        out.push_back(reinterpret_cast<void*>(address));
        continue;
      }
      if (is_table) bytes.back() = 0;
      division.input_bytes.push_back(bytes.back());
      in.push_back(reinterpret_cast<const void*>(address));
    }
    const auto gain = [&](std::uint64_t first) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(i < outputs ? out[i] : in[i - outputs]);
        if ((address + first * bytes[i]) % 64 == 0) sum += bytes[i] * (i < outputs ? 1 : 2);
      }
      return sum;
    };
    std::uint64_t most = 0;
    for (std::uint64_t first = 0; first < 64; ++first) most = std::max(most, gain(first));
    const std::uint64_t first = elements_before_lines(division, in.data(), out.data());
    ASSERT_LT(first, 64u);
    ++chosen[first];
    EXPECT_EQ(most, gain(first));
    EXPECT_TRUE(gain(0) < most || first == 0);
  }
  EXPECT_GT(std::count_if(chosen.begin(), chosen.end(), [](int count) { return count != 0; }), 60);
}

TEST_F(DividedCallTest, EveryPieceSeesTheWholeTable) {
  trident_kernel* const kernel = submit("table t; i: i64; t[i]", TRIDENT_F64);
  std::vector<std::int64_t> i(80'000);
  for (std::size_t at = 0; at < i.size(); ++at) i[at] = static_cast<std::int64_t>(at * 7 % 1000);
  std::vector<double> t(1000), y(i.size());
  for (std::size_t at = 0; at < t.size(); ++at) t[at] = static_cast<double>(at) / 3;
  const void* in[2] = {};
  in[trident_array_index(kernel, "t")] = t.data();
  in[trident_array_index(kernel, "i")] = i.data();
  void* out[] = {y.data()};
  const std::uint64_t params[] = {t.size()};
  trident_call_parallel(kernel, i.size(), in, out, params, 2);
  for (std::size_t at = 0; at < i.size(); ++at) ASSERT_EQ(t[at * 7 % 1000], y[at]) << at;
}

TEST_F(DividedCallTest, ManyCallersAtOnceAndTheEndOfTheContext) {
  trident_kernel* const kernel = submit("sum(x*x)", TRIDENT_F64);
  const std::vector<double> x = random_values<double>(140'000);
  const void* in[] = {x.data()};
  double expected = 0;
  void* whole[] = {&expected};
  trident_call(kernel, x.size(), in, whole, nullptr);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        double s = 0;
        void* out[] = {&s};
        trident_call_parallel(kernel, x.size(), in, out, nullptr, 2);
        wrong += s == expected ? 0 : 1;
      }
    });
  trident_close(ctx_);  // the kernel goes on, alone
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(0, wrong);
  trident_close_kernel(kernel);
  kernels_.clear();
  ctx_ = nullptr;
}

TEST_F(DividedCallTest, CallersWhoseLengthsChangeFromCallToCall) {
  trident_kernel* const kernel = submit("p = x*y; s = sum(x - y); (p, s)", TRIDENT_F32);
  const std::vector<float> x = random_values<float>(400'000), y = random_values<float>(400'001);
  const void* in[] = {x.data(), y.data()};
  std::atomic<int> wrong = 0;
  const auto call = [&](unsigned caller) {
    std::mt19937 random(caller);
    for (int i = 0; i < 12; ++i) {
      const std::size_t n = 1 + random() % (i % 3 == 0 ? 9000 : x.size());
      Outputs<float> whole(kernel, n), divided(kernel, n);
      trident_call(kernel, n, in, whole.pointers.data(), nullptr);
      trident_call_parallel(kernel, n, in, divided.pointers.data(), nullptr, 1 + caller);
      wrong += divided.has_bits_of(whole) ? 0 : 1;
    }
  };
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) callers.emplace_back(call, caller);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(0, wrong);
}

TEST_F(DividedCallTest, ThreadsStartWithTheFirstLargeCallAndWithinTheAffinityMask) {
  trident_kernel* const kernel = submit("sin(x)", TRIDENT_F64);
  const std::vector<double> x = random_values<double>(300'000);
  std::vector<double> y(x.size());
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  const std::size_t before = thread_count();
  trident_call(kernel, x.size(), in, out, nullptr);
  trident_call_parallel(kernel, 100, in, out, nullptr, 8);
  trident_call_parallel(kernel, x.size(), in, out, nullptr, 1);
  EXPECT_EQ(before, thread_count());
  std::thread([&] {
    ASSERT_TRUE(os::pin_to_current_cpu().ok());
    trident_call_parallel(kernel, x.size(), in, out, nullptr, 8);
    EXPECT_EQ(before + 1, thread_count()) << "more threads than this one's processor";
  }).join();
  trident_call_parallel(kernel, x.size(), in, out, nullptr, 8);
  EXPECT_EQ(before + std::min(8u, os::usable_cpus()) - 1, thread_count());
}

TEST_F(DividedCallTest, AChildOfForkHasThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support new threads after a fork with several";
#endif
  trident_kernel* const kernel = submit("sum(sin(x))", TRIDENT_F64);
  const std::vector<double> x = random_values<double>(300'000);
  const void* in[] = {x.data()};
  const auto sum = [&] {
    double s = 0;
    void* out[] = {&s};
    trident_call_parallel(kernel, x.size(), in, out, nullptr, 8);
    return s;
  };
  const double expected = sum();
  const std::size_t threads = thread_count();
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) sum();  // forks catch the helpers at work
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const bool alone = thread_count() == 1, right = sum() == expected && sum() == expected;
      ::_exit(alone && right && thread_count() == threads ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
  }
  over = true;
  other.join();
}

// While code is waited for, the entry counts calls and runs the latest code: pieces of one call would run different
// ones.
TEST(WaitingKernel, IsCountedOnceACallAndKeepsItsCodeThroughAllPieces) {
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_AUTO;
  options.no_speculation = 1;  // calls are counted, and not watched
  options.socket_path = "/nonexistent/tridentd.sock";
  ::setenv("TRIDENT_ENGINE", "/nonexistent/engine.so", 1);
  trident_ctx* ctx = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  ::unsetenv("TRIDENT_ENGINE");
  trident_kernel* handle = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "sin(x)", nullptr, &handle)) << trident_last_error();
  const Kernel& kernel = *Kernel::of(handle);
  const std::vector<double> x = random_values<double>(1'100'000);
  std::vector<double> y(x.size());
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  const trident_entry_fn interpreter = kernel.submission.slot.code<std::remove_pointer_t<trident_entry_fn>>();
  ASSERT_NE(interpreter, __atomic_load_n(&handle->entry, __ATOMIC_ACQUIRE)) << "calls are not counted";
  EXPECT_EQ(interpreter, kernel.enter(1, in, nullptr));
  const std::uint64_t none = kernel.called();
  trident_call(handle, x.size(), in, out, nullptr);
  const std::uint64_t one = kernel.called() - none;
  EXPECT_GT(one, x.size());
  trident_call_parallel(handle, x.size(), in, out, nullptr, 2);
  EXPECT_EQ(2 * one, kernel.called() - none);
  trident_close_kernel(handle);
  trident_close(ctx);
}

TEST(ThreadsOption, IsCheckedAndComesFromTheEnvironment) {
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_INTERP;
  const auto opened_threads = [&]() -> unsigned {
    trident_ctx* ctx = nullptr;
    if (trident_open(&options, &ctx) != TRIDENT_OK) return 0;
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, "x", nullptr, &kernel));
    const unsigned threads = Kernel::of(kernel)->context.settings().threads;
    trident_close_kernel(kernel);
    trident_close(ctx);
    return threads;
  };
  EXPECT_EQ(os::usable_cpus(), opened_threads());
  ::setenv("TRIDENT_NUM_THREADS", "1", 1);
  EXPECT_EQ(1u, opened_threads());
  options.threads = 2;
  EXPECT_EQ(std::min(2u, os::usable_cpus()), opened_threads()) << "options go before the environment";
  options.threads = 65;
  EXPECT_EQ(0u, opened_threads());
  options.threads = 0;
  for (const char* word : {"65", "128", "99999999999999999999"}) {  // set for a larger machine
    ::setenv("TRIDENT_NUM_THREADS", word, 1);
    EXPECT_EQ(os::usable_cpus(), opened_threads()) << word;
  }
  for (const char* word : {"0", "two", "-1", "2 ", "1e9", "-99999999999999999999", "99999999999999999999 "}) {
    ::setenv("TRIDENT_NUM_THREADS", word, 1);
    EXPECT_EQ(0u, opened_threads()) << word;
    EXPECT_NE(nullptr, std::strstr(trident_last_error(), "TRIDENT_NUM_THREADS")) << trident_last_error();
  }
  ::unsetenv("TRIDENT_NUM_THREADS");
}

std::vector<std::uint64_t> seen_lengths;

/// Stands for a kernel's code, and notes the lengths of its calls.
void note_length(const trident_kernel*, std::uint64_t n, const void* const*, void* const* out, const std::uint64_t*) {
  seen_lengths.push_back(n);
  std::memset(out[0], 0, sizeof(double));
}

// Code that assumes ranges chooses its kernel by the place in the call, and bits may differ with it, except under
// exact.
TEST_F(DividedCallTest, CallsOfCodeThatIsNotSteadyBeginWhereTheArraysDo) {
  alignas(64) static double x[8192], y[8192];
  constexpr std::uint64_t kLength = 5000;
  for (const trident_policy policy : {TRIDENT_EXACT, TRIDENT_BOUNDED, TRIDENT_FAST}) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = policy;
    trident_kernel* kernel = InterpretedContext::submit("x + 1", &options);
    __atomic_store_n(&kernel->entry, &note_length, __ATOMIC_RELEASE);  // none of the slot's: not steady
    seen_lengths.clear();
    const void* in[] = {x + 3};
    void* out[] = {y + 3};
    trident_call_parallel(kernel, kLength, in, out, nullptr, 1);
    const std::vector<std::uint64_t> from_line = {5, kLength - 5}, whole = {kLength};
    EXPECT_EQ(policy == TRIDENT_EXACT ? from_line : whole, seen_lengths);
  }
}

// Code of sum(3*x) may be 3*sum(x), which rounds the result of each piece: then one thread takes the pieces that two
// take. Under exact all codes have the same bits, and one thread takes the call as a whole.
TEST_F(DividedCallTest, OneThreadKeepsPiecesWhoseResultsMayBeRounded) {
  constexpr std::uint64_t kLength = std::uint64_t{256} * kir::kChunk;
  const std::vector<double> x(kLength);
  const void* in[] = {x.data()};
  double sum = 0;
  void* out[] = {&sum};
  const auto lengths = [&](trident_policy policy, unsigned threads) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = policy;
    trident_kernel* kernel = InterpretedContext::submit("sum(3*x)", &options);
    __atomic_store_n(&kernel->entry, &note_length, __ATOMIC_RELEASE);
    seen_lengths.clear();
    trident_call_parallel(kernel, kLength, in, out, nullptr, threads);
    return seen_lengths;
  };
  EXPECT_EQ(std::vector{kLength}, lengths(TRIDENT_EXACT, 1));
  for (const trident_policy policy : {TRIDENT_BOUNDED, TRIDENT_FAST}) {
    const std::vector<std::uint64_t> pieces = lengths(policy, 1);
    EXPECT_GT(pieces.size(), 1u);
    EXPECT_EQ(kLength, std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0}));
  }
}

// No kernel is needed: a count of calls is the oracle.
TEST(ShortCalls, AreTriedAgainAfterSomeCallsAndNeverTrustedBeyondTheirLength) {
  ShortCalls known;
  EXPECT_FALSE(known.include(1)) << "nothing has been tried";
  for (int again = 0; again < 2; ++again) {
    known.add(50'000);
    EXPECT_FALSE(known.include(50'001));
    int trusted = 0;
    while (trusted < 1000 && known.include(50'000)) ++trusted;
    EXPECT_GT(trusted, 10);
    EXPECT_LT(trusted, 100) << "data that have become slow get their threads back";
  }
}

TEST(ShortCalls, DoubtTheFirstLongPieceAfterShortOnesAndNoOther) {
  ShortCalls known;
  EXPECT_FALSE(known.doubt(50'000)) << "nothing has been short";
  for (int again = 0; again < 2; ++again) {
    known.add(50'000);
    EXPECT_FALSE(known.doubt(50'001)) << "longer calls are others";
    EXPECT_TRUE(known.doubt(50'000));
    EXPECT_FALSE(known.include(50'000)) << "the next call asks again";
    EXPECT_FALSE(known.doubt(50'000)) << "two in a row decide";
  }
}

}  // namespace
}  // namespace trident::client
