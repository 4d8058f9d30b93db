// Interprets a program of TIR: the meaning that lowering must keep. Written from the tables of operations alone,
// without the machine, so that each checks the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/tir/language/program.h"
#include "runtime/field/tip5.h"

namespace trident::tir::language {

struct Inputs {
  std::span<const Element> public_input, secret_input;
  std::span<const field::Digest> secret_digests;
  /// Stack, bottom first, at least 16.
  std::span<const Element> stack;
  /// RAM as address and word; of two words for one address the last counts.
  std::span<const std::pair<Element, Element>> ram = {};
};

struct Outcome {
  enum class End : std::uint8_t { halted, failed, out_of_budget };
  End end = End::failed;
  const Operation* at = nullptr;  ///< the operation that failed
  std::vector<Element> stack;     ///< bottom first
  std::vector<Element> output;
  std::unordered_map<std::uint64_t, Element> ram;
  std::optional<field::Tip5> sponge;
};

/// Runs until halt, a failure or `operations_max` operations. Bodies and calls may be nested kDepthMax deep.
inline constexpr unsigned kDepthMax = 2'000;
Outcome interpret(const Program& program, const Inputs& inputs, std::uint64_t operations_max);

}  // namespace trident::tir::language
