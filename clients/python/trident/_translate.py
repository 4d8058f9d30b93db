"""Plain Python functions with loops as texts of trident's language, by their syntax tree. Nothing is run.

A translated function computes what Python computes as long as numbers stay within 64 bits: // and % round down, chained
comparisons and the order of evaluation hold. Five things differ, and each is an error or documented: numbers wrap at 64
bits, or raise where they come from floats; a byte that is stored keeps its low eight bits; a negative index that is no
constant raises; names from outside keep the meaning that they have when the function is translated; functions of math may
differ from the C library's in the last bits.

What the language cannot say is refused by name, with its line and with what to write instead.
"""
import ast
import inspect
import os
import re
import tempfile

from ._function import Function, library
from ._native import TridentError
from ._translate_callees import Callees
from ._translate_expressions import FIRST, Expressions, Refused, Value
from ._translate_source import BUILTINS, Outside, Unreadable, tree_of

_TYPES = {"int": "i64", "bool": "bool", "float": "f64", "i64": "i64", "u8": "u8", "f64": "f64", "bytes": "[u8]",
          "bytearray": "inout [u8]", "list[int]": "inout [i64]", "list[float]": "inout [f64]"}
_ARRAYS = {"[i64]": ("i64", ""), "[u8]": ("u8", ""), "[f64]": ("f64", "")}
_NAMES_TAKEN = {"fn", "let", "if", "else", "while", "for", "in", "out", "inout", "break", "continue", "return", "true",
                "false", "i64", "u8", "f64", "bool", "len", "abs", "min", "max"}


class TranslationError(TypeError):
    """A function that cannot be translated: file, line, the construct, and what to write instead."""


def _own_names(tree):
    """Names that are the function's own everywhere in it: its parameters, and whatever it assigns to."""
    return {a.arg for a in tree.args.args} | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and
                                              not isinstance(n.ctx, ast.Load)}


class _Translator(Expressions):
    def __init__(self, tree, lines_before, function):
        self._tree, self._own = tree, _own_names(tree)
        self._outer = names = Outside(function, self._own)
        self._lines_before = lines_before
        self._lines, self._depth = [], 0  # (text, line of the file or None, kind of its failure or None)
        self._arrays, self._types, self._temporaries = {}, {}, 0
        self._declared, self._assigned = set(), set()
        self._texts_of_names = {a.arg: a.arg for a in tree.args.args}
        self._known = {}  # values of nodes that are evaluated already, by id
        self._at = self._statement = tree
        self._stored = {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Subscript)
                        and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}
        self.callees = Callees(tree.name)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        for node in calls:
            callee = names.function(node.func.id)
            if callee is not None:
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
        self._lines[top:top] = [(f"  let {self._written(name)} = {FIRST[type]};", None, None)
                                for name, type in self._types.items() if name in self._hoisted]
        self._lines.append(("}", None, None))
        return "".join(text + "\n" for text, _, _ in self._lines)

    @property
    def lines(self):
        """Lines of the file by lines of the text, and kinds of failures by lines of the text that have no other."""
        numbered = list(enumerate(self._lines, 1))
        return {**{n: at for n, (_, at, _) in numbered if at is not None},
                "kinds": {n: kind for n, (_, _, kind) in numbered if kind is not None}}

    def _emit(self, text, kind=None):
        self._lines.append(("  " * self._depth + text, self._at.lineno + self._lines_before, kind))

    def _written(self, name):
        """The text of a name. An own one gets an underscore, so that no word of the language is like it."""
        text = self._texts_of_names.get(name, name + "_")
        while name not in self._texts_of_names and text in self._texts_of_names.values():
            text += "_"
        return self._texts_of_names.setdefault(name, text)

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
        if argument.arg in _NAMES_TAKEN or re.fullmatch(r"t_\d+", argument.arg):
            raise Refused(argument, f"the name '{argument.arg}'", "choose another one: the language has a word like it")
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

    def _annotation(self, node):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
        for word in BUILTINS.keys() & set(re.findall(r"\w+", text)):
            if word not in self._own and not self._outer.is_builtin(word):
                raise Refused(node, f"the type '{text}' where '{word}' is another than Python's", "choose another name for that")
        return text

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
        if not name.isascii():
            raise Refused(node, f"the name '{name}'", "choose one of letters from a to z, digits and _")

    # ---- statements ----
    def _block(self, statements):
        """Returns whether control can leave at its end."""
        for i, statement in enumerate(statements):
            self._at = self._statement = statement
            handler = getattr(self, "_" + type(statement).__name__.lower(), None)
            if handler is None or isinstance(statement, ast.FunctionDef):
                raise Refused(statement, f"the statement '{type(statement).__name__.lower()}'",
                               "use assignments, if, while, for, break, continue and return")
            if handler(statement) is False:
                return False
        return True

    def _inside(self, statements, names=None):
        """A block of its own; names that it alone assigns have no value behind it."""
        before, arrays = set(self._assigned), dict(self._arrays)
        if names:
            self._assigned |= names
        self._depth += 1
        goes_on = self._block(statements)
        self._depth -= 1
        self._arrays = arrays
        after, self._assigned = self._assigned, before
        return after if goes_on else None

    def _pass(self, node):
        pass

    def _expr(self, node):
        call = node.value
        if isinstance(call, ast.Constant):
            return
        callee = self._outer.function(call.func.id) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None
        if callee is None:
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
        target = node.target
        if not isinstance(target, (ast.Name, ast.Subscript)):
            return self._store(target, None)
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, (ast.Slice, ast.Tuple)) and \
                self._constant(target.slice) is None:
            self._known[id(target.slice)] = self._once(self._int(target.slice))
        read = ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else \
            ast.Subscript(target.value, target.slice, ast.Load())
        binary = ast.copy_location(ast.BinOp(ast.copy_location(read, target), node.op, node.value), node)
        self._store(target, self._value(binary))

    def _once(self, value):
        return value if value.simple else self._named(value)

    def _store(self, target, value):
        if isinstance(target, ast.Subscript):
            return self._store_element(target, value)
        if not isinstance(target, ast.Name):
            raise Refused(target, "an assignment to " + type(target).__name__.lower(), "assign to a name or an element")
        self._assign_name(target, value)

    def _store_element(self, target, value):
        """Python evaluates the value before the place."""
        value = self._once(value)
        place = self._element(target)
        self._emit(f"{place} = {self._as(value, self._element_type(target), target)};")

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
                return self._emit(f"let {self._written(name)} = {text};")
            self._hoisted.add(name)
        self._assigned.add(name)
        self._emit(f"{self._written(name)} = {text};")

    def _is_new_array(self, node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bytearray":
            return self._outer.is_builtin("bytearray")
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)

    def _new_array(self, target, node):
        if isinstance(node, ast.Call):
            element, size = "u8", node.args[0] if len(node.args) == 1 and not node.keywords else None
        else:
            first, size = node.left.elts, node.right
            if len(first) != 1 or not isinstance(first[0], ast.Constant) or first[0].value not in (0, 0.0):
                raise Refused(node, "a list of other things than zeros", "begin with [0] * 256 and store the elements")
            element = "f64" if isinstance(first[0].value, float) else "i64"
        count = None if size is None else self._constant(size)
        if type(count) is not int or count < 1:
            raise Refused(node, "an array whose size is no constant of 1 and more",
                          "write a number, or pass the array as a parameter")
        if target.id in self._types or target.id in self._arrays:
            raise Refused(target, f"another meaning of '{target.id}'", "choose another name")
        self._check_name(target, target.id)
        self._arrays[target.id] = element
        self._emit(f"let {self._written(target.id)} = [{element}; {count}];")

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
        self._undone(lines, count)
        return None

    def _for(self, node):
        if node.orelse:
            raise Refused(node, "the else of a loop", "set a bool before break and look at it")
        source = node.iter
        called = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else None
        if called in ("range", "enumerate") and not self._outer.is_builtin(called):
            raise Refused(source, f"the call of '{called}', which is another than Python's", "choose another name for that")
        if called == "range":
            return self._for_range(node, source)
        if called == "enumerate":
            names = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else []
            if len(source.args) != 1 or source.keywords or len(names) != 2 or not all(isinstance(n, ast.Name) for n in names):
                raise Refused(node, "this loop", "write: for i, value in enumerate(array)")
            return self._for_elements(node, source.args[0], *names)
        return self._for_elements(node, source, None, node.target)

    def _for_range(self, node, source):
        if source.keywords or not 1 <= len(source.args) <= 3 or not isinstance(node.target, ast.Name):
            raise Refused(node, "this loop", "write: for i in range(first, end, step)")
        constants = [self._constant(a) for a in source.args]
        step = constants[2] if len(constants) == 3 else 1
        if type(step) is not int or step == 0 or not -2**63 < step < 2**63:
            raise Refused(source.args[2], "a step that is no constant", "write a number, or a while loop")
        values = [self._named(self._int(a)) for a in source.args[:2]]
        first, end = (Value("0", "int", True), values[0]) if len(values) == 1 else values
        if step == 1:
            return self._counted(node, first.text, end.text, lambda i: i)
        rounds = self._rounds(first.text, end.text, step)
        sign = "+" if step > 0 else "-"
        self._counted(node, "0", rounds, lambda i: f"{first.text} {sign} {i} * {abs(step)}")

    def _rounds(self, first, end, step):
        """The rounds of a range. The distance has 64 bits without a sign; no budget lasts for 2^63 rounds and more."""
        near, far, sign = (first, end, "<") if step > 0 else (end, first, ">")
        rounds = self._named(Value(f"{first} {sign} {end} ? udiv({far} - {near} - 1, {abs(step)}) + 1 : 0", "int")).text
        return f"({rounds} < 0 ? 9223372036854775807 : {rounds})"

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
        array = self._written(source.id)
        self._emit(f"for {counter} in 0..len({array}) {{")
        self._depth += 1
        before = set(self._assigned)
        if index is not None:
            self._assign_name(index, Value(counter, "int"))
        self._assign_name(element, Value(f"{array}[{counter}]", self._type_of_elements(source.id)))
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


def translated(function):
    """Returns the text of a plain Python function, the line of its file for each line of the text, and its
    Callees."""
    file, first = inspect.getsourcefile(function) or "?", function.__code__.co_firstlineno
    try:
        tree, before = tree_of(function)
    except Unreadable as error:
        raise TranslationError(f"{file}:{first}: {function.__name__}: {error}") from None
    translator = _Translator(tree, before, function)
    try:
        text = translator.text()
    except Refused as refused:
        line = getattr(refused.node, "lineno", 1) + before
        raise TranslationError(f"{file}:{line}: {tree.name}: {refused.what} cannot be translated: {refused.cure}") from None
    return text, {**translator.lines, "file": file}, translator.callees


def _with_callees(name, text, lines, callees, context):
    """A function and what it calls make a library, whose folder is read when it is opened."""
    with tempfile.TemporaryDirectory(prefix="trident-") as folder:
        for one, written in {**callees.texts, name: text}.items():
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
    Numbers wrap at 64 bits; a division by zero raises, of floats too; functions of math may be called; names
    from outside of the function keep the meaning that they have now. What cannot be translated is a TranslationError that
    names line and cure."""
    if isinstance(text_or_function, str):
        return Function(text_or_function, context=context)
    if not inspect.isfunction(text_or_function):
        raise TypeError(f"a text or a plain Python function, here {type(text_or_function).__name__}")
    made = _made(text_or_function.__name__, *translated(text_or_function), context)
    made.__doc__, made.__wrapped__ = text_or_function.__doc__, text_or_function
    return made


def _made(name, text, lines, callees, context):
    try:
        return _with_callees(name, text, lines, callees, context) if callees else Function(text, context=context, _lines=lines)
    except TridentError as error:
        at = re.match(r"(?:.*/)?(\w+)(?:\.fn)?:(\d+):\d+: (.*)", str(error))
        if at is None or at[1] not in ("function", name):
            raise
        line = lines.get(int(at[2]), next(iter(lines.values())))
        raise TranslationError(f"{lines['file']}:{line}: {name}: cannot be translated: {at[3]}") from error
