/* Trident's client library: hand over an expression, get a callable at once, faster code is swapped in behind it.
 *
 *   trident_ctx *ctx;  trident_open(NULL, &ctx);
 *   trident_kernel *k; trident_submit(ctx, "sin(x)*sin(x) + y", NULL, &k);
 *   const void *in[] = {x, y}; void *out[] = {z};
 *   trident_call(k, n, in, out, NULL);            // right from the first call, faster later
 *   trident_close_kernel(k); trident_close(ctx);
 *
 * The callable is right at all times: the local interpreter first, then the daemon's baseline kernel, then its
 * optimised one. A daemon that is slow, dead or absent costs speed, never an answer. The library never prints, never
 * ends the process, never raises a signal, and is thread-safe unless a function says otherwise. */
#ifndef TRIDENT_H
#define TRIDENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIDENT_ABI_VERSION 1u
#define TRIDENT_API __attribute__((visibility("default")))

typedef struct trident_ctx trident_ctx;

/* The first word of a kernel handle is the published entry; trident_call reads it. The rest is private. */
typedef void (*trident_entry_fn)(const void* self, uint64_t n, const void* const* in, void* const* out,
                                 const uint64_t* params);
typedef struct trident_kernel {
  trident_entry_fn entry; /* atomic: read it with trident_call only */
} trident_kernel;

typedef enum trident_status {
  TRIDENT_OK = 0,
  TRIDENT_E_INVALID = 1, /* an argument is out of its documented range */
  TRIDENT_E_SYNTAX = 2,  /* the text could not be parsed: trident_last_error() shows line and caret */
  TRIDENT_E_TYPE = 3,    /* operand types do not fit */
  TRIDENT_E_LIMIT = 4,   /* a documented limit was exceeded */
  TRIDENT_E_MEMORY = 5,  /* no memory, or no thread */
  TRIDENT_E_TIMEOUT = 6, /* trident_wait: the tier was not reached in time */
  TRIDENT_E_DAEMON = 7,  /* mode daemon: no daemon could be reached */
  TRIDENT_E_UNSUPPORTED = 8,
  TRIDENT_E_CANCELLED = 9 /* trident_build_program: the caller gave up */
} trident_status;

typedef enum trident_mode {
  TRIDENT_MODE_AUTO = 0,     /* daemon, else embedded engine if it can be loaded, else interpreter */
  TRIDENT_MODE_DAEMON = 1,   /* trident_open fails when no daemon answers */
  TRIDENT_MODE_EMBEDDED = 2, /* libtrident-engine.so in this process, no daemon */
  TRIDENT_MODE_INTERP = 3    /* local interpreter only */
} trident_mode;

/* Where types meet: f32 with f64 is f64, i32 with i64 is i64 (integers wrap), an integer with a float is f64, which
 * rounds an i64 beyond 2^53. Integers have no division and no remainder: cast an operand with f64(...). Numbers of a
 * text take the type of what they meet; a sum of them that does not fit it, as 50000*50000 among i32, is refused. */
typedef enum trident_type {
  TRIDENT_F32 = 0,
  TRIDENT_F64 = 1,
  TRIDENT_I32 = 2,
  TRIDENT_I64 = 3,
  /* Elements of arrays, narrower than the values of an expression. Loads widen them: u8, i8, u16, i16 and bool to i32,
   * u32 and u64 to i64 (a u64 from 2^63 on is negative), f16 to f32. In a text an output gets such elements by its last
   * operation: u8(x) drops the fraction and keeps the low bits, as NumPy's astype (0 of NaN and of a float beyond i32,
   * u32 beyond i64; u64 gives 2^63 then); u8_sat(x) rounds to nearest, ties to even, and clamps; bool8(x) is x != 0;
   * f16(x) rounds. A scalar of these integers is wrapped to its type where it is read, bool8 to params[i] != 0; tables
   * and results of reductions have none. */
  TRIDENT_U8 = 4,   /* of functions since 0.1.5, of expressions since 0.1.7 */
  TRIDENT_BOOL = 5, /* likewise; a byte, in texts bool8: stored as 0 or 1, loaded as the number that it is */
  TRIDENT_I8 = 6,   /* this and all below since 0.1.7 */
  TRIDENT_U16 = 7,
  TRIDENT_I16 = 8,
  TRIDENT_U32 = 9,
  TRIDENT_U64 = 10,
  TRIDENT_F16 = 11
} trident_type;
/* How far a result may be from the correct one, at every point of the declared ranges.
 *   EXACT    the bits of the interpreter: operations in the order of the source, functions good to an ulp, integer
 *            powers multiplied out by squaring; nothing is rewritten
 *   BOUNDED  (k) an error of at most B plus 2 ulp of the correct value, at each point by itself. B is how far the text
 *            may be off there when each operation errs by up to k units: half an ulp of |a| + |b| for sums, an ulp for
 *            functions, half an ulp for others. Where B reaches a step, the value of either side.
 *            So (x-y)*(x+y) may become x*x - y*y; EXACT keeps the form.
 *   FAST     as BOUNDED with k = 16 and 64 ulp, as long as all inputs and the text's own result are finite; where one
 *            is infinite or NaN the result is anything */
typedef enum trident_policy { TRIDENT_EXACT = 0, TRIDENT_BOUNDED = 1, TRIDENT_FAST = 2 } trident_policy;
typedef enum trident_syntax {
  TRIDENT_SYNTAX_AUTO = 0,
  TRIDENT_SYNTAX_INFIX = 1,
  TRIDENT_SYNTAX_SEXPR = 2,
  TRIDENT_SYNTAX_FPCORE = 3,
  TRIDENT_SYNTAX_FUNCTION = 4 /* loops, branches, arrays; the options have no other meaning. trident_function.h */
} trident_syntax;

/* Kinds of variables. A table "t" is an array of a length of its own. An expression reads its element j by t[j] or
 * gather(t, j), and 0 where j lies outside [0, length): no index reads past its ends. In a call its pointer stands
 * among `in` as an array's, and its length, in elements, is the scalar "t.length" of type TRIDENT_I64 after all
 * declared scalars (trident_scalar_index() finds it). No output may overlap a table. */
typedef enum trident_variable_kind { TRIDENT_ARRAY = 0, TRIDENT_SCALAR = 1, TRIDENT_TABLE = 2 } trident_variable_kind;

/* Every struct starts with its size, so that a newer library understands an older caller. Zero means default where
 * nothing else is said. */
typedef struct trident_options {
  uint32_t struct_size;        /* sizeof(trident_options) */
  uint32_t mode;               /* enum trident_mode; environment TRIDENT_MODE overrides AUTO */
  const char* socket_path;     /* NULL: TRIDENT_SOCKET, else $XDG_RUNTIME_DIR/trident/tridentd.sock, else
                                  /run/trident/tridentd.sock */
  uint32_t connect_timeout_ms; /* mode DAEMON only; default 1000 */
  uint32_t no_speculation;     /* 1: data of calls are not looked at; so says the environment's TRIDENT_SPECULATE=0 */
  uint32_t threads; /* of trident_call_parallel(), at most 64; 0: TRIDENT_NUM_THREADS, else all processors. No more are
                       used than the machine, affinity and control groups give. Since 0.1.6 */
} trident_options;

typedef struct trident_variable {
  const char* name; /* one that a text of this syntax can write: else TRIDENT_E_INVALID */
  uint32_t type;    /* enum trident_type */
  uint32_t scalar;  /* enum trident_variable_kind */
  double lo, hi;    /* a promise about every value; both 0, or lo = -inf and hi = inf: anything, NaN included */
} trident_variable;

typedef struct trident_submit_options {
  uint32_t struct_size; /* sizeof(trident_submit_options) */
  uint32_t type;        /* of variables and literals that do not say: TRIDENT_F32 or TRIDENT_F64 (set it: 0 is F32) */
  uint32_t policy;      /* enum trident_policy */
  uint32_t syntax;      /* enum trident_syntax */
  double k;             /* bounded(k), 2 to 1e6; 0 means 2. From about 17000 on, f32 kernels may use
                         * functions of three digits */
  const trident_variable* variables; /* declared variables in order; others appear in order of first use */
  uint32_t variable_count;
  uint32_t elements_hint; /* typical n of a call, for the judge; 0: 4096; above 2^24: 2^24 */
} trident_submit_options;

/* The options that a null pointer stands for: doubles, bounded(2). */
#define TRIDENT_SUBMIT_OPTIONS_INIT \
  { sizeof(trident_submit_options), TRIDENT_F64, TRIDENT_BOUNDED, TRIDENT_SYNTAX_AUTO, 0, NULL, 0, 0 }

typedef enum trident_stage {
  TRIDENT_STAGE_NONE = 0,
  TRIDENT_STAGE_LOWER = 1,
  TRIDENT_STAGE_EMIT = 2,
  TRIDENT_STAGE_EQUIV = 3,
  TRIDENT_STAGE_JUDGE = 4
} trident_stage;

typedef struct trident_kernel_info {
  uint32_t struct_size;
  uint32_t tier; /* of the current entry: 0 interpreter, 1 baseline code, 2 optimised code */
  uint32_t array_count, scalar_count, output_count;
  uint32_t swaps; /* how often the entry was replaced */
  uint32_t done;  /* 1: the daemon will send nothing more for this kernel */
  uint32_t isa;   /* of the current entry: 0 the interpreter, 1 AVX2 with FMA, 2 AVX-512 (F, VL, DQ, BW), 3 NEON */
  double baseline_ns, optimised_ns; /* as measured by the daemon per call of elements_hint elements; 0: unknown */
  /* The daemon's last report of its progress; since 0.1.1 (an older library leaves these as they were). */
  uint32_t stage; /* enum trident_stage */
  uint32_t stage_done, stage_total;
  /* 1: calls on parts of the arrays give the same elements, for none depends on its number, on n or on other elements.
   * Known from the first call on, or trident_wait(kernel, 0, 0); since 0.1.8. */
  uint32_t divides;
  double best_ratio; /* of the best candidate so far to the baseline, 1 until one is faster; 0: unknown */
  const char* note;  /* trident_kernel_note(); since 0.1.3 */
  uint64_t misses;   /* times that data lay outside the ranges in which the code is fast; 0: it is fast in none */
} trident_kernel_info;

typedef struct trident_stats {
  uint32_t struct_size;
  uint32_t connected; /* 1: a daemon is connected now */
  uint64_t submitted, baseline_received, optimised_received, no_gain, errors, reconnects, rejected_images;
} trident_stats;

/* Programs of Triton VM (since 0.1.2). Elements are numbers below p = 2^64 - 2^32 + 1. */
typedef enum trident_program_form { TRIDENT_TASM = 0, TRIDENT_TIR = 1 } trident_program_form;

/* The tables of which a proof of a run consists, as heights are indexed. The prover pads all of them to the tallest. */
typedef enum trident_table {
  TRIDENT_TABLE_PROGRAM = 0,
  TRIDENT_TABLE_PROCESSOR = 1,
  TRIDENT_TABLE_OP_STACK = 2,
  TRIDENT_TABLE_RAM = 3,
  TRIDENT_TABLE_JUMP_STACK = 4,
  TRIDENT_TABLE_HASH = 5,
  TRIDENT_TABLE_CASCADE = 6,
  TRIDENT_TABLE_LOOKUP = 7,
  TRIDENT_TABLE_U32 = 8
} trident_table;
#define TRIDENT_TABLES 9

/* Parts of the search that can be left out, as bits of trident_program_options.left_out. */
typedef enum trident_left_out {
  TRIDENT_WITHOUT_PEEPHOLES = 1,
  TRIDENT_WITHOUT_SUBROUTINES = 2,
  TRIDENT_WITHOUT_SUPEROPTIMISER = 4,
  TRIDENT_WITHOUT_NETWORK = 8
} trident_left_out;

/* Inputs with which a program ends well, as those of trident_program_options. */
typedef struct trident_program_run {
  const uint64_t *public_input, *secret_input, *secret_digests, *ram;
  uint64_t public_count, secret_count, digest_count, ram_count;
} trident_program_run;

typedef struct trident_program_options {
  uint32_t struct_size; /* sizeof(trident_program_options) */
  uint32_t form;        /* enum trident_program_form */
  /* Inputs with which the program ends well; its cost is measured on them. NULL with a count of 0. */
  const uint64_t* public_input;
  const uint64_t* secret_input;
  const uint64_t* secret_digests;                               /* five words each */
  const uint64_t* ram;                                          /* address, word, address, word .. */
  uint64_t public_count, secret_count, digest_count, ram_count; /* of words, words, digests, pairs */
  uint64_t cycles;       /* most cycles of one run; 0: the limit of the builder */
  uint32_t milliseconds; /* of search; 0: 10,000 */
  uint32_t programs;     /* whole programs that may be run; 0: 600 */
  uint32_t left_out;     /* bits of enum trident_left_out */
  uint32_t reserved;
  /* Further inputs, at most 63 (after 0.1.2): the result is taller on none of them. */
  const trident_program_run* runs;
  uint64_t run_count;
} trident_program_options;

/* The program built: it does the same, proven block by block and run on the inputs. The library's memory. */
typedef struct trident_program {
  uint32_t struct_size; /* of the library's struct */
  uint32_t better;      /* 1: cheaper to prove: lower padded height, else lower tallest table, else fewer words */
  uint32_t by_daemon;   /* 1: the daemon built it, 0: the engine in this process */
  uint32_t words_before, words_after;
  uint32_t reserved;
  uint64_t heights_before[TRIDENT_TABLES], heights_after[TRIDENT_TABLES]; /* before: lowered without passes if TIR */
  uint64_t padded_before, padded_after;
  const char* tasm;   /* the text, ends with 0 */
  const char* report; /* JSON: "changes", "subroutine_changes", "proposers", "programs_run"; "runs": heights of each */
  uint64_t tasm_size; /* without the 0 */
} trident_program;

/* NULL options: mode AUTO. Never waits for a daemon except in mode DAEMON. Mode INTERP starts no thread. Mode EMBEDDED
 * starts one that compiles, and for its searches up to four more, which stay; all of low priority. */
TRIDENT_API trident_status trident_open(const trident_options* options, trident_ctx** ctx);
/* Waits for the library's own threads; not from a callback. Kernels that are still open keep working as they are. No
 * callback runs after this returns, nor for the end that closing is to unfinished kernels. */
TRIDENT_API void trident_close(trident_ctx* ctx);

/* Parses and checks `text` (not kept) and returns a callable kernel; everything slow happens behind it. */
TRIDENT_API trident_status trident_submit(trident_ctx* ctx, const char* text, const trident_submit_options* options,
                                          trident_kernel** kernel);
/* No call may be running. Waits for a running callback of this kernel (unless called from it). */
TRIDENT_API void trident_close_kernel(trident_kernel* kernel);

/* Index of a variable among the arrays (`in`) or the scalars (`params`), or of an output; -1: no such name. */
TRIDENT_API int trident_array_index(const trident_kernel* kernel, const char* name);
TRIDENT_API int trident_scalar_index(const trident_kernel* kernel, const char* name);
TRIDENT_API int trident_output_index(const trident_kernel* kernel, const char* name);
/* Names and types by index; NULL / -1 out of range. */
TRIDENT_API const char* trident_array_name(const trident_kernel* kernel, uint32_t index);
TRIDENT_API const char* trident_scalar_name(const trident_kernel* kernel, uint32_t index);
TRIDENT_API const char* trident_output_name(const trident_kernel* kernel, uint32_t index);
TRIDENT_API int trident_array_type(const trident_kernel* kernel, uint32_t index);
TRIDENT_API int trident_scalar_type(const trident_kernel* kernel, uint32_t index);
TRIDENT_API int trident_output_type(const trident_kernel* kernel, uint32_t index);
TRIDENT_API int trident_output_is_scalar(const trident_kernel* kernel, uint32_t index);

/* Runs the kernel over n elements. in[i]: arrays in order; out[i]: arrays (or single elements for reductions) in order;
 * params[i]: bits of scalar i in the low bytes of 8 (may be NULL when there are none). n may be 0: when all outputs are
 * arrays, nothing is read or written then and in, out and params may be NULL; a reduction still writes its result, and
 * all tables must be there, with NULL for arrays if need be. An output may be the same array
 * as an input but not overlap one partly. The calling thread's floating-point environment (rounding mode, subnormals,
 * traps) changes no result and is kept, status flags aside; so it is with every function here. Async-signal-safe once
 * the kernel has been called, has been waited for (tier 0 is enough) or has reached a tier: the first call of the
 * interpreter prepares it and takes memory for that. (A kernel with hundreds of values alive at once makes concurrent
 * calls of the interpreter wait for each other; keep such ones out of signal handlers.) */
static inline void trident_call(const trident_kernel* kernel, uint64_t n, const void* const* in, void* const* out,
                                const uint64_t* params) {
  trident_entry_fn entry = __atomic_load_n(&kernel->entry, __ATOMIC_ACQUIRE);
  entry(kernel, n, in, out, params);
}

/* Shows the arguments of a call that is to come, so that the library need not learn them from calls. Since 0.1.3. The
 * compiler gets the least and greatest number of each, and whether there was NaN, as a hint, and may send code that is
 * fast in such ranges, and right everywhere: it checks every element. Only the first showing of a kernel counts. Params
 * may be NULL when there are none; kernel and arrays may not be NULL, as in trident_call(). */
TRIDENT_API void trident_observe(const trident_kernel* kernel, uint64_t n, const void* const* in,
                                 const uint64_t* params);

/* trident_call as a function, for languages that cannot inline it. */
TRIDENT_API void trident_run(const trident_kernel* kernel, uint64_t n, const void* const* in, void* const* out,
                             const uint64_t* params);

/* trident_call on several threads; since 0.1.6. They are the caller and helpers of the context, at most `threads` (0:
 * as trident_options says) and no more than the caller's affinity mask and, when the context was opened, the process's
 * control groups gave processors for. Helpers start with the first call that wants them; a program that never makes
 * one has none. Short calls, calls that would take only some microseconds more than one helper's wake-up, and calls
 * while the helpers are at another one run on the caller alone, as do kernels whose values depend on an element's
 * number or on a reduction (x - mean(x)), any() and all() excepted: these end for all threads when one has decided
 * them. Any number of threads gives the same bits. They are those of trident_call;
 * only where the policy is not EXACT may reductions differ from it in their last bits. Not async-signal-safe. */
TRIDENT_API void trident_call_parallel(const trident_kernel* kernel, uint64_t n, const void* const* in,
                                       void* const* out, const uint64_t* params, uint32_t threads);

/* trident_call_parallel on arrays whose elements do not lie one after the other; since 0.1.8. All have the extents
 * `shape`, at most TRIDENT_DIMENSIONS_MAX of them; the last index is the fastest. in_strides[i] and out_strides[i] are
 * the bytes from one index to the next, by dimension: any number, of inputs also 0, at any address. NULL: the elements
 * lie one after the other; so for tables and scalars. A list that is NULL has NULL for all. Where an extent is 0 and
 * all outputs are arrays, in and out may be NULL too; else TRIDENT_E_INVALID. Some elements at a time are copied to
 * buffers and back, so that no array is copied as a whole, but for kernels whose values depend on an element's number
 * or on a reduction. An output may be the same elements as an input of its element size; else they share no memory.
 * TRIDENT_E_LIMIT: the product of the extents is 2^63 or more, or an array spans 2^62 bytes or more. After an error
 * (TRIDENT_E_MEMORY is another) nothing has been computed. No kernel of a function. */
#define TRIDENT_DIMENSIONS_MAX 64
TRIDENT_API trident_status trident_call_strided(const trident_kernel* kernel, uint32_t dimensions,
                                                const uint64_t* shape, const void* const* in,
                                                const int64_t* const* in_strides, void* const* out,
                                                const int64_t* const* out_strides, const uint64_t* params,
                                                uint32_t threads);

/* Calls work(i, user) once for each i < pieces, in any order, on the threads of trident_call_parallel(), and returns
 * when all have returned. For callers who do something with parts of arrays before and after trident_call, such as
 * casts. All on the caller alone while the helpers are at something else; so work may itself make such calls. Where
 * work ends the caller's thread (pthread_cancel), helpers end their pieces first, and some may not be done; a helper's
 * must return. No kernel of a function (TRIDENT_SYNTAX_FUNCTION). Since 0.1.6. */
TRIDENT_API void trident_for_each_piece(const trident_kernel* kernel, uint64_t pieces,
                                        void (*work)(uint64_t piece, void* user), void* user, uint32_t threads);

/* Blocks until the kernel has reached `tier` (as in trident_kernel_info) or nothing more will come (TRIDENT_OK), or the
 * time is over (TRIDENT_E_TIMEOUT). Where no thread can be started that asks a compiler it returns at once
 * (TRIDENT_E_MEMORY at a limit of the system); the next wait or submission tries again. Tier 0 prepares the interpreter
 * and waits for nobody; without it a process that is out of memory at the very first call gets NaN (the least integer)
 * in every element. Not from a callback. */
TRIDENT_API trident_status trident_wait(trident_kernel* kernel, uint32_t tier, uint32_t timeout_ms);
/* Called from a thread of the library at each later swap and at the end (trident_kernel_info.done; also where this
 * process turns out to be unable to run code), unless that has been reached before; NULL switches off. When this
 * returns, the callback set before does not run any more. The callback may close the kernel; it must not wait, and a
 * child that it forks must not return from it. */
TRIDENT_API void trident_on_change(trident_kernel* kernel, void (*callback)(trident_kernel*, void*), void* user);

TRIDENT_API trident_status trident_info(const trident_kernel* kernel, trident_kernel_info* info);
/* Why the kernel runs no better code, in one sentence: no daemon and no engine, no thread, a daemon that hangs or
 * refuses, a limit that is named, a search that found nothing, a check that failed (with values), no right to run code,
 * no instruction set, the mode. NULL while nothing stands in its way, and of optimised code. Lives as long as the
 * kernel. Since 0.1.3.
 */
TRIDENT_API const char* trident_kernel_note(const trident_kernel* kernel);
TRIDENT_API trident_status trident_get_stats(trident_ctx* ctx, trident_stats* stats);
/* The daemon's own counters as JSON, into buffer; TRIDENT_E_DAEMON when none is connected. */
TRIDENT_API trident_status trident_daemon_stats(trident_ctx* ctx, char* buffer, size_t size, uint32_t timeout_ms);

/* Makes a program of Triton VM cheaper to prove and waits until that is done, as `trident build` does. `text` is TASM
 * or TIR (options->form; NULL options: TASM without inputs). Built by the daemon, over a connection of its own; in mode
 * EMBEDDED, and in mode AUTO where no daemon answers, by the engine in this process; in mode INTERP by nobody
 * (TRIDENT_E_UNSUPPORTED). Errors: TRIDENT_E_SYNTAX with line and column, TRIDENT_E_INVALID for inputs with which the
 * program fails, with the place and why, TRIDENT_E_LIMIT for a text of more than 1 MiB.
 * `progress` (may be NULL) is called from this thread now and then; total may be 0 while nothing is known. Not 0: give
 * up, TRIDENT_E_CANCELLED. Thread-safe; the context must stay open meanwhile. On an error *program is NULL. */
TRIDENT_API trident_status trident_build_program(trident_ctx* ctx, const char* text,
                                                 const trident_program_options* options,
                                                 int (*progress)(uint32_t done, uint32_t total, void* user), void* user,
                                                 trident_program** program);
/* NULL: nothing happens. */
TRIDENT_API void trident_free_program(trident_program* program);

/* The last error of this thread, with file, line and caret where it is a text's fault. Never NULL. */
TRIDENT_API const char* trident_last_error(void);
TRIDENT_API uint32_t trident_abi_version(void);

#ifdef __cplusplus
}
#endif
#endif
