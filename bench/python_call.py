#!/usr/bin/python3
"""Times calls from Python at 1,000 elements, kernel included (x*y + 1, about 0.1 us), in all forms that callers write: by the
extension module and without it, beside the same call of numexpr on one thread. The answers are compared first. Where NumPy
reduces the kernel's results, the time of that is taken off.

usage: python_call.py BUILD
"""
import os
import subprocess
import sys
import time

ROUNDS, TIMED_S, CALLS = 31, 2e-3, (8, 3000)
# Form of the call -> the call; `m` is trident or numexpr, which has those of BOTH.
EVALUATE = {
    "of locals": "with_locals(m)", "dict": "m.evaluate(T, d)", "local_dict=": "m.evaluate(T, local_dict=d)",
    "local_dict= and global_dict=": "m.evaluate(T, local_dict=d, global_dict={})", "global_dict=": "m.evaluate(T, global_dict=d)",
    "out=": "m.evaluate(T, d, out=z)", "casting=": "m.evaluate(T, d, casting='safe')", "order=": "m.evaluate(T, d, order='C')",
    "truediv=": "m.evaluate(T, d, truediv=True)", "optimization=": "m.evaluate(T, d, optimization='none')",
    "sanitize=": "m.evaluate(T, d, sanitize=False)", "threads=": "m.evaluate(T, d, threads=1)", "policy= and k=": "m.evaluate(T, d, policy='bounded', k=3)",
    "ranges=": "m.evaluate(T, d, ranges={'x': (-9, 9)})", "context=": "m.evaluate(T, d, context=context)",
    "out= of f32": "m.evaluate(T, d, out=z4, casting='same_kind')", "x < y": "m.evaluate('x < y', d)", "np.float64": "m.evaluate('a*x + y', d)",
    "0-d array": "m.evaluate('a*x + y', {'a': zero, **d1})", "uint64": "m.evaluate('u*2 + 1', {'u': u})", "Fortran": "m.evaluate('f*2', {'f': f})",
    "sum": "m.evaluate('sum(x)', d)", "two results": "m.evaluate('(x*y, x + y)', d)", "two results, out=": "m.evaluate('(x*y, x + y)', d, out=(z, z2))",
    "sum and result": "m.evaluate('(sum(x), a*x)', d)",
}
REDUCED = {"sum(axis=0)": ("m.evaluate('sum(g*2, axis=0)', {'g': g})", "g.sum(0)"), "mean": ("m.evaluate('mean(x*y)', d)", "x.mean()")}
AGAIN = {"of locals": "again(m)", "local_dict=": "m.re_evaluate(local_dict=d)"}
KERNEL = {"by position": "kernel(x, y)", "out=": "kernel(x, y, out=z)", "by name": "kernel(y=y, x=x)", "number": "scaled(x, y, a=2.5)",
          "two results": "two(x, y)", "two results, out=": "two(x, y, out=(z, z2))"}
NUMEXPR = {"ex_uses_vml=": "expression[m](x, y, ex_uses_vml=False)", "out=": "expression[m](x, y, out=z, ex_uses_vml=False)"}
ONLY_OURS = {"sanitize=", "threads=", "policy= and k=", "ranges=", "context=", "two results", "two results, out=", "sum and result", "uint64", "mean"}
TABLES = {"evaluate": EVALUATE, "evaluate, reduced by NumPy:": REDUCED, "re_evaluate": AGAIN, "Kernel": KERNEL, "NumExpr": NUMEXPR}


def times(calls):
    """Microseconds of each, the least of interleaved rounds."""
    best, counts = dict.fromkeys(calls, float("inf")), {}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            count = counts.get(name, CALLS[0])
            start = time.perf_counter()
            for _ in range(count):
                call()
            taken = (time.perf_counter() - start) / count
            counts[name] = min(CALLS[1], max(CALLS[0], int(TIMED_S / taken)))
            best[name] = min(best[name], taken * 1e6)
    return best


def scope():
    """The names that the calls use."""
    import numpy as np
    import trident
    x, y = np.random.default_rng(1).normal(size=(2, 1000))
    a, T = np.float64(2.5), "x*y + 1"
    d1 = {"x": x, "y": y}

    def with_locals(m):
        x, y = d1.values()
        return m.evaluate(T)

    def again(m):
        x, y = d1.values()
        return m.re_evaluate()

    names = {"x": x, "y": y, "a": a, "T": T, "d1": d1, "d": {**d1, "a": a}, "z": np.empty(1000), "z2": np.empty(1000), "z4": np.empty(1000, "f4"),
             "zero": np.array(2.5), "u": np.arange(1000, dtype=np.uint64), "g": x.reshape(10, 100), "f": np.asfortranarray(x.reshape(10, 100)),
             "with_locals": with_locals, "again": again, "context": trident.Context(), "kernel": trident.Kernel(T, policy="exact"),
             "scaled": trident.Kernel("a*x + y", scalars=["a"], policy="exact"), "two": trident.Kernel("p = x*y; q = x + y; (p, q)", policy="exact"),
             "expression": {}}
    names["kernel"].wait(1, timeout_ms=60_000)
    return names


def wanted(np, call, names):
    """Returns the answer of NumPy to the call."""
    if "'" in call.split(",")[0] and "evaluate(" in call:
        text = call.split("'")[1]
        text = text.replace("sum(g*2, axis=0)", "(g*2).sum(0)").replace("sum(x)", "x.sum()").replace("mean(x*y)", "(x*y).mean()")
        return eval(text, {**names, "a": 2.5})
    return eval("a*x + y" if "scaled" in call else "x*y, x + y" if "two(" in call else names["T"], names)


def measure(way):
    import numpy as np
    import trident
    from trident import _short_call
    if (_short_call.call is not None) != (way == "extension"):
        sys.exit("the extension is not built: python3-dev")
    names, calls, modules = scope(), {}, [trident]
    trident.set_num_threads(1)
    try:
        import numexpr
        numexpr.set_num_threads(1)
        modules += [numexpr] if way == "extension" else []
    except ImportError as error:
        print(f"numexpr is left out: {error}", file=sys.stderr)
    for m in modules:
        names["expression"][m] = m.NumExpr(names["T"], [("x", np.float64), ("y", np.float64)])
        m.evaluate(names["T"], names["d"])  # for re_evaluate()
    for group, table in TABLES.items():
        for form, call in table.items():
            call, reduced = (call, None) if isinstance(call, str) else call
            for m in modules[:1 if form in ONLY_OURS or group == "Kernel" else 2]:
                function = eval(f"lambda: {call}", {**names, "m": m})
                for _ in range(2):
                    for got, right in zip(*(v if isinstance(v, tuple) else (v,) for v in (function(), wanted(np, call, names))), strict=True):
                        if not np.allclose(got, right, rtol=1e-6 if "f32" in form else 1e-12, atol=1e-9):
                            sys.exit(f"{group} {form}: a wrong answer")
                m.evaluate(names["T"], names["d"])
                calls[group, form, m.__name__] = function
            if reduced is not None:
                calls[group, form, "NumPy"] = eval(f"lambda: {reduced}", names)
    taken = {}
    for group in TABLES:  # re_evaluate() repeats the call before
        for m in modules:
            m.evaluate(names["T"], names["d"])
        taken |= times({key: call for key, call in calls.items() if key[0] == group})
    for (group, form, module), us in taken.items():
        if module == "trident":
            print(f"{way} {group} {form}, us".ljust(56), f"{us - taken.get((group, form, 'NumPy'), 0):10.4f}", flush=True)
        elif module == "numexpr":
            print(f"time / numexpr's, {group} {form}".ljust(56), f"{taken[group, form, 'trident'] / us:10.4f}", flush=True)


def main(build):
    for way in ("extension", "ctypes"):
        environment = {**os.environ, "TRIDENT_EXTENSION": str(int(way == "extension")), "TRIDENT_MODE": "embedded",
                       "TRIDENT_LIBRARY": os.path.join(build, "lib", "libtrident.so.0"), "PYTHONDONTWRITEBYTECODE": "1",
                       "TRIDENT_ENGINE": os.path.join(build, "lib", "libtrident-engine.so"),
                       "PYTHONPATH": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients", "python")}
        subprocess.run([sys.executable, __file__, "--way", way], env=environment, check=True)


if __name__ == "__main__":
    measure(sys.argv[2]) if sys.argv[1] == "--way" else main(sys.argv[1])
