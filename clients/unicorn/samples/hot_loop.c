/* A guest of Unicorn sums 4,096 numbers 30,000 times: alone, then with its loop natively.
 * cc hot_loop.c -ltrident-unicorn -ltrident -lunicorn */
#include <stdio.h>
#include <time.h>
#include <trident_unicorn.h>

#define CODE 0x10000
#define ARRAY 0x200000
#define COUNT 4096

static const uint32_t guest[] = {
    0xAA0A03E0, /* again: mov x0, x10    the array */
    0xD2820002, /*        mov x2, #4096 */
    0xF8408401, /* sum:   ldr x1, [x0], #8 */
    0x8B010063, /*        add x3, x3, x1 */
    0xF1000442, /*        subs x2, x2, #1 */
    0x54FFFFA1, /*        b.ne sum */
    0xF100058C, /*        subs x12, x12, #1 */
    0x54FFFF21, /*        b.ne again */
};

static const char* const states[] = {"waits", "installed", "refused", "mismatched", "unhooked"};

static double run(uc_engine* uc, uint64_t* sum) {
  const uint64_t array = ARRAY, times = 30000, zero = 0;
  struct timespec begin, end;
  uc_reg_write(uc, UC_ARM64_REG_X10, &array);
  uc_reg_write(uc, UC_ARM64_REG_X12, &times);
  uc_reg_write(uc, UC_ARM64_REG_X3, &zero);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  uc_emu_start(uc, CODE, CODE + sizeof guest, 0, 0);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  uc_reg_read(uc, UC_ARM64_REG_X3, sum);
  return (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
}

int main(void) {
  uc_engine* uc;
  trident_ctx* ctx;
  trident_unicorn* offload;
  trident_unicorn_stats stats = {.struct_size = sizeof stats};
  trident_unicorn_loop_facts loop = {.struct_size = sizeof loop};
  uint64_t numbers[COUNT], alone, together;
  for (uint64_t i = 0; i < COUNT; ++i) numbers[i] = i * i;
  if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc) != UC_ERR_OK) return 1;
  uc_mem_map(uc, CODE, 0x1000, UC_PROT_READ | UC_PROT_EXEC);
  uc_mem_map(uc, ARRAY, sizeof numbers, UC_PROT_READ | UC_PROT_WRITE);
  uc_mem_write(uc, CODE, guest, sizeof guest);
  uc_mem_write(uc, ARRAY, numbers, sizeof numbers);
  const double alone_ms = run(uc, &alone);

  if (trident_open(NULL, &ctx) != TRIDENT_OK) {
    fprintf(stderr, "%s\n", trident_last_error());
    return 1;
  }
  if (trident_unicorn_attach(uc, ctx, NULL, &offload) != TRIDENT_OK) {
    fprintf(stderr, "%s\n", trident_unicorn_error());
    return 1;
  }
  double together_ms = 0;
  for (int i = 0; i < 20 && stats.iterations < COUNT * 30000ull; ++i) { /* code comes while the guest runs */
    together_ms = run(uc, &together);
    if (together != alone) return 1;
    trident_unicorn_get_stats(offload, &stats);
  }
  printf("alone %.1f ms, natively %.1f ms; %llu loops installed, %llu rounds of them native\n", alone_ms, together_ms,
         (unsigned long long)stats.installed, (unsigned long long)stats.iterations);
  if (trident_unicorn_get_loop(offload, 0, &loop) == TRIDENT_OK)
    printf("loop at 0x%llx: a round took %.2f ns and takes %.2f ns; %s\n", (unsigned long long)loop.head, loop.guest_ns,
           loop.native_ns, loop.note != NULL ? loop.note : states[loop.state]);
  trident_unicorn_detach(offload);
  trident_close(ctx);
  uc_close(uc);
  return alone == together ? 0 : 1;
}
