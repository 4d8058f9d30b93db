"""Arguments of a kernel's call as arrays of the type that the kernel takes. An integer that the type does not hold, and what is
no real number, is refused: a cast would make another number of it."""
import operator

import numpy as np

from ._promise import shown

_INTEGERS = {"int32": ("i32", "-2147483648 to 2147483647"), "int64": ("i64", "-2^63 to 2^63 - 1")}


def converted(value, dtype, name):
    """Returns `value` as an array of `dtype`. Integers of any type must fit; floats round as NumPy casts them."""
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.ndim == 0 and not isinstance(value, (np.generic, np.ndarray)):
        array = _number(array, value, dtype, name)
    elif array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"'{name}' is {array.dtype}, the kernel takes {dtype}")
    if dtype.kind == "i" and array.size and not np.can_cast(array.dtype, dtype):
        _check_fit(int(array.min()), dtype, name)
        _check_fit(int(array.max()), dtype, name)
    return array.astype(dtype, copy=False)


def _number(array, value, dtype, name):
    """Returns one number that is no NumPy object: an integer, or for kernels of floats all that float() takes but text."""
    if array.dtype.kind in "biu":
        return array
    if dtype.kind == "i" and (array.dtype.kind == "f" or isinstance(value, float)):
        raise TypeError(f"'{name}' is a float, the kernel takes {dtype}")
    if array.dtype.kind == "f":
        return array
    if dtype.kind == "i" and hasattr(type(value), "__index__"):
        whole = operator.index(value)
        _check_fit(whole, dtype, name)
        return np.asarray(whole)
    if dtype.kind == "i" or not hasattr(type(value), "__float__"):
        raise TypeError(f"'{name}' is {shown(value)}, the kernel takes {dtype}")
    try:
        return np.asarray(float(value))
    except (OverflowError, ValueError):  # an integer beyond float64, a signalling NaN
        raise ValueError(f"'{name}' is {shown(value)}, which {dtype} does not hold") from None


def _check_fit(whole, dtype, name):
    bounds, (kind, expected) = np.iinfo(dtype), _INTEGERS[dtype.name]
    if not bounds.min <= whole <= bounds.max:
        raise ValueError(f"'{name}': {shown(whole)} is not an {kind}; expected whole numbers from {expected}")
