"""`trident calibrate --kernels` from outside: timed_kernels_test.py TRIDENT TRIDENTD. Oracles: Python's own SQLite and
xz for what the files hold; `trident check` for the texts."""
import json
import lzma
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from command_case import ROOT, TRIDENT, CommandCase, file_size_limit

CORPUS = os.path.join(ROOT, "bench/corpus/kernels.tsv")


class TimedKernels(CommandCase):
    def rows(self, path, sql):
        database = sqlite3.connect(path)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def whole(self, path):
        """Families by name: kernels in order. Fails where one is not whole."""
        self.assertEqual([("ok",)], self.rows(path, "PRAGMA integrity_check"))
        families = {}
        for name, place, text, how, ns, again in self.rows(
                path, "SELECT name, place, text, how, ns, ns_again FROM kernel JOIN family ON family.id = kernel.family"
                " ORDER BY family.id, place"):
            kernels = families.setdefault(name, [])
            self.assertEqual(len(kernels), place)
            kernels.append((text, how, ns, again))
        self.assertEqual(len(families), self.rows(path, "SELECT count(*) FROM family")[0][0])
        return families

    def test_forty_kernels(self):
        cache = self.at("forty.kernels")
        command = ("calibrate", "--kernels", "40", "--corpus", CORPUS, "--output", cache, "--quick", "--json")
        report = json.loads(self.trident(*command).stdout)
        families = self.whole(cache)
        kernels = sum(len(kernels) for kernels in families.values())
        self.assertGreaterEqual(kernels, 40)
        self.assertEqual((kernels, kernels, False), (report["kernels"], report["added"], report["interrupted"]))
        self.assertEqual({"corpus": len(families)}, report["families"])
        self.assertTrue(all(re.fullmatch(r"kernels/\w+\.f(32|64)", name) for name in families), families.keys())
        for name, family in families.items():
            self.assertEqual("source", family[0][1], name)
            self.assertNotIn("source", [how for _, how, _, _ in family[1:]])
            self.assertNotIn("best", [how for _, how, _, _ in family[2:]])
            self.assertEqual(len(family), len({text for text, _, _, _ in family}), name)
            for text, _, ns, again in family:
                # A millionth of a second for an element of such kernels is an error, and so is less than a cycle for 64.
                self.assertTrue(1e-3 < ns < 1e3 and 1e-3 < again < 1e3, (name, ns, again))
                self.trident("check", text)
        # Families that exist are not made again; missing ones are.
        self.assertEqual(0, json.loads(self.trident(*command).stdout)["added"])
        before = {name: family for name, family in families.items()}
        more = json.loads(self.trident("calibrate", "--kernels", str(kernels + 20), "--corpus", CORPUS, "--output", cache,
                                       "--quick", "--json").stdout)
        after = self.whole(cache)
        self.assertGreaterEqual(more["added"], 20)
        self.assertEqual(before, {name: after[name] for name in before})

    def test_the_same_seed_makes_the_same_kernels_whoever_makes_them(self):
        made = []
        for threads, seed in (("1", "7"), ("2", "7"), ("1", "8")):
            cache = self.at(f"{threads}-{seed}.kernels")
            self.trident("calibrate", "--kernels", "120", "--seed", seed, "--threads", threads, "--quick", "--output", cache)
            made.append({name: [(text, how) for text, how, _, _ in family] for name, family in self.whole(cache).items()})
        self.assertEqual(made[0], made[1])
        self.assertFalse(made[0].keys() & made[2].keys())
        self.assertEqual({"scramble", "program"}, {name.split("-")[0] for name in made[0]})

    def test_an_interrupted_run_keeps_whole_families_and_goes_on(self):
        cache = self.at("stopped.kernels")
        command = [TRIDENT, "calibrate", "--kernels", "100000", "--output", cache]
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as running:
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                time.sleep(0.2)
                if os.path.exists(cache) and sqlite3.connect(cache).execute(
                        "SELECT count(*) FROM sqlite_schema").fetchone()[0] and self.rows(
                            cache, "SELECT count(*) FROM kernel")[0][0]:
                    break
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=120)
        self.assertEqual(130, running.returncode, errors)
        self.assertIn("to continue", errors)
        before = self.whole(cache)
        self.assertTrue(before)
        kernels = sum(len(family) for family in before.values())
        self.trident("calibrate", "--kernels", str(kernels + 1), "--output", cache)
        after = self.whole(cache)
        self.assertEqual(before, {name: after[name] for name in before})
        self.assertGreater(len(after), len(before))

    def test_a_cut_is_the_cache_in_little_room(self):
        cache, packed = self.at("cache.kernels"), self.at("packed.kernels")
        self.trident("calibrate", "--kernels", "150", "--quick", "--output", cache)
        self.trident("calibrate", "--kernels", "60", "--pack", packed, "--output", cache)
        again = self.at("again.kernels")
        self.trident("calibrate", "--kernels", "60", "--pack", again, "--output", cache)
        with open(packed, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())
        families = self.whole(cache)
        head, times = lzma.open(packed, "rt", encoding="utf-8").read().split("\ntimes\n")
        lines, name, kernels = head.split("\n"), None, []
        self.assertEqual("trident timed kernels 1", lines[0])
        for line in lines[1:]:
            fields = line.split("\t")
            if fields[0] == "family":
                name = fields[1]
            elif fields[0] == "":
                kernels.append((name, fields[1], fields[2].replace("\\n", "\n")))
        self.assertGreaterEqual(len(kernels), 60)
        self.assertEqual(len(kernels), len(times.strip().split("\n")))
        for (name, how, text), pair in zip(kernels, times.strip().split("\n")):
            ns, ns_again = (float(number) for number in pair.split("\t"))
            found = [k for k in families[name] if k[0] == text]
            self.assertEqual(1, len(found), (name, text))
            self.assertEqual(how, found[0][1])
            self.assertAlmostEqual(found[0][2], ns, delta=1e-3 * ns)
            self.assertAlmostEqual(found[0][3], ns_again, delta=1e-3 * ns_again)
        # A cut of the cut: the same reader reads it.
        self.trident("calibrate", "--kernels", "100000", "--pack", again, "--output", packed)
        self.assertEqual(lzma.open(packed).read(), lzma.open(again).read())

    def test_the_shipped_cut(self):
        shipped, again = os.path.join(ROOT, "jit/learn/calibration/kernels.xz"), self.at("again.kernels")
        self.assertLessEqual(os.path.getsize(shipped), 1 << 20)
        self.trident("calibrate", "--kernels", "100000", "--pack", again, "--output", shipped)  # which reads all of it
        text = lzma.open(shipped, "rt", encoding="utf-8").read()
        families = re.findall(r"(?m)^family\t([^\t]+)\t(\w+)\t0$", text)
        self.assertEqual({"corpus", "program", "scramble"}, {generator for _, generator in families})
        self.assertEqual(len(families), len({name for name, _ in families}))
        kernels = re.findall(r"(?m)^\t([^\t]+)\t(.+)$", text)
        self.assertGreaterEqual(len(kernels), 2000)
        for _, expression in kernels[::len(kernels) // 25]:
            self.trident("check", expression.replace("\\n", "\n"))

    def test_only_regular_files_are_written(self):
        cache = self.at("cache.kernels")
        self.trident("calibrate", "--kernels", "5", "--quick", "--output", cache)
        link = self.at("link")
        for kind, place in self.no_regular_files().items():
            folder, before = os.path.dirname(place), os.lstat(place)
            names = sorted(os.listdir(folder))
            os.symlink(place, link)
            # Hours, where it begins with the work.
            for words, named in ((("--kernels", "1000000", "--output", place), place),
                                 (("--kernels", "1000000", "--output", link), link),
                                 (("--ops", "--isa", "avx2", "--quick", "--output", place), place),
                                 (("--kernels", "5", "--output", cache, "--pack", place), place)):
                done = self.trident("calibrate", *words, status=2, timeout=60)
                self.assertRegex(done.stderr, rf"^trident: {re.escape(named)}: is a ({kind}, .*; name |folder, not a file)", words)
                self.assertEqual("", done.stdout)
            after = os.lstat(place)
            self.assertEqual((before.st_ino, before.st_mode), (after.st_ino, after.st_mode), kind)
            self.assertEqual(names, sorted(os.listdir(folder)))
            os.unlink(link)
        # A command that would replace a link refuses; SQLite writes to the link's target.
        os.symlink(cache, link)
        for words in (("--ops", "--isa", "avx2", "--quick", "--output", link),
                      ("--kernels", "5", "--output", cache, "--pack", link)):
            self.assertIn(f"{link}: is a symbolic link", self.trident("calibrate", *words, status=2).stderr)
        self.trident("calibrate", "--kernels", "25", "--quick", "--output", link)
        self.assertTrue(os.path.islink(link))
        self.assertGreaterEqual(sum(len(kernels) for kernels in self.whole(cache).values()), 25)

    def test_a_limit_on_file_sizes_is_an_error(self):
        cache = self.at("cache.kernels")
        self.trident("calibrate", "--kernels", "40", "--quick", "--output", cache)
        before = self.whole(cache)
        limit = {"preexec_fn": file_size_limit(os.path.getsize(cache)), "status": 1}
        done = self.trident("calibrate", "--kernels", "100000", "--quick", "--output", cache, **limit)
        self.assertRegex(done.stderr, rf"(?m)^trident: {re.escape(cache)}: cannot be written: .*ulimit -f")
        after = self.whole(cache)
        self.assertEqual(before, {name: after[name] for name in before})
        kernels = sum(len(family) for family in after.values())
        again = self.trident("calibrate", "--kernels", str(kernels + 1), "--quick", "--output", cache)
        self.assertIn(f"written to {cache}", again.stderr)
        limit["preexec_fn"] = file_size_limit(1000)
        # Code that is to be measured may be longer than the table, and lies in a memfd, which has no name.
        for words, name, reason in ((("--ops", "--isa", "avx2", "--quick"), "--output", "File too large"),
                                    (("--kernels", "100", "--output", cache), "--pack",
                                     "old.*: cannot write: File too large")):
            path = self.write("old", "what was there")
            done = self.trident("calibrate", *words, name, path, **limit)
            self.assertRegex(done.stderr, f"(?m)^trident: .*{reason}$")
            with open(path, encoding="utf-8") as file:
                self.assertEqual("what was there", file.read())
        self.assertEqual({"cache.kernels", "old", "tmp"}, set(os.listdir(self.folder.name)) - {"cache"})

    def test_what_cannot_be_done_is_said(self):
        text = self.write("x.kernels", "this is a text and no cache, longer than the one hundred bytes of a header of SQLite;"
                          " and it goes on a little more")
        for words, hint in ((("--kernels", "0"), "--kernels"), (("--kernels", "5", "--ops"), "--ops for the costs"),
                            (("--kernels", "5", "--output", "-"), "must be a file"),
                            (("--kernels", "5", "--output", text), "not a cache of timed kernels"),
                            (("--kernels", "5", "--pack", self.at("p"), "--output", self.at("none")), "no such file"),
                            (("--kernels", "5", "--corpus", self.at("none.tsv"), "--output", self.at("c")), "none.tsv")):
            done = subprocess.run([TRIDENT, "calibrate", *words], env=self.environment, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertIn(done.returncode, (1, 2), words)
            self.assertIn(hint, done.stderr, words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
