"""Values that public fault reports, edges of overflow and integer powers ask for, in every tier and policy.

The oracle is values.tsv. A result must be of the expected class (NaN, infinite, finite) and within the policy of the
expected value, where the row's ulp are what the strict evaluation may be off.
"""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import numpy as np  # noqa: E402

import trident  # noqa: E402

POLICIES = ("exact", "bounded", "fast")
KEYS = ("report", "type", "text", "inputs", "policies", "ulp", "expected")
DTYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}
# More elements than a kernel's unrolled loops take at once, so that vectors are used.
ELEMENTS = 256
TIMEOUT_MS = 120_000
# A search takes one to three seconds. Without this every sixth row is optimised, under one of its policies in turn; the
# other tiers run every row under every policy.
ALL = os.environ.get("TRIDENT_VALUES") == "all"


def rows():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.tsv"), encoding="utf-8") as handle:
        lines = [line.rstrip("\n") for line in handle if line.strip() and not line.startswith("#")]
    return [dict(zip(KEYS, line.split("\t"))) for line in lines]


def ulp_at(kind, value):
    bits, least = (24, -126) if kind == "f32" else (53, -1022)
    exponent = math.frexp(value)[1] - 1 if value else least
    return math.ldexp(1.0, max(exponent, least) - bits + 1)


def fits(row, policy, wanted, got, greatest):
    """The policies of trident.h; exact is held to the row's ulp, for its functions are good to an ulp or so."""
    if row["type"][0] == "i":
        return int(wanted) == int(got)
    wanted, got, ulp = float(wanted), float(got), float(row["ulp"])
    if not math.isfinite(wanted):
        return got == wanted or math.isnan(got) and math.isnan(wanted)
    if not math.isfinite(got):
        return False
    allowed = {"exact": max(ulp, 1) * 1.5, "bounded": 2 * ulp + 2, "fast": 16 * ulp + 64}[policy]
    floor = 0 if policy == "exact" else 1e-6 * greatest
    return abs(got - wanted) <= allowed * ulp_at(row["type"], max(abs(wanted), floor))


def wrong(row, policy, kernel):
    integers = row["report"] == "powers"
    dtype = DTYPES[row["type"] if integers or row["type"][0] == "f" else "f64"]
    given = dict(part.split("=") for part in row["inputs"].split(" "))
    columns = {name: np.resize(np.array([(int if integers else float)(t) for t in values.split(",")], dtype), ELEMENTS)
               for name, values in given.items()}
    wanted = row["expected"].split(",")
    greatest = max((abs(float(w)) for w in wanted if math.isfinite(float(w))), default=0)
    got = kernel(*[columns[name] for name in kernel.arrays])
    return [f"element {i}: {g}, expected {wanted[i % len(wanted)]}" for i, g in enumerate(got)
            if not fits(row, policy, wanted[i % len(wanted)], g, greatest)][:4]


def policies_of(row, number, tier):
    named = [policy for policy in POLICIES if policy in row["policies"] or row["policies"] == "all"]
    if tier < 2 or ALL:
        return named
    return [named[number // 6 % len(named)]] if number % 6 == 0 else []


class Values(unittest.TestCase):
    def check(self, mode, tier):
        with trident.Context(mode=mode) as context:
            asked = [(row, policy, trident.Kernel(row["text"], type=row["type"] if row["type"][0] == "f" else "f64",
                                                  policy=policy, context=context, elements=ELEMENTS))
                     for number, row in enumerate(rows()) for policy in policies_of(row, number, tier)]
            for row, policy, kernel in asked:
                with self.subTest(report=row["report"], type=row["type"], text=row["text"], policy=policy):
                    if tier:
                        kernel.wait(tier, TIMEOUT_MS)
                    self.assertEqual([], wrong(row, policy, kernel))

    def test_interpreter(self):
        self.check("interp", 0)

    def test_baseline(self):
        self.check("embedded", 1)

    def test_optimised(self):
        self.check("embedded", 2)


if __name__ == "__main__":
    unittest.main()
