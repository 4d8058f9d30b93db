// `trident run NAME.fn`: calls a function through the client library, as any program would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// Submits the function of a file with all that it calls, as program_of_file() finds them.
Result<trident_kernel*> submit_file(trident_ctx& ctx, const std::string& file, const std::string& library);

/// Calls the function with `inputs`, "name=value" each, and describes result and written arrays. A value is a number,
/// true or false; of an array a list 1,2,3, and of bytes any text. An array that is only written takes its length
/// alone. `budget` bounds the rounds of its loops; 0 stands for 2^32. Errors: InvalidArgument for inputs that do not
/// fit, and for a failure of the call, with its line.
Result<std::string> call_with_inputs(const trident_kernel* kernel, const std::vector<std::string>& inputs,
                                     std::uint64_t budget);

}  // namespace trident::cli
