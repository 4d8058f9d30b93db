/* Hot loops of a guest that runs in Unicorn (AArch64), as native code.
 *
 *   trident_ctx* ctx = NULL;   trident_unicorn* offload = NULL;
 *   if (trident_open(NULL, &ctx) != TRIDENT_OK)                               // trident_last_error() says why
 *     ...
 *   else if (trident_unicorn_attach(uc, ctx, NULL, &offload) != TRIDENT_OK)   // trident_unicorn_error() says why
 *     ...
 *   uc_emu_start(uc, ...);                                        // as before
 *   trident_unicorn_detach(offload);                              // before uc_close(); NULL: nothing happens
 *   trident_close(ctx);
 *
 * The guest computes what it computes without this, to the bit: registers, flags, memory; and it faults at the same
 * access. What differs:
 *   - pc after a fault. Unicorn 2.0.1 tells a place that the guest came by before, in the fault's block or an earlier
 *     one, unless UC_HOOK_CODE hooks the code. With a handle, pc is the faulting access if native code came to it, else
 *     such a place, and not always the one of Unicorn alone. Who needs the instruction hooks the code, and excludes it.
 *   - loads from pages whose permission to be read was taken away. Unicorn 2.0.1 lets them through while it remembers
 *     an access of the guest's own; it does not remember native ones, so such a load may fault.
 *   - data after the guest has set SCTLR_EL1.EE and the program has cleared it by uc_reg_write(). Unicorn 2.0.1 goes on
 *     in big-endian order until the guest writes the register itself; native code reads the register.
 *   - loops that run natively are invisible to the program's own hooks, and to the instruction count of uc_emu_start().
 *
 * So a program must say
 *   - before attaching, in the options: memory that it made with uc_mem_map_ptr() or uc_mmio_map(), or that it watches
 *     with UC_HOOK_MEM_* hooks, or where it has code translated by uc_ctl_request_cache() that stores may change;
 *   - with trident_unicorn_exclude(): code that it hooks, or that holds an `until` address inside of a loop;
 *   - with trident_unicorn_pause(): that it steps, or counts instructions.
 * A uc_emu_stop() of another thread may get lost while this library moves the guest's pc (some 50 ns an entry): that
 * thread repeats it until uc_emu_start() has returned. So runs with a timeout are left alone (TRIDENT_UNICORN_TIMED).
 * All functions on a handle belong to the thread that runs its engine; hooks may call them, UC_HOOK_MEM_* excepted. */
#ifndef TRIDENT_UNICORN_H
#define TRIDENT_UNICORN_H

#include <unicorn/unicorn.h>

#include "trident.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trident_unicorn trident_unicorn;

typedef enum trident_unicorn_flag {
  /* Every execution of a loop is a shadow run: the guest runs all of its loops itself, native code runs on a copy, and
   * both are compared. Slow; for tests. */
  TRIDENT_UNICORN_VERIFY = 1,
  /* The program tells of every region that it maps, unmaps or protects from now on by trident_unicorn_map() and
   * trident_unicorn_unmap(). Saves a look at Unicorn's regions at each entry (some 40 ns). */
  TRIDENT_UNICORN_ANNOUNCED = 2,
  /* Nothing is sampled: loops are those that trident_unicorn_loop() names. */
  TRIDENT_UNICORN_NO_SAMPLING = 4,
  /* Loops are entered in runs with a timeout, too. Such a timeout gets lost when it comes while this library moves the
   * guest's pc; the next entry sees it, but when there is none the guest runs on. Without this flag, nothing is sampled
   * or entered once an engine has run with a timeout. */
  TRIDENT_UNICORN_TIMED = 8,
  /* One entry may run several loops that stand one behind another in a function, the code between them, and some behind
   * the last. Excluding must then know that code, too: instructions that are hooked there, and `until` addresses. */
  TRIDENT_UNICORN_JOINED = 16,
  /* The guest is a program without privileges: from now on neither it nor a hook writes SCTLR_EL1, which may turn on
   * translation, alignment checks and big-endian data. Saves a look at it at each entry (some 12 ns). */
  TRIDENT_UNICORN_USER_MODE = 32
} trident_unicorn_flag;

typedef enum trident_unicorn_kind {
  TRIDENT_UNICORN_POINTER = 1, /* made by uc_mem_map_ptr(): `host` is its pointer */
  TRIDENT_UNICORN_KEEP = 2     /* a device, or memory that somebody watches: native code never touches it */
} trident_unicorn_kind;

/* Regions that are named nowhere were made by uc_mem_map(). Unicorn does not tell where these lie in this process. So
 * they are adopted: their bytes move to memory of this library, which is mapped in their place with the old
 * permissions. A pointer from uc_mem_map_ptr() would go stale, and a device would be read: such regions must be named.
 */
typedef struct trident_unicorn_region {
  uint64_t base, size; /* whole pages */
  void* host;
  uint32_t kind; /* enum trident_unicorn_kind */
  uint32_t reserved;
} trident_unicorn_region;

typedef struct trident_unicorn_options {
  uint32_t struct_size;   /* sizeof(trident_unicorn_options) */
  uint32_t flags;         /* bits of enum trident_unicorn_flag */
  uint32_t hot;           /* taken jumps back to a loop's head that make it hot; 0: 1024 */
  uint32_t budget;        /* rounds of one entry, so that timeouts and other hooks are not kept waiting; 0: 65536 */
  uint32_t shadow_first;  /* shadow runs before the first entry; 0: 8 */
  uint32_t shadow_shift;  /* then one in 2^shadow_shift entries, and at most one a second; 0: 16 */
  uint32_t sample_blocks; /* blocks that are watched at first; 0: 2 million */
  uint32_t region_count;
  const trident_unicorn_region* regions;
  uint64_t adopt_bytes_max; /* larger regions are left alone; 0: 1 GiB */
} trident_unicorn_options;

typedef struct trident_unicorn_stats {
  uint32_t struct_size;
  uint32_t loops; /* numbers of trident_unicorn_get_loop() go up to it */
  uint64_t heads, submitted, installed, refused, unhooked;
  uint64_t entries, iterations; /* native runs, and the jumps back to a loop's head in them */
  uint64_t misses, not_entered; /* entries that ended at an access without a window; heads that were not entered */
  uint64_t shadows, mismatches; /* comparisons that were made, and those that failed */
  uint64_t native_ns;           /* estimated from one entry in 64 */
  uint64_t sampled_blocks;      /* blocks that were watched, at some 7 ns each */
  uint64_t adopted_bytes;
} trident_unicorn_stats;

typedef enum trident_unicorn_state {
  TRIDENT_UNICORN_WAITING = 0,
  TRIDENT_UNICORN_INSTALLED = 1,
  TRIDENT_UNICORN_REFUSED = 2,
  TRIDENT_UNICORN_MISMATCHED = 3, /* a shadow run differed: the guest keeps its own loop */
  TRIDENT_UNICORN_UNHOOKED = 4    /* native code gained nothing */
} trident_unicorn_state;

typedef struct trident_unicorn_loop_facts {
  uint32_t struct_size;
  uint32_t state; /* enum trident_unicorn_state */
  uint64_t head;
  uint64_t entries, iterations, misses, shadows, mismatches, not_entered;
  double guest_ns, native_ns; /* of one iteration, before and after; 0: not measured */
  double entry_ns;            /* price of an entry */
  const char* note;           /* why it is not installed, or NULL; lives as long as the handle */
} trident_unicorn_loop_facts;

/* Begins. On an error *handle is NULL, of which all functions make nothing. `ctx` must outlive the handle, and the
 * handle must be detached before uc_close(). Errors: TRIDENT_E_UNSUPPORTED (no AArch64 guest in little-endian order),
 * TRIDENT_E_MEMORY, TRIDENT_E_INVALID; trident_unicorn_error() says more. */
TRIDENT_API trident_status trident_unicorn_attach(uc_engine* uc, trident_ctx* ctx,
                                                  const trident_unicorn_options* options, trident_unicorn** handle);
/* Ends, at any time: removes all hooks, and gives adopted memory back to Unicorn, which owns all of its regions again.
 * Should that fail for want of memory, the adopted memory stays, and is never freed; so does adopted memory of which a
 * whole region was named as TRIDENT_UNICORN_KEEP since, as it may be a device by now. */
TRIDENT_API void trident_unicorn_detach(trident_unicorn* handle);
/* Returns a sentence about the last failure of this thread. */
TRIDENT_API const char* trident_unicorn_error(void);

/* Loops with instructions in [begin, end) are neither made nor entered from now on. */
TRIDENT_API void trident_unicorn_exclude(trident_unicorn* handle, uint64_t begin, uint64_t end);
/* While `on` is not 0, no loop is entered: for single steps, and runs with an instruction count. */
TRIDENT_API void trident_unicorn_pause(trident_unicorn* handle, int on);
/* Tells of a region after uc_mem_map_ptr(), uc_mmio_map() or other permissions; one of uc_mem_map() needs telling only
 * with TRIDENT_UNICORN_ANNOUNCED (kind 0, host NULL: it is adopted). */
TRIDENT_API trident_status trident_unicorn_map(trident_unicorn* handle, const trident_unicorn_region* region);
/* Tells that [base, base + size) was unmapped, or is about to be. */
TRIDENT_API void trident_unicorn_unmap(trident_unicorn* handle, uint64_t base, uint64_t size);
/* Tells that code in [base, base + size) was changed by the program; needed with TRIDENT_UNICORN_ANNOUNCED only. */
TRIDENT_API void trident_unicorn_written(trident_unicorn* handle, uint64_t base, uint64_t size);

/* Asks for the loop with this head now, hot or not. One that was given up is tried again. */
TRIDENT_API trident_status trident_unicorn_loop(trident_unicorn* handle, uint64_t head);
TRIDENT_API void trident_unicorn_get_stats(const trident_unicorn* handle, trident_unicorn_stats* stats);
TRIDENT_API trident_status trident_unicorn_get_loop(const trident_unicorn* handle, uint32_t number,
                                                    trident_unicorn_loop_facts* facts);

#ifdef __cplusplus
}
#endif
#endif
