"""Stand-ins for arrays that record what a function does to them: operators, NumPy's ufuncs, where, clip and the reductions
sum, prod, min, max, mean, var, std, argmin, argmax, dot, each built with NumPy's types and NumPy's results in the corner
cases. Functions that NumPy makes of these (select, any, nan_to_num) are in _composed.py.

Everything else that an array can do is refused by a TraceError that says what to write instead. A refusal marks the
trace as spoilt, so a function that catches the error (`except TypeError`) does not slip through with the other branch;
and a stand-in ends with its trace, so one that a function keeps for its next call is refused there. What no stand-in can
see is a question about the object instead of its value: type(x), id(x), x is y.

Types follow NumPy 2: a Python number, in the text or as an argument, takes the type of the arrays that it meets
(float32 * 2.5 is float32; an integer that int32 cannot hold makes int64), a scalar that a ufunc has computed keeps its own,
and float32 with int32 gives float64. NumPy 1 looks at the value of every scalar and makes float32 - 100000 a float64
array. Results of types that kernels do not have (int8 and float16, which NumPy
makes of booleans) are refused.
"""
import functools
import math
import operator

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph as g

COMMON = g.numpy_common


class TraceError(TypeError):
    """The function does something that cannot be recorded; the text says what to write instead."""


PYTHON_NUMBERS = (int, float, bool)  # whose operators are Python's own until an array is met


def weakness(value):
    """Python numbers take the type of the arrays that they meet; whether int32 holds it. None: no Python number."""
    if type(value) not in PYTHON_NUMBERS:
        return None
    return "large" if type(value) is int and not -2**31 <= value < 2**31 else "small"


def replay(steps, numbers):
    """`numbers` of the arguments and what the steps of a recording make of them; None where a result is of another kind
    than in the recording."""
    numbers = list(numbers)
    for function, operands, kind in steps:
        result = function(*[numbers[v] if is_input else v for is_input, v in operands])
        if (type(result), weakness(result)) != kind:
            return None
        numbers.append(result)
    return numbers


class Trace:
    """One run of a function with stand-ins. What Python's operators make of Python numbers is computed by Python, with
    Python's types and errors, and is one more input of the kernel, behind the arguments."""
    __slots__ = ("alive", "inputs", "numbers", "weak", "steps", "refusal", "not_negative", "products", "extremes")

    def __init__(self, numbers, weak):
        self.alive = True
        self.inputs = []
        self.numbers = list(numbers)  # Python's number of each input, else None
        self.weak = weak              # `weakness` of each argument; None: numbers of this call have types of their own
        self.steps = []               # (Python's function, its operands: (input?, its number or a value), kind of the result)
        self.refusal = None      # the text of the first TraceError of this run: an error would keep what its frames hold
        self.not_negative = []   # integer nodes that NumPy raises ValueError for when one element is negative
        self.products = []       # operands of np.dot (whether both must be vectors, the two nodes)
        self.extremes = False    # min and max of no elements are an error

    def argument(self, i, kind, is_scalar):
        node = g.Node("input", kind, value=i)
        if is_scalar:
            node.mask = 0
        self.inputs.append(node)
        return Tracer(node, self, self.weak and self.weak[i], self.numbers[i])

    def compute(self, function, operands):
        """The stand-in of function(*operands), where all are Python numbers or stand for one."""
        if not self.alive:
            self.refuse(_KEPT)
        if any(type(o) is Tracer and o._trace is not self for o in operands):
            self.refuse(_TWO_CALLS)
        value = function(*[o._number if type(o) is Tracer else o for o in operands])
        if type(value) not in PYTHON_NUMBERS:
            self.refuse(f"a value of type {type(value).__name__} cannot be recorded; arrays, numbers and booleans can")
        self.steps.append((function, [(True, o._node.value) if type(o) is Tracer else (False, o) for o in operands],
                           (type(value), weakness(value))))
        node = g.Node("input", {bool: g.BOOL, int: g.I64, float: g.F64}[type(value)], value=len(self.inputs))
        node.mask = 0
        self.inputs.append(node)
        self.numbers.append(value)
        return Tracer(node, self, self.weak and weakness(value), value)

    def refuse(self, message):
        self.refusal = self.refusal or message
        raise TraceError(message)


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


_KEPT = "the function keeps an array of one call for the next: return it and pass it in again"
_TWO_CALLS = ("arrays of two calls meet: a value that a function keeps or reads from another function's call must be passed "
              "in as an argument")
_IN_PLACE = "changing an array in place (x += 1, x[i] = 1, out=) cannot be recorded; write x = x + 1, np.where(...)"
_INSTEAD = {"T": "pass in the transposed array", "shape": "pass the extent in as an argument",
            "size": "pass the number in as an argument", "ndim": "pass it in as an argument",
            "dot": "write np.dot(x, y)", "real": "write x"}


def _recorded(build):
    """A function of NumPy's signature on stand-ins: whatever it cannot do becomes a refusal."""
    @functools.wraps(build)
    def call(trace, *args, **kwargs):
        if not trace.alive:
            trace.refuse(_KEPT)
        try:
            return Tracer(build(trace, *args, **kwargs), trace)
        except TraceError as error:
            trace.refuse(str(error))
        except (TypeError, NotImplementedError, OverflowError) as error:
            trace.refuse(f"{error}; write it with NumPy's ufuncs, np.where and reductions over all elements")
    return call


class ByType(type):
    """NumPy asks whether one stand-in is of the other's class; nobody else may look at a stand-in's __class__."""

    def __instancecheck__(cls, instance):
        return type(instance) is cls


class Tracer(NDArrayOperatorsMixin, metaclass=ByType):
    """Stands for an array (or a scalar argument) while a function is recorded."""
    __slots__ = ("_node", "_trace", "_weak", "_number")

    def __init__(self, node, trace, weak=None, number=None):
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "_trace", trace)
        object.__setattr__(self, "_weak", weak)  # `weakness` of a Python number that takes the type of arrays
        object.__setattr__(self, "_number", number)  # the Python number itself

    @property
    def dtype(self):
        return g.DTYPE[self._node.kind]

    def astype(self, *args, **kwargs):
        narrow = _narrow.asked_for(*args, **kwargs) if self._trace.alive else None
        return _narrow.converted(self._trace, self._node, narrow) if narrow else _astype(self._trace, self, *args, **kwargs)

    def sum(self, *args, **kwargs):
        return _sum(self._trace, self, *args, **kwargs)

    def prod(self, *args, **kwargs):
        return _prod(self._trace, self, *args, **kwargs)

    def min(self, *args, **kwargs):
        return _min(self._trace, self, *args, **kwargs)

    def max(self, *args, **kwargs):
        return _max(self._trace, self, *args, **kwargs)

    def mean(self, *args, **kwargs):
        return _mean(self._trace, self, *args, **kwargs)

    def var(self, *args, **kwargs):
        return _var(self._trace, self, *args, **kwargs)

    def std(self, *args, **kwargs):
        return _std(self._trace, self, *args, **kwargs)

    def argmin(self, *args, **kwargs):
        return _argmin(self._trace, self, *args, **kwargs)

    def argmax(self, *args, **kwargs):
        return _argmax(self._trace, self, *args, **kwargs)

    def clip(self, *args, **kwargs):
        return _clip(self._trace, self, *args, **kwargs)

    def __divmod__(self, other):
        return (self // other, self % other) if self._number is not None else super().__divmod__(other)

    def __rdivmod__(self, other):
        return (other // self, other % self) if self._number is not None else super().__rdivmod__(other)

    def __pow__(self, other):
        if type(other) is not Tracer and self._node.kind == g.BOOL:  # NumPy 1 takes 2.0 for 2, and int8 for that
            self._trace.refuse("a power of booleans cannot be recorded; convert them: x.astype(np.int64)")
        if type(other) in (float, np.float64) and other == 0.5 and self._node.kind in g.FLOATS:  # NumPy calls sqrt for these
            return np.sqrt(self)
        return super().__pow__(other)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(type(i) is _narrow.Narrow for i in inputs):
            return NotImplemented  # its own method knows
        trace, name = self._trace, ufunc.__name__
        if kwargs.get("out") is not None or method == "at":
            trace.refuse(_IN_PLACE)
        if getattr(np, name, None) is not ufunc:
            trace.refuse(f"the ufunc {name} is not one of NumPy's; write it with those")
        if method == "reduce" and name in _UFUNC_REDUCE and kwargs.pop("axis", 0) is None:
            return _UFUNC_REDUCE[name](trace, *inputs, **kwargs)
        if method != "__call__":
            trace.refuse(f"np.{name}.{method} cannot be recorded; np.sum, np.min and np.max over all elements can")
        unknown = [k for k, v in kwargs.items() if v is not None and k not in ("casting", "order", "subok", "out")]
        if unknown or kwargs.get("casting", "same_kind") != "same_kind":
            trace.refuse(f"np.{name}: the arguments {', '.join(kwargs)} cannot be recorded; use np.where and astype")
        if name in _composed.UFUNCS:
            return _composed.UFUNCS[name](trace, *inputs)
        return _ufunc(trace, name, inputs)

    def __array_function__(self, func, types, args, kwargs):
        if _narrow.Narrow in types:
            return NotImplemented
        if func in _composed.FUNCTIONS:
            return _composed.FUNCTIONS[func](self._trace, *args, **kwargs)
        if func not in _FUNCTIONS:
            self._trace.refuse(f"np.{func.__name__} cannot be recorded; write it with ufuncs, np.where and reductions")
        return _FUNCTIONS[func](self._trace, *args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name in _composed.METHODS:
            return functools.partial(_composed.METHODS[name], self._trace, self)
        self._trace.refuse(f"an array's .{name} cannot be recorded: the function is compiled for all elements at once; "
                           + _INSTEAD.get(name, "use NumPy's ufuncs, np.where and reductions"))

    def __setattr__(self, name, value):
        self._trace.refuse(_IN_PLACE)

    @property
    def __class__(self):
        self._refuse("a question for an argument's type (isinstance)", "Ask for x.dtype, or write two functions.")


def _python_first(inherited, python, swapped=False):
    """An operator: Python's own between Python numbers, else NumPy's."""
    def method(self, *other):
        if self._number is not None and all(type(o) in PYTHON_NUMBERS or type(o) is Tracer and o._number is not None
                                            for o in other):
            return self._trace.compute(python, (*other, self) if swapped else (self, *other))
        return inherited(self, *other)
    return method


def _in_place(inherited, python):
    """A Python number has no place: k += 1 makes another."""
    def method(self, other):
        return inherited(self, other) if self._number is None else python(self, other)
    return method


for _name in "add sub mul truediv floordiv mod pow lshift rshift and_ xor or_".split():
    _python, _plain = getattr(operator, _name), _name.rstrip("_")
    for _prefix in ("", "r"):
        _method = f"__{_prefix}{_plain}__"
        setattr(Tracer, _method, _python_first(getattr(Tracer, _method), _python, bool(_prefix)))
    setattr(Tracer, f"__i{_plain}__", _in_place(getattr(Tracer, f"__i{_plain}__"), _python))
for _name in "lt le eq ne gt ge neg pos abs invert".split():
    setattr(Tracer, f"__{_name}__", _python_first(getattr(Tracer, f"__{_name}__"), getattr(operator, _name)))


def _refusal(what, instead):
    def method(self, *args, **kwargs):
        if self._number is not None and what in _OF_NUMBERS:
            self._trace.refuse(f"{_OF_NUMBERS[what]}, or bind the number with functools.partial, which records the function "
                               "for its value")
        self._trace.refuse(f"{what} cannot be recorded: the function is compiled for all elements at once. {instead}")
    return method


_BRANCH = "a Python branch on an array's value ('if', 'while', 'and', 'or', 'not', 'in', a chained comparison)"
_CONVERSION = "a conversion to a Python number (math.sin(x), float(x))"
_OF_NUMBERS = {  # for an argument that is a Python number
    _BRANCH: "a Python branch on a number that is an argument ('if', 'while', 'and', 'or', 'not', 'in', a chained comparison) "
             "cannot be recorded: the function is compiled for all values of its arguments. Use np.where(k > 0, a, b), and "
             "k == 0 for 'not k'",
    _CONVERSION: "a conversion of a number that is an argument (math.sin(k), float(k), range(k)) cannot be recorded: the function "
                 "is compiled for all values of its arguments. Use np.sin(k) and the like",
}
for _names, _what, _instead in (
        ("bool", _BRANCH,
         "Use np.where(condition, a, b), and & | ~ instead of and, or, not."),
        ("float int complex index floor ceil trunc round", _CONVERSION,
         "Use np.sin(x) and the like."),
        ("getitem", "indexing", "A compiled function sees one element of each array at a time."),
        ("setitem delitem", "a change of an array in place", "Use np.where(condition, a, b)."),
        ("len", "len() or the shape of an array", "Pass it in as an argument."),
        ("iter reversed contains", "iteration over an array", "Write the formula for one element."),
        ("array", "a conversion to an array", "Use NumPy's ufuncs, np.where and reductions."),
        ("hash", "a look-up by an argument", "Look it up outside and pass in what was found."),
        ("str repr format", "printing or formatting an array", "Print outside of the function.")):
    for _name in _names.split():
        setattr(Tracer, f"__{_name}__", _refusal(_what, _instead))
Tracer._refuse = lambda self, what, instead: _refusal(what, instead)(self)


def _operands(trace, values):
    """Graph nodes; Python numbers take the kind of the arrays that they meet, as in NumPy."""
    nodes = [v._node if type(v) is Tracer else None for v in values]
    for value in values:
        if type(value) is Tracer and value._trace is not trace:
            trace.refuse(_TWO_CALLS)
        if type(value) is Tracer and type(value._number) is int and not -2**63 <= value._number < 2**63:
            trace.refuse(f"the integer {value._number} needs more than 64 bits; write it as a float")
    kinds = [n.kind for n, v in zip(nodes, values) if n is not None and not v._weak]
    if kinds:
        nodes = [_weaker(n, v._weak, g.numexpr_common(kinds)) if n is not None and v._weak else n
                 for n, v in zip(nodes, values)]
    else:
        kinds = [n.kind for n in nodes if n is not None]
    for i, value in enumerate(values):
        if nodes[i] is None:
            nodes[i] = _constant(value, kinds)
    return nodes


def _weaker(node, weak, greatest):
    """A Python number that is an argument, in the type of the arrays that it meets, as _constant has it."""
    if greatest in g.FLOATS and node.kind != g.BOOL:
        return g.cast(node, greatest)
    if greatest == g.I32 and node.kind == g.I64:
        return node if weak == "large" else g.cast(node, g.I32)
    return node


def _constant(value, kinds):
    if isinstance(value, (np.ndarray, list, tuple)):
        raise TraceError("an array that is not an argument cannot be recorded: pass it in as one")
    greatest = g.numexpr_common(kinds) if kinds else g.BOOL
    if isinstance(value, (bool, np.bool_)):
        return g.const(bool(value))
    strong = isinstance(value, np.generic) and greatest == g.BOOL  # then its own type counts
    if strong and value.dtype not in _KIND or isinstance(value, np.longdouble):
        raise TraceError(f"a {value.dtype} cannot be recorded; bool, int32, int64, float32 and float64 can")
    if isinstance(value, (int, np.integer)):
        own, value = _KIND[value.dtype] if strong else g.I64, int(value)
        if greatest in g.FLOATS or greatest == g.I32 and -2**31 <= value < 2**31:
            return g.const(value, greatest)
        if not -2**63 <= value < 2**63:
            raise TraceError(f"the integer {value} needs more than 64 bits; write it as a float")
        return g.const(value, own)
    if isinstance(value, (float, np.floating)):
        kind = greatest if greatest in g.FLOATS else g.F32 if isinstance(value, np.float32) else g.F64
        return g.const(float(value), kind)
    raise TraceError(f"a value of type {type(value).__name__} cannot be recorded; arrays, numbers and booleans can")


_KIND = {dtype: kind for kind, dtype in g.DTYPE.items()}


def _as_bool(node):
    return g.cast(node, g.BOOL)


@_recorded
def _ufunc(trace, name, inputs):
    a = _operands(trace, inputs)
    if name in ("logical_and", "logical_or", "logical_xor"):
        return g.bitwise(_LOGICAL[name], _as_bool(a[0]), _as_bool(a[1]), COMMON)
    if name in _COMPARE:
        return g.compare(_COMPARE[name], *a, COMMON)
    if name in _BITWISE:
        return g.bitwise(_BITWISE[name], *a, COMMON)
    if name == "power":
        return _power(trace, *a)
    if name in _OF_BOOLEANS and all(n.kind == g.BOOL for n in a):
        return _OF_BOOLEANS[name](*a)
    if name in _UNARY_FLOAT or name in _BINARY_FLOAT or name in _ARITHMETIC or name in _SHIFT or name in ELEMENTWISE:
        if all(n.kind == g.BOOL for n in a):
            raise TraceError(f"np.{name} of booleans cannot be recorded; convert them: x.astype(np.float64) or np.int64")
    if name in _ROUNDING and a[0].kind in g.INTS and _ROUNDING_KEEPS_INTEGERS and name != "rint":
        return a[0]
    if name in _UNARY_FLOAT:
        return g.function(_UNARY_FLOAT[name], a, COMMON)
    if name in _BINARY_FLOAT:
        return g.function(_BINARY_FLOAT[name], a, COMMON)
    if name in _ARITHMETIC:
        return g.arithmetic(_ARITHMETIC[name], *a, COMMON)
    if name in _SHIFT:
        return g.shift(_SHIFT[name], *a, COMMON)
    if name not in ELEMENTWISE:
        raise TraceError(f"np.{name} cannot be recorded; write it with other ufuncs, np.where and reductions")
    return ELEMENTWISE[name](*a)


_ROUNDING_KEEPS_INTEGERS = np.floor(np.int64(1)).dtype.kind == "i"  # NumPy 2.1 and later


def _either(a, b):
    return g.bitwise("or", a, b, COMMON)


def _both(a, b):
    return g.bitwise("and", a, b, COMMON)


_OF_BOOLEANS = {
    "add": _either, "multiply": _both, "minimum": _both, "maximum": _either, "fmin": _both, "fmax": _either,
    "true_divide": lambda a, b: g.true_divide(a, b, COMMON), "divide": lambda a, b: g.true_divide(a, b, COMMON),
    "float_power": lambda a, b: g.power(g.cast(a, g.F64), g.cast(b, g.F64), COMMON),
    "absolute": lambda a: a, "logical_not": g.invert, "invert": g.invert,
    **{name: lambda a, value=value: g.where(g.compare("eq", a, a, COMMON), g.const(value), a, COMMON)
       for name, value in (("isfinite", True), ("isnan", False), ("isinf", False))},
}


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
    return g.Node("abs", a.kind, (a,))


def _floor_divide(a, b):
    kind = COMMON([a.kind, b.kind])
    a, b = g.cast(a, kind), g.cast(b, kind)
    if kind in g.INTS:
        return _floor_divide_integers(a, b, kind)
    node = lambda op, *args: g.Node(op, kind, args)  # noqa: E731
    zero, one = g.const(0, kind), g.const(1, kind)
    rest = node("fmod", a, b)
    negative = lambda x: g.Node("lt", g.BOOL, (x, zero))  # noqa: E731
    exact = node("div", node("sub", a, rest), b)  # an integer up to rounding
    below = _both(g.Node("ne", g.BOOL, (rest, zero)), g.Node("xor", g.BOOL, (negative(b), negative(rest))))
    exact = node("select", below, node("sub", exact, one), exact)
    floor = node("floor", exact)
    half = g.Node("gt", g.BOOL, (node("sub", exact, floor), g.const(0.5, kind)))
    floor = node("select", half, node("add", floor, one), floor)
    quotient = node("div", a, b)
    floor = node("select", g.Node("eq", g.BOOL, (exact, zero)), node("copysign", zero, quotient), floor)
    return node("select", g.Node("eq", g.BOOL, (b, zero)), quotient, floor)


def _floor_divide_integers(a, b, kind):
    """a minus C's remainder is a multiple of b. Its quotient through float64 is off by at most 2**11, which a second
    division of what is left mends; wrapping arithmetic loses nothing. By zero gives 0, as in NumPy."""
    zero = g.const(0, kind)
    rest = g.trunc_mod(a, b, COMMON)
    multiple, quotient = g.Node("sub", kind, (a, rest)), zero
    for _ in range(1 if kind == g.I32 else 3):
        left = g.Node("sub", kind, (multiple, g.Node("mul", kind, (quotient, b))))
        step = g.Node("rint", g.F64, (g.Node("div", g.F64, (g.cast(left, g.F64), g.cast(b, g.F64))),))
        quotient = g.Node("add", kind, (quotient, g.cast(step, kind)))
    signs_differ = g.Node("lt", g.BOOL, (g.Node("xor", kind, (rest, b)), zero))
    below = _both(g.Node("ne", g.BOOL, (rest, zero)), signs_differ)
    quotient = g.Node("select", kind, (below, g.Node("sub", kind, (quotient, g.const(1, kind))), quotient))
    return g.Node("select", kind, (g.Node("eq", g.BOOL, (b, zero)), zero, quotient))


def _power(trace, a, b):
    kind = COMMON([a.kind, b.kind])
    if g.BOOL == kind or a.kind == g.BOOL and b.is_const() and kind in g.INTS:
        raise TraceError("a power of booleans cannot be recorded; convert them: x.astype(np.int64)")
    if kind in g.FLOATS:
        if b.is_const() and b.value == 0.5:  # pow and sqrt differ at -0 and -inf
            return g.Node("pow", kind, (g.cast(a, kind), g.cast(b, kind)))
        return g.power(a, b, COMMON)
    a, b = g.cast(a, kind), g.cast(b, kind)
    if not b.is_const():
        trace.not_negative.append(_with_elements_of(b, a))
    return g.power(a, b, COMMON)  # a literal that is negative is NumPy's ValueError


def _with_elements_of(b, a):
    """b, once for each element of a and b."""
    return g.Node("add", b.kind, (b, g.Node("and", b.kind, (a, g.const(0, b.kind))))) if a.mask & ~b.mask else b


ELEMENTWISE = {
    "true_divide": lambda a, b: g.true_divide(a, b, COMMON),
    "divide": lambda a, b: g.true_divide(a, b, COMMON),
    "floor_divide": _floor_divide,
    "remainder": lambda a, b: g.floor_mod(a, b, COMMON),
    "fmod": lambda a, b: g.trunc_mod(a, b, COMMON),
    "float_power": lambda a, b: g.power(g.cast(a, g.F64), g.cast(b, g.F64), COMMON),
    "square": lambda a: g.arithmetic("mul", a, a, COMMON),
    "reciprocal": lambda a: g.true_divide(g.const(1, a.kind), a, COMMON) if a.kind in g.FLOATS else _no_integers(),
    "negative": g.negative,
    "positive": lambda a: a,
    "absolute": _absolute,
    "fabs": lambda a: g.function("abs", [a], COMMON),
    "sign": lambda a: g.where(g.compare("eq", a, g.const(0, a.kind), COMMON), g.const(0, a.kind),
                              g.Node("sign", a.kind, (a,)), COMMON),
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
    raise TraceError("np.reciprocal of integers cannot be recorded; write 1 // x, or 1 / x for floats")


def _scaled(a, factor):
    kind = a.kind if a.kind in g.FLOATS else g.F64
    return g.arithmetic("mul", g.cast(a, kind), g.const(factor, kind), COMMON)


def _convert(node, dtype):
    if dtype not in _KIND:
        raise TraceError(f"astype({dtype}) cannot be recorded; bool, int32, int64, float32 and float64 can")
    return g.cast(node, _KIND[dtype])


@_recorded
def _astype(trace, a, dtype):
    return _convert(*_operands(trace, [a]), np.dtype(dtype))


@_recorded
def _where(trace, condition, x=None, y=None):
    if x is None or y is None:
        raise TraceError("np.where(condition) without values cannot be recorded; write np.where(condition, a, b)")
    chosen = _operands(trace, [x, y])
    test = _operands(trace, [condition])[0]
    if test.is_const():
        raise TraceError("np.where with a Python condition cannot be recorded; write a if condition else b")
    if type(x) is not Tracer and type(y) is not Tracer:  # two Python numbers: as NumPy makes arrays of them
        if any(np.asarray(v).dtype not in _KIND for v in (x, y)):
            raise TraceError(f"np.where of {x!r} and {y!r} cannot be recorded; write them as int or float")
        chosen = [g.const(v, _KIND[np.asarray(v).dtype]) for v in (x, y)]
    return g.where(_as_bool(test), *chosen, COMMON)


@_recorded
def _clip(trace, a, a_min=None, a_max=None, out=None, *, min=None, max=None):  # noqa: A002
    if out is not None:
        raise TraceError(_IN_PLACE)
    a_min, a_max = a_min if min is None else min, a_max if max is None else max
    if a_min is not None:
        a = np.maximum(a, a_min)
    if a_max is not None:
        a = np.minimum(a, a_max)
    return _operands(trace, [a])[0]


def _all_elements(trace, a, axis, dtype, out, rest):
    if axis is not None or out is not None or any(v is not None and v is not np._NoValue for v in rest.values()):
        raise TraceError("only reductions over all elements can be recorded (no axis, out, keepdims, initial, where)")
    node = _operands(trace, [a])[0]
    return node if dtype is None else _convert(node, np.dtype(dtype))


def _reduce(op, node):
    """Over the elements of `node`; of a number it is the number."""
    return node if not node.mask else g.Node(op, node.kind, (node,))


def _joined(op, bool_refusal):
    @_recorded
    def build(trace, a, axis=None, dtype=None, out=None, **kwargs):
        node = _all_elements(trace, a, axis, dtype, out, kwargs)
        if dtype is None and node.kind in (g.BOOL, g.I32):
            node = g.cast(g.cast(node, g.I32), g.I64)
        if node.kind == g.BOOL:
            raise TraceError(bool_refusal)
        return _reduce(op, node)
    return build


_sum = _joined("sum", "a sum as bool cannot be recorded; write np.max(x != 0)")
_prod = _joined("prod", "a product as bool cannot be recorded; write np.min(x != 0)")


def _extreme(op):
    @_recorded
    def build(trace, a, axis=None, out=None, **kwargs):
        node = _all_elements(trace, a, axis, None, out, kwargs)
        if not node.mask:
            return node
        trace.extremes = True
        if node.kind == g.BOOL:
            return g.cast(g.Node(op, g.I32, (g.cast(node, g.I32),)), g.BOOL)
        return g.reduce(op, node, nan="keep")
    return build


_min, _max = _extreme("minof"), _extreme("maxof")


@_recorded
def _mean(trace, a, axis=None, dtype=None, out=None, **kwargs):
    node = _all_elements(trace, a, axis, dtype, out, kwargs)
    if dtype is not None and node.kind not in g.FLOATS:
        raise TraceError("a mean as an integer cannot be recorded; write np.mean(x).astype(...)")
    return _reduce("mean", g.cast(node, node.kind if node.kind in g.FLOATS else g.F64))


def _spread(op):
    @_recorded
    def build(trace, a, axis=None, dtype=None, out=None, ddof=0, **kwargs):
        node = _all_elements(trace, a, axis, dtype, out, kwargs)
        if dtype is not None and node.kind not in g.FLOATS:
            raise TraceError(f"np.{op} as an integer cannot be recorded; write np.{op}(x).astype(...)")
        if type(ddof) is not int or not node.mask:
            raise TraceError(f"np.{op} takes an array and a Python integer as ddof")
        kind = node.kind if node.kind in g.FLOATS else g.F64
        return g.Node(op, kind, (g.cast(node, kind), g.const(ddof, g.I64)))
    return build


_var, _std = _spread("var"), _spread("std")


def _located(op):
    @_recorded
    def build(trace, a, axis=None, out=None, **kwargs):
        node = _all_elements(trace, a, axis, None, out, kwargs)
        if not node.mask:
            raise TraceError(f"np.{op} of a number cannot be recorded: it is 0")
        trace.extremes = True
        return g.Node(op, g.I64, (g.cast(node, g.I32) if node.kind == g.BOOL else node,))
    return build


_argmin, _argmax = _located("argmin"), _located("argmax")


def _product(vectors_only):
    @_recorded
    def build(trace, a, b, out=None):
        if out is not None:
            raise TraceError(_IN_PLACE)
        x, y = _operands(trace, [a, b])
        kind = COMMON([x.kind, y.kind])
        if kind == g.BOOL:
            raise TraceError("np.dot of booleans cannot be recorded; write np.max(x & y)")
        x, y = g.cast(x, kind), g.cast(y, kind)
        if bool(x.mask) != bool(y.mask) and not vectors_only:
            raise TraceError("np.vdot of an array and a number cannot be recorded; write np.sum(x * y)")
        if not x.mask or not y.mask:  # a number times an array
            return g.Node("mul", kind, (x, y))
        trace.products.append((vectors_only, x, y))
        return g.Node("dot", kind, (x, y))
    return build


_UFUNC_REDUCE = {"add": _sum, "multiply": _prod, "minimum": _min, "maximum": _max}
_FUNCTIONS = {
    np.where: _where, np.clip: _clip, np.sum: _sum, np.prod: _prod, np.mean: _mean, np.dot: _product(True),
    np.vdot: _product(False), np.amin: _min, np.amax: _max, np.min: _min, np.max: _max,
    np.var: _var, np.std: _std, np.argmin: _argmin, np.argmax: _argmax,
}

from . import _composed, _narrow  # noqa: E402; they are written with the stand-ins of this module
