/* A kernel with the types of its arguments, and its call. See call.c. */
#ifndef TRIDENT_EXTENSION_BOUND_H
#define TRIDENT_EXTENSION_BOUND_H

#include "arguments.h"

typedef void (*parallel_fn)(const void* kernel, uint64_t n, const void* const* in, void* const* out,
                            const uint64_t* params, uint32_t threads);
typedef int (*strided_fn)(const void* kernel, uint32_t dimensions, const uint64_t* shape, const void* const* in,
                          const int64_t* const* in_strides, void* const* out, const int64_t* const* out_strides,
                          const uint64_t* params, uint32_t threads);

extern PyObject *numpy_empty, *numpy_copyto;
extern parallel_fn call_parallel;
extern strided_fn call_strided;
extern PyTypeObject* bound_type;
extern uint32_t thread_count; /* of a call that does not say */

/* Makes the type. Returns 0 where that fails. */
int make_bound_type(void);

/* Makes the call and writes to `out`, unless that is NULL or None: an array, or a sequence of them for several results.
 * Returns a new reference; NULL without an exception where the Python function has to make the call. */
PyObject* run_bound(const bound* b, PyObject* const* values, PyObject* out, uint32_t threads);

#endif
