"""The verbs of the trident command that are about loops of guest programs. Oracle: labels that were written by hand (tests/loops)."""
import json
import os
import sys
import unittest

from command_case import ROOT, CommandCase

KERNELS = os.path.join(ROOT, "tests/loops/kernels/kernel_loops.jsonl")
HAND_MADE = os.path.join(ROOT, "tests/loops/kernels/hand_made.jsonl")
DELAY = {"label": "delay", "opt": "O2", "head": "0x1000", "tail": "0x1004", "bytes": "000400f1e1ffff54", "expect": "compile"}


class OracleLoops(CommandCase):
    def rows(self, *rows):
        return self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def test_all_rows_are_right(self):
        lines = self.trident("oracle", "loops", KERNELS, HAND_MADE).stdout.splitlines()
        self.assertEqual("134 rows, 0 wrong (0 of them accepted in error), 0 malformed", lines[-1])

    def test_a_wrong_row_is_told_with_its_place(self):
        call = dict(DELAY, label="call", bytes="00040094ffffff17")
        path = self.rows(DELAY, dict(DELAY, expect="refuse"), call, dict(DELAY, expect="not_a_loop"))
        lines = self.trident("oracle", "loops", path, status=1).stdout.splitlines()
        self.assertEqual([f"{path}:2: delay O2: expected refuse, found compile",
                          f"{path}:3: call O2: expected compile, found call at 0x1000: every way round has a call",
                          f"{path}:4: delay O2: expected not_a_loop, found compile"], lines[:3])
        self.assertEqual("4 rows, 3 wrong (2 of them accepted in error), 0 malformed", lines[-1])

    def test_a_malformed_row_is_told_with_its_place(self):
        path = self.write("rows.jsonl", json.dumps(DELAY) + "\n\nnonsense\n" + json.dumps(dict(DELAY, bytes="0004")) + "\n")
        lines = self.trident("oracle", "loops", path, status=1).stdout.splitlines()
        self.assertEqual([f"{path}:3: expected a JSON object",
                          f"{path}:4: bytes: expected 8 hex digits an instruction, found 4 digits"], lines[:2])
        self.assertEqual("3 rows, 0 wrong (0 of them accepted in error), 2 malformed", lines[-1])

    def test_json(self):
        path = self.write("rows.jsonl", json.dumps(DELAY) + "\n" + json.dumps(dict(DELAY, expect="refuse")) + "\n{}\n")
        found = json.loads(self.trident("oracle", "loops", path, "--json", status=1).stdout)
        self.assertEqual((3, 1, 1, 1, {"compile": 2}),
                         tuple(found[key] for key in ("rows", "wrong", "false_accepts", "malformed", "outcomes")))
        self.assertEqual({"place": path + ":2", "name": "delay O2", "expected": "refuse", "outcome": "compile", "right": False,
                          "false_accept": True}, found["loops"][1])
        self.assertEqual({"place": path + ":3", "right": False, "fault": "there is no member 'bytes'"}, found["loops"][2])

    def test_files_that_are_none(self):
        self.assertIn("no such file", self.trident("oracle", "loops", self.at("none"), status=2).stderr)
        self.trident("oracle", "loops", self.write("empty.jsonl", ""), status=2)
        self.assertIn("0 rows", self.trident("oracle", "loops", self.write("blank.jsonl", "\n"), status=1).stdout)
        os.mkfifo(self.at("pipe"))
        self.assertIn("is a FIFO", self.trident("oracle", "loops", self.at("pipe"), status=2, timeout=20).stderr)
        self.assertIn("1 rows, 0 wrong", self.trident("oracle", "loops", "-", input=json.dumps(DELAY)).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
