#include "clients/c/handle.h"

#include "clients/c/context.h"

namespace trident::client {

void Handle::set_callback(void (*callback)(trident_kernel*, void*), void* user) {
  const std::unique_lock lock = context.lock_outside_callback(record());
  listener() = {callback, user};
}

void Handle::tell(std::unique_lock<std::mutex>& lock) {
  const Listener told = listener();
  if (told.changed == nullptr) return;
  lock.unlock();
  told.changed(this, told.user);
  lock.lock();
}

}  // namespace trident::client
