"""Reductions at the root of a text of evaluate(): inside the kernel, or by NumPy on what it has written."""
import numpy as np

from . import _graph as g
from . import _text

OPS = {"sum": "sum", "prod": "prod", "min": "minof", "max": "maxof", "mean": "mean", "any": "maxof", "all": "minof",
       "argmin": "argmin", "argmax": "argmax"}
PLACES = "argmin", "argmax"  # numbers of elements in C's order, however the operands lie
_TRUTHS = {"any": "gt", "all": "ne"}  # of the greatest and the least of zeros and ones; of no elements these are the ends of int32
_NUMPY_REDUCE = {"sum": np.add.reduce, "prod": np.multiply.reduce, "min": np.fmin.reduce, "max": np.fmax.reduce,
                 **{name: getattr(np.ndarray, name) for name in _text.BEYOND_REDUCTIONS}}


def as_bool(result):
    return np.asarray(result != 0)


def fused(name, node):
    """A reduction inside the kernel; the least and the greatest of booleans are found as integers, and booleans."""
    op = OPS[name]
    if name in _TRUTHS:
        return g.Node(_TRUTHS[name], g.BOOL, (g.Node(op, g.I32, (g.cast(g.cast(node, g.BOOL), g.I32),)), g.const(0, g.I32)))
    if name in PLACES:
        return g.Node(op, g.I64, (g.cast(node, g.I32) if node.kind == g.BOOL else node,))
    if name == "mean":
        kind = node.kind if node.kind in g.FLOATS else g.F64
        return g.Node(op, kind, (g.cast(node, kind),))
    if node.kind != g.BOOL:
        return g.reduce(op, node, nan="ignore")
    return g.cast(g.reduce(op, g.cast(node, g.I32), nan="ignore"), g.BOOL)


def reduce_with_numpy(reduction, whole):
    """Reductions over one axis, those that kept dimensions, and those that kernels of texts do not have."""
    if reduction.axis is not None and not -whole.ndim <= reduction.axis < whole.ndim:
        raise ValueError("axis is out of bounds")
    keywords = {"axis": reduction.axis, "keepdims": reduction.keepdims}
    if reduction.op in ("sum", "prod"):
        keywords["dtype"] = whole.dtype
    return np.asarray(_NUMPY_REDUCE[reduction.op](whole, **keywords))
