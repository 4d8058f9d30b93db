// The loops of kernels/*.jsonl as sources of compilations.
#pragma once

#include <string>
#include <vector>

#include "jit/pipeline/loop.h"

namespace trident::tests {

struct KernelRow {
  std::string name;
  pipeline::LoopSource source;
};

std::vector<KernelRow> kernel_rows(const std::string& file);

/// The rows of kernel_loops.jsonl that compile, without trials.
struct CompiledRow {
  std::string name;
  pipeline::LoopSource source;
  pipeline::CompiledLoop compiled;
};
std::vector<CompiledRow> compiled_rows();

}  // namespace trident::tests
