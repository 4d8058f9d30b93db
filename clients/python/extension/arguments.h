/* The arguments of a call: kernels take arrays in place if they are of its types. See call.c. */
#ifndef TRIDENT_EXTENSION_ARGUMENTS_H
#define TRIDENT_EXTENSION_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>

enum { kArgumentsMax = 64 };
enum { kStridedMax = 8 }; /* dimensions of arrays that are not contiguous */

/* As NumPy has them: the fields of PyArray_Descr and PyArrayObject that are alike in NumPy 1 and 2. */
struct descr {
  PyObject_HEAD PyTypeObject* typeobj;
  char kind, type, byteorder, flags;
  int type_num;
};
struct array {
  PyObject_HEAD char* data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject* base;
  struct descr* descr;
  int flags;
};

typedef void (*entry_fn)(const void* self, uint64_t n, const void* const* in, void* const* out, const uint64_t* params);

enum result { kArray, kZeroDimensions, kNumber }; /* of a reduction: an array without dimensions, or its element */

typedef struct {
  PyObject_HEAD PyObject *owner, *names,
      *dtype;       /* owner keeps the handle open: the program of evaluate(), or a Kernel's handle */
  entry_fn* kernel; /* its first word is the entry */
  int count, out_bytes, result;
  int type_num[kArgumentsMax], bytes[kArgumentsMax]; /* bytes: of an element; 0: one Python number */
} bound;

struct call {
  uint64_t n;
  int nd;
  const Py_ssize_t* shape; /* of the result; of contiguous arrays that of all */
  const void* in[kArgumentsMax];
  int in_bytes[kArgumentsMax];
  uint64_t params[kArgumentsMax];
  int in_count;
  char* out;
  /* Arrays that are not contiguous, or have not one shape: */
  int is_strided;
  Py_ssize_t extents[kStridedMax];
  int64_t strides[kArgumentsMax][kStridedMax], out_strides[kStridedMax];
};

extern PyTypeObject* ndarray_type;

/* Fills the call with the arguments `values`, and checks that the kernel may write to `out`, unless that is NULL.
 * Returns 0 where the kernel does not take them in place. */
int take_call(struct call* c, const bound* b, PyObject* const* values, PyObject* out);

#endif
