/* Loops for the toy emulator: those of tests/loops/kernels, as a compiler made them at -O2. */
#ifndef TOY_LOOPS_H
#define TOY_LOOPS_H

#include "toy_cpu.h"

#define TOY_CODE 0x100000u
#define TOY_DATA 0x200000u
#define TOY_DATA_BYTES 0x40000u
#define TOY_WORDS_MAX 12
#define TOY_SETTINGS_MAX 8

/* A register's value before the loop, or a word of memory's where `address` is not 0. */
typedef struct toy_setting {
  uint32_t number;
  uint64_t value;
  uint64_t address;
} toy_setting;

typedef struct toy_loop {
  const char* name;
  uint32_t words[TOY_WORDS_MAX]; /* ends with 0 */
  toy_setting settings[TOY_SETTINGS_MAX];
} toy_loop;

extern const toy_loop toy_loops[];
extern const unsigned toy_loop_count;

/* Fills the data and sets the registers: pc is at the loop's head. Returns the loop's bytes. */
uint32_t toy_begin(toy_cpu* cpu, const toy_loop* loop);

#endif
