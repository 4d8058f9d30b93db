"""numexpr's other names: what has a counterpart is here, what has none is refused by name."""
import sys

import numpy as np

from . import _short_call
from . import _text
from . import _threads
from ._evaluate import found, prepared
from ._installed_numexpr import Numexpr
from ._operand import unmasked
from ._symbols import Expression

use_vml = False  # the functions of kernels are Trident's own
_TYPES = {bool: np.bool_, int: np.int32, float: np.float32}  # as numexpr has it
_TYPES |= {t: t for t in (np.bool_, np.int32, np.int64, np.float32, np.float64)}
_ACCURACY = (None, "high", "low", "fast")
_MISSING = {
    "disassemble": "kernels are machine code, no program of numexpr's machine: `trident explain 'EXPR'` and `trident disasm 'EXPR'` "
                   "show them",
    "print_versions": "trident.__version__ has Trident's",
    **dict.fromkeys(("test", "tests"), "the tests do not come with the package"),
    "version": "trident.__version__ has it",
    **dict.fromkeys(("interpreter", "cpuinfo", "__BLOCK_SIZE1__", "is_cpu_amd_intel", "os", "platform", "ConstantNode",
                     "VariableNode", "precompile", "stringToExpression", "getContext", "getArguments", "getType"),
                    "it is a part of how numexpr works"),
}


def refuse(name):
    """The __getattr__ of the package."""
    if name in _MISSING:
        raise AttributeError(f"trident has no counterpart of numexpr.{name}: {_MISSING[name]}")
    raise AttributeError(f"module 'trident' has no attribute '{name}'")


def reason(name):
    """The reason why a name of numexpr's modules has no counterpart."""
    return _MISSING.get(name, "it is a part of how numexpr works, or no name of it")


def validate(ex, local_dict=None, global_dict=None, out=None, order="K", casting="safe", _frame_depth=2, sanitize=None, **kwargs):
    """Returns None for an expression that evaluate() takes, else the error that it would raise; evaluates nothing.
    re_evaluate() then does what was validated."""
    try:
        program, arguments, order = prepared(ex, local_dict, global_dict, out, order, casting, "exact", None, None, None,
                                             {**kwargs, "sanitize": sanitize}, sys._getframe(max(_frame_depth, 2) - 1))
        if isinstance(program, Numexpr):  # only a run tells
            program.run(arguments, None, order, casting)
    except Exception as error:
        return error
    return None


def get_expr_names(text, context=None, sanitize=True):
    """The names of an expression's variables, and whether a library of functions is behind it: no."""
    del context
    return _text.parse(text, sanitize)[1], False


class NumExpr:
    """An expression, a text or one made of E's variables, as a function of its variables in the order of `signature`, pairs of
    a name and a type (one of NumPy's; bool; int for int32 and float for float32, as numexpr has it). Without one all
    variables are float64 and come by name."""

    _bound = None  # the last call for the short way of a call (_short_call.py)

    def __init__(self, ex, signature=(), sanitize=True, **kwargs):
        if isinstance(ex, Expression):
            ex = str(ex)
        _, names = _text.parse(ex, sanitize)
        given = [name for name, _ in signature]
        if missing := [n for n in given if n not in names]:
            raise ValueError(f"the signature has '{missing[0]}', which the expression has not")
        self._promised = [kwargs.pop(name, value) for name, value in (("policy", "exact"), ("k", None), ("ranges", None), ("context", None))]
        self._threads = kwargs.pop("threads", None)
        self._text, self._options = ex, {**kwargs, "sanitize": sanitize}
        self.input_names = (*given, *(n for n in names if n not in given))
        self._dtypes = [np.dtype(np.float64)] * len(self.input_names)
        for i, (name, type_) in enumerate(signature):
            if type_ not in _TYPES:
                raise TypeError(f"the type of '{name}' is {type_!r}; bool, int, float, int32, int64, float32 and float64 can be: "
                                "call trident.evaluate for others")
            self._dtypes[i] = np.dtype(_TYPES[type_])

    def __call__(self, *args, out=None, order="K", casting="safe", ex_uses_vml=False):
        del ex_uses_vml
        if len(args) != len(self.input_names):
            raise ValueError(f"the expression takes {len(self.input_names)} arguments, here {len(args)}")
        values = {}
        for name, value, dtype in zip(self.input_names, map(unmasked, args, self.input_names), self._dtypes):
            if not np.can_cast(value if value.ndim == 0 else value.dtype, dtype, casting):
                raise TypeError(f"'{name}' is {value.dtype} and would be cast to {dtype}, which casting='{casting}' forbids")
            values[name] = value.astype(dtype, copy=False)
        program, names, arguments, letter = found(self._text, values, {}, out, order, casting, *self._promised, self._options, None)
        if order == "K" and casting == "safe" and self._threads is None:
            self._bound = program.bound(names, arguments, letter, casting, self.input_names)
        with _threads.permitted(self._threads):
            return program.run(arguments, out, letter, casting)

    if _short_call.call is not None:
        __call__ = _short_call.call.Method(__call__)

    def run(self, *args, **kwargs):
        return self(*args, **kwargs)

    def __getattr__(self, name):
        if name in ("constants", "constsig", "fullsig", "program", "signature", "tempsig"):
            raise AttributeError(f"trident has no counterpart of numexpr.NumExpr.{name}: {_MISSING['disassemble']}")
        raise AttributeError(f"'NumExpr' object has no attribute '{name}'")


def get_vml_version():
    """None: no library of functions is behind kernels."""
    return None


def set_vml_accuracy_mode(mode):
    """Checks `mode` and changes nothing, as numexpr without VML: functions are good to an ulp; policy="bounded" or "fast" of
    evaluate() permits shorter ones. Returns None."""
    if mode not in _ACCURACY:
        raise ValueError("mode argument must be one of: None, 'high', 'low', 'fast'")


def set_vml_num_threads(nthreads):
    """Changes nothing, as numexpr without VML: set_num_threads() is about functions, too."""


def get_vml_num_threads():
    """None, as numexpr without VML."""
    return None
