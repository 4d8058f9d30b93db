"""Reductions along axes under @trident.jit, and forms made of them. The oracle is NumPy."""
import itertools
import os
import sys
import unittest
import unittest.mock
import warnings

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import trident
from trident import _compiled

RNG = np.random.default_rng(11)
NAMES = ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "argmin", "argmax")


def outcome(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except trident.TraceError:
            raise
        except Exception as error:
            return type(error)


class Axes(unittest.TestCase):
    def same(self, function, *args, exact=False, compiled=None):
        wanted, got = outcome(function, *args), outcome(compiled or trident.jit(function), *args)
        if isinstance(wanted, type):
            self.assertIs(wanted, got)
            return
        for w, o in zip(wanted if type(wanted) is tuple else (wanted,), got if type(got) is tuple else (got,)):
            self.assertEqual((type(w), w.dtype, w.shape), (type(o), o.dtype, o.shape))
            rtol = 0 if exact else {"f4": 3e-5, "f8": 1e-11}.get(w.dtype.str[1:], 0)
            np.testing.assert_allclose(o, w, rtol=rtol, atol=rtol)

    def test_each_reduction_of_arguments_has_numpys_bits(self):
        """Types, bits, shapes and errors, axes that are none among them."""
        shapes = ((6,), (3, 4), (2, 3, 5), (1, 4), (0, 3))
        for name, dtype, shape in itertools.product(NAMES, ("f8", "f4", "i8", "i4", "?", "i2", "u1"), shapes):
            x = (RNG.normal(size=shape) * 4).astype(dtype)
            for axis, keepdims in ((0, False), (-1, True), (1, False), ((0, 1), True), (None, True), (2, False)):
                function = getattr(np, name)
                if name in ("argmin", "argmax") and type(axis) is tuple or name in ("sum", "prod") and dtype == "u1":
                    continue
                if name in ("var", "std", "mean") and dtype == "?" and name != "mean":
                    continue
                with self.subTest(name, dtype=dtype, shape=shape, axis=axis, keepdims=keepdims):
                    self.same(lambda x: function(x, axis=axis, keepdims=keepdims), x, exact=True)

    def test_methods_and_positions(self):
        x = RNG.normal(size=(4, 5))
        for function in (lambda x: x.sum(0), lambda x: x.mean(1, keepdims=True), lambda x: x.std(axis=0, ddof=1), lambda x: x.max(-1),
                         lambda x: (x > 0).any(0), lambda x: x.argmax(1), lambda x: np.add.reduce(x, axis=1), lambda x: np.add.reduce(x),
                         lambda x: np.sum(x, 1, np.float32), lambda x: np.ptp(x, axis=0), lambda x: np.nansum(x, axis=1),
                         lambda x: np.nanmax(np.sqrt(x), axis=0), lambda x: np.count_nonzero(x > 0, axis=1),
                         lambda x: np.linalg.norm(x, axis=1), lambda x: np.average(x, axis=0), lambda x: np.nanmean(np.sqrt(x), axis=1)):
            self.same(function, x)

    def test_places_count_in_c_order_however_arrays_lie(self):
        whole = RNG.integers(-2, 3, (2, 3, 4))
        functions = (lambda x, y: np.argmax(x), lambda x, y: np.argmin(x, axis=None), lambda x, y: x.argmax(keepdims=True),
                     lambda x, y: (np.argmax(x + y), np.argmin(x - y)), lambda x, y: (np.argmax(x), x.sum(), x.min()),
                     lambda x, y: np.argmax(x) + x * 0, lambda x, y: np.argmin(x * y))
        compiled = [trident.jit(f) for f in functions] + [trident.jit(lambda x: np.argmax(x))]
        for order, at in itertools.product(itertools.permutations(range(3)), range(2)):
            for x in (whole, whole[:1], whole[:, 1], np.arange(24).reshape(whole.shape) % 5):
                x = x.transpose(order if x.ndim == 3 else (at, 1 - at))
                for y in (x.copy(), x[:1], x[..., :1], np.asfortranarray(x)):
                    for function, jitted in zip(functions, compiled):
                        self.same(function, x, y, exact=True, compiled=jitted)
                for again in (x, x, x.copy("F")):  # the last call's way too
                    self.same(np.argmax, again, exact=True, compiled=compiled[-1])

    def test_forms_of_elements_and_their_reductions(self):
        def softmax(x):
            e = np.exp(x - x.max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)

        def layer_norm(x, gain, bias):
            mean = x.mean(axis=-1, keepdims=True)
            return (x - mean) / np.sqrt(((x - mean)**2).mean(axis=-1, keepdims=True) + 1e-5) * gain + bias

        def several(x, gain, bias):
            total = np.sum(x * gain, axis=0)
            return total, x - total, np.sum(x) + total.max(), total.argmin(), (x > total).all(axis=1)

        def logsumexp(x):
            top = x.max(axis=1)
            return top + np.log(np.exp((x.T if False else x) - x.max(axis=1, keepdims=True)).sum(axis=1))

        def centred(x):
            return x - x.mean(axis=0) + x.sum()

        for dtype in ("f8", "f4"):
            x, gain, bias = (RNG.normal(size=s).astype(dtype) for s in ((7, 9), (9,), (9,)))
            for _ in range(2):  # a later call, too
                self.same(softmax, x)
                self.same(logsumexp, x)
                self.same(centred, x)
                self.same(layer_norm, x, gain, bias)
                self.same(several, x, gain, bias)
            self.same(softmax, np.asfortranarray(x))
            self.same(softmax, x[::2, ::-1])

    def test_one_function_for_arrays_of_any_dimensions(self):
        compiled = trident.jit(lambda x: np.exp(x) / np.exp(x).sum(axis=0))
        for shape in ((5,), (5, 3), (5,), (2, 3, 4), (1,), (4, 1)):
            x = RNG.normal(size=shape)
            self.same(lambda x: np.exp(x) / np.exp(x).sum(axis=0), x, compiled=compiled)

    def test_long_calls_in_stages_give_the_bits_of_one_kernel(self):
        x, y = RNG.normal(size=(2, 70_000))
        for function in (lambda x, y: x / x.sum() + y, lambda x, y: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
                         lambda x, y: ((x - x.mean()) * (y - y.mean())).sum(), lambda x, y: (x - np.dot(x, y) * y, x.std(), (x > y.mean()).any())):
            with unittest.mock.patch.object(_compiled, "_SHARED_MIN", 1 << 60):
                whole = trident.jit(function)(x, y)
            for got in (trident.jit(function)(x, y), trident.jit(function)(x, y)):
                for w, o in zip(whole if type(whole) is tuple else (whole,), got if type(got) is tuple else (got,)):
                    self.assertEqual((type(w), np.asarray(w).tobytes()), (type(o), np.asarray(o).tobytes()))
            self.same(function, x, y)

    def test_reductions_of_some_of_the_arguments(self):
        x, y = RNG.normal(size=(3, 5)), RNG.normal(size=5)
        self.same(lambda x, y: x * y.sum() - y, x, y)
        self.same(lambda x, y: x / np.sqrt((y * y).mean()), x, y)
        self.same(lambda x, y: np.exp(x - x.max()) / y.std(), x, y)

    def test_products_of_parts_are_of_vectors(self):
        x, y = RNG.normal(size=(2, 4, 4))
        self.assertRaisesRegex(trident.TraceError, "two vectors", trident.jit(lambda x, y: x * np.dot(x - x.mean(), y - y.mean())), x, y)
        self.same(lambda x, y: x * np.dot(x - x.mean(), y - y.mean()), x[0], y[0])

    def test_narrow_arrays(self):
        for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.uint32):
            x = RNG.integers(-100, 100, (5, 6)).astype(dtype)
            for name in NAMES:
                self.same(lambda x: getattr(np, name)(x), x)
                self.same(lambda x: getattr(x, name)(axis=0), x)
                self.same(lambda x: getattr(x, name)(), x)
            self.same(lambda x: x - x.min(axis=0), x)
            self.same(lambda x: np.max(x + x, axis=1), x)

    def test_averages(self):
        for dtype in (np.float64, np.float32, np.float16, np.uint8, np.int32, np.bool_):
            x = RNG.integers(0, 200, (5, 6)).astype(dtype)
            self.same(lambda x: np.average(x), x)
            self.same(lambda x: np.average(x, axis=0), x)
            self.same(lambda x: np.average(x, axis=1), x)
            self.same(lambda x: x - np.average(x + x, axis=0), x)
            for keepdims in (True, False):
                self.same(lambda x: np.average(x, keepdims=keepdims), x)
                self.same(lambda x: np.average(x, 1, keepdims=keepdims), x)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a mean of nothing is NaN
                self.same(lambda x: np.average(x, axis=0), np.zeros((0, 3), dtype))
            with self.assertRaises(ZeroDivisionError):  # as NumPy's does, which divides their numbers
                trident.jit(lambda x: np.average(x, axis=1))(np.zeros((0, 3), dtype))

    def test_refusals_name_the_cure(self):
        x = np.ones((3, 4))
        for function, cure in ((lambda x: np.sum(x, axis=0, initial=1), "initial"), (lambda x: np.sum(x, axis=np.sum(x)), "axis"),
                               (lambda x: np.median(x, axis=0), "median"), (lambda x: np.sort(x, axis=0), "sort")):
            self.assertRaisesRegex(trident.TraceError, cure, trident.jit(function), x)
        for name in NAMES:
            for keywords in ({"axis": 0}, {"keepdims": True}):
                along = trident.jit(lambda x: getattr(np, name)(x, **keywords))
                self.assertRaisesRegex(trident.TraceError, "takes an array, and here it has a number", along, np.array(2.5))

    def test_dimensions_that_are_not_kept(self):
        x = np.array([0.5, 2.0, -1.0])
        for name in NAMES:
            function = getattr(np, name)
            np.testing.assert_allclose(trident.jit(lambda x: function(x, keepdims=False))(x), function(x), rtol=1e-15, err_msg=name)


if __name__ == "__main__":
    unittest.main()
