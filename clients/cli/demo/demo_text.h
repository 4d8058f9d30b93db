// The demo's figures as text: the cells that the live table and the report share, and the table's rows, made to fit.
#pragma once

#include <cstdint>
#include <string>

#include "clients/cli/demo/demo.h"

namespace trident::cli {

std::string figure(double value, const char* format = "%.3f");
/// "7.3 ms": three digits and a unit.
std::string duration_text(double seconds);
/// Nanoseconds per element at a tier, "-" when it was not seen; `n`: elements of a call.
std::string element_time(const DemoKernel& kernel, std::size_t tier, std::uint64_t n);
/// "optimised, done", "baseline, judge 3/12", or what failed.
std::string state_text(const DemoKernel& kernel);

/// Result of a pass, in a line: speed, answers, changes after the daemon's death, and work not done in time.
std::string demo_summary(const DemoPass& pass, std::uint32_t timeout_ms);

/// The live table's heading, and a kernel's row under it. A table that is wider than `columns` (0: as wide as it likes)
/// loses whole columns, the least telling first, and then words at the end of a line; never a part of a number.
std::string demo_heading(std::size_t columns);
std::string demo_row(const DemoKernel& kernel, std::uint64_t n, std::size_t columns);

/// `line`, without the words at its end that reach beyond `columns` (0: all may stay).
std::string fitted(std::string line, std::size_t columns);

}  // namespace trident::cli
