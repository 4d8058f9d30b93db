/* Measures, once a process, what no clock inside of a hook sees: Unicorn's calls of it, and its way on after a write of
 * pc. An engine of its own runs a loop of two blocks without a hook at its head, and with several. */
#include <stdatomic.h>

#include "clients/unicorn/shadow.h"

#define ROUNDS 4000u
#define REPEATS 15u
#define LISTED 16u
#define LISTED_NS_MAX 2.0 /* more was the noise of other programs */
#define CODE UINT64_C(0x10000)
#define AFTER_HEAD (CODE + 4)
#define END (CODE + 12)

static const struct prices usual = {25, 8, 25, 60, 1};

static double least_of_clock(void) {
  uint64_t least = UINT64_MAX;
  for (unsigned i = 0; i < 64; ++i) {
    const uint64_t begin = trident_unicorn_now_ns(), ns = trident_unicorn_now_ns() - begin;
    if (ns < least) least = ns;
  }
  return (double)least;
}

static double round_ns(uc_engine* uc) {
  uint64_t best = UINT64_MAX;
  for (unsigned i = 0; i < REPEATS; ++i) {
    const uint64_t rounds = ROUNDS, begin = trident_unicorn_now_ns();
    uc_reg_write(uc, UC_ARM64_REG_X0, &rounds);
    uc_emu_start(uc, CODE, END, 0, 0);
    const uint64_t ns = trident_unicorn_now_ns() - begin;
    if (ns < best) best = ns;
  }
  return (double)best / ROUNDS;
}

static double positive(double ns) {
  return ns > 0 ? ns : 0;
}

static void skip(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  const uint64_t after = AFTER_HEAD;
  (void)address, (void)size, (void)data;
  uc_reg_write(uc, UC_ARM64_REG_PC, &after);
}

static double skipping_round_ns(uc_engine* uc) {
  uc_hook hook;
  trident_unicorn_hook_block(&(trident_unicorn){.uc = uc}, &hook, (void*)skip, NULL, CODE);
  const double ns = round_ns(uc);
  uc_hook_del(uc, hook);
  return ns;
}

/* Adds hooks that are called nowhere; calls of the others walk by them. While there is one hook only, translations call
 * it without a walk: what a handle with several loops never sees. */
static void list_hooks(uc_engine* uc) {
  uc_hook hook;
  for (unsigned i = 0; i < LISTED; ++i)
    uc_hook_add(uc, &hook, UC_HOOK_BLOCK, (void*)skip, NULL, CODE + PAGE_BYTES, CODE + PAGE_BYTES);
  uc_ctl_remove_cache(uc, CODE, END);
}

static void measure_calls(uc_engine* uc, struct head* head, struct prices* prices) {
  uc_hook hook;
  const double bare = round_ns(uc);
  prices->leave_ns = positive(skipping_round_ns(uc) - bare);
  list_hooks(uc);
  trident_unicorn_hook_block(head->owner, &hook, (void*)trident_unicorn_at_head, head, CODE);
  const double hooked = round_ns(uc);
  trident_unicorn_shadow_compare_at(head, CODE);
  const double compared = round_ns(uc);
  trident_unicorn_shadow_compare_at(head, 0);
  list_hooks(uc);
  const double more = positive(round_ns(uc) - hooked), most = LISTED_NS_MAX * LISTED;
  const double walk = more < most ? more : most;
  prices->listed_ns = walk / LISTED;
  prices->arrival_ns = positive(hooked - bare - walk);
  prices->compared_ns = positive(compared - bare - walk);
}

static struct prices measure_in(uc_engine* uc) {
  const uint32_t code[] = {0x14000001u, 0xF1000400u,
                           0x54FFFFC1u}; /* b to the next; subs x0, x0, #1; b.ne to the first */
  trident_unicorn owner = {.uc = uc, .shadows_pending = 1};
  struct head head = {
      .owner = &owner, .address = CODE, .is_ready = 1, .is_hooked = 1, .shadow = trident_unicorn_shadow_endless()};
  struct prices prices = usual;
  if (head.shadow == NULL || uc_mem_map(uc, CODE, PAGE_BYTES * 4, UC_PROT_ALL) != UC_ERR_OK) return usual;
  uc_mem_write(uc, CODE, code, sizeof code);
  prices.clock_ns = least_of_clock();
  measure_calls(uc, &head, &prices);
  trident_unicorn_shadow_drop(&head);
  return prices;
}

struct prices trident_unicorn_measure_prices(void) {
  static struct prices measured;
  static atomic_flag is_taken = ATOMIC_FLAG_INIT;
  static atomic_int is_measured;
  uc_engine* uc = NULL;
  if (is_measured) return measured;
  if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc) != UC_ERR_OK) return usual;
  const struct prices prices = measure_in(uc);
  uc_close(uc);
  if (atomic_flag_test_and_set(&is_taken)) return prices;
  measured = prices;
  is_measured = 1;
  return prices;
}
