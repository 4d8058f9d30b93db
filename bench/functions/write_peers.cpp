// Writes the library as plain C++ to standard output: the peers that machine code is compared with.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "jit/function/lower.h"

namespace trident::bench {
namespace {

using function::Expression;
using function::Function;
using function::Operator;
using function::Parameter;
using function::Statement;
using function::Type;

const char* type_text(Type type) {
  switch (type) {
    case Type::none: return "void";
    case Type::boolean: return "bool";
    case Type::u8: return "std::uint8_t";
    case Type::i64: return "std::int64_t";
    case Type::f64: return "double";
  }
  return "";
}

std::string text(const Expression& e);

/// Operators are spelt as in C++ but for these; amounts of shifts are taken modulo 64.
std::string binary_text(const Expression& e) {
  const std::string a = text(e.operands[0]), b = text(e.operands[1]);
  constexpr const char* kTexts[] = {
#define X(name, word, level, operands, result) word,
#include "jit/function/operators.def"
#undef X
  };
  if (e.op == Operator::ShiftLeft) return "(" + a + " << (" + b + " & 63))";
  if (e.op == Operator::ShiftRight) return "(" + a + " >> (" + b + " & 63))";
  if (e.op == Operator::ShiftLogical) return "shifted(" + a + ", " + b + ")";
  if (e.op == Operator::BitXor) return "(" + a + " ^ " + b + ")";
  return "(" + a + " " + kTexts[static_cast<std::size_t>(e.op)] + " " + b + ")";
}

std::string call_text(const Expression& e) {
  const bool is_truth = e.name == "i64" && e.operands[0].type == Type::boolean;
  std::string out = (is_truth ? "std::int64_t" : "f_" + e.name) + "(";
  const Function* const callee = function::Library::shipped().find(e.name);
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    if (i > 0) out += ", ";
    const bool is_array = callee != nullptr && callee->parameters[i].is_array();
    out += is_array ? "v_" + e.operands[i].name + ", n_" + e.operands[i].name : text(e.operands[i]);
  }
  return out + ")";
}

std::string text(const Expression& e) {
  using K = Expression::Kind;
  switch (e.kind) {
    case K::number: return e.number == INT64_MIN ? "INT64_MIN" : "INT64_C(" + std::to_string(e.number) + ")";
    case K::real: return "from(UINT64_C(" + std::to_string(static_cast<std::uint64_t>(e.number)) + "))";
    case K::truth: return e.number != 0 ? "true" : "false";
    case K::name: return "v_" + e.name;
    case K::length: return "n_" + e.name;
    case K::element: return std::string(type_text(e.type)) + "{v_" + e.name + "[" + text(e.operands[0]) + "]}";
    case K::unary: {
      const char* const word = e.op == Operator::Not ? "!" : e.op == Operator::Negate ? "-" : "~";
      return std::string("(") + word + text(e.operands[0]) + ")";
    }
    case K::binary: return binary_text(e);
    case K::choice: return "(" + text(e.operands[0]) + " ? " + text(e.operands[1]) + " : " + text(e.operands[2]) + ")";
    case K::call: return call_text(e);
  }
  return "";
}

void print(const std::vector<Statement>& list);

void print_array(const Statement& s) {
  const std::string size = text(s.values[0]);
  std::printf("%s v_%s[%s] = {};\nconst std::int64_t n_%s = %s;\n", type_text(s.element), s.name.c_str(), size.c_str(),
              s.name.c_str(), size.c_str());
}

void print_store(const Statement& s) {
  const std::string place = "v_" + s.name + "[" + text(s.values[0]) + "]";
  std::printf("%s = static_cast<std::remove_reference_t<decltype(%s)>>(%s);\n", place.c_str(), place.c_str(),
              text(s.values[1]).c_str());
}

void print(const Statement& s) {
  using K = Statement::Kind;
  const auto value = [&](std::size_t i) { return text(s.values[i]); };
  const char* const name = s.name.c_str();
  switch (s.kind) {
    case K::let: std::printf("%s v_%s = %s;\n", type_text(s.values[0].type), name, value(0).c_str()); return;
    case K::array: return print_array(s);
    case K::assign: std::printf("v_%s = %s;\n", name, value(0).c_str()); return;
    case K::store: return print_store(s);
    case K::call: std::printf("%s;\n", value(0).c_str()); return;
    case K::leave: std::printf("break;\n"); return;
    case K::next: std::printf("continue;\n"); return;
    case K::give: std::printf("return %s;\n", s.values.empty() ? "" : value(0).c_str()); return;
    case K::branch: std::printf("if (%s) {\n", value(0).c_str()); break;
    case K::loop: std::printf("while (%s) {\n", value(0).c_str()); break;
    case K::count:
      std::printf("for (std::int64_t v_%s = %s, e_%s = %s; v_%s < e_%s; ++v_%s) {\n", name, value(0).c_str(), name,
                  value(1).c_str(), name, name, name);
      break;
  }
  print(s.body);
  std::printf("}\n");
  if (s.otherwise.empty()) return;
  std::printf("else {\n");
  print(s.otherwise);
  std::printf("}\n");
}

void print(const std::vector<Statement>& list) {
  for (const Statement& s : list) print(s);
}

void print_head(const Function& f) {
  std::printf("static %s f_%s(", type_text(f.result), f.name.c_str());
  const char* comma = "";
  for (const Parameter& p : f.parameters) {
    if (p.is_array())
      std::printf("%s%s%s* v_%s, std::int64_t n_%s", comma, p.passing == function::Passing::in ? "const " : "",
                  type_text(p.type), p.name.c_str(), p.name.c_str());
    else
      std::printf("%s%s v_%s", comma, type_text(function::value_type(p.type)), p.name.c_str());
    comma = ", ";
  }
  std::printf(")");
}

/// The peer's entry takes its arguments from the frame, as machine code does.
void print_entry(const Function& f, const function::Layout& layout) {
  std::printf("static void entry_%s(void* frame, const Window* windows) {\n  (void)windows;\n", f.name.c_str());
  const auto at = [](Type type) { return type == Type::f64 ? "real_at" : "at"; };
  if (f.result != Type::none) std::printf("  %s(frame, %u) = ", at(f.result), layout.result_slot);
  std::printf("f_%s(", f.name.c_str());
  std::size_t window = 0;
  for (std::size_t i = 0; i < f.parameters.size(); ++i) {
    const Parameter& p = f.parameters[i];
    if (i > 0) std::printf(", ");
    if (p.is_array()) std::printf("reinterpret_cast<%s*>(windows[%zu].delta), ", type_text(p.type), window++);
    std::printf("%s(frame, %u)", p.is_array() ? "at" : at(p.type), layout.slots[i]);
  }
  std::printf(");\n}\n");
}

constexpr const char* kTop = R"(// Written by bench/functions/write_peers.cpp.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include "bench/functions/peers.h"
namespace trident::bench {
namespace {
using trident::region::Window;
[[gnu::unused]] std::int64_t& at(void* frame, std::uint32_t slot) { return *reinterpret_cast<std::int64_t*>(static_cast<char*>(frame) + slot); }
using I = std::int64_t; using U = std::uint64_t;
[[gnu::unused]] double& real_at(void* frame, std::uint32_t slot) { return *reinterpret_cast<double*>(static_cast<char*>(frame) + slot); }
[[gnu::unused]] constexpr double from(U bits) { return std::bit_cast<double>(bits); }
[[gnu::unused]] double f_abs(double a) { return std::fabs(a); }
[[gnu::unused]] double f_min(double a, double b) { return a != a || b < a ? b : a; }
[[gnu::unused]] double f_max(double a, double b) { return a != a || b > a ? b : a; }
[[gnu::unused]] double f_sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
[[gnu::unused]] double f_sqrt(double a) { return std::sqrt(a); }
[[gnu::unused]] double f_floor(double a) { return std::floor(a); }
[[gnu::unused]] double f_ceil(double a) { return std::ceil(a); }
[[gnu::unused]] double f_trunc(double a) { return std::trunc(a); }
[[gnu::unused]] double f_round(double a) { return std::round(a); }
[[gnu::unused]] double f_rint(double a) { return std::nearbyint(a); }
[[gnu::unused]] double f_fma(double a, double b, double c) { return std::fma(a, b, c); }
[[gnu::unused]] double f_copysign(double a, double b) { return b != b ? std::fabs(a) : std::copysign(a, b); }
[[gnu::unused]] I f_i64(double a) { return a >= -0x1p63 && a < 0x1p63 ? static_cast<I>(a) : INT64_MIN; }
[[gnu::unused]] double f_f64(I a) { return static_cast<double>(a); }
[[gnu::unused]] I f_to_bits(double a) { return std::bit_cast<I>(a); }
[[gnu::unused]] double f_from_bits(I a) { return std::bit_cast<double>(a); }
[[gnu::unused]] I shifted(I a, I b) { return static_cast<I>(static_cast<U>(a) >> (b & 63)); }
[[gnu::unused]] I f_abs(I a) { return a < 0 ? -a : a; }
[[gnu::unused]] I f_leading_zeros(I a) { return std::countl_zero(static_cast<U>(a)); }
[[gnu::unused]] I f_reversed_bits(I a) { U r = __builtin_bswap64(static_cast<U>(a)); r = (r >> 4 & 0x0F0F0F0F0F0F0F0F) | (r & 0x0F0F0F0F0F0F0F0F) << 4; r = (r >> 2 & 0x3333333333333333) | (r & 0x3333333333333333) << 2; return static_cast<I>((r >> 1 & 0x5555555555555555) | (r & 0x5555555555555555) << 1); }
[[gnu::unused]] I f_reversed_bytes(I a) { return static_cast<I>(__builtin_bswap64(static_cast<U>(a))); }
[[gnu::unused]] I f_rotated_right(I a, I b) { return static_cast<I>(std::rotr(static_cast<U>(a), static_cast<int>(b & 63))); }
[[gnu::unused]] I f_umulh(I a, I b) { return static_cast<I>(static_cast<unsigned __int128>(static_cast<U>(a)) * static_cast<U>(b) >> 64); }
[[gnu::unused]] bool f_ult(I a, I b) { return static_cast<U>(a) < static_cast<U>(b); }
[[gnu::unused]] bool f_ule(I a, I b) { return static_cast<U>(a) <= static_cast<U>(b); }
[[gnu::unused]] I f_udiv(I a, I b) { return static_cast<I>(static_cast<U>(a) / static_cast<U>(b)); }
[[gnu::unused]] I f_urem(I a, I b) { return static_cast<I>(static_cast<U>(a) % static_cast<U>(b)); }
)";

int write() {
  const auto functions = function::Library::shipped().list();
  std::printf("%s", kTop);
  for (const Function* f : functions) {
    print_head(*f);
    std::printf(";\n");
  }
  for (const Function* f : functions) {
    const auto lowered = function::lower(*f, function::Library::shipped());
    if (!lowered.ok()) return 1;
    print_head(*f);
    std::printf(" {\n");
    print(f->body);
    std::printf("}\n");
    print_entry(*f, *lowered);
  }
  std::printf("const Peer kPeers[] = {\n");
  for (const Function* f : functions) std::printf("{\"%s\", entry_%s},\n", f->name.c_str(), f->name.c_str());
  std::printf("};\n}\nstd::span<const Peer> TRIDENT_PEERS() { return kPeers; }\n}\n");
  return 0;
}

}  // namespace
}  // namespace trident::bench

int main() {
  return trident::bench::write();
}
