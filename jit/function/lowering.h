// How a region is made of a function. lower.cpp does blocks, variables and statements, lower_expression.cpp what has a
// value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/function/lower.h"
#include "jit/function/names.h"
#include "jit/region/builder.h"

namespace trident::function {

class Lowering {
 public:
  Lowering(const Function& function, const Library& library) : library_(library), main_(function) {}

  Result<Lowered> run();

 private:
  /// Where a name's value lives.
  struct Local {
    std::uint32_t variable = 0;  ///< of an array: its length
    std::uint32_t window = 0;
    Type type = Type::i64;
    bool is_byte = false;                  ///< it holds a number from 0 to 255 as long as it is known
    std::optional<std::int64_t> number{};  ///< what it holds, if that is known
  };
  using Names = std::map<std::string, Local, std::less<>>;
  using Op = region::Op;
  using Value = region::Value;
  using RegionType = region::Type;
  using Label = std::uint32_t;
  /// A call that is being copied in: its names, and where it returns to.
  struct Frame {
    const Function& function;
    Names names{};
    Label end = 0;
    std::uint32_t result = 0;   ///< variable
    Label leave = 0, next = 0;  ///< of the loop around the statement
    std::uint32_t line = 0;
  };

  // --- blocks: targets are labels until patch() ---
  Label label() {
    labels_.push_back(0);
    references_.push_back(0);
    return static_cast<Label>(labels_.size() - 1);
  }
  void bind(Label label);
  /// Binds a label that nothing refers to later on: the block at hand goes on where nothing else leads there.
  void join(Label label);
  void jump(Label label);
  void branch(Value condition, Label then, Label otherwise);
  /// Returns the label of the block that ends with this failure at this line.
  Label failure(Failure failure);
  void failure_blocks();
  void patch();
  void thread_jumps();

  // --- variables ---
  std::uint32_t variable(RegionType type);
  void release(std::uint32_t variable) { free_[static_cast<std::size_t>(of(variable))].push_back(variable); }
  [[nodiscard]] RegionType of(std::uint32_t variable) const { return out_.region.variables[variable].type; }
  std::uint32_t home(const char* name, RegionType type, std::uint32_t slot);
  void set(std::uint32_t variable, Value value) {
    build_.set(variable, value);
    build_.at(++step_);
    if (nonzero_ == variable) nonzero_.reset();
  }
  Result<void> within_limits(std::uint32_t offset) const;

  void parameters();
  Result<void> statements(const std::vector<Statement>& list);
  Result<void> statement(const Statement& s);
  Result<void> branching(const Statement& s);
  Result<void> looping(const Statement& s);
  Result<void> counting(const Statement& s);
  /// Writes a copy of the body for each round.
  Result<void> copies(const Statement& s);
  /// Copies the body of a loop in.
  Result<void> rounds(const Statement& s, Label next, Label leave);
  Result<void> storing(const Statement& s);
  Result<void> giving(const Statement& s);
  Result<void> local_array(const Statement& s);
  void clear(const Local& array, std::uint64_t bytes);
  void clear_words(const Local& array, std::uint64_t words);
  void spend_budget();

  Result<Value> value(const Expression& e);
  Result<Value> element(const Expression& e);
  Value place_of(const Local& array, Value index);
  Result<Value> unary(const Expression& e);
  Result<Value> binary(const Expression& e);
  /// Returns the sum or difference of two constants.
  std::optional<Value> constant_sum(const Expression& e, Value a, Value b);
  Result<Value> logic(const Expression& e);
  Result<Value> choice(const Expression& e);
  /// Goes to `then` where `e` holds, else to `otherwise`.
  Result<void> decide(const Expression& e, Label then, Label otherwise);
  Value in_range(Value x, std::int64_t lo, std::int64_t hi);
  /// Returns the value that was set last, if that was `variable` in the block at hand, and takes the setting back.
  std::optional<Value> take_back(std::uint32_t variable);
  [[nodiscard]] bool is_byte(const Expression& e) const;
  Result<Value> divided(const Expression& e, Op divide, bool is_remainder);
  Result<Value> intrinsic_call(const Expression& e, Intrinsic id);
  Value real(double value);
  Value sign(Value a);
  Value rounded(Value a);
  /// A function of three operands.
  Result<Value> of_three(const Expression& e, Intrinsic id);
  /// A function of formulas.def, or a power.
  Result<Value> formula(const Expression& e);
  Result<Value> call(const Expression& e, const Function& callee);
  Result<void> pass(const Expression& e, const Function& callee, std::size_t number, Names& names);
  void check_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi);
  void check_real_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi);
  /// Evaluates two operands; the first is kept where the second needs blocks of its own.
  Result<std::pair<Value, Value>> both(const Expression& a, const Expression& b);
  Result<void> into(std::uint32_t variable, const Expression& e);

  const Library& library_;
  const Function& main_;
  Lowered out_;
  region::Builder build_{out_.region};
  std::vector<std::uint32_t> labels_;      ///< their blocks
  std::vector<std::uint32_t> references_;  ///< to each label, so far
  bool open_ = false;                      ///< the last block has no end yet
  std::vector<std::uint32_t> free_[4];     ///< variables by type
  std::map<std::pair<Failure, std::uint32_t>, Label> failures_;
  std::uint32_t step_ = 0, slot_ = region::kFrameHeadBytes, variables_ = 0;
  std::uint32_t budget_ = 0, failure_ = 0, place_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::optional<std::uint32_t> nonzero_;  ///< a variable that is not 0 here: a division by it was let pass
  Frame* frame_ = nullptr;
};

/// Returns the type of variables that hold a value of `type` inside of a function.
region::Type region_type(Type type);
/// Returns the type of homes of parameters and results, where a truth is an i64.
region::Type home_type(Type type);

}  // namespace trident::function
