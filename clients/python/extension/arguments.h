/* The arguments of a call: kernels take arrays in place if they are of its types. See call.c. */
#ifndef TRIDENT_EXTENSION_ARGUMENTS_H
#define TRIDENT_EXTENSION_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>

enum { kArgumentsMax = 64, kOutputsMax = 16, kTypesMax = 24, kAnyNumber = -1 };
enum { kFloatType = 11, kDoubleType = 12 }; /* numbers of float32 and float64 in NumPy */
enum { kStridedMax = 8 };                   /* dimensions of arrays that are not contiguous */

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

struct argument {
  int place;       /* among the values of a call */
  int type_num;    /* of the array or the number; kAnyNumber */
  int bytes;       /* of an element of an array; 0: one number, */
  int kernel_type; /* which the kernel takes as this type */
};

/* How an output is reduced to one element. kPlace: to the number of an element in C's order. */
enum reduction { kNotReduced, kReduced, kPlace };

struct output {
  int type_num, bytes;
  int is_reduced; /* an enum reduction */
};

typedef struct {
  PyObject_HEAD PyObject *owner,
      *names;                /* owner keeps the handle open: a program of evaluate(), or a Kernel's handle */
  PyObject *order, *casting; /* of evaluate(); casting is None for a Kernel, which casts nothing */
  PyObject *finish, *parts;  /* None, or a function of the result; None, or Bounds of single results */
  PyObject* dtypes;          /* of the outputs */
  entry_fn* kernel;          /* its first word is the entry */
  int count, output_count;
  int has_numbers_only; /* arguments, which the kernel takes as arrays of one element */
  int gives_numbers;    /* a reduced output is a number; else an array without dimensions */
  int gives_tuple;
  char layout; /* the letter of `order` */
  struct argument arguments[kArgumentsMax];
  struct output outputs[kOutputsMax];
} bound;

struct call {
  uint64_t n;
  int nd;
  const Py_ssize_t* shape; /* of the result; of contiguous arrays that of all */
  const void* in[kArgumentsMax];
  int in_bytes[kArgumentsMax];
  uint64_t params[kArgumentsMax];
  int in_count;
  int is_fortran; /* all arrays are contiguous in Fortran's order, and so is the result */
  void* out[kOutputsMax];
  /* Arrays that are not contiguous, or have not one shape: */
  int is_strided;
  Py_ssize_t extents[kStridedMax];
  int64_t strides[kArgumentsMax][kStridedMax], out_strides[kOutputsMax][kStridedMax];
};

extern PyTypeObject* ndarray_type;
extern PyObject* no_shape; /* () */
extern PyTypeObject*
    number_types[kTypesMax]; /* NumPy's numbers by type number; NULL for types that kernels do not take */

/* Fills the call with the arguments among `values`. Checks that the kernel may write to the arrays `outs`, one for each
 * output, unless that is NULL. Returns 0 where the kernel does not take them in place. */
int take_call(struct call* c, const bound* b, PyObject* const* values, PyObject* const* outs);

/* Stores a number as the kernel takes it. Returns 0 where it has to be converted in another way. */
int take_number(uint64_t* param, PyObject* value, const struct argument* a);

/* Returns whether `value` is an array of this shape and of the processor's byte order. */
int has_extents(PyObject* value, int nd, const Py_ssize_t* shape);

/* Returns whether arrays of one shape have their elements in the same order, one after the other, and the second may be
 * written to. */
int lie_alike(const struct array* from, const struct array* to);

#endif
