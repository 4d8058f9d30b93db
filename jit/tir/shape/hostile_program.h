// Random programs of TASM whose control flow is as awkward as the machine allows, for tests: labels behind `skiz`, code
// that runs from one subroutine into the next, dead code, labels in the middle, jumps that are skipped. They also have
// the patterns that the changes of this folder look for, often slightly wrong.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/split_mix.h"
#include "runtime/field/tip5.h"

namespace trident::tir::shape {

class HostileProgram {
 public:
  explicit HostileProgram(std::uint64_t seed) : random_(seed) {}

  /// Returns a program that assembles. Its end depends on its input, and it may have none.
  std::string text();
  /// Returns words that such programs branch by: small ones, many of them 0.
  std::vector<field::Element> input(std::size_t count);

 private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool chance(std::uint64_t one_in) { return random_.one_in(one_in); }
  std::string fresh(const char* stem);
  std::string constant();
  void put(std::string item) { out_.push_back(std::move(item)); }
  void put(std::initializer_list<const char*> items) { out_.insert(out_.end(), items.begin(), items.end()); }
  /// Adds a label that can be called; now and then it has two names.
  void label(const char* stem = "l");
  /// Adds a call to a label that is chosen when all are known.
  void call() { put("call ?"); }

  void piece();
  void small();
  void condition();
  void skipped();
  void branch(int depth);
  void loop(int depth);
  void until_equal();
  void jump();
  void item(int depth);
  void body(int depth);
  void end();
  void subroutine(int depth);
  void dead();
  /// Stores the output of f as a subroutine of its own, for later.
  template <class F>
  void later(F f);

  SplitMix64 random_;
  std::vector<std::string> out_, labels_;
  std::vector<std::vector<std::string>> pieces_;       ///< straight pieces, to be repeated
  std::vector<std::vector<std::string>> subroutines_;  ///< subroutines that are not in out_ yet
  int names_ = 0;
};

}  // namespace trident::tir::shape
