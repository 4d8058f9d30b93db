#include "jit/pipeline/function.h"

#include <limits>

#include "jit/codegen/region.h"
#include "jit/function/describe.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/region/forward.h"
#include "jit/regionopt/bulk.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"
#include "schemas/function_image.h"

namespace trident::pipeline {
namespace {

constexpr std::string_view kFunctionDomain = "trident function key 1";
constexpr std::string_view kTextsDomain = "trident function texts 2";
/// Frames of trials are at least as large, so that one stage serves many functions.
constexpr std::uint32_t kFrameBytes = 1024;
/// Local arrays of a function whose trials find room on the stage that was made ahead.
constexpr std::size_t kStageLocalBytes = 16 * 1024;

/// The values that a call may pass: `type`'s, within the declared range.
std::pair<std::int64_t, std::int64_t> range_of(const function::Parameter& p) {
  if (p.lo) return {*p.lo, *p.hi};
  if (p.type == function::Type::u8) return {0, 255};
  if (p.type == function::Type::boolean) return {0, 1};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p.type == function::Type::f64) return {function::bits_of(-kInfinity), function::bits_of(kInfinity)};
  return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
}

trials::CallShape shape_of(const function::Function& function, const function::Layout& layout) {
  trials::CallShape shape{.numbers = {}, .arrays = {}, .local_bytes = layout.local_bytes};
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const function::Parameter& p = function.parameters[i];
    const auto [lo, hi] = range_of(p);
    const bool is_float = p.type == function::Type::f64;
    if (p.is_array())
      shape.arrays.push_back({layout.slots[i], function::element_bytes(p.type), lo, hi, is_float});
    else
      shape.numbers.push_back({layout.slots[i], lo, hi, is_float});
  }
  return shape;
}

Result<codegen::MachineCode> code_of(const region::Region& region, std::optional<codegen::Isa> bulk) {
  if (!bulk) return codegen::emit(region);
  return codegen::emit(regionopt::optimise(region::forward_copies(region)), *bulk);
}

/// Tries the image as clients get it.
Result<trials::Coverage> tried(const function::Function& function, const CompiledFunction& made,
                               const FunctionOptions& options) {
  TRY_VOID(image::validate(made.image.bytes));
  const trials::Subject subject = subject_of(function, made, made.image.bytes, made.image.header().entry_offset);
  TRY(const trials::Verdict verdict, trials::try_out(subject, {.seed = options.seed}, options.stage));
  if (verdict.same()) return verdict.coverage;
  return make_error(ErrorCode::kNotEquivalent, "the code is not the same as the function %s: %s", function.name.c_str(),
                    verdict.difference.c_str());
}

}  // namespace

Result<CompiledFunction> compile_function(const function::Function& function, const function::Library& library,
                                          const FunctionOptions& options) {
  TRY(function::Lowered lowered, function::lower(function, library));
  return compile_function(function, std::move(lowered), options);
}

Result<CompiledFunction> compile_function(const function::Function& function, function::Lowered lowered,
                                          const FunctionOptions& options) {
  if (!os::cpu_features().bmi2)
    return make_error(ErrorCode::kUnsupported, "the code of functions needs an x86-64 processor with AVX2 and BMI2");
  CompiledFunction made{std::move(lowered), {}, {}, {}};
  TRY(made.code, code_of(made.lowered.region, options.bulk));
  if (options.spoil) options.spoil(made.code);
  made.image = image::build_function(made.code, function::description_of(made.lowered),
                                     options.bulk.value_or(codegen::Isa::avx2),
                                     options.bulk ? TRIDENT_TIER_OPTIMISED : TRIDENT_TIER_BASELINE,
                                     options.key ? *options.key : function_key(made.lowered));
  TRY_VOID(check_size(made.image));
  if (options.runs_trials) {
    TRY(made.trials, tried(function, made, options));
  }
  return made;
}

codegen::Isa bulk_isa() {
  return os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
}

Result<CompiledFunction> compile_fastest(const function::Function& function, const function::Library& library,
                                         FunctionOptions options) {
  TRY(function::Lowered lowered, function::lower(function, library));
  if (!options.bulk) options.bulk = bulk_isa();
  if (codegen::gains_from(regionopt::optimise(region::forward_copies(lowered.region)), *options.bulk)) {
    auto made = compile_function(function, lowered, options);
    if (made.ok()) return made;
  }
  options.bulk.reset();
  return compile_function(function, std::move(lowered), options);
}

Result<std::unique_ptr<trials::Stage>> function_stage() {
  constexpr std::size_t kCodeBytes = 32 * 1024;
  const trials::Options options;
  return trials::Stage::make_ahead({.frame_bytes = kFrameBytes,
                                    .windows = TRIDENT_FUNCTION_WINDOWS_MAX,
                                    .runs = trials::runs_max(options),
                                    .code_bytes = kCodeBytes,
                                    .local_bytes = kStageLocalBytes,
                                    .cpu_ns = options.cpu_ns});
}

trials::Subject subject_of(const function::Function& function, const CompiledFunction& made,
                           std::span<const std::byte> code, std::size_t entry) {
  return {.region = made.lowered.region,
          .code = code,
          .entry = entry,
          .frame_bytes = std::max(kFrameBytes, made.lowered.frame_bytes),
          .bases = {},
          .call = shape_of(function, made.lowered)};
}

image::Key function_key(const function::Lowered& lowered) {
  KeyWriter key(kFunctionDomain);
  key.add(os::build_id());
  key.add(region::print(lowered.region));
  key.add(function::description_of(lowered));
  return key.finish();
}

image::Key function_key(std::string_view text, std::string_view calls, codegen::Isa widest) {
  const std::uint8_t isa = image::isa_number(widest);
  KeyWriter key(kTextsDomain);
  key.add(os::build_id());
  key.add(text);
  key.add(calls);
  key.add(std::as_bytes(std::span(&isa, 1)));
  return key.finish();
}

}  // namespace trident::pipeline
