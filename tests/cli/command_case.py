"""Setup that tests of the trident command share: a folder of their own, and the command run there. argv: TRIDENT TRIDENTD."""
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

TRIDENT, TRIDENTD = sys.argv[1:3]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Times cannot be taken while other tests disturb them.
BUSY_TRIES = 4


def file_size_limit(most):
    """For preexec_fn: files that become longer are refused. By default SIGXFSZ ends whoever tries."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def alone(test):
    """Marks a test that takes times, so nothing else may run beside it: CTest runs those by TRIDENT_ALONE=1, the others by 0."""
    test.alone = True
    return test


class CommandCase(unittest.TestCase):
    def setUp(self):
        wanted = os.environ.get("TRIDENT_ALONE")
        if wanted is not None and (wanted == "1") != hasattr(getattr(self, self._testMethodName), "alone"):
            self.skipTest(f"TRIDENT_ALONE={wanted}: CTest's other run of this file has this test")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.at("cache"), XDG_STATE_HOME=self.at("state"), TMPDIR=self.at("tmp"),
                                TRIDENT_SOCKET=self.at("nobody.sock"))
        os.mkdir(self.at("tmp"))

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as handle:
            handle.write(text)
        return self.at(name)

    def no_regular_files(self):
        """Paths in a folder of their own, and what a command may call each. A device of our own where we may make one:
        a command that takes the place of the system's takes it from everybody."""
        folder = self.at("no regular files")
        os.mkdir(folder)
        places = {name: os.path.join(folder, name) for name in ("FIFO", "socket", "directory", "device")}
        os.mkfifo(places["FIFO"])
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(places["socket"])
        os.mkdir(places["directory"])
        try:
            os.mknod(places["device"], stat.S_IFCHR | 0o600, os.makedev(1, 7))  # /dev/full
        except PermissionError:
            places["device"] = "/dev/full"
        return places

    def trident(self, *arguments, status=0, **options):
        environment, timeout = options.pop("env", self.environment), options.pop("timeout", 250)
        for _ in range(BUSY_TRIES):
            done = subprocess.run([TRIDENT, *arguments], capture_output=True, text=True, timeout=timeout, env=environment, check=False,
                                  **options)
            if "try again when the machine is less busy" not in done.stderr:
                break
        self.assertEqual(status, done.returncode, done.stdout[-2000:] + done.stderr[-2000:])
        return done

    def start_daemon(self):
        """Starts a daemon on the socket that this test's commands use; it ends with the test."""
        daemon = subprocess.Popen([TRIDENTD, "--socket", self.environment["TRIDENT_SOCKET"], "--cache", "none", "--log-level",
                                   "error"], env=self.environment)
        self.addCleanup(lambda: (daemon.kill(), daemon.wait()))
        for _ in range(1000):
            if os.path.exists(self.environment["TRIDENT_SOCKET"]):
                break
            time.sleep(0.01)
