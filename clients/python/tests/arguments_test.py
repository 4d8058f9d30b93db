"""Wrong arguments of every public call: a ValueError or TypeError at once, which names the argument, what was given and
what is allowed. The oracle is the list of what the documents allow."""
import decimal
import fractions
import os
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

NAN, INF = float("nan"), float("inf")
A_K, A_RANGE = "k must be a number from 2 to 1000000, here ", r"ranges\['x'\] must be two numbers \(lo, hi\) with lo <= hi, here "


def calls(options):
    """Each way to give a promise."""
    x = np.arange(3.0)
    yield "evaluate", lambda: trident.evaluate("x + 1", {"x": x}, {}, **options)
    yield "jit", lambda: trident.jit(lambda x: x + 1, **options)
    yield "fallback", lambda: trident.jit(lambda x: x + 1, fallback=True, **options)
    yield "Kernel", lambda: trident.Kernel("x + 1", **options)


class Others(unittest.TestCase):
    def test_functions_that_return_later(self):
        async def later(x):
            return x

        def made(x):
            yield x

        for function in (later, made):
            with self.assertRaisesRegex(TypeError, "no coroutine and no generator"):
                trident.jit(function)

    def test_variables(self):
        with self.assertRaisesRegex(TypeError, "local_dict must be a dict, not int"):
            trident.evaluate("x + 1", 3)
        with self.assertRaisesRegex(TypeError, "'x' is an integer that 64 bits do not hold"):
            trident.evaluate("x + 1", {"x": 2**70})
        with self.assertRaisesRegex(TypeError, "take one of its fields"):
            trident.evaluate("x + 1", {"x": np.zeros(3, "V4")})

    def test_words_of_a_program(self):
        with self.assertRaisesRegex(ValueError, r"word 1 is 18446744073709551616, which is not in \[0, 2\^64\)"):
            trident.Context(mode="embedded").build("halt", public_input=[1, 2**64])


class Promises(unittest.TestCase):
    def refused(self, options, error, says):
        for name, call in calls(options):
            with self.subTest(name, **options), self.assertRaisesRegex(error, says):
                call()

    def test_k(self):
        for k in (1, -3, 0, 1.999, NAN, INF, -INF, 1e7, 10**400, np.float32(1)):
            self.refused({"policy": "bounded", "k": k}, ValueError, A_K)
        for k in ("4", b"4", True, np.True_, [4], (4,), 4j, np.array([4.0]), object()):
            self.refused({"policy": "bounded", "k": k}, TypeError, A_K)

    def test_policy(self):
        self.refused({"policy": "loose"}, ValueError, "policy must be one of exact, bounded, fast, here 'loose'")
        for policy in (["exact"], 2, None, b"fast"):
            self.refused({"policy": policy}, TypeError, "policy must be one of exact, bounded, fast, here ")
        for policy in ("exact", "fast"):
            self.refused({"policy": policy, "k": 3}, ValueError, "leave k out")

    def test_ranges(self):
        for pair in ((1, 0), (NAN, 1), (0, NAN), (1,), (0, 1, 2), [], np.array(1.0), np.arange(3.0), (0, decimal.Decimal("snan"))):
            self.refused({"ranges": {"x": pair}}, ValueError, A_RANGE)
        for pair in (3, None, "01", {0, 1}, {0: 1, 1: 2}, (None, 1), (0, "1"), (0, 1j), (False, True), ((0,), (1,))):
            self.refused({"ranges": {"x": pair}}, TypeError, A_RANGE)
        for ranges in ([1], [("x", (0, 1))], "x", 3, (0, 1)):
            self.refused({"ranges": ranges}, TypeError, "ranges must be a dictionary such as .*, here ")
        self.refused({"ranges": {3: (0, 1)}}, TypeError, "ranges must be a dictionary such as .*, here a name is 3")

    def test_what_is_allowed(self):
        for k in (2, 2.0, 10**6, 1e6, np.float32(4), np.int8(4), np.array(4.0), fractions.Fraction(5, 2), decimal.Decimal(3), None):
            for name, call in calls({"policy": "bounded", "k": k}):
                with self.subTest(name, k=k):
                    call()
        for pair in ((0, 1), [0, 1], np.array([0, 1]), (0, 0), (-INF, INF), (np.float32(0), np.int64(1))):
            for name, call in calls({"ranges": {"x": pair}}):
                with self.subTest(name, pair=pair):
                    call()
        trident.Kernel("x + 1", policy="exact", k=2.0)  # the default says nothing

    def test_an_error_is_short(self):
        with self.assertRaises(ValueError) as caught:
            trident.evaluate("x", {"x": np.ones(1)}, {}, policy="bounded", k=10**4000)
        self.assertLess(len(str(caught.exception)), 200)


class Others(unittest.TestCase):
    def test_kernels(self):
        for options, error, says in (
                ({"elements": -1}, ValueError, "elements must be from 0 to 4294967295, here -1"),
                ({"elements": 2**32}, ValueError, "elements must be"),
                ({"elements": 2.5}, TypeError, "elements must be an integer"),
                ({"types": [1]}, TypeError, "types must be a dictionary"),
                ({"types": {"x": "f99"}}, ValueError, "the type of 'x' must be one of f32, f64, i32, i64, here 'f99'"),
                ({"types": {"x": 3}}, TypeError, "the type of 'x' must be one of"),
                ({"type": None}, TypeError, "type must be one of"),
                ({"scalars": "ab"}, TypeError, "scalars must be a list of names such as .*, here 'ab'"),
                ({"scalars": [3]}, TypeError, "scalars must be a list of names"),
                ({"tables": 3}, TypeError, "tables must be a list of names"),
                ({"syntax": "c"}, ValueError, "syntax must be one of auto, infix, sexpr, fpcore, here 'c'"),
                ({"context": 3}, TypeError, "context must be a trident.Context, here 3")):
            with self.subTest(**options), self.assertRaisesRegex(error, says):
                trident.Kernel("x + 1", **options)
        with self.assertRaisesRegex(TypeError, "a text must be a str, here int"):
            trident.Kernel(3)
        with self.assertRaisesRegex(TypeError, "context must be"):
            trident.jit(lambda x: x, context="x", fallback=True)

    def test_waiting(self):
        kernel = trident.Kernel("x + 1")
        for options, error in (({"timeout_ms": -1}, ValueError), ({"timeout_ms": 2**32}, ValueError), ({"timeout_ms": 0.5}, TypeError),
                               ({"tier": 3}, ValueError), ({"tier": "2"}, TypeError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be"):
                kernel.wait(**options)

    def test_contexts(self):
        for options, error in (({"mode": "foo"}, ValueError), ({"mode": ["auto"]}, TypeError), ({"socket_path": 3}, TypeError),
                               ({"connect_timeout_ms": -1}, ValueError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be .*, here"):
                trident.Context(**options)

    def test_programs(self):
        context = trident.Context("interp")
        for options, error in (({"form": "c"}, ValueError), ({"cycles": -1}, ValueError), ({"milliseconds": 2**32}, ValueError),
                               ({"programs": 1.5}, TypeError), ({"disable": "network"}, TypeError), ({"disable": ["all"]}, ValueError),
                               ({"public_input": 3}, TypeError), ({"secret_input": [1.5]}, TypeError),
                               ({"secret_digests": [3]}, TypeError), ({"runs": [{"input": [1]}]}, TypeError)):
            with self.subTest(**options), self.assertRaisesRegex(error, f"{next(iter(options))} must be"):
                context.build("halt", **options)


if __name__ == "__main__":
    unittest.main()
