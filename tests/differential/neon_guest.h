// Runs NEON code on any machine: an AArch64 CPU of Unicorn with the code, a stack and room for arrays.
#pragma once

#include <unicorn/unicorn.h>

#include <cstdint>

#include "jit/codegen/codegen.h"
#include "jit/kir/kir.h"

namespace trident::testing {

class NeonGuest {
 public:
  /// `code` is that of `kernel`, which must outlive the guest and leaves no steps (kir.h).
  NeonGuest(const kir::Kernel& kernel, const codegen::MachineCode& code);
  ~NeonGuest();
  NeonGuest(const NeonGuest&) = delete;
  NeonGuest& operator=(const NeonGuest&) = delete;

  /// Calls the code with copies of the arrays and copies the outputs back. A fault fails the test.
  void run(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params);

 private:
  /// Returns the address of the next bytes, with a copy of `data` unless it is null.
  std::uint64_t place(const void* data, std::size_t bytes);
  void call(std::uint64_t n, std::uint64_t in, std::uint64_t out, std::uint64_t params);

  const kir::Kernel& kernel_;
  uc_engine* engine_ = nullptr;
  std::uint64_t free_ = 0;  ///< the first free address of data
};

}  // namespace trident::testing
