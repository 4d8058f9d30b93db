#include "clients/c/engine_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "clients/c/trident.h"

// Null but where the engine is linked into the program (libtrident-embedded.a).
#pragma weak trident_engine_version
#pragma weak trident_engine_prepare
#pragma weak trident_engine_compile
#pragma weak trident_engine_go_on
#pragma weak trident_engine_forget
#pragma weak trident_engine_build
#pragma weak trident_engine_compile_loop
#pragma weak trident_engine_compile_function

namespace trident::client {
namespace {

constexpr Engine kLinked{
    trident_engine_compile,          trident_engine_build, trident_engine_prepare, trident_engine_compile_loop,
    trident_engine_compile_function, trident_engine_go_on, trident_engine_forget};

bool is_linked() {
  return trident_engine_version != nullptr && trident_engine_version() == TRIDENT_ENGINE_ABI_VERSION;
}

constexpr const char* kFile = "libtrident-engine.so";
constexpr const char* kThisProgram = "/proc/self/exe";

/// The path with every symbolic link followed; empty for a missing file.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? std::string() : real.get();
}

/// The program or library that this code is part of.
std::string own_file() {
  Dl_info self{};
  void* map = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&trident_abi_version), &self, &map, RTLD_DL_LINKMAP) == 0) return {};
  const char* name = static_cast<const link_map*>(map)->l_name;
  // The program itself has no name there, and in dli_fname only the one that its caller chose to give it.
  return name == nullptr || *name == '\0' ? resolved(kThisProgram) : name;
}

std::vector<std::string> places(const std::string& file) {
  std::vector<std::string> all;
  const auto add = [&](std::string folder) {
    if (std::find(all.begin(), all.end(), folder) == all.end()) all.push_back(std::move(folder));
  };
  for (const std::string& path : {file, resolved(file)}) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string folder = path.substr(0, slash + 1);
    add(folder);
    add(folder + "../lib/");
    add(folder + TRIDENT_LIBDIR_FROM_BINDIR "/");
  }
  add(std::string(kEngineFolder) + "/");
  return all;
}

/// A folder above the program's may be open to others, as /tmp is: the engine must belong
/// to root, to this user or to the owner of this library.
bool is_trusted(const struct stat& engine, const std::string& own) {
  struct stat self {};
  if (engine.st_uid == 0 || engine.st_uid == ::geteuid()) return true;
  return ::stat(own.c_str(), &self) == 0 && engine.st_uid == self.st_uid;
}

Result<Engine> entries_of(const std::string& path) {
  // Never unloaded: its code may be on the stack of a thread that a fork left behind.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return make_error(ErrorCode::kUnsupported, "%s", ::dlerror());
  const auto version = reinterpret_cast<trident_engine_version_fn>(::dlsym(library, "trident_engine_version"));
  const auto compile = reinterpret_cast<trident_engine_compile_fn>(::dlsym(library, "trident_engine_compile"));
  if (version == nullptr || compile == nullptr || version() != TRIDENT_ENGINE_ABI_VERSION)
    return make_error(ErrorCode::kUnsupported, "%s: not an engine library of this version", path.c_str());
  return Engine{
      compile,
      reinterpret_cast<trident_engine_build_fn>(::dlsym(library, "trident_engine_build")),
      reinterpret_cast<trident_engine_prepare_fn>(::dlsym(library, "trident_engine_prepare")),
      reinterpret_cast<trident_engine_compile_loop_fn>(::dlsym(library, "trident_engine_compile_loop")),
      reinterpret_cast<trident_engine_compile_function_fn>(::dlsym(library, "trident_engine_compile_function")),
      reinterpret_cast<trident_engine_go_on_fn>(::dlsym(library, "trident_engine_go_on")),
      reinterpret_cast<trident_engine_forget_fn>(::dlsym(library, "trident_engine_forget"))};
}

Result<Engine> find_engine() {
  if (is_linked()) return kLinked;
  if (const char* path = ::secure_getenv("TRIDENT_ENGINE"); path != nullptr && *path != '\0') {
    auto named = entries_of(path);
    if (named) return named;
    return make_error(named.error().code, "TRIDENT_ENGINE: %s", named.error().message.c_str());
  }
  const std::string own = own_file();
  std::string looked_at;
  for (const std::string& folder : places(own)) {
    const std::string path = folder + kFile;
    struct stat engine {};
    const bool there = ::stat(path.c_str(), &engine) == 0;
    if (there && is_trusted(engine, own)) return entries_of(path);
    looked_at += folder + (there ? " (another user's)" : "") + ", ";
  }
  auto found = entries_of(kFile);
  if (found) return found;
  return make_error(ErrorCode::kUnsupported,
                    "%s is neither in %snor found by the dynamic linker; TRIDENT_ENGINE names one", kFile,
                    looked_at.c_str());
}

}  // namespace

std::mutex& engine_lock() {
  static constinit std::mutex lock;
  return lock;
}

void Engine::prepare_for(trident_engine_work work) const {
  if (prepare == nullptr) return;
  const std::lock_guard lock(engine_lock());
  prepare(work);
}

Result<Engine> load_engine() {
  const std::lock_guard lock(engine_lock());
  return find_engine();
}

}  // namespace trident::client
