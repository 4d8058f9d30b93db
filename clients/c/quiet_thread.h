// Threads of the library in a program that knows nothing of them: no signal of the program's is delivered to one.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "runtime/base/result.h"

namespace trident::client {

/// Starts run(argument) in a thread that blocks every signal, with a stack of `stack_bytes`. `name` has at most 15
/// characters. The caller joins the thread.
Result<pthread_t> start_quiet_thread(const char* name, std::size_t stack_bytes, void* (*run)(void*), void* argument);

}  // namespace trident::client
