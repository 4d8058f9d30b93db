"""Finds lists of expr ops by hand. A column of jit/expr/ops.def says what an op is; a switch that has an arm for every op
says what is done with it. Any other list is a copy of such a column, and a new op is forgotten there.

A source is read as tokens in brackets (op_tokens.py). A list has LIST_MIN ops or more, each written as a member of the
enum, under whatever name, or as its text:
  - members of one pair of brackets, alone or in rows: {Op::Sin, Op::Cos}, f(op, Op::Sin, Op::Cos), {{Op::Sin, 1}, ..}
  - comparisons, either way round, in one statement or in neighbouring ones that ask for the same operand
  - parts of a bit mask, cases of a switch, and neighbouring statements that differ in the op alone
  - macros, and texts of several names
Two lists have no names: an order of ops (op <= Op::Erfc), and an array of values that is indexed by an op.

op_lists.txt names the lists that may be, per file, with the reason. Run this file to print them with the lists found.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from op_tokens import Source  # noqa: E402

LIST_MIN = 3  # ops in one list
CHAIN_MIN = 5  # ops that neighbouring statements ask for, whose answers are code: a switch in disguise
GAP = 3  # lines between two neighbours
PERMITTED = "tests/tidy/op_lists.txt"
OF_EXPR = re.compile(r"namespace trident::expr\b|using (?:trident::)?expr::Op;|(?<!\w)expr::(?:Real|Integer)?Op\b")
ORDERS = ("<", ">", "<=", ">=")
JOINED = {"==": "&&", "!=": "||"}  # what makes a comparison a part of a longer question


class Finder:
    """Collects the lists of one source as (token, names)."""

    def __init__(self, source):
        self.source, self.tokens, self.found = source, source.tokens, []

    def lists(self):
        for find in (self.brackets, self.rows_of_names, self.comparisons, self.masks, self.calls, self.cases,
                     self.alike_statements, self.orders, self.arrays):
            find()
        found = [(line, names) for line, names in self.source.macros + self.source.word_lists if len(names) >= LIST_MIN]
        seen = []
        for first, last, names in sorted(self.found, key=lambda each: (each[0], -each[1])):
            if not any(begin <= first <= end for begin, end in seen):
                seen.append((first, last))
                found.append((self.tokens[first].line, names))
        return found

    def take(self, places, least=LIST_MIN):
        """Notes a list if these tokens have enough ops. Ops and texts are no list together."""
        for of_text in (False, True):
            own = [at for at in places if self.tokens[at].is_text == of_text]
            names = {self.tokens[at].op for at in own}
            if len(names) >= least:
                self.found.append((min(own), max(own), names))

    def members(self, group):
        """Returns the ops that are elements of a group, or of rows in it."""
        places = []
        for begin, end in self.source.elements(group):
            if end - begin == 1 and self.tokens[begin].op:
                places.append(begin)
            elif self.tokens[group].text == "{":
                inner = end - 1 if self.tokens[end - 1].text in ")}" else begin
                opening = self.tokens[inner].partner
                if opening is None or opening < begin:
                    continue
                row = self.members(opening)
                plain = all(self.source.is_literal(b, e) or self.tokens[b].op for b, e in self.source.elements(opening))
                if self.tokens[inner].text == "}" or plain:
                    places += row
        return places

    def brackets(self):
        for group, token in enumerate(self.tokens):
            if token.text in ("(", "{") and token.partner:
                self.take(self.members(group))

    def rows_of_names(self):
        """Finds arguments of a template, which stand in no brackets: Op::Sin, Op::Cos, Op::Tan."""
        run = []
        for at, token in enumerate(self.tokens):
            if token.op and run and at == run[-1] + 2 and self.tokens[at - 1].text == ",":
                run.append(at)
            elif token.op:
                self.take(run)
                run = [at]
        self.take(run)

    def comparison_at(self, at):
        """Returns (operator, operand, whether nothing else is asked with it) of a comparison with an op."""
        tokens, source = self.tokens, self.source
        if tokens[at - 1].text in JOINED:
            sign, begin, end = tokens[at - 1].text, source.operand_back(at - 1), at + 1
            operand = source.text(begin, at - 1)
        elif tokens[at + 1].text in JOINED:
            sign, begin, end = tokens[at + 1].text, at, source.operand_forward(at + 2)
            operand = source.text(at + 2, end)
        else:
            return None
        return sign, operand, JOINED[sign] not in (tokens[begin - 1].text, tokens[end].text)

    def comparisons(self):
        for sign in JOINED:
            by_statement, tables, chains = {}, {}, {}
            for at, token in enumerate(self.tokens[1:-1], 1):
                compared = self.comparison_at(at) if token.op else None
                if not compared or compared[0] != sign:
                    continue
                asked = "if" if self.source.begins_if(token.statement) else compared[1]
                if compared[2]:
                    by_statement.setdefault(token.statement, []).append(at)
                elif asked != "if":
                    continue
                if self.source.answers_at_once(token.statement):
                    self.extend(tables, (compared[1], token.is_text), at, LIST_MIN)
                self.extend(chains, (asked, token.is_text), at, CHAIN_MIN)
            for places in by_statement.values():
                self.take(places)
            for runs, least in ((tables, LIST_MIN), (chains, CHAIN_MIN)):
                for places in runs.values():
                    self.take(places, least)

    def extend(self, runs, key, at, least):
        """Adds a place to the run of its key, or begins another one where it is far from the last."""
        run = runs.get(key, [])
        if run and self.tokens[at].line - self.tokens[run[-1]].line > GAP:
            self.take(run, least)
            run = []
        runs[key] = [*run, at]

    def masks(self):
        by_statement = {}
        for at, token in enumerate(self.tokens):
            if token.op:
                begin, end = self.source.unit_around(at)
                if {self.tokens[begin - 1].text, self.tokens[end].text} & {"|", "|="}:
                    by_statement.setdefault(token.statement, []).append(at)
        for places in by_statement.values():
            self.take(places)

    def calls(self):
        """Finds one function, or one array, that a statement asks about several ops: is(Op::Sin) || is(Op::Cos) || .."""
        by_callee = {}
        for at, token in enumerate(self.tokens):
            if token.op and not token.is_text:
                begin, end = self.source.unit_around(at)
                if self.tokens[begin - 1].text == "[" and self.tokens[end].text == "]":
                    begin = self.source.operand_back(begin - 1)
                if begin < at:
                    by_callee.setdefault((token.statement, self.source.text(begin, begin + 2)), []).append(at)
        for places in by_callee.values():
            self.take(places)

    def cases(self):
        by_switch = {}
        for at, token in enumerate(self.tokens[1:], 1):
            if token.op and self.tokens[at - 1].text == "case":
                by_switch.setdefault(token.parent, []).append(at)
        for places in by_switch.values():
            self.take(places)

    def alike_statements(self):
        """Finds neighbouring statements that are the same but for the op and literals: s.insert(Op::Sin); ..."""
        last_shape, run, statements = None, [], 0
        for begin, end in self.source.statements():
            shape, places = self.source.shape(begin, end)
            if not places or not self.source.is_plain(begin):
                continue
            near = run and self.tokens[begin].line - self.tokens[run[-1]].line <= GAP
            if shape != last_shape or not near:
                self.take(run if statements > 1 else [])
                run, statements = [], 0
            last_shape, run, statements = shape, run + places, statements + 1
        self.take(run if statements > 1 else [])

    def orders(self):
        for at, token in enumerate(self.tokens[1:-1], 1):
            before, after = self.tokens[at - 1].text, self.tokens[at + 1].text
            of_template = before in "<," and after in ",>"
            if token.op and not token.is_text and not of_template and (before in ORDERS or after in ORDERS):
                self.found.append((at, self.source.end_of(token.statement), {token.op}))

    def arrays(self):
        """Finds arrays of values by hand that have an element for each op, or that an op indexes."""
        for group, token in enumerate(self.tokens):
            if token.text == "{" and token.partner and len(self.source.elements(group)) >= LIST_MIN:
                name = self.source.array_name(group)
                if name and (self.source.has_element_for_each_op(group) or name in self.source.indexed_by_op):
                    self.found.append((group, token.partner, set()))


def lists_in(text):
    """(line, names) of every list of ops in a source."""
    return Finder(Source(text)).lists()


def permitted(root):
    """path -> (how many lists, the reason, the line of the row)."""
    rows = {}
    with open(os.path.join(root, PERMITTED), encoding="utf-8") as handle:
        for number, line in enumerate(handle, 1):
            row = line.split("#")[0].strip()
            if row:
                place, _, reason = row.partition(": ")
                path, count = place.split()
                rows[path] = (int(count), reason.strip(), number)
    return rows


def found_lists(root, paths):
    """path -> lists, of the sources that know the ops of expr. Tests are oracles: they have lists of their own."""
    found = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as handle:
            text = handle.read()
        lists = lists_in(text) if OF_EXPR.search(text) else []
        if lists:
            found[path] = lists
    return found


def complaints(root, paths):
    rows, found, said = permitted(root), found_lists(root, paths), []
    for path, lists in sorted(found.items()):
        most = rows[path][0] if path in rows else 0
        for line, names in lists[:0 if len(lists) <= most else None]:
            said.append(f"{path}:{line}: a list of ops by hand ({', '.join(sorted(names))}): make it a column of "
                        f"jit/expr/ops.def, or a row of {PERMITTED} with the reason")
    for path, (count, _, number) in rows.items():
        have = len(found.get(path, ()))
        if have < count:
            said.append(f"{PERMITTED}:{number}: {path} has {have} lists of ops, not {count}: correct the row")
    return said


def main(root):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.cpp", "*.h"], cwd=root, capture_output=True,
                            text=True, check=True).stdout.splitlines()
    rows = permitted(root)
    for path, lists in sorted(found_lists(root, [path for path in listed if path in rows]).items()):
        print(f"{path}: {rows[path][1]}")
        for line, names in lists:
            print(f"  line {line}: {len(names)} ops: {' '.join(sorted(names))[:80]}")


if __name__ == "__main__":
    main(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.exit(0)
