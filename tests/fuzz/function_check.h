// Holds a function to the interpreter of its region: the checks of fuzz targets and campaigns.
#pragma once

#include "jit/function/lower.h"
#include "jit/function/submission.h"

namespace trident::fuzz {

/// The library that texts may call; for function::resolve().
const function::Library& shipped_functions(const void* user);

/// Ends the process unless the function survives being printed and parsed again.
void check_printing(const function::Function& function);

/// Ends the process unless machine code of the program, without trials, does on drawn calls what the interpreter of
/// `lowered` does: result, failure with its line, arrays.
void check_code(const function::Program& program, const function::Lowered& lowered);

}  // namespace trident::fuzz
