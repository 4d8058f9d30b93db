#include "keywords.h"

#include "arguments.h"

enum { kThreadsMax = 64 }; /* of the library */

enum role {
  kCall,    /* of one call */
  kText,    /* decides the kernel: exact Python texts, bytes, booleans, numbers and None */
  kChecked, /* changes nothing, if it is one of the permitted values */
  kPairs,   /* ranges: a dict of names and pairs of numbers */
  kIdentity
};

static const struct keyword {
  const char* name;
  enum role role;
  const char* usual; /* value that is the same as none */
} keywords[kSlots] = {
    [kEx] = {"ex", kCall, NULL},
    [kLocalDict] = {"local_dict", kCall, NULL},
    [kGlobalDict] = {"global_dict", kCall, NULL},
    [kOut] = {"out", kCall, NULL},
    [kOrder] = {"order", kText, "K"},
    [kCasting] = {"casting", kText, "same_kind"},
    [kSanitize] = {"sanitize", kText, NULL},
    [kFrameDepth] = {"_frame_depth", kCall, NULL},
    [kDisableCache] = {"disable_cache", kCall, NULL},
    [kPolicy] = {"policy", kText, "exact"},
    [kK] = {"k", kText, NULL},
    [kRanges] = {"ranges", kPairs, NULL},
    [kThreads] = {"threads", kCall, NULL},
    [kContext] = {"context", kIdentity, NULL},
    [kOptimization] = {"optimization", kText, "aggressive"},
    [kTruediv] = {"truediv", kChecked, "auto"},
};

static PyObject *interned[kSlots], *usual[kSlots], *s_handle;

int make_keywords(void) {
  s_handle = PyUnicode_InternFromString("_handle");
  int good = s_handle != NULL;
  for (int i = 0; good && i < kSlots; ++i) {
    interned[i] = PyUnicode_InternFromString(keywords[i].name);
    if (keywords[i].usual != NULL) usual[i] = PyUnicode_InternFromString(keywords[i].usual);
    good = interned[i] != NULL && (usual[i] != NULL || keywords[i].usual == NULL);
  }
  return good;
}

static int slot_of(PyObject* name) {
  for (int i = 0; i < kSlots; ++i)
    if (interned[i] == name) return i;
  for (int i = 0; i < kSlots; ++i)
    if (PyUnicode_Compare(interned[i], name) == 0) return i;
  return -1;
}

int sort_arguments(PyObject** slots, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  if (count > kPositional) return 0;
  for (int i = 0; i < kSlots; ++i) slots[i] = i < count ? args[i] : NULL;
  for (Py_ssize_t i = 0; i < named; ++i) {
    const int slot = slot_of(PyTuple_GetItem(names, i));
    if (slot < 0 || slots[slot] != NULL) return 0;
    slots[slot] = args[count + i];
  }
  return 1;
}

static int is_number(PyObject* value) {
  return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || Py_TYPE(value) == number_types[kDoubleType];
}

static int is_usual(int slot, PyObject* value) {
  if (value == NULL) return 1;
  if (usual[slot] != NULL) return PyUnicode_CheckExact(value) && PyUnicode_Compare(value, usual[slot]) == 0;
  return value == Py_None || (slot == kSanitize && value == Py_True);
}

/* Returns a tuple of names, least and greatest values; NULL where `ranges` is anything else than is usual. */
static PyObject* pairs_of(PyObject* ranges) {
  PyObject *name, *pair, *rows = PyDict_CheckExact(ranges) ? PyList_New(0) : NULL;
  Py_ssize_t at = 0;
  while (rows != NULL && PyDict_Next(ranges, &at, &name, &pair)) {
    const int is_tuple = PyTuple_CheckExact(pair);
    const int is_pair =
        PyUnicode_CheckExact(name) && (is_tuple || PyList_CheckExact(pair)) && PySequence_Size(pair) == 2;
    PyObject* const lo = !is_pair ? NULL : is_tuple ? PyTuple_GetItem(pair, 0) : PyList_GetItem(pair, 0);
    PyObject* const hi = !is_pair ? NULL : is_tuple ? PyTuple_GetItem(pair, 1) : PyList_GetItem(pair, 1);
    if (lo == NULL || hi == NULL || !is_number(lo) || !is_number(hi) || PyList_Append(rows, name) != 0 ||
        PyList_Append(rows, lo) != 0 || PyList_Append(rows, hi) != 0)
      Py_CLEAR(rows);
  }
  PyObject* const key = rows == NULL ? NULL : PyList_AsTuple(rows);
  Py_XDECREF(rows);
  return key;
}

static PyObject* identity_of(PyObject* context) {
  PyObject* const handle = PyObject_GetAttr(context, s_handle);
  const int is_open = handle != NULL && handle != Py_None;
  Py_XDECREF(handle);
  PyErr_Clear();
  return is_open ? PyLong_FromVoidPtr(context) : NULL;
}

/* Returns the value in a key, a new reference. */
static PyObject* keyed(enum role role, PyObject* value) {
  if (role == kPairs) return pairs_of(value);
  if (role == kIdentity) return identity_of(value);
  const int is_plain = PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) || PyBool_Check(value) ||
                       value == Py_None || is_number(value);
  return is_plain ? Py_NewRef(value) : NULL;
}

PyObject* key_of(PyObject* const* slots) {
  int unusual = 0;
  for (int i = 0; i < kSlots; ++i) {
    if (keywords[i].role == kCall || is_usual(i, slots[i])) continue;
    if (keywords[i].role == kChecked && !PyBool_Check(slots[i])) return NULL;
    unusual += keywords[i].role != kChecked;
  }
  if (unusual == 0) return Py_NewRef(slots[kEx]);
  PyObject* key = PyTuple_New(1 + 2 * unusual);
  if (key == NULL || PyTuple_SetItem(key, 0, Py_NewRef(slots[kEx])) != 0) return key;
  for (int i = 0, at = 1; key != NULL && i < kSlots; ++i) {
    if (keywords[i].role == kCall || keywords[i].role == kChecked || is_usual(i, slots[i])) continue;
    PyObject* const value = keyed(keywords[i].role, slots[i]);
    if (value == NULL || PyTuple_SetItem(key, at++, Py_NewRef(interned[i])) != 0 ||
        PyTuple_SetItem(key, at++, value) != 0)
      Py_CLEAR(key);
  }
  return key;
}

int read_threads(uint32_t* threads, PyObject* value) {
  if (value == NULL || value == Py_None) return 1;
  if (!PyLong_CheckExact(value)) return 0;
  int overflow = 0;
  const long wanted = PyLong_AsLongAndOverflow(value, &overflow);
  if (overflow != 0 || wanted < 1 || wanted > kThreadsMax) return 0;
  *threads = (uint32_t)wanted;
  return 1;
}

int is_caller(PyObject* depth, long most) {
  int overflow = 0;
  return depth == NULL ||
         (PyLong_CheckExact(depth) && PyLong_AsLongAndOverflow(depth, &overflow) <= most && overflow <= 0);
}
