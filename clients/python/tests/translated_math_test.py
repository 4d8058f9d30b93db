"""Functions of the module math in translated functions. Oracle: Python's own answers, failures included.

The C library and we round some functions each in their own way: the bound in units of the last place is the sum of our
greatest error (jit/kir/math/errors.def) and of that which the C library's manual gives.
"""
import math
import os
import random
import re
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np  # noqa: E402
from math import pi, sqrt as root  # noqa: E402

import trident  # noqa: E402
from translated_test import defined  # noqa: E402

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
_ERRORS_OF_C = {"cbrt": 4, "sinh": 2, "cosh": 2, "tanh": 2, "asinh": 2, "acosh": 2, "atanh": 2, "log10": 2}  # others: 1
_CORNERS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, -2.5, 3.0, 20.0, 5e-324, 1e-310, -1e-310, 709.5,
            1023.5, -745.5, 1e15 + 0.5, 2.0**62, 2.0**63, -2.0**63, -2.0**63 - 2048, 1e300, -1e300, math.nextafter(1, 2),
            math.nextafter(1, 0), math.inf, -math.inf, math.nan]
_NUMBERS = [0, 1, -1, 2, 3, 12, -18, 20, 21, 360, 999_999_937]


def words(path):
    with open(os.path.join(_ROOT, path)) as file:
        return re.findall(r'^X\((?:\w+, +)?"(\w+)"', file.read(), re.M)


def language():
    """The names of the language that Python's module math has, too."""
    shipped = words("jit/function/formulas.def") + words("jit/function/intrinsics.def") + list(trident.library())
    return sorted({name for name in shipped if hasattr(math, name)} | {"isinf", "fabs"})


def bounds():
    with open(os.path.join(_ROOT, "jit/kir/math/errors.def")) as file:
        rows = re.findall(r"^X\((\w+), +[\d.]+, +[\d.]+, +([\d.]+),", file.read(), re.M)
    return {name.lower(): float(ours) + _ERRORS_OF_C.get(name.lower(), 1) for name, ours in rows
            if name not in ("Fmod", "Round", "Rsqrt")}


def outcome(call, arguments):
    """The result, or the failure and its line."""
    try:
        return call(*arguments)
    except trident.FunctionError as error:
        assert error.failure in ("division", "domain", "overflow"), error
        return next(kind for kind in (ZeroDivisionError, OverflowError, ValueError) if isinstance(error, kind)), error.line
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        return type(error), error.__traceback__.tb_next.tb_lineno


def is_near(got, expected, ulps):
    if type(got) is not type(expected):
        return False
    if not isinstance(expected, float) or not math.isfinite(expected) or not math.isfinite(got):
        return got == expected or got != got and expected != expected
    if expected == 0:
        return got == 0 and math.copysign(1, got) == math.copysign(1, expected)
    return abs(got - expected) <= ulps * math.ulp(expected)


def logarithm_of_base(x: float, b: float) -> float:
    return math.log(x, b)


def quotient(x: float, y: float) -> float:
    return (math.sqrt(x) / math.log(y) if x > -2.0
            else math.exp(y)
            / math.atanh(x))


def first_failure(x: float, y: float) -> bool:
    return math.exp(x) < 3.0 and math.sqrt(
        y) > 1.0 or 1.0 / x < math.log(y)


def between(x: float, y: float) -> bool:
    return math.sqrt(
        x) < y < math.exp(
            y) <= math.acos(y)


def rounds(x: float, y: float) -> int:
    n = 0
    while math.log(x) > 0.0 and n < 50:
        x /= 2.0
        n += 1
    return n + int(y)


def renamed(x: float, y: float) -> float:
    return root(x) + math.tau * pi + abs(y) + float(int(x)) + (math.inf if y > x else -math.inf)


def clipped(x: float, y: float) -> float:
    return min(max(x, -1.5), y) + max(x + y, math.fabs(x))


def powers(x: float, y: float) -> float:
    return x ** 2 - y ** -1 if -3 < x <= 800 else x ** 3 * y ** 0


def powers_of_two(n: int, m: int) -> int:
    return n ** 2 + (-m) ** 3 * n ** 0


def halves(x: float, y: float) -> int:
    return round(x) - round(y) * round(3)


def of_whole_numbers(n: int, is_odd: bool) -> float:
    return math.sin(n) + math.hypot(n, is_odd) + math.fabs(n) + math.exp(is_odd)


class TranslatedMathTest(unittest.TestCase):
    def compare(self, plain, cases, ulps=0.0):
        made = trident.function(plain)
        for tier in (0, 1):
            if tier:
                made.wait(2, 5000)
            for case in cases:
                expected, got = outcome(plain, case), outcome(made, case)
                self.assertTrue(is_near(got, expected, ulps), f"{plain.__name__}{case} tier {tier}: {got}, Python {expected}\n{made.text}")

    def test_each_function_that_the_language_has(self):
        names, inexact = language(), bounds()
        self.assertGreater(len(names), 35)
        for name in names:
            count = 2 if name in ("atan2", "copysign", "fmod", "hypot", "pow", "remainder", "gcd", "lcm") else 1
            is_whole = name in ("gcd", "lcm", "factorial", "isqrt")
            kind = "int" if is_whole or name in ("floor", "ceil", "trunc") else "bool" if name.startswith("is") else "float"
            parameters = [f"{p}: {'int' if is_whole else 'float'}" for p in "xy"[:count]]
            plain = defined(f"def plain({', '.join(parameters)}) -> {kind}:\n    return math.{name}({', '.join('xy'[:count])})\n",
                            {"math": math})
            self.compare(plain, self.cases(name, count, is_whole), inexact.get(name, 0.0))

    def cases(self, name, count, is_whole):
        rng = random.Random(name)
        if is_whole:
            values = _NUMBERS + [rng.randrange(10**9) for _ in range(20)]
            if name == "factorial":
                values = [v for v in values if v <= 20]
        else:
            values = _CORNERS + [math.ldexp(rng.uniform(-1, 1), rng.randint(-8, 10)) for _ in range(200)]
        if count == 1:
            return [(v,) for v in values if name not in ("floor", "ceil", "trunc") or not 2.0**63 <= abs(v) < math.inf or v == -2.0**63]
        corners = _NUMBERS if is_whole else _CORNERS
        return [(a, b) for a in corners for b in corners] + list(zip(values, reversed(values)))

    def test_results_beyond_64_bits_fail(self):
        for name in ("floor", "ceil", "trunc"):
            made = trident.function(defined(f"def plain(x: float) -> int:\n    return math.{name}(x)\n", {"math": math}))
            for x in (2.0**63, -2.0**63 - 2048, 1e300):
                with self.assertRaises(OverflowError) as raised:
                    made(x)
                self.assertEqual((raised.exception.failure, raised.exception.line), ("overflow", 2))
        with self.assertRaisesRegex(OverflowError, r"drawn_\d+\.py:2: plain: a math range error"):
            made(1e300)
        with self.assertRaises(OverflowError):
            trident.function(defined("def plain(n: int) -> int:\n    return math.factorial(n)\n", {"math": math}))(21)

    def test_roundings_of_whole_numbers_are_themselves(self):
        for name in ("floor", "ceil", "trunc"):
            for kind, values in (("int", (0, -7, 2**53 + 1, -2**53 - 1, 2**63 - 1, -2**63)), ("bool", (False, True))):
                plain = defined(f"def plain(n: {kind}) -> int:\n    return math.{name}(n)\n", {"math": math})
                self.compare(plain, [(value,) for value in values])

    def test_failures_come_in_pythons_order_on_its_lines(self):
        values = [-math.inf, -800.0, -2.0, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0, 3.7, 800.0, math.inf]
        pairs = [(x, y) for x in values for y in values]
        for plain in (logarithm_of_base, quotient, first_failure, between, rounds):
            self.compare(plain, pairs, 8.0)

    def test_other_names_and_types(self):
        self.compare(renamed, [(1.0, 2.0), (2.5, -2.0), (-1.0, 0.0), (0.0, 0.0)], 8.0)
        self.compare(of_whole_numbers, [(0, True), (-7, False), (10**6, True)], 8.0)

    def test_least_greatest_powers_and_roundings(self):
        pairs = [(x, y) for x in _CORNERS for y in _CORNERS]
        self.compare(clipped, pairs)
        self.compare(powers, pairs, 8.0)
        self.compare(powers_of_two, [(n, m) for n in (-5, 0, 7, 10**6) for m in (-3, 0, 10**5)])
        self.compare(halves, [(x, y) for x, y in pairs if not max(abs(x), abs(y)) >= 2.0**60])

    def test_a_parameter_of_a_functions_name(self):
        plain = defined("def plain(sin: float, n: int) -> float:\n    for gcd in range(n):\n        sin = math.sin(sin) + math.gcd(gcd, 6)\n"
                        "    return sin\n", {"math": math})
        self.compare(plain, [(0.5, 3), (2.0, 0)], 8.0)

    def test_what_is_another_or_absent_is_refused(self):
        other = types.SimpleNamespace(sin=math.cos)
        for text, names, what in (("np.sin(x)", {"np": np}, "'np.sin' cannot be translated: use math.sin"),
                                  ("math.sin(x)", {"math": other}, "'math.sin' cannot be translated: use math.sin"),
                                  ("math.gamma(x)", {"math": math}, "'math.gamma' cannot be translated: use .* functions of math"),
                                  ("math.hypot(x, x, x)", {"math": math}, r"hypot takes two numbers: hypot\(a, hypot\(b, c\)\)"),
                                  ("math.sin()", {"math": math}, "sin takes one value"),
                                  ("math.gcd(x, 2)", {"math": math}, "a value of type float where int is known"),
                                  ("math.far", {"math": math}, "the name 'math.far'"),
                                  ("x ** 2.5", {"math": math}, r"use math.pow\(a, b\)"),
                                  ("1.0 if int(x) < x else 0.0", {}, r"an int compared .* write float\(n\)"),
                                  ("max(x, 0)", {}, "a value of type int where float .* write 1.0 for 1"),
                                  ("[1, 2][0]", {}, "an element of")):
            with self.assertRaisesRegex(trident.TranslationError, what, msg=text):
                trident.function(defined(f"def plain(x: float) -> float:\n    return {text}\n", names))


class DrawnReals:
    """A function of drawn expressions whose parts all round as Python's do."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def text(self):
        lines = ["def plain(x: float, y: float, n: int) -> float:", f"    a = {self.real(2)}", f"    m = {self.whole(2)}"]
        for _ in range(self.rng.randint(1, 3)):
            lines += self.rng.choice([
                [f"    a = {self.real(3)}"], [f"    m = {self.whole(2)} % 64"], [f"    if {self.truth(2)}:", f"        a -= {self.real(2)}"],
                ["    for i in range(m % 4):", f"        a = {self.real(2)} - float(i)"],
                [f"    while {self.truth(1)} and m > 0:", "        m = m // 2", f"        a = {self.real(1)}"]])
        return "\n".join([*lines, f"    return {self.real(3)}"]) + "\n"

    def real(self, depth):
        if depth == 0:
            return self.rng.choice(["x", "y", "a", "0.5", "-3.0", "1e300", "math.pi", "float(n)"])
        a, b = self.real(depth - 1), self.real(depth - 1)
        return self.rng.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"math.sqrt({a})", f"math.fabs({a})", f"abs({a})",
            f"math.copysign({a}, {self.rng.choice(['x', 'y', '-1.0'])})", f"math.fmod({a}, {b})", f"math.remainder({a}, {b})",
            f"min({a}, {b})", f"max({a}, {b})", f"({a} if {self.truth(depth - 1)} else {b})", f"float({self.whole(depth - 1)})",
            f"({a}) ** 2", f"-{a}"])

    def whole(self, depth):
        if depth == 0:
            return self.rng.choice(["n", "7", "-2"])
        a = f"min(max({self.real(depth - 1)}, -1e15), 1e15)"
        return self.rng.choice([f"math.floor({a})", f"math.ceil({a})", f"math.trunc({a})", f"int({a})", f"round({a})",
                                f"(n // {self.whole(depth - 1)})", f"int({self.truth(depth - 1)})",
                                f"({self.whole(depth - 1)} if {self.truth(depth - 1)} else {self.whole(depth - 1)})"])

    def truth(self, depth):
        a, b = self.real(depth), self.real(max(depth - 1, 0))
        return self.rng.choice([f"{a} < {b}", f"0 <= {a} < {b}", f"math.isnan({a})", f"({a} > 1 or {b} != {a})",
                                f"not math.isfinite({b})", f"(x < {a} and {b} > 2)"])


class DrawnRealsTest(unittest.TestCase):
    def test_drawn_functions_of_reals(self):
        translated, values, failed = 0, [-2.5, -0.0, 0.0, 0.75, 3.0, 1e200, math.inf, math.nan], 0
        for seed in range(300):
            text = DrawnReals(seed).text().replace("    a = ", "    a = 1.0\n    a = ", 1)
            plain = defined(text, {"math": math})
            try:
                made = trident.function(plain)
            except trident.TranslationError as error:
                self.assertRegex(str(error), r"drawn_\d+\.py:\d+: plain: .*translated: .", text)
                continue
            translated += 1
            if seed % 10 == 0:
                made.wait(2, 5000)
            rng = random.Random(seed)
            for _ in range(20):
                case = rng.choice(values), rng.choice(values), rng.randint(-5, 5)
                expected, got = outcome(plain, case), outcome(made, case)
                failed += isinstance(expected, tuple)
                self.assertTrue(is_near(got, expected, 0), f"{seed}: {case}: {got}, Python {expected}\n{text}\n{made.text}")
        self.assertGreater(translated, 100)
        self.assertGreater(failed, 300)


if __name__ == "__main__":
    unittest.main()
