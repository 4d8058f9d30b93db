/* A hash set of addresses, which only grows. */
#include <stdlib.h>

#include "clients/unicorn/handle.h"

#define SLOTS_FIRST 256u
#define SLOTS_MAX (1u << 21)

/* Slots hold the address + 1, so that 0 is an empty one; no block and no page begins at 2^64 - 1. */
static uint64_t* slot_of(const struct address_set* set, uint64_t address) {
  uint64_t slot = (address * 0x9E3779B97F4A7C15u) >> 32;
  for (;; ++slot) {
    uint64_t* const held = &set->slots[slot & (set->slot_count - 1)];
    if (*held == 0 || *held == address + 1) return held;
  }
}

static int grow(struct address_set* set) {
  struct address_set larger = *set;
  larger.slot_count = set->slot_count == 0 ? SLOTS_FIRST : set->slot_count * 2;
  if (larger.slot_count > SLOTS_MAX) return 0;
  larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
  if (larger.slots == NULL) return 0;
  for (uint32_t i = 0; i < set->slot_count; ++i)
    if (set->slots[i] != 0) *slot_of(&larger, set->slots[i] - 1) = set->slots[i];
  free(set->slots);
  *set = larger;
  return 1;
}

int trident_unicorn_set_has(const struct address_set* set, uint64_t address) {
  return set->slot_count != 0 && *slot_of(set, address) != 0;
}

int trident_unicorn_set_add(struct address_set* set, uint64_t address) {
  if (set->count * 2 >= set->slot_count && !grow(set)) return trident_unicorn_set_has(set, address) ? 0 : -1;
  uint64_t* const slot = slot_of(set, address);
  if (*slot != 0) return 0;
  *slot = address + 1;
  ++set->count;
  return 1;
}

void trident_unicorn_set_free(struct address_set* set) {
  free(set->slots);
}
