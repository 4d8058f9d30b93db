#!/usr/bin/python3
"""Times trident.evaluate, as called by default and under policy="bounded", beside numexpr with as many threads and beside
NumPy: 44 formulas (bench/corpus/formulas.tsv) and five simple texts, f32 and f64, 10^3, 10^4, 10^5 and 10^7 elements, by
local_dict= as most programs call numexpr.

Answers are compared first, each element with numexpr's; none may differ (Contest.tolerance). NumPy, which has one thread, gets
the same arrays. Beside a float of the text it keeps f32, where numexpr, and so Trident, computes and answers in f64: rows where
Trident is slower are marked with that, and counted apart. Each contestant is called in turn, often enough for a millisecond,
another one first in each round, and the medians of ROUNDS such rounds are compared. Trident's kernels are optimised before; the
table of first calls is of a fresh process.

usage: evaluate.py BUILD [--rounds N] [--sizes N,..] [--only NAME,..] [--types f32,f64] [--table]
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIMPLE = {"x+1": "x:-2:2", "x*y": "x:-2:2,y:-2:2", "x<y": "x:-2:2,y:-2:2", "floor(x)": "x:-9:9", "sum(x)": "x:0:1"}
TYPES = {"f32": "f4", "f64": "f8"}
THREADS = (1, 2)
TIMED_S, SLOWER, FROM_NUMPY, PATIENCE_S = 1e-3, 1.05, 10_000, 60
POLICIES = "exact", "bounded"
SAMPLE, LEVELS, ERRORS, ULPS = 1_000_000, 6, 5, 8  # Contest.tolerance


def formulas():
    """Returns name -> (variables, text), the simple ones behind."""
    lines = (ROOT / "bench/corpus/formulas.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {**{name: (ranges, text) for name, ranges, text in rows}, **{text: (ranges, text) for text, ranges in SIMPLE.items()}}


def arrays(ranges, size, dtype):
    import numpy as np
    rng = np.random.default_rng(7)
    parts = [part.split(":") for part in ranges.split(",")]
    return {name: rng.uniform(float(low), float(high), size).astype(dtype) for name, low, high in parts}


def wait_for_the_last(kernel):
    """Waits until no more code comes: code for the data follows general code, which wait() is content with."""
    end = time.monotonic() + PATIENCE_S
    while not kernel.info()["done"] and time.monotonic() < end:
        time.sleep(0.005)


class Contest:
    """One formula on one set of arrays: the calls by name, each (policy or package, threads)."""

    def __init__(self, text, operands, drawn=0.0):
        """`drawn`: greatest_errors() of many other elements of the same formula and type."""
        import numexpr
        import numpy as np
        import trident
        self.text, self.operands, self.drawn, self.trident, self.numexpr, self.np = text, operands, drawn, trident, numexpr, np
        self.code = compile(text, "<formula>", "eval")
        with np.errstate(all="ignore"):
            self.wanted = numexpr.evaluate(text, operands)
        names = {n: getattr(np, n) for n in "sin cos tan arcsin sqrt exp log log10 log1p tanh where abs floor sum".split()}
        self.in_numpy = lambda arguments: eval(self.code, names, arguments)
        self.calls = {("NumPy", 1): lambda: self.in_numpy(operands)}
        for threads in THREADS:
            self.calls["numexpr", threads] = lambda: numexpr.evaluate(text, local_dict=operands)
            self.calls["exact", threads] = lambda: trident.evaluate(text, local_dict=operands)
            self.calls["bounded", threads] = lambda: trident.evaluate(text, local_dict=operands, policy="bounded")

    def numpy_is_narrower(self):
        """Returns whether NumPy computes in f32 where numexpr, and so Trident, computes in f64, which is twice the work."""
        with self.np.errstate(all="ignore"):
            sample = {name: v[:4] for name, v in self.operands.items()}
            return self.wanted.ndim == 1 and self.wanted.dtype == "f8" and self.in_numpy(sample).dtype == "f4"

    @staticmethod
    def level(values):
        """The binades of the values, as indices: exponents of f64 are above -1100."""
        import numpy as np
        return np.frexp(np.abs(values).astype(float))[1] + 1100

    def greatest_errors(self, most=SAMPLE):
        """Returns numexpr's greatest error against long double among answers of each binade, in a sample of `most`."""
        np, wanted = self.np, self.wanted
        step = max(1, wanted.size // most) if wanted.ndim else 1
        sample = wanted[::step] if wanted.ndim else wanted
        greatest = np.zeros(2200 + LEVELS)
        if wanted.dtype.kind != "f":
            return greatest
        with np.errstate(all="ignore"):
            exact = self.in_numpy({name: v[::step].astype(np.longdouble) for name, v in self.operands.items()})
            error = np.where(sample == exact, 0, np.abs(sample - exact)).astype(float)
        np.maximum.at(greatest, self.level(sample), error)
        return greatest

    def tolerance(self, most=SAMPLE):
        """Returns how far each element may be from numexpr's. Both round every operation, so where the formula cancels both are
        off, by no fixed number of ulps: the yardstick is numexpr's own error, the greatest of a sample among answers of one
        binade and the next LEVELS greater ones, since few answers lie near zero. The sample is of these elements and of SAMPLE
        drawn ones: among 10^4, few or none are in the binades of rare answers, and numexpr may be right there by luck. numexpr
        is off by that once, and Trident may be four times as far: "bounded" permits twice the error of the text, and a greatest
        error of a sample is no bound. ULPS of the result stand for errors that the sample is lucky not to have. Nothing else
        differs, not even at the steps of floor(): its operand is computed in f64, so that less than one element in 10^10 is
        near one."""
        np, wanted = self.np, self.wanted
        if wanted.dtype.kind != "f":
            return 0.0
        greatest = np.maximum(self.greatest_errors(most), self.drawn)
        near = np.max([greatest[i:i + 2200] for i in range(LEVELS + 1)], axis=0)
        return ERRORS * near[self.level(wanted)] + ULPS * np.finfo(wanted.dtype).eps * np.abs(wanted)

    def widened(self):
        """The arrays as f64 where numexpr computes in that: so NumPy's answers can be compared."""
        return {n: v.astype("f8") for n, v in self.operands.items()} if self.numpy_is_narrower() else self.operands

    def prepare(self):
        """Waits for the last kernels and compares the answers; returns a complaint or None."""
        from trident import _evaluate
        for policy in POLICIES:
            program = _evaluate.prepared(self.text, self.operands, {}, None, "K", "same_kind", policy, None, None, None, {}, None)[0]
            for _ in range(40):  # the watch sees data of these calls
                self.trident.evaluate(self.text, self.operands, policy=policy)
            wait_for_the_last(program.kernel)
        np, wanted = self.np, self.wanted
        with np.errstate(all="ignore"):
            tolerance = self.tolerance()
            for (policy, threads), call in self.calls.items():
                got = call() if policy != "NumPy" else self.in_numpy(self.widened())
                same = got.dtype == wanted.dtype or policy == "NumPy"  # whose sum of f32 is one
                is_far = lambda: (got != wanted) & ~(np.abs(np.subtract(got, wanted, dtype=float)) <= tolerance)  # noqa: E731
                far = is_far()
                if same and far.any() and wanted.size > SAMPLE:  # a rare binade may have no element in the sample
                    tolerance = self.tolerance(wanted.size)
                    far = is_far()
                if same and not far.any():
                    continue
                if same:
                    most = float(np.max(np.where(far, np.abs(np.subtract(got, wanted, dtype=float)) / tolerance, 0)))
                what = f"{np.count_nonzero(far)} elements {most:.1f} times as far off as is justified" if same else f"{got.dtype} where numexpr has {wanted.dtype}"
                if policy != "NumPy":
                    return f"{policy} with {threads} threads has {what}"
                print(f"  NumPy answers otherwise than numexpr: {self.text}: {what}")
        return None

    def measure(self, rounds):
        """Returns the median seconds of each call."""
        counts, times, order = {}, {key: [] for key in self.calls}, list(self.calls.items())
        with self.np.errstate(all="ignore"):
            for i in range(rounds + 1):
                for key, call in order[i % len(order):] + order[:i % len(order)]:
                    if key[0] != "NumPy":
                        (self.numexpr if key[0] == "numexpr" else self.trident).set_num_threads(key[1])
                    count = counts.get(key, 1)
                    call()  # brings the arrays back, which two threads of another contestant may have left in two caches
                    start = time.perf_counter()
                    for _ in range(count):
                        call()
                    taken = (time.perf_counter() - start) / count
                    if i == 0:
                        counts[key] = max(1, int(TIMED_S / taken))
                    else:
                        times[key].append(taken)
        return {key: statistics.median(t) for key, t in times.items()}


def figures(results, sizes, narrower):
    """Prints the geometric means, and each formula that Trident is slower on."""
    for policy in POLICIES:
        for size in sizes:
            for threads in THREADS:
                ratios = [t["numexpr", threads] / t[policy, threads] for (name, _, n), t in results.items()
                          if n == size and name not in SIMPLE]
                if ratios:
                    print(f"numexpr / {policy}, {size} elements, {threads} threads".ljust(56), f"{statistics.geometric_mean(ratios):8.2f}")
    for rival in ("numexpr", "NumPy"):
        for policy in POLICIES:
            slower, narrower_slower = [], []
            for (name, kind, size), t in results.items():
                pairs = [(t[rival, n] if rival == "numexpr" else t[rival, 1], t[policy, n], n) for n in THREADS]
                pairs = pairs if rival == "numexpr" else pairs[-1:] if size >= FROM_NUMPY else []
                is_narrower = rival == "NumPy" and (name, kind) in narrower
                lost = [(ours / theirs, f"{name} {kind} {size}, {n} threads" + is_narrower * " (f64, NumPy in f32)")
                        for theirs, ours, n in pairs if ours > SLOWER * theirs]
                (narrower_slower if is_narrower else slower).extend(lost)
            for ratio, what in sorted(slower + narrower_slower, reverse=True):
                print(f"  {policy} slower than {rival}: {what}: {ratio:.2f} of its time")
            of = rival if rival == "numexpr" else f"NumPy (1 thread; ours {THREADS[-1]})"
            print(f"slower than {of} by more than 5 %: {policy}".ljust(56), f"{len(slower):8}")
            if rival == "NumPy":
                print(f"in f64 slower than NumPy in f32: {policy}".ljust(56), f"{len(narrower_slower):8}")


def table(results):
    print("formula           type elements " + " ".join(f"{k[0]:>7}/{k[1]}" for k in next(iter(results.values()))), " us a call")
    for (name, kind, size), t in results.items():
        print(f"{name:17} {kind} {size:9}", " ".join(f"{v * 1e6:9.2f}" for v in t.values()))


def first_calls():
    """Prints the first and the hundredth call of each formula, in this process, which is fresh."""
    import numexpr
    import trident
    times = {"numexpr": ([], []), "trident": ([], [])}
    for ranges, text in formulas().values():
        operands = arrays(ranges, 100_000, "f8")
        for name, module in (("numexpr", numexpr), ("trident", trident)):
            for i in range(100):
                start = time.perf_counter()
                module.evaluate(text, operands)
                if i in (0, 99):
                    times[name][i > 0].append(time.perf_counter() - start)
    for name, (first, later) in times.items():
        print(f"first call of {name}, 100,000 f64, median us".ljust(56), f"{statistics.median(first) * 1e6:8.0f}")
        print(f"greatest first call of {name}, us".ljust(56), f"{max(first) * 1e6:8.0f}")
        print(f"100th call of {name}, median us".ljust(56), f"{statistics.median(later) * 1e6:8.0f}")


def measure(options):
    chosen = {name: row for name, row in formulas().items() if not options.only or name in options.only.split(",")}
    sizes, results, wrong, narrower = [int(s) for s in options.sizes.split(",")], {}, 0, set()
    for name, (ranges, text) in chosen.items():
        for kind in options.types.split(","):
            drawn = Contest(text, arrays(ranges, SAMPLE, TYPES[kind])).greatest_errors()
            for size in sizes:
                contest = Contest(text, arrays(ranges, size, TYPES[kind]), drawn)
                complaint = contest.prepare()
                wrong += complaint is not None
                if complaint:
                    print(f"{name} {kind} {size}: {complaint}", flush=True)
                if contest.numpy_is_narrower():
                    narrower.add((name, kind))
                results[name, kind, size] = contest.measure(options.rounds)
    if options.table:
        table(results)
    figures(results, sizes, narrower)
    print("wrong answers".ljust(56), f"{wrong:8}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="1000,10000,100000,10000000")
    parser.add_argument("--only", default="")
    parser.add_argument("--types", default="f32,f64")
    parser.add_argument("--table", action="store_true", help="print the microseconds of each formula")
    parser.add_argument("--inside", choices=("measure", "first"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return measure(options) if options.inside == "measure" else first_calls()
    library = os.path.join(os.path.abspath(options.build), "lib")
    environment = {**os.environ, "TRIDENT_LIBRARY": f"{library}/libtrident.so.0", "TRIDENT_ENGINE": f"{library}/libtrident-engine.so",
                   "PYTHONPATH": str(ROOT / "clients/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.setdefault("TRIDENT_MODE", "embedded")
    codes = [subprocess.run([sys.executable, __file__, *sys.argv[1:], "--inside", part], env=environment, check=False).returncode
             for part in (("measure",) if options.only else ("measure", "first"))]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
