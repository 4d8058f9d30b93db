"""re_evaluate() with operands of other types than evaluate() had, against numexpr's re_evaluate() (values, types or the error),
and against NumPy: no value changes silently."""
import os
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numexpr  # noqa: E402
import numpy as np  # noqa: E402

import trident  # noqa: E402

DTYPES = "? i1 u1 i2 u2 i4 u4 i8 f2 f4 f8 >i2 >i4 >i8 >f4 >f8 c8 c16 S3 S5 O M8[s] m8[s] U2".split()
UNSIGNED = ["u8", "g"]  # numexpr 2.8 takes neither under "safe"; Trident takes the same type again, and refuses to lose values
X = np.array([1, 2.5, -3], "f4")
NUMBERS = [True, 2, -1, 2.5, 2**40, np.int32(7), np.uint8(200), np.float32(0.5), np.float64(0.1), 1e300, np.int16(-3), 2j]


def values(dtype):
    given = [1, 0, 1] if dtype == "?" else ["ab", "c", "abc"] if dtype[0] in "SU" else [1, 100, 3]
    return np.array(given, "U2" if dtype == "U2" else dtype)


def operands():
    return [values(d) for d in DTYPES] + [np.array([200, 300, -1], "i2"), np.array([70000, 1, -1], "i4"), np.array([.5, 1.9, -3.7]),
                                          np.array([2**40, 1, 2]), *NUMBERS, np.zeros(0, "u1"), np.ones((2, 3), "f4").T]


def outcome(package, text, first, second, **kwargs):
    """The second result, or the type of its error; None where the package refuses the first call."""
    try:
        package.evaluate(text, {"a": first, "x": X}, {}, **kwargs)
    except Exception:
        return None
    try:
        again = package.re_evaluate({"a": second, "x": X})
    except (TypeError, ValueError, NotImplementedError, RuntimeError) as error:
        return type(error)
    return again if isinstance(again, tuple) else (again,)


def expected(texts, first, second):
    got = [outcome(numexpr, text, first, second, casting="safe") for text in texts]
    return None if None in map(type_or_none, got) else got[0] if isinstance(got[0], type) else tuple(g[0] for g in got)


def type_or_none(value):
    return None if value is None else type(value)


class OtherTypes(unittest.TestCase):
    def compare(self, texts, firsts, seconds, **kwargs):
        whole, answers, refusals = texts[0] if len(texts) == 1 else f"({', '.join(texts)})", 0, 0
        for first in firsts:
            for second in seconds:
                if np.asarray(first).dtype.kind == "S" and (texts != ["a == a"] or np.asarray(second).dtype.kind != "S"):
                    continue  # numexpr 2.8 reads numbers as text there, and may write beyond its memory
                if np.size(second) == 0 and "sum" in whole:
                    continue  # numexpr's sum of nothing is an empty array
                wanted, got = expected(texts, first, second), outcome(trident, whole, first, second, **kwargs)
                with self.subTest(whole, first=repr(first), second=repr(second), wanted=wanted, got=got):
                    if wanted is None:
                        continue
                    if isinstance(wanted, type):
                        refusals += 1
                        self.assertIs(TypeError, got)
                        continue
                    answers += 1
                    self.assertEqual([(w.dtype, w.shape) for w in wanted], [(g.dtype, g.shape) for g in got])
                    for w, g in zip(wanted, got):
                        np.testing.assert_array_equal(w, g)
        self.assertGreater(min(answers, refusals), 20)

    def test_one_expression(self):
        for text in ("a*2 + 1", "sum(a)", "a"):
            self.compare([text], operands(), operands())

    def test_several_expressions(self):
        self.compare(["a + 1", "a*2"], operands(), operands())
        self.compare(["a + 1", "sum(a)"], operands(), operands())

    def test_numbers_and_arrays_beside_an_array(self):
        given = [*NUMBERS, *map(values, "? u1 i2 u4 i8 f4 f8 >f8 c16 O".split())]
        for texts in (["a*x + 1"], ["max(a*x)"], ["a + x", "a*2"]):
            self.compare(texts, given, given)

    def test_booleans_and_strings(self):
        self.compare(["a == a"], operands(), operands())

    def test_numbers_are_no_strings(self):
        for second in DTYPES:
            got = outcome(trident, "a == a", values("S3"), values(second))
            with self.subTest(second=second, got=got):
                self.assertTrue(got is TypeError if second[0] != "S" else got[0].all())

    def test_the_rule_that_the_caller_gives_casts_no_more(self):
        self.compare(["a*2 + 1"], operands(), operands(), casting="same_kind")
        self.compare(["a*2 + 1", "a"], operands(), operands(), casting="safe")

    def test_types_that_numexpr_has_not(self):
        for first in UNSIGNED:
            for second in DTYPES[:11] + UNSIGNED:
                kind = np.dtype("i8" if first == "u8" else "f8")
                for text, count in (("a*2", 1), ("(a*2, a*2)", 2)):
                    got = outcome(trident, text, values(first), values(second))
                    with self.subTest(text, first=first, second=second, got=got):
                        if first != second and not np.can_cast(np.dtype(second), kind):
                            self.assertIs(TypeError, got)
                            continue
                        for g in got:
                            self.assertEqual(kind, g.dtype)
                            np.testing.assert_array_equal(values(second).astype(kind) * 2, g)
                        self.assertEqual(count, len(got))

    def test_memory_of_another_size_is_not_read_as_the_first(self):
        trident.evaluate("(a+1, a*2)", {"a": np.ones(1 << 22)})
        for dtype in ("u1", "f4"):
            for got, wanted in zip(trident.re_evaluate({"a": np.ones(1 << 22, dtype)}), (2.0, 2.0)):
                self.assertTrue((got == wanted).all() and got.dtype == np.float64)

    def test_unsafe_casts_because_the_caller_says_so(self):
        for text in ("a + 1", "(a + 1, a)"):
            trident.evaluate(text, {"a": np.array([1, 2, 3])}, casting="unsafe")
            got = trident.re_evaluate({"a": np.array([.5, 1.9, -3.7])})
            np.testing.assert_array_equal([1, 2, -2], got[0] if isinstance(got, tuple) else got)

    def test_the_error_names_the_variable(self):
        trident.evaluate("apples + pears", {"apples": np.arange(3), "pears": 2})
        np.testing.assert_array_equal([3, 5, 7], trident.re_evaluate({"apples": np.arange(3), "pears": np.array([3, 4, 5])}))
        self.assertRaisesRegex(TypeError, "'pears' is float64", trident.re_evaluate, {"apples": np.arange(3), "pears": 2.5})

    def test_out_is_written_again(self):
        out = np.zeros(3)
        trident.evaluate("a*2", {"a": np.ones(3)}, out=out)
        self.assertIs(out, trident.re_evaluate({"a": np.array([1, 2, 3], "i4")}))
        np.testing.assert_array_equal([2, 4, 6], out)


if __name__ == "__main__":
    unittest.main()
