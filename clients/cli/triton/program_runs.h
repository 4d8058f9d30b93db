// The runs that a program of Triton VM is built for, as `trident build` takes them: --run TEXT and --runs FILE.
//
//   run     field*                       fields between commas or blanks; no field: a run without inputs
//   field   name "=" words               words as --input, --secret, --digests and --ram take them: a list or FILE
//   name    in | secret | digests | ram  ram=address=words; further addresses follow as address=words
#pragma once

#include <string>
#include <vector>

#include "clients/cli/triton/run_program.h"

namespace trident::cli {

/// InvalidArgument that names the text and the field.
Result<ProgramInputs> parse_run(const std::string& text);
/// Reads one run per line; skips lines that are empty or begin with #. Errors name file and line.
Result<std::vector<ProgramInputs>> read_runs(const std::string& path);

}  // namespace trident::cli
