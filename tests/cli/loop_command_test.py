"""The verbs of the trident command that are about loops of guest programs. Oracle: labels that were written by hand (tests/loops)."""
import json
import os
import random
import re
import struct
import subprocess
import sys
import unittest

from command_case import ROOT, TRIDENT, CommandCase

KERNELS = os.path.join(ROOT, "tests/loops/kernels/kernel_loops.jsonl")
HAND_MADE = os.path.join(ROOT, "tests/loops/kernels/hand_made.jsonl")
DELAY = {"label": "delay", "opt": "O2", "head": "0x1000", "tail": "0x1004", "bytes": "000400f1e1ffff54", "expect": "compile"}


COPY = "38401423 38001403 f1000442 54ffffa1"  # ldrb w3,[x1],#1; strb w3,[x0],#1; subs x2,x2,#1; b.ne
COLUMNS_MAX = 100


def words(*values):
    return b"".join(struct.pack("<I", value) for value in values)


def elf(code, sections=True, **fields):
    """An ELF file of AArch64 whose code stands at 0x400000 + 0x1000. `fields` take the place of right ones."""
    f = {"magic": b"\x7fELF", "bits": 2, "order": 1, "machine": 183, "shentsize": 64, "phentsize": 56, "shnum": 2 if sections else 0,
         "phnum": 1, "shoff": 0x2000 if sections else 0, "phoff": 64, "address": 0x401000, "offset": 0x1000, "size": len(code),
         "type": 1, "flags": 6, "segment_flags": 5}
    f.update(fields)
    header = f["magic"] + bytes([f["bits"], f["order"], 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, f["machine"], 1, f["address"], f["phoff"], f["shoff"], 0, 64, f["phentsize"],
                          f["phnum"], f["shentsize"], f["shnum"], 0)
    header += struct.pack("<IIQQQQQQ", 1, f["segment_flags"], f["offset"], f["address"], f["address"], f["size"], f["size"], 4096)
    section = struct.pack("<IIQQQQIIQQ", 0, f["type"], f["flags"], f["address"], f["offset"], f["size"], 0, 0, 4, 0)
    return header.ljust(0x1000, b"\0") + code.ljust(0x1000, b"\0") + bytes(64) + section


class LoopVerb(CommandCase):
    def loop(self, *arguments, **options):
        return self.trident("loop", *arguments, **options)

    def file(self, content):
        with open(self.at("program.elf"), "wb") as handle:
            handle.write(content)
        return self.at("program.elf")

    def test_one_loop_in_full(self):
        text = self.loop("--hex", COPY, "--base", "0x1000").stdout
        for line in (r"loop at 0x1000: 4 instructions, jumps back at 0x100c", r" +0x1000  38401423  ldrb w3, \[x1\], #1 +<- head",
                     r"   0  x0  stores, at most 1 byte", r"   1  x1  loads, at most 1 byte", r"  0x100c -> 0x1010",
                     r"reads    x0 x1 x2 x3 flags", r"writes   x0 x1 x2 x3 flags", r"class    unknown", r"code     \d+ bytes from .*",
                     r"trials   \d+ runs as the interpreter's: \d+ left, \d+ missed, \d+ used up the budget"):
            self.assertRegex(text, rf"(?m)^{line}$")
        self.assertNotIn("region\n", text)
        self.assertIn("access", self.loop("--hex", COPY, "--region").stdout.partition("region\n")[2])

    def test_forms_of_hexadecimal(self):
        wanted = self.loop("--hex", COPY).stdout
        memory = struct.pack("<4I", *(int(word, 16) for word in COPY.split()))
        for text in (COPY.replace(" ", ","), " 0x".join([""] + COPY.split()), COPY.upper(), memory.hex(), memory.hex(" ")):
            self.assertEqual(wanted, self.loop("--hex", text).stdout)
        self.assertEqual(wanted, self.loop("-", input=COPY + "\n").stdout)
        for text in ("xyz", "3840142", "38401423 38", "3840-423", ""):
            self.loop("--hex", text, status=2)
        self.assertIn("'3840142g' is no instruction", self.loop("--hex", "3840142g", status=2).stderr)

    def test_refusals_name_the_instruction(self):
        text = self.loop("--hex", "d4000001 f1000442 54ffffc1").stdout
        self.assertIn("svc #0    <- head    <- the reason", text)
        self.assertTrue(text.endswith("every way round has a system instruction\n"), text)
        found = json.loads(self.loop("--hex", "d4000001 f1000442 54ffffc1", "--json").stdout)["loops"][0]
        self.assertEqual(("system", "0x0", "svc #0"), (found["outcome"], found["address"], found["instruction"]))

    def test_json_has_all(self):
        found = json.loads(self.loop("--hex", COPY, "--base", "4096", "--json", "--region", "--measure").stdout)
        self.assertEqual(([{"address": "0x1000", "bytes": 16}], {"compile": 1}, False),
                         (found["code"], found["outcomes"], found["is_cut"]))
        loop = found["loops"][0]
        self.assertEqual({"address": "0x1004", "word": "38001403", "text": "strb w3, [x0], #1"}, loop["instructions"][1])
        self.assertEqual([{"base": "x0", "loads": False, "stores": True, "widest": 1},
                          {"base": "x1", "loads": True, "stores": False, "widest": 1}], loop["windows"])
        self.assertEqual([{"from": "0x100c", "to": "0x1010"}], loop["exits"])
        self.assertEqual((["x0", "x1", "x2", "x3", "flags"], ["0x100c"], "unknown"), (loop["reads"], loop["jumps_back"], loop["class"]))
        self.assertTrue(0.05 < loop["rate"]["ns_per_round"] < 1000 and loop["rate"]["rounds"] > 100, loop["rate"])
        self.assertIn("access", loop["region"])
        self.assertGreater(loop["trials"]["left"], 0)

    def test_a_table_of_a_program(self):
        code = words(0x38401423, 0x38001403, 0xF1000442, 0x54FFFFA1, 0xD65F03C0,   # a copy
                     0x94000400, 0xF1000442, 0x54FFFFC1, 0xD65F03C0,               # a call
                     0xF1000400, 0x54FFFFE1)                                       # a delay
        for bias, sections in ((0, True), (0, False), (0x10000, True)):
            path = self.file(elf(code, sections=sections))
            rows = self.loop(path, "--base", str(bias)).stdout.splitlines()
            self.assertLessEqual(max(map(len, rows[1:])), COLUMNS_MAX)
            self.assertEqual([hex(0x401000 + bias), "4", "2", "1"], rows[2].split()[:4])
            self.assertRegex(rows[3], rf"^ +{hex(0x401014 + bias)} +call: {hex(0x401014 + bias)} bl #{hex(0x402014 + bias)}$")
            self.assertEqual([hex(0x401024 + bias), "2", "0", "1"], rows[4].split()[:4])
            self.assertEqual(["", "compile            2  66.7 %", "call               1  33.3 %", "all                3"], rows[5:])
        summary = self.loop(path, "--summary").stdout.splitlines()
        self.assertEqual(3, len(summary))
        self.assertEqual(2, len(re.findall(r"compile$", self.loop(path, "--measure").stdout, re.M)))
        with open(path, "rb") as handle:
            self.assertEqual(self.loop(path).stdout.splitlines()[1:],
                             self.loop("-", input=handle.read().decode("latin-1"), encoding="latin-1").stdout.splitlines()[1:])

    def test_one_loop_of_a_program(self):
        path = self.file(elf(words(0xF1000400, 0x54FFFFE1, 0xD65F03C0, 0xF1000421, 0x54FFFFE1)))
        self.assertIn("loop at 0x40100c: 2 instructions", self.loop(path, "--head", "0x40100c").stdout)
        self.assertIn("no path leads from the head back", self.loop(path, "--head", "0x401008").stdout)
        self.assertIn("not aligned", self.loop(path, "--head", "0x401002").stdout)
        self.assertIn("0x500000 lies outside of the code; it begins at 0x401000", self.loop(path, "--head", "0x500000", status=2).stderr)
        for address in ("x", "0x", "-4", "0x10000000000000000"):
            self.assertIn("--head: expected an address", self.loop(path, "--head", address, status=2).stderr)

    def test_files_that_are_none(self):
        code = words(0xF1000400, 0x54FFFFE1)
        for fields, message in (({"magic": b"\x7fELG"}, "is no ELF file"), ({"bits": 1}, "64 bits"), ({"order": 2}, "big-endian"),
                                ({"machine": 62}, "is for machine 62; expected AArch64"), ({"shentsize": 40}, "40 bytes each"),
                                ({"shoff": 0xFFFFFFFFFFFFFFC0}, "section headers lie outside"), ({"shnum": 60000}, "lie outside"),
                                ({"offset": 0x2080}, "section 1 lies outside"), ({"size": 2**64 - 1}, "section 1 lies outside"),
                                ({"address": 2**64 - 4}, "beyond the last address"), ({"address": 0x401002}, "no multiple of 4"),
                                ({"flags": 2}, "no executable code"), ({"type": 8}, "no executable code"), ({"size": 3}, "no executable"),
                                ({"sections": False, "phoff": 2**63}, "program headers lie outside"),
                                ({"sections": False, "phentsize": 32}, "32 bytes each"),
                                ({"sections": False, "offset": 2**63}, "segment 0 lies outside"),
                                ({"sections": False, "segment_flags": 4}, "no executable code")):
            stderr = self.loop(self.file(elf(code, **fields)), status=2).stderr
            self.assertIn(message, stderr)
            self.assertIn("program.elf: ", stderr)
        self.assertIn("beyond the last", self.loop(self.file(elf(code)), "--base", str(2**64 - 0x401000), status=2).stderr)
        self.assertIn("multiples of 4", self.loop(self.file(elf(code)), "--base", "2", status=2).stderr)
        self.assertIn("shorter than an ELF header", self.loop(self.file(elf(code)[:40]), status=2).stderr)
        self.assertIn("no jump backwards", self.loop(self.file(elf(words(0xD65F03C0))), status=2).stderr)
        self.assertIn("No such file", self.loop(self.at("none"), status=2).stderr)
        self.assertIn("give one of", self.loop(status=2).stderr)
        self.loop(self.at("program.elf"), "--hex", COPY, status=2)

    def test_damaged_files_never_crash(self):
        whole = elf(words(0x38401423, 0x38001403, 0xF1000442, 0x54FFFFA1, 0x94000400, 0xF1000442, 0x54FFFFC1, 0xD65F03C0))
        places = list(range(24)) + list(range(24, 120)) + list(range(0x1000, 0x1020)) + list(range(0x2040, 0x2080))
        draw = random.Random(1)
        for _ in range(60):
            damaged = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                damaged[draw.choice(places)] = draw.choice((0, 1, 4, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            done = self.run_loop(self.file(bytes(damaged[:draw.choice((len(damaged), draw.randrange(len(damaged))))])))
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)

    def run_loop(self, path):
        return subprocess.run([TRIDENT, "loop", path], capture_output=True, text=True, timeout=60, env=self.environment, check=False)


class OracleLoops(CommandCase):
    def rows(self, *rows):
        return self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def test_all_rows_are_right(self):
        lines = self.trident("oracle", "loops", KERNELS, HAND_MADE).stdout.splitlines()
        self.assertEqual("137 rows, 0 wrong (0 of them accepted in error), 0 malformed", lines[-1])

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
        self.assertIn("1 row, 0 wrong", self.trident("oracle", "loops", "-", input=json.dumps(DELAY)).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
