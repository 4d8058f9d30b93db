/* Tells whether a loop pays. A guest's round takes one to sixty nanoseconds in Unicorn, an entry about a hundred: a
 * loop that is left after a few rounds, without stores, is slower natively. Shadow runs time the guest, one entry in 64
 * is timed, too. A loop goes when two batches of entries in a row lost; the worst of a batch is left out, as it may
 * have been interrupted. */
#include "clients/unicorn/handle.h"

/* Measured here, and not seen by a clock inside of the hook: Unicorn's call of it, and its way back after a write of
 * pc. */
#define HOOK_NS 7.0
#define ROUND_NS_MIN 0.8 /* Unicorn has no shorter round */
#define LEAVE_NS 55.0
#define CLOCK_NS 25.0
#define BATCH 16u

void trident_unicorn_worth_of_guest(struct head* head, uint64_t ns, uint64_t arrivals, uint64_t rounds) {
  struct worth* const w = &head->worth;
  const double hooks = trident_unicorn_arrival_ns() * (double)arrivals;
  const double round = ((double)ns - CLOCK_NS - hooks) / (double)rounds;
  const double least = round > ROUND_NS_MIN ? round : ROUND_NS_MIN;
  if (w->guest_ns == 0 || least < w->guest_ns) w->guest_ns = least;
}

void trident_unicorn_worth_tell(struct head* head) {
  struct worth* const w = &head->worth;
  const double entries = (double)(head->entries - w->told_entries);
  const double iterations = (double)(head->iterations - w->told_iterations);
  if (head->loop == NULL || entries == 0 || w->timed == 0) return;
  trident_loop_seen(head->loop, (uint64_t)(w->guest_ns * iterations),
                    (uint64_t)(w->timed_ns / (double)w->timed * entries));
  w->told_entries = head->entries;
  w->told_iterations = head->iterations;
}

static double gain_of_batch(const struct worth* w) {
  double sum = 0, worst = 0;
  for (uint32_t i = 0; i < BATCH; ++i) {
    sum += w->gains[i];
    if (w->gains[i] < worst) worst = w->gains[i];
  }
  return sum - worst;
}

void trident_unicorn_worth_of_entry(struct head* head, uint64_t ns, uint64_t rounds) {
  struct worth* const w = &head->worth;
  const double price = (ns > CLOCK_NS ? (double)ns - CLOCK_NS : 0) + HOOK_NS;
  w->timed_ns += price;
  w->timed_rounds += (double)rounds;
  ++w->timed;
  if (w->entry_ns == 0 || price / (double)rounds < w->native_ns) w->native_ns = price / (double)rounds;
  if (w->entry_ns == 0 || price < w->entry_ns) w->entry_ns = price;
  if (w->guest_ns == 0) return;
  w->gains[w->samples % BATCH] = w->guest_ns * (double)rounds - price - LEAVE_NS;
  if (++w->samples % BATCH != 0) return;
  trident_unicorn_worth_tell(head);
  w->batches_lost = gain_of_batch(w) < 0 ? w->batches_lost + 1 : 0;
  if (w->batches_lost >= 2 && (head->owner->flags & TRIDENT_UNICORN_VERIFY) == 0)
    trident_unicorn_give_up(head, TRIDENT_UNICORN_UNHOOKED, "its rounds are too few to pay for an entry");
}
