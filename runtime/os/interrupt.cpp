#include "runtime/os/interrupt.h"

#include <signal.h>

namespace trident::os {
namespace {

volatile sig_atomic_t noted = 0;

void set_action(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

}  // namespace

void note_interrupts() {
  set_action([](int) { noted = 1; }, SA_RESTART | static_cast<int>(SA_RESETHAND));
}

Result<void> check_interrupted() {
  if (noted != 0) return make_error(ErrorCode::kCancelled, "interrupted");
  return {};
}

void restore_interrupts() {
  set_action(SIG_DFL, 0);
}

}  // namespace trident::os
