#!/usr/bin/python3
"""How far the search goes beyond its time: `trident rewrite` on inputs that are as hard on it as can be, under budgets of
1, 5 and 10 ms of CPU time, and the worst overrun. Fails above 1 ms. Of three runs a case's best counts: what the machine
does besides is not the search's.

Large graphs have 60 ms beside.

usage: search_overruns.py TRIDENT
"""
import json
import subprocess
import sys
import tempfile

BAR_MS = 1.0
# milliseconds, and the options that go with them
BUDGETS = ((1, ()), (5, ()), (10, ()), (60, ("--nodes", "1000000", "--bytes", "4G")))
STRATEGIES = ("best_first", "saturate")
RUNS = 3


def joined(count, between, part):
    return between.join(part(i) for i in range(count))


def determinant(columns, row=0):
    if not columns:
        return "1"
    return "0" + "".join(f" {'+-'[i % 2]} m{row}{c}*({determinant([d for d in columns if d != c], row + 1)})"
                         for i, c in enumerate(columns))


def cases():
    def names(n):
        return joined(n, " + ", "v{}".format)

    deep, towers = "x", "x"
    for i in range(200):
        deep = ("sin(", "(y - ", "x*(1 + ")[i % 3] + deep + ")"
    nested = "tanh(sin(x*y))*pow(x, x)"
    for _ in range(12):
        nested = f"diff({nested}, x)"
    for _ in range(10):
        towers = f"(({towers})*({towers}) + y)"
    return {
        "sum-1000": joined(1000, " + ", lambda i: f"x*{i % 61}.5"),
        "sum-40-variables": joined(40, " + ", lambda i: f"v{i}*v{i * 7 % 40}"),
        "sum-500-squares": joined(500, " + ", lambda i: f"(x - {i})*(x - {i})"),
        "product-400": joined(400, "*", lambda i: f"(x - y{i % 5})"),
        "product-50": joined(50, "*", lambda i: f"(x - {i + 1})"),
        "product-of-sums": joined(12, "*", lambda i: f"(x + y + z + w{i})"),
        "quadratics": joined(30, "*", lambda i: f"(x*x + y*{i + 1} + z)"),
        "equal-terms": joined(60, " + ", lambda i: "sin(x*y)*cos(x*y)"),
        "square-of-60": f"({names(60)})*({names(60)})",
        "power-40": "(x + y + z + w)^40",
        "quotients": joined(60, " + ", lambda i: f"x/(y + {i})"),
        "trigonometry": joined(60, " + ", lambda i: f"sin(v{i % 9})^2*cos(v{i % 7})^2"),
        "roots": joined(40, " + ", lambda i: f"sqrt(v{i % 9}*v{i % 9} + {i})*abs(v{i % 7} - {i})"),
        "determinant-5": determinant(range(5)),
        "determinant-6": determinant(range(6)),
        "deep": deep,
        "towers": towers,
        "2000-nodes": joined(500, " - ", lambda i: f"v{i % 31}*v{i * 5 % 29}/(1 + v{i * 3 % 23})"),
        "nested-derivatives": nested,
        "200-derivatives": joined(200, " + ", lambda i: f"diff(sin(x*{i + 1})*y, x)"),
        "derivative-of-300": f"diff({joined(300, ' + ', lambda i: f'sin(x*{i + 1})*exp(x/{i + 2})')}, x)",
        "derivative": f"diff({joined(20, '*', lambda i: f'sin(x*{i + 1} + y)')}, x)",
    }


def milliseconds(trident, path, strategy, budget, options):
    """CPU time of the search of each case."""
    done = subprocess.run([trident, "rewrite", path, "--json", "--points", "1", "--strategy", strategy, "--ms", str(budget), *options],
                          stdout=subprocess.PIPE, check=False)
    rows = json.loads(done.stdout)["cases"]
    failed = [f"{row['name']}: {row.get('failure') or row.get('wrong')}" for row in rows if "ms" not in row or row["wrong"]]
    if failed:
        sys.exit("search_overruns: " + "; ".join(failed))
    return {row["name"]: row["ms"] for row in rows}


def main(trident):
    worst = 0.0
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        for name, text in cases().items():
            file.write(f"{name}\t\t{text}\n")
        file.flush()
        for strategy in STRATEGIES:
            for budget, options in BUDGETS:
                runs = [milliseconds(trident, file.name, strategy, budget, options) for _ in range(RUNS)]
                best = {name: min(run[name] for run in runs) for name in runs[0]}
                name = max(best, key=best.get)
                over = best[name] - budget
                worst = max(worst, over)
                print(f"{strategy:10} {budget:3} ms: worst of {len(best)} hard cases {best[name]:7.3f} ms ({name})")
    held = worst <= BAR_MS
    print(f"bar: time overrun {worst:.3f} ms, at most {BAR_MS:g}: {'held' if held else 'MISSED'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
