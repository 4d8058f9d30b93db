/* Runs native code at a loop's head, and puts the guest where it left. */
#include "clients/unicorn/handle.h"

#include <string.h>

#define MISSES_MAX 64u

int trident_unicorn_register_id(unsigned number) {
  if (number < 29) return UC_ARM64_REG_X0 + (int)number;
  return number == 29   ? UC_ARM64_REG_X29
         : number == 30 ? UC_ARM64_REG_X30
         : number == 31 ? UC_ARM64_REG_SP
                        : UC_ARM64_REG_NZCV;
}

int trident_unicorn_read_state(trident_unicorn* h, trident_loop_frame* frame) {
  int ids[STATE_REGISTERS];
  void* places[STATE_REGISTERS];
  for (unsigned i = 0; i < STATE_REGISTERS; ++i) {
    ids[i] = trident_unicorn_register_id(i);
    places[i] = i == 32 ? (void*)&frame->nzcv : (void*)&frame->x[i];
  }
  return uc_reg_read_batch(h->uc, ids, places, STATE_REGISTERS) == UC_ERR_OK;
}

/* Returns whether addresses are physical ones and data little-endian. */
int trident_unicorn_is_flat(const struct head* head) {
  const uint64_t translates_aligns_or_swaps = UINT64_C(1) | UINT64_C(1) << 1 | UINT64_C(3) << 24;
  return (head->sctlr.val & translates_aligns_or_swaps) == 0;
}

/* Makes the guest look the block up again that it is about to run. One that jumps to itself would go on with its old
 * translation until it is left, whatever is added or dropped. */
void trident_unicorn_leave_block(uc_engine* uc, uint64_t address) {
  uc_reg_write(uc, UC_ARM64_REG_PC, &address);
}

/* Sets the guest's state from the frame. Writing pc makes Unicorn leave the block and go on there: it stands last. */
static void write_back(struct head* head) {
  head->is_moved = head->frame.pc != head->address;
  uc_reg_write_batch(head->owner->uc, head->write_ids, head->write_places, head->write_count + head->is_moved);
}

static void count(struct head* head, uint32_t exit) {
  ++head->entries;
  head->iterations += head->frame.iterations;
  ++head->visits;
  head->saved += head->frame.iterations + (exit == TRIDENT_LOOP_LEFT); /* else the guest runs the last round itself */
  head->misses_in_a_row = exit == TRIDENT_LOOP_MISS && head->frame.iterations == 0 ? head->misses_in_a_row + 1 : 0;
  if (exit == TRIDENT_LOOP_MISS) ++head->misses;
}

static void refused_late(struct head* head) {
  ++head->not_entered;
  ++head->visits;
}

/* Leaves the last round to the guest where it can be told. */
static uint64_t budget_of(const struct head* head) {
  const uint64_t most = head->owner->budget, rounds = trident_unicorn_rounds_left(head);
  return rounds == 0 || rounds > most ? most : rounds - 1;
}

/* trident_loop_enter() without its look: may_enter() has looked. */
static void enter(struct head* head) {
  const uint64_t budget = budget_of(head);
  if (budget == 0) {
    refused_late(head);
    return;
  }
  trident_loop_frame* const frame = &head->frame;
  frame->region.budget = budget;
  head->loop->entry(frame, head->loop->windows);
  if (frame->region.exit == TRIDENT_LOOP_REFUSED) {
    refused_late(head);
    return;
  }
  trident_loop_left(head->loop, frame, budget);
  count(head, frame->region.exit);
  write_back(head);
  if (head->misses_in_a_row > MISSES_MAX)
    trident_unicorn_give_up(head, TRIDENT_UNICORN_UNHOOKED, "its accesses lie in no memory that may be touched");
}

/* A write of pc makes Unicorn forget a stop that comes at the same time, a timeout's too. */
int trident_unicorn_is_timed(trident_unicorn* h) {
  uint64_t timeout_ns = 0;
  return (h->flags & TRIDENT_UNICORN_TIMED) == 0 && uc_ctl_get_timeout(h->uc, &timeout_ns) == UC_ERR_OK &&
         timeout_ns != 0;
}

/* One that got lost can be seen afterwards. */
static int has_timed_out(trident_unicorn* h) {
  size_t it_has = 0;
  if ((h->flags & TRIDENT_UNICORN_TIMED) == 0) return 0;
  uc_query(h->uc, UC_QUERY_TIMEOUT, &it_has);
  if (it_has != 0) uc_emu_stop(h->uc);
  return it_has != 0;
}

/* Returns whether the program and the daemon let the loop be entered at all. */
static int is_allowed(struct head* head, uint32_t block_bytes) {
  return !head->owner->is_paused && block_bytes >= head->block_bytes && !has_timed_out(head->owner) &&
         !trident_unicorn_is_in_shadow(head);
}

/* Looking reads the guest's code, so regions are checked before; it fills windows by the registers, and memory is
 * checked where these lie, so that comes last. */
static int may_enter(struct head* head) {
  trident_unicorn* const h = head->owner;
  if (!trident_unicorn_regions_hold(h)) return 0;
  if (uc_reg_read_batch(h->uc, head->read_ids, head->read_places, head->read_count) != UC_ERR_OK) return 0;
  if (!trident_unicorn_is_flat(head)) return 0;
  head->frame.pc = head->address;
  if (__atomic_load_n(&head->loop->checks, __ATOMIC_RELAXED) != 0 && !trident_loop_look(head->loop, &head->frame)) {
    trident_unicorn_look_at_refusal(head);
    return 0;
  }
  return trident_unicorn_windows_hold(h, head);
}

static void visit(struct head* head, uint32_t block_bytes) {
  if (!head->is_ready && !trident_unicorn_is_ready(head)) return;
  if (head->shadow != NULL) {
    trident_unicorn_shadow_arrival(head);
    return;
  }
  if (!is_allowed(head, block_bytes))
    ++head->not_entered;
  else if (!may_enter(head))
    refused_late(head);
  else if (trident_unicorn_wants_shadow(head))
    trident_unicorn_shadow_begin(head);
  else
    enter(head);
}

/* The whole visit counts: looking at memory and copying registers takes longer than native code often does. */
static void weigh(struct head* head, uint64_t visit_ns, uint64_t saved) {
  trident_unicorn* const h = head->owner;
  const double leaving = head->is_moved ? h->prices.leave_ns : 0;
  const double ns = (double)visit_ns + trident_unicorn_call_ns(h) + leaving - h->prices.clock_ns;
  const int has_lost = trident_unicorn_worth_of_visit(&head->worth, ns, saved, head->visits, head->saved);
  if (head->worth.period_timed == 0) trident_unicorn_tell(head);
  if (has_lost && (h->flags & TRIDENT_UNICORN_VERIFY) == 0)
    trident_unicorn_give_up(head, TRIDENT_UNICORN_UNHOOKED, "its rounds are too few to pay for an entry");
}

static void visit_by_the_clock(struct head* head, uint32_t block_bytes) {
  const uint64_t begin = trident_unicorn_now_ns();
  const uint64_t visits = head->visits, saved = head->saved;
  visit(head, block_bytes);
  if (head->visits == visits || !head->is_ready) return;
  const uint64_t end = trident_unicorn_now_ns();
  weigh(head, end - begin, head->saved - saved);
  trident_unicorn_sampling_turn(head->owner, end);
}

static int is_timed_visit(const struct head* head) {
  return head->is_ready && head->shadow == NULL && trident_unicorn_worth_wants_time(&head->worth, head->visits);
}

void trident_unicorn_at_head(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  struct head* const head = data;
  if (trident_unicorn_is_timed(head->owner)) return;
  ++head->arrivals;
  ++head->owner->calls;
  head->is_moved = 0;
  if (is_timed_visit(head))
    visit_by_the_clock(head, size);
  else
    visit(head, size);
  if (!head->is_hooked && !head->is_moved) trident_unicorn_leave_block(uc, address);
}
