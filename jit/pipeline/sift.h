// Leaves out most of many candidates before their code is checked. A look at their times takes one sandboxed child for
// all, a check of the code milliseconds for each. Nothing is published unchecked: candidates that stay are checked.
#pragma once

#include <span>

#include "jit/judge/timing.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

/// Times the candidates for a moment, the baseline first, and marks those that many others outrun as sifted_out. Those
/// that stay: the baseline, the fastest of all, the fastest of each form (the winner's form may still be refused), and
/// those that crashed or hung, which the check will refuse. Few candidates stay as they are. Errors: those of
/// time_rounds().
Result<void> sift(std::span<Candidate> candidates, const judge::Signature& signature, const judge::Workload& workload,
                  std::uint64_t cpu_ns);

}  // namespace trident::pipeline
