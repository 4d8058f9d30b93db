// The prose of `trident --help` and `trident VERB --help`: what CLI11's list of options cannot say, and examples.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace trident::cli {

/// The text below the options of a verb; "" for a verb without one.
const char* manual_of(std::string_view verb);

/// Gives `app` and its verbs their prose, a layout of 110 columns and messages that name the program.
void add_manual(CLI::App& app);

}  // namespace trident::cli
