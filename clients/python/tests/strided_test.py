"""Arrays that do not lie element after element, as operands and as out: steps, backwards, broadcast, at odd addresses, read-only,
other orders of dimensions, overlapping. Oracle: NumPy on the same arrays; what lies between the elements of out stays."""
import itertools
import os
import random
import subprocess
import sys
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _evaluate  # noqa: E402

TYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.bool_)
SHAPES = [(1,), (9,), (4097,), (40_000,), (3, 7), (70, 130), (5, 1, 8), (4, 5, 6, 7)]


def laid_out(rng, values):
    """An array of these values in another place, under strides of a kind that is drawn."""
    wide = np.zeros(tuple(2 * n + rng.randrange(2) for n in values.shape), values.dtype)
    steps = tuple(rng.choice([slice(0, n), slice(n, 0, -1), slice(1, n + 1), slice(0, 2 * n, 2), slice(2 * n - 1, None, -2)])
                  for n in values.shape)
    kind = rng.randrange(5)
    if kind == 0:
        made = values.copy(order=rng.choice("CF"))
    elif kind == 1:
        made = wide[steps]
    elif kind == 2:
        order = rng.sample(range(values.ndim), values.ndim)
        made = np.zeros([values.shape[i] for i in order], values.dtype).transpose(np.argsort(order))
    elif kind == 3:
        made = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    else:
        made = np.zeros(values.shape + (3,), values.dtype)[..., 1]
    made[...] = values
    return made


def operand(rng, shape):
    dtype = rng.choice(TYPES)
    values = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 2 if dtype is np.bool_ else 11, shape).astype(dtype)
    if rng.random() < 0.3:
        axis = rng.randrange(len(shape))
        values = values.take([0], axis) if rng.random() < 0.7 else values[(0,) * axis]
    if values.ndim == 0:
        return values
    made = laid_out(rng, values)
    made.flags.writeable = rng.random() < 0.7
    return made


def layout_of(dtype, *operands):
    """The strides of a result in the order of the operands' elements, as NumPy makes it."""
    flags = [["writeonly", "allocate"]] + [["readonly"]] * len(operands)
    return np.nditer([None, *operands], [], flags, [dtype, *[a.dtype for a in operands]]).operands[0].strides


def wide(a):
    """As numexpr and Trident's kernels take it."""
    return a if a.dtype.kind == "f" or a.dtype.itemsize == 8 else a.astype(np.int64 if a.dtype == np.uint32 else np.int32)


class Strided(unittest.TestCase):
    def test_operands_of_evaluate(self):
        rng = random.Random(1)
        for _ in range(800):
            shape = rng.choice(SHAPES)
            x, y = operand(rng, shape), operand(rng, shape)
            wanted = {"x*2 + y": wide(x) * 2 + wide(y), "x < y": wide(x) < wide(y)}
            for text, result in wanted.items():
                for evaluate in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                    got = evaluate(text, {"x": x, "y": y})
                    np.testing.assert_array_equal(result.astype(got.dtype), got, f"{text} {x.strides} {y.strides}")
                    self.assertEqual(*([s for s, n in zip(strides, got.shape) if n > 1] for strides in (
                        layout_of(got.dtype, x, y), got.strides)), f"{text} {x.strides} {y.strides}")

    def test_texts_of_several_expressions(self):
        rng = random.Random(7)
        for _ in range(100):
            shape = rng.choice(SHAPES)
            x, y = (laid_out(rng, np.random.default_rng(rng.randrange(99)).integers(0, 9, shape).astype(np.float64)) for _ in range(2))
            got = trident.evaluate("(x*y, x + y, x < y)", {"x": x, "y": y})
            for made, wanted in zip(got, (x * y, x + y, x < y)):
                np.testing.assert_array_equal(wanted, made)
                if max(shape) == x.size or x.strides == y.strides:
                    self.assertEqual(trident.evaluate("x + y", {"x": x, "y": y}).flags.c_contiguous, made.flags.c_contiguous)

    def test_out_of_evaluate_and_what_lies_between(self):
        rng = random.Random(2)
        for _ in range(400):
            shape = rng.choice(SHAPES)
            x, y = (np.random.default_rng(rng.randrange(99)).integers(0, 9, shape).astype(np.float64) for _ in range(2))
            place = rng.choice([lambda: np.full(shape + (2,), 7.0), lambda: np.full(tuple(2 * n for n in shape), 7.0)])()
            out = place[..., 1] if place.ndim > len(shape) else place[tuple(slice(2 * n - 1, None, -2) for n in shape)]
            expected = place.copy()
            view = np.ndarray(out.shape, out.dtype, expected, out.__array_interface__["data"][0] - place.ctypes.data, out.strides)
            view[...] = x * y + 1
            for evaluate in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                out[...] = 5
                self.assertIs(out, evaluate("x*y + 1", {"x": laid_out(rng, x), "y": laid_out(rng, y)}, out=out))
                np.testing.assert_array_equal(expected, place)

    def test_out_that_overlaps(self):
        rng = random.Random(3)
        for _ in range(600):
            memory = np.arange(300.0)
            slices = [slice(rng.randrange(20), None, rng.choice([1, 2, 3, -1, -2])) for _ in range(3)]
            slices = [s if s.step > 0 else slice(299 - s.start, None, s.step) for s in slices]
            if rng.random() < 0.3:
                slices[2] = slices[0]
            for evaluate in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                memory[:] = np.arange(300)
                x, y, out = (memory[s][:80] for s in slices)
                wanted = x * 2 + y
                evaluate("x*2 + y", {"x": x, "y": y}, out=out)
                np.testing.assert_array_equal(wanted, out, str(slices))
            memory[:] = np.arange(300)
            k = trident.Kernel("x*2 + y", policy="exact")
            x, y, out = (memory[s][:80] for s in slices)
            wanted = x * 2 + y
            k(x, y, out=out)
            np.testing.assert_array_equal(wanted, out, str(slices))

    def test_reductions(self):
        rng = random.Random(4)
        for _ in range(200):
            values = np.random.default_rng(rng.randrange(1 << 30)).integers(-50, 50, rng.choice(SHAPES)).astype(np.float64)
            x = laid_out(rng, values)
            for evaluate in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                self.assertEqual(values.sum(), evaluate("sum(x)", {"x": x}))
                self.assertEqual(values.max(), evaluate("max(x)", {"x": x}))
            self.assertEqual(values.sum(), trident.Kernel("sum(x)", policy="exact")(x))

    def test_sums_go_by_index_or_where_all_lie_in_fortrans_order_by_memory(self):
        """Sums have the bits of their elements in a line, in the order that docs/from-numexpr.md names; in the other they have others."""
        draws = np.random.default_rng(35)
        x, y = draws.normal(size=(30, 41, 52)), draws.normal(size=(30, 41, 52))
        f, g, turned = np.asfortranarray(x), np.asfortranarray(y), np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
        by_index, by_memory = (lambda a: a.ravel("C")), (lambda a: a.ravel("F"))
        kernel, traced = trident.Kernel("sum(x*y)", policy="exact"), trident.jit(lambda x, y: np.sum(x * y))
        differ = 0
        for a, b, line in ((x, y, by_index), (f, g, by_memory), (f, y, by_index), (x, g, by_index), (f, g[:, :, :1], None),
                           (turned, turned, by_index), (x[:, ::2], y[:, ::2], by_index), (x[::-1], y[::-1], by_index),
                           (f.T, g.T, by_index), (x.T, y.T, by_memory)):
            whole, jits = np.broadcast_to(b, a.shape), line or by_memory  # the product that jit reduces lies in Fortran's order
            line = line or by_index
            for ways, call in ((line, lambda a, b: trident.evaluate("sum(x*y)", {"x": a, "y": b}, {})), (by_index, kernel), (jits, traced)):
                for _ in range(2):  # the second goes the short way
                    self.assertEqual(float(call(a, b)).hex(), float(call(ways(a), ways(whole))).hex())
            other = by_index if line is by_memory else by_memory
            differ += trident.evaluate("sum(x*y)", {"x": a, "y": b}, {}) != trident.evaluate("sum(x*y)", {"x": other(a), "y": other(whole)}, {})
        self.assertGreater(differ, 5)

    def test_kernels_and_jit(self):
        rng = random.Random(5)
        k = trident.Kernel("(x*y, x + y)", policy="exact")
        jitted = trident.jit(lambda x, y: x * y + np.sum(x))
        for _ in range(300):
            shape = rng.choice(SHAPES)
            values = [np.random.default_rng(rng.randrange(99)).integers(0, 9, shape).astype(np.float64) for _ in range(2)]
            x, y = (laid_out(rng, v) for v in values)
            for got, wanted in zip(k(x, y), (x * y, x + y)):
                np.testing.assert_array_equal(wanted, got)
            both = np.full(shape + (2,), 7.0)
            k(x, y, out=(both[..., 0], both[..., 1]))
            np.testing.assert_array_equal(np.stack([x * y, x + y], -1), both)
            np.testing.assert_array_equal(values[0] * values[1] + values[0].sum(), jitted(x, y))
        column, row = np.arange(50.0).reshape(50, 1), np.arange(40.0)
        np.testing.assert_array_equal(column * row, k(column, row)[0])
        for bad in (np.broadcast_to(np.float64(0), (3,)), np.lib.stride_tricks.as_strided(np.zeros(9), (3,), (0,))):
            with self.assertRaises(ValueError):
                trident.Kernel("x + 1")(np.ones(3), out=bad)
        meeting = np.zeros(20)
        with self.assertRaisesRegex(ValueError, "share memory"):
            k(np.ones(9), np.ones(9), out=(meeting[:18:2], meeting[2:11]))
        with self.assertRaisesRegex(ValueError, "share memory"):
            trident.evaluate("(x*y, x + y)", {"x": np.ones(9), "y": np.ones(9)}, out=(meeting[:18:2], meeting[2:11]))

    def test_results_of_kernels_lie_as_those_of_numpy(self):
        rng, k = random.Random(9), trident.Kernel("(x*2 + y, x*y)", policy="exact")
        for _ in range(300):
            values = [np.random.default_rng(rng.randrange(99)).integers(0, 9, rng.choice(SHAPES)).astype(np.float64)] * 2
            x, y = (laid_out(rng, v) for v in values)
            got = k(x, y)
            np.testing.assert_array_equal(x * 2 + y, got[0])
            np.testing.assert_array_equal(x * y, got[1])
            self.assertEqual(*([s for s, n in zip(r.strides, r.shape) if n > 1] for r in (x * y, got[1])), f"{x.strides} {y.strides}")

    def test_operations_one_by_one_say_how_results_lie(self):
        row, column, z = np.arange(7.0), np.arange(5.0).reshape(5, 1), np.asfortranarray(np.arange(35.0).reshape(5, 7))
        for function in (lambda r, c, z: (r + c) + z, lambda r, c, z: r + (c + z), lambda r, c, z: z * 2 + (r + c),
                         lambda r, c, z: np.select([z > 3, z < 1], [z, -z], 2.5), lambda r, c, z: np.select([z > 3], [z], 1.0) * z,
                         lambda r, c, z: np.where(r > c, z, z + 1), lambda r, c, z: (z + r.sum(), (r + c) * z, r * z)):
            wanted, got = function(row, column, z), trident.jit(function)(row, column, z)
            for w, o in zip(*((r if isinstance(r, tuple) else (r,)) for r in (wanted, got))):
                np.testing.assert_array_equal(w, o)
                self.assertEqual(w.strides, o.strides)

    def test_repeated_elements_are_read_once(self):
        many = np.broadcast_to(np.uint8(3), (2**31,))
        self.assertEqual((0, 3), trident.jit(lambda x: (np.argmax(x), x.max()))(many))
        rows = np.broadcast_to(np.array([1, 3, 0, 3, 2], "u1")[:, None], (4, 5, 6))
        for function in (lambda x: np.argmax(x), lambda x: np.argmin(x), lambda x: (x.max(), np.argmin(x)), lambda x: np.argmax(x) + 1,
                         lambda x: (x > 2).any(), lambda x: np.max(x) - np.argmax(x), lambda x: (x.sum(), np.argmin(x)),
                         lambda x: np.argmax(x - x.mean()), lambda x: np.max(x.astype(float) + np.argmax(x))):
            self.assertEqual(function(rows), trident.jit(function)(rows))
            self.assertEqual(function(rows.T), trident.jit(function)(rows.T))

    def test_results_of_jit_lie_as_those_of_numpy(self):
        rng = random.Random(8)
        functions = (lambda x, y: x * 2 + y, lambda x, y: (x * x, x < y, x - y.sum()), lambda x, y: x - x.max(axis=0) + y,
                     lambda x, y: (x / (1 + x.sum(axis=-1, keepdims=True)), y + 1), lambda x, y: np.where(x < y, x, y))
        compiled = [trident.jit(f) for f in functions]
        for _ in range(400):
            values = [np.random.default_rng(rng.randrange(99)).integers(0, 9, rng.choice(SHAPES)).astype(np.float64)] * 2
            x, y = (laid_out(rng, v) for v in values)
            y = y[..., :1] if rng.random() < 0.2 else y
            for f, g in zip(functions, compiled):
                for wanted, got in zip(*(r if type(r) is tuple else (r,) for r in (f(x, y), g(x, y)))):
                    np.testing.assert_array_equal(wanted, got)
                    self.assertEqual(*([s for s, n in zip(r.strides, r.shape) if n > 1] for r in (wanted, got)),
                                     f"{x.strides} {y.strides}")

    def test_reductions_of_jit_round_as_those_of_numpy(self):
        """NumPy adds pairwise along the axis that is the fastest in memory only, so what it is given must lie as its own does."""
        functions = (lambda a: (a * 2).sum(axis=0), lambda a: np.mean(a * a, axis=0), lambda a: (a + 1).var(axis=0),
                     lambda a: np.exp(a) / np.exp(a).sum(axis=0))
        for dtype, function in itertools.product((np.float32, np.float16), functions):
            a = np.full((60_000 if dtype is np.float32 else 1000, 2), 0.1, dtype)
            for layout in "FC":
                a, exact = np.array(a, order=layout), function(np.array(a, np.float64, order=layout))
                off = [np.abs(np.asarray(f(a), np.float64) - exact).max() for f in (function, trident.jit(function))]
                self.assertLessEqual(off[1], 2 * off[0] + np.finfo(dtype).eps * np.abs(exact).max())

    def test_threads_change_no_bit(self):
        x, y = np.random.default_rng(6).normal(size=(2, 600_000))
        steps = np.stack([x, y], 1)
        sums, products = set(), set()
        for threads in (1, 2, 3):
            for a, b in ((x, y), (steps[:, 0], steps[:, 1]), (x[::-1].copy()[::-1], y)):
                sums.add(float(trident.evaluate("sum(x*y)", {"x": a, "y": b}, threads=threads)))
                products.add(trident.evaluate("x*y", {"x": a, "y": b}, threads=threads).tobytes())
        self.assertEqual((1, 1), (len(sums), len(products)))

    def test_no_array_is_copied_as_a_whole(self):
        code = ("import resource, numpy as np, trident\n"
                "x = np.ones((4_000_000, 2)); out = np.ones(4_000_000)\n"
                "k = trident.Kernel('x*2 + y', policy='exact'); f = trident.jit(lambda x, y: np.sum(x * y))\n"
                "small = x[:9, 0], x[:9, 1]\n"
                "call = lambda a, b, o: (trident.evaluate('x*2 + y', {'x': a, 'y': b}, out=o), k(a, b, out=o), f(a, b),\n"
                "                        trident.evaluate('sum(x*y)', {'x': a, 'y': b}), trident.evaluate('x*2 + y', {'x': a, 'y': b}, out=o))\n"
                "call(*small, out[:9]); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                "call(x[:, 0], x[::-1, 1], out)\n"
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)")
        for extension in "01":
            said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True, env={
                **os.environ, "TRIDENT_EXTENSION": extension,
                "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
            self.assertLess(int(said), 16_000, "KiB more at the peak; one array has 31,250")


if __name__ == "__main__":
    unittest.main()
