/* The daemon's description of a loop, in its image behind the header and parts of schemas/kernel_image.h.
 *
 * A loop's image has version TRIDENT_LOOP_IMAGE_VERSION, and its header says where the description lies. Its entry is
 * void(void* frame, const window*): clients/c/trident_loop.h has both as C structs. C99 and C++. */
#ifndef TRIDENT_LOOP_IMAGE_H
#define TRIDENT_LOOP_IMAGE_H

#include <stdint.h>

#define TRIDENT_LOOP_IMAGE_VERSION 2u

/* Guests, as numbers of messages and descriptions. */
#define TRIDENT_GUEST_AARCH64 1u

/* Byte offsets in the frame of an AArch64 loop. */
#define TRIDENT_AARCH64_FRAME_X 24u           /* x0..x30, then sp: 8 bytes each */
#define TRIDENT_AARCH64_FRAME_PC 280u         /* 8 bytes */
#define TRIDENT_AARCH64_FRAME_ITERATIONS 288u /* 8 bytes, the client's */
#define TRIDENT_AARCH64_FRAME_NZCV 296u       /* 4 bytes: N, Z, C, V in bits 31 to 28 */
#define TRIDENT_AARCH64_FRAME_PRIVATE 312u    /* 16 bytes, the code's */
#define TRIDENT_AARCH64_FRAME_BYTES 328u

/* Limits of a submission. */
#define TRIDENT_LOOP_CODE_BYTES_MAX 16384u
#define TRIDENT_LOOP_WINDOWS_MAX 16u

/* Instructions of the guest that the code stands for. */
typedef struct trident_loop_range {
  int64_t offset; /* of the first, from the head */
  uint32_t bytes;
  uint32_t reserved;
} trident_loop_range;

/* Bits of trident_loop_window_use.access. */
#define TRIDENT_LOOP_LOADS 1u
#define TRIDENT_LOOP_STORES 2u

typedef struct trident_loop_window_use {
  uint16_t base;  /* the register that its addresses come from: 0..30, 31 sp, 32 pc */
  uint8_t access; /* TRIDENT_LOOP_LOADS, TRIDENT_LOOP_STORES */
  uint8_t widest; /* bytes of its widest access */
  uint32_t reserved;
} trident_loop_window_use;

/* The description: this struct, `ranges` trident_loop_range in rising order, `windows` trident_loop_window_use. It
 * begins at the header's description_offset and ends with the image. */
typedef struct trident_loop_description {
  uint32_t bytes; /* of the whole description */
  uint16_t guest;
  uint16_t windows;
  uint32_t ranges;
  uint32_t instructions;
  uint64_t registers_read;    /* bit i: x[i], 31: sp, 32: flags. Those that must be in the frame at entry */
  uint64_t registers_written; /* likewise: those that may have changed at exits */
} trident_loop_description;

#ifdef __cplusplus
static_assert(sizeof(trident_loop_range) == 16 && sizeof(trident_loop_window_use) == 8, "layout");
static_assert(sizeof(trident_loop_description) == 32, "layout");
#endif

#endif
