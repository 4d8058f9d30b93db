// Makes random programs of TIR that mostly end well, for tests and benchmarks, as texts: that tests the parser too.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "runtime/field/tip5.h"

namespace trident::tir::lowering {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

  /// Makes a program that ends in halt; bodies change the stack's height as they must.
  std::string text();
  /// Draws a small element, a corner or a random one.
  field::Element element();
  std::vector<field::Element> elements(std::size_t count);
  std::vector<field::Digest> digests(std::size_t count);

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  void operations(int count, int depth, int& height);
  void operation(int depth, int& height);
  void balance(int from, int to);

  std::mt19937_64 random_;
  std::string out_;
};

}  // namespace trident::tir::lowering
