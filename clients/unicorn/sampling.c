/* Finds heads of loops: jumps back to one address that are taken often.
 *
 * A hook on every block sees them, and costs some 6 % of the guest's time. So it is there by turns: from the start, and
 * then for a quarter of a second at times that lie further and further apart, or when much new code has come up. An
 * edge hook, which Unicorn calls when it translates and never after, tells of new code and costs nothing. */
#include "clients/unicorn/handle.h"

#define MILLISECOND UINT64_C(1000000)
#define LATER_TURN_NS (250 * MILLISECOND)
#define CLOCK_EVERY_BLOCKS 0x8000u
#define NEW_CODE_PAGES 16u
#define FIRST_BLOCKS 4u /* no edge leads to the very first: its translation is not told */

static uint32_t word_at(trident_unicorn* h, uint64_t address) {
  uint32_t word = 0;
  return uc_mem_read(h->uc, address, &word, sizeof word) == UC_ERR_OK ? word : 0;
}

/* Calls, returns and computed jumps go back, too, and make no loop. They are counted with the rest, as telling them
 * apart costs more; the count begins anew when one of them comes up at its end. */
static void is_hot(trident_unicorn* h, uint64_t from, uint64_t to) {
  uint64_t target;
  if (!trident_unicorn_branches_to(word_at(h, from), from, &target) || target != to)
    h->loops->edges[(to >> 2) % TRIDENT_LOOPS_EDGES].taken = 0;
  else if (trident_unicorn_add_head(h, to) == TRIDENT_OK)
    trident_unicorn_leave_block(h->uc, to);
}

static void end_turn(trident_unicorn* h, uint64_t now_ns) {
  struct sampling* const s = &h->sampling;
  const uint64_t elapsed = now_ns - s->first_ns;
  if (!s->is_on) return;
  uc_hook_del(h->uc, s->blocks);
  s->is_on = 0;
  if (s->count != 0) s->sampled_ns += now_ns - s->turn_begin_ns;
  s->next_turn_ns = now_ns + (elapsed > LATER_TURN_NS ? elapsed : LATER_TURN_NS);
}

/* The first blocks of a turn. Its clock starts here: a program may attach long before it runs. */
static void at_first_blocks(trident_unicorn* h, uint64_t address, uint32_t size) {
  struct sampling* const s = &h->sampling;
  trident_unicorn_code_seen(h, address, size);
  if (s->count != 1) return;
  s->turn_begin_ns = trident_unicorn_now_ns();
  if (s->first_ns == 0) s->first_ns = s->turn_begin_ns;
}

static void at_block(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  trident_unicorn* const h = data;
  struct sampling* const s = &h->sampling;
  const uint64_t from = s->last_end - 4;
  s->last_end = address + size;
  if (trident_loops_back_edge(h->loops, from, address)) is_hot(h, from, address);
  if (++s->count <= FIRST_BLOCKS) at_first_blocks(h, address, size);
  if (s->count % CLOCK_EVERY_BLOCKS != 0 && (h->flags & TRIDENT_UNICORN_NO_SAMPLING) == 0) return;
  const uint64_t now = trident_unicorn_now_ns();
  trident_unicorn_look_at_parked(h);
  if (now - s->turn_begin_ns <= s->turn_ns && (h->flags & TRIDENT_UNICORN_NO_SAMPLING) == 0) return;
  end_turn(h, now);
  trident_unicorn_leave_block(uc, address);
}

static int begin_turn(trident_unicorn* h, uint64_t length_ns) {
  struct sampling* const s = &h->sampling;
  if (uc_hook_add(h->uc, &s->blocks, UC_HOOK_BLOCK, (void*)at_block, h, 1, 0) != UC_ERR_OK) return 0;
  s->is_on = 1;
  s->count = 0;
  s->last_end = 0;
  s->unseen_code = 0;
  s->turn_ns = length_ns;
  trident_unicorn_drop_translations(h, 1);
  return 1;
}

void trident_unicorn_sampling_turn(trident_unicorn* h, uint64_t now_ns) {
  struct sampling* const s = &h->sampling;
  if (s->is_on || (h->flags & TRIDENT_UNICORN_NO_SAMPLING) != 0 || now_ns < s->next_turn_ns) return;
  begin_turn(h, LATER_TURN_NS);
}

static void at_edge(uc_engine* uc, uc_tb* block, uc_tb* before, void* data) {
  trident_unicorn* const h = data;
  struct sampling* const s = &h->sampling;
  (void)uc, (void)before;
  trident_unicorn_shadow_translated(h, block->pc, block->size);
  if (!trident_unicorn_code_seen(h, block->pc, block->size)) return;
  trident_unicorn_look_at_parked(h);
  if (!s->is_on && ++s->unseen_code >= NEW_CODE_PAGES) trident_unicorn_sampling_turn(h, trident_unicorn_now_ns());
}

trident_status trident_unicorn_sampling_open(trident_unicorn* h) {
  struct sampling* const s = &h->sampling;
  if (uc_hook_add(h->uc, &s->edges, UC_HOOK_EDGE_GENERATED, (void*)at_edge, h, 1, 0) != UC_ERR_OK)
    return trident_unicorn_fail(TRIDENT_E_UNSUPPORTED,
                                "this Unicorn has no hooks of edges: version 2.0 or later is needed");
  if (!begin_turn(h, h->sample_ms * MILLISECOND))
    return trident_unicorn_fail(TRIDENT_E_MEMORY, "Unicorn has no memory left for a hook");
  return TRIDENT_OK;
}

void trident_unicorn_sampling_close(trident_unicorn* h) {
  end_turn(h, trident_unicorn_now_ns());
  uc_hook_del(h->uc, h->sampling.edges);
}
