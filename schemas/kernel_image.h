/* The layout of a kernel image: what the daemon seals into a memfd and a client maps PROT_READ | PROT_EXEC.
 *
 *   offset 0              trident_image_header (128 bytes)
 *   code_offset           position-independent code; starts with endbr64 (x86-64) or bti c (AArch64)
 *   pool_offset           constants, 64-byte aligned, addressed relative to the code
 *   unwind_offset         one CIE and one FDE in .eh_frame form, a zero terminator
 *   description_offset    versions 2 (loops) and 4 (functions): the description, at the next multiple of 8
 *                         (loop_image.h, function_image.h)
 *   total_size            end; the file is padded with trapping bytes to whole pages
 *
 * No relocations, no calls out of the image, no absolute addresses. C99 and C++; little-endian hosts only. */
#ifndef TRIDENT_KERNEL_IMAGE_H
#define TRIDENT_KERNEL_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define TRIDENT_IMAGE_MAGIC 0x4B4E5254u      /* "TRNK" */
#define TRIDENT_IMAGE_VERSION 1u             /* of kernels; loop_image.h and function_image.h have others */
#define TRIDENT_SPECULATIVE_IMAGE_VERSION 3u /* of kernels that count misses of assumed ranges */
#define TRIDENT_SELF_MISSES_OFFSET 8u        /* in `self`: where it has the pointer to the counter of misses */
#define TRIDENT_IMAGE_HEADER_BYTES 128u
#define TRIDENT_IMAGE_DESCRIPTION_ALIGN 8u
#define TRIDENT_IMAGE_ALIGN 64u         /* of code and pool: a cache line, and the widest aligned load */
#define TRIDENT_IMAGE_DIGEST_OFFSET 88u /* of `digest` in the header: the bytes before it seed the digest */

/* Instruction sets that an image may need; the client refuses one that its CPU lacks. */
enum trident_isa {
  TRIDENT_ISA_AVX2 = 1,   /* AVX2, FMA and F16C */
  TRIDENT_ISA_AVX512 = 2, /* AVX-512 F, VL, DQ, BW */
  TRIDENT_ISA_NEON = 3    /* AArch64 Advanced SIMD */
};

enum trident_tier { TRIDENT_TIER_INTERPRETER = 0, TRIDENT_TIER_BASELINE = 1, TRIDENT_TIER_OPTIMISED = 2 };

typedef struct trident_image_header {
  uint32_t magic;       /* TRIDENT_IMAGE_MAGIC */
  uint16_t version;     /* TRIDENT_IMAGE_VERSION, .. */
  uint8_t isa;          /* enum trident_isa */
  uint8_t tier;         /* enum trident_tier */
  uint32_t total_size;  /* bytes used, header included */
  uint32_t code_offset; /* multiple of 64 */
  uint32_t code_size;
  uint32_t entry_offset; /* from the start of the image; inside the code */
  uint32_t pool_offset;  /* multiple of 64 */
  uint32_t pool_size;
  uint32_t unwind_offset;
  uint32_t unwind_size;
  uint32_t inputs;  /* arrays the kernel reads; this and the next two are 0 for loops, functions */
  uint32_t outputs; /* arrays and scalars it writes */
  uint32_t params;  /* scalar parameters */
  uint32_t reserved0;
  uint8_t key[32];    /* SHA-256 identity of the source, policy, ISA and code generator */
  uint64_t digest[2]; /* XXH3-128 of bytes [128, total_size), seeded with XXH3-64 of bytes [0, 88): low, high */
  uint32_t description_offset; /* versions 2 and 4; else zero */
  uint32_t description_size;
  uint8_t reserved1[16]; /* zero */
} trident_image_header;

/* The entry: n elements; in[i] and out[i] arrays of the declared types; params[i] the bits of parameter i in 8 bytes.
 * `self` is not read by a kernel of version 1: it lets an interpreter sit behind the same pointer. To one of version 3
 * it must be null or have, at TRIDENT_SELF_MISSES_OFFSET, null or a pointer to a uint64_t, to which the kernel adds,
 * atomically and relaxed, the number of times that inputs lay outside the ranges that it assumes. */
typedef void (*trident_entry)(const void* self, uint64_t n, const void* const* in, void* const* out,
                              const uint64_t* params);

#ifdef __cplusplus
static_assert(sizeof(trident_image_header) == TRIDENT_IMAGE_HEADER_BYTES, "header layout");
static_assert(offsetof(trident_image_header, digest) == TRIDENT_IMAGE_DIGEST_OFFSET, "header layout");
#else
_Static_assert(sizeof(trident_image_header) == TRIDENT_IMAGE_HEADER_BYTES, "header layout");
_Static_assert(offsetof(trident_image_header, digest) == TRIDENT_IMAGE_DIGEST_OFFSET, "header layout");
#endif

#endif
