"""The short way of a call (extension/call.c) gives what the long way gives: values, types, layouts, errors. Oracles: the long
way with the same arguments; NumPy; reference counts."""
import gc
import inspect
import os
import pickle
import random
import subprocess
import sys
import threading
import unittest
import unittest.mock
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import trident
from trident import _evaluate, _short_call

TEXTS = ("x*y + 1", "x < y", "sum(x*y)", "where(x > y, x, y)", "a*x + y", "max(x)", "sqrt(x) - y/a", "x & y", "min(x < y)")


class Doubles(np.ndarray):
    pass


def drawn(rng, n):
    """One of the things that callers pass for an array of n elements."""
    base = np.random.default_rng(rng.randrange(1 << 30)).integers(1, 50, (2, n))
    dtype = rng.choice([np.float64] * 6 + [np.float32, np.int64, np.int32, ">f8", ">u2", np.longlong, np.uint64, np.float16]
                       + 2 * [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.bool_])
    plain = (base[0] - 25 * rng.randrange(2)).astype(dtype)
    return rng.choice([lambda: plain] * 8 + [
        lambda: np.repeat(plain, 2)[::2], lambda: plain[::-1], lambda: plain.reshape(1, -1), lambda: plain[:1],
        lambda: np.frombuffer(b"\0" + plain.tobytes(), np.uint8)[1:].view(dtype), lambda: plain.view(Doubles),
        lambda: list(plain), lambda: plain[0], lambda: 2.5, lambda: 3, lambda: True, lambda: plain[:0], lambda: None,
        lambda: np.array(2.5), lambda: plain.astype(object), lambda: plain * 1j, lambda: 1 << 70,
        lambda: np.asfortranarray(np.stack([plain, plain])), lambda: np.stack([plain, plain])])()


def outcome(function, *args, **kwargs):
    """All that can be seen of a call: the result, or the error."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    array = np.asarray(result)
    return type(result), array.dtype.str, array.shape, array.strides, array.tobytes()


@unittest.skipIf(_short_call.call is None, "the extension is not built")
class ShortCall(unittest.TestCase):
    def test_evaluate_does_as_the_long_way_does(self):
        rng = random.Random(5)
        for round in range(3000):
            text, n = rng.choice(TEXTS), rng.choice([1, 7, 4096, 5000] if round % 50 else [40_000])
            given = {name: drawn(rng, n) for name in "xya"}
            if rng.random() < 0.5:
                given["a"] = rng.choice([2.5, 3, np.float64(2)])
            with self.subTest(text=text, given={k: (type(v), getattr(v, "dtype", v)) for k, v in given.items()}):
                short = outcome(trident.evaluate, text, given)
                self.assertEqual(outcome(_evaluate.python_evaluate, text, given), short)
                self.assertEqual(short, outcome(trident.evaluate, text, given))  # now surely the short way, if there is one

    def test_policies_take_the_short_way(self):
        x, y, out = np.linspace(1, 2, 100), np.linspace(3, 4, 100), np.empty(100)
        for policy in ("exact", "bounded", "fast"):
            text = f"x*y - {len(policy)}"
            trident.evaluate(text, policy=policy)
            with unittest.mock.patch.object(_evaluate, "prepared", side_effect=AssertionError(policy)):
                for result in (trident.evaluate(text, policy=policy), trident.evaluate(text, out=out, policy=policy),
                               trident.evaluate(text, {"x": x, "y": y}, policy=policy, out=out)):
                    np.testing.assert_allclose(result, x * y - len(policy), rtol=1e-14)
                if policy != "exact":
                    self.assertRaises(AssertionError, trident.evaluate, text)  # another kernel
        for policy in ("wild", 5, ["fast"], None):
            self.assertEqual(*(outcome(f, "x*y - 5", {"x": x, "y": y}, policy=policy) for f in (_evaluate.python_evaluate, trident.evaluate)))

    def test_out_is_written_as_by_the_long_way(self):
        rng = random.Random(6)
        for _ in range(1500):
            n = rng.choice([1, 9, 5000])
            memory = np.zeros(3 * n + 8)
            x, y = memory[:n], memory[n:2 * n]
            start = rng.choice([0, 1, n, 2 * n, 2 * n + 1])
            out = rng.choice([lambda: memory[start:start + n]] * 3 + [
                lambda: np.zeros(n, np.float32), lambda: np.zeros(n, bool), lambda: np.zeros(n + 1), lambda: np.zeros(2 * n)[::2],
                lambda: np.broadcast_to(0.0, n), lambda: memory.view(bool)[start:start + n], lambda: [0.0] * n])()
            values, text = np.random.default_rng(n).normal(size=memory.size), rng.choice(["x*y + 1", "x < y", "x - y*2"])
            seen = []
            for function in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                memory[:] = values
                got = outcome(function, text, {"x": x, "y": y}, out=out)
                seen.append((got, np.asarray(out).tobytes(), memory.tobytes()))
            self.assertEqual(seen[0], seen[1], (text, start, n))
            self.assertEqual(seen[1], seen[2], (text, start, n))

    def test_out_of_one_value_is_written_by_its_type(self):
        """A value that fits is not stored where an array of its type is not. numpy.can_cast is the oracle, too."""
        for a, have in ((np.array(91), "i8"), (np.array(91, "i4"), "i4"), (np.array(1.5), "f8"), (np.array(1.5, "f4"), "f4")):
            for to in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
                for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
                    for shape in ((), (1,)):
                        given, out = {"a": a.reshape(shape)}, np.zeros(shape, to)
                        seen = [(outcome(f, "a+1", given, {}, out=out, casting=casting), out.tolist())
                                for f in (_evaluate.python_evaluate, *[trident.evaluate] * 3)]
                        with self.subTest(have=have, to=to, casting=casting, shape=shape):
                            self.assertEqual(seen[:1] * 3, seen[1:])
                            self.assertEqual(np.can_cast(have, to, casting), seen[0][0][0] is np.ndarray)

    def test_kernels_do_as_the_long_way_does(self):
        rng = random.Random(7)
        long = trident.Kernel.__call__.__wrapped__
        kernels = [trident.Kernel("x*y + 1"), trident.Kernel("sum(x*y)"), trident.Kernel("(x < y) * x", type="f32"),
                   trident.Kernel("x + y", types={"x": "i64", "y": "i64"})]
        for _ in range(1500):
            k, n = rng.choice(kernels), rng.choice([1, 7, 5000])
            args = tuple(drawn(rng, n) for _ in range(rng.choice([2, 2, 2, 1, 3])))
            out = {} if rng.random() < 0.7 else {"out": np.zeros(n, rng.choice([np.float64, np.float32, np.int64]))}
            self.assertEqual(outcome(long, k, *args, **out), outcome(k, *args, **out), (k.text, args))

    def test_narrow_types_are_widened(self):
        rng = np.random.default_rng(3)
        for dtype in (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.uint32):
            for n in (1, 2047, 2048, 2049, 10_001):
                x = rng.integers(0, 256, n * np.dtype(dtype).itemsize).astype(np.uint8).view(dtype)  # bools of any byte
                y = x[::-1].copy()
                wide = np.int64 if dtype is np.uint32 else np.int32
                texts = ["x < y", "where(x > y, x, y)"] + ([] if dtype is np.bool_ else ["x*y + 1"])
                for text in texts if dtype is not np.bool_ else ["x & y", "x | ~y"]:
                    given = {"x": x if dtype is np.bool_ else x.astype(wide), "y": y if dtype is np.bool_ else y.astype(wide)}
                    expected = eval(text, {"where": np.where}, given)
                    for _ in range(2):
                        np.testing.assert_array_equal(trident.evaluate(text), expected, f"{text} of {n} {dtype}")
        many = {f"v{i}": np.full(9, i, np.uint8) for i in range(9)}  # more than are widened at once
        for _ in range(2):
            np.testing.assert_array_equal(trident.evaluate("+".join(many), many), np.full(9, 36))

    def test_a_module_of_another_version_is_left_alone(self):
        code = ("import importlib.machinery as m; load = m.ExtensionFileLoader.exec_module\n"
                "def exec_module(self, module): load(self, module); module.VERSION = 0\n"
                "m.ExtensionFileLoader.exec_module = exec_module\n"
                "from trident import _short_call; print(_short_call.call)")
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertEqual("None\n", said)

    def test_usual_calls_run_no_python(self):
        x, y, z = np.ones(100), np.ones(100), np.empty(100)
        narrow = {"x": np.ones(5000, np.uint8), "y": np.ones(5000, np.int16)}
        given, calls = {"x": x, "y": y, "a": 2.5}, []
        k, strided = trident.Kernel("x*y + 1"), np.ones(200)[::2]
        usual = [lambda: trident.evaluate("a*x + y", given), lambda: trident.evaluate("x < y", given),
                 lambda: trident.evaluate("sum(x*y)", given), lambda: k(x, y), lambda: k(x, y, out=z),
                 lambda: (x, y, trident.re_evaluate()), lambda: trident.evaluate("x*y + 1", narrow),
                 lambda: trident.evaluate("x < y", narrow), lambda: trident.evaluate("a*x + y", {**given, "x": strided}),
                 lambda: trident.evaluate("x*y", {"x": x.reshape(100, 1), "y": strided[::-1]}), lambda: k(x, strided),
                 lambda: k(strided, y, out=strided)]
        for call in usual:
            call()
            trident.evaluate("x*y", {"x": x, "y": y})  # for re_evaluate()
            sys.setprofile(lambda frame, event, what: calls.append(frame.f_code.co_name) if event == "call" else None)
            try:
                call()
            finally:
                sys.setprofile(None)
            self.assertEqual(["<lambda>"], calls)
            calls.clear()
        sys.setprofile(lambda frame, event, what: calls.append(frame.f_code.co_name) if event == "call" else None)
        trident.evaluate("a*x + y", {**given, "x": list(x)})
        sys.setprofile(None)
        self.assertIn("evaluate", calls, "the long way was not seen here")

    def test_values_are_right_in_every_type(self):
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            x = np.arange(1, 10_001).astype(dtype)
            y = x[::-1].copy()
            for _ in range(2):
                np.testing.assert_array_equal(trident.evaluate("x*y + 1"), x * y + dtype(1))
                np.testing.assert_array_equal(trident.evaluate("x < y"), x < y)
                self.assertEqual(trident.evaluate("max(x)"), x.max())

    def test_variables_are_the_callers(self):
        x, y = np.ones(8), np.full(8, 2.0)

        def inner(x):
            return trident.evaluate("x + y", global_dict={"y": y}), trident.evaluate("x*2.0")

        for _ in range(3):
            for value in (3.0, 5.0):
                got = inner(np.full(8, value))
                np.testing.assert_array_equal(got[0], np.full(8, value + 2))
                np.testing.assert_array_equal(got[1], np.full(8, value * 2))
        del x
        self.assertRaises(KeyError, trident.evaluate, "x*2.0")

    def test_nothing_is_kept(self):
        class Owned(np.ndarray):
            pass

        def call():
            x, other = np.ones(100), np.ones(3).view(Owned)
            trident.evaluate("x*2.0")
            trident.evaluate("x*2.0")
            dies = weakref.ref(other)
            del other
            return dies(), sys.getrefcount(x)

        alive, references = call()
        self.assertIsNone(alive, "the function's variables are kept while it runs")
        self.assertEqual(2, references)
        x, z = np.ones(100), np.empty(100)
        before = sys.getrefcount(x), sys.getrefcount(z)
        k = trident.Kernel("x*2")
        for _ in range(1000):
            trident.evaluate("x*2.0", {"x": x}, out=z)
            k(x)
            k(x, out=z)
        self.assertEqual(before, (sys.getrefcount(x), sys.getrefcount(z)))

    def test_kernels_end_when_they_are_forgotten(self):
        x = np.ones(4)
        handles = []
        for i in range(600):
            trident.evaluate(f"x*{i}.5")
            handles.append(weakref.ref(_evaluate._last.call[0].kernel._handle))
        gc.collect()
        self.assertLess(sum(h() is not None for h in handles), 520)
        np.testing.assert_array_equal(trident.evaluate("x*1.5"), x * 1.5)

    def test_re_evaluate_takes_new_values_and_old_out(self):
        x, z = np.ones(50), np.zeros(50)
        trident.evaluate("x*2.0")
        for value in (3.0, 4.0):
            x = np.full(50, value)
            np.testing.assert_array_equal(trident.re_evaluate(), x * 2)
        trident.evaluate("x*2.0", out=z)
        x = np.full(50, 7.0)
        self.assertIs(trident.re_evaluate(), z)
        np.testing.assert_array_equal(z, x * 2)
        got = []
        thread = threading.Thread(target=lambda: got.append(outcome(trident.re_evaluate)))
        thread.start()
        thread.join()
        self.assertEqual((RuntimeError, "not a previous evaluate() execution found"), got[0])

    def test_threads_call_at_once(self):
        x, wrong = np.arange(50_000.0), []

        def call():
            for i in range(300):
                if trident.evaluate("x*2.0 + 1.0", {"x": x[:i * 100 + 1]}).sum() != (x[:i * 100 + 1] * 2 + 1).sum():
                    wrong.append(i)

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)

    def test_the_functions_look_as_before(self):
        for short, long in ((trident.evaluate, _evaluate.python_evaluate), (trident.re_evaluate, _evaluate.python_re_evaluate)):
            self.assertEqual(str(inspect.signature(long)).replace("'", '"'), str(inspect.signature(short)).replace("'", '"'))
            self.assertEqual((long.__name__, long.__module__), (short.__name__, short.__module__))
            self.assertEqual(inspect.cleandoc(long.__doc__), inspect.cleandoc(short.__doc__))
            self.assertIs(short, pickle.loads(pickle.dumps(short)))

    def test_another_layout_of_arrays_is_noticed(self):
        class Shifted:
            @staticmethod
            def described(array):
                address, *rest = _short_call.call.described(array)
                return (address + 8, *rest)

        self.assertTrue(_short_call._reads_arrays(_short_call.call))
        self.assertFalse(_short_call._reads_arrays(Shifted))

    def test_it_is_not_required(self):
        code = ("import numpy as np, trident; from trident import _short_call\n"
                "x = np.ones(3); print(_short_call.call, trident.evaluate('x*2').tolist(), trident.Kernel('x+1')(x).tolist())")
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True,
                              env={**os.environ, "TRIDENT_EXTENSION": "0", "TRIDENT_MODE": "interp",
                                   "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertEqual("None [2.0, 2.0, 2.0] [2.0, 2.0, 2.0]\n", said)


if __name__ == "__main__":
    unittest.main()
