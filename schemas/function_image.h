/* The daemon's description of a function, in its image behind the header and parts of schemas/kernel_image.h.
 *
 * A function's image has version TRIDENT_FUNCTION_IMAGE_VERSION, and its header says where the description lies. Its
 * entry is that of a loop's image, void(void* frame, const window*). The frame begins with the words of a region's
 * frame: the budget counts rounds of loops. Window i is array i: lo 0, span its bytes, delta its pointer; behind those
 * of array parameters come those of local arrays, whose memory the caller lends. C99 and C++. */
#ifndef TRIDENT_FUNCTION_IMAGE_H
#define TRIDENT_FUNCTION_IMAGE_H

#include <stdint.h>

#define TRIDENT_FUNCTION_IMAGE_VERSION 4u

#define TRIDENT_FUNCTION_FRAME_HEAD_BYTES 24u
#define TRIDENT_FUNCTION_FRAME_BYTES_MAX 4096u
#define TRIDENT_FUNCTION_WINDOWS_MAX 16u
#define TRIDENT_FUNCTION_PARAMETERS_MAX 256u
#define TRIDENT_FUNCTION_PLACES_MAX 65536u
#define TRIDENT_FUNCTION_LOCAL_BYTES_MAX 1048576u /* of all local arrays */

/* Limits of a submission: bytes of the texts of a function and of all that it calls, and the number of the latter. */
#define TRIDENT_FUNCTION_TEXT_BYTES_MAX 262144u
#define TRIDENT_FUNCTION_CALLEES_MAX 256u

/* A line of a function that may fail. Its name is a part of the names. */
typedef struct trident_function_place {
  uint32_t line;
  uint32_t name_offset;
  uint32_t name_bytes;
} trident_function_place;

/* The description: this struct, the uint32_t bytes of each local array, the uint32_t home of each parameter (8 bytes: a
 * value, or the number of an array's elements), `places` trident_function_place, the names. It begins at the header's
 * description_offset and ends with the image. Homes are offsets in the frame. */
typedef struct trident_function_description {
  uint32_t bytes; /* of the whole description */
  uint32_t frame_bytes;
  uint32_t failure_home; /* 4 bytes, after the call: 0, or 1 + what failed (jit/function/failures.def) */
  uint32_t place_home;   /* 4 bytes, after a failure: where, a number of a place */
  uint32_t result_home;  /* 8 bytes */
  uint32_t parameters;
  uint32_t locals;
  uint32_t places;
  uint32_t name_bytes;
} trident_function_description;

#ifdef __cplusplus
static_assert(sizeof(trident_function_place) == 12 && sizeof(trident_function_description) == 36, "layout");
#endif

#endif
