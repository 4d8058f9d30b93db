"""Texts of several expressions for evaluate()."""
import ast

import numpy as np

from . import _graph as g
from . import _native as native
from . import _text
from ._kernel import Kernel
from ._native import TridentError
from ._out import BorrowedAll, store, store_reduced
from ._strided import in_c_order


class Several:
    """The expressions of a text such as (a + b, a*b): in one pass where the operands lie as one kernel takes them, else one
    after the other. All are evaluated before the first is written to `out`, which may be an operand of the next."""

    def __init__(self, trees, make, names, arguments, optimization, promise):
        if not trees:
            raise ValueError("a text of several expressions has at least one: write (a + b, a*b)")
        if any(isinstance(t, ast.Tuple) for t in trees):
            raise TypeError("a tuple inside of a tuple is not supported in expressions: write (a, b, c)")
        self.parts = [make(t) for t in trees]
        self.kernel, self.used = None, sorted({i for p in self.parts for i in getattr(p, "used", ())})
        fit = all(isinstance(getattr(p, "kernel", None), Kernel) and p.reduction is None for p in self.parts)
        if not fit or any(arguments[i].ndim == 0 for i in self.used):
            return
        inputs = {names[i]: g.Node("input", g.kind_of_dtype(arguments[i].dtype), value=i) for i in self.used}
        self.taken = {n.value: g.I32 if n.kind == g.BOOL else n.kind for n in inputs.values()}
        nodes = [_text.built(t, inputs, optimization) for t in trees]
        try:
            self.kernel = promise.kernel(g.emit(g.as_kernel(nodes)), names, {f"x{i}": k for i, k in self.taken.items()}, (),
                                         max(arguments[i].size for i in self.used))
        except TridentError as error:
            if error.status != native.E_LIMIT:
                raise

    def outs(self, out):
        if out is None:
            return (None,) * len(self.parts)
        if not isinstance(out, (tuple, list)) or len(out) != len(self.parts):
            raise ValueError(f"out must be a tuple of {len(self.parts)} arrays, as many as the text has expressions")
        return tuple(out)

    def borrowed(self, out):
        return BorrowedAll(self.outs(out))

    def run(self, arguments, out, order, casting):
        results = self._run_at_once([arguments[i] for i in self.used], order)
        if results is None:
            results = [p.run(arguments, None, order, casting) for p in self.parts]
        stores = [store if getattr(p, "reduction", None) is None else store_reduced for p in self.parts]
        return tuple(r if o is None else put(o, r, casting) for put, r, o in zip(stores, results, self.outs(out)))

    def _run_at_once(self, arrays, order):
        """The results of one pass; None where the operands do not lie as it takes them."""
        if self.kernel is None or order == "F" and arrays[0].ndim > 1:
            return None
        if not in_c_order(arrays) or any(a.dtype != g.DTYPE[self.taken[i]] or a.shape != arrays[0].shape
                                         for a, i in zip(arrays, self.used)):
            return None
        results = [np.empty(arrays[0].shape, np.int32 if p.is_bool else p.result_dtype) for p in self.parts]
        self.kernel._run_on(arrays[0].shape, arrays, results, None)
        return [r != 0 if p.is_bool else r for r, p in zip(results, self.parts)]
