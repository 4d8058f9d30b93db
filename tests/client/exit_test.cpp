// Programs that end while the engine works in them, without closing anything. Oracle: their exit status.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "clients/c/trident.h"

namespace trident::tests {
namespace {

constexpr int kStatus = 42, kEnds = 40, kEarlyEnds = 150;
constexpr useconds_t kStepUs = 8000, kEarlyStepUs = 37, kEarlyUs = 1000;

/// Submits kernels and ends the process, as a return from main does, some time into their searches.
[[noreturn]] void end_while_it_works(useconds_t after_us) {
  trident_options options{};
  options.struct_size = sizeof options;
  options.mode = TRIDENT_MODE_EMBEDDED;
  trident_ctx* ctx = nullptr;
  if (trident_open(&options, &ctx) != TRIDENT_OK) std::_Exit(1);
  for (const char* text : {"sin(x)*exp(x) + 1", "x^3 + 2*x", "log(x + 2)*cos(x)", "exp(x)/(1 + exp(x))"}) {
    trident_kernel* kernel = nullptr;
    if (trident_submit(ctx, text, nullptr, &kernel) != TRIDENT_OK) std::_Exit(2);
  }
  ::usleep(after_us);
  std::exit(kStatus);
}

void expect_good_end(useconds_t after_us) {
  const pid_t child = ::fork();
  if (child == 0) end_while_it_works(after_us);
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kStatus)
      << "status " << status << " after " << after_us << " us";
}

TEST(Exit, AProgramMayEndWhileTheEngineSearches) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  for (int end = 0; end < kEnds; ++end) expect_good_end(static_cast<useconds_t>(end) * kStepUs);
}

// The first kernels take libraries up that may want to be taken down at exit.
TEST(Exit, AProgramMayEndWhileTheEngineBegins) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  for (int end = 0; end < kEarlyEnds; ++end) expect_good_end(static_cast<useconds_t>(end) * kEarlyStepUs % kEarlyUs);
}

}  // namespace
}  // namespace trident::tests
