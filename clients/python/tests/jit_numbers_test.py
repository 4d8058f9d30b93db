"""Python numbers under @trident.jit: where no array takes part, operators are Python's own, with Python's types, values and
errors; where one does, the result of Python's operators meets it as a Python number does. The oracle is the plain function."""
import operator
import os
import sys
import unittest
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

X = np.linspace(-2, 2, 9)
I4, I8 = np.arange(-4, 5, dtype="i4"), np.arange(-4, 5)
B = np.arange(9) % 2 == 0
NUMBERS = [0, 1, 2, 3, -1, 7, 64, True, False, 0.5, -2.0, 0.0, 2**40, 10**30]
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_,
          operator.or_, operator.xor, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, divmod]
SMALL = [operator.pow, operator.lshift, operator.rshift]  # what grows, by small numbers only
UNARY = [operator.neg, operator.pos, operator.abs, operator.invert]


def outcome(function, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except trident.TraceError:
            return trident.TraceError
        except Exception as error:
            return type(error)


class PythonNumbers(unittest.TestCase):
    def same(self, plain, compiled, *args):
        wanted, got = outcome(plain, *args), outcome(compiled, *args)
        if got is trident.TraceError:  # only for what kernels have no type for
            values = (*args, *(wanted if isinstance(wanted, tuple) else (wanted,)))
            self.assertTrue(any(isinstance(v, complex) or np.asarray(v).dtype.kind in "OuC" for v in values), wanted)
            return
        for w, g in zip(wanted, got, strict=True) if isinstance(wanted, tuple) else [(wanted, got)]:
            self.assertIs(type(w), type(g))
            if type(w) is np.ndarray:
                self.assertEqual(w.dtype, g.dtype)
                np.testing.assert_allclose(g, w, rtol=1e-15)
            else:
                self.assertTrue(w == g or w != w and g != g, (w, g))

    def test_powers_that_are_roots(self):
        """x**0.5 is NumPy's sqrt wherever the half comes from: other results at -0 and -inf than those of a power."""
        def power(x, k):
            return x**k

        def power_of_greatest(x, y):
            return x**y.max()

        of_number, of_total = trident.jit(power), trident.jit(power_of_greatest)
        for x in (np.array([-np.inf, -0.0, 0.0, 4.0, -1.0, np.nan, np.inf]), np.array([-np.inf, -0.0, 4.0], "f4")):
            for k in (0.5, 1.5, 0.5, 2.0, -0.5):
                for compiled, plain, other in ((of_number, power, k), (of_total, power_of_greatest, np.array([k, k - 1], x.dtype))):
                    wanted, got = outcome(plain, x, other), outcome(compiled, x, other)
                    self.assertEqual(wanted.dtype, got.dtype)
                    np.testing.assert_allclose(got, wanted, rtol=4e-7 if x.dtype == np.float32 else 1e-15)
                    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(wanted[got == 0]))

    def test_operators(self):
        for op in BINARY + SMALL:
            def alone(k, c):
                return op(k, c)

            def plain(x, k):
                return (x * 2, *divmod(k, 3)) if op is divmod else (x * 2, op(k, 3), op(2, k))

            first, beside = trident.jit(alone), trident.jit(plain)
            for k in NUMBERS:
                if op in SMALL and abs(k) > 100:
                    continue
                with self.subTest(op.__name__, k=k):
                    self.same(plain, beside, X, k)
                for c in NUMBERS:
                    if op in SMALL and abs(c) > 100:
                        continue
                    with self.subTest(op.__name__, k=k, c=c):
                        self.same(alone, first, k, c)

    def test_unary(self):
        for op in UNARY:
            f = trident.jit(lambda x, k: (x - 1, op(k), op(op(k))))
            for k in NUMBERS:
                with self.subTest(op.__name__, k=k):
                    self.same(lambda x, k: (x - 1, op(k), op(op(k))), f, X, k)

    def test_what_arrays_meet(self):
        def in_place(x, k):
            k += 1
            k *= 2
            return x * k

        functions = [
            lambda x, k: x + ~(k == 7), lambda x, k: x * (k == 7), lambda x, k: x + (k > 1) + (k > 2),
            lambda x, k: np.where(k > 2, x, -x), lambda x, k: x * (k // 2) + k % 3, lambda x, k: x + (k * k - 1) / 4,
            lambda x, k: (x > k) & (k != 3), lambda x, k: x - abs(-k), lambda x, k: (k, x * k, k * 2), in_place,
            lambda x, k: x + (k == 7 | 1), lambda x, k: x + divmod(k, 2)[1], lambda x, k: x * k**2, lambda x, k: k + 1 - x,
            lambda x, k: np.sum(x) + k * 2, lambda x, k: x + (True + k),
        ]
        for i, function in enumerate(functions):
            compiled = trident.jit(function)
            for x in (X, I8, I4, B):
                for k in (7, 3, 0, -1, True, False, 0.5, 2, 7.0):
                    if x is B and i in (7, 13) and k in (True, False):
                        continue  # minus of booleans
                    with self.subTest(i, x=x.dtype, k=k):
                        self.same(function, compiled, x, k)

    def test_errors_are_pythons(self):
        for function, error in ((lambda x, k: x + 1 // k, ZeroDivisionError), (lambda x, k: x * (1 / k), ZeroDivisionError),
                                (lambda x, k: x + (1 << (k - 1)), ValueError), (lambda x, k: x + (k + 0.5 & 1), TypeError)):
            compiled = trident.jit(function)
            if error is not TypeError:
                np.testing.assert_array_equal(function(X, 2), compiled(X, 2))  # from then on it is proven
            for f in (compiled, trident.jit(function, fallback=True)):
                with warnings.catch_warnings(), self.assertRaises(error):
                    warnings.simplefilter("ignore")
                    f(X, 0)

    def test_a_number_beyond_64_bits(self):
        compiled = trident.jit(lambda x, k: x * (k * k))
        for _ in range(2):
            np.testing.assert_array_equal(X * 2.0**62, compiled(X, 2**31))
            with self.assertRaises(trident.TraceError):
                compiled(X, 2**40)
            with self.assertRaisesRegex(trident.TraceError, "needs more than 64 bits: pass it as a float"):
                compiled(X, 2**64)

    def test_numbers_that_change(self):
        """One kernel serves all numbers of a kind, where the function is proven and where it is recorded each time."""
        outside = [1]
        for function in (lambda x, k: x * (k * k + 1), lambda x, k: x * (k * k + outside[0])):
            with trident.Context("interp") as context:
                compiled = trident.jit(function, context=context)
                for k in (2, 3, -5, 11, 2, 40_000):
                    np.testing.assert_array_equal(function(X, k), compiled(X, k))
                self.assertLessEqual(context.stats()["submitted"], 1)
                np.testing.assert_array_equal(function(X, 2.5), compiled(X, 2.5))
                np.testing.assert_array_equal(function(I4, 50_000), compiled(I4, 50_000))  # beyond int32
                np.testing.assert_array_equal(function(I4, 5), compiled(I4, 5))

    def test_numbers_that_are_kept_are_refused(self):
        kept = []

        @trident.jit
        def f(x, k):
            kept.append(k + 1)
            return x + kept[0]

        np.testing.assert_array_equal(X + 3, f(X, 2))
        with self.assertRaises(trident.TraceError):
            f(X, 3)
        with self.assertRaises(trident.TraceError):
            trident.jit(lambda x: x + (kept[0] + 1))(X)


if __name__ == "__main__":
    unittest.main()
