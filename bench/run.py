#!/usr/bin/python3
"""Runs benches, campaigns and training of weights by name, each a row of a table.

A row: what (one sentence), takes (how long), targets (of ninja), run (commands, or tables of a command with bars, if,
unless, cpu (a flag of /proc/cpuinfo without which it is skipped) or last_lines), and where it needs them: preset (of CMake), packages (its line of packages-optional.txt), each
(runs the commands for every value of a variable), folders (made first), folder (commands run there), environment,
parameters (variables that a caller may set, and their defaults), stop (at the first failure; otherwise all commands
run, and the row fails if one failed), holds (bars that the program itself checks).

Words in braces: {build}, {root}, {jobs}, {trident}, {python}, variables of `each`, parameters. Environment: BUILD, JOBS,
parameters. Exit status: 0, 1 after a failed command or a missed bar, 2 for a wrong name.
"""
import argparse
import difflib
import functools
import glob
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = {"bench": "bench/benches.toml", "campaign": "tests/campaigns.toml", "weights": "bench/weights.toml"}
FIGURE = re.compile(r"(\S.*?) +(-?\d+(?:\.\d+)?|-?inf|-?nan)$")


@functools.cache
def load(kind):
    return tomllib.loads((ROOT / TABLES[kind]).read_text(encoding="utf-8"))


def build_folder(row):
    return ROOT / f"build-{row['preset']}" if "preset" in row else ROOT / os.environ.get("BUILD", "build")


def variables(row):
    """Returns what stands for the words in braces, but for those of `each`."""
    build = build_folder(row)
    words = {"build": build, "root": ROOT, "trident": build / "bin/trident", "python": "/usr/bin/python3",
             "jobs": os.environ.get("JOBS") or os.cpu_count()}
    for name, default in row.get("parameters", {}).items():
        words[name] = os.environ.get(name) or default.format(**words)
    return words


def combinations(each):
    """Returns every choice of one value for each variable."""
    choices = [{}]
    for name, values in each.items():
        choices = [{**choice, name: value} for choice in choices for value in values]
    return choices


def expand(word):
    """Returns the files of a pattern, each behind the pattern's option if it has one; other words as they are."""
    option, equals, pattern = word.rpartition("=") if word.startswith("--") else ("", "", word)
    found = sorted(glob.glob(str(ROOT / pattern))) if "*" in pattern else []
    names = found if os.path.isabs(pattern) else [os.path.relpath(path, ROOT) for path in found]
    return [f"{option}{equals}{name}" for name in names] or [word]


def steps(row):
    """Returns the commands of a row: tables with `argv` and the fields of the step."""
    words = variables(row)
    found = []
    for choice in combinations(row.get("each", {})):
        for step in row["run"]:
            step = {"command": step} if isinstance(step, str) else step
            argv = [part for word in shlex.split(step["command"]) for part in expand(word.format(**words, **choice))]
            for bar, value in step.get("bars", {}).items():
                argv += [f"--{bar}", str(value)]
            tests = {key: pathlib.Path(step[key].format(**words)) for key in ("if", "unless") if key in step}
            found.append({**step, **tests, "argv": argv})
    return found


def packages(kind, name):
    """Returns the packages of the row's line of packages-optional.txt that are no command of this machine."""
    for line in (ROOT / "packages-optional.txt").read_text(encoding="utf-8").splitlines():
        listed, _, use = line.partition("#")
        if use.strip() == f"make {kind} NAME={name}":
            return [package for package in listed.split() if not shutil.which(package)]
    return []


def preparation(kind, name, row):
    """Returns the commands that install and build what the row needs."""
    build = build_folder(row)
    commands = [["make", "--no-print-directory", "packages"]]
    if row.get("packages"):
        commands.append([*commands[0], "PACKAGES=" + " ".join(packages(kind, name))])
    if not (build / "build.ninja").exists():
        commands.append(["cmake", "--preset", row.get("preset", "dev"), "-B", str(build)])
    commands.append(["ninja", "-C", str(build), f"-j{variables(row)['jobs']}", *row["targets"]])
    return commands


class Bars:
    """Compares the figures that a program prints with the bars of its row."""

    def __init__(self, bars):
        self.bars = bars
        self.missed = 0
        self.unseen = set(bars)

    def read(self, line):
        """Returns the line, with its bar if it is a figure that has one."""
        match = FIGURE.match(line.rstrip())
        name = match and next((bar for bar in self.bars if match.group(1).startswith(bar)), None)
        if not name:
            return line
        bar, value = self.bars[name], float(match.group(2))
        held = bar.get("least", value) <= value <= bar.get("most", value)
        self.missed += not held
        self.unseen.discard(name)
        sides = " and ".join(f"at {side} {bound}" for side, bound in bar.items())
        return f"{line.rstrip()}   bar: {sides}   {'held' if held else 'MISSED'}\n"

    def held(self):
        for name in sorted(self.unseen):
            print(f"bar '{name}': MISSED, the program printed no such figure")
        return not self.missed and not self.unseen


def run_step(step, row, bars):
    """Runs one command; prints what it prints, or its last lines. Returns whether it ended well."""
    words = variables(row)
    environment = {**os.environ, **{key: value.format(**words) for key, value in row.get("environment", {}).items()}}
    folder = row.get("folder", "{root}").format(**words)
    print("$", shlex.join(step["argv"]), flush=True)
    if not bars.bars and "last_lines" not in step:
        return subprocess.run(step["argv"], cwd=folder, env=environment, check=False).returncode == 0
    kept = []
    with subprocess.Popen(step["argv"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            kept = [*kept, bars.read(line)][-step.get("last_lines", 1):]
            if "last_lines" not in step:
                print(kept[-1], end="", flush=True)
    print(*(kept if "last_lines" in step else ()), sep="", end="", flush=True)
    return process.returncode == 0


@functools.cache
def cpu_flags():
    """Returns the flags that Linux gives of this processor."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return {flag for line in lines if line.startswith(("flags", "Features")) for flag in line.partition(":")[2].split()}


def skipped(step):
    if "cpu" in step and step["cpu"] not in cpu_flags():
        print(f"skipped, as this processor lacks {step['cpu']}: {shlex.join(step['argv'])}")
        return True
    return ("if" in step and not step["if"].exists()) or ("unless" in step and step["unless"].exists())


def show(kind, name, row, build):
    """Prints the commands of a row, and runs none."""
    for argv in preparation(kind, name, row) if build else ():
        print(shlex.join(argv))
    words = variables(row)
    for key, value in row.get("environment", {}).items():
        print(f"export {key}={shlex.quote(value.format(**words))}")
    if "folder" in row:
        print("cd", shlex.quote(row["folder"].format(**words)))
    for step in steps(row):
        remark = "".join(f"  # {key} {step[key]}" for key in ("if", "unless", "cpu") if key in step)
        print(shlex.join(step["argv"]) + remark)


def run(kind, name, row, build):
    """Runs a row. Returns whether all of its commands ended well and all of its bars held."""
    for argv in preparation(kind, name, row) if build else ():
        if subprocess.run(argv, cwd=ROOT, check=False).returncode != 0:
            print(f"{kind} {name}: this failed: {shlex.join(argv)}", file=sys.stderr)
            return False
    for folder in row.get("folders", ()):
        os.makedirs(folder.format(**variables(row)), exist_ok=True)
    bars, good = Bars(row.get("bars", {})), True
    for step in steps(row):
        if not skipped(step):
            good = run_step(step, row, bars) and good
        if not good and row.get("stop"):
            return False
    return bars.held() and good


def bars_of(row):
    """Returns the bars of a row as one line of text."""
    tables = [step.get("bars", {}) for step in row["run"] if not isinstance(step, str)]
    options = [f"{name} {value}" for bars in tables for name, value in bars.items()]
    figures = [f"{name} at {side} {bound}" for name, bar in row.get("bars", {}).items() for side, bound in bar.items()]
    return "; ".join([*dict.fromkeys(options), *figures, *([row["holds"]] if "holds" in row else [])])


def list_rows(kind, table):
    print(f"usage: make {kind} NAME=...    several names: NAME=a,b    show the commands only: ARGS=--dry-run\n")
    for name, row in table.items():
        print(f"  {name:<16} {row['what'].format(build='build')} ({row['takes']})")
        settings = " ".join(f"{key}={value.format(build='build')}" for key, value in row.get("parameters", {}).items())
        for title, text in (("bar", bars_of(row)), ("set", settings)):
            if text:
                print(f"  {'':<16}   {title}: {text}")


def unknown(kind, table, name):
    near = difflib.get_close_matches(name, table, n=1, cutoff=0.4)
    hint = f": did you mean '{near[0]}'?" if near else "."
    return f"NAME={name} is unknown{hint} `make {kind}` lists the names."


def main(arguments=None):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a list that goes to `head` ends quietly
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("kind", choices=TABLES)
    parser.add_argument("names", nargs="*", help="names, separated by spaces or commas")
    parser.add_argument("--list", action="store_true", help="print the rows and run none; so does a call without names")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and run none")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    options = parser.parse_args(arguments)
    table = load(options.kind)
    names = [name for word in options.names for name in word.replace(",", " ").split()]
    if options.list or not names:
        list_rows(options.kind, table)
        return 0
    wrong = [unknown(options.kind, table, name) for name in names if name not in table]
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    action = show if options.dry_run else run
    failed = [name for name in names if action(options.kind, name, table[name], not options.no_build) is False]
    if failed:
        print(f"{options.kind}: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
