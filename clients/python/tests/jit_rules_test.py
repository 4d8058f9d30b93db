"""NumPy's rules under @trident.jit, op by op: every ufunc that can be recorded on every combination of argument kinds and
on corner values either gives NumPy's type and NumPy's values or is refused by a TraceError. The oracle is NumPy."""
import functools
import os
import sys
import unittest
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 7.25, np.inf, -np.inf, np.nan, 1e30, -1e-30, 63.0]
INTS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 63, 64, 100]
CORNERS = {
    "f4": np.array(FLOATS, "f4"), "f8": np.array(FLOATS + [5e-324, 1.7e308, -1.7e308]),
    "i4": np.array(INTS + [2**31 - 1, -2**31, 46341], "i4"),
    "i8": np.array(INTS + [2**63 - 1, -2**63, 2**53 + 1, 3037000500], "i8"), "bool": np.array([True, False]),
}
UNARY = """negative positive absolute fabs sign sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos
arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite logical_not invert reciprocal deg2rad
rad2deg radians degrees""".split()
BINARY = """add subtract multiply divide true_divide floor_divide remainder fmod float_power minimum maximum fmin fmax less
less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
left_shift right_shift arctan2 hypot copysign""".split()
TOLERANCE = {"f4": 4e-6, "f8": 1e-13}
NUMBERS = [0, 1, 2, 3, -1, 7, 40, 100_000, 0.5, 2.0, 2.5, -1.0, True, np.float32(1.5), np.float64(0.1), np.int32(3)]


def grid(a, b):
    return np.repeat(a, b.size), np.tile(b, a.size)


class AgainstNumpy(unittest.TestCase):
    def either(self, function, *args, name):
        """True when compiled and equal to NumPy; False when refused."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted, error = np.asarray(function(*args)), None
            except Exception as caught:
                wanted, error = None, caught
            try:
                got = trident.jit(function)(*args)
            except trident.TraceError as refusal:
                self.assertRegex(str(refusal), r"write|use|convert|pass|Use|Write|compute|can", name)
                return False
            except ValueError as caught:
                self.assertIsInstance(error, ValueError, (name, caught))
                return False
        self.assertIsNone(error, name)
        got = np.asarray(got)
        self.assertEqual((wanted.dtype, wanted.shape), (got.dtype, got.shape), name)
        tolerance = TOLERANCE.get(wanted.dtype.str[1:], 0)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * 1e-3, err_msg=str(name))
        if wanted.dtype.kind == "f" and not name[0].startswith(("min", "max", "fmin", "fmax")):
            number = ~np.isnan(wanted) & (wanted == 0)
            np.testing.assert_array_equal(np.signbit(wanted[number]), np.signbit(got[number]), str(name))
        return True

    def test_unary(self):
        compiled = 0
        for name in UNARY:
            for kind, x in CORNERS.items():
                with self.subTest(name, kind=kind):
                    compiled += self.either(lambda x: getattr(np, name)(x), x, name=(name, kind))
        self.assertGreater(compiled, 150)

    def test_binary(self):
        compiled = 0
        for name in BINARY:
            for left, a in CORNERS.items():
                for right, b in CORNERS.items():
                    with self.subTest(name, kinds=(left, right)):
                        x, y = grid(a, b)
                        if name == "copysign":
                            x, y = x[~np.isnan(y)], y[~np.isnan(y)]
                        compiled += self.either(lambda x, y: getattr(np, name)(x, y), x, y, name=(name, left, right))
        self.assertGreater(compiled, 550)

    def test_numbers_beside_arrays(self):
        """Values where NumPy 1 and 2 agree on the type; a number's type follows the array's."""
        compiled = 0
        operators = {
            "+": lambda x, c: x + c, "-": lambda x, c: c - x, "*": lambda x, c: x * c, "/": lambda x, c: x / c,
            "//": lambda x, c: x // c, "r//": lambda x, c: c // x, "%": lambda x, c: x % c, "r%": lambda x, c: c % x,
            "**": lambda x, c: x**c, "r**": lambda x, c: c**x, "<": lambda x, c: x < c, "==": lambda x, c: c == x,
            "&": lambda x, c: x & c, "<<": lambda x, c: x << c, "r>>": lambda x, c: c >> x,
            "minimum": np.minimum, "where": lambda x, c: np.where(x > 1, x, c), "clip": lambda x, c: np.clip(x, None, c),
        }
        for name, operator in operators.items():
            for kind, x in CORNERS.items():
                for c in NUMBERS:
                    if kind == "f4" and (c == 100_000 or type(c) is np.float64):  # NumPy 1 and 2 differ
                        continue
                    with self.subTest(name, kind=kind, c=c):
                        compiled += self.either(lambda x: operator(x, c), x, name=(name, kind, c))
        self.assertGreater(compiled, 900)

    def test_numbers_as_arguments(self):
        """A Python number has the same part in the types of results as an argument as it has in the function's text."""
        compiled = 0
        functions = {
            "+": lambda x, c: x + c, "-": lambda x, c: c - x, "*": lambda x, c: x * c, "/": lambda x, c: x / c,
            "//": lambda x, c: c // x, "%": lambda x, c: x % c, "<": lambda x, c: x < c, "minimum": lambda x, c: np.minimum(x, c),
            "where": lambda x, c: np.where(x > 1, x, c), "&": lambda x, c: x & c, "two": lambda x, c: x * (c * 2 + 1),
            "clip": lambda x, c: np.clip(x, None, c), "only": lambda x, c: np.where(x > 0, c, 1), "neg": lambda x, c: x + -c,
            "quotient": lambda x, c: x + c / 3, "twice": lambda x, c: x * (c + c + True), "sum": lambda x, c: np.sum(x) * c,
        }
        for name, function in functions.items():
            for kind, x in CORNERS.items():
                for c in (1, 2, -7, 0.5, 2.5, -1.25, True, 2**31 - 1, 3_000_000_000):
                    if kind == "f4" and abs(c) > 60_000:  # NumPy 1: float64
                        continue
                    if name == "sum" and kind in ("i8", "f4", "f8"):  # wraps; NaN; a scalar's type in NumPy 1
                        continue
                    with self.subTest(name, kind=kind, c=c):
                        compiled += self.either(function, x, c, name=(name, kind, c))
        self.assertGreater(compiled, 400)

    def test_powers(self):
        """Integer powers wrap as NumPy's do, and a negative exponent is its ValueError."""
        exponents = np.array([0, 1, 2, 3, 5, 31, 32, 33, 34, 62, 63, 64, 1000, 2**31 - 1])
        for a in (CORNERS["i4"], CORNERS["i8"], CORNERS["bool"], CORNERS["f4"], CORNERS["f8"]):
            for b in (exponents, exponents.astype("i4"), exponents[:5].astype("f4"), CORNERS["f8"]):
                with self.subTest(kinds=(a.dtype, b.dtype)):
                    self.assertTrue(self.either(lambda x, y: x**y, *grid(a, b), name=("**", a.dtype, b.dtype))
                                    or a.dtype == bool)
            for exponent in (0, 1, 2, 3, 34, 1024, 1025, 10**6 + 1, 0.5, 2.0, 3.0, -1.0, -2.0, 1.5):
                with self.subTest(kind=a.dtype, exponent=exponent):
                    if a.dtype == np.float32 and exponent == 10**6 + 1:  # NumPy 1: float64
                        continue
                    self.either(lambda x: x**exponent, a, name=("**", a.dtype, exponent))
                    self.either(lambda x: np.power(x, exponent), a, name=("power", a.dtype, exponent))
        three = np.full(40, 3)
        np.testing.assert_array_equal(three ** np.arange(40), trident.jit(lambda x, y: x**y)(three, np.arange(40)))
        for x, y in ((three, np.arange(40) - 39), (three.astype("i4"), np.array([-1], "i4"))):
            with self.assertRaises(ValueError):
                x**y
            with self.assertRaises(ValueError):
                trident.jit(lambda x, y: x**y)(x, y)
            np.testing.assert_array_equal(x ** abs(y), trident.jit(lambda x, y: x ** abs(y))(x, y))

    def test_random_integers_divide(self):
        rng = np.random.default_rng(5)
        for dtype in ("i4", "i8"):
            limits = np.iinfo(dtype)
            wide = rng.integers(limits.min, limits.max, 200_000, dtype=dtype, endpoint=True)
            x = wide >> rng.integers(0, 8 * wide.itemsize - 1, wide.size).astype(dtype)
            y = rng.permutation(x)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(x // y, trident.jit(lambda x, y: x // y)(x, y))
                np.testing.assert_array_equal(x % y, trident.jit(lambda x, y: x % y)(x, y))

    def test_random_floats_divide(self):
        rng = np.random.default_rng(6)
        for dtype in ("f4", "f8"):
            x = (rng.standard_normal(100_000) * 2.0 ** rng.integers(-20, 20, 100_000)).astype(dtype)
            y = rng.permutation(x)
            np.testing.assert_array_equal(x // y, trident.jit(lambda x, y: x // y)(x, y))
            np.testing.assert_array_equal(x % y, trident.jit(lambda x, y: x % y)(x, y))

    def test_shapes(self):
        """An array broadcast for one result is not broadcast for another, nor counted twice by a reduction."""
        shapes = [(6, 1), (1, 5), (5,), (6, 5), (1, 1), (1,), (), (0, 5), (6, 0)]
        functions = {
            "both": lambda x, y: x + y, "first": lambda x, y: (x * 2, x + y), "unused": lambda x, y: x * 2,
            "sum of both": lambda x, y: np.sum(x * y), "sum of one": lambda x, y: np.sum(x),
            "sum and sum": lambda x, y: np.sum(x) + np.sum(y), "sum and elements": lambda x, y: (x + y, np.sum(x)),
            "dot": lambda x, y: np.dot(x, y), "extreme": lambda x, y: np.max(x), "mean": lambda x, y: [np.mean(x * y)],
            "list": lambda x, y: [x, y], "vdot": lambda x, y: np.vdot(x, y),
        }
        compiled = 0
        for name, function in functions.items():
            for a in shapes:
                for b in shapes:
                    x, y = np.arange(1.0, 1 + np.prod(a)).reshape(a), np.arange(2.0, 2 + np.prod(b)).reshape(b)
                    with self.subTest(name, shapes=(a, b)), np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        compiled += self.outputs(function, x, y)
        self.assertGreater(compiled, 500)

    def outputs(self, function, *args):
        try:
            wanted, error = function(*args), None
        except ValueError as caught:
            wanted, error = None, caught
        try:
            got = trident.jit(function)(*args)
        except trident.TraceError:
            plain = trident.jit(function, fallback=True)  # right for what is refused, too
            if error is not None:
                self.assertRaises(ValueError, plain, *args)
                return False
            got = plain(*args)
        except ValueError:
            self.assertIsNotNone(error)
            return True
        self.assertIsNone(error)
        self.assertEqual(type(wanted) in (tuple, list) and type(wanted), type(got) in (tuple, list) and type(got))
        for w, o in zip(wanted, got) if type(wanted) in (tuple, list) else [(wanted, got)]:
            self.assertEqual((np.shape(w), np.asarray(w).dtype), (np.shape(o), np.asarray(o).dtype))
            np.testing.assert_allclose(o, w, rtol=1e-14)
        return True

    def test_a_branch_on_a_number_is_named_as_one(self):
        x = np.arange(3.0)
        for function, says in ((lambda k, x: x + (not k), "a number that is an argument.*k == 0"),
                               (lambda k, x: x if k else -x, "a number that is an argument.*np.where"),
                               (lambda k, x: x * sum(range(k)), "a conversion of a number that is an argument"),
                               (lambda k, x: x + (not x), "a Python branch on an array's value")):
            with self.assertRaisesRegex(trident.TraceError, says):
                trident.jit(function)(7, x)
        np.testing.assert_array_equal(x + False, trident.jit(lambda k, x: x + (k == 0))(7, x))
        np.testing.assert_array_equal(-x, trident.jit(functools.partial(lambda k, x: x if k else -x, 0))(x))


if __name__ == "__main__":
    unittest.main()
