"""Whether a function's code is that of its source: the source may have changed since the function was made of it.

The source is compiled again, in a function that holds the names of the closure, and both codes are compared, with all
their constants. Lines and names of files are no part of that. Annotations are no part of the code, so they are compared
by themselves, as far as they are such that a translation takes. Python compiles math.sin(x) in another way where the
module imports math by name; which names it did import is unknown, so each choice is tried.
"""
import __future__

import ast
import copy
import inspect
import itertools
import re

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_FACTS = ("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_varnames", "co_names", "co_freevars",
          "co_cellvars", "co_code", "co_exceptiontable")
_TRIED_IMPORTS = 6
_TYPE = re.compile(r"int|bool|float|bytes|bytearray|list\[(int|float)\]|None|((in)?out )?\[?(i64|u8|f64)\]?")


def is_code_of(tree, function):
    """Whether this tree of a function's source has the function's code and types."""
    code = function.__code__
    return not _changed_types(tree, function) and \
        any(_are_same(_compiled(tree, code, imported), code) for imported in _choices_of_imports(tree))


def _choices_of_imports(tree):
    """The sets of names that the module may have imported, among those whose attributes are called."""
    names = sorted({node.func.value.id for node in ast.walk(tree) if isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)})
    few, others = names[:_TRIED_IMPORTS], names[_TRIED_IMPORTS:]
    for count in range(len(few), -1, -1):
        for chosen in itertools.combinations(few, count):
            yield [*chosen, *others]


def _compiled(tree, code, imported):
    """The code of the function whose tree this is, without its decorators, in a closure as the other code's."""
    bare = copy.copy(tree)
    bare.decorator_list = []
    around = ast.parse(f"def around({', '.join(code.co_freevars)}): pass" if code.co_freevars else "pass")
    if code.co_freevars:
        own = [] if tree.name in code.co_freevars else [ast.parse(f"global {tree.name}").body[0]]
        around.body[-1].body = [*own, bare]
    else:
        around.body = [bare]
    around.body[:0] = [ast.parse(f"import {name}").body[0] for name in imported]
    made = compile(around, "?", "exec", code.co_flags & _FUTURE, dont_inherit=True)
    if code.co_freevars:
        made = _code_in(made, "around")
    return _code_in(made, tree.name)


def _code_in(outer, name):
    return next(held for held in reversed(outer.co_consts) if inspect.iscode(held) and held.co_name == name)


def _are_same(a, b):
    """Whether two constants of code are the same: 1 and 1.0 are not, nor 0.0 and -0.0."""
    if type(a) is not type(b):
        return False
    if inspect.iscode(a):
        return all(getattr(a, fact, None) == getattr(b, fact, None) for fact in _FACTS) and _are_same(a.co_consts, b.co_consts)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_are_same(*pair) for pair in zip(a, b))
    return a == b if isinstance(a, frozenset) else repr(a) == repr(b)


def _changed_types(tree, function):
    """Whether a parameter or the result has got another type of those that a translation takes."""
    nodes = {"return": tree.returns, **{a.arg: a.annotation for a in tree.args.args}}
    pairs = [(_text_of_type(held), _text_of(nodes[name])) for name, held in function.__annotations__.items() if nodes.get(name)]
    return any(a != b and _TYPE.fullmatch(a) and _TYPE.fullmatch(b) for a, b in pairs)


def _text_of(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _text_of_type(held):
    return held if isinstance(held, str) else held.__name__ if type(held) is type else str(held)
