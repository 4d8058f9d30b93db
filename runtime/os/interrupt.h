// Ctrl-C: a verb that leaves files or processes behind while it runs ends in order when it is interrupted.
#pragma once

#include "runtime/base/result.h"

namespace trident::os {

/// Makes SIGINT, SIGTERM and SIGHUP noted instead of ending the process; a second one ends it at once.
void note_interrupts();

/// Cancelled when an interrupt was noted: a verb's loops ask from time to time, and leave by the way of errors.
Result<void> check_interrupted();

/// Makes interrupts end the process again, in a forked child.
void restore_interrupts();

}  // namespace trident::os
