"""numexpr's expression language: Python's grammar, numexpr's functions and type rules, walked as a syntax tree (nothing of
the text is ever executed). Literals stay Python numbers, with Python's arithmetic, until they meet a variable.
"""
import ast
import operator

import numpy as np

from . import _graph as g

COMMON = g.numexpr_common

_FUNCTIONS = {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "fmod": "fmod", "log": "log", "log1p": "log1p", "log10": "log10", "exp": "exp",
    "expm1": "expm1", "abs": "abs", "ceil": "ceil", "floor": "floor",
    # beyond numexpr, under NumPy's names
    "log2": "log2", "exp2": "exp2", "cbrt": "cbrt", "hypot": "hypot", "trunc": "trunc", "rint": "rint",
}
_TWO_ARGUMENTS = ("arctan2", "fmod", "hypot")
_REDUCTIONS = {"sum": "sum", "min": "minof", "max": "maxof", "prod": None}

_BINARY = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.Mod: ("mod", operator.mod), ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("and", operator.and_), ast.BitOr: ("or", operator.or_), ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift), ast.RShift: ("sar", operator.rshift),
    ast.FloorDiv: (None, operator.floordiv),
}
_COMPARE = {
    ast.Lt: ("lt", operator.lt), ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge), ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne),
}
_NO_BOOLEANS = ("You can't use Python's standard boolean operators in expressions. You should use their bitwise "
                "counterparts instead: '&' instead of 'and', '|' instead of 'or', and '~' instead of 'not'.")
_DEPTH_MAX = 200


class Reduction:
    """A reduction at the root of the expression: `op` of sum, min, max, prod over `axis` (None: all) of `operand`."""

    def __init__(self, op, operand, axis):
        self.op, self.operand, self.axis = op, operand, axis


def parse(text):
    """The syntax tree of `text` and the sorted names of its variables."""
    if not isinstance(text, str):
        raise ValueError("must specify expression as a string")
    tree = ast.parse(text.strip(), "<expr>", "eval").body
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}
    return tree, sorted(names)


def build(tree, kinds):
    """The graph of `tree`, or a Reduction of one. `kinds`: name -> kind; inputs are numbered in its order."""
    inputs = {name: g.Node("input", kind, value=i) for i, (name, kind) in enumerate(kinds.items())}
    walker = _Walker(inputs)
    reduction = walker.reduction(tree)
    if reduction is not None:
        return reduction
    return _node(walker.visit(tree, 0))


def _node(value):
    return value if isinstance(value, g.Node) else g.const(value)


def _exponent(a, b):
    """numexpr writes small whole and half powers as products and roots in the type of the base: float32 ** 0.5 stays
    float32, int32 ** 2.0 stays int32."""
    if b.is_const() and b.kind in g.FLOATS and abs(b.value) <= 50 and 2 * b.value == int(2 * b.value):
        if a.kind in g.FLOATS:
            return g.const(b.value, a.kind)
        if a.kind in g.INTS and b.value == int(b.value) and b.value >= 0:
            return g.const(int(b.value))
    return b


class _Walker:
    def __init__(self, inputs):
        self.inputs = inputs

    def reduction(self, tree):
        name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None
        if name not in _REDUCTIONS:
            return None
        arguments = list(tree.args)
        axis = None
        for keyword in tree.keywords:
            if keyword.arg != "axis":
                raise TypeError(f"{name}() got an unexpected keyword argument '{keyword.arg}'")
            axis = self.visit(keyword.value, 0)
        if len(arguments) == 2:
            axis = self.visit(arguments.pop(), 0)
        if len(arguments) != 1:
            raise TypeError(f"{name}() takes an expression and an axis")
        if axis is not None and (isinstance(axis, g.Node) or not isinstance(axis, int)):
            raise ValueError("axis must be None or an integer")
        if axis is not None and axis < 0:
            raise ValueError("negative axis are not supported")
        operand = _node(self.visit(arguments[0], 0))
        if operand.kind == g.BOOL:
            raise NotImplementedError(f"{name} of booleans is not supported")
        return Reduction(name, operand, axis)

    def visit(self, tree, depth):
        if depth > _DEPTH_MAX:
            raise ValueError("the expression is nested too deeply")
        method = getattr(self, "visit_" + type(tree).__name__, None)
        if method is None:
            raise TypeError(f"'{ast.unparse(tree)}' is not supported in expressions")
        return method(tree, depth + 1)

    def visit_Constant(self, tree, depth):
        del depth
        if tree.value is None or isinstance(tree.value, (bool, int, float)):
            return tree.value
        raise NotImplementedError(f"constants of type {type(tree.value).__name__} are not supported")

    def visit_Name(self, tree, depth):
        del depth
        return self.inputs[tree.id]

    def visit_UnaryOp(self, tree, depth):
        if isinstance(tree.op, ast.Not):
            raise TypeError(_NO_BOOLEANS)
        a = self.visit(tree.operand, depth)
        if isinstance(tree.op, ast.UAdd):
            return a
        if not isinstance(a, g.Node):
            return -a if isinstance(tree.op, ast.USub) else ~a
        return g.negative(a) if isinstance(tree.op, ast.USub) else g.invert(a)

    def visit_BoolOp(self, tree, depth):
        raise TypeError(_NO_BOOLEANS)

    def visit_BinOp(self, tree, depth):
        if type(tree.op) not in _BINARY:
            raise TypeError(f"'{ast.unparse(tree)}': the operator is not supported in expressions")
        name, on_literals = _BINARY[type(tree.op)]
        a, b = self.visit(tree.left, depth), self.visit(tree.right, depth)
        if not isinstance(a, g.Node) and not isinstance(b, g.Node):
            if isinstance(tree.op, (ast.Pow, ast.LShift)) and isinstance(b, int) and abs(b) > 1024:
                raise OverflowError("a constant is too large")
            return on_literals(a, b)
        if name is None:
            raise TypeError("unsupported operand type(s) for //: write floor(a / b)")
        return self.binary(name, _node(a), _node(b))

    @staticmethod
    def binary(name, a, b):
        if name == "div":
            return g.true_divide(a, b, COMMON)
        if name == "pow":
            return g.power(a, _exponent(a, b), COMMON)
        if name == "mod":
            kind = COMMON([a.kind, b.kind])
            if kind not in g.FLOATS:
                return g.trunc_mod(a, b, COMMON)
            quotient = g.function("floor", [g.true_divide(a, b, COMMON)], COMMON)
            return g.arithmetic("sub", a, g.arithmetic("mul", b, quotient, COMMON), COMMON)
        if name in ("and", "or", "xor"):
            return g.bitwise(name, a, b, COMMON)
        if name in ("shl", "sar"):
            return g.shift(name, a, b, COMMON)
        return g.arithmetic(name, a, b, COMMON)

    def visit_Compare(self, tree, depth):
        if len(tree.ops) != 1:
            raise TypeError(_NO_BOOLEANS)
        if type(tree.ops[0]) not in _COMPARE:
            raise TypeError(f"'{ast.unparse(tree)}': the operator is not supported in expressions")
        name, on_literals = _COMPARE[type(tree.ops[0])]
        a, b = self.visit(tree.left, depth), self.visit(tree.comparators[0], depth)
        if not isinstance(a, g.Node) and not isinstance(b, g.Node):
            return on_literals(a, b)
        return g.compare(name, _node(a), _node(b), COMMON)

    def visit_Call(self, tree, depth):
        if not isinstance(tree.func, ast.Name):
            raise TypeError(f"'{ast.unparse(tree.func)}' is not a function")
        name = tree.func.id
        if name in _REDUCTIONS:
            raise RuntimeError("invalid program: reduction operations must occur last")
        if tree.keywords or any(isinstance(a, ast.Starred) for a in tree.args):
            raise TypeError(f"{name}() takes plain arguments only")
        args = [_node(self.visit(a, depth)) for a in tree.args]
        return self.call(name, args)

    @staticmethod
    def call(name, args):
        def expect(count):
            if len(args) != count:
                raise TypeError(f"{name}() takes {count} argument{'s' if count > 1 else ''}, here {len(args)}")

        if name == "where":
            expect(3)
            if args[0].kind != g.BOOL:
                raise NotImplementedError("where() needs a boolean condition")
            return g.where(*args, COMMON)
        if name == "real":
            expect(1)
            return g.cast(args[0], g.F64)
        if name in ("copy", "ones_like"):
            expect(1)
            kind = args[0].kind if args[0].kind in g.FLOATS else g.F64
            return g.cast(args[0], kind) if name == "copy" else g.const(1, kind)
        if name not in _FUNCTIONS:
            raise TypeError(f"'{name}' is not a function that expressions know")
        expect(2 if name in _TWO_ARGUMENTS else 1)
        if all(a.is_const() for a in args):
            with np.errstate(all="ignore"):
                return float(getattr(np, name)(*[a.value for a in args]))
        return g.function(_FUNCTIONS[name], args, COMMON)
