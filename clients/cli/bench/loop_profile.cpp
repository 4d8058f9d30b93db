#include "clients/cli/bench/loop_profile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "runtime/os/process.h"

namespace trident::cli {
namespace {

struct Instruction {
  std::uint64_t offset = 0;
  std::string_view mnemonic, operands;
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

std::optional<std::uint64_t> hexadecimal(std::string_view s) {
  if (s.starts_with("0x")) s.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
  if (code != std::errc() || end == s.data()) return std::nullopt;
  if (end != s.data() + s.size() && *end != ' ' && *end != '\t') return std::nullopt;
  return value;
}

std::optional<Instruction> parse_line(std::string_view line) {
  line = trim(line);
  const std::size_t space = line.find_first_of(": \t");
  if (space == std::string_view::npos) return std::nullopt;
  const auto offset = hexadecimal(line.substr(0, space));
  if (!offset) return std::nullopt;
  line = trim(line.substr(space + (line[space] == ':' ? 1 : 0)));
  if (line.empty() || line[0] == '<') return std::nullopt;  // objdump's labels
  Instruction i;
  i.offset = *offset;
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  i.mnemonic = line.substr(0, end);
  i.operands = trim(line.substr(end));
  if (const std::size_t note = i.operands.find('#'); note != std::string_view::npos)
    i.operands = trim(i.operands.substr(0, note));
  return i;
}

bool has(std::string_view s, std::string_view part) {
  return s.find(part) != std::string_view::npos;
}

/// Bits of the widest vector register or memory operand named; 0 for a scalar instruction.
unsigned width_of(const Instruction& i) {
  if (has(i.operands, "zmm")) return 512;
  if (has(i.operands, "ymm")) return 256;
  return has(i.operands, "xmm") ? 128 : 0;
}

bool any_of(std::string_view s, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return s.starts_with(p); });
}

/// Position of a memory operand: in front (a store), behind (a load), or nowhere.
enum class Memory { none, load, store };
Memory memory_of(const Instruction& i) {
  const std::size_t bracket = i.operands.find('[');
  if (bracket == std::string_view::npos) return Memory::none;
  const std::size_t comma = i.operands.find(',');
  return bracket < comma && comma != std::string_view::npos ? Memory::store : Memory::load;
}

/// Bytes that a scalar SSE move of this mnemonic moves, 0 for others (a scalar loop stores through them).
unsigned scalar_bytes(std::string_view mnemonic) {
  if (any_of(mnemonic, {"vmovss", "movss", "vmovd"})) return mnemonic.starts_with("vmovdq") ? 0 : 4;
  return any_of(mnemonic, {"vmovsd", "movsd", "vmovq", "vmovlps", "vmovlpd"}) ? 8 : 0;
}

void count(const Instruction& i, LoopProfile& p) {
  ++p.instructions;
  if (i.mnemonic == "call") {
    ++p.calls;
    const std::size_t begin = i.operands.find('<'), end = i.operands.find_first_of("@>+");
    if (begin != std::string_view::npos && end != std::string_view::npos && begin < end)
      ++p.called[std::string(i.operands.substr(begin + 1, end - begin - 1))];
  }
  const unsigned bits = width_of(i);
  const bool mask_op = i.mnemonic.size() > 1 && i.mnemonic[0] == 'k' && !i.mnemonic.starts_with("kmov");
  if (bits == 0 && !mask_op) return;
  const Memory memory = memory_of(i);
  const bool move = any_of(i.mnemonic, {"vmov", "mov"});
  const bool broadcast_load = any_of(i.mnemonic, {"vbroadcast", "vpbroadcast"}) && memory == Memory::load;
  const unsigned scalar = scalar_bytes(i.mnemonic);
  const unsigned bytes = scalar != 0 ? scalar : bits / 8;
  if (memory == Memory::store) {
    ++p.stores;
    if (has(i.operands, "[rsp"))
      ++p.spills;
    else
      p.stored_bytes += bytes, p.vector_bits = std::max(p.vector_bits, scalar != 0 ? scalar * 8 : bits);
  }
  if (memory == Memory::load) {
    ++p.loads;
    if (move && !has(i.operands, "[rsp") && !has(i.operands, "[rip")) p.loaded_bytes += bytes;
  }
  // A move with a mask and no memory is a blend: it takes a pipe.
  const bool blend = move && memory == Memory::none && has(i.operands, "{k");
  if ((!move && !broadcast_load) || blend) ++p.arithmetic;
  if (any_of(i.mnemonic, {"vdiv", "vsqrt", "divp", "divs", "sqrtp", "sqrts"})) ++p.divisions;
  if (any_of(i.mnemonic, {"vsqrt", "sqrtp", "sqrts"})) ++p.roots;
  if (any_of(i.mnemonic, {"vmul", "vfm", "vfnm", "mulp", "muls"})) ++p.multiplies;
  if (any_of(i.mnemonic, {"vadd", "vsub", "addp", "adds", "subp", "subs"})) ++p.additions;
}

}  // namespace

double LoopProfile::elements(unsigned bytes_per_element) const {
  const std::uint64_t bytes = stored_bytes;
  return bytes_per_element == 0 ? 0 : static_cast<double>(bytes) / bytes_per_element;
}

double LoopProfile::defined_port_ns(const MachineRates& rates) const {
  return std::max({(multiplies + additions) * rates.multiply_ns, loads * rates.load_ns, stores * rates.store_ns});
}

double LoopProfile::port_ns(const MachineRates& rates) const {
  return std::max({arithmetic * rates.vector_ns, multiplies * rates.multiply_ns, additions * rates.add_ns,
                   loads * rates.load_ns, stores * rates.store_ns});
}

double LoopProfile::divider_ns(const MachineRates& rates) const {
  return (divisions - roots) * rates.divide_ns + roots * rates.root_ns;
}

Result<LoopProfile> profile_main_loop(std::string_view text) {
  std::vector<Instruction> code;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto i = parse_line(text.substr(0, end))) code.push_back(*i);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // Innermost loops: a backward jump whose body has no other backward jump to within it. The main loop is the one that
  // moves most bytes per iteration (tails and prologues of the same kernel move fewer), or computes most.
  std::optional<LoopProfile> best;
  for (std::size_t last = 0; last < code.size(); ++last) {
    // The edge back is conditional; "jmp" backwards is a cold path that rejoins.
    if (code[last].mnemonic[0] != 'j' || code[last].mnemonic == "jmp") continue;
    const auto target = hexadecimal(code[last].operands);
    if (!target || *target > code[last].offset) continue;
    std::size_t first = last;
    while (first > 0 && code[first - 1].offset >= *target) --first;
    if (code[first].offset != *target) continue;
    LoopProfile p;
    bool innermost = true;
    for (std::size_t i = first; i <= last; ++i) {
      count(code[i], p);
      if (i == last || code[i].mnemonic[0] != 'j') continue;
      const auto inner = hexadecimal(code[i].operands);
      innermost = innermost && !(inner && *inner >= *target && *inner <= code[i].offset);
    }
    if (!innermost) continue;
    const auto weight = [](const LoopProfile& q) { return std::pair(q.stored_bytes + q.loaded_bytes, q.arithmetic); };
    if (!best || weight(p) > weight(*best)) best = p;
  }
  if (!best) return make_error(ErrorCode::kNotFound, "no loop in this code");
  return *best;
}

Result<std::string> disassemble_object(const std::string& path) {
  TRY(const os::CommandResult result,
      os::run_command(
          std::vector<std::string>{"objdump", "-d", "-M", "intel", "--no-show-raw-insn", "-j", ".text", path}, 30'000));
  if (!result.exit.clean()) return make_error(ErrorCode::kOsError, "objdump: %s", result.exit.describe().c_str());
  return result.output;
}

}  // namespace trident::cli
