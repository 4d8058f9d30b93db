"""Kernels of what @trident.jit has recorded. A kernel computes one element after the other and reduces all of them, so a
reduction along an axis divides a recording: a part of its own makes what is reduced, NumPy reduces it, and both are inputs of
the parts behind."""
import functools
import math
import re

import numpy as np

from . import _graph as g
from . import _narrow
from . import _native as native
from ._narrow import Narrow
from ._native import TridentError
from ._refusals import TraceError
from ._strided import axes_of, empty, in_c_order, laid_out, result_of


_SHARED_MIN = 1 << 16  # elements of a call that threads share
_ELEMENTS = {**g.NARROW, _narrow.UINT64: "u64"}  # types that kernels load and store as they are
_PLACES = "argmin", "argmax"  # reductions that count elements, in C's order
_TAKEN_NUMBERS = float, int, np.float64, np.int64  # that a kernel's call takes for the same as arrays of them
_EXTREMES = {"minof", "maxof", *_PLACES}


class Part:
    """Nodes that one kernel computes."""

    def __init__(self, inputs, names, nodes, narrow, guards, extremes):
        self.inputs, self.names, self.nodes, self.narrow, self.guards = inputs, names, nodes, narrow, guards
        self.used, self.reduced, self.products = self._survey()
        self.extremes = extremes and any(n.op in _EXTREMES for n in g.in_order(self.nodes + self.guards))
        self.located = self._located()
        self.dtypes = [np.dtype(bool) if n.kind == g.BOOL else d for n, d in zip(self.nodes, narrow)]  # None: the kernel's
        self.text = g.emit(self._stored())
        self._stages = None

    @staticmethod
    def of(trace, names, results, guards=()):
        """The part that computes what the stand-ins `results` stand for."""
        known = trace.known_before(results)
        return Part(trace.inputs, names, [_replaced(r._node, known) for r in results],
                    [r.dtype if type(r) is Narrow else None for r in results], [_replaced(n, known) for n in guards],
                    trace.extremes)

    def stages(self):
        """The part as several, each beside the numbers of the inputs that its results are: reductions that elements depend on
        come first, so that every kernel is one that threads can share. [] where no element depends on a reduction."""
        if self._stages is None:
            self._stages = _divided(self)
        return self._stages

    def _stored(self):
        """The nodes as kernels store them: booleans and narrow integers in elements of their own, where they are arrays."""
        made = g.as_kernel(self.nodes + self.guards, bytes_out=True)
        return [_as_elements(n, d) for n, d in zip(made, self.narrow)] + made[len(self.narrow):]

    def _survey(self):
        """The inputs that the outputs are made of, the masks of what is reduced, and the operands of np.dot, each pair behind whether
        both must be vectors."""
        used, reduced, products, numbers = set(), set(), [], {}
        self.has_places = False
        for node in g.in_order(self.nodes + self.guards):
            if node.op == "input":
                used.add(node.value)
            numbers[id(node)] = node.op in g.REDUCTIONS or any(numbers[id(a)] for a in node.args)
            if node.op in g.REDUCTIONS:
                reduced.add(_reduced_mask(node))
            if node.op == "dot":
                products.append((node.value, *node.args))
            self.has_places = self.has_places or node.op in _PLACES
        self.is_number = [numbers[id(n)] and not n.mask for n in self.nodes]
        return sorted(used), reduced, products


    def _located(self):
        """Whether each output is the place of an extreme, where all are numbers that equal elements do not change; else None."""
        roots = {id(n) for n in self.nodes}
        if self.guards or not all(self.is_number):
            return None
        for n in g.in_order(self.nodes):
            if n.op in g.REDUCTIONS and n.op not in ("minof", "maxof") and (n.op not in _PLACES or id(n) not in roots):
                return None
            if any(a.op in _PLACES for a in n.args):
                return None
        return [n.op in _PLACES for n in self.nodes]


def _as_elements(node, dtype):
    if dtype not in _narrow.DTYPES:
        return node if node.op != "f16" else g.Node("cast", g.F32, (node,))  # rounded, and stored as float32
    return g.Node(_ELEMENTS[dtype], node.kind, (node,)) if node.kind != g.F64 and node.op != "f16" else node


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


def _reduced_mask(reduction):
    return functools.reduce(lambda mask, a: mask | a.mask, reduction.args, 0)


def _divided(part):
    roots = part.nodes + part.guards
    levels = {}  # of a node: how many reductions are above each other under it
    for n in g.in_order(roots):
        levels[id(n)] = max((levels[id(a)] + (a.op in g.REDUCTIONS) for a in n.args), default=0)
    last = max((levels[id(n)] for n in g.in_order(roots) if n.mask or n.op in g.REDUCTIONS), default=0)
    inputs, known, stages = list(part.inputs), {}, []
    reductions = [n for n in g.in_order(roots) if n.op in g.REDUCTIONS and levels[id(n)] < last]
    for key in sorted({(levels[id(n)], _reduced_mask(n)) for n in reductions}):  # of one shape in one kernel
        nodes = [n for n in reductions if (levels[id(n)], _reduced_mask(n)) == key]
        made = [_replaced(n, known) for n in nodes]
        first = len(inputs)
        for n in nodes:
            known[id(n)] = g.Node("input", n.kind, value=len(inputs))
            known[id(n)].mask = 0
            inputs.append(known[id(n)])
        stages.append((Part(inputs, part.names, made, [None] * len(made), [], part.extremes), range(first, len(inputs))))
    if stages:
        stages.append((Part(inputs, part.names, [_replaced(n, known) for n in part.nodes], part.narrow,
                            [_replaced(n, known) for n in part.guards], part.extremes), ()))
    return stages


class PartKernel:
    """The kernel of a part for one combination of argument kinds."""

    def __init__(self, part, values, promise):
        self.part, self.kernel = part, None
        used = [(i, values[i]) for i in part.used]
        numbers = [i for i, v in used if v.ndim == 0]
        if len(numbers) == len(used):  # then they are arrays of one element
            numbers = []
        self.dtypes = {i: self._taken(part.inputs[i].kind, v, i in numbers) for i, v in used}
        name_of = {dtype: kind for kind, dtype in g.DTYPE.items()}
        if not used:
            raise TraceError("a jit function returns arrays that depend on its arguments (one, or a tuple of them)")
        try:
            self.kernel = promise.kernel(part.text, part.names,
                                         {f"x{i}": _ELEMENTS.get(d) or name_of[d] for i, d in self.dtypes.items()},
                                         [f"x{i}" for i in numbers], max(v.size for _, v in used))
        except TridentError as error:
            if error.status != native.E_LIMIT:
                raise
            limit = re.sub("^<text>:[0-9:]+ ", "", str(error).splitlines()[0])
            raise TraceError(f"the function is more than one kernel can hold ({limit}); divide it into several functions") from error
        self.arrays = [int(name[1:]) for name in self.kernel.arrays]
        self.numbers = [int(name[1:]) for name in self.kernel.scalars]
        self.number_names = list(zip(self.kernel.scalars, self.numbers))
        self.array_mask = sum(1 << i for i in self.arrays)
        self.is_simple = (not part.guards and not part.products and all(mask & self.array_mask for mask in part.reduced)
                          and all(number or n.mask & self.array_mask for n, number in zip(part.nodes, part.is_number)))

    @staticmethod
    def _taken(kind, value, is_number):
        """The type in which the kernel takes an input: narrow arrays as they are, other types as its kind says."""
        if not is_number and value.ndim and value.dtype.isnative and value.dtype in _ELEMENTS \
                and kind in (g.BOOL, _narrow.kind_of(value.dtype) if value.dtype.kind != "b" else g.I32):
            return value.dtype
        return g.DTYPE[g.I32 if kind == g.BOOL else kind]

    def of_plain_arrays(self, args, made):
        """Runs the kernel on the caller's own arrays; None where it cannot take them as they are."""
        arrays = [args[i] for i in self.arrays]
        numbers = {}
        for name, i in self.number_names:
            numbers[name] = number = made[i] if made[i] is not None else args[i]
            if type(number) not in _TAKEN_NUMBERS or type(number) is int and not -2**63 <= number < 2**63:
                return None  # what is made of numbers may be another type; integers beyond wrap, which a kernel's call refuses
        shape = arrays[0].shape
        if 0 in shape or not all(a.shape == shape for a in arrays):
            return None
        if len(shape) > 1:
            if any(vectors_only for vectors_only, _, _ in self.part.products):
                return None
            if not in_c_order(arrays):
                turns = not self.part.has_places and all(a.flags.f_contiguous for a in arrays)
                made = self.kernel(*[a.T for a in arrays], **numbers) if turns else None
                return tuple(r.T for r in made) if type(made) is tuple else made.T if turns else None
        return self.kernel(*arrays, **numbers)

    def _run_simply(self, values):
        """Does as run() for arrays of one shape in C's order that the kernel takes as they are; None for others."""
        arrays = [values[i] for i in self.arrays]
        shape = arrays[0].shape
        if not shape or 0 in shape or not all(a.shape == shape and a.dtype == self.dtypes[i] and a.flags.c_contiguous
                                 for a, i in zip(arrays, self.arrays)):
            return None
        numbers = {name: values[i].astype(np.int64) if values[i].dtype.kind == "u" else values[i] for name, i in self.number_names}
        made = self.kernel(*arrays, **numbers)
        made = made if type(made) is tuple else (made,)
        return [r if d is None or r.dtype == d else r.astype(d) for r, d in zip(made, self.part.dtypes)]

    def run(self, values):
        """The results for the inputs, all of them arrays."""
        made = self._run_simply(values) if self.is_simple else None
        if made is not None:
            return made
        shape, shapes = self._shapes(values)
        arrays = [np.asarray(values[i], self.dtypes[i]) for i in self.arrays]
        arrays = [np.broadcast_to(a, shape) for a in arrays]
        numbers = [values[i] for i in self.numbers]
        params = self.kernel.pack([n.astype(np.int64) if n.dtype.kind == "u" else n for n in numbers])
        results = self._allocated(shape, arrays, values)
        swept, arrays = self._without_repeated(shape, arrays)
        axes = axes_of([] if self.part.has_places else arrays, len(shape))
        self.kernel._run_on([swept[i] for i in axes], [a.transpose(axes) for a in arrays],
                            [r.transpose(axes) if r.ndim else r for r in results], params)
        if swept != shape:
            for r in (r for r, is_place in zip(results, self.part.located) if is_place):
                r[()] = np.ravel_multi_index(np.unravel_index(int(r), swept), shape)
        count = len(self.part.nodes)
        if any((guard < 0).any() for guard in results[count:]):
            raise ValueError("Integers to negative integer powers are not allowed.")
        results = [_cut(r, s) for r, s in zip(results[:count], shapes)]
        results = [r if d is None or r.dtype == d else r.astype(d) for r, d in zip(results, self.part.dtypes)]
        return [r[()] if r.ndim == 0 else r for r in results]

    def _without_repeated(self, shape, arrays):
        """The shape and the arrays without the axes along which all of them repeat one element, where that changes no result."""
        if self.part.located is None or 0 in shape:
            return shape, arrays
        once = [not any(a.strides[i] for a in arrays) for i in range(len(shape))]
        swept = tuple(1 if o else n for o, n in zip(once, shape))
        return swept, [a[tuple(slice(0, 1) if o else slice(None) for o in once)] for a in arrays]

    def _allocated(self, shape, arrays, values):
        """Arrays for the outputs, each laid out as NumPy's result of the same operations is."""
        results, nodes = self.kernel._allocate((), None), self.part.nodes + self.part.guards
        layouts = None if in_c_order(arrays) else self._layouts(nodes, values, len(shape))
        for place, (node, is_number) in enumerate(zip(nodes, self.kernel.output_is_scalar)):
            if not is_number:
                known = layouts and layouts[id(node)]
                results[place] = empty(shape, results[place].dtype, axes_of([known] if known else [], len(shape)))
        return results

    def _layouts(self, nodes, values, dimensions):
        """The layout of each node's array, None for that of a number. A cast has that of its operand."""
        made = {}
        for n in g.in_order(nodes):
            if n.op == "input":
                is_array = n.value in self.arrays and n.mask
                made[id(n)] = laid_out(values[n.value], dimensions) if is_array else None
                continue
            own = [made[id(a)] for a in n.args if made[id(a)]] if n.mask else []
            made[id(n)] = None if not own else own[0] if n.op == "cast" else result_of(own, n.value == g.IN_C_ORDER)
        return made

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
    if result.size == 0:  # axes of no element may be repeated ones, too, and have none to take
        return np.empty(shape, result.dtype)
    extra = result.ndim - len(shape)
    return result[(0,) * extra + tuple(slice(0, 1) if s == 1 else slice(None) for s in shape)].copy("K")


class Entry:
    """The kernels of a recording for one combination of argument kinds: one for each part."""

    def __init__(self, recording, promise):
        self.recording, self.promise, self.kernels, self.kernel = recording, promise, {}, None
        part = recording.part
        self.is_plain = (part is not None and recording.plain == (None,) * len(part.nodes) and not recording.along and not part.guards
                         and all(n.mask or is_number for n, is_number in zip(part.nodes, part.is_number)))
        self.finish = None  # what takes() finds: for each output of the kernel the type of the result, and whether that is Python's

    def takes(self, values, args, are_arrays):
        """Returns whether the kernel takes these parameters of the function, `values` as arrays, as they are, and gives the results."""
        part = self.recording.part
        kernel = self._kernel(part, values)
        made = kernel.kernel.output_dtypes
        self.finish = [(None if d in (None, m) else d, is_item) for d, m, is_item in zip(part.dtypes, made, self.recording.items)]
        return not self.recording.fits and all(i < len(args) and are_arrays[i] and args[i].dtype == kernel.dtypes[i] for i in kernel.arrays) \
            and all(i >= len(args) or type(args[i]) in _TAKEN_NUMBERS for i in kernel.numbers)

    def of_plain_arrays(self, args, made):
        """Runs the kernel on what it takes; `made`: Python's numbers among the arguments, and behind them what is made of these."""
        kernel = self._kernel(self.recording.part, args)
        if args[kernel.arrays[0]].size >= _SHARED_MIN and self.recording.part.stages():
            return None
        made = kernel.of_plain_arrays(args, made)
        if made is None:
            return None
        if not self.recording.is_tuple:
            (dtype, is_item), = self.finish
            made = made if dtype is None else made.astype(dtype)
            return made.item() if is_item else made
        made = [r if d is None else r.astype(d) for r, (d, _) in zip(made if type(made) is tuple else (made,), self.finish)]
        made = [r.item() if is_item else r for r, (_, is_item) in zip(made, self.finish)]
        return made if self.recording.is_list else tuple(made)

    def _kernel(self, part, values):
        key = part, tuple(values[a.result].ndim == 0 for a in self.recording.along if a.result in part.used)
        kernel = self.kernels.get(key)
        return kernel if kernel is not None else self.kernels.setdefault(key, PartKernel(part, values, self.promise))

    def _run(self, part, values):
        """The results of a part, by one kernel; by several where threads may share them, or shapes differ."""
        shapes = {values[i].shape for i in part.used if values[i].ndim}
        if (len(shapes) > 1 or max((values[i].size for i in part.used), default=0) >= _SHARED_MIN) and part.stages():
            values = values + [None] * (len(part.stages()[-1][0].inputs) - len(values))
            for stage, places in part.stages()[:-1]:
                for place, value in zip(places, self._kernel(stage, values).run(values)):
                    values[place] = np.asarray(value)
            part = part.stages()[-1][0]
        kernel = self._kernel(part, values)
        self.kernel = kernel.kernel
        return kernel.run(values)

    def __call__(self, values, numbers):
        """`values`: all inputs as arrays, but for those that are reduced along axes; `numbers`: Python's numbers among them,
        else None."""
        recording, values = self.recording, list(values)
        for i, dtype in recording.fits:
            if not np.iinfo(dtype).min <= numbers[i] <= np.iinfo(dtype).max:
                raise TraceError(f"the integer {numbers[i]} does not fit an array of {np.dtype(dtype)}, which it meets; convert the "
                                 "array first: x.astype(np.int32) or np.float32")
        for along in recording.along:
            along.reduce(values, self._run)
        made = iter(self._run(recording.part, values) if recording.part is not None else ())
        results = [next(made) if i is None else values[i] if numbers[i] is None else numbers[i] for i in recording.plain]
        results = [r.item() if is_item else r[()] if type(r) is np.ndarray and r.ndim == 0 else r
                   for r, is_item in zip(results, recording.items)]
        if not recording.is_tuple:
            return results[0]
        return results if recording.is_list else tuple(results)
