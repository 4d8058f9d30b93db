/* Functions with loops, branches and arrays: calls, parameters, and libraries of them by name. Since 0.1.5.
 *
 *   trident_submit_options o = TRIDENT_SUBMIT_OPTIONS_INIT;
 *   o.syntax = TRIDENT_SYNTAX_FUNCTION;
 *   trident_submit(ctx, "fn gcd(a: i64, b: i64) -> i64 { while b != 0 { let r = a % b; a = b; b = r; } return a; }",
 *                  &o, &k);
 *   trident_argument in[] = {{{48}}, {{18}}};
 *   trident_returned out = {sizeof(out)};
 *   trident_function_call(k, in, 2, 0, &out);     // out.value.i is 6: interpreted at once, native later
 *
 * The handle is a kernel's: trident_wait, trident_on_change, trident_info, trident_kernel_note and trident_close_kernel
 * take it. docs/functions.md describes the language. Everything here is thread-safe: calls need no lock. */
#ifndef TRIDENT_FUNCTION_H
#define TRIDENT_FUNCTION_H

#include "trident.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value: an i64, a u8 and a bool (0 or 1) in `i`, an f64 in `f`. */
typedef union trident_value {
  int64_t i;
  double f;
  uint64_t bits;
} trident_value;

/* An argument: a value, or an array. Arrays of i64 and f64 have elements of 8 bytes, aligned to 8; those of u8 have
 * bytes. */
typedef struct trident_argument {
  trident_value value;
  void* data;     /* the first element; may be NULL when there are none */
  uint64_t count; /* of elements */
} trident_argument;

/* Why a call ended without a result. */
typedef enum trident_failure {
  TRIDENT_RETURNED = 0,        /* it did not */
  TRIDENT_FAILED_DIVISION = 1, /* a division by zero */
  TRIDENT_FAILED_INDEX = 2,    /* an index outside of its array */
  TRIDENT_FAILED_BUDGET = 3,   /* more rounds of loops than the budget allows */
  TRIDENT_FAILED_RANGE = 4     /* an argument outside of the range of its @param line, or of its type */
} trident_failure;

/* How a call ended. A failure is no error: what the call had written to arrays until then stays written. */
typedef struct trident_returned {
  uint32_t struct_size;
  uint32_t failure;     /* enum trident_failure */
  trident_value value;  /* the result; 0 after a failure, and of a function without one */
  uint32_t line;        /* of `function`, where it failed; 0: nowhere */
  uint32_t tier;        /* what ran: 0 the interpreter, 1 and 2 machine code */
  const char* function; /* the one that failed: this one or one that it calls; lives as long as the handle */
  const char* argument; /* FAILED_RANGE: its name; likewise */
} trident_returned;

/* Rounds of loops that a budget of 0 stands for. */
#define TRIDENT_BUDGET_DEFAULT ((uint64_t)1 << 32)

/* Calls a function. Errors: TRIDENT_E_INVALID for a handle of an expression, for a wrong number of arguments, for an
 * array without memory or not aligned, and for an `out` or `inout` array that overlaps another one; arrays that are
 * only read may overlap. */
TRIDENT_API trident_status trident_function_call(const trident_kernel* function, const trident_argument* arguments,
                                                 uint32_t count, uint64_t budget, trident_returned* returned);

typedef enum trident_passing {
  TRIDENT_BY_VALUE = 0,
  TRIDENT_IN = 1,
  TRIDENT_OUT = 2,
  TRIDENT_INOUT = 3
} trident_passing;

typedef struct trident_parameter {
  uint32_t struct_size;
  uint32_t type;       /* enum trident_type: I64, F64, U8 or BOOL; of an array's elements */
  uint32_t passing;    /* enum trident_passing; all but BY_VALUE are arrays */
  uint32_t has_range;  /* 1: values, or elements, lie in [lo, hi] */
  int64_t lo, hi;      /* of F64: the bits of doubles */
  const char* name;    /* lives as long as the handle */
  const char* meaning; /* the text of its @param line, perhaps empty; likewise */
} trident_parameter;

typedef struct trident_function_facts {
  uint32_t struct_size;
  uint32_t parameters;
  int32_t result_type; /* enum trident_type; -1: none */
  uint32_t is_kernel;  /* 1: all parameters are values, so trident_call runs it for n elements */
  const char* name;
  const char* text; /* as it was submitted */
} trident_function_facts;

/* TRIDENT_E_INVALID for a handle of an expression, and for an index beyond the last parameter. */
TRIDENT_API trident_status trident_function_info(const trident_kernel* function, trident_function_facts* facts);
TRIDENT_API trident_status trident_function_parameter(const trident_kernel* function, uint32_t index,
                                                      trident_parameter* parameter);

/* Where all parameters are values, the function is a kernel, too: trident_call(k, n, in, out, NULL) calls it n times.
 * in[i] has the n values of parameter i, 8 bytes each; out[0] ("result") takes n results of 8 bytes, and is NULL where
 * there are none; out[1] ("status", may be NULL) takes n words of 8 bytes: 0, or line * 256 + enum trident_failure.
 * With arrays among the parameters trident_call does nothing. */

/* Functions by name: those that come with the library, or those of a folder. */
typedef struct trident_library trident_library;

/* Reads all files NAME.fn below `folder`, which may call each other and the shipped functions, and runs their @test
 * lines. NULL: the shipped ones. Errors: TRIDENT_E_SYNTAX and TRIDENT_E_TYPE with file, line and caret;
 * TRIDENT_E_INVALID where a test does not hold, with its file and line, and for a folder that cannot be read or has no
 * functions. */
TRIDENT_API trident_status trident_library_open(trident_ctx* ctx, const char* folder, trident_library** library);
/* Closes its functions' handles, too: no call of one may be running. */
TRIDENT_API void trident_library_close(trident_library* library);
/* Returns the handle of a function, submitted on first need. The library's: do not close it. TRIDENT_E_INVALID for an
 * unknown name, with the nearest one. */
TRIDENT_API trident_status trident_library_function(trident_library* library, const char* name,
                                                    trident_kernel** function);
TRIDENT_API uint32_t trident_library_size(const trident_library* library);
/* Names by area and name; NULL out of range. */
TRIDENT_API const char* trident_library_name(const trident_library* library, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
