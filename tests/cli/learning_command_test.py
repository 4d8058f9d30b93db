"""What a daemon learns and how it is undone, from outside: learning_command_test.py TRIDENT TRIDENTD."""
import ctypes
import errno
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from command_case import ROOT, TRIDENTD, CommandCase

EXPRESSIONS = ["x*x + 2*x*y + y*y", "sin(x)*sin(x) + cos(x)*cos(x)", "(x*y)/(x*z)", "exp(x)*exp(y)", "log(x) + log(y)",
               "(x^2 - y^2)/(x - y)", "sqrt(x*x)*y", "x/(1/y)", "a*x + a*y + a*z", "tanh(x)*cosh(x)"]


def ranks(values):
    """From 0; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    first = 0
    for i in range(1, len(order) + 1):
        if i == len(order) or values[order[i]] != values[order[first]]:
            for place in order[first:i]:
                rank[place] = (first + i - 1) / 2
            first = i
    return rank


def spearman(a, b):
    """Pearson's correlation of ranks."""
    x, y = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    return (sum((p - mean) * (q - mean) for p, q in zip(x, y))
            / (sum((p - mean)**2 for p in x) * sum((q - mean)**2 for q in y))**0.5)


def deny_writable_code():
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_mdwe, refuse_exec_gain = 65, 1
    if libc.prctl(pr_set_mdwe, refuse_exec_gain, 0, 0, 0) != 0 and ctypes.get_errno() != errno.EINVAL:
        raise OSError(ctypes.get_errno(), "PR_SET_MDWE")  # EINVAL: a system before Linux 6.3


class LearningCommand(CommandCase):
    def state(self):
        return self.at("state")

    def weights(self, *words, status=0):
        return self.trident("weights", *words, "--state", self.state(), status=status)

    def listed(self):
        return json.loads(self.weights("list", "--json").stdout)

    def chosen(self):
        return [version["name"] for version in self.listed() if version["chosen"]]

    def test_weights_are_chosen_and_rolled_back(self):
        self.assertEqual(["none"], self.chosen())
        self.assertIn("nothing was chosen before", self.weights("rollback", status=1).stderr)
        name = self.weights("use", "untrained").stdout.strip()
        path = os.path.join(self.state(), "weights", name + ".bytes")
        with open(path, "rb") as file:
            self.assertEqual(name, hashlib.sha256(file.read()).hexdigest())
        self.assertEqual([name], self.chosen())
        self.assertRegex(self.weights("list").stdout, rf"(?m)^\* {name[:12]} ")
        self.assertEqual("none", self.weights("rollback").stdout.strip())
        self.assertEqual(["none"], self.chosen())
        self.assertEqual(name, self.weights("use", name[:8]).stdout.strip())
        self.assertIn("no version 123", self.weights("use", "123", status=1).stderr)
        with open(path, "r+b") as file:
            file.seek(100)
            file.write(b"!")
        self.weights("use", "none")
        self.assertIn("checksum", self.weights("use", name[:8], status=1).stderr)
        self.assertEqual(["none"], self.chosen())

    def test_weights_are_shown(self):
        rules = len(json.loads(self.trident("rules", "list", "--json").stdout)["rules"])
        name = self.weights("use", "untrained").stdout.strip()
        shown = json.loads(self.weights("show", "--json").stdout)
        size = os.path.getsize(os.path.join(self.state(), "weights", name + ".bytes"))
        self.assertEqual((name, True, False, {"untrained": True}),
                         (shown["name"], shown["chosen"], shown["judge"], shown["figures"]))
        self.assertEqual((rules, rules), (shown["rules"], shown["rules_known"]))
        self.assertEqual(56 * 56 * 128, shown["features"])
        # Behind rows there is one of zeros; before them, places of four bytes and little else.
        rest = size - 256 * (shown["rows"] + 1) - 4 * shown["features"]
        self.assertTrue(0 < rest < 1 << 18, rest)
        self.assertRegex(self.weights("show", name[:9]).stdout, rf"^{name}, chosen\n")
        self.assertRegex(self.weights("show", "none").stdout, "^none\n")
        self.assertIn("No such file", self.weights("show", "./absent", status=1).stderr)

    def test_a_judge_is_trained(self):
        kernels, weights = self.at("some.kernels"), self.at("judge.nnue")
        self.trident("calibrate", "--kernels", "1200", "--quick", "--seed", "3", "--output", kernels)
        train = ("train", "judge", "--kernels", kernels, "--epochs", "1", "--without", "program", "--json")
        report = json.loads(self.trident(*train, "-o", weights, "--plot", self.at("judge.svg")).stdout)
        database = sqlite3.connect(kernels)
        times = database.execute("SELECT ns, ns_again FROM kernel").fetchall()
        programs = database.execute("SELECT count(*) FROM kernel JOIN family ON family.id = kernel.family"
                                    " WHERE name LIKE 'program-%'").fetchone()[0]
        database.close()
        self.assertEqual(len(times), report["kernels"])
        self.assertAlmostEqual(spearman([ns for ns, _ in times], [again for _, again in times]), report["ceiling"], 9)
        splits = {split["name"]: split for split in report["splits"]}
        self.assertEqual(programs, splits["generators left out"]["kernels"])
        self.assertEqual(len(times), report["trained_on"] + sum(split["kernels"] for split in splits.values()))
        for split in splits.values():
            guesses = {guess["name"]: guess["spearman"] for guess in split["guesses"]}
            self.assertLess({"network", "ridge regression", "analytical model"}, guesses.keys())
            self.assertGreater(guesses["network"], 0.5)
        xml.etree.ElementTree.parse(self.at("judge.svg"))
        self.assertTrue(json.loads(self.weights("show", weights, "--json").stdout)["judge"])
        again = self.at("again.nnue")
        self.trident(*train, "-o", again, "--threads", "2")
        with open(weights, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_training_makes_no_writable_code(self):
        """As under the MemoryDenyWriteExecute of its unit."""
        kernels = os.path.join(ROOT, "jit", "learn", "calibration", "kernels.xz")
        for what in (("judge", "--kernels", kernels, "--epochs", "1"),
                     ("guide", "--episodes", "40", "--rounds", "1", "--epochs", "1", "--width", "8")):
            output = self.at(what[0] + ".nnue")
            self.trident("train", *what, "-o", output, preexec_fn=deny_writable_code)
            self.assertTrue(os.path.exists(output))

    def test_a_judge_is_not_trained_on_little(self):
        kernels = self.at("few.kernels")
        self.trident("calibrate", "--kernels", "40", "--quick", "--output", kernels)
        message = self.trident("train", "judge", "--kernels", kernels, "-o", self.at("judge.nnue"), status=2).stderr
        self.assertIn("trident calibrate --kernels", message)
        self.assertFalse(os.path.exists(self.at("judge.nnue")))

    def test_calibrate_leaves_what_is_not_stale(self):
        table = self.at("costs")
        calibrate = ("calibrate", "--ops", "--quick", "--isa", "avx2", "--output", table)
        self.trident(*calibrate)
        before = os.stat(table).st_mtime_ns
        self.assertIn("kept", self.trident(*calibrate, "--stale", "6").stderr)
        self.assertEqual(before, os.stat(table).st_mtime_ns)
        with open(table, encoding="utf-8") as file:
            text = file.read()
        today = next(line for line in text.splitlines() if line.startswith("date "))
        for line, instead in ((today, "date 2020-01-01"),
                              (next(x for x in text.splitlines() if x.startswith("build ")), "build 0123456789abcdef"),
                              (next(x for x in text.splitlines() if x.startswith("cpu ")), "cpu Another family 1")):
            with open(table, "w", encoding="utf-8") as file:
                file.write(text.replace(line, instead))
            self.trident(*calibrate, "--stale", "6")
            with open(table, encoding="utf-8") as file:
                self.assertNotIn(instead, file.read())

    def test_calibrate_renews_kernels_that_are_stale(self):
        cache = self.at("weekly.kernels")
        corpus = self.at("corpus.tsv")
        with open(corpus, "w", encoding="utf-8") as file:
            file.write("quadratic\tx:0:1,y:0:1\tx*x + 2*x*y + y*y\n")
        calibrate = ("calibrate", "--kernels", "240", "--quick", "--seed", "5", "--output", cache, "--stale", "6", "--corpus",
                     corpus)

        def ask(sql):
            database = sqlite3.connect(cache)
            rows = database.execute(sql).fetchall()
            database.commit()
            database.close()
            return rows

        def count():
            return ask("SELECT count(*) FROM kernel")[0][0]

        self.trident(*calibrate)
        first = {name for name, in ask("SELECT name FROM family")}
        self.assertGreaterEqual(count(), 240)
        self.assertTrue(any(name.startswith("corpus/quadratic") for name in first), first)
        self.assertIn("kept", self.trident(*calibrate).stderr)
        self.assertEqual(first, {name for name, in ask("SELECT name FROM family")})
        # Of last month: a part of them makes room for others, by another seed, timed today.
        ask("UPDATE family SET date='2020-01-01'")
        report = json.loads(self.trident(*calibrate, "--json").stdout)
        second = {name for name, in ask("SELECT name FROM family")}
        self.assertGreaterEqual(report["added"], 30)
        self.assertGreater(report["dropped"], 0)
        self.assertIn(count(), range(240, 240 + 64))
        self.assertTrue(second - first)
        self.assertTrue(first & second)
        self.assertTrue(all(not name.split("-")[1] == "5" for name in second - first if "-" in name), second - first)
        self.assertGreater(ask("SELECT count(*) FROM family WHERE date > '2020-01-01'")[0][0], 0)
        self.assertIn("kept", self.trident(*calibrate).stderr)
        # What another build has timed is not ours, and stays beside ours for a while.
        ask("UPDATE machine SET build='0123456789abcdef'")
        report = json.loads(self.trident(*calibrate, "--json").stdout)
        self.assertGreaterEqual(report["added"], 240)
        self.assertGreater(ask("SELECT count(*) FROM family JOIN machine ON machine.id = family.machine"
                               " WHERE build='0123456789abcdef'")[0][0], 0)
        self.assertLessEqual(count(), 480 + 64)

    def test_a_daemon_learns(self):
        """Untrained weights, some submissions, one round: promoted, and seen by the daemon that runs."""
        self.weights("use", "untrained")
        socket = self.at("s")
        with open(self.at("log"), "w+", encoding="utf-8") as log:
            daemon = subprocess.Popen([TRIDENTD, "--socket", socket, "--cache", "none", "--state", self.state()], stderr=log,
                                      env=self.environment)
            try:
                self.environment["TRIDENT_SOCKET"] = socket
                for text in EXPRESSIONS:
                    self.trident("run", text, "-n", "8", "--mode", "daemon", "--tier", "baseline")
                train = ("train", "daemon", "--state", self.state(), "--rounds", "1", "--epochs", "2", "--busy")
                self.assertIn("10 expressions; a round needs 11", self.trident(*train, "--least", "11", status=1).stderr)
                round_ = json.loads(self.trident(*train, "--least", "10", "--episodes", "120").stdout)
                self.assertEqual(10, round_["submitted"])
                self.assertTrue(round_["promoted"], round_)
                self.assertLess(round_["ratio"], round_["ratio_before"])
                self.assertEqual([round_["candidate"]], self.chosen())
                figures = self.listed()[0]["figures"]
                self.assertEqual((round_["ratio"], round_["ratio_before"]), (figures["ratio"], figures["ratio_before"]))
                with open(os.path.join(self.state(), "training.jsonl"), encoding="utf-8") as lines:
                    self.assertEqual([round_], [json.loads(line) for line in lines])
                self.weights("rollback")
                wanted = [self.chosen()[0], round_["candidate"], self.chosen()[0]]
                end = time.monotonic() + 20
                while time.monotonic() < end and log_names(log) != wanted:
                    time.sleep(0.1)
                self.assertEqual(wanted, log_names(log))
            finally:
                daemon.terminate()
                self.assertEqual(0, daemon.wait(60))


def log_names(log):
    """The weights that the daemon has said it goes by, in order."""
    log.seek(0)
    return [line.rsplit(" ", 1)[1].strip() for line in log if "weights of the search's guide" in line]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
