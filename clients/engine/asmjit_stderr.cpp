// Debian's libasmjit.a is compiled for programs, not for shared objects: its one reference to a variable of another
// library, stderr, is of a kind that the linker refuses here. The linker's --wrap=stderr (see CMakeLists.txt) turns
// every such reference into one to the variable below, which this library owns and fills when it is loaded.
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;                                           // NOLINT: the linker's name for the true one
__attribute__((visibility("hidden"))) FILE* __wrap_stderr = nullptr;  // NOLINT: what asmjit sees
}

namespace {
__attribute__((constructor)) void take_stderr() {
  __wrap_stderr = __real_stderr;
}
}  // namespace
