"""Stand-ins for arrays that record what a function does to them: operators, NumPy's ufuncs (_elementwise.py), where, clip and
reductions (_reductions.py), each built with NumPy's types and NumPy's results in the corner cases. Functions that NumPy
makes of these (select, any, nan_to_num) are in _composed.py.

Everything else that an array can do is refused by a TraceError that says what to write instead. A refusal marks the
trace as spoilt, so a function that catches the error (`except TypeError`) does not slip through with the other branch;
and a stand-in ends with its trace, so one that a function keeps for its next call is refused there. What no stand-in can
see is a question about the object instead of its value: type(x), id(x), x is y.

Types follow NumPy 2: a Python number, in the text or as an argument, takes the type of the arrays that it meets
(float32 * 2.5 is float32; an integer that int32 cannot hold makes int64), a scalar that a ufunc has computed keeps its own,
and float32 with int32 gives float64. NumPy 1 looks at the value of every scalar and makes float32 - 100000 a float64
array. The int8 and float16 that NumPy makes of booleans are stand-ins
of _narrow.py.
"""
import functools
import math
import operator

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _elementwise
from . import _graph as g
from . import _refusals
from ._elementwise import COMMON, as_bool
from ._refusals import BRANCH, CONVERSION, ELSEWHERE, IN_PLACE, INSTEAD_OF, KEPT, OF_NUMBERS, OF_REDUCE, TWO_CALLS, TraceError

PYTHON_NUMBERS = (int, float, bool)  # whose operators are Python's own until an array is met


def weakness(value):
    """Python numbers take the type of the arrays that they meet; whether int32 holds it, or int64 ("large"). None: no Python number."""
    if type(value) not in PYTHON_NUMBERS:
        return None
    if type(value) is not int or -2**31 <= value < 2**31:
        return "small"
    return "large" if -2**63 <= value < 2**63 else "huge"


def replay(steps, numbers):
    """`numbers` of the arguments and what the steps of a recording make of them; None where a result is of another kind
    than in the recording."""
    numbers = list(numbers)
    for function, operands, kind in steps:
        if function is None:  # an array that is computed at each call
            numbers.append(None)
            continue
        result = function(*[numbers[v] if is_input else v for is_input, v in operands])
        if (type(result), weakness(result)) != kind:
            return None
        numbers.append(result)
    return numbers


class Trace:
    """One run of a function with stand-ins. What Python's operators make of Python numbers is computed by Python, with
    Python's types and errors, and is one more input of the kernel, behind the arguments."""
    __slots__ = ("alive", "inputs", "numbers", "weak", "steps", "refusal", "not_negative", "extremes", "along", "fits")

    def __init__(self, numbers, weak):
        self.alive = True
        self.inputs = []
        self.numbers = list(numbers)  # Python's number of each input, else None
        self.weak = weak              # `weakness` of each argument; None: numbers of this call have types of their own
        self.steps = []               # (Python's function, its operands: (input?, its number or a value), kind of the result)
        self.refusal = None      # the text of the first TraceError of this run: an error would keep what its frames hold
        self.not_negative = []   # integer nodes that NumPy raises ValueError for when one element is negative
        self.extremes = False    # min and max of no elements are an error
        self.along = []          # reductions along axes (_axes.py)
        self.fits = []           # (input that is a Python integer, type of an array that it meets and must fit)

    def argument(self, i, kind, is_scalar):
        node = g.Node("input", kind, value=i)
        if is_scalar:
            node.mask = 0
        self.inputs.append(node)
        return Tracer(node, self, self.weak and self.weak[i], self.numbers[i])

    def compute(self, function, operands):
        """The stand-in of function(*operands), where all are Python numbers or stand for one."""
        if not self.alive:
            self.refuse(KEPT)
        if any(type(o) is Tracer and o._trace is not self for o in operands):
            self.refuse(TWO_CALLS)
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

    def made_outside(self, kind):
        """An input that no kernel computes from its elements alone, and that is computed at each call."""
        node = g.Node("input", kind, value=len(self.inputs))
        self.inputs.append(node)
        self.numbers.append(None)
        self.steps.append((None, (), None))
        return node

    def known_before(self, results):
        """Nodes whose values reductions along axes have computed before the results: id -> its input."""
        known = {}
        for along in self.along:
            if any(along.operand is r for r in results):
                break
            if along.whole is not None:
                known[id(along.node)] = along.whole
        return known

    def refuse(self, message):
        self.refusal = self.refusal or message
        raise TraceError(message)


def recorded(build):
    """A function of NumPy's signature on stand-ins: whatever it cannot do becomes a refusal."""
    @functools.wraps(build)
    def call(trace, *args, **kwargs):
        if not trace.alive:
            trace.refuse(KEPT)
        try:
            return Tracer(build(trace, *args, **kwargs), trace)
        except TraceError as error:
            trace.refuse(str(error))
        except (TypeError, NotImplementedError, OverflowError) as error:
            cure = "convert it: x.astype(np.int64)" if "integers" in str(error) or "an integer" in str(error) else \
                "write it with NumPy's ufuncs, np.where and reductions over all elements"
            trace.refuse(f"{error}; {cure}")
    return call


class ByType(type):
    """NumPy asks whether one stand-in is of the other's class; nobody else may look at a stand-in's __class__."""

    def __instancecheck__(cls, instance):
        return type(instance) is cls


class Tracer(NDArrayOperatorsMixin, metaclass=ByType):
    """Stands for an array (or a scalar argument) while a function is recorded."""
    __slots__ = ("_node", "_trace", "_weak", "_number", "_is_item")

    def __init__(self, node, trace, weak=None, number=None, is_item=False):
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "_trace", trace)
        object.__setattr__(self, "_weak", weak)  # `weakness` of a Python number that takes the type of arrays
        object.__setattr__(self, "_number", number)  # the Python number itself
        object.__setattr__(self, "_is_item", is_item)  # returned, it is a Python number, as NumPy's function returns one

    @property
    def dtype(self):
        return g.DTYPE[self._node.kind]

    def astype(self, *args, **kwargs):
        narrow = _narrow.asked_for(*args, **kwargs) if self._trace.alive else None
        return _narrow.converted(self._trace, self._node, narrow) if narrow else _astype(self._trace, self, *args, **kwargs)

    def sum(self, *args, **kwargs):
        return _reductions.sum_(self._trace, self, *args, **kwargs)

    def prod(self, *args, **kwargs):
        return _reductions.prod_(self._trace, self, *args, **kwargs)

    def min(self, *args, **kwargs):
        return _reductions.min_(self._trace, self, *args, **kwargs)

    def max(self, *args, **kwargs):
        return _reductions.max_(self._trace, self, *args, **kwargs)

    def mean(self, *args, **kwargs):
        return _reductions.mean_(self._trace, self, *args, **kwargs)

    def var(self, *args, **kwargs):
        return _reductions.var_(self._trace, self, *args, **kwargs)

    def std(self, *args, **kwargs):
        return _reductions.std_(self._trace, self, *args, **kwargs)

    def argmin(self, *args, **kwargs):
        return _reductions.argmin_(self._trace, self, *args, **kwargs)

    def argmax(self, *args, **kwargs):
        return _reductions.argmax_(self._trace, self, *args, **kwargs)

    def clip(self, *args, **kwargs):
        narrow = [v for v in (*args, *kwargs.values()) if type(v) is _narrow.Narrow]
        return narrow[0].bound(self, *args, **kwargs) if narrow else _clip(self._trace, self, *args, **kwargs)

    def __copy__(self):
        return self  # nothing changes it

    def __deepcopy__(self, memo):
        return self

    def __divmod__(self, other):
        return (self // other, self % other) if self._number is not None else super().__divmod__(other)

    def __rdivmod__(self, other):
        return (other // self, other % self) if self._number is not None else super().__rdivmod__(other)

    def __pow__(self, other):
        if type(other) is not Tracer and self._node.kind == g.BOOL:  # NumPy 1 takes 2.0 for 2, and int8 for that
            self._trace.refuse("a power of booleans cannot be recorded; convert them: x.astype(np.int64)")
        if type(other) in (float, np.float64) and other == 0.5 and self._node.kind in g.FLOATS:  # NumPy calls sqrt for these
            return np.sqrt(self)
        if type(other) is Tracer and self._node.mask and not other._node.mask and {self._node.kind, other._node.kind} <= {*g.FLOATS}:
            return _raised(self._trace, self, other)
        return super().__pow__(other)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(type(i) is _narrow.Narrow for i in inputs):
            return NotImplemented  # its own method knows
        trace, name = self._trace, ufunc.__name__
        if kwargs.get("out") is not None or method == "at":
            trace.refuse(IN_PLACE)
        if getattr(np, name, None) is not ufunc:
            trace.refuse(f"the ufunc {name} is not one of NumPy's; write it with those")
        if method == "reduce" and name in _reductions.UFUNC_REDUCE:
            return _reductions.UFUNC_REDUCE[name](trace, *inputs, **{"axis": 0, **kwargs})
        if method != "__call__":
            trace.refuse(f"np.{name}.{method} cannot be recorded; {OF_REDUCE.get(name, ELSEWHERE)}")
        unknown = [k for k, v in kwargs.items() if v is not None and k not in ("casting", "order", "subok", "out")]
        if unknown or kwargs.get("casting", "same_kind") != "same_kind":
            trace.refuse(f"np.{name}: the arguments {', '.join(kwargs)} cannot be recorded; use np.where and astype")
        if name in _composed.UFUNCS:
            return _composed.UFUNCS[name](trace, *inputs)
        narrow = _narrow.of_booleans(ufunc, inputs)
        return _ufunc(trace, name, inputs) if narrow is None else narrow

    def __array_function__(self, func, types, args, kwargs):
        if _narrow.Narrow in types:
            return NotImplemented
        if func in _composed.FUNCTIONS:
            return _composed.FUNCTIONS[func](self._trace, *args, **kwargs)
        if func not in FUNCTIONS:
            name = _refusals.named(func)
            self._trace.refuse(f"np.{name} cannot be recorded; {INSTEAD_OF.get(name, ELSEWHERE)}")
        return FUNCTIONS[func](self._trace, *args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name in _composed.METHODS:
            return functools.partial(_composed.METHODS[name], self._trace, self)
        self._trace.refuse(_refusals.of_attribute(name))

    def __setattr__(self, name, value):
        self._trace.refuse(IN_PLACE)

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
        if self._number is not None and what in OF_NUMBERS:
            self._trace.refuse(f"{OF_NUMBERS[what]}, or bind the number with functools.partial, which records the function "
                               "for its value")
        self._trace.refuse(f"{what} cannot be recorded: the function is compiled for all elements at once. {instead}")
    return method


for _names, _what, _instead in (
        ("bool", BRANCH,
         "Use np.where(condition, a, b), and & | ~ instead of and, or, not."),
        ("float int complex index floor ceil trunc round", CONVERSION,
         "Use np.sin(x), np.round(x), x.astype(np.int64) and the like."),
        ("getitem", "indexing", "Pass parts in as arguments, f(x[1:], x[:-1]), or write a loop with @trident.function."),
        ("setitem delitem", "a change of an array in place", "Use np.where(condition, a, b)."),
        ("len", "len() or the shape of an array", "Pass it in as an argument."),
        ("iter reversed contains", "iteration over an array", "Write the formula for one element."),
        ("array", "a conversion to an array", "Write x.astype(np.float32) for np.float32(x), else use NumPy's ufuncs, np.where and reductions."),
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
            trace.refuse(TWO_CALLS)
        if type(value) is Tracer and type(value._number) is int and not -2**63 <= value._number < 2**63:
            trace.refuse(f"the integer {value._number} needs more than 64 bits; write it as a float")
    kinds = [n.kind for n, v in zip(nodes, values) if n is not None and not v._weak]
    if kinds:
        nodes = [_weaker(n, v._weak, COMMON(kinds)) if n is not None and v._weak else n
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
        return g.cast(node, g.I32) if weak == "small" else node
    return node


def _constant(value, kinds):
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.ndarray, list, tuple)):
        raise TraceError(_refusals.of_value(value))
    greatest = COMMON(kinds) if kinds else g.BOOL
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
    raise TraceError(_refusals.of_value(value))


_KIND = {dtype: kind for kind, dtype in g.DTYPE.items()}


def _convert(node, dtype):
    if dtype not in _KIND:
        raise TraceError(f"astype({dtype}) cannot be recorded; bool, integers and floats up to 64 bits can")
    return g.cast(node, _KIND[dtype])


@recorded
def _astype(trace, a, dtype):
    return _convert(*_operands(trace, [a]), np.dtype(dtype))


@recorded
def _where(trace, condition, x=None, y=None):
    if x is None or y is None:
        raise TraceError("np.where(condition) without values cannot be recorded; write np.where(condition, a, b)")
    chosen = _operands(trace, [x, y])
    test = as_bool(_operands(trace, [condition])[0])
    if test.is_const():  # both values count for type and shape all the same
        zero = g.const(0, g.I32)
        test = g.Node("eq" if test.value else "ne", g.BOOL, (zero, zero))
    if type(x) is not Tracer and type(y) is not Tracer:  # two Python numbers: as NumPy makes arrays of them
        if any(np.asarray(v).dtype not in _KIND for v in (x, y)):
            raise TraceError(f"np.where of {x!r} and {y!r} cannot be recorded; write them as int or float")
        chosen = [g.const(v, _KIND[np.asarray(v).dtype]) for v in (x, y)]
    return g.where(test, *chosen, COMMON)


@recorded
def _clip(trace, a, a_min=None, a_max=None, out=None, *, min=None, max=None):  # noqa: A002
    if out is not None:
        raise TraceError(IN_PLACE)
    bounds = {"maximum": a_min if min is None else min, "minimum": a_max if max is None else max}
    bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    nodes = _operands(trace, [a, *bounds.values()])
    kind = COMMON([n.kind for n in nodes])  # all three meet before the first comparison
    result, *nodes = [g.cast(n, kind) for n in nodes]
    for name, node in zip(bounds, nodes):
        result = _elementwise.built(trace, name, [result, node])
    return result


@recorded
def _raised(trace, a, exponent):
    """An array to a power that is known at the call: for a half NumPy calls sqrt, whose results at -0 and -inf are others."""
    power = _elementwise.built(trace, "power", _operands(trace, [a, exponent]))
    is_half = g.Node("eq", g.BOOL, (exponent._node, g.const(0.5, exponent._node.kind)))
    return g.where(is_half, g.Node("sqrt", power.kind, (g.cast(a._node, power.kind),)), power, COMMON)


@recorded
def _ufunc(trace, name, inputs):
    return _elementwise.built(trace, name, _operands(trace, inputs))


from . import _composed, _narrow, _reductions  # noqa: E402; they are written with the stand-ins of this module

FUNCTIONS = {np.where: _where, np.clip: _clip, **_reductions.FUNCTIONS}


def knows(name):
    """Returns whether NumPy's function of that name can be recorded."""
    module, _, plain = name.rpartition(".")
    function = vars(getattr(np, module) if module else np).get(plain)  # getattr() warns of old names
    return _elementwise.knows(name) or name in _composed.UFUNCS or function in FUNCTIONS or function in _composed.FUNCTIONS
