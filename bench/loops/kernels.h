/* The kernels of the bench: integer loops that programs have, compiled for guest and host from one source.
 *
 * All work on an arena, whose layout is the same everywhere: three arrays and a block of small tables. A kernel gets
 * the arena's parts and a number of elements, and returns a number. Calling it again does the same work. */
#ifndef TRIDENT_BENCH_LOOPS_KERNELS_H
#define TRIDENT_BENCH_LOOPS_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The arrays are not a multiple of 2 MiB apart: Unicorn maps addresses directly to entries of its TLB. */
#define ARRAY_BYTES (1u << 20)
#define ARRAY_STRIDE (ARRAY_BYTES + 0x11000u)
#define TABLES_OFFSET (3u * ARRAY_STRIDE)
#define ARENA_BYTES (TABLES_OFFSET + 0x10000u)

struct tables {
  uint64_t source, colormap; /* addresses, of `texture` and `colors`: kernels load them again in every round */
  uint64_t step;
  uint8_t texture[4096];
  uint8_t colors[256];
  uint32_t crc[256];
  uint32_t counts[256];
};

typedef uint64_t (*kernel_fn)(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t);

struct kernel {
  const char* name;
  kernel_fn fn;
  uint32_t element_bytes; /* n is the size in bytes divided by it */
  uint32_t is_quadratic;  /* not run on the largest size */
};
extern const struct kernel kernels[];
extern const uint32_t kernel_count;

/* Fills an arena that the kernel will see at `address`. */
void fill_arena(uint8_t* arena, uint64_t address, uint64_t bytes);
/* Hashes all that kernels may write; the addresses in `tables` are left out. */
uint64_t hash_arena(const uint8_t* arena);
/* Calls kernel number `k` on an arena of this process. */
uint64_t call_kernel_on(uint32_t k, uint8_t* arena, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
