"""Long chains of one operator at the root of a text, such as a sum of 100,000 terms, in stages: each stage continues with
the value of the one before. Operators of one precedence bind from the left, so the stages round as the whole text does.
A stage is a short text, which Python's own parser reads, and equal stages are read and compiled once."""
import re

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
        """The graph of each stage, equal ones identical, and for the last one whatever `build(tree, inputs)` makes of it.
        `kinds`: of the inputs by name, in order. Raises whatever a stage raises, and NotImplementedError where stages cannot
        say the text."""
        made, found, before = {}, [], None
        for tree in self.trees:
            key = id(tree), before and before.kind
            if key not in made:
                inputs = {name: g.Node("input", kind, value=i) for i, (name, kind) in enumerate(kinds.items())}
                if before is not None:
                    inputs[SO_FAR] = g.Node("input", before.kind, value=self.place(len(kinds), before.kind))
                made[key] = build(tree, inputs)
                if isinstance(made[key], g.Node) and made[key].is_const():
                    raise g.refused(NotImplementedError, "a stage of numbers only")
            before = made[key]
            found.append(before)
            if not isinstance(before, g.Node) and len(found) < len(self.trees):
                raise g.refused(NotImplementedError, "a stage of something else than an element-wise value")
        return found

    @staticmethod
    def place(inputs, kind):
        """The number of the input that holds the value so far, after this many inputs: one for each kind."""
        return inputs + g.RANK[kind]

    def pieces(self, graphs, inputs):
        """The graphs as pieces of a chain. Each writes over the value that it reads, where that is of its kind."""
        names = [f"x{self.place(inputs, node.kind)}" for node in graphs[:-1]]
        return [([node], [name]) for node, name in zip(graphs, [*names, None])]


def cut(text, reductions):
    """The texts of the stages of `text`; None where its root, or the operand of the reduction at its root, is no chain of
    operators that bind from the left, or one of its terms is too long."""
    if SO_FAR in text:
        return None
    head = re.match(r"(\w+)[ \t]*\(", text)
    begin = head.end() if head and head[1] in reductions and text.endswith(")") else 0
    places, stop, done = _operators(text, begin)
    ends = _spread(places, done)
    if begin and (stop == len(text) or text[stop] == ")" and stop < len(text) - 1):
        return None  # the parenthesis at the end belongs to another one
    if not ends:
        return None
    texts = [text[i:j] for i, j in zip([begin, *ends], [*ends, stop])]
    texts[1:] = [SO_FAR + t for t in texts[1:]]
    texts[-1] = text[:begin] + texts[-1] + text[stop:]
    return texts


def _operators(text, begin):
    """The places of the operators that bind least in the chain from `begin` on, each with the operations before it, the
    end of the chain, and its operations."""
    depth, operand, lowest, done, places = 0, False, 9, 0, []  # 9: ** binds from the right
    for match in _deep.TOKEN.finditer(text, begin):
        if match.lastgroup != "sign":
            operand = True
            continue
        token = match["sign"]
        done += 1
        if token == "(":
            depth, operand = depth + 1, False
        elif depth == 0 and (token in ",)" or token in _COMPARED):
            return ([], len(text), done) if token in _COMPARED else (places, match.end() - 1, done)
        elif token == ")":
            depth, operand = depth - 1, True
        elif depth == 0 and operand and token in _deep.BINARY and _deep.BINARY[token][0] <= lowest:
            if _deep.BINARY[token][0] < lowest:
                lowest, places = _deep.BINARY[token][0], []
            if lowest < 9:
                places.append((match.start(), done))
            operand = False
        else:
            operand = False
    return places, len(text), done


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
