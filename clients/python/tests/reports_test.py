"""Faults that users of other packages have reported, as rows of reports.jsonl: the text, its operands as [dtype, values] (or
views of `memory`), and the value or the error that is right, with its source. numexpr never sees a hostile one."""
import json
import os
import sys
import unittest
import unittest.mock

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numexpr  # noqa: E402
import numpy as np  # noqa: E402

import trident  # noqa: E402

ROWS = [json.loads(line) for line in open(os.path.join(os.path.dirname(__file__), "reports.jsonl"), encoding="utf-8")]
ERRORS = {e.__name__: e for e in (ValueError, TypeError, AttributeError, OverflowError, SyntaxError, MemoryError,
                                  RecursionError, NotImplementedError)}


def array(given):
    dtype, values = given
    return np.array(values, object).astype(dtype)


def call_of(row):
    count, before, after = row.get("repeat", [0, "", ""])
    memory = {name: array(v) for name, v in {**row.get("operands", {}), **row.get("memory", {})}.items()}
    views = {name: eval(view, {}, memory) for name, view in row.get("views", {}).items()}
    out = {"out": eval(row["out"], {}, memory)} if "out" in row else {}
    return (before * count + row["text"] + after * count, {**memory, **views}, {}), out


class Reports(unittest.TestCase):
    def test_every_row(self):
        for row in ROWS:
            with self.subTest(row["report"], text=row["text"]), np.errstate(all="ignore"), \
                    unittest.mock.patch.object(numexpr, "evaluate", wraps=numexpr.evaluate) as numexprs:
                args, out = call_of(row)
                if "error" in row:
                    with self.assertRaises(tuple(ERRORS[e] for e in row["error"].split())) as caught:
                        trident.evaluate(*args, **out)
                    self.assertIn(row.get("says", ""), str(caught.exception))
                    self.assertTrue(row.get("harmless") or not numexprs.called, "numexpr saw it")
                    continue
                wanted, got = array(row["expected"]), trident.evaluate(*args, **out)
                self.assertEqual((wanted.dtype, wanted.shape), (got.dtype, got.shape))
                np.testing.assert_array_equal(wanted, got)

    def test_shifts_under_jit(self):
        """NumPy's own shifts are the oracle."""
        for dtype in ("i4", "i8"):
            x = np.array([1, -1, 7, -8, 2**31 - 1, -2**31], dtype)
            for count in (0, 1, 31, 32, 33, 63, 64, 65, -1, -64):
                for n in (count, np.full(x.size, count, dtype)):
                    for shift in (lambda x, n: x << n, lambda x, n: x >> n):
                        with self.subTest(dtype=dtype, count=count):
                            np.testing.assert_array_equal(shift(x, n), trident.jit(shift)(x, n))
                            np.testing.assert_array_equal(shift(x, n), trident.jit(lambda x: shift(x, n))(x)
                                                          if np.ndim(n) == 0 else shift(x, n))

    def test_counts_under_jit(self):
        a, b = np.arange(10.0), np.arange(10) > 2
        for count in (lambda a, b: np.sum(a > 5), lambda a, b: (a > 5).sum(), lambda a, b: np.sum(b & (a < 7)),
                      lambda a, b: np.sum(b)):
            wanted, got = count(a, b), trident.jit(count)(a, b)
            self.assertEqual((wanted, wanted.dtype), (got, got.dtype))


if __name__ == "__main__":
    unittest.main()
