#include "runtime/train/optimiser.h"

#include <cmath>

#include "runtime/base/check.h"

namespace trident::train {

using tensor::Slice;
using tensor::SliceKind;

template <class Real>
Optimiser<Real>::Optimiser(tensor::ParameterStore<Real>& store, const OptimiserOptions& options)
    : store_(store), options_(options), first_(store.flat().size()) {
  if (options.algorithm == Algorithm::adamw) second_.resize(store.flat().size());
  const auto& slices = store.slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::size_t end = i + 1 < slices.size() ? slices[i + 1].offset : store.flat().size();
    const bool statistic = slices[i].kind == SliceKind::statistic;
    const bool decays = slices[i].kind == SliceKind::weight && options.decay != 0;
    // Padding behind a slice belongs to its range: it is zero, has gradient zero, and stays zero.
    if (!ranges_.empty() && ranges_.back().statistic == statistic && ranges_.back().decays == decays) {
      ranges_.back().count += end - slices[i].offset;
    } else {
      ranges_.push_back({slices[i].offset, end - slices[i].offset, decays, statistic});
    }
  }
}

template <class Real>
double Optimiser<Real>::step(std::span<const Real> gradient, double rate, double gradient_scale) {
  CHECK(gradient.size() == first_.size() && store_.flat().size() == first_.size());
  const auto& kernels = tensor::kernels<Real>();
  ++steps_;
  double norm = 0;
  if (options_.clip_norm > 0) {
    double sum = 0;
    for (const Range& range : ranges_) {
      if (!range.statistic) sum += kernels.sum_of_squares(range.count, gradient.data() + range.from);
    }
    norm = std::sqrt(sum) * gradient_scale;
  }
  const double clip = norm > options_.clip_norm && options_.clip_norm > 0 ? options_.clip_norm / norm : 1;
  const double steps = static_cast<double>(steps_);
  for (const Range& range : ranges_) {
    Real* weight = store_.flat().data() + range.from;
    const Real* slope = gradient.data() + range.from;
    if (range.statistic) {
      kernels.axpy(range.count, static_cast<Real>(-options_.statistic_rate * gradient_scale), slope, weight);
    } else if (options_.algorithm == Algorithm::adamw) {
      const tensor::AdamStep<Real> step{static_cast<Real>(rate),
                                        static_cast<Real>(options_.beta1),
                                        static_cast<Real>(options_.beta2),
                                        static_cast<Real>(options_.epsilon),
                                        static_cast<Real>(range.decays ? options_.decay : 0),
                                        static_cast<Real>(1 / (1 - std::pow(options_.beta1, steps))),
                                        static_cast<Real>(1 / (1 - std::pow(options_.beta2, steps))),
                                        static_cast<Real>(gradient_scale * clip)};
      kernels.adam(range.count, step, slope, weight, first_.data() + range.from, second_.data() + range.from);
    } else {
      const tensor::SgdStep<Real> step{static_cast<Real>(rate), static_cast<Real>(options_.momentum),
                                       static_cast<Real>(range.decays ? options_.decay : 0),
                                       static_cast<Real>(gradient_scale * clip)};
      kernels.sgd(range.count, step, slope, weight, first_.data() + range.from);
    }
  }
  return norm;
}

template class Optimiser<float>;
template class Optimiser<double>;

}  // namespace trident::train
