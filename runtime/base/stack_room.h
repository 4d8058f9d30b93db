// Room on the stack of the calling thread. Threads of clients may have small stacks, and parsers are recursive.
#pragma once

#include <cstddef>

namespace trident {

/// Returns how many bytes of its stack the calling thread has left; the greatest number where the system does not say.
/// The first call of a thread costs some system calls. Async-signal-unsafe.
std::size_t stack_room();

}  // namespace trident
