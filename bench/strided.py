#!/usr/bin/python3
"""Times evaluate on arrays of 10^7 doubles with steps between their elements, on one thread, by that thread's clock: beside
numexpr, and beside evaluate on copies that are made first. Shows how much more memory the calls took than there was before
them, results left out. Answers are compared first.

usage: strided.py BUILD
"""
import math
import os
import subprocess
import sys
import time

ELEMENTS, ROUNDS = 10_000_000, 7
TEXTS = ("x*2 + y", "x < y", "sqrt(x*x + y*y)", "sin(x)*y", "where(x > y, x, 0.5)", "sum(x*y)")


def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


def measure():
    import numexpr
    import numpy as np
    import trident
    numexpr.set_num_threads(1)
    trident.set_num_threads(1)
    pairs = np.random.default_rng(1).uniform(-2, 2, (ELEMENTS, 2))
    given = {"x": pairs[:, 0], "y": pairs[::-1, 1]}
    few = {name: a[:2000] for name, a in given.items()}
    outs = {"d": np.ones(ELEMENTS), "?": np.ones(ELEMENTS, bool)}
    places = {}
    for text in TEXTS:
        result = np.asarray(trident.evaluate(text, few))
        trident._evaluate._last.call[0].kernel.wait(2, timeout_ms=120_000)
        places[text] = outs[result.dtype.char] if result.ndim else None
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what is there now
    before = peak()
    for text in TEXTS:
        trident.evaluate(text, given, out=places[text])
    more = peak() - before
    ratios = {"numexpr": [], "copies": []}
    for text in TEXTS:
        out = places[text]
        if not np.allclose(trident.evaluate(text, given, out=out), numexpr.evaluate(text, given), rtol=1e-9):
            sys.exit(f"{text}: a wrong answer")
        calls = {"Trident": lambda: trident.evaluate(text, given, out=out), "numexpr": lambda: numexpr.evaluate(text, given, out=out),
                 "copies": lambda: trident.evaluate(text, {n: np.ascontiguousarray(a) for n, a in given.items()}, out=out)}
        best = dict.fromkeys(calls, math.inf)
        for _ in range(ROUNDS):
            for name, call in calls.items():
                start = time.thread_time()
                call()
                best[name] = min(best[name], time.thread_time() - start)
        for name in ratios:
            ratios[name].append(best[name] / best["Trident"])
        print(f"{text:24} {best['Trident'] * 1e3:8.1f} ms, numexpr {best['numexpr'] * 1e3:8.1f}, copies first {best['copies'] * 1e3:8.1f}", flush=True)
    for name, values in ratios.items():
        print(f"{name} over Trident".ljust(48), f"{math.exp(sum(map(math.log, values)) / len(values)):10.4f}")
    print("KiB more at the peak".ljust(48), f"{more:10}")


def main(build):
    environment = {**os.environ, "TRIDENT_MODE": "embedded", "PYTHONDONTWRITEBYTECODE": "1",
                   "TRIDENT_LIBRARY": os.path.join(build, "lib", "libtrident.so.0"),
                   "TRIDENT_ENGINE": os.path.join(build, "lib", "libtrident-engine.so"),
                   "PYTHONPATH": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python")}
    subprocess.run([sys.executable, __file__, "--measure"], env=environment, check=True)


if __name__ == "__main__":
    measure() if sys.argv[1] == "--measure" else main(sys.argv[1])
