#!/usr/bin/python3
"""Does a daemon learn from what it is given? A daemon with untrained weights, its trainer beside it, and a client that
streams the shared corpus for a while and keeps its kernels.

Of the corpus one expression in five is held out: it is never submitted, so nothing is learnt from it. Before and after,
what the guided search finds of those in 10 ms is measured (DAG ratio, costs of bench/guide.py), beside the best that any
strategy finds in a second: more is not there to gain. The same of pairs of them joined, which take longer to search. The
client's kernels are called all the while by the client library, which counts what it receives.

Bars: the held-out ratio improves by 5 %; weights were promoted; better kernels were sent into the client that runs.

usage: daemon_learning.py BIN [--minutes N] [--weights untrained|none]
"""
import argparse
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(ROOT, "bench/corpus")
ROUNDS = 5
PAIRS = 24
GAIN_MIN = 0.05
# A client does not submit everything at once.
PAUSE_S = 0.5


def held_out(number):
    return number % 5 == 2


def read_lines(name):
    with open(os.path.join(CORPUS, name), encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def corpus():
    """Returns the lines to stream, as (text, ranges), and the lines held out, by file."""
    streamed, kept, number = [], {}, 0
    for name in ("kernels.tsv", "training.tsv", "by_hand.tsv", "rewrite.txt"):
        for line in read_lines(name):
            if not line or line[0] in "#;":
                continue
            number += 1
            if held_out(number):
                kept.setdefault(name, []).append("\t".join(line.split("\t")[:3]))
            elif name.endswith(".txt"):
                streamed.append((line.split("|")[4].split(";")[0].strip(), {}))
            else:
                fields = line.split("\t")
                bounds = [v.split(":") for v in fields[1].split(",") if v.count(":") == 2]
                streamed.append((fields[2], {v: (float(lo), float(hi)) for v, lo, hi in bounds}))
    return streamed, kept


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values))


def body_of(trident, name, line):
    """An expression of the corpus as one term; nothing where it has names of its own inside."""
    if name.endswith(".txt"):
        return line.split("|")[4].split(";")[0].strip()
    command = [trident, "print", line.split("\t")[2], "--to", "sexpr", "--derivatives"]
    text = " ".join(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split())
    body = re.search(r":body \(outputs \(\w+ (.*)\)\)\)$", text)
    return body.group(1) if body and "(let" not in body.group(1) else None


def pairs(trident, kept):
    """Sums and products of two held-out expressions, as a file of cases."""
    draw = random.Random(1)
    bodies = [body for name, lines in kept.items() for line in lines if (body := body_of(trident, name, line))]
    joined = [f"({draw.choice(('add', 'mul'))} {' '.join(draw.sample(bodies, 2))})" for _ in range(PAIRS)]
    return {"pairs.txt": [f"pair{i} | large | pair |  | {text}" for i, text in enumerate(joined)]}


def searched(trident, folder, kept, *options):
    """By case: the DAG ratio that a search finds."""
    ratios = {}
    for name, lines in kept.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as cases:
            cases.write("\n".join(lines) + "\n")
        command = [trident, "rewrite", path, "--cost", "reference", "--points", "200", "--json", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        cases = json.loads(done.stdout)["cases"]
        # A pair may have no point where both of its expressions are numbers: such a case has no answer to compare.
        if any(case.get("wrong") for case in cases) or (done.returncode != 0 and name != "pairs.txt"):
            sys.exit(f"daemon_learning: {' '.join(command)} ended with {done.returncode}: a result is wrong or missing")
        ratios.update({(name, case["name"]): case["dag_ratio"] for case in cases if "dag_ratio" in case})
    return ratios


def found(trident, folder, kept, weights):
    """The geometric mean over the held-out expressions of the DAG ratio in 10 ms: each the median of several searches."""
    options = ["--strategy", "guided", "--ms", "10"] + (["--weights", weights] if weights else [])
    rounds = [searched(trident, folder, kept, *options) for _ in range(ROUNDS)]
    return geomean(statistics.median(one[case] for one in rounds) for case in rounds[0])


def best_found(trident, folder, kept):
    """The geometric mean of the best that any strategy finds in a second."""
    runs = [searched(trident, folder, kept, "--strategy", s, "--ms", "1000", "--nodes", "50000") for s in ("guided", "best_first", "pulse")]
    return geomean(min(one[case] for one in runs) for case in runs[0])


def chosen(trident, state):
    """The file of the chosen weights; empty for the program's own."""
    done = subprocess.run([trident, "weights", "list", "--state", state, "--json"], stdout=subprocess.PIPE, check=True)
    name = next(v["name"] for v in json.loads(done.stdout) if v["chosen"])
    return "" if name == "none" else os.path.join(state, "weights", name + ".bytes")


class Client:
    """A program that submits one expression after the other, keeps all its kernels, and calls them."""

    def __init__(self, bin_folder, socket):
        os.environ["TRIDENT_LIBRARY"] = os.path.join(bin_folder, "../lib/libtrident.so")
        sys.path.insert(0, os.path.join(ROOT, "clients/python"))
        import numpy
        import trident
        self.numpy, self.trident = numpy, trident
        self.context = trident.Context("daemon", socket)
        self.kernels, self.answers, self.arrays, self.wrong = [], [], [], 0

    def submit(self, text, ranges):
        kernel = self.trident.Kernel(text, ranges=ranges, context=self.context)
        draw = self.numpy.random.default_rng(len(self.kernels))
        arrays = [draw.uniform(*ranges.get(name, (0.5, 2)), 1024) for name in kernel.arrays]
        self.kernels.append(kernel)
        self.arrays.append(arrays)
        self.answers.append(kernel(*arrays))

    def call_all(self):
        """Every kernel again; answers stay what they were but for roundings."""
        for kernel, arrays, before in zip(self.kernels, self.arrays, self.answers):
            now, then = (r if isinstance(r, tuple) else (r,) for r in (kernel(*arrays), before))
            self.wrong += not all(self.numpy.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in zip(now, then))

    def stats(self):
        return self.context.daemon_stats(60_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin", help="the folder of trident and tridentd")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--weights", default="untrained", help="what the daemon begins with: untrained or none")
    parser.add_argument("--episodes", type=int, default=600, help="of the trainer's rounds")
    parser.add_argument("--threads", type=int, default=1, help="of the trainer")
    options = parser.parse_args()
    trident, tridentd = (os.path.join(options.bin, name) for name in ("trident", "tridentd"))
    folder = tempfile.mkdtemp(prefix="trident-learning-")
    state, socket = os.path.join(folder, "state"), os.path.join(folder, "tridentd.sock")
    subprocess.run([trident, "weights", "use", options.weights, "--state", state], stdout=subprocess.DEVNULL, check=True)
    streamed, kept = corpus()
    joined = pairs(trident, kept)
    before, before_joined = (found(trident, folder, some, chosen(trident, state)) for some in (kept, joined))
    print(f"held out: {sum(map(len, kept.values()))} expressions, {len(streamed)} are streamed; DAG ratio in 10 ms before: {before:.4f}", flush=True)
    for what, some in (("", kept), (", pairs of them", joined)):
        print(f"  the best of all strategies in a second{what}: {best_found(trident, folder, some):.4f}", flush=True)

    daemon = subprocess.Popen([tridentd, "--socket", socket, "--cache", os.path.join(folder, "kernels.db"), "--state", state, "--log-level", "warning"])
    trainer = subprocess.Popen([trident, "train", "daemon", "--state", state, "--episodes", str(options.episodes), "--threads", str(options.threads)])
    held = True
    try:
        while not os.path.exists(socket):
            time.sleep(0.05)
        client = Client(os.path.abspath(options.bin), socket)
        end = time.monotonic() + 60 * options.minutes
        waiting, told = list(streamed), None
        while time.monotonic() < end:
            if waiting:
                client.submit(*waiting.pop(0))
            else:
                client.call_all()
            stats = client.stats()
            now = (stats["learning"]["weights_changed"], stats["jobs"]["republished"])
            if now != told:
                left = (end - time.monotonic()) / 60
                print(f"  {left:5.1f} min left: {now[0]} promotions seen, {now[1]} kernels sent again", flush=True)
                told = now
            time.sleep(PAUSE_S)
        # The clients hear of the last promotion too.
        patience = time.monotonic() + 60
        while client.stats()["jobs"]["renewals_waiting"] and time.monotonic() < patience:
            time.sleep(PAUSE_S)
        client.call_all()
        stats = client.stats()
        swaps = sum(kernel.info()["swaps"] for kernel in client.kernels)
    finally:
        for process in (trainer, daemon):
            process.send_signal(signal.SIGTERM)
        for process in (trainer, daemon):
            process.wait()
    after, after_joined = (found(trident, folder, some, chosen(trident, state)) for some in (kept, joined))

    def bar(text, good):
        nonlocal held
        held = held and good
        print(f"  bar: {text}: {'held' if good else 'MISSED'}")

    jobs = stats["jobs"]
    print(f"{len(client.kernels)} kernels open, {stats['learning']['noted']} noted, {jobs['renewals']} searched again, {swaps} swaps in the client; {folder}")
    bar(f"held-out DAG ratio in 10 ms {before:.4f} -> {after:.4f}, {100 * (1 - after / before):.1f} % better, at least {100 * GAIN_MIN:.0f} %",
        after <= before * (1 - GAIN_MIN))
    print(f"  of pairs: {before_joined:.4f} -> {after_joined:.4f}, {100 * (1 - after_joined / before_joined):.1f} % better")
    bar(f"promotions: {stats['learning']['weights_changed']}, at least 1", stats["learning"]["weights_changed"] >= 1)
    bar(f"better kernels sent into the running client: {jobs['republished']}, at least 1", jobs["republished"] >= 1)
    bar(f"answers of its kernels that changed: {client.wrong}, none may", client.wrong == 0)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
