"""trident.evaluate against numexpr (types, values, layouts, errors) and against NumPy. Interpreter only: fast, and the
compiled kernels are compared with the interpreter elsewhere."""
import concurrent.futures
import multiprocessing
import os
import random
import re
import subprocess
import sys
import unittest
import unittest.mock
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numexpr  # noqa: E402
import numpy as np  # noqa: E402

import trident  # noqa: E402

N = 1000
RANDOM = np.random.default_rng(7)
CASTINGS = (
    ("x+1", "?", "i4", "no equiv safe same_kind unsafe"), ("x+1", "f4", "f2", "same_kind unsafe"),
    ("x+1", ">i4", "i8", "safe same_kind unsafe"), ("x+1", "u4", "u8", "unsafe"),
    ("x+1", ">i4", "i4", "equiv safe same_kind unsafe"), ("x*2.0", "?", None, "no equiv safe same_kind unsafe"),
    ("x*2.0", "g", "u8", "unsafe"), ("x*2.0", "f8", "f2", "same_kind unsafe"), ("x*2.0", "u4", "f8", "safe same_kind unsafe"),
    ("x*2.0", ">i4", "f8", "equiv safe same_kind unsafe"), ("x>0", "?", None, "no equiv safe same_kind unsafe"),
    ("x>0", "?", "f8", "safe same_kind unsafe"), ("x>0", "g", "f8", "same_kind unsafe"),
    ("x>0", ">i4", None, "equiv safe same_kind unsafe"), ("x+y", "f4", "f4", "no equiv safe same_kind unsafe"),
    ("x+y", "f8", "u8", "unsafe"), ("x+y", "?", "f2", "same_kind unsafe"), ("x+y", ">i4", "f8", "safe same_kind unsafe"),
    ("x+y", ">i4", "f4", "equiv safe same_kind unsafe"), ("sum(x)", "u4", "i8", "safe same_kind unsafe"),
    ("sum(x)", "f2", "f2", "same_kind unsafe"), ("sum(x)", "u4", "f4", "unsafe"),
    ("sum(x)", "f8", None, "no equiv safe same_kind unsafe"), ("sum(x)", ">i4", None, "equiv safe same_kind unsafe"),
    ("sum(x*1.5)", "?", None, "no equiv safe same_kind unsafe"), ("sum(x*1.5)", "?", "i4", "unsafe"),
    ("sum(x*1.5)", ">i4", "f2", "same_kind unsafe"), ("sum(x*1.5)", "f2", None, "safe same_kind unsafe"),
    ("sum(x*1.5)", ">i4", None, "equiv safe same_kind unsafe"), ("max(x)", "f2", "f4", "safe same_kind unsafe"),
    ("max(x)", "u8", "i8", "same_kind unsafe"), ("max(x)", "g", "u8", "unsafe"),
    ("max(x)", "f4", None, "no equiv safe same_kind unsafe"), ("max(x)", ">i4", None, "equiv safe same_kind unsafe"))
OPERANDS = {
    "f4": (RANDOM.random(N) * 4 - 2).astype("f4"), "g4": (RANDOM.random(N) + 0.5).astype("f4"),
    "f8": RANDOM.random(N) * 4 - 2, "g8": RANDOM.random(N) + 0.5,
    "i4": RANDOM.integers(-50, 50, N).astype("i4"), "j4": RANDOM.integers(1, 9, N).astype("i4"),
    "i8": RANDOM.integers(-50, 50, N), "j8": RANDOM.integers(1, 9, N),
    "b": RANDOM.random(N) > 0.5, "c": RANDOM.random(N) > 0.5,
    "i2": RANDOM.integers(-50, 50, N).astype("i2"), "u1": RANDOM.integers(0, 200, N).astype("u1"),
    "u4": RANDOM.integers(0, 2**32, N).astype("u4"), "f2": RANDOM.random(N).astype("f2"),
    "s4": np.float32(1.25), "s8": 0.75, "k8": 3, "t": True,
}
EXPRESSIONS = """
2*f8 + 3*g8 | f4 * 2 | f4 * 2.0 | f4 * s4 | f4 * s8 | f4 + i4 | f4 + i8 | i4 + i8 | i4 * j4 | i8 - 7 | -f4 | +f8 | -i4
f4 / g4 | i4 / j4 | i8 / 2 | 1 / 2 * i4 | f8 / 3 | 7 // 2 * f8 | 7 % 3 + i4 | f8 % g8 | f4 % g4 | i4 % j4 | i4 % -7
i8 % j8 | i8 % 7 | (i4 - 50) % i4 | -i8 % j8 | fmod(f8, g8) | fmod(i4, j4) | i4**2 | i8**3 | f4**2 | f8**-2 | f8**2.0
g8**0.5 | g4**0.5 | g8**1.7 | g8**f8 | g4**-0.5 | g4**2.5 | i4**2.0 | i4**0.5 | f4**2.0 | g4**7 | f4**3.0 | 2**j4 | f8**3 | f8**17 | i4**0 | f4**0
i4 << 3 | i8 << 40 | i4 >> 2 | i8 >> 3 | i4 < 3 | f4 <= f8 | i8 > f4 | f8 >= 0 | i4 == j4 | f4 != 0 | 3 < i4
(i4 < 3) & (f8 > 0) | b & c | b | b == True | ~b | ~(f8 < 0) | b != c | b * 2 | b + 1.5 | b + i8 | (f8 < 0) == (f4 < 0)
where(b, f4, f8) | where(f8 > 0, i4, j4) | where(b, 1, 0) | where(f8 < g8, f8 * 2, 1) | where(True, f4, f8) | where(b, i4, 2.5)
sqrt(g8) | sqrt(i4) | sin(f8) | cos(f4) | tan(f8) | arcsin(f8 / 2) | arccos(f4 / 2) | arctan(f8) | arctan2(f8, g4)
sinh(f8) | cosh(f4) | tanh(f8) | arcsinh(f8) | arccosh(g8 + 1) | arctanh(f8 / 2.5) | exp(f4) | exp(i4 / 10) | expm1(f8)
log(g8) | log10(g4) | log1p(g8) | abs(f4) | abs(i4) | ceil(f8) | floor(f4) | floor(i4) | ones_like(i4) | copy(f4)
sin(1) + f8 | exp(sin(f8)**2 + cos(f8)**2) | real(f4) | u1 + 1 | u1 * u1 | i2 * i2 | u4 + 1 | f2 * 2 | f2 + f4
f8 * k8 + s8 | i4 * k8 | s4 * s8 | s4 * 2 | k8 / 2 | b & t | 2.5 | 2 * 3 | 1 < 2
sum(f8) | sum(i4) | sum(i8 * 2) | sum(f4) | min(f8) | max(f4 * 2) | min(i4) | max(i8) | prod(g8) | prod(j4 % 2 + 1)
sum(f8, axis=0) | sum(f8 * g8 + 1) | max(where(b, f8, g8)) | sum(s8)
"""
# Texts that numexpr answers so only since 2.13; numexpr_names_test.py compares them with NumPy.
SINCE_2_13 = re.compile(r"^\(?-?(i4|i8)( - 50\))? % |//|^(copy|ones_like)\(i|^(b|True) [+*] c$|^b ?\*\* ?[12]|[\[:]|\.(foo|sum)")
IS_OLD = tuple(map(int, numexpr.__version__.split(".")[:2])) < (2, 13)


def can_numexpr(text):
    return not (IS_OLD and SINCE_2_13.search(text))


def parsed_expressions():
    for line in EXPRESSIONS.strip().splitlines():
        parts, i = line.split(" | "), 0
        while i < len(parts):
            text = parts[i]
            while text.count("(") != text.count(")"):  # " | " inside an expression
                i += 1
                text += " | " + parts[i]
            yield text
            i += 1


def tolerance(dtype):
    return {"f": 2e-6 if dtype.itemsize == 4 else 4e-14}.get(dtype.kind, 0)


class AgainstNumexpr(unittest.TestCase):
    def same(self, text, operands=None, **kwargs):
        operands = OPERANDS if operands is None else operands
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = numexpr.evaluate(text, local_dict=dict(operands), **kwargs)
            got = trident.evaluate(text, local_dict=dict(operands), **kwargs)
        self.assertEqual((wanted.dtype, wanted.shape), (got.dtype, got.shape), text)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0) if wanted.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, wanted, rtol=tolerance(wanted.dtype), atol=scale * tolerance(wanted.dtype),
                                   err_msg=text)
        return got

    def test_the_list(self):
        count = 0
        for text in parsed_expressions():
            with self.subTest(text):
                if can_numexpr(text):
                    self.same(text)
            count += 1
        self.assertGreater(count, 130)

    def test_random_expressions(self):
        rng = random.Random(11)
        leaves = ["f4", "g4", "f8", "g8", "i4", "j8", "b", "s8", "k8", "2", "0.5", "u1"]

        def numeric(depth):
            if depth == 0:
                leaf = rng.choice(leaves)
                return leaf if leaf != "b" else "where(b, 1, 0)"
            kind = rng.randrange(8)
            if kind < 4:
                return f"({numeric(depth - 1)} {rng.choice('+-*')} {numeric(depth - 1)})"
            if kind == 4:
                return f"({numeric(depth - 1)} / (2 + abs({numeric(depth - 1)})))"
            if kind == 5:
                return f"where({boolean(depth - 1)}, {numeric(depth - 1)}, {numeric(depth - 1)})"
            if kind == 6:
                return f"{rng.choice(['abs', 'floor', 'ceil'])}({numeric(depth - 1)} + f8)"
            return f"(-{numeric(depth - 1)})**2"

        def boolean(depth):
            if depth == 0:
                return rng.choice(["b", "c", "(f8 > g4)", "(i4 == 3)"])
            if rng.random() < 0.5:
                return f"({numeric(depth - 1)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {numeric(depth - 1)})"
            return f"({boolean(depth - 1)} {rng.choice('&|')} (~{boolean(depth - 1)}))"

        for _ in range(300):
            text = f"{numeric(3)} + 0*f8"
            with self.subTest(text):
                self.same(text)

    def test_layouts(self):
        a = RANDOM.random((6, 7, 8))
        cases = {
            "C": a, "F": np.asfortranarray(a), "strided": RANDOM.random((12, 14, 8))[::2, ::2],
            "transposed": RANDOM.random((8, 7, 6)).T, "reversed": RANDOM.random((6, 7, 8))[::-1, :, ::-1],
            "row": RANDOM.random((1, 7, 1)), "last": RANDOM.random(8), "swapped": a.astype(">f8"),
            "f4": a.astype("f4"), "column": RANDOM.random((6, 1, 1)),
            "unaligned": np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(a.shape),
        }
        for x in cases:
            for y in cases:
                for text in ("x*2 + y", "x > y", "sum(x + y)", "max(x - y)"):
                    with self.subTest((x, y, text)):
                        got = self.same(text, {"x": cases[x], "y": cases[y]})
                        if got.ndim and text == "x*2 + y":
                            wanted = numexpr.evaluate(text, local_dict={"x": cases[x], "y": cases[y]})
                            self.assertEqual(wanted.strides, got.strides)

    def test_operands_without_dimensions(self):
        for dtype in ("f4", ">f4", "f8", ">f8", "f2", "i1", "i2", "i4", ">i4", "i8", ">i8", "u1", "u2", "u4", "?"):
            for value in (1, 0, 3):  # each another, so that what an earlier call left behind is noticed
                c = np.array(value, dtype)
                for text in ("c*2.0", "where(c != 0, 5, 7)", "c != 3", "sum(c*2.0)", "c*2.0 + d"):
                    with self.subTest((dtype, value, text)):
                        self.same(text, {"c": c, "d": np.float64(value)})
                out = np.empty((), "f4")
                self.assertIs(out, trident.evaluate("c*2.0", out=out, casting="same_kind"))
                self.assertEqual(2.0 * float(c), float(out))
                out = np.empty(3)
                np.testing.assert_array_equal([2.0 * float(c)] * 3, trident.evaluate("c*2.0", out=out))

    def test_orders(self):
        for order in "CFAK":
            for x in (np.ones((3, 4)), np.asfortranarray(np.ones((3, 4))), np.ones((4, 3)).T, np.ones((6, 8))[::2, ::2],
                      np.ones((1, 3, 2)).T, np.ones((1, 6, 4))[:, ::2, ::2].T, np.ones((1, 2, 3)).transpose(0, 2, 1), np.ones((1, 1, 2))):
                wanted = numexpr.evaluate("x+1", order=order)
                got = trident.evaluate("x+1", order=order)
                self.assertEqual(wanted.strides, got.strides, (order, x.strides))

    def test_large_strided_blocks(self):
        a = RANDOM.random(200_001)[::2]
        b = RANDOM.random(100_001).astype("f4")
        self.same("a*2 + b", {"a": a, "b": b})
        self.same("(a > b) | (b < 0.1)", {"a": a, "b": b})

    def test_empty(self):
        e = np.empty((0, 3))
        self.assertEqual((0, 3), trident.evaluate("e*2").shape)
        self.assertEqual((0, 3), trident.evaluate("e>2").shape)
        self.assertEqual(0.0, trident.evaluate("sum(e)"))
        with self.assertRaises(ValueError):
            trident.evaluate("min(e)")

    def test_min_and_max_over_an_axis_skip_nan(self):
        a = np.array([[1, np.nan, 3], [4, 5, np.nan], [np.nan] * 3])
        for text in ("min(a, axis=0)", "max(a, axis=1)", "min(a * 2, axis=1)", "max(a, axis=0)"):
            self.same(text, {"a": a})
            self.same(text, {"a": a.astype("f4")})

    def test_min_and_max_skip_nan(self):
        for dtype in ("f4", "f8"):
            for where in ([0], [3], [19], [0, 1, 2], list(range(20))):
                x = np.arange(20, dtype=dtype)
                x[where] = np.nan
                for text in ("min(x)", "max(x)", "sum(x)"):
                    self.same(text, {"x": x})
            for value in (np.inf, -np.inf):
                x = np.full(5, value, dtype)
                self.same("min(x)", {"x": x})
                self.same("max(x)", {"x": x})

    def test_special_values(self):
        x = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5e-324, 1.7e308])
        for y in (x, x[::-1].copy(), np.full(9, 2.0)):
            for text in ("x + y", "x * y", "x / y", "x < y", "x == y", "x != y", "where(x < y, x, y)", "-x", "abs(x)",
                         "x ** 2", "floor(x)", "x >= y"):
                self.same(text, {"x": x, "y": y})

    def test_out(self):
        a, b = RANDOM.random((50, 40)), RANDOM.random((50, 40))
        out = np.empty((50, 40))
        self.assertIs(out, trident.evaluate("a + b", out=out))
        np.testing.assert_array_equal(a + b, out)
        out4 = np.empty((50, 40), "f4")
        with self.assertRaises(TypeError):
            trident.evaluate("a + b", out=out4, casting="safe")
        trident.evaluate("a + b", out=out4)
        np.testing.assert_array_equal((a + b).astype("f4"), out4)
        wide = np.zeros((2, 50, 80))
        view = wide[:, :, ::2]
        trident.evaluate("a * b", out=view)
        np.testing.assert_array_equal(np.broadcast_to(a * b, view.shape), view)
        np.testing.assert_array_equal(0, wide[:, :, 1::2])
        total = np.empty(())
        self.assertIs(total, trident.evaluate("sum(a)", out=total))
        self.assertAlmostEqual(a.sum(), float(total), places=9)
        row = np.arange(7.0)
        for text, operand in (("sum(a)", a), ("max(a)", a), ("sum(row, axis=0)", row), ("prod(row, axis=0)", row), ("sum(a > 0.5)", a)):
            for shape in ((1,), (1, 1), (1, 1, 1)):
                name, _, argument = text[:-1].partition("(")
                expected = np.full(shape, getattr(np, name)(operand > 0.5 if ">" in argument else operand))
                if shape == (1,) and ">" not in text:  # sums of booleans came with 2.12
                    np.testing.assert_allclose(numexpr.evaluate(text, out=np.full(shape, 7.0)), expected, rtol=1e-13)
                for _ in range(2):
                    out = np.full(shape, 7.0)
                    self.assertIs(out, trident.evaluate(text, out=out, casting="unsafe"))
                    np.testing.assert_allclose(out, expected, rtol=1e-13)
            with self.assertRaises(ValueError):
                trident.evaluate(text, out=np.empty(2), casting="unsafe")
        ones = np.zeros(1), np.zeros((1, 1))
        trident.evaluate("(sum(row, axis=0), max(row))", out=ones)
        self.assertEqual([21, 6], [o.item() for o in ones])
        with self.assertRaises(ValueError):
            trident.evaluate("a + b", out=np.empty((50, 41)))

    def test_out_overlaps_operands(self):
        a = np.arange(100_000.0)
        wanted = a * 2 + 1
        trident.evaluate("a*2 + 1", out=a)
        np.testing.assert_array_equal(wanted, a)
        for shift in (1, 7, -1, -7):
            base = np.arange(100_020.0)
            source, target = base[10:-10], base[10 + shift:100_010 + shift]
            wanted = source * 2 + 1
            trident.evaluate("source*2 + 1", out=target)
            np.testing.assert_array_equal(wanted, target)
        m = RANDOM.random((300, 300))
        wanted = m + m.T * 2
        trident.evaluate("m + n*2", {"m": m, "n": m.T}, out=m)
        np.testing.assert_array_equal(wanted, m)

    def test_casting(self):
        i2, i4, u8 = np.arange(5, dtype="i2"), np.arange(5, dtype="i4"), np.arange(5, dtype="u8")
        for kwargs in ({"casting": "no"}, {"casting": "equiv"}):
            with self.assertRaises(TypeError):
                trident.evaluate("i2 + i4", **kwargs)
        with self.assertRaises(TypeError):
            trident.evaluate("u8 + 1", casting="safe")
        np.testing.assert_array_equal(trident.evaluate("u8 + 1", casting="unsafe"), np.arange(5) + 1)
        wrapped = trident.evaluate("u8 - 1", {"u8": np.array([0, 1, 2**63, 2**64 - 1], "u8")})
        np.testing.assert_array_equal(np.array([-1, 0, 2**63 - 1, -2]), wrapped)
        self.assertEqual(np.int64, wrapped.dtype)

    def test_castings_of_numexpr_2_14(self):
        """Rows of what numexpr 2.14 itself does: text, type of x, type of out, and the castings that it permits."""
        for text, x, out, permitted in CASTINGS:
            operands = {"x": np.array([1, 0, 1], x), "y": np.arange(3, dtype="f4")}
            for casting in (None, "no", "equiv", "safe", "same_kind", "unsafe"):
                kwargs = {} if casting is None else {"casting": casting}
                given = out and np.zeros(() if "(" in text else 3, out)
                with self.subTest(text, x=x, out=out, **kwargs):
                    several = f"({text}, x)", operands, {}, None if given is None else (given, None)
                    if (casting or "same_kind") not in permitted.split():
                        self.assertRaisesRegex(TypeError, "forbids", trident.evaluate, *several, **kwargs)
                        self.assertRaisesRegex(TypeError, "forbids", trident.evaluate, text, operands, {}, out=given, **kwargs)
                        continue
                    got = trident.evaluate(text, operands, {}, out=given, **kwargs)
                    wanted = numexpr.evaluate(text, {n: v.astype("f8") for n, v in operands.items()}, {})
                    np.testing.assert_array_equal(wanted.astype(got.dtype), got)
                    if out is not None:
                        self.assertIs(given, got)
                    trident.evaluate(text, operands, {}, **kwargs)  # its re_evaluate() casts as that call
                    trident.re_evaluate(operands, {})

    def test_what_is_no_order_casting_or_out(self):
        wrong = [{"order": o} for o in ("Z", "", "KA", 3, b"Z")] + [{"casting": c} for c in ("bogus", "", "Safe", None, 1)] + \
            [{"out": o} for o in ([1, 2], (1.0,), 5, "x", np.float64(1))] + \
            [{"order": "Z", "casting": "bogus"}, {"out": [1], "order": "Z"}]
        right = [{"order": o} for o in ("c", "k", "F", b"F", None)]
        operands = {"a": np.arange(6.0).reshape(2, 3)}
        for text in ("a + 1", "2 * a.real", "1 + 2", "a > 1", "a * 1j", "sum(a)", "sum(a, axis=0)", "prod(a)", "max(a)"):
            for kwargs in wrong:
                with self.subTest(text, **kwargs):
                    with self.assertRaises((TypeError, ValueError)) as theirs:
                        numexpr.evaluate(text, operands, {}, **kwargs)
                    with self.assertRaises(type(theirs.exception)) as ours:
                        trident.evaluate(text, operands, {}, **kwargs)
                    self.assertEqual(str(theirs.exception), str(ours.exception))
            for kwargs in right:
                wanted = numexpr.evaluate(text, operands, {}, **kwargs)
                ours = trident.evaluate(text, operands, {}, **kwargs)
                np.testing.assert_array_equal(wanted, ours)
                self.assertEqual(wanted.strides, ours.strides)

    def test_where_names_come_from(self):
        x = np.arange(3.0)
        np.testing.assert_array_equal([0, 2, 4], trident.evaluate("x*2"))
        np.testing.assert_array_equal([2, 4, 6], trident.evaluate("x*2", local_dict={"x": x + 1}))
        np.testing.assert_array_equal([3, 5, 7], trident.evaluate("x*2 + y", {"x": x + 1}, {"y": 1}))
        self.assertEqual(N, trident.evaluate("f8 + N", local_dict={"f8": 0}).item())
        np.testing.assert_array_equal([2, 3, 4], trident.evaluate("x+1", {"x": [1, 2, 3]}))
        with self.assertRaises(KeyError):
            trident.evaluate("nowhere + 1")

    def test_re_evaluate(self):
        a = np.arange(4.0)
        trident.evaluate("a*3")
        a = np.arange(6.0) + 1
        np.testing.assert_array_equal(a * 3, trident.re_evaluate())
        np.testing.assert_array_equal([6.0], trident.re_evaluate({"a": np.array([2.0])}))


class NumexprsRules(unittest.TestCase):
    """Every operation and function on every combination of kinds, literals and odd operands: numexpr's type, values and
    exceptions, whoever evaluates."""

    OPERANDS = {**{k: v[:40] for k, v in OPERANDS.items() if np.ndim(v)}, "z": OPERANDS["f8"][:40] * 1j + 1, "s8": 0.75,
                "w": np.array([b"ab", b"cd"] * 20), "st": b"ab", "zz": 2j, "i0": np.arange(-20, 20, dtype="i4")}

    def same(self, text, **kwargs):
        if not can_numexpr(text):
            return

        def run(module):
            try:
                return module.evaluate(text, local_dict=dict(self.OPERANDS), global_dict={}, **kwargs)
            except Exception as error:
                return error

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted, got = run(numexpr), run(trident)
        if isinstance(wanted, Exception):
            self.assertIs(type(wanted), type(got), (text, wanted, got))
            return
        self.assertNotIsInstance(got, Exception, text)
        self.assertEqual((wanted.dtype, wanted.shape), (got.dtype, got.shape), text)
        if wanted.dtype.kind in "fc":
            rtol = 4e-6 if wanted.dtype in (np.float32, np.complex64) else 4e-13
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol, err_msg=text)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=text)

    def test_functions_of_every_kind(self):
        for name in """sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh log log1p log10 exp expm1
                abs ceil floor copy ones_like real imag conj""".split():
            for operand in ("b", "i4", "i8", "f4", "f8", "z", "2", "-2", "0.25", "True", "(b & c)", "(f4 > 0)", "w"):
                # numexpr has no result for these: it fails inside, with an error or without
                if operand in ("2", "-2", "0.25", "True") and name in ("copy", "ones_like", "real", "imag", "conj"):
                    continue
                with self.subTest(name, operand=operand):
                    self.same(f"{name}({operand})")
        for name in ("arctan2", "fmod", "complex", "contains"):
            for a in ("b", "i4", "f4", "f8", "3", "w"):
                for b in ("c", "j4", "j8", "g4", "g8", "2.5"):
                    with self.subTest(name, operands=(a, b)):
                        self.same(f"{name}({a}, {b})")

    def test_operators_on_every_kind(self):
        # Beyond numexpr: bit operations on integers, exclusive or of booleans, an array of integers as an exponent.
        beyond = [(op, a, b) for op in "&|^" for a in ("b", "i4", "i8", "1", "True") for b in ("c", "j4", "j8", "2")]
        beyond += [("**", a, b) for a in ("b", "i4", "i8", "1", "True") for b in ("j4", "j8", "c")]
        beyond += [("**", "f4", "c")]
        for op in ("+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!="):
            for a in ("b", "i4", "i8", "f4", "f8", "1", "2.5", "True", "z"):
                for b in ("c", "j4", "j8", "g4", "g8", "2", "0.5", "zz"):
                    if (op, a, b) not in beyond:
                        with self.subTest(op, operands=(a, b)):
                            self.same(f"{a} {op} {b}")
        for text in ("-b", "~b", "+b", "-i4", "~f4", "-f8", "~f8", "-z", "b**2", "b**1", "b**0", "b**2.0", "b**0.5", "i0**2",
                     "2**i0", "1**i0", "i4**-1", "f4**51", "f4**-0.5", "f8**-3", "i4**0.5", "i4**1.5"):
            with self.subTest(text):
                self.same(text)

    def test_powers_of_integers(self):
        """Exact and wrapping, where numexpr goes through float64: Python's own integers say what is right. A negative
        exponent gives the integer part."""
        def wanted(a, n, bits):
            power = int(a) ** int(n) if n >= 0 else {1: 1, -1: (-1) ** int(-n)}.get(int(a), 0)
            return (power + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

        exponents = [0, 1, 2, 3, 31, 39, 40, 41, 62, 63, 64, 65, 1000, -1, -2, -3]
        for kind, bits in (("i4", 32), ("i8", 64)):
            bases = [-7, -3, -1, 0, 1, 2, 3, 10, 2**(bits // 2) - 1, 2**(bits - 1) - 1, -2**(bits - 1)]
            a, n = (np.array(v, kind) for v in zip(*[(a, n) for a in bases for n in exponents]))
            got = trident.evaluate("a**n", {"a": a, "n": n})
            self.assertEqual(a.dtype, got.dtype)
            np.testing.assert_array_equal(got, np.array([wanted(*v, bits) for v in zip(a, n)], kind))
            for base in (-1, 3, 7):
                got = trident.evaluate(f"({base})**n", {"n": n})
                np.testing.assert_array_equal(got, np.array([wanted(base, v, bits) for v in n], kind))
            got = trident.evaluate("a**40", {"a": a})
            np.testing.assert_array_equal(got, np.array([wanted(v, 40, bits) for v in a], kind))

    def test_where(self):
        for condition in ("b", "True", "False", "1", "0", "i4", "f4 > 0", "2.5"):
            for a in ("b", "i4", "f4", "1", "2.5", "True", "z", "w"):
                for b in ("c", "i8", "g8", "2", "False"):
                    if all(x in ("1", "2", "2.5", "True", "False", "0") for x in (condition, a, b)):
                        continue
                    with self.subTest(condition, operands=(a, b)):
                        self.same(f"where({condition}, {a}, {b})")

    def test_what_only_numexpr_has(self):
        for text in ("z * 2 + 1j", "z.real", "z.imag", "f8.real", "f4.imag", "i4.imag", "abs(z)", "sqrt(z)", "sum(z)",
                     "prod(z)", "w == b'ab'", "w == 'cd'", "contains(w, b'a')", "w < st", "f8 + 1j", "2 + 3j", "zz * f4",
                     "10**40 + f8", "where(f8 > 0, z, 1)", "z == z", "real(z) + imag(z)"):
            with self.subTest(text):
                self.same(text)
        for kwargs in ({"truediv": True}, {"truediv": False}, {"optimization": "none"}, {"optimization": "moderate"},
                       {"optimization": "aggressive"}, {"optimization": "wild"}):
            for text in ("i4 / j4", "f4**0.5", "f8 / 3", "i4**3"):
                with self.subTest(text, **kwargs):
                    self.same(text, **kwargs)
        z, out = np.arange(4) + 1j, np.empty(4, complex)
        self.assertIs(out, trident.evaluate("z * 2", out=out))
        np.testing.assert_array_equal(z * 2, out)
        z = z - 5
        self.assertIs(out, trident.re_evaluate())
        np.testing.assert_array_equal(z * 2, out)

    def test_literals(self):
        for text in ("sin(1) + cos(1)", "sqrt(2) * 2", "abs(-2) + i4", "sqrt(True) * f4", "floor(2.5) + abs(2)", "2**10 - 1",
                     "where(1 < 2, 3, 4) + i4", "2 ** sin(1) + f8", "fmod(7, 3) * j4", "(-(-2)**2)**2 * i8", "2**(1 + 1)",
                     "where(True, f4, f8) + where(0, f8, 1)", "1 << 3", "-(2 - 3.5)", "abs(True)", "where(True, i4, 0)", "f8 + floor(2147483648**3)",
                     "ceil(10**20) * f8", "f4 - abs(-10**20)", "f8 + floor(10**400)", "f8 + sqrt(10**20)", "f8 + fmod(10**20, 3)",
                     "floor(10**20) > f8", "where(b, abs(10**20), f8)"):
            with self.subTest(text):
                self.same(text)

    def test_exceptions(self):
        for text in """f8 and i4;not b;f8 < i4 < 2;f8 +;foo(f8);sin(f8, f8);sin();f8[0];f8.foo;f8.sum();where(f8, f8, f8);
                where(b, f8);sum(f8) * 2;sum(sum(f8));sum(f8, axis=-1);sum(f8, foo=1);f8 + None;None;'x';...;sin;sin + 1;
                f8 @ f8;f8 in f8;[f8];{};f8 if b else f8;f8 := 1;sin(x=f8);sin(*f8);f8 // 2;i4 // 2;w + w;w + 1;around(f8);
                min(z);b + c;b - c;-b;f8 & 1;f8 << 1;z < z;z % 2;none + 1;1 / 0;5 % 0;f8 is None;
                2**99999 * f8""".replace("\n", "").split(";"):
            with self.subTest(text.strip()):
                self.same(text.strip())

    def test_least_and_greatest_of_booleans(self):
        """numexpr has none; NumPy is the oracle."""
        rows = RANDOM.integers(0, 3, (4, 5))
        for b in (rows > 0, rows < 9, rows < 0, rows.T > 1, (rows > 1)[::2, ::-2], np.array([[True]])):
            for name, oracle in (("min", np.min), ("max", np.max)):
                for axis in (None, 0, 1):
                    for text in ("b", "~b", "b == True"):
                        wanted = oracle(b if text != "~b" else ~b, axis=axis)
                        got = trident.evaluate(f"{name}({text}, axis={axis})")
                        self.assertEqual(got.dtype, bool)
                        np.testing.assert_array_equal(wanted, got)
        out, none = np.array(False), np.zeros(0)
        self.assertIs(out, trident.evaluate("max(rows >= 0)", out=out))
        self.assertTrue(out)
        with self.assertRaisesRegex(ValueError, "zero-size"):
            trident.evaluate("max(none > 0)")
        np.testing.assert_array_equal(True, trident.evaluate("max(1 > 0)"))

    def test_sums_and_products_of_nothing(self):
        for shape in ((0,), (0, 3), (3, 0)):
            for dtype in ("f4", "f8", "i4", "i8", "?"):
                none, one = np.zeros(shape, dtype), np.ones(1, dtype)
                for name, oracle in (("sum", np.sum), ("prod", np.prod)):
                    wanted = trident.evaluate(f"{name}(one)").dtype
                    for axis in (None, *range(len(shape))):
                        got = trident.evaluate(f"{name}(none, axis={axis})")
                        self.assertEqual(wanted, got.dtype)
                        np.testing.assert_array_equal(oracle(none, axis=axis), got)
        out, none = np.zeros(()), np.zeros((0, 3))
        self.assertIs(out, trident.evaluate("prod(none * 2 + 1)", out=out))
        self.assertEqual(1.0, out)
        for text in ("min(none)", "max(none)", "min(none, axis=0)"):
            with self.assertRaisesRegex(ValueError, "zero-size"):
                trident.evaluate(text)

    def test_long_texts(self):
        """As deep as Python reads them; the oracle is NumPy where numexpr gives up."""
        x = np.arange(3.0)
        for n in (201, 250, 400, 900, 2500):
            with self.subTest(n):
                np.testing.assert_array_equal(x * n, trident.evaluate("+".join(["x"] * n)))
        for text in ("-" * 1500 + "x", "(" * 90 + "x" + "+1)" * 90, "sqrt(" * 90 + "x" + ")" * 90, "*".join(["(x/4)"] * 900)):
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(trident.evaluate(text), eval(text, {"x": x, "sqrt": np.sqrt}), rtol=1e-12)


class Places(unittest.TestCase):
    """argmin and argmax of all elements, inside the kernel. The oracle is NumPy, which counts in C's order whatever the layout."""
    TEXTS = ("argmax(x)", lambda x, y: np.argmax(x)), ("argmin(x)", lambda x, y: np.argmin(x)), \
            ("argmax(x*y)", lambda x, y: np.argmax(x * y)), ("argmin(y - x)", lambda x, y: np.argmin(y - x)), \
            ("argmax(x > y)", lambda x, y: np.argmax(x > y)), ("argmin(where(x < y, x, y))", lambda x, y: np.argmin(np.where(x < y, x, y)))

    @staticmethod
    def draw(rng, dtype):
        shape = rng.choice([(1,), (7,), (4097,), (3, 5), (5, 1, 4), (2, 3, 4), (90, 100), (1, 9), (9, 1), (3, 0)])
        values = np.random.default_rng(rng.randrange(1 << 30))
        span = rng.choice([1, 3, 100])  # ties
        x = values.integers(0 if dtype[-2:-1] in "u?" else -span, span + 1, shape).astype(dtype)
        if x.dtype.kind == "f":
            x = x / np.asarray(3, dtype)
            for corner in rng.choice([[], [np.nan], [np.inf, -np.inf], [np.nan, np.inf], [-np.inf], [-0.0, 0.0]]):
                x[values.random(shape) < rng.choice([1e-4, 0.01, 0.3, 1])] = corner
        return x

    @staticmethod
    def laid_out(rng, x):
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        way = rng.choice(["C", "F", "steps", "back", "turned", "repeated", "swapped", "misaligned"])
        if way == "F":
            return np.asfortranarray(x)
        if way == "steps":
            wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
            return wide[tuple(slice(None, None, 2) for _ in x.shape)]
        if way == "back":
            return x[::-1]
        if way == "turned":
            return np.ascontiguousarray(x.T).T
        if way == "repeated" and x.size:
            return np.broadcast_to(x[:1], x.shape)
        if way == "swapped":
            return x.astype(x.dtype.newbyteorder())
        if way == "misaligned":
            return np.frombuffer(b"\0" + x.tobytes() + b"\0", np.uint8)[1:-1].view(x.dtype).reshape(x.shape)
        return x

    def test_are_numpys(self):
        rng = random.Random(12)
        for trial in range(1200):
            dtype = rng.choice(["f8", "f4", "i4", "i8", "?", "u1", "i1", "i2", "u2", "u4", "f2"])
            values = self.draw(rng, dtype)
            x, y = self.laid_out(rng, values), self.laid_out(rng, rng.choice([values, values[::-1], values[:1]]) if values.size else values)
            for text, function in (self.TEXTS[0], self.TEXTS[1], rng.choice(self.TEXTS)):
                if dtype not in ("f8", "f4", "i4", "i8") and ("*" in text or "-" in text):
                    continue  # numexpr has wider sums and products
                names, call = {"x": x, "y": y}, {"threads": rng.choice([None, 2])}
                with self.subTest(text, trial=trial, dtype=dtype, shapes=(x.shape, y.shape), strides=x.strides), np.errstate(all="ignore"):
                    for _ in range(2):  # the short way, then
                        if x.size == 0:
                            self.assertRaises(ValueError, trident.evaluate, text, names, {}, **call)
                            continue
                        wanted, got = function(x, y), trident.evaluate(text, names, {}, **call)
                        self.assertEqual((np.dtype(np.intp), (), wanted), (got.dtype, got.shape, got[()]))

    def test_out_and_numbers(self):
        x = np.array([[1.0, 9.0], [9.0, np.nan]])
        for order in "KACF":
            self.assertEqual(3, trident.evaluate("argmax(x)", {"x": np.asfortranarray(x)}, {}, order=order))
        for dtype in ("i8", "i4"):
            out = np.zeros((), dtype)
            self.assertIs(out, trident.evaluate("argmax(-x)", {"x": x[0]}, {}, out=out, casting="unsafe"))
            self.assertEqual(0, out[()])
            self.assertIs(out, trident.evaluate("argmin(-x)", {"x": x[0]}, {}, out=out, casting="unsafe"))
            self.assertEqual(1, out[()])
        for text in ("argmax(k)", "argmin(k*k)", "argmax(3)", "argmin(2.5)"):
            self.assertEqual((0, np.dtype("i8")), (lambda r: (r[()], r.dtype))(trident.evaluate(text, {"k": 7.5}, {})))
        self.assertEqual(2, trident.evaluate("argmax(x*k)", {"x": np.array([3.0, 2.0, -1.0]), "k": -1.0}, {}))
        np.testing.assert_array_equal([1, 1], trident.evaluate("argmax(x, axis=1)", {"x": x}, {}))
        places = trident.evaluate("(argmax(x), argmin(x), x + 1)", {"x": np.asfortranarray(x)}, {})
        self.assertEqual((3, 3), (places[0][()], places[1][()]))
        long = "+".join(f"x*{i}" for i in range(1, 3000))
        self.assertEqual(1, trident.evaluate(f"argmax({long})", {"x": x[0]}, {}))

    def test_the_same_for_any_number_of_threads(self):
        x = RANDOM.integers(0, 1 << 20, 1_000_000).astype("f4")
        x[[777_777, 900_001]] = 1 << 21
        for _ in range(2):
            for threads in (1, 2):
                self.assertEqual(777_777, trident.evaluate("argmax(x)", {"x": x}, {}, threads=threads))
                self.assertEqual(np.argmin(x * x + x), trident.evaluate("argmin(x*x + x)", {"x": x}, {}, threads=threads))


class Errors(unittest.TestCase):
    def test_without_numexpr_the_error_names_it(self):
        program = """import sys; sys.modules["numexpr"] = None
import numpy as np, trident
z, w, b, a = np.ones(2, complex), np.array([b"a"]), np.array([True]), np.ones(2)
for text, kind in (("z + 1", NotImplementedError), ("w == b'a'", NotImplementedError), ("a.imag + 1j", NotImplementedError),
                   ("b - b", NotImplementedError), ("a & a", NotImplementedError), ("contains(w, b'a')", NotImplementedError),
                   ("10**40 + a", OverflowError)):
    try:
        trident.evaluate(text)
    except kind as error:
        assert "numexpr" in str(error) and type(error) is kind, (text, error)
    else:
        raise AssertionError(text)
assert trident.evaluate("a * 2 + a.real + imag(a)").tolist() == [3.0, 3.0]
"""
        path = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": path})

    def test_numexpr_sees_no_text_that_python_code_could_hide_in(self):
        a = np.ones(3)
        for text in ("a.__class__", "(lambda: 1)()", "a.__init__.__globals__", "[c for c in ().__class__.__base__]", "f'{a}'",
                     "a.real.__class__ + 1j", "(a := 1j)", "a.value.append(1) + 1j", "__builtins__['x'] + 1j",
                     "9**9**9**9 + 1j * a", "((9**999)**999)**999 * a", "(1 << 9**9) * a", "a ** 9**9**9",
                     "2**(9**9) * a", "abs(9**999)**abs(999**999) * a", "'a' * 10**12 == a"):
            with self.subTest(text), self.assertRaises(
                    (ValueError, TypeError, OverflowError, SyntaxError, KeyError, NotImplementedError)):
                with unittest.mock.patch.object(numexpr, "evaluate", side_effect=AssertionError(text)):
                    trident.evaluate(text)

    def test_refused(self):
        a, b = np.ones(3), np.array([True, False, True])
        x = np.ones(4)
        with self.assertRaises(ValueError):
            trident.evaluate("a + x")
        with self.assertRaises(ValueError):
            trident.evaluate("sum(a, axis=3)")
        i = np.arange(3)
        with self.assertRaises(ValueError):
            trident.evaluate("i ** -1")
        with self.assertRaises(ValueError):
            trident.evaluate(5)
        with self.assertRaises(ValueError):
            trident.evaluate("a", foo=1)


class Integers(unittest.TestCase):
    """Remainders, shifts and powers over corner cases; the oracle is NumPy's C arithmetic."""

    def test_remainders(self):
        for dtype in (np.int32, np.int64):
            limits = np.iinfo(dtype)
            corners = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, -1, 2, -2, 3, -3, 7, 10**9, 2**30 + 1]
            if dtype is np.int64:
                corners += [2**53, 2**53 + 1, -2**53 - 1, 2**62, 2**62 + 1, 3 * 2**61 - 1, 10**18]
            wide = RANDOM.integers(limits.min, limits.max, 3000, dtype=dtype, endpoint=True)
            scaled = wide >> RANDOM.integers(0, 8 * wide.itemsize - 1, 3000).astype(dtype)
            pool = np.concatenate([np.array(corners, dtype), wide, scaled])
            a, b = np.repeat(pool, 40), RANDOM.choice(pool, 40 * pool.size)
            n = len(corners)
            grid = np.array(corners, dtype)
            a, b = np.concatenate([a, np.repeat(grid, n)]), np.concatenate([b, np.tile(grid, n)])
            with np.errstate(all="ignore"):
                wanted = np.mod(a, b)
                floored = np.where(b == 0, 0, np.remainder(a, b))
            np.testing.assert_array_equal(wanted, trident.evaluate("a % b"))
            np.testing.assert_array_equal(floored, trident.jit(lambda a, b: a % b)(a, b))

    def test_wrapping(self):
        a = np.array([2**31 - 1, -2**31, 12345], np.int32)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(a + np.int32(1), trident.evaluate("a + 1"))
            np.testing.assert_array_equal(a * a, trident.evaluate("a * a"))
            np.testing.assert_array_equal(a ** 3, trident.evaluate("a ** 3"))
        np.testing.assert_array_equal(-a, trident.evaluate("-a"))
        np.testing.assert_array_equal(a == -2**31, trident.evaluate("a == -2147483648"))


def _in_child(x):
    return trident.evaluate("x*2 + 1")


class Surroundings(unittest.TestCase):
    def test_threads(self):
        def work(seed):
            rng = np.random.default_rng(seed)
            for i in range(50):
                a, b = rng.random(100 + i), rng.random(100 + i)
                np.testing.assert_array_equal(a * i + b, trident.evaluate(f"a*{i} + b"))
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_children_of_fork(self):
        x = np.arange(10.0)
        trident.evaluate("x*2 + 1")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for got in pool.map(_in_child, [x, x + 1, x + 2]):
                self.assertEqual(10, got.size)

    def test_more_expressions_than_the_cache_holds(self):
        x = np.arange(5.0)
        for i in range(600):
            np.testing.assert_array_equal(x + i, trident.evaluate(f"x + {i}"))

    def test_nothing_is_leaked(self):
        x = np.arange(5.0)
        trident.evaluate("x + 0.125")
        before = sys.getrefcount(x)
        for _ in range(100):
            trident.evaluate("x + 0.125")
            trident.evaluate("x[0]" if False else "x > 1")
        self.assertEqual(before, sys.getrefcount(x))


if __name__ == "__main__":
    unittest.main()
