// Holds a function to the interpreter of its region: the checks of fuzz targets and campaigns.
#pragma once

#include <optional>

#include "jit/codegen/codegen.h"
#include "jit/function/lower.h"
#include "jit/function/submission.h"

namespace trident::fuzz {

/// The library that texts may call; for function::resolve().
const function::Library& shipped_functions(const void* user);

/// Ends the process unless the function survives being printed and parsed again.
void check_printing(const function::Function& function);

/// Ends the process unless machine code of the program, without trials, does on drawn calls what the interpreter of
/// `lowered` does: result, failure with its line, arrays. `bulk` as in pipeline::RegionOptions.
void check_code(const function::Program& program, const function::Lowered& lowered,
                std::optional<codegen::Isa> bulk = {});
/// Where the function is an expression, ends the process unless the expression's kernel gives for drawn elements what
/// the interpreter of `lowered` gives. Returns whether it is one.
bool check_expression(const function::Program& program, const function::Lowered& lowered);
/// Does as check_code() with each instruction set that this processor has.
void check_bulk_code(const function::Program& program, const function::Lowered& lowered);

}  // namespace trident::fuzz
