/* Functions with loops from plain C: numbers, reals and arrays go in and out; a failure is a value with its line. The
 * first call of each is interpreted, later ones run machine code. Answers are checked against the same loops in C. */
#include <stdio.h>
#include <string.h>

#include "trident_function.h"

enum { kCount = 1000, kRounds = 3, kPatienceMs = 60000 };

static const char* const kPower =
    "fn power_mod(base: i64, exponent: i64, modulus: i64) -> i64 {\n"
    "  let result = 1 % modulus;\n"
    "  while exponent > 0 {\n"
    "    if exponent % 2 == 1 { result = result * base % modulus; }\n"
    "    base = base * base % modulus;\n"
    "    exponent = exponent / 2;\n"
    "  }\n"
    "  return result;\n"
    "}\n";
static const char* const kSmooth =
    "fn smooth(x: [f64], weight: f64, y: out [f64]) -> f64 {\n"
    "  let level = x[0];\n"
    "  for i in 0..len(x) {\n"
    "    level = level + weight * (x[i] - level);\n"
    "    y[i] = level;\n"
    "  }\n"
    "  return level;\n"
    "}\n";
static const char* const kHistogram =
    "fn histogram(text: [u8], counts: inout [i64]) {\n"
    "  for i in 0..len(text) {\n"
    "    counts[text[i]] = counts[text[i]] + 1;\n"
    "  }\n"
    "}\n";

static int failures;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, trident_last_error());
  ++failures;
}

static trident_kernel* submit(trident_ctx* context, const char* text) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.syntax = TRIDENT_SYNTAX_FUNCTION;
  trident_kernel* function = NULL;
  check(trident_submit(context, text, &options, &function) == TRIDENT_OK, "submit");
  return function;
}

static trident_returned call(const trident_kernel* function, const trident_argument* arguments, uint32_t count) {
  trident_returned returned = {.struct_size = sizeof returned};
  check(trident_function_call(function, arguments, count, 0, &returned) == TRIDENT_OK, "call");
  return returned;
}

static int64_t power_mod(int64_t base, int64_t exponent, int64_t modulus) {
  int64_t result = 1 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

static void check_power(const trident_kernel* function) {
  for (int64_t i = 0; i < kCount; ++i) {
    const trident_argument arguments[] = {{.value.i = i * 37 % 1009}, {.value.i = i * i}, {.value.i = 1009}};
    const trident_returned returned = call(function, arguments, 3);
    check(returned.failure == TRIDENT_RETURNED && returned.value.i == power_mod(i * 37 % 1009, i * i, 1009), "power_mod");
  }
  const trident_argument by_zero[] = {{.value.i = 2}, {.value.i = 3}, {.value.i = 0}};
  const trident_returned failed = call(function, by_zero, 3);
  check(failed.failure == TRIDENT_FAILED_DIVISION && failed.line == 2, "a division by zero is told with its line");
}

static void check_smooth(const trident_kernel* function) {
  static double x[kCount], y[kCount], expected[kCount];
  const double weight = 0.25;
  for (int i = 0; i < kCount; ++i) x[i] = i % 17 * 0.5 - 3;
  double level = x[0];
  for (int i = 0; i < kCount; ++i) {
    volatile double change = weight * (x[i] - level); /* volatile: no fused multiply-add */
    expected[i] = level = level + change;
  }
  trident_argument arguments[] = {{.data = x, .count = kCount}, {.value.f = weight}, {.data = y, .count = kCount}};
  const trident_returned returned = call(function, arguments, 3);
  check(returned.failure == TRIDENT_RETURNED && returned.value.f == level, "smooth: the last level");
  check(memcmp(y, expected, sizeof y) == 0, "smooth: the levels");
  arguments[2].count = 10;
  const trident_returned failed = call(function, arguments, 3);
  check(failed.failure == TRIDENT_FAILED_INDEX && failed.line == 5, "an index beyond the array is told with its line");
}

static void check_histogram(const trident_kernel* function) {
  static unsigned char text[kCount];
  int64_t counts[256] = {0}, expected[256] = {0};
  for (int i = 0; i < kCount; ++i) ++expected[text[i] = (unsigned char)(i * i)];
  const trident_argument arguments[] = {{.data = text, .count = kCount}, {.data = counts, .count = 256}};
  check(call(function, arguments, 2).failure == TRIDENT_RETURNED, "histogram");
  check(memcmp(counts, expected, sizeof counts) == 0, "histogram: the counts");
}

int main(void) {
  trident_ctx* context = NULL;
  check(trident_open(NULL, &context) == TRIDENT_OK, "open");
  trident_kernel* const functions[] = {submit(context, kPower), submit(context, kSmooth), submit(context, kHistogram)};
  for (int round = 0; round < kRounds && failures == 0; ++round) {
    check_power(functions[0]);
    check_smooth(functions[1]);
    check_histogram(functions[2]);
    for (int f = 0; f < 3; ++f) check(trident_wait(functions[f], 1, kPatienceMs) == TRIDENT_OK, "wait");
  }
  for (int f = 0; f < 3; ++f) {
    trident_kernel_info info = {.struct_size = sizeof info};
    check(trident_info(functions[f], &info) == TRIDENT_OK, "info");
    printf("function %d: tier %u\n", f, info.tier);
    trident_close_kernel(functions[f]);
  }
  trident_close(context);
  return failures == 0 ? 0 : 1;
}
