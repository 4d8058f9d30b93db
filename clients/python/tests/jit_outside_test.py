"""@trident.jit and the world outside of the function: whatever the function reads or does there, a call returns what the
plain function returns at that moment. The oracle is the plain function, run by NumPy on a twin of the outside state."""
import functools
import itertools
import os
import random
import sys
import threading
import unittest

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402
from numpy import exp as imported_exp  # noqa: E402

import trident  # noqa: E402
from trident._proof import Proof  # noqa: E402

X = np.random.default_rng(9).random(200) * 4 - 2
FACTOR = 2.0
SETTINGS = {"a": {"b": {"c": {"d": {"e": {"f": 1.0}}}}}}


class Config:
    k = 2.0
    nested = None


class Affine:
    def __init__(self):
        self.slope = 1.5

    def __call__(self, x):
        return self.slope * x


def global_factor(x):
    return FACTOR * x + np.cos(x)


class Outside(unittest.TestCase):
    def follows(self, function, *changes):
        """Calls after each change, twice, give what the plain function gives."""
        compiled = trident.jit(function)
        for change in (lambda: None, *changes):
            change()
            for _ in range(2):
                np.testing.assert_allclose(compiled(X), function(X), rtol=1e-13, atol=1e-13)

    def test_values_that_change(self):
        c = np.array([1.0, 2.0])
        self.follows(lambda x: c[0] + c[1] * x, lambda: c.__setitem__(0, 100.0), lambda: c.fill(3.0))
        self.follows(lambda x: x * Config.k, lambda: setattr(Config, "k", 7.0), lambda: setattr(Config, "k", 7))
        deep = SETTINGS["a"]["b"]["c"]["d"]["e"]
        self.follows(lambda x: x * SETTINGS["a"]["b"]["c"]["d"]["e"]["f"], lambda: deep.update(f=-4.0))
        chain = Config()
        chain.nested = Config()
        chain.nested.nested = Config()
        chain.nested.nested.nested = Config()
        chain.nested.nested.nested.nested = last = Config()
        self.follows(lambda x: x + chain.nested.nested.nested.nested.k, lambda: setattr(last, "k", 0.25))
        affine = Affine()
        self.follows(lambda x: affine(x), lambda: setattr(affine, "slope", -3.0))
        self.follows(affine, lambda: setattr(affine, "slope", 11.0))
        bound = [1.0]
        self.follows(functools.partial(lambda b, x: x * b[0], bound), lambda: bound.__setitem__(0, 5.0))
        part = functools.partial(lambda x, w: x * float(w[0]), w=bound)
        state = {"name": "slope"}
        affine.offset = 9.0
        self.follows(lambda x: x * getattr(affine, state["name"]), lambda: state.update(name="offset"))
        self.follows(lambda x: part(x), lambda: bound.__setitem__(0, -1.0))
        os.environ["TRIDENT_TEST_FACTOR"] = "2"
        self.follows(lambda x: x * float(os.environ["TRIDENT_TEST_FACTOR"]),
                     lambda: os.environ.update(TRIDENT_TEST_FACTOR="3"))

    def test_names_that_change(self):
        global FACTOR
        self.follows(global_factor, lambda: globals().update(FACTOR=5.0), lambda: globals().update(FACTOR=5),
                     lambda: globals().update(FACTOR=np.float64(0.5)), lambda: globals().update(FACTOR=2.0))
        cell = 1.0

        def change(value):
            nonlocal cell
            cell = value

        self.follows(lambda x: x * cell + np.sin(x), lambda: change(4.0), lambda: change(np.pi), lambda: change(True))
        self.follows(lambda x: imported_exp(x), lambda: globals().update(imported_exp=np.sin))
        globals()["abs"] = lambda v: v * 3
        try:
            self.follows(lambda x: abs(x), lambda: globals().pop("abs"))
        finally:
            globals().pop("abs", None)
        saved = np.tan
        try:
            self.follows(lambda x: np.tan(x), lambda: setattr(np, "tan", np.tanh), lambda: setattr(np, "tan", saved))
        finally:
            np.tan = saved

        def moving(x, a=2.0, *, b=1.0):
            return a * x + b

        self.follows(moving, lambda: setattr(moving, "__defaults__", (3.0,)),
                     lambda: moving.__kwdefaults__.update(b=-1.0),
                     lambda: setattr(moving, "__code__", (lambda x, a=0, *, b=0: a * x - b).__code__))

    def test_effects_happen_as_in_plain_python(self):
        def make():
            counter, log, seeds = itertools.count(), [], random.Random(4)

            def function(x):
                log.append(len(log))
                return x * next(counter) + seeds.random() + log[-1]
            return function

        plain, compiled = make(), trident.jit(make())
        for _ in range(100):
            np.testing.assert_allclose(compiled(X), plain(X), rtol=1e-13, atol=1e-13)

    def test_random_states(self):
        """A function of nested containers, changed at random places; 300 calls against a plain twin."""
        rng = random.Random(8)
        state = {"list": [1.0, [2.0, (3.0, [4.0])]], "object": Affine(), "array": np.ones(4), "flag": True}

        def function(x):
            y = x * state["list"][0] + state["list"][1][1][1][0]
            for v in state["array"]:
                y = y + v
            return np.where(y > state["object"].slope, y, -y) if state["flag"] else y * state["object"].slope

        compiled = trident.jit(function)
        for _ in range(300):
            change = rng.randrange(6)
            if change == 0:
                state["list"][0] = rng.randrange(3)
            elif change == 1:
                state["list"][1][1][1][0] = float(rng.randrange(3))
            elif change == 2:
                state["object"].slope = rng.choice([0.5, -1.0])
            elif change == 3:
                state["array"][rng.randrange(4)] = rng.randrange(2)
            elif change == 4:
                state["flag"] = not state["flag"]
            np.testing.assert_allclose(compiled(X), function(X), rtol=1e-13, atol=1e-13)

    def test_arrays_that_are_kept_are_refused(self):
        kept = []

        @trident.jit
        def difference(x):
            before = kept[-1] if kept else x
            kept.append(x)
            return x - before

        np.testing.assert_array_equal(difference(X), X - X)
        with self.assertRaises(trident.TraceError):
            difference(X + 1)
        with self.assertRaises(trident.TraceError):
            trident.jit(lambda x: kept[0])(X)

        @trident.jit
        def nested(x):
            return trident.jit(lambda y: y + x)(np.ones(200))

        with self.assertRaises(trident.TraceError):
            nested(X)

    def test_jit_functions_call_each_other(self):
        inner = trident.jit(lambda x, c=2.0: np.sin(x) * c)
        outer = trident.jit(lambda x: inner(x) + inner(x, 3.0) + inner(np.array([0.5]), 4.0)[0])
        np.testing.assert_allclose(outer(X), np.sin(X) * 5 + np.sin(0.5) * 4, rtol=1e-13, atol=1e-13)

    def test_what_is_proven(self):
        c, items = 2.0, [1.0]
        proven = [lambda x: np.sin(x) * 2, lambda x, y=1: x + y, global_factor, lambda x: x * c, lambda x: x.sum() + np.pi,
                  lambda x: np.where(x > 0, x.astype(np.float32), abs(x)), lambda x: np.linalg.norm(x) + np.count_nonzero(x),
                  lambda x: np.select([x > c, x.any()], [x, 1])]
        unproven = [lambda x: x * items[0], lambda x: x * Config.k, lambda x: global_factor(x), lambda x: x * SETTINGS["a"],
                    lambda x: (lambda y: y * c)(x), lambda x: np.random.random() * x, lambda x: x.k, functools.partial(abs),
                    lambda x: np.zeros(3) + x, lambda x: x + np, lambda x: [v for v in (1, 2)][0] * x, Affine(),
                    lambda x: x + np.linalg, lambda x: np.linalg.inv(x), lambda x: np.piecewise(x, [x > 1], [lambda v: v * c]),
                    lambda x: x.any.k, lambda x: np.select(items, [x])]

        def importing(x):
            import math
            return x * math.pi

        for function in proven:
            self.assertIsNotNone(Proof.of(function))
        for function in (*unproven, importing):
            self.assertIsNone(Proof.of(function))
        proof = Proof.of(lambda x: x * c)
        self.assertTrue(proof.holds())
        c = 3.0
        self.assertFalse(proof.holds())

    def test_threads(self):
        local, failures = threading.local(), []

        @trident.jit
        def scaled(x):
            return x * local.factor + local.items[0]

        def work(seed):
            local.factor, local.items = seed, [seed / 2]
            for i in range(40):
                local.items[0] = i
                if not np.array_equal(scaled(X), X * seed + i):
                    failures.append((seed, i))

        threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)


if __name__ == "__main__":
    unittest.main()
