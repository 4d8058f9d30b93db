#!/usr/bin/python3
"""Ranks the built-in rules by use: writes jit/expr/rules/ranking.txt (make weights NAME=rule-ranking).

Usage: rank_rules.py TRIDENT

Searches the expressions of bench/corpus/training.tsv and of the corpora with all rules, under the published costs, with
three seeds and 40 ms each, and asks for derivations. A rule's score is the sum, over the searches whose derivation it
is in, of log(cost before / cost after), shared among the rules of that derivation; an expression of training.tsv counts
twice one of the corpora, so that these alone decide nothing. Rules that no derivation has come last, in the order of
their files."""

import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = {"bench/corpus/training.tsv": 2, "bench/corpus/rewrite.txt": 1, "bench/corpus/kernels.tsv": 1}
SEEDS = (1, 2, 3)
HEADER = """# The built-in rules, the most useful first: what `trident rewrite --rules N` takes. `make weights NAME=rule-ranking`
# writes this file; bench/rank_rules.py says what it measures. Rules that are not here come behind, in the order of
# their files.
"""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    trident = sys.argv[1]
    scores: dict[str, float] = {}
    for corpus, weight in CORPORA.items():
        for seed in SEEDS:
            run = subprocess.run([trident, "rewrite", str(ROOT / corpus), "--explain", "--json", "--cost", "reference",
                                  "--ms", "40", "--points", "1", "--seed", str(seed)], capture_output=True, text=True)
            if not run.stdout:
                print(run.stderr, file=sys.stderr)
                return 1
            for case in json.loads(run.stdout)["cases"]:
                used = {step["rule"] for step in case.get("derivation") or []} - {"collect"}
                gain = -math.log(case["dag_ratio"]) if case["dag_ratio"] > 0 else 0
                for rule in used:
                    scores[rule] = scores.get(rule, 0) + weight * max(gain, 0.01) / len(used)
    names = [rule["name"] for rule in json.loads(
        subprocess.run([trident, "rules", "list", "--json"], capture_output=True, text=True, check=True).stdout)["rules"]]
    ranked = sorted((n for n in names if n in scores), key=lambda n: (-scores[n], n))
    (ROOT / "jit/expr/rules/ranking.txt").write_text(HEADER + "".join(n + "\n" for n in ranked))
    print(f"{len(ranked)} of {len(names)} rules are in a derivation; the best are {', '.join(ranked[:8])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
