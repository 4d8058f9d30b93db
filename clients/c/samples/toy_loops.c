#include "toy_loops.h"

#include <string.h>

/* Places in the data: bytes, words, results, a table, and a struct with two pointers. */
enum { N = 4096, A = TOY_DATA, B = TOY_DATA + 0x10000, C = TOY_DATA + 0x30000, D = TOY_DATA + 0x38000 };

const toy_loop toy_loops[] = {
    {"memset", {0xb8004401, 0xeb02001f, 0x54ffffc1}, {{0, B, 0}, {1, 7, 0}, {2, B + 4 * N, 0}}},
    {"memcpy",
     {0x38636824, 0x38236804, 0x91000463, 0xeb03005f, 0x54ffff81},
     {{0, B, 0}, {1, A, 0}, {2, N, 0}, {3, 0, 0}}},
    {"memchr",
     {0x91000463, 0xeb03001f, 0x540000a0, 0x386368a4, 0x6b01009f, 0x54ffff61},
     {{0, N, 0}, {1, 256, 0}, {3, 0, 0}, {5, A, 0}}},
    {"sum", {0xb8404401, 0x0b010042, 0xeb00007f, 0x54ffffa1}, {{0, A, 0}, {2, 0, 0}, {3, A + 4 * N, 0}}},
    {"histogram",
     {0x38401403, 0xb8637822, 0x11000442, 0xb8237822, 0xeb00009f, 0x54ffff61},
     {{0, A, 0}, {1, C, 0}, {4, A + N, 0}}},
    {"bubble pass",
     {0x297f8c22, 0x6b03005f, 0x5400006d, 0x91000400, 0x293f8823, 0x91001021, 0xeb04003f, 0x54ffff21},
     {{0, 0, 0}, {1, A + 4, 0}, {4, A + 4 * N, 0}}},
    {"crc32",
     {0x38401402, 0x4a030042, 0x92401c42, 0xb8627822, 0x4a432043, 0xeb00009f, 0x54ffff41},
     {{0, A, 0}, {1, C, 0}, {3, 0xffffffff, 0}, {4, A + N, 0}}},
    {"prefix sum",
     {0xb8637825, 0x0b050084, 0xb8237804, 0x91000463, 0xeb03005f, 0x54ffff61},
     {{0, B, 0}, {1, A, 0}, {2, N, 0}, {3, 0, 0}, {4, 0, 0}}},
    {"DOOM column",
     {0xa9411045, 0xd3505826, 0x0b070021, 0x3866c884, 0x386468a4, 0x39000004, 0x91050000, 0xeb03001f, 0x54ffff01},
     {{0, B, 0}, {1, 0x1234, 0}, {2, D, 0}, {3, B + 320 * 200, 0}, {7, 0x9000, 0}, {0, C, D + 16}, {0, A, D + 24}}},
};
const unsigned toy_loop_count = sizeof toy_loops / sizeof toy_loops[0];

uint32_t toy_begin(toy_cpu* cpu, const toy_loop* loop) {
  uint32_t random = 1, bytes = 0;
  for (uint32_t i = 0; i < TOY_DATA_BYTES; ++i) {
    random = random * 1664525u + 1013904223u;
    cpu->memory[1].host[i] = (uint8_t)(random >> 24);
  }
  while (bytes / 4 < TOY_WORDS_MAX && loop->words[bytes / 4] != 0) bytes += 4;
  memcpy(cpu->memory[0].host, loop->words, bytes);
  memset(cpu->x, 0, sizeof cpu->x);
  for (unsigned i = 0; i < TOY_SETTINGS_MAX; ++i) {
    const toy_setting* s = &loop->settings[i];
    if (s->address != 0)
      memcpy(cpu->memory[1].host + (s->address - TOY_DATA), &s->value, sizeof s->value);
    else if (s->value != 0)
      cpu->x[s->number] = s->value;
  }
  cpu->nzcv = 0;
  cpu->pc = TOY_CODE;
  return bytes;
}
