"""trident.evaluate: numexpr.evaluate with Trident's kernels behind it. Its policy is "exact" unless the caller says
otherwise: one answer, at once and later, in every run. Under "bounded" and "fast" the last bits may change when faster
code is swapped in, and from run to run.

A text is parsed once, compiled once per combination of operand kinds, and then costs two dictionary look-ups. Operands
of the kernel's types are passed as they lie, with strides and broadcast, too; everything else (other dtypes, byte order,
overlap with `out`, a result in neither C's order nor Fortran's) goes through numpy.nditer. Both copy in blocks that stay in the
cache, so no operand is ever copied as a whole for an element-wise result. Reductions run over one sweep, because
their order of summation is part of their meaning: by index, the last one fastest, but as in NumPy by memory where all operands
lie in Fortran's order.

What the kernels have no types for (complex numbers, strings) or the language no operation is handed to numexpr itself
where that is installed, so results and errors are numexpr's; otherwise the error names it.
"""
import ast
import functools
import inspect
import os
import sys
import threading

import numpy as np

from . import _graph as g
from . import _native as native
from . import _short_call
from . import _text
from . import _threads
from ._again import as_before, signature
from ._cache import Cache
from ._chain import Chain, graphs
from ._installed_numexpr import Numexpr, check_installed, check_known, import_numexpr
from ._kernel import BLOCK, ITERATED_MAX, Kernel, address, check_context
from ._native import TridentError
from ._operand import unmasked
from ._out import Borrowed, BorrowedAll, One, check_layout, check_out, store, store_reduced
from ._promise import EXACT, Promise
from ._reduced import OPS, PLACES, as_bool, fused, reduce_with_numpy
from ._several import Several
from ._stages import Stages
from ._strided import in_c_order, in_fortran_order, in_kernels_type, lies_apart, meet, same_elements, wraps

_CACHE_MAX = 256
_REFUSALS = (g.Refusal, RecursionError, TridentError)  # other errors are faults, and nothing that numexpr should hide
_OPTIONS = {"optimization": ("none", "moderate", "aggressive"), "truediv": (False, True, "auto")}  # the last is the default
_NODES_MAX = 1 << 14  # no kernel holds more, even where parts are the same


_trees = Cache(_CACHE_MAX)
_programs = Cache(_CACHE_MAX)
_last = threading.local()


def evaluate(ex, local_dict=None, global_dict=None, out=None, order="K", casting="same_kind", sanitize=None, _frame_depth=3,
             disable_cache=False, *, policy="exact", k=None, ranges=None, threads=None, context=None, **kwargs):
    """Evaluates an array expression such as "2*a + 3*b" element by element; a drop-in for numexpr.evaluate. The answer is
    the same at once and later, on every processor and in every run: operations as they are written, functions good to an
    ulp. policy="bounded" (with k=, default 2) or "fast" permit faster forms, as trident.Kernel says; then the last bits may
    change when faster code is swapped in, and from run to run. ranges={"x": (lo, hi)} promises values, whatever the policy. threads= is the
    number of threads of this call, as set_num_threads() is that of all; it changes no bit. context= is the trident.Context
    that compiles. A text of several expressions, "(a + b, a*b)", gives a tuple of results; `out` is then a tuple, too.

    Variables are looked up in local_dict (default: the caller's locals), then global_dict (the caller's globals).
    `out`, `order` and `casting` are numexpr's: by default a float64 result may go to a float32 `out`, and uint64 operands are
    taken as int64, which wraps from 2**63 on. The text is numexpr's language: operators + - * / // % ** & | ^ ~ << >> and
    comparisons; where, sqrt, sin, cos, tan, arcsin, arccos, arctan, arctan2, sinh, cosh, tanh, arcsinh, arccosh, arctanh,
    exp, expm1, log, log2, log10, log1p, abs, sign, floor, ceil, trunc, round, fmod, hypot, maximum, minimum, copysign,
    nextafter, isnan, isinf, isfinite, signbit, copy, ones_like, and at the root sum, prod, min, max, mean, var, std, any, all,
    argmin, argmax with axis= and keepdims=. Types follow numexpr: int32, int64, float32 (kept when it meets integers), float64, bool; a Python
    float is float64; a shift by its width or more shifts all out; sum and prod of booleans
    count in int64, min and max of them are bool. The whole of an
    expression with anything else in it (complex numbers, strings, an operation that these types do not have, more
    variables or operations than one kernel holds) is evaluated by numexpr, if it is installed, on its own terms; if not, the
    error says so. optimization, truediv, sanitize and disable_cache are numexpr's.
    """
    del disable_cache  # numexpr's own cache
    frame = sys._getframe(max(_frame_depth, 3) - 2)  # numexpr counts from inside
    program, arguments, order = prepared(ex, local_dict, global_dict, out, order, casting, policy, k, ranges, context,
                                         {**kwargs, "sanitize": sanitize}, frame)
    with _threads.permitted(threads):
        return program.run(arguments, out, order, casting)


def prepared(ex, local_dict, global_dict, out, order, casting, policy, k, ranges, context, kwargs, frame):
    """The program of a call of evaluate() from `frame`, its arguments and order; re_evaluate() then repeats that call."""
    program, names, arguments, letter = found(ex, local_dict, global_dict, out, order, casting, policy, k, ranges, context, kwargs, frame)
    bound = _remembered(program, names, arguments, letter, ex, order, casting, policy, k, ranges, context, kwargs)
    _last.call = (program, names, None if out is None else program.borrowed(out), letter, casting, bound)
    return program, arguments, letter


def found(ex, local_dict, global_dict, out, order, casting, policy, k, ranges, context, kwargs, frame):
    """The program of a call of evaluate() from `frame`, its names, its arguments and order."""
    optimization, sanitize = _check_options(kwargs)
    tree, names = _find_tree(ex, sanitize)
    promise = EXACT
    if policy != "exact" or k is not None or ranges is not None or context is not None:
        check_context(context)
        if context is not None:
            context._open()  # an error now: numexpr would be asked after one from a kernel
        promise = Promise(policy, k, ranges, context)
    promise.check_names(names, "variable of the expression")
    arguments = _arguments(names, local_dict, global_dict, frame if names else None)
    program = _find_program(ex, tree, names, arguments, optimization, promise)
    return program, names, arguments, check_layout(program.outs(out), order, casting)


def re_evaluate(local_dict=None, global_dict=None, _frame_depth=2):
    """Evaluates the expression of this thread's last evaluate() again, with the current values of its variables. It keeps
    the types that it was compiled for: operands are cast to them where no value can change, else refused."""
    call = getattr(_last, "call", None)
    if call is None:
        raise RuntimeError("not a previous evaluate() execution found")
    program, names, out, order, casting, _ = call
    arguments = _arguments(names, local_dict, global_dict, sys._getframe(max(_frame_depth, 2) - 1))
    if signature(arguments) != program.signature:
        arguments = as_before(names, arguments, program.signature, casting)
        program = program.for_others(arguments)
    return program.run(arguments, None if out is None else out.find(), order, casting)


def _remembered(program, names, arguments, letter, ex, order, casting, policy, k, ranges, context, kwargs):
    """The program for the short way of a call, which finds it by what evaluate() was called with from now on; None where there
    is none, or it has been found before."""
    kwargs = {name: value for name, value in kwargs.items() if name != "sanitize" or value is not None}
    if type(ex) is not str or "sanitize" not in kwargs and not _sanitizes(None):
        return None
    key = _short_call.key(ex, order=order, casting=casting, policy=policy, k=k, ranges=ranges, context=context, **kwargs)
    if key is None:
        return None
    forgotten = _short_call.call.forgotten()
    if program.bound_since != forgotten:
        program.bound_since, program.bound_keys = forgotten, set()
    if key in program.bound_keys:
        return None
    bound = program.bound(names, arguments, letter, casting)
    if bound is not None:
        _short_call.call.remember(key, bound)
        program.bound_since = _short_call.call.forgotten()
        program.bound_keys.add(key)
    return bound


def _find_tree(ex, sanitize):
    if not isinstance(ex, str):
        raise ValueError("must specify expression as a string")
    return _trees.find((ex, sanitize), lambda: _text.parse(ex, sanitize))


def _check_options(kwargs):
    """The options that change what a text means: optimization, and whether it is checked for what numexpr forbids. Division
    is true division whatever `truediv` says, as in numexpr on Python 3."""
    for name in kwargs:
        if name not in (*_OPTIONS, "sanitize"):
            raise ValueError(f"Unknown keyword argument '{name}'")
    for name, allowed in _OPTIONS.items():
        if kwargs.get(name, allowed[-1]) not in allowed:
            raise ValueError(f"'{name}' must be one of {allowed}")
    return kwargs.get("optimization", "aggressive"), _sanitizes(kwargs.get("sanitize"))


def _sanitizes(sanitize):
    if sanitize is None:
        return os.environ.get("NUMEXPR_SANITIZE", "1").lower() not in ("0", "false", "no")
    return bool(sanitize)


def _arguments(names, local_dict, global_dict, frame):
    shown = local_dict is None and frame is not None
    if local_dict is None:
        local_dict = frame.f_locals if frame is not None else {}
    if global_dict is None:
        global_dict = frame.f_globals if frame is not None else {}
    for what, given in (("local_dict", local_dict), ("global_dict", global_dict)):
        if not hasattr(given, "__getitem__") or not hasattr(given, "__contains__"):
            raise TypeError(f"{what} must be a dict, not {type(given).__name__}")
    try:
        return [unmasked(local_dict[n] if n in local_dict else global_dict[n], n) for n in names]
    finally:
        # Python before 3.13 shows a function's variables by a copy, which it keeps, with all that is in it, until the function
        # ends. Emptied where nobody but the frame has it; elsewhere (modules, classes) the dictionary is the variables.
        if shown and type(local_dict) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            references = sys.getrefcount(local_dict)
            if references == 3:  # the frame's, this function's, the argument's
                local_dict.clear()


def _find_program(ex, tree, names, arguments, optimization, promise):
    types = signature(arguments)

    def make():
        program = _make_program(ex, tree, names, arguments, optimization, promise)
        program.signature = types
        program.for_others = lambda others: _find_program(ex, tree, names, others, optimization, promise)
        return program

    return _programs.find((ex, types, optimization, promise.key), make)


def _make_program(ex, tree, names, arguments, optimization, promise):
    if type(tree) is ast.Tuple:
        return Several(tree.elts, lambda part: _make_program(part, part, names, arguments, optimization, promise),
                       names, arguments, optimization, promise)
    try:
        if isinstance(tree, Stages):
            try:
                return _Program(tree, names, arguments, optimization, promise)
            except _REFUSALS:  # the whole text says why, or how
                tree = tree.whole()
        return _Program(tree, names, arguments, optimization, promise)
    except _REFUSALS as error:
        if not _text.is_harmless(tree) or getattr(error, "status", native.E_LIMIT) != native.E_LIMIT:
            raise g.plain(error)
        check_known(names, arguments)
        limit = _too_large(error) if getattr(error, "status", None) == native.E_LIMIT else None
        try:
            numexpr = import_numexpr()
        except ImportError:
            raise limit or type(g.plain(error))(f"{error} (numexpr, which trident.evaluate hands such expressions to, is not "
                                       "installed)") from None
        check_installed(numexpr, tree)
        return Numexpr(numexpr, _text.shortened(_as_text(ex, error)), names, optimization, limit, str(error))


def _as_text(ex, error):
    """A text, or that of a part of one, which is a tree; raises `error` for a tree too deep to write."""
    try:
        return ex if isinstance(ex, str) else ast.unparse(ex)
    except RecursionError:
        raise g.plain(error) from None


def _too_large(error):
    return TridentError(f"the expression is more than one kernel can hold ({error}): divide it into parts and evaluate each "
                        "on its own", error.status)


class _Program(One):
    """One expression for one combination of operand kinds."""

    def __init__(self, tree, names, arguments, optimization, promise):
        kinds = {n: g.kind_of_dtype(a.dtype) for n, a in zip(names, arguments)}
        built = functools.partial(_text.built, optimization=optimization)
        stages = tree.graphs(built, kinds) if isinstance(tree, Stages) else None
        root = stages[-1] if stages else _text.build(tree, kinds, optimization)
        self.reduction = root if isinstance(root, _text.Reduction) else None
        node = self.reduction.operand if self.reduction else root
        if stages:
            stages[-1] = node
        nodes = list(g.in_order(stages or [node]))
        # where(True, x, y) does without y; what is left are this program's arguments.
        inputs = sorted({n.value: n for n in nodes if n.op == "input" and n.value < len(names)}.values(), key=lambda n: n.value)
        self.used = [n.value for n in inputs]
        arguments = [arguments[i] for i in self.used]
        self.dtypes = [g.DTYPE[g.I32 if n.kind == g.BOOL else n.kind] for n in inputs]  # as the kernel takes them
        all_scalars = all(a.ndim == 0 for a in arguments)  # then they are arrays of one element
        self.is_scalar = [a.ndim == 0 and not all_scalars for a in arguments]
        kinds_taken = [g.DTYPE[n.kind] for n in inputs]  # booleans as int32 are the kernel's affair, and no cast
        self.casts = [(names[i], a.dtype, d) for i, a, d in zip(self.used, arguments, kinds_taken) if a.dtype != d]
        self.kernel = None
        self.fused = self.reduction is not None and self.reduction.op in OPS and not stages and \
            self.reduction.axis is None and not self.reduction.keepdims
        if self.fused:
            node = fused(self.reduction.op, node)
        self.result_dtype = g.DTYPE[node.kind]
        self.is_bool = node.kind == g.BOOL
        self.literal, self.wide_bools, self.is_taken = None, self.is_bool, False
        if not inputs:
            self.literal = self._of_literal(root)
            return
        scalars = [f"x{i}" for i, s in zip(self.used, self.is_scalar) if s]
        size = max((a.size for a in arguments), default=0)
        if not stages and len(nodes) <= _NODES_MAX:
            taken = [a.dtype if a.dtype in g.NARROW and a.dtype.isnative and not s else d
                     for a, s, d in zip(arguments, self.is_scalar, self.dtypes)]
            types = {f"x{i}": g.NARROW.get(d) or g.KIND_OF[d] for i, d in zip(self.used, taken)}
            try:
                self.kernel = promise.kernel(g.emit(g.as_kernel([node], bytes_out=not self.fused)), names, types, scalars, size)
                self.dtypes, self.wide_bools = taken, self.is_bool and self.fused
            except TridentError as error:
                if error.status != native.E_LIMIT:
                    raise
        if self.kernel is None:
            types = {f"x{i}": g.KIND_OF[d] for i, d in zip(self.used, self.dtypes)}
            if not stages:
                self.fused = False
                node = self.reduction.operand if self.reduction else root
                self.result_dtype, self.is_bool = g.DTYPE[node.kind], node.kind == g.BOOL
                self.wide_bools = self.is_bool
            pieces = tree.pieces(stages, len(names)) if stages else graphs(node, len(names))
            self.kernel = Chain(pieces, promise, names, types, scalars, size)
        self.is_taken = all(a.dtype == d or s or wraps(a.dtype, d) for a, d, s in zip(arguments, self.dtypes, self.is_scalar))

    def _of_literal(self, root):
        if self.reduction is None or self.reduction.op not in _text.BEYOND_REDUCTIONS:
            return np.array((root.operand if self.reduction else root).value, self.result_dtype)
        return reduce_with_numpy(self.reduction, np.array(root.operand.value, g.DTYPE[root.operand.kind]))

    def bound(self, names, arguments, order, casting, given=None):
        return self.part(names, arguments, order, casting, given or names) if len(self.used) == len(names) else None

    def part(self, names, arguments, order, casting, given):
        """Does as bound(), also where the kernel takes only some of the variables."""
        if self.literal is not None or not isinstance(self.kernel, Kernel) or not self.is_taken \
                or not all(np.can_cast(have, want, casting) for _, have, want in self.casts):
            return None
        arrays = [arguments[i].ndim > 0 for i in self.used]
        rows = [_short_call.argument(given.index(names[i]), arguments[i].dtype, is_array, d)
                for i, is_array, d in zip(self.used, arrays, self.dtypes)]
        dtype = np.dtype(np.int32) if self.fused and self.is_bool else self.result_dtype
        is_reduced = 2 if self.fused and self.reduction.op in PLACES else int(self.fused)
        return _short_call.bound(self, self.kernel._handle, given, rows, [(dtype, is_reduced)], order=order, casting=casting,
                                 finish=self._finish())

    def _finish(self):
        """Returns the function that makes the result of an array that the kernel has written; None for that array itself."""
        if self.fused:
            return as_bool if self.is_bool else None
        return None if self.reduction is None else functools.partial(reduce_with_numpy, self.reduction)

    def check_casts(self, casting):
        """Refuses operands that `casting` does not let be what the kernel computes with."""
        for name, have, want in self.casts:
            _check_operand(name, have, want, casting)

    # The kernel's inputs are the array operands in order, its parameters the scalar ones.
    def run(self, arguments, out, order, casting):
        if self.literal is not None:
            return self.literal.copy() if out is None else store(out, np.broadcast_to(self.literal, out.shape), casting)
        self.check_casts(casting)
        arguments = [in_kernels_type(arguments[i], d) for i, d in zip(self.used, self.dtypes)]
        scalars = [a for a, s in zip(arguments, self.is_scalar) if s]
        params = self._params(scalars) if scalars else None
        arrays = [a for a, s in zip(arguments, self.is_scalar) if not s]
        dtypes = [d for d, s in zip(self.dtypes, self.is_scalar) if not s]
        if self.fused:
            return self._run_reduction(arrays, dtypes, params, out, casting)
        if self.reduction is not None:
            whole = self._run_elementwise(arrays, dtypes, params, None, order, casting)
            result = reduce_with_numpy(self.reduction, whole)
            return result if out is None else store_reduced(out, result, casting)
        return self._run_elementwise(arrays, dtypes, params, out, order, casting)

    def _params(self, scalars):
        dtypes = [d for d, s in zip(self.dtypes, self.is_scalar) if s]
        return self.kernel.pack([v.astype(d) for v, d in zip(scalars, dtypes)])

    def _run_elementwise(self, arrays, dtypes, params, out, order, casting):
        if not self.wide_bools:
            result = self._run_in_place(arrays, dtypes, params, out, order)
            if result is None:
                result = self._run_strided(arrays, dtypes, params, out, order)
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
        if order in "AF" and all(f.f_contiguous for f in flags):
            layout = "F"
        elif order in "KAC" and all(f.c_contiguous for f in flags):
            layout = "C"
        elif order == "K" and all(f.f_contiguous for f in flags) and 1 not in shape:  # whose steps nditer copies
            layout = "F"
        if layout is None:
            return None
        if out is None:
            out = np.empty(shape, self.result_dtype, layout)
        elif not self._fits(out, shape, layout, arrays):
            return None
        self.kernel._run(out.size, [address(a) for a in arrays], [address(out)], params)
        return out

    def _run_strided(self, arrays, dtypes, params, out, order):
        """One call on operands of the kernel's types with any strides; None where the result would lie in neither C's order nor
        Fortran's."""
        if order == "A" or not arrays or not isinstance(self.kernel, Kernel) or any(a.dtype != d for a, d in zip(arrays, dtypes)):
            return None
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        arrays = [np.broadcast_to(a, shape) for a in arrays]
        if 0 in shape or not shape:
            return None
        if order == "F" or order == "K" and not in_c_order(arrays) and in_fortran_order(arrays) and 1 not in shape:
            result = self._run_strided([a.T for a in arrays], dtypes, params, out if out is None else out.T, "C")
            return result if result is None else result.T if out is None else out
        if order == "K" and not in_c_order(arrays):
            return None
        if out is None:
            out = np.empty(shape, self.result_dtype)
        elif type(out) is not np.ndarray or out.dtype != self.result_dtype or out.shape != shape or not out.flags.writeable \
                or not lies_apart(out) or any(not same_elements(a, out) and meet(a, out) for a in arrays):
            return None
        self.kernel._run_on(shape, arrays, [out], params)
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
            # nditer does not fill the buffers that it casts into when all operands are without dimensions.
            result = self._run_blocks([a.reshape(1) for a in arrays], dtypes, params, None, order, casting).reshape(())
            if out is None:
                return result
            check_out(out, result.dtype, casting)
            np.copyto(out, result, casting=casting)
            return out
        if out is not None:
            check_out(out, self.result_dtype, casting)
        if len(arrays) >= ITERATED_MAX:
            return self._run_many(arrays, dtypes, params, out, order)
        flags = ["external_loop", "buffered", "delay_bufalloc", "zerosize_ok", "copy_if_overlap"]
        read = ["readonly", "aligned", "nbo", "contig", "overlap_assume_elementwise"]
        write = ["writeonly", "aligned", "nbo", "contig", "no_broadcast", "allocate", "overlap_assume_elementwise"]
        iterator = np.nditer([out, *arrays], flags, [write] + [read] * len(arrays), [self.result_dtype, *dtypes],
                             order=order, casting="unsafe", buffersize=BLOCK)  # what `casting` forbids was refused before
        wide = np.empty(BLOCK, np.int32) if self.wide_bools else None
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

    def _run_many(self, arrays, dtypes, params, out, order):
        """Does as _run_blocks for more operands than nditer takes: block by block in C order."""
        shape = np.broadcast_shapes(*[a.shape for a in arrays], *([] if out is None else [out.shape]))
        if out is not None and out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, the operands make {shape}")
        fortran = order == "F" or order in "AK" and all(a.flags.f_contiguous and a.shape == shape for a in arrays)
        result = out
        if out is None or any(np.may_share_memory(a, out) for a in arrays):
            result = np.empty(shape, self.result_dtype, "F" if fortran else "C")
        flat = [np.broadcast_to(a, shape).flat for a in arrays]
        for start in range(0, result.size, BLOCK):
            block = slice(start, start + BLOCK)
            operands = [np.ascontiguousarray(f[block], d) for f, d in zip(flat, dtypes)]
            target = np.empty(operands[0].size, np.int32 if self.wide_bools else self.result_dtype)
            self.kernel._run(target.size, [address(o) for o in operands], [address(target)], params)
            result.flat[block] = target != 0 if self.wide_bools else target
        if out is not None and result is not out:
            np.copyto(out, result, casting="unsafe")
        return result if out is None else out

    def _run_reduction(self, arrays, dtypes, params, out, casting):
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        is_place = self.reduction.op in PLACES
        if 0 in shape and self.reduction.op in ("min", "max"):
            raise ValueError(f"zero-size array to reduction operation {self.reduction.op} which has no identity")
        if 0 in shape and is_place:
            raise ValueError(f"attempt to get {self.reduction.op} of an empty sequence")
        operands = [np.asarray(a, d) for a, d in zip(arrays, dtypes)]
        if not is_place and all(a.flags.f_contiguous and a.shape == shape for a in arrays):
            shape, operands = shape[::-1], [a.T for a in operands]
        result = np.empty((), np.int32 if self.is_bool else self.result_dtype)
        self.kernel._run_on(shape, [np.broadcast_to(a, shape) for a in operands], [result], params)
        result = as_bool(result) if self.is_bool else result
        return result if out is None else store_reduced(out, result, casting)


def _check_operand(name, have, want, casting):
    if np.can_cast(have, want, casting):
        return
    if have.kind == "u" and have.itemsize == 8:
        raise TypeError(f"'{name}' is {have}, which kernels do not have, and {want} does not hold all of it, which casting="
                        f"'{casting}' forbids: convert it ({name}.astype(np.int64) wraps from 2**63 on, np.float64 rounds), or "
                        "give casting='same_kind', the default, which wraps")
    if have.kind == "f" and have.itemsize > 8:
        raise TypeError(f"'{name}' is {have}, which kernels do not have, and {want} does not hold all of it, which casting="
                        f"'{casting}' forbids: convert it ({name}.astype(np.float64) rounds), or give casting='same_kind', the "
                        "default, which rounds")
    raise TypeError(f"'{name}' is {have} and would be cast to {want}, which casting='{casting}' forbids: convert it, or give "
                    "another casting")


_short_call.set_up(_last, Borrowed, BorrowedAll)
python_evaluate, python_re_evaluate = evaluate, re_evaluate  # the long way, which can do all
evaluate = _short_call.front(0, evaluate, '(ex, local_dict=None, global_dict=None, out=None, order="K", casting="same_kind", '
                             'sanitize=None, _frame_depth=3, disable_cache=False, *, policy="exact", k=None, ranges=None, '
                             'threads=None, context=None, **kwargs)')
re_evaluate = _short_call.front(1, re_evaluate, "(local_dict=None, global_dict=None, _frame_depth=2)")
