// A program may end while threads of the engine search. Objects of static duration must then be there until the last
// moment, so none of the engine's is ever destroyed: what would register their destructors does nothing here.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the compiler's
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
