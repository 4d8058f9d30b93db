/* A video filter: an expression over planes of 8 or 16 bits a pixel, written in reverse Polish notation as users of
 * VapourSynth write it. It becomes a text of ours, which is called once per row, on the planes where they lie: no row is
 * copied, and no plane is made of floats. As there, values are floats, and a result is rounded and clamped.
 *
 *   video_filter "x y + 2 /"      prints the text that this becomes
 *
 * A run without an expression applies each filter of a list to 8 and to 16 bits, and compares every pixel with C. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trident.h"

enum { kWidth = 640, kHeight = 180, kPitch = 704, kPlanes = 3, kStackMax = 32, kTextMax = 8192, kValueMax = 64 };

/* ---- from reverse Polish notation ---- */

struct translation {
  char text[kTextMax]; /* statements so far, one for each operator */
  char stack[kStackMax][kValueMax];
  int depth, values;
  const char* error;
};

/* Operators by how many values they take; each is a pattern in which a, b and c stand for them. */
struct operator_row {
  const char* token;
  int takes;
  const char* pattern;
};
static const struct operator_row kOperators[] = {
    {"+", 2, "a + b"}, {"-", 2, "a - b"}, {"*", 2, "a * b"}, {"/", 2, "a / b"}, {"max", 2, "max(a, b)"},
    {"min", 2, "min(a, b)"}, {"pow", 2, "pow(a, b)"}, {"%", 2, "fmod(a, b)"}, {">", 2, "f32(a > b)"},
    {"<", 2, "f32(a < b)"}, {"=", 2, "f32(a == b)"}, {">=", 2, "f32(a >= b)"}, {"<=", 2, "f32(a <= b)"},
    {"and", 2, "f32(a > 0 && b > 0)"}, {"or", 2, "f32(a > 0 || b > 0)"}, {"xor", 2, "f32((a > 0) != (b > 0))"},
    {"not", 1, "f32(a <= 0)"}, {"neg", 1, "-a"}, {"abs", 1, "abs(a)"}, {"sqrt", 1, "sqrt(a)"}, {"exp", 1, "exp(a)"},
    {"log", 1, "log(a)"}, {"sin", 1, "sin(a)"}, {"cos", 1, "cos(a)"}, {"floor", 1, "floor(a)"},
    {"round", 1, "rint(a)"}, {"?", 3, "select(a > 0, b, c)"}, {"clip", 3, "min(max(a, b), c)"},
    {"clamp", 3, "min(max(a, b), c)"}};

static void push(struct translation* t, const char* value) {
  if (t->depth == kStackMax || strlen(value) >= kValueMax)
    t->error = "too long";
  else
    strcpy(t->stack[t->depth++], value);
}

/* Appends the statement "tN = pattern", with the top of the stack in its place, and pushes tN. */
static void apply(struct translation* t, const struct operator_row* row) {
  if (t->depth < row->takes) {
    t->error = "an operator finds too few values";
    return;
  }
  t->depth -= row->takes;
  char name[kValueMax], line[4 * kValueMax] = "";
  snprintf(name, sizeof name, "t%d", t->values++);
  size_t at = 0;
  for (const char* p = row->pattern; *p; ++p) {
    const int letter = *p == 'a' || *p == 'b' || *p == 'c';
    const int alone = letter && (p == row->pattern || strchr(" (-", p[-1])) && (!p[1] || strchr(" ,)", p[1]));
    at += (size_t)snprintf(line + at, sizeof line - at, alone ? "%s" : "%.1s", alone ? t->stack[t->depth + (*p - 'a')] : p);
  }
  const size_t used = strlen(t->text);
  if (snprintf(t->text + used, kTextMax - used, "%s = %s; ", name, line) >= (int)(kTextMax - used)) t->error = "too long";
  push(t, name);
}

/* dup, dupN, swap, swapN: N values below the top. Returns 0 for another token. */
static int rearrange(struct translation* t, const char* token) {
  const int swaps = !strncmp(token, "swap", 4);
  if (!swaps && strncmp(token, "dup", 3)) return 0;
  const char* number = token + (swaps ? 4 : 3);
  if (strspn(number, "0123456789") != strlen(number)) return 0;
  const long below = *number ? strtol(number, NULL, 10) : swaps;
  if (below >= t->depth) {
    t->error = "dup or swap reaches below the values";
    return 1;
  }
  char top[kValueMax], other[kValueMax];
  strcpy(top, t->stack[t->depth - 1]);
  strcpy(other, t->stack[t->depth - 1 - below]);
  if (!swaps) {
    push(t, other);
  } else {
    strcpy(t->stack[t->depth - 1], other);
    strcpy(t->stack[t->depth - 1 - below], top);
  }
  return 1;
}

static void translate_token(struct translation* t, const char* token, int bits) {
  char value[kValueMax];
  for (size_t i = 0; i < sizeof kOperators / sizeof *kOperators; ++i)
    if (!strcmp(token, kOperators[i].token)) return apply(t, &kOperators[i]);
  if (rearrange(t, token)) return;
  if (!strcmp(token, "range_max")) return snprintf(value, sizeof value, "%d", (1 << bits) - 1), push(t, value);
  if (!strcmp(token, "range_half")) return snprintf(value, sizeof value, "%d", 1 << (bits - 1)), push(t, value);
  if (token[0] && !token[1] && strchr("xyz", token[0])) return snprintf(value, sizeof value, "f32(%s)", token), push(t, value);
  char* end;
  const double number = strtod(token, &end);
  if (*end || !isfinite(number)) {
    t->error = "a word that is no operator, no number and none of x, y, z";
    return;
  }
  snprintf(value, sizeof value, number < 0 ? "(%.9g)" : "%.9g", number);
  push(t, value);
}

/* Writes the text of an expression to `text`. Returns what is wrong with it, or NULL. */
static const char* translate(const char* expression, int bits, char text[kTextMax]) {
  struct translation t = {.text = ""};
  char copy[kTextMax];
  if (strlen(expression) >= sizeof copy) return "too long";
  strcpy(copy, expression);
  for (char* token = strtok(copy, " "); token && !t.error; token = strtok(NULL, " ")) translate_token(&t, token, bits);
  if (!t.error && t.depth != 1) t.error = "other than one value is left";
  if (t.error) return t.error;
  const int length = snprintf(text, kTextMax, "x: u%d, y: u%d, z: u%d; %su%d_sat(%s)", bits, bits, bits, t.text, bits, t.stack[0]);
  return length >= kTextMax ? "too long" : NULL;
}

/* ---- the filters, with what they mean in C ---- */

static float mean_of(float x, float y, float z, float most) { return (void)z, (void)most, (x + y) / 2; }
static float middle_of(float x, float y, float z, float most) { return (void)most, fminf(fmaxf(x, y), z); }
static float twice_the_difference(float x, float y, float z, float most) { return (void)z, fminf(fabsf(x - y) * 2, most); }
static float masked(float x, float y, float z, float most) { return z > most / 2 ? x : y; }
static float merged(float x, float y, float z, float most) { return x + (y - x) * z / most; }
static float screened(float x, float y, float z, float most) { return (void)z, most - (most - x) * (most - y) / most; }
static float sharpened(float x, float y, float z, float most) { return (void)z, (void)most, x + (x - y) * 0.75f; }
static float corrected(float x, float y, float z, float most) { return (void)y, (void)z, powf(x / most, 0.45f) * most; }
static float limited(float x, float y, float z, float most) { return (void)z, fminf(fmaxf(y - x, 0), most); }
static float counted(float x, float y, float z, float most) { return (void)most, x > y && y > z ? 1 : 0; }

static const struct filter {
  const char* expression;
  float (*pixel)(float x, float y, float z, float most);
  int slack; /* of functions, which may round to a neighbour */
} kFilters[] = {{"x y + 2 /", mean_of, 0},
                {"x y max z min", middle_of, 0},
                {"x y - abs 2 * range_max min", twice_the_difference, 0},
                {"z range_max 2 / > x y ?", masked, 0},
                {"x y x - z * range_max / +", merged, 0},
                {"range_max range_max x - range_max y - * range_max / -", screened, 0},
                {"x dup y - 0.75 * +", sharpened, 0},
                {"x range_max / 0.45 pow range_max *", corrected, 1},
                {"x y swap - 0 range_max clip", limited, 0},
                {"x y > y z > and", counted, 0}};

/* ---- planes ---- */

static unsigned pixel_at(const void* plane, int bits, size_t at) {
  return bits == 8 ? ((const uint8_t*)plane)[at] : ((const uint16_t*)plane)[at];
}

static void fill(void* plane, int bits, unsigned seed) {
  for (size_t at = 0; at < (size_t)kPitch * kHeight; ++at) {
    seed = seed * 1664525u + 1013904223u;
    if (bits == 8)
      ((uint8_t*)plane)[at] = (uint8_t)(seed >> 24);
    else
      ((uint16_t*)plane)[at] = (uint16_t)(seed >> 16);
  }
}

static int differs(const struct filter* f, int bits, void* const plane[kPlanes], const void* out) {
  const float most = (float)((1 << bits) - 1);
  for (size_t y = 0; y < kHeight; ++y)
    for (size_t x = 0; x < kPitch; ++x) {
      const size_t at = y * kPitch + x;
      const float value = f->pixel((float)pixel_at(plane[0], bits, at), (float)pixel_at(plane[1], bits, at),
                                   (float)pixel_at(plane[2], bits, at), most);
      const int expected = x < kWidth ? (int)nearbyintf(fminf(fmaxf(value, 0), most)) : 0; /* nobody writes the padding */
      const int got = (int)pixel_at(out, bits, at);
      if (abs(got - expected) > (x < kWidth ? f->slack : 0)) {
        fprintf(stderr, "%s, %d bits, pixel %zu of row %zu: %d, expected %d\n", f->expression, bits, x, y, got, expected);
        return 1;
      }
    }
  return 0;
}

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, trident_last_error());
  return 1;
}

/* Filters the planes row by row, interpreted first and then by each better code. */
static int run(trident_ctx* context, const struct filter* f, int bits, void* const plane[kPlanes], void* out) {
  char text[kTextMax];
  const char* error = translate(f->expression, bits, text);
  if (error) return fprintf(stderr, "%s: %s\n", f->expression, error), 1;
  trident_submit_options options = {.struct_size = sizeof options, .type = TRIDENT_F32, .policy = TRIDENT_EXACT, .elements_hint = kWidth};
  trident_kernel* kernel;
  if (trident_submit(context, text, &options, &kernel) != TRIDENT_OK) return failed(text);
  const size_t bytes = (size_t)bits / 8;
  int wrong = 0;
  for (uint32_t tier = 0; tier <= 2 && !wrong; ++tier) {
    if (trident_wait(kernel, tier, 20000) != TRIDENT_OK) break;
    memset(out, 0, (size_t)kPitch * kHeight * bytes);
    for (size_t row = 0; row < kHeight; ++row) {
      const void* in[kPlanes];
      for (int p = 0; p < kPlanes; ++p) in[p] = (const char*)plane[p] + row * kPitch * bytes;
      trident_call(kernel, kWidth, in, (void*[]){(char*)out + row * kPitch * bytes}, NULL);
    }
    wrong = differs(f, bits, plane, out);
  }
  trident_kernel_info info = {.struct_size = sizeof info};
  trident_info(kernel, &info);
  printf("%2d bits, tier %u: %s\n", bits, info.tier, f->expression);
  trident_close_kernel(kernel);
  return wrong;
}

int main(int argc, char** argv) {
  if (argc > 1) {
    char text[kTextMax];
    const char* error = translate(argv[1], 8, text);
    puts(error ? error : text);
    return error != NULL;
  }
  trident_ctx* context;
  if (trident_open(NULL, &context) != TRIDENT_OK) return failed("open");
  int wrong = 0;
  for (int bits = 8; bits <= 16; bits += 8) {
    void* plane[kPlanes];
    for (int p = 0; p < kPlanes; ++p) {
      if (!(plane[p] = malloc((size_t)kPitch * kHeight * 2))) return 1;
      fill(plane[p], bits, (unsigned)(p + 1));
    }
    void* out = malloc((size_t)kPitch * kHeight * 2);
    if (!out) return 1;
    for (size_t f = 0; f < sizeof kFilters / sizeof *kFilters; ++f) wrong |= run(context, &kFilters[f], bits, plane, out);
    for (int p = 0; p < kPlanes; ++p) free(plane[p]);
    free(out);
  }
  trident_close(context);
  return wrong;
}
