/* A raster calculator: an expression over the bands of an image, computed tile by tile. Bands are images in memory, one
 * float a pixel; a tile's row is one call, so no band is copied. The names of the bands are those in the expression.
 *
 *   raster_calculator [EXPRESSION]      over made bands `red`, `nir` and `height`; default: a vegetation index
 *
 * An expression may have any number of results of any type; a program that has room for one sort asks before it calls.
 * A run without an expression compares every pixel with the formula in C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trident.h"

enum { kWidth = 1000, kHeight = 700, kTile = 256, kBands = 3 };
static const char* const kNames[kBands] = {"red", "nir", "height"};
static const char* const kIndex = "if(nir + red > 0, (nir - red)/(nir + red), 0)";

/* Bands of a made landscape; reflectance lies in 0 .. 1, some pixels have no light at all. */
static void fill(float* const band[kBands]) {
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const int at = y * kWidth + x;
      const float green = 0.5f + 0.5f * sinf(0.01f * (float)x) * cosf(0.013f * (float)y);
      band[0][at] = at % 97 == 0 ? 0.0f : 0.3f - 0.25f * green;
      band[1][at] = at % 97 == 0 ? 0.0f : 0.2f + 0.6f * green;
      band[2][at] = 400.0f * green;
    }
}

/* Calls the kernel for each row of each tile, as a program does that reads an image in tiles. */
static void run(const trident_kernel* kernel, float* const band[kBands], float* out) {
  int argument[kBands];
  for (int b = 0; b < kBands; ++b) argument[b] = trident_array_index(kernel, kNames[b]);
  for (int top = 0; top < kHeight; top += kTile)
    for (int left = 0; left < kWidth; left += kTile) {
      const int rows = top + kTile < kHeight ? kTile : kHeight - top;
      const int columns = left + kTile < kWidth ? kTile : kWidth - left;
      for (int row = 0; row < rows; ++row) {
        const size_t at = (size_t)(top + row) * kWidth + (size_t)left;
        const void* in[kBands] = {0};
        for (int b = 0; b < kBands; ++b)
          if (argument[b] >= 0) in[argument[b]] = band[b] + at;
        void* outputs[1] = {out + at};
        trident_call(kernel, (uint64_t)columns, in, outputs, NULL);
      }
    }
}

static int differs(float* const band[kBands], const float* out) {
  for (int at = 0; at < kWidth * kHeight; ++at) {
    const float red = band[0][at], nir = band[1][at];
    const float expected = nir + red > 0 ? (nir - red) / (nir + red) : 0;
    if (fabsf(out[at] - expected) > 1e-5f) {
      fprintf(stderr, "pixel %d: %g, expected %g\n", at, out[at], expected);
      return 1;
    }
  }
  return 0;
}

/* Says why the arguments of run() do not fit the kernel, or returns NULL. */
static const char* misfit(const trident_kernel* kernel) {
  trident_kernel_info info = {.struct_size = sizeof info};
  trident_info(kernel, &info);
  if (info.output_count != 1) return "has several results; write one expression";
  if (trident_output_is_scalar(kernel, 0))
    return "has one number for all pixels; write an expression with a value for each";
  if (trident_output_type(kernel, 0) != TRIDENT_F32)
    return "has results of another type; write f32(...) around the expression";
  if (trident_scalar_name(kernel, 0)) return "has a table or a scalar; bands are arrays";
  for (uint32_t a = 0; trident_array_name(kernel, a); ++a)
    if (trident_array_type(kernel, a) != TRIDENT_F32) return "declares a band of another type; bands are f32";
  return NULL;
}

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, trident_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const char* text = argc > 1 ? argv[1] : kIndex;
  float* band[kBands];
  for (int b = 0; b < kBands; ++b)
    if (!(band[b] = malloc(sizeof(float) * kWidth * kHeight))) return 1;
  float* out = malloc(sizeof(float) * kWidth * kHeight);
  if (!out) return 1;
  fill(band);
  trident_ctx* context;
  if (trident_open(NULL, &context) != TRIDENT_OK) return failed("open");
  trident_submit_options options = {
      .struct_size = sizeof options, .type = TRIDENT_F32, .policy = TRIDENT_BOUNDED, .k = 2};
  trident_kernel* kernel;
  if (trident_submit(context, text, &options, &kernel) != TRIDENT_OK) return failed(text);
  for (uint32_t a = 0; trident_array_name(kernel, a); ++a) {
    int known = 0;
    for (int b = 0; b < kBands; ++b) known |= !strcmp(trident_array_name(kernel, a), kNames[b]);
    if (!known) {
      fprintf(stderr, "%s: there is no band %s; the bands are red, nir and height\n", text,
              trident_array_name(kernel, a));
      return 2;
    }
  }
  const char* reason = misfit(kernel);
  if (reason) {
    fprintf(stderr, "%s: the expression %s\n", text, reason);
    return 2;
  }
  int wrong = 0;
  for (uint32_t tier = 0; tier <= 2 && !wrong; ++tier) { /* interpreted first, then machine code, then its best form */
    if (trident_wait(kernel, tier, 10000) != TRIDENT_OK) break;
    run(kernel, band, out);
    trident_kernel_info info = {.struct_size = sizeof info};
    trident_info(kernel, &info);
    double sum = 0;
    for (int at = 0; at < kWidth * kHeight; ++at) sum += out[at];
    printf("tier %u: mean %.6f of %d pixels\n", info.tier, sum / (kWidth * kHeight), kWidth * kHeight);
    wrong = argc <= 1 && differs(band, out);
  }
  trident_close_kernel(kernel);
  trident_close(context);
  for (int b = 0; b < kBands; ++b) free(band[b]);
  free(out);
  return wrong;
}
