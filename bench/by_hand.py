#!/usr/bin/python3
"""Compares the forms that the search finds with the best forms known by hand (make bench NAME=rewrite).

Usage: by_hand.py TRIDENT [MS]

Reads bench/corpus/by_hand.tsv, searches each definition for MS milliseconds (150), and compares the DAG cost of the
result with that of the form by hand, (cost + 4) under the published costs. Exits 1 when one is more than 15 % dearer,
or when a form by hand has another value than its definition."""

import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEARER_MAX = 1.15


def cases(trident: str, folder: str, rows: list[list[str]], *options: str) -> dict[str, dict]:
    path = pathlib.Path(folder) / "cases.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    run = subprocess.run([trident, "rewrite", str(path), "--json", "--cost", "reference", *options], capture_output=True, text=True)
    if not run.stdout:
        sys.exit(run.stderr)
    return {case["name"]: case for case in json.loads(run.stdout)["cases"]}


def value(definition: str, at: dict[str, float]) -> float:
    *locals_, result = definition.replace("^", "**").split(";")
    names = {"fma": lambda a, b, c: a * b + c, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, **at}
    for part in locals_:
        name, expression = part.split("=", 1)
        names[name.strip()] = eval(expression.strip(), {}, names)
    return eval(result.strip(), {}, names)


def differs(row: list[str]) -> bool:
    """Returns true when the form by hand differs in value from the definition, at points of the declared ranges."""
    source = random.Random(1)
    for _ in range(50):
        at = {name: source.uniform(float(low), float(high)) for name, low, high in re.findall(r"(\w+):([^:,]+):([^:,]+)", row[1])}
        x, y = value(row[2], at), value(row[3], at)
        if abs(x - y) > 1e-9 * max(abs(x), abs(y), 1):
            return True
    return False


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    trident, ms = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "150"
    rows = [line.rstrip("\n").split("\t") for line in (ROOT / "bench/corpus/by_hand.tsv").open() if line[0] != "#"]
    with tempfile.TemporaryDirectory() as folder:
        ours = cases(trident, folder, [row[:3] for row in rows], "--ms", ms, "--points", "2000")
        hand = cases(trident, folder, [[row[0], row[1], row[3]] for row in rows], "--nodes", "16", "--points", "1")
    dearer = 0
    print(f"{'case':14} {'source':>7} {'ours':>6} {'hand':>6} {'ratio':>6}")
    for row in rows:
        name = row[0]
        source, found, best = ours[name]["dag_before"], ours[name]["dag_after"], hand[name]["dag_before"]
        ratio = (found + 4) / (best + 4)
        wrong = ours[name].get("wrong") or ours[name].get("failure") or (differs(row) and "the form by hand has another value")
        dearer += ratio > DEARER_MAX or bool(wrong)
        mark = f"  WRONG: {wrong}" if wrong else "  DEARER" if ratio > DEARER_MAX else ""
        print(f"{name:14} {source:7.0f} {found:6.0f} {best:6.0f} {ratio:6.2f}{mark}")
    print(f"{dearer} of {len(rows)} are more than {100 * (DEARER_MAX - 1):.0f} % dearer than by hand")
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())
