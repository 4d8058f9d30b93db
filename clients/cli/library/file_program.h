// The function of a file NAME.fn with the functions that it calls, for the verbs that take such files.
#pragma once

#include <string>

#include "clients/cli/verb/options.h"
#include "jit/function/submission.h"

namespace trident::cli {

/// Adds --library FOLDER.
void add_library_option(Verb verb, std::string& folder);

/// Refuses --library for an operand that is no function.
Result<void> check_library_fits(Verb verb);

/// Reads the function of `file` with all that it calls: functions of the files below `folder`, and shipped ones. Where
/// `folder` is empty, a function that is not shipped is the file NAME.fn in the folder of the file that calls it, or in
/// the nearest folder above that has it; every folder on the way has .fn files. The function may have the name of a
/// shipped one, which it then stands for. Errors: those of reading, parsing and checking.
Result<function::Program> program_of_file(const std::string& file, const std::string& folder);

}  // namespace trident::cli
