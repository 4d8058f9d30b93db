// Threads of the library in a program that knows nothing of them: no signal of the program's is delivered to one.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "runtime/base/result.h"

namespace trident::client {

/// Starts run(argument) in a thread that blocks every signal, with a stack of `stack_bytes`, beside which the program's
/// thread-local variables have their own memory. `name` has at most 15 characters. The caller joins the thread.
Result<pthread_t> start_quiet_thread(const char* name, std::size_t stack_bytes, void* (*run)(void*), void* argument);

/// Lets the calling thread's faults reach the program's handlers, as its own threads' do: a program may load the pages
/// of its arrays in one, or report its crash.
void unblock_faults();

/// Bytes of thread-local variables of all files that are loaded. Counted once, at the first call.
std::size_t thread_local_bytes();

}  // namespace trident::client
