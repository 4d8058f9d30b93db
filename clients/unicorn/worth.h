/* Tells whether a loop pays, from times that others take: no clock and no Unicorn in here. */
#ifndef TRIDENT_UNICORN_WORTH_H
#define TRIDENT_UNICORN_WORTH_H

#include <stdint.h>

/* Times on this machine that no clock inside of a hook sees. */
struct prices {
  double clock_ns;    /* one look at the clock */
  double arrival_ns;  /* Unicorn calls a head's hook, and a shadow run counts it */
  double compared_ns; /* a shadow run compares one register in that call, too */
  double leave_ns;    /* Unicorn goes on elsewhere, because pc was written */
  double listed_ns;   /* a call of a hook walks by one more of them, if there are several */
};

struct worth {
  double guest_ns;                      /* of one round, without hooks; 0: not known */
  uint32_t instructions;                /* of the loop */
  uint32_t exact;                       /* runs that tell it exactly; 0: it is rough */
  double guest_rounds;                  /* of the run that guest_ns is of */
  double native_ns, entry_ns;           /* least price of a round, and of an entry; 0: not known */
  double timed_ns;                      /* of all visits that were timed */
  uint64_t timed;                       /* how many these are */
  double period_ns, period_rounds;      /* of those in this period */
  uint32_t period_timed, periods;       /* how many these are; periods before */
  uint64_t period_visits, period_saved; /* where the period began */
  uint64_t told_visits, told_saved;
};

/* A guest's run by `rounds` rounds with its hook in each; `call_ns` is the price of one call. The first exact run takes
 * the place of rough ones, and what was decided by these is decided anew. */
void trident_unicorn_worth_of_guest(struct worth* w, double ns, double rounds, double call_ns, int is_exact);
/* Returns whether a visit should be timed, if it is the one after so many. */
int trident_unicorn_worth_wants_time(const struct worth* w, uint64_t visits);
/* A visit that took `ns`, all of it counted, and saved the guest `rounds` rounds: none where native code refused late,
 * or left before the first round was over. `visits` and `saved`, the rounds, count from the loop's first visit to this
 * one. Returns whether the loop has lost a period: it should go. */
int trident_unicorn_worth_of_visit(struct worth* w, double ns, uint64_t rounds, uint64_t visits, uint64_t saved);

#endif
