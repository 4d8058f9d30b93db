/* One number of a call as a kernel takes it: Python's, NumPy's, arrays without dimensions. */
#include "arguments.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Numbers of NumPy's types. */
enum { kBool = 0, kInt32 = 5, kInt64 = 7, kUlonglong = 10, kFloat = kFloatType, kDouble = kDoubleType, kHalf = 23 };

PyTypeObject* number_types[kTypesMax];

static int is_float(int type_num) {
  return type_num == kFloat || type_num == kDouble || type_num == kHalf;
}

/* Returns the type that NumPy gives to the number; -1 where it is none of those that kernels take. */
static int type_of(PyObject* value, int expected) {
  if (PyFloat_CheckExact(value)) return kDouble;
  if (PyLong_CheckExact(value)) return kInt64;
  if (PyBool_Check(value)) return kBool;
  for (int i = 0; i < kTypesMax; ++i)
    if (Py_TYPE(value) == number_types[i] && (expected < 0 || expected == i)) return i;
  return -1;
}

/* Refuses what NumPy warns of. */
static int store_real(uint64_t* param, double number, int kernel_type) {
  const float narrow = (float)number;
  if (kernel_type == kDouble) memcpy(param, &number, sizeof number);
  if (kernel_type != kFloat) return kernel_type == kDouble;
  *param = 0;
  memcpy(param, &narrow, sizeof narrow);
  return !isinf(narrow) || isinf(number);
}

/* Rounds an integer once, as NumPy does. */
static int store_integer_as_real(uint64_t* param, int64_t number, int kernel_type) {
  const float narrow = (float)number;
  if (kernel_type == kDouble) return store_real(param, (double)number, kernel_type);
  *param = 0;
  memcpy(param, &narrow, sizeof narrow);
  return kernel_type == kFloat;
}

/* Reads an integer modulo 2^64 if it is NumPy's; Python's must fit. */
static int read_integer(int64_t* number, PyObject* value, int type_num) {
  int overflow = 0;
  *number = 0;
  if (type_num == kBool) {
    *number = PyObject_IsTrue(value);
  } else if (PyLong_CheckExact(value)) {
    *number = PyLong_AsLongLongAndOverflow(value, &overflow);
  } else {
    PyObject* const index = PyNumber_Index(value);
    if (index != NULL) *number = (int64_t)PyLong_AsUnsignedLongLongMask(index);
    Py_XDECREF(index);
  }
  if (!PyErr_Occurred()) return overflow == 0;
  PyErr_Clear();
  return 0;
}

static int read_real(double* number, PyObject* value) {
  *number = PyFloat_AsDouble(value);
  if (*number != -1 || !PyErr_Occurred()) return 1;
  PyErr_Clear();
  return 0;
}

static int store_integer(uint64_t* param, int64_t number, const struct argument* a) {
  if (is_float(a->kernel_type))
    return a->type_num == kAnyNumber && store_integer_as_real(param, number, a->kernel_type);
  const int is_narrow = a->kernel_type == kInt32;
  *param = is_narrow ? (uint32_t)number : (uint64_t)number;
  if (a->type_num != kAnyNumber) return a->kernel_type <= kUlonglong; /* which holds all of that type, or wraps */
  return a->kernel_type == kInt64 || (is_narrow && number >= INT32_MIN && number <= INT32_MAX);
}

int take_number(uint64_t* param, PyObject* value, const struct argument* a) {
  if (Py_TYPE(value) == ndarray_type) {
    const struct array* const array = (struct array*)value;
    if (array->nd != 0 || array->descr->type_num != a->type_num || !has_extents(value, 0, NULL)) return 0;
    PyObject* const number = PyObject_GetItem(value, no_shape);
    const int taken = number != NULL && Py_TYPE(number) != ndarray_type && take_number(param, number, a);
    Py_XDECREF(number);
    PyErr_Clear();
    return taken;
  }
  const int type_num = type_of(value, a->type_num);
  if (type_num < 0 || (a->type_num != kAnyNumber && type_num != a->type_num)) return 0;
  if (a->type_num == kAnyNumber && type_num != kDouble && !PyLong_CheckExact(value)) return 0;
  double real;
  int64_t integer;
  if (is_float(type_num)) return read_real(&real, value) && store_real(param, real, a->kernel_type);
  return read_integer(&integer, value, type_num) && store_integer(param, integer, a);
}
