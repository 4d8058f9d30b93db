"""Plain Python functions with loops as texts of trident's language, by their syntax tree. Nothing is run.

A translated function computes what Python computes as long as numbers stay within 64 bits: // and % round down, chained
comparisons and the order of evaluation hold. Three things differ, and each is an error or documented: numbers wrap at 64
bits, a byte that is stored keeps its low eight bits, and a negative index that is no constant raises.

What the language cannot say is refused by name, with its line and with what to write instead.
"""
import ast
import inspect
import os
import tempfile
import textwrap

from ._function import Function, library
from ._translate_expressions import Expressions, Refused, Value

_TYPES = {"int": "i64", "bool": "bool", "float": "f64", "i64": "i64", "u8": "u8", "f64": "f64", "bytes": "[u8]",
          "bytearray": "inout [u8]", "list[int]": "inout [i64]", "list[float]": "inout [f64]"}
_ARRAYS = {"[i64]": ("i64", ""), "[u8]": ("u8", ""), "[f64]": ("f64", "")}
_FIRST = {"int": "0", "bool": "false", "float": "0.0"}
_NAMES_TAKEN = {"fn", "let", "if", "else", "while", "for", "in", "out", "inout", "break", "continue", "return", "true",
                "false", "i64", "u8", "f64", "bool", "len", "abs", "min", "max"}


class TranslationError(TypeError):
    """A function that cannot be translated: file, line, the construct, and what to write instead."""


class _Translator(Expressions):
    def __init__(self, tree, first_line, names):
        self._tree, self._outer = tree, names
        self._line_offset = first_line - 1
        self._lines, self._line, self._depth = [], {}, 0
        self._arrays, self._types, self._temporaries = {}, {}, 0
        self._declared, self._assigned = set(), set()
        self._at = tree
        self._stored = {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Subscript)
                        and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}
        self.callees = {}  # texts by name
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        for node in calls:
            callee = names.get(node.func.id)
            if isinstance(callee, Function):
                self._stored |= {a.id for a, p in zip(node.args, callee.parameters) if p.is_written and isinstance(a, ast.Name)}

    # ---- the text ----
    def text(self):
        head = self._head()
        body = self._tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]
        self._emit(head + " {")
        self._depth = 1
        top = len(self._lines)
        self._block(body)
        declared = [f"  let {name} = {_FIRST[type]};" for name, type in self._types.items() if name in self._hoisted]
        self._line = {(n + len(declared) if n > top else n): at for n, at in self._line.items()}
        self._lines[top:top] = declared
        self._depth = 0
        self._lines.append("}")
        return "\n".join(self._lines) + "\n"

    @property
    def lines(self):
        return self._line

    def _emit(self, text):
        self._lines.append("  " * self._depth + text)
        self._line[len(self._lines)] = getattr(self._at, "lineno", 1) + self._line_offset

    def _temporary(self):
        self._temporaries += 1
        return f"t_{self._temporaries}"

    # ---- the head ----
    def _head(self):
        arguments = self._tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
            raise Refused(self._tree, "parameters with *, ** or defaults", "name each parameter once, without a default")
        self._hoisted = set()
        parameters = [self._parameter(a) for a in arguments.args]
        result = self._result()
        return f"fn {self._tree.name}({', '.join(parameters)}){result}"

    def _parameter(self, argument):
        self._check_name(argument, argument.arg)
        if argument.annotation is None:
            raise Refused(argument, f"the parameter '{argument.arg}' without a type",
                           "annotate it: int, bool, float, bytes, bytearray, list[int], or a text such as \"[i64]\"")
        written = self._annotation(argument.annotation)
        type = _TYPES.get(written, written)
        passing, _, element = type.rpartition(" ")
        if element in _ARRAYS and passing in ("", "out", "inout"):
            if written.startswith("list") and argument.arg not in self._stored:
                passing = ""
            self._arrays[argument.arg] = element[1:-1]
            return f"{argument.arg}: {passing + ' ' if passing else ''}{element}"
        if type not in ("i64", "u8", "bool", "f64"):
            raise Refused(argument.annotation, f"the type '{written}'",
                           "write int, bool, float, bytes, bytearray, list[int], or a text such as \"inout [i64]\"")
        self._types[argument.arg] = {"i64": "int", "u8": "int", "bool": "bool", "f64": "float"}[type]
        self._declared.add(argument.arg)
        self._assigned.add(argument.arg)
        return f"{argument.arg}: {type}"

    @staticmethod
    def _annotation(node):
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)

    def _result(self):
        node = self._tree.returns
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            self._returns = None
            return ""
        written = self._annotation(node)
        if written not in ("int", "bool", "float"):
            raise Refused(node, f"the result '{written}'", "return int, bool, float or None; arrays go out by a parameter")
        self._returns = written
        return " -> " + _TYPES[written]

    def _check_name(self, node, name):
        if name in _NAMES_TAKEN or name.startswith("t_") or not name.isascii():
            raise Refused(node, f"the name '{name}'", "choose another one: the language has a word like it")

    # ---- statements ----
    def _block(self, statements):
        """Returns whether control can leave at its end."""
        for i, statement in enumerate(statements):
            self._at = statement
            handler = getattr(self, "_" + type(statement).__name__.lower(), None)
            if handler is None or isinstance(statement, ast.FunctionDef):
                raise Refused(statement, f"the statement '{type(statement).__name__.lower()}'",
                               "use assignments, if, while, for, break, continue and return")
            if handler(statement) is False:
                return False
        return True

    def _inside(self, statements, names=None):
        """A block of its own; names that it alone assigns have no value behind it."""
        before = set(self._assigned)
        if names:
            self._assigned |= names
        self._depth += 1
        goes_on = self._block(statements)
        self._depth -= 1
        after, self._assigned = self._assigned, before
        return after if goes_on else None

    def _pass(self, node):
        pass

    def _expr(self, node):
        call = node.value
        callee = self._outer.get(call.func.id) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None
        if not isinstance(callee, Function):
            raise Refused(node, f"'{ast.unparse(node)}' alone", "only calls of functions of trident stand alone")
        called = self._called(call, callee)
        self._emit(f"{called.text};" if called.type is None else f"let {self._temporary()} = {called.text};")

    def _assign(self, node):
        if len(node.targets) != 1:
            raise Refused(node, "two assignments in one", "write one after the other")
        target = node.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._assign_tuple(target, node.value)
        if isinstance(target, ast.Name) and self._is_new_array(node.value):
            return self._new_array(target, node.value)
        self._store(target, self._value(node.value))

    def _assign_tuple(self, target, value):
        if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
            raise Refused(value, "an assignment of several names", "give each of them a value: a, b = b, a")
        values = [self._named(self._value(v)) for v in value.elts]
        for one, held in zip(target.elts, values):
            self._store(one, held)

    def _annassign(self, node):
        if node.value is None:
            raise Refused(node, "a name without a value", "give it one")
        return self._assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def _augassign(self, node):
        read = ast.copy_location(ast.fix_missing_locations(ast.copy_location(
            ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name)
            else ast.Subscript(node.target.value, node.target.slice, ast.Load()), node)), node)
        self._store(node.target, self._value(ast.copy_location(ast.BinOp(read, node.op, node.value), node)))

    def _store(self, target, value):
        if isinstance(target, ast.Subscript):
            place = self._element(target)
            return self._emit(f"{place} = {self._as(value, self._element_type(target), target)};")
        if not isinstance(target, ast.Name):
            raise Refused(target, "an assignment to " + type(target).__name__.lower(), "assign to a name or an element")
        self._assign_name(target, value)

    def _assign_name(self, target, value):
        name = target.id
        self._check_name(target, name)
        if name in self._arrays:
            raise Refused(target, f"another meaning of the array '{name}'", "choose another name")
        known = self._types.setdefault(name, value.type)
        text = self._as(value, known, target)
        if name not in self._declared:
            self._declared.add(name)
            if self._depth == 1:
                self._assigned.add(name)
                return self._emit(f"let {name} = {text};")
            self._hoisted.add(name)
        self._assigned.add(name)
        self._emit(f"{name} = {text};")

    def _is_new_array(self, node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bytearray":
            return True
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)

    def _new_array(self, target, node):
        if isinstance(node, ast.Call):
            element, size = "u8", node.args[0] if len(node.args) == 1 else None
        else:
            first, size = node.left.elts, node.right
            if len(first) != 1 or not isinstance(first[0], ast.Constant) or first[0].value not in (0, 0.0):
                raise Refused(node, "a list of other things than zeros", "begin with [0] * 256 and store the elements")
            element = "f64" if isinstance(first[0].value, float) else "i64"
        count = self._constant(size)
        if not isinstance(count, int) or isinstance(count, bool):
            raise Refused(node, "an array whose size is no constant", "write a number, or pass the array as a parameter")
        if target.id in self._types or target.id in self._arrays:
            raise Refused(target, f"another meaning of '{target.id}'", "choose another name")
        self._check_name(target, target.id)
        self._arrays[target.id] = element
        self._emit(f"let {target.id} = [{element}; {count}];")

    def _if(self, node):
        self._emit(f"if {self._truth(self._value(node.test))} {{")
        then = self._inside(node.body)
        otherwise = set(self._assigned)
        if node.orelse:
            self._emit("} else {")
            otherwise = self._inside(node.orelse)
        self._emit("}")
        if then is None and otherwise is None:
            return False
        self._assigned = otherwise if then is None else then if otherwise is None else then & otherwise

    def _while(self, node):
        if node.orelse:
            raise Refused(node, "the else of a loop", "set a bool before break and look at it")
        condition = self._tried(node.test)
        if condition is not None:
            self._emit(f"while {condition} {{")
            self._inside(node.body)
        else:
            self._emit("while true {")
            self._depth += 1
            held = self._truth(self._value(node.test))
            self._emit(f"if !({held}) {{ break; }}")
            self._depth -= 1
            self._inside(node.body)
        self._at = node
        self._emit("}")
        endless = isinstance(node.test, ast.Constant) and node.test.value is True
        if endless and not any(isinstance(n, ast.Break) for n in ast.walk(node)):
            return False

    def _tried(self, test):
        """A condition that needs no statements in front of it, else nothing."""
        lines, count = len(self._lines), self._temporaries
        text = self._truth(self._value(test))
        if len(self._lines) == lines:
            return text
        for n in range(lines + 1, len(self._lines) + 1):
            self._line.pop(n, None)
        del self._lines[lines:]
        self._temporaries = count
        return None

    def _for(self, node):
        if node.orelse:
            raise Refused(node, "the else of a loop", "set a bool before break and look at it")
        source = node.iter
        called = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else None
        if called == "range":
            return self._for_range(node, source)
        if called == "enumerate" and len(source.args) == 1 and isinstance(node.target, ast.Tuple):
            return self._for_elements(node, source.args[0], node.target.elts[0], node.target.elts[1])
        return self._for_elements(node, source, None, node.target)

    def _for_range(self, node, source):
        if source.keywords or not 1 <= len(source.args) <= 3 or not isinstance(node.target, ast.Name):
            raise Refused(node, "this loop", "write: for i in range(first, end, step)")
        values = [self._named(self._int(a)) for a in source.args]
        first, end = (Value("0", "int", True), values[0]) if len(values) == 1 else values[:2]
        step = 1
        if len(values) == 3:
            step = self._constant(source.args[2])
            if not isinstance(step, int) or step == 0:
                raise Refused(source.args[2], "a step that is no constant", "write a number, or a while loop")
        if step == 1:
            return self._counted(node, first.text, end.text, lambda i: i)
        rounds = f"({end.text} - {first.text} + {step - 1}) / {step}" if step > 0 else \
            f"({first.text} - {end.text} + {-step - 1}) / {-step}"
        self._counted(node, "0", rounds, lambda i: f"{first.text} + {i} * {step}" if step > 0 else f"{first.text} - {i} * {-step}")

    def _counted(self, node, first, end, value_of):
        counter = self._temporary()
        self._emit(f"for {counter} in {first}..{end} {{")
        self._depth += 1
        before = set(self._assigned)
        self._assign_name(node.target, Value(value_of(counter), "int"))
        inner = set(self._assigned)
        self._depth -= 1
        self._assigned = before
        self._inside(node.body, inner)
        self._at = node
        self._emit("}")

    def _for_elements(self, node, source, index, element):
        if not isinstance(source, ast.Name) or source.id not in self._arrays or not isinstance(element, ast.Name):
            raise Refused(node, f"a loop over '{ast.unparse(source)}'", "loop over range(..), an array, or enumerate(array)")
        counter = self._temporary()
        self._emit(f"for {counter} in 0..len({source.id}) {{")
        self._depth += 1
        before = set(self._assigned)
        if index is not None:
            self._assign_name(index, Value(counter, "int"))
        self._assign_name(element, Value(f"{source.id}[{counter}]", self._type_of_elements(source.id)))
        inner = set(self._assigned)
        self._depth -= 1
        self._assigned = before
        self._inside(node.body, inner)
        self._at = node
        self._emit("}")

    def _break(self, node):
        self._emit("break;")
        return False

    def _continue(self, node):
        self._emit("continue;")
        return False

    def _return(self, node):
        is_none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        if is_none != (self._returns is None):
            raise Refused(node, "a return that does not fit the result" + ("" if self._returns else " None"),
                           "annotate what the function returns: -> int")
        self._emit("return;" if is_none else f"return {self._as(self._value(node.value), self._returns, node)};")
        return False


def _outer_names(function):
    held = (int, float, Function)
    names = {n: v for n, v in function.__globals__.items() if isinstance(v, held)}
    taken = {n for n in ("len", "abs", "min", "max", "int", "bool", "ord", "range", "enumerate")
             if n in function.__globals__}
    closure = inspect.getclosurevars(function)
    return {**names, **dict.fromkeys(taken), **{n: v for n, v in closure.nonlocals.items() if isinstance(v, held)}}


def translated(function):
    """Returns the text of a plain Python function, the line of its file for each line of the text, and the Functions
    that it calls."""
    if function.__name__ == "<lambda>":
        raise TranslationError(f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: a function is written "
                               "with def, here a lambda")
    try:
        source, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise TranslationError(f"{function!r}: its source is not to be had ({error}): write it to a file") from None
    tree = ast.parse(textwrap.dedent("".join(source))).body[0]
    file = inspect.getsourcefile(function) or "?"
    if not isinstance(tree, ast.FunctionDef):
        raise TranslationError(f"{file}:{first}: {function.__name__}: a function is written with def, here it is async")
    names = _outer_names(function)
    translator = _Translator(tree, first, names)
    try:
        text = translator.text()
        callees = [held for held in names.values() if isinstance(held, Function) and held.__name__ in translator.callees]
        return text, {**translator.lines, "file": file}, callees
    except Refused as refused:
        line = getattr(refused.node, "lineno", 1) + first - 1
        raise TranslationError(f"{file}:{line}: {tree.name}: {refused.what} cannot be translated: {refused.cure}") from None


def _with_callees(name, text, lines, callees, context):
    """A function and what it calls make a library, whose folder is read when it is opened."""
    texts = {name: text}
    for callee in callees:
        texts.update(callee.texts)
    with tempfile.TemporaryDirectory(prefix="trident-") as folder:
        for one, written in texts.items():
            with open(os.path.join(folder, one + ".fn"), "w", encoding="utf-8") as file:
                file.write(written)
        return library(folder, context=context).made(name, lines, callees)


def function(text_or_function, *, context=None):
    """Makes a Function of a text, or of a plain Python function with loops (as a decorator, too), by its syntax tree.

        @trident.function
        def count(text: bytes, byte: int) -> int:
            n = 0
            for b in text:
                if b == byte:
                    n += 1
            return n

    Parameters have types: int, bool, float, bytes, bytearray, list[int], or as texts "[i64]", "inout [u8]", "out [i64]".
    Numbers wrap at 64 bits. What cannot be translated is a TranslationError that names line and cure."""
    if isinstance(text_or_function, str):
        return Function(text_or_function, context=context)
    if not inspect.isfunction(text_or_function):
        raise TypeError(f"a text or a plain Python function, here {type(text_or_function).__name__}")
    text, lines, callees = translated(text_or_function)
    try:
        if callees:
            made = _with_callees(text_or_function.__name__, text, lines, callees, context)
        else:
            made = Function(text, context=context, _lines=lines)
    except Exception as error:
        error.add_note(f"translated from {lines['file']}") if hasattr(error, "add_note") else None
        raise
    made.__doc__, made.__wrapped__ = text_or_function.__doc__, text_or_function
    return made
