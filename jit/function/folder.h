// Folders of functions: a user's own library.
#pragma once

#include <string>
#include <vector>

#include "jit/function/library.h"

namespace trident::function {

/// Lists the files NAME.fn below `folder`, at any depth, by rising name. Errors: OsError; InvalidArgument for a folder
/// without any; LimitExceeded for more than 10,000.
Result<std::vector<std::string>> files_below(const std::string& folder);

/// Reads a text of at most a mebibyte.
Result<std::string> read_file(const std::string& file);

/// Reads and checks the functions of these files; they may call each other and those of `base`.
Result<Library> read_library(const std::vector<std::string>& files, const Library* base);

/// Interprets the @test lines of all functions. InvalidArgument for the first that does not hold, with file and line;
/// errors of lowering.
Result<void> test_library(const Library& library);

/// Returns a line of a text, numbered from 1, without its line feed.
std::string text_of_line(std::string_view text, std::size_t line);

/// The line of a function's file that its test stands on.
std::size_t line_of_test(const Function& function, std::size_t test);

}  // namespace trident::function
