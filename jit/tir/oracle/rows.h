// Functions that the checks of all kinds share.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "jit/tir/oracle/oracle.h"
#include "runtime/json/json.h"

namespace trident::tir::oracle {

using field::Element;

/// Read JSON, and throw Json::Fault if it has another form; Checker::check catches that.
Element element(const Json& value);
std::vector<Element> elements(const Json& list);
template <std::size_t N>
std::array<Element, N> element_array(const Json& list) {
  const std::vector<Element> all = elements(list);
  if (all.size() != N) throw Json::Fault("a list of another length was expected");
  std::array<Element, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = all[i];
  return out;
}

/// Prints a list as "[1, 2]", shortened if long.
std::string text(const std::vector<Element>& list);
template <class Range>
std::vector<Element> listed(const Range& range) {
  return {range.begin(), range.end()};
}

/// Adds "what: expected .., found .." if the two differ.
void compare(Verdict& verdict, const std::string& what, const std::vector<Element>& expected,
             const std::vector<Element>& found);
void compare(Verdict& verdict, const std::string& what, std::uint64_t expected, std::uint64_t found);

void check_program(const Json& row, vm::Machine& machine, vm::Code& code, Verdict& verdict);
/// Lowers the operation of a row as TIR and compares its output with the real machine's.
void check_lowering(const Json& row, vm::Machine& machine, vm::Code& code, Verdict& verdict);
/// Compares our decision with the real machine's, and looks for a difference in the state in which it saw one.
void check_pair(const Json& row, Verdict& verdict);
void check_vectors(const Json& row, Verdict& verdict);

}  // namespace trident::tir::oracle
