"""Lists of expr ops by hand. What an op is, a column of jit/expr/ops.def says; what is done with it, a switch that has an
arm for every op. Any other list is a copy of such a column, and a new op is forgotten there.

op_lists.txt names the lists that may be, per file, with the reason. Run this file to print them with the lists found.
"""
import os
import re
import subprocess
import sys

LIST_MIN = 3  # names in one expression, one table or the cases of one switch
PERMITTED = "tests/tidy/op_lists.txt"
NAME = r"(?:expr::)?(?:Real|Integer)?Op::([A-Z][a-z]\w*)"
OF_EXPR = re.compile(r"namespace trident::expr\b|using expr::Op;|using Op = expr::Op;|(?<!\w)expr::Op\b")
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
SWITCH = re.compile(r"\bswitch\s*\(")
CASE = re.compile(rf"\bcase {NAME}\s*:")
STATEMENT = re.compile(r"[;]|\)\s*(?:const\s*)?\{\n|\belse\b|\bcase\b")
# x == Op::Add that nothing else is asked with: "||", "?", a bracket or the end follows.
EQUAL = re.compile(rf"(&&\s*)?[\w.>\]()\[-]+\s*==\s*{NAME}(?!\w)(?!\s*&&)")
UNEQUAL = re.compile(rf"(\|\|\s*)?[\w.>\]()\[-]+\s*!=\s*{NAME}(?!\w)(?!\s*\|\|)")
BETWEEN = re.compile(rf"[<>]=?\s*{NAME}")
CHAIN_MIN = 5  # ops that ifs below each other ask for: a switch in disguise
CHAIN_GAP = 3  # lines between two of them
ASKED = re.compile(rf"^\s*(?:else )?if \([^;]*?==\s*{NAME}")
IN_BRACES = re.compile(rf"[{{,]\s*{NAME}(?=\s*[,}}])")


def shown_code(text):
    """The text with comments and strings blanked; line numbers stay."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def in_braces(part, position):
    """Whether the innermost bracket around a position is a brace: an argument of a call is in no list."""
    open_brackets = []
    for character in part[:position]:
        if character in "({[":
            open_brackets.append(character)
        elif character in ")}]" and open_brackets:
            open_brackets.pop()
    return bool(open_brackets) and open_brackets[-1] == "{"


def names_listed(part):
    """Ops that one statement treats alike, or tells apart with nothing else asked."""
    alike = [match.group(2) for match in EQUAL.finditer(part) if not match.group(1)]
    unlike = [match.group(2) for match in UNEQUAL.finditer(part) if not match.group(1)]
    tabled = [match.group(1) for match in IN_BRACES.finditer(part) if in_braces(part, match.end(1))]
    return max((set(alike), set(unlike), set(tabled)), key=len)


def chains_in(code):
    """(line, names) of ifs below each other that ask for one op after another."""
    chains, last = [], None
    for number, line in enumerate(code.split("\n"), 1):
        names = set(re.findall(rf"==\s*{NAME}", line)) if ASKED.search(line) else set()
        if not names:
            continue
        if last is None or number - last > CHAIN_GAP:
            chains.append((number, set()))
        chains[-1][1].update(names)
        last = number
    return [chain for chain in chains if len(chain[1]) >= CHAIN_MIN]


def lists_in(text):
    """(line, names) of every list of ops in a source."""
    code = shown_code(text)
    found = chains_in(code)
    starts = [match.start() for match in SWITCH.finditer(code)] + [len(code)]
    for start, end in zip(starts, starts[1:]):
        names = {match.group(1) for match in CASE.finditer(code, start, end)}
        if len(names) >= LIST_MIN:
            found.append((code.count("\n", 0, start) + 1, names))
    at = 0
    for part in STATEMENT.split(code):
        place = code.index(part, at)
        at = place + len(part)
        names = names_listed(part)
        if len(names) >= LIST_MIN or BETWEEN.search(part):
            first = re.search(NAME, part)
            found.append((code.count("\n", 0, place + first.start()) + 1, names))
    return sorted(found, key=lambda each: each[0])


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
