"""The verbs of the trident command that are about Triton VM, as users call them. Oracle: answers of the real machine (tests/tir)."""
import json
import lzma
import os
import sys
import unittest

from command_case import ROOT, CommandCase


def oracle_lines(name):
    with lzma.open(os.path.join(ROOT, "tests/tir/oracles", name + ".xz"), "rt") as handle:
        return handle.read()


class Oracle(CommandCase):
    def test_all_rows_are_right(self):
        programs = self.write("oracle.jsonl", oracle_lines("oracle.jsonl"))
        vectors = self.write("data_vectors.json", oracle_lines("data_vectors.json"))
        done = self.trident("oracle", "tir", programs, vectors)
        self.assertEqual(["programs: 941 checked", "vectors: 156 checked", "1097 checked, 0 rows differ, 0 not checked"],
                         done.stdout.splitlines())

    def test_a_difference_is_told_with_its_place(self):
        rows = [json.loads(line) for line in oracle_lines("oracle.jsonl").splitlines()[:3]]
        rows[1]["heights"]["cascade"] += 1
        rows[2]["program_digest"] = rows[1]["program_digest"]
        path = self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        lines = self.trident("oracle", "tir", path, status=1).stdout.splitlines()
        self.assertEqual([f"{path}:2: halt_halt: height of cascade: expected 67, found 66"], lines[:1])
        self.assertTrue(lines[1].startswith(f"{path}:3: nop_1: digest: expected [6965174499883978470, "), lines[1])
        self.assertEqual("3 checked, 2 rows differ, 0 not checked", lines[-1])

    def test_what_is_not_understood_is_no_success(self):
        path = self.write("pairs.jsonl", '{"baseline": "nop", "candidate": ""}\n')
        done = self.trident("oracle", "tir", path, status=1)
        self.assertIn("equivalence pairs: 1 rows are not understood", done.stdout)
        self.assertIn("0 checked, 0 rows differ, 1 not checked", done.stdout)
        for text in ("nonsense\n", "[1]\n", "{}\n"):
            self.trident("oracle", "tir", self.write("bad.jsonl", text), status=1)
        self.assertIn("no such file", self.trident("oracle", "tir", self.at("none"), status=2).stderr)
        self.trident("oracle", "tir", self.write("empty.jsonl", ""), status=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
