"""The memory of a program that evaluates from eight threads while the engine in this process compiles and searches. It rises
with the number of searches at once (each takes up to 30 MB, and glibc keeps freed memory for the arena of a thread), and
then no more. Oracles: glibc's count of bytes in use, /proc/self."""
import contextlib
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


def runnable():
    """Whether another thread of this process has work."""
    me, states = str(threading.get_native_id()), []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/self/task/{task}/stat") as file:
            states.append(task != me and file.read().rsplit(")", 1)[1].split()[0] == "R")
    return any(states)


def look():
    """The least figures of a second and a half, and whether another thread had work in that time."""
    samples, end = [], time.monotonic() + 1.5
    while time.monotonic() < end:
        samples.append((in_use(), mappings(), len(os.listdir("/proc/self/fd")), resident(), runnable()))
        time.sleep(0.005)
    *figures, working = zip(*samples)
    return [min(column) for column in figures], any(working)


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
    """Does the rounds from `first` to `last`; then the least figures of the time when all searches have ended."""
    a, b = np.random.default_rng(3).uniform(1, 2, (2, 1000))
    for number in range(first, last):
        callers = [threading.Thread(target=work, args=(number, caller, a, b)) for caller in range(CALLERS)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    patience = time.monotonic() + PATIENCE_S
    figures, searching = look()
    while searching and time.monotonic() < patience:
        figures, searching = look()
    return figures


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
            steps = grown(before, after)
            if not steps:
                return
            before = after
        self.fail(f"{TURNS} turns of {ROUNDS} rounds grew; the last: {steps}")


if __name__ == "__main__":
    unittest.main()
