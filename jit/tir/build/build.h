// A program and inputs in, a program that is cheaper to prove out: what `trident build` and the daemon share.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jit/tir/neural/block_buffer.h"
#include "jit/tir/neural/weights.h"
#include "jit/tir/tournament/tournament.h"

namespace trident::tir::build {

using field::Digest;
using field::Element;

enum class Form : std::uint8_t { tasm, tir };

/// What can be left out.
enum class Stage : std::uint8_t { peepholes, subroutines, superoptimiser, network };
inline constexpr std::string_view kStageNames[] = {"peepholes", "subroutines", "superoptimiser", "network"};

struct Request {
  Form form = Form::tasm;
  tasm::Vm machine = tasm::Vm::released;  ///< that the program is for
  std::string name = "<program>";         ///< for errors
  std::string text{};
  std::vector<Element> public_input{}, secret_input{};
  std::vector<Digest> secret_digests{};
  std::vector<std::pair<Element, Element>> ram{};
  std::uint64_t cycles = limits::kVmCycles;  ///< most of one run
  std::uint32_t milliseconds = 10'000;       ///< of search, beyond which it ends with what it has
  std::uint32_t programs = 600;              ///< whole programs that may be run
  std::uint8_t left_out = 0;                 ///< a bit per Stage
  /// Bytes of the result's text. A program whose own text, as it is printed, is longer is refused before any search.
  std::size_t text_max = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool has(Stage stage) const { return (left_out >> static_cast<unsigned>(stage) & 1) == 0; }
  /// Borrows.
  [[nodiscard]] vm::Inputs inputs() const { return {public_input, secret_input, secret_digests, ram, {}}; }
};

struct Built {
  std::string tasm;
  vm::Heights before, after;
  std::uint32_t words_before = 0, words_after = 0;
  /// JSON: "subroutine_changes"; "changes", rows of "by", "before", "after"; "proposers", rows of "name", "proposed",
  /// "equal", "differ", "unknown", "won"; "programs_run"; "put_aside", sentences on what did not pass the second check;
  /// "looks_at_digest".
  std::string report;
  std::vector<tournament::Studied> studied;

  /// The blocks that were looked at, for a network to learn from.
  [[nodiscard]] std::vector<neural::BlockRecord> records() const;
  /// Whether it costs less by Score's order.
  [[nodiscard]] bool cheaper() const;
  /// Leaves the lists of changes out of the report, which says so: "cut" is true then.
  void cut_report();
};

/// SyntaxError with name and place; LimitExceeded by text_max; InvalidArgument if the program fails on the inputs, with
/// the place and why. `progress` is told the share that is done; false ends the search with what there is. `weights`:
/// the network's; null for those that come with the program.
Result<Built> build(const Request& request, const std::function<bool(double)>& progress = {},
                    const neural::Weights* weights = nullptr);

}  // namespace trident::tir::build
