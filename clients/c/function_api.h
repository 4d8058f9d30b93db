// Submits functions: for trident_submit(), and for libraries of functions.
#pragma once

#include <string_view>

#include "clients/c/trident.h"
#include "jit/function/submission.h"

namespace trident::client {

class Context;

/// The library that comes with this one. Not from a fork handler.
const function::Library& shipped_library();

/// Parses and checks a text, whose calls are functions of the shipped library, and submits it. Errors: those of
/// parsing, checking and lowering.
Result<trident_kernel*> submit_function(Context& context, std::string_view text);
Result<trident_kernel*> submit_program(Context& context, function::Program program);

}  // namespace trident::client
