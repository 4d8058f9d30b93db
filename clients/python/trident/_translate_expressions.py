"""Expressions of plain Python functions as texts of trident's language: the half of _translate that looks at values.

Where an expression needs a name for a part of it, a line `let` goes in front of its statement. The parts that Python
evaluates before get names in front of that line (_in_order), so calls that write and failures keep Python's order. A part
that is not always evaluated has its lines in the block of an `if` (_apart).
"""
import ast
import operator

from . import _translate_math as maths

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^^"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_FOLDED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
           ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor}
_FALLIBLE = (ast.Subscript, ast.BinOp, ast.Call)  # get lines of their own where a statement has several
_ARITY = {"len": 1, "abs": 1, "min": 2, "max": 2, "int": 1, "float": 1, "round": 1, "bool": 1, "ord": 1}
_CONVERSION = {("int", "float"): "write 1.0 for 1, float(n) for n", ("float", "int"): "write int(x), or 0.0 for 0 where a name begins"}
FIRST = {"int": "0", "bool": "false", "float": "0.0"}


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

    _writes = 0  # calls so far that may write to arrays

    def _value(self, node):
        if id(node) in self._known:
            return self._known[id(node)]
        statement, self._at = self._at, node
        value = self._value_of(node)
        if node.lineno != self._statement.lineno and isinstance(node, _FALLIBLE):
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

    def _apart(self, read):
        """Reads a part that is not always evaluated: the lines that it needs in front, and its value."""
        mark = len(self._lines)
        self._depth += 1
        value = read()
        self._depth -= 1
        lines = self._lines[mark:]
        del self._lines[mark:]
        return lines, value

    def _undone(self, mark, count):
        """Takes back the lines from `mark` on, and the names behind `count`."""
        del self._lines[mark:]
        self._temporaries = count

    def _fail_if(self, condition, kind):
        """A line that fails as `kind` says where the condition holds."""
        self._emit(f"if {condition} {{ let {self._temporary()} = 1 / 0; }}", kind)

    def _int(self, node):
        value = self._value(node)
        return Value(self._as(value, "int", node), "int", value.simple)

    def _as(self, value, type, node):
        if value.type == type:
            return value.text
        if type == "int" and value.type == "bool":
            return f"i64({value.text})"
        raise Refused(node, f"a value of type {value.type} where {type} is known",
                      _CONVERSION.get((value.type, type), "give each name one type"))

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
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._outer.number(node)
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
        return self._from_outside(node)

    def _e_attribute(self, node):
        return self._from_outside(node)

    def _from_outside(self, node):
        held, name = self._outer.number(node), ast.unparse(node)
        if held is not None:
            return self._number(node, held)
        if self._outer.is_known(node):
            raise Refused(node, f"the name '{name}', whose value is no int, float or bool",
                          "make it one outside, by int() or float()")
        raise Refused(node, f"the name '{name}'", "use parameters, own variables and numbers from outside")

    def _e_list(self, node):
        raise Refused(node, f"the list '{ast.unparse(node)}'", f"begin with [0] * {len(node.elts)} and store the elements")

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
        if kind is ast.Pow:
            return self._power(node)
        right_of = self._divisor_of if kind is ast.Div else self._value
        left, right = self._in_order(lambda: self._value(node.left), lambda: right_of(node.right))
        if "float" in (left.type, right.type):
            return self._float(node, left, right)
        if kind not in _ARITHMETIC:
            cure = "write a // b, or float(a) / b" if kind is ast.Div else "use + - * // % & | ^ << >>"
            raise Refused(node, f"the operator of '{ast.unparse(node)}'", cure)
        if kind in (ast.BitAnd, ast.BitOr, ast.BitXor) and left.type == right.type == "bool":
            sign = {ast.BitAnd: "&&", ast.BitOr: "||", ast.BitXor: "!="}[kind]
            return Value(f"({self._once(left).text} {sign} {self._once(right).text})", "bool")
        return Value(f"({self._as(left, 'int', node)} {_ARITHMETIC[kind]} {self._as(right, 'int', node)})", "int")

    def _float(self, node, left, right):
        sign = {**{k: v for k, v in _ARITHMETIC.items() if v in "+-*"}, ast.Div: "/"}.get(type(node.op))
        if sign is None:
            raise Refused(node, f"the operator of '{ast.unparse(node)}' on floats", "use + - * /")
        if sign == "/":
            right = self._divisor(node.right, right)
        return Value(f"({self._real(node, left).text} {sign} {self._real(node, right).text})", "float")

    def _real(self, node, value):
        return value if value.type == "float" else Value(f"f64({self._as(value, 'int', node)})", "float")

    def _power(self, node):
        """A power whose exponent is known, so that its type is: others of Python's may be complex, or floats of ints."""
        exponent, base = self._constant(node.right), self._value(node.left)
        is_known = type(exponent) in (int, float) and abs(exponent) < 2**31 and exponent == int(exponent)
        if base.type != "float":
            if type(exponent) is not int or not 0 <= exponent < 2**31:
                raise Refused(node, f"the operator of '{ast.unparse(node)}'", "multiply in a loop")
            return Value(f"({self._as(base, 'int', node)} ^ {exponent})", "int")
        if not is_known:
            raise Refused(node, f"the operator of '{ast.unparse(node)}' on floats", "use math.pow(a, b)")
        base = self._once(base)
        if exponent < 0:
            self._emit(f"if {base.text} == 0.0 {{ let {self._temporary()} = 1 / 0; }}")
        return self._guarded(maths.SQUARE, [base]) if exponent == 2 else \
            self._guarded(maths.POWER, [base, Value(f"({float(exponent)!r})", "float", True)])

    def _divisor_of(self, node):
        """The value of a divisor of floats, whose text is read twice."""
        return self._once(self._value(node))

    def _divisor(self, node, value):
        """A divisor of floats that fails where it is zero, as Python's. It is read behind the dividend."""
        text = self._real(node, value).text
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
        a, b = self._once(left), self._once(right)
        rest = self._named(Value(f"{a.text} % {b.text}", "int"))
        differs = f"{rest.text} != 0 && ({rest.text} ^^ {b.text}) < 0"
        if is_quotient:
            return Value(f"({a.text} / {b.text} - i64({differs}))", "int")
        return Value(f"({differs} ? {rest.text} + {b.text} : {rest.text})", "int")

    def _shift(self, node):
        count = self._constant(node.right)
        left, by = self._in_order(lambda: self._int(node.left), lambda: self._int(node.right))
        sign = "<<" if isinstance(node.op, ast.LShift) else ">>"
        if not isinstance(count, int) or not 0 <= count < 64:
            if count is not None:
                raise Refused(node.right, f"a shift by {count}", "shift by 0 to 63")
            left, by = self._once(left), self._once(by)
            beyond = "0" if sign == "<<" else f"{left.text} >> 63"
            self._fail_if(f"{by.text} < 0", "shift")
            return Value(f"({by.text} > 63 ? {beyond} : {left.text} {sign} {by.text})", "int")
        return Value(f"({left.text} {sign} {count})", "int")

    def _e_compare(self, node):
        mark, count = len(self._lines), self._temporaries
        compared = self._chain(node, lambda value, writes: self._once(value) if writes else value)
        if compared is None:
            self._undone(mark, count)
            compared = self._chain(node, lambda value, writes: self._once(value))
        return compared

    def _chain(self, node, hold):
        """A comparison. `hold` makes names of operands that are read twice; nothing, if it makes none and a later
        operand needs lines of its own, which may change them."""
        operands = [node.left, *node.comparators]
        last, held, needs_names = len(operands) - 1, [], False

        def operand(i):
            writes = self._writes
            value = self._value(operands[i])
            return hold(value, self._writes > writes) if 0 < i < last else value

        def compared(i):
            nonlocal needs_names
            mark = len(self._lines)
            held.extend([operand(i + 1)] if held else self._in_order(lambda: operand(0), lambda: operand(1)))
            needs_names = needs_names or (i > 0 and len(self._lines) > mark and not held[i].simple)
            return self._comparison(node, node.ops[i], held[i], held[i + 1])
        joint = self._joint("&&", [lambda i=i: compared(i) for i in range(last)])
        return None if needs_names else joint

    def _joint(self, sign, readers):
        """Conditions joined by && or ||: each is evaluated if those before do not settle it."""
        first, parts = readers[0](), [self._apart(read) for read in readers[1:]]
        if all(not lines for lines, _ in parts):
            return Value(f"({f' {sign} '.join([first, *(text for _, text in parts)])})" if parts else first, "bool")
        name = self._temporary()
        self._emit(f"let {name} = {first};")
        for lines, text in parts:
            self._emit(f"if {'' if sign == '&&' else '!'}{name} {{")
            self._lines += lines
            self._emit(f"  {name} = {text};")
        for _ in parts:
            self._emit("}")
        return Value(name, "bool", True)

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
            literal = value.text.strip("()-")
            if literal.isdigit() and int(literal) <= 2**53:
                return f"f64({value.text})"
            raise Refused(node, "an int compared with a float", "write float(n)")
        return self._as(value, type, node)

    def _e_boolop(self, node):
        return self._joint("&&" if isinstance(node.op, ast.And) else "||", [lambda v=v: self._condition(node, v)
                                                                           for v in node.values])

    def _condition(self, node, operand):
        value = self._value(operand)
        if value.type != "bool":
            raise Refused(node, "and, or on numbers", "compare them first: x != 0 and y != 0")
        return value.text

    def _e_ifexp(self, node):
        test = self._truth(self._value(node.test))
        parts = [self._apart(lambda one=one: self._value(one)) for one in (node.body, node.orelse)]
        types = {value.type for _, value in parts}
        type = types.pop() if len(types) == 1 else "int"
        (then, first), (otherwise, second) = [(lines, self._as(value, type, node)) for lines, value in parts]
        if not then and not otherwise:
            return Value(f"({test} ? {first} : {second})", type)
        name = self._temporary()
        self._emit(f"let {name} = {FIRST[type]};")
        for head, lines, text in ((f"if {test} {{", then, first), ("} else {", otherwise, second)):
            self._emit(head)
            self._lines += lines
            self._emit(f"  {name} = {text};")
        self._emit("}")
        return Value(name, type, True)

    def _e_call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else None
        callee = self._outer.function(name)
        if callee is not None:
            called = self._called(node, callee)
            if called.type is None:
                raise Refused(node, f"'{ast.unparse(node)}' as a value", "it returns none: call it in a line of its own")
            return called
        mathematical = self._outer.of_math(node.func)
        if mathematical is not None:
            return self._mathematical(node, mathematical)
        if name not in _ARITY or not self._outer.is_builtin(name):
            raise Refused(node, f"the call of '{ast.unparse(node.func)}'", self._instead(node.func))
        self._check_arity(node, name, _ARITY[name])
        return {"len": self._len, "abs": self._abs, "min": self._least, "max": self._least, "round": self._to_int, "int": self._to_int,
                "float": self._to_float, "bool": self._to_bool, "ord": self._ord}[name](node)

    def _instead(self, function):
        name = function.attr if isinstance(function, ast.Attribute) else ""
        if maths.row_of(name) is not None:
            return f"use math.{name}"
        return ("use len, abs, min, max, round, int, float, bool, ord, functions of math, and what trident.function has made before "
                "or trident.library() has")

    def _check_arity(self, node, name, arity):
        if node.keywords or len(node.args) != arity:
            cure = "takes one value" if arity == 1 else f"takes two numbers: {name}(a, {name}(b, c))"
            raise Refused(node, f"'{ast.unparse(node)}'", f"{name} {cure}")

    def _mathematical(self, node, name):
        """A call of a function of math. With a base, log is a quotient, as Python's."""
        if name == "log" and len(node.args) == 2 and not node.keywords:
            logarithms = [ast.copy_location(ast.Call(node.func, [a], []), node) for a in node.args]
            return self._value(ast.copy_location(ast.BinOp(logarithms[0], ast.Div(), logarithms[1]), node))
        row = maths.row_of(name)
        self._check_arity(node, name, len(row.operands))
        if name in maths.TO_WHOLE:
            return self._whole(row, node)
        read = self._int if row.operands[0] == "i" else lambda a: self._real(a, self._value(a))
        return self._guarded(row, self._in_order(*(lambda a=a: read(a) for a in node.args)))

    def _guarded(self, row, operands):
        """A row's value, with a line for each failure in front or behind."""
        if row.domain or row.overflow:
            operands = [self._once(value) for value in operands]
        texts = dict(zip("xy", (value.text for value in operands)))
        if row.domain:
            self._fail_if(row.domain.format(**texts), "domain")
        if row.overflow and "{r}" not in row.overflow:
            self._fail_if(row.overflow.format(**texts), "overflow")
        value = Value(row.text.format(**texts), row.result)
        if row.overflow and "{r}" in row.overflow:
            value = self._named(value)
            self._fail_if(row.overflow.format(r=value.text, **texts), "overflow")
        return value

    def _called(self, node, callee):
        if node.keywords or len(node.args) != len(callee.parameters):
            raise Refused(node, f"'{ast.unparse(node)}'",
                          f"{callee.__name__} takes {len(callee.parameters)} arguments, by position")
        arguments = self._in_order(*(lambda a=a, p=p: self._argument(a, p) for a, p in zip(node.args, callee.parameters)))
        self._writes += any(p.is_written for p in callee.parameters)
        return Value(f"{self.callees.name_of(callee)}({', '.join(held.text for held in arguments)})", callee.result)

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
        value = self._value(node.args[0])
        return Value(f"abs({value.text})", "float") if value.type == "float" else \
            Value(f"abs({self._as(value, 'int', node)})", "int")

    def _least(self, node):
        values = self._in_order(*(lambda a=a: self._value(a) for a in node.args))
        name, types = node.func.id, {v.type for v in values}
        if "float" not in types:
            return Value(f"{name}({', '.join(self._as(v, 'int', node) for v in values)})", "int")
        a, b = (Value(self._as(v, "float", node), "float", v.simple) for v in values)
        a, b = self._in_order(lambda: self._once(a), lambda: self._once(b))
        return Value(f"({b.text} {'<' if name == 'min' else '>'} {a.text} ? {b.text} : {a.text})", "float")  # as Python's: NaN

    def _to_int(self, node):
        return self._whole(maths.ROUNDED if node.func.id == "round" else maths.TO_INT, node)

    def _whole(self, row, node):
        """A float rounded as the row says. An int stays as it is: not every one is a float."""
        value = self._value(node.args[0])
        return self._guarded(row, [value]) if value.type == "float" else \
            Value(self._as(value, "int", node), "int", value.simple)

    def _to_float(self, node):
        return self._real(node, self._value(node.args[0]))

    def _to_bool(self, node):
        return Value(self._truth(self._value(node.args[0])), "bool")

    def _ord(self, node):
        held = self._constant(node.args[0])
        if not isinstance(held, (str, bytes)) or len(held) != 1:
            raise Refused(node, f"'{ast.unparse(node)}'", "ord takes one character in quotes")
        return Value(str(ord(held)), "int", True)
