"""Functions of Python's module math in translated functions: one row for each that the language has.

Values are within one unit in the last place of Python's, which are the C library's; roundings, roots and remainders are
the same. Python raises where C only sets a flag, so a row says for which arguments that is.
"""
import math

_BOTH_BUT_NAN = "(isinf({x}) && !isnan({y})) || ({y} == 0.0 && !isnan({x}))"
_TOO_LARGE = "isinf({r}) && !isinf({x})"
_BEYOND_64_BITS = "!({x} >= -9223372036854775808.0 && {x} < 9223372036854775808.0)"
_SIGN_OF_Y = "from_bits((to_bits({x}) & 9223372036854775807) | (to_bits({y}) & (-9223372036854775807 - 1)))"


class Row:
    """A function: the types of its operands x and y and of its result r, its text, the operands for which Python raises
    ValueError (domain), and when it raises OverflowError (overflow), which is looked at behind the call if it names r."""

    def __init__(self, text, operands="d", result="float", domain=None, overflow=None):
        self.text, self.operands, self.result = text, operands, result
        self.domain, self.overflow = domain, overflow


def _integer(text):
    return Row(f"i64({text})", result="int", domain="isnan({x})", overflow=_BEYOND_64_BITS)


TO_INT, ROUNDED = _integer("trunc({x})"), _integer("rint({x})")
POWER = Row("pow({x}, {y})", "dd", overflow=_TOO_LARGE)  # y is a whole number
SQUARE = Row("({x} * {x})", overflow=_TOO_LARGE)
_ROWS = {
    "sin": Row("sin({x})", domain="isinf({x})"),
    "cos": Row("cos({x})", domain="isinf({x})"),
    "tan": Row("tan({x})", domain="isinf({x})"),
    "asin": Row("asin({x})", domain="abs({x}) > 1.0"),
    "acos": Row("acos({x})", domain="abs({x}) > 1.0"),
    "atan": Row("atan({x})"),
    "atan2": Row("atan2({x}, {y})", "dd"),
    "sinh": Row("sinh({x})", overflow=_TOO_LARGE),
    "cosh": Row("cosh({x})", overflow=_TOO_LARGE),
    "tanh": Row("tanh({x})"),
    "asinh": Row("asinh({x})"),
    "acosh": Row("acosh({x})", domain="{x} < 1.0"),
    "atanh": Row("atanh({x})", domain="abs({x}) >= 1.0"),
    "exp": Row("exp({x})", overflow=_TOO_LARGE),
    "exp2": Row("exp2({x})", overflow=_TOO_LARGE),
    "expm1": Row("expm1({x})", overflow=_TOO_LARGE),
    "log": Row("log({x})", domain="{x} <= 0.0"),
    "log2": Row("log2({x})", domain="{x} <= 0.0"),
    "log10": Row("log10({x})", domain="{x} <= 0.0"),
    "log1p": Row("log1p({x})", domain="{x} <= -1.0"),
    "pow": Row("pow({x}, {y})", "dd", domain="isfinite({x}) && isfinite({y}) && "
               "(({x} < 0.0 && floor({y}) != {y}) || ({x} == 0.0 && {y} < 0.0))",
               overflow="isinf({r}) && isfinite({x}) && isfinite({y})"),
    "sqrt": Row("sqrt({x})", domain="{x} < 0.0"),
    "cbrt": Row("cbrt({x})"),
    "hypot": Row("hypot({x}, {y})", "dd"),
    "erf": Row("erf({x})"),
    "erfc": Row("erfc({x})"),
    "fabs": Row("abs({x})"),
    "copysign": Row(_SIGN_OF_Y, "dd"),
    "fmod": Row("fmod({x}, {y})", "dd", domain=_BOTH_BUT_NAN),
    "remainder": Row("remainder({x}, {y})", "dd", domain=_BOTH_BUT_NAN),
    "floor": _integer("floor({x})"),
    "ceil": _integer("ceil({x})"),
    "trunc": TO_INT,
    "isnan": Row("isnan({x})", result="bool"),
    "isinf": Row("isinf({x})", result="bool"),
    "isfinite": Row("isfinite({x})", result="bool"),
    "gcd": Row("gcd({x}, {y})", "ii", "int"),
    "lcm": Row("lcm({x}, {y})", "ii", "int"),
    "factorial": Row("factorial({x})", "i", "int", domain="{x} < 0", overflow="{x} > 20"),
    "isqrt": Row("isqrt({x})", "i", "int", domain="{x} < 0"),
}
TO_WHOLE = ("floor", "ceil", "trunc")
_BY_FUNCTION = {getattr(math, name): name for name in _ROWS if hasattr(math, name)}  # Python 3.10 lacks two


def name_of(held):
    """The name of this function of the module math, if the language has it, else None."""
    try:
        return _BY_FUNCTION.get(held)
    except TypeError:  # it has no hash
        return None


def row_of(name):
    """The row of a function of this name, or None."""
    return _ROWS.get(name)
