/* A toy: the integer instructions of AArch64 that loops of compilers need, interpreted one by one. */
#ifndef TOY_CPU_H
#define TOY_CPU_H

#include <stdint.h>

/* Guest addresses [base, base + size) are the host's memory from host on. */
typedef struct toy_memory {
  uint64_t base, size;
  uint8_t* host;
} toy_memory;

#define TOY_MEMORIES 2

typedef struct toy_cpu {
  uint64_t x[32]; /* x[31] is sp */
  uint64_t pc;
  uint32_t nzcv; /* in bits 31 to 28 */
  toy_memory memory[TOY_MEMORIES];
} toy_cpu;

/* Runs the instruction at pc. Returns 0, and changes nothing, where the toy does not know it, or an access lies in no
 * memory. */
int toy_step(toy_cpu* cpu);

#endif
