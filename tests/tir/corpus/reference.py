"""The expected outputs of the corpus, computed from the problems' definitions; nothing here knows TIR or the machine.

  reference.py --check   compares cases.json with what is computed from the inputs in it (the default)
  reference.py --write   writes cases.json from the inputs in problems/
"""
import copy
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from problems import arithmetic, extension, hashing, integers, machines, sorting, structures  # noqa: E402,F401
from problems.registry import PROBLEMS, Run  # noqa: E402

CASES = os.path.join(HERE, "cases.json")


def row_of(name):
    p = PROBLEMS[name]
    return {"name": name, "topic": p.topic, "what": p.what, "split": p.split(), "public_input": p.run.public,
            "secret_input": p.run.secret, "secret_digests": p.run.digests,
            "ram": [[address, word] for address, word in sorted(p.run.ram.items())],
            "expected_output": p.solve(copy.deepcopy(p.run))}


def write():
    with open(CASES, "w", encoding="utf-8") as out:
        rows = [json.dumps(row_of(name)) for name in sorted(PROBLEMS)]
        out.write("[\n" + ",\n".join(rows) + "\n]\n")


def check():
    with open(CASES, encoding="utf-8") as source:
        rows = json.load(source)
    faults = []
    if sorted(r["name"] for r in rows) != sorted(PROBLEMS):
        faults.append("cases.json and problems/ have other names")
    for row in rows:
        p = PROBLEMS.get(row["name"])
        if p is None:
            continue
        run = Run(list(row["public_input"]), list(row["secret_input"]), [list(d) for d in row["secret_digests"]],
                  dict(map(tuple, row["ram"])))
        found = p.solve(run)
        if found != row["expected_output"]:
            faults.append(f"{p.name}: cases.json has {row['expected_output']}, computed {found}")
        if run.public or run.secret or run.digests:
            faults.append(f"{p.name}: input is left over")
        if row["split"] != p.split():
            faults.append(f"{p.name}: is in the other split")
    for folder, end in ((HERE, ".tir"), (os.path.join(HERE, "hand"), ".tasm")):
        names = {f[:-len(end)] for f in os.listdir(folder) if f.endswith(end)}
        faults += [f"{name}{end}: has no case" for name in sorted(names - set(PROBLEMS))]
        if end == ".tir":
            faults += [f"{name}: has no program" for name in sorted(set(PROBLEMS) - names)]
    print("\n".join(faults) or f"{len(rows)} cases")
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    sys.exit(check())
