"""No daemon, a function that cannot be recorded, a bad text: what the program sees."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident  # noqa: E402

context = trident.Context("interp")
print("without a daemon:", trident.Kernel("x*x + 1", context=context)(np.array([1.0, 2.0, 3.0])))


@trident.jit
def sign(x):
    return 1.0 if x > 0 else -1.0


try:
    sign(np.ones(3))
except trident.TraceError as error:
    print("jit says:", error)
try:
    trident.Kernel("x + sine(x)", context=context)
except trident.TridentError as error:
    print("a bad text says:\n" + str(error))
