/* The guest's program: all kernels, and a start for qemu-user that runs what standard input says. Freestanding, so that
 * nothing but the kernels costs time. The symbol table has the kernels' table. */
#include "kernels.h"

struct request {
  uint64_t kernel, bytes, calls, fill;
};
struct answer {
  uint64_t cpu_ns, result, hash;
};

uint8_t arena[(ARENA_BYTES + 4095) / 4096 * 4096] __attribute__((aligned(4096)));

static uint64_t call_system(uint64_t number, uint64_t a, uint64_t b, uint64_t c) {
  register uint64_t x8 __asm__("x8") = number;
  register uint64_t x0 __asm__("x0") = a;
  register uint64_t x1 __asm__("x1") = b;
  register uint64_t x2 __asm__("x2") = c;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}

static uint64_t cpu_ns(void) {
  uint64_t time[2];
  call_system(113, 2, (uint64_t)time, 0); /* clock_gettime, CLOCK_PROCESS_CPUTIME_ID */
  return time[0] * 1000000000u + time[1];
}

/* Emulators without system calls begin here. */
uint64_t run_calls(uint64_t kernel, uint64_t bytes, uint64_t calls) {
  uint64_t result = 0;
  for (uint64_t i = 0; i < calls; ++i) result = call_kernel_on((uint32_t)kernel, arena, bytes);
  return result;
}

void serve(void) {
  struct request r;
  while (call_system(63, 0, (uint64_t)&r, sizeof r) == sizeof r) {
    struct answer answer = {0, 0, 0};
    if (r.fill != 0) fill_arena(arena, (uint64_t)arena, r.bytes);
    const uint64_t begin = cpu_ns();
    answer.result = run_calls(r.kernel, r.bytes, r.calls);
    answer.cpu_ns = cpu_ns() - begin;
    if (r.fill != 0) answer.hash = hash_arena(arena);
    call_system(64, 1, (uint64_t)&answer, sizeof answer);
  }
  call_system(94, 0, 0, 0);
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  ldr x0, =stack_end\n"
    "  mov sp, x0\n"
    "  b serve\n"
    ".ltorg\n"
    ".bss\n"
    ".balign 16\n"
    ".skip 65536\n"
    "stack_end:\n"
    ".text\n");
