// Files of measured costs (jit/cost): where `trident calibrate` leaves one for the user's other commands.
#pragma once

#include <string>
#include <string_view>

#include "jit/cost/cost.h"
#include "runtime/base/result.h"

namespace trident::calibrate {

/// $XDG_CACHE_HOME/trident/<isa>.costs, else ~/.cache/trident/<isa>.costs. NotFound without a home.
Result<std::string> user_costs_path(std::string_view isa);

/// A table from a file. Errors: those of read_file() and of cost::parse().
Result<cost::Table> read_costs(const std::string& path);

/// The user's table for this processor, else the shipped one; why it is that one is said on standard error.
/// Errors: those of read_costs() for a file that is there.
Result<cost::Table> host_costs(std::string_view isa);

/// Written beside `path` and renamed: readers see the old file or the new one. Makes its directories. OsError.
Result<void> write_costs(const std::string& path, const cost::Table& table);

}  // namespace trident::calibrate
