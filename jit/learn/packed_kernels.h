// A compressed benchmark cache (timed_kernels.h), to be shipped: a text under xz.
//
//   trident timed kernels 1
//   machine <TAB> cpu <TAB> isa <TAB> build <TAB> date
//   family <TAB> name <TAB> generator <TAB> number of the machine
//   <TAB> how <TAB> expression, a kernel of the family above      \n, \t and \\ stand for themselves
//   times
//   ns <TAB> ns again                                             for every kernel, in their order, four digits
//
// load_timed_kernels() reads both kinds of file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/learn/timed_kernels.h"
#include "runtime/base/result.h"

namespace trident::learn {

/// Compresses a cache. Equal kernels give equal bytes.
std::vector<std::byte> pack(const TimedKernels& all);

/// True if bytes begin as those of pack() do.
bool is_packed(std::span<const std::byte> bytes);
/// Decompresses. Errors: RejectedRecord, with `file` and line, for any other text; LimitExceeded for too much of it.
Result<TimedKernels> unpack(std::span<const std::byte> bytes, const std::string& file);

/// Cuts a cache to about `kernels` of the machine that has most: families of all generators equally as far as they go,
/// chosen by their names alone (fewer of those with long texts), at most `per_family` of each with its source and best
/// form among them.
TimedKernels cut(const TimedKernels& all, std::size_t kernels, std::size_t per_family = 12);

}  // namespace trident::learn
