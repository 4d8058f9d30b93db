#!/usr/bin/python3
"""Measures each part of the guide's training: the same small training again and again, with one thing changed.

Every row is a line of a CSV as soon as it is known: interrupted, the next run goes on where this one ended. All rows are
deterministic, so two may run at once. Figures of a row are held out: AUC for rewrites that the best term rests on, the
same with the candidate's change not shown, within one graph, and what searches find in 128 cases that nothing was chosen
by, beside the order by static cost. Rows that leave a domain of rules out have the figures of what these rules do, rows
that learn from one corpus those of the others; the bar for these is an AUC of 0.70.

usage: guide_ablations.py TRIDENT CSV [--episodes N] [--epochs N] [--seed N] [--jobs N] [--rows REGEX]
"""
import argparse
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys

LEFT_OUT_MIN = 0.70
CORPUS = "bench/corpus"
JUDGED_BY = "jit/learn/calibration/kernels.xz"
FIELDS = ("row", "options", "episodes", "epochs", "seed", "auc", "auc_no_delta", "within", "auc_static", "auc_rule", "ratio",
          "ratio_static", "seconds")
DOMAINS = ("additions", "derivatives", "exponentials", "extrema", "fused", "hyperbolics", "memory", "powers", "products",
           "quotients", "reductions", "roots", "sums", "trigonometry", "truths", "types", "vectors")


def lines_of(folder, name, corpus, wanted):
    """A corpus of some lines of another."""
    path = os.path.join(folder, name)
    with open(os.path.join(CORPUS, corpus), encoding="utf-8") as lines, open(path, "w", encoding="utf-8") as out:
        out.writelines(line for line in lines if line[0] not in "#;\n" and wanted(line))
    return path


def rows(folder):
    """(name, options, which figures of the report, command that makes what it needs)."""
    judge = os.path.join(folder, "judge.safetensors")
    graphics = ["--only", lines_of(folder, "graphics.tsv", "kernels.tsv", lambda line: line.startswith("g")),
                "--only", lines_of(folder, "graphics.txt", "rewrite.txt",
                                   lambda line: line.split("|")[2].strip() in ("geom", "light", "sdf")),
                "--only", f"{CORPUS}/fpbench/graphics.fpcore"]
    others = ["--test", lines_of(folder, "derivatives.tsv", "kernels.tsv", lambda line: line.startswith("d")),
              "--test", lines_of(folder, "derivatives.txt", "rewrite.txt",
                                 lambda line: line.split("|")[2].strip() in ("diff", "explog"))]
    yield "all of it", [], "held_out"
    for width in (64, 128):
        yield f"width {width}", ["--width", str(width)], "held_out"
    for depth in (2, 4):
        yield f"depth {depth}", ["--depth", str(depth)], "held_out"
    yield "no delta", ["--no-delta"], "held_out"
    yield "no rule", ["--no-rule"], "held_out"
    yield "judge's embedding, fine-tuned", ["--embedding", judge], "held_out"
    yield "judge's embedding, frozen", ["--embedding", judge, "--frozen"], "held_out"
    yield "two rounds", ["--rounds", "2"], "held_out"
    yield "gain: static", ["--gain", "static"], "held_out"
    yield "gain: judge", ["--gain", "judge"], "held_out"
    yield "teacher: q", ["--teacher", "q"], "held_out"
    yield "teacher: both", ["--teacher", "both"], "held_out"
    yield "pretrained on 2000 walks", ["--pretrain", "2000"], "held_out"
    for domain in DOMAINS:
        yield f"without {domain}", ["--without", domain], "left_out_rules"
    yield "graphics alone, on derivatives and ML-like", graphics + others, "tested"


def train_judge(trident, folder):
    """The judge whose embedding two rows begin with."""
    if os.path.exists(os.path.join(folder, "judge.safetensors")):
        return
    subprocess.run([trident, "train", "judge", "--kernels", JUDGED_BY, "--epochs", "4", "--width", "256", "--folder", folder,
                    "-o", os.path.join(folder, "judge.nnue")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(trident, folder, how, row):
    name, options, which = row
    work = os.path.join(folder, re.sub(r"\W+", "-", name))
    command = [trident, "train", "guide", "--episodes", str(how.episodes), "--epochs", str(how.epochs), "--seed", str(how.seed),
               "--folder", work, "-o", work + ".nnue", "--json"]
    if "--rounds" not in options:
        command += ["--rounds", "1"]
    before = os.times()
    done = subprocess.run(command + options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"guide_ablations: {name} ended with {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    figures = report.get(which, {})  # none for derivatives: a search begins when these are gone
    ratio = (figures["ratio"], figures["ratio_static"]) if which == "tested" else (
        report["ratio"]["others"], report["ratio"]["static_others"])
    return {"row": name, "options": " ".join(options), "episodes": how.episodes, "epochs": how.epochs, "seed": how.seed,
            **{k: round(figures[k], 4) if figures else "" for k in ("auc", "auc_no_delta", "within", "auc_static", "auc_rule")},
            "ratio": round(ratio[0], 4), "ratio_static": round(ratio[1], 4), "seconds": round(os.times()[4] - before[4])}


def known(path, how):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {line["row"]: line for line in csv.DictReader(file)
                if (line["episodes"], line["epochs"], line["seed"]) == (str(how.episodes), str(how.epochs), str(how.seed))}


def show(found, wanted):
    print(f"{'':<44} {'AUC':>7} {'no delta':>9} {'within':>7} {'static':>7} {'rule':>7} {'finds':>7} {'static':>7}")
    held = True
    for name, _, which in wanted:
        line = found[name]
        if line["auc"] == "":
            print(f"{name:<44} no search applies a rule of it (derivatives are gone before a search begins)")
            continue
        missed = which != "held_out" and float(line["auc"]) < LEFT_OUT_MIN
        held = held and not missed
        print(f"{name:<44} " + " ".join(f"{float(line[k]):{w}.4f}" for k, w in (
            ("auc", 7), ("auc_no_delta", 9), ("within", 7), ("auc_static", 7), ("auc_rule", 7), ("ratio", 7),
            ("ratio_static", 7))) + (f"  MISSED {LEFT_OUT_MIN}" if missed else ""))
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("trident")
    parser.add_argument("csv")
    for name, default in (("episodes", 1000), ("epochs", 2), ("seed", 1), ("jobs", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--rows", default="", help="only rows whose name this is found in")
    how = parser.parse_args()
    folder = how.csv + ".training"
    os.makedirs(folder, exist_ok=True)
    wanted = [row for row in rows(folder) if re.search(how.rows, row[0])]
    found = known(how.csv, how)
    if any("judge" in row[0] and row[0] not in found for row in wanted):
        train_judge(how.trident, folder)
    with open(how.csv, "a", encoding="utf-8", newline="") as file, concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
        writer = csv.DictWriter(file, FIELDS)
        if file.tell() == 0:
            writer.writeheader()
        waiting = {pool.submit(run, how.trident, folder, how, row): row[0] for row in wanted if row[0] not in found}
        for n, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            found[waiting[future]] = future.result()
            writer.writerow(future.result())
            file.flush()
            print(f"guide_ablations: {n} of {len(waiting)}: {waiting[future]}", file=sys.stderr)
    sys.exit(0 if show(found, wanted) else 1)


if __name__ == "__main__":
    main()
