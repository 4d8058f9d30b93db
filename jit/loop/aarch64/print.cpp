// The text of an instruction as Capstone writes it. An alias (mov, cmp, lsl, ..) is a case of the row's mnemonic.
#include <fmt/format.h>

#include "jit/loop/aarch64/instruction.h"

namespace trident::loop::aarch64 {
namespace {

constexpr std::string_view kConditions[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                            "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"};
constexpr std::string_view kShifts[] = {"lsl", "lsr", "asr", "ror"};
constexpr std::string_view kExtends[] = {"uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"};
constexpr std::uint8_t kNever = 15;

std::string immediate(std::int64_t value) {
  if (value >= -9 && value <= 9) return fmt::format("#{}", value);
  return value < 0 ? fmt::format("#-0x{:x}", -static_cast<std::uint64_t>(value)) : fmt::format("#0x{:x}", value);
}

std::string unsigned_immediate(std::uint64_t value) {
  return value <= 9 ? fmt::format("#{}", value) : fmt::format("#0x{:x}", value);
}

/// Register number 31 is the zero register.
std::string reg(unsigned number, bool is64) {
  if (number == kRegister31) return is64 ? "xzr" : "wzr";
  return fmt::format("{}{}", is64 ? 'x' : 'w', number);
}
/// Register number 31 is the stack pointer.
std::string reg_or_sp(unsigned number, bool is64) {
  if (number == kRegister31) return is64 ? "sp" : "wsp";
  return reg(number, is64);
}

class Printer {
 public:
  Printer(const Instruction& instruction, std::uint64_t address) : i_(instruction), address_(address) {}

  std::string text() const {
    switch (i_.row->format) {
      case Format::None: return std::string(i_.row->mnemonic);
      case Format::PcRelative: return line(i_.row->mnemonic, {x(i_.d), unsigned_immediate(page())});
      case Format::AddImmediate: return add_immediate();
      case Format::LogicalImmediate: return logical_immediate();
      case Format::MoveWide: return move_wide();
      case Format::Bitfield: return bitfield();
      case Format::Extract: return extract();
      case Format::ShiftedLogic: return shifted_logic();
      case Format::ShiftedAdd: return shifted_add();
      case Format::ExtendedAdd: return extended_add();
      case Format::TwoSource: return two_source();
      case Format::OneSource: return line(i_.row->mnemonic, {r(i_.d), r(i_.n)});
      case Format::ThreeSource: return three_source();
      case Format::LongMultiply: return long_multiply();
      case Format::HighMultiply: return line(i_.row->mnemonic, {x(i_.d), x(i_.n), x(i_.m)});
      case Format::CompareRegister: return conditional_compare(r(i_.m));
      case Format::CompareImmediate: return conditional_compare(immediate(i_.imm));
      case Format::Select: return select();
      case Format::Jump: return line(i_.row->mnemonic, {target()});
      case Format::ConditionalJump:
        return line(std::string(i_.row->mnemonic) + std::string(kConditions[i_.condition]), {target()});
      case Format::CompareJump: return line(i_.row->mnemonic, {r(i_.d), target()});
      case Format::TestJump: return line(i_.row->mnemonic, {r(i_.d), immediate(i_.bit), target()});
      case Format::Literal: return line(i_.row->mnemonic, {r(i_.d), target()});
      case Format::UnsignedOffset:
      case Format::Unscaled:
      case Format::PostIndex:
      case Format::PreIndex:
      case Format::RegisterOffset: return line(i_.row->mnemonic, {moved(), place()});
      case Format::PairOffset:
      case Format::PairPostIndex:
      case Format::PairPreIndex: return line(i_.row->mnemonic, {r(i_.d), r(i_.a), place()});
    }
    return {};
  }

 private:
  static std::string line(std::string_view mnemonic, std::initializer_list<std::string> operands) {
    std::string out(mnemonic);
    const char* separator = " ";
    for (const std::string& operand : operands) {
      if (operand.empty()) continue;
      out.append(separator).append(operand);
      separator = ", ";
    }
    return out;
  }
  [[nodiscard]] std::string r(unsigned number) const { return reg(number, i_.is64); }
  [[nodiscard]] std::string rs(unsigned number) const { return reg_or_sp(number, i_.is64); }
  static std::string x(unsigned number) { return reg(number, true); }
  static std::string w(unsigned number) { return reg(number, false); }
  [[nodiscard]] std::string target() const { return unsigned_immediate(address_ + static_cast<std::uint64_t>(i_.imm)); }
  [[nodiscard]] std::uint64_t page() const {
    return (i_.op() == Op::Adrp ? address_ & ~0xFFFull : address_) + static_cast<std::uint64_t>(i_.imm);
  }
  [[nodiscard]] std::string shifted() const {
    return i_.amount == 0 && i_.shift == Shift::lsl
               ? ""
               : fmt::format("{} #{}", kShifts[static_cast<unsigned>(i_.shift)], i_.amount);
  }
  [[nodiscard]] bool is(std::string_view mnemonic) const { return i_.row->mnemonic == mnemonic; }

  [[nodiscard]] std::string add_immediate() const {
    const bool high = (i_.word >> 22 & 1) != 0;
    const std::string value = immediate(high ? i_.imm >> 12 : i_.imm), shift = high ? "lsl #12" : "";
    if (i_.sets_flags && i_.d == kRegister31) return line(is("adds") ? "cmn" : "cmp", {rs(i_.n), value, shift});
    if (is("add") && i_.imm == 0 && !high && (i_.d == kRegister31 || i_.n == kRegister31))
      return line("mov", {rs(i_.d), rs(i_.n)});
    return line(i_.row->mnemonic, {i_.sets_flags ? r(i_.d) : rs(i_.d), rs(i_.n), value, shift});
  }

  [[nodiscard]] std::string logical_immediate() const {
    const auto bits = static_cast<std::uint64_t>(i_.imm);
    const std::string value = bits <= 9 ? immediate(i_.imm) : fmt::format("#0x{:x}", bits);
    if (is("ands") && i_.d == kRegister31) return line("tst", {r(i_.n), value});
    return line(i_.row->mnemonic, {i_.sets_flags ? r(i_.d) : rs(i_.d), r(i_.n), value});
  }

  [[nodiscard]] std::string move_wide() const {
    const std::string value = i_.imm == 0 ? "#0" : fmt::format("#0x{:x}", i_.imm);
    return line(i_.row->mnemonic, {r(i_.d), value, i_.amount == 0 ? "" : fmt::format("lsl #{}", i_.amount)});
  }

  [[nodiscard]] std::string bitfield() const {
    const unsigned width = i_.width(), last = width - 1;
    if (is("bfm")) return field("bfi", "bfxil");
    if (i_.imms == last) return line(is("sbfm") ? "asr" : "lsr", {r(i_.d), r(i_.n), immediate(i_.immr)});
    if (is("ubfm") && i_.imms + 1u == i_.immr) return line("lsl", {r(i_.d), r(i_.n), immediate(last - i_.imms)});
    if (i_.immr == 0 && (i_.imms == 7 || i_.imms == 15 || (i_.imms == 31 && is("sbfm"))) && (is("sbfm") || !i_.is64)) {
      const char* const size = i_.imms == 7 ? "b" : i_.imms == 15 ? "h" : "w";
      return line(fmt::format("{}xt{}", is("sbfm") ? 's' : 'u', size), {r(i_.d), w(i_.n)});
    }
    return is("sbfm") ? field("sbfiz", "sbfx") : field("ubfiz", "ubfx");
  }
  [[nodiscard]] std::string field(const char* insert, const char* extract) const {
    if (i_.imms < i_.immr)
      return line(insert, {r(i_.d), r(i_.n), immediate(i_.width() - i_.immr), immediate(i_.imms + 1)});
    return line(extract, {r(i_.d), r(i_.n), immediate(i_.immr), immediate(i_.imms - i_.immr + 1)});
  }

  [[nodiscard]] std::string extract() const {
    if (i_.n == i_.m) return line("ror", {r(i_.d), r(i_.n), immediate(i_.imms)});
    return line("extr", {r(i_.d), r(i_.n), r(i_.m), immediate(i_.imms)});
  }

  [[nodiscard]] std::string shifted_logic() const {
    if (is("ands") && i_.d == kRegister31) return line("tst", {r(i_.n), r(i_.m), shifted()});
    if (is("orr") && i_.n == kRegister31 && shifted().empty()) return line("mov", {r(i_.d), r(i_.m)});
    if (is("orn") && i_.n == kRegister31) return line("mvn", {r(i_.d), r(i_.m), shifted()});
    return line(i_.row->mnemonic, {r(i_.d), r(i_.n), r(i_.m), shifted()});
  }

  [[nodiscard]] std::string shifted_add() const {
    if (i_.sets_flags && i_.d == kRegister31) return line(is("adds") ? "cmn" : "cmp", {r(i_.n), r(i_.m), shifted()});
    if (i_.row->lift == Lift::subtract && i_.n == kRegister31)
      return line(i_.sets_flags ? "negs" : "neg", {r(i_.d), r(i_.m), shifted()});
    return line(i_.row->mnemonic, {r(i_.d), r(i_.n), r(i_.m), shifted()});
  }

  [[nodiscard]] std::string extended_add() const {
    const bool is64 = (static_cast<unsigned>(i_.extend) & 3) == 3 && i_.is64;
    const bool plain = i_.extend == (i_.is64 ? Extend::uxtx : Extend::uxtw);
    const bool names_sp = i_.n == kRegister31 || (i_.d == kRegister31 && !i_.sets_flags);
    std::string extension(kExtends[static_cast<unsigned>(i_.extend)]);
    if (plain && names_sp) extension = i_.amount == 0 ? "" : "lsl";
    if (i_.amount != 0) extension += " " + immediate(i_.amount);
    if (i_.sets_flags && i_.d == kRegister31)
      return line(is("adds") ? "cmn" : "cmp", {rs(i_.n), reg(i_.m, is64), extension});
    return line(i_.row->mnemonic, {i_.sets_flags ? r(i_.d) : rs(i_.d), rs(i_.n), reg(i_.m, is64), extension});
  }

  [[nodiscard]] std::string two_source() const {
    if (i_.row->lift == Lift::add_carry && i_.n == kRegister31 && i_.row->mnemonic.starts_with("sbc"))
      return line(i_.sets_flags ? "ngcs" : "ngc", {r(i_.d), r(i_.m)});
    return line(i_.row->mnemonic, {r(i_.d), r(i_.n), r(i_.m)});
  }

  [[nodiscard]] std::string three_source() const {
    if (i_.a == kRegister31) return line(is("madd") ? "mul" : "mneg", {r(i_.d), r(i_.n), r(i_.m)});
    return line(i_.row->mnemonic, {r(i_.d), r(i_.n), r(i_.m), r(i_.a)});
  }

  [[nodiscard]] std::string long_multiply() const {
    if (i_.a != kRegister31) return line(i_.row->mnemonic, {x(i_.d), w(i_.n), w(i_.m), x(i_.a)});
    const char* const kind = is("smaddl") || is("umaddl") ? "mull" : "mnegl";
    return line(fmt::format("{}{}", i_.row->mnemonic.front(), kind), {x(i_.d), w(i_.n), w(i_.m)});
  }

  [[nodiscard]] std::string conditional_compare(const std::string& second) const {
    return line(i_.row->mnemonic, {r(i_.n), second, immediate(i_.nzcv), std::string(kConditions[i_.condition])});
  }

  [[nodiscard]] std::string select() const {
    const std::string inverse(kConditions[i_.condition ^ 1]);
    const bool may = i_.n == i_.m && i_.condition != kNever && !is("csel");
    if (may && i_.n == kRegister31 && !is("csneg")) return line(is("csinc") ? "cset" : "csetm", {r(i_.d), inverse});
    if (may && (i_.n != kRegister31 || is("csneg")))
      return line(is("csinc") ? "cinc" : is("csinv") ? "cinv" : "cneg", {r(i_.d), r(i_.n), inverse});
    return line(i_.row->mnemonic, {r(i_.d), r(i_.n), r(i_.m), std::string(kConditions[i_.condition])});
  }

  /// The register that is loaded or stored; of a prefetch, its operation.
  [[nodiscard]] std::string moved() const {
    if (i_.row->lift != Lift::nothing) return r(i_.d);
    constexpr std::string_view kTypes[] = {"pld", "pli", "pst"};
    const unsigned type = i_.d >> 3, level = i_.d >> 1 & 3;
    if (type > 2 || level > 2) return immediate(i_.d);
    return fmt::format("{}l{}{}", kTypes[type], level + 1, (i_.d & 1) != 0 ? "strm" : "keep");
  }

  [[nodiscard]] std::string place() const {
    const std::string base = reg_or_sp(i_.n, true);
    const Format format = i_.row->format;
    if (format == Format::PostIndex)
      return fmt::format("[{}], {}", base, unsigned_immediate(static_cast<std::uint64_t>(i_.imm)));
    if (format == Format::PairPostIndex) return fmt::format("[{}], {}", base, immediate(i_.imm));
    if (format == Format::PreIndex || format == Format::PairPreIndex)
      return fmt::format("[{}, {}]!", base, immediate(i_.imm));
    if (format == Format::RegisterOffset) return fmt::format("[{}, {}{}]", base, index(), extension());
    return i_.imm == 0 ? fmt::format("[{}]", base) : fmt::format("[{}, {}]", base, immediate(i_.imm));
  }
  [[nodiscard]] std::string index() const { return reg(i_.m, (static_cast<unsigned>(i_.extend) & 1) != 0); }
  [[nodiscard]] std::string extension() const {
    const bool scaled = (i_.word >> 12 & 1) != 0;
    const std::string amount = scaled ? " " + immediate(i_.amount) : "";
    if (i_.extend == Extend::uxtx) return scaled ? ", lsl" + amount : "";
    return fmt::format(", {}{}", kExtends[static_cast<unsigned>(i_.extend)], amount);
  }

  const Instruction& i_;
  std::uint64_t address_;
};

}  // namespace

std::string print(const Instruction& instruction, std::uint64_t address) {
  return Printer(instruction, address).text();
}

}  // namespace trident::loop::aarch64
