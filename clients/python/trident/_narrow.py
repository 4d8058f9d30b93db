"""Stand-ins for arrays of the types that kernels load but do not compute in, in @trident.jit. Kernels compute 8- and 16-bit
integers in int32, uint32 in int64 and float16 in float32; NumPy itself says which type a result has (it is asked with arrays
of one element), and an integer result is wrapped to it, as NumPy's is.

uint64 is the same bits as int64; _unsigned.py has its order and its quotients. NumPy rounds each operation of float16, computed
in float32, to float16; so do kernels. All else is refused by name."""
import warnings

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph as g
from . import _refusals
from . import _tracer
from . import _unsigned
from ._tracer import ByType, Tracer

_COMPUTED_IN = {np.dtype(t): kind for kind, types in ((g.I32, (np.uint8, np.int8, np.uint16, np.int16)),
                                                      (g.I64, (np.uint32, np.uint64)), (g.F32, (np.float16,))) for t in types}
DTYPES = tuple(_COMPUTED_IN)
UINT64, FLOAT16 = np.dtype(np.uint64), np.dtype(np.float16)
_BITS = set("""add subtract multiply negative positive square bitwise_and bitwise_or bitwise_xor invert left_shift""".split())
_WRAPPED = _BITS | set("absolute sign minimum maximum fmin fmax right_shift floor_divide remainder fmod power".split())
_EXACT = set("negative positive absolute sign minimum maximum fmin fmax floor ceil trunc rint copysign".split())
_ROUNDED = set("""add subtract multiply divide true_divide square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan
arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot power floor_divide remainder fmod deg2rad radians rad2deg
degrees logaddexp logaddexp2 heaviside""".split())
_FIRST = {  # of float16: when NumPy takes the first operand, which tells the zeros apart
    "minimum": lambda a, b: (a <= b) | (a != a), "maximum": lambda a, b: (a >= b) | (a != a),
    "fmin": lambda a, b: (a <= b) | (b != b), "fmax": lambda a, b: (a >= b) | (b != b)}
_TRUTHS = set("logical_and logical_or logical_xor logical_not isnan isfinite isinf".split())
_REDUCTIONS = "sum prod min max mean var std argmin argmax any all".split()
_REDUCE = {**{getattr(np, name): name for name in _REDUCTIONS}, np.amin: "min", np.amax: "max"}
_REDUCE_OF_UFUNC = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_IN_FLOAT64 = "mean", "var", "std"
_BY_ORDER = "min", "max", "argmin", "argmax"
_OF_HALF = "min", "max", "sum", "mean"  # NumPy rounds these once; each product and each square of the others
_CURE = {UINT64: "convert the uint64 array first: x.astype(np.int64) or np.float64", FLOAT16: "convert it first: x.astype(np.float32)",
         np.dtype(np.uint32): "convert it first: x.astype(np.int64) or np.float64"}
_AS_FLOATS = {"round": "convert it first: x.astype(np.float64)"}
_REFUSED = """bool float int complex index floor ceil trunc round getitem setitem delitem len iter reversed contains array hash str
repr format""".split()


def kind_of(dtype):
    """The kind that kernels compute arrays of `dtype` in."""
    return _COMPUTED_IN[dtype]


class Narrow(NDArrayOperatorsMixin, metaclass=ByType):
    """Stands for an array of `dtype`; its node is of the kind that holds it, within the range of that type."""
    __slots__ = ("_node", "_trace", "_number", "_dtype")

    def __init__(self, node, trace, dtype):
        for name, value in (("_node", node), ("_trace", trace), ("_number", None), ("_dtype", dtype)):
            object.__setattr__(self, name, value)

    @property
    def dtype(self):
        return self._dtype

    def astype(self, dtype):
        self._check_alive()
        dtype = np.dtype(dtype)
        if dtype == self._dtype:
            return self
        kind = g.F32 if dtype == FLOAT16 else _tracer._KIND.get(dtype)
        return converted(self._trace, self._wide(self, kind)._node if kind in g.FLOATS else self._node, dtype)

    def clip(self, min=None, max=None):  # noqa: A002
        return self.bound(self, min, max)

    def bound(self, x, min=None, max=None):  # noqa: A002
        """x.clip(min, max): all three meet in one type before the first comparison."""
        dtype = self._type_of(np.clip, (x, min, max))
        x, min, max = (_as_type(v, dtype) for v in (x, min, max))  # noqa: A001
        x = x if min is None else np.maximum(x, min)
        return x if max is None else np.minimum(x, max)

    __copy__, __deepcopy__ = Tracer.__copy__, Tracer.__deepcopy__

    def __pow__(self, other):
        if type(other) in (float, np.float64) and other == 0.5 and self._dtype == FLOAT16:  # NumPy calls sqrt for these
            return np.sqrt(self)
        return super().__pow__(other)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self._check_alive()
        name = ufunc.__name__
        if method == "reduce" and name in _REDUCE_OF_UFUNC:
            return self._reduced(_REDUCE_OF_UFUNC[name], inputs[1:], {"axis": 0, **kwargs})
        if method != "__call__" or kwargs or getattr(np, name, None) is not ufunc:
            self._trace.refuse(f"np.{name}{method.replace('__call__', '')} of {self._dtype} with these arguments cannot be recorded; "
                               + (_refusals.OF_REDUCE.get(name, _refusals.ELSEWHERE) if method != "__call__" else "use np.where and astype"))
        return self._computed(name, ufunc, _plain(inputs))

    def _computed(self, name, function, inputs):
        """function(*inputs) in the type that NumPy has for it."""
        if name == "conjugate":
            name, function = "positive", np.positive
        if name == "divmod":
            return np.floor_divide(*inputs), np.remainder(*inputs)
        dtype = self._type_of(function, inputs)
        if dtype is None or not self._has(name, dtype, inputs):
            self._refuse(f"np.{name} of {self._dtype}" + ("" if dtype is None else f", which has results of {dtype},"), name, inputs)
        if _has_uint64(inputs) and name in _unsigned.OF_BITS and dtype in (UINT64, bool) and not _meets_floats(inputs):
            node = _unsigned.OF_BITS[name](*[g.cast(self._wide(v, g.I64)._node, g.I64) for v in _as_nodes(self._trace, inputs)])
            return Narrow(node, self._trace, dtype) if dtype == UINT64 else Tracer(node, self._trace)
        wide = [self._wide(v, self._kind(dtype, inputs)) for v in self._numbers_in_half(inputs)]
        result = np.where(_FIRST[name](*wide), *wide) if dtype == FLOAT16 and name in _FIRST else function(*wide)
        if dtype == FLOAT16 and name in _ROUNDED:
            return converted(self._trace, result._node, dtype)
        return _cut(self._trace, result._node, dtype) if dtype in DTYPES else result

    def _has(self, name, dtype, inputs):
        """Returns whether a kernel computes the ufunc `name` with results of `dtype` as NumPy does."""
        if _has_uint64(inputs):
            if name in _unsigned.OF_BITS and dtype in (UINT64, bool):  # NumPy 1 compares with signed integers in float64
                return not any(_is_signed(v) for v in inputs)
            return dtype in _tracer._KIND or dtype == UINT64 and (name in _BITS or name == "power" and not _is_uint64(inputs[-1]))
        known = _EXACT | _ROUNDED if dtype == FLOAT16 else _WRAPPED
        return dtype in _tracer._KIND or dtype in DTYPES and name in known

    def _numbers_in_half(self, inputs):
        """The inputs of an operation; its numbers rounded, where NumPy takes them as float16."""
        with np.errstate(all="ignore"):
            half = np.result_type(*[self._sample(v, inputs, np.ones) for v in inputs]) == FLOAT16
            return [float(np.float16(v)) if half and type(v) not in (Narrow, Tracer) else v for v in inputs]

    @staticmethod
    def _kind(dtype, inputs):
        """The kind to compute in, where NumPy's result is of `dtype`."""
        kind = kind_of(dtype) if dtype in DTYPES else _tracer._KIND[dtype]
        if kind in g.FLOATS:
            return kind
        if _has_uint64(inputs) and _meets_floats(inputs):
            return g.F64
        kinds = [v._node.kind for v in inputs if type(v) is Narrow]
        return g.F32 if g.F32 in kinds else g.I64 if g.I64 in kinds else g.I32

    def __array_function__(self, func, types, args, kwargs):
        self._check_alive()
        del types
        args = _plain(args)
        if func in _REDUCE and args:
            return args[0]._reduced(_REDUCE[func], args[1:], kwargs)
        if func is np.clip and len(args) <= 3 and not kwargs.keys() - {"a_min", "a_max"}:
            return self.bound(*args, **{name[2:]: v for name, v in kwargs.items()})
        if func is np.where and len(args) == 3 and not kwargs:
            return self._where(*args)
        if func in _narrow_functions.FUNCTIONS:
            result = _narrow_functions.FUNCTIONS[func](self, *args, **kwargs)
            if result is not NotImplemented:
                return result
        name = _refusals.named(func).rstrip("_")
        self._refuse(f"np.{name} of {self._dtype}", name)

    def _where(self, condition, x, y):
        if type(condition) is Narrow:
            condition = condition.astype(np.bool_)
        if Narrow not in (type(x), type(y)):
            return np.where(condition, x, y) if type(condition) is Tracer else _tracer._where(self._trace, condition, x, y)
        if type(condition) is not Tracer:
            condition = _tracer._where(self._trace, condition, True, False)
        return self._chosen(np.where, lambda values: (np.zeros(1, bool), *values), lambda values: (condition, *values), (x, y))

    def _chosen(self, function, with_samples, with_values, values):
        """The outcome of a function that chooses among values, which are of the type that NumPy finds for all of them."""
        dtype = self._type_of(lambda *samples: function(*with_samples(samples)), values)
        if dtype not in DTYPES and dtype not in _tracer._KIND:
            self._refuse(f"np.{function.__name__} of {self._dtype}, which has results of {dtype},")
        result = function(*with_values([self._wide(v, self._kind(dtype, values)) for v in self._numbers_in_half(values)]))
        return _cut(self._trace, result._node, dtype) if dtype in DTYPES else result

    def _reduced(self, name, args, kwargs):
        """NumPy's reduction `name`: along axes by NumPy in the type itself, of all elements in what kernels compute in."""
        function = _reductions.FUNCTIONS[getattr(np, name)] if name not in ("any", "all") else _composed.FUNCTIONS[getattr(np, name)]
        rest = {k: v for k, v in kwargs.items() if v is not None and v is not np._NoValue and v is not False}
        if any(a is not None for a in args) or rest.keys() - {"ddof"} or rest and name not in ("var", "std") or self._trace.along:
            if (args and args[0] is not None) or {"axis", "keepdims"} & rest.keys() or self._trace.along:
                return function(self._trace, self, *args, **kwargs)
            if rest.keys() == {"dtype"}:
                self._trace.refuse(_refusals.of_dtype(name, np.dtype(rest["dtype"])))
            self._trace.refuse(_refusals.REDUCED_IN_PART)
        dtype = getattr(np, name)(np.ones(1, self._dtype)).dtype
        if dtype == FLOAT16 and name not in _OF_HALF or dtype not in DTYPES and dtype not in _tracer._KIND:
            self._refuse(f"np.{name} of {self._dtype}, which gives {dtype},")
        wide = self._wide(self, g.F64 if name in _IN_FLOAT64 and dtype != FLOAT16 else self._node.kind)
        by_order = self._dtype == UINT64 and name in _BY_ORDER
        result = function(self._trace, Tracer(_unsigned.ordered(wide._node), self._trace) if by_order else wide, **rest)
        if by_order and dtype == UINT64:
            return Narrow(_unsigned.ordered(result._node), self._trace, dtype)
        if dtype == FLOAT16 and name not in _BY_ORDER:
            return converted(self._trace, result._node, dtype)
        return _cut(self._trace, result._node, dtype) if dtype in DTYPES else result

    def _type_of(self, function, values):
        """The type of function(*values), of one result; None for another. Numbers count as arrays of their type do. NumPy 1 takes
        some of them for less, so it is asked twice."""
        asked = lambda one: function(*[None if v is None else self._sample(v, values, one) for v in values])  # noqa: E731
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dtype = getattr(asked(np.ones), "dtype", None)
            try:
                of_numbers = getattr(asked(_one), "dtype", None)
            except TypeError:
                of_numbers = "an error"
        if dtype != of_numbers:
            self._refuse(f"{self._dtype} beside a number that is an argument, or a total, of another type (NumPy 1 makes {of_numbers} of "
                         f"them, NumPy 2 {dtype})", inputs=values)
        return dtype

    def _sample(self, value, beside, one):
        """An array of one element, or a number, of the type that `value` has to NumPy. `one`: makes those of numbers."""
        if type(value) is Narrow or type(value) is Tracer:
            if value._trace is not self._trace:
                self._trace.refuse(_refusals.TWO_CALLS)
            if value._number is not None:
                return self._number_sample(value, [v for v in beside if type(v) is Narrow])
            return (np.ones if value._node.mask else one)(1, value.dtype)
        if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            return value
        self._trace.refuse(_refusals.of_value(value))

    def _number_sample(self, value, narrow):
        """Python's number of this call, which must fit the arrays that it meets in every call."""
        if any(v._dtype.kind == "f" or not v._node.mask for v in narrow) or type(value._number) is bool:
            self._refuse(f"a number that is an argument beside an array or a number of {self._dtype}")
        if type(value._number) is int:
            self._trace.fits += [(value._node.value, v._dtype) for v in narrow]
        return type(value._number)(1)

    def _wide(self, value, kind):
        if _is_uint64(value) and kind in g.FLOATS:
            return Tracer(_unsigned.as_float(value._node, kind), self._trace)
        if type(value) is Narrow:
            return Tracer(g.cast(value._node, kind), self._trace)
        if kind == g.I64 and self._dtype == UINT64 and type(value) is not Tracer and 2**63 <= value < 2**64:
            return _unsigned.wrapped(value)
        return value

    def _check_alive(self):
        if not self._trace.alive:
            self._trace.refuse(_refusals.KEPT)

    def _refuse(self, what, name=None, inputs=()):
        """Refuses `what`; `name`: of NumPy's function that was asked for, on `inputs`."""
        cure = _CURE[UINT64] if _has_uint64(inputs) else _CURE.get(self._dtype, "convert it first: x.astype(np.int32) or np.float32")
        if name is not None and not _tracer.knows(name):
            cure = _refusals.INSTEAD_OF.get(name, _refusals.ELSEWHERE)
        if name == "reciprocal" and self._dtype.kind != "f":
            cure = _refusals.INSTEAD_OF[name]
        self._trace.refuse(f"{what} cannot be recorded; {_AS_FLOATS.get(name, cure)}")

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name in ("ptp", "round", "copy", "conj", "conjugate"):
            return lambda *args, **kwargs: getattr(np, name)(self, *args, **kwargs)
        self._trace.refuse(_refusals.of_attribute(name))

    __setattr__ = Tracer.__setattr__

    @property
    def __class__(self):
        self._trace.refuse("a question for an argument's type (isinstance) cannot be recorded. Ask for x.dtype, or write two "
                           "functions.")


def _method(name):
    def method(self, *args, **kwargs):
        self._check_alive()
        return self._reduced(name, args, kwargs)
    return method


for _name in _REDUCTIONS:
    setattr(Narrow, _name, _method(_name))
for _name in _REFUSED:
    setattr(Narrow, f"__{_name}__", getattr(Tracer, f"__{_name}__"))


def asked_for(dtype=None, **others):
    """The narrow type that an astype() asks for; None for another, and for what is none."""
    try:
        return next((d for d in DTYPES if not others and dtype is not None and d == np.dtype(dtype)), None)
    except TypeError:
        return None


def converted(trace, node, dtype):
    """The stand-in of `node` as `dtype`, as a cast of NumPy has it."""
    if dtype not in DTYPES:
        return Tracer(_tracer._convert(node, dtype), trace)
    if dtype == FLOAT16 and node.kind == g.F64:  # by way of float32 it would be rounded twice
        trace.refuse("a conversion of float64 to float16 cannot be recorded; convert the result: f(x).astype(np.float16)")
    if dtype == FLOAT16:
        return Narrow(g.Node("f16", g.F32, (g.cast(node, g.F32),)), trace, dtype)
    if dtype == UINT64 and node.kind in g.FLOATS:
        trace.refuse("a conversion of floats to uint64 cannot be recorded; convert to np.int64, or convert the result")
    return _cut(trace, node, dtype)


def of_booleans(ufunc, inputs):
    """The stand-in of a ufunc of booleans that NumPy computes in int8 or float16, as it does of int8; None for another."""
    if not all(type(v) is Tracer and v._node.kind == g.BOOL and v._number is None for v in inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            dtypes = {ufunc(*[np.ones(1, dtype)] * len(inputs)).dtype for dtype in (np.bool_, np.int8)}
    except (AttributeError, TypeError):  # two results, or none
        return None
    if len(dtypes) != 1 or not dtypes <= {np.dtype(np.int8), FLOAT16}:
        return None
    return ufunc(*[v.astype(np.int8) for v in inputs])


def _cut(trace, node, dtype):
    """The stand-in of `node`, wrapped to an integer type; a float16 is one already."""
    kind = kind_of(dtype)
    wide, bits, all_bits = g.cast(node, kind), 8 * dtype.itemsize, 64 if kind == g.I64 else 32
    if bits == all_bits or dtype == FLOAT16:
        return Narrow(wide, trace, dtype)
    if dtype.kind == "u":
        return Narrow(g.Node("and", kind, (wide, g.const(2**bits - 1, kind))), trace, dtype)
    left = g.Node("shl", kind, (wide, g.const(all_bits - bits, kind)))
    return Narrow(g.Node("sar", kind, (left, g.const(all_bits - bits, kind))), trace, dtype)


def _is_uint64(value):
    return type(value) is Narrow and value._dtype == UINT64


def _has_uint64(inputs):
    return any(map(_is_uint64, inputs))


def _meets_floats(inputs):
    """Returns whether NumPy takes uint64 for float64 among these: beside floats and negative numbers."""
    return any(v < 0 or isinstance(v, (float, np.floating)) if type(v) not in (Tracer, Narrow) else v.dtype.kind == "f" for v in inputs)


def _is_signed(value):
    """Returns whether a stand-in is of signed integers; Python's numbers that fit an array of uint64 are not."""
    return type(value) in (Tracer, Narrow) and value.dtype.kind == "i" and value._number is None


def _as_nodes(trace, inputs):
    """Numbers as stand-ins, too."""
    return [v if type(v) in (Tracer, Narrow) else Tracer(g.const(_unsigned.wrapped(v), g.I64), trace) for v in inputs]


def _plain(values):
    """The values, with NumPy's numbers for its arrays without dimensions."""
    return [v[()] if type(v) is np.ndarray and v.ndim == 0 else v for v in values]


def _as_type(value, dtype):
    """A value that meets others in `dtype`; Python's numbers of a call meet them by themselves."""
    if type(value) not in (Tracer, Narrow):
        return value if value is None else dtype.type(value)
    return value if value._number is not None else value.astype(dtype)


def _one(_, dtype):
    return dtype.type(1)


from . import _composed, _narrow_functions, _reductions  # noqa: E402; they are written with these stand-ins
