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

CALLERS, ROUNDS, CALLS, KEPT = 8, 40, 60, ("sin(a)*b", "sum(a*b)", "where(a > b, a, exp(b))", "a < b", "min(a/b)")
LIMITS = {"bytes in use": 256 << 10, "mappings": 16, "descriptors": 3, "bytes resident": 6 << 20}  # of growth
PATIENCE_S = 60
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


class Growth(unittest.TestCase):
    def test_memory_is_the_same_after_twenty_rounds_and_after_forty(self):
        a, b = np.random.default_rng(3).uniform(1, 2, (2, 1000))
        figures = []
        for number in range(ROUNDS + 1):
            callers = [threading.Thread(target=work, args=(number, caller, a, b)) for caller in range(CALLERS)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
            if number % 20 > 17 or number and number % 20 == 0:
                figures.append(least())
        middle, end = ([min(column) for column in zip(*rows)] for rows in (figures[:3], figures[3:]))
        patience = time.monotonic() + PATIENCE_S
        while not all(after - before < limit for before, after, limit in zip(middle, end, LIMITS.values())) and time.monotonic() < patience:
            end = [min(pair) for pair in zip(end, least())]  # on a busy machine searches go on for long; what has leaked stays
        for (name, limit), before, after in zip(LIMITS.items(), middle, end):
            self.assertLess(after - before, limit, (name, figures))


if __name__ == "__main__":
    unittest.main()
