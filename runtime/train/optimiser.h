// Steps of SGD with momentum and of AdamW (Loshchilov and Hutter 2019) over the flat parameter vector.
//
// Gradients are first clipped by their global norm, if asked. Weights decay, biases do not. Slices of kind statistic
// are outside all that: their "gradient" is (running - observed), and they follow running -= statistic_rate * gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tensor/kernels.h"
#include "runtime/tensor/parameter_store.h"

namespace trident::train {

enum class Algorithm : std::uint8_t { sgd, adamw };

struct OptimiserOptions {
  Algorithm algorithm = Algorithm::adamw;
  double momentum = 0.9;  ///< of sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0;      ///< adamw: decoupled; sgd: added to the gradient
  double clip_norm = 0;  ///< 0: never
  double statistic_rate = 0.1;
};

template <class Real>
class Optimiser {
 public:
  /// All slices must have been declared.
  Optimiser(tensor::ParameterStore<Real>& store, const OptimiserOptions& options);

  /// One step at learning rate `rate`. `gradient` is parallel to the store's flat vector and is taken times
  /// `gradient_scale` (one over the number of shards whose gradients were added). Returns the norm before clipping.
  double step(std::span<const Real> gradient, double rate, double gradient_scale = 1);

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Velocity of sgd, or m of adamw; and v (empty with sgd). For checkpoints.
  [[nodiscard]] std::span<Real> first_moment() { return first_; }
  [[nodiscard]] std::span<Real> second_moment() { return second_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }
  [[nodiscard]] const OptimiserOptions& options() const { return options_; }

 private:
  struct Range {
    std::size_t from, count;
    bool decays, statistic;
  };

  tensor::ParameterStore<Real>& store_;
  OptimiserOptions options_;
  std::vector<Range> ranges_;
  std::vector<Real> first_, second_;
  std::uint64_t steps_ = 0;
};

extern template class Optimiser<float>;
extern template class Optimiser<double>;

}  // namespace trident::train
