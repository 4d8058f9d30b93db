"""Options and promises of a drop-in's caller: policy, k, ranges."""
from . import _native as native
from ._kernel import Kernel


class Promise:
    """`key` tells one promise from another."""
    __slots__ = ("policy", "k", "ranges", "key")

    def __init__(self, policy, k, ranges):
        if policy not in native.POLICIES:
            raise ValueError(f"policy must be one of {', '.join(native.POLICIES)}, here {policy!r}")
        if k is not None and policy != "bounded":
            raise ValueError(f"k says how far policy 'bounded' may go, and the policy is '{policy}': leave k out")
        self.policy, self.k = policy, 2.0 if k is None else float(k)
        self.ranges = {str(name): (float(lo), float(hi)) for name, (lo, hi) in (ranges or {}).items()}
        self.key = (self.policy, self.k, *sorted(self.ranges.items()))

    def check_names(self, names, what):
        for name in self.ranges:
            if name not in names:
                raise ValueError(f"ranges: '{name}' is no {what}")

    def kernel(self, text, names, types, scalars, size, context=None):
        """The kernel of a graph's text; `names`: of its inputs by number, `types` and `scalars`: by x0, x1, .., `size`:
        elements of a typical call, which does not tell one kernel from another."""
        ranges = {f"x{i}": self.ranges[name] for i, name in enumerate(names) if name in self.ranges and f"x{i}" in types}
        return Kernel(text, syntax="infix", types=types, scalars=scalars, policy=self.policy, k=self.k, ranges=ranges,
                      context=context, _hint=min(size, 1 << 24))


EXACT = Promise("exact", None, None)
