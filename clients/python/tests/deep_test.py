"""Texts that chain or nest deeper than Python's own parser goes. NumPy is the oracle of the values, Python's parser that of
the trees of random texts."""
import ast
import os
import sys
import time
import unittest
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _deep  # noqa: E402


def random_text(random, depth):
    pick = lambda *items: str(random.choice(items))  # noqa: E731
    kind = random.random()
    if depth == 0 or kind < 0.15:
        return pick("a", "x1", "1", "2.5", "1e5", "0x1F", "1_000", ".5", "3.", "2j", "True", "None", "\u03bc")
    part = random_text(random, depth - 1)
    if kind < 0.6:
        sign = pick(*"+ - * / // % @ & | ^ << >> ** < <= > >= == !=".split())
        return part + pick("", " ") + sign + pick("", " ") + random_text(random, depth - 1)
    if kind < 0.75:
        return pick("+", "-", "~") + part
    if kind < 0.9:
        return "(" + pick("", " ", "\n") + part + ")"
    if kind < 0.96:
        return f"sin({part}, {random_text(random, depth - 1)}{pick('', ',', ', axis=1')})"
    if kind < 0.98:
        return f"({part}, {random_text(random, depth - 1)}{pick('', ',')})"
    return f"({part})" + pick(".real", ".imag", "(x)", "()")


class Deep(unittest.TestCase):
    def test_texts_deeper_than_pythons_parser_goes(self):
        """Python refuses them with a RecursionError or a MemoryError."""
        x, i = np.arange(1.0, 4), np.arange(3)
        for text, wanted in (("(" * 5000 + "x" + ")" * 5000, x), ("+".join(["x"] * 9000), x * 9000), ("-" * 9001 + "x", -x),
                             ("+".join(["x"] * 151), x * 151), ("~" * 3001 + "i", ~i), ("*".join(["1"] * 9000) + "*x", x),
                             ("x" + "-x" * 4000 + " < -x**2 * 400", x - 4000 * x < -x**2 * 400),
                             ("abs(" * 3000 + "x" + ")" * 3000, x),
                             ("i" + "|(i << 2 & i ^ 1)" * 3000, i | (i << 2 & i ^ 1)),
                             ("sum(" + "+".join(["x"] * 5000) + ", axis=0)", 30000.0)):
            with self.subTest(text[:9]):
                np.testing.assert_array_equal(wanted, trident.evaluate(text))
        long = "x" + "+x" * 5999
        for text, wanted in ((f"({long}, x)", (x * 6000, x)), (f"{long}, x", (x * 6000, x)), (f"({long},)", (x * 6000,)),
                             (f"x, {long},", (x, x * 6000)), (f"(sum({long}), where(x > 1, {long}, 0))", (36000.0, x * 6000 * (x > 1)))):
            with self.subTest(text[:9]):
                got = trident.evaluate(text)
                self.assertEqual(len(wanted), len(got))
                for w, r in zip(wanted, got):
                    np.testing.assert_array_equal(w, r)
        w = x + 0j
        for text, says in (("+".join(["x"] * 9000) + "+'a'", "3,000 operations"),
                           ("-~" * 4500 + "x y", "3,000 operations"),
                           ("+".join(["w"] * 9000), "numexpr.*divide it"), (f"({long}, (x, x))", "tuple inside")):
            with self.subTest(text[:9]), self.assertRaisesRegex((ValueError, TypeError), says):
                trident.evaluate(text)

    def test_long_texts_take_linear_time(self):
        """Four times the text, which would take sixteen times as long if the time grew with its square."""
        a = np.arange(3.0)

        def seconds(text):
            start = time.process_time()
            trident.evaluate(text, {"a": a}, {})
            return time.process_time() - start

        for make in (lambda n: "-" * n + "a", lambda n: "-" * n + "1", lambda n: "1+" * n + "1", lambda n: "(" * n + "a" + ")" * n):
            short, long = (min(seconds(" " * i + make(n)) for i in range(2)) for n in (8000, 32000))
            self.assertLess(long, 10 * short + 0.1, make(3))

    def test_100000s_of_terms(self):
        """Linear time, and little of it: the rows that take 1 s on a slow machine took 11 and 19 s."""
        x, i = np.arange(3.0), np.arange(3)

        def seconds(text, wanted):
            start = time.process_time()
            got = trident.evaluate(text, {"x": x, "i": i}, {})
            took = time.process_time() - start
            np.testing.assert_array_equal(wanted, got)
            return took

        for make, wanted in ((lambda n: "-" * n + "x", lambda n: x), (lambda n: "x" + "+x" * n, lambda n: x * (n + 1)),
                             (lambda n: "i" + " - i" * n, lambda n: i * (1 - n)),
                             (lambda n: "sum(x" + "+x" * n + ")", lambda n: 3.0 * (n + 1)),
                             (lambda n: "max(x" + "+x" * n + ", axis=0)", lambda n: 2.0 * (n + 1)), (lambda n: "~" * n + "i", lambda n: i)):
            short, long = (seconds(make(n), wanted(n)) for n in (50_000, 200_000))
            self.assertLess(long, 10 * short + 1, make(3))
            self.assertLess(long, 5, make(3))

    def test_what_one_sign_may_not_do_many_may_not(self):
        x, b = np.arange(3.0), np.array([True, False, True])
        for sign, name in (("~", "x"), ("-", "b")):
            with self.subTest(sign):
                refusals = []
                for n in (1, 50_000, 50_001):
                    with self.assertRaises(Exception) as caught:
                        trident.evaluate(sign * n + name, {"x": x, "b": b}, {})
                    refusals.append((type(caught.exception), str(caught.exception)))
                self.assertEqual(refusals[:1] * 3, refusals)

    def test_rows_of_signs(self):
        """Python, which takes some hundred of them, is the oracle."""
        random = np.random.default_rng(6)
        x, i = np.array([1.5, -0.0, 0.0, -7e300]), np.array([3, -4, 0, 2**31 - 1], np.int32)
        for _ in range(60):
            signs = "".join(str(random.choice(["-", "+", "~"])) * int(random.integers(1, 90)) for _ in range(3))
            name = "i" if "~" in signs else "x"
            text = str(random.choice(["", f"{name} -", "3 *", f"{name} - 2 +"])) + signs.replace("-", str(random.choice(["-", "- "])))
            wanted = eval(text + name, {"x": x, "i": i})
            got = trident.evaluate(text + name, {"x": x, "i": i}, {})
            np.testing.assert_array_equal(wanted, got, text)
            np.testing.assert_array_equal(np.signbit(wanted), np.signbit(got), text)

    def test_chains_of_one_operator(self):
        """NumPy, an operator at a time, is the oracle. Terms of other types come late, so that the value changes its type."""
        random = np.random.default_rng(7)
        names = {"x": np.array([1.5, -2, 0.25]), "i": np.array([3, -4, 5], np.int32), "s": np.array(0.5, np.float32),
                 "j": np.array([9, 2**40, -7]), "b": np.array([True, False, True])}
        for signs, early, late in (("+-", "i j 2", "x s i*j -x*2 sin(x) (i+x)/2"), ("*/", "s 0.5 -x", "x (s+1) i"),
                                   ("%", "x*1e9 j", "(x*x+1e3) 7.5"), ("&", "i (i|3)", "j ~i"), ("|", "b (i>3)", "(x<1) ~b"),
                                   ("^", "i -i", "j (j*3)"), ("-", "1 2.5", "x i")):
            terms = [str(random.choice(early.split() if k < 5000 else late.split())) for k in range(8000)]
            chosen = [str(random.choice(list(signs))) for _ in terms[1:]]
            text = terms[0] + "".join(f" {sign} {term}" for sign, term in zip(chosen, terms[1:]))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = eval(terms[0], {"sin": np.sin}, names)
                for sign, term in zip(chosen, terms[1:]):
                    wanted = eval(f"wanted {sign} ({term})", {"sin": np.sin}, {**names, "wanted": wanted})
            got = trident.evaluate(text, names, {})
            with self.subTest(text[:20]):
                if "sin" in late:  # the last bit of sin may be another
                    np.testing.assert_allclose(wanted, got, rtol=1e-9)
                else:
                    np.testing.assert_array_equal(wanted, got)

    def test_the_parser_of_deep_texts(self):
        """It makes Python's tree of whatever it takes, which is all of a random text but for strings and the like."""
        random, taken = np.random.default_rng(3), 0
        for _ in range(3000):
            text = random_text(random, int(random.integers(0, 6)))
            if random.random() < 0.3:
                at = int(random.integers(0, len(text)))
                text = text[:at] + str(random.choice(list("(),*=. \n1ae<#'") + ["not ", "if ", ":="])) + text[at + 1:]
            text = text.strip()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = ast.dump(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    wanted = "an error"
                try:
                    got = ast.dump(_deep.parse(text))
                    taken += 1
                except _deep.Unread:
                    continue
            self.assertEqual(wanted, got, text)
        self.assertGreater(taken, 2000)


if __name__ == "__main__":
    unittest.main()
