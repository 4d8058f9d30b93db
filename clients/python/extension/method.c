/* Kernel.__call__ and NumExpr.__call__. See call.c. */
#include "method.h"

#include <structmember.h>

#include "bound.h"

static PyObject* s_bound;

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

/* Returns the place of a variable among those of a Kernel, -1 where it is none of them. */
static Py_ssize_t place_of(const bound* b, PyObject* name) {
  const Py_ssize_t count = b->casting == Py_None ? PyTuple_Size(b->names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(b->names, i) == name) return i;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyUnicode_Compare(PyTuple_GetItem(b->names, i), name) == 0) return i;
  return -1;
}

static int equals(PyObject* text, PyObject* value) {
  return PyUnicode_CheckExact(value) && PyUnicode_Compare(text, value) == 0;
}

/* Returns whether the keyword of an expression leaves its Bound the right one. */
static int leaves_bound(const bound* b, PyObject* name, PyObject* value) {
  if (b->casting == Py_None) return 0;
  if (PyUnicode_CompareWithASCIIString(name, "ex_uses_vml") == 0) return 1;
  if (PyUnicode_CompareWithASCIIString(name, "order") == 0) return equals(b->order, value);
  return PyUnicode_CompareWithASCIIString(name, "casting") == 0 && equals(b->casting, value);
}

/* Sorts the keywords of a call; `values` are NULL where there is none yet. Returns 0 for those that the Python function
 * has to look at. */
static int take_keywords(const bound* b, PyObject* kwargs, PyObject** values, PyObject** out) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (kwargs != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
    const Py_ssize_t place = place_of(b, name);
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0)
      *out = value;
    else if (place >= 0 && values[place] == NULL)
      values[place] = value;
    else if (place >= 0 || !leaves_bound(b, name, value))
      return 0;
  }
  return 1;
}

/* Returns how many variables a call may give by position: not the numbers of a Kernel, which stand last. */
static Py_ssize_t positional(const bound* b) {
  Py_ssize_t count = PyTuple_Size(b->names);
  while (b->casting == Py_None && count > 0 && b->arguments[count - 1].bytes == 0) --count;
  return count;
}

static PyObject* called_as(const bound* b, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t given = PyTuple_Size(args) - 1, count = PyTuple_Size(b->names);
  PyObject *values[kArgumentsMax], *out = NULL;
  if (given > positional(b)) return NULL;
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = i < given ? PyTuple_GetItem(args, i + 1) : NULL;
  if (!take_keywords(b, kwargs, values, &out)) return NULL;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (values[i] == NULL) return NULL;
  return run_bound(b, values, out, thread_count); /* args and kwargs keep the values */
}

static PyObject* called(PyObject* args, PyObject* kwargs) {
  PyObject* const b = PyObject_GetAttr(PyTuple_GetItem(args, 0), s_bound);
  if (b == NULL) return NULL;
  PyObject* const result = Py_TYPE(b) == bound_type ? called_as((bound*)b, args, kwargs) : NULL;
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

PyTypeObject* make_method_type(void) {
  s_bound = PyUnicode_InternFromString("_bound");
  return s_bound == NULL ? NULL : (PyTypeObject*)PyType_FromSpec(&method_spec);
}
