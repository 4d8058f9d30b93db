"""The short way of a call (extension/call.c) with every keyword, kind of operand and kind of result that it knows. Oracles: the
long way with the same arguments; NumPy; reference counts, the memory of the process; Python's profiler, which sees the long way."""
import collections
import gc
import itertools
import os
import random
import subprocess
import sys
import threading
import tracemalloc
import unittest
import unittest.mock
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import trident
from trident import _evaluate, _short_call

from short_call_test import drawn, outcome

TEXTS = ("x*y + 1", "x < y", "a*x + y", "x/a", "sum(x*y)", "sum(x, axis=0)", "mean(x*y)", "max(x*2, axis=1, keepdims=True)", "std(x)",
         "min(x < y)", "any(x > y)", "argmax(x)", "(x + y, x*y)", "(a*x, x < y)", "(sum(x), x + a, mean(y))", "(x, y*2)", "x", "x & y", "a*2",
         "where(True, x, y)", "where(a > 2, x, y)", "prod(x)", "x % y")
CONTEXT, CLOSED = trident.Context(), trident.Context()
CLOSED.close()


class Spied(dict):
    """A dict with a name more than it lists."""

    def __contains__(self, name):
        return name == "y" or super().__contains__(name)

    def __getitem__(self, name):
        return np.full(7, 3.0) if name == "y" and "y" not in self.keys() else super().__getitem__(name)


KEYWORDS = {
    "order": ("K", "C", "F", "A", "c", b"K", None, "Z", 3), "casting": ("same_kind", "safe", "no", "equiv", "unsafe", "wild", None),
    "sanitize": (True, False, None, 1), "truediv": (True, False, "auto", "wild", None), "optimization": ("none", "moderate", "aggressive", "x"),
    "policy": ("exact", "bounded", "fast", "wild", None, ["exact"]), "k": (None, 2, 2.5, np.float64(4), 1, True, "2"),
    "ranges": (None, {}, {"x": (0, 1e9)}, {"x": [0.0, 1e9], "y": (-1e9, 1e9)}, {"z": (0, 1)}, {"x": (1, 0)}, {"x": (np.float64(-1e3), np.float64(1e9))}, 5),
    "threads": (None, 1, 2, 64, 65, 0, True, np.int64(2), "1"), "context": (None, CONTEXT, CLOSED, 3), "disable_cache": (True, False, 3),
    "_frame_depth": (0, 3, 2.5), "unknown": (1,),
}


def drawn_keywords(rng):
    """Some keywords; mostly values that are permitted, so that most calls have a result."""
    names = rng.sample(sorted(KEYWORDS), rng.choice([0, 1, 1, 2, 3]))
    return {name: rng.choice(KEYWORDS[name][:3] if rng.random() < 0.8 else KEYWORDS[name]) for name in names}


def drawn_number(rng):
    value = rng.choice([0, 1, 3, 100])
    return rng.choice([value, float(value), bool(value), *(np.dtype(t).type(value) for t in "?bBhHiIlLqQefdg"), np.array(value),
                       np.array(value, "f4"), np.array(value, ">f8"), np.array(value, "?"), np.complex128(value), 1 << 63, -1.5])


def drawn_array(rng, shape):
    plain = np.random.default_rng(rng.randrange(1 << 30)).integers(1, 50, shape).astype(rng.choice("dddffliQBH?"))
    return rng.choice([plain] * 5 + [np.asfortranarray(plain), plain[::-1], plain.T, np.repeat(plain, 2, 0)[::2], plain[:1], plain.astype(">f8")])


def plain_outcome(function, *args, **kwargs):
    """As outcome(), also of several results, with warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            results = function(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)
    return [(type(r), a.dtype.str, a.shape, a.strides if a.size > 1 else None, a.tobytes())
            for r in (results if type(results) is tuple else (results,)) for a in (np.asarray(r),)], [str(w.message) for w in warned]


class Profiled:
    """Names of the Python functions that were called inside."""

    def __enter__(self):
        self.names = []
        sys.setprofile(lambda frame, event, what: self.names.append(frame.f_code.co_name) if event == "call" else None)
        return self.names

    def __exit__(self, *error):
        sys.setprofile(None)


@unittest.skipIf(_short_call.call is None, "the extension is not built")
class ShortCallKeywords(unittest.TestCase):
    def test_drawn_calls_do_as_the_long_way_does(self):
        rng, done = random.Random(11), 0
        for _ in range(1500):
            shape = rng.choice([7, 7, 4000, (3, 5), (1, 6), (2, 3, 4), (2, 1, 3), 1])
            text, keywords = rng.choice(TEXTS), drawn_keywords(rng)
            given = {name: drawn_array(rng, shape) if rng.random() < 0.85 else drawn_number(rng) for name in "xy"}
            given["a"] = drawn_number(rng) if rng.random() < 0.8 else drawn_array(rng, shape)
            dicts = rng.choice([{"local_dict": given}, {"global_dict": given}, {"local_dict": {"x": given["x"]}, "global_dict": given},
                                {"local_dict": collections.OrderedDict(given)}, {"local_dict": Spied(given)}, {"local_dict": given, "global_dict": 5},
                                {"local_dict": {"x": given["x"]}, "global_dict": {}}, {"local_dict": list(given)}])
            with self.subTest(text=text, keywords=keywords, given={n: (type(v), getattr(v, "dtype", v), getattr(v, "strides", None)) for n, v in given.items()}):
                long = plain_outcome(_evaluate.python_evaluate, text, **dicts, **keywords)
                for _ in range(2):  # now by the short way, where there is one
                    self.assertEqual(long, plain_outcome(trident.evaluate, text, **dicts, **keywords))
            done += isinstance(long[0], list)
        self.assertGreater(done, 600, "too few of the calls had a result")

    def test_out_is_written_as_by_the_long_way(self):
        rng = random.Random(12)
        for _ in range(1500):
            text, shape, dtype = rng.choice(["x*y + 1", "x < y", "(x + y, x*y)", "sum(x*y)", "mean(x)", "sum(x, axis=0)", "a*2"]), rng.choice([6, (2, 3), 4000]), rng.choice("dddfil?")
            memory = np.zeros(5 * int(np.prod(shape)) + 8)
            n = int(np.prod(shape))
            x, y = memory[:n].reshape(shape), memory[n:2 * n].reshape(shape)
            start = rng.choice([0, 1, n, 2 * n, 3 * n])
            one = lambda: rng.choice([memory[start:start + n].reshape(shape), np.zeros(shape, dtype), np.zeros(shape, dtype, "F"), np.zeros(()),  # noqa: E731
                                      np.zeros((), dtype), np.zeros(3), np.zeros(2 * n)[::2], np.broadcast_to(0.0, shape), np.zeros(shape, ">f8"), None])
            out = rng.choice([one(), (one(), one()), [one(), one()], (one(),)]) if text[0] == "(" or rng.random() < 0.1 else one()
            keywords = {"casting": rng.choice(["same_kind", "unsafe", "safe"])} if rng.random() < 0.4 else {}
            values, seen = np.random.default_rng(n).normal(size=memory.size) * 1e200, []
            for function in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                memory[:] = values
                got = plain_outcome(function, text, {"x": x, "y": y, "a": 2.0}, out=out, **keywords)
                arrays = [o for o in (out if isinstance(out, (tuple, list)) else [out]) if o is not None]
                seen.append((got, [o.tobytes() for o in arrays], memory.tobytes()))
                for o in arrays:
                    if o.flags.writeable:
                        o[...] = 0
            self.assertEqual(seen[0], seen[1], (text, start, n, out))
            self.assertEqual(seen[1], seen[2], (text, start, n, out))

    def test_several_outs_that_may_meet_do_as_in_the_long_way(self):
        n = 300
        for first, second in itertools.product((0, 1, 8, n, n + 3, 2 * n, 2 * n + 5, 3 * n), repeat=2):
            for text in ("(x + y, x*y)", "(y, x)", "(x*2, y + x)"):
                seen = []
                for function in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                    memory = np.arange(5.0 * n)
                    given = {"x": memory[:n], "y": memory[n:2 * n]}
                    got = plain_outcome(function, text, given, out=(memory[first:first + n], memory[second:second + n]))
                    seen.append((got, memory.tobytes()))
                self.assertEqual(seen[0], seen[1], f"{text} {first} {second}")
                self.assertEqual(seen[0], seen[2], f"{text} {first} {second}")

    def test_numbers_of_kernels_warn_as_in_the_long_way(self):
        long = trident.Kernel.__call__.__wrapped__
        for name, dtype in (("f32", np.float32), ("f64", np.float64), ("i32", np.int32), ("i64", np.int64)):
            kernel, x = trident.Kernel("a*x", scalars=["a"], type="f64", types={"a": name, "x": name}), np.array([1, 2, 3], dtype)
            for a in (1e300, -1e39, np.inf, np.nan, 3.4028235e38, 3.4028236e38, (1 << 24) + 1, (1 << 53) + 1, 1 << 31, -(1 << 31), 1 << 63, -(1 << 63), -1 << 64, 2.5, 3, True):
                self.assertEqual(plain_outcome(long, kernel, x, a=a), plain_outcome(kernel, x, a=a), (name, a))

    def test_arrays_in_several_orders_do_as_in_the_long_way(self):
        rng = random.Random(15)
        for _ in range(1500):
            shape = rng.choice([(3, 5), (4, 1), (1, 4), (2, 3, 4), (5, 2, 1), (2, 2, 2, 2)])

            def one():
                plain = np.random.default_rng(rng.randrange(1 << 30)).normal(size=shape) ** 5
                axes = rng.sample(range(len(shape)), len(shape))
                turned = np.ascontiguousarray(plain.transpose(axes)).transpose(np.argsort(axes))
                part = tuple(rng.choice([slice(None)] * 4 + [slice(None, None, -1), slice(0, 1)]) for _ in shape)
                return rng.choice([turned, turned, np.asfortranarray(plain), turned[part], turned[0], np.broadcast_to(turned[part], turned.shape),
                                   np.repeat(turned, 2, 0)[::2]])

            given, text = {"x": one(), "y": one()}, rng.choice(["x + y", "x*2", "sum(x*y)", "mean(x)", "sum(x + y, axis=0)", "(x + y, y*2)", "max(x*y)", "x < y"])
            keywords = {"order": rng.choice("CFKA")} if rng.random() < 0.5 else {}
            long = plain_outcome(_evaluate.python_evaluate, text, given, **keywords)
            for _ in range(2):
                self.assertEqual(long, plain_outcome(trident.evaluate, text, given, **keywords), (text, keywords, [(v.shape, v.strides) for v in given.values()]))

    def test_casts_to_out_warn_as_in_the_long_way(self):
        values = {"x": np.array([1e300, 1.0, np.nan, -np.inf]), "n": np.array([1, -1, 2**40, 0]), "s": np.array([1e30, 2, 3, 4], "f4")}
        for text, dtype, casting in itertools.product(("x*2", "x < 3", "n*2", "s*2", "s"), "fdeilQ?g", ("same_kind", "unsafe", "safe")):
            seen = []
            for function in (_evaluate.python_evaluate, trident.evaluate, trident.evaluate):
                out = np.zeros(4, dtype)
                seen.append((plain_outcome(function, text, values, out=out, casting=casting), out.tolist().__repr__()))
            self.assertEqual(seen[0], seen[1], (text, dtype, casting))
            self.assertEqual(seen[1], seen[2], (text, dtype, casting))

    def test_each_form_takes_the_short_way(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(2, 120))
        m, f, u = x.reshape(10, 12), np.asfortranarray(x.reshape(10, 12)), np.arange(120, dtype=np.uint64)
        d, z, z4, z0 = {"x": x, "y": y}, np.empty(120), np.empty(120, np.float32), np.empty(())
        one = {"x": x, "y": y, "a": np.float64(2.0)}
        T, e = "x*y + 1", trident.evaluate
        forms = {
            "local_dict": (lambda: e(T, local_dict=d), x*y + 1), "global_dict": (lambda: e(T, global_dict=d), x*y + 1),
            "both": (lambda: e(T, local_dict={"x": x}, global_dict={"x": y, "y": y}), x*y + 1), "threads": (lambda: e(T, d, threads=2), x*y + 1),
            "k": (lambda: e(T, d, policy="bounded", k=3), x*y + 1), "ranges": (lambda: e(T, d, ranges={"x": (-99, 99.0)}), x*y + 1),
            "context": (lambda: e(T, d, context=CONTEXT), x*y + 1), "casting": (lambda: e(T, d, casting="safe"), x*y + 1),
            "order": (lambda: e(T, d, order="C"), x*y + 1), "truediv": (lambda: e(T, d, truediv=True), x*y + 1),
            "optimization": (lambda: e(T, d, optimization="none"), x*y + 1), "sanitize": (lambda: e(T, d, sanitize=False), x*y + 1),
            "positional": (lambda: e(T, d, {}, z, "K", "safe"), x*y + 1), "out": (lambda: e(T, d, out=z), x*y + 1),
            "out f32": (lambda: e(T, d, out=z4), (x*y + 1).astype("f4")), "out of a sum": (lambda: e("max(x)", d, out=z0), x.max()),
            "two": (lambda: e("(x*y, x < y)", d), (x*y, x < y)), "two out": (lambda: e("(x*y, x + y)", d, out=(z, np.empty(120))), (x*y, x + y)),
            "two with a number": (lambda: e("(a*x, a + y)", one), (2*x, 2 + y)), "parts": (lambda: e("(max(x), x + y)", d), (x.max(), x + y)),
            "axis": (lambda: e("sum(m*2, axis=0)", {"m": m}), (m*2).sum(0)), "mean": (lambda: e("mean(x)", d), x.mean()),
            "booleans": (lambda: e("min(x < y)", d), (x < y).min()), "float64": (lambda: e("a*x + y", one), 2*x + y),
            "float32": (lambda: e("a*x", {"x": x, "a": np.float32(0.1)}), np.float64(np.float32(0.1))*x),
            "int": (lambda: e("a*x", {"x": x, "a": np.int16(-3)}), -3*x), "bool": (lambda: e("where(a, x, y)", {**d, "a": True}), x),
            "0-d": (lambda: e("a*x + y", {**d, "a": np.array(2)}), 2*x + y), "numbers": (lambda: e("a*b", {"a": 3.5, "b": np.float64(2)}), 7.0),
            "uint64": (lambda: e("u*2 + 1", {"u": u}), np.arange(120)*2 + 1), "Fortran": (lambda: e("f*2", {"f": f}), f*2), "Fortran and a row": (lambda: e("f*2 + r", {"f": f, "r": m[0]}), f*2 + m[0]),
            "turned": (lambda: e("f + m", {"f": f[:, ::2], "m": m.T.copy().T[:, ::2]}), f[:, ::2] + m[:, ::2]),
            "re_evaluate": (lambda: (x, y, trident.re_evaluate())[2], x*y + 1), "re_evaluate local_dict": (lambda: trident.re_evaluate(local_dict=d), x*y + 1),
            "re_evaluate by position": (lambda: trident.re_evaluate({"x": x}, d), x*y + 1),
        }
        kernel, scaled = trident.Kernel("x*y + 1", policy="exact"), trident.Kernel("a*x + y", scalars=["a"], policy="exact")
        two, expression = trident.Kernel("p = x*y; s = maxof(x); (p, s)", policy="exact"), trident.NumExpr("y - x", [("x", np.float64), ("y", np.float64)])
        forms |= {
            "Kernel": (lambda: kernel(x, y), x*y + 1), "Kernel by name": (lambda: kernel(y=y, x=x), x*y + 1), "Kernel out": (lambda: kernel(x, y=y, out=z), x*y + 1),
            "Kernel number": (lambda: scaled(x, y, a=2.0), 2*x + y), "Kernel int": (lambda: scaled(x, y, a=2, out=z), 2*x + y),
            "Kernel two": (lambda: two(x, y), (x*y, x.max())), "NumExpr": (lambda: expression(x, y), y - x), "NumExpr out": (lambda: expression(x, y, out=z, ex_uses_vml=True), y - x),
            "NumExpr options": (lambda: expression(x, y, order="K", casting="safe"), y - x),
        }
        for name, (call, wanted) in forms.items():
            call() if "re_eval" not in name else None
            trident.evaluate(T, d) if "re_eval" in name else None
            with Profiled() as names:
                got = call()
            # Reductions of NumPy, and keepers of several arrays of out, are Python functions.
            extra = {"__exit__", "copyto", "reduce_with_numpy", "as_bool", "__init__", "<listcomp>", "_mean", "_count_reduce_items", "_sum"}
            self.assertEqual([], [n for n in names[1:] if n not in extra], name)
            for g, w in zip(got if type(got) is tuple else (got,), wanted if type(wanted) is tuple else (wanted,), strict=True):
                self.assertEqual(np.shape(w), np.shape(g), name)
                np.testing.assert_allclose(g, w, rtol=1e-6 if "f32" in name else 1e-14, atol=1e-13, err_msg=name)

    def test_kernels_do_as_the_long_way_does(self):
        rng, long = random.Random(13), trident.Kernel.__call__.__wrapped__
        kernels = [trident.Kernel("a*x + y", scalars=["a"]), trident.Kernel("a*x", scalars=["a"], type="f32"), trident.Kernel("n*x + y", scalars=["n"], types={"n": "i32"}),
                   trident.Kernel("p = x + y; q = x*y; (p, q)"), trident.Kernel("p = sum(x); q = x*y; (p, q)"), trident.Kernel("n + m", types={"n": "i64", "m": "i64"}, scalars=["m"])]
        numbers = (2, 2.5, -1, 1e300, 1 << 40, 1 << 70, True, np.float64(0.1), np.float32(0.1), np.int64(4), np.array(3.0), None, "2", np.nan, (1 << 53) + 1)
        for _ in range(1500):
            k = rng.choice(kernels)
            values = {n: drawn(rng, 6) for n in k.arrays} | {n: rng.choice(numbers) for n in k.scalars}
            by_position = rng.randrange(len(k.arrays) + 1)
            args = tuple(values[n] for n in k.arrays[:by_position])
            named = {n: v for n, v in values.items() if n not in k.arrays[:by_position] and rng.random() < 0.97}
            if rng.random() < 0.4:
                outs = [np.zeros(6, rng.choice([d, d, np.dtype("i8")])) for d in k.output_dtypes]
                named["out"] = rng.choice([outs[0], tuple(outs), outs, None])
            if rng.random() < 0.05:
                named[rng.choice(["q", "x", "ex_uses_vml"])] = np.ones(6)
            self.assertEqual(plain_outcome(long, k, *args, **named), plain_outcome(k, *args, **named), (k.text, args, named))

    def test_kernels_sum_and_count_in_the_order_of_indices(self):
        long, m = trident.Kernel.__call__.__wrapped__, np.random.default_rng(2).normal(size=(70, 90)) ** 9
        for text in ("sum(x)", "x*index", "p = sum(x*x); q = x; (p, q)", "x + 1"):
            kernel = trident.Kernel(text, policy="exact")
            for x in (m, np.asfortranarray(m), m.T, m[::2], m[:, ::-1]):
                self.assertEqual(plain_outcome(long, kernel, x), plain_outcome(kernel, x), (text, x.strides))

    def test_expressions_do_as_the_long_way_does(self):
        rng, long = random.Random(14), trident.NumExpr.__call__.__wrapped__
        makers = [lambda: trident.NumExpr("y - x", [("x", np.float64), ("y", np.float64)]), lambda: trident.NumExpr("a*x", [("a", np.float64), ("x", np.float32)]),
                  lambda: trident.NumExpr("(x + y, x*y)", [("y", np.int64), ("x", np.int64)]), lambda: trident.NumExpr("sum(b*2)", [("b", np.float64)]),
                  lambda: trident.NumExpr("x*2 + y", [("y", np.float64), ("x", np.float64)], policy="fast", threads=1)]
        for maker in makers:
            fresh, used = maker(), maker()
            for _ in range(400):
                args = tuple(drawn(rng, 6) if rng.random() < 0.9 else 2.5 for _ in range(len(used.input_names) + (rng.random() < 0.05)))
                keywords = rng.choice([{}, {}, {"out": np.zeros(6)}, {"ex_uses_vml": False}, {"casting": "same_kind"}, {"casting": "safe", "order": "K"},
                                       {"order": "F"}, {"out": None, "ex_uses_vml": 3}, {"x": 1}])
                fresh._bound = None
                self.assertEqual(plain_outcome(long, fresh, *args, **keywords), plain_outcome(used, *args, **keywords), (fresh._text, args, keywords))

    def test_expressions_leave_re_evaluate_alone(self):
        x, expression = np.arange(5.0), trident.NumExpr("x + 1", [("x", np.float64)])
        trident.evaluate("x*3.0")
        for _ in range(2):
            expression(x)
            np.testing.assert_array_equal(x * 3, trident.re_evaluate())

    def test_dicts_may_change_between_calls(self):
        d, g = {"x": np.arange(5.0)}, {"y": 1.0, "x": None}
        call = lambda: trident.evaluate("x + y*2", local_dict=d, global_dict=g)  # noqa: E731
        for _ in range(2):
            np.testing.assert_array_equal(np.arange(5.0) + 2, call())
        d["x"] = np.arange(3, dtype=np.int32)
        np.testing.assert_array_equal(np.arange(3.0) + 2, call())
        d["y"] = np.full(3, 4)  # hides the other
        self.assertEqual(np.int64, call().dtype)
        del d["x"]
        self.assertRaises(Exception, call)  # None is no number
        del g["x"], d["y"]
        self.assertRaises(KeyError, call)
        d["x"] = np.ones(2)
        np.testing.assert_array_equal([3.0, 3.0], call())

    def test_ranges_that_change_are_other_kernels(self):
        x, ranges = np.linspace(0, 1, 50), {"x": [0, 1]}
        for _ in range(2):
            trident.evaluate("sqrt(x) + 2", {"x": x}, ranges=ranges)
        with unittest.mock.patch.object(_evaluate, "found", side_effect=AssertionError):
            trident.evaluate("sqrt(x) + 2", {"x": x}, ranges=ranges)
            ranges["x"][1] = 2
            self.assertRaises(AssertionError, trident.evaluate, "sqrt(x) + 2", {"x": x}, ranges=ranges)

    def test_closed_contexts_are_refused(self):
        x, context = np.ones(5), trident.Context()
        for _ in range(2):
            trident.evaluate("x + 8", {"x": x}, context=context)
        context.close()
        self.assertRaises(ValueError, trident.evaluate, "x + 8", {"x": x}, context=context)

    def test_what_sanitizing_forbids_stays_forbidden(self):
        text, x = "x.real + 0", {"x": np.ones(3)}
        forbidden = "x + __y__", {"x": np.ones(3), "__y__": np.ones(3)}
        for _ in range(2):
            trident.evaluate(*forbidden, sanitize=False)
            self.assertRaises(ValueError, trident.evaluate, *forbidden)
            self.assertRaises(ValueError, trident.evaluate, *forbidden, sanitize=True)
            with unittest.mock.patch.dict(os.environ, NUMEXPR_SANITIZE="0"):
                trident.evaluate(*forbidden)
            self.assertEqual(*(plain_outcome(f, text, x) for f in (_evaluate.python_evaluate, trident.evaluate)))

    def test_re_evaluate_repeats_order_casting_and_out(self):
        m = np.asfortranarray(np.arange(6.0).reshape(2, 3))
        for order in "CFKA":
            for _ in range(2):
                made = trident.evaluate("m + 1", {"m": m}, order=order)
                self.assertEqual(made.strides, trident.re_evaluate({"m": m}).strides)
        outs = np.empty(4), np.empty(4)
        for values in (np.arange(4.0), np.ones(4)):
            for _ in range(2):
                trident.evaluate("(x + 1, x*2)", {"x": values}, out=outs)
            again = trident.re_evaluate({"x": values + 1})
            self.assertTrue(all(a is o for a, o in zip(again, outs)))
            np.testing.assert_array_equal(values + 2, outs[0])
            np.testing.assert_array_equal(values * 2 + 2, outs[1])

    def test_nothing_is_kept_and_nothing_grows(self):
        x, y, z, number = np.ones(64), np.ones(64), np.empty(64), np.float64(1.5)
        kernel, summed = trident.Kernel("a*x + y", scalars=["a"]), trident.Kernel("p = sum(x); q = x*2; (p, q)")
        expression = trident.NumExpr("x + y", [("x", np.float64), ("y", np.float64)])
        outs, ranges = (z, np.empty(64)), {"x": (0, 9)}
        calls = [lambda d: trident.evaluate("x*y + 1", local_dict=d, order="C", threads=1), lambda d: trident.evaluate("x*y + 2", d, ranges=ranges, out=z),
                 lambda d: trident.evaluate("(x*y, x + y)", d, out=outs), lambda d: trident.evaluate("(max(x), x*a)", d), lambda d: trident.evaluate("mean(x*y)", global_dict=d),
                 lambda d: trident.evaluate("a*x + y", d, casting="safe"), lambda d: trident.re_evaluate(local_dict=d), lambda d: kernel(d["x"], y=d["y"], a=d["a"]),
                 lambda d: expression(d["x"], d["y"], out=z, ex_uses_vml=False), lambda d: summed(d["x"]), lambda d: trident.evaluate("min(x < y)", d)]
        held = (x, y, z, number, *outs, ranges, outs, CONTEXT, _evaluate._last)
        for call in calls:
            for i in range(200):
                call({"x": x, "y": y, "a": number, f"v{i}": i})
        trident.evaluate("x*x", {"x": np.ones(3)})
        gc.collect()
        before = [sys.getrefcount(o) for o in held]
        tracemalloc.start()
        start = tracemalloc.get_traced_memory()[0]
        for i in range(100_000):
            calls[i % len(calls)]({"x": x, "y": y, "a": number, f"v{i}": i})
        trident.evaluate("x*x", {"x": np.ones(3)})
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
        tracemalloc.stop()
        self.assertEqual(before, [sys.getrefcount(o) for o in held])
        self.assertLess(grown, 20_000)

    def test_a_million_calls_with_new_dicts_take_no_more_memory(self):
        code = """if True:
            import os, numpy as np, trident
            x, y = np.ones(64), np.ones(64)
            def resident():
                with open("/proc/self/statm") as file:
                    return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            def work(count):
                for i in range(count):
                    trident.evaluate("x*y + a", local_dict={"x": x, "y": y, "a": float(i)}, global_dict={}, casting="safe")
            work(50_000)
            before = resident()
            work(1_000_000)
            print(resident() - before)"""
        said = subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True, env={
            **os.environ, "TRIDENT_MODE": "interp", "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__))}).stdout
        self.assertLess(int(said), 1 << 20)

    def test_options_that_never_end_do_not_fill_the_memory(self):
        x = np.ones(4)
        for i in range(700):
            trident.evaluate("x*2.5", {"x": x}, ranges={"x": (0, i + 1)}, policy=("exact", "bounded", "fast")[i % 3])
        gc.collect()
        self.assertLess(sum(isinstance(o, _evaluate._Program) and o.kernel is not None for o in gc.get_objects()), 700)
        np.testing.assert_array_equal(x * 2.5, trident.evaluate("x*2.5", {"x": x}, ranges={"x": (0, 1)}))

    def test_children_of_fork_call_as_their_parent(self):
        x, d = np.arange(100.0), {"x": np.arange(100.0), "a": np.float64(2)}
        for _ in range(2):
            trident.evaluate("(a*x, x + 1)", local_dict=d, casting="safe")
        for _ in range(20):
            child = os.fork()
            if child == 0:
                got = trident.evaluate("(a*x, x + 1)", local_dict=d, casting="safe")
                os._exit(0 if np.array_equal(got[0], 2 * x) and np.array_equal(got[1], x + 1) and trident.re_evaluate(local_dict=d) else 1)
            self.assertEqual(0, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def test_threads_call_while_texts_are_forgotten(self):
        wrong = []

        def call(number):
            for i in range(400):
                x = np.full(40_000 if i % 50 == 0 else 50, float(i))
                texts = trident.evaluate("(x + 1, x*a)", local_dict={"x": x, "a": number}, threads=1 + i % 2), trident.evaluate(f"x + {i}.5", {"x": x}, order="C")
                if texts[0][1][-1] != i * number or texts[1][0] != 2 * i + 0.5 or trident.re_evaluate({"x": x})[-1] != 2 * i + 0.5:
                    wrong.append((number, i))

        threads = [threading.Thread(target=call, args=(n,)) for n in (2, 3.0, np.float64(4), np.int32(5))]
        for thread in itertools.chain(threads):
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)

    def test_dicts_that_raise_do_as_in_the_long_way(self):
        class Raising(dict):
            def __contains__(self, name):
                raise OSError(f"no {name}")

        trident.evaluate("x + 3", {"x": np.ones(3)})
        for _ in range(2):
            self.assertEqual((OSError, "no x"), outcome(trident.evaluate, "x + 3", Raising(x=np.ones(3))))

    def test_an_interrupt_while_names_are_looked_up_is_not_lost(self):
        class Interrupted(dict):
            times = 0

            def __contains__(self, name):
                self.times += 1
                if self.times == 1:
                    raise KeyboardInterrupt
                return super().__contains__(name)

        trident.evaluate("x + 3", {"x": np.ones(3)})
        for _ in range(2):
            self.assertRaises(KeyboardInterrupt, trident.evaluate, "x + 3", Interrupted(x=np.ones(3)))



if __name__ == "__main__":
    unittest.main()
