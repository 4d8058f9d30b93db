"""NumPy's functions that @trident.jit makes of others, on corner values of every type. The oracle is NumPy."""
import os
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

import jit_rules_test as rules  # noqa: E402
import trident  # noqa: E402

CORNERS = rules.CORNERS
ONE = {
    "heaviside": lambda x: np.heaviside(x, 0.5), "nan_to_num": lambda x: np.nan_to_num(x),
    "nan_to_num of": lambda x: np.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-9.0), "round": lambda x: np.round(x),
    "round 2": lambda x: np.round(x, 2), "round -1": lambda x: np.around(x, -1), "x.round": lambda x: x.round(), "fix": lambda x: np.fix(x),
    "sinc": lambda x: np.sinc(np.where(np.isfinite(x), np.clip(x, -4, 4), 1)), "isposinf": lambda x: np.isposinf(x),
    "isneginf": lambda x: np.isneginf(x), "modf": lambda x: np.modf(x), "full_like": lambda x: np.full_like(x, 2.7),
    "full_like as": lambda x: np.full_like(x, 3, dtype=np.int64), "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x, dtype=np.float32), "x.copy": lambda x: x.copy(), "x.conj": lambda x: (x.conj(), np.conj(x)),
    "any": lambda x: np.any(x), "all": lambda x: np.all(x), "x.any": lambda x: (x > 1).any(), "x.all": lambda x: (x == x).all(),
    "nansum": lambda x: np.nansum(np.clip(x, -9, 9)), "nanprod": lambda x: np.nanprod(np.clip(x, -2, 2)),
    "nanmean": lambda x: np.nanmean(np.clip(x, -9, 9)), "nanmin": lambda x: np.nanmin(x), "nanmax": lambda x: np.nanmax(x),
    "count_nonzero": lambda x: np.count_nonzero(x), "ptp": lambda x: np.ptp(np.nan_to_num(x)), "average": lambda x: np.average(x > 0),
    "norm": lambda x: np.linalg.norm(np.where(np.isfinite(x), np.clip(x, -9, 9), 2)),
    "signbit": lambda x: np.signbit(np.where(x == x, x, 0)), "allclose": lambda x: np.allclose(x, x + 1e-9, equal_nan=True),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x >= 2], [lambda v: -v, 7, lambda v: v + 1]),
    "piecewise 0": lambda x: np.piecewise(x, [x > 0, x > 1], [2, 3]),
    "select": lambda x: np.select([x > 1, x < 0], [x, -x], 5),
    "select numbers": lambda x: np.select([x > 1, x < 0], [1, 2.5]),
    "select mixed": lambda x: np.select([x > 1, x < 0, x == 0], [x, np.sqrt(x), 1], 0.5),
}
TWO = {
    "logaddexp": lambda x, y: np.logaddexp(x, y), "logaddexp2": lambda x, y: np.logaddexp2(x, y),
    "heaviside": lambda x, y: np.heaviside(x, y),
    "divmod": lambda x, y: np.divmod(x, y), "isclose": lambda x, y: np.isclose(x, y),
    "isclose nan": lambda x, y: np.isclose(x, y, rtol=0.5, atol=1.0, equal_nan=True),
    "select": lambda x, y: np.select([x > y, x < y], [x, y], 0), "full_like": lambda x, y: np.full_like(x, 2) + y,
}


class Composed(unittest.TestCase):
    either = rules.AgainstNumpy.either

    def same(self, function, *args, name):
        """As either(), for each result of a function of several."""
        with np.errstate(all="ignore"):
            try:
                plain = function(*args)
            except Exception:
                plain = None
        if not isinstance(plain, tuple):
            return self.either(function, *args, name=name)
        part = (lambda i: lambda x: function(x)[i]) if len(args) == 1 else (lambda i: lambda x, y: function(x, y)[i])
        return all([self.either(part(i), *args, name=(*name, i)) for i in range(len(plain))])

    def test_of_one_array(self):
        compiled = {}
        for name, function in ONE.items():
            for kind, x in CORNERS.items():
                for values in (x, x[:2].reshape(2, 1), x[:1], *([] if kind == "f4" else [x[0]])):  # a scalar of f4: NumPy 1 and 2 differ
                    with self.subTest(name, kind=kind, shape=np.shape(values)):
                        compiled[name] = compiled.get(name, 0) + self.same(function, values, name=(name, kind))
        self.assertEqual(len(ONE), len(compiled))
        for name, count in compiled.items():
            self.assertGreaterEqual(count, 6, name)

    def test_of_two_arrays(self):
        compiled = {}
        for name, function in TWO.items():
            for left, a in CORNERS.items():
                for right, b in CORNERS.items():
                    with self.subTest(name, kinds=(left, right)):
                        x, y = rules.grid(a, b)
                        compiled[name] = compiled.get(name, 0) + self.same(function, x, y, name=(name, left, right))
        for name, count in compiled.items():
            self.assertGreaterEqual(count, 16, name)

    def test_of_an_array_and_a_number(self):
        for kind in ("f4", "f8", "i4"):
            x = CORNERS[kind]
            for name, function in (("logaddexp", lambda x: np.logaddexp(0, x)), ("isclose", lambda x: np.isclose(x, 1)),
                                   ("heaviside", lambda x: np.heaviside(x, 1)), ("divmod", lambda x: np.divmod(x, 3)),
                                   ("argument", lambda x, c=2: np.logaddexp2(x, c))):
                self.assertTrue(self.same(function, x, name=(name, kind)), (name, kind))

    def test_of_no_elements(self):
        for kind, x in CORNERS.items():
            for name in ("any", "all", "nansum", "nanprod", "count_nonzero", "nan_to_num", "isposinf"):
                with self.subTest(name, kind=kind):
                    self.assertTrue(self.either(lambda x: getattr(np, name)(x), x[:0], name=(name, kind)))
        for function in (np.nanmin, np.nanmax, np.ptp):
            self.assertRaises(ValueError, trident.jit(lambda x: function(x)), np.array([]))

    def test_parts_of_functions(self):
        """An expression of elements and what is reduced."""
        x = np.random.default_rng(2).normal(size=(30, 4))
        for name, function in (("standard", lambda x: (x - x.mean()) / x.std()), ("share", lambda x: x / np.linalg.norm(x)),
                               ("softmax", lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
                               ("chosen", lambda x: np.where((x > 9).any(), x, np.nan_to_num(x) * 2)),
                               ("least", lambda x: (x - np.nanmin(x)) / np.ptp(x))):
            self.assertTrue(self.either(function, x, name=(name,)))

    def test_numbers_that_numpy_returns_as_python_numbers(self):
        """count_nonzero gives an int and allclose a bool, unless axis or keepdims ask for arrays."""
        functions = (lambda x: np.count_nonzero(x), lambda x: np.allclose(x, x), lambda x: np.allclose(x, 1),
                     lambda x: (x, np.count_nonzero(x), np.allclose(x, 1)), lambda x: [np.count_nonzero(x)],
                     lambda x: np.count_nonzero(x, axis=0), lambda x: np.count_nonzero(x, keepdims=True))
        for kind in ("f8", "f4", "i8", "i4", "u1", "i2", "?"):
            for x in (np.array([2, 0, 1]), np.array([]), np.ones((2, 3)), np.ones((1, 70000))):
                for function in functions:
                    wanted, got = function(x.astype(kind)), trident.jit(function)(x.astype(kind))
                    self.assertIs(type(wanted), type(got))
                    pairs = zip(wanted, got) if type(wanted) in (tuple, list) else [(wanted, got)]
                    for w, v in pairs:
                        self.assertEqual((type(w), getattr(w, "dtype", None)), (type(v), getattr(v, "dtype", None)), kind)
                        np.testing.assert_array_equal(w, v)
        x = np.array([2, 0, 1], np.float32)  # a Python number takes the type of floats
        got = trident.jit(lambda x: x / np.count_nonzero(x))(x)
        self.assertEqual(np.float32, got.dtype)
        np.testing.assert_array_equal(x / np.float32(2), got)

    def test_refusals_name_the_cure(self):
        x, y = np.arange(4.0), np.arange(4.0)
        for function, cure in ((lambda x: np.nan_to_num(x, copy=False), "leave out copy=False"), (lambda x: np.any(x, where=x > 0), "np.where"),
                               (lambda x: np.select([True], [x]), "write x > 0"), (lambda x: np.average(x, weights=x), "np.sum"),
                               (lambda x: np.piecewise(x, [x > 1], [lambda v: v - v.mean()]), "use np.where"),
                               (lambda x: np.linalg.norm(x, 1), "ufuncs"), (lambda x: np.median(x), "outside")):
            with self.assertRaisesRegex(trident.TraceError, cure):
                trident.jit(function)(x)
        with self.assertRaisesRegex(trident.TraceError, "use np.where"):
            trident.jit(lambda x, y: np.piecewise(x, [x > 1], [lambda v: v + y]))(x, y)


if __name__ == "__main__":
    unittest.main()
