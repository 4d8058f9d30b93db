#include "bench/loops/attached_machine.h"

#include "runtime/base/check.h"

namespace trident::bench {
namespace {

trident_ctx* context() {
  static trident_ctx* const ctx = [] {
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = TRIDENT_MODE_EMBEDDED;
    trident_ctx* made = nullptr;
    CHECK(trident_open(&options, &made) == TRIDENT_OK);
    return made;
  }();
  return ctx;
}

}  // namespace

AttachedMachine::AttachedMachine(std::uint32_t flags) {
  const std::uint64_t base = machine_.memory_base(), code = machine_.code_bytes();
  const trident_unicorn_region regions[] = {
      {base, code, machine_.memory(), TRIDENT_UNICORN_POINTER, 0},
      {base + code, machine_.memory_bytes() - code, machine_.memory() + code, TRIDENT_UNICORN_POINTER, 0}};
  trident_unicorn_options options{};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.regions = regions;
  options.region_count = 2;
  CHECK(trident_unicorn_attach(machine_.engine(), context(), &options, &handle_) == TRIDENT_OK);
}

AttachedMachine::~AttachedMachine() {
  trident_unicorn_detach(handle_);
}

void AttachedMachine::exclude_all() {
  trident_unicorn_exclude(handle_, machine_.memory_base(), machine_.memory_base() + machine_.code_bytes());
}

trident_unicorn_stats AttachedMachine::stats() const {
  trident_unicorn_stats stats{};
  stats.struct_size = sizeof stats;
  trident_unicorn_get_stats(handle_, &stats);
  return stats;
}

}  // namespace trident::bench
