"""The drop-ins give one answer, at once and later: with the engine in this process, results before and after the optimised
code was swapped in have the same bits, and where IEEE 754 settles the result they are NumPy's bits."""
import os
import sys
import unittest

os.environ["TRIDENT_MODE"] = "embedded"
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _evaluate  # noqa: E402

RANDOM = np.random.default_rng(12)
N = 5000
A8 = np.concatenate([RANDOM.standard_normal(N) * 10.0**RANDOM.integers(-8, 9, N), [4.7286, 0.0, -0.0, 1e-17, 2.0**53]])
B8 = np.concatenate([RANDOM.standard_normal(N) * 10.0**RANDOM.integers(-8, 9, N), [1.0, -0.0, 3e-9, 1.0, 1.0]])
A4, B4 = A8.astype("f4"), B8.astype("f4")
M8, M4 = 6755399441055744.0, np.float32(12582912.0)  # 1.5 * 2^52 and 1.5 * 2^23: adding rounds to an integer

# Operations that IEEE 754 rounds correctly, so NumPy gives the bits.
SETTLED = {
    "round to integer": lambda a, b, m: (a + m) - m,
    "two-sum error": lambda a, b, m: (a - ((a + b) - ((a + b) - a))) + (b - ((a + b) - a)),
    "(a+1)-1": lambda a, b, m: (a + 1) - 1,
    "product error": lambda a, b, m: (a * b) / b - a,
    "multiply and add": lambda a, b, m: a * b + a,
    "division by a constant": lambda a, b, m: a / 3 * 3,
    "distributed": lambda a, b, m: a * b + a * 3,
    "zero": lambda a, b, m: (a - a) + b * 0,
}
FUNCTIONS = ("exp(-(a*a)) * sin(b)", "log(a*a + 1) / (b*b + 1)", "tan(a) + arctan2(a, b)",
             "(a*a + 1)**1.7", "exp(a)/(exp(a)-1)", "sum(a*b)", "max(sin(a))")


def bits(x):
    x = np.asarray(x)
    return x.dtype, np.where(np.isnan(x), 0, x).tobytes(), np.isnan(x).tobytes()


class OneAnswer(unittest.TestCase):
    def setUp(self):
        self.assertGreaterEqual(trident.Kernel("x + 1").wait(tier=1, timeout_ms=60_000), 1, "no engine beside the library")

    def stays(self, call, kernel, name):
        first = call()
        kernel().wait(tier=2, timeout_ms=120_000)
        self.assertGreaterEqual(kernel().info()["tier"], 1, name)
        later = call()
        self.assertEqual(bits(first), bits(later), name)
        return first

    def test_settled_arithmetic_under_jit(self):
        for name, function in SETTLED.items():
            for a, b, m in ((A8, B8, M8), (A4, B4, M4)):
                with self.subTest(name, dtype=a.dtype), np.errstate(all="ignore"):
                    f = trident.jit(function)
                    got = self.stays(lambda: f(a, b, m), lambda: next(iter(f.kernels.values())), name)
                    self.assertEqual(bits(function(a, b, m)), bits(got), name)

    def test_rounding_tricks_in_texts(self):
        texts = {"(a+6755399441055744.0)-6755399441055744.0": (A8 + M8) - M8, "(a+1)-1": (A8 + 1) - 1,
                 "(a-((a+b)-((a+b)-a)))+(b-((a+b)-a))": SETTLED["two-sum error"](A8, B8, 0), "a*b+a": A8 * B8 + A8}
        for text, wanted in texts.items():
            with self.subTest(text):
                got = self.stays(lambda: trident.evaluate(text, {"a": A8, "b": B8}), self.last, text)
                self.assertEqual(bits(wanted), bits(got))
        texts = {"(a+m)-m": (A4 + M4) - M4, "(a+1)-1": (A4 + np.float32(1)) - np.float32(1)}
        for text, wanted in texts.items():
            with self.subTest(text, dtype="f4"):
                got = self.stays(lambda: trident.evaluate(text, {"a": A4, "b": B4, "m": M4}), self.last, text)
                self.assertEqual(bits(wanted), bits(got))

    def test_functions_keep_their_bits(self):
        """The interpreter alone is the oracle."""
        with trident.Context("interp") as alone:
            for text in FUNCTIONS:
                for a, b in ((A8, B8), (A4, B4)):
                    with self.subTest(text, dtype=a.dtype):
                        self.stays(lambda: trident.evaluate(text, {"a": a, "b": b}), self.last, text)
                        kernel = self.last()
                        again = trident.Kernel(kernel.text, **kernel._options, context=alone)
                        arrays = dict(zip(again.arrays, (a, b)))
                        self.assertEqual(bits(kernel(**arrays)), bits(again(**arrays)))

    def test_what_a_caller_may_open(self):
        x = RANDOM.random(1000)
        for options in ({"policy": "bounded"}, {"policy": "bounded", "k": 8}, {"policy": "fast"}, {"ranges": {"x": (0, 1)}}):
            np.testing.assert_allclose(trident.evaluate("x**3 + sin(x)", **options), x**3 + np.sin(x), rtol=1e-13)
            asked = {"policy": "exact", "k": 2.0, "ranges": {}, **options}
            had = self.last()._options
            self.assertEqual((asked["policy"], float(asked["k"]), len(asked["ranges"])),
                             (had["policy"], had["k"], len(had["ranges"])))
            f = trident.jit(lambda x: x**3 + np.sin(x), **options)
            np.testing.assert_allclose(f(x), x**3 + np.sin(x), rtol=1e-13)
            self.assertEqual(asked["policy"], next(iter(f.kernels.values()))._options["policy"])
        for wrong, says in (({"policy": "loose"}, "policy must be"), ({"k": 3}, "leave k out"),
                            ({"ranges": {"y": (0, 1)}}, "'y' is no")):
            with self.assertRaisesRegex(ValueError, says):
                trident.evaluate("x + 1", **wrong)
            with self.assertRaisesRegex(ValueError, says):
                trident.jit(lambda x: x + 1, **wrong)

    @staticmethod
    def last():
        return _evaluate._last.call[0].kernel


if __name__ == "__main__":
    unittest.main()
