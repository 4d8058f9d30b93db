"""Refusals of @trident.jit: the words that say what to write instead of what cannot be recorded."""
import numpy as np


def named(function):
    """NumPy's function as a text calls it after np: "linalg.norm", which is no np.norm, and "emath.sqrt", which is not np.sqrt."""
    name = function.__name__
    modules = [m for m in ("linalg", "fft", "emath") if vars(getattr(np, m)).get(name) is function and vars(np).get(name) is not function]
    return f"{modules[0]}.{name}" if modules else name


def of_attribute(name):
    return (f"an array's .{name} cannot be recorded: the function is compiled for all elements at once; "
            + INSTEAD.get(name, ELSEWHERE))


def of_value(value):
    if isinstance(value, (np.ndarray, list, tuple)):
        return "an array that is not an argument cannot be recorded: pass it in as one"
    return f"a value of type {type(value).__name__} cannot be recorded; arrays, numbers and booleans can"


def of_dtype(name, dtype):
    """The refusal of a reduction in a type of the caller's."""
    after = dtype.kind in "bui"
    return (f"np.{name} with dtype={dtype} cannot be recorded; write " +
            (f"np.{name}(x).astype(np.{dtype})" if after else f"np.{name}(x.astype(np.{dtype}))"))


class TraceError(TypeError):
    """The function does something that cannot be recorded; the text says what to write instead."""


KEPT = "the function keeps an array of one call for the next: return it and pass it in again"
TWO_CALLS = ("arrays of two calls meet: a value that a function keeps or reads from another function's call must be passed "
              "in as an argument")
IN_PLACE = "changing an array in place (x += 1, x[i] = 1, out=) cannot be recorded; write x = x + 1, np.where(...)"
INSTEAD = {"T": "pass in the transposed array", "shape": "pass the extent in as an argument",
            "size": "pass the number in as an argument", "ndim": "pass it in as an argument",
            "dot": "write np.dot(x, y)", "real": "write x", "imag": "write x * 0"}
ELSEWHERE = "call it outside of the function, on arguments or results, or write it with ufuncs, np.where and reductions"
INSTEAD_OF = {  # functions
    "inner": "write np.dot(x, y)", "diff": "pass both parts in, f(x[1:], x[:-1])", "interp": "write a loop with @trident.function",
    "reciprocal": "write np.trunc(1 / x).astype(np.int64)",
    "outer": "pass x[:, None] and y as arguments, and write x * y", "ldexp": "write x * 2.0**k", "polyval": "write a*x*x + b*x + c",
    "isin": "write (x == a) | (x == b)", "array_equal": "write np.all(x == y)", "angle": "pass both parts in, and write np.arctan2(im, re)",
    "empty_like": "write np.zeros_like(x)", **dict.fromkeys(("cumsum", "cumprod", "gcd", "lcm", "frexp", "sort", "convolve"),
                                                            "call it outside of the function, or write a loop with @trident.function"),
    **dict.fromkeys(("median", "nanmedian", "percentile", "quantile", "argsort", "unique", "histogram", "bincount", "trapz"),
                    "call it outside of the function, on arguments or results"),
    "nanvar": "write np.nanmean((x - np.nanmean(x))**2)", "nanstd": "write np.sqrt(np.nanmean((x - np.nanmean(x))**2))",
    "real": "write x", "imag": "write x * 0",
    "nanargmax": "write np.argmax(np.where(np.isnan(x), -np.inf, x))", "nanargmin": "write np.argmin(np.where(np.isnan(x), np.inf, x))",
    "in1d": "write (x == a) | (x == b)", "concatenate": "join arrays outside of the function",
    "searchsorted": "write a loop with @trident.function", "take": "pass in the elements, f(x[i])",
    "matmul": "write np.dot(x, y) for two vectors, and multiply matrices outside of the function"}
OF_REDUCE = {"logical_and": "write np.all(x)", "logical_or": "write np.any(x)"}
REDUCED_IN_PART = ("reductions with out, initial or where cannot be recorded; write np.sum(np.where(condition, x, 0)) for where, divided "
                   "by np.sum(condition) for a mean, np.sum(x) + v or np.maximum(np.max(x), v) for initial, and "
                   "np.max(np.where(condition, x, v)) for both")
WEIGHTS = ("np.average with weights cannot be recorded; write np.sum(x * w) / np.sum(w), with x.astype(np.float64) if both are "
           "integers")
BRANCH = "a Python branch on an array's value ('if', 'while', 'and', 'or', 'not', 'in', a chained comparison)"
CONVERSION = "a conversion to a Python number (math.sin(x), float(x))"
OF_NUMBERS = {  # for an argument that is a Python number
    BRANCH: "a Python branch on a number that is an argument ('if', 'while', 'and', 'or', 'not', 'in', a chained comparison) "
             "cannot be recorded: the function is compiled for all values of its arguments. Use np.where(k > 0, a, b), and "
             "k == 0 for 'not k'",
    CONVERSION: "a conversion of a number that is an argument (math.sin(k), float(k), range(k)) cannot be recorded: the function "
                 "is compiled for all values of its arguments. Use np.sin(k) and the like",
}
