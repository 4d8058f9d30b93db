#include "runtime/tensor/gemm_code.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/check.h"

namespace trident::tensor {
namespace {

constexpr std::size_t kCodeAlign = 64;

Activation activation_of(Epilogue epilogue) {
  if (cuts_above(epilogue)) return Activation::clipped_relu;
  return cuts_below(epilogue) ? Activation::relu : Activation::none;
}

std::size_t vector_bytes(os::SimdLevel level) {
  return level == os::SimdLevel::avx512 ? 64 : 32;
}

}  // namespace

template <class Real>
void Gemm<Real>::run_compiled(const Real* a, const Real* b, Real* c, const Real* bias) const {
  const GemmShape<Real>& s = shape_;
  kernels_->gemm(s.trans_a, s.trans_b, s.m, s.n, s.k, s.alpha, a, s.lda, b, s.ldb, s.beta, c, s.ldc);
  if (s.epilogue == Epilogue::none) return;
  if (s.ldc == s.n) {
    kernels_->bias_activate(s.m, s.n, adds_bias(s.epilogue) ? bias : nullptr, activation_of(s.epilogue), nullptr, c);
    return;
  }
  for (std::size_t i = 0; i < s.m; ++i) {
    kernels_->bias_activate(1, s.n, adds_bias(s.epilogue) ? bias : nullptr, activation_of(s.epilogue), nullptr,
                            c + i * s.ldc);
  }
}

template <class Real>
void Gemm<Real>::pack(const Real* b) const {
  const GemmShape<Real>& s = shape_;
  for (const Panel* p = panels_; p != panels_ + panel_count_; ++p) {
    const std::size_t width = p->vectors * lanes_;
    kernels_->pack_transposed(b + p->column * s.ldb, s.ldb, s.k, std::min(width, s.n - p->column), width,
                              packed_ + s.k * p->column);
  }
}

template <class Real>
GemmCode<Real>::GemmCode(GemmSource source, os::SimdLevel level)
    : source_(source), level_(level), kernels_(kernels_of<Real>(level)) {
  CHECK(kernels_ != nullptr);
}

template <class Real>
auto GemmCode<Real>::entry_of(const GemmShape<Real>& shape) -> const Entry* {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.shape == shape; });
  if (found != entries_.end()) return &*found;
  if (entries_.size() == kShapesMax) return nullptr;
  const auto bytes = emit_gemm(shape, level_);
  if (bytes.empty() || code_.size() + bytes.size() + kCodeAlign > kCodeBytesMax) return nullptr;
  code_.resize((code_.size() + kCodeAlign - 1) / kCodeAlign * kCodeAlign, std::byte{0xCC});
  Entry entry{shape, code_.size(), nullptr, 0};
  code_.insert(code_.end(), bytes.begin(), bytes.end());
  if (shape.trans_b) {
    const auto panels = panels_of(shape, level_);
    entry.panels = arena_.take<Panel>(panels.size());
    entry.panel_count = panels.size();
    std::copy(panels.begin(), panels.end(), entry.panels);
    const std::size_t columns = panels.back().column + panels.back().vectors * vector_bytes(level_) / sizeof(Real);
    packed_count_ = std::max(packed_count_, columns * shape.k);
  }
  return &entries_.emplace_back(entry);
}

template <class Real>
void GemmCode<Real>::add(const GemmShape<Real>& shape, Gemm<Real>& gemm) {
  gemm = Gemm<Real>();
  gemm.shape_ = shape;
  gemm.kernels_ = kernels_;
  if (source_ == GemmSource::compiled) return;
  const Entry* entry = entry_of(shape);
  if (entry) uses_.push_back({&gemm, static_cast<std::size_t>(entry - entries_.data())});
}

template <class Real>
void GemmCode<Real>::seal() {
  CHECK(memory_.base() == nullptr);
  if (code_.empty()) return;
  auto memory = os::map_code(code_);
  if (!memory.ok()) return;  // this process may make no code: all stays compiled
  memory_ = std::move(memory).value();
  Real* packed = packed_count_ > 0 ? arena_.take<Real>(packed_count_) : nullptr;
  for (const Use& use : uses_) {
    const Entry& entry = entries_[use.entry];
    Gemm<Real>& gemm = *use.gemm;
    gemm.code_ = reinterpret_cast<typename Gemm<Real>::Code>(static_cast<std::byte*>(memory_.base()) + entry.offset);
    if (entry.panel_count == 0) continue;
    gemm.packed_ = packed;
    gemm.panels_ = entry.panels;
    gemm.panel_count_ = entry.panel_count;
    gemm.lanes_ = vector_bytes(level_) / sizeof(Real);
  }
  code_ = {};
  uses_ = {};
}

template class Gemm<float>;
template class Gemm<double>;
template class GemmCode<float>;
template class GemmCode<double>;

}  // namespace trident::tensor
