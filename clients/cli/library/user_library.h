// The functions that a command line means: shipped ones by name, or a user's files and folders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/function/library.h"

namespace trident::cli {

/// Owns the texts and the library of the files that were named; functions of the program's own library need neither.
struct ChosenFunctions {
  std::unique_ptr<function::Library> users;       ///< null when no file is named
  std::vector<const function::Function*> chosen;  ///< in the order of the words; those of a folder by area and name
  [[nodiscard]] const function::Library& library() const { return users ? *users : function::Library::shipped(); }
};

/// Finds what `words` mean: a file NAME.fn, a folder with such files at any depth, the name of a shipped function.
/// Without words: the whole shipped library. Errors: InvalidArgument with the nearest name, those of reading, parsing
/// and checking, and a folder without functions.
Result<ChosenFunctions> chosen_functions(const std::vector<std::string>& words);

/// Lists the .fn files that `words` name, those of folders by rising name.
Result<std::vector<std::string>> function_files(const std::vector<std::string>& words);

}  // namespace trident::cli
