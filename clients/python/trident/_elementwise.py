"""NumPy's ufuncs as graphs, with NumPy's types and NumPy's results in the corner cases."""
import math

import numpy as np

from . import _graph as g
from ._refusals import ELSEWHERE, INSTEAD_OF, TraceError

COMMON = g.numpy_common

_UNARY_FLOAT = {name: op for op, names in {
    "sqrt": ["sqrt"], "cbrt": ["cbrt"], "exp": ["exp"], "exp2": ["exp2"], "expm1": ["expm1"], "log": ["log"],
    "log2": ["log2"], "log10": ["log10"], "log1p": ["log1p"], "sin": ["sin"], "cos": ["cos"], "tan": ["tan"],
    "asin": ["arcsin"], "acos": ["arccos"], "atan": ["arctan"], "sinh": ["sinh"], "cosh": ["cosh"],
    "tanh": ["tanh"], "asinh": ["arcsinh"], "acosh": ["arccosh"], "atanh": ["arctanh"], "floor": ["floor"],
    "ceil": ["ceil"], "trunc": ["trunc"], "rint": ["rint"],
}.items() for name in names}
_BINARY_FLOAT = {"arctan2": "atan2", "hypot": "hypot", "copysign": "copysign"}
_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul"}
_COMPARE = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
            "not_equal": "ne"}
_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_SHIFT = {"left_shift": "shl", "right_shift": "sar"}
_ROUNDING = ("floor", "ceil", "trunc", "rint")


def built(trace, name, a):
    """The node of NumPy's ufunc `name` on the nodes `a`."""
    if name in ("logical_and", "logical_or", "logical_xor"):
        return g.bitwise(_LOGICAL[name], as_bool(a[0]), as_bool(a[1]), COMMON)
    if name in _COMPARE:
        return g.compare(_COMPARE[name], *a, COMMON)
    if name in _BITWISE:
        return g.bitwise(_BITWISE[name], *a, COMMON)
    if name == "power":
        return _power(trace, *a)
    if name in _OF_BOOLEANS and all(n.kind == g.BOOL for n in a):
        return _OF_BOOLEANS[name](*a)
    if name in _UNARY_FLOAT or name in _BINARY_FLOAT or name in _ARITHMETIC or name in _SHIFT or name in ELEMENTWISE:
        if all(n.kind == g.BOOL for n in a):
            raise TraceError(f"np.{name} of booleans cannot be recorded; convert them: x.astype(np.float64) or np.int64")
    if name in _ROUNDING and a[0].kind in g.INTS and _ROUNDING_KEEPS_INTEGERS and name != "rint":
        return a[0]
    if name in _UNARY_FLOAT:
        return g.function(_UNARY_FLOAT[name], a, COMMON)
    if name in _BINARY_FLOAT:
        return g.function(_BINARY_FLOAT[name], a, COMMON)
    if name in _ARITHMETIC:
        return g.arithmetic(_ARITHMETIC[name], *a, COMMON)
    if name in _SHIFT:
        return g.shift(_SHIFT[name], *a, COMMON)
    if name not in ELEMENTWISE:
        raise TraceError(f"np.{name} cannot be recorded; {INSTEAD_OF.get(name, ELSEWHERE)}")
    return ELEMENTWISE[name](*a)


def knows(name):
    """Returns whether NumPy's ufunc of that name can be recorded."""
    return any(name in table for table in (_UNARY_FLOAT, _BINARY_FLOAT, _ARITHMETIC, _COMPARE, _BITWISE, _LOGICAL, _SHIFT, ELEMENTWISE)) \
        or name == "power"


def as_bool(node):
    return g.cast(node, g.BOOL)


_ROUNDING_KEEPS_INTEGERS = np.floor(np.int64(1)).dtype.kind == "i"  # NumPy 2.1 and later


def _either(a, b):
    return g.bitwise("or", a, b, COMMON)


def _both(a, b):
    return g.bitwise("and", a, b, COMMON)


_OF_BOOLEANS = {
    "add": _either, "multiply": _both, "minimum": _both, "maximum": _either, "fmin": _both, "fmax": _either,
    "true_divide": lambda a, b: g.true_divide(a, b, COMMON), "divide": lambda a, b: g.true_divide(a, b, COMMON),
    "float_power": lambda a, b: g.power(g.cast(a, g.F64), g.cast(b, g.F64), COMMON),
    "absolute": lambda a: a, "logical_not": g.invert, "invert": g.invert,
    **{name: lambda a, value=value: g.where(g.compare("eq", a, a, COMMON), g.const(value), a, COMMON)
       for name, value in (("isfinite", True), ("isnan", False), ("isinf", False))},
}


def _extremum(op, keep_nan):
    """np.minimum and np.maximum keep a NaN, np.fmin and np.fmax drop it (which is what the op itself does)."""
    def build(a, b):
        node = g.arithmetic(op, a, b, COMMON)
        if node.kind not in g.FLOATS or not keep_nan:
            return node
        a, b = node.args
        unordered = g.bitwise("or", g.compare("ne", a, a, COMMON), g.compare("ne", b, b, COMMON), COMMON)
        return g.where(unordered, g.arithmetic("add", a, b, COMMON), node, COMMON)
    return build


def _float_test(when_integer, build):
    def test(a):
        if a.kind not in g.FLOATS:
            return g.compare("eq" if when_integer else "ne", a, a, COMMON)
        return build(a)
    return test


def _is_finite(a):
    return g.compare("lt", _absolute(a), g.const(math.inf, a.kind), COMMON)


def _absolute(a):
    return g.Node("abs", a.kind, (a,))


def _floor_divide(a, b):
    kind = COMMON([a.kind, b.kind])
    if kind in g.INTS:
        return floor_divide_integers(a, b, kind)
    a, b = g.cast(a, kind), g.cast(b, kind)
    node = lambda op, *args: g.Node(op, kind, args)  # noqa: E731
    zero, one = g.const(0, kind), g.const(1, kind)
    rest = node("fmod", a, b)
    negative = lambda x: g.Node("lt", g.BOOL, (x, zero))  # noqa: E731
    exact = node("div", node("sub", a, rest), b)  # an integer up to rounding
    below = _both(g.Node("ne", g.BOOL, (rest, zero)), g.Node("xor", g.BOOL, (negative(b), negative(rest))))
    exact = node("select", below, node("sub", exact, one), exact)
    floor = node("floor", exact)
    half = g.Node("gt", g.BOOL, (node("sub", exact, floor), g.const(0.5, kind)))
    floor = node("select", half, node("add", floor, one), floor)
    quotient = node("div", a, b)
    floor = node("select", g.Node("eq", g.BOOL, (exact, zero)), node("copysign", zero, quotient), floor)
    return node("select", g.Node("eq", g.BOOL, (b, zero)), quotient, floor)


def floor_divide_integers(a, b, kind):
    """The greatest integer not above a / b; 0 for b = 0, as in NumPy."""
    a, b = g.cast(a, kind), g.cast(b, kind)
    shift = g.shift_instead_of(b)
    if shift is not None:
        return g.Node("sar", kind, (a, g.const(shift, kind))) if shift else a
    return g.by_zero_gives_0(b, g.floor_quotient_i32(a, b) if kind == g.I32 else _floor_quotient_i64(a, b))


def _floor_quotient_i64(a, b):
    quotient, rest = g.divided_i64(a, b)
    below = g.Node("sub", g.I64, (quotient, g.const(1, g.I64)))
    return g.Node("select", g.I64, (g.signs_differ(rest, b), below, quotient))


def _power(trace, a, b):
    kind = COMMON([a.kind, b.kind])
    if g.BOOL == kind or a.kind == g.BOOL and b.is_const() and kind in g.INTS:
        raise TraceError("a power of booleans cannot be recorded; convert them: x.astype(np.int64)")
    if kind in g.FLOATS:
        if b.is_const() and b.value == 0.5:  # pow and sqrt differ at -0 and -inf
            return g.Node("pow", kind, (g.cast(a, kind), g.cast(b, kind)))
        return g.power(a, b, COMMON)
    a, b = g.cast(a, kind), g.cast(b, kind)
    if not b.is_const():
        trace.not_negative.append(_with_elements_of(b, a))
    return g.power(a, b, COMMON)  # a literal that is negative is NumPy's ValueError


def _with_elements_of(b, a):
    """b, once for each element of a and b."""
    return g.Node("add", b.kind, (b, g.Node("and", b.kind, (a, g.const(0, b.kind))))) if a.mask & ~b.mask else b


def _next_after(a, b):
    """The next number from a towards b. Rounding to nearest finds it (Rump, Zimmermann, Boldo, Melquiond, "Computing
    predecessor and successor in rounding to nearest", 2009): a step of phi |a| is more than half of the distance and less
    than three halves of it. Small numbers are scaled first, the least have steps of the least number."""
    kind = COMMON([a.kind, b.kind])
    kind = kind if kind in g.FLOATS else g.F64
    a, b = g.cast(a, kind), g.cast(b, kind)
    info = np.finfo(g.DTYPE[kind])
    unit = float(info.eps) / 2
    least = float(info.tiny) * 2 * unit
    node = lambda op, *args: g.Node(op, kind, args)  # noqa: E731
    number = lambda value: g.const(value, kind)  # noqa: E731
    test = lambda op, *args: g.Node(op, g.BOOL, args)  # noqa: E731
    size, up = _absolute(a), test("gt", b, a)

    def moved(x, step):
        return node("select", up, node("add", x, step), node("sub", x, step))

    def stepped(x):
        return moved(x, node("mul", _absolute(x), number(unit * (1 + 2 * unit))))

    scaled = node("mul", stepped(node("mul", a, number(1 / unit))), number(unit))
    near = node("select", test("lt", size, number(least / unit)), moved(a, number(least)), scaled)
    result = node("select", test("lt", size, number(least / unit**2)), near, stepped(a))
    result = node("select", test("eq", size, number(math.inf)), node("copysign", number(float(info.max)), a), result)
    kept_sign = _both(test("eq", result, number(0)), test("ne", a, number(0)))
    result = node("select", kept_sign, node("copysign", result, a), result)
    result = node("select", test("eq", a, b), b, result)
    return node("select", _either(test("ne", a, a), test("ne", b, b)), node("add", a, b), result)


ELEMENTWISE = {
    "true_divide": lambda a, b: g.true_divide(a, b, COMMON),
    "divide": lambda a, b: g.true_divide(a, b, COMMON),
    "floor_divide": _floor_divide,
    "remainder": lambda a, b: g.floor_mod(a, b, COMMON),
    "fmod": lambda a, b: g.trunc_mod(a, b, COMMON),
    "float_power": lambda a, b: g.power(g.cast(a, g.F64), g.cast(b, g.F64), COMMON),
    "square": lambda a: g.arithmetic("mul", a, a, COMMON),
    "reciprocal": lambda a: g.true_divide(g.const(1, a.kind), a, COMMON) if a.kind in g.FLOATS else _no_integers(),
    "negative": g.negative,
    "positive": lambda a: a,
    "absolute": _absolute,
    "fabs": lambda a: g.function("abs", [a], COMMON),
    "sign": lambda a: g.where(g.compare("eq", a, g.const(0, a.kind), COMMON), g.const(0, a.kind),
                              g.Node("sign", a.kind, (a,)), COMMON),
    "minimum": _extremum("min", True), "maximum": _extremum("max", True),
    "fmin": _extremum("min", False), "fmax": _extremum("max", False),
    "nextafter": _next_after,
    "logical_not": lambda a: g.invert(as_bool(a)),
    "invert": g.invert,
    "isnan": _float_test(False, lambda a: g.compare("ne", a, a, COMMON)),
    "isfinite": _float_test(True, _is_finite),
    "isinf": _float_test(False, lambda a: g.compare("eq", _absolute(a), g.const(math.inf, a.kind), COMMON)),
    "deg2rad": lambda a: _scaled(a, math.pi / 180), "radians": lambda a: _scaled(a, math.pi / 180),
    "rad2deg": lambda a: _scaled(a, 180 / math.pi), "degrees": lambda a: _scaled(a, 180 / math.pi),
}


def _no_integers():
    raise TraceError(f"np.reciprocal of integers cannot be recorded; {INSTEAD_OF['reciprocal']}")


def _scaled(a, factor):
    kind = a.kind if a.kind in g.FLOATS else g.F64
    return g.arithmetic("mul", g.cast(a, kind), g.const(factor, kind), COMMON)
