// The programs of this folder with their inputs and expected outputs (cases.json), run and measured.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/tir/language/program.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::corpus {

using field::Digest;
using field::Element;

struct Case {
  std::string name, topic, what;
  bool held_out = false;  ///< in the test split: nothing may be learnt or tuned on it
  std::vector<Element> public_input, secret_input;
  std::vector<Digest> secret_digests;
  std::vector<std::pair<Element, Element>> ram;
  std::vector<Element> expected_output;
  std::string text;  ///< TIR
  std::string hand;  ///< TASM; empty when nobody wrote it by hand
  /// The program by hand computes by another method, as its first line says: no optimiser will get there by rewriting.
  [[nodiscard]] bool other_method() const { return hand.starts_with("// Another way"); }

  /// Borrows from this.
  [[nodiscard]] vm::Inputs inputs() const { return {public_input, secret_input, secret_digests, ram, {}}; }
};

/// Reads all cases, by name, in the repository's root. Ends the program when a file is not as it must be.
std::vector<Case> read_cases();

/// Ends the program, with the place of the fault, when the text is not right.
language::Program program_of(const Case& c);
/// Returns nothing when there is no program by hand.
std::optional<tasm::Program> hand_of(const Case& c);

struct Measured {
  vm::Failure failure = vm::Failure::none;
  std::string failure_text;
  std::vector<Element> output;
  std::uint32_t words = 0;
  vm::Heights heights;
};
/// `program` is hashed as a whole program, from the state in which the real machine begins.
Measured run(const tasm::Program& program, const Case& c, const vm::Budget& budget = {});

/// f() for each case that differs in one word of public or secret input, which is larger by one; `c` is as it was
/// afterwards.
template <class F>
void for_each_other_input(Case& c, F f) {
  for (std::vector<Element>* input : {&c.public_input, &c.secret_input}) {
    for (Element& word : *input) {
      const Element before = word;
      word += field::kOne;
      f();
      word = before;
    }
  }
}
/// Other inputs can lead to runs that do not end.
inline constexpr vm::Budget kOtherInputBudget{.cycles = 300'000};

}  // namespace trident::tir::corpus
