// The table of `trident top`: two readings of the daemon's counters, and what happened between them.
#pragma once

#include <string>

#include "runtime/json/json.h"

namespace trident::cli {

/// The daemon's counters at one time.
struct Reading {
  Json stats;
  double at_s = 0;  ///< of any clock that goes forward
};

/// Lays out a heading and a part for each kind of work; parts that nobody uses are left out. Counters show their change
/// a second and their sum since the daemon began; levels show what is so now. Counters that the daemon lacks show 0.
std::string top_text(const Reading& before, const Reading& now);

/// Returns these figures as {"uptime_s", "seconds", "parts": {part: {counter: {"now"} or {"per_second", "total"}}}}.
Json top_json(const Reading& before, const Reading& now);

}  // namespace trident::cli
