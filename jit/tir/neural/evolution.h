// Evolution of weights: 16 individuals, of which the best 4 survive; the others are made anew from two survivors each,
// weight by weight from either (uniform crossover), and one weight in a hundred is moved.
//
// Evolution alone has never beaten a compiler at this; it begins from weights that were trained on answers
// (training_twin.h) and fits them to what counts. All of it depends on the options, the founders and the fitness alone:
// the random numbers of a child are a function of seed, generation and child, so that the state is the population, and
// a run that was stopped goes on as if it had not been.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/tir/neural/weights.h"
#include "runtime/base/result.h"

namespace trident::tir::neural {

inline constexpr std::size_t kPopulation = 16, kSurvivors = 4;

struct EvolutionOptions {
  std::uint64_t seed = 1;
  double mutation_rate = 0.01;
  double mutation_spread = 0.1;  ///< a weight is moved by a uniform number within +- this
  unsigned threads = 1;          ///< has no influence on what comes out
};

/// The larger the better. Called from several threads; must depend on the weights alone.
using Fitness = std::function<std::int64_t(std::span<const std::int32_t> weights)>;

class Evolution {
 public:
  struct Individual {
    Weights weights;
    std::int64_t fitness = 0;
    bool judged = false;
  };

  /// The founders come first, at most kPopulation; where they are fewer, the others are mutants of them in turn, and
  /// of initial weights where there are none.
  Evolution(const EvolutionOptions& options, std::span<const Weights> founders);

  /// Judges whoever has not been judged, and sorts: the best first, of equals who was there before.
  void judge(const Fitness& fitness);
  /// Replaces all but the survivors of a population that was judged.
  void breed();
  /// One generation: breed (but for the first), then judge. The best is population()[0].
  void generation(const Fitness& fitness);
  /// Puts these in place of the last of the population, at most kPopulation - kSurvivors.
  void replace_last(std::span<const Weights> weights);
  /// Another measure is asked from now on: nobody is judged.
  void forget_fitness();

  [[nodiscard]] const std::vector<Individual>& population() const { return population_; }
  [[nodiscard]] std::uint64_t generations() const { return generations_; }

  /// To a file that is the old one or the new one, whatever happens. OsError.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  /// The state that was saved, under its own seed. NotFound, RejectedRecord, OsError. `threads`: as in the options.
  static Result<Evolution> load(const std::string& path, unsigned threads);

 private:
  Evolution() = default;
  [[nodiscard]] Weights mutant(std::span<const std::int32_t> weights, std::uint64_t stream) const;
  [[nodiscard]] Weights child(std::size_t index) const;

  EvolutionOptions options_;
  std::uint64_t generations_ = 0;
  std::vector<Individual> population_;
};

}  // namespace trident::tir::neural
