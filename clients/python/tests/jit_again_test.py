"""Later calls of a jit function, which go straight to the kernel where nothing but elements and shapes has changed. The
oracle is the plain function, run by NumPy; each case is preceded by calls that leave the kernel ready."""
import os
import sys
import unittest
import unittest.mock

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _jit  # noqa: E402

X = np.linspace(-3, 3, 60)
Y = X[::-1].copy()
FACTOR = 2.0


class Derived(np.ndarray):
    pass


def misaligned(values):
    room = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype)
    room[:] = values
    return room


ARGUMENTS = {
    "the same": (X, Y), "another length": (X[:7], Y[:7]), "two dimensions": (X.reshape(6, 10), Y.reshape(6, 10)),
    "Fortran's order": (np.asfortranarray(X.reshape(6, 10)), np.asfortranarray(Y.reshape(6, 10))),
    "strides": (X[::2], Y[::2]), "backwards": (X[::-1], Y), "broadcast": (X.reshape(60, 1), Y.reshape(1, 60)),
    "one element": (X, Y[:1]), "floats of 32 bits": (X.astype("f4"), Y.astype("f4")), "of both kinds": (X.astype("f4"), Y),
    "integers": (np.arange(60), np.arange(60)), "the other order of bytes": (X.astype(">f8"), Y), "booleans": (X > 0, Y > 0),
    "bytes": (np.arange(60, dtype="i1"), np.arange(60, dtype="i1")), "a number": (X, 2.0), "a NumPy number": (X, np.float64(2)),
    "no dimensions": (X, np.array(2.0)), "no address of floats": (misaligned(X), Y), "read only": (np.broadcast_to(X, (60,)), Y),
    "NaN": (np.where(X > 2, np.nan, X), Y), "nothing but NaN": (X * np.nan, Y),
}
FUNCTIONS = {
    "sum of two": lambda x, y: x + y, "scaled": lambda x, y: FACTOR * x - y, "greatest": lambda x, y: np.max(x + y),
    "total": lambda x, y: np.sum(x), "compared": lambda x, y: x < y, "pair": lambda x, y: (x, x + y),
    "greater of two": lambda x, y: np.maximum(x, y), "one of two": lambda x, y: y * 2, "power": lambda x, y: x**2 + y,
}


def outcome(function, *args):
    """The result with its type, or the type of the error."""
    with np.errstate(all="ignore"):
        try:
            result = function(*args)
        except (ValueError, TypeError, trident.TraceError) as error:
            return type(error)
    return [(type(r), np.asarray(r).dtype, np.asarray(r).shape, np.asarray(r).tobytes())
            for r in (result if isinstance(result, tuple) else (result,))]


class Again(unittest.TestCase):
    def test_whatever_the_next_arguments_are(self):
        for name, function in FUNCTIONS.items():
            for what, args in ARGUMENTS.items():
                ready, fresh = trident.jit(function), trident.jit(function)
                ready(X, Y), ready(X, Y)
                with self.subTest(function=name, arguments=what):
                    self.assertEqual(outcome(ready, *args), outcome(fresh, *args))
                    self.assertEqual(outcome(ready, X, Y), outcome(trident.jit(function), X, Y))

    def test_results_are_those_of_numpy(self):
        for name in ("sum of two", "scaled", "greatest", "compared", "greater of two", "one of two", "pair"):
            for what in ("the same", "another length", "two dimensions", "NaN", "nothing but NaN", "strides"):
                compiled = trident.jit(FUNCTIONS[name])
                compiled(X, Y)
                with self.subTest(function=name, arguments=what):
                    self.assertEqual(outcome(compiled, *ARGUMENTS[what]), outcome(FUNCTIONS[name], *ARGUMENTS[what]))

    def test_no_elements(self):
        greatest = trident.jit(FUNCTIONS["greatest"])
        greatest(X, Y)
        self.assertRaisesRegex(ValueError, "zero-size array", greatest, X[:0], Y[:0])
        self.assertEqual(outcome(trident.jit(FUNCTIONS["total"]), X[:0], Y), outcome(FUNCTIONS["total"], X[:0], Y))

    def test_names_and_missing_arguments(self):
        compiled = trident.jit(lambda x, y=1.0: x - y)
        compiled(X, Y)
        np.testing.assert_array_equal(compiled(y=X, x=Y), Y - X)
        np.testing.assert_array_equal(compiled(X), X - 1.0)
        self.assertRaises(TypeError, compiled, X, Y, X)

    def test_subclasses_are_refused(self):
        compiled = trident.jit(FUNCTIONS["sum of two"])
        compiled(X, Y)
        self.assertRaises(trident.TraceError, compiled, X.view(Derived), Y)

    def test_what_the_function_reads_outside(self):
        global FACTOR
        compiled = trident.jit(FUNCTIONS["scaled"])
        compiled(X, Y), compiled(X, Y)
        try:
            FACTOR = 5.0
            np.testing.assert_array_equal(compiled(X, Y), 5.0 * X - Y)
        finally:
            FACTOR = 2.0
        np.testing.assert_array_equal(compiled(X, Y), 2.0 * X - Y)

    def test_the_short_way_is_taken(self):
        compiled = trident.jit(FUNCTIONS["sum of two"])
        compiled(X, Y), compiled(X, Y)
        with unittest.mock.patch.object(_jit._Function, "_call", side_effect=AssertionError("recorded or looked up")):
            np.testing.assert_array_equal(compiled(Y, X), X + Y)
            self.assertRaises(AssertionError, compiled, X.astype("f4"), Y)


if __name__ == "__main__":
    unittest.main()
