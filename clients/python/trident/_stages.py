"""Long chains of one operator at the root of a text, such as a sum of 100,000 terms, in stages: each stage continues with
the value of the one before. Operators of one precedence bind from the left, so the stages round as the whole text does.
A stage is a short text, which Python's own parser reads, and equal stages are read and compiled once."""
from . import _deep
from . import _graph as g

SO_FAR = "_value_of_the_terms_so_far"  # stands in a stage for the value of those before it
_OPERATIONS = 500  # of one stage
_COMPARED = ("<", "<=", ">", ">=", "==", "!=", "=")


class Stages:
    """`trees`: of the stages in order, equal ones identical; `whole()`: the tree of the text."""

    def __init__(self, trees, whole):
        self.trees, self._whole, self._tree = trees, whole, None

    def whole(self):
        if self._tree is None:
            self._tree = self._whole()
        return self._tree

    def graphs(self, build, kinds):
        """The graph of each stage, equal ones identical. `build(tree, inputs)`: the value of a tree; `kinds`: of the inputs
        by name, in order. Raises whatever a stage raises, and NotImplementedError where stages cannot say the text."""
        made, found, before = {}, [], None
        for tree in self.trees:
            key = id(tree), before and before.kind
            if key not in made:
                inputs = {name: g.Node("input", kind, value=i) for i, (name, kind) in enumerate(kinds.items())}
                if before is not None:
                    inputs[SO_FAR] = g.Node("input", before.kind, value=self.place(len(kinds), before.kind))
                made[key] = build(tree, inputs)
                if not isinstance(made[key], g.Node) or made[key].is_const():
                    raise NotImplementedError("a stage of numbers only")
            before = made[key]
            found.append(before)
        return found

    @staticmethod
    def place(inputs, kind):
        """The number of the input that holds the value so far, after this many inputs: one for each kind."""
        return inputs + g.RANK[kind]

    def pieces(self, graphs, inputs):
        """The graphs as pieces of a chain. Each writes over the value that it reads, where that is of its kind."""
        names = [f"x{self.place(inputs, node.kind)}" for node in graphs[:-1]]
        return [([node], [name]) for node, name in zip(graphs, [*names, None])]


def cut(text):
    """The texts of the stages of `text`; None where its root is no chain of operators that bind from the left, or one of
    its terms is too long."""
    if SO_FAR in text:
        return None
    ends = _ends(text)
    if ends is None:
        return None
    texts = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)])]
    return texts[:1] + [SO_FAR + t for t in texts[1:]]


def _ends(text):
    """The places in front of operators that end stages."""
    depth, operand, lowest, done, places = 0, False, 9, 0, []
    for match in _deep.TOKEN.finditer(text):
        kind = match.lastgroup
        if kind != "sign":
            operand = True
            continue
        token = match["sign"]
        done += 1
        if token == "(":
            depth, operand = depth + 1, False
        elif token == ")":
            depth, operand = depth - 1, True
        elif depth == 0 and token in _COMPARED:
            return None
        elif depth == 0 and operand and token in _deep.BINARY and _deep.BINARY[token][0] <= lowest:
            if _deep.BINARY[token][0] < lowest:
                lowest, places = _deep.BINARY[token][0], []
            places.append((match.start(), done))
            operand = False
        else:
            operand = False
    return _spread(places, done) if lowest < 9 else None  # ** binds from the right


def _spread(places, operations):
    """Chooses among `places`, each with the operations before it, the last within reach of the one before."""
    ends, since, last = [], 0, None
    for place, done in [*places, (None, operations)]:
        if done - since > _OPERATIONS:
            if last is None or last[1] == since or done - last[1] > _OPERATIONS:
                return None
            ends.append(last[0])
            since = last[1]
        last = place, done
    return ends
