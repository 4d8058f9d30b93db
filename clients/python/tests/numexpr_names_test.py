"""The names that numexpr exports, each with a counterpart or refused by name; contexts and several outputs of evaluate().
Oracles: numexpr, NumPy."""
import os
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numexpr  # noqa: E402
import numpy as np  # noqa: E402

import trident  # noqa: E402

LATER = ["validate", "get_vml_num_threads"]  # names that numexpr 2.14 has and 2.8 has not


class Names(unittest.TestCase):
    def test_each_name_has_a_counterpart_or_a_refusal_that_names_it(self):
        answered = 0
        for name in [n for n in dir(numexpr) if not n.startswith("_")] + LATER + ["__BLOCK_SIZE1__"]:
            with self.subTest(name):
                if hasattr(trident, name):
                    self.assertEqual(callable(getattr(numexpr, name, len)), callable(getattr(trident, name)))
                    answered += 1
                else:
                    with self.assertRaisesRegex(AttributeError, f"no counterpart of numexpr.{name}: ....+"):
                        getattr(trident, name)
        self.assertGreaterEqual(answered, 16)
        with self.assertRaisesRegex(AttributeError, "module 'trident' has no attribute 'nothing'"):
            trident.nothing

    def test_compiled_expressions_are_called_as_numexpr_calls_them(self):
        x, y, i = np.linspace(-2, 2, 7), np.arange(7.0), np.arange(7, dtype=np.int32)
        for text, signature, args in (("2*a + 3*b", (), (x, y)), ("a - b", (("b", np.double), ("a", np.double)), (x, y)),
                                      ("a + i", (("a", np.double), ("i", np.int32)), (x, i)), ("i*i", (("i", np.int32),), (i,)),
                                      ("a + 1", (("a", float),), (x.astype("f4"),)), ("a + 1", (("a", np.double),), (i,)),
                                      ("where(c, a, -a)", (("c", bool), ("a", np.double)), (x > 0, x))):
            wanted, got = numexpr.NumExpr(text, list(signature))(*args), trident.NumExpr(text, list(signature))(*args)
            self.assertEqual(wanted.dtype, got.dtype, text)
            np.testing.assert_array_equal(got, wanted)
        self.assertEqual(numexpr.NumExpr("b + a").input_names, trident.NumExpr("b + a").input_names)
        for module in (numexpr, trident):
            with self.assertRaises(TypeError):
                module.NumExpr("i + 1", [("i", np.int32)])(x, ex_uses_vml=False)
            with self.assertRaises(ValueError):
                module.NumExpr("a + b")(x, ex_uses_vml=False)
        self.assertRaises(TypeError, trident.NumExpr, "a", [("a", complex)])
        self.assertRaises(ValueError, trident.NumExpr, "a", [("b", float)])

    def test_validate_returns_what_evaluate_would_raise(self):
        x = np.arange(3.0)
        self.assertIsNone(trident.validate("2*x"))
        np.testing.assert_array_equal(trident.re_evaluate(), 2 * x)
        for text in ("2*x +", "x.__class__", "x and x", "nothing + 1", "sum(x) + 1"):
            error = trident.validate(text)
            self.assertIsInstance(error, Exception, text)
            with self.assertRaises(type(error)):
                trident.evaluate(text)
        self.assertIsInstance(trident.validate("x", casting="loose"), ValueError)

    def test_names_of_vml_do_what_numexpr_does_without_it(self):
        self.assertEqual([False, None, None, None, None],
                         [trident.use_vml, trident.get_vml_version(), trident.set_vml_accuracy_mode("fast"),
                          trident.set_vml_num_threads(2), trident.get_vml_num_threads()])
        self.assertRaises(ValueError, trident.set_vml_accuracy_mode, "none")


class LaterFunctions(unittest.TestCase):
    """Functions that Debian's numexpr has not. The oracle is NumPy."""

    def test_on_corner_values(self):
        floats = [0.0, -0.0, 1.5, 2.5, -0.5, -3.0, np.inf, -np.inf, np.nan, 1e30]
        for x in (np.array(floats), np.array(floats, "f4"), np.array([0, 5, -7, 2**31 - 1], "i4"), np.array([0, -2**63, 9], "i8")):
            for name in ("isnan", "isinf", "isfinite", "sign", "signbit", "round"):
                a = x if name != "signbit" else x[x == x]
                wanted, got = getattr(np, name)(a), trident.evaluate(f"{name}(a)")
                self.assertEqual(np.float64 if name == "round" and x.dtype.kind == "i" else wanted.dtype, got.dtype, name)
                np.testing.assert_array_equal(got, wanted, name)
                if got.dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(got[a == a]), np.signbit(wanted[a == a]), name)
            a, b = np.repeat(x, x.size), np.tile(x, x.size)
            for name in ("maximum", "minimum", "copysign"):
                wanted, got = getattr(np, name)(a, b), trident.evaluate(f"{name}(a, b)")
                self.assertEqual(wanted.dtype, got.dtype, name)
                counted = b == b if name == "copysign" else np.ones(b.size, bool)  # the sign of a NaN is nobody's
                np.testing.assert_array_equal(got[counted], wanted[counted], name)
        single, whole = np.array([1.5], "f4"), np.array([3], "i4")
        self.assertEqual(np.float32, trident.evaluate("maximum(single, whole)").dtype)
        self.assertEqual(3.0, float(trident.evaluate("maximum(round(2.5), 3)")))

    def test_they_remain_names_of_variables(self):
        np.testing.assert_array_equal(trident.evaluate("sign + round", {"sign": np.ones(2), "round": np.ones(2)}), [2, 2])


class Contexts(unittest.TestCase):
    def test_a_context_compiles_what_is_evaluated_in_it(self):
        x = np.arange(5.0)
        own, other = trident.Context("interp"), trident.Context("interp")
        kernels = len(other._kernels)
        for _ in range(2):
            np.testing.assert_array_equal(trident.evaluate("x*3 + 7", context=own), x * 3 + 7)
            self.assertEqual((1, kernels), (len(own._kernels), len(other._kernels)))
        self.assertRaises(TypeError, trident.evaluate, "x", {"x": x}, context="interp")
        other.close()
        self.assertRaises(ValueError, trident.evaluate, "x*3 + 8", {"x": x}, context=other)


class SeveralOutputs(unittest.TestCase):
    def test_each_is_what_it_is_alone(self):
        rng = np.random.default_rng(5)
        a, b = rng.normal(size=(2, 6, 4))
        a[0, 0], b[1, 1], b[2, 2] = np.nan, np.inf, -0.0
        i, u, c = rng.integers(-5, 5, (6, 4)), rng.integers(0, 255, (6, 4)).astype("u1"), a > b
        cases = ["a + b", "a*b", "a < b", "sum(a)", "i*2", "u + i", "a + 2.5", "where(c, a, b)", "max(b, axis=0)", "7", "~c", "t", "a/k"]
        layouts = {"C": (a, b, i), "F": tuple(map(np.asfortranarray, (a, b, i))), "strided": (a[::2], b[::2], i[::2])}
        for layout, (x, y, z) in layouts.items():
            step = 2 if layout == "strided" else 1
            names = {"a": x, "b": y, "i": z, "u": u[::step], "c": c[::step], "t": y.T.astype("f4").T, "k": 3.0}
            for first in cases:
                for second in cases:
                    got = trident.evaluate(f"({first}, {second})", names, {})
                    for text, result in zip((first, second), got):
                        wanted = trident.evaluate(text, names, {})
                        self.assertEqual((wanted.dtype, wanted.shape), (result.dtype, result.shape), (layout, first, second))
                        np.testing.assert_array_equal(result, wanted, str((layout, first, second)))
                        if text in ("a + b", "a*b", "u + i", "a < b"):
                            np.testing.assert_array_equal(result, eval(text, {}, names), text)

    def test_outputs_may_be_operands(self):
        a, b = np.arange(5.0), np.arange(5.0) * 3 + 1
        total, difference = a + b, a - b
        names = {"a": a, "b": b}
        out = (a, np.empty(5))
        got = trident.evaluate("(a + b, a - b)", out=out)
        self.assertTrue(got[0] is a and got[1] is out[1])
        np.testing.assert_array_equal(a, total)
        np.testing.assert_array_equal(out[1], difference)
        np.testing.assert_array_equal(trident.re_evaluate()[1], total - b)
        self.assertRaises(ValueError, trident.evaluate, "(a + b, a)", names, out=a)
        self.assertRaises(ValueError, trident.evaluate, "(a + b, a)", names, out=(a,))
        self.assertRaises(ValueError, trident.evaluate, "(a + b, a)", names, out=(a, np.empty(4)))
        self.assertRaises(TypeError, trident.evaluate, "(a + b, a)", names, out=(a, np.empty(5, np.int32)))

    def test_what_is_no_list_of_expressions_is_refused(self):
        a = np.arange(3.0)
        self.assertRaises(ValueError, trident.evaluate, "()")
        for text in ("(a, (a, a))", "(a, [a])", "(*a, a)", "(a, a) + a"):
            self.assertRaises(TypeError, trident.evaluate, text, {"a": a})


if __name__ == "__main__":
    unittest.main()
