"""Learning of a daemon and its undoing, from outside: learning_command_test.py TRIDENT TRIDENTD."""
import ctypes
import errno
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from command_case import ROOT, TRIDENT, TRIDENTD, CommandCase, alone, file_size_limit

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
        self.assertRegex(self.weights("rollback", status=1).stderr,
                         "nothing was chosen before: .*trident train daemon.*trident weights list.*--state")
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

    @alone
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

    @alone
    def test_a_judge_is_not_trained_on_little(self):
        kernels = self.at("few.kernels")
        self.trident("calibrate", "--kernels", "40", "--quick", "--output", kernels)
        message = self.trident("train", "judge", "--kernels", kernels, "-o", self.at("judge.nnue"), status=2).stderr
        self.assertIn("trident calibrate --kernels", message)
        self.assertFalse(os.path.exists(self.at("judge.nnue")))

    def test_weights_take_the_place_of_regular_files_alone(self):
        target, link = self.write("target", "a file"), self.at("link")
        os.symlink(target, link)
        dangling = self.at("dangling")
        os.symlink(self.at("nothing"), dangling)
        places = list(self.no_regular_files().items()) + [("symbolic link", link), ("symbolic link", dangling)]
        for kind, place in places:
            names, before = sorted(os.listdir(os.path.dirname(place))), os.lstat(place)
            for what in ("judge", "guide"):
                done = self.trident("train", what, "--epochs", "1", "--output", place, status=2, timeout=60)
                fault = "folder, not a file$" if kind == "directory" else f"{kind}, .*; name "
                self.assertRegex(done.stderr, rf"^trident: {re.escape(place)}: is a {fault}")
            after = os.lstat(place)
            self.assertEqual((before.st_ino, before.st_mode), (after.st_ino, after.st_mode), kind)
            self.assertEqual(names, sorted(os.listdir(os.path.dirname(place))))

    def test_what_is_left_out_must_be_there(self):
        train = ("train", "judge", "--epochs", "1", "--width", "8", "-o", self.at("judge.nnue"))
        for names in (("nonsense",), ("program", "nonsense"), ("",)):
            words = [word for name in names for word in ("--without", name)]
            message = self.trident(*train, *words, status=2).stderr
            self.assertIn(f"--without {names[-1]}: no kernels come from that generator; there are corpus, program, "
                          "scramble\n", message)
        self.assertFalse(os.path.exists(self.at("judge.nnue")))

    def test_training_past_a_limit_on_file_sizes_is_an_error(self):
        weights = self.write("judge.nnue", "what was there")
        train = ("train", "judge", "--epochs", "1", "--width", "8", "-o", weights)
        done = self.trident(*train, status=1, preexec_fn=file_size_limit(20_000))
        self.assertRegex(done.stderr, rf"(?m)^trident: {re.escape(weights)}.*: cannot write: File too large$")
        with open(weights, encoding="utf-8") as file:
            self.assertEqual("what was there", file.read())
        left = [name for _, _, names in os.walk(self.folder.name) for name in names if ".part" in name]
        self.assertEqual([], left)

    def test_folders_that_are_not_there_are_named(self):
        absent, file = self.at("absent"), self.write("file", "")
        train = ("train", "daemon", "--state")
        self.assertRegex(self.trident(*train, absent, "--rounds", "1", status=1).stderr,
                         rf"^trident: {absent}: there is no such folder; .*tridentd --state")
        self.assertRegex(self.trident(*train, file, "--rounds", "1", status=2).stderr,
                         rf"^trident: {file}: is not a folder")
        listing = ("weights", "list", "--state")
        for words in ((), ("--json",)):
            done = self.trident(*listing, absent, *words)
            self.assertRegex(done.stderr, rf"^trident: {absent}: there is no such folder, .*tridentd --state")
        self.assertEqual([{"name": "none", "chosen": True, "figures": None}], json.loads(done.stdout))
        self.assertRegex(self.trident(*listing, file, status=1).stderr, rf"^trident: {file}/weights.*: Not a directory")
        self.assertIn(absent, self.trident("weights", "show", "--state", absent).stderr)
        self.assertIn("nothing was chosen before",
                      self.trident("weights", "rollback", "--state", absent, status=1).stderr)
        # Commands that only look make nothing.
        self.assertFalse(os.path.exists(absent))
        # One that the daemon has not made yet is waited for, and so are expressions.
        with subprocess.Popen([TRIDENT, *train, absent], env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as waiting:
            lines = [waiting.stderr.readline() for _ in range(2)]
            waiting.terminate()
            self.assertEqual(130, waiting.wait(60))
        self.assertIn(f"{absent}: there is no such folder", lines[0])
        self.assertIn(f"{absent}/journal has 0 expressions; a round needs 24", lines[1])
        self.assertTrue(all(line.endswith(("waiting for it\n", "waiting for more\n")) for line in lines), lines)

    def test_noise_in_the_folder_is_named(self):
        name = self.weights("use", "untrained").stdout.strip()
        folder = os.path.join(self.state(), "weights")
        quiet = self.weights("list", "--json")
        self.assertEqual("", quiet.stderr)
        noise = "ab" * 32
        for stranger in ("notes.txt", "guide.nnue", f"{noise}.bytes", "chosen.12.3.part"):
            self.write(os.path.join(folder, stranger), "noise")
        listed = self.weights("list", "--json")
        self.assertRegex(listed.stderr, rf"(?m)^trident: {folder}: skipped files .*: guide\.nnue, notes\.txt; ")
        self.assertRegex(listed.stderr, rf"(?m)^trident: {folder}/{noise}\.bytes: .*; it cannot be used")
        self.assertNotIn(name, listed.stderr)
        self.assertEqual({name, noise, "none"}, {version["name"] for version in json.loads(listed.stdout)})
        # A choice that cannot be read: JSON is whole or absent, and the mend in the message works.
        self.write(os.path.join(folder, "chosen"), "noise")
        refused = self.weights("list", "--json", status=1)
        self.assertEqual("", refused.stdout)
        self.assertIn(f"trident weights use none --state {self.state()}", refused.stderr)
        self.weights("use", "none")
        self.assertEqual(["none"], self.chosen())
        self.write(os.path.join(self.state(), "journal"), "noise and\nmore (of it\n(add x 0)\n")
        message = self.trident("train", "daemon", "--state", self.state(), "--rounds", "1", status=1).stderr
        self.assertIn(f"{self.state()}/journal has 1 expression (and 2 invalid lines); a round needs 24",
                      message)

    @alone
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
        # Kernels of last month: a part of them makes room for others, by another seed, timed today.
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
        # Times of another build do not count, and stay beside ours for a while.
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
    return [line.rsplit(" ", 1)[1].strip() for line in log if "search weights: " in line]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
