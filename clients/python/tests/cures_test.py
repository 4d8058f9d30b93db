"""Every cure that a refusal names works: the refused text, what its error says to write, and that, run. NumPy is the oracle."""
import os
import re
import sys
import unittest
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _cures, _refusals  # noqa: E402

A = {"x": np.array([1.5, -2.0, 3.25, 4.0]), "y": np.array([1.5, 7.0, 0.5, 4.0]), "n": np.array([1.5, np.nan, 3.0, -1.0]),
     "i": np.array([1, -2, 3, 7]), "u": np.array([1, 2, 3, 200], "u1"), "s": np.array([-1, 2, -3, 100], "i1"), "h": np.array([0.5, 2, -3, 7], "f2"),
     "f": np.array([0.5, 2, -3, 7], "f4"), "q": np.array([5, 2**63 + 1, 7, 0], "u8"), "b": np.array([True, False, True, True]),
     "c": np.array([False, False, True, True]), "w": np.array([1.0, 2.0, 3.0, 4.0]), "k": np.int64(3), "m": np.uint8(5)}
# Refused text, words of the error, and the cure in its place; with a third text as the oracle where NumPy refuses the first, too.
JIT = (
    ("np.inner(x, y)", "np.dot(x, y)", "np.dot(x, y)"), ("np.ldexp(x, 3)", "x * 2.0**k", "x * 2.0**3"), ("x @ y", "np.dot(x, y)", "np.dot(x, y)"),
    ("np.polyval([2, 3, 4], x)", "a*x*x + b*x + c", "2*x*x + 3*x + 4"), ("np.isin(i, [1, 3])", "(x == a) | (x == b)", "(i == 1) | (i == 3)"),
    ("np.in1d(i, [1, 3])", "(x == a) | (x == b)", "(i == 1) | (i == 3)"), ("np.array_equal(x, y)", "np.all(x == y)", "np.all(x == y)"),
    ("np.nanvar(n)", "np.nanmean((x - np.nanmean(x))**2)", "np.nanmean((n - np.nanmean(n))**2)"),
    ("np.nanstd(n)", "np.sqrt(np.nanmean((x - np.nanmean(x))**2))", "np.sqrt(np.nanmean((n - np.nanmean(n))**2))"),
    ("np.nanvar(u)", "np.nanmean((x - np.nanmean(x))**2)", "np.nanmean((u - np.nanmean(u))**2)"),
    ("np.real(x)", "write x", "x"), ("np.imag(x)", "x * 0", "x * 0"), ("x.real", "write x", "x"), ("x.dot", "np.dot(x, y)", "np.dot(x, y)", "x.dot(y)"),
    ("np.nanargmax(n)", "np.argmax(np.where", "np.argmax(np.where(np.isnan(n), -np.inf, n))"),
    ("np.nanargmin(n)", "np.argmin(np.where", "np.argmin(np.where(np.isnan(n), np.inf, n))"),
    ("np.reciprocal(i)", "np.trunc(1 / x).astype(np.int64)", "np.trunc(1 / i).astype(np.int64)"),
    ("np.average(x, weights=w)", "np.sum(x * w) / np.sum(w)", "np.sum(x * w) / np.sum(w)"),
    ("np.logical_and.reduce(b)", "np.all(x)", "np.all(b)"), ("np.logical_or.reduce(u)", "np.any(x)", "np.any(u)"),
    ("np.sum(x, where=b)", "np.sum(np.where(condition, x, 0))", "np.sum(np.where(b, x, 0))"), ("np.sum(x, initial=3)", "np.sum(x) + v", "np.sum(x) + 3"),
    ("np.max(x, initial=9)", "np.maximum(np.max(x), v)", "np.maximum(np.max(x), 9)"), ("u.sum(where=b)", "np.where(condition, x, 0)", "np.sum(np.where(b, u, 0))"),
    ("np.any(i, where=b)", "np.where(condition, x, False)", "np.any(np.where(b, i, False))"), ("u.max(initial=9)", "np.maximum", "np.maximum(np.max(u.astype(int)), 9)", "u.max().astype(int)"),
    ("np.sum(i, dtype='u1')", "np.sum(x).astype(np.uint8)", "np.sum(i).astype(np.uint8)"), ("np.sum(u, dtype='u4')", "np.sum(x).astype(np.uint32)", "np.sum(u).astype(np.uint32)"),
    ("np.sum(u, dtype='f8')", "np.sum(x.astype(np.float64))", "np.sum(u.astype(np.float64))"), ("np.mean(u, dtype='f4')", "np.mean(x.astype(np.float32))", "np.mean(u.astype(np.float32))"),
    ("i < q", "the uint64 array first: x.astype(np.int64)", "i < q.astype(np.int64)", "i < q.view('i8')"), ("s < q", "the uint64 array first: x.astype(np.int64)", "s < q.astype(np.int64)", "s < q.view('i8')"),
    ("q**q", "np.float64", "q.astype(np.float64)**2", "q.astype(float)**2"), ("u + k", "x.astype(np.int32)", "u.astype(np.int32) + k", "u.astype('i8') + k"),
    ("h + k", "x.astype(np.float32)", "h.astype(np.float32) + k", "h.astype('f8') + k"), ("u.max() + 1", "x.astype(np.int32)", "u.max().astype(np.int32) + 1", "u.max() + np.int32(1)"),
    ("np.round(u, -1)", "x.astype(np.float64)", "np.round(u.astype(np.float64), -1)", "np.round(u.astype(float), -1)"),
    ("np.round(h, 1)", "x.astype(np.float64)", "np.round(h.astype(np.float64), 1)", "np.round(h.astype(float), 1)"), ("np.sinc(u)", "x.astype(np.int32)", "np.sinc(u.astype(np.int32))", "np.sinc(u.astype(int))"),
    ("np.dot(u, u)", "x.astype(np.int32)", "np.dot(u.astype(np.int32), u.astype(np.int32))", "np.dot(u.astype('i4'), u.astype('i4'))"),
    ("np.fabs(u)", "x.astype(np.int32)", "np.fabs(u.astype(np.int32))", "np.fabs(u.astype('i4'))"), ("np.prod(h)", "x.astype(np.float32)", "np.prod(h.astype(np.float32))"),
    ("np.std(h)", "x.astype(np.float32)", "np.std(h.astype(np.float32))", "np.std(h.astype('f4'))"), ("np.nextafter(h, h)", "x.astype(np.float32)", "np.nextafter(h.astype(np.float32), f)", "np.nextafter(h.astype('f4'), f)"),
    ("np.nansum(h)", "x.astype(np.float32)", "np.nansum(h.astype(np.float32))"),
    ("b**2", "x.astype(np.int64)", "b.astype(np.int64)**2"), ("b - c", "x.astype(np.float64)", "b.astype(np.int64) - c", "b.astype(int) - c"), ("np.logaddexp(b, c)", "x.astype(np.float64)", "np.logaddexp(b.astype(np.float64), c)"),
    ("~x", "x.astype(np.int64)", "~x.astype(np.int64)", "~x.astype(int)"), ("x & 1", "x.astype(np.int64)", "x.astype(np.int64) & 1", "x.astype(int) & 1"), ("x << 1", "x.astype(np.int64)", "x.astype(np.int64) << 1", "x.astype(int) << 1"),
    ("np.dot(b, c)", "np.max(x & y)", "np.max(b & c)"), ("np.vdot(x, 2)", "np.sum(x * y)", "np.sum(x * 2)", "np.sum(x * 2)"), ("b.sum(dtype=bool)", "np.max(x != 0)", "np.max(b != 0)"),
    ("np.float32(x)", "x.astype(np.float32)", "x.astype(np.float32)"), ("round(x)", "np.round(x)", "np.round(x)", "np.round(x)"), ("abs(x) if x > 0 else y", "np.where(condition, a, b)", "np.where(x > 0, abs(x), y)", "np.where(x > 0, abs(x), y)"),
    ("1 < x < 3", "& | ~", "(1 < x) & (x < 3)", "(1 < x) & (x < 3)"), ("np.add(x, y, where=b)", "np.where", "np.where(b, x + y, 0)", "np.where(b, x + y, 0)"), ("np.add(x, y, dtype='f4')", "astype", "x.astype(np.float32) + y.astype(np.float32)"),
    ("np.empty_like(x) * 0", "np.zeros_like(x)", "np.zeros_like(x) * 0", "x * 0"), ("x.mean(dtype='i4')", "np.mean(x).astype(", "np.mean(x).astype(np.int32)"), ("i + 10**30", "as a float", "i + 1e30", "i + 1e30"),
    ("u.T", "pass in the transposed array", "+u"), ("h.real", "write x", "+h"), ("x.imag", "write x * 0", "x * 0"), ("u.shape", "pass the extent in", "k + 1", "k + 1"),
    ("u.dot(u)", "np.dot(x, y)", "np.dot(u.astype(np.int32), u.astype(np.int32))", "np.dot(u.astype('i4'), u.astype('i4'))"),
    ("np.reciprocal(u)", "np.trunc(1 / x).astype(np.int64)", "np.trunc(1 / u).astype(np.int64)"), ("np.linalg.norm(h)", "np.linalg.norm of float16", "np.linalg.norm(h.astype(np.float32))", "np.linalg.norm(h.astype('f4'))"),
    ("np.average(u, weights=u)", "np.sum(x * w) / np.sum(w), with x.astype(np.float64)", "np.sum(u.astype(np.float64) * u) / np.sum(u)"),
    ("np.average(i * 2**62, weights=i)", "with x.astype(np.float64)", "np.sum((i * 2**62).astype(np.float64) * i) / np.sum(i)"),
    ("np.mean(x, where=b)", "divided by np.sum(condition)", "np.sum(np.where(b, x, 0)) / np.sum(b)"), ("x.max(where=b, initial=2)", "np.max(np.where(condition, x, v))", "np.max(np.where(b, x, 2))"),
    ("np.emath.sqrt(y)", "np.emath.sqrt cannot be recorded", "np.sqrt(y)"), ("u + [1, 2, 3, 4]", "pass it in as one", "u + s", "u + s"), ("u + 1j", "numbers and booleans can", "u + 1", "u + 1"),
    ("f.astype('u8')", "np.int64", "f.astype(np.int64)", "f.astype('i8')"))
KERNEL = (  # text, words of the error, the cure, NumPy's text
    ("i^(-2)", "cast it with f64(...)", "f64(i)^(-2)", "i.astype(float)**-2"), ("i/3", "cast an operand with f64(...)", "f64(i)/3", "i/3"),
    ("i % 5", "cast an operand with f64(...)", "f64(i) % 5", "np.fmod(i, 5)"), ("fmod(i, 5)", "cast an operand with f64(...)", "fmod(f64(i), 5)", "np.fmod(i, 5.0)"),
    ("x & 3", "cast with i64(...)", "i64(x) & 3", "x.astype(int) & 3"), ("~x", "cast with i64(...)", "~i64(x)", "~x.astype(int)"), ("x << 1", "cast with i64(...)", "i64(x) << 1", "x.astype(int) << 1"),
    ("(x > 1) & i", "use && or ||", "(x > 1) && i", "(x > 1) & (i != 0)"), ("(x > 1) * (y > 1)", "cast them with f64(...) or i64(...)", "f64(x > 1) * f64(y > 1)", "(x > 1) * 1.0 * (y > 1)"),
    ("min(x > 1, y > 1)", "cast them with f64(...) or i64(...)", "min(i64(x > 1), i64(y > 1))", "np.minimum(x > 1, y > 1)"),
    ("x + gather(t, 0)", "declare it as 'table t'", "table t; x + gather(t, 0)", "x + t[0]"), ("table t; x + t", "t[index]", "table t; x + t[index]", "x + t"),
    ("table t; t", "t[index]", "table t; x*0 + t[index]", "t"), ("table t; t[x]", "cast with i64(...)", "table t; t[i64(x)] + 0*x", "np.where((x < 0) | (x >= 4), 0, t[x.astype(int) % 4])"),
    ("param p: f16; x*p", "declare it as f32", "param p: f32; x*p", "x*p"), ("table t: u8; x + t[0]", "declare it as i32", "table v: i32; x + v[0]", "x + v[0]"),
    ("grad(x*x, x) + 1", "expected", "diff(x*x, x) + 1", "2*x + 1"), ("sine(x)", "did you mean 'sin'?", "sin(x)", "np.sin(x)"), ("x y", "expected an operator", "x*y", "x*y"), ("2x", "write '*'", "2*x", "2*x"))
EVALUATE = (
    ("x if x > 1 else y", "where(condition, a, b)", "where(x > 1, x, y)", "np.where(x > 1, x, y)"), ("i in (1, 3)", "(x == a) | (x == b)", "(i == 1) | (i == 3)", "np.isin(i, (1, 3))"),
    ("i not in (1, 3)", "(x != a) & (x != b)", "(i != 1) & (i != 3)", "~np.isin(i, (1, 3))"), ("1 < x < 3", "(a < x) & (x < b)", "(1 < x) & (x < 3)", "(1 < x) & (x < 3)"),
    ("x > 1 and y > 1", "'&' instead of 'and'", "(x > 1) & (y > 1)", "(x > 1) & (y > 1)"), ("not (x > 1)", "'~' instead of 'not'", "~(x > 1)", "~(x > 1)"),
    ("x > 1 && y > 1", "write '&' for '&&', and (a < b)", "(x > 1) & (y > 1)", "(x > 1) & (y > 1)"), ("(x > 1) || (y > 1)", "write '|' for", "(x > 1) | (y > 1)", "(x > 1) | (y > 1)"),
    ("!(x > 1)", "write '~' for '!'", "~(x > 1)", "~(x > 1)"), ("x <> y", "write '!='", "x != y", "x != y"), ("x = y", "write '=='", "x == y", "x == y"),
    ("x - sum(x)", "give the result a name", "x - w", "x - w"), ("np.sin(x)", "Write sin(x) without the prefix", "sin(x)", "np.sin(x)"), ("x & 1", "booleans or integers", "i & 1", "i & 1"), ("x ^ 2", "a power is x**y", "x**2", "x**2"), ("-(x > 1)", "write ~", "~(x > 1)", "~(x > 1)"))
OF_NUMPY = {"amin": "np.min(x)", "amax": "np.max(x)", "bool": "x.astype(bool)", "clip": "np.clip(x, lo, hi)", "pow": "np.power(x, y)", "arcsin2": "np.arctan2(y, x)",
            "atan2": "np.arctan2(y, x)", "asin": "np.arcsin(x)", "acos": "np.arccos(x)", "atan": "np.arctan(x)", "isclose": "np.isclose(x, y)",
            "select": "np.select([a, b], [x, y], z)", "len": "len(x)"}
UNIT = {"x": np.array([0.5, 0.25, -0.75]), "y": np.array([0.5, 0.125, 0.5]), "z": np.array([1.0, 2, 3]), "lo": np.array([0.0, 0.5, -1]),
        "hi": np.array([0.4, 1.0, 0.0]), "a": np.array([True, False, False]), "b": np.array([True, True, False])}


def arguments_of(text):
    return [n for n in A if re.search(rf"(?<![\w.']){n}(?![\w'(=])", text)]


def evaluated(text, run=lambda f: f):
    names = arguments_of(text)
    return run(eval(f"lambda {', '.join(names)}: {text}", {"np": np}))(*(A[n] for n in names))  # pylint: disable=eval-used


class Cures(unittest.TestCase):
    def same(self, wanted, got):
        self.assertEqual(np.asarray(wanted).shape, np.asarray(got).shape)
        np.testing.assert_allclose(got, wanted, rtol=3e-3 if np.asarray(wanted).dtype == np.float16 else 1e-6)

    def test_of_jit(self):
        self.assertGreater(len(JIT), 60)
        for refused, says, cure, *oracle in JIT:
            with self.subTest(refused), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                with self.assertRaises(trident.TraceError) as raised:
                    evaluated(refused, trident.jit)
                self.assertIn(says, str(raised.exception))
                self.same(evaluated(oracle[0] if oracle else refused), evaluated(cure, trident.jit))

    def test_of_a_method(self):
        class Scaled:
            def __init__(self):
                self.factor = 3.0

            @trident.jit
            def refused(self, x):
                return x * self.factor

            _compute = staticmethod(trident.jit(lambda x, factor: x * factor))

            def cured(self, x):
                return self._compute(x, self.factor)
        with self.assertRaisesRegex(trident.TraceError, "'self' is of type Scaled.*call it from the method"):
            Scaled().refused(A["x"])
        np.testing.assert_array_equal(A["x"] * 3, Scaled().cured(A["x"]))

    def test_loops(self):
        """Refusals that name @trident.function: a greatest common divisor and a cumulative sum."""
        for name in ("gcd", "cumsum", "interp"):
            self.assertIn("@trident.function", _refusals.INSTEAD_OF[name])

        @trident.function
        def divisor(a: int, b: int) -> int:
            while b != 0:
                a, b = b, a % b
            return a

        @trident.function
        def cumulated(x: "[f64]", sums: "inout [f64]") -> None:
            total = 0.0
            for j in range(len(x)):
                total += x[j]
                sums[j] = total
        self.assertEqual([np.gcd(a, b) for a, b in ((12, 18), (35, 64))], [divisor(12, 18), divisor(35, 64)])
        sums = np.zeros(4)
        cumulated(A["x"], sums)
        np.testing.assert_allclose(sums, np.cumsum(A["x"]))

    def test_of_evaluate(self):
        """Each function of its table, as the error says to write it."""
        for name, says in _cures._OF_FUNCTIONS.items():
            with self.subTest(name):
                with self.assertRaises((TypeError, ValueError)) as raised:
                    trident.evaluate(f"{name}(x)", UNIT)
                self.assertIn(says, str(raised.exception))
                cure = re.fullmatch("write (.*?)( in Python)?", says)
                if cure is None or cure[2]:
                    self.assertIn(name, ("pi", "len", "erf", "erfc"))
                    continue
                given = {k: v > 0.2 if name.startswith("logical") else v for k, v in UNIT.items()}
                text = OF_NUMPY.get(name) or f"np.{name}({', '.join(n for n in ('x', 'y') if re.search(rf'{chr(92)}b{n}{chr(92)}b', cure[1]))})"
                self.same(eval(text, {"np": np, **given}), trident.evaluate(cure[1], given))  # pylint: disable=eval-used
        self.same(np.pi * UNIT["x"], trident.evaluate("pi*x", {**UNIT, "pi": np.pi}))
        self.assertAlmostEqual(0.5204998778130465, float(trident.Kernel("erf(x)")(np.array([0.5]))[0]))
        self.assertAlmostEqual(0.4795001221869535, float(trident.Kernel("erfc(x)")(np.array([0.5]))[0]))

    def test_of_kernels(self):
        given = {**A, "t": np.array([3.0, 1, 4, 1]), "p": np.float32(2), "v": np.array([7, 9], "i4")}
        make = lambda text: trident.Kernel(text, types={"i": "i64"} if re.search(r"\bi\b", text) else None)  # noqa: E731
        for refused, says, cure, oracle in KERNEL:
            with self.subTest(refused):
                with self.assertRaises(trident.TridentError) as raised:
                    make(refused)
                self.assertIn(says, str(raised.exception))
                kernel = make(cure)
                self.same(eval(oracle, {"np": np, **given}), kernel(**{n: given[n] for n in kernel.arrays + kernel.scalars}))  # pylint: disable=eval-used

    def test_of_texts_of_evaluate(self):
        for refused, says, cure, oracle in EVALUATE:
            with self.subTest(refused):
                with self.assertRaises((TypeError, ValueError, NotImplementedError, SyntaxError, RuntimeError)) as raised:
                    trident.evaluate(refused, A)
                self.assertIn(says, str(raised.exception))
                self.same(eval(oracle, {"np": np, **A}), trident.evaluate(cure, A))  # pylint: disable=eval-used

    def test_that_jit_takes_what_evaluate_sends_there(self):
        for name in sorted(n for n in dir(np) if n.islower() and callable(getattr(np, n)) and not n.startswith("_")):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                says = _cures.of_function(name)
                if "@trident.jit" not in says:
                    continue
                for arguments in ("x", "x, y", "x, 0.1, 0.5", "i", "i, i", "b", "b, b", "[b], [x]", "x, [b], [2.5]", "b, x, y", "x, 1.5"):
                    try:
                        wanted = evaluated(f"np.{name}({arguments})")
                        got = evaluated(f"np.{name}({arguments})", trident.jit)
                    except (TypeError, ValueError):
                        continue
                    for w, g in zip(*((r if isinstance(r, tuple) else (r,)) for r in (wanted, got))):
                        self.same(w, g)
                    break
                else:
                    self.fail(f"np.{name} cannot be recorded: {says}")


if __name__ == "__main__":
    unittest.main()
