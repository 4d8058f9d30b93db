/* Copies of the guest's memory for shadow runs. */
#include <stdlib.h>
#include <string.h>

#include "clients/unicorn/shadow.h"

#define CHUNK_BYTES (UINT64_C(16) << 10)
#define COPIED_BYTES_MAX (UINT64_C(32) << 20)

static uint64_t bytes_of(const struct mirror* mirror) {
  return mirror->last - mirror->begin + 1;
}

static uint64_t chunk_bytes(const struct mirror* mirror, uint64_t at) {
  const uint64_t left = bytes_of(mirror) - at;
  return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

void trident_unicorn_mirrors_free(struct mirrors* m) {
  for (uint32_t i = 0; i < m->count; ++i) {
    free(m->of[i].bytes);
    free(m->of[i].is_copied);
  }
  m->count = 0;
}

/* Pieces that show the same memory share a mirror: a store to one is seen in the other. Where they show parts of it,
 * there is none. */
static struct mirror* mirror_of(struct mirrors* m, const struct piece* piece) {
  const uint64_t bytes = piece->last - piece->begin + 1;
  for (uint32_t i = 0; i < m->count; ++i) {
    struct mirror* const known = &m->of[i];
    if (known->real == piece->host && bytes_of(known) == bytes) return known;
    if (known->real < piece->host + bytes && piece->host < known->real + bytes_of(known)) return NULL;
  }
  if (m->count == WINDOWS_MAX) return NULL;
  struct mirror* const mirror = &m->of[m->count];
  *mirror = (struct mirror){piece->begin, piece->last, piece->host, NULL, NULL};
  mirror->bytes = malloc(bytes_of(mirror));
  mirror->is_copied = calloc(bytes_of(mirror) / CHUNK_BYTES + 1, 1);
  ++m->count;
  return mirror->bytes != NULL && mirror->is_copied != NULL ? mirror : NULL;
}

static void want(struct mirrors* m, struct mirror* mirror, uint64_t from, uint64_t to) {
  for (uint64_t at = from; at < to; at += CHUNK_BYTES) {
    if (mirror->is_copied[at / CHUNK_BYTES]) continue;
    mirror->is_copied[at / CHUNK_BYTES] = 1;
    m->copied_bytes += chunk_bytes(mirror, at);
  }
}

static int may_touch(const struct head* head, const struct piece* piece, unsigned window) {
  if (piece == NULL || piece->host == NULL || (piece->perms & UC_PROT_READ) == 0) return 0;
  return (head->stores >> window & 1) == 0 || (piece->perms & UC_PROT_WRITE) != 0;
}

void trident_unicorn_mirrors_watch(const struct head* head, struct mirrors* m, uint64_t address) {
  const struct piece* const piece = trident_unicorn_piece_of(head->owner, address);
  if (piece == NULL || piece->host == NULL || (piece->perms & UC_PROT_WRITE) == 0) return;
  struct mirror* const mirror = mirror_of(m, piece);
  const uint64_t at = (address - piece->begin) / CHUNK_BYTES * CHUNK_BYTES;
  if (mirror != NULL) want(m, mirror, at > CHUNK_BYTES ? at - CHUNK_BYTES : 0, at + CHUNK_BYTES);
}

/* Each time it grows by what it has, so that a few tries do. */
int trident_unicorn_mirrors_extend(const struct head* head, struct mirrors* m, unsigned number, uint64_t address) {
  const struct piece* const piece = trident_unicorn_piece_of(head->owner, address);
  if (number >= WINDOWS_MAX || !may_touch(head, piece, number)) return 0;
  struct mirror* const mirror = mirror_of(m, piece);
  trident_region_window* const window = &m->windows[number];
  if (mirror == NULL) return 0;
  const uint64_t at = address - piece->begin, old = window->lo - piece->begin;
  const int is_same = window->span != 0 && window->lo >= piece->begin && window->lo <= piece->last;
  const uint64_t more = is_same ? window->span : CHUNK_BYTES;
  uint64_t from = at > more ? (at - more) / CHUNK_BYTES * CHUNK_BYTES : 0, to = at + more + CHUNK_BYTES;
  to = to > bytes_of(mirror) ? bytes_of(mirror) : to / CHUNK_BYTES * CHUNK_BYTES;
  if (is_same && old < from) from = old;
  if (is_same && old + window->span > to) to = old + window->span;
  if (is_same && from == old && to == old + window->span) return 0; /* it misses at a piece's edge */
  want(m, mirror, from, to);
  *window = (trident_region_window){piece->begin + from, to - from, (uint64_t)(uintptr_t)mirror->bytes - piece->begin};
  return m->copied_bytes <= COPIED_BYTES_MAX;
}

void trident_unicorn_mirrors_copy(struct mirrors* m) {
  for (uint32_t i = 0; i < m->count; ++i) {
    struct mirror* const mirror = &m->of[i];
    for (uint64_t at = 0; at < bytes_of(mirror); at += CHUNK_BYTES)
      if (mirror->is_copied[at / CHUNK_BYTES]) memcpy(mirror->bytes + at, mirror->real + at, chunk_bytes(mirror, at));
  }
}

static int differs(const struct mirror* mirror, uint64_t at, uint64_t* where) {
  const uint64_t bytes = chunk_bytes(mirror, at);
  if (memcmp(mirror->bytes + at, mirror->real + at, bytes) == 0) return 0;
  while (mirror->bytes[at] == mirror->real[at]) ++at;
  *where = mirror->begin + at;
  return 1;
}

int trident_unicorn_mirrors_equal(const struct mirrors* m, uint64_t* where) {
  for (uint32_t i = 0; i < m->count; ++i) {
    const struct mirror* const mirror = &m->of[i];
    for (uint64_t at = 0; at < bytes_of(mirror); at += CHUNK_BYTES)
      if (mirror->is_copied[at / CHUNK_BYTES] && differs(mirror, at, where)) return 0;
  }
  return 1;
}
