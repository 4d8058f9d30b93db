// The canonical form: nodes in the order in which a traversal from the outputs, operands first and from left to right,
// finishes them. Names do not count; types, ranges and constants do. Versioned, because cache keys hash it.
#include <bit>
#include <cstddef>
#include <cstring>

#include "jit/expr/builder.h"
#include "jit/expr/expr.h"

namespace trident::expr {
namespace {

constexpr std::uint8_t kFormat = 1;
/// Beside the kind of a variable: its values may be NaN although it has a range. Nothing that is submitted says so.
constexpr std::uint8_t kOrNan = 0x80;

// Writes little-endian fields into a buffer whose largest size is known beforehand.
class Writer {
 public:
  explicit Writer(std::size_t bytes_max) : bytes_(bytes_max) {}
  void u8(std::uint8_t v) { bytes_[size_++] = static_cast<std::byte>(v); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  std::vector<std::byte> take() {
    bytes_.resize(size_);
    return std::move(bytes_);
  }

 private:
  template <class T>
  void put(T v) {
    static_assert(std::endian::native == std::endian::little);
    CHECK(bytes_.size() - size_ >= sizeof v);
    std::memcpy(bytes_.data() + size_, &v, sizeof v);
    size_ += sizeof v;
  }

  std::vector<std::byte> bytes_;
  std::size_t size_ = 0;
};

constexpr std::size_t kVariableBytes = 1 + 1 + 8 + 8;
constexpr std::size_t kNodeBytesMax = 1 + 1 + 3 * 4 + 8;

// Order of completion of a depth-first walk, without recursion: an expression may be as deep as it has nodes.
std::vector<std::uint32_t> finishing_order(const Expr& expr, std::vector<std::uint32_t>& number) {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> stack;
  order.reserve(expr.nodes.size());
  stack.reserve(expr.nodes.size());
  constexpr std::uint32_t kUnseen = 0xFFFF'FFFFu;
  number.assign(expr.nodes.size(), kUnseen);
  for (const Output& output : expr.outputs) {
    stack.push_back(output.node.index);
    while (!stack.empty()) {
      const std::uint32_t top = stack.back();
      const Node& node = expr.nodes[top];
      std::uint32_t pending = kUnseen;
      for (const NodeId operand : {node.a, node.b, node.c}) {
        if (pending == kUnseen && operand.valid() && number[operand.index] == kUnseen) pending = operand.index;
      }
      if (number[top] != kUnseen) {
        stack.pop_back();
      } else if (pending != kUnseen) {
        stack.push_back(pending);
      } else {
        number[top] = static_cast<std::uint32_t>(order.size());
        order.push_back(top);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

std::vector<std::byte> canonical_bytes(const Expr& expr) {
  std::vector<std::uint32_t> number;
  const std::vector<std::uint32_t> order = finishing_order(expr, number);
  // Equal nodes that the caller kept apart become one; a node keeps its place after its operands.
  Expr shared;
  shared.nodes.reserve(order.size());
  Builder builder(shared);
  for (const std::uint32_t index : order) {
    Node node = expr.nodes[index];
    for (NodeId* operand : {&node.a, &node.b, &node.c}) {
      if (operand->valid()) *operand = NodeId(number[operand->index]);
    }
    number[index] = (node.op == Op::Constant ? builder.constant_bits(node.type, node.imm) : builder.add(node)).index;
  }
  Writer out(1 + 3 * sizeof(std::uint32_t) + expr.variables.size() * kVariableBytes +
             shared.nodes.size() * kNodeBytesMax + expr.outputs.size() * sizeof(std::uint32_t));
  out.u8(kFormat);
  out.u32(static_cast<std::uint32_t>(expr.variables.size()));
  for (const Variable& v : expr.variables) {
    out.u8(ir::element_number(v.type, v.storage));
    out.u8(static_cast<std::uint8_t>(static_cast<unsigned>(v.kind) | (v.or_nan ? kOrNan : 0u)));
    out.u64(std::bit_cast<std::uint64_t>(v.lo + 0.0));  // -0 and 0 are the same end
    out.u64(std::bit_cast<std::uint64_t>(v.hi + 0.0));
  }
  out.u32(builder.size());
  for (const Node& node : shared.nodes) {
    out.u8(static_cast<std::uint8_t>(node.op));
    out.u8(static_cast<std::uint8_t>(node.type));
    for (const NodeId operand : {node.a, node.b, node.c}) {
      if (operand.valid()) out.u32(operand.index);
    }
    const bool names = info(node.op).signature == Signature::Leaf && node.op != Op::Index;
    if (names || node.op == Op::Powi) out.u64(node.imm);
  }
  out.u32(static_cast<std::uint32_t>(expr.outputs.size()));
  for (const Output& output : expr.outputs)
    out.u32(output_word({"", NodeId(number[output.node.index]), output.storage}));
  return out.take();
}

}  // namespace trident::expr
