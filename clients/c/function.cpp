#include "clients/c/function.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "clients/c/context.h"
#include "clients/c/engine_library.h"
#include "jit/function/describe.h"
#include "jit/function/to_expr.h"
#include "schemas/function_image.h"

namespace trident::client {
namespace {

constexpr const char* kEngineWithoutFunctions =
    "the engine in this process is older than this library and knows no functions: install libtrident-engine.so of the "
    "same version";

/// Elements of a call, as where an expression's submission does not say.
constexpr std::uint32_t kElementsExpected = 4096;

bool takes_values(const function::Function& function) {
  return std::none_of(function.parameters.begin(), function.parameters.end(),
                      [](const function::Parameter& p) { return p.is_array(); });
}

std::vector<expr::Variable> columns_of(const function::Function& function) {
  std::vector<expr::Variable> columns;
  if (!takes_values(function)) return columns;
  for (const function::Parameter& p : function.parameters) {
    const ir::Type type = type_of(p.type) == TRIDENT_F64 ? ir::Type::f64 : ir::Type::i64;
    columns.push_back({p.name, type, expr::VariableKind::array});
  }
  return columns;
}

/// Reads the tier of the engine's image: older engines make the baseline's alone. The image is checked by whoever maps
/// it.
std::optional<std::uint8_t> tier_of(const trident_engine_result& result) {
  trident_image_header header;
  if (result.outcome != TRIDENT_ENGINE_IMAGE || ::pread(result.fd, &header, sizeof header, 0) != sizeof header)
    return {};
  return static_cast<std::uint8_t>(header.tier);
}

/// The slot's fallback: never called, for adopt() takes its place for the interpreter.
void no_code(void*, const region::Window*) {}

// trident_call(). With arrays among the parameters it has nothing to say what they are.
void function_entry(const void* self, std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t*) {
  const FunctionHandle& handle = *FunctionHandle::of(static_cast<const trident_kernel*>(self));
  if (handle.elements() != nullptr && out[0] != nullptr) {
    trident_call(handle.elements(), n, in, out, nullptr);
    if (out[1] != nullptr) std::memset(out[1], 0, n * sizeof(std::int64_t));  // such functions do not fail
    return;
  }
  try {
    if (handle.is_kernel()) call_elements(handle.function(), handle.runner(), n, in, out);
  } catch (...) {  // bad_alloc; nothing may cross into the caller's C frames
  }
}

}  // namespace

Result<std::unique_ptr<FunctionHandle>> FunctionHandle::make(Context& owner, function::Program program) {
  TRY(function::Lowered lowered, function::lower(program.function(), program.library));
  return std::unique_ptr<FunctionHandle>(new FunctionHandle(owner, std::move(program), std::move(lowered)));
}

FunctionHandle::FunctionHandle(Context& owner, function::Program program, function::Lowered lowered)
    : Handle(owner, true),
      program_(std::move(program)),
      function_(program_.function()),
      lowered_(std::move(lowered)),
      columns_(columns_of(function_)),
      submission_(*this, code_, &no_code) {
  entry = &function_entry;
}

bool FunctionHandle::is_kernel() const {
  return takes_values(function_);
}

const std::vector<expr::Variable>& FunctionHandle::columns(bool scalar) const {
  return scalar ? no_scalars_ : columns_;
}

std::unique_ptr<Kernel> FunctionHandle::make_elements() const {
  if (columns_.empty()) return nullptr;
  auto expression = function::to_expr(function_, lowered_);
  if (!expression) return nullptr;
  return std::make_unique<Kernel>(context, std::move(*expression), expr::Policy{expr::PolicyKind::exact, 0},
                                  kElementsExpected);
}

Runner FunctionHandle::runner() const {
  const Native* const native = native_.load(std::memory_order_acquire);
  if (native == nullptr) return {.layout = lowered_, .region = &lowered_.region};
  return {.layout = native->layout, .entry = native->entry, .tier = native->tier};
}

void FunctionHandle::complete(ImageClaim& claim) const {
  claim.version = TRIDENT_FUNCTION_IMAGE_VERSION;
  claim.parameters = static_cast<std::uint32_t>(function_.parameters.size());
  claim.windows = static_cast<std::uint32_t>(std::count_if(function_.parameters.begin(), function_.parameters.end(),
                                                           [](const auto& p) { return p.is_array(); }));
}

std::uint64_t FunctionHandle::feature() const {
  return wire::kFeatureFunctions;
}

void FunctionHandle::append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const {
  wire::append_submit_function(out, {job, program_.text, program_.calls, inline_images});
}

void FunctionHandle::compile(const Engine& engine, std::uint32_t, const std::atomic<bool>&,
                             EngineAnswer& answer) {
  answer.is_last = true;
  answer.result.outcome = TRIDENT_ENGINE_ERROR;
  if (engine.compile_function == nullptr) {
    std::strncpy(answer.result.message, kEngineWithoutFunctions, sizeof(answer.result.message) - 1);
    return;
  }
  trident_engine_function wanted{};
  wanted.struct_size = sizeof(wanted);
  wanted.isa = greatest_isa();
  wanted.text = program_.text.data();
  wanted.text_size = program_.text.size();
  wanted.calls = program_.calls.data();
  wanted.calls_size = program_.calls.size();
  wanted.bulk = 1;
  engine.prepare_for(TRIDENT_ENGINE_FUNCTIONS);
  engine.compile_function(&wanted, &answer.result);
  answer.tier = tier_of(answer.result);
}

void FunctionHandle::adopt() noexcept try {
  const ImageMap* const image = submission_.slot.image();
  if (image == nullptr) return native_.store(nullptr, std::memory_order_release);
  for (const auto& known : natives_)
    if (known->image == image) return native_.store(known.get(), std::memory_order_release);
  auto layout = function::layout_of(image->description());
  if (!layout.ok()) return native_.store(nullptr, std::memory_order_release);
  natives_.push_back(std::make_unique<const Native>(
      Native{image, std::move(*layout), reinterpret_cast<RegionEntry*>(image->entry_address()), image->header().tier}));
  native_.store(natives_.back().get(), std::memory_order_release);
} catch (const std::bad_alloc&) {
  native_.store(nullptr, std::memory_order_release);
}

void FunctionHandle::tell(std::unique_lock<std::mutex>& lock) {
  adopt();
  Handle::tell(lock);
}

}  // namespace trident::client
