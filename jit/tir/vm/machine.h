// Triton VM: runs a program and computes the heights of its proof's tables. Equal to the real machine (2.0.0, the
// same from 1.0.0 to 7.0.0) in stack, output, RAM, sponge, failures and heights; it only makes no trace. Instructions
// of the next machine do as its source says (tasm/instructions.def).
//
//   Program --load--> Code --run--> Machine (end state, heights)
//                      ^ decoded, hashed; may be run any number of times
//
// A Machine keeps its memory between runs. Its Budget bounds a run: beyond it the run fails with a
// *Limit failure, which the real machine does not know.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/heights.h"
#include "jit/tir/vm/sets.h"
#include "runtime/base/limits.h"
#include "runtime/base/result.h"

namespace trident::tir::vm {

using field::Digest;
using field::Element;

enum class Failure : std::uint8_t {
  none,
#define X(name, text, meaning) k##name,
#include "jit/tir/vm/failures.def"
#undef X
};
/// Returns the real machine's name of a failure; empty for none.
std::string_view name_of(Failure failure);

/// A program that is ready to run.
struct Code {
  struct Step {
    tasm::Op op;
    std::uint8_t stack_rows, ram_rows, hash_rows;
    std::uint32_t size_min;  ///< least height of the stack before it
    std::uint32_t target;    ///< for a call: index of a step
    Element argument;
  };
  std::vector<Step> steps;
  std::vector<std::uint32_t> addresses;  ///< addresses of the steps, and of the end
  /// True: with a digest and the cost of hashing the program.
  bool hashed = false;
  Digest digest{};
  Cascade cascade;

  [[nodiscard]] std::uint32_t words() const { return addresses.back(); }
  /// Returns the rows before the first cycle: those of the hashed program, and the lookup table.
  [[nodiscard]] Heights text_rows() const;
};

/// Choice to compute a program's digest and its cost: not needed to compare a block with another.
enum class Hashing : std::uint8_t { whole_program, none };
/// Loads a program into `code`, whose memory is used again. Errors: InvalidArgument for arguments out of range and
/// calls to where no instruction begins.
Result<void> load(const tasm::Program& program, Code& code, Hashing hashing = Hashing::whole_program);

struct Inputs {
  std::span<const Element> public_input, secret_input;
  std::span<const Digest> secret_digests;
  std::span<const std::pair<Element, Element>> ram;  ///< address and word; of two words for one address the last counts
  /// Stack, bottom first, at least 16; empty: zeros on the program's digest, as the real machine begins.
  std::span<const Element> stack;
};

struct Budget {
  std::uint64_t cycles = limits::kVmCycles;
  std::size_t stack_elements = limits::kVmStackElements, jumps = limits::kVmJumps, ram_words = limits::kVmRamWords;
  std::size_t u32_entries = limits::kVmU32Entries, output_words = limits::kVmOutputWords;
};

class Profile;

class Machine {
 public:
  /// Runs until `halt` or a failure. `code` must outlive later queries. A `profile` is begun anew and makes
  /// the run a few times slower.
  Failure run(const Code& code, const Inputs& inputs, const Budget& budget = {}, Profile* profile = nullptr);

  [[nodiscard]] Failure failure() const { return failure_; }
  /// Returns "OpStackError(TooShallow): the stack would have ..." with values if there are any; empty for none.
  [[nodiscard]] std::string failure_text() const;
  /// Returns the executed instructions, without one that failed.
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  /// Returns the index of the step that failed or comes next; address() returns its address.
  [[nodiscard]] std::uint32_t step() const { return ip_; }
  [[nodiscard]] std::uint32_t address() const;
  /// Returns the stack, bottom first.
  [[nodiscard]] std::span<const Element> stack() const { return {stack_.data(), size_}; }
  [[nodiscard]] const std::vector<Element>& output() const { return output_; }
  /// Returns the RAM by rising address.
  [[nodiscard]] std::vector<std::pair<Element, Element>> ram() const;
  [[nodiscard]] const std::optional<field::Tip5>& sponge() const { return sponge_; }
  [[nodiscard]] std::size_t u32_entries() const { return u32_.size(); }
  /// Returns how much of public input, secret input and secret digests was read.
  [[nodiscard]] std::array<std::size_t, 3> inputs_taken() const { return {public_read_, secret_read_, digests_read_}; }
  /// Returns the heights of the run so far, with the program's own only if its code is hashed.
  [[nodiscard]] Heights heights() const;
  /// Returns how often each step was executed.
  [[nodiscard]] std::span<const std::uint64_t> executions() const { return executions_; }

 private:
  friend class Execution;
  /// Most elements that one instruction adds to the stack.
  static constexpr std::size_t kGrowthMax = 10;
  struct Jump {
    std::uint32_t origin, destination;
  };
  /// Values for the text of a failure.
  struct Detail {
    std::uint64_t index = 0;
    Element expected, actual;
  };

  void begin(const Code& code, const Inputs& inputs, const Budget& budget);

  const Code* code_ = nullptr;
  Inputs inputs_;
  Budget budget_;
  std::vector<Element> stack_;  ///< the stack is its first size_ elements
  std::size_t size_ = 0;
  std::vector<Jump> jumps_;
  Map ram_, u32_;
  std::vector<Element> output_;
  std::optional<field::Tip5> sponge_;
  Cascade cascade_;
  bool cascade_used_ = false;
  std::uint64_t u32_rows_ = 0, cycles_ = 0;
  std::size_t public_read_ = 0, secret_read_ = 0, digests_read_ = 0;
  std::uint32_t ip_ = 0;
  Failure failure_ = Failure::none;
  Detail detail_;
  std::vector<std::uint64_t> executions_;
};

}  // namespace trident::tir::vm
