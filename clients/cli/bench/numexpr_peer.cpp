#include "clients/cli/bench/numexpr_peer.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include "jit/expr/builder.h"

namespace trident::cli {
namespace {

using expr::Node;
using expr::NodeId;
using expr::Op;
using ir::Type;

constexpr std::size_t kTextBytesMax = 8192;
constexpr std::size_t kOperandsMax = 30;  // numexpr takes 32 including the result
constexpr std::uint32_t kReplyTimeoutMs = 20'000;

/// Reads a line "load <dtype> <n> <names> <constants> <text>" and the arrays' bytes, then answers "time" and "result".
constexpr const char* kScript = R"py(
import sys, time
import numpy, numexpr
numexpr.set_num_threads(1)
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
def say(text):
    stdout.write((text + "\n").encode()); stdout.flush()
say("numexpr " + numexpr.__version__)
out, values = None, None
while True:
    line = stdin.readline().decode()
    if not line:
        break
    verb, _, rest = line.strip().partition(" ")
    try:
        if verb == "load":
            dtype, n, names, constants, text = rest.split(" ", 4)
            n, dtype = int(n), numpy.dtype(dtype)
            values = {}
            for name in filter(None, names.split(",")):
                values[name] = numpy.frombuffer(stdin.read(n * dtype.itemsize), dtype=dtype).copy()
            for i, c in enumerate(filter(None, constants.split(","))):
                values["k%d" % i] = dtype.type(float(c))
            out = numpy.empty(n, dtype=dtype)
            numexpr.evaluate(text, local_dict=values, global_dict={}, out=out, casting="same_kind")
            say("ok")
        elif verb == "time":
            calls = int(rest)
            start = time.perf_counter_ns()
            for _ in range(calls):
                numexpr.re_evaluate(local_dict=values)
            say(repr((time.perf_counter_ns() - start) / calls))
        elif verb == "result":
            stdout.write(out.tobytes()); stdout.flush()
    except Exception as error:
        say("error " + str(error).replace("\n", " "))
)py";

/// The numexpr name of a one-argument function that it shares with expr; empty where it has none.
std::string function_of(Op op) {
  static const std::map<Op, std::string> names = {
      {Op::Abs, "abs"},       {Op::Sqrt, "sqrt"},     {Op::Exp, "exp"},       {Op::Expm1, "expm1"},
      {Op::Log, "log"},       {Op::Log10, "log10"},   {Op::Log1p, "log1p"},   {Op::Sin, "sin"},
      {Op::Cos, "cos"},       {Op::Tan, "tan"},       {Op::Asin, "arcsin"},   {Op::Acos, "arccos"},
      {Op::Atan, "arctan"},   {Op::Sinh, "sinh"},     {Op::Cosh, "cosh"},     {Op::Tanh, "tanh"},
      {Op::Asinh, "arcsinh"}, {Op::Acosh, "arccosh"}, {Op::Atanh, "arctanh"}, {Op::Floor, "floor"},
      {Op::Ceil, "ceil"},     {Op::Atan2, "arctan2"}, {Op::Fmod, "fmod"}};
  const auto found = names.find(op);
  return found == names.end() ? "" : found->second;
}

class NumexprPrinter {
 public:
  explicit NumexprPrinter(const expr::Expr& e) : expr_(e) {}

  Result<NumexprSource> print() {
    if (expr_.outputs.size() != 1) return make_error(ErrorCode::kUnsupported, "numexpr returns one result per call");
    for (const auto& v : expr_.variables)
      if (v.kind != expr::VariableKind::array || v.type != expr_.at(expr_.outputs[0].node).type)
        return make_error(ErrorCode::kUnsupported, "scalar parameters and mixed types are left out for numexpr");
    // Texts are built bottom up; numexpr joins equal subtrees itself, so sharing costs text only.
    std::vector<std::string> text(expr_.nodes.size());
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      TRY(text[i], node_text(expr_.nodes[i], text));
      if (text[i].size() > kTextBytesMax)
        return make_error(ErrorCode::kUnsupported, "the expression is too long for numexpr, which has no local names");
    }
    if (constants_.size() + expr_.variables.size() > kOperandsMax)
      return make_error(ErrorCode::kUnsupported, "the expression has more operands than numexpr takes");
    return NumexprSource{text[expr_.outputs[0].node.index], constants_};
  }

 private:
  std::string constant(double value) {
    if (value == std::nearbyint(value) && std::abs(value) < 1e6)
      return "(" + std::to_string(static_cast<long>(value)) + ")";  // integer literals do not widen f32
    for (std::size_t i = 0; i < constants_.size(); ++i)
      if (constants_[i] == value) return "k" + std::to_string(i);
    constants_.push_back(value);
    return "k" + std::to_string(constants_.size() - 1);
  }

  Result<std::string> node_text(const Node& n, const std::vector<std::string>& text) {
    const auto a = [&] { return text[n.a.index]; };
    const auto b = [&] { return text[n.b.index]; };
    const auto infix = [&](const char* symbol) { return "(" + a() + symbol + b() + ")"; };
    if (const std::string name = function_of(n.op); !name.empty())
      return name + "(" + a() + (expr::info(n.op).arity > 1 ? "," + b() : "") + ")";
    // NOLINTNEXTLINE: the ops that numexpr lacks share one answer, so a default is meant here.
    if (n.op == Op::Constant) {
      if (!ir::is_float(n.type)) return make_error(ErrorCode::kUnsupported, "an integer constant");
      return constant(expr::value_of(n.type, n.imm));
    }
    if (n.op == Op::Variable) return expr_.variables[static_cast<std::size_t>(n.imm)].name;
    if (n.op == Op::Add) return infix("+");
    if (n.op == Op::Sub) return infix("-");
    if (n.op == Op::Mul) return infix("*");
    if (n.op == Op::Div) return infix("/");
    if (n.op == Op::Neg) return "(-" + a() + ")";
    if (n.op == Op::Recip) return "(1/" + a() + ")";
    if (n.op == Op::Rsqrt) return "(1/sqrt(" + a() + "))";
    if (n.op == Op::Pow) return infix("**");
    if (n.op == Op::Powi) return "(" + a() + "**" + std::to_string(static_cast<std::int64_t>(n.imm)) + ")";
    if (n.op == Op::Hypot) return "sqrt(" + a() + "*" + a() + "+" + b() + "*" + b() + ")";
    if (n.op == Op::Min) return "where(" + a() + "<" + b() + "," + a() + "," + b() + ")";
    if (n.op == Op::Max) return "where(" + a() + ">" + b() + "," + a() + "," + b() + ")";
    if (n.op == Op::Select) return "where(" + a() + "," + b() + "," + text[n.c.index] + ")";
    if (n.op == Op::Lt) return infix("<");
    if (n.op == Op::Le) return infix("<=");
    if (n.op == Op::Gt) return infix(">");
    if (n.op == Op::Ge) return infix(">=");
    if (n.op == Op::Eq) return infix("==");
    if (n.op == Op::Ne) return infix("!=");
    return make_error(ErrorCode::kUnsupported, "numexpr has no '%s'", std::string(expr::info(n.op).text).c_str());
  }

  const expr::Expr& expr_;
  std::vector<double> constants_;
};

}  // namespace

Result<NumexprSource> numexpr_source(const expr::Expr& expr) {
  return NumexprPrinter(expr).print();
}

Result<NumexprPeer> NumexprPeer::start() {
  // Debian's interpreter first: it is the one that the package python3-numexpr serves.
  std::string why;
  for (const char* python : {"/usr/bin/python3", "python3"}) {
    os::Process::Options options;
    options.pipe_input = true;
    options.merge_errors = true;
    options.environment = {"OMP_NUM_THREADS=1", "NUMEXPR_MAX_THREADS=1"};
    auto process = os::Process::spawn(std::vector<std::string>{python, "-c", kScript}, options);
    if (!process) {
      why = process.error().message;
      continue;
    }
    NumexprPeer peer(std::move(*process));
    auto greeting = peer.receive();
    if (greeting.ok() && greeting->starts_with("numexpr ")) {
      peer.version_ = *greeting;
      return peer;
    }
    why = "numexpr is not installed (Debian package python3-numexpr)";
  }
  return make_error(ErrorCode::kNotFound, "%s", why.c_str());
}

Result<void> NumexprPeer::send(const std::string& line) {
  const std::string whole = line + "\n";
  return os::write_fully(process_.input(), std::as_bytes(std::span(whole)));
}

Result<std::string> NumexprPeer::receive() {
  std::string line;
  while (true) {
    char c = 0;
    TRY_VOID(os::read_fully(process_.output(), reinterpret_cast<std::byte*>(&c), 1, kReplyTimeoutMs));
    if (c == '\n') return line;
    line += c;
  }
}

Result<void> NumexprPeer::load(const expr::Expr& expr, std::uint64_t n, std::span<const void* const> arrays) {
  TRY(const NumexprSource source, numexpr_source(expr));
  const Type type = expr.at(expr.outputs[0].node).type;
  if (!ir::is_float(type)) return make_error(ErrorCode::kUnsupported, "not a float kernel");
  std::string names, constants;
  for (const auto& v : expr.variables) names += (names.empty() ? "" : ",") + v.name;
  for (double c : source.constants) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", c);
    constants += (constants.empty() ? "" : ",") + std::string(text);
  }
  // Empty lists still need a word each, so that the line splits into five parts.
  TRY_VOID(send("load " + std::string(type == Type::f32 ? "float32" : "float64") + " " + std::to_string(n) + " " +
                (names.empty() ? "," : names) + " " + (constants.empty() ? "," : constants) + " " + source.text));
  for (const void* array : arrays)
    TRY_VOID(os::write_fully(process_.input(), {static_cast<const std::byte*>(array), n * ir::bytes_of(type)}));
  TRY(const std::string reply, receive());
  if (reply != "ok") return make_error(ErrorCode::kUnsupported, "numexpr: %s", reply.c_str());
  return {};
}

Result<double> NumexprPeer::time_ns(std::uint64_t calls) {
  TRY_VOID(send("time " + std::to_string(calls)));
  TRY(const std::string reply, receive());
  char* end = nullptr;
  const double ns = std::strtod(reply.c_str(), &end);
  if (end == reply.c_str()) return make_error(ErrorCode::kInternal, "numexpr: %s", reply.c_str());
  return ns;
}

Result<void> NumexprPeer::result(std::span<std::byte> out) {
  TRY_VOID(send("result"));
  return os::read_fully(process_.output(), out.data(), out.size(), kReplyTimeoutMs);
}

}  // namespace trident::cli
