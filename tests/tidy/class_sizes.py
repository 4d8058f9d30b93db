"""Lines of classes. A class of more lines than a reader takes in at once has two jobs, or its bodies belong below it.

long_classes.txt names the classes that may be longer, with their lines and the reason. Run this file to print them.
"""
import os
import re
import subprocess
import sys

LINES_MAX = 200
PERMITTED = "tests/tidy/long_classes.txt"
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
HEAD = re.compile(r"^[ \t]*(?:template\s*<[^;{}]*>\s*)?(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)?"
                  r"([A-Za-z_][\w:]*)[^;{}()=]*\{", re.M)


def end_of(code, brace):
    """The place of the brace that closes the one at `brace`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, brace):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def classes_in(text):
    """(name, line, lines) of every class, from its head to its closing brace."""
    code = HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    for match in HEAD.finditer(code):
        lines = code.count("\n", match.start(), end_of(code, match.end() - 1)) + 1
        yield match.group(1), code.count("\n", 0, match.start()) + 1, lines


def permitted(root):
    """(path, class) -> (how many lines, the reason, the line of the row)."""
    rows = {}
    with open(os.path.join(root, PERMITTED), encoding="utf-8") as handle:
        for number, line in enumerate(handle, 1):
            row = line.split("#")[0].strip()
            if row:
                place, _, reason = row.partition(": ")
                path, name, lines = place.split()
                rows[path, name] = (int(lines), reason.strip(), number)
    return rows


def long_classes(root, paths):
    """(path, class) -> (line, lines) of the classes that are too long."""
    found = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as handle:
            text = handle.read()
        found.update({(path, name): (line, lines) for name, line, lines in classes_in(text) if lines > LINES_MAX})
    return found


def complaints(root, paths):
    rows, found, said = permitted(root), long_classes(root, paths), []
    for (path, name), (line, lines) in sorted(found.items()):
        most = rows.get((path, name), (LINES_MAX,))[0]
        if lines > most:
            said.append(f"{path}:{line}: {name} has {lines} lines: at most {most}. Give its second job to another class, "
                        "or define its functions below it")
    for (path, name), (_, _, number) in rows.items():
        if (path, name) not in found:
            said.append(f"{PERMITTED}:{number}: {path} has no {name} of more than {LINES_MAX} lines: remove the row")
    return said


def main(root):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.cpp", "*.h"], cwd=root, capture_output=True,
                            text=True, check=True).stdout.splitlines()
    rows = permitted(root)
    for place, (line, lines) in sorted(long_classes(root, [path for path, _ in rows if path in listed]).items()):
        if place in rows:
            print(f"{place[0]}:{line}: {place[1]}, {lines} lines: {rows[place][1]}")


if __name__ == "__main__":
    main(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.exit(0)
