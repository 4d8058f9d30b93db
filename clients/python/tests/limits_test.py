"""Large values, and types that kernels do not have: they work, or an error names the limit and the mend. The oracle is
NumPy."""
import os
import sys
import unittest
import unittest.mock

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _chain, _promise  # noqa: E402

RANDOM = np.random.default_rng(5)


def total(arrays):
    result = arrays[0]
    for a in arrays[1:]:
        result = result + a
    return result


class ManyOperands(unittest.TestCase):
    def same(self, arrays, **kwargs):
        names = {f"v{i}": a for i, a in enumerate(arrays)}
        got = trident.evaluate("+".join(names), names, {}, **kwargs)
        np.testing.assert_array_equal(total(arrays), got)
        np.testing.assert_array_equal(total(arrays) > 0, trident.evaluate("+".join(names) + " > 0", names, {}))
        return got

    def test_layouts(self):
        for count in (31, 32, 33, 70, 100):
            m = RANDOM.standard_normal((count, 60, 50))
            with self.subTest(count):
                self.same([a[::2, ::-3] for a in m])
                self.assertTrue(self.same([a.T for a in m]).flags.f_contiguous)
                self.same([a if i % 2 else a[0] for i, a in enumerate(m)])
                self.same([a if i % 3 else a[:, :1] for i, a in enumerate(m)])
                self.same([a.astype("f4") if i % 2 else a for i, a in enumerate(m)])
                self.same([a.astype(">f8") for a in m])
                self.same([(a * 9).astype("i2") if i % 2 else (a * 9).astype("i8") for i, a in enumerate(m)])
                self.same([a[:0] for a in m])
                self.assertTrue(self.same([a[::2] for a in m], order="F").flags.f_contiguous)
                names = {f"v{i}": a[::2] for i, a in enumerate(m)}
                np.testing.assert_allclose(total([a[::2] for a in m]).sum(),
                                           trident.evaluate(f"sum({'+'.join(names)})", names, {}), rtol=1e-9)

    def test_out(self):
        m = RANDOM.standard_normal((40, 60, 50))
        names = {f"v{i}": a[:, ::2] for i, a in enumerate(m)}
        wanted, text = total(list(names.values())), "+".join(names)
        for out in (np.empty((60, 25)), np.empty((60, 50))[:, ::2], np.empty((25, 60)).T):
            self.assertIs(out, trident.evaluate(text, names, {}, out=out))
            np.testing.assert_array_equal(wanted, out)
        out = np.empty((60, 25), "f4")
        with self.assertRaisesRegex(TypeError, "float64.*out's float32.*casting"):
            trident.evaluate(text, names, {}, out=out, casting="safe")
        trident.evaluate(text, names, {}, out=out)
        np.testing.assert_array_equal(wanted.astype("f4"), out)
        wide = np.empty((3, 60, 25))
        trident.evaluate(text, names, {}, out=wide)
        np.testing.assert_array_equal(np.broadcast_to(wanted, wide.shape), wide)
        with self.assertRaises(ValueError):
            trident.evaluate(text, names, {}, out=np.empty((60, 26)))
        trident.evaluate(text, names, {}, out=m[3, :, 1::2])  # beside an operand
        np.testing.assert_array_equal(wanted, m[3, :, 1::2])
        wanted = total([a if n != "v1" else a[::-1] for n, a in names.items()])
        trident.evaluate(text, {**names, "v1": m[1, ::-1, ::2]}, {}, out=m[1, :, ::2])  # read backwards, written forwards
        np.testing.assert_array_equal(wanted, m[1, :, ::2])


class Size(unittest.TestCase):
    def test_variables(self):
        for count in (64, 65, 100, 257):
            m = RANDOM.standard_normal((count, 9000))
            names = {f"v{i}": a for i, a in enumerate(m)}
            text = "+".join(names)
            np.testing.assert_array_equal(total(list(m)), trident.evaluate(text, names, {}))
            mixed = {n: float(a[0]) if i % 2 else a for i, (n, a) in enumerate(names.items())}
            np.testing.assert_array_equal(total(list(mixed.values())), trident.evaluate(text, mixed, {}))
            np.testing.assert_array_equal(total([a[::2] for a in m]) > 0, trident.evaluate(
                text + " > 0", {n: a[::2] for n, a in names.items()}, {}))
            np.testing.assert_allclose(trident.evaluate(f"sum({text})", names, {}), m.sum(), rtol=1e-9)
            np.testing.assert_array_equal(trident.evaluate(f"max({text})", names, {}), total(list(m)).max())
            wanted = total(list(m))
            self.assertIs(m[0].base, trident.evaluate(text, names, {}, out=m[0]).base)
            np.testing.assert_array_equal(wanted, m[0])

    def test_terms(self):
        x = RANDOM.standard_normal(5000)
        for terms in (1500, 2500):
            text = "+".join(f"x*{i}.5" for i in range(terms))
            np.testing.assert_array_equal(total([x * (i + 0.5) for i in range(terms)]), trident.evaluate(text))
            text = "|".join(f"((x > {i}.5) & ~(x < {i}))" for i in range(terms))
            np.testing.assert_array_equal(np.any([(x > i + 0.5) & ~(x < i) for i in range(9)], axis=0), trident.evaluate(text))

    def test_a_chain_has_the_bits_of_one_kernel(self):
        """Random graphs, cut at many places; one kernel is the oracle."""
        values = {f"v{i}": RANDOM.standard_normal(100) if i < 6 else float(i) for i in range(9)}
        for case in range(40):
            made = list(values)
            for _ in range(60):
                a, b, c = RANDOM.choice(made, 3)
                made.append(RANDOM.choice([f"({a}*{b}+{c})", f"where({a}>{b},{c},{b})", f"sin({a})", f"({a}-{b})/2"]))
                made = [m for m in made if len(m) < 2000]
            text = max(made, key=len)
            wanted = trident.evaluate(text, values, {})
            with unittest.mock.patch.object(_chain, "_OPERATIONS", int(RANDOM.integers(1, 9))), \
                    unittest.mock.patch.object(_chain, "_VALUES", 12), \
                    unittest.mock.patch.object(_promise.Promise, "kernel", limited(_promise.Promise.kernel)):
                got = trident.evaluate(" " * (case + 1) + text, values, {})
            np.testing.assert_array_equal(wanted, got)

    def test_jit_and_kernels_name_the_limit_and_the_cure(self):
        x, space = np.ones(3), {}
        names = ", ".join(f"v{i}" for i in range(65))
        exec(f"def f({names}): return {names.replace(', ', ' + ')}", space)
        with self.assertRaisesRegex(trident.TraceError, "variables.*divide it"):
            trident.jit(space["f"])(*[x] * 65)
        with self.assertRaisesRegex(trident.TridentError, "64 variables"):
            trident.Kernel(names.replace(",", "+"))
        counted = "4096 operations, inputs and constants"
        with self.assertRaisesRegex(trident.TridentError, counted):
            trident.Kernel("+".join(f"x*{i + 3}.5" for i in range(1366)))  # 2731 operations, an input and 1366 constants
        trident.Kernel("+".join(f"x*{i + 3}.5" for i in range(1365)))
        with self.assertRaisesRegex(trident.TridentError, counted):
            trident.Kernel("+".join(["x"] * 4097))
        self.assertEqual(4096 * 2, trident.Kernel("+".join(["x"] * 4096))(2.0))


def limited(kernel):
    """Refuses what one kernel would hold, once."""
    calls = []

    def wrapped(*args):
        calls.append(1)
        if len(calls) == 1:
            raise trident.TridentError("one too many", 4)
        return kernel(*args)
    return wrapped


class Types(unittest.TestCase):
    def test_casts_are_refused_by_name(self):
        u8, i2, i4, f8 = np.arange(5, dtype="u8"), np.arange(5, dtype="i2"), np.arange(5, dtype="i4"), np.arange(5.0)
        scalar = np.uint64(7)
        for text in ("u8 + 1", "f8 * u8", "sum(u8)", "u8 > 1", "scalar + f8", "scalar + 1", "sum(u8 + f8, axis=0)"):
            with self.subTest(text), self.assertRaisesRegex(TypeError, "'(u8|scalar)' is uint64.*astype"):
                trident.evaluate(text, casting="safe")
        for text in ("i2 + i4", "i2 + 1", "sum(i2)"):
            for casting in ("no", "equiv"):
                with self.subTest(text, casting=casting), self.assertRaisesRegex(TypeError, "'i2' is int16.*int32"):
                    trident.evaluate(text, casting=casting)
        wide = f8.astype(np.longdouble)
        for text in ("wide + 1", "sum(wide)", "wide > f8"):
            with self.subTest(text), self.assertRaisesRegex(TypeError, "'wide' is float128.*astype"):
                trident.evaluate(text, casting="safe")
        np.testing.assert_array_equal(f8 + 1, trident.evaluate("wide + 1"))
        np.testing.assert_array_equal(u8 + 1.0, trident.evaluate("u8 + 1"))
        np.testing.assert_array_equal(u8.astype(float), trident.evaluate("w * 1.0", {"w": u8.astype(float)}))

    def test_types_that_numexpr_lacks_too(self):
        for dtype, cure in (("clongdouble", "astype"), (object, "astype"), ("M8[s]", "astype"), ("m8[s]", "astype"),
                            ("U1", "astype"), ("V8", "take one of its fields")):
            odd = np.zeros(3, dtype)
            with self.subTest(dtype), self.assertRaisesRegex(TypeError, f"'odd' is .*{cure}"):
                trident.evaluate("odd + 1")


if __name__ == "__main__":
    unittest.main()
