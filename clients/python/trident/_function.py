"""Functions with loops: texts of the language that docs/functions.md describes, and libraries of them by name."""
import array
import ctypes
import operator
import re
import struct
import weakref

import numpy as np

from . import _native as native
from ._kernel import _Handle, _info_of, address, check_context, default_context
from ._native import TridentError, lib
from ._operand import refuse_mask
from ._promise import integer

_BOOL, _F64, _I64, _U8 = native.FUNCTION_TYPES["bool"], native.TYPES["f64"], native.TYPES["i64"], native.FUNCTION_TYPES["u8"]
_DTYPES = {_I64: np.dtype(np.int64), _F64: np.dtype(np.float64), _U8: np.dtype(np.uint8)}
_KINDS = {_I64: "int", _U8: "int", _F64: "float", _BOOL: "bool"}
_VALUE, _IN, _OUT, _INOUT = range(4)  # enum trident_passing


class FunctionError(TridentError):
    """A call that ended without a result. failure: "division", "index", "budget" or "range", in what was translated from
    Python also "shift", "domain" or "overflow"; line: of the function's text, or of the Python file that it was translated
    from; function: its name; argument: of "range", the parameter. Each failure is also the Python exception that it
    resembles: ZeroDivisionError, IndexError, TimeoutError, ValueError, OverflowError."""

    def __init__(self, message, failure, line, function, argument=None):
        super().__init__(message)
        self.failure, self.line, self.function, self.argument = failure, line, function, argument


class DivisionFailure(FunctionError, ZeroDivisionError):
    """A division by zero."""


class ShiftFailure(FunctionError, ValueError):
    """A shift by a negative number, in a function that was translated from Python."""


class DomainFailure(FunctionError, ValueError):
    """An argument of a function of math where it has no value, in a function that was translated from Python."""


class OverflowFailure(FunctionError, OverflowError):
    """A result of math that is too large for its type, in a function that was translated from Python."""


class IndexFailure(FunctionError, IndexError):
    """An index outside of its array."""


class BudgetFailure(FunctionError, TimeoutError):
    """More rounds of loops than the budget allows."""


class RangeFailure(FunctionError, ValueError):
    """An argument outside of its declared range."""


_FAILURES = {1: ("division", DivisionFailure, "a division by zero"),
             2: ("index", IndexFailure, "an index outside of its array"),
             3: ("budget", BudgetFailure, "more rounds of loops than the budget allows"),
             4: ("range", RangeFailure, "an argument outside of its declared range")}

_TRANSLATED_FAILURES = {"shift": (ShiftFailure, "a negative shift count"), "domain": (DomainFailure, "a math domain error"),
                        "overflow": (OverflowFailure, "a math range error")}


class _Parameter:
    def __init__(self, facts):
        self.name, self.type, self.passing = facts.name.decode(), facts.type, facts.passing
        ends = struct.pack("=qq", facts.lo, facts.hi)
        self.range = struct.unpack("=dd" if self.type == _F64 else "=qq", ends) if facts.has_range else None
        self.meaning = facts.meaning.decode()

    @property
    def is_array(self):
        return self.passing != _VALUE

    @property
    def is_written(self):
        return self.passing in (_OUT, _INOUT)

    @property
    def kind(self):
        """The Python type of a value."""
        return _KINDS[self.type]

    @property
    def element(self):
        """The language's type of an array's elements."""
        return {_I64: "i64", _F64: "f64", _U8: "u8"}[self.type]


class Function:
    """A function with loops, branches and arrays. A call takes its arguments by position or by name. Numbers are int64,
    which wraps, bools and floats. Arrays that are read may be anything that NumPy makes one of; those that are written
    are contiguous, writable, of the function's type: NumPy arrays of int64, uint8 or float64, bytearrays, array.arrays.
    They are not copied. For an array of u8 bytes, bytearrays and memoryviews will do, and a str where it is read (as
    UTF-8). A call that fails raises a FunctionError that names the line. What it had written to arrays until
    then stays written. Shifts take their count modulo 64.

        gcd = trident.function("fn gcd(a: i64, b: i64) -> i64 { while b != 0 { let r = a % b; a = b; b = r; } return a; }")
        gcd(48, 18)                  # 6: interpreted at once, machine code later
    """

    def __init__(self, text, *, context=None, _handle=None, _lines=None, _library=None, _callees=None):
        if _handle is None:
            check_context(context)
            owner = (context if context is not None else default_context())._open()
            options = native.SubmitOptions(ctypes.sizeof(native.SubmitOptions), native.TYPES["f64"], 0, native.FUNCTION_SYNTAX,
                                           0, None, 0, 0)
            pointer = ctypes.c_void_p()
            native.check(lib.trident_submit(owner, native.text_bytes(text), ctypes.byref(options), ctypes.byref(pointer)))
            _handle = _Handle(pointer, lib.trident_close_kernel)
        self._handle, self._lines, self._library, self._callees = _handle, _lines, _library, _callees
        facts = native.FunctionFacts(ctypes.sizeof(native.FunctionFacts))
        native.check(lib.trident_function_info(_handle, ctypes.byref(facts)))
        self.__name__, self.text, self._result = facts.name.decode(), facts.text.decode(), facts.result_type
        self.parameters = tuple(_Parameter(self._facts_of(i)) for i in range(facts.parameters))
        self._arguments = native.Argument * max(1, facts.parameters)

    @property
    def result(self):
        """The Python type of the result, or None."""
        return _KINDS.get(self._result)

    @property
    def texts(self):
        """Texts by name: this function's, and those of functions that it calls which do not come with the program."""
        if self._callees is not None:
            return {**self._callees.texts, self.__name__: self.text}
        return {self.__name__: self.text} if self._library is None else self._library.texts_for(self.__name__)

    def _facts_of(self, index):
        facts = native.Parameter(ctypes.sizeof(native.Parameter))
        native.check(lib.trident_function_parameter(self._handle, index, ctypes.byref(facts)))
        return facts

    def __call__(self, *values, budget=0, **named):
        arguments, kept = self._arguments(), []
        values = self._in_order(values, named)
        for argument, p, value in zip(arguments, self.parameters, values):
            if p.passing == _VALUE:
                _set_value(argument, p, value)
            else:
                elements = _elements(p, value)
                kept.append(elements)
                argument.data, argument.count = address(elements), elements.size
        self._refuse_copies_of_written(values)
        returned = native.Returned(ctypes.sizeof(native.Returned))
        native.check(lib.trident_function_call(self._handle, arguments, len(self.parameters),
                                               integer(budget, "budget", 2**64 - 1), ctypes.byref(returned)))
        if returned.failure:
            raise self._error(returned)
        if self._result == _F64:
            return returned.value.f
        if self._result == _BOOL:
            return bool(returned.value.i)
        return returned.value.i if self._result >= 0 else None

    def _refuse_copies_of_written(self, values):
        """The library refuses arrays that overlap one that is written, but sees only the copy of one that was copied."""
        arrays = [(p, value if isinstance(value, np.ndarray) else np.asarray(memoryview(value)))
                  for p, value in zip(self.parameters, values)
                  if p.passing != _VALUE and isinstance(value, (np.ndarray, bytearray, memoryview, array.array))]
        written = [(p, value) for p, value in arrays if p.passing != _IN]
        for p, value in arrays if written else ():
            for other, memory in written:
                if p.passing == _IN and np.shares_memory(value, memory):
                    raise TridentError(f"'{p.name}': it overlaps '{other.name}', and one of them is written")

    def _in_order(self, values, named):
        if len(values) > len(self.parameters):
            raise TypeError(f"{self.__name__} takes {len(self.parameters)} arguments, here {len(values)}")
        given = dict(zip((p.name for p in self.parameters), values))
        for name, value in named.items():
            if name in given or all(p.name != name for p in self.parameters):
                raise TypeError(f"unexpected or repeated argument '{name}' of {self.__name__}")
            given[name] = value
        missing = [p.name for p in self.parameters if p.name not in given]
        if missing:
            raise TypeError(f"{self.__name__} lacks: {', '.join(missing)}")
        return [given[p.name] for p in self.parameters]

    def _error(self, returned):
        name, kind, sentence = _FAILURES.get(returned.failure, (str(returned.failure), FunctionError, "it failed"))
        origin, function = self._origin((returned.function or b"").decode())
        argument = returned.argument.decode() if returned.argument else None
        line, place = returned.line, f"{function}: line {returned.line}"
        lines = origin._lines if function == origin.__name__ else None
        if lines is not None and argument is None:
            if line in lines["kinds"]:
                name = lines["kinds"][line]
                kind, sentence = _TRANSLATED_FAILURES[name]
            line = lines.get(line, line)
            place = f"{lines['file']}:{line}: {function}"
        return kind(f"{place}: {sentence}" + origin._which(argument, function), name, line, function, argument)

    def _which(self, argument, function):
        """The argument that is outside of its range, and the range where it is known."""
        ranges = {p.name: p.range for p in self.parameters} if function == self.__name__ else {}
        if argument is None or ranges.get(argument) is None:
            return f": {argument}" if argument else ""
        return ": {}, from {} to {}".format(argument, *ranges[argument])

    def _origin(self, name):
        """The Function that brought what has this name here, and its name there."""
        callee, own = self._callees.origins.get(name, (None, name)) if self._callees is not None else (None, name)
        return (self, name) if callee is None or name == self.__name__ else callee._origin(own)

    def wait(self, tier=1, timeout_ms=10_000):
        """Waits until machine code runs or none will; returns the tier: 0 interpreter, 1 and 2 machine code."""
        native.check(lib.trident_wait(self._handle, integer(tier, "tier", 2), integer(timeout_ms, "timeout_ms")))
        return _info_of(self._handle).tier

    def info(self):
        """Returns the current state: tier, isa, swaps, done, note (why it runs no better code)."""
        info = _info_of(self._handle)
        return {"tier": info.tier, "isa": native.ISAS.get(info.isa, str(info.isa)), "swaps": info.swaps,
                "done": bool(info.done), "note": None if info.note is None else info.note.decode("utf-8", "replace")}

    def __repr__(self):
        return f"<trident.Function {self.__name__} tier {_info_of(self._handle).tier}>"


def _set_value(argument, p, value):
    if p.type == _F64:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"'{p.name}' is a number, here {type(value).__name__}")
        refuse_mask(value, p.name)
        argument.value.f = float(value)
        return
    if p.type == _U8 and isinstance(value, (str, bytes)) and len(value) == 1:
        value = ord(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"'{p.name}' is a whole number, here {type(value).__name__}") from None
    if not -2**63 <= number < 2**63:
        raise OverflowError(f"'{p.name}' is {number}, beyond 64 bits")
    argument.value.i = number


def _elements(p, value):
    """The elements of an array as NumPy has them: the caller's own memory where they are written."""
    dtype = _DTYPES[p.type]
    refuse_mask(value, p.name)
    if isinstance(value, str) and p.type == _U8 and p.passing == _IN:
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview, array.array)):
        value = np.asarray(memoryview(value))
    if p.passing == _IN:
        return _read(p, value, dtype)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 1 or not value.flags.c_contiguous \
            or not value.flags.writeable:
        raise TypeError(f"'{p.name}' is written: give a writable contiguous array of {dtype}"
                        + (" or a bytearray" if p.type == _U8 else "") + f", here {_described(value)}")
    return value


def _read(p, value, dtype):
    given = np.asarray(value)
    if given.size == 0 and not isinstance(value, np.ndarray):
        given = given.astype(dtype)
    if given.ndim != 1 or given.dtype.kind not in ("iub" if dtype.kind != "f" else "iubf"):
        raise TypeError(f"'{p.name}' is an array of {dtype}, here {_described(value)}")
    elements = np.ascontiguousarray(given, dtype)
    if dtype.kind != "f" and given.dtype != dtype and not np.array_equal(elements, given):
        raise ValueError(f"'{p.name}' has elements that {dtype} does not hold")
    return elements


def _described(value):
    if isinstance(value, np.ndarray):
        faults = [] if value.ndim == 1 else [f"{value.ndim} dimensions"]
        faults += [] if value.flags.c_contiguous else ["steps"]
        faults += [] if value.flags.writeable else ["no leave to write"]
        return f"an array of {value.dtype}" + (f" with {' and '.join(faults)}" if faults else "")
    return type(value).__name__


class Library:
    """Functions by name: library.gcd(48, 18). A folder's files NAME.fn are read, checked and tested by their @test lines
    when it is opened; without a folder: the functions that come with the program."""

    def __init__(self, folder=None, *, context=None):
        check_context(context)
        owner = (context if context is not None else default_context())._open()
        pointer = ctypes.c_void_p()
        native.check(lib.trident_library_open(owner, None if folder is None else native.path_bytes(folder),
                                              ctypes.byref(pointer)))
        self._handle, self._is_shipped = _Handle(pointer, lib.trident_library_close), folder is None
        self._functions = weakref.WeakValueDictionary()
        self._names = tuple(lib.trident_library_name(pointer, i).decode() for i in range(lib.trident_library_size(pointer)))

    def __getitem__(self, name):
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self.made(name)
        return function

    def made(self, name, lines=None, callees=None):
        """A Function of this library, with what a translation knows of it."""
        pointer = ctypes.c_void_p()
        native.check(lib.trident_library_function(self._handle, native.text_bytes(name), ctypes.byref(pointer)))
        return Function(None, _handle=pointer, _library=self, _lines=lines, _callees=callees)

    def texts_for(self, name):
        """Texts by name: this function's, and those that it needs of this folder. None of what comes with the program."""
        texts, left = {}, [] if self._is_shipped else [name]
        while left:
            one = left.pop()
            if one not in texts:
                texts[one] = self[one].text
                left += [called for called in _names_called(texts[one]) if called in self._names]
        return texts

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except TridentError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self):
        return [*super().__dir__(), *self._names]

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __contains__(self, name):
        return name in self._names


def _names_called(text):
    return re.findall(r"\b([A-Za-z_]\w*)\s*\(", re.sub(r"^@.*|//.*", "", text, flags=re.M))


def library(folder=None, *, context=None):
    """Opens a folder of .fn files, or without one the functions that come with the program."""
    return Library(folder, context=context)
