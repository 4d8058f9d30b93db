"""Expressions of plain Python functions as texts of trident's language: the half of _translate that looks at values.

Where an expression needs a name for a part of it, a line `let` goes in front of its statement. The parts that Python
evaluates before get names in front of that line (_in_order), so calls that write and failures keep Python's order. A part
that is not always evaluated gets no line: it is refused, because its failure would come when Python has none.
"""
import ast
import operator

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^^"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_FOLDED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
           ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor}
_FALLIBLE = (ast.Subscript, ast.BinOp, ast.Call)  # get lines of their own where a statement has several
_ARITY = {"len": 1, "abs": 1, "min": 2, "max": 2, "int": 1, "bool": 1, "ord": 1}


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
    (_assigned), names from outside (_outer), and it writes lines (_emit, _lines) that name a node of Python's (_at)."""

    _conditional = 0  # depth of parts that are not always evaluated
    _writes = 0       # calls so far that may write to arrays

    def _value(self, node):
        if id(node) in self._known:
            return self._known[id(node)]
        statement, self._at = self._at, node
        value = self._value_of(node)
        if node.lineno != self._statement.lineno and isinstance(node, _FALLIBLE) and not self._conditional:
            value = self._named(value)
        self._at = statement
        return value

    def _value_of(self, node):
        handler = getattr(self, "_e_" + type(node).__name__.lower(), None)
        if handler is None:
            raise Refused(node, f"the expression '{ast.unparse(node)}'",
                           "use numbers, names, elements, arithmetic, comparisons, and, or, not, if-else, len, abs, min, max")
        return handler(node)

    def _in_order(self, *readers):
        """The values of operands. Where one puts lines in front of the statement, those before it are read before these."""
        values = []
        for read in readers:
            mark = len(self._lines)
            value = read()
            if len(self._lines) > mark:
                behind = self._lines[mark:]
                del self._lines[mark:]
                values = [held if held.simple else self._named(held) for held in values]
                self._lines += behind
            values.append(value)
        return values

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
        if isinstance(node, ast.Name):
            return self._outer.number(node.id)
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
            return Value(self._written(node.id), self._types[node.id], True)
        if node.id in self._arrays:
            raise Refused(node, f"the array '{node.id}' as a value", "use its elements, or len()")
        if node.id in self._own:
            raise Refused(node, f"'{node.id}', which may have no value here", "give it one before")
        held = self._outer.number(node.id)
        if held is not None:
            return self._number(node, held)
        if self._outer.is_known(node.id):
            raise Refused(node, f"the name '{node.id}', whose value is no int, float or bool",
                          "make it one outside, by int() or float()")
        raise Refused(node, f"the name '{node.id}'", "use parameters, own variables and numbers from outside")

    def _e_subscript(self, node):
        return Value(self._element(node), self._element_type(node))

    def _element(self, node):
        name = node.value.id if isinstance(node.value, ast.Name) else None
        if name in self._own and name not in self._arrays and name not in self._types:
            raise Refused(node, f"the array '{name}', which may not be made here", "make it before, outside of if and loops")
        if name not in self._arrays:
            raise Refused(node, f"an element of '{ast.unparse(node.value)}'", "use an array: a parameter or [0] * n")
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise Refused(node, "a slice", "write a loop over its elements")
        index = self._constant(node.slice)
        if isinstance(index, int) and index < 0:
            return f"{self._written(name)}[len({self._written(name)}) - {-index}]"
        return f"{self._written(name)}[{self._int(node.slice).text}]"

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
            return value if value.type == "float" else Value(self._as(value, "int", node), "int", value.simple)
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
        right_of = self._divisor_of if kind is ast.Div else self._value
        left, right = self._in_order(lambda: self._value(node.left), lambda: right_of(node.right))
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
        if sign == "/":
            right = self._divisor(node.right, right)
        texts = [v.text if v.type == "float" else f"f64({self._as(v, 'int', node)})" for v in (left, right)]
        return Value(f"({texts[0]} {sign} {texts[1]})", "float")

    def _divisor_of(self, node):
        """The value of a divisor of floats, whose text is read twice."""
        value, is_writing = self._with_writes(lambda: self._value(node))
        is_long = not self._conditional or len(value.text) > 200
        return self._held(node, value) if is_writing or is_long else value

    def _divisor(self, node, value):
        """A divisor of floats that fails where it is zero, as Python's. It is read behind the dividend."""
        text = value.text if value.type == "float" else f"f64({self._as(value, 'int', node)})"
        constant = self._constant(node)
        if constant is not None:
            return Value(text if constant != 0 else "f64(1 / 0)", "float", True)
        return Value(f"({text} == 0.0 ? f64(1 / 0) : {text})", "float")

    def _division(self, node):
        """Python rounds down: the quotient towards zero is corrected where the signs differ."""
        divisor = self._constant(node.right)
        left, right = self._in_order(lambda: self._int(node.left), lambda: self._int(node.right))
        is_quotient = isinstance(node.op, ast.FloorDiv)
        if isinstance(divisor, int) and 0 < divisor < 2**31:
            if divisor & (divisor - 1) == 0:
                text = f"{left.text} >> {divisor.bit_length() - 1}" if is_quotient else f"{left.text} & {divisor - 1}"
                return Value(f"({text})", "int")
            if not is_quotient:
                return Value(f"(({left.text} % {divisor} + {divisor}) % {divisor})", "int")
        a, b = self._held(node, left), self._held(node, right)
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

    def _shift(self, node):
        count = self._constant(node.right)
        left, by = self._in_order(lambda: self._int(node.left), lambda: self._int(node.right))
        sign = "<<" if isinstance(node.op, ast.LShift) else ">>"
        if not isinstance(count, int) or not 0 <= count < 64:
            if count is not None:
                raise Refused(node.right, f"a shift by {count}", "shift by 0 to 63")
            left, by = left if self._conditional else self._held(node, left), self._held(node, by)
            beyond = "0" if sign == "<<" else f"{left.text} >> 63"
            shifted = f"{by.text} > 63 ? {beyond} : {left.text} {sign} {by.text}"
            if self._conditional:
                return Value(f"({by.text} < 0 ? 1 / 0 : {shifted})", "int")
            self._emit(f"if {by.text} < 0 {{ let {self._temporary()} = 1 / 0; }}")
            return Value(f"({shifted})", "int")
        return Value(f"({left.text} {sign} {count})", "int")

    def _e_compare(self, node):
        values = self._compared(node)
        parts = [self._comparison(node, op, *pair) for op, *pair in zip(node.ops, values, values[1:])]
        return Value("(" + " && ".join(parts) + ")" if len(parts) > 1 else parts[0], "bool")

    def _compared(self, node):
        """The operands of a comparison. Those in the middle are read twice."""
        first, *others = (lambda one=one: self._value(one) for one in (node.left, *node.comparators))
        values = self._in_order(first, lambda: self._middle(node, others[0]) if len(others) > 1 else others[0]())
        self._conditional += 1
        values += [self._middle(node, read) for read in others[1:-1]] + [read() for read in others[1:][-1:]]
        self._conditional -= 1
        return values

    def _middle(self, node, read):
        """The value as it may be read twice: a call that writes comes once."""
        value, is_writing = self._with_writes(read)
        return self._held(node, value) if is_writing else value

    def _with_writes(self, read):
        """A value, and whether it calls what may write."""
        writes = self._writes
        return read(), self._writes > writes

    def _comparison(self, node, op, left, right):
        sign = _COMPARISONS.get(type(op))
        if sign is None:
            raise Refused(node, f"the comparison of '{ast.unparse(node)}'", "use == != < <= > >=")
        if left.type == right.type == "bool" and sign in ("==", "!="):
            return f"({left.text} {sign} {right.text})"
        known = "float" if "float" in (left.type, right.type) else "int"
        return f"({self._widened(left, known, node)} {sign} {self._widened(right, known, node)})"

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
        callee = self._outer.function(name)
        if callee is not None:
            called = self._called(node, callee)
            if called.type is None:
                raise Refused(node, f"'{ast.unparse(node)}' as a value", "it returns none: call it in a line of its own")
            return called
        if name not in _ARITY or not self._outer.is_builtin(name):
            raise Refused(node, f"the call of '{ast.unparse(node.func)}'",
                           "use len, abs, min, max, int, bool, ord, and what trident.function has made before or "
                           "trident.library() has")
        if node.keywords or len(node.args) != _ARITY[name]:
            cure = "takes one value" if _ARITY[name] == 1 else f"takes two numbers: {name}(a, {name}(b, c))"
            raise Refused(node, f"'{ast.unparse(node)}'", f"{name} {cure}")
        return {"len": self._len, "abs": self._abs, "min": self._least, "max": self._least, "int": self._to_int,
                "bool": self._to_bool, "ord": self._ord}[name](node)

    def _called(self, node, callee):
        if node.keywords or len(node.args) != len(callee.parameters):
            raise Refused(node, f"'{ast.unparse(node)}'",
                          f"{callee.__name__} takes {len(callee.parameters)} arguments, by position")
        for name, text in callee.texts.items():
            if self.callees.setdefault(name, text) != text or name == self._tree.name:
                raise Refused(node, f"the call of '{name}'", "two functions have this name: give each its own")
        arguments = self._in_order(*(lambda a=a, p=p: self._argument(a, p) for a, p in zip(node.args, callee.parameters)))
        self.called.append(callee)
        self._writes += any(p.is_written for p in callee.parameters)
        return Value(f"{callee.__name__}({', '.join(held.text for held in arguments)})", callee.result)

    def _argument(self, node, parameter):
        if not parameter.is_array:
            value = self._value(node)
            return Value(self._as(value, parameter.kind, node), parameter.kind, value.simple)
        if not isinstance(node, ast.Name) or self._arrays.get(node.id) != parameter.element:
            raise Refused(node, f"'{ast.unparse(node)}' as '{parameter.name}'", f"pass an array of {parameter.element}")
        return Value(self._written(node.id), None, True)

    def _len(self, node):
        if not isinstance(node.args[0], ast.Name) or node.args[0].id not in self._arrays:
            raise Refused(node, f"'{ast.unparse(node)}'", "len takes an array")
        return Value(f"len({self._written(node.args[0].id)})", "int")

    def _abs(self, node):
        return Value(f"abs({self._int(node.args[0]).text})", "int")

    def _least(self, node):
        values = self._in_order(*(lambda a=a: self._int(a) for a in node.args))
        return Value(f"{node.func.id}({', '.join(v.text for v in values)})", "int")

    def _to_int(self, node):
        return self._int(node.args[0])

    def _to_bool(self, node):
        return Value(self._truth(self._value(node.args[0])), "bool")

    def _ord(self, node):
        held = self._constant(node.args[0])
        if not isinstance(held, (str, bytes)) or len(held) != 1:
            raise Refused(node, f"'{ast.unparse(node)}'", "ord takes one character in quotes")
        return Value(str(ord(held)), "int", True)
