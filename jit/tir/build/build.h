// Takes a program and inputs and builds a program that is cheaper to prove: `trident build` and the daemon share it.
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

/// Stages that a request can leave out.
enum class Stage : std::uint8_t { peepholes, subroutines, superoptimiser, network };
inline constexpr std::string_view kStageNames[] = {"peepholes", "subroutines", "superoptimiser", "network"};

/// Inputs on which the program ends well.
struct Run {
  std::vector<Element> public_input{}, secret_input{};
  std::vector<Digest> secret_digests{};
  std::vector<std::pair<Element, Element>> ram{};

  /// Returns views of this run's data.
  [[nodiscard]] vm::Inputs inputs() const { return {public_input, secret_input, secret_digests, ram, {}}; }
};

struct Request {
  Form form = Form::tasm;
  tasm::Vm machine = tasm::Vm::released;  ///< version of the machine
  std::string name = "<program>";         ///< for errors
  std::string text{};
  std::vector<Run> runs{Run()};              ///< at least one; the result is never taller on any of them
  std::uint64_t cycles = limits::kVmCycles;  ///< limit per run
  std::uint32_t milliseconds = 10'000;       ///< time limit of the search; it returns the best so far
  std::uint32_t programs = 600;              ///< limit of whole programs that are run
  std::uint8_t left_out = 0;                 ///< one bit per Stage
  /// Limits the result's text, in bytes. build() refuses a longer program (as printed) before any search.
  std::size_t text_max = limits::kTasmTextBytesMax;

  [[nodiscard]] bool has(Stage stage) const { return (left_out >> static_cast<unsigned>(stage) & 1) == 0; }
};

struct Built {
  std::string tasm;
  vm::Heights before, after;  ///< heights on the first run
  std::uint32_t words_before = 0, words_after = 0;
  std::size_t runs = 1;  ///< number of runs it was measured on
  /// JSON: "subroutine_changes"; "changes", rows of "by", "before", "after"; "proposers", rows of "name", "proposed",
  /// "equal", "differ", "unknown", "won"; "programs_run"; "put_aside", sentences on what did not pass the second check;
  /// "looks_at_digest"; "runs", rows of "before", "after", each with the rows of all tables in the order of tables.def.
  std::string report;
  std::vector<tournament::Studied> studied;

  /// The blocks that were looked at, for a network to learn from.
  [[nodiscard]] std::vector<neural::BlockRecord> records() const;
  /// True if the result costs less by Score's order.
  [[nodiscard]] bool cheaper() const;
  /// Leaves the lists of changes out of the report and sets "cut" to true.
  void cut_report();
};

/// Returns LimitExceeded if the program has too many words, or too many bytes as printed.
Result<void> check_size(const Request& request, const tasm::Program& program);

/// Errors: SyntaxError with name and place; LimitExceeded by text_max, kBuildWordsMax and kBuildRunsMax;
/// InvalidArgument if the program fails on a run, with place and reason. `progress` gets the share done and returns
/// false to end the search with the best so far. `weights`: the network's; null for the shipped ones.
Result<Built> build(const Request& request, const std::function<bool(double)>& progress = {},
                    const neural::Weights* weights = nullptr);

}  // namespace trident::tir::build
