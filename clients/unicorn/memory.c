/* Where the guest's memory lies in this process.
 *
 * Unicorn lists its regions, but tells neither where their bytes are nor who made them. So regions of uc_mem_map() are
 * adopted: read, unmapped, and mapped again by uc_mem_map_ptr() onto memory of ours. Nothing tells of changes either:
 * before each entry the list is compared with the last one, and a word of each piece that the loop uses is read through
 * Unicorn, so that a region which was unmapped and made again at the same place is not taken for the adopted one.
 *
 * Memory of ours lives as long as Unicorn may map it, whatever the region is called meanwhile. Where all of a region is
 * named as KEEP nothing can tell, since reading might read a device: then it lives until the region goes. */
#include "clients/unicorn/handle.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536u

static uint64_t bytes_of(const struct piece* piece) {
  return piece->last - piece->begin + 1;
}

const struct piece* trident_unicorn_piece_of(const trident_unicorn* h, uint64_t address) {
  uint32_t low = 0, high = h->memory.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const struct piece* piece = &h->memory.pieces[middle];
    if (address > piece->last)
      low = middle + 1;
    else if (address < piece->begin)
      high = middle;
    else
      return piece;
  }
  return NULL;
}

/* ---- Adoption. */

static int all_zero(const uint8_t* bytes, uint64_t size) {
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Reads a region, leaving pages of zeros untouched: regions may be large and empty. */
static int read_region(uc_engine* uc, uint64_t base, uint64_t size, uint8_t* to) {
  static _Thread_local uint8_t chunk[CHUNK_BYTES];
  for (uint64_t at = 0; at < size; at += sizeof chunk) {
    const uint64_t bytes = size - at < sizeof chunk ? size - at : sizeof chunk;
    if (uc_mem_read(uc, base + at, chunk, bytes) != UC_ERR_OK) return 0;
    if (!all_zero(chunk, bytes)) memcpy(to + at, chunk, bytes);
  }
  return 1;
}

static struct block* new_block(uint64_t base, uint64_t size) {
  struct block* const block = calloc(1, sizeof *block);
  if (block == NULL) return NULL;
  block->allocation = calloc(1, size + HOST_PAGE_BYTES);
  if (block->allocation == NULL) {
    free(block);
    return NULL;
  }
  const uintptr_t place = (uintptr_t)block->allocation + (HOST_PAGE_BYTES - 1);
  block->host = (uint8_t*)(place - place % HOST_PAGE_BYTES);
  block->base = base;
  block->size = size;
  return block;
}

static void free_block(struct block* block) {
  free(block->allocation);
  free(block);
}

/* Translations go first: those that outlived their memory would not notice that code changes. */
static uc_err replace(uc_engine* uc, const struct piece* piece, void* host) {
  uc_ctl_remove_cache(uc, piece->begin, piece->last + 1);
  const uc_err error = uc_mem_unmap(uc, piece->begin, bytes_of(piece));
  if (error != UC_ERR_OK) return error;
  return host != NULL ? uc_mem_map_ptr(uc, piece->begin, bytes_of(piece), piece->perms, host)
                      : uc_mem_map(uc, piece->begin, bytes_of(piece), piece->perms);
}

/* Returns whether Unicorn's bytes at `address` are those at `host`. Ours are changed to see it; a program's own memory
 * may be somebody else's, too, and is only compared. */
static int shows(uc_engine* uc, uint64_t address, uint8_t* host, int is_ours) {
  uint64_t held, seen = 0, shown;
  memcpy(&held, host, sizeof held);
  shown = is_ours ? held ^ 0xA5C3965A3C69F01Eu : held;
  if (is_ours) memcpy(host, &shown, sizeof shown);
  const uc_err error = uc_mem_read(uc, address, &seen, sizeof seen);
  if (is_ours) memcpy(host, &held, sizeof held);
  return error == UC_ERR_OK && seen == shown;
}

static int covers(uint64_t base, uint64_t size, const struct piece* piece) {
  return piece->begin >= base && piece->last - base < size;
}

static int overlaps(const trident_unicorn_region* region, uint64_t begin, uint64_t last) {
  return begin <= region->base + (region->size - 1) && region->base <= last;
}

/* Finds a region of that kind, of any kind if it is 0, that the piece has a byte of. */
static const trident_unicorn_region* named(const struct memory* m, const struct piece* piece, uint32_t kind) {
  for (uint32_t i = 0; i < m->named_count; ++i)
    if ((kind == 0 || m->named[i].kind == kind) && overlaps(&m->named[i], piece->begin, piece->last))
      return &m->named[i];
  return NULL;
}

static const trident_unicorn_region* kept_page(const struct memory* m, uint64_t page) {
  const struct piece piece = {page, page + (PAGE_BYTES - 1), 0, NULL, NULL};
  return named(m, &piece, TRIDENT_UNICORN_KEEP);
}

/* Finds a page of the piece that may be read. Where all are named as KEEP there is none. Where one is, the piece is no
 * device: Unicorn lists these on their own. */
static int readable_page(const struct memory* m, const struct piece* piece, uint64_t* page) {
  const trident_unicorn_region* kept = NULL;
  *page = piece->begin;
  while ((kept = kept_page(m, *page)) != NULL) {
    const uint64_t kept_last = kept->base + (kept->size - 1);
    if (kept_last / PAGE_BYTES >= piece->last / PAGE_BYTES) return 0;
    *page = (kept_last / PAGE_BYTES + 1) * PAGE_BYTES;
  }
  return 1;
}

static uint8_t* block_host(const struct block* block, uint64_t address) {
  return block->host + (address - block->base);
}

/* Returns whether Unicorn still has the piece's memory there, as far as can be told. */
static int is_backed(trident_unicorn* h, const struct piece* piece) {
  uint64_t page = 0;
  if ((piece->host == NULL && piece->block == NULL) || !readable_page(&h->memory, piece, &page)) return 1;
  uint8_t* const host = piece->block != NULL ? block_host(piece->block, page) : piece->host + (page - piece->begin);
  return shows(h->uc, page, host, piece->block != NULL);
}

static struct block* block_of(trident_unicorn* h, const struct piece* piece, uint64_t page) {
  for (struct block* block = h->memory.blocks; block != NULL; block = block->next)
    if (covers(block->base, block->size, piece) && shows(h->uc, page, block_host(block, page), 1)) return block;
  return NULL;
}

/* Returns where native code may touch the piece. Unicorn itself treats pages that may be written, but not read, in two
 * ways: a load after a store there succeeds, one before it faults. So they are the guest's alone. */
static uint8_t* host_of(const struct memory* m, const struct piece* piece) {
  const trident_unicorn_region* const region = named(m, piece, TRIDENT_UNICORN_POINTER);
  if (named(m, piece, TRIDENT_UNICORN_KEEP) != NULL) return NULL;
  if ((piece->perms & (UC_PROT_READ | UC_PROT_WRITE)) == UC_PROT_WRITE) return NULL;
  if (piece->block != NULL) return block_host(piece->block, piece->begin);
  return region != NULL && covers(region->base, region->size, piece)
             ? (uint8_t*)region->host + (piece->begin - region->base)
             : NULL;
}

/* Finds where a piece that is new in the list lies. */
static void place(trident_unicorn* h, struct piece* piece) {
  uint64_t page = 0;
  if (!readable_page(&h->memory, piece, &page)) return;
  piece->block = block_of(h, piece, page);
  piece->host = host_of(&h->memory, piece);
}

static trident_status adopt(trident_unicorn* h, struct piece* piece) {
  if (bytes_of(piece) > h->adopt_bytes_max) return TRIDENT_OK;
  struct block* const block = new_block(piece->begin, bytes_of(piece));
  if (block == NULL || !read_region(h->uc, piece->begin, bytes_of(piece), block->host)) {
    if (block != NULL) free_block(block);
    return trident_unicorn_fail(TRIDENT_E_MEMORY, "no memory for the guest's regions");
  }
  if (replace(h->uc, piece, block->host) != UC_ERR_OK) {
    const int is_back = uc_mem_map(h->uc, piece->begin, bytes_of(piece), piece->perms) == UC_ERR_OK &&
                        uc_mem_write(h->uc, piece->begin, block->host, bytes_of(piece)) == UC_ERR_OK;
    free_block(block);
    return trident_unicorn_fail(TRIDENT_E_MEMORY, is_back ? "Unicorn cannot map memory of this library"
                                                          : "Unicorn has lost a region: it has no memory left");
  }
  block->next = h->memory.blocks;
  h->memory.blocks = block;
  h->memory.adopted_bytes += block->size;
  piece->block = block;
  piece->host = host_of(&h->memory, piece);
  return TRIDENT_OK;
}

/* One failure keeps no other piece from its place: a block of which no piece is known would be freed. */
static trident_status place_new(trident_unicorn* h, struct piece* pieces, const uint8_t* is_kept, uint32_t count) {
  trident_status status = TRIDENT_OK;
  for (uint32_t i = 0; i < count; ++i)
    if (!is_kept[i]) place(h, &pieces[i]);
  for (uint32_t i = 0; i < count; ++i) {
    if (is_kept[i] || pieces[i].block != NULL || named(&h->memory, &pieces[i], 0) != NULL) continue;
    const trident_status adopted = adopt(h, &pieces[i]);
    if (status == TRIDENT_OK) status = adopted;
  }
  return status;
}

static const struct piece* old_piece(trident_unicorn* h, const uc_mem_region* region) {
  const struct piece* const piece = trident_unicorn_piece_of(h, region->begin);
  const int is_same =
      piece != NULL && piece->begin == region->begin && piece->last == region->end && piece->perms == region->perms;
  return is_same && is_backed(h, piece) ? piece : NULL;
}

/* Counts the piece for all blocks that Unicorn may map there. */
static void count_piece(struct memory* m, const struct piece* piece) {
  uint64_t page = 0;
  if (piece->block != NULL) ++piece->block->pieces;
  if (piece->block != NULL || readable_page(m, piece, &page)) return;
  for (struct block* block = m->blocks; block != NULL; block = block->next)
    block->pieces += (uint32_t)covers(block->base, block->size, piece);
}

static void free_unused_blocks(struct memory* m) {
  for (struct block* block = m->blocks; block != NULL; block = block->next) block->pieces = 0;
  for (uint32_t i = 0; i < m->count; ++i) count_piece(m, &m->pieces[i]);
  for (struct block** link = &m->blocks; *link != NULL;) {
    struct block* const block = *link;
    if (block->pieces != 0) {
      link = &block->next;
      continue;
    }
    *link = block->next;
    m->adopted_bytes -= block->size;
    free_block(block);
  }
}

static void keep_list(struct memory* m, uc_mem_region* listed, uint32_t count) {
  if (m->listed != NULL) uc_free(m->listed);
  m->listed = listed;
  m->listed_count = count;
}

/* Sets `pieces` from Unicorn's list: old ones stay, the loops forget those that are gone, new ones are placed. */
static trident_status rebuild(trident_unicorn* h, const uc_mem_region* listed, struct piece* pieces, uint8_t* is_kept,
                              uint32_t count) {
  struct memory* const m = &h->memory;
  for (uint32_t i = 0; i < count; ++i) {
    const struct piece* const old = old_piece(h, &listed[i]);
    pieces[i] = (struct piece){listed[i].begin, listed[i].end, listed[i].perms, NULL, NULL};
    is_kept[i] = old != NULL;
    if (old != NULL) pieces[i] = *old;
  }
  for (uint32_t i = 0, j = 0; i < m->count; ++i) {
    while (j < count && pieces[j].begin < m->pieces[i].begin) ++j;
    if (j == count || pieces[j].begin != m->pieces[i].begin || !is_kept[j])
      trident_loops_unmap(h->loops, m->pieces[i].begin, bytes_of(&m->pieces[i]));
  }
  const trident_status status = place_new(h, pieces, is_kept, count);
  free(m->pieces);
  m->pieces = pieces;
  m->count = count;
  free_unused_blocks(m);
  for (uint32_t i = 0; i < count; ++i)
    if (!is_kept[i]) trident_unicorn_declare_piece(h, &pieces[i]);
  return status;
}

static trident_status no_list(trident_unicorn* h, const char* sentence) {
  h->memory.is_stale = 1; /* nothing is entered until it can be had */
  return trident_unicorn_fail(TRIDENT_E_MEMORY, sentence);
}

trident_status trident_unicorn_memory_refresh(trident_unicorn* h) {
  uc_mem_region* listed = NULL;
  uint32_t count = 0;
  ++h->memory.generation;
  if (uc_mem_regions(h->uc, &listed, &count) != UC_ERR_OK)
    return no_list(h, "Unicorn has no memory left to list its regions");
  struct piece* const pieces = calloc(count + 1, sizeof *pieces);
  uint8_t* const is_kept = calloc(count + 1, 1);
  if (pieces == NULL || is_kept == NULL) {
    free(pieces);
    free(is_kept);
    uc_free(listed);
    return no_list(h, "no memory for the list of regions");
  }
  const trident_status status = rebuild(h, listed, pieces, is_kept, count);
  free(is_kept);
  h->memory.is_stale = 0;
  keep_list(&h->memory, listed, count);
  return status;
}

/* A range that wraps around ends with the address space. */
static uint64_t last_of(uint64_t base, uint64_t size) {
  return size - 1 > UINT64_MAX - base ? UINT64_MAX : base + (size - 1);
}

/* Makes what is left of a named region when [base, base + size) goes: up to two parts. */
static uint32_t cut(const trident_unicorn_region* region, uint64_t base, uint64_t size, trident_unicorn_region* left) {
  const uint64_t last = last_of(base, size), region_last = region->base + (region->size - 1);
  uint32_t count = 0;
  if (last < region->base || base > region_last) {
    left[0] = *region;
    return 1;
  }
  if (region->base < base) {
    left[count] = *region;
    left[count++].size = base - region->base;
  }
  if (region_last > last) {
    left[count] = *region;
    left[count].base = last + 1;
    left[count].size = region_last - last;
    if (region->host != NULL) left[count].host = (uint8_t*)region->host + (last + 1 - region->base);
    ++count;
  }
  return count;
}

void trident_unicorn_unmap(trident_unicorn* h, uint64_t base, uint64_t size) {
  if (h == NULL || size == 0) return;
  struct memory* const m = &h->memory;
  m->is_stale = 1;
  ++m->generation; /* shadow runs must not look there any more */
  trident_loops_unmap(h->loops, base, size);
  for (uint32_t i = 0; i < m->count; ++i)
    if (m->pieces[i].begin <= last_of(base, size) && base <= m->pieces[i].last) m->pieces[i].perms = ~0u;
  trident_unicorn_region* const named = calloc(2 * m->named_count + 1, sizeof *named);
  if (named == NULL) return;
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->named_count; ++i) count += cut(&m->named[i], base, size, &named[count]);
  free(m->named);
  m->named = named;
  m->named_count = count;
}

static int list_holds(trident_unicorn* h) {
  uc_mem_region* listed = NULL;
  uint32_t count = 0;
  if (uc_mem_regions(h->uc, &listed, &count) != UC_ERR_OK) return 0;
  const int holds =
      count == h->memory.listed_count && (count == 0 || memcmp(listed, h->memory.listed, count * sizeof *listed) == 0);
  uc_free(listed);
  return holds;
}

static void add_probe(trident_unicorn* h, struct head* head, uint64_t address) {
  const struct piece* const piece = trident_unicorn_piece_of(h, address);
  if (piece == NULL || piece->host == NULL) return;
  const uint32_t number = (uint32_t)(piece - h->memory.pieces);
  for (uint32_t i = 0; i < head->probe_count; ++i)
    if (head->probes[i] == number) return;
  if (head->probe_count < WINDOWS_MAX + 1) head->probes[head->probe_count++] = number;
}

static int probes_are_listed(const trident_unicorn* h, const struct head* head) {
  if (head->probe_generation != h->memory.generation) return 0;
  for (uint32_t i = 0; i < head->window_count; ++i)
    if (head->loop->windows[i].lo != head->probed[i].lo || head->loop->windows[i].span != head->probed[i].span)
      return 0;
  return 1;
}

static void list_probes(trident_unicorn* h, struct head* head) {
  head->probe_count = 0;
  add_probe(h, head, head->address);
  for (uint32_t i = 0; i < head->window_count; ++i) {
    head->probed[i] = head->loop->windows[i];
    if (head->probed[i].span != 0) add_probe(h, head, head->probed[i].lo);
  }
  head->probe_generation = h->memory.generation;
}

static int probes_hold(trident_unicorn* h, struct head* head) {
  if (!probes_are_listed(h, head)) list_probes(h, head);
  for (uint32_t i = 0; i < head->probe_count; ++i)
    if (!is_backed(h, &h->memory.pieces[head->probes[i]])) return 0;
  return 1;
}

int trident_unicorn_regions_hold(trident_unicorn* h) {
  const int is_watched = (h->flags & TRIDENT_UNICORN_ANNOUNCED) == 0;
  if (!h->memory.is_stale && (!is_watched || list_holds(h))) return 1;
  (void)trident_unicorn_memory_refresh(h); /* a region that cannot be adopted is the guest's alone */
  return 0;
}

int trident_unicorn_windows_hold(trident_unicorn* h, struct head* head) {
  if ((h->flags & TRIDENT_UNICORN_ANNOUNCED) != 0 || probes_hold(h, head)) return 1;
  (void)trident_unicorn_memory_refresh(h); /* likewise */
  return 0;
}

trident_status trident_unicorn_memory_open(trident_unicorn* h, const trident_unicorn_options* options) {
  struct memory* const m = &h->memory;
  m->named = calloc(options->region_count + 1, sizeof *m->named);
  if (m->named == NULL) return trident_unicorn_fail(TRIDENT_E_MEMORY, "no memory");
  if (options->region_count != 0) memcpy(m->named, options->regions, options->region_count * sizeof *m->named);
  m->named_count = options->region_count;
  const trident_status status = trident_unicorn_memory_refresh(h);
  trident_unicorn_drop_translations(h, 0);
  return status;
}

/* Gives adopted memory back. What Unicorn cannot take stays where it is, for good. */
static void give_back(trident_unicorn* h, struct piece* piece) {
  if (piece->block == NULL || !is_backed(h, piece)) return;
  uint8_t* const host = block_host(piece->block, piece->begin);
  if (replace(h->uc, piece, NULL) == UC_ERR_OK) {
    uc_mem_write(h->uc, piece->begin, host, bytes_of(piece));
    piece->block = NULL;
  } else {
    uc_mem_map_ptr(h->uc, piece->begin, bytes_of(piece), piece->perms, host);
  }
}

void trident_unicorn_memory_close(trident_unicorn* h) {
  struct memory* const m = &h->memory;
  (void)trident_unicorn_memory_refresh(h); /* there is nobody to tell: all that is known is given back */
  for (uint32_t i = 0; i < m->count && !m->is_stale; ++i) give_back(h, &m->pieces[i]);
  if (!m->is_stale) free_unused_blocks(m);
  if (m->listed != NULL) uc_free(m->listed);
  free(m->pieces);
  free(m->named);
  trident_unicorn_set_free(&m->code_pages);
}
