"""Tables through trident.Kernel, against NumPy's own indexing."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402


class Tables(unittest.TestCase):
    def setUp(self):
        self.t = np.arange(10.0) + 0.5
        self.x = np.linspace(0, 1, 37)

    def test_elements_by_number(self):
        j = np.arange(37) % 14 - 2
        kernel = trident.Kernel("x * t[j]", types={"j": "i64"}, tables=["t"])
        self.assertEqual(("t",), kernel.tables)
        self.assertEqual((), kernel.scalars)
        inside = (j >= 0) & (j < 10)
        wanted = self.x * np.where(inside, self.t[np.clip(j, 0, 9)], 0)
        np.testing.assert_array_equal(wanted, kernel(x=self.x, j=j, t=self.t))
        np.testing.assert_array_equal(0 * self.x, kernel(x=self.x, j=j, t=np.empty(0)))

    def test_a_text_declares_them(self):
        kernel = trident.Kernel("a * t[2*index + 1] + x", scalars=["a"])
        wanted = self.x.copy()
        wanted[:5] += 3 * self.t[1::2]
        np.testing.assert_array_equal(wanted, kernel(x=self.x, t=self.t, a=3))

    def test_out_says_how_many(self):
        kernel = trident.Kernel("t[9 - index]")
        out = np.empty(12)
        kernel(self.t, out=out)
        np.testing.assert_array_equal(np.concatenate([self.t[::-1], [0, 0]]), out)
        with self.assertRaisesRegex(TypeError, "give out"):
            kernel(self.t)

    def test_a_table_may_be_the_result(self):
        t = self.t.copy()
        trident.Kernel("t[9 - index]")(t, out=t)
        np.testing.assert_array_equal(self.t[::-1], t)


if __name__ == "__main__":
    unittest.main()
