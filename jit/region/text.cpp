// The text form of regions, one item per line; '#' starts a comment:
//
//   var x0 i64 32                      name, type, byte offset of its home in the frame; then perhaps: scratch
//   windows 2                          how many the caller passes
//   block 0
//   at 3                               the source's instruction, for what follows
//     %0 = get i64 x0
//     %1 = const i64 0x10              or decimal, signed; of f64 its bits
//     %2 = add i64 %0, %1
//     %3 = access place %2, 16, w1, b2     16 bytes in window 1, else block 2
//     %3 = access place %2, 8, w1, b2, each    element number %2, of 8 bytes; a miss notes no address
//     %4 = load i64 %3, s2, 8          two signed bytes at displacement 8; u1 u2 u4 u8 are unsigned
//     store i64 %3, %4, u4, 0
//     set i64 x0, %2
//     branch %5, b1, b2                or: jump b1; exit left
//
// Values are numbered by their instruction; those of set and store have none.
#include <algorithm>
#include <array>
#include <charconv>

#include "jit/ir/word_reader.h"
#include "jit/region/region.h"
#include "runtime/base/limits.h"

namespace trident::region {
namespace {

constexpr std::array<std::string_view, 4> kTypes = {"i32", "i64", "place", "f64"};
constexpr std::array<std::string_view, kExitCount> kExits = {
#define X(id, name, meaning) #name,
#include "jit/region/exits.def"
#undef X
};

std::string value_text(Value v) {
  return "%" + std::to_string(v.index);
}

std::string constant_text(Type type, std::uint64_t bits) {
  return std::to_string(type == Type::i32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits));
}

std::string memory_text(const Inst& inst) {
  return ", " + std::string(inst.is_signed ? "s" : "u") + std::to_string(inst.bytes) + ", " + std::to_string(inst.imm);
}

std::string inst_text(const Region& region, const Inst& inst) {
  std::string out(info(inst.op).text);
  out.append(" ").append(name_of(inst.type));
  if (inst.op == Op::Constant) return out.append(" ").append(constant_text(inst.type, inst.imm));
  const char* separator = " ";
  if (inst.op == Op::Get || inst.op == Op::Set) {
    out.append(" ").append(region.variables[inst.imm].name);
    separator = ", ";
  }
  for (const Value v : {inst.a, inst.b, inst.c}) {
    if (!v.valid()) continue;
    out.append(separator).append(value_text(v));
    separator = ", ";
  }
  if (inst.op == Op::Access)
    out.append(", ").append(std::to_string(inst.imm)).append(", w").append(std::to_string(inst.window)).append(", b") +=
        std::to_string(inst.otherwise) + (inst.bytes != 0 ? ", each" : "");
  if (inst.op == Op::Load || inst.op == Op::Store) out += memory_text(inst);
  return out;
}

std::string terminator_text(const Terminator& end) {
  switch (end.flow) {
    case Flow::jump: return "jump b" + std::to_string(end.then);
    case Flow::branch:
      return "branch " + value_text(end.condition) + ", b" + std::to_string(end.then) + ", b" +
             std::to_string(end.otherwise);
    case Flow::exit: return "exit " + std::string(name_of(end.exit));
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : words_(text, "<region>"), bytes_(text.size()) {}

  Result<Region> run() {
    if (bytes_ > kTextBytesMax) return make_error(ErrorCode::kLimitExceeded, "text over %zu bytes", kTextBytesMax);
    for (words_.next();; words_.next_line()) {
      if (!words_.word().empty()) TRY_VOID(line());
      if (!words_.word().empty()) return words_.fault("unexpected text after the end of the line's item");
      if (words_.at_end()) break;
    }
    if (open_) return words_.fault("the last block has no end: jump, branch or exit");
    TRY_VOID(check(region_));
    return std::move(region_);
  }

 private:
  /// An instruction takes at most about 60 bytes of text.
  static constexpr std::size_t kTextBytesMax = std::size_t{128} * limits::kRegionInstsMax;

  Result<void> line() {
    if (words_.take("var")) return variable();
    if (words_.take("windows")) return small(region_.windows);
    if (words_.take("block")) return block();
    if (!open_) return words_.fault("expected var, windows or block");
    if (words_.take("at")) return small(at_);
    for (const auto& [word, flow] : {std::pair{"jump", Flow::jump}, {"branch", Flow::branch}, {"exit", Flow::exit}})
      if (words_.take(word)) return terminator(flow);
    return instruction();
  }

  Result<void> variable() {
    Variable variable{.name = std::string(words_.word())};
    if (variable.name.empty()) return words_.fault("expected a name");
    words_.next();
    TRY_VOID(type(variable.type));
    TRY_VOID(small(variable.slot));
    variable.scratch = words_.take("scratch");
    region_.variables.push_back(std::move(variable));
    return {};
  }

  Result<void> block() {
    if (open_) return words_.fault("the block before has no end: jump, branch or exit");
    if (words_.word() != std::to_string(region_.blocks.size()))
      return words_.fault("blocks are numbered in order from 0");
    words_.next();
    const auto first = static_cast<std::uint32_t>(region_.insts.size());
    region_.blocks.push_back({first, first, {}});
    open_ = true;
    return {};
  }

  Result<void> terminator(Flow flow) {
    Terminator end{.flow = flow};
    if (flow == Flow::exit) {
      TRY_VOID(exit(end.exit));
    } else {
      if (flow == Flow::branch) TRY_VOID(value(end.condition));
      TRY_VOID(small(end.then, "b"));
      if (flow == Flow::branch) TRY_VOID(small(end.otherwise, "b"));
    }
    region_.blocks.back().end = end;
    open_ = false;
    return {};
  }

  Result<void> instruction() {
    Inst inst{.at = at_};
    const bool named = words_.word().starts_with('%');
    if (named) {
      if (words_.word() != value_text(Value(static_cast<std::uint32_t>(region_.insts.size()))))
        return words_.fault("values are numbered by their instruction");
      words_.next();
      if (!words_.take("=")) return words_.fault("expected '='");
    }
    TRY_VOID(op(inst.op));
    if (named != has_result(inst.op))
      return words_.fault(named ? "this op has no value" : "expected a name such as %0 for the value");
    TRY_VOID(type(inst.type));
    if (inst.op == Op::Constant) {
      TRY_VOID(constant(inst.type, inst.imm));
    } else if (inst.op == Op::Get || inst.op == Op::Set) {
      TRY_VOID(variable_name(inst.imm));
    }
    Value* const operands[] = {&inst.a, &inst.b, &inst.c};
    for (std::uint32_t i = 0; i < info(inst.op).arity; ++i) TRY_VOID(value(*operands[i]));
    if (inst.op == Op::Access) TRY_VOID(access(inst));
    if (inst.op == Op::Load || inst.op == Op::Store) TRY_VOID(memory(inst));
    region_.insts.push_back(inst);
    region_.blocks.back().last = static_cast<std::uint32_t>(region_.insts.size());
    return {};
  }

  Result<void> access(Inst& inst) {
    TRY_VOID(words_.number(inst.imm));
    TRY_VOID(small(inst.window, "w"));
    TRY_VOID(small(inst.otherwise, "b"));
    if (words_.take("each")) inst.bytes = static_cast<std::uint8_t>(std::min<std::uint64_t>(inst.imm, 255));
    return {};
  }

  Result<void> memory(Inst& inst) {
    inst.is_signed = words_.word().starts_with('s');
    std::uint32_t bytes = 0;
    TRY_VOID(small(bytes, inst.is_signed ? "s" : "u"));
    inst.bytes = static_cast<std::uint8_t>(std::min(bytes, 255u));
    return words_.number(inst.imm);
  }

  /// Reads one of `count` words: text_of(i) is that of the enumerator with number i.
  template <class Enum, class TextOf>
  Result<void> one_of(std::size_t count, TextOf text_of, Enum& out, const char* otherwise) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!words_.take(text_of(i))) continue;
      out = static_cast<Enum>(i);
      return {};
    }
    return words_.fault(otherwise);
  }

  Result<void> op(Op& out) {
    return one_of(
        kOpCount, [](std::size_t i) { return kOpInfos[i].text; }, out, "unknown op");
  }
  Result<void> type(Type& out) {
    return one_of(
        kTypes.size(), [](std::size_t i) { return kTypes[i]; }, out, "expected a type: i32, i64, f64 or place");
  }
  Result<void> exit(Exit& out) {
    return one_of(
        kExits.size(), [](std::size_t i) { return kExits[i]; }, out, "no such exit");
  }

  Result<void> variable_name(std::uint64_t& out) {
    for (std::size_t v = 0; v < region_.variables.size(); ++v) {
      if (!words_.take(region_.variables[v].name)) continue;
      out = v;
      return {};
    }
    return words_.fault("no such variable");
  }

  Result<void> value(Value& out) {
    std::uint32_t index = 0;
    TRY_VOID(small(index, "%"));
    out = Value(index);
    return {};
  }

  Result<void> constant(Type type, std::uint64_t& out) {
    const std::string_view word = words_.word();
    bool good = false;
    if (word.starts_with("0x")) {
      good = ir::WordReader::read(word.substr(2), out, 16);
    } else {
      std::int64_t value = 0;
      good = ir::WordReader::read(word, value, 10);
      out = static_cast<std::uint64_t>(value);
    }
    if (type == Type::i32 && static_cast<std::int64_t>(out) >= INT32_MIN && static_cast<std::int64_t>(out) < 0)
      out &= 0xFFFF'FFFF;
    if (!good) return words_.fault("expected a constant of this type");
    words_.next();
    return {};
  }

  Result<void> small(std::uint32_t& out, std::string_view prefix = "") {
    std::uint64_t number = 0;
    TRY_VOID(words_.number(number, prefix));
    if (number > 0xFFFF'FFF0) return words_.fault("the number before this has over 32 bits");
    out = static_cast<std::uint32_t>(number);
    return {};
  }

  ir::WordReader words_;
  std::size_t bytes_;
  Region region_;
  std::uint32_t at_ = 0;
  bool open_ = false;  ///< a block has no end yet
};

}  // namespace

std::string_view name_of(Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

std::string_view name_of(Exit exit) {
  return kExits[static_cast<std::size_t>(exit)];
}

std::string print(const Region& region) {
  std::string out;
  for (const Variable& v : region.variables)
    out.append("var ").append(v.name).append(" ").append(name_of(v.type)).append(" ").append(std::to_string(v.slot)) +=
        v.scratch ? " scratch\n" : "\n";
  out.append("windows ").append(std::to_string(region.windows)) += '\n';
  std::uint32_t at = 0;
  for (std::size_t b = 0; b < region.blocks.size(); ++b) {
    const Block& block = region.blocks[b];
    out.append("block ").append(std::to_string(b)) += '\n';
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Inst& inst = region.insts[i];
      if (inst.at != at) out.append("at ").append(std::to_string(at = inst.at)) += '\n';
      out += "  ";
      if (has_result(inst.op)) out.append(value_text(Value(i))) += " = ";
      out.append(inst_text(region, inst)) += '\n';
    }
    out.append("  ").append(terminator_text(block.end)) += '\n';
  }
  return out;
}

Result<Region> parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace trident::region
