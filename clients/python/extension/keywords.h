/* The arguments of evaluate() and re_evaluate(), and what of them decides the kernel. See call.c. */
#ifndef TRIDENT_EXTENSION_KEYWORDS_H
#define TRIDENT_EXTENSION_KEYWORDS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>

/* In the order of the Python function's parameters. */
enum slot {
  kEx,
  kLocalDict,
  kGlobalDict,
  kOut,
  kOrder,
  kCasting,
  kSanitize,
  kFrameDepth,
  kDisableCache,
  kPolicy,
  kK,
  kRanges,
  kThreads,
  kContext,
  kOptimization,
  kTruediv,
  kSlots
};
enum { kPositional = kPolicy }; /* those before it may be given by position */
enum { kDepthOfCaller = 3 };    /* _frame_depth up to which evaluate() means its caller */

/* Makes the names. Returns 0 where that fails. */
int make_keywords(void);

/* Sorts arguments into `slots`, borrowed; NULL for those that are not given. Returns 0 for what is none of them. */
int sort_arguments(PyObject** slots, PyObject* const* args, Py_ssize_t count, PyObject* names);

/* Returns what tells calls of one text with different kernels, orders or casts apart: the text itself, where all is as
 * by default, or a tuple. Equal keys mean the same. NULL, without an exception but for memory, where the short way does
 * not know a value. A context is told by its address: a Bound of such a key keeps it. */
PyObject* key_of(PyObject* const* slots);

/* Reads `threads`, unless it is NULL. Returns 0 where the Python function has to look at it. */
int read_threads(uint32_t* threads, PyObject* value);

/* Returns whether `_frame_depth` means the caller. */
int is_caller(PyObject* depth, long most);

#endif
