"""The verbs of the trident command that are about Triton VM, as users call them. Oracle: answers of the real machine (tests/tir)."""
import json
import lzma
import os
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

from command_case import ROOT, TRIDENT, TRIDENTD, CommandCase


def oracle_lines(name):
    with lzma.open(os.path.join(ROOT, "tests/tir/oracles", name + ".xz"), "rt") as handle:
        return handle.read()


class Oracle(CommandCase):
    def test_all_rows_are_right(self):
        programs = self.write("oracle.jsonl", oracle_lines("oracle.jsonl"))
        vectors = self.write("data_vectors.json", oracle_lines("data_vectors.json"))
        pairs = self.write("equiv_pairs.jsonl", oracle_lines("equiv_pairs.jsonl"))
        done = self.trident("oracle", "tir", programs, vectors, pairs)
        self.assertEqual(["programs: 941 checked", "vectors: 157 checked", "equivalence pairs: 37 checked",
                          "1135 checked, 0 rows differ, 0 not checked"], done.stdout.splitlines())

    def test_a_difference_is_told_with_its_place(self):
        rows = [json.loads(line) for line in oracle_lines("oracle.jsonl").splitlines()[:3]]
        rows[1]["heights"]["cascade"] += 1
        rows[2]["program_digest"] = rows[1]["program_digest"]
        path = self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        lines = self.trident("oracle", "tir", path, status=1).stdout.splitlines()
        self.assertEqual([f"{path}:2: halt_halt: height of cascade: expected 67, found 66"], lines[:1])
        self.assertTrue(lines[1].startswith(f"{path}:3: nop_1: digest: expected [6965174499883978470, "), lines[1])
        self.assertEqual("3 checked, 2 rows differ, 0 not checked", lines[-1])

    def test_a_lowering_with_another_figure_is_told(self):
        row = json.loads(oracle_lines("tir_lowering.jsonl").splitlines()[0])
        row["heights"]["cascade"] += 1
        row["final_stack"][11] += 1
        lines = self.trident("oracle", "tir", self.write("rows.jsonl", json.dumps(row) + "\n"), status=1).stdout.splitlines()
        self.assertIn("Add_0: stack: expected", lines[0])
        self.assertIn("Add_0: height of cascade: expected 75, found 74", lines[1])
        self.assertEqual("1 checked, 1 row differs, 0 not checked", lines[-1])

    def test_what_is_not_understood_is_no_success(self):
        path = self.write("rows.jsonl", '{"something": "else"}\n')
        done = self.trident("oracle", "tir", path, status=1)
        self.assertIn("rows of an unknown form: 1 row is not understood", done.stdout)
        self.assertIn("0 checked, 0 rows differ, 1 not checked", done.stdout)
        for text in ("nonsense\n", "[1]\n", "{}\n"):
            self.trident("oracle", "tir", self.write("bad.jsonl", text), status=1)
        self.assertIn("no such file", self.trident("oracle", "tir", self.at("none"), status=2).stderr)
        self.trident("oracle", "tir", self.write("empty.jsonl", ""), status=2)

    def test_standard_input_is_read_and_a_fifo_is_not_waited_for(self):
        row = oracle_lines("oracle.jsonl").splitlines()[0] + "\n"
        self.assertIn("1 checked, 0 rows differ", self.trident("oracle", "tir", "-", input=row).stdout)
        os.mkfifo(self.at("pipe"))
        self.assertIn("is a FIFO, not a regular file", self.trident("oracle", "tir", self.at("pipe"), status=2, timeout=20).stderr)


class FuzzEquiv(CommandCase):
    def compare(self, a, b, *arguments, status=0):
        paths = [self.write("a.tasm", a), self.write("b.tasm", b)]
        return json.loads(self.trident("fuzz-equiv", *paths, "--json", *arguments, status=status).stdout)

    def test_pairs_of_the_real_machine(self):
        for row in map(json.loads, oracle_lines("equiv_pairs.jsonl").splitlines()):
            found = self.compare(row["baseline"], row["candidate"], status=0 if row["equivalent"] else 1)
            self.assertEqual("equal" if row["equivalent"] else "differs", found["answer"], row["name"])
            self.assertEqual("blocks", found["compared"])
            self.assertEqual(row["equivalent"], "witness" not in found)

    def test_the_floor_of_the_stack(self):
        found = self.compare("push 0 mul", "pop 1 push 0", status=1)
        self.assertEqual(16, len(found["witness"]["stack_bottom_first"]))
        self.assertEqual("equal", self.compare("push 0 mul", "pop 1 push 0", "--stack-min", "17")["answer"])

    def test_programs(self):
        text = "read_io 2 call f write_io 1 halt f: swap 1 %s return"
        found = self.compare(text % "add", text % "push 0 add add")
        self.assertEqual(("equal", "programs", 0), (found["answer"], found["compared"], found["error_bound"]))
        found = self.compare(text % "add", text % "mul", "--input", "2,2", status=1)
        self.assertEqual("differs", found["answer"])
        self.assertEqual(found["samples"], 2)  # 2 + 2 is 2 * 2
        found = self.compare(text % "add", "read_io 2 add write_io 1 push 1 pop 1 halt", "--samples", "50")
        self.assertEqual(("unknown", 50), (found["answer"], found["samples"]))

    def test_ends_when_the_time_is_over(self):
        # Another control flow, so that only samples can tell: more of them than there is time for.
        pair = "read_io 1 call f write_io 1 halt f: addi 1 return", "read_io 1 addi 1 write_io 1 halt"
        begin = time.monotonic()
        found = self.compare(*pair, "--samples", "100000000", "--seconds", "0.5")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(("unknown", True), (found["answer"], found["time_over"]))
        self.assertTrue(0 < found["samples"] < 100000000)
        self.assertFalse(self.compare(*pair, "--seconds", "100")["time_over"])
        blocks = "push 2 pow", "dup 0 mul pop 1 push 2 pow"  # equal or not: no block is called equal for lack of time
        self.assertNotEqual("equal", self.compare(*blocks, "--seconds", "0.001", status=1)["answer"])

    def test_text_and_mistakes(self):
        a, b = self.write("a.tasm", "dup 1 dup 1 eq"), self.write("b.tasm", "push 0")
        out = self.trident("fuzz-equiv", a, b, status=1).stdout
        self.assertIn("the blocks differ: st0 is ", out)
        self.assertIn("  stack, bottom first: ", out)
        self.assertIn("equal: the blocks do the same", self.trident("fuzz-equiv", a, a).stdout)
        self.assertIn("a.tasm:1:", self.trident("fuzz-equiv", self.write("a.tasm", "nip"), b, status=2).stderr)
        self.assertIn("no such file", self.trident("fuzz-equiv", self.at("none.tasm"), b, status=2).stderr)
        self.assertIn("x + 1: cannot be read: there is no such file", self.trident("fuzz-equiv", b, "x + 1", status=2).stderr)
        self.trident("fuzz-equiv", b, status=2)


class Lowering(CommandCase):
    TEXT = "// halves\nread_io 2\ncall half\nwrite_io 1\nhalt\nfn half {\n  push 1 shr\n  swap 1 pop 1\n  return\n}\n"

    def test_lowers_and_shortens(self):
        path = self.write("p.tir", self.TEXT)
        plain, short = self.at("plain.tasm"), self.at("short.tasm")
        self.trident("lower", path, "--passes", "none", "-o", plain)
        self.trident("lower", path, "-o", short)
        for file in (path, plain, short):
            self.assertEqual("output 21", self.trident("run", file, "--input", "7,43").stdout.splitlines()[0])
        found = json.loads(self.trident("lower", plain, "--json", "--passes", "pops,commutes").stdout)
        self.assertEqual(found["words_before_passes"], found["words"])
        with open(plain) as handle:
            self.assertIn("__half:", handle.read())
        self.assertIn("__half", self.trident("profile", path, "--input", "7,43").stdout)
        self.assertIn("  push 1 shr"[2:], self.trident("profile", path, "--input", "7,43").stdout)

    def test_mistakes_have_a_place(self):
        path = self.write("p.tir", "push 1\n  frobnicate\nhalt")
        for verb in ("lower", "run", "profile"):
            self.assertIn("p.tir:2:3: there is no operation 'frobnicate'", self.trident(verb, path, status=2).stderr)
        good = self.write("q.tir", "halt")
        self.assertIn("there is no pass 'x'; expected all, none or names from nops", self.trident("lower", good, "--passes", "x", status=2).stderr)
        self.assertIn("no such file", self.trident("lower", self.at("none.tir"), status=2).stderr)
        path = self.write("r.tir", "push 1\npush 0 invert\nhalt")
        self.assertIn("r.tir:2:8: InverseOfZero", self.trident("run", path, status=1).stderr)


def private_daemon(case):
    """Starts a daemon that ends with the test; its socket."""
    socket = case.at("d.sock")
    daemon = subprocess.Popen([TRIDENTD, "--socket", socket, "--state", case.at("state"), "--cache", case.at("k.db")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    case.addCleanup(daemon.wait)
    case.addCleanup(daemon.terminate)
    for _ in range(200):
        if os.path.exists(socket):
            break
        time.sleep(0.05)
    return socket


class Build(CommandCase):
    TEXT = ("read_io 1\ncall sum\nwrite_io 1\nhalt\nfn sum {\n  push 0\n  swap 1\n  loop {\n    dup 0 dup 0 mul\n"
            "    dup 2 add\n    swap 2 pop 1\n  }\n  pop 1\n  return\n}\n")

    def outputs(self, path, value):
        found = json.loads(self.trident("run", path, "--input", str(value), "--json").stdout)
        return found["output"], found["heights"]

    def test_the_result_does_the_same_with_lower_tables(self):
        path = self.write("p.tir", self.TEXT)
        done = self.trident("build", path, "--input", "100", "--explain", "--json")
        found = json.loads(done.stdout)
        self.assertEqual(self.at("p.tasm"), found["output"])
        self.assertLess(found["after"]["padded"], found["before"]["padded"])
        for value in (0, 1, 2, 50, 100):
            self.assertEqual([sum(i * i for i in range(value))], self.outputs(path, value)[0])
            self.assertEqual([sum(i * i for i in range(value))], self.outputs(self.at("p.tasm"), value)[0])
        after = self.outputs(self.at("p.tasm"), 100)[1]
        self.assertEqual(after, {table: found["after"][table] for table in after})
        again = self.trident("build", self.at("p.tasm"), "--input", "100", "--explain")
        self.assertIn("decides", again.stdout)
        self.assertIn("p.opt.tasm", again.stdout)
        self.assertIn("superoptimiser:", again.stdout)

    def test_a_daemon_builds_the_same(self):
        path = self.write("p.tir", self.TEXT)
        socket = private_daemon(self)
        found = json.loads(self.trident("build", path, "--input", "100", "--json", "--socket", socket).stdout)
        self.assertEqual("daemon", found["built_by"])
        self.assertLess(found["after"]["padded"], found["before"]["padded"])
        self.assertEqual([sum(i * i for i in range(50))], self.outputs(self.at("p.tasm"), 50)[0])
        here = json.loads(self.trident("build", path, "--input", "100", "--json", "--mode", "embedded").stdout)
        self.assertEqual("embedded", here["built_by"])
        self.assertEqual(here["after"], found["after"])
        self.assertIn("nobody.sock", self.trident("build", path, "--input", "9", "--mode", "daemon", status=1).stderr)
        for nothing in ("/", path, path + "/x", "/tmp/" + "x" * 120):  # no socket, or none that can be trusted or reached
            self.assertEqual(here, json.loads(self.trident("build", path, "--input", "100", "--json", "--socket", nothing).stdout))

    def test_programs_too_long_for_a_message(self):
        """Said at once, with the limit and the mend; auto builds by itself, within the time that it was given."""
        socket = private_daemon(self)
        for text in ("push 1 pop 1 " * 100_000 + "halt", "push 1 " * 100_000 + "halt"):  # as given, as printed
            path = self.write("p.tasm", text)
            begun = time.monotonic()
            said = self.trident("build", path, "--mode", "daemon", "--socket", socket, "--ms", "60000", status=2).stderr
            self.assertLess(time.monotonic() - begun, 20)
            self.assertRegex(said, r"p\.tasm: .* bytes, .*; --mode embedded takes programs of up to 524288 words")
        found = json.loads(self.trident("build", path, "--socket", socket, "--ms", "1000", "--json").stdout)
        self.assertEqual("embedded", found["built_by"])

    def test_programs_that_are_too_large_are_refused_at_once(self):
        path = self.write("p.tasm", "halt\n" * 2_000_000)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for mode in ("auto", "embedded", "daemon"):
            said = self.trident("build", path, "--mode", mode, status=2).stderr
            self.assertIn("p.tasm: the program has 2000000 words; a program to build has at most 524288", said)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, 6)

    def test_several_runs(self):
        """The table of each run is that of `run` on it; the result is taller on none."""
        path = self.write("p.tir", self.TEXT)
        runs = self.write("runs.txt", "# small\nin=3\n\n  in=700\n")
        words = self.write("words.txt", "40\n")
        built = self.trident("build", path, "--input", "100", "--run", "in=" + words, "--runs", runs, "--mode", "embedded")
        self.assertIn("run              tallest        after       padded        after\n1 ", built.stdout)
        found = json.loads(self.trident("build", path, "--input", "100", "--run", "in=" + words, "--runs", runs, "--json",
                                        "--mode", "embedded").stdout)
        self.assertEqual(4, len(found["runs"]))
        for value, run in zip((100, 40, 3, 700), found["runs"]):
            heights = self.outputs(self.at("p.tasm"), value)[1]
            self.assertEqual(heights, {table: run["after"][table] for table in heights})
            self.assertLessEqual(run["after"]["padded"], run["before"]["padded"])
        self.assertEqual(found["after"], found["runs"][0]["after"])
        alone = json.loads(self.trident("build", path, "--run", "in=3", "--json", "--mode", "embedded").stdout)
        self.assertEqual(1, len(alone["runs"]))
        everything = self.write("q.tasm", "read_io 2 divine 1 push 10 read_mem 1 pop 1 push 20 read_mem 1 pop 1 "
                                "push 11 read_mem 1 pop 1 write_io 5 write_io 1 push 1 push 0 push 0 push 0 push 0 push 0 "
                                "merkle_step halt")
        self.trident("build", everything, "--run", "in=1,2, secret=3,digests=1,2,3,4,5 ram=10=7,8,20=9", "--mode", "embedded")

    def test_mistakes_in_runs(self):
        path = self.write("p.tir", self.TEXT)
        for text, fault in (("3", "'3': expected in=, secret=, digests= or ram= followed by words"),
                            ("out=3", "'out=3': expected"), ("in=3,x=4", "'x=4': expected"), ("in=3,,4", "a number is missing"),
                            ("in=3 digests=1", "a digest has 5"), ("ram=5", "expected address=words"),
                            ("in=none.txt", "none.txt")):
            self.assertIn(fault, self.trident("build", path, "--run", text, status=2).stderr)
        runs = self.write("runs.txt", "in=3\nin=4,\n")
        self.assertIn("runs.txt:2: run 'in=4,'", self.trident("build", path, "--runs", runs, status=2).stderr)
        self.assertIn("holds no run", self.trident("build", path, "--runs", self.write("empty.txt", "# none\n"), status=2).stderr)
        done = self.trident("build", path, "--run", "in=3", "--run", "secret=3", status=1)
        self.assertIn("this is run 2 of 2", done.stderr)
        self.assertIn("65 runs; a program is built for at most 64", self.trident("build", path, *["--run", "in=3"] * 65, status=2).stderr)

    def test_labels_behind_skiz(self):
        """Only the inputs that are built for do not skip what stands at the label."""
        for text, given, others in (
                ("push 99 read_io 1 skiz foo: call bar read_io 1 skiz call foo push 0 write_io 1 halt bar: push 7 write_io 1 push 8 write_io 1 return", "1,0", ("0,0", "0,1,0")),
                ("read_io 1 skiz foo: halt bar: push 7 write_io 1 read_io 1 skiz call foo call bar halt", "1", ("0,1",))):
            path = self.write("p.tasm", text)
            self.trident("build", path, "--input", given, "--mode", "embedded")
            for other in (given,) + others:
                outputs = [self.trident("run", self.at(p), "--input", other).stdout.splitlines()[0] for p in ("p.tasm", "p.opt.tasm")]
                self.assertEqual(outputs[0], outputs[1], text)

    def test_a_program_that_looks_at_its_digest(self):
        built = self.trident("build", self.write("p.tasm", "dup 15 write_io 1 push 3 push 4 add pop 1 halt"), "--mode", "embedded")
        self.assertIn("depends on its own digest", built.stderr)
        self.assertNotIn("digest", self.trident("build", self.write("q.tasm", "push 3 push 4 add write_io 1 halt"), "--mode", "embedded").stderr)

    def test_the_result_can_be_built_again(self):
        piece = "dup 1 push 11 mul addi 13 push 17 mul addi 19 push 23 mul write_io 1 dup 0 dup 1 eq assert error_id 5\n"
        text = "read_io 2\n" + "call shared__2\n" * 3 + "".join(f"addi {i}\n{piece}" for i in range(7)) + \
            "call foo call foo halt shared__2: push 101 write_io 1 push 201 write_io 1 push 301 mul push 21 write_io 1 return foo: addi 1\ninner: mul return"
        path = self.write("p.tasm", text)
        for _ in range(2):
            found = json.loads(self.trident("build", path, "--input", "3,5", "--mode", "embedded", "--ms", "1000", "--json").stdout)
            path = found["output"]
        self.assertEqual(*(self.trident("run", p, "--input", "3,6").stdout.splitlines()[0] for p in (self.at("p.tasm"), path)))

    def test_the_number_of_an_assertion_follows_it(self):
        """Two assertions that can fail, with different numbers, in code that is shortened around them; built twice."""
        text = ("read_io 2\ncall check\nwrite_io 1\nhalt\ncheck:\ndup 1 push 3 push 0 add eq assert error_id 41\n"
                "swap 1 swap 1 dup 0 push 1 add push 6 eq assert error_id 42\nadd return\n")
        path = self.write("p.tasm", text)
        for _ in range(2):
            built = self.trident("build", path, "--input", "3,5", "--mode", "embedded", "--ms", "1000", "--json").stdout
            path = json.loads(built)["output"]
            self.assertEqual([8], self.outputs(path, "3,5")[0])
            self.assertIn("error_id 41", self.trident("run", path, "--input", "4,5", status=1).stderr.splitlines()[0])
            self.assertIn("error_id 42", self.trident("run", path, "--input", "3,6", status=1).stderr.splitlines()[0])
        self.assertLess(json.loads(built)["after"]["words"], 31)

    def test_stages_can_be_left_out(self):
        path = self.write("p.tir", self.TEXT)
        plain = json.loads(self.trident("build", path, "--input", "9", "--json", "--disable", "peepholes",
                                        "--disable", "subroutines", "--disable", "superoptimiser",
                                        "--disable", "network").stdout)
        self.assertEqual(plain["before"], plain["after"])
        self.assertEqual([], plain["proposers"])

    def test_mistakes(self):
        path = self.write("p.tir", self.TEXT)
        done = self.trident("build", path, status=1)
        self.assertIn("p.tir:1:1: EmptyPublicInput", done.stderr)
        self.assertIn("give inputs with which the program ends without an error", done.stderr)
        self.assertFalse(os.path.exists(self.at("p.tasm")))
        self.assertIn("would overwrite the program", self.trident("build", path, "--input", "3", "-o", path, status=2).stderr)
        self.assertIn("cannot be written", self.trident("build", path, "--input", "3", "-o", self.at("none/p.tasm"), status=1).stderr)


class RunOfAProgram(CommandCase):
    def test_all_rows_of_the_real_machine(self):
        rows = [json.loads(line) for line in oracle_lines("oracle.jsonl").splitlines()]
        some = [row for i, row in enumerate(rows) if i % 25 == 0 or row["category"] in ("error", "sponge")]
        for row in some:
            if len(row["secret_digests"]) > 20:
                continue
            arguments = ["--json"]
            for option, key in (("--input", "public_input"), ("--secret", "secret_input")):
                arguments += [option, ",".join(map(str, row[key]))] if row[key] else []
            for digest in row["secret_digests"]:
                arguments += ["--digests", ",".join(map(str, digest))]
            for address, word in row["ram"]:
                arguments += ["--ram", f"{address}={word}"]
            path = self.write("p.tasm", row["program"])
            error = row.get("error")
            done = self.trident("run", path, *arguments, status=2 if error == "parse_error" else 1 if error else 0)
            if error == "parse_error":
                self.assertIn("p.tasm:1:", done.stderr)
                continue
            found = json.loads(done.stdout)
            self.assertEqual(row["final_stack"], found["stack"], row["name"])
            self.assertEqual(row["expected_output"], found["output"], row["name"])
            self.assertEqual(row["program_digest"], found["digest"], row["name"])
            if error:
                self.assertTrue(error.startswith(found["failure"].rstrip(")")), row["name"])
                self.assertIn(f"p.tasm:1:", done.stderr)
            else:
                self.assertEqual(row["heights"], found["heights"], row["name"])
                self.assertEqual(row["padded_height"], found["padded_height"], row["name"])
        self.assertGreater(len(some), 60)

    def test_text(self):
        path = self.write("p.tasm", "read_io 2\n  add\n  write_io 1\n  halt\n")
        numbers = self.write("numbers.txt", "5\n-1\n")
        for value in ("5,-1", "5 -1", numbers):
            lines = self.trident("run", path, "--input", value).stdout.splitlines()
            self.assertEqual("output 4", lines[0])
            self.assertEqual("cycles 4, words 6", lines[2])
            self.assertIn("lookup             256  decides", lines)
            self.assertEqual("padded             256", lines[-1])
        done = self.trident("run", path, "--input", "5", status=1)
        self.assertIn(f"{path}:1:1: EmptyPublicInput: the public input is used up\n  read_io 2\n  ^", done.stderr)
        path = self.write("q.tasm", "push 1\npush 3 assert error_id 17\nhalt")
        self.assertIn("q.tasm:2:8: AssertionFailed: the top of the stack is not 1: it is 3 (error_id 17)",
                      self.trident("run", path, status=1).stderr)
        self.assertIn("CycleLimit", self.trident("run", self.write("l.tasm", "call f f: recurse"), "--cycles", "1000", status=1).stderr)

    def test_mistakes(self):
        path = self.write("p.tasm", "halt")
        for arguments, message in ((("--input", "x"), "x: cannot be read: there is no such file"), (("--input", "5-"), "'5-' is no integer"),
                                   (("--secret", "18446744069414584321"), "is no integer above -p and below p"),
                                   (("--digests", "1,2,3"), "3 words, but a digest has 5"), (("--ram", "5"), "address=words"),
                                   (("--secret", "1,,2"), "--secret 1,,2: a number is missing before a comma"),
                                   (("--secret", ",1"), "a number is missing before a comma"),
                                   (("--digests", "1,2,3,4,5, "), "a number is missing after the last comma"),
                                   (("--input", self.write("list", "1,\n,2")), "a number is missing before a comma"),
                                   (("--ram", "5="), "--ram 5=: no words for the address"),
                                   (("--ram", "0=7,8", "--ram", "1=5"), "--ram 1=5: address 1 has a word already"),
                                   (("--ram", "5=1,"), "a number is missing after the last comma"),
                                   (("--input", self.folder.name), self.folder.name + ": is a folder, not a file"),
                                   (("--n", "3"), "--n is about expressions"), (("--csv", "-"), "--csv is about expressions")):
            self.assertIn(message, self.trident("run", path, *arguments, status=2).stderr)
        self.assertIn("--secret is about programs", self.trident("run", "x", "--secret", "5", status=2).stderr)
        self.assertIn("no such file", self.trident("run", self.at("none.tasm"), status=2).stderr)
        os.mkdir(self.at("d.tasm"))
        for verb in ("run", "profile", "build", "lower"):
            self.assertIn("d.tasm: is a folder, not a file", self.trident(verb, self.at("d.tasm"), status=2).stderr)

    def test_fuzz_equiv_keeps_to_its_cycles(self):
        ends, turns = self.write("e.tasm", "call f halt f: push 1 write_io 1 return"), self.write("t.tasm", "call f halt f: recurse")
        few = self.trident("fuzz-equiv", turns, ends, "--cycles", "1000", "--samples", "3").stdout
        self.assertIn("3 undecided: 1000 cycles (--cycles) were too few to tell", few)
        enough = self.trident("fuzz-equiv", turns, ends, "--cycles", "20000", "--samples", "3", status=1).stdout
        self.assertIn("only the second ends, after 5 cycles: the first has not ended after 20000", enough)

    def test_lists_of_words(self):
        path = self.write("p.tasm", "read_io 4 write_io 4 halt")
        for words in ("1,2,3,4", "1 2 3 4", "1, 2 ,3\t4", self.write("list", "1\n2,\n3\n\n4\n")):
            self.assertTrue(self.trident("run", path, "--input", words).stdout.startswith("output 4 3 2 1\n"), words)
        self.trident("run", self.write("h.tasm", "halt"), "--input", "", "--secret", " ")


class ProfileOfAProgram(CommandCase):
    TEXT = ("read_io 1 call loop halt\n"
            "loop: dup 0 push 0 eq skiz return\n"
            "  addi -1 call f recurse\n"
            "f: push 9 split pop 2 return\n")

    def test_rows_are_where_they_are_made(self):
        path = self.write("p.tasm", self.TEXT)
        svg = self.at("p.svg")
        found = json.loads(self.trident("profile", path, "--input", "3", "--svg", svg, "--json").stdout)
        by_name = {row["name"]: row for row in found["subroutines"]}
        self.assertEqual([1, 1, 3], [by_name[name]["calls"] for name in ("(begin)", "loop", "f")])
        self.assertEqual(12, by_name["f"]["own"]["processor"])
        self.assertEqual(4 * 4 + 1 + 3 * 3, by_name["loop"]["own"]["processor"])
        self.assertEqual(found["cycles"], by_name["(begin)"]["with_calls"]["processor"])
        # bits of 9, and one, once: the others find the entry
        self.assertEqual(5, by_name["f"]["own"]["u32"])
        lines = {row["line"]: row["own"]["processor"] for row in found["lines"]}
        self.assertEqual({1: 3, 2: 17, 3: 9, 4: 12}, lines)
        for table, rows in found["heights"].items():
            self.assertEqual(rows, found["text"][table] + sum(path["own"][table] for path in found["paths"]), table)
        self.assertEqual([None, "(begin)", "loop"], [row["parent"] if row["parent"] is None else
                                                     found["paths"][row["parent"]]["name"] for row in found["paths"]])
        with open(svg) as handle:
            self.assertIn("loop: ", handle.read())

    def test_the_order_is_by_the_table_asked_for(self):
        path = self.write("p.tasm", self.TEXT)
        text = self.trident("profile", path, "--input", "3", "--table", "u32", "--top", "1").stdout
        self.assertRegex(text, r"own +source\n4 +5 100.0 %  f: push 9 split pop 2 return")
        self.assertIn("and 3 more lines (--top)", text)

    def test_a_long_program_takes_little_memory(self):
        count = 150_000
        path = self.write("long.tasm", "push 1 pop 1\n" * count + "halt\n")
        done = subprocess.run(["bash", "-c", 'ulimit -v 300000; exec "$0" "$@"', TRIDENT, "profile", path, "--json"],
                              capture_output=True, text=True, timeout=100, env=self.environment, check=False)
        self.assertEqual(0, done.returncode, done.stderr[-1000:])
        found = json.loads(done.stdout)
        self.assertEqual(2 * count + 1, sum(line["own"]["processor"] for line in found["lines"]))
        self.assertEqual(list(range(1, count + 1)), [line["line"] for line in found["lines"][:count]])

    def test_failures_are_told(self):
        path = self.write("p.tasm", self.TEXT)
        self.assertIn("p.tasm:1:1: EmptyPublicInput", self.trident("profile", path, status=1).stderr)
        self.assertIn("no such file", self.trident("profile", self.at("none.tasm"), status=2).stderr)
        self.trident("profile", path, "--table", "nonsense", status=2)


class Example(CommandCase):
    def test_the_document_shows_what_the_command_prints(self):
        with open(os.path.join(ROOT, "jit/tir/EXAMPLE.md"), encoding="utf-8") as handle:
            blocks = handle.read().split("```\n")[1::2]
        self.write("squares.tasm", blocks[0])
        self.write("squares.tir", next(block for block in blocks if "loop {" in block))
        commands = 0
        for block in blocks:
            if block.startswith("$ trident "):
                commands += 1
                command, expected = block.split("\n", 1)
                printed = self.trident(*command.split()[2:], cwd=self.folder.name).stdout
                printed = "".join(line.rstrip() + "\n" for line in printed.splitlines())
                pattern = "(.*\n)*".join(re.escape(part) for part in expected.split("...\n"))
                self.assertRegex(printed, f"\\A{pattern}\\Z", command)
        self.assertEqual(5, commands)
        self.assertEqual("output 247065", self.trident("run", self.at("squares.tir"), "--input", "90").stdout.splitlines()[0])


class Attacks(CommandCase):
    """Texts and options as somebody gives them who is mistaken or means harm."""
    VERBS = ("lower", "run", "profile", "build")
    # One long block: the search for a shorter one takes many seconds.
    LONG = "\n".join(f"read_io 1\ndup {i % 13 + 1} mul dup {i % 11} add swap {i % 14 + 1} dup {i % 7} add" for i in range(60)) + "\nhalt\n"
    LONG_INPUT = ",".join(str(i + 2) for i in range(60))

    def test_texts_that_are_no_programs(self):
        for name, data, place in (("empty.tir", b"", "1:1: a program begins with operations"),
                                  ("binary.tir", bytes(range(255, 0, -1)), "1:1: this is not UTF-8"),
                                  ("binary.tasm", bytes(range(255, 0, -1)), "1:1: this is not UTF-8"),
                                  ("nul.tir", b"halt\0 ", "1:1: there is no operation 'halt?'"),
                                  ("nul.tasm", b"halt\0 ", "1:5: expected a blank"),
                                  ("escape.tir", b"\x1b[2J halt", "1:1: there is no operation '?[2J'"),
                                  ("long.tir", b"x" * 3_000_000, "1:1: there is no operation 'xxx"),
                                  ("deep.tir", b"push 1 if { " * 100_000, "1:779: bodies are nested more than 64 deep"),
                                  ("open.tir", b"fn f { push 1", "1:1: this has no end")):
            with open(self.at(name), "wb") as handle:
                handle.write(data)
            for verb in self.VERBS:
                errors = self.trident(verb, self.at(name), status=2).stderr
                self.assertIn(f"{name}:{place}", errors)
                self.assertLess(len(errors), 1000)
                self.assertNotRegex(errors, "[\0\x1b]")
        os.mkdir(self.at("folder.tasm"))
        for verb in self.VERBS:
            self.assertIn("is a folder, not a file", self.trident(verb, self.at("folder.tasm"), status=2).stderr)
        self.assertEqual([], [name for name in os.listdir(self.folder.name) if "opt" in name])

    def test_an_empty_tasm_has_no_halt(self):
        for verb in self.VERBS[1:]:
            self.assertIn("InstructionPointerOverflow", self.trident(verb, self.write("p.tasm", ""), status=1).stderr)

    def test_large_texts(self):
        path = self.write("p.tir", "push 1 pop 1\n" * 200_000 + "asm 0 { nop }\n" * 50_000 + "push 7 write_io 1 halt")
        self.assertEqual("    push 7\n    write_io 1\n    halt\n", self.trident("lower", path).stdout)
        self.assertEqual("output 7", self.trident("run", path).stdout.splitlines()[0])

    def test_build_keeps_to_its_time(self):
        path = self.write("p.tasm", self.LONG)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.trident("build", path, "--input", self.LONG_INPUT, "--mode", "embedded", "--ms", "200")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, 2)
        for limit in (("--ms", "0"), ("--programs", "0"), ("--ms", "4294967295", "--programs", "1")):
            found = json.loads(self.trident("build", path, "--input", self.LONG_INPUT, "--mode", "embedded", "--json", *limit).stdout)
            self.assertLessEqual(found["after"]["padded"], found["before"]["padded"])
            self.assertLessEqual(found["programs_run"], 3)

    def test_an_interrupted_build_leaves_nothing(self):
        path = self.write("p.tasm", self.LONG)
        child = subprocess.Popen([TRIDENT, "build", path, "--input", self.LONG_INPUT, "--mode", "embedded", "--ms", "200000"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
        self.assertEqual((130, ""), (child.returncode, output), errors)
        self.assertFalse(os.path.exists(self.at("p.opt.tasm")))

    def test_a_build_that_nobody_waits_for_does_not_hold_up_others(self):
        text, numbers = self.LONG.replace("halt\n", "") * 10 + "halt\n", ",".join([self.LONG_INPUT] * 10)  # minutes
        path, small = self.write("p.tasm", text), self.write("s.tasm", "push 2 push 3 add write_io 1 halt")
        socket = private_daemon(self)
        by_daemon = ("--mode", "daemon", "--socket", socket)
        for end in (signal.SIGINT, signal.SIGKILL):
            child = subprocess.Popen([TRIDENT, "build", path, "--input", numbers, "--ms", "600000", *by_daemon],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment)
            time.sleep(2)
            self.assertIsNone(child.poll())
            child.send_signal(end)
            self.assertEqual(130 if end == signal.SIGINT else -end, child.wait(60))
            begin = time.monotonic()
            found = json.loads(self.trident("build", small, "--json", "--ms", "1000", *by_daemon).stdout)
            self.assertLess(time.monotonic() - begin, 20)
            self.assertEqual("daemon", found["built_by"])
            self.assertEqual("output 5", self.trident("run", found["output"]).stdout.splitlines()[0])

    def test_where_the_result_goes(self):
        os.mkdir(self.at("v1.2"))
        self.write("v1.2/program", "halt")
        self.trident("build", self.at("v1.2/program"), "--mode", "embedded")
        self.assertEqual(["program", "program.tasm"], sorted(os.listdir(self.at("v1.2"))))
        path = self.write("p.tasm", "halt")
        self.assertIn("cannot be written", self.trident("build", path, "-o", "/dev/full", status=1).stderr)
        self.assertEqual("    halt\n", self.trident("build", path, "-o", "-").stdout)

    def test_prefilled_ram_and_the_own_digest(self):
        text = "push 5 read_mem 1 pop 1 push 1 mul push 3 push 4 add add write_io 1 halt"
        for name, given, status in (("ram.tasm", text, 0), ("digest.tasm", "dup 15 push 2 push 3 add push 4 pop 2 pop 1 halt", 0),
                                    ("asserts.tasm", "dup 15 push 1 eq push 0 eq assert push 2 push 3 add pop 1 halt", 0),
                                    ("prefilled.tasm", "push 5 read_mem 1 pop 1 push 7 eq assert halt", 1)):
            path = self.write(name, given)
            self.trident("build", path, "--ram", "5=7" if status == 0 else "5=8", status=status)
            if status == 0:
                built = path.replace(".tasm", ".opt.tasm")
                outputs = [self.trident("run", p, "--ram", "5=7").stdout.splitlines()[0] for p in (path, built)]
                self.assertEqual(outputs[0], outputs[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
