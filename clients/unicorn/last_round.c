/* Counts the rounds that a loop has left, so that native code stops before the last one.
 *
 * The guest then runs that round itself, and leaves the loop by its own jump: nothing writes pc, which costs Unicorn
 * 2.0.1 some 25 ns more than a round without stores. One with a store costs more than that.
 *
 * Taken are loops of one block that end with b.ne or cbnz to the head, whose counter moves by constants. When it is
 * compared in round k, it is x + before + (k - 1) * step, and the loop ends when that is `limit`.
 *
 * The count is a budget for native code, which is exact at each budget: a wrong count costs time, and nothing else. */
#include "clients/unicorn/handle.h"

#define ZERO_REGISTER 31u
#define INSTRUCTIONS_MAX 64u

static unsigned target_of(uint32_t word) {
  return word & 31;
}
static unsigned base_of(uint32_t word) {
  return word >> 5 & 31;
}
static int64_t field(uint32_t word, unsigned low, unsigned bits) {
  return (int32_t)(word >> low << (32 - bits)) >> (32 - bits);
}

static int is_add_or_sub_of_constant(uint32_t word) {
  return (word & 0x1F000000u) == 0x11000000u;
}
static uint64_t constant_of(uint32_t word) {
  return (uint64_t)(word >> 10 & 0xFFF) << ((word >> 22 & 1) != 0 ? 12 : 0);
}

static int is_load_or_store(uint32_t word) {
  return (word & 0x0A000000u) == 0x08000000u;
}
static int is_pair(uint32_t word) {
  return (word & 0x3A000000u) == 0x28000000u;
}

/* Returns by how much a load or a store moves its base. */
static int64_t write_back_of(uint32_t word) {
  if (is_pair(word)) return (word & 0x00800000u) != 0 ? field(word, 15, 7) * ((word >> 31) != 0 ? 8 : 4) : 0;
  return (word & 0x3B200400u) == 0x38000400u ? field(word, 12, 9) : 0;
}

/* Tells by how much an instruction moves the register. Returns 0 when it sets it in another way. */
static int moves(uint32_t word, unsigned number, int64_t* by) {
  *by = 0;
  if (is_load_or_store(word)) {
    const int is_store = is_pair(word) ? (word & 0x00400000u) == 0 : (word & 0x00C00000u) == 0;
    if (base_of(word) == number) *by = write_back_of(word);
    return is_store || (target_of(word) != number && (!is_pair(word) || (word >> 10 & 31) != number));
  }
  if (target_of(word) != number) return 1;
  if (!is_add_or_sub_of_constant(word) || base_of(word) != number) return 0;
  *by = (word & 0x40000000u) != 0 ? -(int64_t)constant_of(word) : (int64_t)constant_of(word);
  return 1;
}

/* Adds up how the counter moves. `compared`: the place of the comparison. */
static int add_steps(struct last_round* l, const uint32_t* words, unsigned count, unsigned compared) {
  l->before = l->step = 0;
  for (unsigned i = 0; i < count; ++i) {
    int64_t by = 0, limit_by = 0;
    if (!moves(words[i], l->counter, &by)) return 0;
    if (l->limit_register != ZERO_REGISTER && (!moves(words[i], l->limit_register, &limit_by) || limit_by != 0)) return 0;
    l->step += by;
    if (i < compared) l->before += by;
  }
  return l->step != 0;
}

static int is_comparison_of_registers(uint32_t word) {
  return (word & 0x7FE0FC1Fu) == 0x6B00001Fu; /* cmp without a shift */
}
static int is_subtraction_that_sets_flags(uint32_t word) {
  return (word & 0x7F000000u) == 0x71000000u;
}

/* Finds what b.ne looks at: the last comparison before it. */
static int find_compared(struct last_round* l, const uint32_t* words, unsigned count) {
  unsigned i = count;
  while (i > 0 && !is_comparison_of_registers(words[i - 1]) && !is_subtraction_that_sets_flags(words[i - 1])) --i;
  if (i == 0) return 0;
  const uint32_t word = words[i - 1];
  l->is_narrow = (word >> 31) == 0;
  l->counter = base_of(word);
  l->limit_register = ZERO_REGISTER;
  l->limit = constant_of(word);
  if (is_subtraction_that_sets_flags(word)) return l->counter != 31 && add_steps(l, words, count, i - 1);
  l->limit = 0;
  l->limit_register = word >> 16 & 31;
  if (l->counter != 31 && add_steps(l, words, count, i - 1)) return 1;
  const unsigned swapped = l->counter;
  l->counter = l->limit_register;
  l->limit_register = swapped;
  return l->counter != 31 && add_steps(l, words, count, i - 1);
}

static int find(struct last_round* l, const uint32_t* words, unsigned count) {
  const uint32_t end = words[count];
  if ((end & 0xFF00001Fu) == 0x54000001u) return find_compared(l, words, count);
  if ((end & 0x7F000000u) != 0x35000000u) return 0;
  *l = (struct last_round){.counter = target_of(end), .limit_register = ZERO_REGISTER, .is_narrow = (end >> 31) == 0};
  return l->counter != 31 && add_steps(l, words, count, count);
}

void trident_unicorn_find_last_round(struct head* head) {
  uint32_t words[INSTRUCTIONS_MAX];
  uint64_t target = 0;
  const uint64_t bytes = head->code_end - head->code_begin;
  head->last_round = (struct last_round){0};
  if (head->stores != 0 || head->code_begin != head->address || bytes < 8 || bytes > sizeof words) return;
  if (uc_mem_read(head->owner->uc, head->address, words, bytes) != UC_ERR_OK) return;
  const unsigned last = (unsigned)(bytes / 4 - 1);
  for (unsigned i = 0; i < last; ++i)
    if (trident_unicorn_ends_block(words[i])) return;
  if (!trident_unicorn_branches_to(words[last], head->address + 4 * last, &target) || target != head->address) return;
  head->last_round.is_known = find(&head->last_round, words, last);
}

uint64_t trident_unicorn_rounds_left(const struct head* head) {
  const struct last_round* const l = &head->last_round;
  if (!l->is_known) return 0;
  const uint64_t limit = l->limit_register == ZERO_REGISTER ? l->limit : head->frame.x[l->limit_register];
  const uint64_t counter = head->frame.x[l->counter] + (uint64_t)l->before;
  const uint64_t step = l->step > 0 ? (uint64_t)l->step : -(uint64_t)l->step;
  uint64_t distance = l->step > 0 ? limit - counter : counter - limit;
  if (l->is_narrow) distance = (uint32_t)distance;
  return distance % step == 0 ? distance / step + 1 : 0;
}
