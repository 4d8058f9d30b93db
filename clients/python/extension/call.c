/* The short way of a call: from arguments that lie as a kernel takes them to the kernel, without a Python object that
 * need not be made. Python code (trident/_evaluate.py, trident/_kernel.py) does all else: it parses, compiles,
 * converts, refuses.
 *
 *   evaluate(text)   text ──> its Bounds ──> the one with the arguments' types ──> result, kernel
 *   Kernel(..)(x)    its Bound
 *                    anything unusual (other types or orders of dimensions, overlap, keywords) ──> the Python function
 *
 * A Bound is a kernel with the types of its arguments; the Python function makes it when it has done such a call. Both
 * ways give the same results and errors, because this one only does calls that cannot fail but for memory.
 *
 * Built for Python's stable ABI, without NumPy's headers: `struct array` has the fields of PyArrayObject, which NumPy 1
 * and 2 keep alike, and trident/_short_call.py compares them with what arrays say of themselves before it uses this
 * module. libtrident's functions come as addresses, so nothing is linked. */
#include "arguments.h"

#include <string.h>
#include <structmember.h>

enum { kDimensionsMax = 64, kTextsMax = 256, kBoundsMax = 8 };
enum { kLongCall = 1 << 15 }; /* elements from which trident_call_parallel() may divide a call */
enum { kVersion = 6 };        /* of this module's functions, trident/_short_call.py */

typedef void (*parallel_fn)(const void* kernel, uint64_t n, const void* const* in, void* const* out,
                            const uint64_t* params, uint32_t threads);
typedef int (*strided_fn)(const void* kernel, uint32_t dimensions, const uint64_t* shape, const void* const* in,
                          const int64_t* const* in_strides, void* const* out, const int64_t* const* out_strides,
                          const uint64_t* params, uint32_t threads);

static PyObject *empty, *last_calls, *borrowed; /* numpy.empty; the thread-local of evaluate(), its way to keep `out` */
static PyObject* texts;                         /* text, or (text, policy) -> list of Bounds */
static unsigned long generation;                /* of texts */
static PyObject *s_call, *s_find, *s_out, *s_policy, *s_exact, *s_flags, *s_bound, *s_order, *s_casting, *no_shape;
static PyTypeObject *bound_type, *method_type;
static parallel_fn call_parallel;
static strided_fn call_strided;
static uint32_t threads;

/* ---- a kernel with the types of its arguments ---- */

static void bound_dealloc(PyObject* self) {
  bound* b = (bound*)self;
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(b->owner);
  Py_XDECREF(b->names);
  Py_XDECREF(b->dtype);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* Bound(owner, address, names, ((type number, bytes), ..), dtype, bytes of a result, result kind) */
static PyObject* bound_new(PyTypeObject* type, PyObject* args, PyObject* Py_UNUSED(kwargs)) {
  PyObject *owner, *names, *arguments, *dtype;
  unsigned long long address;
  int out_bytes, result;
  if (!PyArg_ParseTuple(args, "OKOO!Oii", &owner, &address, &names, &PyTuple_Type, &arguments, &dtype, &out_bytes,
                        &result))
    return NULL;
  const Py_ssize_t count = PyTuple_Size(arguments);
  if (count > kArgumentsMax) return PyErr_Format(PyExc_ValueError, "at most %d arguments", kArgumentsMax);
  bound* b = (bound*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (b == NULL) return NULL;
  b->owner = Py_NewRef(owner);
  b->names = Py_NewRef(names);
  b->dtype = Py_NewRef(dtype);
  b->kernel = (entry_fn*)(uintptr_t)address;
  b->count = (int)count;
  b->out_bytes = out_bytes;
  b->result = result;
  for (int i = 0; i < b->count; ++i)
    if (!PyArg_ParseTuple(PyTuple_GetItem(arguments, i), "ii", &b->type_num[i], &b->bytes[i])) {
      Py_DECREF(b);
      return NULL;
    }
  return (PyObject*)b;
}

static PyType_Slot bound_slots[] = {{Py_tp_new, bound_new}, {Py_tp_dealloc, bound_dealloc}, {0, NULL}};
static PyType_Spec bound_spec = {"trident._call.Bound", sizeof(bound), 0, Py_TPFLAGS_DEFAULT, bound_slots};

/* ---- a call ---- */

static PyObject* new_result(const struct call* c, const bound* b) {
  if (b->result != kArray) return PyObject_CallFunctionObjArgs(empty, no_shape, b->dtype, NULL);
  PyObject* shape = c->nd == 1 ? PyLong_FromSsize_t(c->shape[0]) : PyTuple_New(c->nd);
  for (int i = 0; shape != NULL && c->nd > 1 && i < c->nd; ++i)
    if (PyTuple_SetItem(shape, i, PyLong_FromSsize_t(c->shape[i])) != 0) Py_CLEAR(shape);
  if (shape == NULL) return NULL;
  PyObject* result = PyObject_CallFunctionObjArgs(empty, shape, b->dtype, NULL);
  Py_DECREF(shape);
  return result;
}

static int run_strided(const bound* b, const struct call* c, int has_out) {
  const int64_t *in_strides[kArgumentsMax], *out_strides = has_out ? c->out_strides : NULL;
  for (int i = 0; i < c->in_count; ++i) in_strides[i] = c->strides[i];
  void* const place = c->out;
  uint64_t shape[kStridedMax];
  for (int i = 0; i < c->nd; ++i) shape[i] = (uint64_t)c->extents[i];
  return call_strided(b->kernel, (uint32_t)c->nd, shape, c->in, in_strides, &place, &out_strides, c->params, threads);
}

/* Returns 0 where the kernel has run. */
static int run_kernel(const bound* b, const struct call* c, int has_out) {
  void* const place = c->out;
  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (c->is_strided)
    status = run_strided(b, c, has_out);
  else if (c->n < kLongCall)
    __atomic_load_n(b->kernel, __ATOMIC_ACQUIRE)(b->kernel, c->n, c->in, &place, c->params);
  else
    call_parallel(b->kernel, c->n, c->in, &place, c->params, threads);
  Py_END_ALLOW_THREADS;
  return status;
}

/* Makes the call. Returns a new reference; NULL without an exception where the Python function has to make it. */
static PyObject* run(const bound* b, PyObject* const* values, PyObject* out) {
  struct call c;
  const int has_out = out != NULL && out != Py_None;
  if (!take_call(&c, b, values, has_out ? out : NULL)) return NULL;
  PyObject* const result = has_out ? Py_NewRef(out) : new_result(&c, b);
  if (result == NULL) return NULL;
  c.out = ((struct array*)result)->data;
  if (run_kernel(b, &c, has_out) != 0) {
    Py_DECREF(result);
    return NULL;
  }
  if (b->result != kNumber) return result;
  PyObject* number = PyObject_GetItem(result, no_shape);
  Py_DECREF(result);
  return number;
}

/* ---- evaluate() and re_evaluate() ---- */

static void release(PyObject** values, int count) {
  for (int i = 0; i < count; ++i) Py_DECREF(values[i]);
}

/* Fetches the variables of `names`, new references. Returns 0 where they are to be found in another way. */
static int fetch(PyObject* names, PyObject* locals, PyObject* globals, PyObject** values) {
  const int count = (int)PyTuple_Size(names);
  for (int i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    PyObject* value = PyDict_GetItemWithError(locals, name);
    if (value == NULL && globals != NULL && !PyErr_Occurred()) value = PyDict_GetItemWithError(globals, name);
    if (value == NULL) {
      PyErr_Clear();
      release(values, i);
      return 0;
    }
    values[i] = Py_NewRef(value);
  }
  return 1;
}

/* Empties the copy of a function's variables that Python has made for us, where nobody else has it: it keeps them until
 * the function ends (trident/_evaluate.py, _arguments). */
static void forget(PyObject* locals) {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == NULL || locals == PyEval_GetGlobals() || Py_REFCNT(locals) != 1) return;
  PyObject* const code = (PyObject*)PyFrame_GetCode(frame);
  PyObject* const flags = PyObject_GetAttr(code, s_flags);
  Py_DECREF(code);
  if (flags != NULL && (PyLong_AsLong(flags) & 1) != 0) PyDict_Clear(locals); /* CO_OPTIMIZED */
  Py_XDECREF(flags);
  PyErr_Clear();
}

/* Returns whether the variables of `names` were found: in `given`, a dict or NULL, or where the caller of this has
 * them. */
static int fetch_all(PyObject* names, PyObject* given, PyObject** values) {
  if (given != NULL && given != Py_None)
    return PyDict_CheckExact(given) && fetch(names, given, PyEval_GetGlobals(), values);
  PyObject *const locals = PyEval_GetLocals(), *const globals = PyEval_GetGlobals();
  if (locals == NULL) PyErr_Clear();
  if (locals == NULL || globals == NULL || !PyDict_CheckExact(locals)) return 0;
  const int found = fetch(names, locals, globals, values);
  forget(locals);
  return found;
}

/* Keeps what re_evaluate() needs, as trident/_evaluate.py does. */
static int keep_last(bound* b, PyObject* out) {
  PyObject* const kept =
      out == NULL || out == Py_None ? Py_NewRef(Py_None) : PyObject_CallFunctionObjArgs(borrowed, out, NULL);
  PyObject* const last = kept == NULL ? NULL : PyTuple_Pack(6, b->owner, b->names, kept, s_order, s_casting, b);
  const int bad = last == NULL || PyObject_SetAttr(last_calls, s_call, last) != 0;
  Py_XDECREF(kept);
  Py_XDECREF(last);
  return bad;
}

/* Makes the call of a text (under "exact") or of a pair of text and policy, as `texts` has them. */
static PyObject* evaluated(PyObject* key, PyObject* given, PyObject* out) {
  PyObject* const bounds = PyDict_GetItemWithError(texts, key);
  if (bounds == NULL) return NULL;
  PyObject* values[kArgumentsMax];
  PyObject* result = NULL;
  Py_INCREF(bounds);
  PyObject* const names = ((bound*)PyList_GetItem(bounds, 0))->names;
  const int found = fetch_all(names, given, values);
  for (Py_ssize_t i = 0; found && result == NULL && !PyErr_Occurred() && i < PyList_Size(bounds); ++i) {
    PyObject* const b = Py_NewRef(PyList_GetItem(bounds, i));
    result = run((bound*)b, values, out);
    if (result != NULL && keep_last((bound*)b, out) != 0) Py_CLEAR(result);
    Py_DECREF(b);
  }
  if (found) release(values, (int)PyTuple_Size(names));
  Py_DECREF(bounds);
  return result;
}

/* The Python function with the same arguments. */
static PyObject* slowly(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  PyObject *const positional = PyTuple_New(count), *const keywords = named == 0 ? NULL : PyDict_New();
  PyObject* result = NULL;
  int good = positional != NULL && (named == 0 || keywords != NULL);
  for (Py_ssize_t i = 0; good && i < count; ++i) good = PyTuple_SetItem(positional, i, Py_NewRef(args[i])) == 0;
  for (Py_ssize_t i = 0; good && i < named; ++i)
    good = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]) == 0;
  if (good) result = PyObject_Call(function, positional, keywords);
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  return result;
}

enum { kEvaluate, kReEvaluate, kFronts };
static PyObject* functions_behind[kFronts]; /* the Python functions */

/* Sorts the keywords that the short way knows; returns 0 where there are others. */
static int take_keywords(PyObject* const* values, PyObject* names, PyObject** out, PyObject** policy) {
  const Py_ssize_t count = names == NULL ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    if (name == s_out || PyUnicode_Compare(name, s_out) == 0)
      *out = values[i];
    else if (name == s_policy || PyUnicode_Compare(name, s_policy) == 0)
      *policy = values[i];
    else
      return 0;
  }
  if (*policy != NULL && PyUnicode_CheckExact(*policy) && PyUnicode_Compare(*policy, s_exact) == 0) *policy = NULL;
  return 1;
}

static PyObject* evaluate(PyObject* Py_UNUSED(self), PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject *out = NULL, *policy = NULL, *result = NULL;
  if ((count == 1 || count == 2) && PyUnicode_CheckExact(args[0]) &&
      take_keywords(args + count, names, &out, &policy)) {
    PyObject* const key = policy == NULL ? Py_NewRef(args[0]) : PyTuple_Pack(2, args[0], policy);
    if (key != NULL) result = evaluated(key, count == 2 ? args[1] : NULL, out);
    Py_XDECREF(key);
    if (result != NULL) return result;
    if (PyErr_Occurred() && policy != NULL && PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Clear(); /* it has no hash: the Python function says what a policy is */
    if (PyErr_Occurred()) return NULL;
  }
  return slowly(functions_behind[kEvaluate], args, count, names);
}

/* Returns the array that evaluate() wrote to, a new reference: None where it made one, or where that is gone. */
static PyObject* last_out(PyObject* last) {
  PyObject* const kept = PyTuple_GetItem(last, 2);
  return kept == Py_None ? Py_NewRef(kept) : PyObject_CallMethodObjArgs(kept, s_find, NULL);
}

static PyObject* re_evaluated_as(PyObject* last) {
  PyObject* const b = PyTuple_GetItem(last, 5);
  PyObject *values[kArgumentsMax], *result = NULL;
  if (Py_TYPE(b) != bound_type || !fetch_all(((bound*)b)->names, NULL, values)) return NULL;
  PyObject* const out = last_out(last);
  if (out != NULL) result = run((bound*)b, values, out);
  Py_XDECREF(out);
  release(values, (int)PyTuple_Size(((bound*)b)->names));
  return result;
}

static PyObject* re_evaluated(void) {
  PyObject* const last = PyObject_GetAttr(last_calls, s_call);
  PyObject* result = NULL;
  if (last == NULL)
    PyErr_Clear();
  else if (PyTuple_Check(last) && PyTuple_Size(last) == 6)
    result = re_evaluated_as(last);
  Py_XDECREF(last);
  return result;
}

static PyObject* re_evaluate(PyObject* Py_UNUSED(self), PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 0 && names == NULL) {
    PyObject* const result = re_evaluated();
    if (result != NULL || PyErr_Occurred()) return result;
  }
  return slowly(functions_behind[kReEvaluate], args, count, names);
}

static PyMethodDef fronts[kFronts] = {
    {"evaluate", (PyCFunction)(void (*)(void))evaluate, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"re_evaluate", (PyCFunction)(void (*)(void))re_evaluate, METH_FASTCALL | METH_KEYWORDS, NULL},
};

/* front(number, function, documentation, module): the short way of that function. It is pickled as the module's. */
static PyObject* front(PyObject* Py_UNUSED(module), PyObject* args) {
  unsigned number;
  PyObject *function, *text, *name;
  if (!PyArg_ParseTuple(args, "IOUU", &number, &function, &text, &name)) return NULL;
  if (number >= kFronts) return PyErr_Format(PyExc_ValueError, "there are %d functions", kFronts);
  fronts[number].ml_doc = PyUnicode_AsUTF8AndSize(Py_NewRef(text), NULL); /* for ever, as the definition is */
  if (fronts[number].ml_doc == NULL) return NULL;
  functions_behind[number] = Py_NewRef(function);
  return PyCFunction_NewEx(&fronts[number], NULL, name);
}

/* ---- Kernel.__call__ ---- */

typedef struct {
  PyObject_HEAD PyObject* function;
} method;

static void method_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((method*)self)->function);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject* method_new(PyTypeObject* type, PyObject* args, PyObject* Py_UNUSED(kwargs)) {
  PyObject* function;
  if (!PyArg_ParseTuple(args, "O", &function)) return NULL;
  method* made = (method*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (made != NULL) made->function = Py_NewRef(function);
  return (PyObject*)made;
}

/* Returns the array that the only keyword, `out`, names; NULL where there are others. */
static PyObject* only_out(PyObject* kwargs) {
  return PyDict_Size(kwargs) == 1 ? PyDict_GetItemWithError(kwargs, s_out) : NULL;
}

static PyObject* called(PyObject* args, PyObject* kwargs) {
  const Py_ssize_t count = PyTuple_Size(args) - 1;
  if (count < 1 || count > kArgumentsMax) return NULL;
  PyObject* out = NULL;
  if (kwargs != NULL && PyDict_Size(kwargs) != 0 && (out = only_out(kwargs)) == NULL) return NULL;
  PyObject* const b = PyObject_GetAttr(PyTuple_GetItem(args, 0), s_bound);
  if (b == NULL) return NULL;
  PyObject *values[kArgumentsMax], *result = NULL;
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = PyTuple_GetItem(args, i + 1); /* args keeps them */
  if (Py_TYPE(b) == bound_type && ((bound*)b)->count == count) result = run((bound*)b, values, out);
  Py_DECREF(b);
  return result;
}

static PyObject* method_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (PyTuple_Size(args) >= 1) {
    PyObject* const result = called(args, kwargs);
    if (result != NULL || PyErr_Occurred()) return result;
  }
  return PyObject_Call(((method*)self)->function, args, kwargs);
}

/* A bound method is the Python function's. */
static PyObject* method_get(PyObject* self, PyObject* object, PyObject* type) {
  if (object == NULL) return Py_NewRef(self);
  PyObject* const function = ((method*)self)->function;
  return ((descrgetfunc)PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get))(function, object, type);
}

static PyMemberDef method_members[] = {{"__wrapped__", T_OBJECT, offsetof(method, function), READONLY, NULL},
                                       {NULL, 0, 0, 0, NULL}};
static PyType_Slot method_slots[] = {{Py_tp_new, method_new},         {Py_tp_dealloc, method_dealloc},
                                     {Py_tp_call, method_call},       {Py_tp_descr_get, method_get},
                                     {Py_tp_members, method_members}, {0, NULL}};
static PyType_Spec method_spec = {"trident._call.Method", sizeof(method), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

/* ---- the module ---- */

/* set_up(numpy.ndarray, numpy.empty, thread-local, keeper of `out`, addresses of trident_call_parallel and
 * trident_call_strided) */
static PyObject* set_up(PyObject* Py_UNUSED(module), PyObject* args) {
  PyObject *type, *made_by, *local, *keeper;
  unsigned long long parallel, strided;
  if (!PyArg_ParseTuple(args, "O!OOOKK", &PyType_Type, &type, &made_by, &local, &keeper, &parallel, &strided))
    return NULL;
  ndarray_type = (PyTypeObject*)Py_NewRef(type);
  empty = Py_NewRef(made_by);
  last_calls = Py_NewRef(local);
  borrowed = Py_NewRef(keeper);
  call_parallel = (parallel_fn)(uintptr_t)parallel;
  call_strided = (strided_fn)(uintptr_t)strided;
  Py_RETURN_NONE;
}

static PyObject* set_threads(PyObject* Py_UNUSED(module), PyObject* count) {
  threads = (uint32_t)PyLong_AsUnsignedLong(count);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* remember(text, bound): evaluate(text) may use it (or evaluate(text, policy=...), where `text` is a pair with that),
 * as long as forgotten() does not grow. Few texts are kept, so that kernels end when nobody uses them. */
static PyObject* remember(PyObject* Py_UNUSED(module), PyObject* args) {
  PyObject *text, *b;
  if (!PyArg_ParseTuple(args, "OO!", &text, bound_type, &b)) return NULL;
  PyObject* bounds = Py_XNewRef(PyDict_GetItemWithError(texts, text));
  const int is_full = bounds == NULL ? PyDict_Size(texts) >= kTextsMax : PyList_Size(bounds) >= kBoundsMax;
  if (is_full) {
    ++generation;
    Py_CLEAR(bounds);
    PyDict_Clear(texts);
  }
  if (bounds == NULL && (bounds = PyList_New(0)) == NULL) return NULL;
  const int bad = PyList_Append(bounds, b) != 0 || PyDict_SetItem(texts, text, bounds) != 0;
  Py_DECREF(bounds);
  if (bad) return NULL;
  Py_RETURN_NONE;
}

static PyObject* forgotten(PyObject* Py_UNUSED(module), PyObject* Py_UNUSED(args)) {
  return PyLong_FromUnsignedLong(generation);
}

static PyObject* tuple_of(const Py_ssize_t* numbers, int count) {
  PyObject* const tuple = PyTuple_New(count < 0 || count > kDimensionsMax ? 0 : count);
  if (tuple == NULL) return NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) PyTuple_SetItem(tuple, i, PyLong_FromSsize_t(numbers[i]));
  return tuple;
}

/* Returns what this module reads in an array: (address, dimensions, strides, type number, byte order, flags). */
static PyObject* described(PyObject* Py_UNUSED(module), PyObject* value) {
  const struct array* const a = (struct array*)value;
  return Py_BuildValue("KNNiCi", (unsigned long long)(uintptr_t)a->data, tuple_of(a->dimensions, a->nd),
                       tuple_of(a->strides, a->nd), a->descr->type_num, (int)(unsigned char)a->descr->byteorder,
                       a->flags);
}

static PyMethodDef functions[] = {{"set_up", set_up, METH_VARARGS, NULL},
                                  {"set_threads", set_threads, METH_O, NULL},
                                  {"remember", remember, METH_VARARGS, NULL},
                                  {"forgotten", forgotten, METH_NOARGS, NULL},
                                  {"described", described, METH_O, NULL},
                                  {"front", front, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "trident._call", NULL, -1, functions, NULL, NULL, NULL, NULL};

static int make_names(void) {
  return (s_call = PyUnicode_InternFromString("call")) != NULL &&
         (s_find = PyUnicode_InternFromString("find")) != NULL && (s_out = PyUnicode_InternFromString("out")) != NULL &&
         (s_exact = PyUnicode_InternFromString("exact")) != NULL &&
         (s_policy = PyUnicode_InternFromString("policy")) != NULL &&
         (s_flags = PyUnicode_InternFromString("co_flags")) != NULL &&
         (s_bound = PyUnicode_InternFromString("_bound")) != NULL &&
         (s_order = PyUnicode_InternFromString("K")) != NULL &&
         (s_casting = PyUnicode_InternFromString("same_kind")) != NULL && (no_shape = PyTuple_New(0)) != NULL &&
         (texts = PyDict_New()) != NULL;
}

PyMODINIT_FUNC PyInit__call(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module == NULL || !make_names()) return NULL;
  bound_type = (PyTypeObject*)PyType_FromSpec(&bound_spec);
  method_type = (PyTypeObject*)PyType_FromSpec(&method_spec);
  if (bound_type == NULL || method_type == NULL || PyModule_AddIntConstant(module, "VERSION", kVersion) != 0 ||
      PyModule_AddType(module, bound_type) != 0 || PyModule_AddType(module, method_type) != 0)
    return NULL;
  return module;
}
