// Evolves weights: 16 individuals, of which the best 4 survive; the others are made anew from two survivors each,
// weight by weight from either (uniform crossover), and one weight in a hundred is moved.
//
// Evolution alone has never beaten a compiler at this; it begins from weights trained on answers
// (training_twin.h) and fits them to the fitness. The result depends on options, founders and fitness alone:
// the random numbers of a child are a function of seed, generation and child, so that the state is the population, and
// a stopped run goes on as if it had not been stopped.
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
  unsigned threads = 1;          ///< does not influence the result
};

/// Rates weights, the larger the better. Called from several threads; must depend on the weights alone.
using Fitness = std::function<std::int64_t(std::span<const std::int32_t> weights)>;

class Evolution {
 public:
  struct Individual {
    Weights weights;
    std::int64_t fitness = 0;
    bool judged = false;
  };

  /// Begins with the founders, at most kPopulation. If there are fewer, the others are mutants of them in turn, or of
  /// initial weights if there are none.
  Evolution(const EvolutionOptions& options, std::span<const Weights> founders);

  /// Judges individuals that have not been judged, and sorts: the best first, equal ones in their old order.
  void judge(const Fitness& fitness);
  /// Replaces all but the survivors of a judged population.
  void breed();
  /// Runs one generation: breed (but for the first), then judge. The best is population()[0].
  void generation(const Fitness& fitness);
  /// Puts these in place of the last of the population, at most kPopulation - kSurvivors.
  void replace_last(std::span<const Weights> weights);
  /// Marks all individuals as not judged, for another fitness.
  void forget_fitness();

  [[nodiscard]] const std::vector<Individual>& population() const { return population_; }
  [[nodiscard]] std::uint64_t generations() const { return generations_; }

  /// Saves to a file, which is the old or the new one whatever happens. Errors: OsError.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  /// Loads a saved state, under its own seed. Errors: NotFound, RejectedRecord, OsError. `threads`: as in the options.
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
