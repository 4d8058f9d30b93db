#!/usr/bin/python3
"""Evaluates arrays of more than 2^31 elements, whose numbers 32 bits do not hold: places, sums, truths and element-wise results,
by any number of threads, from the front, from the back and with steps between the elements. Oracle: all elements are 0 but for a
few, whose places are known.

usage: long_arrays.py LIBRARY [ELEMENTS]
"""
import os
import pathlib
import sys

os.environ["TRIDENT_LIBRARY"] = sys.argv[1]
os.environ["TRIDENT_MODE"] = "embedded"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "clients/python"))

import numpy as np  # noqa: E402

import trident  # noqa: E402

AROUND = 1 << 12  # elements that are looked at around each place


def main(elements=2**31 + 100_003):
    x = np.zeros(elements, np.uint8)
    places = {elements - 22_226: 7, elements - 22_229: 4, elements - 1: 3, 5: 1, elements // 2: 2}
    for place, value in places.items():
        x[place] = value
    greatest, total = max(places, key=places.get), sum(places.values())
    back, row = x[::-1], 1 << 12
    rows = x[:elements // row * row].reshape(-1, row)[:, ::2]
    inside = [(p // row, p % row // 2, v) for p, v in places.items() if p < elements // row * row and p % row % 2 == 0]
    wanted = {"argmax(x)": greatest, "argmin(1 - x)": greatest, "sum(x)": total, "max(x)": 7, "sum(x > 2)": sum(v > 2 for v in places.values()), "any(x > 6)": True, "all(x < 7)": False,
              "argmax(back)": elements - 1 - greatest, "sum(back)": total, "sum(rows)": sum(v for *_, v in inside)}
    good = True
    plus_one = trident.Kernel("u8(x + 1)", types={"x": "u8"}, policy="exact")
    for threads in 1, 2:
        trident.set_num_threads(threads)
        for text, value in wanted.items():
            got = trident.evaluate(text)[()]
            print(f"{text}, {threads} threads: {got}")
            good = good and got == value
        for name, array, sign in ("x", x, 1), ("back", back, -1):
            made = plus_one(array)[::sign]
            for place in (*places, 2**31, 2**31 - 1, elements - AROUND):
                around = slice(max(place - AROUND, 0), place + AROUND)
                good = good and np.array_equal(made[around], x[around] + np.uint8(1))
            good = good and int(made.sum(dtype=np.int64)) == elements + total
            print(f"u8({name} + 1), {threads} threads: {'right' if good else 'wrong'}")
            del made
    place, least, summed = trident.jit(lambda x: (np.argmax(x), x.min(), x.sum()))(x)
    print(f"jit: {place}, {least}, {summed}")
    return good and (place, least, summed) == (greatest, 0, total)


if __name__ == "__main__":
    sys.exit(0 if main(*(int(word) for word in sys.argv[2:])) else 1)
