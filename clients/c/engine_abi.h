/* The exports of libtrident-engine.so to libtrident: the compiler in this process, for mode embedded. Plain C structs
 * and a few functions: the two libraries share no C++ type and may be upgraded apart (the version is checked). */
#ifndef TRIDENT_ENGINE_ABI_H
#define TRIDENT_ENGINE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIDENT_ENGINE_ABI_VERSION 2u

/* As in schemas/control.fbs: ops of jit/expr/ops.def, types of jit/ir/type.h, operands 0xFFFFFFFF where absent. */
typedef struct trident_engine_node {
  uint8_t op, type;
  uint16_t reserved;
  uint32_t a, b, c;
  uint64_t imm;
} trident_engine_node;

typedef struct trident_engine_variable {
  uint8_t type, scalar;
  uint16_t reserved;
  uint32_t reserved2;
  double lo, hi;
} trident_engine_variable;

typedef struct trident_engine_range {
  double lo, hi; /* -inf and inf: not known */
} trident_engine_range;

typedef struct trident_engine_job {
  uint32_t struct_size;
  uint32_t policy; /* 0 exact, 1 bounded, 2 fast */
  double k;
  uint32_t isa; /* enum trident_isa */
  uint32_t elements;
  const trident_engine_node* nodes;
  const trident_engine_variable* variables;
  const uint32_t* outputs;
  uint32_t node_count, variable_count, output_count;
  uint32_t reserved;
  const void*
      cancel; /* a std::atomic<bool> of the caller's: true when the answer is no longer wanted; read between steps */
  /* Ranges that data were seen in, by variable; null: not known. Since 0.1.4; the optimised image may then be of
   * version TRIDENT_SPECULATIVE_IMAGE_VERSION. */
  const trident_engine_range* observed;
  /* Asked once for `observed` when there is general code, where it was null: fills in a range for each variable and
   * returns 1, or returns 0. May be null. Since 0.1.7. */
  int (*observe)(void* user, trident_engine_range* ranges);
  void* user;
  /* Not null: the search may end for now after its first look, with TRIDENT_ENGINE_KEPT, and puts itself there.
   * trident_engine_go_on() or trident_engine_forget() follows. `cancel`, `observe` and `user` must live until then.
   * Since 0.1.8. */
  void** kept;
  /* By variable, 1: NaNs were seen beside the range in `observed`; null: nowhere. An engine that does not read it makes
   * code that is right and misses wherever NaN comes. Since 0.1.8. */
  const uint8_t* observed_nan;
  /* As `observe`, which is not asked then; fills in `nan` too, one a variable. May be null. Since 0.1.8. */
  int (*observe_or_nan)(void* user, trident_engine_range* ranges, uint8_t* nan);
} trident_engine_job;

/* A function of jit/function, as texts (schemas/control.fbs, SubmitFunction). Since 0.1.5. */
typedef struct trident_engine_function {
  uint32_t struct_size;
  uint32_t isa; /* enum trident_isa */
  const char* text;
  const char* calls;
  uint64_t text_size, calls_size;
  uint32_t bulk; /* 1: the image may be of the optimised tier; its header says. Since 0.1.6 */
  uint32_t reserved;
} trident_engine_function;

typedef enum trident_engine_outcome {
  TRIDENT_ENGINE_IMAGE = 0,          /* `fd` is a sealed image that the caller closes */
  TRIDENT_ENGINE_NO_GAIN = 1,        /* nothing better than the baseline was found; `message` may say why */
  TRIDENT_ENGINE_NOT_EQUIVALENT = 2, /* the baseline differs from the reference: stop using it; likewise */
  TRIDENT_ENGINE_ERROR = 3,          /* see `message` */
  TRIDENT_ENGINE_REFUSED = 4,        /* of loops: no code is made of this one, see `reason` and `message` */
  TRIDENT_ENGINE_KEPT = 5            /* more may be found: `fd` is an image of what was found, or -1 */
} trident_engine_outcome;

typedef struct trident_engine_result {
  uint32_t struct_size;
  uint32_t outcome; /* enum trident_engine_outcome */
  int32_t fd;       /* -1 without an image */
  uint32_t size;    /* total_size of the image */
  uint64_t digest_low, digest_high;
  double baseline_ns, optimised_ns;
  char message[200]; /* without an image: why not, in one sentence */
} trident_engine_result;

/* A guest's loop; the fields are trident_loop_request's. */
typedef struct trident_engine_loop {
  uint32_t struct_size;
  uint32_t guest; /* enum trident_guest */
  uint64_t head, code_base;
  const void* code;
  uint64_t code_size;
  uint32_t isa;    /* enum trident_isa */
  uint32_t joined; /* 1: TRIDENT_LOOP_JOINED */
} trident_engine_loop;

typedef struct trident_engine_loop_result {
  uint32_t struct_size;
  uint32_t outcome; /* enum trident_engine_outcome: IMAGE, ERROR or REFUSED */
  int32_t fd;       /* -1 without an image */
  uint32_t size;    /* total_size of the image */
  uint64_t digest_low, digest_high;
  uint32_t reason; /* REFUSED: row of jit/loop/refusals.def */
  uint32_t reserved;
  uint64_t reason_address;
  char message[200]; /* without an image: why not, in one sentence */
} trident_engine_loop_result;

/* Tries the code in a child before it hands it over. Thread-safe. */
typedef void (*trident_engine_compile_loop_fn)(const trident_engine_loop* loop, trident_engine_loop_result* result);

/* Compiles a function, and tries its code in a child before it hands it over. Thread-safe. */
typedef void (*trident_engine_compile_function_fn)(const trident_engine_function* function,
                                                   trident_engine_result* result);

/* A program of Triton VM; the fields are trident_program_options's, counts of words. */
typedef struct trident_engine_program {
  uint32_t struct_size;
  uint32_t form; /* enum trident_program_form */
  const char* text;
  const uint64_t *public_input, *secret_input, *secret_digests, *ram;
  uint64_t text_size, public_words, secret_words, digest_words, ram_words;
  uint64_t cycles;
  uint32_t milliseconds, programs, left_out;
  uint32_t reserved;
  int (*progress)(uint32_t done, uint32_t total, void* user); /* not 0: give up; may be null */
  void* user;
  /* Further runs, as jit/tir/build/runs.h has them. An engine that knows them says so in trident_engine_built.runs. */
  const uint64_t* runs;
  uint64_t runs_words;
} trident_engine_program;

typedef struct trident_engine_built {
  uint32_t struct_size;
  uint32_t status; /* enum trident_status; unless TRIDENT_OK, see `message` */
  uint64_t heights_before[9], heights_after[9];
  uint32_t words_before, words_after;
  char message[2000];
  uint32_t runs; /* number of runs that it was measured on */
  uint32_t reserved;
} trident_engine_built;

/* `take` gets the texts, which live as long as it runs: TASM and a report in JSON, both ending with 0. Thread-safe. */
typedef void (*trident_engine_take_fn)(void* taker, const char* tasm, uint64_t tasm_size, const char* report,
                                       uint64_t report_size);
typedef void (*trident_engine_build_fn)(const trident_engine_program* program, trident_engine_built* built,
                                        trident_engine_take_fn take, void* taker);

/* `tier`: TRIDENT_TIER_BASELINE (microseconds) or TRIDENT_TIER_OPTIMISED (up to seconds). Thread-safe. */
typedef void (*trident_engine_compile_fn)(const trident_engine_job* job, uint32_t tier, trident_engine_result* result);
/* Goes on with a kept search, on any thread, and ends it. Thread-safe for different ones. */
typedef void (*trident_engine_go_on_fn)(void* kept, trident_engine_result* result);
/* Ends one that is not wanted any more. */
typedef void (*trident_engine_forget_fn)(void* kept);
typedef uint32_t (*trident_engine_version_fn)(void);

/* Kinds of work that an engine does. */
typedef enum trident_engine_work {
  TRIDENT_ENGINE_BASELINES = 1,
  TRIDENT_ENGINE_SEARCHES = 2,
  TRIDENT_ENGINE_PROGRAMS = 3,
  TRIDENT_ENGINE_LOOPS = 4,
  TRIDENT_ENGINE_FUNCTIONS = 5
} trident_engine_work;
/* Makes what this kind of work makes once in a process: rules, weights, tables. Without it the first piece of work
 * does, and a child that is forked in the middle of that waits for it for ever. The caller keeps fork() away meanwhile.
 */
typedef void (*trident_engine_prepare_fn)(uint32_t work);

__attribute__((visibility("default"))) uint32_t trident_engine_version(void);
__attribute__((visibility("default"))) void trident_engine_prepare(uint32_t work);
__attribute__((visibility("default"))) void trident_engine_compile(const trident_engine_job* job, uint32_t tier,
                                                                   trident_engine_result* result);
__attribute__((visibility("default"))) void trident_engine_go_on(void* kept, trident_engine_result* result);
__attribute__((visibility("default"))) void trident_engine_forget(void* kept);
__attribute__((visibility("default"))) void trident_engine_compile_loop(const trident_engine_loop* loop,
                                                                        trident_engine_loop_result* result);
__attribute__((visibility("default"))) void trident_engine_compile_function(const trident_engine_function* function,
                                                                            trident_engine_result* result);
__attribute__((visibility("default"))) void trident_engine_build(const trident_engine_program* program,
                                                                 trident_engine_built* built,
                                                                 trident_engine_take_fn take, void* taker);

#ifdef __cplusplus
}
#endif
#endif
