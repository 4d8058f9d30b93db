// trident_function.h: functions by name. A library keeps the checked texts, and a handle for each function that was
// asked for. Handles stand under the context's mutex, which fork() takes, too; they are made without it. Where two
// threads make one at once, the first stays. Calls need nothing of this.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clients/c/abi_edge.h"
#include "clients/c/function_api.h"
#include "clients/c/handle.h"
#include "clients/c/trident_function.h"
#include "jit/function/folder.h"
#include "runtime/base/nearest.h"

struct trident_library {
  explicit trident_library(trident_ctx& ctx) : context(ctx) { context.hold(); }
  trident_library(const trident_library&) = delete;
  trident_library& operator=(const trident_library&) = delete;
  ~trident_library() {
    for (const auto& [name, kernel] : handles) trident_close_kernel(kernel);
    context.release();
  }

  trident_ctx& context;
  std::unique_ptr<const trident::function::Library> own;  ///< null: the shipped one
  std::vector<std::string> names;
  std::map<std::string, trident_kernel*, std::less<>> handles;  ///< guarded by the context's mutex

  [[nodiscard]] const trident::function::Library& functions() const {
    return own ? *own : trident::client::shipped_library();
  }
};

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::Result;
using trident::client::guarded;
using trident::client::invalid;
namespace function = trident::function;

Error unknown_function(const trident_library& library, std::string_view name) {
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = trident::nearest(library.names, name, kTyposMax);
  return trident::make_error(ErrorCode::kInvalidArgument, "the library has no function '%s'%s",
                             std::string(name).c_str(),
                             meant.empty() ? "" : (": did you mean '" + meant + "'?").c_str());
}

Result<void> read_folder(trident_library& library, const char* folder) {
  TRY(const std::vector<std::string> files, function::files_below(folder));
  auto read = function::read_library(files, &trident::client::shipped_library());
  if (!read.ok())
    return function::with_cure(read.error(), trident::client::shipped_library(), "add NAME.fn to the folder");
  TRY_VOID(function::test_library(*read));
  library.own = std::make_unique<const function::Library>(std::move(*read));
  return {};
}

Result<void> open_library(trident_ctx* ctx, const char* folder, trident_library** out) {
  if (out == nullptr) return invalid("null pointer");
  *out = nullptr;
  if (ctx == nullptr) return invalid("null pointer");
  auto library = std::make_unique<trident_library>(*ctx);
  if (folder != nullptr) {
    Result<void> read = read_folder(*library, folder);
    if (!read.ok()) {
      Error error = read.error();
      // A folder that cannot be read is a bad argument: of other system calls the status says that no daemon is there.
      if (error.code == ErrorCode::kOsError) error.code = ErrorCode::kInvalidArgument;
      return error;
    }
  }
  for (const function::Function* f : library->functions().list()) library->names.push_back(f->name);
  *out = library.release();
  return {};
}

trident_kernel* known_handle(trident_library& library, std::string_view name) {
  const std::lock_guard lock(library.context.mutex);
  const auto known = library.handles.find(name);
  return known == library.handles.end() ? nullptr : known->second;
}

/// Closes a handle that another thread's has forestalled.
struct HandleCloser {
  void operator()(trident_kernel* kernel) const { trident_close_kernel(kernel); }
};

Result<trident_kernel*> find_function(trident_library& library, std::string_view name) {
  if (trident_kernel* const known = known_handle(library, name)) return known;
  const function::Function* const found = library.functions().find(name);
  if (found == nullptr) return unknown_function(library, name);
  TRY(function::Program program, function::resolve(*found, library.functions()));
  TRY(trident_kernel* const submitted, trident::client::submit_program(library.context, std::move(program)));
  std::unique_ptr<trident_kernel, HandleCloser> fresh(submitted);
  const std::lock_guard lock(library.context.mutex);
  const auto [at, is_first] = library.handles.try_emplace(std::string(name), submitted);
  if (is_first) return fresh.release();
  return at->second;
}

}  // namespace

extern "C" {

trident_status trident_library_open(trident_ctx* ctx, const char* folder, trident_library** library) {
  return guarded([&] { return open_library(ctx, folder, library); });
}

void trident_library_close(trident_library* library) {
  delete library;
}

trident_status trident_library_function(trident_library* library, const char* name, trident_kernel** kernel) {
  return guarded([&]() -> Result<void> {
    if (kernel == nullptr) return invalid("null pointer");
    *kernel = nullptr;
    if (library == nullptr || name == nullptr) return invalid("null pointer");
    TRY(*kernel, find_function(*library, name));
    return {};
  });
}

uint32_t trident_library_size(const trident_library* library) {
  return library == nullptr ? 0 : static_cast<uint32_t>(library->names.size());
}

const char* trident_library_name(const trident_library* library, uint32_t index) {
  return index < trident_library_size(library) ? library->names[index].c_str() : nullptr;
}

}  // extern "C"
