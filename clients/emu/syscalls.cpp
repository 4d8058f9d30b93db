#include "clients/emu/syscalls.h"

#include <cerrno>
#include <climits>

namespace trident::emu {

std::int64_t result_of(std::int64_t host) {
  return host < 0 ? -errno : host;
}

GuestPath path_at(const Kernel& kernel, std::uint64_t address) {
  auto text = kernel.memory.text(address, PATH_MAX);
  if (!text) return {"", -EFAULT};
  if (text->size() >= PATH_MAX) return {"", -ENAMETOOLONG};
  return {std::move(*text), 0};
}

std::int64_t answer(Kernel& kernel, const SystemCall& call) {
  switch (call.number) {
#define X(number, name) \
  case number:          \
    return call_##name(kernel, call.arguments);
#include "clients/emu/syscalls.def"
#undef X
  }
  ++kernel.unknown[call.number];
  return -ENOSYS;
}

}  // namespace trident::emu
