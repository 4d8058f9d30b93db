// A program and inputs in, a program that is cheaper to prove out: what `trident build` and the daemon share.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jit/tir/neural/block_buffer.h"
#include "jit/tir/neural/weights.h"
#include "jit/tir/tournament/tournament.h"
#include "runtime/base/program_limits.h"

namespace trident::tir::build {

using field::Digest;
using field::Element;

enum class Form : std::uint8_t { tasm, tir };

/// What can be left out.
enum class Stage : std::uint8_t { peepholes, subroutines, superoptimiser, network };
inline constexpr std::string_view kStageNames[] = {"peepholes", "subroutines", "superoptimiser", "network"};

/// Inputs with which the program ends well.
struct Run {
  std::vector<Element> public_input{}, secret_input{};
  std::vector<Digest> secret_digests{};
  std::vector<std::pair<Element, Element>> ram{};

  /// Borrows.
  [[nodiscard]] vm::Inputs inputs() const { return {public_input, secret_input, secret_digests, ram, {}}; }
};

struct Request {
  Form form = Form::tasm;
  tasm::Vm machine = tasm::Vm::released;  ///< that the program is for
  std::string name = "<program>";         ///< for errors
  std::string text{};
  std::vector<Run> runs{Run()};              ///< at least one; the result is never taller on any of them
  std::uint64_t cycles = limits::kVmCycles;  ///< most of one run
  std::uint32_t milliseconds = 10'000;       ///< of search, beyond which it ends with what it has
  std::uint32_t programs = 600;              ///< whole programs that may be run
  std::uint8_t left_out = 0;                 ///< a bit per Stage
  /// Bytes of the result's text. A program whose own text, as it is printed, is longer is refused before any search.
  std::size_t text_max = limits::kTasmTextBytesMax;

  [[nodiscard]] bool has(Stage stage) const { return (left_out >> static_cast<unsigned>(stage) & 1) == 0; }
};

struct Built {
  std::string tasm;
  vm::Heights before, after;  ///< on the first run
  std::uint32_t words_before = 0, words_after = 0;
  std::size_t runs = 1;  ///< on which it was measured
  /// JSON: "subroutine_changes"; "changes", rows of "by", "before", "after"; "proposers", rows of "name", "proposed",
  /// "equal", "differ", "unknown", "won"; "programs_run"; "put_aside", sentences on what did not pass the second check;
  /// "looks_at_digest"; "runs", rows of "before", "after", each with the rows of all tables in the order of tables.def.
  std::string report;
  std::vector<tournament::Studied> studied;

  /// The blocks that were looked at, for a network to learn from.
  [[nodiscard]] std::vector<neural::BlockRecord> records() const;
  /// Whether it costs less by Score's order.
  [[nodiscard]] bool cheaper() const;
  /// Leaves the lists of changes out of the report, which says so: "cut" is true then.
  void cut_report();
};

/// LimitExceeded if the program has more words, or its text, as it is printed, more bytes than may be built.
Result<void> check_size(const Request& request, const tasm::Program& program);

/// SyntaxError with name and place; LimitExceeded by text_max, kBuildWordsMax and kBuildRunsMax; InvalidArgument if the
/// program fails on a run, with the place and why. `progress` is told the share that is done; false ends the search
/// with what there is. `weights`: the network's; null for those that come with the program.
Result<Built> build(const Request& request, const std::function<bool(double)>& progress = {},
                    const neural::Weights* weights = nullptr);

}  // namespace trident::tir::build
