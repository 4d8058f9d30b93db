// The spine of functions: a checked function goes in, an image of version 4 comes out, tried before anybody gets it.
//
//   TRY(const CompiledFunction made, compile_function(*f, library, {}));
//   seal made.image, map it (image::Mapped), then
//   function::call(*f, layout, mapped.region_entry(), arguments, budget);
//
// `layout` is made.lowered, or where only the image is at hand function::layout_of() of its description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "jit/codegen/codegen.h"
#include "jit/function/lower.h"
#include "jit/image/image.h"
#include "jit/pipeline/region_options.h"
#include "jit/trials/stage.h"
#include "jit/trials/trials.h"
#include "runtime/base/result.h"

namespace trident::pipeline {

using FunctionOptions = RegionOptions;

struct CompiledFunction {
  function::Lowered lowered;
  codegen::MachineCode code;
  image::ImageBytes image;
  trials::Coverage trials;
};

/// Lowers `function`, makes its image and tries that in a sandboxed child. Errors: LimitExceeded where the function is
/// too large for a region or for a kernel's stack, Unsupported where the code of regions cannot run, NotEquivalent when
/// a trial ended otherwise than the interpreter's run (with the first difference), OsError.
Result<CompiledFunction> compile_function(const function::Function& function, const function::Library& library,
                                          const FunctionOptions& options);
/// Does the same from the region on.
Result<CompiledFunction> compile_function(const function::Function& function, function::Lowered lowered,
                                          const FunctionOptions& options);

/// The widest vectors of this processor, for FunctionOptions::bulk.
codegen::Isa bulk_isa();
/// Compiles `function` with `bulk`, which is bulk_isa() where the options name none, if that makes another code than
/// the baseline tier's. Where that code is not the same as the interpreter in its trials, or cannot be made, the result
/// is the baseline tier's.
Result<CompiledFunction> compile_fastest(const function::Function& function, const function::Library& library,
                                         FunctionOptions options);

/// Makes a stage on which the trials of most functions find a child that waits already. Errors: OsError, ExecDenied.
Result<std::unique_ptr<trials::Stage>> function_stage();

/// Returns what trials need to try `code`, which is to do what `made` does from `entry` bytes on. Refers to both.
trials::Subject subject_of(const function::Function& function, const CompiledFunction& made,
                           std::span<const std::byte> code, std::size_t entry);

/// Makes the key of a function's image from domain tag, build id of the code generator, the region, the layout of
/// calls.
image::Key function_key(const function::Lowered& lowered);
/// Makes the key of a function that has not been parsed, from domain tag, build id, its texts, and the widest vectors
/// that its code may have.
image::Key function_key(std::string_view text, std::string_view calls, codegen::Isa widest);

}  // namespace trident::pipeline
