/* Finds heads of loops: jumps back to one address that are taken often.
 *
 * A hook on every block sees them, and costs some 7 ns a block: more than a short block itself. So it is there by
 * turns, and a turn is as long as a number of blocks. All code is watched at first, and again at times that lie further
 * and further apart. Between these, code is watched that runs for the first time: an edge hook, which Unicorn calls
 * when it translates and never after, tells of it, and code that was translated before is left as it is. */
#include "clients/unicorn/handle.h"

#define TURN_BLOCKS 2000000u
#define TURNS_MAX 24u /* each leaves a dead hook in Unicorn's list until the emulation ends */
#define BLOCK_NS 7u
#define SHARE_MAX 128u /* a turn may not begin when the earlier ones took more than 1/128 of the time */
#define FREE_NS UINT64_C(20000000)
#define FIRST_TURN_NS UINT64_C(1000000000)
#define LOOK_EVERY_BLOCKS 0x8000u
#define CLOCK_EVERY_EDGES 256u
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
  else if (trident_unicorn_add_head(h, to, 0) == TRIDENT_OK)
    trident_unicorn_leave_block(h->uc, to);
}

static void end_turn(trident_unicorn* h) {
  struct sampling* const s = &h->sampling;
  if (!s->is_on) return;
  uc_hook_del(h->uc, s->blocks);
  s->is_on = 0;
  s->watched += s->count;
}

/* The first blocks of a turn. Time is counted from here: a program may attach long before it runs. */
static void at_first_blocks(trident_unicorn* h, uint64_t address, uint32_t size) {
  struct sampling* const s = &h->sampling;
  trident_unicorn_code_seen(h, address, size);
  if (s->first_ns != 0) return;
  s->first_ns = trident_unicorn_now_ns();
  s->next_turn_ns = s->first_ns + FIRST_TURN_NS;
}

static void at_block(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  trident_unicorn* const h = data;
  struct sampling* const s = &h->sampling;
  const uint64_t from = s->last_end - 4;
  s->last_end = address + size;
  if (trident_loops_back_edge(h->loops, from, address) && !trident_unicorn_is_timed(h)) is_hot(h, from, address);
  if (++s->count <= FIRST_BLOCKS) at_first_blocks(h, address, size);
  if (s->count % LOOK_EVERY_BLOCKS == 0) trident_unicorn_look_at_parked(h);
  if (s->count < s->limit) return;
  end_turn(h);
  if (!trident_unicorn_is_timed(h)) trident_unicorn_leave_block(uc, address);
}

static int begin_turn(trident_unicorn* h, uint64_t blocks) {
  struct sampling* const s = &h->sampling;
  if (uc_hook_add(h->uc, &s->blocks, UC_HOOK_BLOCK, (void*)at_block, h, 1, 0) != UC_ERR_OK) return 0;
  s->is_on = 1;
  ++s->turns;
  s->count = s->last_end = 0;
  s->limit = blocks;
  return 1;
}

static int may_turn(const trident_unicorn* h, uint64_t now_ns) {
  const struct sampling* const s = &h->sampling;
  if (s->is_on || s->turns >= TURNS_MAX || (h->flags & TRIDENT_UNICORN_NO_SAMPLING) != 0) return 0;
  return s->watched * BLOCK_NS <= (now_ns - s->first_ns) / SHARE_MAX + FREE_NS;
}

void trident_unicorn_sampling_turn(trident_unicorn* h, uint64_t now_ns) {
  struct sampling* const s = &h->sampling;
  if (now_ns < s->next_turn_ns || !may_turn(h, now_ns)) return;
  s->next_turn_ns = now_ns + (now_ns - s->first_ns);
  if (begin_turn(h, TURN_BLOCKS)) trident_unicorn_drop_translations(h, 1);
}

static void at_edge(uc_engine* uc, uc_tb* block, uc_tb* before, void* data) {
  trident_unicorn* const h = data;
  struct sampling* const s = &h->sampling;
  (void)before;
  trident_unicorn_shadow_translated(h, block->pc, block->size);
  trident_unicorn_code_seen(h, block->pc, block->size);
  if (++s->edges_told % CLOCK_EVERY_EDGES == 0) {
    trident_unicorn_look_at_parked(h);
    trident_unicorn_sampling_turn(h, trident_unicorn_now_ns());
  }
  if (trident_unicorn_set_add(&s->seen, block->pc) != 1 || !may_turn(h, trident_unicorn_now_ns())) return;
  if (begin_turn(h, TURN_BLOCKS)) uc_ctl_remove_cache(uc, block->pc, block->pc + block->size);
}

trident_status trident_unicorn_sampling_open(trident_unicorn* h) {
  const int is_off = (h->flags & TRIDENT_UNICORN_NO_SAMPLING) != 0;
  if (uc_hook_add(h->uc, &h->sampling.edges, UC_HOOK_EDGE_GENERATED, (void*)at_edge, h, 1, 0) != UC_ERR_OK)
    return trident_unicorn_fail(TRIDENT_E_UNSUPPORTED, "Unicorn has no hooks of edges: version 2.0 or later is needed");
  if (!begin_turn(h, is_off ? FIRST_BLOCKS : h->sample_blocks))
    return trident_unicorn_fail(TRIDENT_E_MEMORY, "Unicorn has no memory left for a hook");
  return TRIDENT_OK;
}

void trident_unicorn_sampling_close(trident_unicorn* h) {
  end_turn(h);
  uc_hook_del(h->uc, h->sampling.edges);
  trident_unicorn_set_free(&h->sampling.seen);
}
