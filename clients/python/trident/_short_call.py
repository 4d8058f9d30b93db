"""The short way of a call: the extension module _call (clients/python/extension), where there is one. It is never required:
without it, on a Python before 3.11, or with TRIDENT_EXTENSION=0, all calls take the way through ctypes, to the same results."""
import ctypes
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig

import numpy as np

from . import _threads
from ._native import lib

_FILE, _VERSION = "_call.abi3.so", 8
_ARGUMENTS_MAX, _OUTPUTS_MAX, _ANY_NUMBER = 64, 16, -1  # arguments.h
_NUMBERS = "?bBhHiIlLqQefd"  # types of NumPy's numbers that kernels take


def _load():
    """The module beside the package, or in the build tree beside the library."""
    if os.environ.get("TRIDENT_EXTENSION") == "0" or sys.implementation.name != "cpython" or sys.version_info < (3, 11) \
            or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    for folder in (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(lib._name)):
        path = os.path.join(folder, _FILE)
        if folder and os.path.exists(path):
            name = f"{__package__}._call"
            loader = importlib.machinery.ExtensionFileLoader(name, path)
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
            loader.exec_module(module)
            return module if getattr(module, "VERSION", None) == _VERSION and _reads_arrays(module) else None
    return None


def _reads_arrays(module):
    """Returns whether the module finds in arrays what they say of themselves, whatever NumPy made them."""
    arrays = [np.arange(6.0).reshape(2, 3), np.zeros((3, 4), ">i2", "F"), np.ones(5, np.int64)[::2], np.array(True),
              np.zeros((2, 0, 1), np.float32)]
    arrays[2].flags.writeable = False
    flags_of = lambda a: a.flags.num & ~0x1000 & ~0x2000  # noqa: E731; a writeback flag is nobody's here
    return all(module.described(a) == (a.__array_interface__["data"][0], a.shape, a.strides, a.dtype.num, a.dtype.byteorder, flags_of(a))
               for a in arrays)


call = _load()


def set_up(last, borrowed, borrowed_all):
    """Readies the module, if there is one: `last`, `borrowed` and `borrowed_all` are those of evaluate()."""
    if call is not None:
        address = lambda function: ctypes.cast(function, ctypes.c_void_p).value  # noqa: E731
        numbers = {np.dtype(letter).num: np.dtype(letter).type for letter in _NUMBERS}
        call.set_up(np.ndarray, np.empty, np.copyto, numbers, last, borrowed, borrowed_all, address(lib.trident_call_parallel),
                    address(lib.trident_call_strided))
        _threads.tell(call.set_threads)


def front(number, function, signature):
    """The function, behind the module's short way of it."""
    if call is None:
        return function
    documentation = f"{function.__name__}{signature}\n--\n\n{function.__doc__}"
    return call.front(number, function, documentation, function.__module__)


def key(*args, **kwargs):
    """Returns a key, equal for calls of evaluate() that have one kernel, order and casting for each set of types; None without the
    module, and where it does not know an argument."""
    return None if call is None else call.key(*args, **kwargs)


def argument(place, dtype, is_array, taken):
    """An argument of bound(): its place among the names, its type, and the one in which the kernel takes it; None for a number
    that Kernel converts."""
    return place, _ANY_NUMBER if dtype is None else dtype.num, taken.itemsize if is_array else 0, taken.num


def bound(owner, handle, names, arguments, outputs, *, order="K", casting=None, finish=None, parts=None, gives_numbers=False,
          gives_tuple=False):
    """A kernel for the module; None without it, and where it does not take so many. `arguments`: of argument(); `outputs`:
    (dtype, is reduced: 2 for the place of an element, which is counted in C's order) of each; bound.c says the rest."""
    if call is None or not names or len(names) > _ARGUMENTS_MAX or len(outputs) > _OUTPUTS_MAX:
        return None
    address = 0 if handle is None else handle._as_parameter_.value
    rows = tuple((dtype, dtype.num, dtype.itemsize, int(is_reduced)) for dtype, is_reduced in outputs)
    return call.Bound(owner, address, tuple(names), tuple(arguments), rows, order, casting, finish, parts, gives_numbers, gives_tuple)
