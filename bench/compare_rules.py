#!/usr/bin/python3
"""Does it hurt the search to have more rules? (make bench NAME=rules)

Usage: compare_rules.py TRIDENT [MS]

Searches every case of the corpora with all rules and with the best 50, best_first, in MS milliseconds (10), under the
published costs; three times each, of which the median counts, for a budget in time ends elsewhere each time. Prints a
table of costs, (DAG cost + 4), and exits 1 when all rules are more than 2 % worse anywhere."""

import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = ("bench/corpus/rewrite.txt", "bench/corpus/kernels.tsv")
FEW, RUNS, WORSE_MAX = "50", 3, 1.02


def costs(trident: str, corpus: str, rules: str, ms: str) -> dict[str, float]:
    runs: dict[str, list[float]] = {}
    for _ in range(RUNS):
        out = subprocess.run([trident, "rewrite", str(ROOT / corpus), "--json", "--cost", "reference", "--ms", ms,
                              "--points", "1", "--rules", rules], capture_output=True, text=True).stdout
        for case in json.loads(out)["cases"]:
            runs.setdefault(case["name"], []).append(case["dag_after"] + 4)
    return {name: statistics.median(values) for name, values in runs.items()}


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    trident, ms = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "10"
    worse = 0
    print(f"{'case':16} {'best ' + FEW:>8} {'all':>8} {'ratio':>7}")
    for corpus in CORPORA:
        few, everything = costs(trident, corpus, FEW, ms), costs(trident, corpus, "all", ms)
        for name in few:
            ratio = everything[name] / few[name]
            worse += ratio > WORSE_MAX
            mark = "  WORSE" if ratio > WORSE_MAX else ""
            print(f"{name:16} {few[name]:8.0f} {everything[name]:8.0f} {ratio:7.3f}{mark}")
    print(f"{worse} cases are more than {100 * (WORSE_MAX - 1):.0f} % worse with all rules")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
