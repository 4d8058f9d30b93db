// Runs a candidate for the equivalence check: the one place where equiv's points meet judge's sandbox.
#pragma once

#include "jit/equiv/checker.h"
#include "jit/image/image.h"
#include "jit/judge/guarded.h"

namespace trident::pipeline {

/// CPU time after which a candidate without an answer counts as hung: the longest sets take milliseconds.
inline constexpr std::uint64_t kExecutionNs = 2'000'000'000;

/// Runs `image`, a kernel with the variables of `source`, in a sandboxed child. All three must outlive the result.
equiv::Execute execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                  const image::Mapped& image, std::uint64_t cpu_ns = kExecutionNs);
/// Runs several, which share children.
equiv::ExecuteAll execute_in_sandbox(const expr::Expr& source, const judge::Signature& signature,
                                     std::span<const image::Mapped* const> images, std::uint64_t cpu_ns = kExecutionNs);

}  // namespace trident::pipeline
