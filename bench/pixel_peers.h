// Loops over pixels in C, in the order of the cases of bench/pixels.cpp.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPixelLoops = 10 };
typedef void (*pixel_loop)(uint64_t n, const void* x, const void* y, const void* z, void* out);
extern const pixel_loop pixel_peers_u8[kPixelLoops], pixel_peers_u16[kPixelLoops];

#ifdef __cplusplus
}
#endif
