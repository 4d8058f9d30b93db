"""evaluate, jit and Kernel in twenty lines."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident  # noqa: E402

a, b = np.linspace(0, 1, 5), np.ones(5)
print("evaluate:", trident.evaluate("2*a + 3*b"))


@trident.jit
def smooth(x, width=0.5):
    return np.exp(-(x / width) ** 2) + np.where(x > 0.5, x, 0)


print("jit:     ", smooth(a))
k = trident.Kernel("y = sin(x); dy = diff(y, x); (y, dy)", ranges={"x": (0, 1)})
print("Kernel:  ", *k(a))
