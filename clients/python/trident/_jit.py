"""@trident.jit: a plain Python function of NumPy arrays, recorded by running it with stand-ins for its arguments. Its policy
is "exact" unless the caller says otherwise: one answer, at once and later, in every run. Under "bounded" and "fast" the last
bits may change when faster code is swapped in, and from run to run.

The stand-ins (_tracer.py) record what happens to them; the function never sees the data. What it reads beside its
arguments does become part of the recording: variables around it, attributes, elements of lists, what other functions
return, a counter's next number. So the function is recorded anew at every call, with all the effects that a call of the
plain function has, and only the kernel is looked up, by the text of what was recorded.

Recording costs some ten microseconds for each operation. It is left out only where the function's
code proves that nothing can have changed: its instructions touch nothing but its own variables, constants, NumPy's
ufuncs and numbers around it, and each of those is still the same object (_proof.py).

Functions whose shapes do not fit in one kernel (np.exp(x) / np.sum(np.exp(x))) are refused like everything else that
cannot be recorded.
"""
import collections
import functools
import inspect
import math
import types
import warnings

import numpy as np

from . import _graph as g
from . import _native as native
from ._cache import Cache
from ._kernel import address, check_context
from ._narrow import DTYPES, Narrow
from ._native import TridentError
from ._promise import EXACT, Promise
from ._proof import Proof
from ._refusals import TraceError
from ._tracer import PYTHON_NUMBERS, Trace, Tracer, replay, weakness

_RECORDINGS_MAX = 64
_ATTEMPTS_MAX = 4  # of a proof, which costs more than a recording; a function that it fails for is recorded every time
_NUMPY_2 = not np.__version__.startswith("1.")
_KIND = {d.newbyteorder(order): kind for kind, d in g.DTYPE.items() for order in "<>"}


class _Recording:
    """The record of one run of the function: the outputs, and conditions on the shapes and values of a call."""

    def __init__(self, function, bound, values, numbers, weak):
        trace = Trace(numbers, weak)
        stand_ins = inspect.BoundArguments(bound.signature, collections.OrderedDict())
        for i, (name, value) in enumerate(zip(bound.arguments, values)):
            narrow = value.dtype.newbyteorder("=") in DTYPES
            stand_in = trace.argument(i, g.I32 if narrow else _KIND[value.dtype], value.ndim == 0)
            stand_ins.arguments[name] = Narrow(stand_in._node, trace, value.dtype.newbyteorder("=")) if narrow else stand_in
        try:
            returned = function(*stand_ins.args, **stand_ins.kwargs)
        except Exception:
            if trace.refusal is not None:
                raise TraceError(trace.refusal) from None
            raise
        finally:
            trace.alive = False
        if trace.refusal is not None:  # the function caught it
            raise TraceError(trace.refusal)
        self.is_tuple = type(returned) in (tuple, list)
        results = list(returned) if self.is_tuple else [returned]
        if not results or not all(type(r) in (Tracer, Narrow) and r._trace is trace for r in results):
            raise TraceError("a jit function returns arrays that depend on its arguments (one, or a tuple of them)")
        self.is_list = type(returned) is list
        self.steps, self.numbers_made = trace.steps, trace.numbers
        self.inputs = trace.inputs
        self.plain = tuple(r._node.value if r._number is not None else None for r in results)  # inputs that are results
        self.results = (type(returned), self.plain, *(r.dtype.str for r in results if type(r) is Narrow))
        self.nodes = [r._node for r in results if r._number is None]
        self.is_bool = [n.kind == g.BOOL for n in self.nodes]
        self.narrow = [r.dtype if type(r) is Narrow else None for r in results if r._number is None]
        self.guards = [n if not n.mask else g.Node("minof", n.kind, (n,)) for n in trace.not_negative]
        self.products, self.extremes = trace.products, trace.extremes
        self.used, self.reduced = self._survey()
        self.names = list(bound.arguments)
        self.text = g.emit(g.as_kernel(self.nodes + self.guards))

    def _survey(self):
        """The inputs that the outputs are made of, and the masks of what is reduced."""
        used, reduced, numbers = set(), set(), {}
        for node in g.in_order(self.nodes + self.guards):
            if node.op == "input":
                used.add(node.value)
            numbers[id(node)] = node.op in g.REDUCTIONS or any(numbers[id(a)] for a in node.args)
            if node.op in g.REDUCTIONS:
                reduced.add(functools.reduce(lambda m, a: m | a.mask, node.args, 0))
        self.is_number = [numbers[id(n)] and not n.mask for n in self.nodes]
        return sorted(used), reduced


class _Compiled:
    """The kernel of a recording for one combination of argument kinds."""

    def __init__(self, recording, values, promise):
        self.recording, self.kernel = recording, None
        if not recording.nodes:
            return
        used = [(i, values[i]) for i in recording.used]
        numbers = [i for i, v in used if v.ndim == 0]
        if len(numbers) == len(used):  # then they are arrays of one element
            numbers = []
        self.dtypes = {i: g.DTYPE[g.I32 if recording.inputs[i].kind == g.BOOL else recording.inputs[i].kind]
                       for i, _ in used}
        name_of = {dtype: kind for kind, dtype in g.DTYPE.items()}
        if not used:
            raise TraceError("a jit function returns arrays that depend on its arguments (one, or a tuple of them)")
        try:
            self.kernel = promise.kernel(recording.text, recording.names,
                                         {f"x{i}": name_of[d] for i, d in self.dtypes.items()},
                                         [f"x{i}" for i in numbers], max(v.size for _, v in used))
        except TridentError as error:
            if error.status != native.E_LIMIT:
                raise
            raise TraceError(f"the function is more than one kernel can hold ({error}); divide it into several") from error
        self.arrays = [int(name[1:]) for name in self.kernel.arrays]
        self.numbers = [int(name[1:]) for name in self.kernel.scalars]
        self.is_plain = (recording.plain == (None,) and not recording.is_tuple and recording.narrow == [None]
                         and not (recording.is_bool[0] or recording.guards or recording.products or self.numbers))

    def of_plain_arrays(self, args):
        """Runs the kernel on the caller's own arrays; None where it cannot take them as they are."""
        arrays = [args[i] for i in self.arrays]
        shape = arrays[0].shape
        if 0 in shape or not all(a.shape == shape and a.flags.c_contiguous for a in arrays):
            return None
        return self.kernel(*arrays)

    def __call__(self, values, numbers):
        """`values`: all inputs as arrays; `numbers`: Python's numbers among them, else None."""
        recording = self.recording
        made = iter(self._run(values) if self.kernel is not None else ())
        results = [next(made) if i is None else numbers[i] for i in recording.plain]
        if not recording.is_tuple:
            return results[0]
        return results if recording.is_list else tuple(results)

    def _run(self, values):
        shape, shapes = self._shapes(values)
        arrays = [np.require(values[i], self.dtypes[i], ["A"]) for i in self.arrays]
        arrays = [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in arrays]
        params = self.kernel.pack([values[i] for i in self.numbers])
        results = self.kernel._allocate(shape, None)
        self.kernel._run(math.prod(shape), [address(a) for a in arrays], [address(r) for r in results], params)
        count = len(self.recording.nodes)
        if any((guard < 0).any() for guard in results[count:]):
            raise ValueError("Integers to negative integer powers are not allowed.")
        results = [_cut(r, s) for r, s in zip(results[:count], shapes)]
        results = [r != 0 if b else r for r, b in zip(results, self.recording.is_bool)]
        results = [r if d is None else r.astype(d) for r, d in zip(results, self.recording.narrow)]
        return [r[()] if r.ndim == 0 else r for r in results]

    def _shapes(self, values):
        """The shape of one sweep over all elements, and those of the outputs; refuses arguments whose shapes do not fit
        in one sweep, and raises NumPy's ValueError for those that do not fit each other."""
        recording, all_arrays = self.recording, [values[i].shape for i in self.arrays]
        shape = all_arrays[0]
        same = all(s == shape for s in all_arrays)

        def of(mask):
            if same:
                return shape if mask else ()
            return np.broadcast_shapes(*[values[i].shape for i in self.arrays if mask >> i & 1])

        for vectors_only, a, b in recording.products:
            if of(a.mask) != of(b.mask) or vectors_only and len(of(a.mask)) != 1:
                raise TraceError("np.dot can be recorded for two vectors of one length; write np.sum(x * y) or use NumPy")
        if not same:
            for mask in {*recording.reduced, *(n.mask for n in recording.nodes)}:
                of(mask)
            try:
                shape = np.broadcast_shapes(*all_arrays)
            except ValueError as error:
                raise TraceError("arguments whose shapes do not fit each other cannot be compiled together: put what is "
                                 "made of each into a jit function of its own") from error
        if not all(shape == of(mask) for mask in recording.reduced):
            raise TraceError("a reduction over some of the arguments, while others have another shape, cannot be "
                             "compiled: put it into a jit function of its own")
        if recording.extremes and math.prod(shape) == 0:
            raise ValueError("zero-size array to reduction operation which has no identity")
        shapes = [() if number else of(node.mask) for node, number in zip(recording.nodes, recording.is_number)]
        if 0 in shape and any(0 not in s and not number for s, number in zip(shapes, recording.is_number)):
            raise TraceError("an empty array beside others that are not cannot be compiled: use two functions")
        return shape, shapes


def _cut(result, shape):
    """The part of a result that NumPy would return: without the axes along which it was only repeated."""
    if result.shape == shape:
        return result
    extra = result.ndim - len(shape)
    return result[(0,) * extra + tuple(slice(0, 1) if s == 1 else slice(None) for s in shape)].copy()


class _Function:
    """A jit function: the plain one, and what has been compiled for it."""

    def __init__(self, function, promise, fallback):
        self.function, self.promise, self.fallback = function, promise, fallback
        self.name = getattr(function, "__name__", repr(function))
        self.kernels = {}
        self.compiled = Cache(_RECORDINGS_MAX)     # (argument kinds, text of the recording) -> _Compiled
        self.proven = None, {}                     # a proof, and while it holds argument kinds -> _Compiled
        self.attempts = 0
        self.last = None                           # a proof, types of arrays, and the entry that answers for them
        self.plain = set()                         # argument kinds that run as plain Python
        self.signature, self.defaults = None, None
        if fallback:
            return
        parameters = self._bind_signature().parameters
        promise.check_names(parameters, f"parameter of {self.name}")
        for parameter in parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TraceError("a jit function has named parameters: write f(x, y) instead of f(*args, **kwargs)")

    def _bind_signature(self):
        function = self.function
        if type(function) is types.FunctionType:  # whose defaults may be set at any time
            defaults = (function.__defaults__, dict(function.__kwdefaults__ or {}))
            if self.signature is not None and _same(defaults, self.defaults):
                return self.signature
            self.defaults = defaults
        try:
            self.signature = inspect.signature(function)
        except ValueError as error:
            raise TraceError(f"{self.name} does not say what its parameters are: write lambda x: f(x)") from error
        return self.signature

    def __call__(self, args, kwargs):
        if any(type(v) is Tracer for v in (*args, *kwargs.values())):  # called by another function that is recorded
            return self.function(*args, **kwargs)
        kinds = None
        try:
            result = self._as_last(args) if self.last is not None and not kwargs else None
            if result is not None:
                return result
            bound = self._bind_signature().bind(*args, **kwargs)
            bound.apply_defaults()
            values = [_argument(n, v) for n, v in bound.arguments.items()]
            arrays = _NUMPY_2 or any(v.ndim for v in values)
            numbers = [v if type(v) in PYTHON_NUMBERS else None for v in bound.arguments.values()]
            weak = [weakness(v) if arrays else None for v in numbers]
            kinds = tuple((v.dtype.str, v.ndim == 0, n is not None, w) for v, n, w in zip(values, numbers, weak))
            if kinds in self.plain:
                return self.function(*args, **kwargs)
            result = self._call(kinds, bound, values, numbers, weak if arrays else None)
            self._remember(args, kwargs, kinds)
            return result
        except Exception as error:
            if not self.fallback:
                raise
            result = self.function(*args, **kwargs)  # raises what the plain function raises
            self._warn(kinds, error)
            return result

    def _as_last(self, args):
        """The result where everything is as in the last call but for the elements and the shape: a tenth of the time."""
        proof, dtypes, entry = self.last
        if len(args) != len(dtypes) or not proof.holds():
            return None
        for array, dtype in zip(args, dtypes):
            if type(array) is not np.ndarray or array.dtype is not dtype or array.ndim == 0:
                return None
        return entry.of_plain_arrays(args)

    def _remember(self, args, kwargs, kinds):
        proof, proven = self.proven
        entry, _ = proven.get(kinds, (None, ())) if proof is not None else (None, ())
        if entry is None or kwargs or len(args) != len(self.signature.parameters) or entry.kernel is None:
            return
        if entry.is_plain and all(type(a) is np.ndarray and a.ndim for a in args) \
                and all(args[i].dtype == entry.dtypes[i] for i in entry.arrays):
            self.last = proof, [a.dtype for a in args], entry

    def _warn(self, kinds, error):
        if kinds not in self.plain:
            self.plain.add(kinds)
            warnings.warn(f"{self.name} runs as plain Python: {error}", RuntimeWarning, stacklevel=4)

    def _call(self, kinds, bound, values, numbers, weak):
        proof, proven = self.proven
        if proof is not None and proof.holds():
            entry, steps = proven.get(kinds, (None, ()))
            made = replay(steps, numbers) if entry is not None else None
            if made is not None:
                return entry(values + [np.asarray(n) for n in made[len(values):]], made)
        else:
            proof = None
            if self.attempts < _ATTEMPTS_MAX:
                self.attempts += 1
                proof, proven = Proof.of(self.function), {}
        recording = _Recording(self.function, bound, values, numbers, weak)
        made = recording.numbers_made
        values = values + [np.asarray(n) for n in made[len(values):]]
        computed = tuple(kind for _, _, kind in recording.steps)
        entry = self.compiled.find((kinds, computed, recording.results, recording.text),
                                   lambda: _Compiled(recording, values, self.promise))
        if entry.kernel is not None:
            self.kernels[kinds] = entry.kernel
        if proof is not None and proof.holds():
            proven[kinds] = entry, recording.steps
            self.proven = proof, proven  # at once, so that no other thread sees one without the other
        return entry(values, made)


def _same(a, b):
    return a[0] is b[0] and a[1].keys() == b[1].keys() and all(a[1][k] is b[1][k] for k in a[1])


def _argument(name, value):
    if not (type(value) in (np.ndarray, np.memmap) or isinstance(value, (bool, int, float, np.generic))):
        what = "None" if value is None else f"of type {type(value).__name__}"
        raise TraceError(f"the argument '{name}' is {what}, and a jit function takes arrays and numbers: convert it with "
                         "np.asarray, or bind it with functools.partial or in a closure")
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") in DTYPES and array.ndim:
        return array
    if array.dtype not in _KIND:
        raise TraceError(f"the argument '{name}' is {array.dtype}; bool, int32, int64, float32, float64 and arrays of 8- and "
                         "16-bit integers can be compiled: convert it with astype")
    return array


_NO_PLAIN_FUNCTION = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction


def jit(function=None, *, policy="exact", k=None, ranges=None, fallback=False, context=None):
    """Compiles a plain Python function of NumPy arrays by recording it. The answer is the same at once and later, on every
    processor and in every run: operations as they are written, functions good to an ulp. policy="bounded" (with k=, default
    2) or "fast" permit faster forms, as trident.Kernel says; then the last bits may change when faster code is swapped in,
    and from run to run. ranges={"x": (lo, hi)} promises values of arguments, whatever the policy.

        @trident.jit
        def f(x, y):
            return np.sin(x)**2 + np.where(y > 0, y, -y)

    All parameters are arrays or numbers; keyword arguments and defaults work. The function runs at every call, with
    stand-ins for the arrays, so what it reads from outside and does outside is as up to date as in plain Python; a
    function of its arguments, NumPy's ufuncs and constants alone is recorded once. Numbers from outside become constants
    of the kernel: one that changes at every call compiles at every call, so make it an argument.

    A function that cannot be recorded raises TraceError, which says what to write instead; with fallback=True it warns
    once and runs as plain Python for arguments of these kinds (effects outside before the refusal happen twice then).
    Not seen by the recording: questions about the identity of an argument (type(x), id(x), x is y). The compiled kernels
    are in the attribute `kernels` (argument kinds -> trident.Kernel, the last one compiled for them).
    """
    check_context(context)
    if function is None:
        return functools.partial(jit, policy=policy, k=k, ranges=ranges, fallback=fallback, context=context)
    if any(is_other(function) for is_other in _NO_PLAIN_FUNCTION):
        raise TypeError("a jit function returns its arrays at once: it is no coroutine and no generator")
    usual = policy == "exact" and k is None and ranges is None and context is None
    promise = EXACT if usual else Promise(policy, k, ranges, context)
    state = _Function(function, promise, fallback)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return state(args, kwargs)

    wrapper.kernels = state.kernels
    return wrapper
