#!/usr/bin/python3
"""How fast the search adds e-nodes and finds matches with all rules, and what a node takes: `trident rewrite` on
bench/corpus/rewrite.txt by every strategy in turn, the median of five rounds. The bars are for the strategy that is the
default; a rate is counted over the part of the search that does that work, and beside it over the whole.

usage: search_throughput.py TRIDENT
"""
import json
import statistics
import subprocess
import sys

STRATEGIES = ("best_first", "pulse", "random", "hostile", "saturate")
ROUNDS = 5
# what, unit, bar
FIGURES = {
    "nodes_per_second": ("M e-nodes/s", 1e-6, 3.0),
    "matches_per_second": ("M matches/s", 1e-6, 10.0),
    "bytes_per_node": ("bytes/e-node", 1, 90.0),
    "bytes_per_live_node": ("bytes/no duplicate", 1, None),
    "search_nodes_per_second": ("M e-nodes/s of all", 1e-6, None),
    "search_matches_per_second": ("M matches/s of all", 1e-6, None),
}


def summary(trident, strategy):
    command = [trident, "rewrite", "bench/corpus/rewrite.txt", "--cost", "reference", "--ms", "20", "--points", "1000", "--strategy", strategy]
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"search_throughput: {' '.join(command)} ended with {done.returncode}: a result is wrong or missing")
    return json.loads(done.stdout)["summary"]


def main(trident):
    rounds = [{strategy: summary(trident, strategy) for strategy in STRATEGIES} for _ in range(ROUNDS)]
    held = True
    print(f"{'strategy':12}" + "".join(f"{unit:>20}" for unit, _, _ in FIGURES.values()))
    for strategy in STRATEGIES:
        median = {name: scale * statistics.median(one[strategy][name] for one in rounds) for name, (_, scale, _) in FIGURES.items()}
        print(f"{strategy:12}" + "".join(f"{value:20.1f}" for value in median.values()))
        if strategy != STRATEGIES[0]:
            continue
        for name, (unit, _, bar) in FIGURES.items():
            if bar is None:
                continue
            good = median[name] <= bar if name == "bytes_per_node" else median[name] >= bar
            held = held and good
            print(f"  bar: {median[name]:.1f} {unit}, at {'most' if name == 'bytes_per_node' else 'least'} {bar:g}: {'held' if good else 'MISSED'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
