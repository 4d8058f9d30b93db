"""Functions with loops from Python: texts, the shipped library, a folder's, and plain functions translated by their syntax
tree. Oracle: Python itself, which runs the same plain functions."""
import array
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np  # noqa: E402

import trident  # noqa: E402

GCD = """fn gcd(a: i64, b: i64) -> i64 {
  while b != 0 {
    let r = a % b;
    a = b;
    b = r;
  }
  return abs(a);
}
"""
LIMIT = 5
ODD = True


def py_gcd(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return abs(a)


def py_divide(a: int, b: int) -> int:
    """Both roundings."""
    return a // b * 1000 + a % b


def py_while_condition(a: int, b: int) -> int:
    rounds = 0
    while a // b > 3 and rounds < LIMIT:
        if a % 2 == 0:
            a -= 7
            continue
        a = a // 2
        rounds += 1
    return rounds * 1000 + a


def py_strchr(text: bytes, c: int) -> int:
    for i in range(len(text)):
        if text[i] == c:
            return i
        if text[i] == 0:
            return -1
    return -1


def py_sort(a: list[int]):
    for i in range(1, len(a)):
        held = a[i]
        j = i - 1
        while j >= 0 and a[j] > held:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = held


def py_counts(text: bytes, low: int, high: int) -> int:
    seen = [0] * 256
    for b in text:
        seen[b] += 1
    most, at = 0, -1
    for i, n in enumerate(seen):
        if low <= i < high and n > most:
            most = n
            at = i
    return at * 100000 + most


def py_steps(first: int, end: int) -> int:
    total = 0
    for i in range(first, end, 3):
        total += i
    for i in range(end, first, -2):
        total = total * 3 ^ i
        if total > 10**9 or not ODD:
            total >>= 5
    return total


def py_truths(a: int, b: int) -> bool:
    both = a > 0 and b > 0
    either = (a > 0) | (b > 0)
    return both == either if a < 100 else not both


def py_reversed(text: bytearray):
    n = len(text)
    for i in range(n // 2):
        text[i], text[n - 1 - i] = text[n - 1 - i], text[i]


def py_last(a: list[int]) -> int:
    return a[-1] if len(a) > 0 else min(-1, -2)


def py_shifts(a: int, n: int) -> int:
    return (a >> n) + (a << 2) + ~a


def line_of(made):
    return made.__wrapped__.__code__.co_firstlineno


class FunctionsTest(unittest.TestCase):
    def test_texts(self):
        gcd = trident.function(GCD)
        for _ in range(2):
            self.assertEqual(gcd(48, 18), 6)
            self.assertEqual(gcd(b=18, a=-12), 6)
            gcd.wait()
        self.assertEqual([p.name for p in gcd.parameters], ["a", "b"])
        self.assertEqual(gcd.text, GCD)
        for arguments in ((1,), (1, 2, 3)):
            with self.assertRaises(TypeError):
                gcd(*arguments)
        with self.assertRaises(TypeError):
            gcd(1, c=2)
        with self.assertRaises(TypeError):
            gcd(1.5, 2)
        with self.assertRaises(OverflowError):
            gcd(2**63, 2)
        with self.assertRaises(trident.TridentError) as raised:
            trident.function("fn f(a: i64) -> i64 {\n  return a +;\n}\n")
        self.assertIn("function:2:", str(raised.exception))

    def test_failures_name_the_line_and_are_pythons_own(self):
        divide = trident.function("fn d(a: i64, b: i64) -> i64 {\n  let c = 1;\n  return a / b;\n}\n")
        with self.assertRaises(ZeroDivisionError) as raised:
            divide(1, 0)
        self.assertIsInstance(raised.exception, trident.FunctionError)
        self.assertEqual((raised.exception.line, raised.exception.failure), (3, "division"))
        self.assertIn("d: line 3: a division by zero", str(raised.exception))
        at = trident.function("@param i in [0, 9]: a place\nfn at(x: [i64], i: i64) -> i64 {\n  return x[i];\n}\n")
        self.assertEqual(at([4, 5, 6], 2), 6)
        with self.assertRaises(IndexError):
            at([4, 5, 6], 3)
        with self.assertRaisesRegex(ValueError, "range: i"):
            at([4, 5, 6], 10)
        with self.assertRaises(TimeoutError):
            trident.function("fn f() { while true { } }")(budget=1000)

    def test_ranges_are_of_the_parameters_type(self):
        half = trident.function("@param x in [-0.5, 2.5]: a\n@param n in [1, 3]: b\nfn f(x: f64, n: i64) -> f64 {\n  return x;\n}\n")
        self.assertEqual([p.range for p in half.parameters], [(-0.5, 2.5), (1, 3)])
        for arguments, why in (((3.0, 1), "x, from -0.5 to 2.5"), ((0.0, 4), "n, from 1 to 3")):
            with self.assertRaisesRegex(ValueError, f"declared range: {why}$"):
                half(*arguments)

    def test_an_absent_function_comes_with_a_cure(self):
        text = "fn f(a: i64) -> i64 {\n  return half(a);\n}\n"
        with self.assertRaisesRegex(trident.TridentError, r"f.fn:2:10: .*'half'[^^]*\^\n.*put half.fn and this .*trident.library"):
            trident.function(text)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "f.fn"), "w") as file:
                file.write(text)
            with self.assertRaisesRegex(trident.TridentError, "'half'[^^]*\\^\nadd half.fn to the folder"):
                trident.library(folder)
        with self.assertRaisesRegex(trident.TridentError, "Python: trident.function"):
            trident.Kernel(text)
        with self.assertRaisesRegex(trident.TridentError, "did you mean 'strchr'"):
            trident.function(text.replace("half", "strchrr"))

    def test_memory_is_not_copied(self):
        fill = trident.library().fill
        zeros = np.ones(5, np.int64)
        fill(zeros, 7)
        self.assertEqual(zeros.tolist(), [7] * 5)
        half = np.arange(10)[3:6]
        fill(half, -1)
        self.assertEqual(half.base.tolist(), [0, 1, 2, -1, -1, -1, 6, 7, 8, 9])
        own = array.array("q", [1, 2, 3])
        fill(own, 9)
        self.assertEqual(own.tolist(), [9, 9, 9])
        upper = trident.library().to_upper
        text = bytearray(b"some text")
        if any(p.passing != 1 for p in upper.parameters):
            upper(text)
            self.assertEqual(text, b"SOME TEXT")
        for refused in ([1, 2], np.arange(10)[::2], np.zeros(3), np.zeros((2, 2), np.int64), b"abcdefgh"):
            with self.assertRaises(TypeError, msg=repr(refused)):
                fill(refused, 1)
        copy = trident.library().copy
        with self.assertRaisesRegex(trident.TridentError, "overlaps"):
            copy(zeros[:3], zeros[2:])

    def test_masks_and_texts_are_refused(self):
        library = trident.library()
        masked = np.ma.array([3, 4], mask=[True, False])
        for call in (lambda: library.sum(masked), lambda: library.fill(masked, 1)):
            with self.assertRaisesRegex(TypeError, r"has a mask, .*: pass its filled\(\)"):
                call()
        self.assertEqual((library.sum(masked.compressed()), masked.data.tolist()), (4, [3, 4]))
        half = trident.function("fn half(x: f64) -> f64 {\n  return x / 2;\n}\n")
        for text in ("1.5", b"1.5", bytearray(b"1.5")):
            with self.assertRaisesRegex(TypeError, "'x' is a number, here"):
                half(text)
        with self.assertRaisesRegex(TypeError, "'x' has a mask"):
            half(np.ma.masked)
        self.assertEqual((half(np.float32(1.5)), half(3), half(True)), (0.75, 1.5, 0.5))

    def test_an_array_that_would_be_copied_overlaps_none_that_is_written(self):
        copy = trident.library().copy
        base = np.arange(10)
        for a in (base[::2], base[::-1], base.view(np.int32)[:4], base.view(np.uint8), memoryview(base)[::2]):
            with self.assertRaisesRegex(trident.TridentError, "overlaps"):
                copy(a, base[:5])
        self.assertEqual(base.tolist(), list(range(10)))
        pairs = np.arange(12).reshape(6, 2)
        out = np.zeros(6, np.int64)
        copy(pairs[:, 0], out)
        self.assertEqual(out.tolist(), [0, 2, 4, 6, 8, 10])

    def test_the_shipped_library_by_name(self):
        library = trident.library()
        self.assertGreater(len(library), 100)
        self.assertIn("gcd", library)
        self.assertIn("quicksort", dir(library))
        self.assertEqual(library.strchr(b"hello", "l"), 2)
        self.assertEqual(library["strchr"]("hello", ord("o")), 4)
        with self.assertRaisesRegex(AttributeError, "quicksort"):
            library.quiksort
        numbers = np.array([5, 3, 9, 1, 3])
        library.quicksort(numbers)
        self.assertEqual(numbers.tolist(), [1, 3, 3, 5, 9])

    def test_a_folders_own(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "squares.fn")
            with open(path, "w") as file:
                file.write("@test squares(3) = 14\nfn squares(n: i64) -> i64 {\n  let s = 0;\n"
                           "  for i in 1..n + 1 {\n    s = s + i * i;\n  }\n  return s;\n}\n")
            own = trident.library(folder)
            self.assertEqual((list(own), own.squares(4)), (["squares"], 30))
            self.assertIs(own.squares, own.squares) if (held := own.squares) else None
            self.assertEqual(held(10), 385)
            with open(path, "a") as file:
                file.write("// more\n")
            with open(path) as file:
                text = file.read()
            with open(path, "w") as file:
                file.write(text.replace("= 14", "= 15"))
            with self.assertRaisesRegex(trident.TridentError, "squares.fn:1: a test does not hold"):
                trident.library(folder)

    def compare(self, plain, draw, rounds=200):
        made = trident.function(plain)
        rng = random.Random(plain.__name__)
        for i in range(rounds):
            if i == rounds // 2:
                made.wait()
            arguments = draw(rng)
            twins = [a.copy() if isinstance(a, np.ndarray) else bytearray(a) if isinstance(a, bytearray) else a
                     for a in arguments]
            lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
            try:
                expected = plain(*lists)
            except (ZeroDivisionError, IndexError, ValueError) as error:
                with self.assertRaises(type(error), msg=(plain.__name__, arguments, error)):
                    made(*twins)
                continue
            self.assertEqual(made(*twins), expected, (plain.__name__, arguments, made.text))
            for twin, after in zip(twins, lists):
                self.assertEqual(twin.tolist() if isinstance(twin, np.ndarray) else twin, after, plain.__name__)
        return made

    def test_plain_functions_give_pythons_answers(self):
        def number(rng):
            return rng.choice([rng.randint(-9, 9), rng.randint(-1000, 1000), rng.randint(-2**40, 2**40)])

        def two(rng):
            return [number(rng), number(rng)]

        def text(rng):
            return bytes(rng.choices(b"abcab\0xyz", k=rng.randint(0, 40)))

        self.compare(py_gcd, two)
        self.compare(py_divide, two)
        self.compare(py_while_condition, lambda rng: [rng.randint(-99, 9999), rng.randint(-9, 9)])
        self.compare(py_strchr, lambda rng: [text(rng), rng.choice(b"abcxyz\0q")])
        self.compare(py_sort, lambda rng: [np.array([number(rng) for _ in range(rng.randint(0, 30))], np.int64)])
        self.compare(py_counts, lambda rng: [text(rng), rng.randint(0, 100), rng.randint(0, 256)])
        self.compare(py_steps, lambda rng: [rng.randint(-50, 50), rng.randint(-50, 50)])
        self.compare(py_truths, two)
        self.compare(py_reversed, lambda rng: [bytearray(text(rng))])
        self.compare(py_last, lambda rng: [np.array([number(rng) for _ in range(rng.randint(0, 3))], np.int64)])
        self.compare(py_shifts, lambda rng: [rng.randint(-2**40, 2**40), rng.randint(-2, 80)])

    def test_the_decorator_and_its_lines(self):
        @trident.function
        def quotient(a: int, b: int) -> int:
            """Divides."""
            c = a

            return c // b
        first = quotient.__wrapped__.__code__.co_firstlineno
        self.assertEqual((quotient(-7, 2), quotient.__doc__), (-4, "Divides."))
        with self.assertRaises(ZeroDivisionError) as raised:
            quotient(1, 0)
        self.assertEqual(raised.exception.line, first + 5)
        self.assertIn("functions_test.py", str(raised.exception))

    def test_functions_call_each_other(self):
        @trident.function
        def share(a: int, b: int) -> int:
            while b != 0:
                a, b = b, a % b
            return a

        @trident.function
        def swap(numbers: list[int], i: int, j: int):
            numbers[i], numbers[j] = numbers[j], numbers[i]

        @trident.function
        def half(x: float) -> float:
            return 0.5 * x

        @trident.function
        def turned(numbers: list[int]) -> int:
            all = 0
            for i in range(len(numbers) // 2):
                swap(numbers, i, len(numbers) - 1 - i)
            for n in numbers:
                all = share(all, n)
            return all

        @trident.function
        def twice(numbers: list[int], x: float) -> float:
            share(turned(numbers), 1)
            return half(half(x)) if turned(numbers) > 1 and share(6, 4) == 2 else 0.0

        rng = random.Random(5)
        for _ in range(50):
            numbers = np.array([6 * rng.randint(1, 100) for _ in range(rng.randint(0, 9))], np.int64)
            expected = numbers.copy()
            divisor = int(np.gcd.reduce(expected)) if len(expected) else 0
            self.assertEqual(turned(numbers), divisor)
            self.assertEqual(list(numbers), list(expected[::-1]))
            self.assertEqual(twice(numbers, 3.0), 0.75 if divisor > 1 else 0.0)
            self.assertEqual(list(numbers), list(expected[::-1]))
        self.assertEqual(sorted(twice.texts), ["half", "share", "swap", "turned", "twice"])

        gcd = trident.library().gcd

        @trident.function
        def shipped(a: int) -> int:
            return gcd(a, 12) + share(9, 6)
        self.assertEqual((shipped(18), sorted(shipped.texts)), (9, ["share", "shipped"]))

        @trident.function
        def outside(numbers: list[int]):
            swap(numbers, 0, 9)
        with self.assertRaises(IndexError) as raised:
            outside(numbers)
        self.assertEqual(raised.exception.line, swap.__wrapped__.__code__.co_firstlineno + 2)

        def unnamed(numbers: list[int]):
            swap(numbers[0:2], 0, 1)

        def valued(numbers: list[int]) -> int:
            return swap(numbers, 0, 1)

        def few(a: int) -> int:
            return share(a)

        for plain, cure in ((unnamed, "pass an array of i64"), (valued, "in a line of its own"), (few, "takes 2 arguments")):
            with self.assertRaisesRegex(trident.TranslationError, cure):
                trident.function(plain)

    def test_a_function_of_a_folder_keeps_what_it_calls_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("helper", "fn helper(a: i64) -> i64 {\n  return 12 / a;\n}\n"),
                               ("between", "fn between(a: i64) -> i64 {\n  // helper(a) is 12 / a\n  return helper(a);\n}\n"),
                               ("shared", "@test shared(4) = 4\nfn shared(a: i64) -> i64 {\n  return between(a) + gcd(a, 1);\n}\n")):
                with open(os.path.join(folder, name + ".fn"), "w") as file:
                    file.write(text)
            shared = trident.library(folder).shared
        self.assertEqual(sorted(shared.texts), ["between", "helper", "shared"])

        def alone(a: int) -> int:
            return shared(a)
        self.assertEqual(trident.function(alone)(3), 5)

        @trident.function
        def helper(a: int) -> int:
            return 1000 // a

        def first(a: int, b: int) -> int:
            return shared(a) + helper(b)

        def last(a: int, b: int) -> int:
            return helper(b) + shared(a)
        made = trident.function(last)
        for plain in (trident.function(first), made):
            self.assertEqual(plain(3, 5), 205)
            plain.wait()
            self.assertEqual(plain(3, 5), 205)
            for arguments, place in (((0, 1), "helper: line 2:"), ((1, 0), rf"functions_test.py:{line_of(helper) + 2}: helper:")):
                with self.assertRaisesRegex(ZeroDivisionError, place):
                    plain(*arguments)

        @trident.function
        def between(a: int, b: int) -> int:
            return made(a, b) * helper(b) + shared(a)
        self.assertEqual(between(3, 5), 205 * 200 + 5)
        with self.assertRaisesRegex(ZeroDivisionError, rf"functions_test.py:{line_of(helper) + 2}: helper:"):
            between(1, 0)
        self.assertGreater(len(between.texts), len(made.texts))

    def test_two_versions_of_a_function_are_two_functions(self):
        @trident.function
        def step(a: int) -> int:
            return a + 1
        before = step

        @trident.function
        def twice(a: int) -> int:
            return before(a) * 2

        @trident.function
        def step(a: int) -> int:
            return twice(a) + before(a)
        self.assertEqual((step(3), sorted(step.texts)), (12, ["step", "step_2", "twice"]))

    def test_what_cannot_be_said_is_refused_by_name_with_a_cure(self):
        def recursive(a: int) -> int:
            return recursive(a - 1)

        def untyped(a) -> int:
            return a

        def powers(a: int, b: int) -> int:
            return a ** b

        def exact(a: int) -> int:
            return a / 2

        def sliced(a: list[int]) -> int:
            return len(a[1:])

        def maybe(a: int) -> int:
            if a > 0:
                b = 1
            return b

        def caught(a: int) -> int:
            try:
                return a
            except ValueError:
                return 0

        def mixed(a: int, b: bool) -> int:
            c = a > 0
            c = a
            return c

        def numbers(a: int, b: int) -> bool:
            return a and b

        def comprehension(a: list[int]) -> int:
            return sum([x for x in a])

        for plain, what, cure in (
                (recursive, "the call of 'recursive'", "trident.library"), (untyped, "the parameter 'a' without a type", "annotate"),
                (powers, "a ** b", "multiply"), (exact, "a / 2", "a // b"), (sliced, "'len(a[1:])'", "an array"),
                (maybe, "'b', which may have no value here", "before"), (caught, "the statement 'try'", "use assignments"),
                (mixed, "a value of type int where bool is known", "one type"), (numbers, "and, or on numbers", "compare"),
                (comprehension, "the call of 'sum'", "use len"), (lambda a: a, "with def", "")):
            with self.assertRaises(trident.TranslationError, msg=plain.__name__) as raised:
                trident.function(plain)
            self.assertIn(what, str(raised.exception))
            self.assertIn(cure, str(raised.exception))
            self.assertIn("functions_test.py:", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
