#!/usr/bin/python3
"""Compares random functions of NumPy arrays under @trident.jit with NumPy: types and shapes, and bits where NumPy rounds each
operation to nearest too. Arrays are of every type that kernels have, and lie in memory in every way that NumPy knows.

usage: numpy_fuzz.py BUILD [--cases N] [--seed N] [--tier N]

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
REFUSED_MAX = 0.1
# Few elements mostly; sometimes more than two chunks of a kernel's (jit/kir/reduction.h), or none.
SHAPES = [(5, 7)] * 40 + [(29, 10)] * 10 + [(35,)] * 10 + [(3, 4, 5)] * 10 + [(67, 129)] * 2 + [(0, 7)]
UNARY = ("np.abs({})", "-{}", "np.sqrt({})", "np.floor({})", "np.rint({})", "np.sign({})", "np.square({})", "np.isnan({})",
         "np.isfinite({})", "np.logical_not({})", "~{}", "np.trunc({})", "np.nan_to_num({})", "({})**2", "np.ceil({})",
         "np.isinf({})")
BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})", "({} < {})", "({} >= {})", "({} == {})",
          "np.minimum({}, {})", "np.maximum({}, {})", "np.fmin({}, {})", "({} & {})", "({} | {})", "({} ^ {})",
          "np.fmod({}, {})", "np.heaviside({}, {})", "np.nextafter({}, {})", "np.logical_and({}, {})", "np.divmod({}, {})[1]", "({} << {})",
          "({} >> {})", "np.right_shift({}, ({}) & 7)", "np.logical_xor({}, {})", "np.copysign({}, np.nan_to_num({}))", "({} != {})")
REDUCED = ("{}.max({})", "{}.min({})", "{}.any({})", "{}.all({})", "np.argmax({}, {})", "np.sum({} > 1, {})", "np.ptp({}, {})",
           "np.count_nonzero({}, {})", "np.sum({}, {})", "np.mean({}, {})")  # of floats: NumPy rounds as the array lies in memory
# Powers of floats other than squares and roots are not rounded to nearest in NumPy.
TYPED = ("({}).astype({t!r})", "({}).astype({t!r})", "np.power(({}).astype({i!r}), 3)", "np.power(({}).astype({i!r}), ({}).astype({u!r}) & 7)",
         "(({}).astype({i!r}) << ({}).astype({u!r}) % 9)", "(({}).astype({i!r}))**4", "(({}).astype({f!r}))**0.5",
         "np.where({}, c.astype({t!r}), {})", "np.clip({}, c.astype({t!r}), {})", "np.full_like({}, {n}, dtype={t!r})")
CHOSEN = ("np.clip({}, {}, {})", "({}).clip({n}, {m})", "np.clip({}, {n}, {m})", "np.clip({}, {n}, {})", "np.where({} > {}, {}, {})",
          "np.where({}, {}, {n})", "np.where({}, {n}, {})", "np.select([a > 1, {} < b], [{}, {}], {n})")
# Over all elements; sums of whole numbers, which have no rounding, and variances in millionths.
WHOLE = ("np.argmax({})", "np.argmin({})", "({}).argmax()", "({}).argmin({n})", "np.max({})", "({}).min()", "np.any({})", "({}).all()",
         "np.sum(({}) > 1)", "np.mean(({}) > 1)", "np.rint(np.var(({}) > 1) * 1e6)", "np.sum(({}).astype({i!r}).astype('i8'))",
         "np.argmax({}, axis=None) + ({}).astype('i8')", "np.argmin({}, axis=None) + ({}).astype('i8') * 0")
AXES = "axis=0, keepdims=True", "axis=-1, keepdims=True"  # numbers follow NumPy 2, whatever NumPy is installed


def expression(rng, depth):
    if depth == 0:
        return rng.choice(["a", "b", "c", "a", "b", "2", "0.5", "1.0", "3", "-1", "200"])
    kind = rng.randrange(14)
    part = lambda: expression(rng, depth - 1 - (rng.random() < 0.3) * (depth > 1))  # noqa: E731
    if kind < 3:
        return rng.choice(UNARY).format(part())
    if kind < 8:
        return rng.choice(BINARY).format(part(), part())
    if kind < 9:
        return f"np.where({rng.choice('abc')} > {rng.choice(['1', 'b', '0.5'])}, {part()}, {part()})"
    if kind < 13:
        return filled(rng, rng.choice(TYPED if kind < 11 else CHOSEN), part)
    return rng.choice(REDUCED).format(f"({part()} + {rng.choice('abc')})", rng.choice(AXES)).replace(", )", ")")


def whole(rng):
    """A reduction over all elements. Each of its operands is at least as large as `a`."""
    form = rng.choice(WHOLE).replace("{n}", rng.choice(["", "axis=None", "None"]))
    part = lambda: f"({expression(rng, rng.choice([0, 1, 1, 2]))} + a)" if rng.random() < 0.8 else "a"  # noqa: E731
    return filled(rng, form, part)


def filled(rng, form, part):
    """The form with parts at its places, and with numbers and types."""
    chosen = {"t": rng.choice(DTYPES), "i": rng.choice(DTYPES[1:9]), "u": rng.choice(("u1", "u2", "u4")),
              "f": rng.choice(("f2", "f4", "f8")), "n": rng.choice((0, 1, -1, 2.5)), "m": rng.choice((3, 100, 7.5))}
    parts = [part() for _ in range(form.count("{}"))]
    if not re.search(r"\b[abc]\b", parts[0]):  # numbers have no astype
        parts[0] = rng.choice("abc")
    return form.format(*parts, **chosen)


def values(rng, numbers, np, dtype, shape):
    """Elements of `dtype`: small ones, in half of the arrays beside the ends of the type and of the narrower ones."""
    if dtype.kind == "f" and rng.random() < 0.4:  # finite, so that sums show in which order they were made
        return numbers.normal(size=shape)
    if dtype.kind == "f":
        return numbers.choice([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 1e-30, 7.25, -1e20, 0.1], shape)
    small = numbers.integers(-130, 130, shape)
    if dtype.kind == "b" or rng.random() < 0.5:
        return small
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    ends = [e + d for e in (least, most, 0, *(2**b for b in (7, 8, 15, 16, 31, 32, 63))) for d in (-1, 0, 1)]
    ends = np.array([e for e in ends if least <= e <= most], dtype)
    return np.where(numbers.random(shape) < 0.4, numbers.choice(ends, shape), small.astype(dtype))


def shape_of(rng, base):
    """A shape that goes with `base`: itself mostly, else fewer dimensions, down to none, or some of length 1."""
    if rng.random() < 0.7:
        return base
    if rng.random() < 0.3:  # a column
        return (*base[:-1], 1)
    return tuple(1 if rng.random() < 0.3 else n for n in base[rng.randrange(len(base) + 1):])


def array(rng, numbers, np, base):
    """An array of any type, of a shape that goes with those of `base`, lying in memory in any way."""
    shape = shape_of(rng, base)
    dtype = np.dtype(rng.choice(DTYPES))
    with np.errstate(all="ignore"):
        x = values(rng, numbers, np, dtype, shape).astype(dtype)
    if not shape:
        return x[()] if rng.random() < 0.5 else np.array(x)
    layout = rng.randrange(10)
    if layout in (7, 8):
        return x.copy("F")
    if layout == 0:
        order = rng.sample(range(x.ndim), x.ndim)
        return x.transpose(order).copy().transpose(np.argsort(order))
    if layout == 1:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == 2:
        return x[tuple(slice(None, None, -1) if rng.random() < 0.6 else slice(None) for _ in shape)]
    if layout == 3 and dtype.itemsize > 1:
        return x.astype(dtype.newbyteorder(">"))
    if layout in (4, 5):  # misaligned; in 5 with a step that is no multiple of the elements
        memory = np.zeros(x.size * (dtype.itemsize + layout - 4) + 1, np.uint8)[1:]
        odd = memory.view([("x", dtype)] + [("gap", "u1")] * (layout - 4))["x"].reshape(shape)
        odd[...] = x
        return odd
    if layout == 6:
        return np.broadcast_to(x[(slice(0, 1),) * rng.randrange(x.ndim + 1)], shape)
    return x


def answer_of_numpy(function, arguments, text, np):
    """NumPy's answer. Arrays without dimensions count by their types, as in NumPy 2, so NumPy 1 gets arrays of one element."""
    wanted = function(*(a.reshape(1) if a.ndim == 0 else a for a in arguments))
    shapes = [a.shape for name, a in zip("abc", arguments) if re.search(rf"\b{name}\b", text)]
    return wanted if any(shapes) or "axis" in text else wanted.reshape(())


def difference(wanted, got, np):
    """Says how the answers differ; None where they do not."""
    wanted, got = np.asarray(wanted), np.asarray(got)
    if (wanted.dtype.newbyteorder("="), wanted.shape) != (got.dtype, got.shape):
        return f"{wanted.dtype}{wanted.shape} became {got.dtype}{got.shape}"
    same = (wanted == got) | (wanted != wanted) & (got != got)
    if wanted.dtype.kind == "f":
        same &= (np.signbit(wanted) == np.signbit(got)) | (wanted != wanted)
    return None if same.all() else f"{wanted[~same][:3]} became {got[~same][:3]}"


def wait_for_code(tier):
    """Lets every kernel wait for machine code of that tier before its first call."""
    from trident import _compiled
    made = _compiled.PartKernel.__init__

    def made_and_ready(self, *arguments):
        made(self, *arguments)
        if self.kernel.wait(tier, 60_000) < tier:
            raise RuntimeError(f"no machine code: {self.kernel.note}")
    _compiled.PartKernel.__init__ = made_and_ready


def run(cases, seed):
    import numpy as np
    import trident
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    counts, reasons, taken, refused = (collections.Counter() for _ in range(4))
    for _ in range(cases):
        text = whole(rng) if rng.random() < 0.1 else expression(rng, rng.choice([1, 2, 2, 3]))
        while not re.search(r"\b[abc]\b", text):  # numbers alone are nothing to compile
            text = expression(rng, rng.choice([1, 2, 2, 3]))
        base = rng.choice(SHAPES)
        arguments = [array(rng, numbers, np, base) for _ in range(3)]
        if "axis" in text:
            arguments = [a.reshape(1) if a.ndim == 0 else a for a in arguments]
        function = eval(f"lambda a, b, c: {text}", {"np": np})
        with warnings.catch_warnings(), np.errstate(all="ignore", invalid="warn"):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "invalid value encountered in cast")
            try:
                warnings.simplefilter("error", DeprecationWarning)  # shapes that do not go together compare as False
                wanted = answer_of_numpy(function, arguments, text, np)
                if wanted.dtype == object:  # a number of more than 64 bits
                    raise OverflowError
            except (DeprecationWarning, AttributeError, TypeError, ValueError, OverflowError, ZeroDivisionError):
                counts["refused by NumPy"] += 1
                continue
            except RuntimeWarning:  # a float that the integer does not hold: C leaves the answer open
                counts["undefined in NumPy"] += 1
                continue
            kinds = {a.dtype.newbyteorder("=").name for n, a in zip("abc", arguments) if re.search(rf"\b{n}\b", text)}
            taken.update(kinds)
            try:
                compiled = trident.jit(function)
                answers = [compiled(*arguments) for _ in range(2)]  # the second by the short way, where there is one
            except trident.TraceError as error:
                refused.update(kinds)
                counts["refused by name"] += 1
                reasons[str(error).split("; convert it first")[0][:90]] += 1
                continue
            except Exception as error:  # pylint: disable=broad-except
                differs = f"{type(error).__name__}: {error}"
            else:
                differs = difference(wanted, answers[0], np) or difference(wanted, answers[1], np)
        counts["agreed" if differs is None else "differed"] += 1
        if differs is not None and counts["differed"] <= 40:
            kinds = ", ".join(f"{n}: {a.dtype.str}{a.shape}" for n, a in zip("abc", arguments))
            print(f"{text}   [{kinds}]: {differs}", flush=True)
    for reason, count in reasons.most_common(8):
        print(f"  refused {count:6}: {reason}")
    print("  refused share, by types read: " + ", ".join(f"{k} {refused[k] / n:.0%}" for k, n in sorted(taken.items())))
    for kind in ("agreed", "refused by name", "refused by NumPy", "undefined in NumPy", "differed"):
        print(f"{kind:24}{counts[kind]:8}")
    share = counts["refused by name"] / max(1, cases - counts["refused by NumPy"] - counts["undefined in NumPy"])
    print(f"{'share refused by name':24}{share:8.2f}")
    return 1 if counts["differed"] or not counts["agreed"] or share > REFUSED_MAX else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tier", type=int, default=1, help="0: the interpreter answers, 1: machine code (default), 2: after a search")
    options = parser.parse_args()
    library = f"{os.path.abspath(options.build)}/lib"
    os.environ.update(TRIDENT_LIBRARY=f"{library}/libtrident.so.0", TRIDENT_ENGINE=f"{library}/libtrident-engine.so")
    os.environ["TRIDENT_MODE"] = "embedded" if options.tier else "interp"
    sys.path.insert(0, str(PACKAGE))
    sys.dont_write_bytecode = True
    if options.tier:
        wait_for_code(options.tier)
    return run(options.cases, options.seed)


if __name__ == "__main__":
    sys.exit(main())
