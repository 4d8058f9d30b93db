"""Arguments of a kernel's call in the type that the kernel takes. An integer that the type does not hold, and what is
no real number, is refused: a cast would make another number of it."""
import operator

import numpy as np

from ._promise import shown

_INTEGERS = {"int32": ("an i32", "-2147483648 to 2147483647"), "int64": ("an i64", "-2^63 to 2^63 - 1"), "bool": ("a bool", "0 to 1"),
             "uint8": ("a u8", "0 to 255"), "int8": ("an i8", "-128 to 127"), "uint16": ("a u16", "0 to 65535"),
             "int16": ("an i16", "-32768 to 32767"), "uint32": ("a u32", "0 to 4294967295"), "uint64": ("a u64", "0 to 2^64 - 1")}
_WHOLE = "iub"


def refuse_mask(value, name, error=TypeError):
    """Raises `error` for a masked array: np.asarray drops the mask, and what it hides would count."""
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        raise error(f"'{name}' has a mask, which Trident does not know: pass its filled() or compressed() elements, or its data "
                    "and mask the result")


def unmasked(value, name):
    """Returns `value` as an array."""
    refuse_mask(value, name)
    return np.asarray(value)


def converted(value, dtype, name):
    """Returns `value` as an array of `dtype`. Integers of any type must fit; floats round as NumPy casts them."""
    return checked(value, dtype, name).astype(dtype, copy=False)


def checked(value, dtype, name):
    """Returns `value` as an array whose elements `dtype` can take: of that type, or of another that is yet to be cast."""
    array = unmasked(value, name)
    if array.dtype == dtype:
        return array
    if array.size == 0 and array.dtype == float and not isinstance(value, np.ndarray):  # NumPy's type for a list without elements
        return array.astype(dtype)
    if array.ndim == 0 and not isinstance(value, (np.generic, np.ndarray)):
        array = _number(array, value, dtype, name)
    elif array.dtype.kind not in "biuf" or (dtype.kind in _WHOLE and array.dtype.kind == "f"):
        raise TypeError(f"'{name}' is {array.dtype}, the kernel takes {dtype}")
    if dtype.kind in _WHOLE and array.size and not np.can_cast(array.dtype, dtype):
        _check_fit(int(array.min()), dtype, name)
        _check_fit(int(array.max()), dtype, name)
    return array


def _number(array, value, dtype, name):
    """Returns one number that is no NumPy object: an integer, or for kernels of floats all that float() takes but text."""
    if array.dtype.kind in _WHOLE:
        return array
    if dtype.kind in _WHOLE and (array.dtype.kind == "f" or isinstance(value, float)):
        raise TypeError(f"'{name}' is a float, the kernel takes {dtype}")
    if array.dtype.kind == "f":
        return array
    if dtype.kind in _WHOLE and hasattr(type(value), "__index__"):
        whole = operator.index(value)
        _check_fit(whole, dtype, name)
        return np.asarray(whole)
    if dtype.kind in _WHOLE or not hasattr(type(value), "__float__"):
        raise TypeError(f"'{name}' is {shown(value)}, the kernel takes {dtype}")
    try:
        return np.asarray(float(value))
    except (OverflowError, ValueError):  # an integer beyond float64, a signalling NaN
        raise ValueError(f"'{name}' is {shown(value)}, which {dtype} does not hold") from None


def _check_fit(whole, dtype, name):
    kind, expected = _INTEGERS[dtype.name]
    least, greatest = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not least <= whole <= greatest:
        raise ValueError(f"'{name}': {shown(whole)} is not {kind}; expected whole numbers from {expected}")
