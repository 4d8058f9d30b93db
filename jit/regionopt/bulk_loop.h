// Loops of regions whose rounds can be done many at a time.
//
// The code of a bulk loop stands in front of a loop's head and changes nothing but speed: it does as many rounds as
// certainly come back to the head, all at once, and leaves variables and memory as these rounds do. The loop itself
// stays as it is. It does the rest: the last rounds, ways out, faults, an exhausted budget. So every exit finds the
// state that the interpreter gives.
//
//     rounds = least of the limits        (a counter below its bound, an index inside its array, the budget)
//     lanes:   loads, nodes, stores       one lane a round; a lane that says stop ends the group before it
//     ends:    reductions, steps          variables after these rounds
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/region/region.h"

namespace trident::regionopt {

/// A number that changes by the same step each round: sum of factor * variable, + constant. All of it wraps.
struct Linear {
  struct Term {
    std::uint32_t variable = 0;
    std::int64_t factor = 1;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  std::uint64_t constant = 0;
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// A value of one round: the operands of an op are nodes that stand before it.
struct Node {
  enum class Kind : std::uint8_t { constant, variable, load, op };
  Kind kind = Kind::constant;
  region::Op op = region::Op::Constant;
  region::Type type = region::Type::i64;
  std::uint32_t a = 0, b = 0, c = 0;
  std::uint64_t imm = 0;  ///< constant: bits; variable: its number; load: number of its reference
  friend bool operator==(const Node&, const Node&) = default;
};

/// An element of a window, another one each round.
struct Reference {
  std::uint32_t window = 0;
  std::uint8_t bytes = 0;
  Linear index;
  std::int64_t step = 0;  ///< of the index: 1 or -1
  friend bool operator==(const Reference&, const Reference&) = default;
};

/// Says how many rounds hold what they need.
struct Limit {
  enum class Kind : std::uint8_t {
    below,           ///< first < second, signed; their distance falls by `closing` a round
    below_unsigned,  ///< likewise, unsigned
    at_most,         ///< first <= second, signed; `closing` is 1
    differ,          ///< first != second; `closing` is 1 or -1
    element          ///< the element number `first` of window `window` is there; `closing` is the step of `first`
  };
  Kind kind = Kind::below;
  Linear first, second;
  std::int64_t closing = 0;
  std::uint32_t window = 0;
  std::uint8_t bytes = 0;
};

struct Reduction {
  enum class Kind : std::uint8_t {
    count,     ///< plus the number of lanes where `node` is not 0
    sum,       ///< plus the lanes of `node`
    least,     ///< the least of it and the lanes, signed
    greatest,  ///< likewise
    last,      ///< `value` of the last round whose `node` is not 0
    series     ///< plus `value` of each round
  };
  Kind kind = Kind::count;
  std::uint32_t variable = 0, node = 0;
  Linear value;
  std::int64_t step = 0;  ///< of `value`
};

struct Store {
  std::uint32_t reference = 0, node = 0;
};
struct Step {
  std::uint32_t variable = 0;
  std::int64_t step = 0;
};

struct BulkLoop {
  std::uint32_t entry = 0;      ///< the block before the head, which does nothing else
  std::uint8_t lane_bytes = 0;  ///< 1 or 8; 0: there are no lanes
  std::vector<Node> nodes;
  std::vector<Reference> references;
  std::vector<Limit> limits;
  std::vector<std::uint32_t> stops;  ///< nodes: control leaves in the first round where one is not 0
  std::vector<Store> stores;
  std::vector<Reduction> reductions;
  std::vector<Step> steps;
  std::vector<std::uint32_t> unknown;                          ///< variables that change otherwise than by a step
  std::vector<std::uint32_t> bytes;                            ///< variables that must hold 0 to 255
  std::vector<std::pair<std::uint32_t, std::uint32_t>> apart;  ///< windows that must not overlap
};

}  // namespace trident::regionopt
