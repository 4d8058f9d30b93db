"""What tests of the trident command share: a folder of their own, and the command run in it. argv: TRIDENT TRIDENTD."""
import os
import subprocess
import sys
import tempfile
import unittest

TRIDENT, TRIDENTD = sys.argv[1:3]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Times cannot be taken while other tests disturb them.
BUSY_TRIES = 4


class CommandCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.at("cache"), TMPDIR=self.at("tmp"),
                                TRIDENT_SOCKET=self.at("nobody.sock"))
        os.mkdir(self.at("tmp"))

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as handle:
            handle.write(text)
        return self.at(name)

    def trident(self, *arguments, status=0, **options):
        environment, timeout = options.pop("env", self.environment), options.pop("timeout", 250)
        for _ in range(BUSY_TRIES):
            done = subprocess.run([TRIDENT, *arguments], capture_output=True, text=True, timeout=timeout, env=environment, check=False,
                                  **options)
            if "try again when the machine is less busy" not in done.stderr:
                break
        self.assertEqual(status, done.returncode, done.stdout[-2000:] + done.stderr[-2000:])
        return done
