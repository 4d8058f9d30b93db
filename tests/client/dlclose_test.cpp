// A program that opens libtrident.so with dlopen(), as plugin hosts do, and closes it again with a context and a kernel
// still open: the library's threads and the kernel's entry must outlive that. Oracle: the formula.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "clients/c/trident.h"

namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

TEST(Dlclose, OpenContextsAndKernelsSurvive) {
  for (int round = 0; round < 3; ++round) {
    void* const library = ::dlopen(TRIDENT_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    // Mode auto, and nobody listens: the context's thread sleeps and wakes to look again.
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = "/nonexistent/tridentd.sock";
    trident_ctx* ctx = nullptr;
    ASSERT_EQ(TRIDENT_OK, symbol<decltype(trident_open)>(library, "trident_open")(&options, &ctx));
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(TRIDENT_OK,
              symbol<decltype(trident_submit)>(library, "trident_submit")(ctx, "x*2 + 1", nullptr, &kernel));
    EXPECT_EQ(0, ::dlclose(library));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double x[] = {1, 2, 3, -4.5};
    double y[4] = {};
    const void* in[] = {x};
    void* out[] = {y};
    trident_call(kernel, 4, in, out, nullptr);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(x[i] * 2 + 1, y[i]);
    // A program that opens it again finds the library in its old place, and can close the handles that were left open.
    void* const again = ::dlopen(TRIDENT_LIBRARY_PATH, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(again, nullptr) << "it was unloaded";
    symbol<decltype(trident_close_kernel)>(again, "trident_close_kernel")(kernel);
    symbol<decltype(trident_close)>(again, "trident_close")(ctx);
    ::dlclose(again);
  }
}

}  // namespace
