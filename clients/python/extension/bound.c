#include "bound.h"

enum { kLongCall = 4096 };     /* elements from which trident_call_parallel() does more than trident_call() */
enum { kCopiedMax = 1 << 14 }; /* elements of a result that is made first and then copied to `out` */

PyObject *numpy_empty, *numpy_copyto, *no_shape;
parallel_fn call_parallel;
strided_fn call_strided;
PyTypeObject* bound_type;
uint32_t thread_count;

/* ---- the type ---- */

static void bound_dealloc(PyObject* self) {
  bound* b = (bound*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject* const owned[] = {b->owner, b->names, b->order, b->casting, b->finish, b->parts, b->dtypes};
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) Py_XDECREF(owned[i]);
  Py_DECREF(type);
}

static int read_argument(bound* b, int i, PyObject* row) {
  struct argument* const a = &b->arguments[i];
  if (!PyArg_ParseTuple(row, "iiii", &a->place, &a->type_num, &a->bytes, &a->kernel_type)) return 0;
  if (a->place < 0 || a->place >= PyTuple_Size(b->names)) {
    PyErr_SetString(PyExc_ValueError, "an argument has no name");
    return 0;
  }
  if (a->bytes != 0) b->has_numbers_only = 0;
  return 1;
}

static int read_output(bound* b, int i, PyObject* row) {
  PyObject* dtype;
  struct output* const o = &b->outputs[i];
  if (!PyArg_ParseTuple(row, "Oiii", &dtype, &o->type_num, &o->bytes, &o->is_reduced)) return 0;
  return PyTuple_SetItem(b->dtypes, i, Py_NewRef(dtype)) == 0;
}

static int read_rows(bound* b, PyObject* arguments, PyObject* outputs) {
  b->dtypes = PyTuple_New(b->output_count);
  int good = b->dtypes != NULL;
  for (int i = 0; good && i < b->count; ++i) good = read_argument(b, i, PyTuple_GetItem(arguments, i));
  for (int i = 0; good && i < b->output_count; ++i) good = read_output(b, i, PyTuple_GetItem(outputs, i));
  return good;
}

/* Bound(owner, address, names, arguments, outputs, order, casting, finish, parts, gives numbers, gives a tuple).
 * arguments: (place, type number, bytes, type number of the kernel); outputs: (dtype, its number, bytes, an
 * enum reduction).
 */
static PyObject* bound_new(PyTypeObject* type, PyObject* args, PyObject* Py_UNUSED(kwargs)) {
  PyObject *owner, *names, *arguments, *outputs, *order, *casting, *finish, *parts;
  unsigned long long address;
  int gives_numbers, gives_tuple;
  if (!PyArg_ParseTuple(args, "OKO!O!O!UOOOpp", &owner, &address, &PyTuple_Type, &names, &PyTuple_Type, &arguments,
                        &PyTuple_Type, &outputs, &order, &casting, &finish, &parts, &gives_numbers, &gives_tuple))
    return NULL;
  if (PyTuple_Size(names) > kArgumentsMax || PyTuple_Size(arguments) > kArgumentsMax ||
      PyTuple_Size(outputs) > kOutputsMax || PyUnicode_GetLength(order) != 1)
    return PyErr_Format(PyExc_ValueError, "at most %d arguments and %d outputs", kArgumentsMax, kOutputsMax);
  bound* b = (bound*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (b == NULL) return NULL;
  b->owner = Py_NewRef(owner);
  b->names = Py_NewRef(names);
  b->order = Py_NewRef(order);
  b->casting = Py_NewRef(casting);
  b->finish = Py_NewRef(finish);
  b->parts = Py_NewRef(parts);
  b->kernel = (entry_fn*)(uintptr_t)address;
  b->count = (int)PyTuple_Size(arguments);
  b->output_count = (int)PyTuple_Size(outputs);
  b->layout = (char)PyUnicode_ReadChar(order, 0);
  b->has_numbers_only = 1;
  b->gives_numbers = gives_numbers;
  b->gives_tuple = gives_tuple;
  if (!read_rows(b, arguments, outputs)) Py_CLEAR(b);
  return (PyObject*)b;
}

static PyType_Slot bound_slots[] = {{Py_tp_new, bound_new}, {Py_tp_dealloc, bound_dealloc}, {0, NULL}};
static PyType_Spec bound_spec = {"trident._call.Bound", sizeof(bound), 0, Py_TPFLAGS_DEFAULT, bound_slots};

int make_bound_type(void) {
  bound_type = (PyTypeObject*)PyType_FromSpec(&bound_spec);
  return bound_type != NULL;
}

/* ---- a call ---- */

static PyObject* shape_of(const struct call* c) {
  if (c->nd == 1) return PyLong_FromSsize_t(c->shape[0]);
  PyObject* shape = PyTuple_New(c->nd);
  const int is_reversed = c->is_strided && c->is_fortran;
  for (int i = 0; shape != NULL && i < c->nd; ++i)
    if (PyTuple_SetItem(shape, i, PyLong_FromSsize_t(c->shape[is_reversed ? c->nd - 1 - i : i])) != 0) Py_CLEAR(shape);
  return shape;
}

static void release(PyObject** values, int count) {
  for (int i = 0; i < count; ++i) Py_DECREF(values[i]);
}

/* Makes the arrays of the results. Returns 0 where that fails. */
static int make_results(struct call* c, const bound* b, PyObject** results) {
  PyObject *const shape = shape_of(c), *const order = c->is_fortran && c->nd > 1 ? PyUnicode_FromString("F") : NULL;
  int made = 0;
  if (shape == NULL || (order == NULL && PyErr_Occurred())) goto end;
  for (; made < b->output_count; ++made) {
    PyObject* const own = b->outputs[made].is_reduced ? no_shape : shape;
    results[made] = PyObject_CallFunctionObjArgs(numpy_empty, own, PyTuple_GetItem(b->dtypes, made), order, NULL);
    if (results[made] == NULL) break;
    c->out[made] = ((struct array*)results[made])->data;
  }
  if (made < b->output_count) release(results, made);
end:
  Py_XDECREF(shape);
  Py_XDECREF(order);
  return made == b->output_count;
}

static int run_strided(const bound* b, const struct call* c, int has_outs, uint32_t threads) {
  const int64_t *in_strides[kArgumentsMax], *out_strides[kOutputsMax];
  uint64_t shape[kStridedMax];
  for (int i = 0; i < c->in_count; ++i) in_strides[i] = c->strides[i];
  for (int i = 0; i < b->output_count; ++i) out_strides[i] = has_outs ? c->out_strides[i] : NULL;
  for (int i = 0; i < c->nd; ++i) shape[i] = (uint64_t)c->extents[i];
  return call_strided(b->kernel, (uint32_t)c->nd, shape, c->in, in_strides, c->out, out_strides, c->params, threads);
}

/* Returns 0 where the kernel has run. */
static int run_kernel(const bound* b, const struct call* c, int has_outs, uint32_t threads) {
  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (c->is_strided)
    status = run_strided(b, c, has_outs, threads);
  else if (c->n < kLongCall)
    __atomic_load_n(b->kernel, __ATOMIC_ACQUIRE)(b->kernel, c->n, c->in, c->out, c->params);
  else
    call_parallel(b->kernel, c->n, c->in, c->out, c->params, threads);
  Py_END_ALLOW_THREADS;
  return status;
}

/* Returns what the caller gets for the arrays of the results, which this takes: one of them, or all in a tuple. */
static PyObject* returned(const bound* b, PyObject** results) {
  int good = 1;
  for (int i = 0; i < b->output_count; ++i) {
    if (!good || !b->gives_numbers || !b->outputs[i].is_reduced) continue;
    PyObject* const number = PyObject_GetItem(results[i], no_shape);
    good = number != NULL;
    if (!good) continue;
    Py_DECREF(results[i]);
    results[i] = number;
  }
  if (good && !b->gives_tuple && b->finish == Py_None) return results[0];
  PyObject* value = NULL;
  if (good && b->gives_tuple) {
    value = PyTuple_New(b->output_count);
    for (int i = 0; value != NULL && i < b->output_count; ++i) PyTuple_SetItem(value, i, Py_NewRef(results[i]));
  } else if (good) {
    value = PyObject_CallFunctionObjArgs(b->finish, results[0], NULL);
  }
  release(results, b->output_count);
  return value;
}

static PyObject* run_alone(const bound* b, PyObject* const* values, uint32_t threads) {
  struct call c;
  PyObject* results[kOutputsMax];
  if (!take_call(&c, b, values, NULL) || !make_results(&c, b, results)) return NULL;
  if (run_kernel(b, &c, 0, threads) == 0) return returned(b, results);
  release(results, b->output_count);
  return NULL;
}

static PyObject* run_parts(const bound* b, PyObject* const* values, uint32_t threads) {
  const Py_ssize_t count = PyTuple_Size(b->parts);
  PyObject* results = PyTuple_New(count);
  for (Py_ssize_t i = 0; results != NULL && i < count; ++i) {
    PyObject* const result = run_bound((bound*)PyTuple_GetItem(b->parts, i), values, NULL, threads);
    if (result == NULL || PyTuple_SetItem(results, i, result) != 0) Py_CLEAR(results);
  }
  return results;
}

/* Casts n floats of one type to the other. Returns 0 for other types. */
static int cast_floats(const struct array* from, const struct array* to, Py_ssize_t n) {
  const void* const in = from->data;
  void* const out = to->data;
  if (from->descr->type_num == kDoubleType && to->descr->type_num == kFloatType)
    for (Py_ssize_t i = 0; i < n; ++i) ((float*)out)[i] = (float)((const double*)in)[i];
  else if (from->descr->type_num == kFloatType && to->descr->type_num == kDoubleType)
    for (Py_ssize_t i = 0; i < n; ++i) ((double*)out)[i] = ((const float*)in)[i];
  else
    return 0;
  return 1;
}

/* Returns whether numpy.copyto() casts these types without a warning; the Python function, which casts by
 * numpy.nditer(), gives none. */
static int casts_silently(int from, int to) {
  return from == to || (from < kFloatType && to <= kDoubleType);
}

/* Copies the result to `out` as `casting` permits. Returns 0 where the Python function has to, which says what is
 * wrong. */
static int copy_result(const bound* b, PyObject* out, PyObject* result, Py_ssize_t n) {
  const struct array *const from = (struct array*)result, *const to = (struct array*)out;
  const int is_reduced = b->outputs[0].is_reduced || b->finish != Py_None;
  if (!has_extents(out, from->nd, from->dimensions)) return 0;
  /* numpy.copyto() asks of one value alone whether it fits, not of its type. */
  if ((is_reduced || from->nd == 0) && from->descr->type_num != to->descr->type_num) return 0;
  if (PyUnicode_CompareWithASCIIString(b->casting, "same_kind") == 0 && lie_alike(from, to) && cast_floats(from, to, n))
    return 1;
  if (!casts_silently(from->descr->type_num, to->descr->type_num)) return 0;
  PyObject* const copied = PyObject_CallFunctionObjArgs(numpy_copyto, out, result, b->casting, NULL);
  if (copied == NULL) PyErr_Clear();
  Py_XDECREF(copied);
  return copied != NULL;
}

/* Makes the result and then copies it to `out`, an array of its shape. */
static PyObject* run_and_copy(const bound* b, PyObject* const* values, PyObject* out, uint32_t threads) {
  if (Py_TYPE(out) != ndarray_type || b->casting == Py_None) return NULL;
  Py_ssize_t n = 1;
  for (int i = 0; i < ((struct array*)out)->nd; ++i) n *= ((struct array*)out)->dimensions[i];
  if (n > kCopiedMax) return NULL;
  PyObject* const result = run_alone(b, values, threads);
  if (result == NULL) return NULL;
  const int is_copied = Py_TYPE(result) == ndarray_type && copy_result(b, out, result, n);
  Py_DECREF(result);
  return is_copied ? Py_NewRef(out) : NULL;
}

/* Fetches the arrays of `out`, new references. Returns 0 where they are not as many as the results. */
static int fetch_outs(const bound* b, PyObject* out, PyObject** outs) {
  if (!b->gives_tuple) {
    outs[0] = Py_NewRef(out);
    return 1;
  }
  if (!(PyTuple_CheckExact(out) || PyList_CheckExact(out)) || PySequence_Size(out) != b->output_count) return 0;
  for (int i = 0; i < b->output_count; ++i)
    outs[i] = Py_NewRef(PyTuple_CheckExact(out) ? PyTuple_GetItem(out, i) : PyList_GetItem(out, i));
  return 1;
}

/* Writes to `out` in place, and returns it, or a tuple of the arrays in it. */
static PyObject* run_into(const bound* b, PyObject* const* values, PyObject* out, uint32_t threads) {
  struct call c;
  PyObject* outs[kOutputsMax];
  if (b->finish != Py_None || !fetch_outs(b, out, outs)) return NULL;
  PyObject* result = NULL;
  if (take_call(&c, b, values, outs) && run_kernel(b, &c, 1, threads) == 0) {
    if (!b->gives_tuple) return outs[0];
    result = PyTuple_New(b->output_count);
    for (int i = 0; result != NULL && i < b->output_count; ++i) PyTuple_SetItem(result, i, Py_NewRef(outs[i]));
  }
  release(outs, b->output_count);
  return result;
}

PyObject* run_bound(const bound* b, PyObject* const* values, PyObject* out, uint32_t threads) {
  const int has_out = out != NULL && out != Py_None;
  PyObject* result = NULL;
  if (b->output_count != 0) result = has_out ? run_into(b, values, out, threads) : run_alone(b, values, threads);
  if (result != NULL || PyErr_Occurred()) return result;
  if (has_out) return b->parts == Py_None ? run_and_copy(b, values, out, threads) : NULL;
  return b->parts == Py_None ? NULL : run_parts(b, values, threads);
}
