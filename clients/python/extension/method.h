/* Methods with a short way: Kernel.__call__, NumExpr.__call__. See call.c. */
#ifndef TRIDENT_EXTENSION_METHOD_H
#define TRIDENT_EXTENSION_METHOD_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

/* Makes the type; NULL where that fails. */
PyTypeObject* make_method_type(void);

#endif
