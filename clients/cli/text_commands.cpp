// Developer verbs that run one stage on a text: parse, print, check, dot.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/verb/kernel_options.h"
#include "clients/cli/verb/verb.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

struct TextVerb {
  KernelOptions options;
  std::string input = "-", form = "infix";
  bool derivatives = false;

  [[nodiscard]] Result<expr::Expr> expression() const {
    TRY(const SourceText source, source_of(input));
    TRY(expr::Expr e, parse_expression(source, options));
    if (!derivatives) return e;
    return expr::eliminate_derivatives(e);
  }
};

/// One node per line: "%4 = mul f64 %2, %3".
std::string node_list(const expr::Expr& e) {
  std::string out;
  for (const expr::Variable& v : e.variables) {
    char range[96] = "";
    if (v.has_range()) std::snprintf(range, sizeof range, " in [%.17g, %.17g]", v.lo, v.hi);
    out += std::string(v.is_table()    ? "table "
                       : v.is_scalar() ? "scalar "
                                       : "array ") +
           v.name + ": " + std::string(ir::name_of(v.type)) + range + "\n";
  }
  for (std::size_t i = 0; i < e.nodes.size(); ++i) {
    const expr::Node& n = e.nodes[i];
    const expr::OpInfo& row = expr::info(n.op);
    out += "%" + std::to_string(i) + " = " + std::string(row.text) + " " + std::string(ir::name_of(n.type));
    if (n.op == expr::Op::Variable) out += " " + e.variables[static_cast<std::size_t>(n.imm)].name;
    if (n.op == expr::Op::Constant) {
      char bits[32];
      std::snprintf(bits, sizeof bits, " 0x%llx", static_cast<unsigned long long>(n.imm));
      out += bits;
    }
    const std::array<expr::NodeId, 3> operands = {n.a, n.b, n.c};
    for (std::size_t k = 0; k < row.arity; ++k)
      out += std::string(k == 0 ? " %" : ", %") + std::to_string(operands[k].index);
    if (n.op == expr::Op::Powi) out += ", " + std::to_string(static_cast<std::int64_t>(n.imm));
    out += "\n";
  }
  for (const expr::Output& o : e.outputs) out += "output " + o.name + " = %" + std::to_string(o.node.index) + "\n";
  return out;
}

using Render = Result<std::string> (*)(const TextVerb&, const expr::Expr&);

void add_text_command(Verb app, int& status, const char* name, const char* description, Render render,
                      const char* extra = nullptr) {
  const Verb verb = app.add_subcommand(name, description);
  auto state = std::make_shared<TextVerb>();
  state->options.add_text_options(verb);
  verb.add_option("TEXT", state->input, "Expression, file, or - for standard input").capture_default_str();
  verb.add_flag("--derivatives", state->derivatives, "Replace diff() and grad() by their derivatives first");
  if (extra != nullptr) verb.add_option("--to", state->form, extra).capture_default_str();
  verb.callback([state, render, &status] {
    const auto e = state->expression();
    if (!e) {
      status = report(e.error());
      return;
    }
    const auto text = render(*state, *e);
    if (!text) {
      status = report(text.error());
      return;
    }
    std::fputs(text->c_str(), stdout);
  });
}

}  // namespace

void add_text_commands(Verb app, int& status) {
  add_text_command(app, status, "parse", "Print the nodes of an expression as the parser made them",
                   [](const TextVerb&, const expr::Expr& e) -> Result<std::string> { return node_list(e); });
  add_text_command(
      app, status, "print", "Print an expression in another syntax",
      [](const TextVerb& verb, const expr::Expr& e) -> Result<std::string> {
        if (verb.form == "infix") return expr::print_infix(e) + "\n";
        if (verb.form == "sexpr") return expr::print_sexpr(e) + "\n";
        return make_error(ErrorCode::kInvalidArgument, "--to %s: expected infix or sexpr", verb.form.c_str());
      },
      "infix or sexpr");
  add_text_command(app, status, "check", "Say whether an expression is well-formed",
                   [](const TextVerb&, const expr::Expr& e) -> Result<std::string> {
                     TRY_VOID(expr::check(e));
                     return "well-formed: " + counted(e.nodes.size(), "node") + ", " +
                            counted(e.variables.size(), "variable") + ", " + counted(e.outputs.size(), "output") + "\n";
                   });
  add_text_command(app, status, "dot", "Draw an expression as a Graphviz graph",
                   [](const TextVerb&, const expr::Expr& e) -> Result<std::string> { return expr::print_dot(e); });
}

}  // namespace trident::cli
