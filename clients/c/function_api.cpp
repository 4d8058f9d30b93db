// trident_function.h: the edge of its calls, and of what it tells of functions.
#include <mutex>

#include "clients/c/abi_edge.h"
#include "clients/c/engine_library.h"
#include "clients/c/function.h"
#include "clients/c/function_api.h"

namespace trident::client {
namespace {

static_assert(static_cast<int>(function::Passing::value) == TRIDENT_BY_VALUE &&
              static_cast<int>(function::Passing::in) == TRIDENT_IN &&
              static_cast<int>(function::Passing::out) == TRIDENT_OUT &&
              static_cast<int>(function::Passing::inout) == TRIDENT_INOUT);

Result<const FunctionHandle*> function_of(const trident_kernel* kernel) {
  if (kernel == nullptr) return invalid("null pointer");
  if (!Handle::of(kernel)->is_function) return invalid("this is the handle of an expression, not of a function");
  return FunctionHandle::of(kernel);
}

constexpr const char* kCureOfAbsent =
    "'NAME' does not come with the program: put NAME.fn and this text into a folder, and open that as a library "
    "(C: trident_library_open, C++: trident::library, Python: trident.library)";

const function::Library& shipped_for_texts(const void*) {
  return shipped_library();
}

}  // namespace

/// Made once in a process, under the lock that fork() takes, too.
const function::Library& shipped_library() {
  const std::lock_guard lock(engine_lock());
  return function::Library::shipped();
}

Result<trident_kernel*> submit_program(Context& context, function::Program program) {
  TRY(std::unique_ptr<FunctionHandle> fresh, FunctionHandle::make(context, std::move(program)));
  if (std::unique_ptr<Kernel> elements = fresh->make_elements()) {
    context.add(elements->record());
    fresh->set_elements(elements.release());
  }
  context.add(fresh->record());
  return fresh.release();
}

Result<trident_kernel*> submit_function(Context& context, std::string_view text) {
  auto program = function::resolve(text, &shipped_for_texts, nullptr);
  if (!program.ok()) return function::with_cure(program.error(), shipped_library(), kCureOfAbsent);
  return submit_program(context, std::move(*program));
}

}  // namespace trident::client

namespace {

using trident::Result;
using trident::client::call_function;
using trident::client::function_of;
using trident::client::guarded;
using trident::client::invalid;
using trident::client::narrowed;

}  // namespace

extern "C" {

trident_status trident_function_call(const trident_kernel* kernel, const trident_argument* arguments, uint32_t count,
                                     uint64_t budget, trident_returned* returned) {
  return guarded([&]() -> Result<void> {
    TRY(const auto* const handle, function_of(kernel));
    if (arguments == nullptr && count != 0) return invalid("null pointer");
    trident_returned out{};
    TRY_VOID(call_function(handle->function(), handle->runner(), {arguments, count}, budget, out));
    return narrowed(out, returned);
  });
}

trident_status trident_function_info(const trident_kernel* kernel, trident_function_facts* facts) {
  return guarded([&]() -> Result<void> {
    TRY(const auto* const handle, function_of(kernel));
    const auto& function = handle->function();
    trident_function_facts out{};
    out.parameters = static_cast<uint32_t>(function.parameters.size());
    out.result_type = trident::client::type_of(function.result);
    out.is_kernel = handle->is_kernel() ? 1 : 0;
    out.name = function.name.c_str();
    out.text = handle->text().c_str();
    return narrowed(out, facts);
  });
}

trident_status trident_function_parameter(const trident_kernel* kernel, uint32_t index, trident_parameter* parameter) {
  return guarded([&]() -> Result<void> {
    TRY(const auto* const handle, function_of(kernel));
    const auto& function = handle->function();
    if (index >= function.parameters.size()) return invalid("the function has no parameter of this index");
    const auto& p = function.parameters[index];
    trident_parameter out{};
    out.type = static_cast<uint32_t>(trident::client::type_of(p.type));
    out.passing = static_cast<uint32_t>(p.passing);
    out.has_range = p.lo ? 1 : 0;
    out.lo = p.lo.value_or(0);
    out.hi = p.hi.value_or(0);
    out.name = p.name.c_str();
    out.meaning = p.meaning.c_str();
    return narrowed(out, parameter);
  });
}

}  // extern "C"
