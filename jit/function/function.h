// Functions: small programs over numbers and arrays, with loops and branches, as texts (a file NAME.fn holds one).
//
//   // Euclid's algorithm.
//   @prompt the greatest common divisor of {a} and {b}
//   @param a in [-1000000, 1000000]: an integer
//   @test gcd(48, 18) = 6
//   fn gcd(a: i64, b: i64) -> i64 {
//     while b != 0 {
//       let r = a % b;
//       a = b;
//       b = r;
//     }
//     return a < 0 ? -a : a;
//   }
//
// Values are i64, which wraps, f64 and bool. A u8 is an element of an array, or a parameter from 0 to 255; read, it is
// an i64, and storing keeps the low eight bits. README.md has the language.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace trident::function {

enum class Type : std::uint8_t { none, i64, u8, boolean, f64 };
std::string_view name_of(Type type);
/// The type of a value that is read from a variable or an element of `type`.
constexpr Type value_type(Type type) {
  return type == Type::u8 ? Type::i64 : type;
}
/// Bytes of an array's element.
constexpr std::uint8_t element_bytes(Type type) {
  return type == Type::u8 ? 1 : 8;
}

/// Numbers of type f64 are kept as their bits where integers are kept.
inline double real_of(std::int64_t bits) {
  return std::bit_cast<double>(bits);
}
inline std::int64_t bits_of(double real) {
  return std::bit_cast<std::int64_t>(real);
}
/// Returns whether two values are the same: of f64 the bits, but any NaN is like any other.
bool is_same(Type type, std::int64_t a, std::int64_t b);

/// Brackets and blocks in each other. Parsers are recursive: with this they take half a mebibyte of a thread's stack.
inline constexpr std::uint32_t kNestingMax = 128;

/// Greatest size of a local array.
inline constexpr std::int64_t kLocalElementsMax = 65536;

enum class Passing : std::uint8_t { value, in, out, inout };

/// Comments of a line.
struct Comments {
  std::vector<std::string> above{};
  std::string behind{};
  [[nodiscard]] bool empty() const { return above.empty() && behind.empty(); }
};

struct Parameter {
  std::string name;
  Type type = Type::i64;  ///< of the value, or of an array's elements
  Passing passing = Passing::value;
  std::optional<std::int64_t> lo{}, hi{};  ///< @param's range: of the value, or of each element; of f64 bits
  std::string meaning{};                   ///< @param's text
  bool is_described = false;               ///< it has an @param line
  Comments comments{};                     ///< of its place in the head
  Comments line_comments{};                ///< of its @param line
  [[nodiscard]] bool is_array() const { return passing != Passing::value; }
};

enum class Operator : std::uint8_t {
#define X(name, text, level, operands, result) name,
#include "jit/function/operators.def"
#undef X
};

struct Expression {
  enum class Kind : std::uint8_t { number, real, truth, name, element, length, unary, binary, choice, call };
  Kind kind = Kind::number;
  Type type = Type::none;       ///< set by check()
  Operator op = Operator::Add;  ///< unary, binary
  std::int64_t number = 0;      ///< number, truth; real: bits
  bool is_character = false;    ///< number: written as 'a'
  std::string name{};           ///< name, element and length (of the array), call; real: pi
  std::vector<Expression> operands{};
  std::uint32_t offset = 0;  ///< in the text
  std::uint32_t depth = 1;   ///< of the tree: at most limits::kNestingMax, because everybody walks it by recursion
  // Set by check(), because asking each level of nested expressions again would take exponential time:
  bool has_flow = false;  ///< evaluating it needs several blocks
  bool is_plain = false;  ///< it can be evaluated although its value is not needed: nothing in it can fail
};

struct Statement {
  enum class Kind : std::uint8_t { let, array, assign, store, call, branch, loop, count, leave, next, give };
  Kind kind = Kind::give;
  std::string name{};                ///< let, array, assign, store; count: its variable
  Type element = Type::none;         ///< array
  std::vector<Expression> values{};  ///< let, assign: value; array: size; store: index, value; call: the call;
                                     ///< branch, loop: condition; count: first, end; give: result, if any
  std::vector<Statement> body{};     ///< branch, loop, count
  std::vector<Statement> otherwise{};
  std::uint32_t offset = 0, line = 0;
  Comments comments{};
  std::vector<std::string> closing{};            ///< comments at the end of the body
  std::vector<std::string> before_else{};        ///< comments between the body and what is done otherwise
  std::vector<std::string> otherwise_closing{};  ///< comments at the end of that
};

/// A value of a test: a number or truth, or an array.
struct Argument {
  bool is_array = false;
  bool is_real = false;  ///< a number, or the elements, are of f64: bits
  std::int64_t number = 0;
  std::vector<std::int64_t> elements{};
  bool is_text = false;   ///< written in quotes
  bool is_truth = false;  ///< written as true or false
  friend bool operator==(const Argument& a, const Argument& b) {
    return a.is_array == b.is_array && a.number == b.number && a.elements == b.elements;
  }
};

/// Why a call ended without a result.
enum class Failure : std::uint8_t {
#define X(name, text, meaning) name,
#include "jit/function/failures.def"
#undef X
};
std::string_view name_of(Failure failure);

/// A line "@test NAME(ARGUMENTS) = RESULT : ARRAY = VALUE, ..".
struct Case {
  std::vector<Argument> arguments{};
  std::optional<Argument> result{};
  std::optional<Failure> failure{};  ///< written "= error NAME"
  struct After {
    std::string name;
    Argument value;
  };
  std::vector<After> after{};  ///< arrays when the call has returned
  Comments comments{};
  std::uint32_t offset = 0;
};

struct Function {
  std::string area{}, name{};
  std::vector<std::string> comments{};  ///< at the beginning of the text
  std::vector<std::string> prompts{};
  std::vector<std::vector<std::string>> above_prompts{};  ///< comments above each
  std::vector<std::string> above_head{};                  ///< comments between the lines that begin with @ and the head
  std::vector<Parameter> parameters{};
  std::vector<std::string> parameters_closing{};  ///< comments before the bracket that ends the parameters
  Type result = Type::none;
  std::vector<Statement> body{};
  std::vector<std::string> closing{};  ///< comments before its last brace
  std::vector<std::string> behind{};   ///< comments after it
  std::vector<Case> tests{};
  std::string text{}, file{};  ///< as read, for errors
  [[nodiscard]] std::optional<std::size_t> parameter(std::string_view name) const;
};

/// Parses one function. Errors: SyntaxError or LimitExceeded with file, line, column and a caret.
Result<Function> parse(std::string_view text, std::string_view file);

class Library;
/// Checks names and types and sets those of expressions. Callees come from `library`, whose own are checked already.
/// Errors: TypeError with the place.
Result<void> check(Function& function, const Library& library);

/// Prints a function in the one form that texts have in a library. parse(print(f)) is f.
std::string print(const Function& function);
std::string print(const Argument& argument);

}  // namespace trident::function
