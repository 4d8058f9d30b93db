/* Shadow runs: native code runs on copies of the guest's registers and memory, the guest then runs the loop itself, and
 * must come to the state that native code left in. If not, the loop is blacklisted; the guest never sees native state.
 *
 *   at the head           copy registers, run native code; each miss copies more of the memory, and it runs again
 *   it left at a block    a hook there compares when the guest comes by
 *   it left elsewhere     (inside of a block; at an access that misses) it runs once more, as many jumps back as it
 * took, which ends at the target of the last one: a block
 *
 * Being anywhere on the guest's way is being right. So the guest is compared each time it comes to that block, as often
 * as it can come there in so many jumps back.
 *
 * When it never is equal, native code is wrong, or the program has put the guest elsewhere meanwhile, after a stop in
 * the loop, say: Unicorn does not tell that a run has ended. That happens once, and twice is a mismatch, which costs
 * a program that does so its loop, where a wrong loop would cost it its answers. It does not count when the program
 * stopped the guest right where native code left: Unicorn then translates the block before it anew, or the block there
 * without running it, which the edge hook sees. */
#include "clients/unicorn/shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS UINT64_C(1024)
#define TRIES_MAX 128u
#define FRUITLESS_MAX 256u
#define SHADOW_EVERY_NS UINT64_C(1000000000)
#define EXIT_HOOKS_EVER_MAX 16u
#define STRIKES_MAX 2u
#define TIMED_ROUNDS_MIN 4u
#define COLD_NS 400.0
#define EXACT_RUNS 4u
#define RETIMED_MAX 8u

/* Calls of hooks so far: heads' and exits' own, and those of sampling at every block. */
struct calls {
  uint64_t own, sampling;
};

struct shadow {
  trident_loop_frame before, after;
  uint64_t generation, begin_ns, rounds;
  uint64_t arrivals;                                 /* of the guest at the head */
  uint64_t arrivals_inside;                          /* at heads of other loops inside of this one */
  uint64_t first_ns, last_ns;                        /* the first of them, and the last; 0: it has not come */
  struct calls begin_calls, first_calls, last_calls; /* at these times */
  uint32_t turns;                                    /* of sampling, when it began */
  int was_watched;                                   /* by sampling */
  uint64_t visits;                                   /* of the guest where native code left */
  int is_left; /* native code left the loop there: the guest's first visit decides */
  int was_stopped_there;
  unsigned telling; /* a register that native code changed, to compare first */
  struct mirrors mirrors;
};

void trident_unicorn_shadow_drop(struct head* head) {
  if (head->shadow == NULL) return;
  trident_unicorn_mirrors_free(&head->shadow->mirrors);
  free(head->shadow);
  head->shadow = NULL;
  --head->owner->shadows_pending;
}

void trident_unicorn_unhook_exits(struct head* head) {
  for (uint32_t i = 0; i < head->exit_count; ++i) uc_hook_del(head->owner->uc, head->exit_hooks[i]);
  head->exit_count = 0;
}

/* The first shadow runs often come while all blocks are watched, and time the guest badly. */
static int is_timed_enough(const struct head* head) {
  return head->worth.exact >= EXACT_RUNS || head->retimed >= RETIMED_MAX;
}

static int wants_time(struct head* head) {
  if (head->owner->sampling.is_on || is_timed_enough(head)) return 0;
  ++head->retimed;
  return 1;
}

int trident_unicorn_wants_shadow(struct head* head) {
  trident_unicorn* const h = head->owner;
  if ((h->flags & TRIDENT_UNICORN_VERIFY) != 0 || head->passed < h->shadow_first) return 1;
  if (wants_time(head)) return 1;
  if (((head->entries + 1) & h->shadow_mask) != 0) return 0;
  return trident_unicorn_now_ns() - h->last_shadow_ns > SHADOW_EVERY_NS;
}

/* ---- Comparing. */

/* Asks anew for a loop whose code the guest has changed during the run. Returns 0 where it has not. */
static int was_rewritten(struct head* head) {
  if (trident_loop_look(head->loop, &head->frame)) return 0;
  trident_unicorn_shadow_drop(head);
  trident_unicorn_look_at_refusal(head);
  return 1;
}

/* The guest was not in native code's state. */
static void strike(struct head* head, const char* what) {
  char note[sizeof head->note];
  if (was_rewritten(head)) return;
  const unsigned long long rounds = head->shadow->rounds;
  if (head->shadow->was_stopped_there)
    ++head->stops_at_exit;
  else
    ++head->strikes;
  trident_unicorn_shadow_drop(head);
  if (head->strikes < STRIKES_MAX) return;
  ++head->mismatches;
  snprintf(note, sizeof note, "guest and native code differed in shadow runs, the last of %llu rounds: %s", rounds,
           what);
  trident_unicorn_give_up(head, TRIDENT_UNICORN_MISMATCHED, note);
}

/* Hooks that were deleted are not counted: they may be gone. */
static uint32_t listed_hooks(const trident_unicorn* h) {
  uint32_t count = (uint32_t)h->sampling.is_on;
  for (uint32_t i = 0; i < h->head_count; ++i) count += (uint32_t)h->heads[i]->is_hooked + h->heads[i]->exit_count;
  return count;
}

double trident_unicorn_call_ns(const trident_unicorn* h) {
  return h->prices.arrival_ns + h->prices.listed_ns * listed_hooks(h);
}

static struct calls calls_now(const trident_unicorn* h) {
  return (struct calls){h->calls, h->sampling.watched + (h->sampling.is_on ? h->sampling.count : 0)};
}

struct lap {
  double ns, rounds;
  struct calls calls; /* in these rounds */
};

static struct lap lap_between(double ns, double rounds, struct calls from, struct calls to) {
  return (struct lap){ns, rounds, {to.own - from.own, to.sampling - from.sampling}};
}

/* A block for which sampling has walked by all hooks calls its head's in the same walk. */
static double calls_ns(const struct head* head, const struct lap* lap) {
  const struct prices* const prices = &head->owner->prices;
  const double compared = head->shadow->after.pc == head->address ? prices->compared_ns - prices->arrival_ns : 0;
  const double walks = (double)(lap->calls.sampling != 0 ? lap->calls.sampling : lap->calls.own);
  const double walk_ns = trident_unicorn_call_ns(head->owner) - prices->arrival_ns;
  return walks * walk_ns + (double)(lap->calls.own + lap->calls.sampling) * prices->arrival_ns +
         lap->rounds * (compared > 0 ? compared : 0);
}

/* Begin and end of a run are cold: memory was copied meanwhile. So time counts from the first arrival at the head to
 * the last, or to where native code left, if rounds of other heads come between. */
static struct lap lap_of(const struct head* head, uint64_t now_ns) {
  const struct shadow* const s = head->shadow;
  const double clock = head->owner->prices.clock_ns, rounds = (double)s->rounds;
  const struct calls now = calls_now(head->owner);
  if (s->last_ns != 0)
    return lap_between((double)(s->last_ns - s->first_ns) - clock, rounds - 1, s->first_calls, s->last_calls);
  if (s->first_ns == 0) return lap_between((double)(now_ns - s->begin_ns) - COLD_NS, rounds + 1, s->begin_calls, now);
  return lap_between((double)(now_ns - s->first_ns) - clock, s->is_left ? rounds : rounds - 1, s->first_calls, now);
}

/* The time is rough while all blocks are watched. */
static void time_guest(struct head* head, uint64_t now_ns) {
  const struct shadow* const s = head->shadow;
  const struct sampling* const sampling = &head->owner->sampling;
  const int is_watched = sampling->is_on || sampling->turns != s->turns || s->was_watched;
  const struct lap lap = lap_of(head, now_ns);
  trident_unicorn_worth_of_guest(&head->worth, lap.ns, lap.rounds, calls_ns(head, &lap) / lap.rounds, !is_watched);
}

static void passed(struct head* head, uint64_t now_ns) {
  time_guest(head, now_ns);
  ++head->shadows;
  ++head->passed;
  trident_unicorn_shadow_drop(head);
  const int is_sampled = (head->owner->flags & TRIDENT_UNICORN_VERIFY) == 0;
  /* To hook an exit anew costs a translation, and would be timed with the guest. */
  if (is_sampled && head->passed >= head->owner->shadow_first && is_timed_enough(head))
    trident_unicorn_unhook_exits(head);
}

/* Says what of the guest is not as native code left it, in `what`. */
static int equals(const struct shadow* s, const trident_loop_frame* guest, char what[32]) {
  uint64_t where = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (guest->x[i] == s->after.x[i]) continue;
    snprintf(what, 32, i == 31 ? "sp" : "x%u", i);
    return 0;
  }
  snprintf(what, 32, "nzcv");
  if (guest->nzcv != s->after.nzcv) return 0;
  if (trident_unicorn_mirrors_equal(&s->mirrors, &where)) return 1;
  snprintf(what, 32, "memory at 0x%llx", (unsigned long long)where);
  return 0;
}

static int may_be_equal(struct head* head, const struct shadow* s) {
  uint64_t value = 0;
  uc_reg_read(head->owner->uc, trident_unicorn_register_id(s->telling), &value);
  return value == s->after.x[s->telling];
}

/* Memory that was copied is the guest's still. */
static int is_comparable(struct head* head, const struct shadow* s) {
  trident_unicorn* const h = head->owner;
  return trident_unicorn_regions_hold(h) && s->generation == h->memory.generation;
}

/* The guest is at the block where native code left. */
static void at_point(struct head* head) {
  struct shadow* const s = head->shadow;
  trident_loop_frame guest;
  char what[32] = "";
  const int is_last = ++s->visits >= (s->is_left ? 1 : s->rounds + 1);
  if (!is_last && !may_be_equal(head, s)) return;
  const uint64_t now = trident_unicorn_now_ns();
  if (!is_comparable(head, s) || !trident_unicorn_read_state(head->owner, &guest))
    trident_unicorn_shadow_drop(head);
  else if (equals(s, &guest, what))
    passed(head, now);
  else if (is_last)
    strike(head, what);
}

static void at_exit(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  struct head* const head = data;
  (void)uc, (void)size;
  ++head->owner->calls;
  if (head->shadow != NULL && head->shadow->after.pc == address) at_point(head);
}

static void look_at_clock(const trident_unicorn* h, struct shadow* s) {
  if (s->arrivals == 1) {
    s->first_ns = trident_unicorn_now_ns();
    s->first_calls = calls_now(h);
  }
  if (s->arrivals == s->rounds) {
    s->last_ns = trident_unicorn_now_ns();
    s->last_calls = calls_now(h);
  }
}

void trident_unicorn_shadow_arrival(struct head* head) {
  struct shadow* const s = head->shadow;
  ++s->arrivals;
  if (s->rounds >= TIMED_ROUNDS_MIN) look_at_clock(head->owner, s);
  if (s->after.pc == head->address)
    at_point(head);
  else if (s->arrivals > s->rounds + 1)
    strike(head, "the guest did not come by where it left, or runs end inside of the loop");
}

struct shadow* trident_unicorn_shadow_endless(void) {
  struct shadow* const s = calloc(1, sizeof *s);
  if (s != NULL) s->rounds = UINT64_MAX / 2;
  return s;
}

void trident_unicorn_shadow_compare_at(struct head* head, uint64_t address) {
  head->shadow->after.pc = address;
}

void trident_unicorn_shadow_translated(trident_unicorn* h, uint64_t address, uint64_t size) {
  for (uint32_t i = 0; i < h->head_count; ++i) {
    struct shadow* const s = h->heads[i]->shadow;
    if (s == NULL || !s->is_left) continue;
    if (s->after.pc - 1 - address < size || (s->after.pc == address && s->visits == 0)) s->was_stopped_there = 1;
  }
}

/* ---- The native side. */

static void run(struct head* head, struct shadow* s, uint64_t budget) {
  trident_unicorn_mirrors_copy(&s->mirrors);
  s->after = s->before;
  s->after.region.budget = budget;
  s->after.region.exit = TRIDENT_LOOP_REFUSED;
  head->loop->entry(&s->after, s->mirrors.windows);
  s->rounds = budget - s->after.region.budget;
}

/* Memory that native code has not touched, but should have, is seen only where registers point to it. */
static void watch_pointers(struct head* head, struct shadow* s) {
  for (unsigned i = 0; i < 32; ++i) trident_unicorn_mirrors_watch(head, &s->mirrors, s->before.x[i]);
}

/* Returns whether native code misses at a store over the loop's own instructions. A mirror would take it, a window of
 * the guest's memory never does. */
static int is_at_store_to_itself(struct head* head, const struct shadow* s) {
  const trident_region_frame* const left = &s->after.region;
  if (left->exit_window >= WINDOWS_MAX || (head->stores >> left->exit_window & 1) == 0) return 0;
  if (left->exit_address - head->code_begin >= head->code_end - head->code_begin) return 0;
  head->stores_to_itself = 1;
  return 1;
}

static uint32_t rehearse(struct head* head, struct shadow* s, uint64_t budget) {
  for (uint32_t tries = 0; tries < TRIES_MAX; ++tries) {
    run(head, s, budget);
    if (s->after.region.exit != TRIDENT_LOOP_MISS || is_at_store_to_itself(head, s)) break;
    const uint32_t window = s->after.region.exit_window;
    if (!trident_unicorn_mirrors_extend(head, &s->mirrors, window, s->after.region.exit_address)) break;
  }
  return s->after.region.exit;
}

static int begins_block(struct head* head, uint64_t address) {
  uint32_t before = 0;
  if (address % head->owner->page_bytes == 0) return 1;
  return uc_mem_read(head->owner->uc, address - 4, &before, sizeof before) == UC_ERR_OK &&
         trident_unicorn_ends_block(before);
}

static int hook_exit(struct head* head, uint64_t address) {
  for (uint32_t i = 0; i < head->exit_count; ++i)
    if (head->exits[i] == address) return 1;
  if (head->exit_count == sizeof head->exits / sizeof head->exits[0]) return 0;
  if (head->exits_hooked_ever == EXIT_HOOKS_EVER_MAX) return 0; /* a removed hook stays in Unicorn's list for a while */
  uc_hook* const hook = &head->exit_hooks[head->exit_count];
  if (!trident_unicorn_hook_block(head->owner, hook, (void*)at_exit, head, address)) return 0;
  head->exits[head->exit_count++] = address;
  ++head->exits_hooked_ever;
  return 1;
}

static int may_watch(struct head* head, uint64_t address) {
  return address == head->address || hook_exit(head, address);
}

static void choose_telling(struct shadow* s) {
  s->telling = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (s->before.x[i] != s->after.x[i]) s->telling = i;
}

/* Runs native code up to a point where the guest can be compared. Returns 0 when there is none. */
static int find_point(struct head* head, struct shadow* s) {
  watch_pointers(head, s);
  uint32_t exit = rehearse(head, s, ROUNDS);
  s->is_left = exit == TRIDENT_LOOP_LEFT && s->after.pc != head->address && head->stops_at_exit < 2 &&
               begins_block(head, s->after.pc) && hook_exit(head, s->after.pc);
  if (!s->is_left && s->rounds != 0 && exit != TRIDENT_LOOP_BUDGET) exit = rehearse(head, s, s->rounds);
  choose_telling(s);
  return s->is_left || (s->rounds != 0 && exit == TRIDENT_LOOP_BUDGET && may_watch(head, s->after.pc));
}

static void fruitless(struct head* head) {
  trident_unicorn_shadow_drop(head);
  if (head->passed >= head->owner->shadow_first || (head->owner->flags & TRIDENT_UNICORN_VERIFY) != 0) return;
  if (++head->shadow_tries >= FRUITLESS_MAX)
    trident_unicorn_give_up(
        head, TRIDENT_UNICORN_UNHOOKED,
        head->stores_to_itself ? "the guest rewrites the loop" : "the guest cannot be compared with native code");
}

/* A run of which no end is seen may have ended elsewhere: it does not keep others waiting. */
static int is_waited_for(struct head* head) {
  if (++head->shadow->arrivals_inside <= 2 * ROUNDS) return 1;
  fruitless(head);
  return 0;
}

int trident_unicorn_is_in_shadow(const struct head* head) {
  const trident_unicorn* const h = head->owner;
  if (h->shadows_pending == 0) return 0;
  for (uint32_t i = 0; i < h->head_count; ++i) {
    struct head* const other = h->heads[i];
    if (other == head || other->shadow == NULL) continue;
    if (head->address - other->code_begin < other->code_end - other->code_begin && is_waited_for(other)) return 1;
  }
  return 0;
}

void trident_unicorn_shadow_begin(struct head* head) {
  trident_unicorn* const h = head->owner;
  struct shadow* const s = calloc(1, sizeof *s);
  if (s == NULL || !trident_unicorn_read_state(h, &s->before)) {
    free(s);
    return;
  }
  s->before.pc = head->address;
  head->shadow = s;
  ++h->shadows_pending;
  s->generation = h->memory.generation;
  if (!find_point(head, s)) return fruitless(head);
  head->shadow_tries = 0;
  s->turns = h->sampling.turns;
  s->was_watched = h->sampling.is_on;
  s->begin_calls = calls_now(h);
  s->begin_ns = h->last_shadow_ns = trident_unicorn_now_ns();
}
