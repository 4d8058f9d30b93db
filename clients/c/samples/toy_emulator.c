/* A minimal emulator that uses Trident's guest loops: it shows all that an emulator has to do, and that this needs no
 * emulator of others. For each loop of toy_loops.c it prints nanoseconds per round, interpreted and swapped, after it
 * has compared registers, flags and all memory. Exit status 1 when one differs or gets no code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/c/trident_loop.h"
#include "toy_cpu.h"
#include "toy_loops.h"

enum { TURN_NS = 20000000, WAIT_MS = 30000 };

/* Loops of one guest: here it has only one, at TOY_CODE. */
typedef struct toy_swap {
  trident_loops* loops;
  trident_loop* loop;
  uint32_t code_bytes;
} toy_swap;

typedef struct toy_state {
  toy_cpu cpu;
  uint8_t data[TOY_DATA_BYTES];
} toy_state;

static uint8_t code[4096], data[TOY_DATA_BYTES];

/* The thread's own time: other programs do not count. */
static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* 1. Tell Trident of guest memory that lies in this process. */
static int map_all(trident_loops* loops, const toy_cpu* cpu) {
  const uint32_t permissions[TOY_MEMORIES] = {TRIDENT_LOOP_READ | TRIDENT_LOOP_EXECUTE,
                                              TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE};
  for (unsigned i = 0; i < TOY_MEMORIES; ++i) {
    const toy_memory* m = &cpu->memory[i];
    const trident_loop_memory memory = {sizeof memory, permissions[i], m->base, m->size, m->host};
    if (trident_loops_map(loops, &memory) != TRIDENT_OK) return 0;
  }
  return 1;
}

/* 2. A backward jump was taken: when its target has become hot, ask for code. This returns at once. */
static void note_jump(toy_swap* swap, uint64_t from, uint64_t to) {
  if (!trident_loops_back_edge(swap->loops, from, to) || swap->loop != NULL) return;
  const trident_loop_request request = {sizeof request, 0, to, TOY_CODE, code, swap->code_bytes};
  if (trident_loop_submit(swap->loops, &request, &swap->loop) != TRIDENT_OK) swap->loop = NULL;
}

/* 3. The guest is at the head of a loop that has code: run it. What it leaves is exact, wherever it stops. */
static void enter(toy_cpu* cpu, trident_loop* loop) {
  trident_loop_frame frame;
  frame.region.budget = UINT64_MAX;
  memcpy(frame.x, cpu->x, sizeof frame.x);
  frame.nzcv = cpu->nzcv;
  frame.pc = cpu->pc;
  if (trident_loop_enter(loop, &frame) == TRIDENT_LOOP_REFUSED) return;
  memcpy(cpu->x, frame.x, sizeof frame.x);
  cpu->nzcv = frame.nzcv;
  cpu->pc = frame.pc;
}

/* Runs the guest until it leaves the loop's code. Returns how often its head ran in the interpreter; 0 at a fault. */
static uint64_t run(toy_cpu* cpu, uint32_t bytes, toy_swap* swap) {
  uint64_t rounds = 0;
  while (cpu->pc - TOY_CODE < bytes) {
    if (cpu->pc == TOY_CODE && swap != NULL && swap->loop != NULL && trident_loop_is_ready(swap->loop))
      enter(cpu, swap->loop);
    if (cpu->pc - TOY_CODE >= bytes) break;
    const uint64_t from = cpu->pc;
    rounds += from == TOY_CODE;
    if (!toy_step(cpu)) return 0;
    if (cpu->pc < from && swap != NULL) note_jump(swap, from, cpu->pc);
  }
  return rounds + 1;
}

static void keep(toy_state* state, const toy_cpu* cpu) {
  state->cpu = *cpu;
  memcpy(state->data, data, sizeof data);
}

static int equal(const toy_state* a, const toy_state* b) {
  return memcmp(a->cpu.x, b->cpu.x, sizeof a->cpu.x) == 0 && a->cpu.pc == b->cpu.pc && a->cpu.nzcv == b->cpu.nzcv &&
         memcmp(a->data, b->data, sizeof a->data) == 0;
}

/* Runs the loop from its beginning until the time is over; nanoseconds per run. The data is filled before each run, and
 * that is not timed. */
static double time_runs(toy_cpu* cpu, const toy_loop* loop, toy_swap* swap, toy_state* last) {
  uint64_t spent = 0, runs = 0;
  for (const uint64_t begin = now_ns(); runs < 3 || now_ns() - begin < TURN_NS; ++runs) {
    const uint32_t bytes = toy_begin(cpu, loop);
    const uint64_t start = now_ns();
    if (run(cpu, bytes, swap) == 0) return 0;
    spent += now_ns() - start;
  }
  keep(last, cpu);
  return (double)spent / (double)runs;
}

/* Runs the guest, with its jumps counted, until the loop has code. */
static int wait_for_code(toy_cpu* cpu, const toy_loop* loop, toy_swap* swap) {
  const struct timespec pause = {0, 1000000};
  for (unsigned ms = 0; ms < WAIT_MS; ++ms) {
    trident_loop_facts facts = {.struct_size = sizeof facts};
    if (swap->loop == NULL) run(cpu, toy_begin(cpu, loop), swap);
    if (swap->loop == NULL) continue; /* too few jumps yet */
    if (trident_loop_info(swap->loop, &facts) != TRIDENT_OK) return 0;
    if (facts.state == TRIDENT_LOOP_READY) return 1;
    if (facts.state == TRIDENT_LOOP_GIVEN_UP) {
      printf("%-12s refused: %s\n", loop->name, facts.note != NULL ? facts.note : "no reason");
      return 0;
    }
    nanosleep(&pause, NULL);
  }
  return 0;
}

static int show(trident_ctx* ctx, toy_cpu* cpu, const toy_loop* loop) {
  static toy_state before, after;
  toy_swap swap = {NULL, NULL, toy_begin(cpu, loop)};
  const uint64_t rounds = run(cpu, swap.code_bytes, NULL);
  const double interpreted = time_runs(cpu, loop, NULL, &before);
  int good = rounds != 0 && trident_loops_open(ctx, NULL, &swap.loops) == TRIDENT_OK && map_all(swap.loops, cpu) &&
             wait_for_code(cpu, loop, &swap);
  const double swapped = good ? time_runs(cpu, loop, &swap, &after) : 0;
  good = good && equal(&before, &after);
  const double each = rounds == 0 ? 0 : 1.0 / (double)rounds;
  printf("%-12s %8.2f ns %8.2f ns %7.1fx   %s\n", loop->name, interpreted * each, swapped * each,
         swapped > 0 ? interpreted / swapped : 0, good ? "equal" : "NO CODE, OR NOT EQUAL");
  if (swap.loops != NULL) trident_loops_close(swap.loops);
  return good;
}

int main(void) {
  trident_ctx* ctx = NULL;
  toy_cpu cpu = {.memory = {{TOY_CODE, sizeof code, code}, {TOY_DATA, sizeof data, data}}};
  int good = 1;
  if (trident_open(NULL, &ctx) != TRIDENT_OK) {
    fprintf(stderr, "toy_emulator: %s\n", trident_last_error());
    return 1;
  }
  printf("%-12s %11s %11s %8s\n", "a round of", "interpreted", "swapped", "ratio");
  for (unsigned i = 0; i < toy_loop_count; ++i) good = show(ctx, &cpu, &toy_loops[i]) && good;
  trident_close(ctx);
  return good ? 0 : 1;
}
