"""Cures for what the language of evaluate() does not have: what to write instead."""
import ast
import re

import numpy as np

_OF_SYNTAX = {
    ast.IfExp: "write where(condition, a, b)", ast.MatMult: "multiply matrices outside of it",
    ast.In: "write (x == a) | (x == b) for 'in'", ast.NotIn: "write (x != a) & (x != b) for 'not in'"}
_OF_FUNCTIONS = {
    "bool": "write x != 0", "clip": "write minimum(maximum(x, lo), hi)", "power": "write x**y", "pow": "write x**y", "square": "write x*x", "len": "write x.size in Python",
    "isclose": "write abs(x - y) <= 1e-8 + 1e-5*abs(y)", "logical_and": "write x & y", "logical_or": "write x | y",
    "logical_not": "write ~x", "logical_xor": "write x ^ y", "select": "write where(a, x, where(b, y, z))", "absolute": "write abs(x)",
    "add": "write x + y", "subtract": "write x - y", "multiply": "write x*y", "divide": "write x/y", "mod": "write x % y",
    "remainder": "write x % y", "negative": "write -x", "reciprocal": "write 1/x", "pi": "pass pi=np.pi in local_dict",
    "arcsin2": "write arctan2(y, x)", "atan2": "write arctan2(y, x)", "asin": "write arcsin(x)", "acos": "write arccos(x)", "atan": "write arctan(x)",
    "amin": "write min(x)", "amax": "write max(x)", "fabs": "write abs(x)", "fmin": "write where(x < y, x, y)",
    "fmax": "write where(x > y, x, y)", "deg2rad": "write x*(3.141592653589793/180)", "rad2deg": "write x*(180/3.141592653589793)",
    **dict.fromkeys(("erf", "erfc"), "trident.Kernel has it")}
BOOLEANS = ("You can't use Python's standard boolean operators in expressions. You should use their bitwise "
            "counterparts instead: '&' instead of 'and', '|' instead of 'or', and '~' instead of 'not'.")
INNER_REDUCTION = ("invalid program: reduction operations must occur last: evaluate the reduction alone, give the result a name, "
                   "and use that")
_SIGNS = [(re.compile(sign), cure) for sign, cure in (("&&", "&"), (r"\|\|", "|"), ("<>", "!="), ("!(?!=)", "~"), ("(?<![<>=!])=(?!=)", "=="))]
_CHAINED = "'{}' is a chain of comparisons, which expressions do not have: write (a < x) & (x < b)"
_MADE_OF = "they consist of names, numbers, operators, calls of functions, .real and .imag"


def of_function(name):
    from . import _tracer  # not at the top: texts without faults need no jit
    known = _OF_FUNCTIONS.get(name, "@trident.jit takes NumPy's" if _tracer.knows(name) else "compute it outside, and give the result a name")
    return f"'{name}' is not a function that expressions know; {known}"


def of_signs(text, offset):
    """Where Python's parser stops, from 1 on, at a sign that C and others write: what to write for it, with brackets around
    comparisons; they bind less tightly than & and |."""
    for sign, cure in _SIGNS:
        found = next((m[0] for m in sign.finditer(text) if m.start() < (offset or 0) <= m.end() + 1), None)
        if found is not None:
            return f": write '{cure}' for '{found}'" + (", and (a < b) around each comparison" if cure in "&|" else "")
    return ""


def of_chain(shown):
    return _CHAINED.format(shown)


def of_forbidden(found, text):
    """`found`: the part of the text that it may not have."""
    cure = "" if found[0] not in ".[" else ". Take elements outside, y = x[1:]" if found == "[" else _of_attribute(found.strip(". "), text)
    return f"expressions do not have {found!r}: {_MADE_OF}{cure}"


def _of_attribute(name, text):
    called = name + "(" in text.replace(" ", "")
    return f". Write {name}(x) without the prefix, if expressions have it" if called else ""


def of_syntax(tree, shown):
    operator = tree.ops[0] if isinstance(tree, ast.Compare) else getattr(tree, "op", tree)
    return f"'{shown}' is not supported in expressions: {_OF_SYNTAX.get(type(operator), _MADE_OF)}"
