"""The syntax tree of a plain Python function, and the names that it sees outside of itself."""
import ast
import builtins
import enum
import inspect
import types

import numpy as np

from ._function import Function
from ._translate_code import is_code_of
from ._translate_math import name_of

BUILTINS = {held.__name__: held for held in (abs, bool, bytearray, bytes, enumerate, float, int, len, list, max, min, ord,
                                             range, round)}
_ABSENT = object()


class Unreadable(Exception):
    """A function whose source does not say what it does."""


def tree_of(function):
    """Returns the syntax tree of a function, and how many lines of its file lie before the tree's."""
    if function.__code__.co_name == "<lambda>":
        raise Unreadable("a function is written with def, here a lambda")
    if hasattr(function, "__wrapped__"):
        raise Unreadable(f"a decorator wraps it: put @trident.function below the others, above def {function.__name__}")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise Unreadable(f"its source is not to be had ({error}): write it to a file") from None
    is_nested = lines[0][:1].isspace()  # a block around it: texts of several lines need not be indented
    try:
        module = ast.parse("if True:\n" + "".join(lines) if is_nested else "".join(lines))
    except SyntaxError as error:
        raise Unreadable(f"its source does not stand on its own ({error}): write it with def") from None
    tree = next(iter(module.body[0].body if is_nested else module.body), None)
    if isinstance(tree, ast.AsyncFunctionDef):
        raise Unreadable("a function is written with def, here it is async")
    if not isinstance(tree, ast.FunctionDef) or not is_code_of(tree, function):
        raise Unreadable("its code is not that of its source: the source file has changed since the module was loaded, or the "
                         "code was replaced; load the module again")
    return tree, first - 1 - is_nested


class Outside:
    """The names of a function that are not its own, as Python looks them up: its closure, its globals, builtins."""

    def __init__(self, function, own):
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        self._cells, self._globals, self._own = dict(cells), function.__globals__, own

    def _find(self, name):
        if name in self._own:
            return _ABSENT
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # it gets its value later
                return _ABSENT
        return self._globals.get(name, vars(builtins).get(name, _ABSENT))

    def _held(self, node):
        """The value of a name, or of a module's name."""
        if isinstance(node, ast.Name):
            return self._find(node.id)
        module = self._find(node.value.id) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else None
        return getattr(module, node.attr, _ABSENT) if isinstance(module, types.ModuleType) else _ABSENT

    def is_known(self, node):
        """Whether the name has a value here."""
        return self._held(node) is not _ABSENT

    def of_math(self, node):
        """The name in the module math of the function that this names, if the language has it, else None."""
        return name_of(self._held(node))

    def is_builtin(self, name):
        """Whether the name is Python's own and has its own meaning."""
        return name in BUILTINS and self._find(name) is BUILTINS[name]

    def function(self, name):
        """The Function of this name, or None."""
        held = self._find(name)
        return held if isinstance(held, Function) else None

    def number(self, node):
        """The int, bool or float of this name, or None."""
        held = self._held(node)
        if type(held) is int or type(held) is bool or type(held) is float:
            return held
        if isinstance(held, enum.IntEnum):
            return int(held)
        return float(held) if type(held) is np.float64 else None
