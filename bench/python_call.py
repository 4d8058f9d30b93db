#!/usr/bin/python3
"""Times calls from Python at 1,000 elements, kernel included (x*y + 1, about 0.1 us): through the extension module and
without it, beside numexpr on one thread and NumPy. The answers are compared first.

usage: python_call.py BUILD
"""
import os
import subprocess
import sys
import time

ROUNDS, CALLS = 31, 3000


def times(calls):
    """Microseconds of each, the least of interleaved rounds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1e6)
    return best


def measure(way):
    import numpy as np
    import trident
    from trident import _short_call
    if (_short_call.call is not None) != (way == "extension"):
        sys.exit("the extension is not built: python3-dev")
    x, y = np.random.default_rng(1).normal(size=(2, 1000))
    z = np.empty(1000)
    kernel = trident.Kernel("x*y + 1", policy="exact")
    kernel.wait(1, timeout_ms=60_000)

    def with_locals():
        x, y = X, Y
        return trident.evaluate("x*y + 1")

    def again():
        x, y = X, Y
        return trident.re_evaluate()

    X, Y = x, y
    calls = {"evaluate": with_locals, "re_evaluate": again, "evaluate out=": lambda: trident.evaluate("x*y + 1", {"x": x, "y": y}, out=z),
             "Kernel": lambda: kernel(x, y), "Kernel out=": lambda: kernel(x, y, out=z),
             "evaluate x < y": lambda: trident.evaluate("x < y", {"x": x, "y": y})}
    if way == "extension":
        try:
            import numexpr
            numexpr.set_num_threads(1)
            calls["numexpr"] = lambda: numexpr.evaluate("x*y + 1", {"x": x, "y": y})
        except ImportError as error:
            print(f"numexpr is left out: {error}", file=sys.stderr)
        calls["NumPy"] = lambda: x * y + 1
    for name, call in calls.items():
        trident.evaluate("x*y + 1")
        if not np.allclose(call(), x < y if "<" in name else x * y + 1, rtol=1e-15):
            sys.exit(f"{name}: a wrong answer")
    trident.evaluate("x*y + 1")
    for name, us in times(calls).items():
        print(f"{name} by {way}, us".ljust(48), f"{us:10.4f}", flush=True)


def main(build):
    for way in ("extension", "ctypes"):
        environment = {**os.environ, "TRIDENT_EXTENSION": str(int(way == "extension")), "TRIDENT_MODE": "embedded",
                       "TRIDENT_LIBRARY": os.path.join(build, "lib", "libtrident.so.0"), "PYTHONDONTWRITEBYTECODE": "1",
                       "TRIDENT_ENGINE": os.path.join(build, "lib", "libtrident-engine.so"),
                       "PYTHONPATH": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python")}
        subprocess.run([sys.executable, __file__, "--way", way], env=environment, check=True)


if __name__ == "__main__":
    measure(sys.argv[2]) if sys.argv[1] == "--way" else main(sys.argv[1])
