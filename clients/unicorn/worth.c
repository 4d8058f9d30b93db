/* A guest's round takes one to sixty nanoseconds in Unicorn, an entry one to three hundred: a loop that is left after a
 * few rounds is slower natively. So is one whose visits are refused late, or end at an access that misses: they cost
 * about as much, and save nothing. Periods decide, by their totals: one long visit may pay for many short ones. Visits
 * and rounds are counted exactly; only their prices are estimated. The first period is timed as a whole.
 *
 * What a loop might still gain near the border is less than what it costs to be wrong there. So the guest's price is
 * taken low, the native one high. */
#include "clients/unicorn/worth.h"

#define INSTRUCTION_NS_MIN 0.4  /* Unicorn has no shorter rounds */
#define GUEST_SHARE_MIN 0.1     /* of a run that hooks slow: their prices are not known better than that */
#define INSTRUCTIONS_COUNTED 8u /* a round may leave some out */
#define CALL_SHARE 1.15 /* a loop with many live registers pays more for a call than the one that was measured */
#define MARGIN 1.15     /* native code has to win by */
#define FIRST_PERIOD 256u
#define PERIOD 64u
#define TIMED_EVERY 64u
#define ROUGH_PERIODS 2u /* that decide nothing while the guest's price is rough */
#define SHORT_ROUNDS 8u  /* a shorter run is mostly begin and end, which are cold */
#define ROUGH_MOST 3.0   /* a round may take so many times its rough price */
#define DISTURBED 4.0    /* an entry that takes so many times the least one was interrupted */

void trident_unicorn_worth_of_guest(struct worth* w, double ns, double rounds, double call_ns, int is_exact) {
  if (!is_exact && w->exact != 0) return;
  if (is_exact && w->exact++ == 0) w->guest_ns = w->guest_rounds = w->periods = 0;
  const double round = ns / rounds - CALL_SHARE * call_ns;
  const uint32_t counted = w->instructions < INSTRUCTIONS_COUNTED ? w->instructions : INSTRUCTIONS_COUNTED;
  const double bound = INSTRUCTION_NS_MIN * (counted > 2 ? counted : 2);
  const double share = GUEST_SHARE_MIN * ns / rounds, low = bound > share ? bound : share;
  const double least = round > low ? round : low;
  const int is_short = rounds < SHORT_ROUNDS, was_short = w->guest_rounds < SHORT_ROUNDS;
  if (is_short && !was_short) return;
  if (w->guest_ns != 0 && least >= w->guest_ns && is_short == was_short) return;
  w->guest_ns = least;
  w->guest_rounds = rounds;
}

int trident_unicorn_worth_wants_time(const struct worth* w, uint64_t visits) {
  return w->periods == 0 || visits % TIMED_EVERY == 0;
}

/* Returns whether the period that ends here has lost. */
static int is_lost(const struct worth* w, double visits, double rounds) {
  const double rest = (w->period_ns - w->native_ns * w->period_rounds) / w->period_timed;
  const double native = (rest > 0 ? rest : 0) * visits + w->native_ns * rounds;
  const int is_known = w->guest_ns != 0 && (w->exact != 0 || w->periods >= ROUGH_PERIODS);
  const double guest = w->exact != 0 ? w->guest_ns : ROUGH_MOST * w->guest_ns;
  return is_known && guest * rounds < MARGIN * native;
}

static void begin_period(struct worth* w, uint64_t visits, uint64_t saved) {
  w->period_ns = w->period_rounds = 0;
  w->period_timed = 0;
  w->period_visits = visits;
  w->period_saved = saved;
}

/* A visit that saves no round may be far shorter than an entry, and is no measure of one. */
static void note_entry(struct worth* w, double ns, double rounds) {
  if (w->entry_ns == 0 || ns / rounds < w->native_ns) w->native_ns = ns / rounds;
  if (w->entry_ns == 0 || ns < w->entry_ns) w->entry_ns = ns;
}

static void add(struct worth* w, double ns, double rounds) {
  if (rounds != 0) note_entry(w, ns, rounds);
  const double most = DISTURBED * w->entry_ns + w->native_ns * rounds;
  const double price = w->entry_ns == 0 || ns < most ? ns : most;
  w->timed_ns += price;
  ++w->timed;
  w->period_ns += price;
  w->period_rounds += rounds;
  ++w->period_timed;
}

int trident_unicorn_worth_of_visit(struct worth* w, double ns, uint64_t rounds, uint64_t visits, uint64_t saved) {
  add(w, ns, (double)rounds);
  if (w->period_timed < (w->periods == 0 ? FIRST_PERIOD : PERIOD)) return 0;
  const int has_lost = is_lost(w, (double)(visits - w->period_visits), (double)(saved - w->period_saved));
  ++w->periods;
  begin_period(w, visits, saved);
  return has_lost;
}
