#!/usr/bin/python3
"""Compares random functions of NumPy arrays under @trident.jit with NumPy: types and shapes, and bits where NumPy rounds each
operation to nearest too. Arrays are of every type that kernels have, and lie in memory in every way that NumPy knows.

usage: numpy_fuzz.py BUILD [--cases N] [--seed N]

Prints how many functions agreed, how many were refused (with the commonest reasons, and the share for each type of array), and
each that differed; exits 1 if one did, or if more are refused than REFUSED_MAX of those that NumPy takes.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import sys
import warnings

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "clients/python"
DTYPES = "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"
REFUSED_MAX = 0.3  # uint64 and float16 have few functions that kernels compute as NumPy does
UNARY = ("np.abs({})", "-{}", "np.sqrt({})", "np.floor({})", "np.rint({})", "np.sign({})", "np.square({})", "np.isnan({})",
         "np.isfinite({})", "np.logical_not({})", "~{}", "np.trunc({})", "np.nan_to_num({})")
BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})", "({} < {})", "({} >= {})", "({} == {})",
          "np.minimum({}, {})", "np.maximum({}, {})", "np.fmin({}, {})", "({} & {})", "({} | {})", "({} ^ {})",
          "np.fmod({}, {})", "np.heaviside({}, {})", "np.nextafter({}, {})", "np.logical_and({}, {})", "np.divmod({}, {})[1]")
REDUCED = ("{}.max({})", "{}.min({})", "{}.any({})", "{}.all({})", "np.argmax({}, {})", "np.sum({} > 1, {})", "np.ptp({}, {})")
AXES = "axis=0, keepdims=True", "axis=-1, keepdims=True"  # numbers follow NumPy 2, whatever NumPy is installed


def expression(rng, depth):
    if depth == 0:
        return rng.choice(["a", "b", "c", "a", "b", "2", "0.5", "1.0", "3"])
    kind = rng.randrange(10)
    part = lambda: expression(rng, depth - 1 - (rng.random() < 0.3) * (depth > 1))  # noqa: E731
    if kind < 3:
        return rng.choice(UNARY).format(part())
    if kind < 8:
        return rng.choice(BINARY).format(part(), part())
    if kind < 9:
        return f"np.where({rng.choice('abc')} > {rng.choice(['1', 'b', '0.5'])}, {part()}, {part()})"
    return rng.choice(REDUCED).format(f"({part()} + {rng.choice('abc')})", rng.choice(AXES)).replace(", )", ")")


def values(rng, numbers, np, dtype, shape):
    """Elements of `dtype`: small ones, in half of the arrays beside the ends of the type and of the narrower ones."""
    if dtype.kind == "f":
        return numbers.choice([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 1e-30, 7.25, -1e20, 0.1], shape)
    small = numbers.integers(-130, 130, shape)
    if dtype.kind == "b" or rng.random() < 0.5:
        return small
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    ends = [e + d for e in (least, most, 0, *(2**b for b in (7, 8, 15, 16, 31, 32, 63))) for d in (-1, 0, 1)]
    ends = np.array([e for e in ends if least <= e <= most], dtype)
    return np.where(numbers.random(shape) < 0.4, numbers.choice(ends, shape), small.astype(dtype))


def array(rng, numbers, np):
    """An array of any type, of a shape that goes with the others', lying in memory in any way."""
    dtype, shape = np.dtype(rng.choice(DTYPES)), rng.choice([(5, 7)] * 6 + [(5, 1), (1, 7)])
    with np.errstate(all="ignore"):
        x = values(rng, numbers, np, dtype, (5, 14)).astype(dtype)[:shape[0], :shape[1]].copy()
    layout = rng.randrange(8)
    if layout == 0:
        return np.asfortranarray(x)
    if layout == 1:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == 2:
        return x[..., ::-1]
    if layout == 3 and dtype.itemsize > 1:
        return x.astype(dtype.newbyteorder(">"))
    if layout == 4:
        memory = np.zeros(x.nbytes + 1, np.uint8)
        odd = memory[1:].view(dtype).reshape(x.shape)
        odd[...] = x
        return odd
    if layout == 5:
        return np.broadcast_to(x, (5, 7))
    return x


def difference(wanted, got, np):
    """Says how the answers differ; None where they do not."""
    wanted, got = np.asarray(wanted), np.asarray(got)
    if (wanted.dtype.newbyteorder("="), wanted.shape) != (got.dtype, got.shape):
        return f"{wanted.dtype}{wanted.shape} became {got.dtype}{got.shape}"
    same = (wanted == got) | (wanted != wanted) & (got != got)
    if wanted.dtype.kind == "f":
        same &= (np.signbit(wanted) == np.signbit(got)) | (wanted != wanted)
    return None if same.all() else f"{wanted[~same][:3]} became {got[~same][:3]}"


def run(cases, seed):
    import numpy as np
    import trident
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    counts, reasons, taken, refused = (collections.Counter() for _ in range(4))
    for _ in range(cases):
        text = expression(rng, rng.choice([1, 2, 2, 3]))
        while not re.search(r"\b[abc]\b", text):  # numbers alone are nothing to compile
            text = expression(rng, rng.choice([1, 2, 2, 3]))
        arguments = [array(rng, numbers, np) for _ in range(3)]
        function = eval(f"lambda a, b, c: {text}", {"np": np})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                warnings.simplefilter("error", DeprecationWarning)  # shapes that do not go together compare as False
                wanted = function(*arguments)
            except (DeprecationWarning, TypeError, ValueError, OverflowError, ZeroDivisionError):
                counts["refused by NumPy"] += 1
                continue
            kinds = {a.dtype.newbyteorder("=").name for n, a in zip("abc", arguments) if re.search(rf"\b{n}\b", text)}
            taken.update(kinds)
            try:
                got = trident.jit(function)(*arguments)
            except trident.TraceError as error:
                refused.update(kinds)
                counts["refused by name"] += 1
                reasons[str(error).split("; convert it first")[0][:90]] += 1
                continue
            except Exception as error:  # pylint: disable=broad-except
                got, differs = None, f"{type(error).__name__}: {error}"
            else:
                differs = difference(wanted, got, np)
        counts["agreed" if differs is None else "differed"] += 1
        if differs is not None and counts["differed"] <= 40:
            kinds = ", ".join(f"{n}: {a.dtype.str}{a.shape}" for n, a in zip("abc", arguments))
            print(f"{text}   [{kinds}]: {differs}", flush=True)
    for reason, count in reasons.most_common(8):
        print(f"  refused {count:6}: {reason}")
    print("  refused share, by types read: " + ", ".join(f"{k} {refused[k] / n:.0%}" for k, n in sorted(taken.items())))
    for kind in ("agreed", "refused by name", "refused by NumPy", "differed"):
        print(f"{kind:24}{counts[kind]:8}")
    share = counts["refused by name"] / max(1, cases - counts["refused by NumPy"])
    print(f"{'share refused by name':24}{share:8.2f}")
    return 1 if counts["differed"] or not counts["agreed"] or share > REFUSED_MAX else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    library = f"{os.path.abspath(options.build)}/lib"
    os.environ.update(TRIDENT_LIBRARY=f"{library}/libtrident.so.0", TRIDENT_ENGINE=f"{library}/libtrident-engine.so")
    os.environ.setdefault("TRIDENT_MODE", "interp")
    sys.path.insert(0, str(PACKAGE))
    sys.dont_write_bytecode = True
    return run(options.cases, options.seed)


if __name__ == "__main__":
    sys.exit(main())
