"""`trident doctor`: what is wrong here, and its mend. Oracle: faults that the test makes."""
import ctypes
import json
import os
import subprocess
import sys
import unittest

from command_case import TRIDENTD, CommandCase


def refuse_memfds():
    """Denies memfd_create to this process and whatever it starts, as a container's filter may."""
    allow, refuse_with_eperm = 0x7fff0000, 0x00050001
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(allow)))
    number = library.seccomp_syscall_resolve_name(b"memfd_create")
    if library.seccomp_rule_add(rules, ctypes.c_uint32(refuse_with_eperm), number, 0) or library.seccomp_load(rules):
        raise OSError("no filter of system calls")


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
        for _ in range(5):  # on a busy machine one of its forms may be measured to be faster
            told = self.check_of_daemon("none")
            self.assertEqual("ok", told["status"])
            if "did not get faster" in told["detail"]:
                break
        self.assertRegex(told["detail"], "the last kernel that did not get faster: not optimised: none of")

    def test_tells_of_a_journal_that_cannot_be_written(self):
        os.makedirs(self.at("state/journal"))  # a folder where the file should be, so even root cannot write it
        told = self.check_of_daemon(self.at("state"))
        self.assertEqual("warning", told["status"])
        self.assertIn(f"cannot write its journal of expressions {self.at('state/journal')}: Is a directory", told["detail"])

    def test_tells_that_memfds_are_refused(self):
        done = self.trident("doctor", "--json", status=1, preexec_fn=refuse_memfds)
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual("failure", checks["sealed memfd"]["status"])
        self.assertIn("memfd_create: Operation not permitted", checks["sealed memfd"]["detail"])
        self.assertIn("seccomp", checks["sealed memfd"]["mend"])

    def test_tells_that_the_daemon_is_refused_memfds(self):
        environment = {**self.environment, "TRIDENT_SOCKET": self.at("own.sock")}
        with subprocess.Popen([TRIDENTD, "--socket", self.at("own.sock"), "--cache", "none", "--state", "none"],
                              stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=refuse_memfds) as daemon:
            lines = [daemon.stderr.readline()]
            while lines[-1] and "serving" not in lines[-1]:
                lines.append(daemon.stderr.readline())
            report = json.loads(self.trident("doctor", "--json", env=environment, status=1).stdout)
            daemon.terminate()
        told = next(check for check in report["checks"] if check["name"] == "daemon")
        self.assertEqual("failure", told["status"])
        self.assertIn("the daemon cannot compile kernels: memfd_create: Operation not permitted", told["detail"])
        self.assertIn("mend what it says, then restart it", told["mend"])
        self.assertEqual(1, sum("kernels cannot be compiled here" in line for line in lines), lines)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
