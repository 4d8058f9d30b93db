"""trident.evaluate: numexpr.evaluate with Trident's kernels behind it.

A text is parsed once, compiled once per combination of operand kinds, and then costs two dictionary look-ups. Operands
that lie in memory as the kernel wants them are passed as they are; everything else (strides, broadcasting, other dtypes,
byte order, overlap with `out`) goes through numpy.nditer, which copies in blocks that stay in the cache, so no operand
is ever copied as a whole for an element-wise result. Reductions run over one contiguous sweep, because their order of
summation is part of their meaning.

What the kernels have no types for (complex numbers, strings) or the language no operation is handed to numexpr itself
where that is installed, so results and errors are numexpr's; otherwise the error names it.
"""
import collections
import sys
import threading

import numpy as np

from . import _graph as g
from . import _text
from ._kernel import Kernel, address
from ._native import TridentError

_CACHE_MAX = 256
_BLOCK = 16384  # elements of one block where operands must be copied
_REDUCE_OP = {"sum": "sum", "min": "minof", "max": "maxof"}
_NUMPY_REDUCE = {"sum": np.sum, "prod": np.prod, "min": np.fmin.reduce, "max": np.fmax.reduce}
_KIND_OF = {g.DTYPE[k]: k for k in (g.I32, g.I64, g.F32, g.F64)}


class _Cache(collections.OrderedDict):
    """The last _CACHE_MAX entries by use; safe to share between threads."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def find(self, key, make):
        with self.lock:
            value = self.get(key)
            if value is not None:
                self.move_to_end(key)
                return value
        value = make()
        with self.lock:
            self[key] = value
            if len(self) > _CACHE_MAX:
                self.popitem(last=False)
        return value


_trees = _Cache()
_programs = _Cache()
_last = threading.local()


def evaluate(ex, local_dict=None, global_dict=None, out=None, order="K", casting="safe", **kwargs):
    """Evaluates an array expression such as "2*a + 3*b" element by element; a drop-in for numexpr.evaluate.

    Variables are looked up in local_dict (default: the caller's locals), then global_dict (the caller's globals).
    `out`, `order` and `casting` are numexpr's. The text is numexpr's language: operators + - * / % ** & | ^ ~ << >> and
    comparisons; where, sqrt, sin, cos, tan, arcsin, arccos, arctan, arctan2, sinh, cosh, tanh, arcsinh, arccosh, arctanh,
    exp, expm1, log, log10, log1p, abs, floor, ceil, fmod, copy, ones_like, and at the root sum, prod, min, max with an
    optional axis. Types follow numexpr: int32, int64, float32 (kept when it meets integers), float64, bool; a Python
    float is float64. The whole of an expression with anything else in it (complex numbers, strings, an operation that
    these types do not have, optimization and truediv) is evaluated by numexpr, if it is installed, on its own terms;
    if not, the error says so.
    """
    tree, names = _find_tree(ex)
    options = _check_options(kwargs)
    arguments = _arguments(names, local_dict, global_dict, sys._getframe(1) if names else None)
    program = _find_program(ex, tree, names, arguments, options)
    order = _check_layout(out, order, casting)
    _last.call = (program, names, out, order, casting)
    return program.run(arguments, out, order, casting)


def re_evaluate(local_dict=None):
    """Evaluates the expression of this thread's last evaluate() again, with the current values of its variables, which
    must have the same types and number of dimensions as before."""
    call = getattr(_last, "call", None)
    if call is None:
        raise RuntimeError("not a previous evaluate() execution found")
    program, names, out, order, casting = call
    arguments = _arguments(names, local_dict, None, sys._getframe(1))
    return program.run(arguments, out, order, casting)


def _find_tree(ex):
    if not isinstance(ex, str):
        raise ValueError("must specify expression as a string")
    return _trees.find(ex, lambda: _text.parse(ex))


def _check_options(kwargs):
    """The options that change what an expression means."""
    for name in kwargs:
        if name not in ("optimization", "truediv", "sanitize"):
            raise ValueError(f"Unknown keyword argument '{name}'")
    usual = {"optimization": ("aggressive",), "truediv": ("auto", True)}
    return tuple((n, kwargs[n]) for n in usual if n in kwargs and kwargs[n] not in usual[n])


def _check_layout(out, order, casting):
    """Whichever way a result is made, what numexpr refuses is refused, in its words and in its order. `order` as
    numpy.nditer takes it."""
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got '{casting}')")
    letter = "K" if order is None else order.decode("ascii", "replace") if isinstance(order, bytes) else order
    if not isinstance(letter, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if letter not in ("C", "F", "A", "K", "c", "f", "a", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if out is not None and not isinstance(out, np.ndarray):
        raise ValueError("out keyword parameter is not an array")
    return letter.upper()


def _arguments(names, local_dict, global_dict, frame):
    if local_dict is None:
        local_dict = frame.f_locals if frame is not None else {}
    if global_dict is None:
        global_dict = frame.f_globals if frame is not None else {}
    return [np.asarray(local_dict[n] if n in local_dict else global_dict[n]) for n in names]


def _find_program(ex, tree, names, arguments, options):
    signature = tuple((a.dtype.char, a.dtype.byteorder, a.ndim == 0) for a in arguments)
    return _programs.find((ex, signature, options), lambda: _make_program(ex, tree, names, arguments, options))


def _make_program(ex, tree, names, arguments, options):
    try:
        if options:
            raise NotImplementedError(f"{options[0][0]}={options[0][1]!r} is not supported")
        return _Program(tree, names, arguments)
    except (TypeError, ValueError, NotImplementedError, OverflowError, RuntimeError, ArithmeticError, TridentError) as error:
        if not _text.is_harmless(tree):
            raise
        try:
            import numexpr
        except ImportError:
            raise type(error)(f"{error} (numexpr, which trident.evaluate hands such expressions to, is not installed)") \
                from None
        return _Numexpr(numexpr, ex, names, options)


class _Numexpr:
    """An expression that numexpr itself evaluates."""

    def __init__(self, numexpr, ex, names, options):
        self.numexpr, self.ex, self.names, self.options = numexpr, ex, names, dict(options)

    def run(self, arguments, out, order, casting):
        return self.numexpr.evaluate(self.ex, local_dict=dict(zip(self.names, arguments)), global_dict={}, out=out,
                                     order=order, casting=casting, **self.options)


class _Program:
    """One expression for one combination of operand kinds."""

    def __init__(self, tree, names, arguments):
        root = _text.build(tree, {n: g.kind_of_dtype(a.dtype) for n, a in zip(names, arguments)})
        self.reduction = root if isinstance(root, _text.Reduction) else None
        node = self.reduction.operand if self.reduction else root
        # where(True, x, y) does without y; what is left are this program's arguments.
        inputs = sorted((n for n in g.in_order([node]) if n.op == "input"), key=lambda n: n.value)
        self.used = [n.value for n in inputs]
        arguments = [arguments[i] for i in self.used]
        self.dtypes = [g.DTYPE[g.I32 if n.kind == g.BOOL else n.kind] for n in inputs]  # as the kernel takes them
        all_scalars = all(a.ndim == 0 for a in arguments)  # then they are arrays of one element
        self.is_scalar = [a.ndim == 0 and not all_scalars for a in arguments]
        self.kernel = None
        self.fused = self.reduction is not None and self.reduction.axis is None and self.reduction.op in _REDUCE_OP
        if self.fused:
            node = g.reduce(_REDUCE_OP[self.reduction.op], node, nan="ignore")
        self.result_dtype = g.DTYPE[node.kind]
        self.is_bool = node.kind == g.BOOL
        self.literal = None
        if not inputs:
            self.literal = np.array((root.operand if self.reduction else root).value, self.result_dtype)
            return
        types = {f"x{i}": _KIND_OF[d] for i, d in zip(self.used, self.dtypes)}
        scalars = [f"x{i}" for i, s in zip(self.used, self.is_scalar) if s]
        size = max((a.size for a in arguments), default=0)
        self.kernel = Kernel(g.emit(as_kernel([node])), types=types, scalars=scalars, syntax="infix",
                             elements=min(size, 1 << 24))

    # The kernel's inputs are the array operands in order, its parameters the scalar ones.
    def run(self, arguments, out, order, casting):
        if self.literal is not None:
            return self.literal.copy() if out is None else _store(out, self.literal, casting)
        arguments = [arguments[i] for i in self.used]
        scalars = [a for a, s in zip(arguments, self.is_scalar) if s]
        params = self._params(scalars, casting) if scalars else None
        arrays = [a for a, s in zip(arguments, self.is_scalar) if not s]
        dtypes = [d for d, s in zip(self.dtypes, self.is_scalar) if not s]
        if self.fused:
            return self._run_reduction(arrays, dtypes, params, out, casting)
        if self.reduction is not None:
            whole = self._run_elementwise(arrays, dtypes, params, None, order, casting)
            return _reduce_with_numpy(self.reduction, whole, out)
        return self._run_elementwise(arrays, dtypes, params, out, order, casting)

    def _params(self, scalars, casting):
        dtypes = [d for d, s in zip(self.dtypes, self.is_scalar) if s]
        for value, dtype in zip(scalars, dtypes):
            _check_cast(value.dtype, dtype, casting)
        return self.kernel.pack([v.astype(d) for v, d in zip(scalars, dtypes)])

    def _run_elementwise(self, arrays, dtypes, params, out, order, casting):
        if not self.is_bool:
            result = self._run_in_place(arrays, dtypes, params, out, order)
            if result is not None:
                return result
        return self._run_blocks(arrays, dtypes, params, out, order, casting)

    def _run_in_place(self, arrays, dtypes, params, out, order):
        """One call on the operands as they lie; None when they do not lie as it takes."""
        if not arrays:
            return None
        shape = arrays[0].shape
        flags = [a.flags for a in arrays]
        for a, dtype, f in zip(arrays, dtypes, flags):
            if a.dtype != dtype or a.shape != shape or not f.aligned:
                return None
        layout = None
        if order in "KAC" and all(f.c_contiguous for f in flags):
            layout = "C"
        elif order in "KAF" and all(f.f_contiguous for f in flags):
            layout = "F"
        if layout is None:
            return None
        if out is None:
            out = np.empty(shape, self.result_dtype, layout)
        elif not self._fits(out, shape, layout, arrays):
            return None
        self.kernel._run(out.size, [address(a) for a in arrays], [address(out)], params)
        return out

    def _fits(self, out, shape, layout, arrays):
        if type(out) is not np.ndarray or out.dtype != self.result_dtype or out.shape != shape:
            return False
        if not out.flags.writeable or not out.flags.aligned:
            return False
        if not (out.flags.c_contiguous if layout == "C" else out.flags.f_contiguous):
            return False
        same = [address(a) == address(out) and a.dtype == out.dtype for a in arrays]
        return all(s or not np.may_share_memory(a, out) for s, a in zip(same, arrays))

    def _run_blocks(self, arrays, dtypes, params, out, order, casting):
        if arrays and all(a.ndim == 0 for a in arrays):
            # Of operands without dimensions nditer does not fill the buffers that it casts into.
            result = self._run_blocks([a.reshape(1) for a in arrays], dtypes, params, None, order, casting).reshape(())
            if out is None:
                return result
            _check_cast(result.dtype, out.dtype, casting)
            np.copyto(out, result, casting=casting)
            return out
        flags = ["external_loop", "buffered", "delay_bufalloc", "zerosize_ok", "copy_if_overlap"]
        read = ["readonly", "aligned", "nbo", "contig", "overlap_assume_elementwise"]
        write = ["writeonly", "aligned", "nbo", "contig", "no_broadcast", "allocate", "overlap_assume_elementwise"]
        iterator = np.nditer([out, *arrays], flags, [write] + [read] * len(arrays), [self.result_dtype, *dtypes],
                             order=order, casting=casting, buffersize=_BLOCK)
        wide = np.empty(_BLOCK, np.int32) if self.is_bool else None
        with iterator:
            iterator.reset()
            if iterator.itersize:
                for result, *operands in iterator:
                    n = result.size
                    target = result if wide is None else wide[:n]
                    self.kernel._run(n, [address(o) for o in operands], [address(target)], params)
                    if wide is not None:
                        np.not_equal(target, 0, out=result)
            result = iterator.operands[0]
        return result if out is None else out  # with copy_if_overlap it may be a copy that was written back

    def _run_reduction(self, arrays, dtypes, params, out, casting):
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        if 0 in shape and self.reduction.op != "sum":
            raise ValueError(f"zero-size array to reduction operation {self.reduction.op} which has no identity")
        operands = []
        fortran = all(a.flags.f_contiguous and a.shape == shape for a in arrays)
        for a, dtype in zip(arrays, dtypes):
            _check_cast(a.dtype, dtype, casting)
            whole = np.broadcast_to(a, shape)
            operands.append(np.require(whole, dtype, ["F" if fortran else "C", "A"]))
        result = np.empty((), self.result_dtype)
        n = 1
        for extent in shape:
            n *= extent
        self.kernel._run(n, [address(o) for o in operands], [address(result)], params)
        return result if out is None else _store(out, result, casting)


def as_kernel(roots):
    """The graph in terms of what a kernel takes and gives: booleans enter and leave as 32-bit integers."""
    done = {}
    for n in g.in_order(roots):
        if n.op == "input" and n.kind == g.BOOL:
            done[id(n)] = g.cast(g.Node("input", g.I32, value=n.value), g.BOOL)
        elif not n.args:
            done[id(n)] = n
        else:
            done[id(n)] = g.Node(n.op, n.kind, tuple(done[id(a)] for a in n.args), n.value)
    plain = [done[id(root)] for root in roots]
    return [g.cast(root, g.I32) if root.kind == g.BOOL else root for root in plain]


def _check_cast(have, want, casting):
    if not np.can_cast(have, want, casting):
        raise TypeError(f"an operand could not be cast from {have!r} to {want!r} according to the rule '{casting}'")


def _store(out, result, casting):
    if out.shape != result.shape:
        raise ValueError(f"out has shape {out.shape}, the result {result.shape}")
    _check_cast(result.dtype, out.dtype, casting)
    np.copyto(out, result, casting=casting)
    return out


def _reduce_with_numpy(reduction, whole, out):
    """prod, and reductions over one axis."""
    if reduction.axis is not None and reduction.axis >= whole.ndim:
        raise ValueError("axis is out of bounds")
    return np.asarray(_NUMPY_REDUCE[reduction.op](whole, axis=reduction.axis, dtype=whole.dtype, out=out)
                      if reduction.op in ("sum", "prod") else
                      _NUMPY_REDUCE[reduction.op](whole, axis=reduction.axis, out=out))
