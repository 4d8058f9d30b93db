"""NumPy's reductions of stand-ins, for @trident.jit."""
import numpy as np

from . import _graph as g
from . import _tracer
from ._axes import along_axes
from ._refusals import IN_PLACE, REDUCED_IN_PART, TraceError, of_dtype
from ._tracer import COMMON, recorded

NO_AXES = "a reduction along an axis takes an array, and here it has a number"


def all_elements(trace, a, axis, dtype, out, rest, name="sum"):
    rest = {k for k, v in rest.items() if v is not None and v is not np._NoValue and (k, v) != ("keepdims", False)}
    node = _tracer._operands(trace, [a])[0]
    if not node.mask and out is None and rest <= {"keepdims"} and (axis is not None or rest):
        raise TraceError(NO_AXES)
    if axis is not None or out is not None or rest:
        raise TraceError(REDUCED_IN_PART)
    if dtype is not None and np.dtype(dtype) not in _tracer._KIND:
        raise TraceError(of_dtype(name, np.dtype(dtype)))
    return node if dtype is None else _tracer._convert(node, np.dtype(dtype))


def _reduce(op, node):
    """Over the elements of `node`; of a number it is the number."""
    return node if not node.mask else g.Node(op, node.kind, (node,))


def _joined(function, op, bool_refusal):
    @along_axes(function, "axis", "dtype", "out")
    @recorded
    def build(trace, a, axis=None, dtype=None, out=None, **kwargs):
        node = all_elements(trace, a, axis, dtype, out, kwargs, op)
        if dtype is None and node.kind in (g.BOOL, g.I32):
            node = g.cast(g.cast(node, g.I32), g.I64)
        if node.kind == g.BOOL:
            raise TraceError(bool_refusal)
        return _reduce(op, node)
    return build


sum_ = _joined(np.sum, "sum", "a sum as bool cannot be recorded; write np.max(x != 0)")
prod_ = _joined(np.prod, "prod", "a product as bool cannot be recorded; write np.min(x != 0)")


def _extreme(function, op):
    @along_axes(function, "axis", "out")
    @recorded
    def build(trace, a, axis=None, out=None, **kwargs):
        node = all_elements(trace, a, axis, None, out, kwargs)
        if not node.mask:
            return node
        trace.extremes = True
        if node.kind == g.BOOL:
            return g.cast(g.Node(op, g.I32, (g.cast(node, g.I32),)), g.BOOL)
        return g.reduce(op, node, nan="keep")
    return build


min_, max_ = _extreme(np.min, "minof"), _extreme(np.max, "maxof")


@along_axes(np.mean, "axis", "dtype", "out")
@recorded
def mean_(trace, a, axis=None, dtype=None, out=None, **kwargs):
    node = all_elements(trace, a, axis, dtype, out, kwargs, "mean")
    if dtype is not None and node.kind not in g.FLOATS:
        raise TraceError("a mean as an integer cannot be recorded; write np.mean(x).astype(...)")
    return _reduce("mean", g.cast(node, node.kind if node.kind in g.FLOATS else g.F64))


def _spread(function, op):
    @along_axes(function, "axis", "dtype", "out", "ddof")
    @recorded
    def build(trace, a, axis=None, dtype=None, out=None, ddof=0, **kwargs):
        node = all_elements(trace, a, axis, dtype, out, kwargs, op)
        if dtype is not None and node.kind not in g.FLOATS:
            raise TraceError(f"np.{op} as an integer cannot be recorded; write np.{op}(x).astype(...)")
        if type(ddof) is not int or not node.mask:
            raise TraceError(f"np.{op} takes an array and a Python integer as ddof")
        kind = node.kind if node.kind in g.FLOATS else g.F64
        return g.Node(op, kind, (g.cast(node, kind), g.const(ddof, g.I64)))
    return build


var_, std_ = _spread(np.var, "var"), _spread(np.std, "std")


def _located(function, op):
    @along_axes(function, "axis", "out")
    @recorded
    def build(trace, a, axis=None, out=None, **kwargs):
        node = all_elements(trace, a, axis, None, out, kwargs)
        if not node.mask:
            raise TraceError(f"np.{op} of a number cannot be recorded: it is 0")
        trace.extremes = True
        return g.Node(op, g.I64, (g.cast(node, g.I32) if node.kind == g.BOOL else node,))
    return build


argmin_, argmax_ = _located(np.argmin, "argmin"), _located(np.argmax, "argmax")


def _product(vectors_only):
    @recorded
    def build(trace, a, b, out=None):
        if out is not None:
            raise TraceError(IN_PLACE)
        x, y = _tracer._operands(trace, [a, b])
        kind = COMMON([x.kind, y.kind])
        if kind == g.BOOL:
            raise TraceError("np.dot of booleans cannot be recorded; write np.max(x & y)")
        x, y = g.cast(x, kind), g.cast(y, kind)
        if bool(x.mask) != bool(y.mask) and not vectors_only:
            raise TraceError("np.vdot of an array and a number cannot be recorded; write np.sum(x * y)")
        if not x.mask or not y.mask:  # a number times an array
            return g.Node("mul", kind, (x, y))
        return g.Node("dot", kind, (x, y), vectors_only)
    return build


UFUNC_REDUCE = {"add": sum_, "multiply": prod_, "minimum": min_, "maximum": max_}
FUNCTIONS = {
    np.sum: sum_, np.prod: prod_, np.mean: mean_, np.dot: _product(True), np.vdot: _product(False), np.amin: min_, np.amax: max_,
    np.min: min_, np.max: max_, np.var: var_, np.std: std_, np.argmin: argmin_, np.argmax: argmax_,
}
