"""@trident.jit: a plain Python function of NumPy arrays, traced once per combination of argument kinds.

The function is called with stand-ins that record what happens to them: operators, NumPy's ufuncs, where, clip and the
reductions sum, min, max, mean, dot. What cannot be recorded is refused with an error that says what to write instead: a
Python branch on a value (`if x > 0`), a conversion to a Python number (`math.sin(x)`, `float(x)`), indexing, a shape. A
wrong answer by a half-recorded function is impossible, because the function never sees the data.

What the function reads beside its arguments (variables around it, globals, attributes of those) becomes part of the
recording, so it is part of what a recording is looked up by: a change leads to another one.

Types follow NumPy 2: a Python number takes the type of the arrays that it meets (float32 * 2.5 is float32; an integer
that int32 cannot hold makes int64), and float32 with int32 gives float64. NumPy 1 looks at the value of the number too
and makes float32 - 100000 a float64 array.
"""
import functools
import inspect
import math
import threading
import warnings

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph as g
from ._evaluate import as_kernel
from ._kernel import Kernel, address

COMMON = g.numpy_common


class TraceError(TypeError):
    """The function does something that cannot be recorded; the text says what to write instead."""


_UNARY_FLOAT = {name: op for op, names in {
    "sqrt": ["sqrt"], "cbrt": ["cbrt"], "exp": ["exp"], "exp2": ["exp2"], "expm1": ["expm1"], "log": ["log"],
    "log2": ["log2"], "log10": ["log10"], "log1p": ["log1p"], "sin": ["sin"], "cos": ["cos"], "tan": ["tan"],
    "asin": ["arcsin"], "acos": ["arccos"], "atan": ["arctan"], "sinh": ["sinh"], "cosh": ["cosh"],
    "tanh": ["tanh"], "asinh": ["arcsinh"], "acosh": ["arccosh"], "atanh": ["arctanh"], "floor": ["floor"],
    "ceil": ["ceil"], "trunc": ["trunc"], "rint": ["rint"],
}.items() for name in names}
_BINARY_FLOAT = {"arctan2": "atan2", "hypot": "hypot", "copysign": "copysign"}
_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul"}
_COMPARE = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
            "not_equal": "ne"}
_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_SHIFT = {"left_shift": "shl", "right_shift": "sar"}
_ROUNDING = ("floor", "ceil", "trunc", "rint")


class Tracer(NDArrayOperatorsMixin):
    """Stands for an array (or a scalar argument) while a function is recorded."""
    __slots__ = ("node",)

    def __init__(self, node):
        self.node = node

    @property
    def dtype(self):
        return g.DTYPE[self.node.kind]

    def astype(self, dtype):
        return Tracer(_convert(self.node, np.dtype(dtype)))

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "reduce" and ufunc.__name__ in _UFUNC_REDUCE:
            return _UFUNC_REDUCE[ufunc.__name__](*inputs, **kwargs)
        if method != "__call__":
            raise TraceError(f"np.{ufunc.__name__}.{method} cannot be recorded")
        if any(v is not None for k, v in kwargs.items() if k not in ("casting", "order", "subok")):
            raise TraceError(f"np.{ufunc.__name__}: the arguments {', '.join(kwargs)} cannot be recorded")
        return Tracer(_ufunc(ufunc.__name__, _operands(inputs)))

    def __array_function__(self, func, types, args, kwargs):
        del types
        if func not in _FUNCTIONS:
            raise TraceError(f"np.{func.__name__} cannot be recorded; write it with ufuncs, np.where and reductions")
        return _FUNCTIONS[func](*args, **kwargs)

    def _refuse(self, what, instead):
        raise TraceError(f"{what} cannot be recorded: the function is compiled for all elements at once. {instead}")

    def __bool__(self):
        self._refuse("a Python branch on an array's value ('if', 'while', 'and', 'or', 'not', a chained comparison)",
                     "Use np.where(condition, a, b), and & | ~ instead of and, or, not.")

    def __float__(self):
        self._refuse("a conversion to a Python number (math.sin(x), float(x))", "Use np.sin(x) and the like.")

    __int__ = __complex__ = __index__ = __float__

    def __getitem__(self, key):
        self._refuse("indexing", "A compiled function sees one element of each array at a time.")

    def __len__(self):
        self._refuse("len() or the shape of an array", "Pass it in as an argument.")

    def __iter__(self):
        self._refuse("iteration over an array", "Write the formula for one element.")

    def __array__(self, dtype=None):
        self._refuse("a conversion to an array", "Use NumPy's ufuncs, np.where and reductions.")

    def sum(self, axis=None):
        return _sum(self, axis)

    def min(self, axis=None):
        return _extreme("minof", self, axis)

    def max(self, axis=None):
        return _extreme("maxof", self, axis)

    def mean(self, axis=None):
        return _mean(self, axis)

    def clip(self, lo=None, hi=None):
        return _clip(self, lo, hi)


def _operands(values):
    """Graph nodes; Python numbers take the kind of the arrays that they meet, as in NumPy."""
    nodes = [v.node if isinstance(v, Tracer) else None for v in values]
    kinds = [n.kind for n in nodes if n is not None]
    for i, value in enumerate(values):
        if nodes[i] is None:
            nodes[i] = _constant(value, kinds)
    return nodes


def _constant(value, kinds):
    if isinstance(value, (np.ndarray, list, tuple)):
        raise TraceError("an array that is not an argument cannot be recorded: pass it in as one")
    greatest = g.numexpr_common(kinds) if kinds else None
    if isinstance(value, (bool, np.bool_)):
        return g.const(bool(value))
    if isinstance(value, (int, np.integer)):
        if greatest in g.INTS + g.FLOATS and (greatest != g.I32 or -2**31 <= value < 2**31):
            return g.const(value, greatest)
        return g.const(int(value), g.I64)
    if isinstance(value, (float, np.floating)):
        return g.const(float(value), greatest if greatest in g.FLOATS else g.F64)
    raise TraceError(f"a value of type {type(value).__name__} cannot be recorded")


def _as_bool(node):
    return g.cast(node, g.BOOL)


def _ufunc(name, a):
    if name in _UNARY_FLOAT:
        return a[0] if name in _ROUNDING and a[0].kind in g.INTS and name != "rint" \
            else g.function(_UNARY_FLOAT[name], a, COMMON)
    if name in _BINARY_FLOAT:
        return g.function(_BINARY_FLOAT[name], a, COMMON)
    if name in _ARITHMETIC:
        return g.arithmetic(_ARITHMETIC[name], *a, COMMON)
    if name in _COMPARE:
        return g.compare(_COMPARE[name], *a, COMMON)
    if name in _BITWISE:
        return g.bitwise(_BITWISE[name], *a, COMMON)
    if name in _LOGICAL:
        return g.bitwise(_LOGICAL[name], _as_bool(a[0]), _as_bool(a[1]), COMMON)
    if name in _SHIFT:
        return g.shift(_SHIFT[name], *a, COMMON)
    if name not in _OTHERS:
        raise TraceError(f"np.{name} cannot be recorded")
    return _OTHERS[name](*a)


def _extremum(op, keep_nan):
    """np.minimum and np.maximum keep a NaN, np.fmin and np.fmax drop it (which is what the op itself does)."""
    def build(a, b):
        node = g.arithmetic(op, a, b, COMMON)
        if node.kind not in g.FLOATS or not keep_nan:
            return node
        a, b = node.args
        unordered = g.bitwise("or", g.compare("ne", a, a, COMMON), g.compare("ne", b, b, COMMON), COMMON)
        return g.where(unordered, g.arithmetic("add", a, b, COMMON), node, COMMON)
    return build


def _float_test(when_integer, build):
    def test(a):
        if a.kind not in g.FLOATS:
            return g.compare("eq" if when_integer else "ne", a, a, COMMON)
        return build(a)
    return test


def _is_finite(a):
    return g.compare("lt", _absolute(a), g.const(math.inf, a.kind), COMMON)


def _absolute(a):
    return a if a.kind == g.BOOL else g.Node("abs", a.kind, (a,))


def _floor_divide(a, b):
    kind = COMMON([a.kind, b.kind])
    if kind not in g.FLOATS:
        raise TraceError("integer division cannot be recorded; use np.floor(a / b)")
    a, b = g.cast(a, kind), g.cast(b, kind)
    # (a - a mod b) / b is an integer up to rounding; rint makes it one. By zero: as a / b.
    exact = g.Node("rint", kind, (g.Node("div", kind, (g.Node("sub", kind, (a, g.floor_mod(a, b, COMMON))), b)),))
    quotient = g.Node("div", kind, (a, b))
    return g.where(g.compare("eq", b, g.const(0, kind), COMMON), quotient, exact, COMMON)


_OTHERS = {
    "true_divide": lambda a, b: g.true_divide(a, b, COMMON),
    "divide": lambda a, b: g.true_divide(a, b, COMMON),
    "floor_divide": _floor_divide,
    "remainder": lambda a, b: g.floor_mod(a, b, COMMON),
    "fmod": lambda a, b: g.trunc_mod(a, b, COMMON),
    "power": lambda a, b: g.power(a, b, COMMON),
    "float_power": lambda a, b: g.power(g.cast(a, g.F64), g.cast(b, g.F64), COMMON),
    "square": lambda a: g.arithmetic("mul", a, a, COMMON),
    "reciprocal": lambda a: g.true_divide(g.const(1, a.kind), a, COMMON) if a.kind in g.FLOATS else _no_integers(),
    "negative": g.negative,
    "positive": lambda a: a,
    "absolute": _absolute,
    "fabs": lambda a: g.function("abs", [a], COMMON),
    "sign": lambda a: g.Node("sign", a.kind, (a,)),
    "minimum": _extremum("min", True), "maximum": _extremum("max", True),
    "fmin": _extremum("min", False), "fmax": _extremum("max", False),
    "logical_not": lambda a: g.invert(_as_bool(a)),
    "invert": g.invert,
    "isnan": _float_test(False, lambda a: g.compare("ne", a, a, COMMON)),
    "isfinite": _float_test(True, _is_finite),
    "isinf": _float_test(False, lambda a: g.compare("eq", _absolute(a), g.const(math.inf, a.kind), COMMON)),
    "deg2rad": lambda a: _scaled(a, math.pi / 180), "radians": lambda a: _scaled(a, math.pi / 180),
    "rad2deg": lambda a: _scaled(a, 180 / math.pi), "degrees": lambda a: _scaled(a, 180 / math.pi),
}


def _no_integers():
    raise TraceError("np.reciprocal of integers cannot be recorded")


def _scaled(a, factor):
    kind = a.kind if a.kind in g.FLOATS else g.F64
    return g.arithmetic("mul", g.cast(a, kind), g.const(factor, kind), COMMON)


def _convert(node, dtype):
    kinds = {g.DTYPE[k]: k for k in g.DTYPE}
    if dtype not in kinds:
        raise TraceError(f"astype({dtype}) cannot be recorded; bool, int32, int64, float32 and float64 can")
    return g.cast(node, kinds[dtype])


def _where(condition, a=None, b=None):
    if a is None or b is None:
        raise TraceError("np.where(condition) without values cannot be recorded")
    chosen = _operands([a, b])
    test = _operands([condition])[0]
    if not isinstance(a, Tracer) and not isinstance(b, Tracer):  # two Python numbers: as NumPy makes arrays of them
        chosen = [g.const(v, {"b": g.BOOL, "i": g.I64, "f": g.F64}[np.asarray(v).dtype.kind]) for v in (a, b)]
    return Tracer(g.where(_as_bool(test), *chosen, COMMON))


def _clip(a, a_min=None, a_max=None, out=None, **kwargs):
    if out is not None or kwargs:
        raise TraceError("np.clip: only the limits can be recorded")
    if a_min is not None:
        a = np.maximum(a, a_min)
    return a if a_max is None else np.minimum(a, a_max)


def _all_elements(axis, out=None, **kwargs):
    if axis is not None or out is not None or any(v is not None and v is not np._NoValue for v in kwargs.values()):
        raise TraceError("only reductions over all elements can be recorded (no axis, no out)")


def _sum(a, axis=None, dtype=None, out=None, **kwargs):
    _all_elements(axis, out, **kwargs)
    node = a.node if dtype is None else _convert(a.node, np.dtype(dtype))
    if node.kind in (g.BOOL, g.I32):
        node = g.cast(g.cast(node, g.I32), g.I64)
    return Tracer(g.reduce("sum", node, nan="keep"))


def _extreme(op, a, axis=None, out=None, **kwargs):
    _all_elements(axis, out, **kwargs)
    return Tracer(g.reduce(op, a.node, nan="keep"))


def _mean(a, axis=None, dtype=None, out=None, **kwargs):
    _all_elements(axis, out, **kwargs)
    node = a.node if dtype is None else _convert(a.node, np.dtype(dtype))
    kind = node.kind if node.kind in g.FLOATS else g.F64
    return Tracer(g.Node("mean", kind, (g.cast(node, kind),)))


def _dot(a, b, out=None):
    if out is not None:
        raise TraceError("np.dot: out cannot be recorded")
    x, y = _operands([a, b])
    kind = COMMON([x.kind, y.kind])
    return Tracer(g.Node("dot", kind, (g.cast(x, kind), g.cast(y, kind))))


_UFUNC_REDUCE = {"add": lambda a, axis=0, **kw: _sum(a, axis, **kw),
                 "minimum": lambda a, axis=0, **kw: _extreme("minof", a, axis, **kw),
                 "maximum": lambda a, axis=0, **kw: _extreme("maxof", a, axis, **kw)}

_FUNCTIONS = {
    np.where: _where, np.clip: _clip, np.sum: _sum, np.mean: _mean, np.dot: _dot, np.vdot: _dot,
    np.amin: functools.partial(_extreme, "minof"), np.amax: functools.partial(_extreme, "maxof"),
}


class _Compiled:
    """A function's kernel for one combination of argument kinds."""

    def __init__(self, function, names, values, context):
        inputs = {n: g.Node("input", g.kind_of_dtype(v.dtype), value=i)
                  for i, (n, v) in enumerate(zip(names, values))}
        for name, value in zip(names, values):
            if value.dtype.newbyteorder("=") not in [g.DTYPE[k] for k in g.DTYPE]:
                raise TypeError(f"'{name}' is {value.dtype}; jit takes bool, int32, int64, float32 and float64")
        returned = function(**{n: Tracer(node) for n, node in inputs.items()})
        self.is_tuple = isinstance(returned, (tuple, list))
        results = list(returned) if self.is_tuple else [returned]
        if not results or not all(isinstance(r, Tracer) for r in results):
            raise TraceError("a jit function returns arrays that depend on its arguments (one, or a tuple of them)")
        nodes = [r.node for r in results]
        self.is_bool = [n.kind == g.BOOL for n in nodes]
        self.dtypes = [g.DTYPE[g.I32 if i.kind == g.BOOL else i.kind] for i in inputs.values()]
        self.is_scalar = [v.ndim == 0 for v in values]
        if all(self.is_scalar):
            self.is_scalar = [False] * len(values)
        kind_of = {dtype: kind for kind, dtype in g.DTYPE.items()}
        self.kernel = Kernel(g.emit(as_kernel(nodes)), syntax="infix", context=context,
                             types={f"x{i}": kind_of[d] for i, d in enumerate(self.dtypes)},
                             scalars=[f"x{i}" for i, s in enumerate(self.is_scalar) if s],
                             elements=min(max(v.size for v in values), 1 << 24))

    def __call__(self, values):
        arrays = [np.require(v, d, ["A"]) for v, d, s in zip(values, self.dtypes, self.is_scalar) if not s]
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        arrays = [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in arrays]
        params = self.kernel.pack([v for v, s in zip(values, self.is_scalar) if s])
        results = self.kernel._allocate(shape, None)
        n = math.prod(shape)
        self.kernel._run(n, [address(a) for a in arrays], [address(r) for r in results], params)
        results = [r != 0 if b else r for r, b in zip(results, self.is_bool)]
        results = [r[()] if r.ndim == 0 else r for r in results]
        return tuple(results) if self.is_tuple else results[0]


_SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)
_STABLE_MODULES = ("numpy", "math", "trident")
_DEPTH_MAX = 4
_RECORDINGS_MAX = 64


def _fingerprint(value, names, depth):
    """What a recording may have taken from an object: hashable, equal for equal contents. `names`: attributes that the
    function's code mentions."""
    if isinstance(value, _SIMPLE):
        return type(value), repr(value)  # repr tells 0.0 from -0.0, and a NaN equals itself
    if depth == 0:
        return type(value), id(value)
    if (getattr(value, "__module__", None) or "").partition(".")[0] in _STABLE_MODULES and not hasattr(value, "kernels"):
        return type(value), id(value)
    if inspect.isfunction(value):
        return _surroundings(inspect.unwrap(value), depth - 1)
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value), tuple(_fingerprint(v, names, depth - 1) for v in value)
    if isinstance(value, dict):
        return dict, tuple((repr(k), _fingerprint(v, names, depth - 1)) for k, v in value.items())
    if inspect.ismodule(value):
        if value.__name__.partition(".")[0] in _STABLE_MODULES:
            return value.__name__
        return value.__name__, tuple((n, _fingerprint(vars(value)[n], names, depth - 1))
                                     for n in names if n in vars(value))
    if isinstance(value, (type, np.ufunc, np.ndarray)) or callable(value) and not hasattr(value, "__dict__"):
        return type(value), id(value)
    missing = object()
    parts = ((n, getattr(value, n, missing)) for n in names)
    return type(value), id(value), tuple((n, _fingerprint(v, names, depth - 1)) for n, v in parts if v is not missing)


@functools.lru_cache(maxsize=1024)
def _code_names(code):
    """Global names and attributes that a code object mentions, functions inside it included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            names.update(_code_names(constant))
    return tuple(sorted(names))


def _surroundings(function, depth=_DEPTH_MAX):
    """The values of what a function reads beside its arguments, functions that it calls included."""
    code = function.__code__
    names = _code_names(code)
    found = [(None, code)]
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # not set yet
            continue
        found.append((name, _fingerprint(value, names, depth)))
    for name in names:
        if name in function.__globals__:
            found.append((name, _fingerprint(function.__globals__[name], names, depth)))
    found.append((None, _fingerprint(function.__defaults__, names, depth)))
    return tuple(found)


def jit(function=None, *, fallback=False, context=None):
    """Compiles a plain Python function of NumPy arrays by recording it.

        @trident.jit
        def f(x, y):
            return np.sin(x)**2 + np.where(y > 0, y, -y)

    All parameters are arrays or numbers; keyword arguments and defaults work. A function that cannot be recorded raises
    TraceError at its first call; with fallback=True it warns once and runs as plain Python instead. The compiled
    kernels are in the attribute `kernels` (argument kinds -> trident.Kernel, the last one compiled for them). Numbers that
    the function reads from outside may change between calls; one that changes at every call compiles at every call, so
    make it an argument.
    """
    if function is None:
        return functools.partial(jit, fallback=fallback, context=context)
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError("a jit function has plain named parameters")
    compiled, lock = {}, threading.Lock()
    logs = set()  # names of containers that the function itself writes to: a trace of its calls, no input

    def around(kinds):
        return kinds, tuple((n, f) for n, f in _surroundings(function) if n not in logs)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        names, values = list(bound.arguments), [np.asarray(v) for v in bound.arguments.values()]
        kinds = tuple((v.dtype.str, v.ndim == 0) for v in values)
        key = around(kinds)
        entry = compiled.get(key)
        if entry is None:
            with lock:
                entry = compiled.get(key) or _compile(names, values)
                logs.update(n for (n, old), (_, new) in zip(key[1], around(kinds)[1])
                            if old != new and old[0] in (list, dict, set))
                key = around(kinds)
                compiled[key] = entry
                if len(compiled) > _RECORDINGS_MAX:  # a value around the function that keeps changing
                    del compiled[next(iter(compiled))]
                if isinstance(entry, _Compiled):
                    wrapper.kernels[kinds] = entry.kernel
        return entry(values) if isinstance(entry, _Compiled) else function(*args, **kwargs)

    def _compile(names, values):
        try:
            return _Compiled(function, names, values, context)
        except TraceError as error:
            if not fallback:
                raise
            warnings.warn(f"{function.__name__} runs as plain Python: {error}", RuntimeWarning, stacklevel=4)
            return function

    wrapper.kernels = {}
    return wrapper
