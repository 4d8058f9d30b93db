// The meaning of a rule's sides for Z3: real numbers, dual ones in rules with derivatives, bound by their definitions
// (prover.h says which). meaning.cpp has what is algebraic, meaning_of_functions.cpp the functions.
#pragma once

#include <z3++.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"

namespace trident::testing {

/// Why a rule is beyond the prover.
struct Beyond {
  std::string why;
};
/// An atom's unknown must stand for a smaller part of it: begin again.
struct Finer {};

struct Number {
  z3::expr value, slope;
  z3::expr defined;  ///< is a number
  z3::expr smooth;   ///< ... and has a slope
};
struct Truth {
  z3::expr value;
  z3::expr smooth;  ///< does not change nearby
};

/// Constants that stand for a real which no double is (law 5 of the rules).
struct NamedConstant {
  double rounded;
  const char* name;
  const char* below;
  const char* above;
};
constexpr double kPi = 3.141592653589793;
constexpr NamedConstant kNamed[] = {
    {kPi, "pi", "3.1415926535897932", "3.1415926535897933"},
    {0.6931471805599453, "ln2", "0.6931471805599453", "0.6931471805599454"},
    {2.302585092994046, "ln10", "2.3025850929940456", "2.3025850929940457"},
};

/// Atom -> factor; atoms are printed terms, "pi" and "1".
using LinearForm = std::map<std::string, double>;

/// Both sides of one rule, so that what they share is one unknown. Beyond is thrown where an op or an argument has no
/// meaning here; Finer where `parts`, which the caller keeps, has just been made finer.
class Meaning {
 public:
  Meaning(z3::context& c, const egraph::Rule& rule, bool slopes, std::map<std::string, int>& parts)
      : c_(c), rule_(rule), slopes_(slopes), parts_(parts) {}

  /// The term at `index` of a side.
  Number number(const egraph::Pattern& side, std::size_t index);
  Truth truth(const egraph::Pattern& side, std::size_t index);
  void assume(const egraph::Condition& condition);
  bool assume_truth(const egraph::Condition& condition);
  Number variable(std::uint8_t v);
  /// (diff e ?x): the variable that moves at rate one.
  void moves(std::uint8_t v) {
    if (slopes_) constraints.push_back(variable(v).slope == 1);
  }

  /// exp (or exp2) of a side, by its addition theorem.
  z3::expr exponential_of(const char* family, const egraph::Pattern& side) {
    return exponential(family, form_of(side, side.terms.size() - 1));
  }

  std::vector<z3::expr> constraints;  ///< conditions, and the definitions of the unknowns
  std::vector<z3::expr> obligations;  ///< what min, comparisons and powers ask of their operands
  std::set<std::string> theorems;     ///< that were used beside algebra
  bool integers = false;

 private:
  z3::expr yes() { return c_.bool_val(true); }
  z3::expr real(double value);
  z3::expr real(const char* text) { return c_.real_val(text); }
  z3::expr fresh(const char* name) { return c_.real_const((std::string(name) + std::to_string(++made_)).c_str()); }
  Number constant(double value) { return {real(value), real("0"), yes(), yes()}; }
  Number named(const NamedConstant& named);
  Number unknown(const char* name) { return {fresh(name), slopes_ ? fresh("slope") : real("0"), yes(), yes()}; }

  // Dual arithmetic.
  z3::expr equal(const Number& a, const Number& b) {
    return slopes_ ? a.value == b.value && a.slope == b.slope : a.value == b.value;
  }
  Number like(const z3::expr& value, const z3::expr& slope, const Number& a, const Number& b) {
    return {value, slopes_ ? slope : real("0"), a.defined && b.defined, a.smooth && b.smooth};
  }
  Number add(const Number& a, const Number& b) { return like(a.value + b.value, a.slope + b.slope, a, b); }
  Number sub(const Number& a, const Number& b) { return like(a.value - b.value, a.slope - b.slope, a, b); }
  Number mul(const Number& a, const Number& b) {
    return like(a.value * b.value, a.slope * b.value + a.value * b.slope, a, b);
  }
  Number neg(const Number& a) { return like(-a.value, -a.slope, a, a); }
  Number power(const Number& a, std::int64_t n);
  Number quotient(const Number& a, const Number& b);
  Number root(const Number& a);
  Number cube_root(const Number& a);
  Number norm(const Number& a, const Number& b);
  Number absolute(const Number& a);
  Number lesser(const Number& a, const Number& b);
  Number sign(const Number& a);
  Number step(expr::Op op, const Number& a);
  Number nearest(expr::Op op, const Number& a);
  Number truncated(const Number& a);
  Number copysign(const Number& a, const Number& b);
  Number cast(const egraph::Pattern& side, const egraph::PatternTerm& t);
  Number select(const Truth& condition, const Number& a, const Number& b);
  std::optional<Number> pow(const Number& a, const egraph::PatternTerm& exponent);

  // Functions.
  std::optional<Number> function(expr::Op op, const egraph::Pattern& side, std::size_t operand);
  LinearForm form_of(const egraph::Pattern& side, std::size_t index);
  LinearForm logarithm_of(const egraph::Pattern& side, std::size_t index);
  Number power_of(const egraph::Pattern& side, std::size_t base, std::size_t exponent);
  std::string text(const egraph::Pattern& side, std::size_t index);
  int parts_of(const std::string& family, const std::string& atom, double factor);
  void define_exponential(const std::string& family, const std::string& atom, const z3::expr& whole);
  z3::expr exponential(const std::string& family, const LinearForm& form);
  std::pair<z3::expr, z3::expr> exponential_atom(const std::string& family, const std::string& atom, int parts);
  struct Angle {
    z3::expr sine, cosine;
  };
  Angle angle(const LinearForm& form);
  Angle angle_atom(const std::string& atom, int parts);
  static Angle sum(const Angle& a, const Angle& b) {
    return {a.sine * b.cosine + a.cosine * b.sine, a.cosine * b.cosine - a.sine * b.sine};
  }
  Angle multiple(const Angle& a, int n);
  Number inverse(expr::Op op, const Number& a);
  Number arc_tangent(const Number& a, const Number& b);

  // One unknown for one op on the same operands, on whichever side.
  Number once(const std::string& what, const Number& a, const Number& b, const std::function<Number()>& make);

  z3::context& c_;
  const egraph::Rule& rule_;
  bool slopes_;
  std::map<std::string, int>& parts_;  ///< by family and atom: the unknown stands for this part of it
  int made_ = 0;
  std::map<std::string, Number> once_;
  std::vector<z3::expr> kept_;  ///< so that the ids in the keys of once_ stay theirs
  std::map<std::string, std::pair<const egraph::Pattern*, std::size_t>> atoms_;
  std::map<std::string, std::pair<const egraph::Pattern*, std::size_t>> logarithms_;  ///< atoms that no term is
  std::map<std::string, std::vector<std::pair<z3::expr, z3::expr>>> increasing_;      ///< variables, and exp of them
  std::map<std::string, Angle> angles_;
  std::map<std::string, std::pair<z3::expr, z3::expr>> exponentials_;
};

}  // namespace trident::testing
