// A benchmark cache (timed_kernels.h) in little room, to be shipped: a text under xz.
//
//   trident timed kernels 1
//   machine <TAB> cpu <TAB> isa <TAB> build <TAB> date
//   family <TAB> name <TAB> generator <TAB> number of the machine
//   <TAB> how <TAB> expression, a kernel of the family above      \n, \t and \\ stand for themselves
//   times
//   ns <TAB> ns again                                             of every kernel, in their order, four digits
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

/// Compressed. The same bytes for the same kernels.
std::vector<std::byte> pack(const TimedKernels& all);

/// Whether bytes begin as those of pack() do.
bool is_packed(std::span<const std::byte> bytes);
/// RejectedRecord, with `file` and line, for what pack() does not write; LimitExceeded for what unpacks to too much.
Result<TimedKernels> unpack(std::span<const std::byte> bytes, const std::string& file);

/// About `kernels` of the machine that has most: families of all generators alike as far as there are any, chosen by
/// their names alone (of those with long texts fewer), at most `per_family` of each with its source and best form among
/// them.
TimedKernels cut(const TimedKernels& all, std::size_t kernels, std::size_t per_family = 12);

}  // namespace trident::learn
