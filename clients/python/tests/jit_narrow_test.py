"""Arrays of narrow and unsigned types under @trident.jit. The oracle is NumPy: its types and values, wrapping included."""
import itertools
import os
import subprocess
import sys
import tracemalloc
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

NARROW = {kind: np.array(sorted({np.iinfo(kind).min, np.iinfo(kind).min + 1, 0, 1, 2, 3, 7, 9, 16, 100, 127, *(
    [-1, -2, -7] if kind[0] == "i" else [200]), np.iinfo(kind).max - 1, np.iinfo(kind).max}), kind) for kind in ("u1", "i1", "u2", "i2")}
UNSIGNED = {kind: np.array([0, 1, 2, 7, 200, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, *top], kind) for kind, top in (
    ("u4", []), ("u8", [2**32, 2**63 - 1, 2**63, 2**64 - 1]))}
HALF = np.array([0.0, -0.0, 1.5, -2.5, 7, 65504, np.inf, -np.inf, np.nan, 6e-8, 3, 100], "f2")
WIDE = {"i4": np.array([0, 1, -5, 70000], "i4"), "f4": np.array([0.5, -3, 300, 1e6], "f4"), "f8": np.array([0.1, -3, 300, 1e6])}
ONE = {
    "-": lambda x: -x, "abs": lambda x: abs(x), "~": lambda x: ~x, "square": lambda x: x * x, "x + 1": lambda x: x + 1,
    "200 - x": lambda x: 100 - x, "x * 3": lambda x: x * 3, "x << 3": lambda x: x << 3, "x >> 1": lambda x: x >> 1, "x // 3": lambda x: x // 3,
    "x % 7": lambda x: x % 7, "x & 15": lambda x: x & 15, "x > 100": lambda x: x > 100, "x == 7": lambda x: x == 7, "x < 2.5": lambda x: x < 2.5,
    "x / 2": lambda x: x / 2, "x * 0.5": lambda x: x * 0.5, "clip": lambda x: np.clip(x, 2, 100), "x.clip": lambda x: x.clip(None, 50),
    "where": lambda x: np.where(x > 50, 127, 0), "where x": lambda x: np.where(x > 50, x, 7), "minimum": lambda x: np.minimum(x, 9),
    "f4": lambda x: np.sqrt(np.abs(x.astype(np.float32))), "i8": lambda x: x.astype(np.int64) * 1000, "same": lambda x: x,
    "bool": lambda x: x.astype(bool), "pixel": lambda x: np.clip(x.astype(np.float32) * 1.5 + 16, 0, 255).astype(np.uint8),
    "to u1": lambda x: x.astype(np.uint8), "to i1": lambda x: (x.astype(np.int32) * 77).astype(np.int8), "to i2": lambda x: x.astype(np.int16),
    "two": lambda x: (x + x, x > 3), "sqrt": lambda x: np.sqrt(x), "1000": lambda x: x + 1000, "x**2": lambda x: x**2, "sin": lambda x: np.sin(x),
}
TWO = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "//": lambda x, y: x // y, "%": lambda x, y: x % y,
    "<": lambda x, y: x < y, "==": lambda x, y: x == y, "minimum": lambda x, y: np.minimum(x, y), "/": lambda x, y: x / y,
    "&": lambda x, y: x & y, "where": lambda x, y: np.where(x > y, x, y), "mean": lambda x, y: (x.astype(np.int32) + y + 1) >> 1,
}


FUNCTIONS = {
    "select": lambda x: np.select([x > 50, x < 3], [x, x + x], 7), "select of numbers": lambda x: np.select([x > 50], [1], 0),
    "piecewise": lambda x: np.piecewise(x, [x > 50, x > 2], [lambda v: v * 3, 5]), "nan_to_num": lambda x: np.nan_to_num(x),
    "piecewise as float": lambda x: np.piecewise(x, [x > 50], [lambda v: v * 0.5, lambda v: v]), "round": lambda x: x.round(),
    "ptp": lambda x: np.ptp(x), "ptp 0": lambda x: x.ptp(axis=0), "x**2": lambda x: x**2, "x**3": lambda x: np.power(x, 3),
    "divmod": lambda x: divmod(x, 7), "isclose": lambda x: np.isclose(x, 100, rtol=0.3), "average": lambda x: np.average(x),
    "np.round": lambda x: np.round(x, 2), "var": lambda x: x.var(ddof=1), "std": lambda x: np.std(x), "sum": lambda x: x.sum(),
    "prod": lambda x: np.prod(x), "sum 0": lambda x: x.sum(axis=0),
    "x - min": lambda x: x - x.min(), "x - mean": lambda x: x - x.mean(), "norm": lambda x: (x - x.min()) / (x.max() - x.min()),
    "x * 0.1": lambda x: x * 0.1, "x < 0.1": lambda x: x < 0.1, "where 0.1": lambda x: np.where(x > 3, x, 0.1), "nansum": lambda x: np.nansum(x),
    "nanmax": lambda x: np.nanmax(x), "any": lambda x: x.any(), "argmax": lambda x: x.argmax(), "as f8": lambda x: x.astype(float) / 3,
    "conj": lambda x: (np.conj(x), x.conj(), x.conjugate() + 1), "linalg.norm": lambda x: np.linalg.norm(x), "norm 0": lambda x: np.linalg.norm(x, axis=0),
    "count": lambda x: np.count_nonzero(x) > x.astype(np.int64), "count 0": lambda x: np.count_nonzero(x, axis=0), "allclose": lambda x: (np.allclose(x, x) & (x > 3), np.allclose(x, 7) | (x > 3)),
    "infinity": lambda x: (np.isposinf(x), np.isneginf(x)),
    "copy": lambda x: x.copy() + np.copy(x), "u4": lambda x: x.astype(np.uint32) + x.astype(np.uint32), "u8": lambda x: x.astype(np.uint64) * x.astype(np.uint64)}


UINT64 = {
    "signbit": lambda x, y: np.signbit(x), "signbit + max": lambda x, y: np.signbit(x + x.max()), "signbit of max": lambda x, y: np.signbit(x.max()),
    "+ 1": lambda x, y: x + 1, "*": lambda x, y: x * y, "- 3": lambda x, y: x - 3, "-": lambda x, y: -x, "~": lambda x, y: ~x & 255,
    "<< 3": lambda x, y: x << 3, "sum": lambda x, y: x.sum(), "prod": lambda x, y: np.prod(x | 1), "u1": lambda x, y: x.astype(np.uint8),
    "any": lambda x, y: x.any(), "i8": lambda x, y: x.astype(np.int64) >> 1, "max 0": lambda x, y: x.max(axis=0), "- sum": lambda x, y: x - x.sum(),
    "//": lambda x, y: x // y, "%": lambda x, y: x % y, "fmod": lambda x, y: np.fmod(x, y), "divmod": lambda x, y: divmod(x, 7),
    "// large": lambda x, y: x // (2**63 + 5), "<": lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y),
    "minimum": lambda x, y: (np.minimum(x, y), np.fmax(x, y)), ">>": lambda x, y: (x >> y, x >> 3, x << (y % 70)), "/": lambda x, y: x / y,
    "f8": lambda x, y: x.astype(np.float64), "f4": lambda x, y: x.astype(np.float32), "f2": lambda x, y: x.astype(np.float16),
    "sqrt": lambda x, y: np.sqrt(x), "+ 0.5": lambda x, y: x + 0.5, "> large": lambda x, y: x > 2**63 + 5, "> 0.5": lambda x, y: x > 0.5,
    "abs": lambda x, y: (abs(x), np.sign(x)), "where": lambda x, y: np.where(x > y, x, y), "where 0.5": lambda x, y: np.where(x > y, x, 0.5),
    "clip": lambda x, y: np.clip(x, 5, 2**63 + 7), "extremes": lambda x, y: (x.max(), (x | 1).min(), x.argmax(), y.argmin()),
    "mean": lambda x, y: (x.mean(), x.std()), "norm": lambda x, y: (x - x.min()) / (x.max() - x.min()), "**": lambda x, y: x**3 + x**y.astype("u1"),
    "u4": lambda x, y: x // y.astype(np.uint32), "< u4": lambda x, y: x < y.astype(np.uint32), "bool": lambda x, y: x + (x > y),
    "+ i8": lambda x, y: x + y.astype(np.int64), "isclose": lambda x, y: np.isclose(x, y), "ptp": lambda x, y: np.ptp(x)}
FLOAT16 = {
    "same": lambda x, y: x, "-": lambda x, y: -x, "floor": lambda x, y: np.floor(x), "<": lambda x, y: x < y, "maximum": lambda x, y: np.maximum(x, y),
    "fmin": lambda x, y: np.fmin(x, y), "f4 * f2": lambda x, y: x.astype(np.float32) * y, "where": lambda x, y: np.where(x > y, x, 2),
    "isnan": lambda x, y: np.isnan(x), "clip": lambda x, y: x.clip(-2, 3), "f8": lambda x, y: x.astype(float) / 3, "abs": lambda x, y: np.abs(y),
    "+": lambda x, y: x + y, "x - y": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y, "//": lambda x, y: x // y,
    "%": lambda x, y: x % y, "fmod": lambda x, y: np.fmod(x, y), "sqrt": lambda x, y: np.sqrt(x), "chain": lambda x, y: (x + y) * x - y / 3,
    "* 0.1": lambda x, y: x * 0.1 + y, "< 0.1": lambda x, y: x < 0.1, "where 0.1": lambda x, y: np.where(x > y, x, 0.1), "**2": lambda x, y: x**2,
    "**0.5": lambda x, y: x**0.5, "**3": lambda x, y: x**3, "1 / x": lambda x, y: np.reciprocal(x), "degrees": lambda x, y: np.degrees(x),
    "clip 0.1": lambda x, y: np.clip(x, 0.1, 2.3), "to f2": lambda x, y: (x.astype(np.float32) * y).astype(np.float16),
    "i1 * f2": lambda x, y: np.where(x > y, 3, 7).astype(np.int8) * y, "heaviside": lambda x, y: np.heaviside(x, y),
    "compared": lambda x, y: np.where(x + y > 0.3, x - y, x * y), "sum as f4": lambda x, y: (x + y).astype(np.float32)}


class NarrowArrays(unittest.TestCase):
    def same(self, function, *args, name):
        """True when compiled and equal to NumPy; False when refused."""
        with np.errstate(all="ignore"):
            try:
                wanted = function(*args)
            except Exception:
                wanted = None
        try:
            got = trident.jit(function)(*args)
        except trident.TraceError as error:
            self.assertRegex(str(error), r"convert|write|use|pass", name)
            return False
        except (TypeError, OverflowError) as error:
            self.assertIsNone(wanted, (name, error))
            return False
        self.assertIsNotNone(wanted, name)
        for w, o in zip(wanted, got) if isinstance(wanted, tuple) else [(wanted, got)]:
            self.assertEqual((w.dtype.newbyteorder("="), w.shape), (o.dtype, o.shape), name)
            np.testing.assert_allclose(o, w, rtol=4e-6 if w.dtype.kind == "f" else 0, err_msg=str(name))
        return True

    def test_of_one_array(self):
        compiled = sum(self.same(function, x, name=(name, kind)) for name, function in ONE.items() for kind, x in NARROW.items())
        self.assertGreaterEqual(compiled, 120)

    def test_functions(self):
        for kind, x in {**NARROW, "u4": UNSIGNED["u4"], ">u4": UNSIGNED["u4"].astype(">u4")}.items():
            self.assertEqual([], [name for name, function in FUNCTIONS.items() if not self.same(function, x, name=(name, kind))])

    def test_results_have_the_processor_s_byte_order(self):
        swapped = np.arange(9).astype(">u4")
        for function in (lambda x: x, lambda x: x.copy(), lambda x: np.full_like(x, 7), lambda x: x + 1):
            for x in (swapped, swapped.astype(">f8"), swapped.astype(">i2"), swapped.astype(">f2")):
                got = trident.jit(function)(x)
                self.assertTrue(got.dtype.isnative, x.dtype)
                np.testing.assert_array_equal(got, function(x))

    def test_that_a_call_copies_no_array(self):
        """By the most that NumPy has allocated at a time: the result and a little beside it."""
        for kind in ("u1", "i1", "u2", "i2", "u4", "u8", "f2", "i8"):
            x = np.tile(np.arange(200).astype(kind), 5000)
            for layout, a in (("contiguous", x), ("strided", x[::2]), ("misaligned", np.frombuffer(b"0" + x.tobytes(), x.dtype, offset=1))):
                with self.subTest(kind, layout=layout):
                    function = trident.jit(lambda x: x * 3)
                    function(a)
                    tracemalloc.start()
                    got, (_, most) = function(a), tracemalloc.get_traced_memory()
                    tracemalloc.stop()
                    np.testing.assert_array_equal(got, a * 3)
                    self.assertTrue(got.flags.owndata)
                    self.assertLess(most, got.nbytes + 100_000)

    def test_numbers_that_are_arguments(self):
        for kind, x in {**NARROW, "u4": UNSIGNED["u4"]}.items():
            add, scale = trident.jit(lambda x, k: x + k), trident.jit(lambda x, k: x * k)
            for k in (3, 100, 7, 0):
                self.assertEqual(x.dtype, add(x, k).dtype)
                np.testing.assert_array_equal(x + x.dtype.type(k), add(x, k))
                np.testing.assert_array_equal(x * (k + 0.1), scale(x, k + 0.1))
            for k in (np.iinfo(kind).max + 1, np.iinfo(kind).min - 1):  # an OverflowError of NumPy 2, another type of NumPy 1
                self.assertRaisesRegex(trident.TraceError, "does not fit.*convert", add, x, int(k))

    def test_uint64(self):
        rng, corners = np.random.default_rng(64), np.array([0, 1, 2, 7, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1025, 2**64 - 1], np.uint64)
        drawn = rng.integers(0, 2**64, 4000, dtype=np.uint64) >> rng.integers(0, 64, 4000, dtype=np.uint64)
        x = np.concatenate([drawn, np.repeat(corners, corners.size)])
        y = np.concatenate([rng.permutation(drawn), np.tile(corners, corners.size)])
        for name, function in UINT64.items():
            with self.subTest(name):
                self.assertTrue(self.same(function, x, y, name=name))
        for function in (lambda x, y: x < y.astype(np.int64), lambda x, y: x**y, lambda x, y: np.sqrt(x).astype(np.uint64),
                         lambda x, y: x.astype(float).astype(np.float16)):
            self.assertRaisesRegex(trident.TraceError, "convert", trident.jit(function), x, y)

    def test_float16_rounds_each_operation(self):
        every, rng = np.arange(2**16, dtype=np.uint16).view("f2"), np.random.default_rng(16)
        x, y = np.concatenate([every, np.repeat(HALF, HALF.size)]), np.concatenate([rng.permutation(every), np.tile(HALF, HALF.size)])
        for name, function in FLOAT16.items():
            with self.subTest(name), np.errstate(all="ignore"):
                wanted, got = function(x, y), trident.jit(function)(x, y)
                self.assertEqual(wanted.dtype, got.dtype)
                np.testing.assert_array_equal(got, wanted)
                np.testing.assert_array_equal(np.signbit(wanted[wanted == wanted]), np.signbit(got[got == got]))
        for function in (np.exp, np.sin, np.log, np.cbrt, np.tanh, np.arctan):  # in float32 to an ulp of that
            with np.errstate(all="ignore"):
                wanted, got = function(every), trident.jit(lambda x: function(x))(every)
                np.testing.assert_array_less(0.999, np.mean((got == wanted) | np.isnan(wanted)))
                np.testing.assert_allclose(got.astype("f4"), wanted.astype("f4"), rtol=2**-10, atol=2**-24)
        for function in (lambda x, y: x.std(), lambda x, y: x.prod(), lambda x, y: np.nextafter(x, y), lambda x, y: x.max() * 0.5,
                         lambda x, y: np.sin(x.astype(float)).astype(np.float16)):
            self.assertRaisesRegex(trident.TraceError, "float16.*convert|convert.*float16", trident.jit(function), x, y)
        small = rng.uniform(-1, 1, 1000).astype("f2")
        for function in (np.sum, np.mean, lambda x: x - x.mean()):
            wanted, got = function(small), trident.jit(lambda x: function(x))(small)
            self.assertEqual(wanted.dtype, got.dtype)
            np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)

    def test_of_booleans(self):
        a, b = np.array([False, True, False, True]), np.array([False, False, True, True])
        for function in (lambda a, b: np.sqrt(a), lambda a, b: np.floor(a) + np.rint(b), lambda a, b: np.square(a), lambda a, b: a // b,
                         lambda a, b: a % b, lambda a, b: np.exp(b) * 0.5, lambda a, b: np.arctan2(a, b), lambda a, b: a << b,
                         lambda a, b: (a < b) // (a | b), lambda a, b: np.sqrt(a.any()) * a.astype("f2"), lambda a, b: a + b, lambda a, b: a * b):
            self.assertTrue(self.same(function, a, b, name=function.__code__.co_names))

    def test_of_two_arrays(self):
        compiled = 0
        for name, function in TWO.items():
            for left, a in NARROW.items():
                for right, b in {**NARROW, **UNSIGNED, **WIDE}.items():
                    for one, other in ((a, b), (b, a)):
                        x, y = np.repeat(one, other.size), np.tile(other, one.size)
                        compiled += self.same(function, x, y, name=(name, one.dtype, other.dtype))
        self.assertGreaterEqual(compiled, 600)

    def test_layouts(self):
        x = np.arange(240, dtype="u1").reshape(12, 20)
        for values in (x, x.T, x[::2, ::-3], x[:0], np.asfortranarray(x), x.astype(">u2"), x[:, :1]):
            self.assertTrue(self.same(lambda v: v * 3 + 1, values, name=(values.strides, values.dtype)))

    def test_numbers_of_narrow_types(self):
        """NumPy's scalars and arrays without dimensions. Where NumPy 1 and 2 give them other types beside arrays, they are refused."""
        functions = (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x < y, lambda x, y: np.where(x > 3, x, y), lambda x, y: y.astype(bool) | (x > 1),
                     lambda x, y: (-y, y > 3), lambda x, y: np.clip(x, 2, y), lambda x, y: x // y % 7)
        compiled = 0
        for kind, x in {**NARROW, **UNSIGNED, "f2": HALF, **WIDE}.items():
            for other in (*NARROW, *UNSIGNED, "f2", "?"):
                for value in (np.dtype(other).type(3), np.array(1, other)):
                    for i, function in enumerate(functions):
                        compiled += self.same(function, x, value, name=(i, kind, other))
        self.assertGreater(compiled, 900)
        for other in (*NARROW, *UNSIGNED, "f2"):
            one, two = np.dtype(other).type(100), np.dtype(other).type(7)
            for function in (lambda x, y: x * y, lambda x, y: x - y, lambda x, y: np.maximum(x, y), lambda x, y: (x < y, x.astype("f4") / y)):
                self.assertTrue(self.same(function, one, two, name=other))

    def test_arrays_like_others(self):
        for kind, x in {**NARROW, **UNSIGNED, "f2": HALF, **WIDE}.items():
            for other in (*NARROW, *UNSIGNED, "f2", "i4", "i8", "f4", "?", None):
                for function in (lambda x: np.full_like(x, 3, dtype=other), lambda x: np.full_like(x, 100, other) + x, lambda x: np.zeros_like(x, dtype=other),
                                 lambda x: np.ones_like(x), lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x, nan=7, posinf=9)):
                    self.assertTrue(self.same(function, x, name=(kind, other)))
        self.assertTrue(self.same(lambda x: np.full_like(x, 2**64 - 1), UNSIGNED["u8"], name="u8"))

    def test_types_where_three_meet(self):
        rows = np.array([True, False, True]), np.array([-5, 3, 100], "i4"), np.array([2, 200, 9], "u1"), np.array([0.5, 7, -1], "f4"), np.array([7, 1, -1])
        for x, lo, hi in itertools.product(rows, repeat=3):
            for name, function in {"clip": lambda x, lo, hi: np.clip(x, lo, hi), "number": lambda x, lo, hi: np.clip(3, lo, hi),
                                   "one": lambda x, lo, hi: x.clip(lo, None), "named": lambda x, lo, hi: np.clip(x, a_min=lo, a_max=hi), "other": lambda x, lo, hi: np.clip(x, None, hi),
                                   "where": lambda x, lo, hi: np.where(x, lo, hi), "always": lambda x, lo, hi: np.where(2, lo, hi),
                                   "select": lambda x, lo, hi: np.select([x > 1, x < 0], [lo, hi], 0.1),
                                   "bound": lambda x, lo, hi: np.clip(x, lo, np.sqrt(2)), "half": lambda x, lo, hi: np.where(x.astype("f2"), lo, np.sqrt(2.0))}.items():
                self.assertTrue(self.same(function, x, lo, hi, name=(name, x.dtype, lo.dtype, hi.dtype)))

    def test_numbers_of_numpy_count_by_value(self):
        for kind, x in {**NARROW, **UNSIGNED}.items():
            for number in (np.float64(0.5), np.sqrt(0.5), np.bool_(True), np.float32(0.1), np.array(2.5), True):
                for function in (lambda x: x * number, lambda x: x == number, lambda x: np.minimum(x, number)):
                    self.assertTrue(self.same(function, x, name=(kind, type(number))))

    def test_results_along_axes_are_converted(self):
        x = np.arange(12, dtype="i4").reshape(3, 4)
        for kind in ("u1", "i2", "u4", "u8", "f2", "i4", "f4"):
            self.assertTrue(self.same(lambda x: (x.sum(axis=0).astype(kind), x.max(axis=0).astype(kind)), x, name=kind))

    def test_float16_is_rounded_before_a_power(self):
        x = np.random.default_rng(2).normal(size=1000).astype("f2")
        for function in (lambda x: (x * x)**2, lambda x: np.square(x + 1)**2):
            np.testing.assert_array_equal(function(x), trident.jit(function)(x))

    def test_no_wider_arrays_are_made(self):
        code = ("import resource, numpy as np, trident\n"
                "x = np.arange(8_000_000, dtype=np.uint8); peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                "pixels = trident.jit(lambda x: np.clip(x.astype(np.float32) * 1.5 + 16, 0, 255).astype(np.uint8))\n"
                "above, both = trident.jit(lambda x: x > 99), trident.jit(lambda x, y: (x + y, x > y))\n"
                "for n in (9, x.size):\n"
                "    before = peak(); made = pixels(x[:n]), above(x[:n]), both(x[:n], x[:n][::-1])\n"
                "print(peak() - before)")
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True, env={
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertLess(int(said), 55_000, "KiB more at the peak: the four results have 31,250, each array of int32 as much")

    def test_refusals_name_the_cure(self):
        x = NARROW["u1"]
        for function in (lambda x: np.spacing(x), lambda x: x if x > 3 else -x, lambda x: np.sort(x),
                         lambda x: x[0], lambda x: x.max() + 1, lambda x: x.sum(where=x > 3),
                         lambda x: x if isinstance(x, np.ndarray) else -x):
            with self.assertRaisesRegex(trident.TraceError, "convert|np.where|element|Ask|loop"):
                trident.jit(function)(x)
        with self.assertRaisesRegex(trident.TraceError, "convert"):
            trident.jit(lambda x, k: x + k)(x, True)
        total = np.array([3, 250, 7000])
        with self.assertRaisesRegex(trident.TraceError, "uint8 beside .* a total.* makes uint8 of them, NumPy 2 int64.* cannot be recorded; convert it first"):
            trident.jit(lambda x, y: x + np.sum(y))(x, total)
        for function in (lambda x, y: x.astype(np.int64) + np.sum(y), lambda x, y: x + np.sum(y).astype(np.uint8)):  # what it says
            cured, expected = trident.jit(function)(x, total), function(x, total)
            self.assertEqual(expected.dtype, cured.dtype)
            np.testing.assert_array_equal(expected, cured)


if __name__ == "__main__":
    unittest.main()
