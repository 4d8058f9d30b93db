#include "jit/tir/tasm/program.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace trident::tir::tasm {
namespace {

/// Returns the index of the instruction at each word; kInside where none begins. The end has one too.
constexpr std::uint32_t kInside = std::numeric_limits<std::uint32_t>::max();
std::vector<std::uint32_t> indices_by_address(const Program& program) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    out.push_back(i);
    if (program.instructions[i].words() == 2) out.push_back(kInside);
  }
  out.push_back(static_cast<std::uint32_t>(program.instructions.size()));
  return out;
}

/// Prints numbers above half of p as negative ones.
std::string signed_text(Element e) {
  constexpr std::uint64_t kHalf = field::kModulus / 2;
  return e.value() > kHalf ? "-" + std::to_string((-e).value()) : std::to_string(e.value());
}

std::string mark_text(const Mark& mark) {
  switch (mark.kind) {
    case Mark::Kind::label: return mark.text + ":";
    case Mark::Kind::breakpoint: return "break";
    case Mark::Kind::error_id: return "error_id " + mark.text;
    case Mark::Kind::hint: break;
  }
  std::string out = "hint " + mark.text + (mark.type.empty() ? "" : ": " + mark.type);
  out += " = stack[" + std::to_string(mark.start);
  if (mark.length != 1) out += ".." + std::to_string(mark.start + mark.length);
  return out + "]";
}

/// Labels of calls by address: the last label there, or a new one with an unused name.
class Labels {
 public:
  explicit Labels(const Program& program) {
    const std::vector<std::uint32_t> indices = indices_by_address(program);
    std::unordered_set<std::string> taken;
    std::unordered_map<std::uint32_t, std::string> by_index;
    for (const Mark& mark : program.marks)
      if (mark.kind == Mark::Kind::label) {
        taken.insert(mark.text);
        by_index[mark.instruction] = mark.text;
      }
    for (const Instruction& instruction : program.instructions) {
      if (instruction.op != Op::kCall) continue;
      const std::uint64_t address = instruction.argument.value();
      if (by_address_.contains(address)) continue;
      const std::uint32_t index = address < indices.size() ? indices[address] : kInside;
      const auto found = by_index.find(index);
      if (index != kInside && found != by_index.end()) {
        by_address_[address] = found->second;
        continue;
      }
      std::string name = "at_" + std::to_string(address);
      while (!taken.insert(name).second) name += "_";
      if (index != kInside) made_[index] = name;
      by_address_[address] = name;
    }
  }
  [[nodiscard]] const std::string& of(std::uint64_t address) const { return by_address_.at(address); }
  [[nodiscard]] const std::string* made_before(std::uint32_t instruction) const {
    const auto found = made_.find(instruction);
    return found == made_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::uint64_t, std::string> by_address_;
  std::unordered_map<std::uint32_t, std::string> made_;
};

}  // namespace

std::uint32_t Program::words() const {
  std::uint32_t count = 0;
  for (const Instruction& instruction : instructions) count += instruction.words();
  return count;
}

bool same(const Program& a, const Program& b) {
  return a.instructions == b.instructions && a.marks == b.marks;
}

std::string print(const Instruction& instruction) {
  const InstructionRow& r = row(instruction.op);
  std::string out(r.text);
  if (r.argument != Argument::none) out += " " + signed_text(instruction.argument);
  return out;
}

std::string print(const Program& program) {
  const Labels labels(program);
  std::string out;
  auto mark = program.marks.begin();
  for (std::uint32_t i = 0; i <= program.instructions.size(); ++i) {
    for (; mark != program.marks.end() && mark->instruction == i; ++mark)
      out += (mark->kind == Mark::Kind::label ? "" : "    ") + mark_text(*mark) + "\n";
    if (const std::string* made = labels.made_before(i)) out += *made + ":\n";  // behind an assertion's number
    if (i == program.instructions.size()) break;
    const Instruction& instruction = program.instructions[i];
    const bool call = instruction.op == Op::kCall;
    out += "    " + (call ? "call " + labels.of(instruction.argument.value()) : print(instruction)) + "\n";
  }
  return out;
}

std::vector<Element> encode(const Program& program) {
  std::vector<Element> out;
  out.reserve(program.instructions.size() * 2);
  for (const Instruction& instruction : program.instructions) {
    out.push_back(Element(row(instruction.op).opcode));
    if (instruction.words() == 2) out.push_back(instruction.argument);
  }
  return out;
}

Result<void> check_vm(const Program& program, const ir::SourceText& source, Vm vm) {
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    if (const InstructionRow& r = row(program.instructions[i].op); !r.is_of(vm))
      return source.error(i < program.offsets.size() ? program.offsets[i] : 0, foreign_text(r.text, vm));
  return {};
}

std::string foreign_text(std::string_view name, Vm vm) {
  const std::string word = "'" + std::string(name) + "' is an instruction ";
  return vm == Vm::released ? word + "of a Triton VM after 7.0.0; this speaks 1.0.0 to 7.0.0 (--vm next takes it)"
                            : word + "of Triton VM 1.0.0 to 7.0.0; this speaks the one after 7.0.0 (--vm 7 takes it)";
}

Vm vm_of(const Program& program) {
  const auto is_released = [](const Instruction& i) { return row(i.op).is_of(Vm::released); };
  return std::all_of(program.instructions.begin(), program.instructions.end(), is_released) ? Vm::released : Vm::next;
}

Result<Program> decode(std::span<const Element> words, Vm vm) {
  Program program;
  for (std::size_t at = 0; at < words.size();) {
    const auto op = op_of_opcode(words[at].value(), vm);
    if (!op)
      return make_error(ErrorCode::kInvalidArgument, "word %zu: no instruction has the opcode %llu", at,
                        static_cast<unsigned long long>(words[at].value()));
    const InstructionRow& r = row(*op);
    if (at + r.words() > words.size())
      return make_error(ErrorCode::kInvalidArgument, "word %zu: the argument of %s is missing", at,
                        std::string(r.text).c_str());
    Instruction instruction{*op, r.words() == 2 ? words[at + 1] : Element()};
    if (!legal_argument(r.argument, instruction.argument))
      return make_error(ErrorCode::kInvalidArgument, "word %zu: %s cannot have the argument %llu", at + 1,
                        std::string(r.text).c_str(), static_cast<unsigned long long>(instruction.argument.value()));
    program.instructions.push_back(instruction);
    at += r.words();
  }
  const std::vector<std::uint32_t> indices = indices_by_address(program);
  for (const Instruction& instruction : program.instructions) {
    const std::uint64_t address = instruction.argument.value();
    if (instruction.op == Op::kCall && (address >= indices.size() || indices[address] == kInside))
      return make_error(ErrorCode::kInvalidArgument, "no instruction begins at word %llu, which is called",
                        static_cast<unsigned long long>(address));
  }
  return program;
}

field::Digest digest(std::span<const Element> words) {
  return field::tip5_hash_varlen(words);
}

}  // namespace trident::tir::tasm
