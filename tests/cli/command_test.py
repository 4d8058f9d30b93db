"""The trident command from outside: command_test.py TRIDENT TRIDENTD."""
import json
import math
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command_case import ROOT, TRIDENT, TRIDENTD, CommandCase, file_size_limit

# Its search takes longer than a command waits between two drawings.
LONG = " + ".join(f"sin(x*{i})*exp(x/{i})" for i in range(1, 13))
TSV = "# a comment\nsum2\tx:1:2,y:1:2\tx + 2*y\nwave\tx:-3:3\tsin(x)*x\n"
SEXP = ";; two kernels\n(kernel half\n :slice bench\n :vars ((x 1 2))\n :body (/ x 2))\n"
PINNED = {"g++-12 libmvec", "g++-12", "clang-19 libmvec", "clang-19"}
VERBS = ("run", "bench", "explain", "disasm", "doctor", "demo", "parse", "print", "check", "dot", "rewrite", "rules",
         "profile", "build", "lower", "loop", "library", "stdlib", "test", "oracle", "fuzz-equiv", "calibrate", "train", "weights", "stats", "top", "completion", "manual")
PROSE_LINES_MAX = 10
COLUMNS_MAX = 100


class Command(CommandCase):
    # --- help ---------------------------------------------------------------------------------------------------------

    def help_of(self, *command):
        return self.trident(*command, "--help").stdout

    @staticmethod
    def without_escapes(text):
        for escape, character in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\(dq", '"'),
                                  (r"\fB", ""), (r"\fR", ""), (r"\&", ""), (r"\e", "\\")):
            text = text.replace(escape, character)
        return text

    def page(self, name):
        return self.without_escapes(self.trident("manual", name).stdout)

    def pages(self):
        return [line.split()[0] for line in self.trident("manual").stdout.splitlines()]

    def commands(self):
        """Lists the words of every verb and part. Their own help says which parts there are."""
        found = []
        for verb in VERBS:
            parts = re.findall(r"(?m)^  ([\w-]+)", self.help_of(verb).partition("\nSubcommands:\n")[2].partition("\n\n")[0])
            found += [(verb,)] + [(verb, part) for part in parts]
        return found

    @staticmethod
    def prose_and_example(text):
        """Splits what stands below the options: lines of prose, and lines of the example."""
        prose, _, example = text.rpartition("\nExample:\n")
        return prose.rstrip("\n").split("\n\n")[-1].splitlines(), example.partition("\n\n")[0].splitlines()

    def examples(self, name):
        return re.findall(r"(?m)^(trident .*)$", self.page(name).partition(".SH EXAMPLES")[2].partition(".SH")[0])

    def test_help_lists_options_then_a_summary_and_one_example(self):
        overview = self.help_of()
        for verb in VERBS:
            self.assertRegex(overview, rf"(?m)^  {verb} +[A-Z]")
        self.assertLess({("train", "guide"), ("train", "judge"), ("train", "daemon"), ("rules", "check"), ("oracle", "tir"),
                         ("oracle", "loops"), ("weights", "rollback")}, set(self.commands()))
        for command in [()] + self.commands():
            text = self.help_of(*command)
            self.assertIn(" ".join(("Usage: trident", *command)), text)
            self.assertLessEqual(max(len(line) for line in text.splitlines()), COLUMNS_MAX, text)
            prose, example = self.prose_and_example(text)
            self.assertTrue(1 <= len(prose) <= PROSE_LINES_MAX, text)
            self.assertEqual(1, len(example), text)
            self.assertTrue(example[0].startswith("  trident "), text)
            self.assertTrue(text.rstrip().endswith(f"`man {'-'.join(('trident', *command))}` says more."), text)

    def test_summaries_are_one_short_paragraph(self):
        folder = os.path.join(ROOT, "clients/cli/pages")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as handle:
                summary = re.match(r"SUMMARY\n((?:.+\n)+)\nEXAMPLE\n  .+\n(?:\n[A-Z]|$)", handle.read())
            self.assertIsNotNone(summary, name)
            self.assertLessEqual(summary.group(1).count("\n"), PROSE_LINES_MAX, name)
        self.assertLessEqual({verb + ".txt" for verb in VERBS}, set(os.listdir(folder)))

    def test_help_of_the_daemon_has_the_same_form(self):
        text = subprocess.run([TRIDENTD, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertLessEqual(max(len(line) for line in text.splitlines()), COLUMNS_MAX, text)
        prose, example = self.prose_and_example(text)
        self.assertLessEqual(len(prose), PROSE_LINES_MAX)
        self.assertEqual(1, len(example))
        subprocess.run(example[0].replace("tridentd", TRIDENTD, 1) + " --config none", shell=True, check=True, timeout=60,
                       capture_output=True, env=self.environment)
        page = subprocess.run([TRIDENTD, "--manual"], capture_output=True, text=True, timeout=60, check=True).stdout
        for option in self.options_in(text):
            self.assertRegex(self.without_escapes(page), rf"(?m)^\.B (?:-\w,)?{option}\b")
        self.assertTrue(page.startswith(".TH tridentd 8 "))

    def test_every_verb_and_part_has_a_page_with_every_option(self):
        self.assertEqual(sorted(["trident"] + ["-".join(("trident", *command)) for command in self.commands()]),
                         sorted(self.pages()))
        for command in self.commands():
            page, text = self.page("-".join(command)), self.help_of(*command)
            for option in self.options_in(text):
                self.assertRegex(page, rf"(?m)^\.B (?:-\w,)?(?:--\w+,)?{option}\b", command)
            self.assertIn("".join(self.prose_and_example(text)[1]).strip(), page)
            self.assertIn(f"trident {' '.join(command)}", page.partition(".SH SYNOPSIS")[2].partition(".SH")[0])
        self.assertEqual(self.trident("manual", "train", "guide").stdout, self.trident("manual", "trident-train-guide").stdout)
        self.assertIn("did you mean 'rewrite'", self.trident("manual", "rewrit", status=2).stderr)

    def test_pages_are_written_to_a_folder(self):
        self.trident("manual", "--folder", self.at("share/man1"))
        self.assertEqual(sorted(name + ".1" for name in self.pages()), sorted(os.listdir(self.at("share/man1"))))
        with open(self.at("share/man1/trident-run.1"), encoding="utf-8") as handle:
            self.assertEqual(self.trident("manual", "run").stdout, handle.read())
        self.assertIn("cannot be written", self.trident("manual", "--folder", "/dev/null/x", status=1).stderr)

    @unittest.skipUnless(shutil.which("groff"), "nothing can read the pages: groff is missing (package groff-base)")
    def test_groff_reads_every_page(self):
        for name in self.pages():
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=self.trident("manual", name).stdout,
                                  capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual("", done.stderr, name)

    def test_examples_of_every_page_parse(self):
        """An option that nobody knows is the only complaint: CLI11 looks at all others before it."""
        for name in self.pages():
            examples = self.examples(name)
            self.assertNotEqual([], examples, name)
            for line in examples:
                words = shlex.split(re.split(r" [|<>] ", line)[0])[1:]
                stderr = self.trident(*words, "--nonsense", status=2, cwd=ROOT).stderr
                self.assertRegex(stderr, r"^trident: `trident( [a-z-]+)*` has no option --nonsense\n", line)

    def test_examples_of_run_print_and_explain_work(self):
        samples = self.write("samples.txt", "1 2\n3,4\n")
        program = self.write("hash.tasm", "read_io 3 divine 1 add add add push 101 read_mem 2 pop 1 add add write_io 1 halt\n")
        for verb in ("run", "print", "parse", "check", "dot", "manual", "disasm"):
            for line in self.examples(verb):
                if "- <" in line or "| " in line or "kernel.image" in line:
                    continue
                command = line.replace("trident", TRIDENT, 1).replace("samples.txt", samples).replace("hash.tasm", program)
                if "--tier" in line:
                    command += " --timeout-ms 60000"  # for a busy machine
                done = subprocess.run(command, shell=True, env=self.environment, capture_output=True, text=True, timeout=90,
                                      check=False, cwd=self.folder.name)
                self.assertEqual(0, done.returncode, line + done.stderr)

    def test_unknown_verbs_and_options(self):
        self.assertIn("did you mean 'bench'", self.trident("bnech", status=2).stderr)
        self.assertIn("--help", self.trident(status=2).stderr)
        self.assertIn("--nonsense", self.trident("run", "x", "--nonsense", status=2).stderr)

    # --- run ----------------------------------------------------------------------------------------------------------

    def test_run_computes(self):
        rows = self.trident("run", "exp(x) + y*s", "-i", "x=0:1", "-i", "y=1,2,3,4,5", "-i", "s=10", "-s", "s",
                            "--csv", "-").stdout.splitlines()
        self.assertEqual(6, len(rows))
        for i, row in enumerate(rows[1:]):
            self.assertAlmostEqual(math.exp(i / 4) + (i + 1) * 10, float(row), delta=1e-13 * abs(float(row)))

    def test_run_reads_and_writes_files(self):
        numbers = self.write("numbers.txt", "1, 2\n3;4 5\n")
        self.trident("run", "x*x", "-i", "x=" + numbers, "--csv", self.at("out.csv"))
        with open(self.at("out.csv"), encoding="utf-8") as handle:
            self.assertEqual([1, 4, 9, 16, 25], [float(v) for v in handle.read().split()[1:]])

    def test_run_says_where_a_text_is_wrong(self):
        self.assertRegex(self.trident("run", "sin(x", status=2).stderr, r"1:6: .*\n  sin\(x\n +\^")
        self.assertIn("'two'", self.trident("run", "x", "-i", "x=1,two", status=2).stderr)
        self.assertIn("no variable 'z'", self.trident("run", "x", "-i", "z=1", status=2).stderr)
        self.assertIn("f16", self.trident("run", "x", "-i", "x=1", "--type", "f16", status=2).stderr)
        self.assertIn("sse", self.trident("explain", "x", "--isa", "sse", status=2).stderr)
        self.assertIn("bounded:0", self.trident("explain", "x", "--policy", "bounded:0", status=2).stderr)

    def test_run_reads_tables(self):
        for mode in ("interp", "embedded"):
            csv = self.trident("run", "j: i64; t[2*index + 1] - t[j]", "-i", "t=1,4,9,16,25", "-i", "j=0,7,2", "--mode", mode,
                               "--csv", "-").stdout.split()
            self.assertEqual([3, 16, -9], [float(v) for v in csv[1:]])
        self.assertIn("as long as", self.trident("run", "t[index]", "-i", "t.length=3", status=2).stderr)
        self.assertIn("table t", self.trident("explain", "t[index]*x").stdout)

    def test_integers_stay_among_integers(self):
        for mode in ("interp", "embedded"):
            for text, wanted in (("floor(i), ceil(i), round(i), rint(i), trunc(i)", ["9007199254740993"] * 5),
                                 ("fma(i, j, j), fdim(i, j), copysign(i, -j)",
                                  ["90071992547409940", "9007199254740983", "-9007199254740993"])):
                csv = self.trident("run", "i: i64; j: i64; " + text, "-i", "i=9007199254740993", "-i", "j=10", "-n", "1",
                                   "--mode", mode, "--csv", "-").stdout
                self.assertEqual(wanted, csv.splitlines()[1].split(","))
        for text in ("i: i64; j: i64; i%j", "i: i64; fmod(i, 10)", "i: i32; remainder(i, 3)", "(fmod i:i64 3)"):
            self.assertIn("integers have no remainder: cast an operand with f64(...) first",
                          self.trident("run", text, status=2).stderr)
        self.assertIn("2^53", self.trident("parse", "--help").stdout)

    def test_unsupported_fpcores_end_as_check_says(self):
        for core, why in (("(FPCore (x) (while (< x 3) ((x 0 (+ x 1))) x))", "loops"), ("(FPCore (x) (tgamma x))", "no kernel code"),
                          ("(FPCore (x) :precision binary16 x)", "binary32 and binary64 have kernels"),
                          ("(FPCore (x) :round toPositive (/ x 3))", "kernels round by nearestEven only")):
            for verb in ("run", "check"):
                stderr = self.trident(verb, core, status=2).stderr
                self.assertIn(why, stderr)
                self.assertRegex(stderr, r":1:\d+: [^\n]*\n  [^\n]*\n +\^")

    def test_a_scalar_has_one_value(self):
        self.assertIn("x = 2\n", self.trident("run", "x", "-s", "x", "-i", "x=2", "-n", "1").stdout)
        for values, found in (("1,2", "2 values"), ("0:1", "a range"), (self.write("two.txt", "3 4 5"), "3 values")):
            self.assertIn(f"'x' is a scalar: expected one value, found {found}",
                          self.trident("run", "x*y", "-s", "x", "-i", "x=" + values, "-i", "y=1", status=2).stderr)

    def test_missing_operands_and_names_that_are_none(self):
        self.assertIn("1:2: 'add' is an operation", self.trident("run", "(add)", status=2).stderr)
        stderr = self.trident("run", b"x + y\xff*2", status=2).stderr
        self.assertIn("1:6: a name holds bytes that are not UTF-8\n  x + y?*2\n       ^", stderr)

    # --- every option has an effect, and no verb has one that has none ------------------------------------------------

    def options_of(self, verb):
        return self.options_in(self.help_of(verb))

    @staticmethod
    def options_in(text):
        return set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", text)) - {"--help"}

    def test_what_an_argument_is_when_it_is_no_text(self):
        for verb in ("explain", "disasm", "parse"):
            self.assertIn(": is a folder, not a file", self.trident(verb, self.folder.name, status=2).stderr)
            self.assertIn("/dev/null:1:1: the text ends where an expression", self.trident(verb, "/dev/null", status=2).stderr)
            self.assertIn("there is no such file", self.trident(verb, self.at("none.txt"), status=2).stderr)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.at("listener"))
        self.assertIn("is neither a file nor an expression", self.trident("parse", self.at("listener"), status=2).stderr)
        self.assertIn("the text is longer than", self.trident("parse", "/dev/zero", status=2).stderr)
        for folder in (".", "..", "folder/inner"):
            os.makedirs(self.at("folder/inner"), exist_ok=True)
            self.assertIn(f"{folder}: is a folder, not a file", self.trident("parse", folder, status=2, cwd=self.folder.name).stderr)
        self.assertIn("array folder: f64", self.trident("parse", "folder", cwd=self.folder.name).stdout)

    def test_fifos_are_not_waited_for(self):
        for name in ("pipe", "pipe.tasm", "pipe.tir"):
            os.mkfifo(self.at(name))
        pipe, program = self.at("pipe"), self.write("p.tasm", "halt")
        for arguments in (("rewrite", pipe), ("bench", pipe), ("demo", "--corpus", pipe), ("run", "x", "-i", "x=" + pipe),
                          ("parse", pipe), ("print", pipe), ("check", pipe), ("dot", pipe), ("explain", pipe), ("disasm", pipe),
                          ("rules", "check", pipe), ("rewrite", self.write("k.tsv", TSV), "--load-rules", pipe),
                          ("run", self.at("pipe.tasm")), ("build", self.at("pipe.tir")), ("lower", self.at("pipe.tir")),
                          ("profile", self.at("pipe.tasm")), ("fuzz-equiv", program, self.at("pipe.tasm")),
                          ("run", program, "--input", pipe), ("build", program, "--input", pipe),
                          ("profile", program, "--secret", pipe), ("profile", program, "--digests", pipe),
                          ("run", program, "--ram", "1=" + pipe)):
            self.assertIn("is a FIFO, not a regular file", self.trident(*arguments, status=2, timeout=20).stderr, arguments)
        os.mkdir(self.at("folder.tasm"))
        for arguments in (("rewrite", self.folder.name), ("rules", "check", self.folder.name), ("run", self.at("folder.tasm")), ("run", "x", "-i", "x=" + self.folder.name),
                          ("bench", self.folder.name), ("explain", self.folder.name), ("run", "x", "--csv", self.folder.name),
                          ("profile", self.at("folder.tasm")), ("run", program, "--input", self.folder.name)):
            self.assertIn("is a folder, not a file", self.trident(*arguments, status=2).stderr, arguments)

    def test_what_the_shell_has_opened_is_read(self):
        for words, said in (("parse <(echo 'x*x + 1')", "mul f64"), ("parse /dev/stdin < <(echo 'x*x + 1')", "mul f64"),
                            ("run x -i x=<(echo 1 2 3)", "min 1, max 3")):
            done = subprocess.run(["bash", "-c", f"{TRIDENT} {words}"], capture_output=True, text=True, timeout=60,
                                  env=self.environment, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(said, done.stdout)

    def test_option_values_that_are_none(self):
        tsv = self.write("k.tsv", TSV)
        for arguments in (("run", "x", "--csv", ""), ("bench", tsv, "--html", ""), ("demo", "--report", ""),
                          ("demo", "--corpus", ""), ("demo", "--daemon", "")):
            self.assertIn("expected the name of a file", self.trident(*arguments, status=2).stderr)
        for arguments in (("explain", "x", "--seed", "-1"), ("disasm", "x", "--seed=-1"), ("bench", tsv, "--seed", "-1"),
                          ("run", "x", "--n", "-1"), ("run", "x", "--head", "-1"), ("run", "x", "--tier", "baseline", "--timeout-ms", "-1"),
                          ("demo", "--timeout-ms", "-1"), ("bench", tsv, "--points", "-1"), ("rewrite", tsv, "--points", "-1"),
                          ("rewrite", tsv, "--ms", "-1"), ("rewrite", tsv, "--seed", "-1"), ("rules", "check", tsv, "--seed", "-1")):
            option = [a.split("=")[0] for a in arguments if a.startswith("--")][-1]
            self.assertIn(option, self.trident(*arguments, status=2).stderr)

    def test_help_that_cannot_be_written_is_no_success(self):
        for arguments in (("--help",), ("--version",), ("run", "--help"), ("print", "x")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([TRIDENT, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                      env=self.environment, check=False)
            self.assertEqual(1, done.returncode, arguments)
            self.assertIn("standard output cannot be written: No space left", done.stderr)

    def test_output_past_a_limit_on_file_sizes_is_an_error(self):
        with open(self.at("rules.json"), "wb") as out:
            done = subprocess.run([TRIDENT, "rules", "list", "--json"], stdout=out, stderr=subprocess.PIPE, text=True,
                                  timeout=60, env=self.environment, check=False, preexec_fn=file_size_limit(1000))
        self.assertEqual(1, done.returncode)
        self.assertIn("standard output cannot be written: File too large", done.stderr)

    def test_verbs_have_the_options_that_they_heed(self):
        text = {"--type", "--syntax", "--range", "--scalar"}
        code = {"--policy", "--isa"}
        search = {"--tier", "--n", "--seed", "--disable", "--load-rules"}
        self.assertEqual(text | {"--derivatives"}, self.options_of("parse"))
        self.assertEqual(text | {"--derivatives"}, self.options_of("check"))
        self.assertEqual(text | {"--derivatives"}, self.options_of("dot"))
        self.assertEqual(text | {"--derivatives", "--to"}, self.options_of("print"))
        self.assertEqual(text | code | search | {"--library"}, self.options_of("disasm"))
        self.assertEqual(text | code | search | {"--library", "--dump", "--stop-after", "--prove-error", "--assume", "--svg"},
                         self.options_of("explain"))
        self.assertEqual(text | code | {"--input", "--n", "--mode", "--tier", "--timeout-ms", "--csv", "--head", "--budget", "--library"} |
                         {"--secret", "--digests", "--ram", "--vm", "--cycles", "--json"}, self.options_of("run"))
        self.assertEqual(text | code | {"--n", "--points", "--kernels", "--rounds", "--quick", "--seed", "--jobs", "--json",
                                        "--html", "--no-numexpr", "--no-ranges", "--no-speculation", "--missing-max",
                                        "--geomean-max", "--transcendental-max", "--algebraic-max", "--derivatives-max", "--worst-max", "--search-gain-max",
                                        "--roof-min", "--won-min", "--optimise-median-max", "--optimise-p95-max", "--optimise-max",
                                        "--against", "--disable", "--load-rules", "--library"},
                         self.options_of("bench") - {"--runs"})
        self.assertEqual({"--corpus", "--report", "--type", "--n", "--timeout-ms", "--daemon", "--busybox"}, self.options_of("demo"))
        self.assertEqual({"--json"}, self.options_of("doctor"))
        self.assertEqual({"--ops", "--isa", "--output", "--stale", "--quick", "--json", "--kernels", "--corpus", "--seed", "--threads",
                          "--pack"}, self.options_of("calibrate"))

    def test_options_about_a_text(self):
        infix, sexpr, fpcore = "x - y*2", "(- x (* y 2))", "(FPCore (x y) (- x (* y 2)))"
        outputs = set()
        for syntax, text in (("infix", infix), ("sexpr", sexpr), ("fpcore", fpcore)):
            run = self.trident("run", text, "--syntax", syntax, "-i", "x=1:2", "-i", "y=3", "--csv", "-").stdout
            outputs.add(run.split("\n", 1)[1])
            self.assertEqual(run, self.trident("run", text, "-i", "x=1:2", "-i", "y=3", "--csv", "-").stdout)
            for verb in ("parse", "check", "print", "dot"):
                self.trident(verb, text, "--syntax", syntax)
            self.trident("explain", text, "--syntax", syntax, "--tier", "baseline")
        self.assertEqual(1, len(outputs))
        for verb in ("run", "explain", "disasm", "bench", "parse", "check", "print", "dot"):
            done = self.trident(verb, sexpr, "--syntax", "infix", *(["-i", "x=1", "-i", "y=1"] if verb == "run" else []),
                                status=2)
            self.assertIn("^", done.stderr, verb)
            self.assertIn("expected auto, infix, sexpr or fpcore",
                          self.trident(verb, infix, "--syntax", "latex", status=2).stderr, verb)
        self.assertIn("f32", self.trident("parse", "x", "-t", "f32").stdout)
        self.assertIn("scalar a", self.trident("parse", "a*x", "-s", "a").stdout)
        self.assertIn("in [1, 2]", self.trident("parse", "x", "-r", "x:1:2").stdout)
        self.assertNotIn("diff", self.trident("print", "diff(x*x, x)", "--derivatives").stdout)
        self.assertTrue(self.trident("print", "x*x + 1", "--to", "sexpr").stdout.startswith("("))
        for numbers, kind in (("1.25", "f32"), ("0.1", "f64")):
            self.assertEqual(numbers == "1.25", "0.1" not in
                             self.trident("run", "x", "-i", "x=" + numbers, "-t", kind, "--csv", "-").stdout)
        self.assertIn("0.100000001", self.trident("run", "x", "-i", "x=0.1", "-t", "f32", "--csv", "-").stdout)

    def test_proven_errors(self):
        def proven(text, *ranges):
            return self.trident("explain", text, "--dump=c", "--prove-error", *ranges).stdout
        # One rounding: half an ulp of a value in [2, 4).
        found = re.search(r"proven error of out: at most (\S+) ulp, (\S+) absolute",
                          proven("x + y", "-r", "x:1.1:1.9", "-r", "y:1.1:1.9"))
        self.assertEqual(("0.5", "2.22e-16"), found.groups())
        self.assertIn("'x' has no declared range", proven("x + y"))
        self.assertIn("a comparison of computed values", proven("select(x*x < x, x, 1)", "-r", "x:0:2"))
        self.assertNotIn("proven", self.trident("explain", "x + y", "--dump=c").stdout)

    def test_early_end(self):
        line = "; ends early: behind the chunk of 4096 elements that decides every result\n"
        for search in ("any(x > 0)", "all(x > 0)", "first(x > 0)"):
            self.assertIn(line, self.trident("explain", search, "--dump=c").stdout)
        for other in ("sum(x)", "maxof(x)", "x > 0"):
            self.assertNotIn("ends early", self.trident("explain", other, "--dump=c").stdout)

    def test_assumed_ranges(self):
        text = self.trident("explain", "sin(x)*cos(y)*sin(x + 2*y)", "-t", "f32", "-p", "exact", "--assume",
                            "x:-4:4:nan", "--assume", "y:-4:4", "--dump=c").stdout
        self.assertIn("; assumed: x from -4 to 4 or NaN, y from -4 to 4\n", text)
        self.assertRegex(text, r"; speculation: (published|not published, )")
        self.assertRegex(text, r";   4096 elements: the general kernel takes \S+ ns, this \S+ of that; \S+ where none fits")
        self.assertIn("no NaN", self.trident("explain", "n: i32; n + 1", "--assume", "n:0:1:nan", status=2).stderr)
        self.assertIn("'nan' is not a number", self.trident("explain", "x", "--assume", "x:0:nan", status=2).stderr)
        self.assertIn("--range x:0:1:nan", self.trident("explain", "x", "--range", "x:0:1:nan", status=2).stderr)
        self.assertIn("no variable 'z'", self.trident("explain", "x", "--assume", "z:0:1", status=2).stderr)
        self.assertIn("--assume x:0:: '' is not a number", self.trident("explain", "x", "--assume", "x:0:", status=2).stderr)
        self.assertIn("--tier baseline", self.trident("explain", "x", "--assume", "x:0:1", "--tier", "baseline",
                                                      status=2).stderr)
        self.assertNotIn("speculation", self.trident("explain", "x + y", "--dump=c").stdout)

    def test_options_about_the_code(self):
        def explain(*options):
            return self.trident("explain", "exp(x)*y + x*y", "--tier", "baseline", *options).stdout
        self.assertIn("; machine code: avx2", explain("--isa", "avx2"))
        for wrong in ("bounded:0", "bounded:1e7", "bounded()", "precise"):
            self.assertIn("bounded:k with k from 2 to 1e6", self.trident("explain", "x", "-p", wrong, status=2).stderr)
        self.assertNotIn("zmm", explain("--isa", "avx2"))
        help_text = " ".join(self.trident("explain", "--help").stdout.split())
        for name in ("identities", "contracted", "simplified", "multiplied", "shared", "accuracy4", "rel3", "searched", "guided", "estimated", "search stands for narrowed, identities", "interleave", "schedule",
                     "non_temporal", "underflow"):
            self.assertIn(name, help_text)
        self.assertIn("expected one of search, narrowed, identities", self.trident("explain", "x", "--disable", "nothing", status=2).stderr)

        def forms(*options):
            text = self.trident("explain", "exp(x)*1*1 + y", "-t", "f32", "--dump=c", *options).stdout
            return set(re.findall(r"(?m)^; candidate (\w+)", text))
        self.assertNotIn("accuracy4", forms("--policy", "exact"))
        self.assertNotIn("rel3", forms("--policy", "bounded"))
        for policy in ("bounded:20000", "bounded(20000)"):
            self.assertIn("rel3", forms("--policy", policy))
        self.assertNotIn("rel3", forms("--policy", "bounded:20000", "--disable", "rel3"))
        self.assertFalse({"identities", "simplified", "searched"} & forms("--disable", "search"))
        self.assertIn("narrowed", forms("--disable", "searched"))  # the products with one are gone, as by identities
        self.assertIn("identities", forms("--disable", "searched", "--disable", "narrowed"))
        self.assertNotIn("machine code", explain("--stop-after", "lower"))
        self.assertIn("kernel IR", explain("--stop-after", "lower"))
        corpus = self.write("k.tsv", TSV)
        for option in (("--syntax", "infix"), ("-r", "x:0:1"), ("-s", "x")):
            self.assertIn("a corpus file declares its own", self.trident("bench", corpus, *option, status=2).stderr)
        self.assertIn("--quick", self.trident("bench", "x", "--quick", "--rounds", "21", status=2).stderr)

    def test_options_of_run(self):
        self.start_daemon()
        text = ["run", "x" + "*1" * 150 + " + 2", "-i", "x=1:3", "-p", "exact", "-t", "f32"]
        self.assertIn("answered by the interpreter", self.trident(*text, "--mode", "interp").stdout)
        optimised = self.trident(*text, "--tier", "optimised", "--mode", "daemon", "--timeout-ms", "60000").stdout
        self.assertRegex(optimised, r"answered by optimised \w+ code, 0\.\d\d of the baseline's time")
        self.assertIn("8 elements", optimised)
        narrow = self.trident(*text, "--tier", "baseline", "--isa", "avx2", "-n", "5", "--head", "2").stdout
        self.assertRegex(narrow, r"answered by (baseline|optimised) avx2 code")
        self.assertIn("5 elements", narrow)
        self.assertIn("= 3 3.5 ...", narrow)
        for option, value, message in (("--tier", "best", "any, baseline or optimised"), ("--mode", "cloud", "embedded"),
                                       ("--isa", "sse", "avx2, avx512 or neon")):
            self.assertIn(message, self.trident(*text, option, value, status=2).stderr)
        self.assertIn("--tier", self.trident(*text, "--timeout-ms", "5", status=2).stderr)
        self.assertIn("--csv", self.trident(*text, "--csv", "-", "--head", "3", status=2).stderr)
        self.assertIn("was not reached in 1 ms",
                      self.trident("run", "x + 77", "-i", "x=1", "--tier", "optimised", "--timeout-ms", "1",
                                   status=1).stderr)

    def on_a_terminal(self, *arguments, stream="stderr"):
        """Returns the text that a command draws on a terminal."""
        master, slave = pty.openpty()
        subprocess.run(["stty", "rows", "40", "cols", "150"], stdin=slave, check=True)
        done = subprocess.Popen([TRIDENT, *arguments], env=self.environment, **{"stdout": subprocess.DEVNULL,
                                                                               "stderr": subprocess.DEVNULL, stream: slave})
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
        self.assertEqual(0, done.wait(timeout=300))
        os.close(master)
        return seen.decode()

    def test_run_and_demo_draw_progress_on_a_terminal_only(self):
        self.start_daemon()
        command = ["run", LONG, "-i", "x=1", "--tier", "optimised", "--timeout-ms", "240000"]
        drawn = self.on_a_terminal(*command)
        self.assertRegex(drawn, r"optimised \[[#-]{24}\] \d+/\d+.*(lower|emit|equiv|judge)")
        self.assertEqual("", self.trident(*command[:2], "-i", "x=2", *command[4:]).stderr)
        corpus = self.write("k.tsv", TSV + f"long\tx:-3:3\t{LONG}\n")
        drawn = self.on_a_terminal("demo", "--corpus", corpus, "--type", "f32", "-n", "512", "--daemon", TRIDENTD,
                                   stream="stdout")
        self.assertRegex(drawn, r"\[#+-*\] \d/3 kernels done")
        self.assertRegex(drawn, r"(baseline|interpreter), (lower|emit|equiv|judge) \d+/\d+")

    def test_readme_commands_work(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as handle:
            commands = re.findall(r"trident run '[^']*'[^\n]*?(?= {3,}|\n)", handle.read())
        self.assertTrue(commands)
        for command in commands:
            done = subprocess.run(command.replace("trident", TRIDENT, 1), shell=True, env=self.environment,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(0, done.returncode, command + done.stderr)

    def test_run_takes_and_prints_integers_in_full(self):
        def values(*words):
            return [int(v) for v in self.trident("run", *words, "--csv", "-").stdout.split()[1:]]
        self.assertEqual([2**63 - 1], values("x: i64; x+1", "-i", f"x={2**63 - 2}", "-n", "1"))
        self.assertEqual([3 * (2**53 + 1), -9], values("x: i64; x*3", "-i", f"x={2**53 + 1},-3"))
        self.assertEqual([2**53 + 2], values("x: i64; sum(x)", "-i", f"x={2**53 + 1},1"))
        self.assertEqual([-2**63, -1, 2**63 - 1], values("x: i64; x", "-i", f"x={-2**63}:{2**63 - 1}", "-n", "3"))
        self.assertEqual([1000000], values("x: i32; x", "-i", "x=1e6", "-n", "1"))
        self.assertIn("min -9223372036854775808, max 9223372036854775807",
                      self.trident("run", "x: i64; x", "-i", f"x={-2**63},{2**63 - 1}").stdout)
        for kind, value in (("i64", "1e30"), ("i64", str(2**63)), ("i32", "3000000000"), ("i32", "1.7"), ("i32", "0:2.5"),
                            ("i32", "nan")):
            self.assertRegex(self.trident("run", f"x: {kind}; x", "-i", "x=" + value, status=2).stderr,
                             f"is not an {kind}; expected whole numbers from -2")

    def test_run_refuses_what_it_would_have_to_ignore(self):
        for words, hint in ((["-n", "-5"], "--n"), (["-n", "0"], "--n"), (["-n", "99999999999999999999"], "--n"),
                            (["-n", "1000000000000"], "--n"), (["-r", "z:0:1"], "--range: .* 'z'"),
                            (["-s", "z"], "--scalar: .* 'z'"), (["-i", "z=1"], "'z'"),
                            (["-i", "x=1", "-i", "x=2"], "'x' has values already"), (["-i", "x=/tmp"], "a folder"),
                            (["-i", "x=/dev/zero"], "not a regular file")):
            self.assertRegex(self.trident("run", "x", *words, status=2).stderr, hint)
        self.assertIn("found 2 values, expected one or 3",
                      self.trident("run", "x+y", "-i", "x=1,2", "-i", "y=1,2,3", status=2).stderr)
        for words in (("x=1,2", "-n", "1"), ("x=1,2,3", "-n", "2"), ("x=1,2", "-n", "3"), ("x=1,2,3", "-i", "y=1,2", "-n", "2")):
            self.assertRegex(self.trident("run", "x+y", "-i", *words, status=2).stderr,
                             "--input x: found [23] values, expected one or [123], which --n says")
        self.assertIn("all NaN", self.trident("run", "log(x)", "-i", "x=-2:-1").stdout)
        self.assertIn("mean nan\n", self.trident("run", "x", "-i", "x=inf,-inf").stdout)

    def test_files_are_named_where_they_are_missing_or_wrong(self):
        wrong = self.write("wrong.txt", "x +\n  y +* 3\n")
        for verb in ("explain", "check", "print", "disasm"):
            self.assertIn(wrong + ":2:6:", self.trident(verb, wrong, status=2).stderr)
            self.assertIn("there is no such file", self.trident(verb, self.at("none.txt"), status=2).stderr)
        for words in (["demo", "--corpus", self.at("none")], ["rewrite", self.at("none")], ["bench", self.at("none")],
                      ["explain", "x", "-n", "-5"], ["disasm", "x", "-n", "3"]):
            self.trident(*words, status=2)

    def test_run_assumes_what_is_not_given_and_says_so(self):
        done = self.trident("run", "sum(x*x)", "--n", "1000")
        self.assertIn("assuming --input x=0:1\n", done.stderr)
        wanted = math.fsum((i / 999) ** 2 for i in range(1000))
        self.assertAlmostEqual(wanted, float(done.stdout.split()[2]), delta=1e-9)
        done = self.trident("run", "a*x + y", "-r", "x:-3:3", "-r", "a:2:4", "-s", "a", "-i", "y=10", "-n", "3", "--csv", "-")
        self.assertIn("assuming --input x=-3:3 --input a=3\n", done.stderr)
        self.assertEqual([1, 10, 19], [float(v) for v in done.stdout.split()[1:]])
        done = self.trident("run", "s*x + z", "-s", "s", "-r", "x:5:inf", "-r", "z:-inf:-1", "-n", "2", "--csv", "-")
        self.assertIn("assuming --input x=5:6 --input s=1 --input z=-2:-1\n", self.sorted_like(done.stderr, "x", "s", "z"))
        self.assertEqual([3, 5], [float(v) for v in done.stdout.split()[1:]])
        done = self.trident("run", "param u in [4, 8]; k:i32 * 2", "-n", "4", "--csv", "-")
        self.assertEqual([0, 2, 4, 6], [float(v) for v in done.stdout.split()[1:]])
        done = self.trident("run", "x: i64; (u64(x), x)", "-i", "x=-1,5", "--csv", "-")
        self.assertEqual([f"{2**64 - 1},-1", "5,5"], done.stdout.split()[1:])
        wide = self.trident("run", "x", "-r", "x:-1.7e308:1.7e308", "-n", "3", "--csv", "-").stdout.split()[1:]
        self.assertEqual([-1.7e308, 0, 1.7e308], [float(v) for v in wide])
        given = self.trident("run", "x+1", "-i", "x=1")
        self.assertNotIn("assuming", given.stderr)

    @staticmethod
    def sorted_like(line, *names):
        """The "assuming" line with its inputs in the order of the names: which comes first is the parser's affair."""
        inputs = {part.split("=")[0]: part for part in re.findall(r"--input (\S+)", line)}
        return "assuming " + " ".join("--input " + inputs[name] for name in names) + "\n"

    def test_expressions_may_begin_with_a_minus_sign(self):
        for words in (("-x^2", "-i", "x=2"), ("-i", "x=2", "-x^2"), ("-i", "x=2", "--", "-x^2"), ("--", "-x^2")):
            done = self.trident("run", *words, "-n", "1") if "--" not in words else self.trident("run", "-n", "1", *words)
            self.assertRegex(done.stdout, r"^out = (-4|-?0)\n")
        self.assertRegex(self.trident("run", "-(1.5)", "-n", "1").stdout, "^out = -1.5\n")
        self.assertRegex(self.trident("run", "-i", "n=3", "--n", "1", "--", "-n").stdout, "^out = -3\n")
        self.assertRegex(self.trident("run", "-n", "1", "--", "--2").stdout, "^out = 2\n")
        self.assertIn("neg", self.trident("parse", "-r", "x:0:1", "--", "-x").stdout)
        self.assertIn("-q", self.trident("run", "x", "-q", status=2).stderr)
        self.assertIn("1:4:", self.trident("run", "-x+", status=2).stderr)  # what hides it does not shift the caret

    def test_run_says_when_only_the_interpreter_can_answer(self):
        alone = dict(self.environment, TRIDENT_ENGINE=self.at("no-engine.so"))
        self.assertRegex(self.trident("run", "x", "-i", "x=1", env=alone).stderr,
                         "^trident: no daemon answers .*nobody.sock: .* and no engine can be loaded .*no-engine.so.*: start tridentd")
        late = self.trident("run", "x", "-i", "x=1", "--tier", "baseline", "--timeout-ms", "500", env=alone, status=1)
        self.assertRegex(late.stderr, "not reached in 500 ms; no daemon: .*; no engine: .*no-engine.so")
        self.assertEqual("", self.trident("run", "x", "-i", "x=1").stderr)  # with an engine that could
        self.assertEqual("", self.trident("run", "x", "-i", "x=1", "--mode", "interp", env=alone).stderr)
        checks = {c["name"]: c for c in json.loads(self.trident("doctor", "--json", env=alone, status=1).stdout)["checks"]}
        self.assertEqual("warning", checks["engine"]["status"])
        self.assertIn("no-engine.so", checks["engine"]["detail"])

    def test_tridentd_answers_flags_as_trident_does(self):
        for flag in ("-V", "--version"):
            done = subprocess.run([TRIDENTD, flag], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual((0, "tridentd"), (done.returncode, done.stdout.split()[0]))
        for words in (["--foo"], ["--workers", "none"], ["--workers", "257"], ["--config", self.at("none.toml")]):
            done = subprocess.run([TRIDENTD, *words], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(2, done.returncode, words)
            self.assertNotEqual("", done.stderr)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([TRIDENT, "run", "x", "-i", "x=1"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=self.environment, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("standard output", done.stderr)
        closed = subprocess.run(["/bin/sh", "-c", f"exec {TRIDENT} run x -i x=1 >&-"], stderr=subprocess.PIPE, text=True,
                                env=self.environment, check=False)
        self.assertEqual(1, closed.returncode)
        self.assertIn("standard output", closed.stderr)

    # --- bench --------------------------------------------------------------------------------------------------------

    def check_rows(self, report, names):
        self.assertEqual(names, [row["name"] for row in report["kernels"]])
        for row in report["kernels"]:
            self.assertIn(row["best_compiler"], PINNED)
            times = row["ns"]
            for contestant in PINNED | {"ours", "baseline", "interpreter", "g++-12 -O2"}:
                self.assertGreater(times[contestant], 0)
            self.assertEqual(times[row["best_compiler"]], min(times[name] for name in PINNED))  # of two as fast either
            # The ratio is a median over rounds, the times are medians of each: near, on any machine.
            self.assertLess(abs(math.log(row["ratio"] * times[row["best_compiler"]] / times["ours"])), math.log(4))
            self.assertGreaterEqual(row["max_error_ulp"], 0)
            self.assertLessEqual(row["bound_share"], 1)
        self.assertEqual(len(names), report["summary"]["all"]["kernels"])
        self.assertFalse(report["summary"]["failed"])

    def test_bench_reads_both_formats_and_reports(self):
        page = self.at("report.html")
        tsv = self.trident("bench", self.write("k.tsv", TSV), "--type", "f32", "--n", "1024", "--quick", "--json", "--html",
                           page)
        report = json.loads(tsv.stdout)
        self.check_rows(report, ["sum2", "wave"])
        self.assertEqual(("f32", 1024, "bounded(2)"), (report["type"], report["n"], report["policy"]))
        self.assertNotIn("\r", tsv.stderr)  # no progress bar in a pipe
        with open(page, encoding="utf-8") as handle:
            html = handle.read()
        self.assertEqual(3, html.count("<svg"))
        self.assertNotRegex(html, r"https?://|<link|<img|src=")
        for name in ("sum2", "wave"):
            self.assertIn(name, html)
        sexp = self.trident("bench", self.write("k.sexp", SEXP), "--isa", "avx2", "--policy", "exact", "--against",
                            "fast-math", "--quick", "--json", "--no-numexpr")
        report = json.loads(sexp.stdout)
        self.check_rows(report, ["half"])
        self.assertEqual(("avx2", "f64", "exact"), (report["isa"], report["type"], report["policy"]))
        for compiler in report["compilers"]:
            self.assertEqual(compiler["pinned"], "-mno-avx512f" in compiler["flags"])

    def test_bench_under_exact_is_against_strict_compilers(self):
        """The pinned one, and its flags; -ffast-math nowhere."""
        for options in (("--policy", "exact"), ("--against", "strict")):
            report = json.loads(self.trident("bench", "sqrt(x) + x*x", "-r", "x:0:1", "--quick", "--json", "--no-numexpr",
                                             *options).stdout)
            self.assertEqual("strict", report["against"])
            flags = {compiler["name"]: compiler["flags"] for compiler in report["compilers"] if compiler["pinned"]}
            self.assertEqual(["clang-19 strict"], list(flags))
            self.assertEqual(["-O3", "-march=native"], [flag for flag in flags["clang-19 strict"] if "avx512" not in flag])
            self.assertNotIn("fast-math", json.dumps(report["compilers"]))
            self.assertEqual("clang-19 strict", report["kernels"][0]["best_compiler"])
            self.assertLessEqual({"clang-19 no errno", "clang-19 libmvec", "g++-12 strict"},
                                 set(report["summary"]["all"]["geomean_ratio_to_others"]))

    def test_bench_without_search(self):
        """(xy + xz) / (y + z) is x to the search alone; what is disabled is said, and names are checked."""
        command = ["bench", "(x*y + x*z)/(y + z)", "-r", "x:1:2", "-r", "y:1:2", "-r", "z:1:2", "--quick", "--no-numexpr",
                   "--disable", "search"]
        report = json.loads(self.trident(*command, "--json").stdout)
        self.assertEqual(["narrowed", "identities", "simplified", "searched", "guided", "careful"], report["disabled"])
        row = report["kernels"][0]
        self.assertGreater(row["ns"]["without search"], 0)
        self.assertLess(row["gain"], 0.9)  # a division and two operations against none
        self.assertEqual(row["gain"], report["summary"]["all"]["geomean_gain"])
        self.assertRegex(self.trident(*command).stdout, r"(?m)^without search: optimised with narrowed identities simplified searched")
        self.assertIn("say --disable search too", self.trident("bench", "x", "--search-gain-max", "1", status=2).stderr)
        self.assertIn("'sarch'", self.trident("bench", "x", "--disable", "sarch", status=2).stderr)
        self.assertIn("fast-math or strict", self.trident("bench", "x", "--against", "gcc", status=2).stderr)

    def test_bench_of_an_expression_prints_a_table(self):
        table = self.trident("bench", "x*x + 1", "-r", "x:0:1", "--quick").stdout
        self.assertRegex(table, r"(?m)^kernel +ours +baseline +interpreter .*ratio")
        self.assertRegex(table, r"(?m)^all +1 kernels +geomean")

    def test_bench_draws_its_bar_on_a_terminal_only(self):
        command = ["bench", "x+1", "--quick", "--json"]
        self.assertIn("measuring [", self.on_a_terminal(*command))
        self.assertEqual("", self.trident(*command).stderr)

    def test_bench_without_a_contestant_fails(self):
        os.mkdir(self.at("bin"))
        for program in ("g++-12", "as", "ld", "objdump"):
            if shutil.which(program):
                os.symlink(shutil.which(program), self.at("bin/" + program))
        poor = dict(self.environment, PATH=self.at("bin"))
        self.assertRegex(self.trident("bench", "x+1", "--quick", status=1, env=poor).stderr,
                         "clang-19 is missing.*apt-get install clang-19")

    def test_words_of_the_environment_are_not_passed_over(self):
        for variable, wrong, says in (("TRIDENT_MODE", "foo", "auto, daemon, embedded or interp"), ("TRIDENT_ISA", "foo", "avx512"),
                                      ("TRIDENT_REQUIRE_DAEMON", "yes", "0 or 1"), ("TRIDENT_TRUSTED_UID", "root", "number")):
            self.assertRegex(self.trident("run", "x", status=2, env={**self.environment, variable: wrong}).stderr,
                             f"{variable} is '{wrong}': expected .*{says}")
        for variable, right in (("TRIDENT_ISA", "none"), ("TRIDENT_ISA", "avx2"), ("TRIDENT_ISA", ""), ("TRIDENT_MODE", "interp"),
                                ("TRIDENT_REQUIRE_DAEMON", "0"), ("TRIDENT_TRUSTED_UID", "12")):
            self.trident("run", "x", env={**self.environment, variable: right})

    def test_a_tier_that_cannot_be_had_is_an_error(self):
        self.assertIn("mode interp has no compiled tier", self.trident("run", "x", "--tier", "baseline", "--mode", "interp", status=2).stderr)
        done = self.trident("run", "x+1", "--tier", "baseline", status=2, env={**self.environment, "TRIDENT_ISA": "none"})
        self.assertIn("tier baseline cannot be reached: no instruction set", done.stderr)

    def test_a_report_that_cannot_be_written_is_told_before_the_work(self):
        for words in (("bench", "x", "--html"), ("demo", "--report")):
            self.assertIn("nowhere", self.trident(*words, self.at("nowhere/x.html"), status=1, timeout=20).stderr)

    def test_bars_that_nothing_can_miss_are_refused(self):
        for bar in ("0", "-1", "nan"):
            self.assertIn("--geomean-max: Value", self.trident("bench", "x", "--geomean-max", bar, status=2).stderr)
        self.assertIn("--seconds: Value nan", self.trident("fuzz-equiv", "a", "b", "--seconds", "nan", status=2).stderr)

    def test_without_a_daemon_the_cure_is_named(self):
        for words in (("stats",), ("top",), ("run", "x", "--mode", "daemon")):
            done = self.trident(*words, status=1)
            if words[0] != "run":
                other = self.trident(*words, "--socket", self.at("other.sock"), status=1)
                self.assertIn(f"no daemon: {self.at('other.sock')}: ", other.stderr)
            self.assertRegex(done.stderr, "no daemon: .*nobody.sock: .*: start tridentd, or name its socket with TRIDENT_SOCKET")

    def test_run_takes_an_existing_file_for_a_file(self):
        os.mkdir(self.at("sub"))
        for name in ("noext", "sub/p"):
            self.write(name, "push 7 write_io 1 halt")
            done = self.trident("run", name, cwd=self.folder.name)
            self.assertTrue(done.stdout.startswith("output 7\n"), done.stdout)
            self.assertRegex(self.trident("run", f"({name})", "-n", "2", cwd=self.folder.name).stdout, "^out = ")
        self.write("e", "2*x + 1")
        said = self.trident("run", "e", cwd=self.folder.name, status=2).stderr
        self.assertIn("e:1:1: ", said)
        self.assertIn("e is a file here, so it was read as a program in TASM; write '(e)' for the expression", said)

    def test_bench_of_what_cannot_be_read(self):
        for words in (["nofile"], ["nodir/nofile"]):
            self.assertIn(f"there is no such file, so this is an expression; write ./{words[0]} for a file",
                          self.trident("bench", *words, "--kernels", "nothing", status=2).stderr)
            self.assertIn("no such file", self.trident("bench", "./" + words[0], status=2).stderr)
        self.assertIn("no such file", self.trident("bench", self.at("none.tsv"), status=2).stderr)
        self.assertIn(": is a folder, not a file", self.trident("bench", self.folder.name, status=2).stderr)
        self.assertIn("no kernels", self.trident("bench", self.write("empty.tsv", "# nothing\n"), status=2).stderr)
        bad = self.write("bad.tsv", "good\tx:0:1\tx\nbad\tx:0\tx\n")
        self.assertRegex(self.trident("bench", bad, status=2).stderr, r"bad\.tsv:2:\d+: .*\n.*\n +.*\^")
        self.assertIn("no kernel's name matches",
                      self.trident("bench", self.write("k.tsv", TSV), "--kernels", "nobody", status=2).stderr)

    def test_bench_of_several_files(self):
        files = self.write("k.tsv", TSV), self.write("k.sexp", SEXP)
        report = json.loads(self.trident("bench", *files, "--quick", "--json", "--no-numexpr").stdout)
        self.check_rows(report, ["sum2", "wave", "half"])
        times = [row["optimise_s"] for row in report["kernels"]]
        self.assertGreater(min(times), 0)
        for row in report["kernels"]:
            self.assertGreater(row["first_s"], 0)
            self.assertLessEqual(row["first_s"], row["optimise_s"])
        self.assertEqual((sorted(times)[1], max(times)),
                         tuple(report["summary"]["all"][key] for key in ("median_optimise_s", "max_optimise_s")))
        self.assertIn("one expression alone", self.trident("bench", files[0], "x+1", status=2).stderr)

    def test_bench_with_a_kernel_that_does_not_parse_fails_and_names_it(self):
        done = self.trident("bench", self.write("k.tsv", TSV + "broken\tx:0:1\tx +* 2\n"), "--kernels", "sum2|broken",
                            "--quick", "--json", status=1)
        rows = {row["name"]: row for row in json.loads(done.stdout)["kernels"]}
        self.assertIn("k.tsv:4:", rows["broken"]["failure"])
        self.assertNotIn("failure", rows["sum2"])

    def test_bench_holds_its_bars(self):
        """Bars that any machine holds, and that none holds: each is missed once among others that are held."""
        bars = {option: ("1e-6", "1e6") for option in
                ("--geomean-max", "--transcendental-max", "--algebraic-max", "--derivatives-max", "--worst-max",
                 "--search-gain-max")}
        bars["--roof-min"] = ("1e6", "1e-6")
        bars |= {option: ("1e-6", "1e6") for option in ("--optimise-median-max", "--optimise-p95-max", "--optimise-max")}
        corpus = self.write("bars.tsv", "d1\tx:0:1\texp(x) + x\nsquare\tx:0:1\tx*x + 1\n")
        command = ["bench", corpus, "--quick", "--no-numexpr", "--disable", "search"]
        for missed in ((), list(bars)[::2], list(bars)[1::2]):
            options = [part for bar, (hard, easy) in bars.items() for part in (bar, hard if bar in missed else easy)]
            said = self.trident(*command, *options, status=1 if missed else 0).stderr
            verdicts = re.findall(r": (held|MISSED)\b", said)
            self.assertEqual(["MISSED" if bar in missed else "held" for bar in bars], verdicts, said)
        self.assertIn("kernels won", self.trident(*command, "--won-min", "1.01", status=1).stderr)

    def test_bench_report_that_cannot_be_written(self):
        done = self.trident("bench", "x+1", "--quick", "--html", self.at("none/report.html"), status=1)
        self.assertIn("none/report.html: cannot be written", done.stderr)

    # --- explain, disasm, completion ----------------------------------------------------------------------------------

    def test_explain_and_disasm(self):
        text = self.trident("explain", "sin(x)*x", "-r", "x:-3:3", "--tier", "baseline").stdout
        for part in ("sin", "; kernel IR", "; machine code: ", "; main loop: ", "endbr64", "ret"):
            self.assertIn(part, text)
        self.assertIn("vmul", self.trident("disasm", "x*x", "--tier", "baseline", "--isa", "avx2").stdout)
        self.assertIn("expected letters", self.trident("explain", "x", "--dump=q", status=2).stderr)

    def test_completion_scripts_name_every_verb(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.trident("completion", shell).stdout
            for verb in VERBS:
                self.assertRegex(script, rf"\b{verb}\b")
            for option in ("strategy", "objective", "dag-max"):
                self.assertIn(option, script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, check=True)

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_completes_verbs_options_and_values(self):
        script = self.trident("completion", "bash").stdout

        def completed(*words):
            line = " ".join(f"'{word}'" for word in words)
            done = subprocess.run(["bash", "-c", f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _trident; "
                                   'printf "%s\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True)
            return set(done.stdout.split())

        self.assertEqual({"rewrite"}, completed("trident", "rew"))
        self.assertEqual({"saturate"}, completed("trident", "rewrite", "--strategy", "s"))
        self.assertEqual({"default", "host", "reference"}, completed("trident", "rewrite", "--cost", ""))
        self.assertEqual({"dag", "tree"}, completed("trident", "rewrite", "--objective", ""))
        self.assertEqual({"--strategy", "--seed"}, completed("trident", "rewrite", "--s"))
        self.assertEqual({"list", "show", "check"}, completed("trident", "rules", ""))
        self.assertEqual({"check"}, completed("trident", "rules", "c"))
        self.assertEqual({"--theme"}, completed("trident", "rules", "list", "--t"))
        self.assertEqual({"train", "train-guide", "train-judge", "train-daemon"}, completed("trident", "manual", "trai"))
        self.assertEqual({"--folder"}, completed("trident", "manual", "--f"))

    # --- demo ---------------------------------------------------------------------------------------------------------

    def test_demo_of_a_small_corpus(self):
        page = self.at("demo.html")
        done = self.trident("demo", "--corpus", self.write("k.tsv", TSV), "--type", "f32", "-n", "512", "--report", page,
                            "--daemon", TRIDENTD)
        self.assertIn("every answer right", done.stdout)
        self.assertIn("still answer right", done.stdout)
        self.assertNotIn("\033", done.stdout)
        with open(page, encoding="utf-8") as handle:
            html = handle.read()
        self.assertEqual(4, html.count("<svg"))
        self.assertIn("fibonacci_big: padded height 32768 to 16384 in ", done.stdout)
        self.assertIn("both programs answer right on all of 11 inputs", done.stdout)
        self.assertIn("Triton VM: the nine tables", html)
        self.assertIn("all right", html)
        self.assertEqual([], os.listdir(self.at("tmp")))

    def test_demo_without_time_is_late_and_not_wrong(self):
        page = self.at("demo.html")
        done = self.trident("demo", "--corpus", self.write("k.tsv", TSV), "--type", "f32", "-n", "512", "--daemon", TRIDENTD,
                            "--timeout-ms", "1", "--report", page, status=1)
        self.assertRegex(done.stdout, r"every answer right; .*still answer right; NOT DONE IN TIME: [12] of 2 kernels after 1 ms")
        self.assertRegex(done.stdout, r"(?m)^(sum2|wave) .*, NOT DONE IN TIME$")
        self.assertNotRegex(done.stdout, "WRONG|do NOT|FAILED")
        with open(page, encoding="utf-8") as handle:
            html = handle.read()
        self.assertIn("all right", html)
        self.assertNotIn("WRONG", html)
        self.assertIn("when the time was over", html)

    def test_demo_with_a_kernel_that_fails_says_so(self):
        done = self.trident("demo", "--corpus", self.write("k.tsv", TSV + "broken\tx:0:1\tx +* 2\n"), "--type", "f32",
                            "-n", "512", "--daemon", TRIDENTD, status=1)
        self.assertRegex(done.stdout, r"(?m)^broken .*FAILED: ")
        self.assertIn("WRONG ANSWERS OR ERRORS", done.stdout)
        self.assertNotIn("every answer right", done.stdout)

    def test_an_interrupt_leaves_nothing_behind(self):
        # Long enough that neither verb is done before it is interrupted.
        many = "".join(f"k{i}\tx:1:2\tsin({i} + x)*x\n" for i in range(60))
        for arguments in (("demo", "--daemon", TRIDENTD, "--corpus", self.write("k.tsv", many)),
                          ("bench", self.at("k.tsv"), "--rounds", "3001")):
            child = subprocess.Popen([TRIDENT, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     env=self.environment, start_new_session=True)
            # Its first temporary files say that it has begun.
            until = time.monotonic() + 60
            while not os.listdir(self.at("tmp")) and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=120)
            self.assertEqual(130, child.returncode, errors)
            self.assertIn("interrupted", errors)
            self.assertEqual([], os.listdir(self.at("tmp")))
            left = [name for _, _, names in os.walk(self.at("cache")) for name in names if not name.endswith(".so")]
            self.assertEqual([], left)
            self.assertEqual([], self.processes_after(child.pid))

    def processes_after(self, session, patience_s=10):
        """Lists the processes of a session that still run, once those that are ending have had time to."""
        for _ in range(patience_s * 10):
            listed = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.session_of(pid) == session]
            if not listed:
                break
            time.sleep(0.1)
        return listed

    @staticmethod
    def session_of(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as handle:
                state, _, _, session = handle.read().rpartition(")")[2].split()[:4]
        except OSError:
            return None
        return int(session) if state != "Z" else None

    def test_a_signal_to_the_whole_group_is_no_trouble(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = subprocess.Popen([TRIDENTD, "--socket", self.at("group.sock"), "--cache", self.at("group.db")],
                                      stderr=subprocess.PIPE, text=True, env=self.environment, start_new_session=True)
            said = daemon.stderr.readline()
            while "serving" not in said:
                self.assertNotEqual("", said)
                said = daemon.stderr.readline()
            time.sleep(0.3)  # its workers are up
            os.killpg(daemon.pid, number)
            rest = daemon.communicate(timeout=60)[1]
            self.assertEqual(0, daemon.returncode, rest)
            self.assertNotRegex(rest, "warning|error|ended")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
