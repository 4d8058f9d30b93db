// Rows of the judge's reports in JSON: figures of one training are numbers, those of folds means with deviations.
#pragma once

#include "runtime/json/json.h"

namespace trident::cli {

/// Returns how well one way of guessing does; `json` writes one figure.
template <class Guess, class Figure>
Json guess_json(const Guess& g, Figure json) {
  return {{"name", g.name},
          {"spearman", json(g.spearman)},
          {"pairs", json(g.pairs)},
          {"median_error", json(g.median_error)},
          {"regret", json(g.regret)}};
}

/// Returns the gain of the forms that the network ranks fastest, for one margin.
template <class Extraction, class Figure>
Json extraction_json(const Extraction& e, Figure json) {
  return {{"margin", e.margin},
          {"gain", json(e.gain)},
          {"possible", json(e.possible)},
          {"faster", json(e.faster)},
          {"slower", json(e.slower)}};
}

}  // namespace trident::cli
