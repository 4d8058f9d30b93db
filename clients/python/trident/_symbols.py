"""numexpr's E: expressions made of Python's operators instead of a text. E.a is the variable a, and 2*E.a + 1 an expression
for NumExpr(), which reads its text."""
import numpy as np

_BINARY = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<",
           "rshift": ">>", "and": "&", "or": "|", "xor": "^"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class Expression:
    """An expression; str() gives its text."""
    __slots__ = ("_text",)
    __hash__ = None
    __array_ufunc__ = None  # a number of NumPy leaves the operator to the expression

    def __init__(self, text):
        self._text = text

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __neg__(self):
        return Expression(f"(-{self._text})")

    def __invert__(self):
        return Expression(f"(~{self._text})")

    def __pos__(self):
        return self

    def __bool__(self):
        raise TypeError("an expression has no truth value: write &, | and ~ instead of and, or and not")

    @property
    def real(self):
        return Expression(f"{self._text}.real")

    @property
    def imag(self):
        return Expression(f"{self._text}.imag")


def _text_of(value):
    if type(value) is Expression:
        return value._text
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, complex)) or isinstance(value, float) and np.isfinite(value):
        return f"({value!r})"
    raise TypeError(f"an expression of numexpr's E has finite numbers and variables, not {value!r}: pass it in as a variable")


def _operator(symbol, swapped=False):
    def method(self, other):
        a, b = (other, self) if swapped else (self, other)
        return Expression(f"({_text_of(a)} {symbol} {_text_of(b)})")
    return method


for _name, _symbol in (_BINARY | _COMPARISONS).items():
    setattr(Expression, f"__{_name}__", _operator(_symbol))
    if _name in _BINARY:
        setattr(Expression, f"__r{_name}__", _operator(_symbol, swapped=True))


class _Variables:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Expression(name)


E = _Variables()
