// The text form of kir, one item per line; '#' starts a comment:
//
//   input x f64                      array inputs and scalar parameters, in order
//   input p i32 as u8                an array whose elements are widened
//   input t f32 length 1             a table, and the number of the parameter that is its length
//   param s f64
//   param t.length i64
//   table f32 0x3f800000 0x40000000  constant tables, in order
//   %0 = input f64 0
//   %1 = const f64 0.5               or the bits: const f64 0x3fe0000000000000; masks: false, true
//   %2 = param f64 0
//   %3 = fma f64 %0, %1, %2
//   %4 = div f64 %3, %1 normal       the flag
//   %5 = lookup f32 %7, 0            the constant table's number
//   %6 = gather f32 %7, 1            the number of the input that is the table
//   output y %4                      one element per i
//   output z %4 as u8                narrowed where it is stored
//   output scalar total %8           one element
//   exit %9                          a mask
//   then                             what stands before is the pass before; inputs and params are declared there
//
// Sections are not written: they follow from the instructions. Names may hold anything but white space and '#'.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "jit/ir/text.h"
#include "jit/kir/kir.h"
#include "runtime/base/limits.h"

namespace trident::kir {

namespace {

std::string hex_text(std::uint64_t bits) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), bits, 16).ptr;
  return "0x" + std::string(text.data(), end);
}

template <class T>
std::string number_text(T value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string constant_text(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::f32: {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      return std::isfinite(value) ? number_text(value) : hex_text(bits);
    }
    case Type::f64: {
      const auto value = std::bit_cast<double>(bits);
      return std::isfinite(value) ? number_text(value) : hex_text(bits);
    }
    case Type::i32: return number_text(static_cast<std::int32_t>(bits));
    case Type::i64: return number_text(static_cast<std::int64_t>(bits));
    case Type::b32:
    case Type::b64: return bits == 0 ? "false" : "true";
  }
  CHECK(false);
}

std::string value_text(Value v) {
  return "%" + std::to_string(v.index);
}

std::string inst_text(const Inst& inst) {
  std::string out(info(inst.op).text);
  out.append(" ").append(name_of(inst.type));
  if (inst.op == Op::Constant) return out.append(" ").append(constant_text(inst.type, inst.imm));
  if (inst.op == Op::Input || inst.op == Op::Param) return out.append(" ").append(std::to_string(inst.imm));
  const char* separator = " ";
  for (const Value v : {inst.a, inst.b, inst.c}) {
    if (!v.valid()) continue;
    out.append(separator).append(value_text(v));
    separator = ", ";
  }
  if (inst.op == Op::Lookup || info(inst.op).signature == Signature::Read)
    out.append(", ").append(std::to_string(inst.imm));
  if ((inst.flags & kNormal) != 0) out.append(" normal");
  if ((inst.flags & kBounded) != 0) out.append(" bounded");
  if ((inst.flags & kFalling) != 0) out.append(" falling");
  return out;
}

/// Reads one line's words. Commas count as white space.
class Parser {
 public:
  explicit Parser(std::string_view text) : source_(text, "<kir>"), text_(text) {}

  Result<Kernel> run() {
    if (text_.size() > kTextBytesMax)
      return make_error(ErrorCode::kLimitExceeded, "kir text over %zu bytes", kTextBytesMax);
    while (pos_ < text_.size()) {
      next_word();
      if (!word_.empty()) TRY_VOID(line());
      if (!word_.empty()) return fault("unexpected text after the end of the line's item");
      if (pos_ < text_.size()) ++pos_;  // the line feed
    }
    TRY_VOID(check(kernel_));
    return std::move(kernel_);
  }

 private:
  /// An instruction takes at most about 60 bytes of text.
  static constexpr std::size_t kTextBytesMax = std::size_t{64} * limits::kKirInstsMax;

  Result<void> line() {
    if (word_ == "input") return declaration(kernel_.inputs);
    if (word_ == "param") return declaration(kernel_.params);
    if (word_ == "table") return table();
    if (word_ == "output") return output();
    if (word_ == "exit") return exit();
    if (word_ == "then") return then();
    return instruction();
  }

  Result<void> declaration(std::vector<Input>& list) {
    next_word();
    if (word_.empty()) return fault("expected a name");
    Input input{std::string(word_), Type::f32};
    next_word();
    TRY_VOID(type(input.type));
    if (word_ == "length") {
      next_word();
      std::uint64_t param = 0;
      TRY_VOID(number(param));
      input.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(param, limits::kInputsMax));
    }
    TRY_VOID(storage(input.storage));
    list.push_back(std::move(input));
    return {};
  }

  Result<void> table();

  Result<void> output() {
    Output output;
    next_word();
    const std::string_view first = word_;
    next_word();
    if (first.empty() || word_.empty()) return fault("expected a name and a value");
    if (first == "scalar" && word_.front() != '%') {
      output.kind = OutputKind::scalar;
      output.name = word_;
      next_word();
    } else {
      output.name = first;
    }
    TRY_VOID(value(output.value));
    TRY_VOID(storage(output.storage));
    kernel_.outputs.push_back(std::move(output));
    return {};
  }

  Result<void> exit();
  Result<void> then();

  Result<void> instruction() {
    Inst inst;
    Value result;
    if (word_.front() != '%') return fault("expected input, param, table, output, exit or an instruction");
    if (word_ != value_text(Value(static_cast<std::uint32_t>(kernel_.insts.size()))))
      return fault("instructions are numbered in order from %0");
    next_word();
    if (word_ != "=") return fault("expected '='");
    next_word();
    TRY_VOID(op(inst.op));
    TRY_VOID(type(inst.type));
    if (inst.op == Op::Constant) {
      TRY_VOID(constant(inst.type, inst.imm));
    } else if (inst.op == Op::Input || inst.op == Op::Param) {
      TRY_VOID(number(inst.imm));
    }
    const std::uint32_t arity = info(inst.op).arity;
    if (arity > 0) TRY_VOID(value(inst.a));
    if (arity > 1) TRY_VOID(value(inst.b));
    if (arity > 2) TRY_VOID(value(inst.c));
    if (inst.op == Op::Lookup || info(inst.op).signature == Signature::Read) TRY_VOID(number(inst.imm));
    if (word_ == "normal" || word_ == "bounded" || word_ == "falling") {
      inst.flags |= word_ == "normal" ? kNormal : word_ == "bounded" ? kBounded : kFalling;
      next_word();
    }
    inst.section = section_for(kernel_, inst).value_or(Section::body);  // check() refuses what has no section
    kernel_.insts.push_back(inst);
    return {};
  }

  Result<void> op(Op& out) {
    for (std::uint32_t i = 0; i < kOpCount; ++i) {
      if (info(static_cast<Op>(i)).text != word_) continue;
      out = static_cast<Op>(i);
      next_word();
      return {};
    }
    return fault("unknown op");
  }

  Result<void> type(Type& out) {
    for (const Type t : {Type::f32, Type::f64, Type::i32, Type::i64, Type::b32, Type::b64}) {
      if (name_of(t) != word_) continue;
      out = t;
      next_word();
      return {};
    }
    return fault("expected a type: f32, f64, i32, i64, b32 or b64");
  }

  Result<void> storage(Storage& out);

  Result<void> value(Value& out) {
    if (word_.empty() || word_.front() != '%') return fault("expected a value such as %0");
    std::uint32_t index = 0;
    if (!read(word_.substr(1), index, 10) || index >= kernel_.insts.size()) return fault("no such value yet");
    out = Value(index);
    next_word();
    return {};
  }

  Result<void> number(std::uint64_t& out) {
    if (!read(word_, out, 10)) return fault("expected a number");
    next_word();
    return {};
  }

  Result<void> constant(Type type, std::uint64_t& out) {
    bool good = false;
    if (word_.starts_with("0x")) {
      good = read(word_.substr(2), out, 16);
    } else if (type == Type::f32) {
      float value = 0;
      good = read(word_, value);
      out = std::bit_cast<std::uint32_t>(value);
    } else if (type == Type::f64) {
      double value = 0;
      good = read(word_, value);
      out = std::bit_cast<std::uint64_t>(value);
    } else if (type == Type::i32) {
      std::int32_t value = 0;
      good = read(word_, value, 10);
      out = static_cast<std::uint32_t>(value);
    } else if (type == Type::i64) {
      std::int64_t value = 0;
      good = read(word_, value, 10);
      out = static_cast<std::uint64_t>(value);
    } else {
      good = word_ == "true" || word_ == "false";
      out = word_ != "true" ? 0 : type == Type::b32 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
    }
    if (!good) return fault("expected a constant of this type");
    next_word();
    return {};
  }

  template <class T, class... Base>
  static bool read(std::string_view text, T& out, Base... base) {
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, out, base...);
    return code == std::errc{} && stop == end && !text.empty();
  }

  /// Sets word_ to the next word of this line; empty at its end.
  void next_word() {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; };
    while (pos_ < text_.size() && blank(text_[pos_])) ++pos_;
    if (pos_ < text_.size() && text_[pos_] == '#')
      while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    start_ = pos_;
    while (pos_ < text_.size() && !blank(text_[pos_]) && text_[pos_] != '\n' && text_[pos_] != '#') ++pos_;
    word_ = text_.substr(start_, pos_ - start_);
  }

  [[nodiscard]] Error fault(std::string_view message) const { return source_.error(start_, message); }

  ir::SourceText source_;
  std::string_view text_;
  std::string_view word_;
  std::size_t pos_ = 0;
  std::size_t start_ = 0;  ///< of word_
  std::uint32_t passes_ = 1;
  Kernel kernel_;
};

/// Reads "as u8", or nothing.
Result<void> Parser::storage(Storage& out) {
  if (word_ != "as") return {};
  next_word();
  const std::optional<Storage> named = ir::storage_named(word_);
  if (!named) return fault("expected the type of an array's elements, such as u8");
  out = *named;
  next_word();
  return {};
}

Result<void> Parser::table() {
  Table table;
  next_word();
  TRY_VOID(type(table.type));
  while (!word_.empty()) {
    std::uint64_t bits = 0;
    TRY_VOID(constant(table.type, bits));
    table.entries.push_back(bits);
  }
  kernel_.tables.push_back(std::move(table));
  return {};
}

Result<void> Parser::exit() {
  if (kernel_.exit.valid()) return fault("a kernel has one exit");
  next_word();
  return value(kernel_.exit);
}

std::string storage_text(Storage storage) {
  return storage == Storage::own ? "" : " as " + std::string(ir::facts_of(storage).name);
}

std::string print_declarations(const Kernel& kernel) {
  std::string out;
  for (const Input& x : kernel.inputs) {
    out.append("input ").append(x.name).append(" ").append(name_of(x.type));
    if (x.is_table()) out.append(" length ").append(std::to_string(*x.length));
    out.append(storage_text(x.storage)) += '\n';
  }
  for (const Input& x : kernel.params) out.append("param ").append(x.name).append(" ").append(name_of(x.type)) += '\n';
  return out;
}

/// Makes the kernel so far the pass before.
Result<void> Parser::then() {
  if (++passes_ > kPassesMax) return fault("too many passes");
  next_word();
  Kernel before = std::move(kernel_);
  kernel_ = {};
  kernel_.inputs = before.inputs;
  kernel_.params = before.params;
  kernel_.before.push_back(std::move(before));
  return {};
}

}  // namespace

std::string print(const Kernel& kernel) {
  std::string out = kernel.before.empty() ? print_declarations(kernel) : print(kernel.before.front()) + "then\n";
  for (const Table& table : kernel.tables) {
    out.append("table ").append(name_of(table.type));
    for (const std::uint64_t bits : table.entries) out.append(" ").append(constant_text(table.type, bits));
    out += '\n';
  }
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
    out.append(value_text(Value(i))).append(" = ").append(inst_text(kernel.insts[i])) += '\n';
  for (const Output& output : kernel.outputs) {
    out.append(output.kind == OutputKind::scalar ? "output scalar " : "output ").append(output.name);
    out.append(" ").append(value_text(output.value)).append(storage_text(output.storage)) += '\n';
  }
  if (kernel.exit.valid()) out.append("exit ").append(value_text(kernel.exit)) += '\n';
  return out;
}

Result<Kernel> parse(std::string_view text) {
  return Parser(text).run();
}

std::string print_dot(const Kernel& kernel) {
  std::string out = "digraph kir {\n  node [shape=box, fontname=monospace];\n";
  for (const Section section : {Section::invariant, Section::body, Section::epilogue}) {
    const char* name = section == Section::invariant ? "invariant" : section == Section::body ? "body" : "epilogue";
    out.append("  subgraph cluster_").append(name).append(" {\n    label=").append(name).append(";\n");
    for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
      const Inst& inst = kernel.insts[i];
      if (inst.section != section) continue;
      std::string label = value_text(Value(i)) + " = " + inst_text(inst);
      if (inst.op == Op::Input || info(inst.op).signature == Signature::Read)
        label += " (" + kernel.inputs[inst.imm].name + ")";
      if (inst.op == Op::Param && inst.imm < kernel.params.size()) label += " (" + kernel.params[inst.imm].name + ")";
      out.append("    v").append(std::to_string(i)).append(" [label=").append(ir::dot_quoted(label)).append("];\n");
    }
    out.append("  }\n");
  }
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
    for (const Value v : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (v.valid())
        out.append("  v").append(std::to_string(v.index)).append(" -> v").append(std::to_string(i)) += ";\n";
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    const std::string node = "o" + std::to_string(i);
    out.append("  ").append(node).append(" [shape=ellipse, label=").append(ir::dot_quoted(kernel.outputs[i].name));
    out.append("];\n  v").append(std::to_string(kernel.outputs[i].value.index)).append(" -> ").append(node) += ";\n";
  }
  if (kernel.exit.valid())
    out.append("  exit [shape=diamond];\n  v").append(std::to_string(kernel.exit.index)).append(" -> exit;\n");
  return out.append("}\n");
}

}  // namespace trident::kir
