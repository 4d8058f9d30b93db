"""The names that numexpr exports, each with a counterpart or refused by name; contexts and several outputs of evaluate().
Oracles: numexpr, NumPy."""
import importlib
import inspect
import os
import sys
import unittest
import unittest.mock

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

    def test_arguments_come_in_the_order_of_numexpr(self):
        for function, names in ((trident.evaluate, "ex local_dict global_dict out order casting sanitize _frame_depth disable_cache"),
                                (trident.validate, "ex local_dict global_dict out order casting _frame_depth sanitize"),
                                (trident.re_evaluate, "local_dict global_dict _frame_depth"), (trident.NumExpr, "ex signature sanitize"),
                                (trident.set_vml_accuracy_mode, "mode"), (trident.set_num_threads, "nthreads")):
            self.assertEqual(names.split(), list(inspect.signature(function).parameters)[:names.count(" ") + 1])
        x = np.arange(3.0)
        np.testing.assert_array_equal(2 * x, trident.evaluate("2*x", {"x": x}, {}, None, "K", "same_kind", False, 3, True))
        self.assertIsNone(trident.validate("2*x", {"x": x}, {}, None, "K", "safe", 2, True))
        np.testing.assert_array_equal(2 * x, trident.NumExpr("2*a", (), False)(x))

    def test_modules_have_their_counterparts(self):
        self.assertIs(trident.E, trident.expressions.E)
        for module, names in (("necompiler", "typecode_to_kind CacheDict getContext stringToExpression"), ("utils", "CacheDict log"),
                              ("expressions", "functions VariableNode")):
            self.assertEqual(f"trident.{module}", importlib.import_module(f"trident.{module}").__name__)
            for name in names.split():
                with self.assertRaisesRegex(AttributeError, f"no counterpart of numexpr.{module}.{name}: .*trident.{module} has .*"):
                    getattr(getattr(trident, module), name)

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
        floats = [0.0, -0.0, 1.5, 2.5, -0.5, -3.0, np.inf, -np.inf, np.nan, 1e30, 5e-324,
                  -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308]
        for x in (np.array(floats), np.array(floats[:10], "f4"), np.array([0, 5, -7, 2**31 - 1], "i4"), np.array([0, -2**53, 9], "i8")):
            wide = x.astype("f8")
            for name in ("isnan", "isinf", "isfinite", "sign", "signbit", "round", "trunc"):
                a = x if name != "signbit" else x[x == x]
                keeps = x.dtype.kind == "i" and name in ("sign", "round") or name[:2] == "is" or name == "signbit"
                self.same(name, (a,), getattr(np, name)(a if keeps else a.astype("f8")))
            a, b = np.repeat(wide, x.size), np.tile(wide, x.size)
            counted = (b == b) & (a == a)  # the sign of a NaN is nobody's
            for name in ("maximum", "minimum", "copysign", "hypot", "nextafter"):
                part = counted if name == "copysign" else np.ones(a.size, bool)
                with np.errstate(all="ignore"):
                    wanted = getattr(np, name)(a, b)[part]
                self.same(name, (np.repeat(x, x.size)[part], np.tile(x, x.size)[part]), wanted)
        self.assertEqual(3.0, float(trident.evaluate("maximum(round(2.5), 3)")))

    def same(self, name, operands, wanted):
        """numexpr computes these in float64, of float32 too, but for tests and for integers that stay integers."""
        got = trident.evaluate(f"{name}({', '.join('ab'[:len(operands)])})", dict(zip("ab", operands)), {})
        self.assertEqual(wanted.dtype, got.dtype, name)
        np.testing.assert_array_equal(got, wanted, name)
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got[got == got]), np.signbit(wanted[got == got]), name)

    def test_next_numbers_of_every_magnitude(self):
        rng = np.random.default_rng(9)
        for dtype, bits in ((np.float64, np.int64), (np.float32, np.int32)):
            a, b = (rng.integers(np.iinfo(bits).min, np.iinfo(bits).max, 40000, dtype=bits).view(dtype) for _ in range(2))
            b[::3] = np.inf
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(trident.jit(lambda a, b: np.nextafter(a, b))(a, b), np.nextafter(a, b))
        a, b = (v[np.isfinite(v)][:9000].astype("f8") for v in (a, b))
        np.testing.assert_array_equal(trident.evaluate("nextafter(a, b)", {"a": a, "b": b}), np.nextafter(a, b))

    def test_rules_that_changed(self):
        i, j = (v.astype("i4") for v in np.mgrid[-9:10, -9:10].reshape(2, -1))
        x, y, b, c = i / 4.0, j / 2.0, i > 0, j > i
        names = {"i": i, "j": j, "l": j.astype("i8"), "x": x, "y": y, "b": b, "c": c}
        with np.errstate(all="ignore"):
            for text, wanted in (("i % j", np.mod(i, j)), ("i // j", i // j), ("i % l", np.mod(i, names["l"])), ("7 // i", 7 // i),
                                 ("i // -3", i // -3), ("x // y", np.floor(x / y)), ("2.5 // y", np.floor(2.5 / y)), ("b + c", b | c),
                                 ("b * c", b & c), ("b**2", b), ("b**3.0", b), ("copy(i)", i), ("ones_like(i)", np.ones_like(i)),
                                 ("copy(b)", b), ("i // 0", np.zeros_like(i)), ("i % 0", np.zeros_like(i))):
                got = trident.evaluate(text, names, {})
                self.assertEqual(wanted.dtype, got.dtype, text)
                np.testing.assert_array_equal(got, wanted, text)
        for text in ("b // c", "b - c", "-b", "b**0", "b % c"):
            self.assertRaises(NotImplementedError, trident.evaluate, text, names, {})

    def test_levels_of_optimization_choose_types_of_powers(self):
        names = {"f": np.ones(3, "f4"), "i": np.ones(3, "i4")}
        for text, types in (("f**0.5", "dff"), ("f**2.5", "ddf"), ("i**2.0", "dii"), ("i**3.0", "ddi"), ("f**3", "fff")):
            for level, wanted in zip(("none", "moderate", "aggressive"), types):
                self.assertEqual(wanted, trident.evaluate(text, names, {}, optimization=level).dtype.char, (text, level))
        self.assertRaises(ValueError, trident.evaluate, "f", names, optimization="wild")

    def test_texts_are_checked_unless_told_otherwise(self):
        a = np.ones(2)
        for text in ("a.__class__", "a[0]", "lambda: a", "__import__", "import os;", "a .shape", "a.\u1d47it"):
            for kind in (ValueError, TypeError):  # of numexpr since 2.8.5, and before
                self.assertRaisesRegex(kind, "expressions do not have", trident.evaluate, text)
        for text in ("a*2.e-5", "2.+a", "a.real", "a. imag", "a*1.5e+3", ".5*a", "a_b__c*1"):
            trident.evaluate(text, {"a": a, "a_b__c": a})
        with self.assertRaises(SyntaxError):
            trident.evaluate("import os;", sanitize=False)
        with unittest.mock.patch.dict(os.environ, {"NUMEXPR_SANITIZE": "0"}), self.assertRaises(SyntaxError):
            trident.evaluate("import os;")

    def test_faults_are_not_handed_to_numexpr(self):
        for fault in (TypeError, ValueError, RuntimeError, KeyError):
            with unittest.mock.patch.object(trident._evaluate.g, "emit", side_effect=fault("a fault")), \
                    unittest.mock.patch.object(numexpr, "evaluate") as numexprs:
                self.assertRaisesRegex(fault, "a fault", trident.evaluate, f"x * 3 + {fault.__name__}",
                                       {"x": np.ones(3), fault.__name__: np.ones(3)})
                self.assertFalse(numexprs.called)
        for text, kind in (("x + None", TypeError), ("x * (1 / 0)", ZeroDivisionError), ("x << 1", NotImplementedError)):
            with unittest.mock.patch.object(numexpr, "evaluate", side_effect=kind):
                self.assertRaises(kind, trident.evaluate, text, {"x": np.ones(3)})

    def test_expressions_of_symbols(self):
        E, x, y = trident.E, np.linspace(1, 2, 5), np.arange(5.0)
        for made, wanted in ((2 * E.a + 3.5 * E.b, 2 * x + 3.5 * y), ((E.a + 2) / (1 + E.b * E.b), (x + 2) / (1 + y * y)),
                             (-E.a ** 2 - E.b, -x ** 2 - y), (1 - E.a // 0.3 % 4 - E.b, 1 - x // 0.3 % 4 - y),
                             ((E.a < E.b) & ~(E.b >= 3), (x < y) & ~(y >= 3)), (np.float64(2) * E.a + E.b.real, 2 * x + y)):
            np.testing.assert_array_equal(trident.NumExpr(made)(x, y), wanted, str(made))
        self.assertRaises(TypeError, bool, E.a)
        self.assertRaises(TypeError, lambda: E.a + "1")

    def test_reductions_of_numpy_at_the_root(self):
        x = np.random.default_rng(8).normal(size=(4, 5, 3))
        names = {"x": x, "f": x.astype("f4"), "i": (x * 9).astype("i8"), "u": (x * 9).astype("i8").astype("u1"), "mean": x}
        operands = (("x", x), ("f*2", names["f"] * 2), ("i + 1", names["i"] + 1), ("x > 0", x > 0), ("u*1", names["u"].astype("i4")))
        for name in ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "argmin", "argmax"):
            for operand, value in operands:
                if name in ("var", "std") and operand == "x > 0":
                    continue
                for axis, keepdims in ((None, False), (0, False), (2, True), (None, True), (-1, False)):
                    if axis == -1 and name in ("sum", "prod", "min", "max"):
                        continue
                    kept = {"dtype": value.dtype if value.dtype != bool else "i8"} if name in ("sum", "prod") else {}
                    wanted = getattr(np, name)(value, axis=axis, keepdims=keepdims, **kept)
                    got = trident.evaluate(f"{name}({operand}, axis={axis}, keepdims={keepdims})", names, {})
                    self.assertEqual((wanted.dtype, wanted.shape), (got.dtype, got.shape), (name, operand, axis))
                    np.testing.assert_allclose(got, wanted, rtol=1e-5 if "f" in operand else 1e-12, err_msg=name)
        np.testing.assert_array_equal(trident.evaluate("mean*2", names, {}), x * 2)  # a variable
        for text in ("mean(x) + 1", "sum(mean(x))", "any(x, keepdims=1)", "var(x, foo=1)", "std(x, axis=7)"):
            self.assertRaises((RuntimeError, TypeError, ValueError), trident.evaluate, text, names, {})

    def test_truths_and_means_inside_the_kernel(self):
        """Those over all elements, of corner values, layouts and lengths across chunks; of a literal, of a kernel's chain."""
        rng = np.random.default_rng(3)
        arrays = [rng.normal(size=(5, 7)) * 3, np.asfortranarray(rng.normal(size=(9, 4))), rng.normal(size=60)[::-3], np.zeros((3, 5000)),
                  np.array(2.0), np.array(0.0), np.array([0, np.nan, 0]), np.array([0, -0.0, 5e-324]), np.full(3, -np.inf), np.ones(9000)]
        arrays[3][1, 77] = -1
        for dtype in ("f8", "f4", "i4", "i8", "?", "u1", "i2"):
            for x in (a.astype(dtype) for a in arrays if dtype[0] == "f" or np.isfinite(a).all()):
                for text, wanted in (("any(x)", np.any(x)), ("all(x)", np.all(x)), ("any(x > 2)", np.any(x > 2)), ("all(x <= 2)", np.all(x <= 2)),
                                     ("mean(x)", np.mean(x)), ("mean(x > 0)", np.mean(x > 0))):
                    with self.subTest(text, dtype=dtype, shape=x.shape):
                        for _ in range(3):
                            got = trident.evaluate(text, {"x": x}, {})
                            self.assertEqual((np.asarray(wanted).dtype, ()), (got.dtype, got.shape))
                            near = 0 if text != "mean(x)" else 1e-6 if dtype == "f4" else 1e-13
                            np.testing.assert_allclose(got, wanted, rtol=near, atol=near)
        for text, wanted in (("any(x)", False), ("all(x)", True), ("mean(x)", np.nan)):
            np.testing.assert_array_equal(trident.evaluate(text, {"x": np.empty(0)}, {}), wanted)
        for text, wanted in (("any(3)", True), ("all(0.0)", False), ("mean(3)", 3.0)):
            got = trident.evaluate(text, {}, {})
            self.assertEqual((np.asarray(wanted).dtype, wanted), (got.dtype, got[()]))
        long = "+".join(f"x*{i}" for i in range(1, 3000))
        x = np.arange(6).astype("i8")
        self.assertEqual((np.dtype("f8"), 2999 * 1500 * 2.5), (trident.evaluate(f"mean({long})", {"x": x}, {}).dtype,
                                                               trident.evaluate(f"mean({long})", {"x": x}, {})[()]))
        self.assertIs(np.True_, trident.evaluate(f"any({long})", {"x": x}, {})[()])

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
            self.assertRaises((TypeError, ValueError), trident.evaluate, text, {"a": a})


if __name__ == "__main__":
    unittest.main()
