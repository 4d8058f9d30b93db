"""uint64 in @trident.jit. Kernels hold its bits in int64, which is enough for what wraps; here is what needs the order or the
value of the whole: the sign bit turned over gives the order, and halves give quotients and floats."""
import numpy as np

from . import _elementwise
from . import _graph as g

_KIND = g.I64


def _node(op, *args):
    return g.Node(op, _KIND, args)


def _test(op, *args):
    return g.Node(op, g.BOOL, args)


def _const(value):
    return g.const(value, _KIND)


def ordered(node):
    """The bits in which int64 has the order of uint64, and back again."""
    return _node("xor", node, _const(-2**63))


def _compared(op):
    return lambda a, b: _test(op, ordered(a), ordered(b))


_less = _compared("lt")


def as_float(node, kind):
    """The value in a float of `kind`, rounded once: from 2**63 on twice that of the half, whose last bit tells of what is cut off."""
    half = _node("or", _node("shr", node, _const(1)), _node("and", node, _const(1)))
    twice = g.Node("mul", kind, (g.Node("cast", kind, (half,)), g.const(2, kind)))
    return g.Node("select", kind, (_test("lt", node, _const(0)), twice, g.Node("cast", kind, (node,))))


def _quotient(a, b):
    """a // b, 0 for b = 0. Twice the quotient of a's half is at most 1 too small; from 2**63 on b fits once or not at all."""
    near = _node("shl", _elementwise.floor_divide_integers(_node("shr", a, _const(1)), b, _KIND), _const(1))
    rest = _node("sub", a, _node("mul", near, b))
    fits = lambda x: g.cast(g.invert(_less(x, b)), _KIND)  # noqa: E731
    quotient = _node("select", _test("lt", b, _const(0)), fits(a), _node("add", near, fits(rest)))
    return _node("select", _test("eq", b, _const(0)), _const(0), quotient)


def _remainder(a, b):
    rest = _node("sub", a, _node("mul", _quotient(a, b), b))
    return _node("select", _test("eq", b, _const(0)), _const(0), rest)


def _least(a, b):
    return _node("select", _less(a, b), a, b)


def _greatest(a, b):
    return _node("select", _less(a, b), b, a)


OF_BITS = {  # by the name of the ufunc, on nodes of int64
    "less": _less, "less_equal": _compared("le"), "greater": _compared("gt"), "greater_equal": _compared("ge"),
    "equal": _compared("eq"), "not_equal": _compared("ne"), "floor_divide": _quotient, "remainder": _remainder, "fmod": _remainder,
    "minimum": _least, "fmin": _least, "maximum": _greatest, "fmax": _greatest, "absolute": lambda a: a,
    "signbit": lambda a: _test("ne", a, a),  # never, for each element
    "sign": lambda a: g.cast(_test("ne", a, _const(0)), _KIND),
    "right_shift": lambda a, b: _node("select", _less(b, _const(64)), _node("shr", a, b), _const(0))}


def wrapped(number):
    """A Python integer, below 2**64, as one of int64 with its bits."""
    return int(np.uint64(number).astype(np.int64))
