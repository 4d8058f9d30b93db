#include "runtime/os/fd.h"

#include <unistd.h>

namespace trident::os {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace trident::os
