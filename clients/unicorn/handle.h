/* Private parts of a handle. One file each: attach.c (the edge), memory.c (where guest memory lies in this process),
 * code_pages.c (what loops may touch of it), sampling.c (finds hot jumps back), heads.c (loops and their hooks), entry.c
 * (runs native code), last_round.c (leaves the last round to the guest), shadow.c (compares it with the guest), worth.c (tells whether it pays), hook_price.c (prices for
 * that). */
#ifndef TRIDENT_UNICORN_HANDLE_H
#define TRIDENT_UNICORN_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include "clients/c/trident_loop.h"
#include "clients/unicorn/trident_unicorn.h"
#include "clients/unicorn/worth.h"

#define HEADS_MAX 256u
#define WINDOWS_MAX 16u
#define PAGE_BYTES 1024u /* Unicorn's smallest: pieces are whole pages */
#define HOST_PAGE_BYTES 4096u
#define STATE_REGISTERS 33u /* x0..x30, sp, nzcv */

struct address_set {
  uint64_t* slots;
  uint32_t slot_count, count;
};

/* Memory of ours that stands in for a region of uc_mem_map(). */
struct block {
  struct block* next;
  void* allocation;
  uint8_t* host;
  uint64_t base, size;
  uint32_t pieces;
};

/* A region as Unicorn lists it. */
struct piece {
  uint64_t begin, last;
  uint32_t perms;
  uint8_t* host;       /* NULL: native code leaves it alone */
  struct block* block; /* memory of ours that Unicorn maps there, left alone or not; NULL: none, or nothing can tell */
};

struct memory {
  struct piece* pieces;
  uint32_t count;
  struct block* blocks;
  trident_unicorn_region* named;
  uint32_t named_count;
  uc_mem_region* listed; /* Unicorn's own list, as it was */
  uint32_t listed_count;
  uint64_t generation; /* grows whenever pieces change */
  uint64_t adopted_bytes;
  struct address_set code_pages; /* by number: those that Unicorn has translated code of */
  int is_stale;                  /* a change was announced, or the list could not be had */
};

struct sampling {
  uc_hook blocks, edges;
  int is_on;
  uint32_t turns;
  uint64_t last_end;     /* of the block before */
  uint64_t count, limit; /* of blocks in this turn */
  uint64_t watched;      /* blocks in the turns before */
  uint64_t first_ns;     /* when the guest was first seen to run */
  uint64_t next_turn_ns; /* of all code */
  uint64_t edges_told;
  struct address_set seen; /* blocks that were translated once */
};

struct shadow;

/* How a loop counts its rounds. */
struct last_round {
  int is_known, is_narrow;          /* narrow: compares 32 bits */
  unsigned counter, limit_register; /* 31: the limit is a number */
  uint64_t limit;
  int64_t step, before; /* of the counter in a round, and in its part before the comparison */
};

struct head {
  trident_unicorn* owner;
  uint64_t address;
  trident_loop* loop;
  uc_hook hook;
  int is_hooked;
  int is_moved;   /* pc was written in this call of the hook */
  uint32_t state; /* enum trident_unicorn_state */
  int is_ready;
  uint64_t code_begin, code_end; /* all of the loop's instructions lie there */
  uint32_t block_bytes;          /* of the block at the head, unless somebody stops in it */
  uint32_t window_count, stores;
  struct last_round last_round;
  uint64_t submitted_ns, arrivals;
  uint32_t submissions;
  char note[160];
  /* Copying registers: ids, and where in the frame they lie. */
  int read_ids[STATE_REGISTERS + 1], write_ids[STATE_REGISTERS + 1];
  void *read_places[STATE_REGISTERS + 1], *write_places[STATE_REGISTERS + 1]; /* pc behind the last that is counted */
  int read_count, write_count;
  trident_loop_frame frame;
  uc_arm64_cp_reg sctlr; /* SCTLR_EL1, read with the registers */
  /* Pieces that the loop's windows lie in. */
  uint32_t probes[WINDOWS_MAX + 1], probe_count;
  trident_region_window probed[WINDOWS_MAX]; /* windows at that time */
  uint64_t probe_generation;
  /* Statistics. */
  uint64_t entries, iterations, misses, not_entered, shadows, mismatches;
  uint64_t visits; /* entries, and those that were refused late: after looks that cost about as much */
  uint64_t saved;  /* rounds that the guest did not run */
  uint32_t misses_in_a_row;
  struct worth worth;
  struct shadow* shadow;
  uint32_t passed, retimed, shadow_tries, strikes, stops_at_exit;
  int stores_to_itself; /* a shadow run came to a store over the loop's own instructions */
  uc_hook exit_hooks[4];
  uint64_t exits[4];
  uint32_t exit_count, exits_hooked_ever;
};

struct trident_unicorn {
  uc_engine* uc;
  trident_loops* loops;
  uint32_t flags, budget, shadow_first, sample_blocks;
  uint64_t shadow_mask; /* bits that are 0 in the number of an entry that may be a shadow run */
  uint64_t adopt_bytes_max;
  int is_paused;
  uint32_t page_bytes;
  struct memory memory;
  struct sampling sampling;
  struct head* heads[HEADS_MAX];
  uint32_t head_count;
  uint32_t shadows_pending; /* heads whose shadow run has begun */
  uint64_t last_shadow_ns;
  struct prices prices;
  uint64_t calls; /* of heads' and exits' hooks */
  uint64_t submitted, installed, refused, unhooked;
};

/* attach.c */
trident_status trident_unicorn_fail(trident_status status, const char* sentence);
uint64_t trident_unicorn_now_ns(void);

/* address_set.c */
int trident_unicorn_set_has(const struct address_set* set, uint64_t address);
/* Returns 1 if the address is new, -1 if there is no memory to note it. */
int trident_unicorn_set_add(struct address_set* set, uint64_t address);
void trident_unicorn_set_free(struct address_set* set);

/* memory.c */
trident_status trident_unicorn_memory_open(trident_unicorn* h, const trident_unicorn_options* options);
void trident_unicorn_memory_close(trident_unicorn* h);
trident_status trident_unicorn_memory_refresh(trident_unicorn* h);
/* Returns whether Unicorn's regions are still those that the handle knows. If not, it knows them afterwards. */
int trident_unicorn_regions_hold(trident_unicorn* h);
/* Likewise, whether the memory of a loop's windows and code is still where the handle thinks. */
int trident_unicorn_windows_hold(trident_unicorn* h, struct head* head);
const struct piece* trident_unicorn_piece_of(const trident_unicorn* h, uint64_t address);

/* code_pages.c */
/* Tells the loops of a piece that is new, or has other permissions. */
void trident_unicorn_declare_piece(trident_unicorn* h, const struct piece* piece);
/* Tells that Unicorn has translated code at [address, address + size). */
void trident_unicorn_code_seen(trident_unicorn* h, uint64_t address, uint64_t size);
void trident_unicorn_drop_translations(trident_unicorn* h, int executable_only);

/* sampling.c */
trident_status trident_unicorn_sampling_open(trident_unicorn* h);
/* Watches all code for a while, if it is time for that. */
void trident_unicorn_sampling_close(trident_unicorn* h);
void trident_unicorn_sampling_turn(trident_unicorn* h, uint64_t now_ns);

/* heads.c */
/* Submits the loop of a head, if it is not there. `was_named`: by the program, so a loop that was given up is tried
 * again. */
trident_status trident_unicorn_add_head(trident_unicorn* h, uint64_t address, int was_named);
void trident_unicorn_remove_heads(trident_unicorn* h);
/* Takes the loop's hooks away for good. */
void trident_unicorn_give_up(struct head* head, uint32_t state, const char* note);
int trident_unicorn_is_ready(struct head* head);
void trident_unicorn_look_at_parked(trident_unicorn* h);
void trident_unicorn_look_at_refusal(struct head* head);
/* Tells the daemon's statistics of the rounds since the last call. */
void trident_unicorn_tell(struct head* head);
int trident_unicorn_hook_block(trident_unicorn* h, uc_hook* hook, void* callback, void* data, uint64_t address);

/* entry.c */
/* Returns whether pc must not be written, because a timeout may come. */
int trident_unicorn_is_timed(trident_unicorn* h);
void trident_unicorn_at_head(uc_engine* uc, uint64_t address, uint32_t size, void* data);
int trident_unicorn_register_id(unsigned number);
void trident_unicorn_leave_block(uc_engine* uc, uint64_t address);
int trident_unicorn_is_flat(const struct head* head);
int trident_unicorn_read_state(trident_unicorn* h, trident_loop_frame* frame);

/* shadow.c */
int trident_unicorn_wants_shadow(struct head* head);
void trident_unicorn_shadow_begin(struct head* head);
void trident_unicorn_shadow_arrival(struct head* head);
void trident_unicorn_shadow_drop(struct head* head);
/* Returns whether the head lies in a loop of which a shadow run is under way: the guest runs all of that itself. */
int trident_unicorn_is_in_shadow(const struct head* head);
/* Tells that Unicorn has translated a block. */
void trident_unicorn_shadow_translated(trident_unicorn* h, uint64_t address, uint64_t size);
void trident_unicorn_unhook_exits(struct head* head);
/* Returns how long Unicorn takes to call a head's hook, and to walk by the others. */
double trident_unicorn_call_ns(const trident_unicorn* h);

/* last_round.c */
/* Finds out how an installed loop counts its rounds. */
void trident_unicorn_find_last_round(struct head* head);
/* Returns how many rounds begin from the registers in the frame on; 0: that is not known. */
uint64_t trident_unicorn_rounds_left(const struct head* head);

/* hook_price.c */
struct prices trident_unicorn_measure_prices(void);

/* branches.c */
/* Returns whether `word`, at `address`, is a branch to an address that stands in it. */
int trident_unicorn_branches_to(uint32_t word, uint64_t address, uint64_t* target);
/* Returns whether Unicorn ends a block after `word`. */
static inline int trident_unicorn_ends_block(uint32_t word) {
  return (word >> 26 & 7) == 5;
}

#endif
