// Calls on several threads through machine code of every tier, by the engine in this process: the bits of one thread,
// and of the whole call under policy exact, also while code is swapped. Oracle: the interpreter of a client that asks
// no compiler.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"

namespace {

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::size_t kN = 262'144 + 4096 + 77;  // pieces of two lengths, and a tail

using Floats = std::vector<float>;

class Client {
 public:
  explicit Client(trident_mode mode) {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  ~Client() {
    for (trident_kernel* kernel : kernels_) trident_close_kernel(kernel);
    trident_close(ctx_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  trident_kernel* submit(const char* text, trident_policy policy) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = TRIDENT_F32;
    options.policy = policy;
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx_, text, &options, &kernel)) << trident_last_error();
    kernels_.push_back(kernel);
    return kernel;
  }

 private:
  trident_ctx* ctx_ = nullptr;
  std::vector<trident_kernel*> kernels_;
};

struct Arrays {
  Arrays() : x(kN), y(kN) {
    for (std::size_t i = 0; i < kN; ++i) {
      x[i] = 3 * std::sin(static_cast<float>(i));
      y[i] = 2 + std::cos(static_cast<float>(i) / 3);
    }
  }
  Floats x, y;
};

/// Returns the kernel's array, and behind it its sum.
template <class Call>
Floats answer(const Arrays& data, Call call) {
  Floats z(kN + 1);
  const void* in[] = {data.x.data(), data.y.data()};
  void* out[] = {z.data(), z.data() + kN};
  call(kN, in, out, static_cast<const std::uint64_t*>(nullptr));
  return z;
}
Floats whole(const trident_kernel* kernel, const Arrays& data) {
  return answer(data, [&](auto... arguments) { trident_call(kernel, arguments...); });
}
Floats divided(const trident_kernel* kernel, const Arrays& data, unsigned threads) {
  return answer(data, [&](auto... arguments) { trident_call_parallel(kernel, arguments..., threads); });
}
bool same_bits(const Floats& a, const Floats& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr const char* kText = "p = sin(x)/y + x*x*x; s = sum(3*x*y); (p, s)";

TEST(Parallel, ExactHasTheBitsOfTheInterpreterInEveryTier) {
  const Arrays data;
  Client interpreting(TRIDENT_MODE_INTERP), compiling(TRIDENT_MODE_EMBEDDED);
  const Floats expected = whole(interpreting.submit(kText, TRIDENT_EXACT), data);
  trident_kernel* const kernel = compiling.submit(kText, TRIDENT_EXACT);
  for (const std::uint32_t tier : {0u, 1u, 2u}) {
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs)) << trident_last_error();
    for (const unsigned threads : {1u, 2u, 3u, 8u})
      EXPECT_TRUE(same_bits(expected, divided(kernel, data, threads))) << "tier " << tier << ", threads " << threads;
  }
}

// A sum's factor may stand behind the sum: then pieces round apart from the whole, whatever the number of threads.
TEST(Parallel, OtherPoliciesGiveEveryNumberOfThreadsTheSameBits) {
  const Arrays data;
  Client compiling(TRIDENT_MODE_EMBEDDED);
  for (const trident_policy policy : {TRIDENT_BOUNDED, TRIDENT_FAST}) {
    trident_kernel* const kernel = compiling.submit(kText, policy);
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, 2, kPatienceMs)) << trident_last_error();
    const Floats alone = divided(kernel, data, 1);
    for (const unsigned threads : {2u, 3u, 8u}) EXPECT_TRUE(same_bits(alone, divided(kernel, data, threads)));
  }
}

TEST(Parallel, CallersOfManyThreadsWhileTiersAreSwapped) {
  const Arrays data;
  Client interpreting(TRIDENT_MODE_INTERP), compiling(TRIDENT_MODE_EMBEDDED);
  for (const char* text : {"p = exp(-x*x) + y; s = sum(x); (p, s)", "p = sqrt(y)*x; s = maxof(x*y); (p, s)"}) {
    const Floats expected = whole(interpreting.submit(text, TRIDENT_EXACT), data);
    trident_kernel* const kernel = compiling.submit(text, TRIDENT_EXACT);
    std::atomic<bool> over = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        do wrong += same_bits(expected, divided(kernel, data, 2)) ? 0 : 1;
        while (!over);
      });
    EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, 2, kPatienceMs)) << trident_last_error();
    over = true;
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(0, wrong) << text;
  }
}

}  // namespace
