// A program with so many thread-local variables that they would leave the library's threads no stack, had they no
// memory of their own: glibc takes them from the stack that a thread asks for. Oracle: the C library's sine.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"

namespace {

constexpr std::size_t kSines = 100, kN = 1000;

thread_local volatile char own[500u << 10];

/// Returns the text of a kernel that uses many values twice, so keeps them: the interpreter has its scratch on the
/// stack.
std::string many_sines() {
  std::string values, sum = "0", squares = "0";
  for (std::size_t i = 0; i < kSines; ++i) {
    const std::string name = "a" + std::to_string(i);
    values += name + " = sin(x + " + std::to_string(i) + "); ";
    sum += " + " + name;
    squares += " + " + name + "*" + name;
  }
  return values + "s = " + sum + "; s + " + squares;
}

struct Calls {
  explicit Calls(const trident_kernel* called) : kernel(called) {}
  /// Waits for the other thread, so that each of two makes a call.
  void make(std::uint64_t number) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
    const void* in[] = {x.data()};
    void* out[] = {answers[number].data()};
    trident_call(kernel, kN, in, out, nullptr);
  }

  const trident_kernel* kernel;
  std::atomic<int> inside = 0;
  const std::vector<double> x = std::vector<double>(kN, 0.25);
  std::array<std::vector<double>, 2> answers{std::vector<double>(kN), std::vector<double>(kN)};
};

TEST(ThreadLocals, LeaveTheLibrarysThreadsTheirStacks) {
  own[0] = 1;
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor has no helper";
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_INTERP;
  trident_ctx* ctx = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, many_sines().c_str(), nullptr, &kernel)) << trident_last_error();
  Calls calls(kernel);
  const auto work = [](std::uint64_t number, void* shared) { static_cast<Calls*>(shared)->make(number); };
  trident_for_each_piece(kernel, 2, work, &calls, 2);
  double expected = 0;
  for (std::size_t i = 0; i < kSines; ++i) {
    const double sine = std::sin(0.25 + static_cast<double>(i));
    expected += sine + sine * sine;
  }
  for (const std::vector<double>& answers : calls.answers)
    for (const double answer : answers) ASSERT_NEAR(expected, answer, 1e-11);
  trident_close_kernel(kernel);
  trident_close(ctx);
}

}  // namespace
