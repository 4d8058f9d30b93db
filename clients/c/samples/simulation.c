/* A simulation loop: particles in a spring with friction, one step a call, all in one kernel with two outputs that are the
 * next step's inputs. The kernel is interpreted at first and becomes machine code while the simulation runs; with policy
 * `exact` every step has the same bits whichever code computes it. The total energy and the same steps in C check it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trident.h"

enum { kParticles = 4096, kSteps = 20000 };
static const char* const kStep = "a = -stiffness*x - friction*v; w = v + dt*a; next = x + dt*w; (next, w)";

/* One step in C, with the same operations in the same order. */
static void step(double* x, double* v, double stiffness, double friction, double dt) {
  for (int i = 0; i < kParticles; ++i) {
    volatile double pull = -stiffness * x[i], drag = friction * v[i]; /* volatile: no fused multiply-add */
    volatile double change = dt * (pull - drag);
    v[i] = v[i] + change;
    volatile double way = dt * v[i];
    x[i] = x[i] + way;
  }
}

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, trident_last_error());
  return 1;
}

int main(void) {
  trident_ctx* context;
  if (trident_open(NULL, &context) != TRIDENT_OK) return failed("open");
  const trident_variable variables[] = {{.name = "stiffness", .type = TRIDENT_F64, .scalar = 1},
                                        {.name = "friction", .type = TRIDENT_F64, .scalar = 1},
                                        {.name = "dt", .type = TRIDENT_F64, .scalar = 1}};
  const trident_submit_options options = {.struct_size = sizeof options, .type = TRIDENT_F64, .policy = TRIDENT_EXACT,
                                          .variables = variables, .variable_count = 3};
  trident_kernel* kernel;
  if (trident_submit(context, kStep, &options, &kernel) != TRIDENT_OK) return failed(kStep);
  static double x[2][kParticles], v[2][kParticles], expected_x[kParticles], expected_v[kParticles];
  for (int i = 0; i < kParticles; ++i) {
    x[0][i] = expected_x[i] = 0.001 * i - 2;
    v[0][i] = expected_v[i] = 0.5 - 0.0002 * i;
  }
  const double constants[] = {4.0, 0.01, 0.001};
  uint64_t scalars[3];
  memcpy(&scalars[trident_scalar_index(kernel, "stiffness")], &constants[0], 8);
  memcpy(&scalars[trident_scalar_index(kernel, "friction")], &constants[1], 8);
  memcpy(&scalars[trident_scalar_index(kernel, "dt")], &constants[2], 8);
  const int xi = trident_array_index(kernel, "x"), vi = trident_array_index(kernel, "v");
  uint32_t tier = 99;
  for (int t = 0; t < kSteps; ++t) {
    const int now = t % 2;
    const void* in[2];
    in[xi] = x[now];
    in[vi] = v[now];
    void* out[2] = {x[1 - now], v[1 - now]};
    trident_call(kernel, kParticles, in, out, scalars);
    step(expected_x, expected_v, constants[0], constants[1], constants[2]);
    if (memcmp(x[1 - now], expected_x, sizeof expected_x) || memcmp(v[1 - now], expected_v, sizeof expected_v)) {
      fprintf(stderr, "step %d differs from C\n", t);
      return 1;
    }
    trident_kernel_info info = {.struct_size = sizeof info};
    trident_info(kernel, &info);
    if (info.tier != tier) printf("step %d: tier %u\n", t, tier = info.tier);
  }
  double energy = 0;
  for (int i = 0; i < kParticles; ++i) energy += 0.5 * (expected_v[i] * expected_v[i] + 4.0 * expected_x[i] * expected_x[i]);
  printf("%d steps of %d particles, the bits of C at each; energy %.6f\n", kSteps, kParticles, energy);
  trident_close_kernel(kernel);
  trident_close(context);
  return 0;
}
