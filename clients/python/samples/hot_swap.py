"""Watch faster code arrive: which tier answers, and how long a call takes."""
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident  # noqa: E402

x = np.linspace(0, 4, 4096)
k = trident.Kernel("exp(-x*x) * cos(3*x) + sqrt(x*x + 1)")
shown, end = -1, time.monotonic() + 3
while time.monotonic() < end:
    begin = time.perf_counter()
    y = k(x)
    took = time.perf_counter() - begin
    info = k.info()
    if info["swaps"] != shown:
        print(f"tier {info['tier']} ({info['isa']}): {took * 1e6:8.1f} us a call, y[1000] = {y[1000]:.15g}")
    shown = info["swaps"]
    if info["done"]:
        break
    time.sleep(0.0002)
