/* The short way of a call: from arguments that lie as a kernel takes them to the kernel, without a Python object that
 * need not be made. Python code (trident/_evaluate.py, trident/_kernel.py) does all else: it parses, compiles,
 * converts, refuses.
 *
 *   evaluate(text, ..)  key of text and options ──> its Bounds ──> the one with the arguments' types ──> result, kernel
 *   Kernel(..)(x)       its Bound
 *                       anything unusual (other types or orders of dimensions, values by a list) ──> the Python
 * function
 *
 * A Bound is a kernel with the types of its arguments; the Python function makes it when it has done such a call. Both
 * ways give the same results and errors, because this one only does calls that cannot fail but for memory.
 *
 * Built for Python's stable ABI, without NumPy's headers: `struct array` has the fields of PyArrayObject, which NumPy 1
 * and 2 keep alike, and trident/_short_call.py compares them with what arrays say of themselves before it uses this
 * module. libtrident's functions come as addresses, so nothing is linked. */
#include <string.h>

#include "bound.h"
#include "keywords.h"
#include "method.h"

enum { kDimensionsMax = 64, kTextsMax = 256, kBoundsMax = 32 };
enum { kVersion = 8 }; /* of this module's functions, trident/_short_call.py */

static PyObject *last_calls, *borrowed, *borrowed_all; /* the thread-local of evaluate(), its ways to keep `out` */
static PyObject* texts;                                /* key_of() a call -> list of Bounds */
static unsigned long generation;                       /* of texts */
static PyObject *s_call, *s_find, *s_flags;

/* ---- evaluate() and re_evaluate() ---- */

static void release(PyObject** values, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(values[i]);
}

/* Returns the value of a name in a dict, or in an object that is one but looks names up in its own way; a new
 * reference, NULL without an exception where there is none. */
static PyObject* found_in(PyObject* variables, PyObject* name) {
  PyObject* value = NULL;
  if (PyDict_CheckExact(variables))
    value = Py_XNewRef(PyDict_GetItemWithError(variables, name));
  else if (PySequence_Contains(variables, name) == 1)
    value = PyObject_GetItem(variables, name);
  if (value == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
    PyErr_Clear(); /* the Python function meets it again; not an interrupt */
  return value;
}

/* Fetches the variables of `names`, new references. Returns 0 where they are to be found in another way. */
static int fetch(PyObject* names, PyObject* locals, PyObject* globals, PyObject** values) {
  const Py_ssize_t count = PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    values[i] = found_in(locals, name);
    if (values[i] == NULL && globals != NULL && !PyErr_Occurred()) values[i] = found_in(globals, name);
    if (values[i] == NULL) {
      release(values, i);
      return 0;
    }
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

/* Returns whether the variables of `names` were found: in the dicts of the call, where it has them, else where the
 * caller of this has them. */
static int fetch_all(PyObject* names, PyObject* const* slots, PyObject** values) {
  PyObject *const given = slots[kLocalDict], *globals = slots[kGlobalDict];
  if (globals == NULL || globals == Py_None) globals = PyEval_GetGlobals();
  if (globals != NULL && !PyDict_Check(globals)) return 0;
  if (given != NULL && given != Py_None) return PyDict_Check(given) && fetch(names, given, globals, values);
  PyObject* const locals = PyEval_GetLocals();
  if (locals == NULL) PyErr_Clear();
  if (locals == NULL || globals == NULL || !PyDict_CheckExact(locals)) return 0;
  const int found = fetch(names, locals, globals, values);
  forget(locals);
  return found;
}

/* Returns whether the last call of this thread was of the same Bound and kept no array: nothing needs to be kept anew.
 */
static int is_kept(const bound* b) {
  PyObject* const last = PyObject_GetAttr(last_calls, s_call);
  if (last == NULL) PyErr_Clear();
  const int is_same = last != NULL && PyTuple_Check(last) && PyTuple_Size(last) == 6 &&
                      PyTuple_GetItem(last, 5) == (PyObject*)b && PyTuple_GetItem(last, 2) == Py_None;
  Py_XDECREF(last);
  return is_same;
}

/* Keeps what re_evaluate() needs, as trident/_evaluate.py does. */
static int keep_last(bound* b, PyObject* out) {
  const int has_out = out != NULL && out != Py_None;
  if (!has_out && is_kept(b)) return 0;
  PyObject* const keeper = b->gives_tuple || b->parts != Py_None ? borrowed_all : borrowed;
  PyObject* const kept = has_out ? PyObject_CallFunctionObjArgs(keeper, out, NULL) : Py_NewRef(Py_None);
  PyObject* const last = kept == NULL ? NULL : PyTuple_Pack(6, b->owner, b->names, kept, b->order, b->casting, b);
  const int bad = last == NULL || PyObject_SetAttr(last_calls, s_call, last) != 0;
  Py_XDECREF(kept);
  Py_XDECREF(last);
  return bad;
}

/* Makes the call with the Bounds of its key that take the values. */
static PyObject* evaluated_as(PyObject* bounds, PyObject* const* slots, PyObject* const* values, uint32_t count) {
  PyObject* result = NULL;
  for (Py_ssize_t i = 0; result == NULL && !PyErr_Occurred() && i < PyList_Size(bounds); ++i) {
    PyObject* const b = Py_NewRef(PyList_GetItem(bounds, i));
    result = run_bound((bound*)b, values, slots[kOut], count);
    if (result != NULL && keep_last((bound*)b, slots[kOut]) != 0) Py_CLEAR(result);
    Py_DECREF(b);
  }
  return result;
}

/* Makes the call; NULL without an exception where the Python function has to. */
static PyObject* evaluated(PyObject* const* slots) {
  uint32_t count = thread_count;
  if (slots[kEx] == NULL || !PyUnicode_CheckExact(slots[kEx]) || !is_caller(slots[kFrameDepth], kDepthOfCaller) ||
      !read_threads(&count, slots[kThreads]))
    return NULL;
  PyObject *const key = key_of(slots), *values[kArgumentsMax], *result = NULL;
  PyObject* const bounds = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(texts, key));
  if (bounds != NULL) {
    PyObject* const names = Py_NewRef(((bound*)PyList_GetItem(bounds, 0))->names);
    if (fetch_all(names, slots, values)) {
      result = evaluated_as(bounds, slots, values, count);
      release(values, PyTuple_Size(names));
    }
    Py_DECREF(names);
  }
  Py_XDECREF(bounds);
  Py_XDECREF(key);
  return result;
}

enum { kEvaluate, kReEvaluate, kFronts };
static PyObject* functions_behind[kFronts]; /* the Python functions */

/* Calls the Python function with the same arguments. */
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

static PyObject* evaluate(PyObject* Py_UNUSED(self), PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* slots[kSlots];
  if (sort_arguments(slots, args, count, names)) {
    PyObject* const result = evaluated(slots);
    if (result != NULL || PyErr_Occurred()) return result;
  }
  return slowly(functions_behind[kEvaluate], args, count, names);
}

/* Returns the array that evaluate() wrote to, a new reference: None where it made one, or where that is gone. */
static PyObject* last_out(PyObject* last) {
  PyObject* const kept = PyTuple_GetItem(last, 2);
  return kept == Py_None ? Py_NewRef(kept) : PyObject_CallMethodObjArgs(kept, s_find, NULL);
}

static PyObject* re_evaluated_as(PyObject* last, PyObject* const* slots) {
  PyObject* const b = PyTuple_GetItem(last, 5);
  PyObject *values[kArgumentsMax], *result = NULL;
  if (Py_TYPE(b) != bound_type || !fetch_all(((bound*)b)->names, slots, values)) return NULL;
  PyObject* const out = last_out(last);
  if (out != NULL) result = run_bound((bound*)b, values, out, thread_count);
  Py_XDECREF(out);
  release(values, PyTuple_Size(((bound*)b)->names));
  return result;
}

static PyObject* re_evaluated(PyObject* const* slots) {
  PyObject* const last = PyObject_GetAttr(last_calls, s_call);
  PyObject* result = NULL;
  if (last == NULL)
    PyErr_Clear();
  else if (PyTuple_Check(last) && PyTuple_Size(last) == 6)
    result = re_evaluated_as(last, slots);
  Py_XDECREF(last);
  return result;
}

/* Returns whether only the arguments of re_evaluate() are there: the dicts and _frame_depth, in this order. */
static int sort_again(PyObject** slots, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count > 2 || !sort_arguments(slots, args, 0, NULL)) return 0;
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  if (named != 0 && !sort_arguments(slots, args + count, 0, names)) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[kLocalDict + i] != NULL) return 0;
    slots[kLocalDict + i] = args[i];
  }
  for (int i = 0; i < kSlots; ++i)
    if (slots[i] != NULL && i != kLocalDict && i != kGlobalDict && i != kFrameDepth) return 0;
  return is_caller(slots[kFrameDepth], kDepthOfCaller - 1);
}

static PyObject* re_evaluate(PyObject* Py_UNUSED(self), PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* slots[kSlots];
  if (sort_again(slots, args, count, names)) {
    PyObject* const result = re_evaluated(slots);
    if (result != NULL || PyErr_Occurred()) return result;
  }
  return slowly(functions_behind[kReEvaluate], args, count, names);
}

/* key(the arguments of evaluate()): what remember() takes; None where the short way does not know an argument. */
static PyObject* key(PyObject* Py_UNUSED(module), PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject *slots[kSlots], *made = NULL;
  if (sort_arguments(slots, args, count, names) && slots[kEx] != NULL && PyUnicode_CheckExact(slots[kEx]))
    made = key_of(slots);
  return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
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

/* ---- the module ---- */

/* Keeps NumPy's types of numbers by their type number. */
static int set_number_types(PyObject* types) {
  PyObject *number, *type;
  Py_ssize_t at = 0;
  while (PyDict_Next(types, &at, &number, &type)) {
    const long i = PyLong_AsLong(number);
    if (i < 0 || i >= kTypesMax || !PyType_Check(type)) {
      PyErr_SetString(PyExc_ValueError, "a type of numbers that is not known");
      return 0;
    }
    number_types[i] = (PyTypeObject*)Py_NewRef(type);
  }
  return 1;
}

/* set_up(numpy.ndarray, numpy.empty, numpy.copyto, types of numbers by their number, thread-local, keepers of `out` and
 * of several, addresses of trident_call_parallel and trident_call_strided) */
static PyObject* set_up(PyObject* Py_UNUSED(module), PyObject* args) {
  PyObject *type, *made_by, *copied_by, *types, *local, *keeper, *keeper_of_all;
  unsigned long long parallel, strided;
  if (!PyArg_ParseTuple(args, "O!OOO!OOOKK", &PyType_Type, &type, &made_by, &copied_by, &PyDict_Type, &types, &local,
                        &keeper, &keeper_of_all, &parallel, &strided) ||
      !set_number_types(types))
    return NULL;
  ndarray_type = (PyTypeObject*)Py_NewRef(type);
  numpy_empty = Py_NewRef(made_by);
  numpy_copyto = Py_NewRef(copied_by);
  last_calls = Py_NewRef(local);
  borrowed = Py_NewRef(keeper);
  borrowed_all = Py_NewRef(keeper_of_all);
  call_parallel = (parallel_fn)(uintptr_t)parallel;
  call_strided = (strided_fn)(uintptr_t)strided;
  Py_RETURN_NONE;
}

static PyObject* set_threads(PyObject* Py_UNUSED(module), PyObject* count) {
  thread_count = (uint32_t)PyLong_AsUnsignedLong(count);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* remember(key, bound): calls with that key() may use it, as long as forgotten() does not grow. Few texts are kept, so
 * that kernels end when nobody uses them. */
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
                                  {"key", (PyCFunction)(void (*)(void))key, METH_FASTCALL | METH_KEYWORDS, NULL},
                                  {"remember", remember, METH_VARARGS, NULL},
                                  {"forgotten", forgotten, METH_NOARGS, NULL},
                                  {"described", described, METH_O, NULL},
                                  {"front", front, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "trident._call", NULL, -1, functions, NULL, NULL, NULL, NULL};

static int make_names(void) {
  return make_keywords() && (s_call = PyUnicode_InternFromString("call")) != NULL &&
         (s_find = PyUnicode_InternFromString("find")) != NULL &&
         (s_flags = PyUnicode_InternFromString("co_flags")) != NULL && (no_shape = PyTuple_New(0)) != NULL &&
         (texts = PyDict_New()) != NULL;
}

PyMODINIT_FUNC PyInit__call(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module == NULL || !make_names() || !make_bound_type()) return NULL;
  PyTypeObject* const method_type = make_method_type();
  if (method_type == NULL || PyModule_AddIntConstant(module, "VERSION", kVersion) != 0 ||
      PyModule_AddType(module, bound_type) != 0 || PyModule_AddType(module, method_type) != 0)
    return NULL;
  return module;
}
