// The sentence for a command line that CLI11 refuses: what is wrong, the nearest name, and where the help is.
#pragma once

#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace trident::manual {

/// Returns two lines that begin with `program`. The verb that was asked for is read from `app`.
std::string usage_error(const std::string& program, const CLI::App& app, const CLI::Error& error);

}  // namespace trident::manual
