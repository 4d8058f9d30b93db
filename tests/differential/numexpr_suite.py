#!/usr/bin/python3
"""Runs numexpr's own test-suite with Trident in numexpr's place: counts what passes, what fails, and what Trident refuses by
name. The suite is read where it lies, installed or unpacked, and nothing of it is kept.

usage: numexpr_suite.py BUILD [FOLDER] [-v]

FOLDER: numexpr's folder, its sources' or that of the tests; without it the installed numexpr's. The exit status is 0 when
nothing failed, and where there is no suite.
"""
import argparse
import collections
import importlib.util
import os
import pathlib
import re
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PLACE = "numexpr_in_place"
NAME = re.compile(r"\bnumexpr\b(?!')")  # the module, in texts of programs too; not inside a longer name
REFUSAL = re.compile("has no counterpart of numexpr|kernels do not have")
PASSED, FAILED, REFUSED = "passed", "failed", "refused by name"
HANDED, SKIPS = "failed in the installed numexpr", "skipped by the suite"


def find_suite(folder):
    """Returns the file of the suite below a folder, or of the installed numexpr; None where there is none."""
    if folder is None:
        spec = importlib.util.find_spec("numexpr")
        folder = pathlib.Path(spec.origin).parent if spec else HERE
    places = ("test_numexpr.py", "tests/test_numexpr.py", "numexpr/tests/test_numexpr.py")
    return next((path for path in (pathlib.Path(folder) / place for place in places) if path.exists()), None)


class Pytest:
    """As much of pytest as the suite uses, so that it need not be installed."""

    class mark:
        @staticmethod
        def parametrize(names, rows):
            return lambda function: setattr(function, "rows", rows) or function

        @staticmethod
        def thread_unsafe(function):
            return function

    @staticmethod
    def skip(reason):
        raise unittest.SkipTest(reason)

    @staticmethod
    def fail(reason):
        raise AssertionError(reason)


def load_suite(path):
    """Returns the suite as a module, in which numexpr is called by its stand-in's name."""
    sys.modules["pytest"] = types.ModuleType("pytest")
    for name in ("mark", "skip", "fail"):
        setattr(sys.modules["pytest"], name, getattr(Pytest, name))
    module = types.ModuleType("suite")
    sys.modules["suite"] = module
    text = NAME.sub(PLACE, path.read_text(encoding="utf-8"))
    exec(compile(text, str(path), "exec"), module.__dict__)  # pylint: disable=exec-used
    return module


def cases(module):
    """Yields (name, function without arguments) of every test."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            for name in unittest.defaultTestLoader.getTestCaseNames(value):
                yield f"{value.__name__}.{name}", value(name).debug
        elif isinstance(value, types.FunctionType) and hasattr(value, "rows"):
            for row in value.rows:
                shown = ", ".join(getattr(part, "__name__", None) or str(part) for part in row)
                yield f"{value.__name__}[{shown}]", lambda f=value, r=row: f(*r)


class HandedOver:
    """Notes whether Trident hands an expression to the installed numexpr, whose answers are then numexpr's."""

    def __init__(self):
        self.version, self.seen = None, False
        try:
            import numexpr  # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        self.version, self.evaluate = numexpr.__version__, numexpr.evaluate
        numexpr.evaluate = self

    def __call__(self, *args, **kwargs):
        self.seen = True
        return self.evaluate(*args, **kwargs)


def outcome(case, refused, handed):
    """Runs a test; returns (kind, reason)."""
    handed.seen = False
    try:
        case()
    except unittest.SkipTest as skip:
        return SKIPS, str(skip).split(" (scalar")[0]
    except refused as refusal:
        return REFUSED, str(refusal)
    except BaseException as error:  # pylint: disable=broad-except
        refusal = isinstance(error, (AttributeError, NotImplementedError)) and REFUSAL.search(str(error))
        return REFUSED if refusal else HANDED if handed.seen else FAILED, f"{type(error).__name__}: {error}"
    return PASSED, ""


def run(path, verbose):
    handed, refused = HandedOver(), importlib.import_module(PLACE).Refused
    counts, reasons = collections.Counter(), collections.defaultdict(list)
    for name, case in cases(load_suite(path)):
        kind, reason = outcome(case, refused, handed)
        counts[kind] += 1
        if kind != PASSED:
            reasons[kind, reason if kind in (SKIPS, REFUSED) else name].append(name)
    for (kind, reason), names in sorted(reasons.items()):
        if kind != SKIPS or verbose:
            print(f"{kind}: {reason}  ({len(names)}, such as {names[0]})")
    print(f"numexpr installed beside: {handed.version or 'none'}")
    for kind in (PASSED, FAILED, HANDED, REFUSED, SKIPS):
        print(f"{kind:40}{counts[kind]:8}")
    return 1 if counts[FAILED] or not counts[PASSED] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the skipped tests, too")
    arguments = parser.parse_args()
    path = find_suite(arguments.folder or None)
    if path is None:
        print(f"skipped: no test_numexpr.py in {arguments.folder or 'the installed numexpr'}; give FOLDER, that of numexpr's sources")
        return 0
    package = HERE.parent.parent / "clients/python"
    os.environ.update(TRIDENT_LIBRARY=f"{os.path.abspath(arguments.build)}/lib/libtrident.so.0", PYTHONDONTWRITEBYTECODE="1",
                      PYTHONPATH=f"{package}:{HERE}")
    os.environ.setdefault("TRIDENT_MODE", "embedded")
    os.environ["TRIDENT_ENGINE"] = f"{os.path.abspath(arguments.build)}/lib/libtrident-engine.so"
    sys.path[:0] = [str(package), str(HERE)]
    sys.dont_write_bytecode = True
    return run(path, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
