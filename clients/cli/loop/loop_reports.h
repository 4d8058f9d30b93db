// Prints what `trident loop` has seen: one loop in full, a table of many, or JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "clients/cli/loop/looked_at.h"
#include "runtime/json/json.h"

namespace trident::cli {

/// Counts loops by outcome: "compile", or the name of a reason.
class Outcomes {
 public:
  void add(const LookedAt& looked);
  /// One line for each outcome, the most frequent first.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Json json() const;

 private:
  std::map<std::string, std::size_t> counts_;
  std::size_t total_ = 0;
};

/// One line of the table, and the line above all.
std::string row_text(const LookedAt& looked);
std::string header_text(bool with_rate);
/// All of one loop. `with_region`: its region code too.
std::string full_text(const LookedAt& looked, bool with_region);
Json loop_json(const LookedAt& looked, bool with_region);

}  // namespace trident::cli
