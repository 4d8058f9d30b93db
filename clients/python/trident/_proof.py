"""A cheap and exact proof that a function does the same at every call: its instructions use nothing but its own
variables, constants, NumPy's ufuncs and the other functions that a recording knows, numbers around it, and each thing
found outside by a name is still the very object that it was.

Only instructions of a list are taken; any other (an attribute of an object, an element of a list, a call of another
function, a nested function, an import) and any unknown version of Python means that nothing is proven, and the function
is recorded at every call.

The functions that a recording knows decide by types, by what is written in the text, and by nothing else: a stand-in that
asks for the value of its number is refused, but for Python's operators, which are replayed at every call (_tracer.py).
A list that the function itself makes is new at every call.
"""
import builtins
import dis
import math
import types

import numpy as np

from . import _composed
from . import _tracer

_PLAIN = {"RESUME", "NOP", "CACHE", "EXTENDED_ARG", "PUSH_NULL", "POP_TOP", "SWAP", "COPY", "LOAD_FAST", "STORE_FAST",
          "DELETE_FAST", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "BINARY_OP", "UNARY_POSITIVE", "UNARY_NEGATIVE",
          "UNARY_INVERT", "COMPARE_OP", "BUILD_TUPLE", "UNPACK_SEQUENCE", "PRECALL", "CALL", "KW_NAMES", "GET_ITER",
          "FOR_ITER", "JUMP_BACKWARD", "JUMP_FORWARD", "COPY_FREE_VARS", "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST",
          "STORE_FAST_STORE_FAST", "LOAD_FAST_CHECK", "END_FOR", "BUILD_LIST", "LIST_EXTEND"}
_FUNCTIONS = {**_tracer.FUNCTIONS, **_composed.FUNCTIONS}
_METHODS = {"sum", "prod", "min", "max", "mean", "var", "std", "argmin", "argmax", "clip", "astype", "dtype",
            *_composed.METHODS}  # of a stand-in
_BUILTINS = (abs, pow, float, int, range)
_MODULES = (np, np.linalg, math)
_MISSING = object()


def _constant(value):
    """Returns true when the object can never mean anything else."""
    if type(value) in (int, float, bool) or any(value is b for b in _BUILTINS):
        return True
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value
    if isinstance(value, type):
        return issubclass(value, np.generic) and value.__module__ == "numpy"
    if isinstance(value, types.BuiltinFunctionType):
        return value.__self__ is math
    return type(value) in (types.FunctionType, type(np.where)) and value in _FUNCTIONS


class Proof:
    """The places outside that a function reads, and what was found there."""

    def __init__(self, function):
        self.function, self.code, self.closure = function, function.__code__, function.__closure__ or ()
        self.cells = [(cell, _content(cell)) for cell in self.closure]
        self.globals, self.attributes = [], []

    @staticmethod
    def of(function):
        """The proof for `function`, or None."""
        if type(function) is not types.FunctionType or function.__code__.co_flags & 0x2A0:  # a generator or coroutine
            return None
        proof = Proof(function)
        return proof if all(_constant(v) or _is_module(v) for _, v in proof.cells) and proof._read() else None

    def _read(self):
        module = None  # that the instruction before has loaded
        for instruction in dis.get_instructions(self.code):
            name, loaded = instruction.opname, None
            if name == "LOAD_GLOBAL" or name == "LOAD_DEREF":
                loaded = self._find(instruction.argval) if name == "LOAD_GLOBAL" else self._cell(instruction.argval)
                if name == "LOAD_GLOBAL":
                    self.globals.append((instruction.argval, loaded))
                if not _constant(loaded) and not _is_module(loaded):
                    return False
            elif name in ("LOAD_ATTR", "LOAD_METHOD"):
                if module is not None:
                    value = vars(module).get(instruction.argval, _MISSING)
                    self.attributes.append((vars(module), instruction.argval, value))
                    if not _constant(value) and not _is_module(value):
                        return False
                    loaded = value
                elif instruction.argval not in _METHODS:
                    return False
            elif name not in _PLAIN and not name.startswith("POP_JUMP_"):
                return False
            if module is not None and name not in ("LOAD_ATTR", "LOAD_METHOD", "CACHE"):
                return False  # a module as a value
            module = loaded if _is_module(loaded) else None
        return module is None

    def _find(self, name):
        found = self.function.__globals__.get(name, _MISSING)
        return vars(builtins).get(name, _MISSING) if found is _MISSING else found

    def _cell(self, name):
        return dict(zip(self.code.co_freevars, (value for _, value in self.cells))).get(name, _MISSING)

    def holds(self):
        """Returns true when everything outside is unchanged."""
        return (self.function.__code__ is self.code
                and all(_content(cell) is value for cell, value in self.cells)
                and all(self._find(name) is value for name, value in self.globals)
                and all(names.get(name, _MISSING) is value for names, name, value in self.attributes))


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return _MISSING


def _is_module(value):
    return any(value is m for m in _MODULES)
