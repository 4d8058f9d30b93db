"""numexpr's expression language: Python's grammar, numexpr's functions and type rules, walked as a syntax tree (nothing of
the text is ever executed here). Literals stay Python numbers, with Python's arithmetic, until they meet a variable.
"""
import ast
import math
import operator
import re
import unicodedata

import numpy as np

from . import _cures
from . import _deep
from . import _elementwise
from . import _graph as g
from . import _stages

COMMON = g.numexpr_common

_FUNCTIONS = {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "fmod": "fmod", "log": "log", "log1p": "log1p", "log10": "log10", "exp": "exp",
    "expm1": "expm1", "log2": "log2", "abs": "abs", "ceil": "ceil", "floor": "floor",
    "exp2": "exp2", "cbrt": "cbrt", "rint": "rint",  # beyond numexpr, under NumPy's names
}
# numexpr's from 2.12 and 2.13 on, with NumPy's values. Those of the second line are float64 of float32, too, as numexpr has it.
_TESTS = ("isnan", "isinf", "isfinite", "signbit")
_AS_FLOAT64 = ("sign", "round", "trunc", "maximum", "minimum", "copysign", "hypot", "nextafter")
_KEEP_INTEGERS = ("sign", "round")
_AS_NUMPY = _TESTS + _AS_FLOAT64
_TWO_ARGUMENTS = ("arctan2", "fmod", "hypot", "maximum", "minimum", "copysign", "nextafter")
_REDUCTIONS = {"sum": "sum", "min": "minof", "max": "maxof", "prod": "prod"}

BEYOND_REDUCTIONS = ("mean", "var", "std", "any", "all", "argmin", "argmax")  # beyond numexpr, with NumPy's results

_BINARY = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.Mod: ("mod", operator.mod), ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("and", operator.and_), ast.BitOr: ("or", operator.or_), ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift), ast.RShift: ("sar", operator.rshift),
    ast.FloorDiv: ("floordiv", operator.floordiv),
}
_COMPARE = {
    ast.Lt: ("lt", operator.lt), ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge), ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne),
}
_RESERVED = {*_FUNCTIONS, *_REDUCTIONS, "where", "copy", "ones_like", "real", "imag", "complex", "conj", "contains"} - {
    "log2", "exp2", "cbrt", "rint"}
_NUMEXPRS = _RESERVED | {"isnan", "isinf", "isfinite", "maximum", "minimum", "round", "trunc", "sign", "signbit", "copysign",
                         "nextafter", "hypot", "log2"}  # functions of numexpr, up to 2.14
# Texts may not have these outside of quotes and numbers, as numexpr says.
_QUOTED_OR_NUMBER = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[jJ]?""")
_FORBIDDEN = re.compile(r"[;:\[]|(?<!\w)__\w+__(?!\w)|\.\s*(?!(?:real|imag)\b)[^\W\d]\w*")
_CONSTANT_BITS_MAX = 1 << 16
_TEXT_MAX = 1 << 20  # characters
# A row of the same sign in front of an operand, of which the first may be an operator.
_SIGNS = re.compile(r"(?:-[ \t]*){64,}|(?:~[ \t]*){64,}|(?:\+[ \t]*){64,}")
_HARMLESS = (ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.Compare, ast.cmpop,
             ast.BoolOp, ast.boolop, ast.Call, ast.keyword, ast.Attribute)


class ForbiddenError(ValueError, TypeError):
    """A text has a character that expressions do not have. numexpr raises ValueError since 2.8.5, and raised TypeError before."""


class Reduction:
    """A reduction at the root of the expression: `op` of sum, min, max, prod, mean and so on over `axis` (None: all) of
    `operand`."""

    def __init__(self, op, operand, axis, keepdims):
        self.op, self.operand, self.axis, self.keepdims = op, operand, axis, keepdims


def parse(text, sanitize=True):
    """The syntax tree of `text` and the sorted names of its variables. What numexpr forbids in a text is a ValueError, unless
    sanitize=False."""
    if not isinstance(text, str):
        raise ValueError("must specify expression as a string")
    if len(text) > _TEXT_MAX:
        raise ValueError(f"an expression has at most {_TEXT_MAX} characters, this one has {len(text)}: divide it into parts")
    if sanitize:
        _check_forbidden(text)
    if not text.isascii():
        _check_disguise(text)
    text = shortened(text.strip())
    if not text:
        raise SyntaxError("the expression is empty")
    try:
        return _named(ast.parse(text, "<expr>", "eval").body)
    except (RecursionError, MemoryError):  # it recurses for each term of a chain and each parenthesis
        pass
    except SyntaxError as error:
        if "too many nested parentheses" not in str(error):
            error.msg += _cures.of_signs(text, error.offset)
            raise
    return _staged(text) or _named(_deep_tree(text))


def shortened(text):
    """The text without most of a long row of the same sign, each of which takes back the one before it. An even number of
    signs and at least two stay away, so what one or two of them mean or may not be applied to is seen as before."""
    if "'" in text or '"' in text:
        return text
    return _SIGNS.sub(lambda row: row[0][0] * (4 + row[0].count(row[0][0]) % 2), text)


def _named(tree):
    """A tree and the sorted names of its variables, once it is checked."""
    nodes = _nodes(tree)
    called = {id(n.func) for n in nodes if type(n) is ast.Call}
    names = {n.id for n in nodes if type(n) is ast.Name and id(n) not in called}
    for n in nodes:
        if type(n) is ast.Call and n.keywords:
            _check_keywords(n)
    for name in names & _RESERVED:
        raise TypeError(f"unsupported expression: '{name}' is a function, here a variable")
    _check_growth(nodes)
    return tree, sorted(names)


def _check_keywords(call):
    """Refuses arguments that numexpr does not have either, before their values are looked up as variables."""
    name, unknown = getattr(call.func, "id", ""), [k.arg for k in call.keywords if k.arg not in ("axis", "keepdims")]
    if unknown and (name in _REDUCTIONS or name in BEYOND_REDUCTIONS):
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}': it takes axis= and keepdims=; np.{name}, or "
                        "@trident.jit, has others")


def _staged(text):
    """The text in stages and the names of its variables; None where stages cannot say it, or something is wrong with it."""
    texts = _stages.cut(text, _REDUCTIONS)
    if texts is None:
        return None
    try:
        read = {t: _named(ast.parse(t, "<expr>", "eval").body) for t in set(texts)}
    except (SyntaxError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    if any(type(tree) is ast.Tuple for tree, _ in read.values()):
        return None
    names = sorted({name for _, names in read.values() for name in names} - {_stages.SO_FAR})
    return _stages.Stages([read[t][0] for t in texts], lambda: _named(_deep_tree(text))[0]), names


def _deep_tree(text):
    try:
        return _deep.parse(text)
    except _deep.Unread as unread:
        raise ValueError("an expression of more than some 3,000 operations in a row or 100 in each other consists of numbers, "
                         f"names, operators and calls only; this one has something else, {unread}: correct that, or divide "
                         "the text into parts") from None


def _check_forbidden(text):
    found = _FORBIDDEN.search(_QUOTED_OR_NUMBER.sub("0", text))
    if found is not None:
        raise ForbiddenError(_cures.of_forbidden(found[0], text))


def _check_disguise(text):
    """Python reads letters beyond ASCII by their compatible forms, so a name may look like none that a reader or a filter
    knows: U+2115 is N. Letters that stay outside of ASCII hide nothing (the two letters mu)."""
    for character in sorted(set(text)):
        plain = unicodedata.normalize("NFKC", character)
        if not character.isascii() and any(c.isascii() for c in plain):
            raise SyntaxError(f"Python reads {character!r} (U+{ord(character):04X}) as {plain!r}: write that")


def _nodes(tree):
    """Every node under `tree`, each before those inside it. Of the kinds that long texts consist of, those that say nothing
    (which operator, that a name is read) are left out: ast.walk would take most of its time for them."""
    found = [tree]
    for node in found:
        kind = type(node)
        if kind is ast.BinOp:
            found += (node.left, node.right)
        elif kind is ast.UnaryOp:
            found.append(node.operand)
        elif kind is not ast.Constant and kind is not ast.Name:
            found += ast.iter_child_nodes(node)
    return found


def _check_growth(nodes):
    """Constants are computed as Python does, so what would fill the memory is refused before: an upper bound of the bits
    of everything that is made of literals only, from the leaves up; floats (None here) do not grow."""
    bits = {}
    for n in reversed(nodes):
        parts = _Walker.operands(n)
        if isinstance(n, ast.Constant):
            bits[id(n)] = n.value.bit_length() if isinstance(n.value, int) else \
                math.inf if isinstance(n.value, (str, bytes)) else None
        elif parts and all(id(p) in bits for p in parts):
            bits[id(n)] = bound = _grown(n, [bits[id(p)] for p in parts])
            growing = isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Pow, ast.LShift, ast.Mult, ast.Mod))
            if growing and bound is not None and bound > _CONSTANT_BITS_MAX:
                raise OverflowError("a constant is too large")


def _grown(tree, parts):
    if math.inf in parts:
        return math.inf
    if None in parts:
        return None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Pow, ast.LShift, ast.Mult)):
        a, b = parts
        if isinstance(tree.op, ast.Mult):
            return a + b
        if b > 20:
            return math.inf
        return a * 2**b if isinstance(tree.op, ast.Pow) else a + 2**b
    return max(parts) + 1


def is_harmless(tree):
    """Returns true when another evaluator may see the text. numexpr runs it as Python, so nothing may stand there that
    reaches for more than numbers, names, operators, numexpr's functions by name, .real and .imag."""
    def harmless(n):
        if isinstance(n, ast.Attribute):
            return n.attr in ("real", "imag")
        if isinstance(n, ast.Call):
            return isinstance(n.func, ast.Name) and n.func.id in _NUMEXPRS
        return isinstance(n, _HARMLESS) and not (isinstance(n, ast.Name) and "__" in n.id)
    return all(map(harmless, _all_nodes(tree)))


def _all_nodes(tree):
    return ast.walk(tree.whole() if isinstance(tree, _stages.Stages) else tree)


def called(tree):
    """The names of the functions that a text calls."""
    return {n.func.id for n in _all_nodes(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def has_floor_division(tree):
    return any(isinstance(n, ast.FloorDiv) for n in _all_nodes(tree))


def build(tree, kinds, optimization):
    """The graph of `tree`, or a Reduction of one. `kinds`: name -> kind; inputs are numbered in its order."""
    inputs = {name: g.Node("input", kind, value=i) for i, (name, kind) in enumerate(kinds.items())}
    return built(tree, inputs, optimization)


def built(tree, inputs, optimization):
    """As build(), over inputs by name."""
    walker = _Walker(inputs, optimization)
    reduction = walker.reduction(tree)
    return _node(walker.visit(tree)) if reduction is None else reduction


def _node(value):
    return value if isinstance(value, g.Node) else g.const(value)


_REWRITTEN_POWERS = {"none": lambda b: False, "moderate": (-1, 0, 0.5, 1, 2).__contains__,
                     "aggressive": lambda b: abs(b) <= 50 and 2 * b == int(2 * b)}


def _power(a, b, optimization):
    """numexpr writes small whole and half powers as products and roots in the type of the base: float32 ** 0.5 stays
    float32, int32 ** 2.0 stays int32, a boolean a boolean."""
    if b.is_const() and _REWRITTEN_POWERS[optimization](b.value):
        if a.kind == g.BOOL:
            if b.value < 1 or b.value != int(b.value):
                raise g.refused(NotImplementedError, "a boolean has whole positive powers only: write where(x, 1, 0)")
            return a
        if b.kind in g.FLOATS and a.kind in g.FLOATS:
            b = g.const(b.value, a.kind)
        elif b.kind in g.FLOATS and b.value == int(b.value) and b.value >= 0:
            b = g.const(int(b.value))
    return g.power(a, b, COMMON)


_OF_BOOLEANS = {"add": "or", "mul": "and"}


class _Walker:
    def __init__(self, inputs, optimization):
        self.inputs, self.optimization = inputs, optimization

    def reduction(self, tree):
        name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None
        if name not in _REDUCTIONS and name not in BEYOND_REDUCTIONS:
            return None
        arguments = list(tree.args)
        axis, keepdims = None, False
        for keyword in tree.keywords:
            if keyword.arg == "axis":
                axis = self.visit(keyword.value)
            else:
                keepdims = self.visit(keyword.value)
        if type(keepdims) is not bool:
            raise g.refused(TypeError, "keepdims must be True or False")
        if len(arguments) == 2:
            axis = self.visit(arguments.pop())
        if len(arguments) != 1:
            raise g.refused(TypeError, f"{name}() takes an expression and an axis")
        if axis is not None and (isinstance(axis, g.Node) or not isinstance(axis, int)):
            raise g.refused(ValueError, "axis must be None or an integer; the greater of two is maximum(x, y)")
        if axis is not None and axis < 0 and name in _REDUCTIONS:  # as numexpr has it
            raise g.refused(ValueError, "negative axis are not supported")
        operand = _node(self.visit(arguments[0]))
        if operand.kind == g.BOOL and name in ("sum", "prod"):  # counted, as NumPy and numexpr 2.12 do
            operand = g.cast(operand, g.I64)
        return Reduction(name, operand, axis, keepdims)

    def visit(self, tree):
        """The value of `tree`: a Node, or a Python number for what is made of literals only. With a stack of its own, so
        a sum of thousands of terms is no deeper than one of two."""
        values, stack = [], [(tree, False)]
        while stack:
            node, ready = stack.pop()
            if type(node) is ast.Name:  # half of what long texts have
                values.append(self.inputs[node.id])
                continue
            parts = self.parts(node)
            if parts and not ready:
                stack.append((node, True))
                stack.extend((part, False) for part in reversed(parts))
                continue
            first = len(values) - len(parts)
            values[first:] = [getattr(self, "visit_" + type(node).__name__)(node, *values[first:])]
        return values[0]

    @staticmethod
    def operands(tree):
        if isinstance(tree, ast.UnaryOp):
            return [tree.operand]
        if isinstance(tree, ast.BinOp):
            return [tree.left, tree.right]
        if isinstance(tree, ast.Compare):
            return [tree.left, *tree.comparators]
        return tree.args if isinstance(tree, ast.Call) else [tree.value] if isinstance(tree, ast.Attribute) else []

    @staticmethod
    def parts(tree):
        """The expressions inside `tree`; what is no expression of the language is refused here."""
        kind = type(tree)
        if kind is ast.Constant or kind is ast.Name:
            return []
        if kind is ast.BinOp and type(tree.op) in _BINARY:
            return [tree.left, tree.right]
        operands = _Walker.operands(tree)
        if isinstance(tree, ast.UnaryOp) and not isinstance(tree.op, ast.Not):
            return operands
        if isinstance(tree, ast.Compare) and len(tree.ops) != 1:
            raise g.refused(TypeError, _cures.of_chain(_shown(tree)))
        if isinstance(tree, (ast.BoolOp, ast.UnaryOp)):
            raise g.refused(TypeError, _cures.BOOLEANS)
        if isinstance(tree, ast.BinOp) and type(tree.op) in _BINARY or \
                isinstance(tree, ast.Compare) and type(tree.ops[0]) in _COMPARE:
            return operands
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            if tree.func.id in _REDUCTIONS or tree.func.id in BEYOND_REDUCTIONS:
                raise RuntimeError(_cures.INNER_REDUCTION)
            if tree.func.id not in _RESERVED and tree.func.id not in _FUNCTIONS and tree.func.id not in _AS_NUMPY:
                raise g.refused(TypeError, _cures.of_function(tree.func.id))
            if tree.keywords or any(isinstance(a, ast.Starred) for a in tree.args):
                raise g.refused(TypeError, f"{tree.func.id}() takes plain arguments only")
            return operands
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            raise AttributeError(f"expressions have no attribute '{tree.func.attr}'")
        if isinstance(tree, ast.Attribute):
            if tree.attr not in ("real", "imag"):
                raise AttributeError(f"expressions have no attribute '{tree.attr}'")
            return operands
        raise g.refused(TypeError, _cures.of_syntax(tree, _shown(tree)))

    @staticmethod
    def visit_Constant(tree):
        if isinstance(tree.value, (bool, int, float)) or tree.value is None:
            return tree.value
        raise g.refused(NotImplementedError, f"constants of type {type(tree.value).__name__} are not supported: numbers, True and False are")

    def visit_Name(self, tree):
        return self.inputs[tree.id]

    @staticmethod
    def visit_Attribute(tree, a):
        return _Walker.call(tree.attr, [a])

    @staticmethod
    def visit_UnaryOp(tree, a):
        if isinstance(tree.op, ast.UAdd):
            return a
        if not isinstance(a, g.Node):
            return _of_literals(operator.neg if isinstance(tree.op, ast.USub) else operator.invert, a)
        return _built(g.negative if isinstance(tree.op, ast.USub) else g.invert, a)

    def visit_BinOp(self, tree, a, b):
        name, on_literals = _BINARY[type(tree.op)]
        if not isinstance(a, g.Node) and not isinstance(b, g.Node):
            return _of_literals(on_literals, a, b)
        if name == "pow":
            return _built(_power, _node(a), _node(b), self.optimization)
        return _built(_Walker.binary, name, _node(a), _node(b))

    @staticmethod
    def binary(name, a, b):
        kind = COMMON([a.kind, b.kind])
        if name == "div":
            return g.true_divide(a, b, COMMON)
        if name in ("mod", "floordiv") and kind in g.INTS:
            return g.floor_mod(a, b, COMMON) if name == "mod" else _elementwise.floor_divide_integers(a, b, kind)
        if name in ("mod", "floordiv") and kind in g.FLOATS:
            quotient = g.function("floor", [g.true_divide(a, b, COMMON)], COMMON)
            return quotient if name == "floordiv" else g.arithmetic("sub", a, g.arithmetic("mul", b, quotient, COMMON), COMMON)
        if name in _OF_BOOLEANS and kind == g.BOOL:
            return g.bitwise(_OF_BOOLEANS[name], a, b, COMMON)
        if name in ("and", "or", "xor"):
            return g.bitwise(name, a, b, COMMON)
        if name in ("shl", "sar"):
            return g.shift(name, a, b, COMMON)
        return g.arithmetic(name, a, b, COMMON)

    @staticmethod
    def visit_Compare(tree, a, b):
        name, on_literals = _COMPARE[type(tree.ops[0])]
        if not isinstance(a, g.Node) and not isinstance(b, g.Node):
            return _of_literals(on_literals, a, b)
        return _built(g.compare, name, _node(a), _node(b), COMMON)

    @staticmethod
    def visit_Call(tree, *args):
        return _built(_Walker.call, tree.func.id, args)

    @staticmethod
    def call(name, args):
        def expect(count):
            if len(args) != count:
                kind = TypeError if len(args) < count or name == "where" else NotImplementedError  # as numexpr has it
                raise kind(f"{name}() takes {count} argument{'s' if count > 1 else ''}, here {len(args)}")

        literal = not any(isinstance(a, g.Node) for a in args)
        if name == "where":
            expect(3)
            if not isinstance(args[0], g.Node):
                return args[1] if args[0] else args[2]
            if args[0].kind != g.BOOL:
                raise g.refused(NotImplementedError, "where() needs a boolean condition")
            return g.where(args[0], _node(args[1]), _node(args[2]), COMMON)
        if name in ("real", "imag", "copy", "ones_like"):
            expect(1)
            if literal:
                raise g.refused(NotImplementedError, f"{name}() of a number is not supported")
            return _Walker.part(name, args[0])
        if name in ("complex", "conj", "contains"):
            raise g.refused(NotImplementedError, f"{name}() is not supported")
        expect(2 if name in _TWO_ARGUMENTS else 1)
        if literal:
            with np.errstate(all="ignore"):
                value = _of_literals(getattr(np, name), *args)
            is_half = isinstance(value, np.float16)  # NumPy answers with an int for one of more than 64 bits
            return np.float32(value) if is_half else value
        args = [_node(a) for a in args]
        if name in _AS_NUMPY:
            return _Walker.as_numpy(name, args)
        if COMMON([a.kind for a in args]) == g.BOOL:  # numexpr: not less than float32
            args = [g.cast(a, g.F32) for a in args]
        return g.function(_FUNCTIONS[name], args, COMMON)

    @staticmethod
    def as_numpy(name, args):
        """NumPy's values, NaN kept, in numexpr's type."""
        kind = COMMON([a.kind for a in args])
        if name not in _TESTS and not (kind in g.INTS and name in _KEEP_INTEGERS) or kind == g.BOOL:
            kind = g.F64
        args = [g.cast(a, kind) for a in args]
        if name == "round":
            return g.function("rint", args, COMMON) if kind == g.F64 else args[0]
        if name in ("copysign", "hypot", "trunc"):
            return g.function(name, args, COMMON)
        if name == "signbit":
            sign = g.function("copysign", [g.const(1, kind), *args], COMMON) if kind in g.FLOATS else args[0]
            return g.compare("lt", sign, g.const(0, kind), COMMON)
        return _elementwise.ELEMENTWISE[name](*args)

    @staticmethod
    def part(name, a):
        if name == "real":
            return g.cast(a, g.F64)
        if name == "imag":
            return _filled(a, 0.0, g.F64)
        if name == "ones_like" and a.kind == g.BOOL:
            raise g.refused(NotImplementedError, "ones_like() of booleans is not supported")
        return a if name == "copy" else _filled(a, 1, a.kind)


def _shown(tree):
    try:
        return ast.unparse(tree)
    except RecursionError:
        return type(tree).__name__


def _filled(a, value, kind):
    """Returns a constant for each element of `a`."""
    return g.where(g.compare("eq", a, a, COMMON), g.const(value, kind), g.const(value, kind), COMMON)


def _built(build, *args):
    """numexpr has a NotImplementedError for an operation that these types do not have."""
    try:
        return build(*args)
    except g.Refusal as error:
        if isinstance(error, TypeError):
            raise g.refused(NotImplementedError, str(error)) from error
        raise


def _of_literals(function, *numbers):
    """Python's result, or Python's error."""
    try:
        return function(*numbers)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise g.refused(type(error), str(error)) from None
