"""The verbs of the search from outside, rewrite, rules and calibrate: search_command_test.py TRIDENT TRIDENTD."""
import json
import math
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from command_case import ROOT, TRIDENT, TRIDENTD, CommandCase, alone


class SearchCommand(CommandCase):
    # --- rewrite ------------------------------------------------------------------------------------------------------

    def test_rewrite_reports_the_corpus(self):
        done = self.trident("rewrite", os.path.join(ROOT, "bench/corpus/rewrite.txt"), "--cost", "reference", "--points",
                            "1000", "--json")
        self.assertNotIn("\r", done.stderr)
        report = json.loads(done.stdout)
        cases = {case["name"]: case for case in report["cases"]}
        self.assertEqual(28, len(cases))
        self.assertEqual(28, report["summary"]["cases"])
        for case in cases.values():
            for field in ("tree_before", "tree_after", "dag_before", "dag_after", "nodes", "applications", "ms"):
                self.assertGreaterEqual(case[field], 0, field)
            self.assertLessEqual(case["dag_after"], case["dag_before"], case)
            self.assertAlmostEqual((case["dag_after"] + 4) / (case["dag_before"] + 4), case["dag_ratio"])
            self.assertTrue(case["result"] and case["stop"])
            self.assertIsNone(case["wrong"])
            self.assertGreaterEqual(case["max_error_ulp"], 0)
        for name, costs in (("d-x-sin", (96, 96)), ("d-sin-exp", (183, 144)), ("diff-sq", (12, 12)),
                            ("common-factor", (12, 12)), ("pythag", (172, 92))):
            self.assertEqual(costs, (cases[name]["tree_before"], cases[name]["dag_before"]), name)
        self.assertEqual((0, 0), (cases["pythag"]["tree_after"], cases["pythag"]["dag_after"]))  # it is 1

    def test_rewrite_prints_a_table_and_holds_bars(self):
        cases = self.write("r.txt", "; comment\ntwice | s | f | | (add x x) ; 3 / 2\nroot | s | f | x>0 | (sqrt (mul x x))\n")
        table = self.trident("rewrite", cases, "--points", "50").stdout
        self.assertRegex(table, r"(?m)^name|^twice +\S+ > ")
        self.assertRegex(table, r"(?m)^geomean over 2 cases: tree [0-9.]+, dag [0-9.]+$")
        held = self.trident("rewrite", cases, "--points", "50", "--dag-max", "1.0").stderr
        self.assertIn("held", held)
        self.assertIn("MISSED", self.trident("rewrite", cases, "--points", "50", "--dag-max", "0.01", status=1).stderr)
        self.assertIn("MISSED", self.trident("rewrite", cases, "--points", "50", "--tree-max", "0.01", status=1).stderr)

    def test_rewrite_explains_every_result_of_the_corpus(self):
        done = self.trident("rewrite", os.path.join(ROOT, "bench/corpus/rewrite.txt"), "--cost", "reference", "--points",
                            "50", "--ms", "4", "--explain", "--json")
        for row in json.loads(done.stdout)["cases"]:
            if row["dag_after"] < row["dag_before"]:
                self.assertTrue(row["derivation"], row["name"])
                self.assertIsNone(row["replay_fault"], row["name"])
        cases = self.write("cases.txt", "double | s | trig | | (mul 2 (mul (sin x) (cos x)))\n")
        self.assertIn("sin-double-rev: 2 * (sin(x) * cos(x))  =  sin(2 * x)",
                      self.trident("rewrite", cases, "--points", "50", "--explain").stdout)

    # --- guided, train ------------------------------------------------------------------------------------------------

    def test_guides_change_no_result(self):
        cases = self.write("g.txt", "double | s | t | | (mul 2 (mul (sin x) (cos x)))\nsum | s | p | | (add (mul a b) (mul a c))\n")
        costs = set()
        for guide in ("network", "cost", "constant", "random", "hostile"):
            done = self.trident("rewrite", cases, "--strategy", "guided", "--guide", guide, "--points", "500", "--cost", "reference",
                                "--ms", "0", "--all-nodes", "4000", "--json")
            report = json.loads(done.stdout)["cases"]
            self.assertEqual([None, None], [case["wrong"] for case in report])
            costs.add(tuple(case["dag_after"] for case in report))
        self.assertEqual({(44, 8)}, costs)
        self.assertIn("add --strategy guided", self.trident("rewrite", cases, "--weights", "w.nnue", status=2).stderr)
        self.assertIn("expected one of network, cost", self.trident("rewrite", cases, "--strategy", "guided", "--guide", "me", status=2).stderr)
        broken = self.write("broken.nnue", "no weights")
        self.assertIn("broken.nnue", self.trident("rewrite", cases, "--strategy", "guided", "--weights", broken, status=1).stderr)

    def test_explain_tells_how_a_form_was_found(self):
        svg = self.at("search.svg")
        done = self.trident("explain", "exp(x)*exp(y)/(exp(y) + 1) + x*0", "-r", "x:-3:3", "--dump=s", "--svg", svg)
        rows = re.findall(r"(?m)^; +([0-9.]+) +([0-9.]+) +(\S+) +([0-9.]+)  (.+)\n +(.+)$", done.stdout)
        self.assertGreaterEqual(len(rows), 2, done.stdout)
        self.assertEqual("source", rows[0][4])
        self.assertLess(float(rows[-1][0]), float(rows[0][0]))
        for _, model, _, measured, _, form in rows:
            self.assertGreater(float(model), 0)
            self.assertGreater(float(measured), 0)
            self.assertNotIn("f64", form)  # the form alone, without declarations
        known = {line.split()[0] for line in self.trident("rules", "list").stdout.splitlines() if line.strip()}
        for row in rows[1:]:
            for rule in row[4].split(", "):
                self.assertTrue(rule == "collect" or rule in known, rule)
        root = xml.etree.ElementTree.parse(svg).getroot()
        boxes = [e for e in root.iter() if e.tag.endswith("rect") and e.get("rx") == "6"]
        self.assertEqual(len(rows), len(boxes))
        self.assertEqual(3, sum(e.tag.endswith("polyline") for e in root.iter()))  # a curve for each strategy
        self.assertEqual("", self.trident("explain", "x + 1", "--dump=s", "-p", "exact").stdout)

    def train_guide(self, name, *options, status=0):
        path = self.at(name)
        done = self.trident("train", "guide", "-o", path, "--folder", self.at("training"), "--episodes", "40", "--rounds", "1",
                            "--epochs", "1", "--width", "32", *options, status=status)
        self.assertNotIn("\r", done.stderr)
        return path, done

    def test_train_guide_repeats_itself_and_goes_on(self):
        train = self.train_guide
        first, done = train("a.nnue", "--json", "--plot", self.at("p.svg"))
        figures = json.loads(done.stdout)["held_out"]
        for name in ("auc", "auc_no_delta", "auc_static", "auc_rule"):
            self.assertTrue(0 <= figures[name] <= 1, name)
        with open(self.at("p.svg"), encoding="utf-8") as plot:
            self.assertTrue(plot.read().startswith("<svg"))
        second, _ = train("b.nnue", "--resume", "--threads", "2")
        with open(first, "rb") as a, open(second, "rb") as b:
            self.assertEqual(a.read(), b.read())
        cases = self.write("g.txt", "double | s | t | | (mul 2 (mul (sin x) (cos x)))\n")
        self.trident("rewrite", cases, "--strategy", "guided", "--weights", first, "--points", "500")
        third, done = train("d.nnue", "--pretrain", "80", "--json")
        pretraining = json.loads(done.stdout)["pretraining"]
        self.assertIn(pretraining["depth_reached"], (0, 1, 2, 4, 8))
        for at, depth in enumerate(pretraining["depths"]):
            self.assertEqual((2**at, 20, True), (depth["depth"], depth["walks"], depth["samples"] > 100))
            self.assertTrue(0 < depth["first_chance"] < depth["first_static"] < 1 and 0 <= depth["first"] <= 1)
            self.assertEqual(at + 1 < len(pretraining["depths"]) or depth["depth"] == pretraining["depth_reached"], depth["enough"])
        again, done = train("e.nnue", "--pretrain", "80", "--resume", "--threads", "2")
        self.assertIn(f"depth that was reached: {pretraining['depth_reached']}\n", done.stdout)
        with open(third, "rb") as a, open(again, "rb") as b, open(first, "rb") as other:
            bytes_of = a.read()
            self.assertEqual(bytes_of, b.read())
            self.assertNotEqual(bytes_of, other.read())
        self.assertIn("there are additions", train("c.nnue", "--without", "nothing", status=2)[1].stderr)

    def test_train_guide_learns_of_one_corpus_and_is_tested_on_another(self):
        train = self.train_guide
        polynomials = self.write("poly.tsv", "p\tx:-1:1\tx*x + 2*x*y + y*y\nq\tx:1:2\tlog(x*exp(y)) - sin(x)/cos(x)\n")
        sines = self.write("sines.txt", "s | s | t | | (add (mul (sin x) (sin x)) (mul (cos x) (cos x)))\nbad | s | t | | (sin\n")
        _, done = train("d.nnue", "--only", polynomials, "--test", sines, "--json")
        report = json.loads(done.stdout)
        self.assertGreater(report["tested"]["samples"], 20)
        self.assertTrue(0 < report["tested"]["ratio"] < 1 and 0 < report["tested"]["ratio_static"] < 1, report["tested"])
        nothing = self.write("none.tsv", "p\tx:-1:1\tx +\n")
        self.assertIn("none.tsv: the file holds no expression", train("e.nnue", "--only", nothing, status=2)[1].stderr)
        self.assertIn("composed expressions", train("g.nnue", "--only", sines, "--pretrain", "80", status=2)[1].stderr)
        self.assertIn("all rules", train("h.nnue", "--without", "sums", "--teacher", "q", status=2)[1].stderr)
        little = self.write("little.tsv", "p\tx:-1:1\tx + y\n")
        self.assertIn("0 rewrites to learn from", train("f.nnue", "--only", little, status=2)[1].stderr)

    # --- calibrate ----------------------------------------------------------------------------------------------------

    # From jit/kir/ops.def: types of every op but the leaves, conversions from every type that there is.
    OP_TYPES = {"f32 f64 i32 i64": "add sub mul neg abs min max lt le eq ne select lookup sum minof maxof prod",
                "f32 f64": "dot div div.newton sqrt sqrt.newton fma fms fnma fnms rint floor ceil trunc scalef",
                "i32 i64 b32 b64": "and or xor not andnot", "i32 i64": "shl shr sar",
                "f32->i32 i32->f32 f64->i64 i64->f64": "bitcast", "f32->i32 f64->i64": "to_int_rint",
                "f32->f64 f32->i32 f32->i64 f64->f32 f64->i32 f64->i64 i32->f32 i32->f64 i32->i64 i64->f32 i64->f64 "
                "i64->i32 b32->b64 b64->b32": "convert"}

    @staticmethod
    def shipped_costs(name):
        with open(os.path.join(ROOT, "jit/cost/default", name), encoding="utf-8") as handle:
            return handle.read()

    @alone
    def test_calibrate_measures_every_op_and_leaves_a_file_that_rewrite_uses(self):
        wanted = {(op, kind) for kinds, ops in self.OP_TYPES.items() for op in ops.split() for kind in kinds.split()}
        # Which tables are stale is calibrate_test's to say; here those that were shipped are, and one of the two is renewed.
        shipped = {name: self.shipped_costs(name) for name in ("avx2.costs", "avx512.costs")}
        os.makedirs(self.at("cache/trident"))
        for name, text in shipped.items():
            self.write("cache/trident/" + name, text)
        report = json.loads(self.trident("calibrate", "--ops", "--quick", "--json", "--stale", "6").stdout)
        self.assertEqual(wanted, {(row["op"], row["type"]) for row in report["ops"]})
        self.assertEqual(self.at("cache/trident/%s.costs" % report["isa"]), report["file"])
        self.assertEqual(sorted(shipped), sorted(os.listdir(self.at("cache/trident"))))
        for name, text in shipped.items():
            with open(self.at("cache/trident/" + name), encoding="utf-8") as handle:
                self.assertEqual(name != report["isa"] + ".costs", handle.read() == text, name)
        with open(report["file"], encoding="utf-8") as handle:
            rows = [line.split("#")[0].split() for line in handle]
        figures = {tuple(row[:2]): [float(x) for x in row[2:]] for row in rows if len(row) == 4 and row[0] != "unit"
                   and row[0] != "trident"}
        self.assertEqual({(row["op"], row["type"]): [row["latency"], row["throughput"]] for row in report["ops"]},
                         {key: value for key, value in figures.items() if key[0] != "cpu"})
        for (op, kind), values in figures.items():
            for value in values:
                self.assertTrue(0 <= value < 1000, (op, kind, value))
        self.assertEqual(["trident", "costs", "1"], rows[0])
        self.assertEqual(report["cpu"].split(), rows[1][1:])

        cases = self.write("r.txt", "a | s | f | | (mul x y)\n")

        def cost_of_a_multiplication():
            done = self.trident("rewrite", cases, "--points", "50", "--cost", "host", "--json")
            return json.loads(done.stdout)["cases"][0]["dag_before"], done.stderr

        cost, said = cost_of_a_multiplication()
        self.assertEqual((figures["mul", "f64"][1], ""), (cost, said))
        with open(report["file"], encoding="utf-8") as handle:
            text = handle.read()
        dear = re.sub(r"(?m)^mul +f64 .*$", "mul f64 1 77", text)
        for changed, wanted_cost, hint in ((dear, 77, ""),
                                           (dear.replace(report["cpu"], "Another (X family 1)"), 1, "Another (X family 1)")):
            with open(report["file"], "w", encoding="utf-8") as handle:
                handle.write(changed)
            cost, said = cost_of_a_multiplication()
            self.assertEqual(wanted_cost, cost)
            self.assertIn(hint, said)
        with open(report["file"], "w", encoding="utf-8") as handle:
            handle.write(dear.replace("mul f64 1 77", "mul f64 1 -77"))
        line = dear[:dear.index("mul f64 1 77")].count("\n") + 1
        self.assertIn(f"{report['file']}:{line}: '-77'",
                      self.trident("rewrite", cases, "--cost", "host", status=2).stderr)
        os.remove(report["file"])
        self.assertIn("trident calibrate --ops", cost_of_a_multiplication()[1])

    @alone
    def test_calibrate_prints_a_table_and_writes_where_it_is_told(self):
        path = self.at("deep/er/x.costs")
        done = self.trident("calibrate", "--ops", "--quick", "--isa", "avx2", "--output", path)
        self.assertRegex(done.stdout, r"(?m)^op +type +latency +throughput +shipped: latency +throughput$")
        self.assertRegex(done.stdout, r"(?m)^div +f64 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$")
        self.assertIn("written to " + path, done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertTrue(os.path.getsize(path) > 1000)
        # This build has just written it, so it is not stale.
        before = os.stat(path).st_mtime_ns
        self.assertIn("kept", self.trident("calibrate", "--ops", "--isa", "avx2", "--output", path, "--stale", "6").stderr)
        self.assertEqual(before, os.stat(path).st_mtime_ns)
        printed = self.trident("calibrate", "--ops", "--quick", "--isa", "avx2", "--output", "-").stdout
        self.assertEqual("trident costs 1", printed.splitlines()[0])

    def test_the_daemon_refuses_costs_that_it_cannot_read(self):
        bad = self.write("bad.costs", "trident costs 1\nadd f32 1\n")
        for path, hint in ((bad, bad + ":2: "), (self.at("none.costs"), self.at("none.costs") + ": cannot be read")):
            done = subprocess.run([TRIDENTD, "--costs", path, "--cache", "none", "--socket", self.at("s.sock")],
                                  capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(2, done.returncode)
            self.assertIn(hint, done.stdout + done.stderr)

    def test_the_daemon_refuses_rules_that_are_not_right(self):
        good = self.write("good.rules", "one: (neg (neg (neg ?a))) => (neg ?a) ;; ieee=exact real=ok\n")
        wrong = self.write("wrong.rules", "; mine\nroot: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n")
        broken = self.write("broken.rules", "\na: (sine ?a) => ?a ;; ieee=round real=ok\n")
        taken = self.write("taken.rules", "neg-neg: (neg (neg ?a)) => ?a ;; ieee=exact real=ok\n")
        config = self.write("t.toml", "rules = '%s'\n" % wrong)
        for words, hints in ((("--rules", good, "--rules", wrong), (wrong + ":2: root: wrong: ", "hint: it holds with nonneg(?a)")),
                             (("--config", config), (wrong + ":2: root: wrong: ",)),
                             (("--rules", broken), (broken + ":2:5: ",)),
                             (("--rules", taken), (taken + ":1: there is a rule \"neg-neg\" already",)),
                             (("--rules", self.at("none.rules")), (self.at("none.rules") + ": cannot be read",))):
            done = subprocess.run([TRIDENTD, *words, "--cache", "none", "--socket", self.at("s.sock")],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(2, done.returncode, words)
            for hint in hints:
                self.assertIn(hint, done.stdout + done.stderr)
            self.assertNotIn("\\n", done.stderr)  # a line of the log for each of the message
            self.assertFalse(os.path.exists(self.at("s.sock")))

    @alone  # the kernel is the form that was measured to be the fastest
    def test_explain_and_bench_search_by_rules_of_the_user(self):
        rules = self.write("own.rules", "asinh-log: (asinh (div (sub (mul ?a ?a) 1) (mul 2 ?a))) => (log ?a) if pos(?a) "
                           ";; ieee=round real=guard\n")
        words = ("asinh((x*x - 1)/(2*x))", "-r", "x:2:8")

        def has_root(*options):
            return bool(re.search(r"(?m)\bsqrt\b", self.trident("explain", *words, "--dump=k", *options).stdout))

        self.assertTrue(has_root())
        self.assertFalse(has_root("--load-rules", rules))
        self.assertIn("--tier baseline", self.trident("explain", *words, "--load-rules", rules, "--tier", "baseline",
                                                      status=2).stderr)
        wrong = self.write("wrong.rules", "root: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n")
        for verb in ("explain", "disasm", "bench"):
            self.assertIn("wrong.rules:1: root: wrong",
                          self.trident(verb, *words, "--load-rules", wrong, status=1).stderr)

    @alone
    def test_calibrate_refuses_what_it_cannot_do(self):
        for words, hint in (([], "--ops"), (["--ops", "--isa", "sse"], "sse"), (["--ops", "--rounds", "3"], "--rounds"),
                            (["--ops", "--json", "--output", "-"], "--output -")):
            self.assertIn(hint, self.trident("calibrate", *words, status=2).stderr)
        self.assertIn("/proc/no", self.trident("calibrate", "--ops", "--quick", "--output", "/proc/no/x.costs",
                                               status=1).stderr)
        bare = {key: value for key, value in self.environment.items() if key not in ("HOME", "XDG_CACHE_HOME")}
        self.assertIn("--output FILE", self.trident("calibrate", "--ops", "--quick", env=bare, status=1).stderr)

    def test_rewrite_shows_the_graph_of_one_case(self):
        corpus = os.path.join(ROOT, "bench/corpus/rewrite.txt")
        page, graph = self.at("q.html"), self.at("q.dot")
        self.trident("rewrite", corpus, "--points", "50", "--case", "quintic", "--html", page, "--dot", graph)
        with open(page, encoding="utf-8") as handle:
            html = handle.read()
        linked = set(re.findall(r'href="#(c[0-9]+)"', html))
        self.assertTrue(linked and linked <= set(re.findall(r'<tr id="(c[0-9]+)"', html)))
        self.assertIn("Derivation", html)
        with open(graph, encoding="utf-8") as handle:
            dot = handle.read()
        named = re.findall(r"(?m)^    (n[0-9]+_[0-9]+) \[", dot)
        self.assertEqual(len(named), len(set(named)))
        for source, target in re.findall(r"(?m)^  (n[0-9_]+) -> (n[0-9_]+) \[", dot):
            self.assertIn(source, named)
            self.assertIn(target, named)
        self.assertIn("--case", self.trident("rewrite", corpus, "--html", page, status=2).stderr)
        self.assertIn("no such case", self.trident("rewrite", corpus, "--case", "nobody", status=2).stderr)

    def test_rewrite_says_where_a_form_overflows_far_out(self):
        cases = self.write("r.txt", "far | s | f | x>0,y>0 | (mul (sqrt x) (sqrt y))\n"
                                    "near | s | f | x>=1,x<=2,y>=1,y<=2 | (mul (sqrt x) (sqrt y))\n")
        report = json.loads(self.trident("rewrite", cases, "--points", "2000", "--json").stdout)
        far, near = report["cases"]
        self.assertEqual(["sqrt(x * y)"] * 2, [far["result"], near["result"]])
        # Exponents lie between -126 and 1024, and this share of pairs has a sum above 1024.
        pairs = [a + b > 1024 for a in range(-126, 1024) for b in range(-126, 1024)]
        self.assertAlmostEqual(sum(pairs) / len(pairs), far["not_finite_share"], delta=0.05)
        x, y = (float(v) for v in re.search(r"x = (\S+), y = (\S+)", far["not_finite_at"]).groups())
        self.assertTrue(math.isinf(x * y) and math.isfinite(math.sqrt(x) * math.sqrt(y)))
        self.assertEqual((0, None), (near["not_finite_share"], near["not_finite_at"]))
        table = self.trident("rewrite", cases, "--points", "2000").stdout
        self.assertEqual(1, table.count("    not finite at "))

    def test_numbers_in_rules_have_the_sort_of_what_they_stand_beside(self):
        rules = self.write("abs.rules", "q: (abs (sin ?a)) => (mul (sin ?a) (select (lt (sin ?a) 0) -1 1)) ;; ieee=domain real=ok\n")
        for kind in ("f32", "f64"):
            done = self.trident("explain", "abs(sin(x))", "-t", kind, "-r", "x:-3:3", "--load-rules", rules, "--dump=c")
            self.assertIn("candidate", done.stdout)
        alone = self.write("alone.rules", "z: (exp ?a) => (mul (exp ?a) (select (lt 1 2) 1 2)) ;; ieee=nan real=ok\n"
                           "y: (lt ?a ?b) => (and (lt ?a ?b) (eq 1 1)) ;; ieee=nan real=ok\n")
        done = self.trident("explain", "select(x < y, exp(x), y)", "-r", "x:-3:3", "-r", "y:0:1", "--load-rules", alone, "--dump=c")
        self.assertIn("candidate", done.stdout)

    def test_rewrite_counts_of_rules_matter(self):
        cases = self.write("r.txt", "a | s | f | | (log (mul (exp x) (exp y)))\n")

        def after(*options):
            report = json.loads(self.trident("rewrite", cases, "--points", "50", "--cost", "reference", "--json",
                                             *options).stdout)
            return report["cases"][0]["dag_after"]

        self.assertEqual(99, after("--rules", "0"))
        self.assertEqual(4, after("--rules", "all"))  # x + y
        for strategy in ("saturate", "pulse", "best_first", "random", "hostile"):
            self.assertLessEqual(after("--strategy", strategy), 99)

    def test_rewrite_keeps_its_budgets_and_says_which_one_ended_it(self):
        terms = " + ".join(f"x{i}*(y{i} + 1)" for i in range(30))
        cases = self.write("sum.tsv", f"sum\t\t{terms}\n")

        def row(*options):
            done = self.trident("rewrite", cases, "--points", "10", "--json", *options)
            return json.loads(done.stdout)["cases"][0]

        for strategy in ("saturate", "best_first"):
            self.assertEqual("time", row("--strategy", strategy, "--ms", "2")["stop"])
            bounded = row("--strategy", strategy, "--ms", "0", "--nodes", "1000000", "--bytes", "8M")
            self.assertEqual("bytes", bounded["stop"])
            self.assertLessEqual(bounded["bytes_max"], 8 << 20)
            applied = row("--strategy", strategy, "--ms", "0", "--applications", "700")
            self.assertEqual(("applications", 700), (applied["stop"], applied["applications"]))
            self.assertEqual("nodes", row("--strategy", strategy, "--ms", "0", "--nodes", "300")["stop"])
        self.assertEqual("saturated", row("--ms", "0", "--rules", "0", "--strategy", "saturate")["stop"])
        # Without a limit on time graphs grow as far as they may.
        self.assertGreater(row("--ms", "0", "--nodes", "9000")["nodes"], row("--ms", "0", "--nodes", "4000")["nodes"])
        manual = self.trident("manual", "rewrite").stdout.partition("REASONS TO STOP")[2]
        for stop in ("saturated", "nodes", "bytes", "time", "applications", "contradiction"):
            self.assertRegex(manual, f"(?m)^\\.B {stop}$")

    def test_rewrite_ends_well_where_the_system_has_no_memory(self):
        terms = " + ".join(f"x{i}*(y{i} + 1)" for i in range(30))
        cases = self.write("sum.tsv", f"sum\t\t{terms}\n")
        plain = subprocess.run([TRIDENT, "rewrite", cases, "--points", "10"], capture_output=True, text=True)
        self.assertEqual(0, plain.returncode)
        ends = set()
        for mib in range(40, 401, 48):
            bounded = ["sh", "-c", f"ulimit -v {mib << 10}; exec \"$@\"", "sh", TRIDENT]
            if subprocess.run([*bounded, "--version"], capture_output=True, check=False).returncode != 0:
                self.assertLess(mib, 80)  # the program itself has no room
                continue
            done = subprocess.run([*bounded, "rewrite", cases, "--points", "10", "--ms", "0", "--nodes", "2000000",
                                   "--strategy", "saturate", "--applications", "300000", "--bytes", "16G", "--json"],
                                  capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 2), done.stderr)
            if done.returncode == 2:
                self.assertIn("out of memory", done.stderr)
            elif done.returncode == 0:
                ends.add(json.loads(done.stdout)["cases"][0]["stop"])
        self.assertIn("bytes", ends)

    def test_rewrite_measures_errors_against_exact_values(self):
        cases = self.write("binom8.txt", "binom | s | f | | (mul (mul (mul (add x 1) (add x 1)) (mul (add x 1) (add x 1))) "
                           "(mul (mul (add x 1) (add x 1)) (mul (add x 1) (add x 1))))\n")
        row = json.loads(self.trident("rewrite", cases, "--json").stdout)["cases"][0]
        # (x + 1)^8 by seven products of a rounded sum: at most 8 + 7 roundings of half an ulp, up to 2 ulp each.
        self.assertLess(row["max_error_ulp_before"], 20)
        self.assertLess(row["max_error_ulp"], 20)
        cases = self.write("cancels.txt", "cancels | s | f | | (sub (mul x x) (sub (mul x x) y))\n")
        row = json.loads(self.trident("rewrite", cases, "--json").stdout)["cases"][0]
        self.assertEqual((0, "y"), (row["dag_after"], row["result"].strip("()")[-1]))
        self.assertLess(row["max_error_ulp"], 0.01)  # as well as the exact value is known
        self.assertGreater(row["max_error_ulp_before"], 100)

    def test_rewrite_refuses_what_it_does_not_know(self):
        cases = self.write("r.txt", "a | s | f | | (add x x)\n")
        for option, value, hint in (("--strategy", "bestfirst", "saturate, pulse, best_first"), ("--rules", "some", "a number"),
                                    ("--rules", "-3", "a number"), ("--rules", "7x", "a number"),
                                    ("--cost", "guest", "default, host, reference"), ("--objective", "graph", "dag, tree"),
                                    ("--policy", "loose", "loose"), ("--points", "0", "--points"),
                                    ("--nodes", "1", "at least 16"), ("--ms", "-1", "--ms"),
                                    ("--ms", "nan", "0 (no limit), or 0.001"), ("--ms", "1e-9", "0 (no limit), or 0.001"),
                                    ("--ms", "inf", "0 (no limit), or 0.001"), ("--ms", "1e7", "0 (no limit), or 0.001"),
                                    ("--seed", "18446744073709551616", "at most 18446744073709551615"),
                                    ("--applications", "-5", "0 or more"), ("--dag-max", "nan", "above 0"),
                                    ("--tree-max", "-1", "above 0"), ("--bytes", "64Q", "such as 64M"),
                                    ("--bytes", "1M", "from 4M"), ("--bytes", "-64M", "such as 64M"),
                                    ("--bytes", "99999999999999G", "to 1024G"), ("--bytes", "0", "from 4M")):
            message = self.trident("rewrite", cases, option, value, status=2).stderr
            self.assertIn(hint, message)
            self.assertIn(value, message)
        usage = self.trident("rewrite", "--help").stdout
        for option, least in (("--nodes", "at least 16"), ("--bytes", "at least 4M")):
            self.assertRegex(" ".join(usage.split()), f"{option} [^;]*{least};")
        for option in ("--html", "--dot", "--load-rules"):
            self.assertIn("name of a file", self.trident("rewrite", cases, option, "", status=2).stderr)
        self.assertIn("at most 18446744073709551615",
                      self.trident("rules", "check", cases, "--seed", "99999999999999999999", status=2).stderr)
        self.assertIn("FILE", self.trident("rewrite", status=2).stderr)
        self.assertIn("cannot be read", self.trident("rewrite", self.at("none.txt"), status=2).stderr)

    def test_rewrite_says_where_an_assumption_is_wrong(self):
        for assumption, hint in (("x", "x>0 or x!=0"), ("x!=1", "only 'x!=0'"), ("x!0", "only 'x!=0'"), ("x>", "number"),
                                 ("x>=one", "'one'"), ("2>x", "x>0 or x!=0"), ("x>1,x<0", "no value for 'x'"),
                                 ("x>0 y>0", "'0 y>0'"), ("x>1,x<1", "no value for 'x'"), ("x>=1,x<1", "no value for 'x'"),
                                 ("x>1,x<=1", "no value for 'x'"), ("x>inf", "no value for 'x'"), ("x>=inf", "no value for 'x'"),
                                 ("x<-inf", "no value for 'x'"), ("x>=0,x<=0,x!=0", "no value for 'x'"), ("x>nan", "'nan'")):
            cases = self.write("r.txt", f"; head\na | s | f | {assumption} | (add x x)\n")
            message = self.trident("rewrite", cases, status=1).stdout
            self.assertIn("FAILED", message, assumption)
            self.assertIn(hint, message, assumption)
            self.assertIn("r.txt:2:", message)
        cases = self.write("r.txt", "good | s | f | x!=0 | (div x x)\nidle | s | f | q>0 | (add x 1)\n")
        self.assertIn("idle", self.trident("rewrite", cases).stdout)  # of a variable that is not there it says nothing
        # A case that is no expression fails by itself; the others have their figures.
        cases = self.write("r.txt", "good | s | f | x!=0 | (div x x)\nbad | s | f | | (add x\n")
        report = json.loads(self.trident("rewrite", cases, "--points", "50", "--json", status=1).stdout)
        self.assertEqual(["good", "bad"], [case["name"] for case in report["cases"]])
        self.assertIn("failure", report["cases"][1])
        self.assertEqual(0, report["cases"][0]["dag_after"])

    # --- rules --------------------------------------------------------------------------------------------------------

    def test_rules_lists_every_rule_file(self):
        folder = os.path.join(ROOT, "jit/expr/rules")
        counts = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".rules"):
                with open(os.path.join(folder, name), encoding="utf-8") as handle:
                    counts[name[:-len(".rules")]] = sum(1 for line in handle if line.strip() and line[0] != ";")
        listed = json.loads(self.trident("rules", "list", "--json").stdout)
        self.assertEqual(counts, listed["themes"])
        self.assertEqual(sum(counts.values()), listed["count"])
        self.assertEqual(listed["count"], len({rule["name"] for rule in listed["rules"]}))
        text = self.trident("rules", "list").stdout
        for theme, count in counts.items():
            self.assertIn(f"{theme}: {count} rules\n", text)
        self.assertIn(f"{sum(counts.values())} rules in {len(counts)} themes", text)
        roots = self.trident("rules", "list", "--theme", "roots").stdout
        self.assertEqual(counts["roots"] + 2, len(roots.splitlines()))
        self.assertIn("expected one of", self.trident("rules", "list", "--theme", "root", status=2).stderr)

    def test_rules_shows_what_a_rule_says_and_where_it_stands(self):
        page = json.loads(self.trident("rules", "show", "div-self", "--json").stdout)
        self.assertEqual(["nonzero(?a)", "finite(?a)"], page["conditions"])
        self.assertEqual("?a is never zero", page["meanings"]["conditions"]["nonzero(?a)"])
        self.assertEqual("a/a = 1, where a is never zero and a is neither infinite nor NaN", page["law"])
        with open(os.path.join(ROOT, page["file"]), encoding="utf-8") as handle:
            self.assertTrue(handle.readlines()[page["line"] - 1].startswith("div-self: "))
        self.assertEqual("1", page["example"]["left"])
        self.assertEqual("1", page["example"]["right"])
        text = self.trident("rules", "show", "neg-neg").stdout
        self.assertIn("fires under exact, bounded, fast", text)
        self.assertIn("the same bits", text)
        self.assertIn("did you mean 'div-self'", self.trident("rules", "show", "div-slef", status=2).stderr)
        self.assertIn("trident rules list", self.trident("rules", "show", "q", status=2).stderr)

    def test_rules_words_that_are_none(self):
        self.assertIn("did you mean 'check'", self.trident("rules", "chek", status=2).stderr)
        self.assertIn("--help", self.trident("rules", status=2).stderr)
        self.assertIn("NAME", self.trident("rules", "show", status=2).stderr)
        self.assertIn("FILE", self.trident("rules", "check", status=2).stderr)
        self.assertIn("--points", self.trident("rules", "check", "x", "--points", "0", status=2).stderr)
        for part in ("list", "show", "check"):
            self.assertIn(f"Usage: trident rules {part}", self.trident("rules", part, "--help").stdout)

    def test_rules_check_finds_the_wrong_ones(self):
        right = self.write("right.rules", "; mine\nfour: (add (mul 3 ?a) ?a) => (mul 4 ?a) ;; ieee=round real=ok\n")
        self.assertIn("1 rule: 1 right, 0 wrong", self.trident("rules", "check", right).stdout)
        wrong = self.write("wrong.rules", "\nroot: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n"
                           "sum: (sum (sum ?a)) => (mul 2 (sum ?a)) ;; ieee=round real=ok\n")
        text = self.trident("rules", "check", right, wrong, "--seed", "7", "--points", "1000", status=1).stdout
        self.assertIn("wrong.rules:2: root: wrong: ", text)
        self.assertRegex(text, r"at \?a = (-\S+): left (\S+), right \1\n")
        self.assertIn("hint: it holds with nonneg(?a)", text)
        self.assertIn("wrong.rules:3: sum: not checked: ", text)
        self.assertIn("3 rules: 1 right, 1 wrong, 1 not checked (the right ones compared at 1000 points each, seed 7)", text)
        report = json.loads(self.trident("rules", "check", wrong, "--json", status=1).stdout)
        root = report["rules"][0]
        self.assertEqual(("root", 2, "wrong"), (root["name"], root["line"], root["verdict"]))
        self.assertLess(float(root["point"]["?a"]), 0)
        self.assertEqual(float(root["left"]), -float(root["right"]))
        self.assertEqual({"rules": 2, "right": 0, "wrong": 1, "unchecked": 1, "points": 10000, "seed": 1}, report["summary"])

    def test_rules_check_compares_derivatives_at_as_many_points(self):
        rule = self.write("slope.rules", "slope: (diff (mul 3 (sin ?a)) ?x) => (mul 3 (mul (diff ?a ?x) (cos ?a)))"
                          " ;; ieee=round real=ok\n")
        self.assertIn("compared at 10000 points each", self.trident("rules", "check", rule).stdout)

    def test_rules_check_knows_the_names_that_are_taken(self):
        taken = self.write("taken.rules", "\nneg-neg: (neg (neg ?a)) => ?a ;; ieee=exact real=ok\n")
        text = self.trident("rules", "check", taken, status=1).stdout
        self.assertIn("taken.rules:2: neg-neg: wrong: there is a rule of this name already, among the built-in ones", text)

    def test_rules_check_shows_where_a_file_is_no_rules(self):
        for text, place, hint in (("\n a: (sine ?a) => ?a ;; ieee=round real=ok\n", "r.rules:2:6: ", "no op \"sine\""),
                                  ("a: (neg ?a) => ?a\n", "r.rules:1:18: ", "ieee="), ("; none\n", "r.rules: ", "no rules")):
            message = self.trident("rules", "check", self.write("r.rules", text), status=2).stderr
            self.assertIn(place, message)
            self.assertIn(hint, message)
        self.assertIn("\n      ^\n", self.trident("rules", "check", self.write("r.rules", "a: (sine ?a) => ?a"),
                                                status=2).stderr)
        self.assertIn("cannot be read", self.trident("rules", "check", self.at("none"), status=2).stderr)

    def test_rewrite_uses_rules_of_the_user_when_they_are_right(self):
        cases = self.write("r.txt", "a | s | f | | (mul (mul 0.5 x) (add 1 (tanh x)))\n")
        rules = self.write("mine.rules", "gelu: (mul (mul 0.5 ?a) (add 1 (tanh ?a))) => (div ?a (add 1 (exp (mul -2 ?a)))) "
                           ";; ieee=round real=ok\n")

        def rewritten(*options, status=0):
            return self.trident("rewrite", cases, "--points", "50", "--cost", "reference", "--rules", "0", "--json", *options,
                                status=status)

        self.assertEqual(57, json.loads(rewritten().stdout)["cases"][0]["dag_after"])
        done = rewritten("--load-rules", rules)
        self.assertEqual(51, json.loads(done.stdout)["cases"][0]["dag_after"])
        self.assertIn("1 rule of", done.stderr)
        # It keeps no bits: under the exact policy it must not fire.
        exact = rewritten("--load-rules", rules, "--policy", "exact")
        self.assertEqual(57, json.loads(exact.stdout)["cases"][0]["dag_after"])
        wrong = self.write("wrong.rules", "root: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n")
        message = rewritten("--load-rules", rules, "--load-rules", wrong, status=1).stderr
        self.assertIn("no rules are loaded", message)
        self.assertIn("hint: it holds with nonneg(?a)", message)
        taken = self.write("taken.rules", "neg-neg: (neg (neg ?a)) => ?a ;; ieee=exact real=ok\n")
        self.assertIn("taken.rules:1: there is a rule \"neg-neg\" already", rewritten("--load-rules", taken, status=2).stderr)
        self.assertIn("already, at", rewritten("--load-rules", rules, "--load-rules", rules, status=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
