#!/usr/bin/python3
"""Trains a judge of times and holds it to its bars: on families held out and on kernels written by hand, beside every
other guess on the same kernels; what choosing by it gains over the statically cheapest form.

usage: judge.py TRIDENT [ARGUMENTS of `trident train judge`]
"""
import json
import subprocess
import sys

SPEARMAN = {"families held out": 0.93, "written by hand": 0.85}
NOT_RIVALS = ("network", "shipped judge")  # itself, and an earlier training of the same model
GAIN, SLOWER = 1.02, 0.05


def main(trident, *arguments):
    done = subprocess.run([trident, "train", "judge", *arguments, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"judge: training ended with {done.returncode}")
    found = json.loads(done.stdout)
    print(f"{found['kernels']} kernels in {found['families']} families, {found['machine']}; two measurements agree to {found['ceiling']:.4f}")
    held = True

    def bar(text, good):
        nonlocal held
        held = held and good
        print(f"  bar: {text}: {'held' if good else 'MISSED'}")

    for split in found["splits"]:
        print(f"{split['name']}: {split['kernels']} kernels\n  {'':22}{'Spearman':>10}{'pairs right':>13}{'regret':>9}")
        for guess in split["guesses"]:
            print(f"  {guess['name']:22}{guess['spearman']:>10.4f}{guess['pairs']:>13.3f}{guess['regret']:>9.3f}")
        for chosen in split["extraction"]:
            print(f"  chosen with a margin of {chosen['margin']:.2f}: gain {chosen['gain']:.4f} of {chosen['possible']:.4f}, "
                  f"faster {100 * chosen['faster']:.1f} %, slower {100 * chosen['slower']:.1f} %")
        if split["name"] not in SPEARMAN:
            continue
        network = split["guesses"][0]
        rivals = [g for g in split["guesses"] if g["name"] not in NOT_RIVALS]
        least = SPEARMAN[split["name"]]
        bar(f"rank correlation {network['spearman']:.4f}, at least {least}", network["spearman"] >= least)
        for figure in ("spearman", "pairs"):
            best = max(rivals, key=lambda g: g[figure])
            bar(f"{figure} {network[figure]:.4f}, above that of {best['name']} ({best[figure]:.4f})", network[figure] > best[figure])
        if split["name"] == "families held out":
            own = split["extraction"][-1]
            bar(f"choosing by it {own['gain']:.4f} times as fast, at least {GAIN}", own["gain"] >= GAIN)
            bar(f"slower in {100 * own['slower']:.1f} % of families, at most {100 * SLOWER:.0f} %", own["slower"] <= SLOWER)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
