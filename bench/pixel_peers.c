// The loops that bench/pixels.cpp compares with, once for each type of pixels: -DPIXEL=uint8_t -DMOST=255
// -DPEERS=pixel_peers_u8. The build compiles them by clang -O3 -march=native -ffast-math.
#include "bench/pixel_peers.h"

#include <math.h>

#define LOOP(NAME, VALUE)                                                                                         \
  static void NAME(uint64_t n, const void* restrict in_x, const void* restrict in_y, const void* restrict in_z,   \
                   void* restrict result) {                                                                       \
    const PIXEL *x = in_x, *y = in_y, *z = in_z;                                                                  \
    PIXEL* out = result;                                                                                          \
    for (uint64_t i = 0; i < n; ++i) {                                                                            \
      const int a = x[i], b = y[i], c = z[i];                                                                     \
      (void)a, (void)b, (void)c;                                                                                  \
      out[i] = (PIXEL)(VALUE);                                                                                    \
    }                                                                                                             \
  }

static inline int kept(float value) {
  return (int)rintf(value < 0 ? 0 : value > MOST ? MOST : value);
}

LOOP(blend, (a * 77 + b * 179) >> 8)
LOOP(gamma_of, kept(powf((float)a / MOST, 0.45f) * MOST))
LOOP(unsharp, kept((float)a + (float)(a - b) * 0.75f))
LOOP(levels, kept((float)(a - 16) * (MOST / 219.0f) + 1.0f))
LOOP(threshold, a > b ? MOST : 0)
LOOP(screen, kept(MOST - (float)(MOST - a) * (float)(MOST - b) / MOST))
LOOP(difference, a > b ? a - b : b - a)
LOOP(luma, (a * 66 + b * 129 + c * 25 + 128) >> 8)
LOOP(lerp, kept((float)a + (float)(b - a) * (float)c / MOST))
LOOP(add, a + b > MOST ? MOST : a + b)

const pixel_loop PEERS[kPixelLoops] = {blend, gamma_of, unsharp, levels, threshold, screen, difference, luma, lerp, add};
