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
        w = x + 0j
        for text, says in (("+".join(["x"] * 9000) + "+'a'", "3,000 operations"),
                           ("~" * 9000 + "x y", "3,000 operations"),
                           ("+".join(["w"] * 9000), "numexpr.*divide it")):
            with self.subTest(text[:9]), self.assertRaisesRegex(ValueError, says):
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
