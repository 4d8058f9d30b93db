"""The memory of a program that evaluates from eight threads while the engine in this process compiles and searches. It rises
with the number of searches at once (each takes up to 30 MB, and glibc keeps freed memory for the arena of a thread), and
then no more. Oracles: glibc's count of bytes in use, /proc/self."""
import ctypes
import os
import sys
import threading
import time
import unittest

os.environ["TRIDENT_MODE"] = "embedded"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import trident

CALLERS, ROUNDS, TURNS, CALLS, KEPT = 8, 20, 3, 60, ("sin(a)*b", "sum(a*b)", "where(a > b, a, exp(b))", "a < b", "min(a/b)")
LIMITS = {"bytes in use": 256 << 10, "mappings": 16, "descriptors": 3, "bytes resident": 6 << 20}  # of growth
PATIENCE_S = 40
LIBC = ctypes.CDLL(None)


class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]


LIBC.mallinfo2.restype = Mallinfo2


def in_use():
    info = LIBC.mallinfo2()
    return info.uordblks + info.hblkhd


def resident():
    LIBC.malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mappings():
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)


def least():
    """The least figures of a second and a half: what is there between two searches, which need much for a short time."""
    samples, end = [], time.monotonic() + 1.5
    while time.monotonic() < end:
        samples.append((in_use(), mappings(), len(os.listdir("/proc/self/fd")), resident()))
        time.sleep(0.005)
    return [min(column) for column in zip(*samples)]


def work(number, caller, a, b):
    """Evaluates the same texts each round, and compiles kernels that nobody has seen and nobody keeps."""
    for _ in range(CALLS):
        for text in KEPT:
            trident.evaluate(text, {"a": a, "b": b})
    for text in (f"a*{number} + b*{caller}", f"sqrt(a) + {caller}/(b + {number + 1})", f"sum(sin(a)*{number} + {caller})"):
        kernel = trident.Kernel(text)
        kernel.wait(1, timeout_ms=20_000)
        kernel(*[{"a": a, "b": b}[name] for name in kernel.arrays])


def turn(first, last):
    """Does the rounds from `first` to `last`; the least figures after each of the last three."""
    a, b = np.random.default_rng(3).uniform(1, 2, (2, 1000))
    figures = []
    for number in range(first, last):
        callers = [threading.Thread(target=work, args=(number, caller, a, b)) for caller in range(CALLERS)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        if last - number <= 3:
            figures.append(least())
    return [min(column) for column in zip(*figures)]


def grown(before, after):
    return [(name, limit, earlier, later) for (name, limit), earlier, later in zip(LIMITS.items(), before, after)
            if later - earlier >= limit]


class Growth(unittest.TestCase):
    def test_memory_stops_growing(self):
        """A step is no leak: more searches than ever before may meet at any time, and their arenas stay. A leak grows in each
        of three turns."""
        before = turn(0, ROUNDS)
        for number in range(1, TURNS + 1):
            after = turn(number * ROUNDS, (number + 1) * ROUNDS)
            patience = time.monotonic() + PATIENCE_S
            while grown(before, after) and time.monotonic() < patience:
                after = [min(pair) for pair in zip(after, least())]  # on a busy machine searches go on for long; what has leaked stays
            if not grown(before, after):
                return
            before, steps = after, grown(before, after)
        self.fail(f"{TURNS} turns of {ROUNDS} rounds grew; the last: {steps}")


if __name__ == "__main__":
    unittest.main()
