"""Arrays of 8- and 16-bit integers under @trident.jit. The oracle is NumPy: its types and values, wrapping included."""
import os
import subprocess
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402

NARROW = {kind: np.array(sorted({np.iinfo(kind).min, np.iinfo(kind).min + 1, 0, 1, 2, 3, 7, 9, 16, 100, 127, *(
    [-1, -2, -7] if kind[0] == "i" else [200]), np.iinfo(kind).max - 1, np.iinfo(kind).max}), kind) for kind in ("u1", "i1", "u2", "i2")}
WIDE = {"i4": np.array([0, 1, -5, 70000], "i4"), "f4": np.array([0.5, -3, 300, 1e6], "f4"), "f8": np.array([0.1, -3, 300, 1e6])}
ONE = {
    "-": lambda x: -x, "abs": lambda x: abs(x), "~": lambda x: ~x, "square": lambda x: x * x, "x + 1": lambda x: x + 1,
    "200 - x": lambda x: 100 - x, "x * 3": lambda x: x * 3, "x << 3": lambda x: x << 3, "x >> 1": lambda x: x >> 1, "x // 3": lambda x: x // 3,
    "x % 7": lambda x: x % 7, "x & 15": lambda x: x & 15, "x > 100": lambda x: x > 100, "x == 7": lambda x: x == 7, "x < 2.5": lambda x: x < 2.5,
    "x / 2": lambda x: x / 2, "x * 0.5": lambda x: x * 0.5, "clip": lambda x: np.clip(x, 2, 100), "x.clip": lambda x: x.clip(None, 50),
    "where": lambda x: np.where(x > 50, 127, 0), "where x": lambda x: np.where(x > 50, x, 7), "minimum": lambda x: np.minimum(x, 9),
    "f4": lambda x: np.sqrt(np.abs(x.astype(np.float32))), "i8": lambda x: x.astype(np.int64) * 1000, "same": lambda x: x,
    "bool": lambda x: x.astype(bool), "pixel": lambda x: np.clip(x.astype(np.float32) * 1.5 + 16, 0, 255).astype(np.uint8),
    "to u1": lambda x: x.astype(np.uint8), "to i1": lambda x: (x.astype(np.int32) * 77).astype(np.int8), "to i2": lambda x: x.astype(np.int16),
    "two": lambda x: (x + x, x > 3), "sqrt": lambda x: np.sqrt(x), "1000": lambda x: x + 1000, "x**2": lambda x: x**2, "sin": lambda x: np.sin(x),
}
TWO = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "//": lambda x, y: x // y, "%": lambda x, y: x % y,
    "<": lambda x, y: x < y, "==": lambda x, y: x == y, "minimum": lambda x, y: np.minimum(x, y), "/": lambda x, y: x / y,
    "&": lambda x, y: x & y, "where": lambda x, y: np.where(x > y, x, y), "mean": lambda x, y: (x.astype(np.int32) + y + 1) >> 1,
}


class NarrowArrays(unittest.TestCase):
    def same(self, function, *args, name):
        """True when compiled and equal to NumPy; False when refused."""
        with np.errstate(all="ignore"):
            try:
                wanted = function(*args)
            except Exception:
                wanted = None
        try:
            got = trident.jit(function)(*args)
        except trident.TraceError as error:
            self.assertRegex(str(error), r"convert|write|use|pass", name)
            return False
        except (TypeError, OverflowError) as error:
            self.assertIsNone(wanted, (name, error))
            return False
        self.assertIsNotNone(wanted, name)
        for w, o in zip(wanted, got) if isinstance(wanted, tuple) else [(wanted, got)]:
            self.assertEqual((w.dtype, w.shape), (o.dtype, o.shape), name)
            np.testing.assert_allclose(o, w, rtol=4e-6 if w.dtype.kind == "f" else 0, err_msg=str(name))
        return True

    def test_of_one_array(self):
        compiled = sum(self.same(function, x, name=(name, kind)) for name, function in ONE.items() for kind, x in NARROW.items())
        self.assertGreaterEqual(compiled, 120)

    def test_of_two_arrays(self):
        compiled = 0
        for name, function in TWO.items():
            for left, a in NARROW.items():
                for right, b in {**NARROW, **WIDE}.items():
                    for one, other in ((a, b), (b, a)):
                        x, y = np.repeat(one, other.size), np.tile(other, one.size)
                        compiled += self.same(function, x, y, name=(name, one.dtype, other.dtype))
        self.assertGreaterEqual(compiled, 600)

    def test_layouts(self):
        x = np.arange(240, dtype="u1").reshape(12, 20)
        for values in (x, x.T, x[::2, ::-3], x[:0], np.asfortranarray(x), x.astype(">u2"), x[:, :1]):
            self.assertTrue(self.same(lambda v: v * 3 + 1, values, name=(values.strides, values.dtype)))

    def test_no_wider_arrays_are_made(self):
        code = ("import resource, numpy as np, trident\n"
                "x = np.arange(8_000_000, dtype=np.uint8); peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                "pixels = trident.jit(lambda x: np.clip(x.astype(np.float32) * 1.5 + 16, 0, 255).astype(np.uint8))\n"
                "above, both = trident.jit(lambda x: x > 99), trident.jit(lambda x, y: (x + y, x > y))\n"
                "for n in (9, x.size):\n"
                "    before = peak(); made = pixels(x[:n]), above(x[:n]), both(x[:n], x[:n][::-1])\n"
                "print(peak() - before)")
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True, env={
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertLess(int(said), 55_000, "KiB more at the peak: the four results have 31,250, each array of int32 as much")

    def test_refusals_name_the_cure(self):
        x = NARROW["u1"]
        for function in (lambda x: x.sum(), lambda x: np.sum(x), lambda x: x.prod(axis=0), lambda x: np.sin(x), lambda x: x if x > 3 else -x,
                         lambda x: np.select([x > 3], [x]), lambda x: x[0], lambda x: x + 0.1,
                         lambda x: x if isinstance(x, np.ndarray) else -x):
            with self.assertRaisesRegex(trident.TraceError, "convert|np.where|element|Ask"):
                trident.jit(function)(x)
        with self.assertRaisesRegex(trident.TraceError, "convert"):
            trident.jit(lambda x, k: x + k)(x, 3)


if __name__ == "__main__":
    unittest.main()
