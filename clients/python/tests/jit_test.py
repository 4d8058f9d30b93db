"""@trident.jit and trident.Kernel. The oracle of jit is the plain function itself, run by NumPy."""
import math
import os
import sys
import unittest
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

RANDOM = np.random.default_rng(3)
X8 = RANDOM.random(500) * 4 - 2
Y8 = RANDOM.random(500) * 4 - 2
X4, Y4 = X8.astype("f4"), Y8.astype("f4")
I4 = RANDOM.integers(-40, 40, 500).astype("i4")
I8 = RANDOM.integers(-40, 40, 500)
B = RANDOM.random(500) > 0.5
GLOBAL_FACTOR = 2.0
CORNERS = np.array([0.0, -0.0, 1.5, -1.5, 2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308])

FUNCTIONS = {
    "polynomial": lambda x, y: 3 * x**2 - 2 * x * y + y**3 - 1,
    "division": lambda x, y: (x + 1) / (y * y + 1),
    "trig": lambda x, y: np.sin(x) * np.cos(y) + np.tan(x / 2),
    "inverse trig": lambda x, y: np.arcsin(x / 3) + np.arccos(y / 3) + np.arctan2(x, y) + np.arctan(x),
    "hyperbolic": lambda x, y: np.sinh(x) + np.cosh(y) + np.tanh(x) + np.arcsinh(y),
    "exponential": lambda x, y: np.exp(x) + np.expm1(y) + np.exp2(x) + np.log1p(np.abs(y)),
    "logarithms": lambda x, y: np.log(np.abs(x) + 1) + np.log2(np.abs(y) + 1) + np.log10(np.abs(x) + 2),
    "roots": lambda x, y: np.sqrt(np.abs(x)) + np.cbrt(y) + np.hypot(x, y),
    "branches": lambda x, y: np.where(x > y, x * 2, np.where(y > 0, y, -y)),
    "min max": lambda x, y: np.minimum(x, y) + np.maximum(x, 0.5) + np.fmin(x, y) * np.fmax(x, y),
    "clip": lambda x, y: np.clip(x, -1, 1) + np.clip(y, 0, None),
    "rounding": lambda x, y: np.floor(x) + np.ceil(y) + np.trunc(x) + np.rint(y),
    "comparisons": lambda x, y: (x < y) | (x >= 1) & ~(y != 2),
    "logical": lambda x, y: np.logical_and(x > 0, y > 0) ^ np.logical_not(x < y),
    "python constants": lambda x, y: math.pi * x + math.e - 2 * y,
    "sign abs": lambda x, y: np.sign(x) * abs(y) + np.copysign(x, y),
    "square": lambda x, y: np.square(x) + np.reciprocal(y) - np.negative(x),
    "degrees": lambda x, y: np.deg2rad(x) + np.rad2deg(y),
    "tests": lambda x, y: np.isnan(x) | np.isinf(y) | np.isfinite(x),
    "bool arithmetic": lambda x, y: (x > 0) * x + (y > 0) * 1.0,
    "several": lambda x, y: (x + y, x - y, x > y),
    "reuse": lambda x, y: (x + y) * (x + y) - (x + y),
}


class AgainstThePlainFunction(unittest.TestCase):
    def same(self, function, *args, compiled=None, rtol=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = function(*args)
            got = (compiled or trident.jit(function))(*args)
        for w, o in zip(wanted, got) if isinstance(wanted, tuple) else [(wanted, got)]:
            w, o = np.asarray(w), np.asarray(o)
            self.assertEqual((w.dtype, w.shape), (o.dtype, o.shape))
            single = any(np.asarray(a).dtype == np.float32 for a in (w, *args))
            tolerance = 0 if w.dtype.kind != "f" else rtol or (3e-6 if single else 1e-14)
            np.testing.assert_allclose(o, w, rtol=tolerance, atol=tolerance)

    def test_results_of_no_elements_have_shapes_of_their_own(self):
        z = np.zeros
        for function, shapes in ((lambda a, b: (a + 1, b * 2), ((0, 1), (0, 0))), (lambda a, b: (np.full_like(b, 2), a + 1), ((0,), (0, 0))),
                                 (lambda a, b: (a + 1, b > 2, a + b), ((0, 1), (1, 0))), (lambda a, b: (a + 1, b.sum()), ((0, 1), (0, 0))),
                                 (lambda a, b: (a + 1, a + b), ((1, 0), (3, 1, 1))), (lambda a, b: (b - a, a * 2), ((0, 5), (2, 0, 1)))):
            self.same(function, *map(z, shapes))

    def test_functions_of_floats(self):
        for name, function in FUNCTIONS.items():
            for args in ((X8, Y8), (X4, Y4), (X4, Y8), (X8.reshape(20, 25), Y8.reshape(20, 25).T.copy().T),
                         (X8[::2], Y8[1::2]), (X8.reshape(500, 1), Y8[:3]), (X8, np.float64(1.5))):
                with self.subTest(name, dtypes=[np.asarray(a).dtype for a in args]):
                    self.same(function, *args)

    def test_mixed_kinds_follow_numpy(self):
        for function in (lambda x, y: x + y, lambda x, y: x * 2 + y, lambda x, y: x / 2, lambda x, y: x < y,
                         lambda x, y: np.sqrt(abs(x)) + y, lambda x, y: np.where(x > y, x, y), lambda x, y: x * 2.5,
                         lambda x, y: np.maximum(x, y), lambda x, y: 7 - x * 1000):
            for x in (X4, X8, I4, I8):
                for y in (X4, X8, I4, I8, B):
                    with self.subTest(x=x.dtype, y=y.dtype):
                        self.same(function, x, y)

    def test_large_python_integers(self):
        big = 3_000_000_000
        self.same(lambda i: i + big, I4)
        self.same(lambda i: i + big, I8)
        self.same(lambda x: x + big, X8)
        self.assertEqual(np.float32, trident.jit(lambda x: x + big)(X4).dtype)  # as NumPy 2; NumPy 1 says float64

    def test_integers(self):
        self.same(lambda i, j: (i & j) | (i ^ 5) & ~j, I4, I4[::-1])
        self.same(lambda i, j: (i << 2) + (j >> 1), I8, I8[::-1])
        self.same(lambda i, j: i % (abs(j) + 1) + i * j - abs(i), I8, I8[::-1])
        self.same(lambda i: np.sign(i) + i**3, I4)

    def test_remainders_of_floats(self):
        x = np.repeat(CORNERS, CORNERS.size)
        y = np.tile(CORNERS, CORNERS.size)
        self.same(lambda x, y: np.fmod(x, y), x, y)
        for a, b in ((X8, Y8), (X4, Y4)):
            self.same(lambda x, y: x % y, a, b)
            self.same(lambda x, y: np.floor(x * 10) % 3, a, b)
            self.same(lambda x, y: (x * 8) // y, a, b)
        finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
        self.same(lambda x, y: np.remainder(x, y), x[finite], y[finite])

    def test_special_values(self):
        x, y = np.repeat(CORNERS, CORNERS.size), np.tile(CORNERS, CORNERS.size)
        for name in ("branches", "min max", "clip", "rounding", "comparisons", "logical", "tests", "sign abs"):
            with self.subTest(name):
                self.same(FUNCTIONS[name], x, y)

    def test_reductions(self):
        self.same(lambda x, y: np.sum(x * y), X8, Y8, rtol=1e-12)
        self.same(lambda x, y: x.mean() + y.max() - np.min(x), X8, Y8, rtol=1e-12)
        self.same(lambda x, y: (x + y, np.sum(x)), X8, Y8, rtol=1e-12)
        self.same(lambda x, y: np.var(x) + y.var(ddof=1) - np.std(x * y, ddof=2) + x.std(), X8, Y8, rtol=1e-12)
        self.same(lambda x: np.var(x), I4, rtol=1e-12)
        self.same(lambda x, y: np.argmax(x * y) * 100 - y.argmin() + np.argmax(x > 0), X8, Y8)
        self.same(lambda x: np.argmin(x) - x.argmax(), I4)
        self.same(lambda x: (x - np.mean(x)) / np.std(x), X8, rtol=1e-12)
        self.same(lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))), X8, rtol=1e-12)
        self.same(lambda x: np.sum(x), I4)
        self.same(lambda x, y: np.prod(1 + x * y / 1000) + np.multiply.reduce(x, axis=None) * y.prod(), X8, Y8, rtol=1e-12)
        self.same(lambda x: np.prod(x * 2 + 1), I4)
        self.same(lambda x: np.prod(x < 1e9), X8)
        self.same(lambda x: np.sum(x > 0), X8)
        self.same(lambda x, y: np.dot(x, y), X8, Y8, rtol=1e-12)
        spoilt = X8.copy()
        spoilt[77] = np.nan
        self.same(lambda x: np.max(x), spoilt)
        self.same(lambda x: np.min(x), spoilt)

    def test_scalars_and_keywords(self):
        @trident.jit
        def scaled(x, a=2.0, *, b=1):
            return a * x + b

        np.testing.assert_array_equal(2.0 * X8 + 1, scaled(X8))
        np.testing.assert_array_equal(3.5 * X8 + 7, scaled(X8, a=3.5, b=7))
        self.assertEqual((7.0, float), (scaled(3.0), type(scaled(3.0))))  # Python numbers alone need no kernel
        self.assertEqual(1, len(scaled.kernels))
        self.assertEqual("scaled", scaled.__name__)

    def test_recordings_are_bounded(self):
        c = 0

        @trident.jit
        def moving(x):
            return x + c

        for c in range(200):
            np.testing.assert_array_equal(X8 + c, moving(X8))

    def test_one_kernel_per_kinds(self):
        calls, context = [], trident.Context("interp")

        def traced(x):
            calls.append(1)
            return x + 1

        compiled = trident.jit(traced, context=context)
        for x in (X8, X8[:10], X4, X4[:3], X8.reshape(5, 100)):
            np.testing.assert_array_equal(x + 1, compiled(x))
        self.assertEqual(5, len(calls))  # an effect outside happens at every call, as in plain Python
        self.assertEqual(2, context.stats()["submitted"])


class Untraceable(unittest.TestCase):
    def refused(self, function, word):
        with self.assertRaises(trident.TraceError) as caught:
            trident.jit(function)(X8)
        self.assertIn(word, str(caught.exception))

    def test_refused_with_the_cure(self):
        self.refused(lambda x: x if x > 0 else -x, "np.where")
        self.refused(lambda x: x if 0 < x < 1 else -x, "np.where")
        self.refused(lambda x: math.sin(x), "np.sin")
        self.refused(lambda x: x[0], "indexing")
        self.refused(lambda x: x * len(x), "len()")
        self.refused(lambda x: sum(v for v in x), "iteration")
        self.refused(lambda x: np.sort(x), "np.sort")
        self.refused(lambda x: np.cumsum(x), "cannot be recorded")
        self.refused(lambda x: np.sum(x, axis=0, where=x > 0), "where")
        self.refused(lambda x: np.sum(x, axis=x), "axis")
        self.refused(lambda x: x + np.arange(500), "argument")
        self.refused(lambda x: 1.0, "depend on its arguments")
        self.refused(lambda x: np.spacing(x), "spacing")
        self.refused(lambda x: x.astype(complex), "astype")

    def test_every_refusal_is_a_trace_error_and_falls_back(self):
        """The oracle of the fallback is the plain function."""
        def in_order(x):
            return np.sort(x)

        def catching(x):
            try:
                return np.sqrt(x) if x.shape else x
            except TypeError:
                return x * 0

        class Masked(np.ndarray):
            pass

        def keyword(x, kind="a"):
            return x + 1 if kind == "a" else x

        def optional(x, w=None):
            return x if w is None else x * w

        def in_place(x):
            y = x * 1
            y += 2
            return y

        cases = [
            (in_order, X8), (catching, abs(X8)), (keyword, X8), (optional, X8), (in_place, X8),
            (lambda x: x * x.shape[0], X8), (lambda x: x.T, X8), (lambda x: x.size + x, X8), (lambda x: x.cumsum(), X8),
            (lambda x: x.ravel(), X8), (lambda x: round(x[0]), X8), (lambda x: x @ x, X8), (lambda x: x + 1j, X8),
            (lambda x: x + 1, X8.astype(complex)), (lambda x: np.spacing(x), X8.astype("f2")), (lambda x: x > x.astype("i8"), I4.astype("u8")),
            (lambda b: np.nextafter(b, b), B), (lambda b: np.spacing(b), B), (lambda b: b**2, B), (lambda x: x + 1, X8.view(Masked)),
            (lambda x: x * 2 if isinstance(x, np.ndarray) else x, X8), (lambda x: np.sum(x, where=x > 0), X8),
            (lambda x: {"a": x}["a"] + np.arange(500), X8), (lambda x: float(f"{x[0]}") + x, X8), (lambda x: x.real, X8),
            (lambda x: np.dot(x, x), X8.reshape(20, 25)[:, :20]), (lambda x: np.stack([x, x]), X8), (lambda x: 1.0, X8),
            (lambda x: np.frexp(x)[0], X8), (lambda x: (x, {}), X8), (lambda x: x[x > 0], X8), (lambda x: x * 2, [1, 2]),
            (lambda x: np.add(x, 1, where=x > 0, out=np.zeros(500)), X8), (lambda x: x.astype(int, copy=False) + 1.5, X8),
            (lambda *x: x[0] + 1, X8), (lambda x: np.add.accumulate(x), X8), (lambda x: x.sum(axis=0, initial=2), X8),
            (lambda i: i + 2**70 if i.dtype == "i8" else i, X8.astype("i8")) if np.__version__ < "2" else (in_order, X8),
            (lambda x: np.frompyfunc(lambda v: v + 1, 1, 1)(x).astype(float), X8), (lambda x: x.std(axis=0, where=x > 0), X8),
        ]
        refused = 0
        for i, (function, x) in enumerate(cases):
            with self.subTest(i):
                try:
                    trident.jit(function)(x)
                except trident.TraceError as error:
                    refused += 1
                    self.assertNotRegex(str(error), r"\bt\d+ = |Tracer|NoneType")
                    self.assertRegex(str(error), r"[Uu]se|[Ww]rite|[Pp]ass|convert|can be|can\b|returns? |divide|Ask|sees")
                wanted = function(x)
                compiled = trident.jit(function, fallback=True)
                with self.assertWarns(RuntimeWarning):
                    first = compiled(x)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    second = compiled(x)
                for got in (first, second):
                    pairs = zip(wanted, got) if isinstance(wanted, tuple) else [(wanted, got)]
                    for w, o in pairs:
                        np.testing.assert_array_equal(w, o)
                        self.assertEqual(np.asarray(w).dtype, np.asarray(o).dtype)
        self.assertEqual(len(cases), refused)

    def test_a_function_without_a_signature(self):
        with self.assertRaises(trident.TraceError):
            trident.jit(np.minimum)
        with self.assertWarns(RuntimeWarning):
            np.testing.assert_array_equal(np.minimum(X8, Y8), trident.jit(np.minimum, fallback=True)(X8, Y8))

    def test_errors_of_the_function_are_its_own(self):
        def wrong(x):
            raise KeyError("mine")

        for fallback in (False, True):
            with self.assertRaises(KeyError):
                trident.jit(wrong, fallback=fallback)(X8)

    def test_fallback_warns_and_is_right(self):
        def absolute(x):
            return np.array([v if v > 0 else -v for v in x])

        compiled = trident.jit(absolute, fallback=True)
        with self.assertWarns(RuntimeWarning):
            np.testing.assert_array_equal(np.abs(X8), compiled(X8))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(np.abs(Y8), compiled(Y8))

    def test_dtypes_outside(self):
        for x in (X8.astype(complex), X8.astype("g"), np.array(["a"])):
            with self.assertRaises((TypeError, NotImplementedError)):
                trident.jit(lambda x: x + 1)(x)
        with self.assertRaises(TypeError):
            trident.jit(lambda *x: x)


class Kernels(unittest.TestCase):
    def test_several_outputs_scalars_and_reductions(self):
        k = trident.Kernel("y = a*x*x; dy = diff(y, x); s = sum(y); (y, dy, s)", scalars=["a"], ranges={"x": (-2, 2)})
        self.assertEqual((("x",), ("a",), ("y", "dy", "s")), (k.arrays, k.scalars, k.outputs))
        y, dy, s = k(X8, a=3)
        np.testing.assert_allclose(y, 3 * X8 * X8, rtol=1e-15)
        np.testing.assert_allclose(dy, 6 * X8, rtol=1e-15)
        self.assertAlmostEqual((3 * X8 * X8).sum(), s, places=9)

    def test_types_and_broadcast(self):
        k = trident.Kernel("f32(i) * x", types={"i": "i64"}, type="f32")
        got = k(i=I8[:3].reshape(3, 1), x=X4[:5])
        self.assertEqual((np.float32, (3, 5)), (got.dtype.type, got.shape))
        np.testing.assert_array_equal(I8[:3].reshape(3, 1).astype("f4") * X4[:5], got)
        with self.assertRaises(TypeError):
            k(i=X8, x=X4)

    def test_integers_and_names(self):
        k = trident.Kernel("floor(i) + j", types={"i": "i64", "j": "i64"})
        np.testing.assert_array_equal([2**53 + 4], k(i=np.array([2**53 + 1]), j=np.array([3])))
        for text, used in (("i % j", "ij"), ("remainder(i, 3)", "i"), ("i / j", "ij")):
            with self.assertRaisesRegex(trident.TridentError, "integers have no (remainder|division): cast an operand"):
                trident.Kernel(text, types=dict.fromkeys(used, "i64"))
        with self.assertRaisesRegex(trident.TridentError, "no text can name a variable '1x'"):
            trident.Kernel("x + 1", types={"1x": "f64"})
        for options in ({"types": {"X": "i64"}}, {"ranges": {"X": (0, 1)}}, {"scalars": ["X"]}, {"tables": ["X"]}):
            with self.assertRaisesRegex(ValueError, "name 'X', which the text does not have"):
                trident.Kernel("x + 1", **options)

    def test_out(self):
        k = trident.Kernel("x + 1")
        out = np.empty(500)
        self.assertIs(out, k(X8, out=out))
        np.testing.assert_array_equal(X8 + 1, out)
        strided = np.zeros((500, 2))
        self.assertEqual(500, k(X8, out=strided[::-1, 1]).size)
        np.testing.assert_array_equal(np.stack([0 * X8, (X8 + 1)[::-1]], 1), strided)
        repeated = np.lib.stride_tricks.as_strided(np.empty(501), (500,), (0,))
        for bad in (np.empty(499), np.empty(500, "f4"), repeated):
            with self.assertRaises(ValueError):
                k(X8, out=bad)

    def test_out_that_shares_memory_with_an_argument(self):
        k = trident.Kernel("x*2 + y")
        for shift in (1, 3, -1, -5):
            data, other = X8.copy(), Y8.copy()
            source, target = (data[shift:], data[:-shift]) if shift > 0 else (data[:shift], data[-shift:])
            wanted = source * 2 + other[:source.size]
            k(source, other[:source.size], out=target)
            np.testing.assert_array_equal(wanted, target)
        data = X8.copy()
        k(data, Y8, out=data)  # the same elements
        np.testing.assert_array_equal(X8 * 2 + Y8, data)
        two = trident.Kernel("(a=x+1, b=x*2)")
        room = np.empty(600)
        with self.assertRaises(ValueError):
            two(X8, out=(room[:500], room[100:]))

    def test_arguments(self):
        k = trident.Kernel("a*x + y", scalars=["a"])
        for args, kwargs in (((X8,), {"a": 1}), ((X8, Y8), {}), ((X8, Y8, X8), {"a": 1}), ((X8, Y8), {"a": 1, "z": 2}),
                             ((X8, Y8), {"a": 1, "x": X8})):
            with self.assertRaises(TypeError):
                k(*args, **kwargs)
        with self.assertRaises(ValueError):
            k(X8, Y8, a=X8)

    def test_syntax_errors_show_the_place(self):
        with self.assertRaises(trident.TridentError) as caught:
            trident.Kernel("x + * y")
        self.assertIn("x + * y\n      ^", str(caught.exception))
        with self.assertRaises(ValueError):
            trident.Kernel("x", type="f16")

    def test_info_and_wait(self):
        with trident.Context("interp") as context:
            k = trident.Kernel("(+ x 1)", context=context)
            self.assertEqual(0, k.wait())
            self.assertEqual({"tier": 0, "isa": "interpreter", "swaps": 0, "done": True, "baseline_ns": 0.0,
                              "optimised_ns": 0.0, "note": "mode interp asks no compiler", "misses": 0,
                              "progress": {"stage": "none", "done": 0, "total": 0, "best_ratio": 0.0}}, k.info())
            self.assertEqual(1, context.stats()["submitted"])
            with self.assertRaises(trident.TridentError):
                context.daemon_stats()
        np.testing.assert_array_equal(X8 + 1, k(X8))  # outlives its context
        with self.assertRaises(ValueError):
            trident.Kernel("x", context=context)

    def test_no_daemon_is_an_error_in_mode_daemon_only(self):
        with self.assertRaises(trident.TridentError):
            trident.Context("daemon", socket_path="/nonexistent/socket", connect_timeout_ms=50)


if __name__ == "__main__":
    unittest.main()
