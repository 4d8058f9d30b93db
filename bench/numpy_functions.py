#!/usr/bin/python3
"""Compares functions of 100,000 doubles under policy exact with NumPy's on one thread: kernels, and @trident.jit for
np.max. np.max and np.maximum keep a NaN, and so do we. Then compares np.any and np.all of ten million floats, which the
first element decides, or one in the middle, or none. The answers are compared first; no ranges are declared.

usage: numpy_functions.py BUILD
"""
import os
import sys
import time

ROUNDS, ELEMENTS, ULP_MAX = 301, 100_000, 4
DATA = {"normal": lambda r: r.normal(size=ELEMENTS), "0 to 100": lambda r: r.uniform(1e-3, 100, ELEMENTS)}
FUNCTIONS = ("sin", "cos", "tan", "log", "floor", "fmod", "max", "maximum")
OF_TWO = {"maximum": "select(x != x, x, select(y != y, y, max(x, y)))", "fmod": "fmod(x, y)"}  # x, and x backwards

SEARCHES, SEARCHED = {"any": 0, "all": 1}, 10_000_000  # the value of elements that decide nothing
PLACES = {"first element": 0, "middle": SEARCHED // 2, "no element": None}


def prepare(build):
    os.environ.update(TRIDENT_MODE="embedded", TRIDENT_LIBRARY=os.path.join(build, "lib", "libtrident.so.0"),
                      TRIDENT_ENGINE=os.path.join(build, "lib", "libtrident-engine.so"))
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python"))


def pair(np, trident, name, x):
    """Our kernel, our call and NumPy's."""
    out, y = np.empty_like(x), x[::-1].copy()
    if name == "max":
        greatest = trident.jit(lambda x: np.max(x))
        greatest(x)
        return next(iter(greatest.kernels.values())), lambda: greatest(x), lambda: np.max(x)
    function = getattr(np, name)
    if name in OF_TWO:
        kernel = trident.Kernel(OF_TWO[name], policy="exact")
        return kernel, lambda: kernel(x, y, out=out), lambda: function(x, y, out=out)
    kernel = trident.Kernel(f"{name}(x)", policy="exact")
    return kernel, lambda: kernel(x, out=out), lambda: function(x, out=out)


def search(np, trident, name, place):
    """Our kernel, our call and NumPy's, over elements of which the one at `place` decides."""
    x = np.full(SEARCHED, SEARCHES[name], np.float32)
    if place is not None:
        x[place] = 1 - SEARCHES[name]
    function = getattr(np, name)
    ours = trident.jit(lambda x: function(x > 0))
    if ours(x) != function(x > 0):
        sys.exit(f"{name}: a wrong answer")
    return next(iter(ours.kernels.values())), lambda: ours(x), lambda: function(x > 0)


def check(np, name, ours, theirs):
    a, b = np.copy(ours()), np.copy(theirs())
    if not np.all(np.abs(a - b) <= ULP_MAX * np.spacing(np.abs(b))):
        sys.exit(f"{name}: a wrong answer")


def settle(kernel, call):
    """Calls until the kernel has been optimised for these data: nothing more is expected, and no new code for 5 s."""
    swaps, since, end = -1, time.monotonic(), time.monotonic() + 60
    while time.monotonic() < min(since + 5, end):
        call()
        time.sleep(0.01)
        info = kernel.info()
        if info["swaps"] != swaps or not info["done"]:
            swaps, since = info["swaps"], time.monotonic()


def ratio(ours, theirs):
    """Our time divided by NumPy's: the median over interleaved rounds."""
    ratios = []
    for _ in range(ROUNDS):
        times = []
        for call in (ours, theirs):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        ratios.append(times[0] / times[1])
    return sorted(ratios)[ROUNDS // 2]


def main(build):
    prepare(build)
    import numpy as np
    import trident
    trident.set_num_threads(1)
    for data, draw in DATA.items():
        for name in FUNCTIONS:
            x = draw(np.random.default_rng(1))
            x = np.abs(x) + 1e-3 if name == "log" else x
            kernel, ours, theirs = pair(np, trident, name, x)
            settle(kernel, ours)
            check(np, name, ours, theirs)
            label = "memory decides, time / NumPy's" if name == "maximum" else "time / NumPy's"  # three arrays
            print(f"{label}: {name}, {data}".ljust(48), f"{ratio(ours, theirs):10.3f}", flush=True)
    for name in SEARCHES:
        for where, place in PLACES.items():
            kernel, ours, theirs = search(np, trident, name, place)
            settle(kernel, ours)
            print(f"time / NumPy's: {name}, decided by {where}".ljust(48), f"{ratio(ours, theirs):10.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
