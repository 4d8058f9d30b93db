"""numexpr itself, where it is installed, for expressions that kernels have no types or operations for."""
import re

from . import _native as native
from . import _text
from ._native import TridentError
from ._out import One

# numexpr's words about its own insides, or Python's about them.
_INSIDES = re.compile(r"Node'|matching opcode|_func\(\)|itemsize|invalid literal|standard boolean|positional argument")
_NEAREST = {"O": "np.float64", "M": "np.int64", "m": "np.int64", "U": "'S'", "c": "np.complex128"}


def import_numexpr():
    """The installed numexpr."""
    import numexpr
    return numexpr


def check_installed(numexpr, tree):
    """Refuses what an older numexpr, which would have to evaluate the text, does not have."""
    functions = getattr(getattr(numexpr, "expressions", None), "functions", None)
    missing = [f"{name}()" for name in _text.called(tree) if functions is not None and name not in functions]
    if "nextafter" not in (functions or ("nextafter",)) and _text.has_floor_division(tree):  # both came with 2.13
        missing.append("//")
    if missing:
        raise NotImplementedError(f"kernels do not have {missing[0]} of these types, nor does numexpr {numexpr.__version__}, which is "
                                  "installed: convert the operands, or install a newer numexpr")


def check_known(names, arguments):
    """Refuses arrays of types that numexpr does not have either, and would not name."""
    for name, a in zip(names, arguments):
        if a.dtype.kind == "O" and a.ndim == 0 and isinstance(a.item(), int):
            raise TypeError(f"'{name}' is an integer that 64 bits do not hold: give a float")
        if a.dtype.kind == "V":
            raise TypeError(f"'{name}' is {a.dtype}, which neither kernels nor numexpr have: take one of its fields, or view "
                            "it as numbers")
        if a.dtype.kind in "OMmU" or a.dtype.kind == "c" and a.dtype.itemsize > 16:
            raise TypeError(f"'{name}' is {a.dtype}, which neither kernels nor numexpr have: convert it with "
                            f"{name}.astype({_NEAREST[a.dtype.kind]})")


class Numexpr(One):
    """An expression that numexpr itself evaluates. `limit`: the error where numexpr cannot either, if it is not numexpr's.
    `refusal`: why kernels cannot, in words that a reader of the text knows."""

    def __init__(self, numexpr, ex, names, optimization, limit, refusal):
        self.numexpr, self.ex, self.names, self.limit, self.refusal = numexpr, ex, names, limit and str(limit), refusal
        self.options = {} if optimization == "aggressive" else {"optimization": optimization}

    def run(self, arguments, out, order, casting):
        try:
            return self.numexpr.evaluate(self.ex, local_dict=dict(zip(self.names, arguments)), global_dict={}, out=out,
                                         order=order, casting=casting, **self.options)
        except (RecursionError, MemoryError) as error:
            raise ValueError("numexpr, which evaluates this expression because kernels do not have all that it needs, cannot "
                             f"hold it ({type(error).__name__}): divide it into parts") from None
        except Exception as error:
            if self.limit is None and _INSIDES.search(str(error)):
                raise type(error)(self.refusal) from None
            if self.limit is None:
                raise
            raise TridentError(f"{self.limit}; numexpr says: {error}", native.E_LIMIT) from None
        finally:
            self._let_go()

    def _let_go(self):
        """numexpr keeps `out` for its re_evaluate(), which nobody calls for this expression."""
        last = getattr(self.numexpr.necompiler, "_numexpr_last", None)
        if isinstance(last, dict) and isinstance(last.get("kwargs"), dict):
            last["kwargs"]["out"] = None
