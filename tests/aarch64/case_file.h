// The file that make_cases writes on the build machine and run_cases reads under qemu: kernels for AArch64, their
// inputs and the outputs that the interpreter gives.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "jit/ir/storage.h"

namespace trident::testing {

struct CaseRun {
  std::uint64_t n = 0;
  std::uint64_t in_place = 0;  ///< bit o: output o takes the array of the first input of its elements that is not taken yet
  std::uint64_t at_front = 0;  ///< arrays begin after a guard page instead of ending before one
  std::uint64_t first_exit = 0;  ///< the first element whose exit mask is set; n when there is none
  std::vector<std::vector<std::uint64_t>> inputs, expected;  ///< bits of each lane
};

struct Case {
  std::string what;
  std::vector<std::uint8_t> code;
  std::vector<std::uint8_t> input_types, output_types;  ///< ir::element_number()
  std::vector<std::uint8_t> table_inputs;               ///< 1 where the input has a length of its own
  std::vector<std::uint8_t> scalar_outputs;             ///< 1 where the output has one element
  std::uint64_t exits = 0;                              ///< 1: a kernel with an exit
  std::vector<std::uint64_t> params;
  std::vector<CaseRun> runs;
};

/// Writes or reads the same fields in the same order, by the direction of `file`.
class CaseStream {
 public:
  CaseStream(std::FILE* file, bool writes) : file_(file), writes_(writes) {}
  [[nodiscard]] bool good() const { return good_; }

  void transfer(Case& c) {
    bytes(c.what);
    bytes(c.code);
    bytes(c.input_types);
    bytes(c.table_inputs);
    bytes(c.output_types);
    bytes(c.scalar_outputs);
    raw(&c.exits, 8);
    lanes(c.params);
    count(c.runs);
    for (CaseRun& run : c.runs) {
      raw(&run.n, 8);
      raw(&run.in_place, 8);
      raw(&run.at_front, 8);
      raw(&run.first_exit, 8);
      count(run.inputs);
      for (auto& x : run.inputs) lanes(x);
      count(run.expected);
      for (auto& x : run.expected) lanes(x);
    }
  }

 private:
  void raw(void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t done = writes_ ? std::fwrite(data, 1, size, file_) : std::fread(data, 1, size, file_);
    if (done != size) good_ = false;
  }
  template <class List>
  void count(List& list) {
    std::uint64_t size = list.size();
    raw(&size, 8);
    if (!writes_ && good_) list.resize(size);
  }
  template <class List>
  void bytes(List& list) {
    count(list);
    raw(list.data(), list.size());
  }
  void lanes(std::vector<std::uint64_t>& list) {
    count(list);
    raw(list.data(), 8 * list.size());
  }

  std::FILE* file_;
  bool writes_;
  bool good_ = true;
};

}  // namespace trident::testing
