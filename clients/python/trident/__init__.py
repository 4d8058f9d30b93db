"""Trident for Python: array expressions compiled to SIMD kernels behind your back. evaluate and jit give one answer, at
once and later, in every run (policy "exact"). Kernel, and evaluate and jit with policy="bounded" or "fast", leave the form
of an expression to measured times, so the last bits of a result may change when faster code is swapped in, and from run to
run, within what the policy promises.

    import trident
    trident.evaluate("2*a + 3*b")            # as numexpr.evaluate

    @trident.jit                             # a plain NumPy function, recorded
    def f(x): return np.sin(x) + x**2

    @trident.function                        # a plain function with loops over integers and arrays, translated
    def gcd(a: int, b: int) -> int:
        while b != 0:
            a, b = b, a % b
        return abs(a)

    trident.library().strchr(b"hello", "l")  # functions that come with the program; trident.library(folder): your own

    k = trident.Kernel("y = sin(x); dy = diff(y, x); (y, dy)", ranges={"x": (0, 1)})

    trident.default_context().build("push 0 add halt").tasm     # a program of Triton VM, cheaper to prove

The first answer comes from an interpreter in this process; faster code is swapped in while the program runs.
"""
from ._evaluate import evaluate, re_evaluate
from ._function import Function, FunctionError, Library, library
from ._jit import jit
from ._kernel import Context, Kernel, default_context
from ._native import TridentError
from ._numexpr import (NumExpr, get_vml_num_threads, get_vml_version, refuse as __getattr__, set_vml_accuracy_mode,
                       set_vml_num_threads, use_vml, validate)
from ._numexpr_modules import expressions, necompiler, utils
from ._program import Program
from ._refusals import TraceError
from ._symbols import E
from ._threads import MAX_THREADS, detect_number_of_cores, detect_number_of_threads, get_num_threads, set_num_threads
from ._translate import TranslationError, function

_init_num_threads = utils._init_num_threads
__version__ = "0.1.8"
ncores = detect_number_of_cores()  # when the package was imported, as numexpr has it
nthreads = get_num_threads()
__all__ = ["evaluate", "re_evaluate", "jit", "TraceError", "Context", "Kernel", "default_context", "Program",
           "TridentError", "function", "Function", "FunctionError", "library", "Library", "TranslationError", "set_num_threads",
           "get_num_threads", "detect_number_of_cores", "detect_number_of_threads", "MAX_THREADS", "ncores", "nthreads", "validate",
           "NumExpr", "E", "utils", "necompiler", "expressions", "use_vml", "get_vml_version", "set_vml_accuracy_mode", "set_vml_num_threads",
           "get_vml_num_threads"]
