// Matrix products whose shapes are known before they run: a tape tells all of its own while it is recorded, their code
// is emitted once (gemm_emitter.h), and replay calls it. Where this process may make no code (no memfd, another
// instruction set, a level without code) each product runs the compiled kernel of the same level, and the bits are the
// same.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/os/memfd.h"
#include "runtime/tensor/arena.h"
#include "runtime/tensor/gemm_emitter.h"
#include "runtime/tensor/gemm_shape.h"
#include "runtime/tensor/kernels.h"

namespace trident::tensor {

/// A product of fixed shape, ready to run; valid while the GemmCode lives that made it.
template <class Real>
class Gemm {
 public:
  /// Allocates nothing. `bias` is read only by an epilogue that adds one. One thread at a time.
  void operator()(const Real* a, const Real* b, Real* c, const Real* bias = nullptr) const {
    if (!code_) return run_compiled(a, b, c, bias);
    if (packed_) {
      pack(b);
      b = packed_;
    }
    code_(a, b, c, bias);
  }
  [[nodiscard]] bool is_emitted() const { return code_ != nullptr; }

 private:
  template <class>
  friend class GemmCode;
  using Code = void (*)(const Real*, const Real*, Real*, const Real*);
  void run_compiled(const Real* a, const Real* b, Real* c, const Real* bias) const;
  void pack(const Real* b) const;

  GemmShape<Real> shape_;
  const Kernels<Real>* kernels_ = nullptr;
  Code code_ = nullptr;
  Real* packed_ = nullptr;  // the transposed B of a product by trans_b, shared by all of one GemmCode
  const Panel* panels_ = nullptr;
  std::size_t panel_count_ = 0, lanes_ = 0;
};

enum class GemmSource : std::uint8_t { emitted, compiled };

/// Owns the code of up to kShapesMax different shapes. What is beyond runs compiled.
template <class Real>
class GemmCode {
 public:
  static constexpr std::size_t kShapesMax = 256;
  static constexpr std::size_t kCodeBytesMax = std::size_t{4} << 20;

  explicit GemmCode(GemmSource source = GemmSource::emitted, os::SimdLevel level = best_level());
  GemmCode(const GemmCode&) = delete;
  GemmCode& operator=(const GemmCode&) = delete;
  // Code and packed operands stay where they are.
  GemmCode(GemmCode&&) = default;
  GemmCode& operator=(GemmCode&&) = default;

  /// `gemm` is to run `shape`: emitted once seal() has been called, compiled until then. `gemm` must not move before
  /// seal().
  void add(const GemmShape<Real>& shape, Gemm<Real>& gemm);
  /// Makes the code of all shapes executable. Called once.
  void seal();
  /// Bytes of machine code; 0 where none could be made.
  [[nodiscard]] std::size_t code_bytes() const { return memory_.size(); }

 private:
  struct Entry {
    GemmShape<Real> shape;
    std::size_t offset;
    Panel* panels;
    std::size_t panel_count;
  };
  struct Use {
    Gemm<Real>* gemm;
    std::size_t entry;
  };
  const Entry* entry_of(const GemmShape<Real>& shape);

  GemmSource source_;
  os::SimdLevel level_;
  const Kernels<Real>* kernels_;
  Arena arena_;
  std::vector<Entry> entries_;
  std::vector<Use> uses_;
  std::vector<std::byte> code_;
  std::size_t packed_count_ = 0;
  os::Mapping memory_;
};

extern template class Gemm<float>;
extern template class Gemm<double>;
extern template class GemmCode<float>;
extern template class GemmCode<double>;

}  // namespace trident::tensor
