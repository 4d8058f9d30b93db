#include "runtime/tensor/gemm_emitter.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <cstring>

#include "runtime/tensor/depth_block.h"

namespace trident::tensor {
namespace {

namespace x86 = asmjit::x86;
using asmjit::Imm;
using asmjit::Label;
namespace Inst = asmjit::x86::Inst;

constexpr std::size_t kUnroll = 4;  // steps of k in one turn of its loop
constexpr std::size_t kOffsetMax = std::size_t{1} << 30;

struct Machine {
  std::size_t vector_bytes, registers, panel_vectors_max, tile_rows_max;
};
// The shape that fits the registers with the fewest loads a fused product: 6 x 4 and 14 x 2, and 4 x 3 below.
constexpr Machine kAvx512 = {64, 32, 4, 14}, kAvx2 = {32, 16, 3, 12};

template <class Real>
struct Instructions;
template <>
struct Instructions<float> {
  static constexpr std::uint32_t load = Inst::kIdVmovups, masked = Inst::kIdVmaskmovps, spread = Inst::kIdVbroadcastss,
                                 fuse = Inst::kIdVfmadd231ps, add = Inst::kIdVaddps, multiply = Inst::kIdVmulps,
                                 larger = Inst::kIdVmaxps, smaller = Inst::kIdVminps;
};
template <>
struct Instructions<double> {
  static constexpr std::uint32_t load = Inst::kIdVmovupd, masked = Inst::kIdVmaskmovpd, spread = Inst::kIdVbroadcastsd,
                                 fuse = Inst::kIdVfmadd231pd, add = Inst::kIdVaddpd, multiply = Inst::kIdVmulpd,
                                 larger = Inst::kIdVmaxpd, smaller = Inst::kIdVminpd;
};

/// `count` things in `pieces` nearly equal parts: how many are one larger than the rest, and the rest's size.
struct Split {
  std::size_t size, larger, pieces;
};
Split split(std::size_t count, std::size_t most) {
  const std::size_t pieces = (count + most - 1) / most;
  return {count / pieces, count % pieces, pieces};
}

/// Divides the columns of `n` into panels.
std::vector<Panel> divide(std::size_t n, const Machine& machine, std::size_t lanes) {
  const Split vectors = split((n + lanes - 1) / lanes, machine.panel_vectors_max);
  std::vector<Panel> all;
  std::size_t column = 0;
  for (std::size_t p = 0; p < vectors.pieces; ++p) {
    all.push_back({column, vectors.size + (p < vectors.larger ? 1 : 0)});
    column += all.back().vectors * lanes;
  }
  return all;
}

/// Instructions on vectors of a machine; the mask has the `tail` first lanes.
template <class Real>
class VectorAssembler {
 public:
  using I = Instructions<Real>;

  VectorAssembler(const Machine& machine, std::size_t tail) : machine_(machine), tail_(tail) {
    code_.init(asmjit::Environment(asmjit::Arch::kX64));
    code_.attach(&a_);
    constants_ = a_.newLabel();
    mask_lanes_ = a_.newLabel();
    if (tail_ != 0 && is_512()) {
      a_.mov(x86::eax, Imm((1u << tail_) - 1));
      a_.kmovw(x86::k1, x86::eax);
    }
  }

  /// Takes the instructions of other kinds.
  [[nodiscard]] x86::Assembler& scalar() { return a_; }
  [[nodiscard]] bool is_512() const { return machine_.vector_bytes == 64; }
  /// The mask takes a register with AVX2.
  [[nodiscard]] std::size_t mask_registers() const { return is_512() ? 0 : 1; }
  [[nodiscard]] x86::Vec reg(std::size_t i) const {
    const auto id = static_cast<std::uint32_t>(i);
    return is_512() ? x86::Vec(x86::zmm(id)) : x86::Vec(x86::ymm(id));
  }
  [[nodiscard]] static x86::Mem memory(const x86::Gp& base, std::size_t elements) {
    return x86::ptr(base, static_cast<std::int32_t>(elements * sizeof(Real)));
  }

  template <class... Operands>
  void put(std::uint32_t id, const Operands&... operands) {
    failed_ |= a_.emit(id, operands...) != asmjit::kErrorOk;
  }
  void advance(const x86::Gp& pointer, std::size_t elements) {
    if (elements != 0) failed_ |= a_.add(pointer, Imm(static_cast<std::int64_t>(elements * sizeof(Real)))) != 0;
  }
  void load_mask() {
    if (!is_512()) put(I::load, mask(), x86::ptr(mask_lanes_));
  }
  void load(const x86::Vec& to, const x86::Mem& from, bool masked) {
    if (!masked)
      put(I::load, to, from);
    else if (is_512())
      a_.k(x86::k1).z(), put(I::load, to, from);
    else
      put(I::masked, to, mask(), from);
  }
  void store(const x86::Mem& to, const x86::Vec& from, bool masked) {
    if (!masked)
      put(I::load, to, from);
    else if (is_512())
      a_.k(x86::k1), put(I::load, to, from);
    else
      put(I::masked, to, mask(), from);
  }
  /// Spreads the constant of this number among those of finish().
  void load_constant(const x86::Vec& to, std::int32_t which) {
    put(I::spread, to, x86::ptr(constants_, which * static_cast<std::int32_t>(sizeof(Real)), sizeof(Real)));
  }
  void zero(const x86::Vec& v) {
    const x86::Xmm low = x86::xmm(v.id());
    if (v.id() < 16)
      put(Inst::kIdVxorps, low, low, low);  // clears the whole register
    else
      put(Inst::kIdVpxord, v, v, v);
  }

  /// Ends the function and appends the constants. Returns the code; empty when there was an error.
  std::vector<std::byte> finish(std::initializer_list<Real> constants) {
    a_.vzeroupper();
    a_.ret();
    a_.align(asmjit::AlignMode::kZero, 4);
    a_.bind(constants_);
    for (const Real value : constants) a_.embed(&value, sizeof value);
    if (tail_ != 0 && !is_512()) {
      a_.bind(mask_lanes_);
      for (std::size_t i = 0; i < machine_.vector_bytes; ++i) {
        const std::uint8_t byte = i < tail_ * sizeof(Real) ? 0xFF : 0;
        a_.embed(&byte, 1);
      }
    }
    if (failed_ || code_.flatten() != asmjit::kErrorOk || code_.resolveUnresolvedLinks() != asmjit::kErrorOk) return {};
    if (code_.hasUnresolvedLinks()) return {};
    std::vector<std::byte> bytes(code_.codeSize());
    if (code_.copyFlattenedData(bytes.data(), bytes.size()) != asmjit::kErrorOk) return {};
    return bytes;
  }

 private:
  [[nodiscard]] x86::Vec mask() const { return reg(machine_.registers - 1); }

  const Machine& machine_;
  std::size_t tail_;
  bool failed_ = false;
  asmjit::CodeHolder code_;
  x86::Assembler a_;
  Label constants_, mask_lanes_;
};

template <class Real>
class GemmEmitter {
 public:
  GemmEmitter(const GemmShape<Real>& shape, const Machine& machine)
      : s_(shape),
        machine_(machine),
        lanes_(machine.vector_bytes / sizeof(Real)),
        tail_(shape.n % lanes_),
        v_(machine, tail_) {}

  std::vector<std::byte> emit() {
    const auto all = divide(s_.n, machine_, lanes_);
    for (std::size_t p = 0; p < all.size();) {
      // Panels of one width without a mask share their code.
      std::size_t end = p + 1;
      const auto masked = [&](std::size_t i) { return tail_ != 0 && i + 1 == all.size(); };
      while (end < all.size() && all[end].vectors == all[p].vectors && masked(end) == masked(p)) ++end;
      panel_group(all[p].vectors, end - p, masked(p));
      p = end;
    }
    return v_.finish({s_.alpha, s_.beta, Real{1}});  // as Constant numbers them
  }

 private:
  using I = Instructions<Real>;
  // rdi a, rsi the panel's B, rdx the panel's C, rcx the panel's bias; counters of panels and tiles in the red zone.
  const x86::Gp panel_b_ = x86::rsi, panel_c_ = x86::rdx, panel_bias_ = x86::rcx, tile_a_ = x86::r8, tile_c_ = x86::r9,
                at_a_ = x86::r10, at_b_ = x86::r11, steps_ = x86::eax;
  const x86::Mem panels_left_ = x86::dword_ptr(x86::rsp, -8), tiles_left_ = x86::dword_ptr(x86::rsp, -16);
  enum Constant : std::int32_t { kAlpha = 0, kBeta = 1, kOne = 2 };

  // The registers of a tile: sums first, then the vectors of B, the broadcast, and the mask of AVX2.
  [[nodiscard]] x86::Vec sum(std::size_t row, std::size_t v) const { return v_.reg(row * vectors_ + v); }
  [[nodiscard]] x86::Vec b(std::size_t v) const { return v_.reg(rows_ * vectors_ + v); }
  [[nodiscard]] x86::Vec spread() const { return v_.reg(rows_ * vectors_ + vectors_); }
  [[nodiscard]] bool part(std::size_t v) const { return masked_ && v + 1 == vectors_; }

  void panel_group(std::size_t vectors, std::size_t count, bool masked) {
    vectors_ = vectors;
    masked_ = masked;
    if (masked) v_.load_mask();
    const Label top = a_.newLabel();
    if (count > 1) {
      a_.mov(panels_left_, Imm(count));
      a_.bind(top);
    }
    a_.mov(tile_a_, x86::rdi);
    a_.mov(tile_c_, panel_c_);
    const std::size_t spare = masked ? v_.mask_registers() : 0;
    const std::size_t rows_max = std::min(machine_.tile_rows_max, (machine_.registers - spare - vectors - 1) / vectors);
    const Split rows = split(s_.m, rows_max);
    tile_group(rows.size + 1, rows.larger);
    tile_group(rows.size, rows.pieces - rows.larger);
    const std::size_t width = vectors * lanes_;
    v_.advance(panel_b_, s_.trans_b ? s_.k * width : width);
    v_.advance(panel_c_, width);
    if (adds_bias(s_.epilogue)) v_.advance(panel_bias_, width);
    if (count > 1) {
      a_.dec(panels_left_);
      a_.jnz(top);
    }
  }

  void tile_group(std::size_t rows, std::size_t count) {
    if (count == 0) return;
    rows_ = rows;
    const Label top = a_.newLabel();
    if (count > 1) {
      a_.mov(tiles_left_, Imm(count));
      a_.bind(top);
    }
    for (std::size_t from = 0; from < s_.k; from += kDepthBlock) {
      depth_block(from, std::min(kDepthBlock, s_.k - from));
    }
    v_.advance(tile_a_, s_.trans_a ? rows : rows * s_.lda);
    v_.advance(tile_c_, rows * s_.ldc);
    if (count > 1) {
      a_.dec(tiles_left_);
      a_.jnz(top);
    }
  }

  void depth_block(std::size_t from, std::size_t depth) {
    b_stride_ = s_.trans_b ? vectors_ * lanes_ : s_.ldb;
    a_stride_ = s_.trans_a ? s_.lda : 1;
    a_.lea(at_a_, v_.memory(tile_a_, from * a_stride_));
    a_.lea(at_b_, v_.memory(panel_b_, from * b_stride_));
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t v = 0; v < vectors_; ++v) v_.zero(sum(i, v));
    }
    const std::size_t turns = depth / kUnroll;
    if (turns > 1) {
      const Label top = a_.newLabel();
      a_.mov(steps_, Imm(turns));
      a_.align(asmjit::AlignMode::kCode, 32);
      a_.bind(top);
      for (std::size_t u = 0; u < kUnroll; ++u) step(u);
      v_.advance(at_a_, kUnroll * a_stride_);
      v_.advance(at_b_, kUnroll * b_stride_);
      a_.dec(steps_);
      a_.jnz(top);
    }
    for (std::size_t u = turns > 1 ? turns * kUnroll : 0; u < depth; ++u) step(turns > 1 ? u - turns * kUnroll : u);
    finish(from == 0 ? s_.beta : Real{1}, from == 0 ? kBeta : kOne, from + depth == s_.k);
  }

  /// One step of k: the sums take in row `u` of B behind at_b_.
  void step(std::size_t u) {
    for (std::size_t v = 0; v < vectors_; ++v)
      v_.load(b(v), v_.memory(at_b_, u * b_stride_ + v * lanes_), part(v) && !s_.trans_b);
    for (std::size_t i = 0; i < rows_; ++i) {
      x86::Mem from = v_.memory(at_a_, u * a_stride_ + i * (s_.trans_a ? 1 : s_.lda));
      from.setSize(sizeof(Real));
      if (vectors_ == 1 && v_.is_512()) {
        from.setBroadcast(sizeof(Real) == 4 ? x86::Mem::Broadcast::k1To16 : x86::Mem::Broadcast::k1To8);
        v_.put(I::fuse, sum(i, 0), b(0), from);
        continue;
      }
      v_.put(I::spread, spread(), from);
      for (std::size_t v = 0; v < vectors_; ++v) v_.put(I::fuse, sum(i, v), b(v), spread());
    }
  }

  /// Stores the sums to C. `last`: no block of k follows.
  void finish(Real beta, Constant beta_at, bool last) {
    const auto each = [&](auto f) {
      for (std::size_t i = 0; i < rows_; ++i) {
        for (std::size_t v = 0; v < vectors_; ++v) f(sum(i, v), v_.memory(tile_c_, i * s_.ldc + v * lanes_), v);
      }
    };
    if (s_.alpha != Real{1}) {
      v_.load_constant(spread(), kAlpha);
      each([&](const x86::Vec& x, const x86::Mem&, std::size_t) { v_.put(I::multiply, x, x, spread()); });
    }
    if (beta != 0) {
      v_.load_constant(spread(), beta_at);
      each([&](const x86::Vec& x, const x86::Mem& at, std::size_t v) {
        v_.load(b(0), at, part(v));
        v_.put(I::fuse, x, b(0), spread());
      });
    }
    if (last && adds_bias(s_.epilogue)) {
      for (std::size_t v = 0; v < vectors_; ++v) v_.load(b(v), v_.memory(panel_bias_, v * lanes_), part(v));
      each([&](const x86::Vec& x, const x86::Mem&, std::size_t v) { v_.put(I::add, x, x, b(v)); });
    }
    if (last && cuts_below(s_.epilogue)) {  // the second operand is the answer where the first is no number
      v_.zero(spread());
      each([&](const x86::Vec& x, const x86::Mem&, std::size_t) { v_.put(I::larger, x, x, spread()); });
    }
    if (last && cuts_above(s_.epilogue)) {
      v_.load_constant(spread(), kOne);
      each([&](const x86::Vec& x, const x86::Mem&, std::size_t) { v_.put(I::smaller, x, x, spread()); });
    }
    each([&](const x86::Vec& x, const x86::Mem& at, std::size_t v) { v_.store(at, x, part(v)); });
  }

  const GemmShape<Real>& s_;
  const Machine& machine_;
  std::size_t lanes_, tail_;
  std::size_t rows_ = 0, vectors_ = 0, a_stride_ = 0, b_stride_ = 0;
  bool masked_ = false;
  VectorAssembler<Real> v_;
  x86::Assembler& a_ = v_.scalar();
};

const Machine* machine_of(os::SimdLevel level) {
  switch (level) {
    case os::SimdLevel::avx2: return &kAvx2;
    case os::SimdLevel::avx512: return &kAvx512;
    case os::SimdLevel::portable:
    case os::SimdLevel::avx512vnni: return nullptr;  // no kernels of the level: kernel_choice.cpp
  }
  return nullptr;
}

/// Returns true when every offset from a pointer that the code holds fits an instruction.
template <class Real>
bool in_reach(const GemmShape<Real>& s) {
  const auto below = [](std::size_t a, std::size_t b) { return a == 0 || b < kOffsetMax / sizeof(Real) / a; };
  return s.m > 0 && s.n > 0 && s.k > 0 && below(s.m + 1, s.lda) && below(s.m + 1, s.ldc) && below(s.k + 1, s.lda) &&
         below(s.k + 1, s.ldb) && below(s.n + 1, s.ldb) && below(s.k + 1, s.n + 64);
}

}  // namespace

template <class Real>
std::vector<Panel> panels_of(const GemmShape<Real>& shape, os::SimdLevel level) {
  const Machine* machine = machine_of(level);
  return machine && in_reach(shape) ? divide(shape.n, *machine, machine->vector_bytes / sizeof(Real))
                                    : std::vector<Panel>();
}

template <class Real>
std::vector<std::byte> emit_gemm(const GemmShape<Real>& shape, os::SimdLevel level) {
  const Machine* machine = machine_of(level);
  if (!machine || !in_reach(shape)) return {};
  return GemmEmitter<Real>(shape, *machine).emit();
}

template std::vector<Panel> panels_of(const GemmShape<float>&, os::SimdLevel);
template std::vector<Panel> panels_of(const GemmShape<double>&, os::SimdLevel);
template std::vector<std::byte> emit_gemm(const GemmShape<float>&, os::SimdLevel);
template std::vector<std::byte> emit_gemm(const GemmShape<double>&, os::SimdLevel);

}  // namespace trident::tensor
