#!/usr/bin/python3
"""Compares sums of many float32 with NumPy's, which adds pairwise from 128 numbers on: over all draws our error is no
greater. Sums of ones are exact. Oracle: blocks of numbers added in float64, and those by math.fsum.

usage: sums.py LIBRARY [NUMBERS [ONES]]
"""
import math
import os
import pathlib
import sys

os.environ["TRIDENT_LIBRARY"] = sys.argv[1]
os.environ["TRIDENT_MODE"] = "embedded"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "clients/python"))

import numpy as np  # noqa: E402

import trident  # noqa: E402

BLOCK = 1 << 16
DRAWS = {"uniform": lambda r, n: r.random(n, dtype=np.float32),
         "normal": lambda r, n: r.standard_normal(n, dtype=np.float32)}


def exact(x):
    """Blocks of 2^16 floats of like size add up in float64 with errors far below an ulp of float32."""
    return math.fsum(float(x[at:at + BLOCK].sum(dtype=np.float64)) for at in range(0, len(x), BLOCK))


def main(numbers=100_000_000, ones=1_000_000_000):
    good = True
    for name, draw in DRAWS.items():
        ours, theirs = [], []
        for seed in range(4):
            x = draw(np.random.default_rng(seed), numbers)
            true = exact(x)
            ours.append(float(trident.evaluate("sum(x)")) - true)
            theirs.append(float(x.sum()) - true)
        mine, peer = (math.sqrt(sum(e * e for e in errors) / len(errors)) for errors in (ours, theirs))
        print(f"{name}, {numbers} numbers: root mean square error of ours / NumPy's {mine / peer:.3f}")
        good = good and mine <= peer
    x = np.ones(ones, dtype=np.float32)
    total = float(trident.evaluate("sum(x)"))
    print(f"sum of {ones} ones: {total:.0f}")
    return good and total == float(np.float32(ones))


if __name__ == "__main__":
    sys.exit(0 if main(*(int(word) for word in sys.argv[2:])) else 1)
