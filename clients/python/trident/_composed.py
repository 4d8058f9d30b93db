"""NumPy's functions that are made of others, for @trident.jit: each is written here with those, as NumPy's own code or
manual defines it, types and corner cases included. They take stand-ins, numbers, or both."""
import math

import numpy as np

from . import _graph as g
from . import _reductions
from . import _refusals
from . import _tracer
from ._axes import along_axes
from ._refusals import TraceError
from ._tracer import COMMON, Tracer

_ALL_ELEMENTS = "reductions with out or where cannot be recorded; write np.where(condition, x, False) for where"
_IN_PLACE = "changing an array in place cannot be recorded; leave out copy=False and out="


def _plain(name, *given):
    """Refuses arguments that are not left as they are; (value, default) of each."""
    for value, default in given:
        if value is not default and value is not np._NoValue and value is not None:
            raise TraceError(f"np.{name}: only its first arguments can be recorded; write it with ufuncs, np.where and reductions")


def _as_floats(trace, name, *values):
    """The values in the type that NumPy computes a function of reals in."""
    nodes = _tracer._operands(trace, values)
    kind = COMMON([n.kind for n in nodes])
    if kind == g.BOOL:
        raise TraceError(f"np.{name} of booleans cannot be recorded; convert them: x.astype(np.float64)")
    kind = kind if kind in g.FLOATS else g.F64
    return [Tracer(g.cast(n, kind), trace) for n in nodes]


def _node(trace, value):
    return _tracer._operands(trace, [value])[0]


def item(function, made):
    """`made` as the Python number that this NumPy's function returns: it takes the type of the floats that it meets, and among
    int32 it keeps its own, because it may be one that they do not hold."""
    if type(made) is not Tracer or type(function(*[np.zeros(1)] * (2 if function is np.allclose else 1))) not in _tracer.PYTHON_NUMBERS:
        return made
    return Tracer(made._node, made._trace, weak="large", is_item=True)


def _logaddexp(trace, x, y):
    x, y = _as_floats(trace, "logaddexp", x, y)
    apart = x - y
    sum_ = np.where(apart > 0, x, y) + np.log1p(np.exp(-np.abs(apart)))
    return np.where(x == y, x + math.log(2), np.where(apart == apart, sum_, apart))


def _logaddexp2(trace, x, y):
    x, y = _as_floats(trace, "logaddexp2", x, y)
    apart = x - y
    sum_ = np.where(apart > 0, x, y) + np.log1p(np.exp2(-np.abs(apart))) * (1 / math.log(2))
    return np.where(x == y, x + 1, np.where(apart == apart, sum_, apart))


def _heaviside(trace, x, at_zero):
    x, at_zero = _as_floats(trace, "heaviside", x, at_zero)
    return np.where(x == 0, at_zero, np.where(x < 0, 0.0, np.where(x > 0, 1.0, x)))


def _signbit(trace, x):
    x, = _as_floats(trace, "signbit", x)
    return np.copysign(1.0, x) < 0


def _divmod(trace, x, y):
    del trace
    return np.floor_divide(x, y), np.remainder(x, y)


def _modf(trace, x):
    x, = _as_floats(trace, "modf", x)
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole), x), whole


def _nan_to_num(trace, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if copy is not True:
        raise TraceError(_IN_PLACE)
    if _node(trace, x).kind not in g.FLOATS:
        return x
    most = float(np.finfo(x.dtype).max)
    low = np.where(x == -math.inf, -most if neginf is None else neginf, x)
    return np.where(x != x, nan, np.where(x == math.inf, most if posinf is None else posinf, low)).astype(x.dtype)


def _is_condition(value):
    return type(value) is Tracer and value.dtype == bool


def _select(trace, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions, and not empty")
    if not all(map(_is_condition, condlist)):
        raise TraceError("the conditions of np.select must be boolean arrays: write x > 0, or x != 0")
    values = [*choicelist, default]
    nodes = _tracer._operands(trace, values)
    if not any(type(v) is Tracer for v in values):
        if any(np.asarray(v).dtype not in _tracer._KIND for v in values):
            raise TraceError("np.select of these values cannot be recorded; write them as int or float")
        nodes = [g.const(v, _tracer._KIND[np.asarray(v).dtype]) for v in values]
    chosen = nodes.pop()
    for condition, node in zip(reversed(condlist), reversed(nodes)):
        chosen = g.where(condition._node, node, chosen, COMMON)
    chosen.value = g.IN_C_ORDER
    return Tracer(chosen, trace)


def _piecewise(trace, x, condlist, funclist, *args, **kwargs):
    if type(condlist) is Tracer:
        condlist = [condlist]
    if not all(map(_is_condition, condlist)):
        raise TraceError("the conditions of np.piecewise must be boolean arrays: write x > 0, or x != 0")
    if len(funclist) not in (len(condlist), len(condlist) + 1):
        raise ValueError(f"with {len(condlist)} condition(s), either {len(condlist)} or {len(condlist) + 1} functions are expected")
    result = _piece(trace, x, funclist[-1], args, kwargs) if len(funclist) > len(condlist) else _full_like(trace, x, 0)
    for condition, function in zip(condlist, funclist):  # the last one that holds counts
        result = np.where(condition, _piece(trace, x, function, args, kwargs), result)
    return result


def _piece(trace, x, function, args, kwargs):
    """A function of np.piecewise sees its part of the elements, so it may not look beyond one element, nor at other arrays."""
    if not callable(function):
        return _full_like(trace, x, function)
    node, known = _node(trace, function(x, *args, **kwargs)), {id(n) for n in g.in_order([x._node])}
    if node.mask & ~x._node.mask or any(n.op in g.REDUCTIONS and id(n) not in known for n in g.in_order([node])):
        raise TraceError("a function of np.piecewise that reduces, or reads another array, cannot be recorded; use np.where")
    return Tracer(g.cast(node, x._node.kind), trace)


def _full_like(trace, x, fill_value, dtype=None, order="K", subok=True, shape=None):
    _plain("full_like", (order, "K"), (subok, True), (shape, None))
    node = _node(trace, x)
    dtype = g.DTYPE[node.kind] if dtype is None else np.dtype(dtype)
    if dtype in _narrow.DTYPES and type(fill_value) is not Tracer:
        return _narrow_functions.FUNCTIONS[np.full_like](None, Tracer(node, trace), fill_value, dtype)
    if dtype not in _tracer._KIND:
        raise TraceError(f"an array like another as {dtype} cannot be recorded; write np.full_like(x, v).astype(np.{dtype})")
    if type(fill_value) is Tracer:
        value = g.cast(fill_value._node, _tracer._KIND[dtype])
    else:
        value = g.const(np.asarray(fill_value).astype(dtype)[()], _tracer._KIND[dtype])
    return Tracer(g.where(g.compare("eq", node, node, COMMON), value, value, COMMON), trace)


def _filled(value):
    def build(trace, a, dtype=None, order="K", subok=True, shape=None):
        return _full_like(trace, a, value, dtype, order, subok, shape)
    return build


def _isclose(trace, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    if type(b) is Tracer and b.dtype.kind != "f":
        b = b.astype(np.float64)
    near = np.where(np.logical_and(np.isfinite(a), np.isfinite(b)), np.abs(a - b) <= atol + rtol * np.abs(b), np.equal(a, b))
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def _allclose(trace, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return item(np.allclose, np.all(_isclose(trace, a, b, rtol, atol, equal_nan)))


def _truth(function, op, test):
    @along_axes(function, "axis", "out", "keepdims")
    def build(trace, a, axis=None, out=None, keepdims=None, where=None):
        given = {k for k, v in (("axis", axis), ("out", out), ("keepdims", keepdims or None), ("where", where))
                 if v is not None and v is not np._NoValue}
        node = g.cast(_node(trace, a), g.BOOL)
        if given and given <= {"axis", "keepdims"}:
            raise TraceError(_reductions.NO_AXES)
        if given:
            raise TraceError(_ALL_ELEMENTS)
        return Tracer(node if not node.mask else
                      g.Node(test, g.BOOL, (g.Node(op, g.I32, (g.cast(node, g.I32),)), g.const(0, g.I32))), trace)
    return build


_any, _all = _truth(np.any, "maxof", "gt"), _truth(np.all, "minof", "ne")  # of no elements: the least integer, and the greatest


def _ptp(trace, a, axis=None, out=None, keepdims=None):
    return np.max(a, axis, out, **_kept(keepdims)) - np.min(a, axis, out, **_kept(keepdims))


def _kept(keepdims):
    return {} if keepdims in (None, False, np._NoValue) else {"keepdims": keepdims}


def _without_nan(trace, a, value):
    return a if _node(trace, a).kind not in g.FLOATS else np.where(a != a, value, a)


def _nansum(trace, a, axis=None, dtype=None, out=None, **kwargs):
    return np.sum(_without_nan(trace, a, 0.0), axis, dtype, out, **kwargs)


def _nanprod(trace, a, axis=None, dtype=None, out=None, **kwargs):
    return np.prod(_without_nan(trace, a, 1.0), axis, dtype, out, **kwargs)


def _nanmean(trace, a, axis=None, dtype=None, out=None, **kwargs):
    if _node(trace, a).kind not in g.FLOATS:
        return np.mean(a, axis, dtype, out, **kwargs)
    total = _nansum(trace, a, axis, dtype, out, **kwargs)
    return total / np.sum(a == a, axis, **kwargs).astype(total.dtype)


def _nan_extreme(op, function, nan_function):
    @along_axes(nan_function, "axis", "out")
    def build(trace, a, axis=None, out=None, **kwargs):
        node = _node(trace, a)
        if node.kind not in g.FLOATS or not node.mask:
            return function(a, axis, out, **kwargs)
        _reductions.all_elements(trace, a, axis, None, out, kwargs)
        trace.extremes = True
        return Tracer(g.reduce(op, node, nan="ignore"), trace)
    return build


def _count_nonzero(trace, a, axis=None, keepdims=False):
    count = np.sum(np.not_equal(a, 0), axis, **_kept(keepdims))
    return count if axis is not None or _kept(keepdims) else item(np.count_nonzero, count)


@along_axes(np.average, "axis")
def _average(trace, a, axis=None, weights=None, returned=False, keepdims=None):
    if weights is not None:
        raise TraceError(_refusals.WEIGHTS)
    _plain("average", (returned, False))
    return np.mean(a, axis, **_kept(keepdims))


def _norm(trace, x, ord=None, axis=None, keepdims=False):  # noqa: A002
    _plain("linalg.norm", (ord, None))
    x, = _as_floats(trace, "linalg.norm", x)
    if axis is not None or keepdims:
        return np.sqrt(np.sum(x * x, axis, keepdims=keepdims))
    return np.sqrt(np.vdot(x, x))


def _round(trace, a, decimals=0, out=None):
    if out is not None:
        raise TraceError(_IN_PLACE)
    node = _node(trace, a)
    if type(decimals) is not int or node.kind not in g.FLOATS and (decimals < 0 or node.kind == g.BOOL):
        raise TraceError("np.round of these cannot be recorded; convert the array: x.astype(np.float64)")
    if node.kind not in g.FLOATS or decimals == 0:
        return np.rint(a) if node.kind in g.FLOATS else a
    scale = 10.0**abs(decimals)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _fix(trace, x, out=None):
    if out is not None:
        raise TraceError(_IN_PLACE)
    return np.trunc(x)


def _sinc(trace, x):
    x = _as_floats(trace, "sinc", x)[0]
    angle = math.pi * np.where(x == 0, 1e-20, x)
    return np.sin(angle) / angle


def _is_infinity(value):
    def build(trace, x, out=None):
        if out is not None:
            raise TraceError(_IN_PLACE)
        return np.equal(x, value) if _node(trace, x).kind in g.FLOATS else np.isinf(x)
    return build


def _copy(trace, a, order="K", subok=False):
    return Tracer(_node(trace, a), trace)


def _conjugate(trace, x):
    return _copy(trace, x) if _node(trace, x).kind != g.BOOL else x.astype(np.int8)  # as NumPy has no conjugate of booleans


def _recorded(build):
    """`build`, whose errors are refusals."""
    def call(trace, *args, **kwargs):
        if not trace.alive:
            trace.refuse(_refusals.KEPT)
        try:
            return build(trace, *args, **kwargs)
        except TraceError as error:
            trace.refuse(str(error))
        except TypeError as error:
            trace.refuse(f"{error}; write it with NumPy's ufuncs, np.where and reductions over all elements")
    return call


def _of_numpy(functions):
    """NumPy's functions by their names, those that this NumPy has."""
    return {getattr(np, name): _recorded(build) for name, build in functions.items() if hasattr(np, name)}


UFUNCS = {name: _recorded(build) for name, build in {
    "logaddexp": _logaddexp, "logaddexp2": _logaddexp2, "heaviside": _heaviside, "signbit": _signbit, "divmod": _divmod,
    "modf": _modf, "conjugate": lambda trace, x: _conjugate(trace, x)}.items()}
METHODS = {name: _recorded(build) for name, build in {
    "any": _any, "all": _all, "ptp": _ptp, "round": _round, "copy": _copy, "conj": _copy, "conjugate": _copy}.items()}
FUNCTIONS = {np.linalg.norm: _recorded(_norm), **_of_numpy({
    "nan_to_num": _nan_to_num, "select": _select, "piecewise": _piecewise, "full_like": _full_like, "zeros_like": _filled(0),
    "ones_like": _filled(1), "isclose": _isclose, "allclose": _allclose, "any": _any, "all": _all, "ptp": _ptp,
    "nansum": _nansum, "nanprod": _nanprod, "nanmean": _nanmean, "nanmin": _nan_extreme("minof", np.min, np.nanmin),
    "nanmax": _nan_extreme("maxof", np.max, np.nanmax), "count_nonzero": _count_nonzero, "average": _average, "round": _round,
    "around": _round, "round_": _round, "fix": _fix, "sinc": _sinc, "isposinf": _is_infinity(math.inf),
    "isneginf": _is_infinity(-math.inf), "copy": _copy})}

from . import _narrow, _narrow_functions  # noqa: E402; they are written with the functions of this module
