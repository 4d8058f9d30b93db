"""`trident train guide` and `train judge` from outside: training_command_test.py TRIDENT TRIDENTD. Oracles: the bytes and
reports of undisturbed runs; Python's own xz for the kernels that come with the program; a training's own report for
what --score says of its weights."""
import hashlib
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from command_case import ROOT, TRIDENT, TRIDENTD, CommandCase

SHIPPED = os.path.join(ROOT, "jit/learn/calibration/kernels.xz")
HUNG_S = 30  # where a FIFO is waited for


def lines_of_shipped():
    """Returns the lines before the times, and the times."""
    with lzma.open(SHIPPED, "rt", encoding="utf-8") as text:
        lines = text.read().splitlines()
    times = lines.index("times")
    return lines[:times], lines[times + 1:]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def lines_of(path):
    """None where there is no such file yet."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


class TrainingCommand(CommandCase):
    GUIDE = ("train", "guide", "--episodes", "60", "--rounds", "1", "--width", "8", "--epochs", "3", "--patience", "3")

    def setUp(self):
        super().setUp()
        self.judge = ("train", "judge", "--kernels", self.some_kernels(), "--width", "8", "--epochs", "3", "--patience", "3")

    def some_kernels(self):
        """Every ninth family of those that come with the program."""
        lines, times = lines_of_shipped()
        kept, kept_times, family, kernel = [], [], -1, 0
        for line in lines:
            family += line.startswith("family\t")
            taken = not line.startswith(("family\t", "\t")) or family % 9 == 0
            if taken:
                kept.append(line)
            if line.startswith("\t"):
                kept_times += [times[kernel]] if taken else []
                kernel += 1
        with lzma.open(self.at("some.kernels"), "wt", encoding="utf-8", check=lzma.CHECK_CRC64) as file:
            file.write("\n".join(kept + ["times"] + kept_times) + "\n")
        self.kernels = len(kept_times)
        return self.at("some.kernels")

    def read(self, name):
        with open(self.at(name), "rb") as file:
            return file.read()

    def goes_on_after_sigkill(self, train, log, epochs_of):
        reference = self.trident(*train, "-o", self.at("whole.nnue"), "--plot", self.at("whole.svg"), "--json")
        weights, plot = self.read("whole.nnue"), self.read("whole.svg")
        epochs = epochs_of(json.loads(reference.stdout))
        self.assertEqual(3, len(epochs))
        command = [*train, "-o", self.at("cut.nnue"), "--plot", self.at("cut.svg"), "--json"]
        log = os.path.join(self.at("cut.nnue.training"), log)
        with subprocess.Popen([TRIDENT, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=self.environment) as killed:
            end = time.monotonic() + 200
            while time.monotonic() < end and len(lines_of(log)) < 2:
                time.sleep(0.002)
            killed.send_signal(signal.SIGKILL)
            self.assertEqual(-signal.SIGKILL, killed.wait())
        self.assertFalse(os.path.exists(self.at("cut.nnue")), "it was killed when all was done")
        for again in (("--threads", "2"), ()):  # the run that was killed, and then one that is done
            resumed = self.trident(*command, "--resume", *again)
            self.assertEqual(weights, self.read("cut.nnue"))
            self.assertEqual(epochs, epochs_of(json.loads(resumed.stdout)))
            self.assertEqual(plot, self.read("cut.svg"))
        self.assertEqual(["epoch", "1", "2", "3"], [line.split(",")[0] for line in lines_of(log)])


    def refuses_to_go_on(self, command, *options, hint):
        before = self.read("cut.nnue")
        message = self.trident(*command, "--resume", *options, status=2).stderr
        self.assertIn(hint, message)
        self.assertIn("use the same value, or start over in another folder", message)
        self.assertEqual(before, self.read("cut.nnue"))

    def test_a_judge_goes_on_after_sigkill(self):
        self.goes_on_after_sigkill(self.judge, "log.csv", lambda report: report["epochs"])
        without = [*self.judge[:4], "--width", "8", "-o", self.at("cut.nnue"), "--json"]
        self.refuses_to_go_on(without, "--epochs", "6", hint="the run there has epochs 3, this one 6")
        without += ["--epochs", "3"]
        self.refuses_to_go_on(without, "--seed", "2", hint="has seed 1, this one 2")
        self.refuses_to_go_on(without, "--without", "program", hint="has without none, this one program")
        shipped = [option for option in without if option not in self.judge[2:4]]
        self.refuses_to_go_on(shipped, hint="has kernels ")
        self.trident(*without, "--resume", "--patience", "9", "--threads", "2")
        self.assertEqual(self.read("whole.nnue"), self.read("cut.nnue"))

    def test_a_guide_goes_on_after_sigkill(self):
        self.goes_on_after_sigkill(self.GUIDE, "round1/log.csv", lambda report: report["rounds"][0])
        train = ["train", "guide", "--rounds", "1", "--width", "8", "-o", self.at("cut.nnue"), "--epochs", "3"]
        self.refuses_to_go_on(train, "--episodes", "64", hint="has episodes 60, this one 64")
        self.refuses_to_go_on(train, "--episodes", "60", "--no-rule", hint="has rule yes, this one no")

    def test_a_guide_stops_when_no_epoch_is_better(self):
        train = ("train", "guide", "--episodes", "60", "--rounds", "1", "--width", "8", "--epochs", "8", "--patience", "1",
                 "-o", self.at("guide.nnue"), "--json")
        report = json.loads(self.trident(*train).stdout)
        ratios = [epoch["ratio"] for epoch in report["rounds"][0]]
        self.assertLess(len(ratios), 8)
        self.assertEqual(len(ratios) - 2, ratios.index(min(ratios)))
        self.assertEqual(min(ratios), report["ratio"]["chosen_by"])

    def test_pipes_get_plain_lines_and_json_alone(self):
        done = self.trident(*self.judge, "-o", self.at("judge.nnue"), "--json")
        report = json.loads(done.stdout)
        lines = [line for line in done.stderr.splitlines() if " epoch " in line]
        self.assertEqual(3, len(lines), done.stderr)
        for number, (line, epoch) in enumerate(zip(lines, report["epochs"])):
            self.assertRegex(line, rf"^trident: epoch {number + 1} of 3: loss \d\.\d+, 1 - mean of rank correlation and "
                             r"pairs \d\.\d+( \(best\))?, \d+ s left$")
            self.assertIn(f"pairs {epoch['error']:.4f}", line)
            self.assertEqual(epoch["error"] == min(e["error"] for e in report["epochs"][:number + 1]), "(best)" in line)
        self.assertNotRegex(done.stderr, "[\r\x1b]")

    def test_a_judge_is_trained_on_the_kernels_that_come_with_the_program(self):
        lines, times = lines_of_shipped()
        away = self.at("elsewhere")
        os.mkdir(away)
        done = self.trident("train", "judge", "--width", "8", "--epochs", "1", "-o", "judge.nnue", "--json", cwd=away)
        report = json.loads(done.stdout)
        self.assertEqual((len(times), sum(line.startswith("family\t") for line in lines)),
                         (report["kernels"], report["families"]))
        self.assertIn("default: those that come with the program", " ".join(self.trident("train", "judge", "--help").stdout.split()))

    def test_folds(self):
        folds = ("train", "judge", *self.judge[2:], "--folds", "3")
        self.assertIn("--folder", self.trident(*folds, status=2).stderr)
        self.assertIn("--output", self.trident(*folds, "--folder", self.at("f"), "-o", self.at("o"), status=2).stderr)
        done = self.trident(*folds, "--folder", self.at("folds"), "--json")
        report = json.loads(done.stdout)
        self.assertEqual((3, False), (report["folds"], report["weights_written"]))
        self.assertIn("no weights are written", done.stderr)
        splits = {split["name"]: split for split in report["splits"]}
        each = splits["families of the fold"]
        by_hand = splits["written by hand"]
        self.assertAlmostEqual(self.kernels, 3 * each["kernels"]["mean"] + by_hand["kernels"]["mean"], 6)
        self.assertEqual(0, by_hand["kernels"]["deviation"])
        for split in splits.values():
            guesses = {guess["name"]: guess for guess in split["guesses"]}
            self.assertLess({"network", "ridge regression", "analytical model"}, guesses.keys())
            for guess in guesses.values():
                for figure in ("spearman", "pairs", "median_error", "regret"):
                    self.assertEqual({"mean", "deviation"}, guess[figure].keys())
        self.assertGreater({g["name"]: g for g in each["guesses"]}["analytical model"]["spearman"]["deviation"], 0)
        # The training of a fold is one like any other: its log says what it was chosen by.
        for number in (1, 2, 3):
            self.assertEqual(4, len(lines_of(self.at(f"folds/fold{number}/log.csv"))))
        self.assertIn("+-", self.trident(*folds, "--folder", self.at("folds"), "--resume").stdout)

    def test_a_file_is_scored_as_its_training_was(self):
        played = ("--episodes", "60", "--rounds", "1")
        report = json.loads(self.trident(*self.GUIDE, "-o", self.at("guide.nnue"), "--json").stdout)
        scored = json.loads(self.trident("train", "guide", *played, "--score", self.at("guide.nnue"), "--json").stdout)
        for figure in ("samples", "needed", "auc_integers", "told_apart", "auc_static", "auc_rule"):
            self.assertEqual(report["held_out"][figure], scored["held_out"][figure], figure)
        self.assertEqual(report["ratio"], scored["ratio"])
        self.assertEqual(0.5, scored["held_out"]["auc_constant"])
        self.assertNotEqual(scored["held_out"]["auc_integers"], scored["held_out"]["auc_no_delta"])
        self.assertNotEqual(scored["held_out"]["auc_integers"], scored["held_out"]["auc_no_rule"])
        self.assertIn("all rewrites alike", self.trident("train", "guide", *played, "--score", self.at("guide.nnue")).stdout)
        self.assertIn("--output", self.trident("train", "guide", "--score", self.at("guide.nnue"), "-o", "x", status=2).stderr)
        self.assertIn("--output", self.trident("train", "guide", status=2).stderr)

    def test_weights_of_the_other_head_are_refused(self):
        cases = self.write("cases.txt", "a | 3 | x | x>0 | (add x 0)\n")
        judge = os.path.join(ROOT, "jit/nnue/weights/judge.nnue")
        for words in (("rewrite", cases, "--strategy", "guided", "--weights", judge), ("train", "guide", "--score", judge)):
            self.assertIn("no guide: these are the weights of a judge", self.trident(*words, status=1).stderr)
        shown = json.loads(self.trident("weights", "show", judge, "--json").stdout)
        self.assertEqual((False, True), (shown["guide"], shown["judge"]))

    def test_what_lies_behind_weights_is_a_judge_or_nothing(self):
        guide, judge = (self.of_program(name) for name in ("shipped", "judge"))
        filling = b"\0" * (-len(guide) % 64)
        cases = self.write("cases.txt", "a | 3 | x | x>0 | (add x 0)\n")
        path = self.at("some.nnue")

        def users(status):
            """Returns the messages about the file from all commands that read it."""
            with open(path, "rb") as file:
                name = hashlib.sha256(file.read()).hexdigest()
            os.makedirs(self.at("state/weights"), exist_ok=True)
            shutil.copyfile(path, self.at(f"state/weights/{name}.bytes"))
            for words in (("rewrite", cases, "--strategy", "guided", "--weights", path), ("weights", "show", path),
                          ("weights", "use", name, "--state", self.at("state")),
                          *((("train", "guide", "--score", path),) if status else ())):  # which takes a while
                yield words, self.trident(*words, status=status).stderr

        for behind in (b"", filling, filling + b"\0" * 100, filling + judge, filling + judge + b"\0" * 70):
            with open(path, "wb") as file:
                file.write(guide + behind)
            for words, errors in users(0):
                self.assertNotIn("behind", errors, words)
            shown = json.loads(self.trident("weights", "show", path, "--json").stdout)
            self.assertEqual((True, judge in behind), (shown["guide"], shown["judge"]))
        damaged = bytearray(judge)
        damaged[-1] ^= 1
        for behind, why in ((b"!", "size"), (b"x" * 1000, "TRIDNNUE"), (filling + b"x", "size"),
                            (filling + b"\0" * 5000 + b"x", "TRIDNNUE"), (filling + guide, "no judge"),
                            (filling + damaged, "checksum"), (filling + judge[:-1], "size"),
                            (filling + judge + b"x", "1 unexpected bytes follow the judge's weights"),
                            (filling + judge + b"\0" * 64 + judge, "unexpected bytes follow the judge's weights")):
            with open(path, "wb") as file:
                file.write(guide + behind)
            for words, errors in users(1):
                self.assertRegex(errors, f"some.nnue|{self.at('state')}", words)
                self.assertIn("the bytes after the guide's weights", errors, words)
                self.assertIn(why, errors, words)
        with open(path, "wb") as file:
            file.write(judge + b"x")
        shown = self.trident("weights", "show", path, status=1).stderr
        self.assertIn("unexpected bytes follow the judge's weights", shown)

    def of_program(self, name):
        with open(os.path.join(ROOT, f"jit/nnue/weights/{name}.nnue"), "rb") as file:
            return file.read()

    def test_names_that_are_unknown_are_told_what_exists(self):
        for option, names in (("--teacher", "both, hindsight, q"), ("--gain", "judge, none, static")):
            # Messages escape characters that cannot be printed.
            for wrong, told in (("foo", "foo"), ("", ""), ("None", "None"), ("0", "0"), ("\1", "\\x01")):
                message = self.trident("train", "guide", option, wrong, "-o", self.at("o"), status=2).stderr
                self.assertIn(f"{option}: expected one of {names}, found {told}\n", message)
        # The names work, and the last run is told from the others by them.
        train = ("train", "guide", "--episodes", "40", "--rounds", "1", "--width", "8", "--epochs", "1", "-o",
                 self.at("o"))
        self.trident(*train, "--teacher", "hindsight", "--gain", "static")
        message = self.trident(*train, "--gain", "none", "--resume", status=2).stderr
        self.assertIn("has gain static, this one none", message)

    def test_places_that_cannot_be_written_are_told_before_the_work(self):
        folder, nowhere = self.folder.name, self.at("none/x")
        for words, reason in ((("-o", folder), "is a folder, not a file"), (("-o", nowhere), "No such file"),
                              (("-o", self.at("o"), "--plot", nowhere), "No such file")):
            # As many episodes as would take minutes.
            done = subprocess.run([TRIDENT, "train", "guide", "--episodes", "4000", *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=HUNG_S, check=False)
            self.assertIn(reason, done.stderr)
            self.assertNotEqual(0, done.returncode)
        self.assertFalse(os.path.exists(self.at("none")))

    def test_no_output_takes_the_place_of_an_input_or_of_another_output(self):
        kernels = self.at("kernels.xz")
        shutil.copy(SHIPPED, kernels)
        link = self.at("link")
        os.link(kernels, link)
        corpus = self.write("corpus.tsv", "q\tx:0:1,y:0:1\tx*x + 2*x*y + y*y\n")
        before = {path: bytes_of(path) for path in (kernels, corpus)}
        for words, lost in ((("train", "judge", "--kernels", kernels, "-o", kernels), kernels),
                            (("train", "judge", "--kernels", kernels, "-o", link), kernels),
                            (("train", "judge", "--kernels", kernels, "-o", self.at("o"), "--plot", kernels), kernels),
                            (("train", "guide", "--only", corpus, "-o", corpus), corpus),
                            (("train", "guide", "-o", self.at("o"), "--plot", self.at("o")), self.at("o")),
                            (("calibrate", "--kernels", "30", "--output", kernels, "--pack", kernels), kernels)):
            message = self.trident(*words, status=2).stderr
            self.assertIn(f"would overwrite {lost}", message)
        self.assertEqual(before, {path: bytes_of(path) for path in (kernels, corpus)})

    def test_only_regular_files_are_read(self):
        fifo, folder = self.at("pipe"), self.folder.name
        os.mkfifo(fifo)
        cases = self.write("cases.txt", "a | 3 | x | x>0 | (add x 0)\n")
        for path, reason in ((fifo, "is a FIFO, not a regular file"), (folder, "is a folder, not a file")):
            for words in ((TRIDENT, "rewrite", cases, "--strategy", "guided", "--weights", path),
                          (TRIDENT, "train", "judge", "--kernels", path, "-o", self.at("o")),
                          (TRIDENT, "train", "guide", "--only", path, "-o", self.at("o")),
                          (TRIDENT, "train", "guide", "--score", path),
                          (TRIDENT, "weights", "show", path),
                          (TRIDENTD, "--config", path), (TRIDENTD, "--costs", path, "--cache", "none", "--socket", self.at("s"))):
                if reason == "is a folder, not a file" and "--only" in words:
                    continue  # that is the option's own check
                done = subprocess.run(words, capture_output=True, text=True, timeout=HUNG_S, env=self.environment, check=False)
                self.assertEqual(2, done.returncode, words)
                self.assertIn(f"{path}: {reason}", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
