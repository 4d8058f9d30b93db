// Finds libtrident-engine.so. Programs, libraries and engine are installed together but may be moved together, so
// the way starts at the file that holds this code: the shared library, or the program that it is linked into.
//
// Things that dlopen() and the engine make once in a process are made under the engine lock, which fork.cpp takes too:
// a forked child finds them made or not begun, never half made by a thread that the child does not have.
#pragma once

#include <mutex>

#include "clients/c/engine_abi.h"
#include "runtime/base/result.h"

namespace trident::client {

struct Engine {
  trident_engine_compile_fn compile = nullptr;
  trident_engine_build_fn build = nullptr;                        ///< null in engines before 0.1.2
  trident_engine_prepare_fn prepare = nullptr;                    ///< null in engines before 0.1.3
  trident_engine_compile_loop_fn compile_loop = nullptr;          ///< null in engines before 0.1.3
  trident_engine_compile_function_fn compile_function = nullptr;  ///< null in engines before 0.1.5
  trident_engine_go_on_fn go_on = nullptr;                        ///< null in engines before 0.1.8
  trident_engine_forget_fn forget = nullptr;                      ///< likewise

  /// Call before each piece of work of this kind, without the engine lock.
  void prepare_for(trident_engine_work work) const;
};

/// Taken after every other lock of this library.
std::mutex& engine_lock();

/// The engine's entries. What TRIDENT_ENGINE names; else libtrident-engine.so beside the file that holds this code or
/// in the library folder next to it (symbolic links followed and not), in the folder that it was installed to, or
/// wherever the dynamic linker finds it. Unsupported, with the places that were looked at, when there is none or its
/// version does not fit.
Result<Engine> load_engine();

/// The folder that libraries are installed to: engine_folder.cpp.
extern const char* const kEngineFolder;

}  // namespace trident::client
