/* Branches of AArch64 whose target stands in the instruction. */
#include "clients/unicorn/handle.h"

static int64_t distance(uint32_t word, unsigned low, unsigned bits) {
  const uint32_t field = word >> low << (32 - bits);
  return (int64_t)((int32_t)field >> (32 - bits)) * 4;
}

int trident_unicorn_branches_to(uint32_t word, uint64_t address, uint64_t* target) {
  int64_t by;
  if ((word & 0xFC000000u) == 0x14000000u)
    by = distance(word, 0, 26); /* b */
  else if ((word & 0xFF000010u) == 0x54000000u || (word & 0x7E000000u) == 0x34000000u)
    by = distance(word, 5, 19); /* b.cond, cbz, cbnz */
  else if ((word & 0x7E000000u) == 0x36000000u)
    by = distance(word, 5, 14); /* tbz, tbnz */
  else
    return 0;
  *target = address + (uint64_t)by;
  return 1;
}
