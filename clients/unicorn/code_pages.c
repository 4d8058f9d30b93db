/* Declares to the loops which memory they may touch, and where they may store.
 *
 * Native stores do not drop translated code, as the guest's own do. So no window for stores covers a page with code:
 * an executable page is declared as such, and in memory that may be written, the pages where Unicorn has translated code
 * are. Scripts map all of theirs writable and executable; compilers of guests make theirs so by turns, and translations
 * outlive the turn. Unicorn tells of each translation (an edge hook). */
#include "clients/unicorn/handle.h"

static int is_writable(const struct piece* piece) {
  return (piece->perms & UC_PROT_WRITE) != 0;
}

static void declare(trident_unicorn* h, const struct piece* piece, uint64_t begin, uint64_t last,
                    uint32_t permissions) {
  const trident_loop_memory memory = {sizeof memory, permissions, begin, last - begin + 1,
                                      piece->host + (begin - piece->begin)};
  trident_loops_map(h->loops, &memory);
}

/* Code is compared before each entry where it is declared writable. Programs that announce nothing may change any. */
static uint32_t permissions_of(const trident_unicorn* h, const struct piece* piece) {
  const int is_watched = (h->flags & TRIDENT_UNICORN_ANNOUNCED) == 0 && (piece->perms & UC_PROT_EXEC) != 0;
  return piece->perms | (is_watched ? TRIDENT_LOOP_WRITE : 0u);
}

static int has_code(const trident_unicorn* h, uint64_t page) {
  return trident_unicorn_set_has(&h->memory.code_pages, page);
}

/* Declares the pages with code around `page` as executable. */
static void declare_code_around(trident_unicorn* h, const struct piece* piece, uint64_t page) {
  const uint64_t first_page = piece->begin / PAGE_BYTES, last_page = piece->last / PAGE_BYTES;
  uint64_t from = page, to = page;
  while (from > first_page && has_code(h, from - 1)) --from;
  while (to < last_page && has_code(h, to + 1)) ++to;
  uint64_t begin = from * PAGE_BYTES, last = to * PAGE_BYTES + (PAGE_BYTES - 1);
  if (begin < piece->begin) begin = piece->begin;
  if (last > piece->last) last = piece->last;
  trident_loops_unmap(h->loops, begin, last - begin + 1);
  declare(h, piece, begin, last, permissions_of(h, piece) | UC_PROT_EXEC);
}

/* Declares all pages with code of a piece: the first of neighbours does for all. */
static void declare_code(trident_unicorn* h, const struct piece* piece) {
  const struct address_set* const pages = &h->memory.code_pages;
  const uint64_t first_page = piece->begin / PAGE_BYTES, last_page = piece->last / PAGE_BYTES;
  for (uint32_t i = 0; i < pages->slot_count; ++i) {
    const uint64_t page = pages->slots[i] - 1;
    if (pages->slots[i] == 0 || page < first_page || page > last_page) continue;
    if (page == first_page || !has_code(h, page - 1)) declare_code_around(h, piece, page);
  }
}

void trident_unicorn_declare_piece(trident_unicorn* h, const struct piece* piece) {
  if (piece->host == NULL) return;
  if (!is_writable(piece)) {
    declare(h, piece, piece->begin, piece->last, permissions_of(h, piece));
    return;
  }
  declare(h, piece, piece->begin, piece->last, piece->perms & (uint32_t)~UC_PROT_EXEC);
  declare_code(h, piece);
}

void trident_unicorn_code_seen(trident_unicorn* h, uint64_t address, uint64_t size) {
  const uint64_t first_page = address / PAGE_BYTES, last_page = (address + (size != 0 ? size - 1 : 0)) / PAGE_BYTES;
  for (uint64_t page = first_page; page <= last_page; ++page) {
    if (trident_unicorn_set_add(&h->memory.code_pages, page) == 0) continue;
    const struct piece* const piece = trident_unicorn_piece_of(h, page == first_page ? address : page * PAGE_BYTES);
    if (piece != NULL && piece->host != NULL && is_writable(piece)) declare_code_around(h, piece, page);
  }
}

void trident_unicorn_drop_translations(trident_unicorn* h, int executable_only) {
  for (uint32_t i = 0; i < h->memory.count; ++i) {
    const struct piece* const piece = &h->memory.pieces[i];
    if (executable_only && (piece->perms & UC_PROT_EXEC) == 0) continue;
    uc_ctl_remove_cache(h->uc, piece->begin, piece->last + 1);
  }
}
