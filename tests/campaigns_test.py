"""Checks the tables of benches, campaigns and weights (bench/run.py): what a row names exists, every row dry-runs, and
the runner tells a failure, a missed bar and a wrong name."""
import contextlib
import functools
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import run  # noqa: E402

ROWS = [(kind, name, row) for kind in run.TABLES for name, row in run.load(kind).items()]
FIELDS = {"what", "takes", "targets", "run", "preset", "packages", "each", "folders", "folder", "environment", "parameters",
          "stop", "holds", "bars"}
STEP_FIELDS = {"command", "bars", "if", "unless", "cpu", "last_lines"}
DECLARED = re.compile(r"\b(add_executable|add_library|trident_(?:module|test|bench|fuzz))\(\s*([\w/-]+)")
NAME_OF = {"trident_module": lambda name: name.replace("/", "_") + "_test", "trident_bench": lambda name: "bench_" + name,
           "trident_fuzz": lambda name: "fuzz_" + name}
MADE_BY_BUILD = {"trident": "trident_command"}


@functools.cache
def targets_of_cmake():
    """Returns the targets that the build files declare."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*CMakeLists.txt"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split()
    found = {"all"}
    for path in listed:
        for call, name in DECLARED.findall((ROOT / path).read_text(encoding="utf-8")):
            found.add(NAME_OF.get(call, str)(name))
    return found


def called(*arguments, **environment):
    """Returns exit status, output and errors of the runner."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run.main(list(arguments))
    return status, out.getvalue(), err.getvalue()


def each_row(check):
    """Makes a test of a check of one row."""
    def test(self):
        for kind, name, row in ROWS:
            with self.subTest(kind=kind, name=name):
                check(self, kind, name, row)
    return test


class Tables(unittest.TestCase):
    @each_row
    def test_fields(self, kind, name, row):
        self.assertEqual(set(), set(row) - FIELDS)
        self.assertTrue(row["what"].endswith(".") and row["takes"] and row["run"])
        for step in row["run"]:
            self.assertEqual(set(), set() if isinstance(step, str) else set(step) - STEP_FIELDS)

    @each_row
    def test_targets_exist(self, kind, name, row):
        declared = targets_of_cmake()
        self.assertIn("jit_nnue_test", declared)
        self.assertEqual(set(), set(row["targets"]) - declared)

    @each_row
    def test_programs_are_built(self, kind, name, row):
        build = str(run.build_folder(row)) + "/"
        programs = [os.path.basename(word) for step in run.steps(row) for word in step["argv"]
                    if word.startswith((build + "bin/", build + "bench/", build + "tests/"))]
        made = set(row["targets"]) if "all" not in row["targets"] else set(programs)
        self.assertEqual(set(), {MADE_BY_BUILD.get(p, p) for p in programs} - made)

    @each_row
    def test_files_exist(self, kind, name, row):
        sources = re.compile(r"(?:--\w+=)?((?:bench|tests|jit|runtime)/[\w./*-]+)$")
        for step in run.steps(row):
            for word in step["argv"]:
                match = sources.match(word.removeprefix(f"{run.ROOT}/"))
                self.assertTrue(not match or (ROOT / match.group(1)).exists(), word)

    def test_packages_are_listed(self):
        text = (ROOT / "packages-optional.txt").read_text(encoding="utf-8")
        listed = set(re.findall(r"# make (\w+) NAME=([\w-]+)$", text, re.M))
        self.assertEqual(listed, {(kind, name) for kind, name, row in ROWS if row.get("packages")})

    @each_row
    def test_parameters_reach_the_commands(self, kind, name, row):
        for parameter in row.get("parameters", {}):
            self.assertIn("4711", called(kind, name, "--dry-run", **{parameter: "4711"})[1])

    @each_row
    def test_each_row_dry_runs(self, kind, name, row):
        status, out, err = called(kind, name, "--dry-run")
        self.assertEqual((0, ""), (status, err))
        self.assertIn(" ".join(row["targets"]), out)
        self.assertNotRegex(out, r"\{\w+\}")

    @each_row
    def test_lists(self, kind, name, row):
        self.assertIn(f"  {name} ", called(kind)[1])


class Runner(unittest.TestCase):
    """Runs rows of the test's own, whose outcome is known."""

    def run_rows(self, rows, *arguments):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(run, "load", lambda kind: rows):
            done = io.StringIO()
            with mock.patch.object(run, "build_folder", lambda row: pathlib.Path(folder)), contextlib.redirect_stdout(done), \
                    contextlib.redirect_stderr(done):
                status = run.main(["bench", *arguments, "--no-build"])
            return status, done.getvalue(), sorted(os.path.basename(f) for f in os.listdir(folder))

    def row(self, *commands, **fields):
        return {"what": "", "takes": "", "targets": [], "run": list(commands), **fields}

    def test_all_steps_run_then_the_row_fails(self):
        rows = {"a": self.row("touch {build}/1", "false", "touch {build}/2"), "b": self.row("touch {build}/3")}
        status, out, files = self.run_rows(rows, "a,b")
        self.assertEqual((1, ["1", "2", "3"]), (status, files))
        self.assertIn("failed: a\n", out)

    def test_stops_where_the_row_says_so(self):
        rows = {"a": self.row("touch {build}/1", "false", "touch {build}/2", stop=True)}
        self.assertEqual(["1"], self.run_rows(rows, "a")[2])

    def test_steps_with_conditions(self):
        steps = [{"command": "touch {build}/1", "if": "{build}/0"}, {"command": "touch {build}/2", "unless": "{build}/0"},
                 {"command": "touch {build}/3", "if": "{build}/2"}]
        self.assertEqual((0, ["2", "3"]), self.run_rows({"a": self.row(*steps)}, "a")[::2])

    def test_steps_for_a_processor(self):
        rows = {"a": self.row({"command": "touch {build}/1", "cpu": "old"}, {"command": "touch {build}/2", "cpu": "none"})}
        with mock.patch.object(run, "cpu_flags", lambda: {"old"}):
            status, out, files = self.run_rows(rows, "a")
        self.assertEqual((0, ["1"]), (status, files))
        self.assertIn("lacks none", out)
        self.assertTrue({"fpu", "fp"} & run.cpu_flags())

    def test_bars_of_figures(self):
        for bar, status in (({"most": 2}, 0), ({"most": 1.4}, 1), ({"least": 1.5}, 0), ({"least": 2}, 1)):
            rows = {"a": self.row("printf 'ns more      1.5000\\nother 7.0\\n'", bars={"ns more": bar})}
            self.assertEqual(status, self.run_rows(rows, "a")[0], bar)
        for printed in ("ns less 1.5000", "ns more nan", "nothing"):
            rows = {"a": self.row(f"printf '{printed}\\n'", bars={"ns more": {"most": 2}})}
            self.assertEqual(1, self.run_rows(rows, "a")[0], printed)

    def test_bars_that_are_options(self):
        rows = {"a": self.row({"command": "test 2 -ge", "bars": {"x-max": 1}})}
        with mock.patch.object(run, "load", lambda kind: rows):
            self.assertIn("test 2 -ge --x-max 1\n", called("bench", "a", "--dry-run")[1])

    def test_each_value(self):
        rows = {"a": self.row("touch {build}/{type}", each={"type": ["x", "y"]})}
        self.assertEqual(["x", "y"], self.run_rows(rows, "a")[2])

    def test_a_wrong_name_runs_nothing_and_names_the_nearest(self):
        status, out, files = self.run_rows({"slot": self.row("touch {build}/1")}, "slot", "slto")
        self.assertEqual((2, []), (status, files))
        self.assertIn("NAME=slto is unknown: did you mean 'slot'? `make bench` lists the names.\n", out)
        for kind in run.TABLES:
            self.assertIn(f"NAME=12345 is unknown. `make {kind}` lists the names.\n", "".join(map(str, called(kind, "12345"))))


if __name__ == "__main__":
    unittest.main()
