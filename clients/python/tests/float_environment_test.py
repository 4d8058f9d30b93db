"""Programs that round otherwise, flush subnormals (as any library that gcc links with -ffast-math makes them) or trap
exceptions get the bits of an ordinary one from a Kernel, in the interpreter and from the engine, and keep their
environment. Each environment has a process of its own. Oracle: the interpreter in the standard environment."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# argv: the package, the kind of environment, the library of fast-math. A thread does it all: it inherits nothing.
CHILD = r"""
import ctypes, json, os, sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
import trident
libm = ctypes.CDLL("libm.so.6")
kind = sys.argv[2]
x = np.arange(67) * 0.37 - 5
x[3], x[9], x[20], x[40] = 5e-324, 2.0 ** -1030, 0, 1e308
texts = ("max(x)", "x * 3 + 0.1", "x / 7 + 2e-310", "exp(-x / 7) + sqrt(abs(x)) * 0.3", "sum(x / 3)")
interpreted = os.environ["TRIDENT_MODE"] == "interp"

def work(found):
    if kind == "fast-math":
        ctypes.CDLL(sys.argv[3])
    elif kind.startswith("trap"):
        libm.feenableexcept(int(kind[4:]))
    elif kind != "standard":
        libm.fesetround(int(kind))
    before = libm.fegetround(), libm.fegetexcept()
    kernels = [trident.Kernel(text, policy="exact") for text in texts]
    outs = [k(x) for k in kernels]
    for tier in (1, 2) if not interpreted else ():
        for k in kernels:
            k.wait(tier, 120_000)
            outs.append(k(x))
    found["outs"] = [np.asarray(o).tobytes().hex() for o in outs]
    found["tiers"] = [k.info()["tier"] for k in kernels]
    found["kept"] = before == (libm.fegetround(), libm.fegetexcept())
    libm.fesetenv(ctypes.c_void_p(-1))

found = {}
thread = threading.Thread(target=work, args=(found,))
thread.start()
thread.join()
print(json.dumps(found))
"""

ROUNDING = {"downwards": "1024", "upwards": "2048", "towards zero": "3072"}  # FE_DOWNWARD .. of x86-64's fenv.h
TRAPS = {"invalid, division and overflow trapped": "trap13"}


@unittest.skipUnless(os.uname().machine == "x86_64", "the constants of fenv.h are those of x86-64")
class FloatEnvironments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.kinds = {**ROUNDING, **TRAPS}
        cls.library = os.path.join(cls.folder.name, "fast.so")
        if shutil.which("gcc"):
            subprocess.run(["gcc", "-shared", "-fPIC", "-ffast-math", "-x", "c", "/dev/null", "-o", cls.library],
                           check=True)
            cls.kinds["a library of fast-math"] = "fast-math"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def found(self, kind, mode):
        child = subprocess.run([sys.executable, "-c", CHILD, PACKAGE, kind, self.library], capture_output=True,
                               text=True, timeout=600, env={**os.environ, "TRIDENT_MODE": mode})
        self.assertEqual(child.returncode, 0, child.stderr)
        return json.loads(child.stdout)

    def test_the_interpreter_gives_the_standard_bits(self):
        right = self.found("standard", "interp")["outs"]
        for name, kind in self.kinds.items():
            with self.subTest(name):
                found = self.found(kind, "interp")
                self.assertEqual(found["outs"], right)
                self.assertTrue(found["kept"])

    def test_kernels_of_the_engine_give_the_standard_bits(self):
        right = self.found("standard", "interp")["outs"]
        for name, kind in self.kinds.items():
            with self.subTest(name):
                found = self.found(kind, "embedded")
                self.assertEqual(found["outs"], right * 3)
                self.assertTrue(found["kept"])
                self.assertGreaterEqual(min(found["tiers"]), 1, "a baseline was revoked")


if __name__ == "__main__":
    unittest.main()
