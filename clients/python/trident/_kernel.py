"""Contexts and kernels: thin objects over the handles of trident.h."""
import ctypes
import json
import math
import os
import weakref
from collections.abc import Mapping

import numpy as np

from . import _cache
from . import _native as native
from . import _program
from . import _short_call
from . import _threads
from ._native import TridentError, lib
from ._operand import checked, converted, refuse_mask
from ._promise import K_DEFAULT, Promise, integer, names, one_of, shown
from ._strided import address, axes_of, empty, in_c_order, is_plain, lies_apart, meet, same_elements, strides_of

_TIER_MAX = 2
_TABLE = 2  # enum trident_variable_kind
_FLOAT_RANGE = (float("-inf"), float("inf"))


class _Handle:
    """Owns a pointer of the library, which is closed when nobody refers to it any more: never while a call uses it."""
    __slots__ = ("_as_parameter_", "shown", "__weakref__")

    def __init__(self, pointer, close):
        self._as_parameter_ = pointer
        self.shown = False  # of a kernel: the library has seen arguments
        # No __del__: while one runs, other threads and handlers of signals still find the handle in a dictionary of weak
        # references. These are dead before the pointer is closed here.
        weakref.finalize(self, close, pointer).atexit = False

    def __reduce_ex__(self, protocol):
        raise TypeError("a pointer of libtrident cannot be copied or pickled")


class Context:
    """A connection to the compiler: mode "auto" (daemon, else the embedded engine, else the interpreter), "daemon",
    "embedded" or "interp". Kernels work at once and for ever, whatever happens to the daemon. Unless speculate is False
    or the environment says TRIDENT_SPECULATE=0, the daemon is told the least and greatest values of a kernel's first
    arguments, and may send code that is fast in such ranges; it checks every element."""

    def __init__(self, mode="auto", socket_path=None, connect_timeout_ms=0, *, speculate=True):
        options = native.Options(ctypes.sizeof(native.Options), one_of(native.MODES, mode, "mode"),
                                 _path_bytes(socket_path),
                                 integer(connect_timeout_ms, "connect_timeout_ms"), 0 if speculate else 1)
        self._handle = None
        pointer = ctypes.c_void_p()
        native.check(lib.trident_open(ctypes.byref(options), ctypes.byref(pointer)))
        self._handle = _Handle(pointer, lib.trident_close)
        self._kernels = weakref.WeakValueDictionary()  # what a kernel was submitted with -> its handle

    def stats(self):
        """This process's counters: submitted, baseline_received, optimised_received, connected, ..."""
        stats = native.Stats(ctypes.sizeof(native.Stats))
        native.check(lib.trident_get_stats(self._open(), ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in native.Stats._fields_ if name != "struct_size"}

    def daemon_stats(self, timeout_ms=2000):
        """The daemon's own counters."""
        timeout_ms, buffer = integer(timeout_ms, "timeout_ms"), ctypes.create_string_buffer(1 << 20)
        native.check(lib.trident_daemon_stats(self._open(), buffer, len(buffer), timeout_ms))
        return json.loads(buffer.value.decode())

    def build(self, text, form="tasm", public_input=(), secret_input=(), secret_digests=(), ram=(), cycles=0,
              milliseconds=0, programs=0, disable=(), progress=None, runs=()):
        """Makes a program of Triton VM ("tasm" or "tir") cheaper to prove: waits, and returns a Program. The inputs are
        ones with which it ends well: words, digests of five words, and {address: word}. cycles, milliseconds, programs:
        limits, 0 for the default. disable: "peepholes", "subroutines", "superoptimiser", "network". progress(done,
        total) is called now and then; False gives up (TridentError). runs: further inputs, each a dict of those four
        names; the result is taller on none of them."""
        return _program.build(self._open(), text, form, public_input, secret_input, secret_digests, ram, cycles,
                              milliseconds, programs, disable, progress, runs)

    def close(self):
        """Ends the conversation with the daemon, once calls of other threads on this context have returned. Kernels that
        are still referred to keep working as they are."""
        self._handle = None

    def __reduce_ex__(self, protocol):
        raise TypeError("a trident.Context cannot be copied or pickled, it is a connection of this process: open another "
                        "one with trident.Context(...)")

    def _open(self):
        handle = self._handle
        if handle is None:
            raise ValueError("the context is closed")
        return handle

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def check_context(context):
    if context is not None and not isinstance(context, Context):
        raise TypeError(f"context must be a trident.Context, here {shown(context)}")


BLOCK = 16384  # elements of one block where operands must be copied
_BY_BLOCKS_MIN = 1 << 19  # elements; copies of fewer stay in the caches, and a block takes four microseconds
ITERATED_MAX = 32  # operands of one numpy.nditer, results among them

_default = {}  # None -> the context of everything, "interp" -> that of _reader()


def default_context():
    """The context that everything uses unless told otherwise, opened on first need (environment TRIDENT_MODE,
    TRIDENT_SOCKET)."""
    context = _default.get(None)
    return _cache.keep_first(_default, None, Context()) if context is None else context


def _reader():
    """The context in which texts are only read: nothing is compiled and no daemon hears of them."""
    context = _default.get("interp")
    return _cache.keep_first(_default, "interp", Context("interp")) if context is None else context


class Kernel:
    """A compiled expression in the library's own text (infix, S-expression or FPCore; several outputs, reductions, diff).

    types and ranges map variable names to a type and to a promised (lo, hi). Types are "f32", "f64", "i32" and "i64", those
    that `type` may be; arrays may be "u8", "i8", "u16", "i16", "u32", "u64", "f16" and "bool", too. NumPy's names (float32,
    uint8), and the language's "bool8", mean the same. Names in
    `scalars` are parameters, one value a call; those in `tables`, and names that the text writes as t[index], are arrays
    of a length of their own. Other variables are arrays of `type`. Arrays that `types` names come first, in its order, then
    those in `tables`, then the others in order of first use; `ranges` changes no order.

    policy says how far results may be from the correct ones: "exact" (the bits of the interpreter, at once and later, in
    every run), "bounded" (at each point at most as far off as the text with k units of error an operation, plus 2 ulp)
    or "fast" (the same with k = 16 and 64 ulp where all inputs and the text's result are finite, anything elsewhere). Under
    "bounded" and "fast" a result may change its last bits when faster code is swapped in, and from run to run, because
    measured times choose the form.

        k = trident.Kernel("a * sin(x) + y", scalars=["a"], ranges={"x": (0, 1)})
        z = k(x, y, a=2.0)

    A call takes the arrays by position (in the order of `arrays`) or by name, and the scalars by name; arrays are
    broadcast against each other, tables are not. Where no array says how many elements there are, `out` does. It returns
    an array, or a number for a reduction, or a tuple when there are several outputs.

    Arguments are converted to the kernel's types where they fit. An integer type takes integers of any type, int64 and
    uint32 arrays too, whose values it holds; one value outside is a ValueError. A float type takes integers and floats and
    rounds them as NumPy casts them. Anything else is a TypeError: a float for an integer, complex numbers, None, text.

    Kernels of one context with equal text and options share one compiled kernel, as copies do. A pickled Kernel is its
    text and options; it is compiled anew, in the default context, where it is unpickled.
    """

    _bound = None  # this kernel for the short way of a call (_short_call.py)

    def __init__(self, text, *, type="f64", types=None, scalars=(), tables=(), ranges=None, policy="bounded", k=None, elements=0,
                 syntax="auto", context=None, _hint=0, _made=False):
        native.text_bytes(text)
        type = _type_name(type)
        one_of(native.TYPES, type, "type")
        one_of(native.SYNTAXES, syntax, "syntax")
        is_default = policy != "bounded" and isinstance(k, (int, float)) and k == K_DEFAULT
        promise = Promise(policy, None if is_default else k, ranges)
        self.text = text
        self._options = {"type": type, "types": _checked_types(types), "scalars": names(scalars, "scalars", "a"),
                         "tables": names(tables, "tables", "t"), "ranges": promise.ranges, "policy": policy,
                         "k": promise.k,
                         "elements": integer(elements, "elements"), "syntax": syntax}
        check_context(context)
        self._context = context if context is not None else default_context()
        owner, declared = self._context._open(), self._declared()
        key = (text, type, policy, promise.k if policy == "bounded" else None, syntax, elements, declared)
        kernels = self._context._kernels
        self._handle = kernels.get(key)
        if self._handle is None:
            if not _made:  # from a graph, whose inputs are all there
                self._check_names(declared)
            self._handle = _cache.keep_first(kernels, key, self._submit(owner, declared, elements or _hint))
        self._read_signature()

    def _declared(self):
        """(name, type, kind, lo, hi) of each variable that the options name."""
        o = self._options
        kind_of = {**dict.fromkeys(o["scalars"], 1), **dict.fromkeys(o["tables"], _TABLE)}
        named = lambda names: tuple((name, o["types"].get(name, o["type"]), kind_of.get(name, 0),  # noqa: E731
                                     *o["ranges"].get(name, _FLOAT_RANGE)) for name in names)
        names = dict.fromkeys([*o["types"], *o["scalars"], *o["tables"]])
        ranged = [name for name in o["ranges"] if name not in names]
        if ranged:
            # The library counts declared variables first. A promise must not change which argument is which.
            used = self._arrays_of(named(names))
            after = [name for name in used if name not in names]
            names = [*names, *(name for name in ranged if name not in used), *after]
        return named(names)

    def _arrays_of(self, declared):
        """Returns the arrays of the text in their order; none where the library refuses it."""
        try:
            handle = self._submit(_reader()._open(), declared, 0)
        except TridentError:
            return ()
        return _named(handle, lib.trident_array_name, _info_of(handle).array_count)

    def _check_names(self, declared):
        """Refuses declared names that the text does not have: the library would make variables of them."""
        listed = self._listed(()) if declared else ()
        for name, *_ in declared:
            if name not in (listed or ()) and not self._has(name, declared):
                raise ValueError(f"types, scalars, tables or ranges name '{name}', which the text does not have")

    def _has(self, name, declared):
        """Returns whether the text has a name: without its declaration the library refuses the text, or lists the name all
        the same, or takes it for a constant (pi). A variable that is used as a number is refused as a table."""
        listed = self._listed([v for v in declared if v[0] != name])
        if listed is None or name in listed:
            return True
        try:
            self._submit(_reader()._open(), [(n, t, _TABLE if n == name else k, *r) for n, t, k, *r in declared], 0)
        except TridentError as error:
            return error.status != native.E_LIMIT  # the length of the table may be one variable too many
        return False

    def _listed(self, declared):
        """Returns the names of the variables that the text has if these are declared; None where the library refuses it."""
        try:
            handle = self._submit(_reader()._open(), declared, 0)
        except TridentError:
            return None
        info = _info_of(handle)
        return {*_named(handle, lib.trident_array_name, info.array_count),
                *_named(handle, lib.trident_scalar_name, info.scalar_count)}

    def _submit(self, owner, declared, elements):
        o = self._options
        variables = (native.Variable * max(1, len(declared)))()
        for variable, (name, type, kind, lo, hi) in zip(variables, declared):
            variable.name, variable.type = native.text_bytes(name), one_of(native.ELEMENT_TYPES, type, f"the type of '{name}'")
            variable.scalar, variable.lo, variable.hi = kind, lo, hi
        options = native.SubmitOptions(
            ctypes.sizeof(native.SubmitOptions), one_of(native.TYPES, o["type"], "type"),
            one_of(native.POLICIES, o["policy"], "policy"), one_of(native.SYNTAXES, o["syntax"], "syntax"), o["k"],
            ctypes.cast(variables, ctypes.POINTER(native.Variable)), len(declared), elements)
        pointer = ctypes.c_void_p()
        native.check(lib.trident_submit(owner, native.text_bytes(self.text), ctypes.byref(options), ctypes.byref(pointer)))
        return _Handle(pointer, lib.trident_close_kernel)

    def __copy__(self):
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        return _unpickled, (type(self), self.text, self._options)

    def _read_signature(self):
        info = self._info()
        typed = lambda kind, count: tuple(  # noqa: E731
            np.dtype(_DTYPES[native.TYPE_NAMES[kind(self._handle, i)]]) for i in range(count))
        self.arrays = _named(self._handle, lib.trident_array_name, info.array_count)
        parameters = _named(self._handle, lib.trident_scalar_name, info.scalar_count)
        self.tables = tuple(n for n in self.arrays if n + ".length" in parameters)
        self.scalars = parameters[:len(parameters) - len(self.tables)]  # lengths of tables stand last
        self.outputs = _named(self._handle, lib.trident_output_name, info.output_count)
        self.array_dtypes = typed(lib.trident_array_type, info.array_count)
        self.scalar_dtypes = typed(lib.trident_scalar_type, info.scalar_count)
        self.output_dtypes = typed(lib.trident_output_type, info.output_count)
        self.output_is_scalar = tuple(lib.trident_output_is_scalar(self._handle, i) == 1
                                      for i in range(info.output_count))
        self._in_type = ctypes.c_void_p * max(1, info.array_count)
        self._out_type = ctypes.c_void_p * info.output_count
        self._params_type = ctypes.c_uint64 * max(1, info.scalar_count)
        self._bound = None if self.tables else self._for_short_calls()

    def _for_short_calls(self):
        arguments = [_short_call.argument(i, d, True, d) for i, d in enumerate(self.array_dtypes)]
        numbers = [_short_call.argument(len(arguments) + i, None, False, d) for i, d in enumerate(self.scalar_dtypes)]
        if not arguments:
            return None
        return _short_call.bound(self._handle, self._handle, (*self.arrays, *self.scalars), [*arguments, *numbers],
                                 list(zip(self.output_dtypes, self.output_is_scalar)), gives_numbers=True,
                                 gives_tuple=len(self.outputs) > 1)

    def __call__(self, *arrays, out=None, **named):
        if len(arrays) > len(self.arrays):
            by_name = f"; give {', '.join(n + '=' for n in self.scalars)} by name" if self.scalars else ""
            raise TypeError(f"{len(self.arrays)} array{'s' * (len(self.arrays) != 1)} at most, here {len(arrays)}{by_name}")
        values = dict(zip(self.arrays, arrays))
        for name in named:
            if name in values or (name not in self.arrays and name not in self.scalars):
                raise TypeError(f"unexpected or repeated argument '{name}'")
        values.update(named)
        missing = [n for n in self.arrays + self.scalars if n not in values]
        if missing:
            raise TypeError(f"missing: {', '.join(missing)}")
        operands = [checked(values[n], d, n) for n, d in zip(self.arrays, self.array_dtypes)]
        shape = np.broadcast_shapes(*[o.shape for n, o in zip(self.arrays, operands) if n not in self.tables])
        if len(self.arrays) == len(self.tables):
            shape = self._shape_of(out)
        by_blocks = self._converts_blocks(operands, math.prod(shape))
        operands = [np.ascontiguousarray(o.reshape(-1), d) if n in self.tables else
                    np.broadcast_to(o if by_blocks else o.astype(d, copy=False), shape)
                    for n, d, o in zip(self.arrays, self.array_dtypes, operands)]
        lengths = [o.size for n, o in zip(self.arrays, operands) if n in self.tables]
        swept = [o for n, o in zip(self.arrays, operands) if n not in self.tables]
        results = self._allocate(shape, out, () if in_c_order(swept) else axes_of(swept, len(shape)))
        if out is not None:
            operands = _apart(operands, results)
            operands = [o.copy() if n in self.tables and any(np.may_share_memory(o, r) for r in results) else o
                        for n, o in zip(self.arrays, operands)]
        run = self._run_blocks if by_blocks else self._run_on
        run(shape, operands, results, self.pack([*(values[n] for n in self.scalars), *lengths]))
        finished = tuple(r[()] if s and out is None else r for r, s in zip(results, self.output_is_scalar))
        return finished[0] if len(finished) == 1 else finished

    def _shape_of(self, out):
        for array, scalar in zip(out if isinstance(out, (tuple, list)) else [out], self.output_is_scalar):
            if isinstance(array, np.ndarray) and not scalar:
                return array.shape
        if self.tables:
            raise TypeError("no array says how many elements there are: give out")
        return ()

    def _allocate(self, shape, out, axes=()):
        """Arrays for the outputs; `axes` of new ones from the slowest in memory to the fastest, () for C's order."""
        if out is None:
            given = [None] * len(self.outputs)
        else:
            given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.outputs):
            raise ValueError(f"{len(self.outputs)} outputs, {len(given)} given")
        results = []
        for array, dtype, scalar, name in zip(given, self.output_dtypes, self.output_is_scalar, self.outputs):
            wanted = () if scalar else shape
            refuse_mask(array, "out")
            if array is None:
                array = np.empty(wanted, dtype) if scalar or not axes else empty(wanted, dtype, axes)
            elif not isinstance(array, np.ndarray) or array.shape != wanted or array.dtype != dtype or not array.flags.writeable \
                    or not lies_apart(array):
                raise ValueError(f"out for '{name}' must be a writable {dtype} array of shape {wanted}, no two elements of which meet")
            results.append(array)
        return results

    def pack(self, values):
        """Scalar arguments as the library takes them: the bits of each in the low bytes of eight."""
        params = self._params_type()
        for i, (value, dtype) in enumerate(zip(values, self.scalar_dtypes)):
            name = self.scalars[i] if i < len(self.scalars) else "the length of a table"
            bits = converted(value, dtype, name)
            if bits.ndim:
                raise ValueError(f"'{name}' is a scalar, here an array")
            params[i] = int.from_bytes(bits.tobytes(), "little")
        return params

    def _run(self, n, inputs, outputs, params):
        handle, places = self._handle, self._in_type(*inputs)
        if n and not handle.shown:
            handle.shown = True
            lib.trident_observe(handle, n, places, params)
        lib.trident_call_parallel(handle, n, places, self._out_type(*outputs), params, _threads.count())

    def _run_on(self, shape, arrays, results, params):
        """Runs the kernel on arrays of `shape` however they lie, and on tables and numbers that lie well."""
        if all(map(is_plain, arrays)) and all(map(is_plain, results)):
            return self._run(math.prod(shape), [address(a) for a in arrays], [address(r) for r in results], params)
        taken = [None if n in self.tables else a for n, a in zip(self.arrays, arrays)]
        written = [None if s else r for s, r in zip(self.output_is_scalar, results)]
        native.check(lib.trident_call_strided(
            self._handle, len(shape), (ctypes.c_uint64 * max(1, len(shape)))(*shape),
            self._in_type(*map(address, arrays)), strides_of(taken, len(shape)),
            self._out_type(*map(address, results)), strides_of(written, len(shape)), params, _threads.count()))

    def _converts_blocks(self, operands, n):
        """Returns whether a call on n elements converts operands of other types block by block, so none is copied as a whole."""
        if n < _BY_BLOCKS_MIN or any(self.output_is_scalar) or len(operands) + len(self.outputs) > ITERATED_MAX \
                or all(o.dtype == d for o, d in zip(operands, self.array_dtypes)):
            return False
        native.check(lib.trident_wait(self._handle, 0, 0))  # from here on it is known
        return self._info().divides == 1

    def _run_blocks(self, shape, operands, results, params):
        """Does as _run_on for a kernel that divides."""
        del shape
        read, write = ["readonly", "aligned", "nbo", "contig"], ["writeonly", "aligned", "nbo", "contig"]
        taken = [i for i, n in enumerate(self.arrays) if n not in self.tables]
        places = [address(o) for o in operands]
        iterator = np.nditer([*results, *(operands[i] for i in taken)], ["external_loop", "buffered"],
                             [write] * len(results) + [read] * len(taken), [*self.output_dtypes, *(self.array_dtypes[i] for i in taken)],
                             order="C", casting="unsafe", buffersize=BLOCK)
        with iterator:
            for block in iterator:
                made, given = block[:len(results)], block[len(results):]
                for i, part in zip(taken, given):
                    places[i] = address(part)
                self._run(part.size, places, [address(m) for m in made], params)

    def wait(self, tier=2, timeout_ms=10_000):
        """Waits until tier 1 (baseline) or 2 (optimised) is reached or nothing more will come; TimeoutError if neither.
        Returns the tier reached."""
        native.check(lib.trident_wait(self._handle, integer(tier, "tier", _TIER_MAX),
                                      integer(timeout_ms, "timeout_ms")))
        return self._info().tier

    def _info(self):
        return _info_of(self._handle)

    @property
    def note(self):
        """The reason why the kernel runs no better code, in one sentence; None while nothing stands in its way."""
        note = self._info().note
        return None if note is None else note.decode("utf-8", "replace")

    def info(self):
        """Returns the current state: tier, isa, swaps, done, the daemon's timings in ns per call (0: unknown), its
        progress (the stage, and the best candidate's time over the baseline's), the note, and misses: how often data lay
        outside the ranges in which the code is fast."""
        info = self._info()
        return {"tier": info.tier, "isa": native.ISAS.get(info.isa, str(info.isa)), "swaps": info.swaps,
                "done": bool(info.done), "baseline_ns": info.baseline_ns, "optimised_ns": info.optimised_ns,
                "progress": {"stage": native.STAGES.get(info.stage, str(info.stage)), "done": info.stage_done,
                             "total": info.stage_total, "best_ratio": info.best_ratio},
                "note": None if info.note is None else info.note.decode("utf-8", "replace"), "misses": info.misses}

    def __repr__(self):
        return f"<trident.Kernel {self.text!r} tier {self._info().tier}>"


if _short_call.call is not None:
    Kernel.__call__ = _short_call.call.Method(Kernel.__call__)


def _unpickled(kind, text, options):
    return kind(text, **options)


def _info_of(handle):
    info = native.KernelInfo(ctypes.sizeof(native.KernelInfo))
    native.check(lib.trident_info(handle, ctypes.byref(info)))
    return info


def _named(handle, name, count):
    return tuple(name(handle, i).decode() for i in range(count))


_DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": np.bool_, "i8": np.int8,
           "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16}
_NAMES = {"bool8": "bool", **{np.dtype(t).name: name for name, t in _DTYPES.items()}}


def _path_bytes(path):
    if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"socket_path must be a path, here {shown(path)}")
    if path is None:
        return None
    if b"\0" in (encoded := os.fsencode(path)):
        raise ValueError(f"socket_path must be a path without a NUL, here {shown(path)}")
    return encoded


def _checked_types(types):
    if types is not None and not isinstance(types, Mapping):
        raise TypeError(f"types must be a dictionary such as {{'n': 'i64'}}, here {shown(types)}")
    for name, type in (types or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"types must be a dictionary such as {{'n': 'i64'}}, here a name is {shown(name)}")
        one_of(native.ELEMENT_TYPES, _type_name(type), f"the type of '{name}'")
    return {name: _type_name(type) for name, type in (types or {}).items()}


def _type_name(name):
    """The name that the library's tables have for a type; another word as it is."""
    return _NAMES.get(name, name) if isinstance(name, str) else name


def _apart(operands, results):
    """Operands that the kernel can read while it writes the results: one that shares memory with a result is copied,
    unless it is the very same elements."""
    for i, result in enumerate(results):
        if any(meet(result, other) for other in results[:i]):
            raise ValueError("two arrays of out share memory: give arrays that lie apart")
    return [o.copy() if any(not same_elements(o, r) and meet(o, r) for r in results) else o for o in operands]
