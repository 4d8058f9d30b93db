"""//, % and fmod of integers, by the edges of their types and by random numbers, for arrays and for literal divisors, under each
policy. The oracle is NumPy."""
import operator
import os
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

TYPES = "i1", "u1", "i2", "u2", "i4", "u4", "i8"
POLICIES = {"exact": {}, "bounded": {"k": 1e6}, "fast": {}}
DIVISIONS = {"//": operator.floordiv, "%": operator.mod, "fmod": lambda x, y: np.fmod(x, y)}
EDGES = [0, 1, 2, 3, 4, 5, 7, 8, 10, 49, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24 - 1, 2**24 + 1, 2**30, 2**31 - 2,
         2**31 - 1, 2**31]
LITERALS = [0, 1, 2, 3, 7, 8, 49, 64, 100, 255, 2**30, 2**31 - 1, -1, -2, -7, -8, -128, -2**31]


WIDE = [2**31 + 1, 2**32 - 1, 10**12 + 39, 2**52 - 1, 2**53 - 1, 2**53 + 1, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1025, 2**63 - 2,
        2**63 - 1]
WIDE_LITERALS = [3, -3, 6, 10, 1000, 10**9 + 7, 10**12 + 39, 2**40, 2**53 + 1, 2**62, 2**63 - 1, -1, -2**62 - 1, -2**63]


def pairs(edges=EDGES, bits=32):
    rng = np.random.default_rng(35)
    end = 2**(bits - 1)
    numbers = np.unique(np.concatenate([edges, np.negative(edges), rng.integers(-end, end, 40), rng.integers(-300, 300, 20)]))
    return [side.ravel() for side in np.meshgrid(numbers, numbers)]


def by(function, divisor):
    return lambda x: function(x, divisor)


class IntegerDivision(unittest.TestCase):
    def setUp(self):
        self.enterContext(np.errstate(all="ignore"))
        self.a, self.b = pairs()

    def same(self, function, *args, policy):
        wanted, got = function(*args), trident.jit(function, policy=policy, **POLICIES[policy])(*args)
        self.assertEqual(wanted.dtype, got.dtype)
        np.testing.assert_array_equal(got, wanted)

    def test_of_arrays(self):
        for policy in POLICIES:
            for name, function in DIVISIONS.items():
                for dtype in TYPES:
                    with self.subTest(name, dtype=dtype, policy=policy):
                        self.same(function, self.a.astype(dtype), self.b.astype(dtype), policy=policy)

    def test_of_bytes_by_all_bytes(self):
        for dtype in ("i1", "u1"):
            numbers = np.arange(256).astype(dtype)
            for name, function in DIVISIONS.items():
                with self.subTest(name, dtype=dtype):
                    self.same(function, numbers[:, None], numbers, policy="exact")

    def test_by_literals(self):
        for policy in POLICIES:
            for name, function in DIVISIONS.items():
                for dtype in TYPES:
                    info = np.iinfo(dtype)
                    for divisor in (d for d in LITERALS if info.min <= d <= info.max):
                        with self.subTest(name, dtype=dtype, divisor=divisor, policy=policy):
                            self.same(by(function, divisor), self.a.astype(dtype), policy=policy)

    def test_of_64_bits(self):
        a, b = pairs(EDGES + WIDE + [-2**63], 64)
        for policy in POLICIES:
            for name, function in DIVISIONS.items():
                with self.subTest(name, policy=policy):
                    self.same(function, a, b, policy=policy)
                    if name != "fmod":
                        self.same(function, a.view("u8"), b.view("u8"), policy=policy)
                for divisor in WIDE_LITERALS:
                    with self.subTest(name, divisor=divisor, policy=policy):
                        self.same(by(function, divisor), a, policy=policy)
                        if divisor > 0 and name != "fmod":
                            self.same(by(function, divisor), a.view("u8"), policy=policy)

    def test_in_texts(self):
        for policy in POLICIES:
            for sign in ("//", "%"):
                for dtype in ("i4", "i8"):
                    a, b = self.a.astype(dtype), self.b.astype(dtype)
                    for divisor in ["b", *LITERALS]:
                        with self.subTest(sign, dtype=dtype, divisor=divisor, policy=policy):
                            got = trident.evaluate(f"a {sign} {divisor}", {"a": a, "b": b} if divisor == "b" else {"a": a},
                                                   policy=policy, **POLICIES[policy])
                            wanted = DIVISIONS[sign](a, b if divisor == "b" else np.array(divisor, dtype if divisor > -2**31 else "i8"))
                            np.testing.assert_array_equal(got, wanted)


if __name__ == "__main__":
    unittest.main()
