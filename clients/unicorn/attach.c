/* The C ABI's edge. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/unicorn/handle.h"

#define COPY_MIN(a, b) ((a) < (b) ? (a) : (b))

static _Thread_local const char* last_error = "";

trident_status trident_unicorn_fail(trident_status status, const char* sentence) {
  last_error = sentence;
  return status;
}

const char* trident_unicorn_error(void) {
  return last_error;
}

uint64_t trident_unicorn_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static trident_status check_guest(uc_engine* uc) {
  size_t architecture = 0, mode = 0;
  uc_query(uc, UC_QUERY_ARCH, &architecture);
  uc_query(uc, UC_QUERY_MODE, &mode);
  if (architecture == UC_ARCH_ARM64 && (mode & UC_MODE_BIG_ENDIAN) == 0) return TRIDENT_OK;
  return trident_unicorn_fail(TRIDENT_E_UNSUPPORTED, "the guest must be AArch64 in little-endian order");
}

static uint32_t or_default(uint32_t value, uint32_t by_default) {
  return value != 0 ? value : by_default;
}

static trident_status check_regions(const trident_unicorn_options* options) {
  for (uint32_t i = 0; i < options->region_count; ++i) {
    const trident_unicorn_region* const region = &options->regions[i];
    const int is_known =
        region->kind == TRIDENT_UNICORN_KEEP || (region->kind == TRIDENT_UNICORN_POINTER && region->host != NULL);
    if (region->size == 0 || !is_known)
      return trident_unicorn_fail(TRIDENT_E_INVALID, "a named region needs a size, a kind, and POINTER a host pointer");
    if (region->size - 1 > UINT64_MAX - region->base)
      return trident_unicorn_fail(TRIDENT_E_INVALID, "a named region wraps around the end of the address space");
  }
  return TRIDENT_OK;
}

static void set_options(trident_unicorn* h, const trident_unicorn_options* options) {
  const uint64_t adopt_max = UINT64_C(1) << 30; /* uc_mem_write() takes no more than 2 GiB */
  size_t page_bytes = PAGE_BYTES;
  uc_query(h->uc, UC_QUERY_PAGE_SIZE, &page_bytes);
  h->page_bytes = (uint32_t)page_bytes;
  h->flags = options->flags;
  h->budget = or_default(options->budget, 65536);
  h->shadow_first = or_default(options->shadow_first, 8);
  h->shadow_mask = (UINT64_C(1) << COPY_MIN(or_default(options->shadow_shift, 16), 63u)) - 1;
  h->sample_blocks = or_default(options->sample_blocks, 2000000);
  h->adopt_bytes_max = options->adopt_bytes_max != 0 ? COPY_MIN(options->adopt_bytes_max, adopt_max) : adopt_max;
}

static trident_status open_handle(trident_unicorn* h, trident_ctx* ctx, const trident_unicorn_options* options) {
  const trident_loops_options loops = {sizeof loops, TRIDENT_AARCH64, options->hot, 0};
  set_options(h, options);
  trident_status status = trident_loops_open(ctx, &loops, &h->loops);
  if (status != TRIDENT_OK) return trident_unicorn_fail(status, "the context opens no loops");
  status = trident_unicorn_memory_open(h, options);
  if (status == TRIDENT_OK) status = trident_unicorn_sampling_open(h);
  return status;
}

trident_status trident_unicorn_attach(uc_engine* uc, trident_ctx* ctx, const trident_unicorn_options* given,
                                      trident_unicorn** handle) {
  trident_unicorn_options options = {.struct_size = sizeof options};
  if (handle != NULL) *handle = NULL;
  if (uc == NULL || ctx == NULL || handle == NULL)
    return trident_unicorn_fail(TRIDENT_E_INVALID, "uc, ctx and handle are needed");
  if (given != NULL) memcpy(&options, given, COPY_MIN(given->struct_size, sizeof options));
  trident_status status = check_guest(uc);
  if (status == TRIDENT_OK) status = check_regions(&options);
  if (status != TRIDENT_OK) return status;
  trident_unicorn* const h = calloc(1, sizeof *h);
  if (h == NULL) return trident_unicorn_fail(TRIDENT_E_MEMORY, "no memory for a handle");
  h->uc = uc;
  status = open_handle(h, ctx, &options);
  if (status == TRIDENT_OK)
    *handle = h;
  else
    trident_unicorn_detach(h);
  return status;
}

void trident_unicorn_detach(trident_unicorn* h) {
  if (h == NULL) return;
  if (h->loops != NULL) {
    trident_unicorn_remove_heads(h);
    trident_unicorn_sampling_close(h);
    trident_unicorn_memory_close(h);
    trident_loops_close(h->loops);
  }
  free(h);
}

void trident_unicorn_exclude(trident_unicorn* h, uint64_t begin, uint64_t end) {
  if (h != NULL) trident_loops_exclude(h->loops, begin, end);
}

void trident_unicorn_pause(trident_unicorn* h, int on) {
  if (h != NULL) h->is_paused = on;
}

static trident_status no_handle(void) {
  return trident_unicorn_fail(TRIDENT_E_INVALID, "a handle and what is asked about are needed");
}

trident_status trident_unicorn_map(trident_unicorn* h, const trident_unicorn_region* region) {
  if (h == NULL || region == NULL) return no_handle();
  struct memory* const m = &h->memory;
  h->memory.is_stale = 1;
  if (region->kind == 0) return TRIDENT_OK;
  const trident_unicorn_options options = {.region_count = 1, .regions = region};
  if (check_regions(&options) != TRIDENT_OK) return TRIDENT_E_INVALID;
  trident_unicorn_unmap(h, region->base, region->size);
  trident_unicorn_region* const named = realloc(m->named, (m->named_count + 2) * sizeof *named);
  if (named == NULL) return trident_unicorn_fail(TRIDENT_E_MEMORY, "no memory for a region");
  named[m->named_count++] = *region;
  m->named = named;
  return TRIDENT_OK;
}

void trident_unicorn_written(trident_unicorn* h, uint64_t base, uint64_t size) {
  if (h != NULL) trident_loops_written(h->loops, base, size);
}

trident_status trident_unicorn_loop(trident_unicorn* h, uint64_t head) {
  return h != NULL ? trident_unicorn_add_head(h, head, 1) : no_handle();
}

static void add_head_to_stats(const struct head* head, trident_unicorn_stats* stats) {
  const struct worth* const w = &head->worth;
  stats->entries += head->entries;
  stats->iterations += head->iterations;
  stats->misses += head->misses;
  stats->not_entered += head->not_entered;
  stats->shadows += head->shadows;
  stats->mismatches += head->mismatches;
  if (w->timed != 0) stats->native_ns += (uint64_t)(w->timed_ns / (double)w->timed * (double)head->visits);
}

static void add_handle_to_stats(const trident_unicorn* h, trident_unicorn_stats* stats) {
  stats->loops = h->head_count;
  stats->heads = h->head_count;
  stats->submitted = h->submitted;
  stats->installed = h->installed;
  stats->refused = h->refused;
  stats->unhooked = h->unhooked;
  stats->sampled_blocks = h->sampling.watched + (h->sampling.is_on ? h->sampling.count : 0);
  stats->adopted_bytes = h->memory.adopted_bytes;
  for (uint32_t i = 0; i < h->head_count; ++i) add_head_to_stats(h->heads[i], stats);
}

void trident_unicorn_get_stats(const trident_unicorn* h, trident_unicorn_stats* stats) {
  if (stats == NULL) return;
  trident_unicorn_stats now = {.struct_size = stats->struct_size};
  if (h != NULL) add_handle_to_stats(h, &now);
  memcpy(stats, &now, COPY_MIN(stats->struct_size, sizeof now));
}

trident_status trident_unicorn_get_loop(const trident_unicorn* h, uint32_t number, trident_unicorn_loop_facts* facts) {
  if (h == NULL || facts == NULL) return no_handle();
  if (number >= h->head_count) return trident_unicorn_fail(TRIDENT_E_INVALID, "there is no loop of this number");
  const struct head* const head = h->heads[number];
  const struct worth* const w = &head->worth;
  trident_unicorn_loop_facts now = {.struct_size = facts->struct_size, .state = head->state, .head = head->address};
  now.entries = head->entries;
  now.iterations = head->iterations;
  now.misses = head->misses;
  now.shadows = head->shadows;
  now.mismatches = head->mismatches;
  now.not_entered = head->not_entered;
  now.guest_ns = w->guest_ns;
  now.native_ns = w->native_ns;
  now.entry_ns = w->entry_ns;
  now.note = head->note[0] != 0 ? head->note : NULL;
  memcpy(facts, &now, COPY_MIN(facts->struct_size, sizeof now));
  return TRIDENT_OK;
}
