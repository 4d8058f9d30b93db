"""Reductions along axes in @trident.jit, softmax-like forms among them. What is reduced is computed by a kernel of its own
(_compiled.py), NumPy reduces it, so types, order and errors are NumPy's, and the outcome is one more input of the kernels
behind. An operand that was computed so is read again where it occurs behind, not computed again."""
import functools

import numpy as np

from . import _graph as g
from . import _narrow
from . import _tracer
from ._refusals import TraceError

_DIMENSIONS = 32  # of the array that NumPy is asked with
_KEYWORDS = {"axis", "dtype", "keepdims", "ddof"}


class Along:
    """One reduction: `operand`, a stand-in, by `function` with `keywords`. `result` is the number of the input that holds it,
    `whole` the input that holds the operand, or None; `part`: what computes the operand, None for an argument."""

    def __init__(self, operand, function, keywords, result, whole):
        self.operand, self.node, self.function, self.keywords = operand, operand._node, function, keywords
        self.result, self.whole, self.part = result, whole, None
        self.dtype = None  # of the result

    @property
    def text(self):
        return f"{self.function.__name__} {sorted(self.keywords.items())} {self.node.value} {self.part and self.part.text}"

    def reduce(self, values, run):
        """Computes the operand and its reduction from the values of the inputs, and adds them to these."""
        if self.part is None:
            whole = values[self.node.value]
        else:
            whole = np.asarray(run(self.part, values)[0])
        if self.whole is not None:
            values[self.whole.value] = whole
        values[self.result] = np.asarray(self.function(whole, **self.keywords))


def is_asked_for(trace, keywords):
    """Returns whether NumPy reduces: along axes, and behind such reductions, where shapes no longer are those of arguments."""
    return keywords.get("axis") is not None or bool(keywords.get("keepdims")) or bool(trace.along)


def reduced(trace, a, function, keywords):
    """The stand-in of function(a, **keywords)."""
    if type(a) not in (_tracer.Tracer, _narrow.Narrow) or a._trace is not trace or not a._node.mask:
        raise TraceError(f"np.{function.__name__} along an axis takes an array that depends on the arguments")
    if unknown := sorted(keywords.keys() - _KEYWORDS):
        raise TraceError(f"np.{function.__name__} with {', '.join(unknown)} cannot be recorded; write it with np.where")
    for name, value in keywords.items():
        if type(value) in (_tracer.Tracer, _narrow.Narrow):
            raise TraceError(f"np.{function.__name__}: {name} must be a number of the text, no argument")
    with np.errstate(all="ignore"):
        dtype = function(np.ones((1,) * _DIMENSIONS, a.dtype), **keywords).dtype
    narrow = dtype if dtype in _narrow.DTYPES else None
    if narrow is None and dtype not in _tracer._KIND:
        raise TraceError(f"np.{function.__name__} of {a.dtype}, which gives {dtype}, cannot be recorded; convert it first: "
                         "x.astype(np.int64)")
    keeps = type(a) is _tracer.Tracer and a._node.op != "input"
    whole = trace.made_outside(a._node.kind) if keeps else None
    node = trace.made_outside(_narrow.kind_of(narrow) if narrow else _tracer._KIND[dtype])
    trace.along.append(Along(a, function, keywords, node.value, whole))
    trace.along[-1].dtype = dtype
    return _narrow.Narrow(node, trace, narrow) if narrow else _tracer.Tracer(node, trace)


def along_axes(function, *names):
    """A function of NumPy's signature (array, *names) on stand-ins, beside `build`, which reduces all elements to a number."""
    def decorate(build):
        @functools.wraps(build)
        def call(trace, a, *args, **kwargs):
            keywords = {**dict(zip(names, args)), **kwargs}
            keywords = {k: v for k, v in keywords.items() if v is not None and v is not np._NoValue}
            if not is_asked_for(trace, keywords) or not hasattr(a, "_node") or not a._node.mask:
                return build(trace, a, *args, **kwargs)
            if not trace.alive:
                trace.refuse(_tracer.KEPT)
            try:
                return reduced(trace, a, function, {k: v for k, v in keywords.items() if k != "keepdims" or v})
            except TypeError as error:
                trace.refuse(str(error))
        return call
    return decorate
