"""Wrong arguments of every public call: a ValueError or TypeError at once, which names the argument, what was given and
what is allowed. The oracle is the list of what the documents allow."""
import copy
import datetime
import decimal
import fractions
import os
import pathlib
import subprocess
import sys
import unittest
import warnings
import unittest.mock

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

NAN, INF = float("nan"), float("inf")
A_K, A_RANGE = "k must be a number from 2 to 1000000, here ", r"ranges\['x'\] must be two numbers \(lo, hi\) with lo <= hi, here "


def calls(options):
    """Each way to give a promise."""
    x = np.arange(3.0)
    yield "evaluate", lambda: trident.evaluate("x + 1", {"x": x}, {}, **options)
    yield "jit", lambda: trident.jit(lambda x: x + 1, **options)
    yield "fallback", lambda: trident.jit(lambda x: x + 1, fallback=True, **options)
    yield "Kernel", lambda: trident.Kernel("x + 1", **options)


class Values(unittest.TestCase):
    def test_functions_that_return_later(self):
        async def later(x):
            return x

        def made(x):
            yield x

        for function in (later, made):
            with self.assertRaisesRegex(TypeError, "no coroutine and no generator"):
                trident.jit(function)

    def test_variables(self):
        with self.assertRaisesRegex(TypeError, "local_dict must be a dict, not int"):
            trident.evaluate("x + 1", 3)
        with self.assertRaisesRegex(TypeError, "'x' is an integer that 64 bits do not hold"):
            trident.evaluate("x + 1", {"x": 2**70})
        with self.assertRaisesRegex(TypeError, "take one of its fields"):
            trident.evaluate("x + 1", {"x": np.zeros(3, "V4")})

    def test_masked_arrays(self):
        """Each way in refuses a mask, before and after the call that binds the short way; numexpr drops it without a word."""
        x, kernel, summed = np.arange(3.0), trident.Kernel("x + a", scalars=["a"]), trident.NumExpr("x + 1", [("x", np.float64)])
        table = trident.Kernel("table t; t[index]")
        masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
        ways = {"evaluate": ("x", lambda v: trident.evaluate("x + 1", {"x": v}, {})),
                "names of the caller": ("x", lambda x: trident.evaluate("sum(x)")),
                "global_dict": ("x", lambda v: trident.evaluate("x + 1", {}, {"x": v})),
                "re_evaluate": ("x", lambda v: trident.evaluate("x + 1", {"x": x}, {}) is None or trident.re_evaluate({"x": v}, {})),
                "NumExpr": ("x", summed), "several": ("x", lambda v: trident.evaluate("(x + 1, x*2)", {"x": v}, {})),
                "out": ("out", lambda v: trident.evaluate("x + 1", {"x": x}, {}, out=v)),
                "Kernel": ("x", lambda v: kernel(v, a=1.0)), "Kernel by name": ("x", lambda v: kernel(x=v, a=1.0)),
                "out of a Kernel": ("out", lambda v: kernel(x, a=1.0, out=v)),
                "table": ("t", lambda v: table(v, out=np.empty(3))),
                "jit": ("x", trident.jit(lambda x: x + 1)), "jit that falls back": ("x", trident.jit(lambda x: x + 1, fallback=True))}
        for way, (name, call) in ways.items():
            for _ in range(3):
                call(np.ones(3))
                if way != "jit that falls back":  # to NumPy, which knows masks
                    for mask in (masked, np.ma.array(x), masked.view(type("Own", (np.ma.MaskedArray,), {}))):
                        with self.subTest(way), self.assertRaisesRegex(TypeError, rf"'{name}' has a mask, .* filled\(\) or compressed\(\)"):
                            call(mask)
            self.assertEqual(masked.data.tolist(), [1, 2, 3])
        with self.assertRaisesRegex(TypeError, "'a' has a mask"):
            kernel(x, a=np.ma.masked)
        with self.assertRaisesRegex(TypeError, "'b' has a mask"):
            trident.evaluate("x + b", {"x": x, "b": np.ma.masked}, {})
        with self.assertRaisesRegex(TypeError, "not an argument"):
            trident.jit(lambda x: x + masked)(x)
        fallen = ways["jit that falls back"][1](masked)
        self.assertEqual((fallen.mask.tolist(), fallen.compressed().tolist()), ([False, True, False], [2, 4]))
        self.assertEqual(trident.evaluate("sum(x)", {"x": masked.compressed()}, {}), 4)

    def test_words_of_a_program(self):
        with self.assertRaisesRegex(ValueError, r"word 1 is 18446744073709551616, which is not in \[0, 2\^64\)"):
            trident.Context(mode="embedded").build("halt", public_input=[1, 2**64])


# Words that name what strangers write, and say what to write. With numexpr installed and without it.
TEXTS = {"x^2": r"'\^' needs booleans or integers; a power is x\*\*y", "x@x": "multiply matrices outside",
         "x if x else 1": r"write where\(condition, a, b\)", "x in x": "for 'in'",
         "sin(x, x)": r"sin\(\) takes 1 argument, here 2", "exp()": r"exp\(\) takes 1 argument, here 0",
         "where(x > 1, x)": r"where\(\) takes 3 arguments, here 2", "max(x, x)": r"the greater of two is maximum\(x, y\)",
         "x**'a'": "constants of type str", "median(x)": "'median' is not a function .* compute it outside",
         "0 < x < 1": r"a chain of comparisons.*write \(a < x\) & \(x < b\)", "x[0]": r"do not have '\['.*outside",
         "x.sum()": r"do not have '.sum'.*Write sum\(x\)", "np.sin(x)": r"Write sin\(x\)", "clip(x, 0, 1)": r"write minimum\(maximum\(x, lo\), hi\)",
         "gamma(x)": "compute it outside", "erf(x)": "trident.Kernel has it", "{x}": "consist of", "sum(x, dtype=float)": "takes axis= and keepdims=",
         "round(x, 2)": r"round\(\) takes 1 argument, here 2", "floor(z)": r"real\(z\) and imag\(z\)",
         "bool(x)": "write x != 0", "str0(x)": "compute it outside"}
FUNCTIONS = {"np.cumsum": (lambda x: np.cumsum(x), "call it outside of the function"), "np.fft": (lambda x: np.fft.fft(x), "outside"),
             "np.gcd": (lambda x: np.gcd(x, x), "call it outside"), "np.inner": (lambda x: np.inner(x, x), "write np.dot"),
             "np.matmul": (lambda x: x @ x, "write np.dot"), "np.diff": (lambda x: np.diff(x), r"f\(x\[1:\], x\[:-1\]\)"),
             "indexing": (lambda x: x[1:] - x[:-1], "Pass parts in as arguments"), ".reshape": (lambda x: x.reshape(2, -1), "outside")}


class Refusals(unittest.TestCase):
    def test_texts(self):
        for text, words in TEXTS.items():
            with self.subTest(text), warnings.catch_warnings(), \
                    self.assertRaisesRegex((TypeError, ValueError, NotImplementedError), words):
                warnings.filterwarnings("error", message=".*np.(bool|str0)")  # NumPy's, of a name that it had
                trident.evaluate(text, {"x": np.arange(1.0, 4.0), "z": np.ones(3, complex)})
        for text in ("", "  "):
            with self.assertRaisesRegex(SyntaxError, "is empty"):
                trident.evaluate(text)

    def test_functions(self):
        for name, (function, words) in FUNCTIONS.items():
            with self.subTest(name), self.assertRaisesRegex(trident.TraceError, words) as caught:
                trident.jit(function)(np.arange(4.0))
            self.assertIn(name, str(caught.exception))

    def test_copies_are_recorded(self):
        for x in (np.arange(4.0), np.arange(4, dtype=np.uint8)):
            np.testing.assert_array_equal(x + x, trident.jit(lambda x: copy.deepcopy(x) + copy.copy(x))(x))

    def test_complex_arguments(self):
        with self.assertRaisesRegex(trident.TraceError, "'x' is complex128.*pass its real and its imaginary part"):
            trident.jit(lambda x: x + 1)(np.ones(3, complex))


INTEGERS = {"i32": np.iinfo(np.int32), "i64": np.iinfo(np.int64)}
TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u4")
NO_NUMBERS = (1j, None, "1", b"1", object(), {}, int, datetime.date(2020, 1, 1), [1j], [None], ["1"], [b"1"], np.array(1j), np.array(None),
              np.complex64(1), np.str_("1"), np.bytes_(b"1"), np.timedelta64(1, "s"), np.datetime64(1, "s"), np.zeros(1, "V8"),
              np.zeros(1, "f8,f8"))


def given(kind, expression="v + 0"):
    """Each way to give a kernel a value."""
    array = trident.Kernel(expression, types={"v": kind})
    scalar = trident.Kernel("0*x + " + expression, types={"v": kind, "x": kind}, scalars=["v"])
    yield "array", lambda v: array(v)
    yield "by name", lambda v: array(v=v)
    yield "scalar", lambda v: scalar(np.zeros(1, array.array_dtypes[0]), v=v)[0]


def forms(whole):
    """An integer as a number of Python, and of each type of NumPy that holds it."""
    yield whole
    for dtype in map(np.dtype, TYPES):
        if np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max:
            yield from (np.array(whole, dtype), np.array(whole, dtype)[()])


class Conversions(unittest.TestCase):
    def test_integers_outside_their_type(self):
        for kind, bounds in INTEGERS.items():
            for whole in (bounds.max + 1, bounds.min - 1, 2 * bounds.max + 1, 2 * bounds.max + 2, 2**33 + 1, 2**64 - 1, 2**64, -2**70):
                if bounds.min <= whole <= bounds.max:
                    continue
                for name, call in given(kind):
                    for form in forms(whole):
                        with self.subTest(name, form=form, kind=kind), self.assertRaisesRegex(ValueError, f"{whole} is not an {kind}"):
                            call(form)

    def test_lists_without_elements(self):
        for kind in ("i32", "i64", "u8", "bool", "f64"):
            for empty in ([], (), [[], []]):
                result = trident.Kernel("v + 0", types={"v": kind})(empty)
                self.assertEqual(np.shape(empty), result.shape)
                self.assertEqual(trident.Kernel("v + 0", types={"v": kind}).output_dtypes[0], result.dtype)
        with self.assertRaisesRegex(TypeError, "'v' is float64, the kernel takes int64"):
            trident.Kernel("v + 0", types={"v": "i64"})(np.array([]))

    def test_one_element_outside(self):
        kernel = trident.Kernel("i + 1", types={"i": "i32"})
        for whole in (2**31, 2**32, -2**31 - 1, 2**62, 2**63):
            for dtype in map(np.dtype, ("i8", "u4", "u8", ">i8")):
                if np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max:
                    array = np.zeros((3, 4), dtype)
                    array[1, 2] = whole
                    lists = [array.tolist()] if whole < 2**63 else []  # NumPy takes greater ones beside others for floats
                    for form in (array, array.T, array[:, ::2], *lists):
                        with self.subTest(dtype=dtype, whole=whole), self.assertRaisesRegex(ValueError, f"{whole} is not an i32"):
                            kernel(form)
        with self.assertRaisesRegex(ValueError, f"{2**63} is not an i64"):
            trident.Kernel("i + 1", types={"i": "i64"})(np.array([0, 2**63], "u8"))

    def test_narrow_scalars_and_arrays(self):
        for name, least, greatest in (("u8", 0, 255), ("i8", -128, 127), ("u16", 0, 65535), ("i16", -32768, 32767),
                                      ("u32", 0, 2**32 - 1), ("bool8", 0, 1), ("u64", 0, 2**64 - 1)):
            scalar = trident.Kernel(f"x: i64, param g: {name}; x + g", policy="exact")
            array = trident.Kernel(f"x: {name}; i64(x)", policy="exact")
            self.assertEqual(scalar.scalar_dtypes, array.array_dtypes)
            for whole in (least, greatest, 1):
                for form in (whole, *([np.int64(whole)] if whole < 2**63 else []), scalar.scalar_dtypes[0].type(whole)):
                    wanted = whole - (2**64 if whole >= 2**63 else 0)  # a u64 is the i64 of its bits
                    self.assertEqual([wanted], scalar(np.zeros(1, "i8"), g=form).tolist(), (name, form))
                    self.assertEqual([wanted], array(np.array([form])).tolist(), (name, form))
            for whole in (least - 1, greatest + 1):
                with self.assertRaisesRegex(ValueError, f"{whole} is not an? {name.replace('bool8', 'bool')};"):
                    scalar(np.zeros(1, "i8"), g=whole)
            with self.assertRaises(TypeError):
                scalar(np.zeros(1, "i8"), g=0.5)

    def test_integers_inside(self):
        for kind, bounds in INTEGERS.items():
            for whole in (0, 1, -1, 127, bounds.max, bounds.min, bounds.max - 1):
                for name, call in given(kind):
                    for form in forms(whole):
                        with self.subTest(name, form=form, kind=kind):
                            self.assertEqual(whole, int(call(form)))
            kernel = trident.Kernel("i + 0", types={"i": kind})
            for dtype in TYPES:
                np.testing.assert_array_equal([[1, 2], [3, 100]], kernel(np.array([[1, 2], [3, 100]], dtype)))
                self.assertEqual((0,), kernel(np.zeros(0, dtype)).shape)
            self.assertEqual([1, 0], kernel([True, False]).tolist())

    def test_what_is_no_number(self):
        for kind in ("f32", "f64", "i32", "i64"):
            fractions_of = (1.5, 1.0, NAN, [1.5], np.float32(1), fractions.Fraction(3, 2), decimal.Decimal(1), np.arange(3.0))
            for name, call in given(kind):
                for value in NO_NUMBERS + (fractions_of if kind in INTEGERS else ()):
                    with self.subTest(name, kind=kind, value=value), self.assertRaisesRegex(TypeError, "'v' is .*the kernel takes"):
                        call(value)

    def test_numbers_for_floats(self):
        for kind in ("f32", "f64"):
            for name, call in given(kind):
                for value in (True, 3, -2**53, 2.5, fractions.Fraction(5, 2), decimal.Decimal("0.125"), np.float16(1.5), np.float32(2.5),
                              np.longdouble(0.5), np.int64(2**40), np.uint64(2**63), np.bool_(True), np.array(7), 2**70):
                    with self.subTest(name, kind=kind, value=value):
                        self.assertEqual(float(value), float(call(value)))
                for value in (10**400, -10**400, decimal.Decimal("snan")):
                    with self.subTest(name, kind=kind), self.assertRaisesRegex(ValueError, "'v' is .*does not hold"):
                        call(value)
                self.assertTrue(np.isnan(call(decimal.Decimal("nan"))))

    def test_out(self):
        for out in (3, [1.0], np.float64(1), "x"):
            with self.subTest(out=out), self.assertRaisesRegex(ValueError, "out for .* must be a writable"):
                trident.Kernel("x + 1")(np.ones(1), out=out)


@unittest.mock.patch.object(trident._kernel, "_BY_BLOCKS_MIN", 50_000)
class Converted(unittest.TestCase):
    """Long operands of other types. The oracle is NumPy on the same elements."""

    def test_layouts_and_types(self):
        rng, size = np.random.default_rng(5), 70_000
        kernel = trident.Kernel("(x*2 + y, bool8(x < y))", policy="exact")
        for kind in ("f4", "i4", "u1", "i8", "f2", ">f8", ">i2", "?"):
            whole = rng.integers(0, 2 if kind == "?" else 100, (2, size)).astype(kind)
            y = rng.normal(size=size)
            for x in (whole[0], whole[0, ::-1], whole.T[:, 1], np.broadcast_to(whole[0, :1], size)):
                sum_, less = kernel(x, y)
                np.testing.assert_array_equal(x.astype(float) * 2 + y, sum_)
                np.testing.assert_array_equal(x.astype(float) < y, less)
            made = np.empty((size, 3))[:, 1], np.empty(size, bool)
            kernel(whole[0].reshape(-1), y, out=made)
            np.testing.assert_array_equal(whole[0].astype(float) * 2 + y, made[0])
        grid = rng.integers(0, 9, (300, 200)).astype("u2")
        np.testing.assert_array_equal(grid.T + grid[:, 0].astype("f8"), trident.Kernel("x + y")(grid.T, grid[:, 0].copy()))

    def test_elements_that_depend_on_others(self):
        x = np.arange(100_000, dtype=np.int32) % 1000
        np.testing.assert_array_equal(x + np.arange(x.size), trident.Kernel("x + f64(index)", policy="exact")(x))
        self.assertEqual(int(x.sum()), trident.Kernel("sum(x)", policy="exact")(x))
        np.testing.assert_array_equal(x - x.max(), trident.Kernel("x - maxof(x)", policy="exact")(x))
        table = np.arange(5, dtype=np.int32)
        np.testing.assert_array_equal(table[x % 5] * 1.5, trident.Kernel(
            "t[i] * 1.5", types={"i": "i64"}, tables=["t"], policy="exact")(t=table, i=x % 5))

    def test_no_operand_is_copied_as_a_whole(self):
        code = ("import resource, numpy as np, trident\n"
                "x, out = np.ones(8_000_000, np.float32), np.ones(8_000_000)\n"
                "kernel = trident.Kernel('2*x')\nkernel(x[:70_000], out=out[:70_000])\n"
                "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                "before = peak(); kernel(x, out=out); print(peak() - before)")
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True, env={
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertLess(int(said), 20_000, "KiB more at the peak: the operand as float64 has 62,500")


class Names(unittest.TestCase):
    """Names that the text has are those that a reader finds in it."""

    def test_that_the_text_does_not_have(self):
        for text, name in (("exp(y)", "x"), ("max(y, 1)", "m"), ("max(y, 1)", "max"), ("t = y*2; t + 1", "t"), ("y  # x", "x"),
                           ("(x0 = y)", "x0"), ("f64(y)", "f64"), ("v1 + v2", "v"), ("pi*y", "p"), ("(- y PI)", "P"),
                           ("(FPCore (y) (exp y))", "x"), ("sum(y)", "s"), ("+".join(f"v{i}" for i in range(63)), "v")):
            for options in ({"types": {name: "f32"}}, {"ranges": {name: (0, 1)}}, {"scalars": [name]}, {"tables": [name]}):
                with self.subTest(text, **options), self.assertRaisesRegex(ValueError, f"name '{name}', which the text does not have"):
                    trident.Kernel(text, **options)

    def test_beside_names_that_it_has(self):
        with self.assertRaisesRegex(ValueError, "name 'h', which"):
            trident.Kernel("i << shift", types={"i": "i32", "shift": "i32", "h": "i32"})
        with self.assertRaisesRegex(ValueError, "name 'u', which"):
            trident.Kernel("sum(x) * a", scalars=["a"], ranges={"u": (0, 1)})

    def test_that_it_has(self):
        for text, options, arrays, scalars in (
                ("exp(x)", {"types": {"x": "f32"}}, ("x",), ()), ("i << shift", {"types": {"i": "i32", "shift": "i32"}}, ("i", "shift"), ()),
                ("sum(x) * a", {"scalars": ["a"]}, ("x",), ("a",)), ("pi * x", {"ranges": {"pi": (0, 1)}}, ("pi", "x"), ()),
                ("x + inf", {"scalars": ["inf"]}, ("x",), ("inf",)), ("gather(t, index)", {"tables": ["t"]}, ("t",), ()),
                ("t[index] + x", {"types": {"t": "f32"}, "tables": ["t"]}, ("t", "x"), ()),
                ("max(max, 1)", {"types": {"max": "f64"}}, ("max",), ()), ("x", {"ranges": {"x": (0, 1)}, "syntax": "sexpr"}, ("x",), ()),
                ("(FPCore (x y) x)", {"ranges": {"x": (-INF, INF)}}, ("x", "y"), ())):
            with self.subTest(text):
                kernel = trident.Kernel(text, **options)
                self.assertEqual((arrays, scalars), (kernel.arrays, kernel.scalars))

    def test_ranges_change_no_order(self):
        x, y, z = np.linspace(5, 9, 100), np.linspace(1, 2, 100), np.linspace(3, 4, 100)
        for ranges in ({}, {"x": (5, 9)}, {"y": (1, 2)}, {"z": (3, 4), "y": (1, 2)}, {"z": (3, 4), "x": (5, 9)}):
            with self.subTest(ranges=ranges):
                np.testing.assert_allclose(trident.Kernel("x/y - z", ranges=ranges)(x, y, z), x / y - z)
                scaled = trident.Kernel("a*x/y - z", scalars=["a"], ranges={**ranges, "a": (0, 8)})
                np.testing.assert_allclose(scaled(x, y, z, a=3.0), 3 * x / y - z)
        typed = trident.Kernel("x/y - z", types={"z": "f32"}, ranges={"y": (1, 2)})
        self.assertEqual(("z", "x", "y"), typed.arrays)
        read = trident.Kernel("x + t[index]", tables=["t"], ranges={"t": (0, 1), "x": (5, 9)})
        np.testing.assert_allclose(read(x=x, t=y), x + y)

    def test_names_of_types(self):
        for name, same in (("bool8", "bool"), ("uint8", "u8"), ("float16", "f16"), ("int32", "i32")):
            kernels = [trident.Kernel("x + 1", types={"x": n}) for n in (name, same)]
            self.assertEqual(*(k.array_dtypes for k in kernels))
            self.assertEqual(*(k._options for k in kernels))
        self.assertEqual((np.dtype("f4"),), trident.Kernel("x + 1", type="float32").output_dtypes)
        for name in trident._native.ELEMENT_TYPES:
            self.assertIn(f'"{name}"', trident.Kernel.__doc__)
            with self.assertRaisesRegex(ValueError, rf"one of .*\b{name}\b.*here 'u9'"):
                trident.Kernel("x + 1", types={"x": "u9"})
        for text in ("x: u9; x + 1", "u9(x)"):
            with self.assertRaisesRegex(trident.TridentError, "u8.*bool8"):
                trident.Kernel(text)

    def test_wrong_texts_keep_their_error(self):
        with self.assertRaisesRegex(trident.TridentError, "expected an operator"):
            trident.Kernel("x y", types={"x": "f32"})


class Promises(unittest.TestCase):
    def refused(self, options, error, says):
        for name, call in calls(options):
            with self.subTest(name, **options), self.assertRaisesRegex(error, says):
                call()

    def test_k(self):
        for k in (1, -3, 0, 1.999, NAN, INF, -INF, 1e7, 10**400, np.float32(1)):
            self.refused({"policy": "bounded", "k": k}, ValueError, A_K)
        for k in ("4", b"4", True, np.True_, [4], (4,), 4j, np.array([4.0]), object()):
            self.refused({"policy": "bounded", "k": k}, TypeError, A_K)

    def test_policy(self):
        self.refused({"policy": "loose"}, ValueError, "policy must be one of exact, bounded, fast, here 'loose'")
        for policy in (["exact"], 2, None, b"fast"):
            self.refused({"policy": policy}, TypeError, "policy must be one of exact, bounded, fast, here ")
        for policy in ("exact", "fast"):
            self.refused({"policy": policy, "k": 3}, ValueError, "leave k out")

    def test_ranges(self):
        for pair in ((1, 0), (NAN, 1), (0, NAN), (1,), (0, 1, 2), [], np.array(1.0), np.arange(3.0), (0, decimal.Decimal("snan"))):
            self.refused({"ranges": {"x": pair}}, ValueError, A_RANGE)
        for pair in (3, None, "01", {0, 1}, {0: 1, 1: 2}, (None, 1), (0, "1"), (0, 1j), (False, True), ((0,), (1,))):
            self.refused({"ranges": {"x": pair}}, TypeError, A_RANGE)
        for ranges in ([1], [("x", (0, 1))], "x", 3, (0, 1)):
            self.refused({"ranges": ranges}, TypeError, "ranges must be a dictionary such as .*, here ")
        self.refused({"ranges": {3: (0, 1)}}, TypeError, "ranges must be a dictionary such as .*, here a name is 3")

    def test_what_is_allowed(self):
        for k in (2, 2.0, 10**6, 1e6, np.float32(4), np.int8(4), np.array(4.0), fractions.Fraction(5, 2), decimal.Decimal(3), None):
            for name, call in calls({"policy": "bounded", "k": k}):
                with self.subTest(name, k=k):
                    call()
        for pair in ((0, 1), [0, 1], np.array([0, 1]), (0, 0), (-INF, INF), (np.float32(0), np.int64(1))):
            for name, call in calls({"ranges": {"x": pair}}):
                with self.subTest(name, pair=pair):
                    call()
        trident.Kernel("x + 1", policy="exact", k=2.0)  # the default says nothing

    def test_an_error_is_short(self):
        with self.assertRaises(ValueError) as caught:
            trident.evaluate("x", {"x": np.ones(1)}, {}, policy="bounded", k=10**4000)
        self.assertLess(len(str(caught.exception)), 200)


class Others(unittest.TestCase):
    def test_kernels(self):
        for options, error, says in (
                ({"elements": -1}, ValueError, "elements must be from 0 to 4294967295, here -1"),
                ({"elements": 2**32}, ValueError, "elements must be"),
                ({"elements": 2.5}, TypeError, "elements must be an integer"),
                ({"types": [1]}, TypeError, "types must be a dictionary"),
                ({"types": {"x": "f99"}}, ValueError, "the type of 'x' must be one of f32, f64, i32, i64, u8, bool, i8, u16, i16, u32, u64, f16, here 'f99'"),
                ({"types": {"x": 3}}, TypeError, "the type of 'x' must be one of"),
                ({"types": {"x": []}}, TypeError, "the type of 'x' must be one of"),
                ({"types": {3: "f32"}}, TypeError, "types must be a dictionary such as .*, here a name is 3"),
                ({"type": None}, TypeError, "type must be one of"),
                ({"type": []}, TypeError, "type must be one of"),
                ({"syntax": {}}, TypeError, "syntax must be one of"),
                ({"scalars": "ab"}, TypeError, "scalars must be a list of names such as .*, here 'ab'"),
                ({"scalars": [3]}, TypeError, "scalars must be a list of names"),
                ({"tables": 3}, TypeError, "tables must be a list of names"),
                ({"syntax": "c"}, ValueError, "syntax must be one of auto, infix, sexpr, fpcore, here 'c'"),
                ({"context": 3}, TypeError, "context must be a trident.Context, here 3")):
            with self.subTest(**options), self.assertRaisesRegex(error, says):
                trident.Kernel("x + 1", **options)
        with self.assertRaisesRegex(TypeError, "a text must be a str, here int"):
            trident.Kernel(3)
        with self.assertRaisesRegex(TypeError, "context must be"):
            trident.jit(lambda x: x, context="x", fallback=True)

    def test_waiting(self):
        kernel = trident.Kernel("x + 1")
        for options, error in (({"timeout_ms": -1}, ValueError), ({"timeout_ms": 2**32}, ValueError), ({"timeout_ms": 0.5}, TypeError),
                               ({"tier": 3}, ValueError), ({"tier": "2"}, TypeError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be"):
                kernel.wait(**options)

    def test_contexts(self):
        for options, error in (({"mode": "foo"}, ValueError), ({"mode": ["auto"]}, TypeError), ({"socket_path": 3}, TypeError),
                               ({"socket_path": "a\0b"}, ValueError), ({"socket_path": b"\0"}, ValueError),
                               ({"socket_path": pathlib.Path("a\0b")}, ValueError),
                               ({"connect_timeout_ms": -1}, ValueError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be .*, here"):
                trident.Context(**options)

    def test_programs(self):
        context = trident.Context("interp")
        for options, error in (({"form": "c"}, ValueError), ({"cycles": -1}, ValueError), ({"milliseconds": 2**32}, ValueError),
                               ({"programs": 1.5}, TypeError), ({"disable": "network"}, TypeError), ({"disable": ["all"]}, ValueError),
                               ({"public_input": 3}, TypeError), ({"secret_input": [1.5]}, TypeError),
                               ({"secret_digests": [3]}, TypeError), ({"runs": [{"input": [1]}]}, TypeError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be"):
                context.build("halt", **options)


if __name__ == "__main__":
    unittest.main()
