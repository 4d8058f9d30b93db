#!/usr/bin/python3
"""Counts lines of production code that are written twice: prints them per thousand lines, and the longest pairs.

Two runs of six lines and more are the same when they are equal after names, strings and numbers are made equal. Blank
lines, comments, includes, using-declarations, namespaces and lone brackets take no part; nor do lists: case labels, and
runs of few shapes, as rows of tables are. A line counts once, however often it stands again. Fails above the bar.

A second figure shows how much of that are lists: there enumerators, data members, deleted or defaulted functions, and
arms of a switch that only return keep their names, so that two lists are the same only when they list the same. The
pairs are those of the second figure; the bar is for the first.

usage: duplication.py [--bar N] [--pairs N] [--root FOLDER]
"""
import argparse
import collections
import os
import re
import subprocess
import sys

LINES_MIN = 6
SHAPES_MIN = 4  # of a run of six: fewer are a list
BAR = 6.0  # lines per thousand
LAYERS = ("runtime/", "jit/", "daemon/", "schemas/", "clients/")
NO_PRODUCTION = re.compile(r"_test\.(cpp|c)$|/(tests?|campaign|samples|coefficients)/")
KEYWORDS = set("""alignas auto bool break case catch char class concept const constexpr continue default delete do double else
enum explicit extern false float for friend if inline int long mutable namespace new noexcept nullptr operator private
protected public return requires short signed sizeof static struct switch template this throw true try typedef typename
union unsigned using virtual void volatile while""".split())
# Comments and literals in one pass, so that none is looked for in another.
PIECES = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
NUMBER = re.compile(r"(?<![A-Za-z_])(?:0[xXbB][\w.']+(?:[pP][+-]?\d+)?|\.?\d[\w.']*(?:(?<=[eE])[+-]\d+)?)")
NAME = re.compile(r"[A-Za-z_]\w*")
HEAD_OF_TYPE = re.compile(r"\b(enum|struct|class|union)\b[^()=;{}]*$")
ENTRY = {"enum": re.compile(r".*"), "type": re.compile(r"[^()]*;|.*=\s*(?:delete|default);")}
ARM = re.compile(r"(?:case\b[^;]*|default):\s*return\b[^;]*;")
APART = re.compile(r"#.*|(?:inline )?namespace\b.*|using [\w:]+;|using namespace\b.*|(?:case\b.*|default):|\W*")


def blanked(match):
    """Removes a comment, and makes strings equal; the lines stay."""
    lines = "\n" * match.group().count("\n")
    return lines if match.group().startswith("/") else '""' + lines


def shape(line):
    """Returns a line with its names, numbers and white space made equal."""
    line = NUMBER.sub("0", line)
    line = NAME.sub(lambda m: m.group() if m.group() in KEYWORDS else "x", line)
    return re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(line.split()))


def scopes(text):
    """Returns what each line of a text without comments begins in: "enum", "type" (of its members), or "" elsewhere."""
    kinds, open_scopes, head = [], [], ""
    for line in text.splitlines():
        kinds.append(open_scopes[-1] if open_scopes else "")
        for c in "" if line.lstrip().startswith("#") else line + " ":
            if c == "{":
                opened = HEAD_OF_TYPE.search(head)
                open_scopes.append("" if not opened else "enum" if "enum" in head.split() else "type")
            elif c == "}" and open_scopes:
                open_scopes.pop()
            head = "" if c in "{};" else head + c
    return kinds


def is_entry(line, scope):
    """Returns whether a line is one entry of a list whose names tell it from others."""
    return bool(ARM.fullmatch(line) or scope and ENTRY[scope].fullmatch(line))


def code_of(text, lists_by_name):
    """Returns the lines of code of a text, counted, and those that take part: number and shape."""
    count, found = 0, []
    text = PIECES.sub(blanked, text)
    for number, (line, scope) in enumerate(zip(text.splitlines(), scopes(text)), 1):
        line = line.strip()
        if not line:
            continue
        count += 1
        if not APART.fullmatch(line):
            found.append((number, " ".join(line.split()) if lists_by_name and is_entry(line, scope) else shape(line)))
    return count, found


def windows(code):
    """Returns the places of a file's runs of six lines that are no list."""
    for at in range(len(code) - LINES_MIN + 1):
        shapes = tuple(line for _, line in code[at:at + LINES_MIN])
        if len(set(shapes)) >= SHAPES_MIN:
            yield at, shapes


def repeated(codes):
    """Returns the places of every run of six lines that stands in two places that do not overlap."""
    places = collections.defaultdict(list)
    for path, code in codes.items():
        for at, shapes in windows(code):
            known = places[shapes]
            if not known or known[-1][0] != path or at - known[-1][1] >= LINES_MIN:
                known.append((path, at))
    return [found for found in places.values() if len(found) > 1]


def pairs(groups, codes):
    """Returns the longest runs that two places share: lines, and both places."""
    starts = collections.defaultdict(set)
    for found in groups:
        for i, (path, at) in enumerate(found):
            for other, there in found[i + 1:]:
                starts[path, other].add((at, there))
    rows = []
    for (path, other), found in starts.items():
        for at, there in found:
            if (at - 1, there - 1) in found:
                continue
            last = 0
            while (at + last + 1, there + last + 1) in found:
                last += 1
            lines = last + LINES_MIN
            spans = [f"{p}:{codes[p][a][0]}-{codes[p][a + lines - 1][0]}" for p, a in ((path, at), (other, there))]
            rows.append((lines, *spans))
    return sorted(rows, key=lambda row: (-row[0], row[1:]))


def measure(texts, lists_by_name=True):
    """Returns the lines of code, the duplicated ones among them, and the pairs."""
    counted = {path: code_of(text, lists_by_name) for path, text in texts.items()}
    codes = {path: code for path, (_, code) in counted.items()}
    groups = repeated(codes)
    twice = {(path, at + i) for found in groups for path, at in found for i in range(LINES_MIN)}
    return sum(count for count, _ in counted.values()), len(twice), pairs(groups, codes)


def production(root):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.cpp", "*.h", "*.hpp", "*.c"], cwd=root,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    texts = {}
    for path in listed:
        if path.startswith(LAYERS) and not NO_PRODUCTION.search(path) and os.path.isfile(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as handle:
                texts[path] = handle.read()
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bar", type=float, default=BAR, help="lines per thousand (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=20, help="how many pairs to print (default %(default)s)")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    options = parser.parse_args()
    texts = production(options.root)
    lines, twice, rows = measure(texts)
    _, with_lists, _ = measure(texts, lists_by_name=False)
    for row in rows[:options.pairs]:
        print("%3d lines: %s ~ %s" % row)
    figure = 1000 * with_lists / max(lines, 1)
    held = figure <= options.bar
    print(f"{with_lists} of {lines} lines are written twice: {figure:.1f} per thousand lines, bar: at most {options.bar:g}   "
          f"{'held' if held else 'MISSED'}")
    print(f"without lists that differ in what they list: {twice}, in {len(rows)} pairs, {1000 * twice / max(lines, 1):.1f} "
          "per thousand lines")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
