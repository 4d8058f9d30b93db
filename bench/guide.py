#!/usr/bin/python3
"""The guided search against the unguided ones on bench/corpus/rewrite.txt, by published costs: what each finds in the
same time, and how many rewrites each applies until it is within 2 % of the best that any of the runs found. Then what
each finds in 10 ms in other corpora, by which the order of turns and the hiding in training were looked at too.

Strategies take turns, three times; of a case the median counts. The guided search must be at least as good as the best
unguided strategy on 95 % of the cases and better in geomean, and reach the 2 % with a quarter of the rewrites. Beside them what
the same search finds when the order is not the network's but one that has learnt nothing.

usage: guide.py TRIDENT [WEIGHTS]
"""
import json
import math
import statistics
import subprocess
import sys

ROUNDS = 3
TIMES = {10: 0.46, 100: 0.42}  # ms: bar for the DAG ratio
STRATEGIES = {
    "guided": ["--strategy", "guided"],
    "best_first": ["--strategy", "best_first"],
    "pulse": ["--strategy", "pulse"],
    "saturate, best 50 rules": ["--strategy", "saturate", "--rules", "50"],
}
UNTAUGHT = {f"guided by {kind}": ["--strategy", "guided", "--guide", kind] for kind in ("cost", "constant", "random")}
# Numbers of rewrites, each half as large again as the one before.
STEPS = [round(25 * 1.5**k) for k in range(19)]


OTHERS = ("kernels.tsv", "training.tsv")


def run(trident, options, corpus="rewrite.txt"):
    command = [trident, "rewrite", f"bench/corpus/{corpus}", "--cost", "reference", "--points", "1000", *options]
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"guide: {' '.join(command)} ended with {done.returncode}: a result is wrong or missing")
    return {c["name"]: c for c in json.loads(done.stdout)["cases"]}


def medians(trident, strategies, options, corpora):
    """Returns the medians of the DAG ratios, strategy -> case -> median, and all runs, strategy -> case per round."""
    rounds = []
    for _ in range(ROUNDS):
        rounds.append({name: {f"{corpus} {c}" if len(corpora) > 1 else c: found for corpus in corpora
                              for c, found in run(trident, [*how, *options], corpus).items()} for name, how in strategies.items()})
    cases = list(rounds[0]["guided"])
    return {name: {c: statistics.median(one[name][c]["dag_ratio"] for one in rounds) for c in cases} for name in strategies}, rounds


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values))


def main(trident, weights=None):
    strategies = {name: options + (["--weights", weights] if weights and name == "guided" else []) for name, options in (STRATEGIES | UNTAUGHT).items()}
    held = True

    def bar(text, good):
        nonlocal held
        held = held and good
        print(f"  bar: {text}: {'held' if good else 'MISSED'}")

    best = {}
    for ms, most in TIMES.items():
        ratio, rounds = medians(trident, strategies, ["--ms", str(ms)], ["rewrite.txt"])
        cases = list(rounds[0]["guided"])
        for one in rounds:
            for found in one.values():
                for c in cases:
                    best[c] = min(best.get(c, math.inf), found[c]["dag_after"])
        print(f"{ms} ms")
        for name in strategies:
            print(f"  {name:24} DAG ratio {geomean(ratio[name].values()):.4f}")
        unguided = min((name for name in STRATEGIES if name != "guided"), key=lambda name: geomean(ratio[name].values()))
        worse = [c for c in cases if ratio["guided"][c] > ratio[unguided][c] + 1e-9]
        for c in cases:
            if abs(ratio["guided"][c] - ratio[unguided][c]) > 1e-9:
                print(f"    {c:14} guided {ratio['guided'][c]:.3f}, {unguided} {ratio[unguided][c]:.3f}")
        for name in ("guided", "best_first"):
            steps = sum(one[name][c]["applications"] for one in rounds for c in cases)
            seconds = sum(one[name][c]["ms"] for one in rounds for c in cases) / 1000
            print(f"  {name:24} {steps / seconds:,.0f} rewrites a second of the whole search")
            if name == "guided":
                bar("at least 50,000 a second", steps / seconds >= 50_000)
        guided = geomean(ratio["guided"].values())
        bar(f"geomean {guided:.4f}, at most {most}", guided <= most)
        bar(f"as good as {unguided} on {len(cases) - len(worse)} of {len(cases)} cases, at least 95 %", len(worse) <= 0.05 * len(cases))
        bar(f"better in geomean than {unguided} ({geomean(ratio[unguided].values()):.4f})", guided < geomean(ratio[unguided].values()))

    ratio, _ = medians(trident, {name: strategies[name] for name in STRATEGIES}, ["--ms", "10"], OTHERS)
    print(f"10 ms, {', '.join(OTHERS)}")
    for name in STRATEGIES:
        better, worse = (sum(sign * (ratio["guided"][c] - of) < -1e-9 for c, of in ratio[name].items()) for sign in (1, -1))
        print(f"  {name:24} DAG ratio {geomean(ratio[name].values()):.4f}" +
              ("" if name == "guided" else f"; of {len(ratio[name])} cases guided is better in {better}, worse in {worse}"))

    print("rewrites applied until within 2 % of the best that was found")
    needed = {name: {} for name in ("guided", "best_first", *UNTAUGHT)}
    for steps in STEPS:
        for name, reached in needed.items():
            for c, found in run(trident, [*strategies[name], "--ms", "0", "--applications", str(steps)]).items():
                if c not in reached and found["dag_after"] <= 1.02 * best[c] + 1e-9:
                    reached[c] = steps
    for c in best:
        print(f"  {c:14} " + ", ".join(f"{name} {reached.get(c) or 'never'}" for name, reached in needed.items()))
    hard = [c for c in best if (needed["best_first"].get(c) or math.inf) > STEPS[0]]

    def share(name, cases):
        # A strategy that never gets there counts with twice the most steps tried.
        return geomean((needed[name].get(c) or 2 * STEPS[-1]) / (needed["best_first"].get(c) or 2 * STEPS[-1]) for c in cases)

    if hard:
        for name in needed:
            print(f"  {name:24} {100 * share(name, hard):.0f} % of best_first's rewrites over the {len(hard)} cases that take it more than {STEPS[0]}, {100 * share(name, best):.0f} % over all {len(best)}")
        bar(f"rewrites of the guided search {100 * share('guided', hard):.0f} % of best_first's, over the {len(hard)} cases that take more than {STEPS[0]}, at most 25 %", share("guided", hard) <= 0.25)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
