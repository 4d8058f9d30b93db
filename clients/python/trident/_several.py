"""Texts of several expressions for evaluate()."""
import ast

import numpy as np

from . import _graph as g
from . import _native as native
from . import _short_call
from . import _text
from ._kernel import Kernel
from ._native import TridentError
from ._out import BorrowedAll, Program, store, store_reduced
from ._strided import in_c_order, in_kernels_type, meet


class Several(Program):
    """The expressions of a text such as (a + b, a*b): in one pass where the operands lie as one kernel takes them, else one
    after the other. All are evaluated before the first is written to `out`, which may be an operand of the next."""

    def __init__(self, trees, make, names, arguments, optimization, promise):
        if not trees:
            raise ValueError("a text of several expressions has at least one: write (a + b, a*b)")
        if any(isinstance(t, ast.Tuple) for t in trees):
            raise TypeError("a tuple inside of a tuple is not supported in expressions: write (a, b, c)")
        self.parts = [make(t) for t in trees]
        self.kernel, self.used = None, sorted({i for p in self.parts for i in getattr(p, "used", ())})
        fit = all(isinstance(getattr(p, "kernel", None), Kernel) and p.reduction is None and p.is_taken
                  and any(arguments[i].ndim for i in p.used) for p in self.parts)
        if not fit:
            return
        self.is_scalar = [arguments[i].ndim == 0 for i in self.used]
        inputs = {names[i]: g.Node("input", g.kind_of_dtype(arguments[i].dtype), value=i) for i in self.used}
        taken = {i: d for p in self.parts for i, d in zip(p.used, p.dtypes)}
        self.dtypes = [taken[i] for i in self.used]
        types = {f"x{i}": g.NARROW.get(taken[i]) or g.KIND_OF[taken[i]] for i in self.used}
        scalars = [f"x{i}" for i, s in zip(self.used, self.is_scalar) if s]
        nodes = [_text.built(t, inputs, optimization) for t in trees]
        try:
            self.kernel = promise.kernel(g.emit(g.as_kernel(nodes, bytes_out=True)), names, types, scalars,
                                         max(arguments[i].size for i in self.used))
        except TridentError as error:
            if error.status != native.E_LIMIT:
                raise

    def bound(self, names, arguments, order, casting, given=None):
        """As Program has it: in one pass, or part by part; None where one of the parts has none."""
        given = given or names
        if len(self.used) != len(names) or not all(hasattr(p, "part") for p in self.parts):
            return None
        parts = tuple(p.part(names, arguments, order, casting, given) for p in self.parts)
        if None in parts:
            return None
        if self.kernel is None:
            return _short_call.bound(self, None, given, (), (), order=order, casting=casting, parts=parts)
        rows = [_short_call.argument(given.index(names[i]), arguments[i].dtype, not s, d)
                for i, s, d in zip(self.used, self.is_scalar, self.dtypes)]
        return _short_call.bound(self, self.kernel._handle, given, rows, [(p.result_dtype, False) for p in self.parts], order=order,
                                 casting=casting, parts=parts, gives_tuple=True)

    def outs(self, out):
        if out is None:
            return (None,) * len(self.parts)
        if not isinstance(out, (tuple, list)) or len(out) != len(self.parts):
            raise ValueError(f"out must be a tuple of {len(self.parts)} arrays, as many as the text has expressions")
        given = [o for o in out if o is not None]
        if any(meet(o, other) for i, o in enumerate(given) for other in given[:i] if isinstance(o, np.ndarray) and isinstance(other, np.ndarray)):
            raise ValueError("two arrays of out share memory: give arrays that lie apart")
        return tuple(out)

    def borrowed(self, out):
        return BorrowedAll(self.outs(out))

    def run(self, arguments, out, order, casting):
        results = self._run_at_once([arguments[i] for i in self.used], order, casting)
        if results is None:
            results = [p.run(arguments, None, order, casting) for p in self.parts]
        stores = [store if getattr(p, "reduction", None) is None else store_reduced for p in self.parts]
        return tuple(r if o is None else put(o, r, casting) for put, r, o in zip(stores, results, self.outs(out)))

    def _run_at_once(self, arguments, order, casting):
        """The results of one pass; None where the operands do not lie as it takes them."""
        if self.kernel is None:
            return None
        arrays = [in_kernels_type(a, d) for a, d, s in zip(arguments, self.dtypes, self.is_scalar) if not s]
        if order in "FA" and arrays[0].ndim > 1 or any(a.shape != arrays[0].shape for a in arrays) or not in_c_order(arrays):
            return None
        for p in self.parts:
            p.check_casts(casting)
        params = self.kernel.pack([a.astype(d) for a, d, s in zip(arguments, self.dtypes, self.is_scalar) if s])
        results = [np.empty(arrays[0].shape, p.result_dtype) for p in self.parts]
        self.kernel._run_on(arrays[0].shape, arrays, results, params)
        return results
