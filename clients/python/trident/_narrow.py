"""Stand-ins for arrays of 8- and 16-bit integers in @trident.jit. Kernels compute them in int32; NumPy itself says which type
a result has (it is asked with arrays of one element), and a result of a narrow type is wrapped to it, as NumPy's is."""
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph as g
from . import _refusals
from . import _tracer
from ._tracer import ByType, Tracer

DTYPES = tuple(map(np.dtype, (np.uint8, np.int8, np.uint16, np.int16)))
_WRAPPED = """add subtract multiply negative positive absolute square sign minimum maximum fmin fmax bitwise_and bitwise_or
bitwise_xor invert left_shift right_shift floor_divide remainder fmod""".split()
_REDUCTIONS = "sum prod min max mean var std argmin argmax any all".split()
_REDUCE = {**{getattr(np, name): name for name in _REDUCTIONS}, np.amin: "min", np.amax: "max"}
_REDUCE_OF_UFUNC = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_CURE = "convert it first: x.astype(np.int32) or np.float32"
_REFUSED = """bool float int complex index floor ceil trunc round getitem setitem delitem len iter reversed contains array hash str
repr format""".split()


class Narrow(NDArrayOperatorsMixin, metaclass=ByType):
    """Stands for an array of `dtype`; its node is int32 within the range of that."""
    __slots__ = ("_node", "_trace", "_number", "_dtype")

    def __init__(self, node, trace, dtype):
        for name, value in (("_node", node), ("_trace", trace), ("_number", None), ("_dtype", dtype)):
            object.__setattr__(self, name, value)

    @property
    def dtype(self):
        return self._dtype

    def astype(self, dtype):
        self._check_alive()
        return converted(self._trace, self._node, np.dtype(dtype))

    def clip(self, min=None, max=None):  # noqa: A002
        result = self if min is None else np.maximum(self, min)
        return result if max is None else np.minimum(result, max)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self._check_alive()
        name = ufunc.__name__
        if method == "reduce" and name in _REDUCE_OF_UFUNC:
            return self._reduced(_REDUCE_OF_UFUNC[name], inputs[1:], {"axis": 0, **kwargs})
        if method != "__call__" or kwargs or getattr(np, name, None) is not ufunc:
            self._refuse(f"np.{name} with these arguments")
        return self._computed(name, ufunc, inputs)

    def _computed(self, name, function, inputs):
        """function(*inputs) in the type that NumPy has for it."""
        with np.errstate(all="ignore"):
            made = function(*[self._sample(v) for v in inputs])
        dtype = made.dtype if type(made) is np.ndarray else None
        if dtype in DTYPES and name in _WRAPPED:
            return converted(self._trace, function(*[self._wide(v, g.I32) for v in inputs])._node, dtype)
        if dtype not in _tracer._KIND:
            self._refuse(f"np.{name} of {self._dtype}" + ("" if dtype is None else f", which has results of {dtype},"))
        kind = _tracer._KIND[dtype]
        return function(*[self._wide(v, kind if kind in g.FLOATS else g.I32) for v in inputs])

    def __array_function__(self, func, types, args, kwargs):
        self._check_alive()
        del types
        if func in _REDUCE and args:
            return args[0]._reduced(_REDUCE[func], args[1:], kwargs)
        if func is np.clip and len(args) <= 3 and not kwargs:
            return type(self).clip(*args)
        if func is np.where and len(args) == 3 and type(args[0]) is Tracer:
            made = np.where(np.zeros(1, bool), *map(self._sample, args[1:])).dtype
            if made in DTYPES:
                return converted(self._trace, np.where(args[0], *[self._wide(v, g.I32) for v in args[1:]])._node, made)
            if made in _tracer._KIND:
                kind = _tracer._KIND[made]
                return np.where(args[0], *[self._wide(v, kind) for v in args[1:]])
        self._refuse(f"np.{func.__name__} of {self._dtype}")

    def _reduced(self, name, args, kwargs):
        """NumPy's reduction `name`: along axes by NumPy in the narrow type, of all elements as int32."""
        function = _reductions.FUNCTIONS[getattr(np, name)] if name not in ("any", "all") else _composed.FUNCTIONS[getattr(np, name)]
        if args or kwargs:
            return function(self._trace, self, *args, **kwargs)
        dtype = getattr(np, name)(np.ones(1, self._dtype)).dtype
        if dtype not in DTYPES and dtype not in _tracer._KIND:
            self._refuse(f"np.{name} of {self._dtype}, which gives {dtype},")
        result = function(self._trace, self._wide(self, g.F64 if name in ("mean", "var", "std") else g.I32))
        return converted(self._trace, result._node, dtype) if dtype in DTYPES else result

    def _sample(self, value):
        if type(value) is Narrow or type(value) is Tracer:
            if value._trace is not self._trace:
                self._trace.refuse(_refusals.TWO_CALLS)
            if not value._node.mask:
                self._refuse(f"a number that is an argument, or reduced, beside an array of {self._dtype}")
            return np.ones(1, value.dtype)
        if type(value) is int or isinstance(value, np.integer) or type(value) is float and value == np.float16(value):
            return value
        self._refuse(f"a value of type {type(value).__name__} beside an array of {self._dtype}")

    def _wide(self, value, kind):
        if type(value) is Narrow:
            return Tracer(g.cast(value._node, kind), self._trace)
        return value

    def _check_alive(self):
        if not self._trace.alive:
            self._trace.refuse(_refusals.KEPT)

    def _refuse(self, what):
        self._trace.refuse(f"{what} cannot be recorded; {_CURE}")

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        self._refuse(f"{self._dtype}: an array's .{name}")

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
    bits, wide = 8 * dtype.itemsize, g.cast(node, g.I32)
    if dtype.kind == "u":
        return Narrow(g.Node("and", g.I32, (wide, g.const(2**bits - 1, g.I32))), trace, dtype)
    left = g.Node("shl", g.I32, (wide, g.const(32 - bits, g.I32)))
    return Narrow(g.Node("sar", g.I32, (left, g.const(32 - bits, g.I32))), trace, dtype)


from . import _composed, _reductions  # noqa: E402; they are written with these stand-ins
