"""Options and promises of a caller: policy, k, ranges. `evaluate`, `jit` and `Kernel` check them here, before any work."""
import decimal
import numbers
from collections.abc import Iterable, Mapping

import numpy as np

from . import _native as native

K_DEFAULT, K_MIN, K_MAX = 2.0, 2, 10**6
_RANGES = "ranges must be a dictionary such as {'x': (0, 1)}"


def one_of(table, name, what):
    """Returns the entry of a table of names."""
    if not isinstance(name, str):
        raise TypeError(f"{what} must be one of {', '.join(table)}, here {shown(name)}")
    if name not in table:
        raise ValueError(f"{what} must be one of {', '.join(table)}, here {shown(name)}")
    return table[name]


def integer(value, what, most=2**32 - 1, least=0):
    """Returns an integer from `least` to `most`, which is 32 bits of the library unless said otherwise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} must be an integer from {least} to {most}, here {shown(value)}")
    if not least <= value <= most:
        raise ValueError(f"{what} must be from {least} to {most}, here {shown(value)}")
    return int(value)


def names(values, what, example):
    """Returns a tuple of names; a text would be taken for its letters."""
    message = f"{what} must be a list of names such as ['{example}'], here "
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(message + shown(values))
    values = tuple(values)
    for name in values:
        if not isinstance(name, str):
            raise TypeError(f"{message}with {shown(name)}")
    return values


def shown(value):
    """Names a value in an error, shortly."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _real(value, message):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, decimal.Decimal)):
        raise TypeError(message)
    try:
        return float(value)
    except (OverflowError, ValueError):  # an integer beyond float64, a signalling NaN
        raise ValueError(message) from None


def _checked_k(k, policy):
    if k is None:
        return K_DEFAULT
    message = f"k must be a number from {K_MIN} to {K_MAX}, here {shown(k)}"
    number = _real(k, message)
    if not K_MIN <= number <= K_MAX:
        raise ValueError(message)
    if policy != "bounded":
        raise ValueError(f"k says how far policy 'bounded' may go, and the policy is '{policy}': leave k out")
    return number


def _checked_range(name, pair):
    if not isinstance(name, str):
        raise TypeError(f"{_RANGES}, here a name is {shown(name)}")
    message = f"ranges['{name}'] must be two numbers (lo, hi) with lo <= hi, here {shown(pair)}"
    if not isinstance(pair, (tuple, list, np.ndarray)):
        raise TypeError(message)
    if isinstance(pair, np.ndarray) and pair.ndim == 0 or len(pair) != 2:
        raise ValueError(message)
    lo, hi = (_real(bound, message) for bound in pair)
    if not lo <= hi:  # a NaN too
        raise ValueError(message)
    return lo, hi


class Promise:
    """Promises, and the context that keeps them. `key` tells one promise from another."""
    __slots__ = ("policy", "k", "ranges", "context", "key")

    def __init__(self, policy, k, ranges, context=None):
        one_of(native.POLICIES, policy, "policy")
        if ranges is not None and not isinstance(ranges, Mapping):
            raise TypeError(f"{_RANGES}, here {shown(ranges)}")
        self.policy, self.k = policy, _checked_k(k, policy)
        self.ranges = {name: _checked_range(name, pair) for name, pair in (ranges or {}).items()}
        self.context = context
        self.key = (self.policy, self.k, context, *sorted(self.ranges.items()))

    def check_names(self, names, what):
        for name in self.ranges:
            if name not in names:
                raise ValueError(f"ranges: '{name}' is no {what}")

    def kernel(self, text, names, types, scalars, size):
        """The kernel of a graph's text; `names`: of its inputs by number, `types` and `scalars`: by x0, x1, .., `size`:
        elements of a typical call, which does not tell one kernel from another."""
        from ._kernel import Kernel  # at the top it would import itself: it checks promises with this module
        ranges = {f"x{i}": self.ranges[name] for i, name in enumerate(names) if name in self.ranges and f"x{i}" in types}
        return Kernel(text, syntax="infix", types=types, scalars=scalars, policy=self.policy,
                      k=self.k, ranges=ranges, context=self.context, _hint=min(size, 1 << 24), _made=True)


EXACT = Promise("exact", None, None)
