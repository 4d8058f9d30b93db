/* Guest loops, for emulators and virtual machines: hand over the machine code of a hot loop, get native code for it.
 *
 *   trident_loops_open(ctx, NULL, &loops);                     // one per guest CPU
 *   trident_loops_map(loops, &ram);                            // guest RAM that lies in this process
 *   if (trident_loops_back_edge(loops, from, to)) ...          // at backward jumps: 1 when `to` has become hot
 *   trident_loop_submit(loops, &request, &loop);               // returns at once
 *   ... later, with the guest about to run the instruction at the loop's head:
 *   frame.x[..], frame.nzcv, frame.pc = head;                  // those of trident_loop_registers()
 *   exit = trident_loop_enter(loop, &frame);                   // runs rounds of the loop
 *   frame.x[..] .. frame.pc                                    // where the guest goes on, exactly
 *
 * Whatever happens, frame and memory are afterwards what the guest has at frame.pc: a loop that is not ready, or that
 * is refused, leaves them as they were, and the guest runs its own loop. Native code touches only memory that was
 * mapped here. All functions on one trident_loops and its loops belong to one thread at a time; code is swapped in
 * behind them. This header names no emulator. */
#ifndef TRIDENT_LOOP_H
#define TRIDENT_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "trident.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum trident_guest { TRIDENT_AARCH64 = 1 } trident_guest;

/* Addresses [lo, lo + span) of the guest are the host's memory from lo + delta on. */
typedef struct trident_region_window {
  uint64_t lo, span, delta;
} trident_region_window;

/* The first words of every frame. */
typedef struct trident_region_frame {
  uint64_t budget;       /* rounds of the loop that may begin; code takes from it */
  uint64_t exit_address; /* exit MISS: the address that lies in no window */
  uint32_t exit;         /* enum trident_loop_exit */
  uint32_t exit_window;  /* exit MISS: which window it was */
} trident_region_frame;

/* The state of an AArch64 CPU as loops see it; x[31] is sp. */
typedef struct trident_loop_frame {
  trident_region_frame region;
  uint64_t x[32];
  uint64_t pc;
  uint64_t iterations; /* trident_loop_enter() sets it: backward jumps that were taken */
  uint32_t nzcv;       /* N, Z, C, V in bits 31 to 28 */
  uint32_t fpcr, fpsr; /* not used yet */
  uint32_t reserved;
  uint64_t scratch[2]; /* the code's own */
} trident_loop_frame;

typedef enum trident_loop_exit {
  TRIDENT_LOOP_LEFT = 0,   /* the guest goes on at pc, outside of the loop or at an instruction that has no code */
  TRIDENT_LOOP_LAST = 1,   /* at the head, with one round to run */
  TRIDENT_LOOP_BUDGET = 2, /* the budget is used up: pc is where the round would begin */
  TRIDENT_LOOP_MISS = 3,   /* an access lies in no window: pc is its instruction, which the guest runs */
  TRIDENT_LOOP_REFUSED = 4 /* nothing was run: not ready, refused, revoked, excluded, or its code has changed */
} trident_loop_exit;

typedef void (*trident_loop_entry)(trident_loop_frame* frame, const trident_region_window* windows);

typedef struct trident_loops_options {
  uint32_t struct_size; /* sizeof(trident_loops_options) */
  uint32_t guest;       /* enum trident_guest; 0: AArch64 */
  uint32_t hot;         /* taken backward jumps after which a head is hot; 0: 1024 */
  uint32_t reserved;
} trident_loops_options;

#define TRIDENT_LOOPS_EDGES 256u
typedef struct trident_loops_edge {
  uint64_t head;
  uint32_t taken;
  uint32_t reserved;
} trident_loops_edge;
/* The first words of a handle are for trident_loops_back_edge(). The rest is private. */
typedef struct trident_loops {
  uint32_t hot;
  uint32_t reserved;
  trident_loops_edge edges[TRIDENT_LOOPS_EDGES];
} trident_loops;

/* The first words of a handle are for trident_loop_enter(). The rest is private. */
typedef struct trident_loop {
  trident_loop_entry entry;
  const trident_region_window* windows;
  uint64_t head;
  uint32_t checks; /* atomic; not 0: entering needs a look first, because new code is there, say */
  uint32_t reserved;
} trident_loop;

typedef enum trident_loop_permission {
  TRIDENT_LOOP_READ = 1,
  TRIDENT_LOOP_WRITE = 2,
  TRIDENT_LOOP_EXECUTE = 4
} trident_loop_permission;

/* Plain memory of the guest: [base, base + size) is the host's [host, host + size). Nothing is copied. Memory that
 * somebody watches (devices, hooks, translations that stores drop, page protection as a write barrier) must not be
 * mapped here. Native code never stores to memory with TRIDENT_LOOP_EXECUTE, nor to host memory that a region with it
 * shares: the guest does. */
typedef struct trident_loop_memory {
  uint32_t struct_size; /* sizeof(trident_loop_memory) */
  uint32_t permissions; /* bits of enum trident_loop_permission */
  uint64_t base, size;
  void* host;
} trident_loop_memory;

typedef enum trident_loop_request_flag {
  /* The code may stand for the loops behind this one, too, for what stands between them, and for a few instructions
   * behind the last, up to the first call: one entry then does for all. So addresses there count as the loop's: exclude
   * breakpoints, hooks and `until` addresses. */
  TRIDENT_LOOP_JOINED = 1
} trident_loop_request_flag;

/* The code of a loop: bytes of the guest around its head, in the guest's order, at most 16 KiB. Copied. */
typedef struct trident_loop_request {
  uint32_t struct_size; /* sizeof(trident_loop_request) */
  uint32_t flags;       /* bits of enum trident_loop_request_flag */
  uint64_t head;
  uint64_t code_base; /* the guest's address of code[0] */
  const void* code;
  uint64_t code_size;
} trident_loop_request;

typedef enum trident_loop_state {
  TRIDENT_LOOP_WAITING = 0, /* for its code */
  TRIDENT_LOOP_READY = 1,
  TRIDENT_LOOP_GIVEN_UP = 2, /* refused, revoked, or nobody compiles: `note` says why */
  TRIDENT_LOOP_STALE = 3     /* the guest has other code there now: close it */
} trident_loop_state;

typedef struct trident_loop_facts {
  uint32_t struct_size;
  uint32_t state;  /* enum trident_loop_state */
  uint32_t reason; /* GIVEN_UP: row of jit/loop/refusals.def + 1; 0: no refusal of the loop itself */
  uint32_t instructions, windows;
  uint32_t stores;                      /* bit i: the code stores through window i */
  uint64_t code_begin, code_end;        /* all instructions of the loop lie in [code_begin, code_end) of the guest */
  uint64_t reason_address;              /* of the instruction that is the reason */
  uint64_t entries, iterations, misses; /* by trident_loop_enter() */
  uint64_t installed_ns;                /* from submission to code; 0: not yet */
  const char* note;                     /* one sentence, or NULL; lives as long as the loop */
} trident_loop_facts;

TRIDENT_API trident_status trident_loops_open(trident_ctx* ctx, const trident_loops_options* options,
                                              trident_loops** loops);
/* Closes its loops too. */
TRIDENT_API void trident_loops_close(trident_loops* loops);

/* Regions may not overlap: TRIDENT_E_INVALID. For other permissions, unmap and map. Takes effect at the next entry. */
TRIDENT_API trident_status trident_loops_map(trident_loops* loops, const trident_loop_memory* memory);
/* Forgets all of [base, base + size), parts of regions too. */
TRIDENT_API void trident_loops_unmap(trident_loops* loops, uint64_t base, uint64_t size);
/* Tells that [base, base + size) may have changed: loops whose code lies there are compared with it at their next
 * entry. Code in memory that the guest may write is compared at every entry anyway. */
TRIDENT_API void trident_loops_written(trident_loops* loops, uint64_t base, uint64_t size);
/* Loops with instructions in [begin, end) are neither made nor entered from now on: breakpoints, hooks and `until`
 * addresses of the host lie there. */
TRIDENT_API void trident_loops_exclude(trident_loops* loops, uint64_t begin, uint64_t end);

/* Call it at backward jumps that are taken. Returns 1 once, when the jumps to `to` have become as many as `hot`. Where
 * heads share a place in the table, the one that more jumps lead to keeps it. */
static inline int trident_loops_back_edge(trident_loops* loops, uint64_t from, uint64_t to) {
  trident_loops_edge* edge = &loops->edges[(to >> 2) % TRIDENT_LOOPS_EDGES];
  if (to > from) return 0;
  if (edge->head != to) {
    if (edge->taken != 0 && edge->taken < loops->hot) {
      --edge->taken;
      return 0;
    }
    edge->head = to;
    edge->taken = 0;
  }
  return ++edge->taken == loops->hot;
}

/* Asks for code. Returns at once. One loop per head: a second one is TRIDENT_E_INVALID. */
TRIDENT_API trident_status trident_loop_submit(trident_loops* loops, const trident_loop_request* request,
                                               trident_loop** loop);
/* Bit i: x[i], 31: sp, 32: nzcv. What must be in the frame at entry, and what may have changed at an exit; pc always.
 * All ones while the code is not there. */
TRIDENT_API void trident_loop_registers(const trident_loop* loop, uint64_t* read, uint64_t* written);
/* 1 when code is there. */
TRIDENT_API int trident_loop_is_ready(const trident_loop* loop);
TRIDENT_API trident_status trident_loop_info(const trident_loop* loop, trident_loop_facts* facts);
/* Tells how long the rounds since the last call took in native code, and how long the guest would have taken for them,
 * by the host's clock. The daemon's statistics show the sums. */
TRIDENT_API void trident_loop_seen(trident_loop* loop, uint64_t guest_ns, uint64_t kernel_ns);
TRIDENT_API void trident_loop_close(trident_loop* loop);

/* For trident_loop_enter() only. */
TRIDENT_API int trident_loop_look(trident_loop* loop, trident_loop_frame* frame);
TRIDENT_API void trident_loop_left(trident_loop* loop, trident_loop_frame* frame, uint64_t budget);

/* Runs rounds until the loop is left, at most frame->region.budget of them. Set before: the registers of
 * trident_loop_registers(), pc = the head, and budget. Returns the exit. */
static inline uint32_t trident_loop_enter(trident_loop* loop, trident_loop_frame* frame) {
  const uint64_t budget = frame->region.budget;
  frame->region.exit = TRIDENT_LOOP_REFUSED;
  frame->iterations = 0;
  if (__atomic_load_n(&loop->checks, __ATOMIC_RELAXED) != 0 && !trident_loop_look(loop, frame))
    return TRIDENT_LOOP_REFUSED;
  if (budget == 0) return frame->region.exit = TRIDENT_LOOP_BUDGET; /* code would take a round from it first */
  loop->entry(frame, loop->windows);
  if (frame->region.exit != TRIDENT_LOOP_REFUSED) trident_loop_left(loop, frame, budget);
  return frame->region.exit;
}

#ifdef __cplusplus
}
#endif
#endif
