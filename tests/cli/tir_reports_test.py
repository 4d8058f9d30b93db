"""Public fault reports on Triton VM and its compilers, and faults of our own, as small programs: rows of
tests/tir/reports/reports.json. Oracle: what the reports, the machine's source or a count by hand say."""
import json
import os
import re
import sys
import unittest

from command_case import ROOT, CommandCase


class Reports(CommandCase):
    def holds(self, expected, found):
        """Checks that everything expected was found; {"-1": x} is about one element of a list."""
        if isinstance(expected, dict):
            for key, value in expected.items():
                self.holds(value, found[int(key)] if isinstance(found, list) else found[key])
        else:
            self.assertEqual(expected, found)

    def check(self, step, done):
        for stream in ("stdout", "stderr"):
            for text in step.get(stream, []):
                self.assertIn(text, getattr(done, stream))
        if "json" in step:
            self.holds(step["json"], json.loads(done.stdout))
        if "index_max" in step:
            for index in re.findall(r"\b(?:dup|swap|pick|place) (\d+)", done.stdout):
                self.assertLessEqual(int(index), step["index_max"])
        if "with_calls" in step:
            rows = {row["name"]: row["with_calls"]["processor"] for row in json.loads(done.stdout)["subroutines"]}
            self.holds(step["with_calls"], rows)

    def test_all(self):
        with open(os.path.join(ROOT, "tests/tir/reports/reports.json"), encoding="utf-8") as handle:
            rows = json.load(handle)
        for row in rows:
            for name, text in row["files"].items():
                self.write(name, text)
            for step in row["steps"]:
                with self.subTest(report=row["report"], run=step["run"]):
                    self.check(step, self.trident(*step["run"], status=step["status"], cwd=self.folder.name))
        self.assertGreater(len(rows), 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
