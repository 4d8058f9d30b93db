#!/usr/bin/python3
"""Runs AArch64 programs under trident-emu and compares their output with that of the host's own tools.

  emu_test.py TRIDENT_EMU LOOP_PROGRAM_MAKER BUSYBOX_SCRIPT FOLDER

Where Debian's busybox cannot be fetched, its tests are skipped with the reason.
"""
import gzip
import hashlib
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

EMU, MAKER, FETCH, FOLDER = (sys.argv[i] if len(sys.argv) > i else "" for i in range(1, 5))
TIMEOUT_S = 120
# Loops are compiled in the emulator's own process: no daemon of this machine has a part in it.
PLAIN = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "TRIDENT_MODE": "embedded"}


def run(command, data=b"", folder=None, timeout_s=TIMEOUT_S):
    return subprocess.run(command, input=data, cwd=folder, env=PLAIN, capture_output=True, timeout=timeout_s, check=False)


def emulated(*words, data=b"", folder=None, options=()):
    return run([EMU, *options, *words], data, folder)


def text_of(lines, seed=5):
    """Returns a text of words, numbers, blank lines and words that repeat."""
    draw = random.Random(seed)
    words = ["alpha", "beta", "gamma", "loop", "Trident", "x", "0", "17", "-4", "a.b", "", "  ", "zz"]
    return "".join(" ".join(draw.choices(words, k=draw.randrange(9))) + "\n" for _ in range(lines)).encode()


class OwnProgram(unittest.TestCase):
    """The loop program: no other program is needed."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "sum")
        with open(cls.program, "wb") as file:
            file.write(run([MAKER]).stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file_of(self, data, name="data"):
        path = os.path.join(self.folder.name, name)
        pathlib.Path(path).write_bytes(data)
        return path

    def summed(self, data, *options):
        with open(self.file_of(data), "rb") as file:
            return subprocess.run([EMU, *options, self.program], stdin=file, env=PLAIN, capture_output=True,
                                  timeout=TIMEOUT_S, check=False)

    @staticmethod
    def expected(data):
        """The sum as guests/loop_program.h defines it, in Python."""
        total = 0
        for start in range(0, len(data), 1 << 16):
            block = data[start:start + (1 << 16)]
            for i, byte in enumerate(block):
                total = (total + (byte ^ (len(block) - i))) & (2**64 - 1)
                total = (total << 5 | total >> 59) & (2**64 - 1)
        return f"{total:016x}\n".encode()

    def test_sums(self):
        for size in (0, 1, 2, 1000, 65536, 65537, 200000):
            data = random.Random(size).randbytes(size)
            done = self.summed(data)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.expected(data), b""), size)

    def test_swaps(self):
        """The loop gets code while it runs, and every shadow run of it agrees."""
        data = random.Random(3).randbytes(12 << 20)
        for options in (["--json"], ["--json", "--verify"]):
            done = self.summed(data, *options)
            swap = json.loads(done.stderr)["swap"]
            self.assertEqual((done.returncode, done.stdout), (0, self.expected(data)), options)
            self.assertEqual((swap["mismatches"], swap["refused"]), (0, 0), swap)
            self.assertGreaterEqual(swap["installed"], 1, swap)
            self.assertGreater(swap["shadows" if "--verify" in options else "iterations"], 0, swap)
        self.assertIsNone(json.loads(self.summed(data, "--json", "--no-swap").stderr)["swap"])

    def test_figures(self):
        done = emulated(self.program, options=["--json"])
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stderr)["status"], 0)
        self.assertIn(b"wall time", emulated(self.program, options=["--stats"]).stderr)

    def patched(self, offset, words):
        """Returns the program with other instructions from `offset` of the file on."""
        data = bytearray(pathlib.Path(self.program).read_bytes())
        for i, word in enumerate(words):
            data[offset + 4 * i:offset + 4 * i + 4] = word.to_bytes(4, "little")
        return self.file_of(bytes(data), "patched")

    def crash(self, *words):
        done = emulated(self.patched(0xb0, words))
        return done.returncode, done.stderr.decode()

    def test_crashes_are_signals(self):
        status, said = self.crash(0xD2A0_0833, 0xF940_0260, 0xF940_001F)  # mov x19, #0x410000; ldr; ldr xzr, [x0]
        self.assertEqual(status, 128 + 11)
        self.assertRegex(said, r"signal 11 .*not mapped, address 0x0, .* pc 0x4000b0")
        self.assertEqual(self.crash(0x0000_0000)[0], 128 + 4)  # udf
        self.assertEqual(self.crash(0xD420_0000)[0], 128 + 5)  # brk
        status, said = self.crash(0xD280_0000, 0xD61F_0000)  # mov x0, #0; br x0
        self.assertEqual(status, 128 + 11)
        self.assertIn("jumped to memory that is not mapped", said)
        status, said = self.crash(0x9000_0000, 0xF900_0000)  # adrp x0, .; str x0, [x0]
        self.assertEqual(status, 128 + 11)
        self.assertIn("may not be written", said)

    def test_code_that_a_system_call_writes(self):
        """Reads instructions from standard input into the page that it ran before, and empties the page."""
        program = self.patched(0xb0, (
            0xD2800000, 0xD2820001, 0xD28000E2, 0xD2800443, 0x92800004, 0xD2800005, 0xD2801BC8, 0xD4000001,  # p = mmap(RWX)
            0xAA0003F3, 0xD2800054,                                                        # mov x19, x0; mov x20, #2
            0xD2800000, 0xAA1303E1, 0xD2800102, 0xD28007E8, 0xD4000001, 0xD63F0260,        # read(0, p, 8); blr p
            0xF1000694, 0x54FFFF21, 0xAA0003F5,                                            # twice; mov x21, x0
            0xAA1303E0, 0xD2820001, 0xD2800082, 0xD2801D28, 0xD4000001,                    # madvise(p, DONTNEED)
            0xAA1503E0, 0xB4000075, 0xD2800BC8, 0xD4000001, 0xD63F0260))                   # x0 = x21; exit, or blr p
        for last, status in ((7, 7), (0, 128 + 4)):
            code = b"".join(struct.pack("<II", 0xD2800000 | value << 5, 0xD65F03C0) for value in (9, last))
            for options in ((), ("--no-swap",), ("--verify",)):
                self.assertEqual(emulated(program, data=code, options=options).returncode, status, (last, options))

    def test_refuses_other_files(self):
        text = self.file_of(b"text" * 99, "text")
        for path, words in ((self.file_of(b""), "empty"), (text, "no ELF file"), (os.path.realpath(sys.executable), "machine"),
                            ("/tmp", "folder"), ("/nowhere", "No such file")):
            done = emulated(path)
            self.assertEqual(done.returncode, 127, path)
            self.assertRegex(done.stderr.decode(), f"^trident-emu: {path}: .*{words}")

    def test_hostile_files_end_in_order(self):
        draw, right = random.Random(9), pathlib.Path(self.program).read_bytes()
        for i in range(40):
            data = bytearray(right)
            for _ in range(draw.randrange(1, 6)):
                data[draw.randrange(len(data) if i % 2 else 0xb0)] = draw.randrange(256)
            cut = draw.choice((len(data), draw.randrange(1, len(data))))
            try:
                done = run([EMU, self.file_of(bytes(data[:cut]))], timeout_s=1)
            except subprocess.TimeoutExpired:
                continue  # a program may well loop for ever
            self.assertGreaterEqual(done.returncode, 0, "the emulator itself crashed")

    def test_options(self):
        self.assertEqual(emulated("--nonsense", self.program).returncode, 2)
        self.assertEqual(emulated().returncode, 2)
        self.assertIn(b"PROGRAM", emulated("--help").stdout)
        self.assertIn(b".SH", emulated("--manual").stdout)
        self.assertEqual(emulated("--", self.program).returncode, 0)


class Busybox(unittest.TestCase):
    """Debian's busybox for arm64 against the host's tools."""

    @classmethod
    def setUpClass(cls):
        found = run([FETCH, FOLDER])
        if found.returncode != 0:
            raise unittest.SkipTest(found.stderr.decode().strip())
        cls.busybox = found.stdout.decode().strip()
        cls.folder = tempfile.TemporaryDirectory()
        cls.text, cls.noise = text_of(4000), random.Random(1).randbytes(300000)
        for name, data in (("text", cls.text), ("noise", cls.noise), ("text.gz", gzip.compress(cls.text, mtime=0))):
            pathlib.Path(cls.folder.name, name).write_bytes(data)
        pathlib.Path(cls.folder.name, "sub/deeper").mkdir(parents=True)
        pathlib.Path(cls.folder.name, "sub/deeper/file").write_bytes(b"x")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def guest(self, *words, data=b""):
        return emulated(self.busybox, *words, data=data, folder=self.folder.name)

    def equal(self, *words, host=None, data=b""):
        """The guest's output and status are those of the host's tool of the same name, or of `host`."""
        done, wanted = self.guest(*words, data=data), run(host or list(words), data, self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (wanted.returncode, wanted.stdout), (words, done.stderr))

    def test_sums(self):
        for tool in ("sha256sum", "md5sum", "sha1sum", "sha512sum"):
            self.equal(tool, "noise", "text", "text.gz")
            self.equal(tool, data=self.noise)
        digest = hashlib.sha256(self.noise).hexdigest()
        self.assertEqual(self.guest("sha256sum", "noise").stdout.decode(), f"{digest}  noise\n")

    def test_shadow_runs_agree(self):
        for tool, source in (("sha256sum", "noise"), ("md5sum", "noise"), ("gzip", "text"), ("sort", "text"), ("wc", "text")):
            data = {"noise": self.noise, "text": self.text}[source] * (8 if tool.endswith("sum") else 2)
            done = emulated(self.busybox, tool, data=data, options=["--json", "--verify"])
            swap = json.loads(done.stderr.splitlines()[-1])["swap"]
            self.assertEqual((done.returncode, swap["mismatches"]), (0, 0), (tool, swap))
            self.assertEqual(done.stdout, emulated(self.busybox, tool, data=data, options=["--no-swap"]).stdout, tool)

    def test_counts_and_order(self):
        self.equal("wc", "-l", "text")
        self.equal("wc", "-c", "noise")
        self.equal("wc", "-w", data=self.text)
        for options in ([], ["-r"], ["-u"]):
            self.equal("sort", *options, "text")
        numbers = random.Random(2).sample(range(-5000, 5000), 3000)
        self.equal("sort", "-n", data="".join(f"{n}\n" for n in numbers).encode())
        self.equal("uniq", "-c", data=b"a\na\nb\n")

    def test_texts(self):
        for pattern in ("alpha", "^$", "a.b", "T[rx]i*dent", "nowhere"):
            self.equal("grep", "-n", pattern, "text")
            self.equal("grep", "-c", pattern, data=self.text)
        self.equal("awk", "{n += NF; s += $1} END {print n, s}", "text")
        self.equal("sed", "s/alpha/omega/g; 3d", "text")
        self.equal("tr", "a-z", "A-Z", data=self.text)
        self.equal("head", "-n", "7", "text")
        self.equal("tail", "-n", "7", "text")
        self.equal("cut", "-d", " ", "-f", "2", "text")

    def test_files(self):
        for words in (["cat", "noise", "text"], ["cat"], ["ls", "-a", "-1"], ["ls", "sub", "-1"],
                      ["cmp", "noise", "text"], ["stat", "-c", "%s %a %n", "noise", "sub"], ["readlink", "-f", "sub"]):
            self.equal(*words, data=self.noise)
        done, wanted = self.guest("find", "."), run(["find", "."], folder=self.folder.name)
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(wanted.stdout.splitlines()))

    def test_gzip(self):
        packed = self.guest("gzip", "-c", "text")
        self.assertEqual(gzip.decompress(packed.stdout), self.text)
        self.assertEqual(self.guest("gzip", "-c", data=self.noise).returncode, 0)
        self.assertEqual(self.guest("gunzip", "-c", "text.gz").stdout, self.text)
        self.assertEqual(self.guest("gunzip", "-c", data=packed.stdout).stdout, self.text)
        self.assertNotEqual(self.guest("gunzip", "-c", "noise").returncode, 0)

    def test_shell(self):
        for script in ("echo $((3 * 14)); exit 5", "i=0; while [ $i -lt 500 ]; do i=$((i+1)); done; echo $i",
                       "read a b; echo $b $a", 'for f in *; do echo "$f"; done', "cd sub && pwd",
                       "echo one > made; read x < made; echo $x; test -f made && echo yes"):
            self.equal("sh", "-c", script, host=["sh", "-c", script], data=b"1 2\n")
        done = emulated(self.busybox, "sh", "-c", "ls | wc", options=["--json"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"can't fork", done.stderr)
        self.assertIn({"number": 220, "name": "clone", "times": 1}, json.loads(done.stderr.splitlines()[-1])["unknown_calls"])

    def test_changes_files(self):
        for script in ("cp noise made1", "mv made1 made2", "mkdir made3", "rmdir made3", "chmod 600 made2",
                       "touch -d '2001-02-03 04:05:06' made2", "ln made2 made4", "rm made4"):
            words = ["touch", "-d", "2001-02-03 04:05:06", "made2"] if script.startswith("touch") else script.split()
            self.assertEqual(self.guest(*words).returncode, 0, script)
        made = pathlib.Path(self.folder.name, "made2")
        self.assertEqual(made.read_bytes(), self.noise)
        self.assertEqual(oct(made.stat().st_mode), "0o100600")
        self.assertEqual(made.stat().st_mtime, 981173106)
        made.unlink()

    def test_closed_pipe(self):
        """A reader that goes ends the guest by SIGPIPE, as natively."""
        with subprocess.Popen([EMU, self.busybox, "yes"], stdout=subprocess.PIPE) as guest:
            guest.stdout.read(100)
            guest.stdout.close()
            self.assertEqual(guest.wait(TIMEOUT_S), -13)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
