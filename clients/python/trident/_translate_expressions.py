"""Expressions of plain Python functions as texts of trident's language: the half of _translate that looks at values.

Where an expression needs a name for a part of it, a line `let` goes in front of its statement. A part that is not always
evaluated gets none: it is refused, because its failure would come when Python has none.
"""
import ast
import operator

from ._function import Function

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^^"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_FOLDED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
           ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor}


class Refused(Exception):
    """A construct that cannot be translated, and what to write instead."""

    def __init__(self, node, what, cure):
        super().__init__(what)
        self.node, self.what, self.cure = node, what, cure


class Value:
    """An expression as text: its Python type ("int", "bool", "float"), and whether it may stand where it is repeated."""
    __slots__ = ("text", "type", "simple")

    def __init__(self, text, type, simple=False):
        self.text, self.type, self.simple = text, type, simple


class Expressions:
    """A translator's view of values: it has names with their types (_types), arrays (_arrays), names that have a value here
    (_assigned), names from outside (_outer), and it writes lines (_emit)."""

    def _value(self, node):
        handler = getattr(self, "_e_" + type(node).__name__.lower(), None)
        if handler is None:
            raise Refused(node, f"the expression '{ast.unparse(node)}'",
                           "use numbers, names, elements, arithmetic, comparisons, and, or, not, if-else, len, abs, min, max")
        return handler(node)

    def _int(self, node):
        value = self._value(node)
        return Value(self._as(value, "int", node), "int", value.simple)

    def _as(self, value, type, node):
        if value.type == type:
            return value.text
        if type == "int" and value.type == "bool":
            return f"i64({value.text})"
        raise Refused(node, f"a value of type {value.type} where {type} is known", "give each name one type")

    def _truth(self, value):
        return value.text if value.type == "bool" else f"({value.text} != {'0' if value.type == 'int' else '0.0'})"

    def _named(self, value):
        """The value held in a name of its own: what follows does not change it."""
        if value.text.lstrip("-").isdigit():
            return value
        name = self._temporary()
        self._emit(f"let {name} = {value.text};")
        return Value(name, value.type, True)

    def _constant(self, node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._constant(node.operand)
            return -inner if isinstance(inner, (int, float)) else None
        if isinstance(node, ast.Name) and node.id not in self._types and node.id not in self._arrays:
            held = self._outer.get(node.id)
            return held if isinstance(held, (int, float)) else None
        if isinstance(node, ast.BinOp):
            return self._folded(node)
        return None

    def _folded(self, node):
        left, right = self._constant(node.left), self._constant(node.right)
        if type(left) is not int or type(right) is not int:
            return None
        if isinstance(node.op, ast.Pow):
            return left ** right if 0 <= right <= 64 and abs(left) < 2**63 else None
        if isinstance(node.op, (ast.LShift, ast.RShift)) and 0 <= right <= 64:
            return left << right if isinstance(node.op, ast.LShift) else left >> right
        fold = _FOLDED.get(type(node.op))
        return None if fold is None or (right == 0 and fold in (operator.floordiv, operator.mod)) else fold(left, right)

    def _number(self, node, held):
        if isinstance(held, bool):
            return Value("true" if held else "false", "bool", True)
        if isinstance(held, int):
            if not -2**63 <= held < 2**63:
                raise Refused(node, f"the number {held}", "numbers have 64 bits")
            return Value(str(held) if held >= 0 else f"({held})" if held > -2**63 else "(-9223372036854775807 - 1)", "int", True)
        if isinstance(held, float):
            return Value(repr(held) if held >= 0 else f"({held!r})", "float", True)
        raise Refused(node, f"the value {held!r}", "write a number; ord('a') is one")

    def _e_constant(self, node):
        return self._number(node, node.value)

    def _e_name(self, node):
        if node.id in self._types:
            if node.id not in self._assigned:
                raise Refused(node, f"'{node.id}', which may have no value here", "give it one before")
            return Value(node.id, self._types[node.id], True)
        if node.id in self._arrays:
            raise Refused(node, f"the array '{node.id}' as a value", "use its elements, or len()")
        if node.id in self._outer:
            return self._number(node, self._outer[node.id])
        raise Refused(node, f"the name '{node.id}'", "use parameters, own variables and numbers from outside")

    def _e_subscript(self, node):
        return Value(self._element(node), self._element_type(node))

    def _element(self, node):
        name = node.value.id if isinstance(node.value, ast.Name) else None
        if name not in self._arrays:
            raise Refused(node, f"an element of '{ast.unparse(node.value)}'", "use an array: a parameter or [0] * n")
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise Refused(node, "a slice", "write a loop over its elements")
        index = self._constant(node.slice)
        if isinstance(index, int) and index < 0:
            return f"{name}[len({name}) - {-index}]"
        return f"{name}[{self._int(node.slice).text}]"

    def _type_of_elements(self, name):
        return "float" if self._arrays[name] == "f64" else "int"

    def _element_type(self, node):
        return self._type_of_elements(node.value.id)

    def _e_unaryop(self, node):
        constant = self._constant(node)
        if constant is not None:
            return self._number(node, constant)
        if isinstance(node.op, ast.Not):
            return Value(f"!{self._truth(self._value(node.operand))}", "bool")
        value = self._value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if value.type == "float" and isinstance(node.op, ast.USub):
            return Value(f"(-{value.text})", "float")
        sign = "-" if isinstance(node.op, ast.USub) else "~"
        return Value(f"({sign}{self._as(value, 'int', node)})", "int")

    def _e_binop(self, node):
        kind, constant = type(node.op), self._folded(node)
        if constant is not None:
            return self._number(node, constant)
        if kind in (ast.FloorDiv, ast.Mod):
            return self._division(node)
        if kind in (ast.LShift, ast.RShift):
            return self._shift(node)
        left, right = self._value(node.left), self._value(node.right)
        if "float" in (left.type, right.type):
            return self._float(node, left, right)
        if kind not in _ARITHMETIC:
            cure = {ast.Div: "write a // b, or float parameters", ast.Pow: "multiply in a loop"}
            raise Refused(node, f"the operator of '{ast.unparse(node)}'", cure.get(kind, "use + - * // % & | ^ << >>"))
        if kind in (ast.BitAnd, ast.BitOr, ast.BitXor) and left.type == right.type == "bool":
            sign = {ast.BitAnd: "&&", ast.BitOr: "||", ast.BitXor: "!="}[kind]
            return Value(f"({self._held(node, left).text} {sign} {self._held(node, right).text})", "bool")
        return Value(f"({self._as(left, 'int', node)} {_ARITHMETIC[kind]} {self._as(right, 'int', node)})", "int")

    def _float(self, node, left, right):
        sign = {**{k: v for k, v in _ARITHMETIC.items() if v in "+-*"}, ast.Div: "/"}.get(type(node.op))
        if sign is None:
            raise Refused(node, f"the operator of '{ast.unparse(node)}' on floats", "use + - * /")
        texts = [v.text if v.type == "float" else f"f64({self._as(v, 'int', node)})" for v in (left, right)]
        return Value(f"({texts[0]} {sign} {texts[1]})", "float")

    def _division(self, node):
        """Python rounds down: the quotient towards zero is corrected where the signs differ."""
        left, divisor = self._int(node.left), self._constant(node.right)
        is_quotient = isinstance(node.op, ast.FloorDiv)
        if isinstance(divisor, int) and 0 < divisor < 2**31:
            if divisor & (divisor - 1) == 0:
                text = f"{left.text} >> {divisor.bit_length() - 1}" if is_quotient else f"{left.text} & {divisor - 1}"
                return Value(f"({text})", "int")
            if not is_quotient:
                return Value(f"(({left.text} % {divisor} + {divisor}) % {divisor})", "int")
        a, b = self._held(node, left), self._held(node, self._int(node.right))
        rest = self._held(node, Value(f"{a.text} % {b.text}", "int"))
        differs = f"{rest.text} != 0 && ({rest.text} ^^ {b.text}) < 0"
        if is_quotient:
            return Value(f"({a.text} / {b.text} - i64({differs}))", "int")
        return Value(f"({differs} ? {rest.text} + {b.text} : {rest.text})", "int")

    def _held(self, node, value):
        if value.simple:
            return value
        if self._conditional:
            raise Refused(node, f"'{ast.unparse(node)}' where it is not always evaluated",
                           "give it a name in a line of its own, or divide by a positive constant")
        return self._named(value)

    _conditional = 0

    def _shift(self, node):
        left, count = self._int(node.left), self._constant(node.right)
        sign = "<<" if isinstance(node.op, ast.LShift) else ">>"
        if not isinstance(count, int) or not 0 <= count < 64:
            if count is not None:
                raise Refused(node.right, f"a shift by {count}", "shift by 0 to 63")
            by = self._held(node, self._int(node.right))
            beyond = "0" if sign == "<<" else f"{left.text} >> 63"
            return Value(f"({by.text} < 0 ? 1 / 0 : {by.text} > 63 ? {beyond} : {left.text} {sign} {by.text})", "int")
        return Value(f"({left.text} {sign} {count})", "int")

    def _e_compare(self, node):
        values, parts = [self._value(node.left)], []
        for i, (op, right) in enumerate(zip(node.ops, node.comparators)):
            sign = _COMPARISONS.get(type(op))
            if sign is None:
                raise Refused(node, f"the comparison of '{ast.unparse(node)}'", "use == != < <= > >=")
            self._conditional += 1 if i > 0 else 0
            values.append(self._value(right))
            self._conditional -= 1 if i > 0 else 0
            left, right_value = values[-2], values[-1]
            if left.type == right_value.type == "bool" and sign in ("==", "!="):
                parts.append(f"({left.text} {sign} {right_value.text})")
                continue
            known = "float" if "float" in (left.type, right_value.type) else "int"
            parts.append(f"({self._widened(left, known, node)} {sign} {self._widened(right_value, known, node)})")
        return Value("(" + " && ".join(parts) + ")" if len(parts) > 1 else parts[0], "bool")

    def _widened(self, value, type, node):
        if type == "float" and value.type == "int":
            raise Refused(node, "an int compared with a float", "write 1.0 for 1, or use one type")
        return self._as(value, type, node)

    def _e_boolop(self, node):
        parts = [self._value(node.values[0])]
        self._conditional += 1
        parts += [self._value(v) for v in node.values[1:]]
        self._conditional -= 1
        if any(p.type != "bool" for p in parts):
            raise Refused(node, "and, or on numbers", "compare them first: x != 0 and y != 0")
        joint = " && " if isinstance(node.op, ast.And) else " || "
        return Value("(" + joint.join(p.text for p in parts) + ")", "bool")

    def _e_ifexp(self, node):
        test = self._truth(self._value(node.test))
        self._conditional += 1
        then, otherwise = self._value(node.body), self._value(node.orelse)
        self._conditional -= 1
        type = then.type if then.type == otherwise.type else "int"
        return Value(f"({test} ? {self._as(then, type, node)} : {self._as(otherwise, type, node)})", type)

    def _e_call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else None
        handler = {"len": self._len, "abs": self._abs, "min": self._least, "max": self._least, "int": self._to_int,
                   "bool": self._to_bool, "ord": self._ord}.get(name)
        if isinstance(self._outer.get(name), Function):
            called = self._called(node, self._outer[name])
            if called.type is None:
                raise Refused(node, f"'{ast.unparse(node)}' as a value", "it returns none: call it in a line of its own")
            return called
        if handler is None or node.keywords or name in self._outer:
            raise Refused(node, f"the call of '{ast.unparse(node.func)}'",
                           "use len, abs, min, max, int, bool, ord, and what trident.function has made before or "
                           "trident.library() has")
        return handler(node)

    def _called(self, node, callee):
        if node.keywords or len(node.args) != len(callee.parameters):
            raise Refused(node, f"'{ast.unparse(node)}'", f"{callee.__name__} takes {len(callee.parameters)} arguments, by position")
        for name, text in callee.texts.items():
            if self.callees.setdefault(name, text) != text or name == self._tree.name:
                raise Refused(node, f"the call of '{name}'", "two functions have this name: give each its own")
        arguments = [self._argument(a, p) for a, p in zip(node.args, callee.parameters)]
        return Value(f"{callee.__name__}({', '.join(arguments)})", callee.result)

    def _argument(self, node, parameter):
        if not parameter.is_array:
            value = self._value(node)
            return self._truth(value) if parameter.kind == "bool" else self._as(value, parameter.kind, node)
        if not isinstance(node, ast.Name) or self._arrays.get(node.id) != parameter.element:
            raise Refused(node, f"'{ast.unparse(node)}' as '{parameter.name}'", f"pass an array of {parameter.element}")
        return node.id

    def _len(self, node):
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Name) or node.args[0].id not in self._arrays:
            raise Refused(node, f"'{ast.unparse(node)}'", "len takes an array")
        return Value(f"len({node.args[0].id})", "int")

    def _abs(self, node):
        return Value(f"abs({self._int(node.args[0]).text})", "int")

    def _least(self, node):
        if len(node.args) != 2:
            raise Refused(node, f"'{ast.unparse(node)}'", "min and max take two numbers: min(a, min(b, c))")
        return Value(f"{node.func.id}({', '.join(self._int(a).text for a in node.args)})", "int")

    def _to_int(self, node):
        return self._int(node.args[0])

    def _to_bool(self, node):
        return Value(self._truth(self._value(node.args[0])), "bool")

    def _ord(self, node):
        held = self._constant(node.args[0])
        if not isinstance(held, (str, bytes)) or len(held) != 1:
            raise Refused(node, f"'{ast.unparse(node)}'", "ord takes one character in quotes")
        return Value(str(ord(held)), "int", True)
