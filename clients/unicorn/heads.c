/* Loops and the hooks at their heads.
 *
 * The hook is one on blocks, not on instructions. A jump back always begins a block at the head; only the first round,
 * which a loop falls into, is missed. An instruction hook would see that one, too, but while Unicorn 2.0.1 has any, it
 * forgets to set pc when a timeout or another thread stops it, and the program resumes at a wrong instruction. */
#include "clients/unicorn/handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_BEFORE 4096u
#define CODE_AFTER 12288u
#define WAITING_NS UINT64_C(2000000000) /* an engine that is loaded first takes a while, a busy machine too */
#define CLOCK_EVERY_ARRIVALS 256u
#define SUBMISSIONS_MAX 8u /* of code that is rewritten */
#define SUBMISSIONS_OF_SAMPLING_MAX 3u

int trident_unicorn_hook_block(trident_unicorn* h, uc_hook* hook, void* callback, void* data, uint64_t address) {
  if (uc_hook_add(h->uc, hook, UC_HOOK_BLOCK, callback, data, address, address) != UC_ERR_OK) return 0;
  uc_ctl_remove_cache(h->uc, address, address + 4); /* what was translated before has no hook */
  return 1;
}

static void unhook(struct head* head) {
  if (!head->is_hooked) return;
  uc_hook_del(head->owner->uc, head->hook);
  head->is_hooked = 0;
}

static int hook(struct head* head) {
  if (!head->is_hooked)
    head->is_hooked =
        trident_unicorn_hook_block(head->owner, &head->hook, (void*)trident_unicorn_at_head, head, head->address);
  return head->is_hooked;
}

static void set_note(struct head* head, const char* note) {
  snprintf(head->note, sizeof head->note, "%s", note != NULL ? note : "");
}

void trident_unicorn_give_up(struct head* head, uint32_t state, const char* note) {
  trident_unicorn* const h = head->owner;
  trident_unicorn_shadow_drop(head);
  trident_unicorn_unhook_exits(head);
  unhook(head);
  head->state = state;
  head->is_ready = 0;
  set_note(head, note);
  if (state == TRIDENT_UNICORN_REFUSED) ++h->refused;
  if (state == TRIDENT_UNICORN_UNHOOKED) ++h->unhooked;
}

/* ---- Submission. */

static trident_status submit(struct head* head) {
  trident_unicorn* const h = head->owner;
  if (h->memory.is_stale) trident_unicorn_memory_refresh(h); /* regions may have been announced since */
  const struct piece* const piece = trident_unicorn_piece_of(h, head->address);
  if (piece == NULL || piece->host == NULL)
    return trident_unicorn_fail(TRIDENT_E_INVALID, "the loop's head lies in no memory that may be read");
  const uint64_t before = head->address - piece->begin, after = piece->last - head->address + 1;
  const uint64_t begin = head->address - (before < CODE_BEFORE ? before : CODE_BEFORE);
  const uint64_t end = head->address + (after < CODE_AFTER ? after : CODE_AFTER);
  const uint32_t flags = (h->flags & TRIDENT_UNICORN_JOINED) != 0 ? TRIDENT_LOOP_JOINED : 0;
  const trident_loop_request request = {
      sizeof request, flags, head->address, begin, piece->host + (begin - piece->begin), end - begin};
  const trident_status status = trident_loop_submit(h->loops, &request, &head->loop);
  if (status != TRIDENT_OK) return trident_unicorn_fail(status, "the loop cannot be submitted");
  ++h->submitted;
  ++head->submissions;
  head->submitted_ns = trident_unicorn_now_ns();
  head->state = TRIDENT_UNICORN_WAITING;
  return TRIDENT_OK;
}

static struct head* find(trident_unicorn* h, uint64_t address) {
  for (uint32_t i = 0; i < h->head_count; ++i)
    if (h->heads[i]->address == address) return h->heads[i];
  return NULL;
}

void trident_unicorn_tell(struct head* head) {
  struct worth* const w = &head->worth;
  const double visits = (double)(head->visits - w->told_visits), saved = (double)(head->saved - w->told_saved);
  if (head->loop == NULL || visits == 0 || w->timed == 0) return;
  trident_loop_seen(head->loop, (uint64_t)(w->guest_ns * saved), (uint64_t)(w->timed_ns / (double)w->timed * visits));
  w->told_visits = head->visits;
  w->told_saved = head->saved;
}

static void forget_loop(struct head* head) {
  trident_unicorn_tell(head);
  if (head->loop != NULL) trident_loop_close(head->loop);
  head->loop = NULL;
  head->is_ready = 0;
}

/* Asks again for a loop whose code has changed, or that was given up. */
static trident_status ask_again(struct head* head) {
  trident_unicorn_shadow_drop(head);
  forget_loop(head);
  head->shadow_tries = head->misses_in_a_row = 0;
  head->passed = head->retimed = 0;
  memset(&head->worth, 0, sizeof head->worth);
  head->worth.told_visits = head->worth.period_visits = head->visits;
  head->worth.told_saved = head->worth.period_saved = head->saved;
  const trident_status status = submit(head);
  if (status != TRIDENT_OK)
    trident_unicorn_give_up(head, TRIDENT_UNICORN_REFUSED, trident_unicorn_error());
  else if (!hook(head))
    trident_unicorn_give_up(head, TRIDENT_UNICORN_REFUSED, "Unicorn has no memory left for a hook");
  return status;
}

/* A loop that sampling comes upon again may pay by now; one that was refused is refused again. */
static int is_worth_asking(const struct head* head, int was_named) {
  if (head->state == TRIDENT_UNICORN_WAITING || head->state == TRIDENT_UNICORN_INSTALLED) return 0;
  if (was_named) return 1;
  return head->state == TRIDENT_UNICORN_UNHOOKED && head->submissions < SUBMISSIONS_OF_SAMPLING_MAX;
}

trident_status trident_unicorn_add_head(trident_unicorn* h, uint64_t address, int was_named) {
  struct head* head = find(h, address);
  if (head != NULL) return is_worth_asking(head, was_named) ? ask_again(head) : TRIDENT_OK;
  if (h->head_count == HEADS_MAX) return trident_unicorn_fail(TRIDENT_E_LIMIT, "there are 256 loops already");
  head = calloc(1, sizeof *head);
  if (head == NULL) return trident_unicorn_fail(TRIDENT_E_MEMORY, "no memory for a loop");
  head->owner = h;
  head->address = address;
  h->heads[h->head_count++] = head;
  return ask_again(head);
}

void trident_unicorn_remove_heads(trident_unicorn* h) {
  for (uint32_t i = 0; i < h->head_count; ++i) {
    struct head* const head = h->heads[i];
    trident_unicorn_shadow_drop(head);
    trident_unicorn_unhook_exits(head);
    unhook(head);
    forget_loop(head);
    free(head);
  }
  h->head_count = 0;
}

/* ---- From code that has come to an installed loop. */

static void list_registers(struct head* head) {
  uint64_t read = 0, written = 0;
  trident_loop_registers(head->loop, &read, &written);
  read |= written; /* code may store what it did not change */
  head->read_count = head->write_count = 0;
  for (unsigned i = 0; i < STATE_REGISTERS; ++i) {
    void* const place = i == 32 ? (void*)&head->frame.nzcv : (void*)&head->frame.x[i];
    if ((read >> i & 1) != 0) {
      head->read_ids[head->read_count] = trident_unicorn_register_id(i);
      head->read_places[head->read_count++] = place;
    }
    if ((written >> i & 1) != 0) {
      head->write_ids[head->write_count] = trident_unicorn_register_id(i);
      head->write_places[head->write_count++] = place;
    }
  }
  head->write_ids[head->write_count] = UC_ARM64_REG_PC;
  head->write_places[head->write_count] = &head->frame.pc;
  head->sctlr = (uc_arm64_cp_reg){.crn = 1, .crm = 0, .op0 = 3, .op1 = 0, .op2 = 0, .val = ~UINT64_C(0)};
  uc_reg_read(head->owner->uc, UC_ARM64_REG_CP_REG, &head->sctlr);
  if ((head->owner->flags & TRIDENT_UNICORN_USER_MODE) != 0) return; /* it stays as it is */
  head->read_ids[head->read_count] = UC_ARM64_REG_CP_REG;
  head->read_places[head->read_count++] = &head->sctlr;
}

/* Bytes from the head to where Unicorn ends the block: after a branch, or at a page's end. */
static uint32_t block_bytes(trident_unicorn* h, uint64_t head) {
  const uint64_t page_end = head - head % h->page_bytes + h->page_bytes;
  uint64_t at = head;
  uint32_t word = 0;
  while (at < page_end && !trident_unicorn_ends_block(word)) {
    if (uc_mem_read(h->uc, at, &word, sizeof word) != UC_ERR_OK) break;
    at += 4;
  }
  return (uint32_t)(at - head);
}

static void install(struct head* head, const trident_loop_facts* facts) {
  head->owner->prices = trident_unicorn_measure_prices();
  list_registers(head);
  head->window_count = facts->windows < WINDOWS_MAX ? facts->windows : WINDOWS_MAX;
  head->stores = facts->stores;
  head->worth.instructions = facts->instructions;
  head->block_bytes = block_bytes(head->owner, head->address);
  head->code_begin = facts->code_begin;
  head->code_end = facts->code_end;
  trident_unicorn_find_last_round(head);
  head->probe_generation = 0; /* of no memory */
  head->state = TRIDENT_UNICORN_INSTALLED;
  head->is_ready = 1;
  ++head->owner->installed;
}

/* The guest has other code there than was submitted. */
static void look_at_other_code(struct head* head) {
  if (head->submissions < SUBMISSIONS_MAX)
    ask_again(head);
  else
    trident_unicorn_give_up(head, TRIDENT_UNICORN_REFUSED, "the guest rewrites the loop again and again");
}

int trident_unicorn_is_ready(struct head* head) {
  trident_loop_facts facts = {.struct_size = sizeof facts};
  if (head->is_ready) return 1;
  if (head->state != TRIDENT_UNICORN_WAITING) return 0;
  if (!trident_loop_is_ready(head->loop) && head->arrivals % CLOCK_EVERY_ARRIVALS != 0) return 0;
  trident_loop_info(head->loop, &facts);
  switch ((trident_loop_state)facts.state) {
    case TRIDENT_LOOP_READY: install(head, &facts); return 1;
    case TRIDENT_LOOP_GIVEN_UP: trident_unicorn_give_up(head, TRIDENT_UNICORN_REFUSED, facts.note); return 0;
    case TRIDENT_LOOP_STALE: look_at_other_code(head); return 0;
    case TRIDENT_LOOP_WAITING: break;
  }
  /* The hook costs more than a short loop: it goes while nothing comes. */
  if (trident_unicorn_now_ns() - head->submitted_ns > WAITING_NS) unhook(head);
  return 0;
}

void trident_unicorn_look_at_parked(trident_unicorn* h) {
  for (uint32_t i = 0; i < h->head_count; ++i) {
    struct head* const head = h->heads[i];
    if (head->state != TRIDENT_UNICORN_WAITING || head->is_hooked) continue;
    head->arrivals = 0;
    if (trident_unicorn_is_ready(head)) hook(head);
  }
}

/* A loop that would not be entered: its code has changed, or it was revoked. */
void trident_unicorn_look_at_refusal(struct head* head) {
  trident_loop_facts facts = {.struct_size = sizeof facts};
  trident_loop_info(head->loop, &facts);
  if (facts.state == TRIDENT_LOOP_GIVEN_UP) {
    trident_unicorn_give_up(head, TRIDENT_UNICORN_REFUSED, facts.note);
  } else if (facts.state == TRIDENT_LOOP_STALE) {
    look_at_other_code(head);
  }
}
