"""`trident library`: functions with loops. Oracle: Python's own arithmetic, and texts written by hand."""
import json
import math
import os
import re
import sys
import unittest

from command_case import ROOT, CommandCase

LIBRARY = os.path.join(ROOT, "jit/function/lib")
EXAMPLES = os.path.join(ROOT, "jit/function/examples")
DOUBLE = "@prompt twice {a}\n@param a: a number\n@test double(2) = 4\nfn double(a: i64) -> i64 {\n  return 2 * a;\n}\n"


class LibraryVerb(CommandCase):
    def library(self, *arguments, **options):
        return self.trident("library", *arguments, **options)

    def folder_of(self, **texts):
        os.makedirs(self.at("mine/area"), exist_ok=True)
        for name, text in texts.items():
            self.write(f"mine/area/{name}.fn", text)
        return self.at("mine")

    def test_lists_what_its_files_hold(self):
        listed = json.loads(self.library("list", "--json").stdout)["functions"]
        files = [os.path.join(area, name) for area in os.listdir(LIBRARY) for name in os.listdir(os.path.join(LIBRARY, area))]
        self.assertEqual(sorted(files), sorted(f"{f['area']}/{f['name']}.fn" for f in listed))
        self.assertIn("fn gcd(a: i64, b: i64) -> i64", [f["head"] for f in listed])
        self.assertEqual(len(listed), len(self.library("list").stdout.splitlines()))

    def test_shows_texts_as_they_are(self):
        with open(os.path.join(LIBRARY, "math/gcd.fn"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, self.library("show", "gcd").stdout)
        self.assertIn("block 0", self.library("show", "gcd", "--region").stdout)

    def test_examples_use_the_library(self):
        names = {name[:-3] for area in os.listdir(LIBRARY) for name in os.listdir(os.path.join(LIBRARY, area))}
        files = [os.path.join(EXAMPLES, name) for name in sorted(os.listdir(EXAMPLES))]
        self.assertGreaterEqual(len(files), 50)
        for file in files:
            with open(file, encoding="utf-8") as handle:
                body = handle.read().partition("\nfn ")[2].partition("{")[2]
            self.assertGreaterEqual(len(names & set(re.findall(r"\b(\w+)\(", body))), 2, file)
        for tier in ("interpreted", "native", "optimised"):
            out = json.loads(self.library("test", EXAMPLES, "--json", "--tier", tier).stdout)
            self.assertEqual((len(files), 0), (out["functions"], out["failed"]))
            self.assertGreaterEqual(out["tests"], 5 * len(files))
        self.library("format", "--check", EXAMPLES)

    def test_own_functions_call_the_library_and_each_other(self):
        folder = self.folder_of(double=DOUBLE, twelve="@test twelve() = 12\nfn twelve() -> i64 {\n  return lcm(double(2), 6);\n}\n")
        self.assertEqual("2 functions, 2 tests, 0 failed\n", self.library("test", folder).stdout)
        out = json.loads(self.library("test", folder, "gcd", "--json").stdout)
        self.assertEqual((3, 0, []), (out["functions"], out["failed"], out["misses"]))

    def test_machine_code_passes_the_same_tests(self):
        folder = self.folder_of(double=DOUBLE, other=DOUBLE.replace("double", "other").replace("2 * a", "a / a"))
        for tier in ("interpreted", "native", "optimised"):
            wrong = self.library("test", folder, "--tier", tier, status=1)
            self.assertEqual(f"{folder}/area/other.fn:3: 1, not 4\n  @test other(2) = 4\n2 functions, 2 tests, 1 failed\n", wrong.stdout)

    def test_a_wrong_test_names_its_line(self):
        folder = self.folder_of(double=DOUBLE.replace("= 4", "= 5"))
        wrong = self.library("test", folder, status=1)
        self.assertEqual(f"{folder}/area/double.fn:3: 4, not 5\n  @test double(2) = 5\n1 function, 1 test, 1 failed\n", wrong.stdout)
        miss = json.loads(self.library("test", folder, "--json", status=1).stdout)["misses"][0]
        self.assertEqual(("double", 3, "4, not 5"), (miss["function"], miss["line"], miss["why"]))

    def test_format_writes_only_what_is_in_another_form(self):
        folder = self.folder_of(double=DOUBLE.replace("  return 2 * a;", "return 2*a  ;"))
        self.assertIn("double.fn", self.library("format", "--check", folder, status=1).stdout)
        self.library("format", folder)
        with open(os.path.join(folder, "area/double.fn"), encoding="utf-8") as file:
            self.assertEqual(DOUBLE, file.read())
        before = os.stat(os.path.join(folder, "area/double.fn")).st_ino
        self.library("format", folder)
        self.assertEqual(before, os.stat(os.path.join(folder, "area/double.fn")).st_ino)
        self.assertEqual("", self.library("format", "--check", folder, LIBRARY).stdout)

    def test_errors_name_the_place_and_the_cure(self):
        folder = self.folder_of(double=DOUBLE.replace("2 * a", "2 * b"))
        fault = self.library("test", folder, status=2).stderr
        self.assertIn(f"{folder}/area/double.fn:5:14: nothing is called 'b' here", fault)
        self.assertIn("did you mean 'gcd'?", self.library("show", "gcf", status=2).stderr)
        os.makedirs(self.at("empty"))
        self.assertIn("no file in it ends with .fn", self.library("test", self.at("empty"), status=2).stderr)
        self.assertIn("missing.fn", self.library("test", self.at("missing.fn"), status=2).stderr)
        misnamed = self.folder_of(double=DOUBLE, other=DOUBLE)
        self.assertIn("is called double.fn", self.library("test", misnamed, status=2).stderr)
        self.assertIn("there is another function", self.library("test", self.folder_of(other="fn other() { return; }\n",
                                                                                      gcd="fn gcd() { return; }\n"), status=2).stderr)


    # --- .fn files in the verbs of kernels, and the other names of the verb ----------------------------------------------

    def test_run_calls_a_function(self):
        for mode, tier in (("interp", "any"), ("embedded", "baseline")):
            how = ("--mode", mode, "--tier", tier)
            self.assertIn(f"result = {math.gcd(1071, 462)}\n",
                          self.trident("run", LIBRARY + "/math/gcd.fn", "-i", "a=1071", "-i", "b=462", *how).stdout)
            self.assertIn("a = [-4, 1, 3, 9]\n",
                          self.trident("run", LIBRARY + "/array/quicksort.fn", "-i", "a=3,-4,9,1", *how).stdout)
            self.assertIn('s = "SOME, TEXT"\n',
                          self.trident("run", LIBRARY + "/string/to_upper.fn", "-i", "s=Some, text", *how).stdout)
        wrong = {("a=48",): "b has no value", ("a=x", "b=1"): "a whole number is expected", ("a=1", "c=2"): "no such parameter, only: a, b",
                 ("a=2000000000000000000", "b=1"): "gcd: line 1: an argument outside of its declared range: a\n"
                  "  @param a in [-1000000000000000000, 1000000000000000000]: an integer"}
        for inputs, why in wrong.items():
            options = [word for i in inputs for word in ("-i", i)]
            self.assertIn(why, self.trident("run", LIBRARY + "/math/gcd.fn", *options, "--mode", "interp", status=2).stderr)
        self.write("torn.fn", "fn torn(a: i64) -> i64 {\n  return a +* 2;\n}\n")
        self.assertIn("torn.fn:2:13: expected a value before '*'\n    return a +* 2;\n              ^",
                      self.trident("run", self.at("torn.fn"), "-i", "a=1", "--mode", "interp", status=2).stderr)
        self.write("forever.fn", "fn forever(a: i64) -> i64 {\n  while true {\n    a = a + 1;\n  }\n  return a;\n}\n")
        self.assertIn("forever: line 2: more rounds of loops than the budget allows\n    while true {\n",
                      self.trident("run", self.at("forever.fn"), "-i", "a=1", "--mode", "interp", "--budget", "1000",
                                   status=2).stderr)
        self.assertIn("--budget is about functions", self.trident("run", "1+1", "--budget", "9", status=2).stderr)
        self.assertIn("--csv means nothing", self.trident("run", LIBRARY + "/math/gcd.fn", "--csv", "x", status=2).stderr)

    def test_a_file_may_call_the_others_of_its_library(self):
        for folder in ("mine/sub", "far"):
            os.makedirs(self.at(folder))
        self.write("mine/double.fn", DOUBLE)
        mine = ("--library", self.at("mine"))
        quad = self.write("mine/sub/quad.fn", "@test quad(3) = 12\nfn quad(a: i64) -> i64 {\n  return double(a) + double(a);\n}\n")
        far = self.write("far/six.fn", "@test six() = 24\nfn six() -> i64 {\n  return quad(gcd(6, 12));\n}\n")
        for file, answer, options in ((quad, "12", ()), (quad, "12", mine), (far, "24", mine)):
            inputs = ("-i", "a=3") if file == quad else ()
            out = self.trident("run", file, "--mode", "interp", *inputs, *options).stdout
            self.assertIn(f"result = {answer}\n", out)
            self.assertIn("; trials: ", self.trident("explain", file, *options).stdout)
            self.assertIn("; trials: ", self.trident("disasm", file, *options).stdout)
            self.assertIn("calls", json.loads(self.trident("bench", file, "--json", *options).stdout))
        for verb in ("run", "explain", "disasm", "bench"):
            wrong = self.trident(verb, far, status=2).stderr
            self.assertIn("there is no function 'quad'", wrong)
            self.assertIn("no quad.fn is beside its caller or above: give --library FOLDER", wrong)
            self.assertIn("add quad.fn to ", self.trident(verb, far, "--library", self.at("far"), status=2).stderr)
            self.assertIn("--library is about functions", self.trident(verb, "1+x", *mine, status=2).stderr)

    def test_an_absent_function_is_said_to_be_absent_where_it_is(self):
        file = self.write("typo.fn", "fn typo(s: [u8]) -> i64 {\n  return strchrr(s, 'a');\n}\n")
        wrong = self.trident("run", file, status=2).stderr
        self.assertRegex(wrong, r"typo.fn:2:10: there is no function 'strchrr'\n.*\n +\^\ndid you mean 'strchr'\?")
        wrong = self.trident("run", self.at("gcd.fn"), status=2).stderr
        self.assertIn("there is no such file\n`trident library show gcd > gcd.fn` writes the shipped function", wrong)
        file = self.write("power.fn", "fn power(x: f64, n: i64) -> f64 {\n  return pow(x, n) + sin(x);\n}\n")
        wrong = self.trident("run", file, status=2).stderr
        self.assertIn("an operand is f64, and this is i64: write f64(n)", wrong)
        self.assertNotIn("--library", wrong)  # nothing is absent
        self.assertIn("give six.fn, too, or the folder", self.trident(
            "library", "test", self.write("seven.fn", "fn seven() -> i64 {\n  return six() + 1;\n}\n"), status=2).stderr)

    def test_the_manual_has_each_word_of_the_language(self):
        with open(os.path.join(ROOT, "clients/cli/pages/library.txt")) as file:
            page = file.read().split("LANGUAGE")[1].split("\nFILES")[0]
        for table in ("intrinsics", "formulas"):
            with open(os.path.join(ROOT, f"jit/function/{table}.def")) as file:
                names = re.findall(r'^X\((?:\w+, +)?"(\w+)"', file.read(), re.M)
            self.assertGreater(len(names), 20)
            self.assertEqual([name for name in names if not re.search(rf"\b{name}\b", page)], [])

    def test_the_manuals_function_holds_and_uses_what_the_manual_tells(self):
        with open(os.path.join(ROOT, "clients/cli/pages/library.txt")) as file:
            language = file.read().split("LANGUAGE")[1].split("\nFILES")[0]
        lines = re.search(r"(?m)^  //.*\n(?:  .*\n)+", language)[0]
        for part in ("// ", "@prompt ", "@param i in [0, ", "@test ", " : x = [", "= error index", "= error range", "'a'", "0xff",
                     "len(x)", "[5; 300]"):
            self.assertIn(part, lines)
        tested = self.trident("library", "test", self.write("put_last.fn", re.sub("(?m)^  ", "", lines))).stdout
        self.assertIn("1 function, 4 tests, 0 failed", tested)

    def test_run_says_which_inputs_a_function_takes(self):
        file = self.write("both.fn", "fn both(s: [u8], x: [i64]) -> i64 {\n  return 10 * len(s) + len(x);\n}\n")
        for values in ("x=0:3", "x=" + file):
            self.assertIn("a function takes whole numbers with commas between: no file, and no range lo:hi",
                          self.trident("run", file, "-i", "s=a", "-i", values, status=2).stderr)
        self.assertIn("result = 53", self.trident("run", file, "-i", "s=0,2,3", "-i", "x=0,2,3", "--mode", "interp").stdout)
        self.assertRegex(self.trident("run", "--help").stdout, r"x=FILE; of a\s+function: x=2.5, x=1,2,3, or\s+any\s+text\s+for\s+bytes")

    def test_a_circle_of_files_is_an_error(self):
        os.makedirs(self.at("mine"))
        one = self.write("mine/one.fn", "fn one() -> i64 {\n  return two();\n}\n")
        self.write("mine/two.fn", "fn two() -> i64 {\n  return one();\n}\n")
        for options in ((), ("--library", self.at("mine"))):
            self.assertIn("the function calls itself", self.trident("explain", one, *options, status=2).stderr)

    def test_a_file_may_have_the_name_of_a_shipped_function(self):
        os.makedirs(self.at("mine"))
        own = self.write("mine/gcd.fn", "fn gcd(a: i64) -> i64 {\n  return double(a);\n}\n")
        self.write("mine/double.fn", DOUBLE)
        for options in ((), ("--library", self.at("mine"))):
            self.assertIn("result = 8", self.trident("run", own, "-i", "a=4", "--mode", "interp", *options).stdout)

    def test_explain_disasm_and_bench_take_functions(self):
        gcd = LIBRARY + "/math/gcd.fn"
        stages = self.trident("explain", gcd).stdout
        for part in ("fn gcd(a: i64, b: i64) -> i64 {", "block 0", "; trials: ", "idiv"):
            self.assertIn(part, stages)
        self.assertIn("idiv", self.trident("disasm", gcd).stdout)
        self.assertNotIn("fn gcd", self.trident("disasm", gcd).stdout)
        self.assertIn("--dump applies to expressions only", self.trident("explain", gcd, "--dump", "m", status=2).stderr)
        self.assertIn("--tier fast", self.trident("disasm", gcd, "--tier", "fast", status=2).stderr)
        times = json.loads(self.trident("bench", gcd, "--json").stdout)
        self.assertEqual(("gcd", "gcd(48, 18)"), (times["function"], times["calls"][0]["call"]))
        figures = ("interpreted_ns", "baseline_ns", "optimised_ns")
        self.assertTrue(all(c[figure] > 0 for c in times["calls"] for figure in figures))

    def test_code_is_shown_as_calls_get_it_or_as_lowered(self):
        total = LIBRARY + "/array/sum.fn"
        for verb in ("explain", "disasm"):
            code = self.trident(verb, total, "--isa", "avx2").stdout
            self.assertRegex(code, r"(?m)^; machine code: avx2, tier optimised, \d+ bytes")
            self.assertRegex(code, r"vpaddq ymm")
            code = self.trident(verb, total, "--tier", "baseline").stdout
            self.assertRegex(code, r"(?m)^; machine code: avx2, tier baseline, \d+ bytes")
            self.assertNotIn("ymm", code)
        self.assertRegex(self.trident("disasm", total).stdout, r"vpaddq [yz]mm")

    def test_other_names_say_what_they_are(self):
        verified = self.trident("stdlib", "--build", "--verify")
        self.assertIn("another name of `trident library test --tier native`", verified.stderr)
        self.assertRegex(verified.stdout, r"^\d+ functions, \d+ tests, 0 failed\n$")
        tested = self.trident("test", "-p", "lib")
        self.assertIn("another name of `trident library test`", tested.stderr)
        self.assertEqual(verified.stdout, tested.stdout)
        self.assertEqual(self.library("show", "gcd").stdout, self.trident("stdlib", "show", "gcd").stdout)
        self.trident("stdlib", status=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
