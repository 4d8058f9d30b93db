#include "kernels.h"

#define COLUMN 200u /* pixels of a column, at most */
#define POST 6u     /* pixels of a post of a patch */

static uint64_t memset_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)b, (void)c, (void)t;
  for (uint64_t i = 0; i < n; ++i) a[i] = 7;
  return n;
}

static uint64_t memset_u32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)b, (void)c, (void)t;
  for (uint64_t i = 0; i < n; ++i) ((uint32_t*)a)[i] = 0x12345678;
  return n;
}

static uint64_t memcpy_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  for (uint64_t i = 0; i < n; ++i) a[i] = b[i];
  return n;
}

static uint64_t memcpy_u32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  for (uint64_t i = 0; i < n; ++i) ((uint32_t*)a)[i] = ((const uint32_t*)b)[i];
  return n;
}

struct pair {
  uint64_t first, second;
};
static uint64_t memcpy_ldp16(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  for (uint64_t i = 0; i < n; ++i) ((struct pair*)a)[i] = ((const struct pair*)b)[i];
  return n;
}

static uint64_t strlen_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c, (void)t;
  const uint8_t* at = b;
  b[n - 1] = 0;
  while (*at != 0) ++at;
  return (uint64_t)(at - b);
}

static uint64_t memchr_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c, (void)t;
  uint64_t i = 0;
  for (; i < n; ++i)
    if (b[i] == 1) break; /* no byte is 1 */
  return i;
}

static uint64_t memcmp_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)t;
  for (uint64_t i = 0; i < n; ++i)
    if (b[i] != c[i]) return (uint64_t)b[i] - c[i]; /* they are equal */
  return 0;
}

static uint64_t sum_i32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c, (void)t;
  uint32_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) sum += ((const uint32_t*)b)[i];
  return sum;
}

static uint64_t dot_i32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)t;
  uint32_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) sum += ((const uint32_t*)b)[i] * ((const uint32_t*)c)[i];
  return sum;
}

static uint64_t max_i32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c, (void)t;
  int32_t most = INT32_MIN;
  for (uint64_t i = 0; i < n; ++i)
    if (((const int32_t*)b)[i] > most) most = ((const int32_t*)b)[i];
  return (uint32_t)most;
}

static uint64_t hist_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c;
  for (uint64_t i = 0; i < n; ++i) ++t->counts[b[i]];
  return t->counts[2];
}

/* One pass over a copy, since a second pass over what the first has left would find nothing to do. */
static uint64_t bubble_inner(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  int32_t* v = (int32_t*)a;
  uint64_t swaps = 0;
  for (uint64_t i = 0; i < n; ++i) v[i] = ((const int32_t*)b)[i];
  for (uint64_t i = 0; i + 1 < n; ++i) {
    if (v[i] <= v[i + 1]) continue;
    const int32_t kept = v[i];
    v[i] = v[i + 1];
    v[i + 1] = kept;
    ++swaps;
  }
  return swaps;
}

static uint64_t bubble_full(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  int32_t* v = (int32_t*)a;
  uint64_t swaps = 0;
  for (uint64_t i = 0; i < n; ++i) v[i] = ((const int32_t*)b)[i];
  for (uint64_t end = n; end > 1; --end)
    for (uint64_t i = 0; i + 1 < end; ++i) {
      if (v[i] <= v[i + 1]) continue;
      const int32_t kept = v[i];
      v[i] = v[i + 1];
      v[i + 1] = kept;
      ++swaps;
    }
  return swaps;
}

static uint64_t linsearch_i32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c, (void)t;
  uint64_t i = 0;
  for (; i < n; ++i)
    if (((const uint32_t*)b)[i] == 1) break; /* no word is 1 */
  return i;
}

static uint64_t blend_u8(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)t;
  for (uint64_t i = 0; i < n; ++i) a[i] = (uint8_t)((b[i] * 77u + c[i] * 179u) >> 8);
  return n;
}

static uint64_t crc32_tab(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)a, (void)c;
  uint32_t crc = 0xFFFFFFFF;
  for (uint64_t i = 0; i < n; ++i) crc = t->crc[(crc ^ b[i]) & 0xFF] ^ crc >> 8;
  return ~crc;
}

static uint64_t prefix_i32(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  uint32_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) ((uint32_t*)a)[i] = sum += ((const uint32_t*)b)[i];
  return sum;
}

/* DOOM's columns of a wall: a texture by a position in fixed point, through a colormap, down the screen. */
static uint64_t R_DrawColumn(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)b, (void)c;
  uint32_t position = 0;
  for (uint64_t done = 0; done < n;) {
    const uint64_t count = n - done < COLUMN ? n - done : COLUMN;
    uint8_t* out = a + done;
    for (uint64_t i = 0; i < count; ++i) {
      *out = ((const uint8_t*)t->colormap)[((const uint8_t*)t->source)[position >> 16 & 127]];
      out += 1;
      position += (uint32_t)t->step;
    }
    done += count;
  }
  return position;
}

/* DOOM's rows of a floor: a texture of 64 by 64 by two positions in one word. */
static uint64_t R_DrawSpan(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)b, (void)c;
  uint32_t position = 0;
  for (uint64_t done = 0; done < n;) {
    const uint64_t count = n - done < COLUMN ? n - done : COLUMN;
    uint8_t* out = a + done;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t spot = (position >> 4 & 0x0FC0) | position >> 26;
      *out++ = ((const uint8_t*)t->colormap)[((const uint8_t*)t->source)[spot]];
      position += (uint32_t)t->step;
    }
    done += count;
  }
  return position;
}

/* DOOM's patches: short posts, copied down the screen. */
static uint64_t V_DrawPatch(uint8_t* a, uint8_t* b, uint8_t* c, uint64_t n, struct tables* t) {
  (void)c, (void)t;
  for (uint64_t done = 0; done < n;) {
    uint64_t count = n - done < POST ? n - done : POST;
    uint8_t* out = a + done;
    const uint8_t* in = b + done;
    done += count;
    while (count-- != 0) *out++ = *in++;
  }
  return n;
}

const struct kernel kernels[] = {
    {"memset_u8", memset_u8, 1, 0},
    {"memset_u32", memset_u32, 4, 0},
    {"memcpy_u8", memcpy_u8, 1, 0},
    {"memcpy_u32", memcpy_u32, 4, 0},
    {"memcpy_ldp16", memcpy_ldp16, 16, 0},
    {"strlen", strlen_u8, 1, 0},
    {"memchr", memchr_u8, 1, 0},
    {"memcmp", memcmp_u8, 1, 0},
    {"sum_i32", sum_i32, 4, 0},
    {"dot_i32", dot_i32, 4, 0},
    {"max_i32", max_i32, 4, 0},
    {"hist_u8", hist_u8, 1, 0},
    {"bubble_inner", bubble_inner, 4, 0},
    {"bubble_full", bubble_full, 4, 1},
    {"linsearch_i32", linsearch_i32, 4, 0},
    {"blend_u8", blend_u8, 1, 0},
    {"crc32_tab", crc32_tab, 1, 0},
    {"prefix_i32", prefix_i32, 4, 0},
    {"R_DrawColumn", R_DrawColumn, 1, 0},
    {"R_DrawSpan", R_DrawSpan, 1, 0},
    {"V_DrawPatch", V_DrawPatch, 1, 0},
};
const uint32_t kernel_count = sizeof kernels / sizeof kernels[0];

/* Bytes from 2 to 255: searches for 0 and 1 find nothing. Both arrays that are read are the same. */
void fill_arena(uint8_t* arena, uint64_t address, uint64_t bytes) {
  struct tables* t = (struct tables*)(arena + TABLES_OFFSET);
  uint8_t* const b = arena + ARRAY_STRIDE;
  uint8_t* const c = arena + 2 * ARRAY_STRIDE;
  uint32_t state = 12345;
  for (uint64_t i = 0; i < bytes; ++i) {
    state = state * 1664525 + 1013904223;
    arena[i] = 0;
    b[i] = c[i] = (uint8_t)(2 + (state >> 16) % 254);
  }
  for (uint32_t i = 0; i < 4096; ++i) t->texture[i] = (uint8_t)(i * 37 >> 2);
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    t->crc[i] = crc;
    t->colors[i] = (uint8_t)(255 - i);
    t->counts[i] = 0;
  }
  const uint64_t place = address + TABLES_OFFSET;
  t->source = place + (uint64_t)((uint8_t*)t->texture - (uint8_t*)t);
  t->colormap = place + (uint64_t)((uint8_t*)t->colors - (uint8_t*)t);
  t->step = 0x4321F;
}

uint64_t hash_arena(const uint8_t* arena) {
  const struct tables* t = (const struct tables*)(arena + TABLES_OFFSET);
  uint64_t hash = 0xCBF29CE484222325;
  for (uint32_t i = 0; i < TABLES_OFFSET; i += 8) hash = (hash ^ *(const uint64_t*)(arena + i)) * 0x100000001B3;
  for (uint32_t i = 0; i < 256; ++i) hash = (hash ^ t->counts[i]) * 0x100000001B3;
  return hash;
}

uint64_t call_kernel_on(uint32_t k, uint8_t* arena, uint64_t bytes) {
  return kernels[k].fn(arena, arena + ARRAY_STRIDE, arena + 2 * ARRAY_STRIDE, bytes / kernels[k].element_bytes,
                       (struct tables*)(arena + TABLES_OFFSET));
}
