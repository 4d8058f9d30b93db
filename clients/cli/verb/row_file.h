// Files of rows: a JSON object a line, as `trident oracle` reads them.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

/// Gets a row and its place, "FILE:LINE".
using TakeRow = std::function<void(const std::string& place, const std::string& row)>;

/// Gives each line of the file that is not blank; - is standard input. A file whose name ends in .json is one row, and
/// its place is its name. InvalidArgument for a file that is missing, empty or none to read.
Result<void> for_each_row(const std::string& file, const TakeRow& take);

}  // namespace trident::cli
