// What a program of TIR does: the meaning that lowering must keep. Written from the tables of operations alone, without
// the machine, so that each is a check of the other.
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
  /// Bottom first, at least 16.
  std::span<const Element> stack;
  /// Address and word; of two for one address the last.
  std::span<const std::pair<Element, Element>> ram = {};
};

struct Outcome {
  enum class End : std::uint8_t { halted, failed, out_of_budget };
  End end = End::failed;
  const Operation* at = nullptr;  ///< the one that failed
  std::vector<Element> stack;     ///< bottom first
  std::vector<Element> output;
  std::unordered_map<std::uint64_t, Element> ram;
  std::optional<field::Tip5> sponge;
};

/// Runs until halt, a failure or `operations_max` operations. Bodies and calls may be nested kDepthMax deep.
inline constexpr unsigned kDepthMax = 2'000;
Outcome interpret(const Program& program, const Inputs& inputs, std::uint64_t operations_max);

}  // namespace trident::tir::language
