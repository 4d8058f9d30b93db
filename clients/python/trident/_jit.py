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
import types
import warnings

import numpy as np

from . import _graph as g
from ._cache import Cache
from ._compiled import Entry, Part
from ._kernel import check_context
from ._narrow import DTYPES, Narrow, kind_of
from ._operand import refuse_mask
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
            dtype = value.dtype.newbyteorder("=")
            stand_in = trace.argument(i, kind_of(dtype) if dtype in DTYPES else _KIND[value.dtype], value.ndim == 0)
            stand_ins.arguments[name] = Narrow(stand_in._node, trace, dtype) if dtype in DTYPES else stand_in
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
        reduced = {(a.result, a.dtype) for a in trace.along}
        self.plain = tuple(r._node.value if r._number is not None or r._node.op == "input" and (r._node.value, r.dtype) in reduced
                           else None for r in results)  # inputs that are results
        self.items = tuple(type(r) is Tracer and r._is_item for r in results)
        self.results = (type(returned), self.plain, self.items, *(r.dtype.str for r in results if type(r) is Narrow))
        for along in trace.along:
            along.part = None if along.node.op == "input" else Part.of(trace, list(bound.arguments), [along.operand])
        self.along, self.fits = trace.along, sorted({(i, d.str) for i, d in trace.fits})
        computed = [r for r, i in zip(results, self.plain) if i is None]
        guards = [n if not n.mask else g.Node("minof", n.kind, (n,)) for n in trace.not_negative]
        self.part = Part.of(trace, list(bound.arguments), computed, guards) if computed or guards else None
        self.text = "\n".join([*(a.text for a in self.along), *map(str, self.fits), self.part.text if self.part else ""])


class _Function:
    """A jit function: the plain one, and what has been compiled for it."""

    def __init__(self, function, promise, fallback):
        self.function, self.promise, self.fallback = function, promise, fallback
        self.name = getattr(function, "__name__", repr(function))
        self.kernels = {}
        self.compiled = Cache(_RECORDINGS_MAX)     # (argument kinds, text of the recording) -> Entry
        self.proven = None, {}                     # a proof, and while it holds argument kinds -> Entry
        self.attempts = 0
        self.last = None                           # a proof, types of arguments, what answers for them, steps; see _as_last
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
            self._remember(args, kwargs, kinds, values)
            return result
        except Exception as error:
            if not self.fallback:
                raise
            result = self.function(*args, **kwargs)  # raises what the plain function raises
            self._warn(kinds, error)
            return result

    def _as_last(self, args):
        """The result where everything is as in the last call but for the elements, the shape and the numbers: a tenth of the
        time. What decides `kinds` is compared; so this call's are the last one's."""
        proof, keys, entry, steps, is_plain = self.last
        if len(args) != len(keys) or not proof.holds():
            return None
        for value, key in zip(args, keys):
            if type(key) is tuple:
                if (type(value), weakness(value)) != key:
                    return None
            elif type(value) is not np.ndarray or value.dtype is not key or value.ndim == 0:
                return None
        numbers = [v if type(v) in PYTHON_NUMBERS else None for v in args]
        made = replay(steps, numbers) if steps else numbers
        if made is None:
            return None
        result = entry.of_plain_arrays(args, made) if is_plain else None
        if result is not None:
            return result
        return entry([np.asarray(v) for v in args] + [n if n is None else np.asarray(n) for n in made[len(args):]], made)

    def _remember(self, args, kwargs, kinds, values):
        proof, proven = self.proven
        entry, steps = proven.get(kinds, (None, ())) if proof is not None else (None, ())
        if entry is None or kwargs or len(args) != len(self.signature.parameters) or entry.kernel is None:
            return
        are_arrays = [type(a) is np.ndarray and a.ndim > 0 for a in args]
        if any(are_arrays) and all(is_array or type(a) in PYTHON_NUMBERS or isinstance(a, np.generic)
                                   for a, is_array in zip(args, are_arrays)):
            keys = [a.dtype if is_array else (type(a), weakness(a)) for a, is_array in zip(args, are_arrays)]
            self.last = proof, keys, entry, steps, entry.is_plain and entry.takes(values, args, are_arrays)

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
                return entry(values + [n if n is None else np.asarray(n) for n in made[len(values):]], made)
        else:
            proof = None
            if self.attempts < _ATTEMPTS_MAX:
                self.attempts += 1
                proof, proven = Proof.of(self.function), {}
        recording = _Recording(self.function, bound, values, numbers, weak)
        made = recording.numbers_made
        values = values + [n if n is None else np.asarray(n) for n in made[len(values):]]
        computed = tuple(kind for _, _, kind in recording.steps)
        entry = self.compiled.find((kinds, computed, recording.results, recording.text),
                                   lambda: Entry(recording, self.promise))
        if proof is not None and proof.holds():
            proven[kinds] = entry, recording.steps
            self.proven = proof, proven  # at once, so that no other thread sees one without the other
        result = entry(values, made)
        if entry.kernel is not None:
            self.kernels[kinds] = entry.kernel
        return result


def _same(a, b):
    return a[0] is b[0] and a[1].keys() == b[1].keys() and all(a[1][k] is b[1][k] for k in a[1])


def _argument(name, value):
    refuse_mask(value, name, TraceError)
    if not (type(value) in (np.ndarray, np.memmap) or isinstance(value, (bool, int, float, np.generic))):
        what = "None" if value is None else f"of type {type(value).__name__}"
        cure = ("decorate a function of the arrays that the method reads, and call it from the method" if name in ("self", "cls") else
                "convert it with np.asarray, or bind it with functools.partial or in a closure")
        raise TraceError(f"the argument '{name}' is {what}, and a jit function takes arrays and numbers: {cure}")
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") in DTYPES:
        return array
    if type(value) is int and array.dtype == object:
        raise TraceError(f"the argument '{name}' is {value}, which needs more than 64 bits: pass it as a float")
    if array.dtype not in _KIND:
        cure = "pass its real and its imaginary part" if array.dtype.kind == "c" else "convert it with astype"
        raise TraceError(f"the argument '{name}' is {array.dtype}; booleans, integers and floats up to 64 bits can be "
                         f"compiled: {cure}")
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
