"""@trident.jit functions whose code proves that every call does the same: they are recorded once for each combination of
argument types, and give NumPy's answers at every call. The oracle is NumPy; recordings are counted."""
import os
import sys
import unittest
import warnings
from unittest import mock

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402
from numpy.linalg import norm  # noqa: E402

import trident  # noqa: E402
from trident import _compiled, _composed, _jit, _tracer  # noqa: E402

RNG = np.random.default_rng(5)
ARRAYS = [RNG.normal(size=40) * 3, RNG.normal(size=(6, 7)), np.asfortranarray(RNG.normal(size=(5, 9))), RNG.normal(size=30)[::-3],
          np.array([0.0, np.nan, -0.0, np.inf, 3.5, -np.inf]), np.zeros(17), np.ones(3), np.zeros((0, 3)), np.array(2.5), np.float64(-1.5)]
DTYPES = "f8", "f4", "i4", "i8", "?", "u1", "i2", "u4", "f2"
OF_ONE = {
    "any": lambda x: np.any(x), "x.any": lambda x: (x > 1).any(), "all": lambda x: np.all(x), "x.all": lambda x: x.all(),
    "any along": lambda x: np.any(x, axis=0), "all kept": lambda x: np.all(x > 0, axis=-1, keepdims=True), "any kept": lambda x: x.any(keepdims=True),
    "count_nonzero": lambda x: np.count_nonzero(x), "count_nonzero along": lambda x: np.count_nonzero(x, axis=0),
    "allclose": lambda x: np.allclose(x, x), "allclose nan": lambda x: np.allclose(x, x, equal_nan=True), "allclose 1": lambda x: np.allclose(x, 1.0, 0.5),
    "isclose": lambda x: np.isclose(x, 1.0, rtol=0.5), "average": lambda x: np.average(x), "ptp": lambda x: np.ptp(x),
    **({"x.ptp": lambda x: x.ptp()} if hasattr(np.ndarray, "ptp") else {}),  # NumPy 2 has none
    "nansum": lambda x: np.nansum(x), "nansum along": lambda x: np.nansum(x, axis=0), "nanmean": lambda x: np.nanmean(x),
    "nanmin": lambda x: np.nanmin(x), "nanmax": lambda x: np.nanmax(x), "nanprod": lambda x: np.nanprod(np.clip(x, -1, 1)),
    "norm": lambda x: np.linalg.norm(x), "norm by name": lambda x: norm(x), "norm along": lambda x: np.linalg.norm(x, axis=0),
    "round": lambda x: np.round(x, 1), "x.round": lambda x: x.round(), "around": lambda x: np.around(x), "fix": lambda x: np.fix(x),
    "sinc": lambda x: np.sinc(np.clip(x, -3, 3)), "isposinf": lambda x: np.isposinf(x), "isneginf": lambda x: np.isneginf(x),
    "copy": lambda x: np.copy(x), "x.copy": lambda x: x.copy(), "x.conj": lambda x: x.conj(), "x.conjugate": lambda x: x.conjugate(),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=3.0, posinf=4.0), "full_like": lambda x: np.full_like(x, 3),
    "zeros_like": lambda x: np.zeros_like(x), "ones_like": lambda x: np.ones_like(x, dtype=np.float32),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x >= 2], [np.negative, 7, 1]), "select": lambda x: np.select([x > 1, x < 0], [x, -x], 5),
    "var": lambda x: x.var(), "std": lambda x: x.std(ddof=1), "prod": lambda x: np.clip(x, -1, 1).prod(), "argmin": lambda x: x.argmin(),
    "argmax": lambda x: x.argmax(), "dot": lambda x: np.dot(x, x), "vdot": lambda x: np.vdot(x, x), "two": lambda x: (x + x, np.count_nonzero(x)),
    "list": lambda x: [np.any(x), np.max(x), -x], "parts": lambda x: np.where((x > 2).any(), x, np.ptp(x)),
}
NUMBERS = 1.5, -2.0, 0.0, np.inf, np.nan, 3, -1, 0, 2**40, True, False, 2.5
OF_NUMBERS = {
    "allclose": lambda x, k: np.allclose(x, x + 0.01, k), "isclose": lambda x, k: np.isclose(x, k), "atol": lambda x, k: np.isclose(x, 0.5, 0.0, k * k),
    "any": lambda x, k: np.any(x > k), "all": lambda x, k: (x <= k + k).all(), "count": lambda x, k: np.count_nonzero(x == k),
    "fill": lambda x, k: np.nan_to_num(x, nan=k, posinf=k), "full_like": lambda x, k: np.full_like(x, k), "select": lambda x, k: np.select([x > k, x < 0], [x, k], k - 1),
    "piecewise": lambda x, k: np.piecewise(x, [x > k, x < 0], [k, -k]), "any of a number": lambda x, k: np.any(k) | (x > 1),
    "logaddexp": lambda x, k: np.logaddexp(x, k), "norm": lambda x, k: np.linalg.norm(x * k), "whole": lambda x, k: np.round(x * k),
    "ptp": lambda x, k: np.ptp(x - k), "nansum": lambda x, k: np.nansum(x * k), "heaviside": lambda x, k: np.heaviside(x, k),
}


class Proven(unittest.TestCase):
    def setUp(self):
        self.recorded = 0

        def counted(*args, _make=_jit._Recording):
            self.recorded += 1
            return _make(*args)

        patch = mock.patch.object(_jit, "_Recording", counted)
        patch.start()
        self.addCleanup(patch.stop)

    def same(self, wanted, got):
        if type(wanted) is np.ndarray and wanted.ndim == 0:
            wanted = wanted[()]  # a copy of a number; Trident has no arrays without dimensions
        self.assertIs(type(wanted), type(got))
        if type(wanted) in (tuple, list):
            self.assertEqual(len(wanted), len(got))
            for w, v in zip(wanted, got):
                self.same(w, v)
            return
        wanted_dtype = getattr(wanted, "dtype", None)
        self.assertEqual((wanted_dtype, np.shape(wanted)), (getattr(got, "dtype", None), np.shape(got)))
        near = {"f2": 2e-3, "f4": 1e-5}.get(wanted_dtype and wanted_dtype.str[1:], 1e-12)
        np.testing.assert_allclose(got, wanted, rtol=near, atol=near)

    def check(self, function, compiled, *args):
        """Compares one call; returns whether it was recorded and compiled. A refusal counts for nothing."""
        before = self.recorded
        with np.errstate(all="ignore"):
            try:
                wanted = function(*args)
            except Exception as error:
                with self.assertRaises((type(error), trident.TraceError)):
                    compiled(*args)
                return None
        try:
            got = compiled(*args)
        except trident.TraceError:
            return None
        self.same(wanted, got)
        return self.recorded > before

    @staticmethod
    def outcome(compiled, *args):
        """Everything that can be seen of the results, or the error."""
        try:
            results = compiled(*args)
        except (ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)
        listed = results if type(results) in (tuple, list) else [results]
        return type(results), [(type(r), np.asarray(r).dtype, np.shape(r), np.asarray(r).strides, np.asarray(r).tobytes()) for r in listed]

    def test_arrays(self):
        """Each function, on arrays of every type and layout in turn."""
        for name, function in OF_ONE.items():
            compiled, calls = trident.jit(function), 0
            for dtype in DTYPES:
                seen = set()  # dimensions, none or some, that this type came with
                for _ in range(2):
                    for array in ARRAYS:
                        if dtype not in ("f8", "f4", "f2") and not np.isfinite(array).all():
                            continue
                        with np.errstate(all="ignore"), self.subTest(name, dtype=dtype, shape=np.shape(array)):
                            x = array.astype(np.dtype(dtype))
                            if dtype == "f4" and x.ndim == 0:  # NumPy 1 and 2 differ
                                continue
                            recorded = self.check(function, compiled, x)
                            if recorded is None:
                                continue
                            self.assertEqual(recorded, x.ndim == 0 and 0 not in seen or x.ndim > 0 and 1 not in seen)
                            seen.add(min(x.ndim, 1))
                            calls += 1
            self.assertGreaterEqual(calls, 25, name)

    def test_numbers(self):
        """A number that is an argument changes at every call."""
        x = RNG.normal(size=50)
        for name, function in OF_NUMBERS.items():
            compiled, kinds, calls = trident.jit(function), set(), 0
            for number in NUMBERS * 3:
                with self.subTest(name, number=number):
                    recorded = self.check(function, compiled, x, number)
                    if recorded is not None:
                        calls += 1
                        kind = type(number), number == 2**40
                        self.assertEqual(recorded, kind not in kinds)
                        kinds.add(kind)
            self.assertGreaterEqual(calls, 18, name)

    def test_call_after_call(self):
        """Arguments of all types, layouts and shapes follow each other by chance, equal types often, which is the short way. Its
        results are those of a function that is called for the first time, and NumPy's where NumPy 1 and 2 agree."""
        functions = (lambda x, k: x * k + 1, lambda x, k: (x > k, x - k * 2), lambda x, k: np.sum(x * k, axis=0), lambda x, k: x.max(axis=-1) - k,
                     lambda x, k: np.exp(np.clip(x, -9, 9)) / np.exp(np.clip(x, -9, 9)).sum(axis=-1, keepdims=True) + k,
                     lambda x, k: np.argmax(x) + k, lambda x, k: np.where(x < k, x, k), lambda x, k: [x.mean(axis=0, keepdims=True), x * (k + 1)],
                     lambda x, k: np.argmin(x, axis=0) * k, lambda x, k: np.maximum(x, k).sum(), lambda x, k: x.sum(axis=0) + k * k)
        numbers = [*NUMBERS, 1e300, 1e-300, 70000, 2**31, -2**31, 2**62, 2**63, np.float64(1.5), np.float32(0.1), np.int64(3), np.int32(-2), np.uint8(200),
                   np.uint64(2**63 + 5), np.bool_(True), np.array(2.5), np.array(3)]
        arrays = [a for a in ARRAYS if np.ndim(a)] + [RNG.integers(-9, 9, (4, 5)), np.broadcast_to(np.arange(5.0), (3, 5)), RNG.normal(size=(4, 6))[:, ::2]]
        rng, calls = np.random.default_rng(11), 0
        for i, function in enumerate(functions):
            compiled, x, k = trident.jit(function), ARRAYS[1], 1.5
            for step in range(500):
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # casts of NaN, powers of two beyond the type
                    draw = rng.integers(6)
                    if draw < 2:
                        dtype = DTYPES[rng.integers(len(DTYPES))] if draw else x.dtype
                        x = arrays[rng.integers(len(arrays))].astype(dtype)
                        if rng.integers(5) == 0:
                            x = x.astype(x.dtype.newbyteorder())
                    elif draw == 2:
                        k = numbers[rng.integers(len(numbers))]
                    elif draw == 3 and type(k) is float:
                        k = float(rng.normal())
                    elif draw == 4 and type(k) is int:
                        k = int(rng.integers(-10, 10))
                    with self.subTest(function=i, step=step, dtype=x.dtype.str, shape=x.shape, k=repr(k)):
                        if x.dtype in ("f8", "i8") and type(k) in (float, int) and abs(k) < 2**31:
                            calls += self.check(function, compiled, x, k) is not None
                        with mock.patch.object(_compiled.PartKernel, "_run_simply", lambda *_: None):
                            wanted = self.outcome(trident.jit(function), x, k)
                        self.assertEqual(wanted, self.outcome(compiled, x, k))
        self.assertGreaterEqual(calls, 300)

    def test_operands_of_other_types_and_shapes(self):
        functions = (lambda x, y: np.allclose(x, y), lambda x, y: np.isclose(x, y).any(), lambda x, y: np.select([x > y, x < 1], [x, y]),
                     lambda x, y: np.count_nonzero(x != y), lambda x, y: (np.vdot(x, y), np.sum(x * y)), lambda x, y: np.dot(x, y),
                     lambda x, y: [np.full_like(x, 2) + y, (x > y).all()], lambda x, y: (np.any(x), np.any(y)))
        a, b = RNG.normal(size=(2, 4, 6))
        operands = [(a, b), (a, b.astype("f4")), (a.astype("i4"), b), (a[0], b[0]), (a, b[0]), (a.T, b.T), (a, b[::-1]), (a[:0], b[:0]),
                    (a[::2, ::3], b[::2, ::3]), (a, np.asfortranarray(b)), (a[0], a[0] + 1e-12), (a, 2.0), (2, b), (a[:1], b)]
        for i, function in enumerate(functions):
            compiled, calls = trident.jit(function), 0
            for round_ in range(3):
                for j, (x, y) in enumerate(operands):
                    with self.subTest(function=i, operands=j):
                        recorded = self.check(function, compiled, x, y)
                        calls += recorded is not None
                        if round_ > 0:
                            self.assertFalse(recorded)
            self.assertGreaterEqual(calls, 10, i)

    def test_an_extreme_beside_an_empty_array(self):
        one, empty = np.array([2.5]), np.zeros((0, 7))
        for function in (lambda x, y: np.argmax(x) + y, lambda x, y: np.max(x) * y, lambda x, y: np.ptp(x) + (y > 1)):
            compiled = trident.jit(function)
            for _ in range(2):
                self.same(function(one, empty), compiled(one, empty))
                for x, y in ((empty, one), (empty, empty)):
                    self.assertRaises(ValueError, function, x, y)
                    self.assertRaises((ValueError, trident.TraceError), compiled, x, y)

    def test_functions_that_are_replaced(self):
        """A function of NumPy that becomes another is what the next call has."""
        x = np.array([1.0, -2.0, 0.0])
        for module, name, other in ((np, "any", np.all), (np.linalg, "norm", np.max), (np, "linalg", mock.Mock(norm=np.min))):
            function = (lambda x: np.any(x)) if name == "any" else (lambda x: np.linalg.norm(x))
            compiled = trident.jit(function)
            for _ in range(2):
                self.same(function(x), compiled(x))
                with mock.patch.object(module, name, other):
                    self.same(function(x), compiled(x))

    def test_every_function_that_is_recorded_is_tried(self):
        """So that a new one is listed above, where its answers are compared."""
        names = {n for f in (*OF_ONE.values(), *OF_NUMBERS.values()) for n in f.__code__.co_names} | {"norm", "round_"}
        of_composed = {f.__name__ for f in _composed.FUNCTIONS} | set(_composed.METHODS)
        self.assertEqual(set(), of_composed - names)
        self.assertIn(np.where, _tracer.FUNCTIONS)


if __name__ == "__main__":
    unittest.main()
