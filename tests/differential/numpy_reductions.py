#!/usr/bin/env python3
"""Writes numpy_reductions.tsv: what NumPy answers for reductions that Trident has, too. Made with NumPy 1.24.2.

numpy_reductions_test.cpp makes the same arrays from the names of patterns."""
import warnings

import numpy as np

LENGTHS = [1, 2, 3, 31, 63, 64, 65, 100, 127, 1000, 4095, 4096, 4097, 8229, 12345]
NAN, INF = float("nan"), float("inf")


def drawn(n):
    """Numbers of 24 bits, from 0."""
    state, numbers = 1, []
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append(state >> 40)
    return numbers


def values(pattern, n, dtype):
    x = np.array(drawn(n), np.float64) * 2.0**-23 - 1
    if np.dtype(dtype).kind == "i":
        x = np.array(drawn(n), np.int64) - 2**23
    i = np.arange(n)
    if pattern == "ties":
        x = np.floor(x * 4) if np.dtype(dtype).kind == "f" else x >> 21
    elif pattern == "nans":
        x[i % 71 == 70] = NAN
    elif pattern == "infinities":
        x[i % 50 == 20] = INF
        x[i % 50 == 40] = -INF
    elif pattern == "high":
        x[i % 50 == 20] = INF
    elif pattern == "low":
        x[:] = -INF
    elif pattern == "zeros":
        x[:] = 0.0
        x[i % 2 == 0] = -0.0
    elif pattern == "near":
        x = 1000 + x * 2.0**-6
    elif pattern == "constant":
        x[:] = 3
    return x.astype(dtype)


def row(op, dtype, pattern, n, answer):
    print(op, dtype, pattern, n, answer, sep="\t")


def main():
    warnings.simplefilter("ignore")
    print("# op, type, pattern, elements, NumPy's answer: numpy_reductions.py")
    for dtype in ("float32", "float64", "int32", "int64"):
        floats = np.dtype(dtype).kind == "f"
        patterns = ["plain", "ties", "constant"]
        if floats:
            patterns += ["nans", "infinities", "high", "low", "zeros", "near"]
        for pattern in patterns:
            for n in LENGTHS:
                x = values(pattern, n, dtype)
                row("argmin", dtype, pattern, n, int(np.argmin(x)))
                row("argmax", dtype, pattern, n, int(np.argmax(x)))
                if not floats:
                    continue
                for ddof in (0, 1, 3):
                    row(f"var{ddof}", dtype, pattern, n, float(np.var(x, ddof=ddof)).hex())
                row("std0", dtype, pattern, n, float(np.std(x)).hex())
        if floats:
            for ddof in (0, 1):
                row(f"var{ddof}", dtype, "plain", 0, float(np.var(np.array([], dtype), ddof=ddof)).hex())


main()
