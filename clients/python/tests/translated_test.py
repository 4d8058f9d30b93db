"""Plain Python functions in which a translation can go wrong without an error: names, ranges, the order of evaluation.
Oracle: Python itself, which runs the same plain functions. What is not translated is refused, by line and cure."""
import enum
import functools
import os
import random
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np  # noqa: E402

import trident  # noqa: E402

POP = "fn pop(q: inout [i64]) -> i64 {\n  q[0] = q[0] + 1;\n  return q[0];\n}\n"
pop = trident.function(POP)
K, WIDE, c = 100, 5, 41
MOST, LEAST = 2**63 - 1, -2**63


def py_pop(q):
    q[0] += 1
    return q[0]


def in_python(plain):
    """The function with the Python twin of `pop`, on lists."""
    names = {**plain.__globals__, "pop": py_pop}
    return types.FunctionType(plain.__code__, names, plain.__name__, None, plain.__closure__)


def outcome(call, arguments):
    """The result with its type, and the arrays behind it; or the failure and the line of the file where it arose."""
    try:
        return type(result := call(*arguments)), result, [list(a) for a in arguments if not isinstance(a, (int, float))]
    except trident.FunctionError as error:
        kinds = (ZeroDivisionError, IndexError, ValueError)
        return next(kind for kind in kinds if isinstance(error, kind)), error.line
    except (ZeroDivisionError, IndexError, ValueError) as error:
        at = error.__traceback__
        while at.tb_next and at.tb_next.tb_frame.f_code.co_filename == call.__code__.co_filename:
            at = at.tb_next
        return type(error), at.tb_lineno


# ---- functions of the oracle ----
def steps_up(a: int, b: int) -> int:
    n = 0
    for i in range(a, b, 3):
        n += 1
        if n > 3:
            return i
    return -n


def steps_of_one(a: int, b: int) -> int:
    n = 0
    for i in range(a, b):
        n += 1
        if n > 3:
            return i
    return -n


def steps_down(a: int, b: int) -> int:
    n = 0
    for i in range(a, b, -1):
        n += 1
        if n > 3:
            return i
    return -n


def quotient(a: float, b: float) -> float:
    return a / b


def quotients(a: float, b: float) -> float:
    return a / (b - 1.0) if a > 0.0 else 1.0 / (a / b)


def shifted(a: int, n: int) -> int:
    return (a >> n) + (a + 1 << n) % 1000


def shifted_sometimes(a: int, n: int) -> int:
    return a >> n if a > 0 else a << n & 7


def divided_sometimes(q: list[int], n: int) -> float:
    return 6.0 / pop(q) if n > 0 else float(7 // n)


def joined(q: list[int], n: int) -> bool:
    return q[0] < n and 7 // n < pop(q) or \
        q[0] % n == pop(q) and \
        q[n] < q[pop(q)] < 8 // q[1]


def like_words(n: int) -> float:
    inf, sqrt, fn, t_1, n_, len_ = 5.0, 2, 3, 4, 7, 9
    for let in range(n):
        sqrt += let * fn + t_1
    return inf * (sqrt + n_ + len_)


def doubled(q: list[int], x: list[int]) -> int:
    x[pop(q)] += 5
    x[pop(q) - 2] //= 3
    return q[0]


def between(q: list[int]) -> bool:
    return 0 < pop(q) < 2


def between_three(q: list[int]) -> bool:
    return q[0] < pop(q) <= q[1] and 0 <= q[1] < 3


def quotient_behind(q: list[int]) -> int:
    return q[0] * 100 + pop(q) // 3 * 3 + q[0]


def rest_behind(q: list[int]) -> int:
    return q[0] * 100 + (7 % pop(q))


def least_behind(q: list[int]) -> int:
    return min(q[0], pop(q) % 4) - max(pop(q), q[0])


def value_first(q: list[int]) -> int:
    q[pop(q)] = pop(q)
    return q[1] * 10 + q[2]


def failure_first(q: list[int], i: int) -> int:
    return q[i] * 100 + 7 // q[1]


def value_fails_first(q: list[int], i: int) -> int:
    q[i] = 7 // q[1]
    return 0


def wrapped(q: list[int], i: int) -> int:
    both, last = q[0], \
        q[i]
    return both + last + \
        7 // q[
            1]


def closed_over():
    K = 5

    def closure(a: int) -> int:
        return a + K
    return closure


class Place(enum.IntEnum):
    LAST = 4


LAST, HALF, IS_ODD = Place.LAST, np.float64(0.5), True


def of_outside(x: float) -> float:
    return x * HALF + LAST + IS_ODD


def own_array(n: int) -> int:
    total = 0
    for i in range(n):
        sqrt = [0] * 4
        sqrt[i % 4] += 7
        for v in sqrt:
            total = total * 3 + v
    return total


class TranslatedTest(unittest.TestCase):
    def compare(self, plain, *cases):
        made, oracle = trident.function(plain), in_python(plain)
        for tier in (0, 1, 2):
            if tier:
                made.wait(tier, 5000)
            for case in cases:
                expected = outcome(oracle, [list(a) if isinstance(a, tuple) else a for a in case])
                got = outcome(made, [np.array(a, np.int64) if isinstance(a, tuple) else a for a in case])
                self.assertEqual(got, expected, (plain.__name__, case, tier, made.text))

    def refused(self, plain, what, cure):
        with self.assertRaises(trident.TranslationError) as raised:
            trident.function(plain)
        self.assertRegex(str(raised.exception), rf"translated_test.py:\d+: .*{what}.*{cure}")

    def test_ranges_with_steps_of_any_length(self):
        corners = (LEAST, LEAST + 1, -9 * 10**18, -5, -1, 0, 1, 2, 3, 4, 9 * 10**18, MOST - 1, MOST)
        pairs = [(a, b) for a in corners for b in corners]
        self.compare(steps_up, *pairs)
        self.compare(steps_down, *pairs)
        self.compare(steps_of_one, *pairs)

    def test_failures_are_pythons(self):
        zeros = (1.0, 0.0), (0.0, -0.0), (-1.0, 0.5), (3.0, 1.0), (0.0, 2.0), (1.0, float("inf"))
        self.compare(quotient, *zeros)
        self.compare(quotients, *zeros)
        self.compare(shifted, (1, 50), (3, -1), (-5, 3), (-1, -64), (7, 0))
        self.compare(shifted_sometimes, (1, 3), (0, 3), (1, -1), (0, -1))
        lists = ((4, 2), 0), ((4, 0), 0), ((4, 0), 5), ((4, 2), 5)
        for plain in (failure_first, value_fails_first, wrapped):
            self.compare(plain, *lists)

    def test_calls_that_write_come_once_and_in_order(self):
        for plain in (between, between_three, quotient_behind, rest_behind, least_behind, value_first):
            self.compare(plain, ((0, 0, 0, 0, 0),), ((5, 1, 2, 3, 4, 5, 6, 7, 8),), ((1, 2, 3, 4),))
        self.compare(doubled, ((0, 0), (0, 10, 20, 30)), ((1, 0), (5, 10, 20, 30)), ((7, 0), (5, 10)))

    def test_parts_that_are_not_always_evaluated(self):
        cases = [(numbers, n) for numbers in ((-1, 0), (0, 1), (3, 2), (1, 2, 0)) for n in range(4)]
        self.compare(divided_sometimes, *cases)
        self.compare(joined, *cases)

    def test_names(self):
        self.compare(like_words, (0,), (1,), (7,))
        self.compare(closed_over(), (2,))
        self.compare(own_array, (0,), (3,), (9,))
        self.assertEqual(trident.function(of_outside)(0.75), of_outside(0.75))  # a float, there one of NumPy

    def test_names_with_another_meaning_are_refused(self):
        def late(n: int) -> int:
            s = 0
            for i in range(n):
                if i > 0:
                    s += K
                K = i
            return s
        self.refused(late, "'K', which may have no value here", "give it one before")
        for name, text in (("range", "for i in range(n): n = i"), ("enumerate", "for i, v in enumerate(q): n = v"),
                           ("bytearray", "t = bytearray(3)"), ("int", "n = int(n)"), ("float", "n = 1"), ("len", "n = len(q)"),
                           ("ord", "n = ord('a')"), ("bool", "n = 1 + bool(n)"), ("bytes", "n = 1"), ("max", "n = max(n, 2)")):
            plain = defined(f"def plain(n: int, q: bytes, x: float) -> int:\n    {text}\n    return n\n", {name: lambda *_: 7})
            with self.assertRaisesRegex(trident.TranslationError, name, msg=name):
                trident.function(plain)
            defined_alone = defined(f"def plain(n: int, q: bytes, x: float) -> int:\n    {text}\n    return n\n", {})
            self.assertIsInstance(trident.function(defined_alone), trident.Function)

        wide = np.int64(WIDE)
        for held in (wide, "5", 2j, [1], np.float32(2)):
            def closure(a: int) -> int:
                return a + WIDE
            names = {**globals(), "WIDE": held}
            self.refused(types.FunctionType(closure.__code__, names, "closure", None), "'WIDE', whose value is no int", "int")

        def inner(WIDE=wide):
            def closure(a: int) -> int:
                return a + WIDE
            return closure
        self.refused(inner(), "'WIDE', whose value is no int", "int")

    def test_code_that_is_not_the_sources_is_refused(self):
        def tenfold(plain):
            @functools.wraps(plain)
            def around(a: int) -> int:
                return plain(a) * 10
            return around

        @tenfold
        def decorated(a: int) -> int:
            return a
        self.refused(decorated, "a decorator wraps it", "below")

        def other(a: int) -> int:
            return a + 1
        other.__code__ = other.__code__.replace(co_consts=(None, 2))
        self.refused(other, "its code is not that of its source", "load the module again")

    def test_a_source_that_has_changed_since_is_refused(self):
        plain = "def plain(a: int, b: int) -> int:\n    c = 1\n    return a + b * c\n"
        closed = "def outer(K):\n    def plain(a: int, b: int) -> int:\n        return a + b * K\n    return plain\nplain = outer(2)\n"
        before = "import math\n\nlater = 1\n"
        sine = "import math\ndef plain(a: float, b: float) -> float:\n    return math.floor(a) + math.sqrt(b)\n"
        for text, old, new in ((plain, "a + b", "a - b"), (sine, "math.sqrt", "math.fabs"), (plain, "a + b", "b + a"), (plain, "c = 1", "c = True"),
                               (plain, "-> int", "-> float"), (plain, "a: int", "a: 'u8'"), (plain, "def plain", "class Plain: #"),
                               (closed, "a + b", "a - b"), (closed, "b * K", "K * b"), (plain, "    c = 1\n", "    for c in (1,): pass\n")):
            for start in ("", before, "from __future__ import annotations\n"):
                function = defined(start + text, {})
                self.assertEqual(trident.function(function)(5, 4), function(5, 4), text)
                with open(function.__code__.co_filename, "w") as file:
                    file.write(start + text.replace(old, new) + "# changed\n")
                self.assertRaisesRegex(trident.TranslationError, "the source file has changed since the module was loaded",
                                       trident.function, function)

    def test_what_python_refuses_is_refused(self):
        def based(n: int) -> int:
            return int(n, 10)

        def several(n: int) -> int:
            return abs(n, 3)

        def none() -> int:
            return int()

        def three(q: list[int]) -> int:
            s = 0
            for i, v, z in enumerate(q):
                s += v
            return s

        def started(q: list[int]) -> int:
            s = 0
            for i, v in enumerate(q, start=1):
                s += i * v
            return s

        def stored(q: list[int]) -> int:
            for q[0], v in enumerate(q):
                return v
            return 0

        def maybe(q: list[int]) -> int:
            if len(q) > 1:
                t = [0] * 3
            else:
                return 0
            return t[0]

        def unknown(q: list[int]) -> int:
            return half(5)

        def method(n: int) -> int:
            return n.bit_length()

        def attribute(n: int) -> int:
            n.real += 3
            return n

        def sqrt(n: int) -> int:
            return n

        def ended(n: int) -> int:
            if n > 1:
                return n

        for plain, what, cure in ((based, "int\\(n, 10\\)", "one value"), (several, "abs\\(n, 3\\)", "one value"),
                                  (none, "int\\(\\)", "one value"), (three, "this loop", "for i, value in"),
                                  (started, "this loop", "for i, value in"), (stored, "this loop", "for i, value in"),
                                  (maybe, "'t', which may not be made here", "before"), (unknown, "call of 'half'", "use len"),
                                  (method, "call of 'n.bit_length'", "use len"), (attribute, "an assignment to attribute", "a name"),
                                  (sqrt, "", "the language has a function of this name"),
                                  (ended, "", "the end is reached without a return")):
            self.refused(plain, what, cure)

    def test_texts_of_several_lines_in_nested_functions(self):
        @trident.function
        def nested(a: int) -> int:
            """Text
that is not indented.
"""
            return 7 // a
        first = nested.__wrapped__.__code__.co_firstlineno
        self.assertEqual(nested(2), 3)
        with self.assertRaises(ZeroDivisionError) as raised:
            nested(0)
        self.assertEqual(raised.exception.line, first + 5)

    def test_a_budget_has_64_bits(self):
        count = trident.function("fn f(n: i64) -> i64 {\n  let s = 0;\n  for i in 0..n {\n    s = s + i;\n  }\n  return s;\n}\n")
        self.assertEqual(count(10, budget=2**64 - 1), 45)
        self.assertEqual(count(10, budget=2**32), 45)
        with self.assertRaises(ValueError):
            count(10, budget=2**64)


_FOLDER = tempfile.TemporaryDirectory(prefix="trident-drawn-")


def defined(text, names):
    """The function `plain` of a text in a file of its own, among these globals."""
    path = os.path.join(_FOLDER.name, f"drawn_{len(os.listdir(_FOLDER.name))}.py")
    with open(path, "w") as file:
        file.write(text)
    held = {"__name__": "drawn", "pop": pop, "K": K, "c": c, **names}
    exec(compile(text, path, "exec"), held)
    return held["plain"]


class Drawn:
    """A function of drawn statements. Numbers stay small, so that Python's and those of 64 bits are the same."""

    def __init__(self, seed):
        self.rng, self.lines, self.loops = random.Random(seed), [], 0

    def text(self):
        self.lines = ["def plain(a: int, b: int, q: list[int]) -> int:"]
        for name in ("c", "d", "sqrt"):
            if self.rng.random() < 0.9:
                self.line(1, f"{name} = {self.rng.randint(-3, 9)}")
        self.block(1, 5)
        self.line(1, f"return {self.number(2)}")
        return "\n".join(self.lines) + "\n"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def block(self, depth, most):
        for _ in range(self.rng.randint(1, most)):
            self.rng.choice([self.assign, self.assign, self.store, self.pair, self.branch, self.range, self.elements,
                             self.rounds])(depth)

    def name(self):
        return self.rng.choice(["c", "d", "sqrt"])

    def place(self, depth=1):
        return f"q[{self.rng.choice(['0', '1', '-1', 'pop(q) % 3', f'({self.number(depth)}) % 4', f'({self.number(depth)}) % 5'])}]"

    def assign(self, depth):
        sign, name = self.rng.choice(["", "", "+", "-", "*", "//", "%", "^"]), self.name()
        product = f"{name} = {name} * ({self.number(2)}) % 1009"  # stays small in a loop
        self.line(depth, product if sign == "*" else f"{name} {sign}= ({self.number(3)}) % 1009")

    def store(self, depth):
        sign = self.rng.choice(["", "+", "-", "//", "%"])
        self.line(depth, f"{self.place()} {sign}= ({self.number(2)}) % 1009")

    def pair(self, depth):
        self.line(depth, f"{self.name()}, {self.place()} = {self.number(1)}, ({self.number(2)}) % 31")

    def branch(self, depth):
        self.line(depth, f"if {self.truth(2)}:")
        self.block(depth + 1, 2)
        if self.rng.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, 2)

    def range(self, depth):
        if self.loops > 1:
            return self.assign(depth)
        self.loops += 1
        step = self.rng.choice(["", "", ", 2", ", -1", ", -3", ", 7"])
        ends = f"({self.number(1)}) % 7 - 2, ({self.number(1)}) % 9 - 3" if step else f"({self.number(1)}) % 6"
        self.line(depth, f"for {self.rng.choice(['i', 'd'])} in range({ends}{step}):")
        self.block(depth + 1, 2)

    def elements(self, depth):
        if self.loops > 1:
            return self.store(depth)
        self.loops += 1
        self.line(depth, self.rng.choice(["for d in q:", "for d, c in enumerate(q):"]))
        self.block(depth + 1, 2)

    def rounds(self, depth):
        """A while loop of a few rounds, which may leave early or skip its end."""
        if self.loops > 1:
            return self.branch(depth)
        self.loops += 1
        counter = f"w{self.loops}"
        self.line(depth, f"{counter} = 0")
        self.line(depth, f"while {counter} < {self.rng.randint(1, 5)} and {self.truth(2)}:")
        self.line(depth + 1, f"{counter} += 1")
        if self.rng.random() < 0.5:
            self.line(depth + 1, f"if {self.truth(1)}:")
            self.line(depth + 2, self.rng.choice(["break", "continue"]))
        self.block(depth + 1, 2)

    def number(self, depth):
        if depth == 0 or self.rng.random() < 0.15:
            return self.rng.choice(["a", "b", "K", "c", "d", "sqrt", "q[0]", "q[1]", "q[-1]", "pop(q)", str(self.rng.randint(0, 9))])
        left, right = self.number(depth - 1), self.number(depth - 1)
        shapes = [f"({left} + {right})", f"({left} - {right})", f"({left} ^ {right})", f"({left} & {right})",
                  f"({left}) % 97 * (({right}) % 31)", f"min({left}, {right})", f"({left} // 3)",
                  f"({self.number(depth - 1)} if {self.truth(depth - 1)} else {self.number(depth - 1)})",
                  f"({left} // {right})", f"({left} % {right})", f"(({left}) % 1009 << ({right}) % 4)",
                  f"({left} >> ({right}) % 5 - {self.rng.choice(['0', '1'])})", f"(7 + int({self.truth(depth - 1)}))",
                  self.place(depth - 1)]
        return self.rng.choice(shapes)

    def truth(self, depth):
        left, middle, right = (self.number(max(depth - below, 0)) for below in (1, 2, 1))
        return self.rng.choice([f"{left} < {right}", f"{left} <= {middle} < {right}", f"{left} != {right}",
                                f"({left} < {right} and {middle} > 2)", f"not {left}"])


class DrawnTest(unittest.TestCase):
    def test_drawn_functions(self):
        translated = 0
        for seed in range(400):
            text = Drawn(seed).text()
            plain = defined(text, {})
            oracle = in_python(plain)
            try:
                made = trident.function(plain)
            except trident.TranslationError as error:
                self.assertRegex(str(error), r"drawn_\d+\.py:\d+: plain: .*translated: .", text)
                continue
            translated += 1
            self.same(made, oracle, text, seed)
        self.assertGreater(translated, 150)

    def same(self, made, oracle, text, seed):
        rng = random.Random(seed)
        for i in range(12):
            if i == 6 and seed % 10 == 0:
                made.wait(2, 5000)
            numbers = [rng.randint(-4, 12) for _ in range(4)]
            a, b = rng.randint(-50, 50), rng.randint(-3, 3)
            expected = outcome(oracle, [a, b, numbers.copy()])
            got = outcome(made, [a, b, np.array(numbers, np.int64)])
            self.assertEqual(got, expected, f"{seed}: {a}, {b}, {numbers}\n{text}\n{made.text}")


if __name__ == "__main__":
    unittest.main()
