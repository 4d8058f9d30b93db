"""Where evaluate() writes: checks of `out`, order and casting, and what re_evaluate() remembers of it."""
import weakref

import numpy as np

from ._kernel import address
from ._operand import refuse_mask


class Borrowed:
    """The array that the last call wrote to, without keeping its memory: re_evaluate() writes there again as long as
    somebody else has it, or the array that it is a part of."""
    __slots__ = ("array", "owner", "place")

    def __init__(self, array):
        self.array, self.owner, self.place = weakref.ref(array), None, None
        if array.base is not None:
            self.place = (array.shape, array.dtype, address(array), array.strides)
        if isinstance(array.base, np.ndarray):
            self.owner = weakref.ref(array.base)

    def find(self):
        """The array; None, for a new one, where nobody has it."""
        array = self.array()
        if array is not None or self.place is None:
            return array
        owner = self.owner() if self.owner is not None else None
        if owner is not None:
            shape, dtype, start, strides = self.place
            memory = owner.ravel("K").view(np.uint8)
            if np.may_share_memory(memory, owner) and 0 <= start - address(memory) < memory.size:
                return np.ndarray(shape, dtype, memory, start - address(memory), strides)
        raise RuntimeError("the array that the last evaluate() wrote to is gone: call evaluate() with out= again")


class BorrowedAll:
    """The arrays that the last call wrote to, as Borrowed."""
    __slots__ = ("arrays",)

    def __init__(self, arrays):
        self.arrays = [None if a is None else Borrowed(a) for a in arrays]

    def find(self):
        return tuple(None if a is None else a.find() for a in self.arrays)


def check_layout(outs, order, casting):
    """Whichever way a result is made, what numexpr refuses is refused, in its words and in its order. `order` as
    numpy.nditer takes it."""
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got '{casting}')")
    letter = "K" if order is None else order.decode("ascii", "replace") if isinstance(order, bytes) else order
    if not isinstance(letter, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if letter not in ("C", "F", "A", "K", "c", "f", "a", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if not all(o is None or isinstance(o, np.ndarray) for o in outs):
        raise ValueError("out keyword parameter is not an array")
    for out in outs:
        refuse_mask(out, "out")
    return letter.upper()


def check_out(out, have, casting):
    if not np.can_cast(have, out.dtype, casting):
        raise TypeError(f"the result is {have} and would be cast to out's {out.dtype}, which casting='{casting}' forbids: "
                        f"give an out of {have}, or another casting")


def store(out, result, casting):
    if out.shape != result.shape:
        raise ValueError(f"out has shape {out.shape}, the result {result.shape}")
    check_out(out, result.dtype, casting)
    np.copyto(out, result, casting=casting)
    return out


def store_reduced(out, result, casting):
    """Does as store(). numexpr reduces in `out` itself, so both casts must be permitted; the one back, of one value, within a
    kind is "safe" to it."""
    if not np.can_cast(out.dtype, result.dtype, "same_kind" if casting == "safe" else casting):
        raise TypeError(f"the reduction is {result.dtype} and begins with what out has, whose {out.dtype} would be cast to that, "
                        f"which casting='{casting}' forbids: give an out of {result.dtype}, or another casting")
    if result.ndim == 0 and out.size == 1:  # as in numexpr one value goes to an array of one element, however many dimensions it has
        store(out.reshape(()), result, casting)
        return out
    return store(out, result, casting)


class Program:
    """The computation of one text by evaluate() for one combination of operand kinds."""

    signature = for_others = None  # of its arguments; finds the program of the same text for arguments of other types
    bound_since = None  # the module _call knows Bounds of it under bound_keys since it forgot that many times

    def bound(self, names, arguments, order, casting, given=None):
        """This program for the short way of a call, which gives the variables in the order `given` (None: of `names`); None where
        there is none."""
        return None


class One(Program):
    """The program of one expression, with one array to write to."""

    @staticmethod
    def outs(out):
        return (out,)

    borrowed = Borrowed
