"""Runs the rules of rules.py on the repository, and each rule on a tree made to break it."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import duplication  # noqa: E402
import rules  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tracked_files():
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    return [f for f in listed if os.path.isfile(os.path.join(ROOT, f))]


class Repository(unittest.TestCase):
    pass


def add_repository_test(rule):
    def test(self):
        complaints = rule(ROOT, tracked_files())
        self.assertEqual([], complaints, "\n" + "\n".join(complaints))

    setattr(Repository, "test_" + rule.__name__, test)


for each in rules.RULES:
    add_repository_test(each)


class EachRuleBites(unittest.TestCase):
    """A rule that never complains is worthless: one small bad tree per rule."""

    def complaints(self, rule, tree):
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as handle:
                    handle.write(text)
            return rule(root, sorted(tree))

    def test_layers(self):
        tree = {"tests/tidy/layers.txt": "runtime/base:\njit/kir: runtime/base\n",
                "runtime/base/a.h": '#include "jit/kir/b.h"\n', "jit/kir/b.h": '#include "runtime/base/a.h"\n'}
        self.assertEqual(["runtime/base/a.h:1: runtime/base may not include jit/kir (tests/tidy/layers.txt)"],
                         self.complaints(rules.rule_layers, tree))

    def test_layers_cycle(self):
        tree = {"tests/tidy/layers.txt": "runtime/base: runtime/os\nruntime/os: runtime/base\n"}
        self.assertEqual(2, len(self.complaints(rules.rule_layers, tree)))

    def test_layers_unknown_module(self):
        tree = {"tests/tidy/layers.txt": "runtime/base:\n", "jit/stray/a.cpp": ""}
        self.assertEqual(1, len(self.complaints(rules.rule_layers, tree)))

    def test_layers_do_not_reach_through_others(self):
        tree = {"tests/tidy/layers.txt": "runtime/base:\njit/ir: runtime/base\njit/kir: jit/ir\n", "runtime/base/a.h": "",
                "jit/ir/b.h": '#include "runtime/base/a.h"\n',
                "jit/kir/c.h": '#include "jit/ir/b.h"\n#include "runtime/base/a.h"\n'}
        self.assertEqual(["jit/kir/c.h:2: jit/kir may not include runtime/base (tests/tidy/layers.txt)"],
                         self.complaints(rules.rule_layers, tree))

    def test_unused_layers(self):
        tree = {"tests/tidy/layers.txt": "# rows\nruntime/base:\njit/ir: runtime/base\njit/kir: runtime/base jit/ir\njit/x:\n",
                "runtime/base/a.h": "", "jit/ir/b.h": '#include "runtime/base/a.h"\n', "jit/kir/c.h": '#include "jit/ir/b.h"\n',
                "jit/kir/c_test.cpp": '#include "runtime/base/a.h"\n'}
        self.assertEqual(["tests/tidy/layers.txt:4: jit/kir does not include runtime/base: remove it from the row",
                          "tests/tidy/layers.txt:5: jit/x has no sources: remove the row"],
                         self.complaints(rules.rule_unused_layers, tree))

    def test_confined_includes(self):
        tree = {"jit/expr/a.cpp": "#include <asmjit/asmjit.h>\n#include <sys/mman.h>\n#include <immintrin.h>\n"
                                  "#include <openssl/evp.h>\n",
                "runtime/json/b.cpp": "#include <nlohmann/json.hpp>\n#include <CLI/CLI.hpp>\n#include <spdlog/spdlog.h>\n",
                "runtime/json/json.cpp": "#include <nlohmann/json.hpp>\n"}
        self.assertEqual(7, len(self.complaints(rules.rule_confined_includes, tree)))

    def test_file_names(self):
        self.assertEqual(2, len(self.complaints(rules.rule_file_names, {"jit/ir/string_utils.h": "", "jit/kir/kir_v2.cpp": ""})))

        tree = {"jit/ir/node_data.h": "", "daemon/net/base_channel.h": "", "runtime/base/result.h": "", "jit/kir/database.h": ""}
        self.assertEqual(2, len(self.complaints(rules.rule_file_names, tree)))

    def test_type_names(self):
        tree = {"jit/ir/a.h": "class NodeManager {\n};\n  struct NodeInfo;\nenum class BaseKind { a };\nusing Data = int;\n"
                              "struct Database;\nstruct Base {\n};\n// class XHelper\nstruct DataFlow;\n"}
        self.assertEqual([f"jit/ir/a.h:{line}: the name says nothing: '{name}'"
                          for line, name in ((1, "NodeManager"), (3, "NodeInfo"), (4, "BaseKind"), (5, "Data"))],
                         self.complaints(rules.rule_type_names, tree))

    def test_dead_sources(self):
        tree = {"jit/CMakeLists.txt": "trident_module(jit/ir LIBS fmt::fmt)\nadd_executable(x tool/main.cpp)\n",
                "jit/ir/a.cpp": "", "jit/stray/b.cpp": "", "jit/tool/main.cpp": ""}
        self.assertEqual(["jit/stray/b.cpp:1: no build takes it in"], self.complaints(rules.rule_dead_sources, tree))

    def test_comment_openings(self):
        tree = {"jit/ir/a.h": "// What it is.\n#pragma once\n/// Nodes.\n/// Of a kind.\nint x;  ///< Whose it is\n"
                              "/* The same of y. */\nint y;  // Of y, which may pass\n// Office, whatever\n",
                "jit/ir/ops.def": "  /// Any of them.\nX(add)\n",
                "tests/a.py": '#!/usr/bin/python3\n# Of rows\n# What follows\nx = 1\n"""The same."""\n',
                "jit/CMakeLists.txt": "# What lies there\nadd(x)  # The same\n", "jit/README.md": "# What\n"}
        self.assertEqual([f"{at}: a comment begins with '{words}': begin with a verb, or with a noun and a verb"
                          for at, words in (("jit/CMakeLists.txt:1", "What"), ("jit/ir/a.h:1", "What"),
                                            ("jit/ir/a.h:5", "Whose"), ("jit/ir/a.h:6", "The same"),
                                            ("jit/ir/ops.def:1", "Any of"), ("tests/a.py:2", "Of"),
                                            ("tests/a.py:5", "The same"))],
                         self.complaints(rules.rule_comment_openings, tree))

    def test_unfinished(self):
        self.assertEqual(1, len(self.complaints(rules.rule_unfinished, {"jit/ir/a.cpp": "// TODO: later\n"})))

    def test_sizes(self):
        tree = {"jit/ir/a.cpp": "\n" * 901, "jit/ir/README.md": "\n" * 41, "README.md": "\n" * 101, "jit/ir/b.cpp": "\n"}
        self.assertEqual(3, len(self.complaints(rules.rule_sizes, tree)))

    def test_versions(self):
        tree = {"CMakeLists.txt": "project(trident VERSION 0.1.9 LANGUAGES C)\n",
                "clients/c/a.h": "/* Since 0.1.9. */\n/* since 0.1.10 (as b) */\n"}
        self.assertEqual(["clients/c/a.h:2: version 0.1.10 is newer than the project's (CMakeLists.txt)"],
                         self.complaints(rules.rule_versions, tree))

    def test_readmes(self):
        self.assertEqual(["jit/ir:1: no README.md"], self.complaints(rules.rule_readmes, {"jit/ir/a.cpp": ""}))

    def test_dead_headers(self):
        tree = {"jit/ir/a.h": "", "jit/ir/b.h": "", "jit/ir/c.cpp": '#include "jit/ir/a.h"\n'}
        self.assertEqual(["jit/ir/b.h:1: nothing includes it"], self.complaints(rules.rule_dead_headers, tree))

    def op_list_complaints(self, code, rows="", path="jit/expr/a.cpp"):
        tree = {"tests/tidy/op_lists.txt": rows, path: "namespace trident::expr {\n" + code + "}\n"}
        return [each.split(": make")[0] for each in self.complaints(rules.rule_op_lists, tree)]

    def test_op_lists(self):
        for code, names in (
                ("bool f(Op op) { return op == Op::Sin || op == Op::Cos || (op == Op::Tan); }\n", "Cos, Sin, Tan"),
                ("bool f(Node n) { return n.op != Op::Sin && n.op != Op::Cos && n.op != expr::Op::Tan; }\n", "Cos, Sin, Tan"),
                ("bool f(Op op, bool b) { return (op == Op::Sin || op == Op::Cos || op == Op::Tan) && b; }\n", "Cos, Sin, Tan"),
                ("int f(Op op) { return op == Op::Sin ? 1 : op == Op::Cos ? 2 : op == Op::Tan ? 3 : 4; }\n", "Cos, Sin, Tan"),
                ("constexpr Op kOps[] = {Op::Sin, Op::Cos,\n  Op::Tan};\n", "Cos, Sin, Tan"),
                ("constexpr Row kRows[] = {{Op::Sin, 1}, {Op::Cos, 2}, {Op::Tan, 3}};\n", "Cos, Sin, Tan"),
                ("bool f(Op op) { for (Op o : {Op::Sin, Op::Cos, Op::Tan}) if (o == op) return true; return false; }\n",
                 "Cos, Sin, Tan"),
                ("int f(RealOp op) { switch (op) { case RealOp::Sin: case RealOp::Cos: case RealOp::Tan: return 1; } }\n",
                 "Cos, Sin, Tan"),
                ("int f(Op op) {\n  if (op == Op::Sin) return 1;\n  if (op == Op::Cos) return 2;\n  if (op == Op::Tan) return 3;\n"
                 "  if (op == Op::Exp) return 4;\n  if (op == Op::Log) return 5;\n  return 6;\n}\n", "Cos, Exp, Log, Sin, Tan"),
                ("bool f(Op op) { return op >= Op::Sin && op <= Op::Erfc; }\n", "Sin"),
                # under other names, and the other way round
                ("bool f(Op op) { return Op::Sin == op || Op::Cos == op || Op::Tan == op; }\n", "Cos, Sin, Tan"),
                ("bool f(Op op) { return Op::Sin != op && Op::Cos != op && op != Op::Tan; }\n", "Cos, Sin, Tan"),
                ("bool f(Op op) { using enum Op; return op == Sin || op == Cos || op == Tan; }\n", "Cos, Sin, Tan"),
                ("int f(Op op) { using enum expr::Op; switch (op) { case Sin: case Cos: case Tan: return 1; } }\n", "Cos, Sin, Tan"),
                ("using O = expr::Op; bool f(O op) { return op == O::Sin || op == O::Cos || op == O::Tan; }\n", "Cos, Sin, Tan"),
                ("typedef Op O; using P = O; constexpr O kOps[] = {P::Sin, P::Cos, P::Tan};\n", "Cos, Sin, Tan"),
                ("namespace e = trident::expr; constexpr e::Op kOps[] = {e::Op::Sin, e::Op::Cos, e::Op::Tan};\n", "Cos, Sin, Tan"),
                # arguments, masks, arrays
                ("void f() { insert(end(), Op::Sin, Op::Cos, Op::Tan); }\n", "Cos, Sin, Tan"),
                ("bool f(Op op) { return is_any<Op::Sin, Op::Cos, Op::Tan>(op); }\n", "Cos, Sin, Tan"),
                ("auto f() { return std::set{std::pair(Op::Sin, 1), std::pair(Op::Cos, 2), std::pair(Op::Tan, 3)}; }\n", "Cos, Sin, Tan"),
                ("constexpr auto kMask = 1ull << int(Op::Sin) | 1ull << int(Op::Cos) | 1ull << int(Op::Tan);\n", "Cos, Sin, Tan"),
                ("constexpr auto kMask = (std::uint64_t{1} << static_cast<int>(Op::Sin)) | bit(Op::Cos) | bit(Op::Tan);\n", "Cos, Sin, Tan"),
                ("constexpr double kCost[kOpCount] = {0, 1, 2, 3, 4};\n", ""),
                ("constexpr std::array<int, kOpCount> kCost = {0, 1, 2, 3, 4};\n", ""),
                ("constexpr int kCost[] = {0, 1, 2}; int f(Node n) { return kCost[static_cast<std::size_t>(n.op)]; }\n", ""),
                # over several statements
                ("void f() { a.push_back(Op::Sin); a.push_back(Op::Cos);\n  a.push_back(Op::Tan); }\n", "Cos, Sin, Tan"),
                ("void f() { a.insert({Op::Sin, Op::Cos}); a.insert({Op::Tan}); }\n", "Cos, Sin, Tan"),
                ("void f() { t[int(Op::Sin)] = 1; t[int(Op::Cos)] = 2; t[int(Op::Tan)] = 3; }\n", "Cos, Sin, Tan"),
                ("void f() { m |= bit(Op::Sin); m |= bit(Op::Cos); m |= bit(Op::Tan); }\n", "Cos, Sin, Tan"),
                ("bool f(Op op) { if (op == Op::Sin) return true; if (op == Op::Cos || op == Op::Tan) return true; return false; }\n",
                 "Cos, Sin, Tan"),
                ("bool f(Op op) { bool a = op == Op::Sin || op == Op::Cos, b = op == Op::Tan; bool c = op == Op::Exp || op == Op::Log;\n"
                 "  return a || b || c; }\n", "Cos, Exp, Log, Sin, Tan"),
                ("bool f(Op op) { return op == Op::Sin or op == Op::Cos or op == Op::Tan; }\n", "Cos, Sin, Tan"),
                ("bool f(Is is) { return is(Op::Sin) || is(Op::Cos) || is(Op::Tan); }\n", "Cos, Sin, Tan"),
                ("void f() { t[int(Op::Sin)] = t[int(Op::Cos)] = t[int(Op::Tan)] = true; }\n", "Cos, Sin, Tan"),
                ("#define TRIG(X) X(Sin) X(Cos) \\\n  X(Tan)\n", "Cos, Sin, Tan"),
                # texts
                ('bool f(View s) { return in(s, "sin, cos, tan"); }\n', "Cos, Sin, Tan"),
                ('bool f(std::string_view s) { return s == "sin" || "cos" == s || s == "tan"; }\n', "Cos, Sin, Tan"),
                ('const std::set<std::string> kNames = {"sin", "cos", "tan"};\n', "Cos, Sin, Tan"),
                ('void f() { m["sin"] = 1; m["cos"] = 2; m["tan"] = 3; }\n', "Cos, Sin, Tan")):
            line = 3 if code.startswith("int f(Op op) {\n") else 2
            self.assertEqual([f"jit/expr/a.cpp:{line}: a list of ops by hand ({names})"], self.op_list_complaints(code), code)

    def test_op_lists_spares(self):
        for code in ("bool f(Op op) { return op == Op::Sin || op == Op::Cos; }  // op == Op::Tan || op == Op::Exp\n",
                     "NodeId f() { return b.op(Op::Add, b.op(Op::Mul, x, y), b.op(Op::Sub, x, y)); }\n",
                     "bool f(Node n) { return (n.op == Op::Mul && g()) || (n.op == Op::Fma && h()) || (n.op == Op::Powi && i()); }\n",
                     "void f() { a.push_back(Op::Sin); a.push_back(Op::Cos); b.push_back(Op::Tan); }\n",
                     "void f() { x = b.op(Op::Sin, y); z = b.op(Op::Cos, y); w = b.op(Op::Tan, y); }\n",
                     'void f() { log("sin", "cosine", "tangent"); }  // "cos", "tan"\n',
                     "constexpr int kCost[] = {0, 1, 2}; int f(int i) { return kCost[i]; }\n",
                     "int f(Op op) { if (op == Op::Sin) return g(a); if (op == Op::Cos) return h(a); if (op == Op::Tan) return i(a); }\n",
                     "bool f(kir::Op op) { return op == kir::Op::Add || op == kir::Op::Sub || op == kir::Op::Mul; }\n"):
            self.assertEqual([], self.op_list_complaints(code), code)
        many = "bool f(Op op) { return op == Op::Sin || op == Op::Cos || op == Op::Tan; }\n"
        self.assertEqual([], self.op_list_complaints(many, path="jit/expr/a_test.cpp"))
        self.assertEqual([], self.op_list_complaints(many, "jit/expr/a.cpp 1: why  # and so on\n"))
        self.assertEqual(1, len(self.op_list_complaints(many, "jit/expr/a.cpp 2: why\n")))
        self.assertEqual(2, len(self.op_list_complaints(many + many, "jit/expr/a.cpp 1: why\n")))

    def class_size_complaints(self, lines, rows="", path="jit/ir/a.cpp"):
        text = "// {\nstruct Small {\n  int a;\n};\n\ntemplate <class N>\nclass Large final : private Small {\n" \
            + "  char c = '{';\n" * (lines - 3) + "};\n"
        return self.complaints(rules.rule_class_sizes, {"tests/tidy/long_classes.txt": rows, path: text})

    def test_class_sizes(self):
        self.assertEqual([], self.class_size_complaints(200))
        self.assertEqual(["jit/ir/a.cpp:6: Large has 201 lines: at most 200. Give its second job to another class, or define its "
                          "functions below it"], self.class_size_complaints(201))
        self.assertEqual([], self.class_size_complaints(201, path="jit/ir/a_test.cpp"))

    def test_class_sizes_permitted(self):
        row = "jit/ir/a.cpp Large 300: why  # and so on\n"
        self.assertEqual([], self.class_size_complaints(300, row))
        self.assertEqual(1, len(self.class_size_complaints(301, row)))
        self.assertEqual(["tests/tidy/long_classes.txt:1: jit/ir/a.cpp has no Large of more than 200 lines: remove the row"],
                         self.class_size_complaints(200, row))

    def test_doc_paths(self):
        tree = {"ARCHITECTURE.md": "see `jit/nowhere/x.h` and `jit/ir/a.h`\n", "jit/ir/a.h": ""}
        self.assertEqual(["ARCHITECTURE.md:1: `jit/nowhere/x.h` does not exist"],
                         self.complaints(rules.rule_doc_paths, tree))

    def test_make_targets(self):
        tree = {"Makefile": "test:\nbench: ## NAME=slot\n", "bench/benches.toml": "[slot]\n",
                "README.md": "`make test`, `make tests`, `make bench NAME=slot,slow`\n`make\nclean`\n",
                "jit/a.h": "// make slot-bench makes it; bench X=1 NAME=slot; `make test`\n// campaign NAME=soak; to make it\n"}
        self.assertEqual(["README.md:1: there is no 'make tests'", "README.md:2: there is no 'make clean'",
                          "README.md:1: there is no 'bench NAME=slow'", "jit/a.h:1: there is no 'make slot-bench'",
                          "jit/a.h:2: there is no 'campaign NAME=soak'"],
                         self.complaints(rules.rule_make_targets, tree))


class Duplication(unittest.TestCase):
    """Measures texts whose repetitions are known."""

    BODY = ("int f(int a) {\n  int b = 1;\n\n  if (a > b) return b;  // less\n  g(a, \"x\");\n"
            "  for (int i = 0; i < a; ++i) b += i;\n  a *= b;\n  return a + b;\n}\n")
    RENAMED = ("int h(int c) {\n  int d = 0x2f;\n  if (c > d) return d;\n  /* all */\n  k(c, \"y // z\");\n"
               "  for (int j = 7; j < c; ++j) d += j;\n  c *= d;\n  return c + d;\n}\n")

    def test_renamed_lines_are_the_same(self):
        found = duplication.measure({"a.cpp": self.BODY, "b.cpp": self.RENAMED})
        self.assertEqual((16, 14, [(7, "a.cpp:1-8", "b.cpp:1-8")]), found)

    def test_a_file_repeats_itself(self):
        self.assertEqual((16, 14, [(7, "a.cpp:1-8", "a.cpp:10-17")]), duplication.measure({"a.cpp": self.BODY + self.RENAMED}))

    def test_five_lines_are_too_few(self):
        other = self.RENAMED.replace("c *= d;", "c = d[c];")
        self.assertEqual(0, duplication.measure({"a.cpp": self.BODY, "b.cpp": other})[1])

    def test_other_operators_and_keywords_differ(self):
        for was, other in (("+=", "-="), ("int i", "long i"), ("a > b", "a >= b")):
            self.assertEqual(0, duplication.measure({"a.cpp": self.BODY, "b.cpp": self.BODY.replace(was, other)})[1], was)

    LISTS = ("enum class K : int {\n" + "".join(f"  one{i},\n" for i in range(4)) + "  last = 7\n};\n"
             "struct S {\n  int a = 0;\n  double b;\n  std::string c;\n  S(const S&) = delete;\n  T* d = nullptr;\n  U e;\n};\n"
             "int of(K k) {\n  switch (k) {\n    case K::one0: return 0;\n    case K::one1: return a;\n"
             "    case K::one2: return b + 1;\n    case K::one3: return f(1);\n    case K::last: return {};\n  }\n}\n")

    def test_lists_are_the_same_by_their_names(self):
        renamed = re.sub(r"\b([a-zK]\w?|one\d|last|S)\b", r"\1_other", self.LISTS)
        self.assertEqual(0, duplication.measure({"a.cpp": self.LISTS, "b.cpp": renamed})[1])
        self.assertEqual(40, duplication.measure({"a.cpp": self.LISTS, "b.cpp": self.LISTS})[1])

    def test_locals_are_no_members(self):
        body = "struct S {\n  int f() {\n    int a = 0;\n    double b;\n    U* c = d;\n    e += 1;\n    g();\n    h *= a;\n  }\n};\n"
        renamed = re.sub(r"\b([a-h])\b", r"\1_other", body)
        self.assertEqual(16, duplication.measure({"a.cpp": body, "b.cpp": renamed})[1])

    def test_lists_and_imports_are_left_out(self):
        cases = "".join(f"    case Op::k{i}:\n" for i in range(20))
        table = "".join(f"    {{{i}, 0x1.8p-{i}, k{i}}},\n" for i in range(20))
        imports = '#include "a.h"\nnamespace x {\nusing a::b;\nusing namespace c;\n\nnamespace {\nusing d::e;\n#pragma once\n'
        for text in (cases, table, imports):
            self.assertEqual(0, duplication.measure({"a.cpp": text, "b.cpp": text})[1])


if __name__ == "__main__":
    unittest.main()
