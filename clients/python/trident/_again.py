"""re_evaluate() with operands of other types than evaluate() had. As in numexpr the expression keeps the types that it was
compiled for: an operand is cast to them where no value can change, and refused elsewhere."""
import numpy as np

from . import _graph as g
from ._installed_numexpr import check_known


def signature(arguments):
    """Returns the part of arguments that decides the program of an expression."""
    return tuple((a.dtype.char, a.dtype.byteorder, a.ndim == 0) for a in arguments)


def as_before(names, arguments, before, casting):
    """The arguments in the types of an expression that was compiled for the signature `before`. casting="same_kind", the
    default, is taken as "safe": only "unsafe" says that values may change."""
    check_known(names, arguments)
    rule = "safe" if casting == "same_kind" else casting
    return [_cast(name, a, np.dtype(char).newbyteorder(order), rule) for name, a, (char, order, _) in zip(names, arguments, before)]


def _cast(name, a, had, rule):
    if a.dtype == had or a.dtype.kind == had.kind == "S":
        return a
    want = had if had.kind == "S" else np.dtype(np.complex128) if had.kind == "c" else g.DTYPE[g.kind_of_dtype(had)]
    can = a.size == 0 or np.can_cast(a if a.ndim == 0 else a.dtype, want, rule)  # the value of a number counts, as in numexpr
    if can and had.kind != "S":
        return a.astype(want)
    raise TypeError(f"'{name}' is {a.dtype}, and the expression of the last evaluate() was compiled for {want}, which may not "
                    "hold all of it: call evaluate() again")
