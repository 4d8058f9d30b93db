"""Kernels of what @trident.jit has recorded. A kernel computes one element after the other and reduces all of them, so a
reduction along an axis divides a recording: a part of its own makes what is reduced, NumPy reduces it, and both are inputs of
the parts behind."""
import functools
import math

import numpy as np

from . import _graph as g
from . import _native as native
from ._kernel import address
from ._narrow import Narrow
from ._native import TridentError
from ._refusals import TraceError


class Part:
    """Nodes that one kernel computes: `results` are stand-ins."""

    def __init__(self, trace, names, results, guards=()):
        known = trace.known_before(results)
        self.inputs, self.names = trace.inputs, names
        self.nodes = [_replaced(r._node, known) for r in results]
        self.guards = [_replaced(n, known) for n in guards]
        self.is_bool = [n.kind == g.BOOL for n in self.nodes]
        self.narrow = [r.dtype if type(r) is Narrow else None for r in results]
        self.used, self.reduced, ids = self._survey()
        self.products = [p for p in trace.products if id(p[1]) in ids]
        self.extremes = trace.extremes
        self.text = g.emit(g.as_kernel(self.nodes + self.guards))

    def _survey(self):
        """The inputs that the outputs are made of, the masks of what is reduced, and the identities of all nodes."""
        used, reduced, numbers = set(), set(), {}
        for node in g.in_order(self.nodes + self.guards):
            if node.op == "input":
                used.add(node.value)
            numbers[id(node)] = node.op in g.REDUCTIONS or any(numbers[id(a)] for a in node.args)
            if node.op in g.REDUCTIONS:
                reduced.add(functools.reduce(lambda m, a: m | a.mask, node.args, 0))
        self.is_number = [numbers[id(n)] and not n.mask for n in self.nodes]
        return sorted(used), reduced, numbers


def _replaced(root, known):
    """The graph under `root` with inputs for nodes whose values are known."""
    if not known:
        return root
    made = {}
    for n in g.in_order([root]):
        if id(n) in known:
            made[id(n)] = known[id(n)]
        elif not n.args or all(made[id(a)] is a for a in n.args):
            made[id(n)] = n
        else:
            made[id(n)] = g.Node(n.op, n.kind, tuple(made[id(a)] for a in n.args), n.value)
    return made[id(root)]


class PartKernel:
    """The kernel of a part for one combination of argument kinds."""

    def __init__(self, part, values, promise):
        self.part, self.kernel = part, None
        used = [(i, values[i]) for i in part.used]
        numbers = [i for i, v in used if v.ndim == 0]
        if len(numbers) == len(used):  # then they are arrays of one element
            numbers = []
        self.dtypes = {i: g.DTYPE[g.I32 if part.inputs[i].kind == g.BOOL else part.inputs[i].kind]
                       for i, _ in used}
        name_of = {dtype: kind for kind, dtype in g.DTYPE.items()}
        if not used:
            raise TraceError("a jit function returns arrays that depend on its arguments (one, or a tuple of them)")
        try:
            self.kernel = promise.kernel(part.text, part.names,
                                         {f"x{i}": name_of[d] for i, d in self.dtypes.items()},
                                         [f"x{i}" for i in numbers], max(v.size for _, v in used))
        except TridentError as error:
            if error.status != native.E_LIMIT:
                raise
            raise TraceError(f"the function is more than one kernel can hold ({error}); divide it into several") from error
        self.arrays = [int(name[1:]) for name in self.kernel.arrays]
        self.numbers = [int(name[1:]) for name in self.kernel.scalars]
        self.array_mask = sum(1 << i for i in self.arrays)

    def of_plain_arrays(self, args):
        """Runs the kernel on the caller's own arrays; None where it cannot take them as they are."""
        arrays = [args[i] for i in self.arrays]
        shape = arrays[0].shape
        if 0 in shape or not all(a.shape == shape and a.flags.c_contiguous for a in arrays):
            return None
        return self.kernel(*arrays)

    def run(self, values):
        """The results for the inputs, all of them arrays."""
        shape, shapes = self._shapes(values)
        arrays = [np.require(values[i], self.dtypes[i], ["A"]) for i in self.arrays]
        arrays = [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in arrays]
        params = self.kernel.pack([values[i] for i in self.numbers])
        results = self.kernel._allocate(shape, None)
        self.kernel._run(math.prod(shape), [address(a) for a in arrays], [address(r) for r in results], params)
        count = len(self.part.nodes)
        if any((guard < 0).any() for guard in results[count:]):
            raise ValueError("Integers to negative integer powers are not allowed.")
        results = [_cut(r, s) for r, s in zip(results[:count], shapes)]
        results = [r != 0 if b else r for r, b in zip(results, self.part.is_bool)]
        results = [r if d is None else r.astype(d) for r, d in zip(results, self.part.narrow)]
        return [r[()] if r.ndim == 0 else r for r in results]

    def _shapes(self, values):
        """The shape of one sweep over all elements, and those of the outputs; refuses arguments whose shapes do not fit
        in one sweep, and raises NumPy's ValueError for those that do not fit each other."""
        part, all_arrays = self.part, [values[i].shape for i in self.arrays]
        shape = all_arrays[0]
        same = all(s == shape for s in all_arrays)

        def of(mask):
            mask &= self.array_mask
            if same:
                return shape if mask else ()
            return np.broadcast_shapes(*[values[i].shape for i in self.arrays if mask >> i & 1])

        for vectors_only, a, b in part.products:
            if of(a.mask) != of(b.mask) or vectors_only and len(of(a.mask)) != 1:
                raise TraceError("np.dot can be recorded for two vectors of one length; write np.sum(x * y) or use NumPy")
        if not same:
            for mask in {*part.reduced, *(n.mask for n in part.nodes)}:
                of(mask)
            try:
                shape = np.broadcast_shapes(*all_arrays)
            except ValueError as error:
                raise TraceError("arguments whose shapes do not fit each other cannot be compiled together: put what is "
                                 "made of each into a jit function of its own") from error
        if not all(shape == of(mask) for mask in part.reduced):
            raise TraceError("a reduction over some of the arguments, while others have another shape, cannot be "
                             "compiled: put it into a jit function of its own")
        if part.extremes and math.prod(shape) == 0:
            raise ValueError("zero-size array to reduction operation which has no identity")
        shapes = [() if number else of(node.mask) for node, number in zip(part.nodes, part.is_number)]
        if 0 in shape and any(0 not in s and not number for s, number in zip(shapes, part.is_number)):
            raise TraceError("an empty array beside others that are not cannot be compiled: use two functions")
        return shape, shapes


def _cut(result, shape):
    """The part of a result that NumPy would return: without the axes along which it was only repeated."""
    if result.shape == shape:
        return result
    extra = result.ndim - len(shape)
    return result[(0,) * extra + tuple(slice(0, 1) if s == 1 else slice(None) for s in shape)].copy()


class Entry:
    """The kernels of a recording for one combination of argument kinds: one for each part."""

    def __init__(self, recording, promise):
        self.recording, self.promise, self.kernels, self.kernel = recording, promise, {}, None
        part = recording.part
        self.is_plain = (recording.plain == (None,) and not recording.is_tuple and not recording.along and part is not None
                         and part.narrow == [None] and not (part.is_bool[0] or part.guards or part.products))

    def takes(self, args):
        """Returns whether the kernel takes these arrays, all parameters of the function, as they are."""
        kernel = self._kernel(self.recording.part, args)
        return not kernel.numbers and all(args[i].dtype == kernel.dtypes[i] for i in kernel.arrays)

    def of_plain_arrays(self, args):
        return self._kernel(self.recording.part, args).of_plain_arrays(args)

    def _kernel(self, part, values):
        key = part, tuple(values[a.result].ndim == 0 for a in self.recording.along if a.result in part.used)
        kernel = self.kernels.get(key)
        return kernel if kernel is not None else self.kernels.setdefault(key, PartKernel(part, values, self.promise))

    def __call__(self, values, numbers):
        """`values`: all inputs as arrays, but for those that are reduced along axes; `numbers`: Python's numbers among them,
        else None."""
        recording, values = self.recording, list(values)
        for along in recording.along:
            along.reduce(values, self._kernel)
        part, made = recording.part, iter(())
        if part is not None:
            kernel = self._kernel(part, values)
            self.kernel = kernel.kernel
            made = iter(kernel.run(values))
        results = [next(made) if i is None else values[i] if numbers[i] is None else numbers[i] for i in recording.plain]
        results = [r[()] if type(r) is np.ndarray and r.ndim == 0 else r for r in results]
        if not recording.is_tuple:
            return results[0]
        return results if recording.is_list else tuple(results)
