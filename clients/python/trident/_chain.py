"""An expression that is more than one kernel can hold, as a chain of kernels.

The operations, in an order in which operands precede their users, are cut into pieces. Each piece is a kernel; what it
leaves for later ones lies in blocks that stay in the cache. Every operation rounds as it does in one kernel, so under policy
"exact" a chain has the bits that one kernel would have.
"""
import numpy as np

from . import _graph as g
from . import _native as native
from ._kernel import address
from ._native import TridentError

_BLOCK = 4096      # elements
_OPERATIONS = 1000  # of one piece: with their constants and conversions well below what a kernel holds
_VALUES = 60        # that one piece takes, and that it leaves


class Chain:
    """Takes the calls of the one kernel: `types` and `scalars` by x0, x1, .., arrays and numbers in the order of `types`.
    `pieces`: in order, the graphs of what each makes, and its names, None for the result."""

    def __init__(self, pieces, promise, names, types, scalars, size):
        self.arrays = [name for name in types if name not in scalars]
        self.scalars = [name for name in types if name in scalars]
        self.sizes = [g.DTYPE[types[name]].itemsize for name in self.arrays]
        self.pieces, made_of = [], {}  # (kernel, the names of what it makes); by the graphs, which must live as long
        for outputs, made in pieces:
            if id(outputs[0]) not in made_of:
                wanted = {f"x{n.value}": n.kind for n in g.in_order(outputs) if n.op == "input"}
                kinds = {x: types.get(x, g.I32 if k == g.BOOL else k) for x, k in sorted(wanted.items())}
                kernel = promise.kernel(g.emit(g.as_kernel(outputs)), names, kinds, [x for x in kinds if x in scalars], size)
                made_of[id(outputs[0])] = kernel, outputs
            self.pieces.append((made_of[id(outputs[0])][0], made))
        self.result_size = self.pieces[-1][0].output_dtypes[0].itemsize

    def pack(self, values):
        found = dict(zip(self.scalars, values))
        return [kernel.pack([found[x] for x in kernel.scalars]) for kernel, _ in self.pieces]

    def _run(self, n, inputs, outputs, params):
        left = {name: np.empty(min(n, _BLOCK), dtype) for kernel, made in self.pieces
                for name, dtype in zip(made, kernel.output_dtypes) if name is not None}
        for start in range(0, n, _BLOCK):
            places = {x: a + start * size for x, a, size in zip(self.arrays, inputs, self.sizes)}
            places.update((name, address(block)) for name, block in left.items())
            places[None] = outputs[0] + start * self.result_size
            for i, (kernel, made) in enumerate(self.pieces):
                kernel._run(min(_BLOCK, n - start), [places[x] for x in kernel.arrays], [places[x] for x in made],
                            params[i] if params is not None else None)


def _ordered(root):
    """The operations under `root`, operands before their users and greedy ones first, so that few values wait (Sethi and
    Ullman, "The generation of optimal code for arithmetic expressions", 1970)."""
    need = {}
    for node in g.in_order([root]):
        parts = sorted((need[id(a)] for a in node.args), reverse=True)
        need[id(node)] = max([1, *(part + i for i, part in enumerate(parts))]) if parts else 0
    done, stack = set(), [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done or not node.args:
            continue
        if ready:
            done.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in sorted(node.args, key=lambda a: need[id(a)]))


def _pieces(root):
    """The operations under `root` in pieces, each of few enough operations of few enough values."""
    made, piece, taken = set(), [], set()
    for node in _ordered(root):
        outside = {id(a) for a in node.args if a.op == "input" or id(a) in made}
        if len(piece) == _OPERATIONS or len(taken | outside) > _VALUES:
            yield piece
            made.update(map(id, piece))
            piece, taken = [], set()
            outside = {id(a) for a in node.args if a.op == "input" or id(a) in made}
        piece.append(node)
        taken |= outside
    yield piece


def graphs(root, first_made):
    """Cuts a graph: for each piece the graphs of what it leaves, and their names, numbers from `first_made`."""
    pieces = list(_pieces(root))
    place = {id(n): p for p, piece in enumerate(pieces) for n in piece}
    needed = {id(a) for p, piece in enumerate(pieces) for n in piece for a in n.args if place.get(id(a), p) != p}
    numbers = {}
    for piece in pieces:
        done, here = {}, {id(n) for n in piece}

        def part(a):
            if id(a) in here:
                return done[id(a)]
            return g.Node("input", a.kind, value=numbers[id(a)]) if id(a) in numbers else a

        for n in piece:
            done[id(n)] = g.Node(n.op, n.kind, tuple(map(part, n.args)), n.value)
        left = [n for n in piece if id(n) in needed or n is root]
        if len(left) > _VALUES:
            raise TridentError(f"more than {_VALUES} intermediate values at once", native.E_LIMIT)
        for n in left:
            numbers[id(n)] = first_made + len(numbers)
        yield [done[id(n)] for n in left], [None if n is root else f"x{numbers[id(n)]}" for n in left]
