"""NumPy's functions that are made of others, of the stand-ins of _narrow.py. Each takes the stand-in that was asked and the
arguments; NotImplemented refuses them."""
import numpy as np

from . import _composed
from . import _graph as g
from . import _narrow
from . import _refusals
from . import _tracer
from . import _unsigned
from ._tracer import Tracer


def _integers_only(build):
    """`build` for integers; what NumPy does to float16 beyond them is refused."""
    def call(asked, x, *args, **kwargs):
        is_integer = type(x) is _narrow.Narrow and x.dtype.kind != "f"
        return build(asked, x, *args, **kwargs) if is_integer else NotImplemented
    return call


@_integers_only
def _same(asked, x, *args, **kwargs):
    """np.nan_to_num and np.round, which leave integers as they are."""
    del asked
    plain = all(type(a) is int and a >= 0 for a in args) and all(k == "decimals" and type(v) is int and v >= 0 for k, v in kwargs.items())
    return _narrow.Narrow(x._node, x._trace, x.dtype) if plain else NotImplemented


def _nan_to_num(asked, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if type(x) is not _narrow.Narrow or x.dtype.kind != "f" or copy is not True:
        return _same(asked, x) if copy is True else NotImplemented
    most = float(np.finfo(x.dtype).max)
    low = np.where(x == -np.inf, -most if neginf is None else neginf, x)
    return np.where(x != x, nan, np.where(x == np.inf, most if posinf is None else posinf, low)).astype(x.dtype)


def _filled(number=None):
    """np.full_like, and those of one number, of a narrow array or as one."""
    def build(asked, x, *arguments, **keywords):
        names = ("fill_value", "dtype") if number is None else ("dtype",)
        given = {"fill_value": number, "dtype": None, **dict(zip(names, arguments)), **keywords}
        value, dtype = given.pop("fill_value"), given.pop("dtype")
        if given or len(arguments) > len(names) or type(value) in (Tracer, _narrow.Narrow):
            return NotImplemented
        dtype = np.dtype(x.dtype if dtype is None else dtype)
        if dtype not in _narrow.DTYPES and dtype not in _tracer._KIND:
            return NotImplemented
        kind = _narrow.kind_of(dtype) if dtype in _narrow.DTYPES else _tracer._KIND[dtype]
        value = np.asarray(value).astype(dtype)[()]
        value = g.const(_unsigned.wrapped(value) if dtype == _narrow.UINT64 else value, kind)
        node = g.where(g.compare("eq", x._node, x._node, g.numpy_common), value, value, g.numpy_common)
        return _narrow.Narrow(node, x._trace, dtype) if dtype in _narrow.DTYPES else Tracer(node, x._trace)
    return build


def _copy(asked, a, order="K", subok=False):
    del asked, order, subok
    return _narrow.Narrow(a._node, a._trace, a.dtype)


def _ptp(asked, x, axis=None, out=None, keepdims=False):
    del asked
    if out is not None or type(x) is not _narrow.Narrow:
        return NotImplemented
    keywords = {k: v for k, v in (("axis", axis), ("keepdims", keepdims)) if v is not None and v is not np._NoValue and v is not False}
    return np.max(x, **keywords) - np.min(x, **keywords)


def _of_integers(function):
    @_integers_only
    def build(asked, x, *args, **kwargs):
        del asked
        return function(x, *args, **kwargs)
    return build


def _average(asked, x, axis=None, weights=None, returned=False, keepdims=None):
    if weights is not None:
        asked._trace.refuse(_refusals.WEIGHTS)
    if type(x) is not _narrow.Narrow or returned is not False:
        return NotImplemented
    return _composed.FUNCTIONS[np.average](asked._trace, x, axis, keepdims=keepdims)


def _isclose(asked, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """NumPy compares with b as float64, and a meets it there."""
    wide = [v.astype(np.float64) if type(v) is _narrow.Narrow and v.dtype.kind != "f" else v for v in (a, b)]
    if not all(type(v) in (int, float) or type(v) is Tracer and type(w) is _narrow.Narrow for v, w in zip(wide, (a, b))):
        return NotImplemented
    return _composed.FUNCTIONS[np.isclose](asked._trace, *wide, rtol, atol, equal_nan)


def _allclose(asked, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    near = _isclose(asked, a, b, rtol, atol, equal_nan)
    return near if near is NotImplemented else _composed.item(np.allclose, np.all(near))


def _is_infinity(value):
    def build(asked, x, out=None):
        del asked
        return NotImplemented if out is not None else np.equal(x, value) if x.dtype.kind == "f" else np.isinf(x)
    return build


def _of_stand_ins(function):
    """A function of _composed.py that looks at its argument by NumPy's functions only."""
    def build(asked, x, *args, **kwargs):
        return _composed.FUNCTIONS[function](asked._trace, x, *args, **kwargs)
    return build


@_integers_only
def _norm(asked, x, *args, **kwargs):
    return _composed.FUNCTIONS[np.linalg.norm](asked._trace, x.astype(np.float64), *args, **kwargs)


def _select(asked, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not all(type(c) is Tracer and c.dtype == bool for c in condlist) or not condlist:
        return NotImplemented
    return asked._chosen(np.select, lambda values: ([np.zeros(1, bool)] * len(condlist), values[:-1], values[-1]),
                         lambda values: (condlist, values[:-1], values[-1]), [*choicelist, default])


@_integers_only
def _piecewise(asked, x, condlist, funclist, *args, **kwargs):
    del asked
    condlist = [condlist] if type(condlist) is Tracer else condlist
    if not all(type(c) is Tracer and c.dtype == bool for c in condlist) or len(funclist) - len(condlist) not in (0, 1):
        return NotImplemented
    pieces = [_piece(x, f, args, kwargs) for f in (*funclist, *[0] * (len(condlist) + 1 - len(funclist)))]
    result = pieces.pop()
    for condition, piece in zip(condlist, pieces):  # the last one that holds counts
        result = np.where(condition, piece, result)
    return result


def _piece(x, function, args, kwargs):
    """One piece as x's type, to which NumPy casts it."""
    if not callable(function):
        bounds = np.iinfo(x.dtype)
        if type(function) is not int or not bounds.min <= function <= min(bounds.max, 2**63 - 1):
            x._refuse(f"np.piecewise of {x.dtype} with {function}")
        return _narrow._cut(x._trace, g.const(function, x._node.kind), x.dtype)
    made = function(x, *args, **kwargs)
    if type(made) not in (Tracer, _narrow.Narrow) or made._node.mask & ~x._node.mask \
            or any(n.op in g.REDUCTIONS for n in g.in_order([made._node])):
        x._refuse(f"np.piecewise of {x.dtype} with a function that reduces, or reads another array,")
    return made.astype(x.dtype)


FUNCTIONS = {
    np.nan_to_num: _nan_to_num, np.full_like: _filled(), np.zeros_like: _filled(0), np.ones_like: _filled(1), np.round: _same, np.around: _same, np.ptp: _ptp, np.copy: _copy, np.average: _average, np.isclose: _isclose,
    np.allclose: _allclose, np.isposinf: _is_infinity(np.inf), np.isneginf: _is_infinity(-np.inf), np.linalg.norm: _norm,
    np.count_nonzero: _of_stand_ins(np.count_nonzero),
    np.select: _select, np.piecewise: _piecewise, np.nansum: _of_integers(np.sum), np.nanprod: _of_integers(np.prod),
    np.nanmin: _of_integers(np.min), np.nanmax: _of_integers(np.max), np.nanmean: _of_integers(np.mean),
    **({np.round_: _same} if hasattr(np, "round_") else {})}
