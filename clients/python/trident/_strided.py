"""Arrays as they lie: with steps between their elements, backwards, broadcast."""
import collections
import ctypes

import numpy as np

_MEETING_WORK = 1000  # of numpy.shares_memory, where ranges of addresses overlap


def address(array):
    """Returns the address of the first element of a NumPy array."""
    return array.__array_interface__["data"][0]


def is_plain(array):
    """Returns whether the elements lie one after the other, each where a value of its size may lie."""
    return array.flags.c_contiguous and array.flags.aligned


def wraps(have, want):
    """Returns whether kernels read elements of one type as another, which has the same bits: uint64 as int64."""
    return have.kind == "u" and have.itemsize == 8 and have.isnative and want == np.int64


def in_kernels_type(array, dtype):
    return array.view(dtype) if wraps(array.dtype, dtype) else array


def lies_apart(array):
    """Returns whether no two elements meet, as far as that shows in the strides."""
    needed = array.itemsize
    for step, extent in sorted((abs(step), extent) for extent, step in zip(array.shape, array.strides)):
        if extent > 1:
            if step < needed:
                return False
            needed = step * extent
    return True


def same_elements(a, b):
    return address(a) == address(b) and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides


def meet(a, b):
    """Returns whether two arrays have memory in common; also where that is too hard to say."""
    try:
        return np.shares_memory(a, b, _MEETING_WORK)
    except np.exceptions.TooHardError if hasattr(np, "exceptions") else np.TooHardError:
        return True


def in_c_order(arrays):
    """Returns whether the last index is the fastest in all of these arrays, which have one shape."""
    return not any(outer < inner for steps in map(_steps, arrays) for outer, inner in zip(steps, steps[1:]))


def in_fortran_order(arrays):
    """Returns whether the first index is the fastest in all of them, and one of them says so of every two indices."""
    said = False
    for a in arrays:
        steps = _steps(a)
        if any(outer >= inner for outer, inner in zip(steps, steps[1:])):
            return False
        said = said or len(steps) == sum(extent > 1 for extent in a.shape)
    return said


def _steps(a):
    return [abs(step) for extent, step in zip(a.shape, a.strides) if extent > 1 and step]


def axes_of(arrays, dimensions):
    """The axes of arrays of one shape from the slowest to the fastest, as NumPy's iterator sorts them for order "K": where two
    arrays disagree about two axes, the order is C's."""
    axes = list(range(dimensions))
    if in_c_order(arrays):
        return axes
    steps = [[abs(step) if extent > 1 else 0 for extent, step in zip(a.shape, a.strides)] for a in arrays]
    for axis in range(dimensions - 2, -1, -1):
        place = at = axes.index(axis)
        for other in axes[at + 1:]:
            at += 1
            said = [s[axis] < s[other] for s in steps if s[axis] and s[other]]
            if not all(said):
                break
            place = at if said else place
        axes.remove(axis)
        axes.insert(place, axis)
    return axes


Layout = collections.namedtuple("Layout", "shape strides")  # of an array, without its elements


def laid_out(array, dimensions):
    """The layout of an array as one of that many dimensions."""
    more = dimensions - array.ndim
    return Layout((1,) * more + array.shape, (0,) * more + array.strides)


def result_of(layouts, in_c_order):
    """The layout that NumPy gives the result of an operation on arrays of these: order "K", or C's."""
    shape, step, strides = tuple(map(max, *[a.shape for a in layouts], [0] * len(layouts[0].shape))), 1, [0] * len(layouts[0].shape)
    for axis in reversed(axes_of([] if in_c_order else layouts, len(shape))):
        strides[axis], step = step, step * shape[axis]
    return Layout(shape, strides)


def empty(shape, dtype, axes):
    """A new array whose axes lie in memory from the slowest to the fastest as `axes` lists them."""
    return np.empty([shape[i] for i in axes], dtype).transpose(np.argsort(axes))


def strides_of(arrays, dimensions):
    """The strides of each array as trident_call_strided() takes them; None stands for a table or a number."""
    pointers = (ctypes.POINTER(ctypes.c_int64) * max(1, len(arrays)))()
    for i, a in enumerate(arrays):
        if a is not None:
            pointers[i] = (ctypes.c_int64 * max(1, dimensions))(*a.strides)
    return pointers
