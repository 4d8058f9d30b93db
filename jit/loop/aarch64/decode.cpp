#include <bit>

#include "jit/loop/aarch64/instruction.h"

namespace trident::loop::aarch64 {
namespace {

constexpr std::uint32_t bits_where(std::string_view pattern, std::string_view letters) {
  std::uint32_t bits = 0;
  for (const char c : pattern) bits = bits << 1 | (letters.find(c) != std::string_view::npos ? 1u : 0u);
  return bits;
}

constexpr Row row(Op op, std::string_view pattern, std::string_view mnemonic, Format format, Lift lift) {
  return {op, pattern, mnemonic, format, lift, bits_where(pattern, "01"), bits_where(pattern, "1")};
}

/// The fields of a word by their letters.
class Fields {
 public:
  Fields(const Row& row, std::uint32_t word) {
    for (std::size_t i = 0; i < row.pattern.size(); ++i) {
      const char letter = row.pattern[i];
      if (letter == '0' || letter == '1') continue;
      Field& field = fields_[static_cast<unsigned>(letter) % 64];
      field.value = field.value << 1 | (word >> (31 - i) & 1);
      ++field.width;
    }
  }
  [[nodiscard]] std::uint32_t operator[](char letter) const { return at(letter).value; }
  [[nodiscard]] std::uint8_t small(char letter) const { return static_cast<std::uint8_t>(at(letter).value); }
  [[nodiscard]] bool has(char letter) const { return at(letter).width != 0; }
  /// The field as a two's complement number.
  [[nodiscard]] std::int64_t as_signed(char letter) const {
    const unsigned unused = 64 - at(letter).width;
    return static_cast<std::int64_t>(std::uint64_t{at(letter).value} << unused) >> unused;
  }

 private:
  struct Field {
    std::uint32_t value = 0;
    unsigned width = 0;
  };
  [[nodiscard]] const Field& at(char letter) const { return fields_[static_cast<unsigned>(letter) % 64]; }
  std::array<Field, 64> fields_{};
};

/// Fills `i` from the fields of its format. Returns false when the architecture reserves the word.
class Operands {
 public:
  Operands(Instruction& i, const Fields& f) : i_(i), f_(f) {}

  bool read() {
    i_.is64 = i_.word >> 31 != 0;  // where it is no field, bit 31 has this meaning too, or none
    i_.d = f_.small(f_.has('t') ? 't' : 'd');
    i_.n = f_.small('n');
    i_.m = f_.small('m');
    i_.a = f_.small(f_.has('u') ? 'u' : 'a');
    i_.condition = f_.small('c');
    i_.nzcv = f_.small('z');
    i_.shift = static_cast<Shift>(f_['h'] & 3);
    i_.amount = f_.small('k');
    i_.immr = f_.small('r');
    i_.imms = f_.small('e');
    return by_format();
  }

 private:
  bool by_format() {
    switch (i_.row->format) {
      case Format::PcRelative: return pc_relative();
      case Format::AddImmediate: return add_immediate();
      case Format::LogicalImmediate: return logical_immediate();
      case Format::MoveWide: return move_wide();
      case Format::Bitfield: return f_['N'] == f_['s'] && in_width(i_.immr) && in_width(i_.imms);
      case Format::Extract: return f_['N'] == f_['s'] && in_width(i_.imms);
      case Format::ShiftedLogic: return in_width(i_.amount);
      case Format::ShiftedAdd: return i_.shift != Shift::ror && in_width(i_.amount);
      case Format::ExtendedAdd: i_.extend = static_cast<Extend>(f_['o']); return i_.amount <= 4;
      case Format::CompareImmediate: i_.imm = f_['i']; return true;
      case Format::Jump:
      case Format::ConditionalJump:
      case Format::CompareJump:
      case Format::TestJump: return jump();
      case Format::Literal: return literal();
      case Format::UnsignedOffset: return access(std::int64_t{f_['i']} << size());
      case Format::Unscaled:
      case Format::PostIndex:
      case Format::PreIndex: return access(f_.as_signed('i'));
      case Format::RegisterOffset: return register_offset();
      case Format::PairOffset:
      case Format::PairPostIndex:
      case Format::PairPreIndex: return pair();
      case Format::None:
      case Format::OneSource:
      case Format::TwoSource:
      case Format::ThreeSource:
      case Format::LongMultiply:
      case Format::HighMultiply:
      case Format::CompareRegister:
      case Format::Select: return true;
    }
    return false;
  }

  [[nodiscard]] bool in_width(unsigned number) const { return number < i_.width(); }
  /// log2 of a load's or store's bytes.
  [[nodiscard]] unsigned size() const { return i_.word >> 30; }

  bool pc_relative() {
    i_.imm = f_.as_signed('i') * 4 + f_['j'];
    if (i_.op() == Op::Adrp) i_.imm *= 4096;
    return true;
  }
  bool add_immediate() {
    i_.imm = std::int64_t{f_['i']} << (f_['h'] != 0 ? 12 : 0);
    i_.shift = Shift::lsl;
    return true;
  }
  bool logical_immediate() {
    const auto mask = bitmask(f_['N'] != 0, i_.immr, i_.imms, i_.width());
    if (mask) i_.imm = static_cast<std::int64_t>(*mask);
    return mask.has_value();
  }
  bool move_wide() {
    i_.amount = static_cast<std::uint8_t>(f_['h'] * 16);
    i_.imm = f_['i'];
    return in_width(i_.amount);
  }
  bool jump() {
    i_.imm = f_.as_signed('i') * 4;
    if (i_.row->format == Format::TestJump) {
      i_.bit = static_cast<std::uint8_t>(f_['b'] << 5 | f_['p']);
      i_.is64 = f_['b'] != 0;
    }
    return true;
  }
  bool literal() {
    i_.imm = f_.as_signed('i') * 4;
    i_.is64 = i_.op() != Op::LdrWl;
    i_.is_signed = i_.op() == Op::Ldrswl;
    i_.bytes = i_.op() == Op::LdrXl ? 8 : 4;
    return true;
  }
  /// Write-back to a register that is loaded or stored too is not predictable.
  [[nodiscard]] bool writes_back_to(unsigned moved) const { return i_.n != kRegister31 && i_.n == moved; }

  bool access(std::int64_t offset) {
    const unsigned opc = i_.word >> 22 & 3;
    i_.imm = offset;
    i_.bytes = static_cast<std::uint8_t>(1u << size());
    i_.is_signed = opc >= 2;
    i_.is64 = opc == 2 || size() == 3;
    const bool writes_back = i_.row->format == Format::PostIndex || i_.row->format == Format::PreIndex;
    return !writes_back || !writes_back_to(i_.d);
  }
  bool register_offset() {
    i_.extend = static_cast<Extend>(f_['o']);
    i_.amount = f_['w'] != 0 ? static_cast<std::uint8_t>(size()) : std::uint8_t{0};
    return (f_['o'] & 2) != 0 && access(0);  // extensions from bytes and halfwords are reserved
  }
  bool pair() {
    i_.is_signed = size() == 1;
    i_.is64 = size() != 0;
    i_.bytes = size() == 2 ? 8 : 4;
    i_.imm = f_.as_signed('i') * i_.bytes;
    if (i_.row->lift == Lift::load_pair && i_.d == i_.a) return false;
    return i_.row->format == Format::PairOffset || !(writes_back_to(i_.d) || writes_back_to(i_.a));
  }

  Instruction& i_;
  const Fields& f_;
};

/// Additions and logic whose mnemonic ends in s.
bool sets_flags(const Row& row) {
  const bool may =
      row.lift == Lift::add || row.lift == Lift::subtract || row.lift == Lift::logic_and || row.lift == Lift::add_carry;
  return may && row.mnemonic.ends_with('s');
}

}  // namespace

constexpr std::array<Row, kRowCount> kRows = {{
#define X(name, pattern, mnemonic, format, lift) row(Op::name, pattern, mnemonic, Format::format, Lift::lift),
#include "jit/loop/aarch64/instructions.def"
#undef X
}};

std::optional<std::uint64_t> bitmask(bool n, unsigned immr, unsigned imms, unsigned width) {
  if (n && width == 32) return {};
  const unsigned selector = (n ? 64u : 0u) | (~imms & 63u);
  if (selector < 2) return {};
  const unsigned element = std::bit_floor(selector);
  const unsigned ones = (imms & (element - 1)) + 1, rotation = immr & (element - 1);
  if (ones == element) return {};
  std::uint64_t pattern = (std::uint64_t{1} << ones) - 1;
  if (rotation != 0) pattern = pattern >> rotation | pattern << (element - rotation);
  if (element < 64) pattern &= (std::uint64_t{1} << element) - 1;
  for (unsigned filled = element; filled < 64; filled *= 2) pattern |= pattern << filled;
  return width == 32 ? pattern & 0xFFFF'FFFF : pattern;
}

std::optional<Instruction> decode(std::uint32_t word) {
  for (const Row& row : kRows) {
    if ((word & row.mask) != row.fixed) continue;
    Instruction instruction{.row = &row, .word = word};
    instruction.sets_flags = sets_flags(row);
    if (!Operands(instruction, Fields(row, word)).read()) return {};
    return instruction;
  }
  return {};
}

}  // namespace trident::loop::aarch64
