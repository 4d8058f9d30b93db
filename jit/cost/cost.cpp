#include "jit/cost/cost.h"

#include <algorithm>
#include <array>

#include "runtime/base/check.h"

namespace trident::cost {
namespace {

using kir::Op;
using kir::Signature;
using kir::Types;

constexpr Type kTypes[] = {Type::f32, Type::f64, Type::i32, Type::i64, Type::b32, Type::b64};
constexpr std::size_t kTypeCount = std::size(kTypes), kForms = 2;

constexpr bool takes(Types types, Type type) {
  switch (types) {
    case Types::N: return !ir::is_mask(type);
    case Types::F: return ir::is_float(type);
    case Types::S: return type == Type::f32;
    case Types::I: return ir::is_int(type);
    case Types::B: return !ir::is_float(type);
    case Types::A: return true;
  }
  return false;
}

constexpr bool converts(Op op, Type from, Type to) {
  if (op == Op::Lookup) return from == to && !ir::is_mask(to);
  if (from == to) return false;
  if (op == Op::Convert) return ir::is_mask(from) == ir::is_mask(to);
  if (ir::is_mask(from) || ir::is_mask(to) || ir::bytes_of(from) != ir::bytes_of(to)) return false;
  return op == Op::Bitcast || (ir::is_float(from) && ir::is_int(to));
}

std::vector<Row> make_rows() {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < kir::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    const kir::OpInfo& info = kir::info(op);
    if (info.signature == Signature::Leaf || info.signature == Signature::Read || kir::is_estimate(op)) continue;
    for (const Type type : kTypes) {
      if (info.signature == Signature::Convert) {
        for (const Type from : kTypes)
          if (converts(op, from, type)) rows.push_back({op, type, from, Form::plain});
      } else if (takes(info.types, type)) {
        rows.push_back({op, type, type, Form::plain});
        if (op == Op::Div || op == Op::Sqrt) rows.push_back({op, type, type, Form::newton});
      }
    }
  }
  return rows;
}

constexpr std::size_t slot_of(const Row& row) {
  return ((static_cast<std::size_t>(row.op) * kTypeCount + static_cast<std::size_t>(row.type)) * kTypeCount +
          static_cast<std::size_t>(row.from)) *
             kForms +
         static_cast<std::size_t>(row.form);
}

/// The list of rows, and the place of each row in it.
struct Rows {
  std::vector<Row> list = make_rows();
  std::array<std::int16_t, kir::kOpCount * kTypeCount * kTypeCount * kForms> place{};
  Rows() {
    place.fill(-1);
    for (std::size_t i = 0; i < list.size(); ++i) place[slot_of(list[i])] = static_cast<std::int16_t>(i);
  }
};

const Rows& all_rows() {
  static const Rows kRows;
  return kRows;
}

}  // namespace

std::span<const Row> rows() {
  return all_rows().list;
}

std::string name_of(const Row& row) {
  std::string name(kir::info(row.op).text);
  if (row.form == Form::newton) name += ".newton";
  name += ' ';
  if (row.from != row.type) name += std::string(ir::name_of(row.from)) + "->";
  return name + std::string(ir::name_of(row.type));
}

const Figures& Table::at(const Row& row) const {
  const std::int16_t place = all_rows().place[slot_of(row)];
  CHECK(place >= 0);
  CHECK(figures.size() == all_rows().list.size());
  return figures[static_cast<std::size_t>(place)];
}

std::optional<Row> row_of(const kir::Kernel& kernel, const kir::Inst& inst) {
  const Signature signature = kir::info(inst.op).signature;
  if (signature == Signature::Leaf || signature == Signature::Read || kir::is_estimate(inst.op)) return std::nullopt;
  if (signature == Signature::Compare) {
    const Type type = kernel.type_of(inst.a);
    return Row{inst.op, type, type, Form::plain};
  }
  const bool same = signature != Signature::Convert || inst.op == Op::Lookup;
  const Type from = same ? inst.type : kernel.type_of(inst.a);
  if (!same && from == inst.type) return std::nullopt;  // no effect
  return Row{inst.op, inst.type, from, Form::plain};
}

double Table::throughput(const kir::Kernel& kernel, const kir::Inst& inst) const {
  const std::optional<Row> row = row_of(kernel, inst);
  if (!row) return 0;
  const double plain = at(*row).throughput;
  if (inst.flags == 0 || inst.op == Op::Scalef) return plain;  // nothing was measured of Scalef with a flag
  return std::min(plain, at({row->op, row->type, row->from, Form::newton}).throughput);
}

bool fits(const Table& table, std::string_view cpu, std::string_view isa) {
  const bool family =
      cpu.find("(" + table.cpu + " ") != std::string_view::npos;  // "AMD EPYC (AuthenticAMD family 26 ...)"
  return (table.cpu == cpu || table.cpu == kAnyCpu || family) && table.isa == isa;
}

}  // namespace trident::cost
