"""Programs of Triton VM made cheaper to prove: what Context.build() returns, and how it asks."""
import ctypes
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import _native as native
from ._native import lib
from ._promise import integer, names, one_of, shown

_FIELDS = ("public_input", "secret_input", "secret_digests", "ram")


@dataclass(frozen=True)
class Program:
    """A program that does the same and is cheaper to prove, or as it was where nothing cheaper was found (`better`).
    Heights are by table; `report` says what was changed, proposed, proven and won."""
    tasm: str
    better: bool
    by_daemon: bool
    words_before: int
    words_after: int
    padded_before: int
    padded_after: int
    heights_before: dict
    heights_after: dict
    report: dict = field(repr=False)


def _words(rows, each, what):
    try:
        flat = [operator.index(word) for row in rows for word in (row if each > 1 else (row,))]
    except TypeError as error:
        rule = "a list of integers" if each == 1 else f"a list of rows of {each} integers"
        raise TypeError(f"{what} must be {rule}: {error}") from None
    if len(flat) != each * len(rows):
        raise ValueError(f"{what}: each row has {each} words")
    for number, word in enumerate(flat):
        if not 0 <= word < 1 << 64:
            raise ValueError(f"{what}: word {number} is {word}, which is not in [0, 2^64)")
    return (ctypes.c_uint64 * len(flat))(*flat)


def _run(public_input=(), secret_input=(), secret_digests=(), ram=()):
    """The fields of a run: four arrays of words and their counts."""
    pairs = list(ram.items()) if hasattr(ram, "items") else list(ram)
    return (_words(public_input, 1, "public_input"), _words(secret_input, 1, "secret_input"),
            _words(secret_digests, 5, "secret_digests"), _words(pairs, 2, "ram"),
            len(public_input), len(secret_input), len(secret_digests), len(pairs))


def _check_runs(runs):
    for run in runs:
        if not isinstance(run, Mapping) or not set(run) <= set(_FIELDS):
            raise TypeError(f"runs must be a list of dictionaries with keys of {', '.join(_FIELDS)}, here {shown(run)}")


def build(handle, text, form, public_input, secret_input, secret_digests, ram, cycles, milliseconds, programs, disable,
          progress, runs=()):
    """trident_build_program() on an open context's handle; Context.build() says what the arguments are."""
    form = one_of(native.FORMS, form, "form")
    stages = [one_of(native.STAGES_OF_PROGRAMS, name, "disable") for name in set(names(disable, "disable", "network"))]
    cycles, programs = integer(cycles, "cycles", 2**64 - 1), integer(programs, "programs")
    milliseconds = integer(milliseconds, "milliseconds")
    _check_runs(runs)
    more = (native.ProgramRun * len(runs))(*[native.ProgramRun(*_run(**run)) for run in runs])
    options = native.ProgramOptions(ctypes.sizeof(native.ProgramOptions), form,
                                    *_run(public_input, secret_input, secret_digests, ram), cycles, milliseconds,
                                    programs, sum(stages), 0, more,
                                    len(runs))
    raised = []

    def watch(done, total, _):
        try:
            return 1 if progress(done, total) is False else 0
        except BaseException as error:  # it may not pass through the library
            raised.append(error)
            return 1

    result = ctypes.POINTER(native.ProgramResult)()
    status = lib.trident_build_program(handle, native.text_bytes(text), ctypes.byref(options),
                                       native.PROGRESS(watch) if progress else native.PROGRESS(), None,
                                       ctypes.byref(result))
    if raised:
        raise raised.pop()
    native.check(status)
    try:
        r = result.contents
        return Program(r.tasm.decode(), bool(r.better), bool(r.by_daemon), r.words_before, r.words_after,
                       r.padded_before, r.padded_after, dict(zip(native.TABLES, r.heights_before)),
                       dict(zip(native.TABLES, r.heights_after)), json.loads(r.report.decode()))
    finally:
        lib.trident_free_program(result)
