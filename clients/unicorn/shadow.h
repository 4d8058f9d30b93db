/* Copies of the guest's memory for a shadow run: a mirror per piece, of which only the chunks that native code may
 * touch are copied. Windows that overlap see one memory, as they do in the guest; so do pieces that show the same
 * memory of this process. */
#ifndef TRIDENT_UNICORN_SHADOW_H
#define TRIDENT_UNICORN_SHADOW_H

#include "clients/unicorn/handle.h"

struct mirror {
  uint64_t begin, last;
  const uint8_t* real;
  uint8_t* bytes; /* as many as the piece has; the system gives memory for what is touched */
  uint8_t* is_copied;
};

struct mirrors {
  struct mirror of[WINDOWS_MAX];
  uint32_t count;
  uint64_t copied_bytes;
  trident_region_window windows[WINDOWS_MAX];
};

void trident_unicorn_mirrors_free(struct mirrors* m);
/* Makes window `number` reach to `address` at least. Returns 0 where it may not, or where that takes too much memory.
 */
int trident_unicorn_mirrors_extend(const struct head* head, struct mirrors* m, unsigned number, uint64_t address);
/* Copies the memory around `address`, too, if it may be written. */
void trident_unicorn_mirrors_watch(const struct head* head, struct mirrors* m, uint64_t address);
/* Copies the guest's memory anew. */
void trident_unicorn_mirrors_copy(struct mirrors* m);
/* Returns whether the guest's memory is what the mirrors hold, else where it is not. */
int trident_unicorn_mirrors_equal(const struct mirrors* m, uint64_t* where);

/* A shadow run that waits for ever. */
struct shadow* trident_unicorn_shadow_endless(void);
/* Makes it compare where the guest comes to `address`. */
void trident_unicorn_shadow_compare_at(struct head* head, uint64_t address);

#endif
