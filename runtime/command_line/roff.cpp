#include "runtime/command_line/roff.h"

#include "runtime/command_line/page.h"

namespace trident::command_line {
namespace {

constexpr std::string_view kDefines = " :: ";

/// Typographic characters would replace these, and a pasted command would not run.
std::string_view escape_of(char c) {
  switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '"': return "\\(dq";
    default: return "";
  }
}

void append_escaped(std::string& out, char c) {
  const std::string_view escape = escape_of(c);
  if (escape.empty())
    out += c;
  else
    out += escape;
}

/// A dot at the start of a line would begin a command.
std::string guarded(std::string line) {
  return line.starts_with('.') ? "\\&" + line : line;
}

class Writer {
 public:
  void line(std::string_view text) {
    if (text.empty()) return leave();
    if (text.starts_with("  ")) return literal(text.substr(2));
    const std::size_t defines = text.find(kDefines);
    if (defines != std::string_view::npos) return definition(text, defines);
    prose(text);
  }
  std::string finish() {
    leave();
    return std::move(out_);
  }

 private:
  enum class Block { none, prose, literal };

  /// Ends the block: the next line begins another one.
  void leave() {
    if (block_ == Block::literal) out_ += ".fi\n.RE\n";
    block_ = Block::none;
  }
  void enter(Block block, std::string_view opening) {
    if (block_ == block) return;
    leave();
    out_ += opening;
    block_ = block;
  }
  void literal(std::string_view text) {
    enter(Block::literal, ".PP\n.RS 4\n.nf\n");
    out_ += roff_line(text) + "\n";
  }
  void definition(std::string_view text, std::size_t defines) {
    leave();
    out_ += roff_definition(text.substr(0, defines), text.substr(defines + kDefines.size()));
    block_ = Block::prose;
  }
  void prose(std::string_view text) {
    enter(Block::prose, ".PP\n");
    out_ += roff_prose(text) + "\n";
  }

  std::string out_;
  Block block_ = Block::none;
};

}  // namespace

std::string roff_line(std::string_view line) {
  std::string out;
  for (const char c : line) append_escaped(out, c);
  return guarded(std::move(out));
}

std::string roff_prose(std::string_view line) {
  std::string out;
  bool code = false;
  for (const char c : line) {
    if (c == '`')
      out += (code = !code) ? "\\fB" : "\\fR";
    else
      append_escaped(out, c);
  }
  if (code) out += "\\fR";
  return guarded(std::move(out));
}

std::string roff_section(std::string_view text) {
  Writer writer;
  for_each_line(text, [&](std::string_view line) { writer.line(line); });
  return writer.finish();
}

std::string roff_definition(std::string_view term, std::string_view meaning) {
  return ".TP\n.B " + roff_line(term) + "\n" + roff_prose(meaning) + "\n";
}

}  // namespace trident::command_line
