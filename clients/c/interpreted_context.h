// The context of tests that need no machine code: the interpreter answers, and nothing else runs.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "clients/c/trident.h"

namespace trident::client {

/// Owns a context of mode INTERP and the kernels that were submitted to it.
class InterpretedContext : public ::testing::Test {
 protected:
  void SetUp() override {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = TRIDENT_MODE_INTERP;
    ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  void TearDown() override {
    close_kernels();
    trident_close(ctx_);
  }
  /// Returns null, and fails the test, where the text is refused.
  trident_kernel* submit(const char* text, const trident_submit_options* options = nullptr) {
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx_, text, options, &kernel)) << trident_last_error();
    if (kernel != nullptr) kernels_.push_back(kernel);
    return kernel;
  }
  void close_kernels() {
    for (trident_kernel* kernel : kernels_) trident_close_kernel(kernel);
    kernels_.clear();
  }

  trident_ctx* ctx_ = nullptr;
  std::vector<trident_kernel*> kernels_;
};

}  // namespace trident::client
