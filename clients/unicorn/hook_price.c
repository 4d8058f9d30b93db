/* Measures, once a process, what a call of a head's hook costs in a shadow run: the guest's time of a loop is taken
 * with the hook in it. An engine of its own runs a loop of two instructions without the hook and with it. */
#include <stdatomic.h>

#include "clients/unicorn/shadow.h"

#define ROUNDS 20000u
#define REPEATS 5u
#define CODE UINT64_C(0x10000)
#define USUAL_NS 8.0

static uint64_t time_rounds(uc_engine* uc) {
  uint64_t best = UINT64_MAX;
  for (unsigned i = 0; i < REPEATS; ++i) {
    const uint64_t rounds = ROUNDS, begin = trident_unicorn_now_ns();
    uc_reg_write(uc, UC_ARM64_REG_X0, &rounds);
    uc_emu_start(uc, CODE, CODE + 8, 0, 0);
    const uint64_t ns = trident_unicorn_now_ns() - begin;
    if (ns < best) best = ns;
  }
  return best;
}

static double measure_in(uc_engine* uc) {
  const uint32_t code[] = {0xF1000400u, 0x54FFFFE1u}; /* subs x0, x0, #1; b.ne to it */
  trident_unicorn owner = {.uc = uc};
  struct head head = {
      .owner = &owner, .address = CODE, .is_ready = 1, .is_hooked = 1, .shadow = trident_unicorn_shadow_endless()};
  uc_hook hook;
  if (head.shadow == NULL || uc_mem_map(uc, CODE, PAGE_BYTES * 4, UC_PROT_ALL) != UC_ERR_OK) return USUAL_NS;
  uc_mem_write(uc, CODE, code, sizeof code);
  const uint64_t bare = time_rounds(uc);
  uc_hook_add(uc, &hook, UC_HOOK_BLOCK, (void*)trident_unicorn_at_head, &head, CODE, CODE);
  uc_ctl_remove_cache(uc, CODE, CODE + 8);
  const uint64_t hooked = time_rounds(uc);
  trident_unicorn_shadow_drop(&head);
  return hooked > bare ? (double)(hooked - bare) / ROUNDS : 0;
}

double trident_unicorn_arrival_ns(void) {
  static _Atomic double measured;
  uc_engine* uc = NULL;
  if (measured != 0) return measured;
  double ns = USUAL_NS;
  if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc) == UC_ERR_OK) {
    ns = measure_in(uc);
    uc_close(uc);
  }
  measured = ns > 1 ? ns : 1;
  return measured;
}
