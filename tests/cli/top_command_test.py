"""`trident top`. Oracle: the kernels that the test itself submits."""
import json
import os
import subprocess
import sys
import unittest

from command_case import TRIDENT, CommandCase


class Top(CommandCase):
    def submit(self, *texts):
        for text in texts:
            self.trident("run", text, "-i", "x=1", "--tier", "baseline", "--timeout-ms", "60000")

    def test_counts_what_happened_since_the_daemon_began(self):
        self.start_daemon()
        self.submit("x + 1", "x*x", "x/3")
        readings = [json.loads(line) for line in self.trident("top", "-d", "0.1", "-n", "2", "--json").stdout.splitlines()]
        self.assertEqual(2, len(readings))
        for reading in readings:
            self.assertEqual({"per_second": 0, "total": 3}, reading["parts"]["jobs"]["submitted"])
            self.assertGreaterEqual(reading["seconds"], 0.1)

    def test_shows_one_table_where_the_output_is_no_terminal(self):
        self.start_daemon()
        self.submit("x + 1")
        table = self.trident("top", "-d", "0.1").stdout
        self.assertRegex(table, r"(?m)^  submitted +0\.0 +1$")
        self.assertRegex(table, r"(?m)^  workers +\d+$")
        self.assertEqual(1, table.count("tridentd, up"))
        self.assertNotIn("\033", table)

    def test_ends_when_its_reader_is_gone(self):
        self.start_daemon()
        with subprocess.Popen([TRIDENT, "top", "-d", "0.1", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **self.environment}) as top:
            self.assertTrue(json.loads(top.stdout.readline()))
            top.stdout.close()
            self.assertNotEqual(0, top.wait(timeout=60))

    def test_intervals_that_cannot_be_are_refused(self):
        for interval in ("0", "-1", "nan", "1e9", "soon"):
            self.assertIn("--interval", self.trident("top", "--interval", interval, status=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
