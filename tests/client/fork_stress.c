/* fork() while the library is at work: a process with an open context and kernels under way forks children that use the
 * library, again and again. Oracle: the formula, a deadline for every child, and the way that it ends.
 *
 *   fork_stress MODE TIER CHILDREN DELAY_US
 *
 * MODE: embedded, daemon or auto. TIER: what a child waits for before it leaves (0, 1, 2). DELAY_US: from the
 * submission to the fork, with one child; with more the delays are random and up to it. Exit 0: every child was right
 * in time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/c/trident.h"

enum { kElements = 40000, kDeadlineSeconds = 400, kPatienceMs = 300000 };

static trident_kernel* submit(trident_ctx* ctx, int c) {
  char text[96];
  trident_kernel* kernel = NULL;
  snprintf(text, sizeof text, "(x*x + %d*x + y*y)/(1 + y*y) - 0*x", c);
  if (trident_submit(ctx, text, NULL, &kernel) == TRIDENT_OK) return kernel;
  fprintf(stderr, "fork_stress: %s\n", trident_last_error());
  return NULL;
}

/* 0: every element is what `text` says. The call is long enough for a second thread, so that forks catch one at work. */
static int check(const trident_kernel* kernel, int c) {
  static double x[kElements], y[kElements], z[kElements];
  for (int i = 0; i < kElements; ++i) x[i] = 0.25 * (i % 100), y[i] = 0.5 * (i % 100), z[i] = -1;
  const void* in[] = {x, y};
  void* out[] = {z};
  trident_call_parallel(kernel, kElements, in, out, NULL, 2);
  for (int i = 0; i < kElements; ++i) {
    const double wanted = (x[i] * x[i] + c * x[i] + y[i] * y[i]) / (1 + y[i] * y[i]);
    if (!(fabs(z[i] - wanted) <= 1e-12 * fabs(wanted)))
      return fprintf(stderr, "fork_stress: %g, is %g\n", z[i], wanted);
  }
  return 0;
}

/* Runs a forked child: it goes on with the parent's kernel, asks for new ones, and closes everything. */
static int child_main(trident_ctx* ctx, trident_kernel* inherited, int c, unsigned tier) {
  enum { kKernels = 4 };
  trident_kernel* kernels[kKernels];
  int wrong = check(inherited, c);
  for (int k = 0; k < kKernels; ++k) {
    kernels[k] = submit(ctx, c + 1 + k);
    if (kernels[k] == NULL || check(kernels[k], c + 1 + k) != 0) return 1;
  }
  for (int k = 0; k < kKernels; ++k) {
    if (tier != 0 && trident_wait(kernels[k], k == 0 ? tier : 1, kPatienceMs) != TRIDENT_OK) {
      fprintf(stderr, "fork_stress: in the child: %s\n", trident_last_error());
      return 1;
    }
    wrong |= check(kernels[k], c + 1 + k);
  }
  for (int k = 0; k < kKernels; ++k) trident_close_kernel(kernels[k]);
  trident_close_kernel(inherited);
  trident_close(ctx);
  return wrong != 0;
}

static int reap(void) {
  int status = 0;
  if (wait(&status) < 0) return 1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return fprintf(stderr, "fork_stress: a child never ended\n");
  return fprintf(stderr, "fork_stress: a child ended with status %x\n", (unsigned)status);
}

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "fork_stress MODE TIER CHILDREN DELAY_US\n"), 2;
  const unsigned tier = (unsigned)atoi(argv[2]);
  const int children = atoi(argv[3]);
  const unsigned delay_us = (unsigned)atoi(argv[4]);
  trident_options options = {sizeof options, TRIDENT_MODE_AUTO, NULL, 20000, 0};
  if (strcmp(argv[1], "embedded") == 0) options.mode = TRIDENT_MODE_EMBEDDED;
  if (strcmp(argv[1], "daemon") == 0) options.mode = TRIDENT_MODE_DAEMON;
  trident_ctx* ctx = NULL;
  if (trident_open(&options, &ctx) != TRIDENT_OK) return fprintf(stderr, "fork_stress: %s\n", trident_last_error()), 1;
  int failed = 0, running = 0;
  for (int i = 0; i < children && failed == 0; ++i) {
    const int c = 10 * i + 1;
    trident_kernel* kernel = submit(ctx, c);
    if (kernel == NULL) return 1;
    usleep(children == 1 || delay_us == 0 ? delay_us : (unsigned)rand() % delay_us);
    const pid_t pid = fork();
    if (pid < 0) return perror("fork"), 1;
    if (pid == 0) {
      alarm(kDeadlineSeconds);
      exit(child_main(ctx, kernel, c, tier));
    }
    if (++running == 4) failed |= reap(), --running;
    failed |= check(kernel, c);
    trident_close_kernel(kernel);
  }
  for (; running > 0; --running) failed |= reap();
  trident_close(ctx);
  return failed != 0;
}
