// A call on arrays that do not lie element after element: with steps between elements, backwards, repeated, at odd
// addresses. Some elements at a time are gathered into buffers that stay in the cache, so no array is copied as a whole:
//
//   input ──gather──> buffer ──┐
//   input as it lies ──────────┤ kernel ├──> buffer ──scatter──> output
//
// Threads take the pieces as in divided_call.h, with the same bits. A kernel that does not divide gets whole copies of
// the arrays that need it.
#pragma once

#include <cstdint>

#include "clients/c/trident.h"
#include "runtime/base/result.h"

namespace trident::client {

struct Kernel;

/// The arguments of trident_call_strided().
struct StridedArguments {
  std::uint32_t dimensions;
  const std::uint64_t* shape;
  const void* const* in;
  const std::int64_t* const* in_strides;
  void* const* out;
  const std::int64_t* const* out_strides;
  const std::uint64_t* params;
};
Result<void> call_strided(const Kernel& kernel, unsigned threads, const StridedArguments& arguments);

}  // namespace trident::client
