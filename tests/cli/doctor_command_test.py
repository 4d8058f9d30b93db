"""`trident doctor`: what is wrong here, and its mend. Oracle: faults that the test makes."""
import json
import os
import subprocess
import sys
import unittest

from command_case import TRIDENTD, CommandCase


class Doctor(CommandCase):
    def check_of_daemon(self, *state):
        """Returns what is told of a daemon without a file of kernels, after one kernel."""
        environment = {**self.environment, "TRIDENT_SOCKET": self.at("own.sock")}
        with subprocess.Popen([TRIDENTD, "--socket", self.at("own.sock"), "--cache", "none", "--state", *state],
                              stderr=subprocess.PIPE, text=True, env=environment) as daemon:
            while "serving" not in daemon.stderr.readline():
                self.assertIsNone(daemon.poll())
            self.trident("run", "x + y", "-i", "x=1", "-i", "y=2", "--tier", "optimised", "--timeout-ms", "60000",
                         env=environment)
            checks = json.loads(self.trident("doctor", "--json", env=environment).stdout)["checks"]
            daemon.terminate()
        return next(c for c in checks if c["name"] == "daemon")

    def test_names_what_can_be_mended(self):
        for variable, value, says in (("TRIDENT_ENGINE", "/etc/passwd", "Correct or unset TRIDENT_ENGINE"),
                                      ("TRIDENT_SOCKET", "/", "not a socket; not trusted to send code\n.*set TRIDENT_SOCKET to a"),
                                      ("TRIDENT_SOCKET", "/tmp/" + "x" * 120, "set TRIDENT_SOCKET to a socket that can be reached")):
            done = self.trident("doctor", status=1, env={**self.environment, variable: value})
            self.assertRegex(done.stdout, says)

    def test_tells_a_missing_daemon_and_its_mend(self):
        report = json.loads(self.trident("doctor", "--json", status=1).stdout)
        checks = {check["name"]: check for check in report["checks"]}
        self.assertIn("tridentd", checks["daemon"]["mend"])
        self.assertIn("processor", checks)

    def test_tells_why_the_last_kernel_is_no_faster(self):
        told = self.check_of_daemon("none")
        self.assertEqual("ok", told["status"])
        self.assertRegex(told["detail"], "the last kernel that did not get faster: not optimised: none of")

    def test_tells_of_a_journal_that_cannot_be_written(self):
        os.makedirs(self.at("state/journal"))  # a folder where the file should be, so even root cannot write it
        told = self.check_of_daemon(self.at("state"))
        self.assertEqual("warning", told["status"])
        self.assertIn(f"cannot write its journal of expressions {self.at('state/journal')}: Is a directory", told["detail"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
