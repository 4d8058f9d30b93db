"""Typed expression graphs, and their text for libtrident.

Both ways into the library (the numexpr text of `evaluate` and the traced functions of `jit`) build this graph; it is
written out as one statement a node with every conversion spelled out, so nothing is left to the type rules of the text
form. Kinds are those of trident.h plus bool, which only exists inside an expression.

The two ways differ in the kind where operands meet (`common`): numexpr keeps float32 next to integers, NumPy does not.
"""
import math

import numpy as np

BOOL, I32, I64, F32, F64 = "bool", "i32", "i64", "f32", "f64"
RANK = {BOOL: 0, I32: 1, I64: 2, F32: 3, F64: 4}
DTYPE = {BOOL: np.dtype(bool), I32: np.dtype(np.int32), I64: np.dtype(np.int64),
         F32: np.dtype(np.float32), F64: np.dtype(np.float64)}
KIND_OF = {DTYPE[k]: k for k in (I32, I64, F32, F64)}
# Arrays of these are widened by the kernel's own loads.
NARROW = {np.dtype(t): name for t, name in ((np.bool_, "bool"), (np.int8, "i8"), (np.uint8, "u8"), (np.int16, "i16"),
                                            (np.uint16, "u16"), (np.uint32, "u32"), (np.float16, "f16"))}
FLOATS = (F32, F64)
IN_C_ORDER = "C"  # `value` of an operation whose results lie in memory so, whatever its operands do
INTS = (I32, I64)


REDUCTIONS = ("sum", "prod", "minof", "maxof", "mean", "dot", "var", "std", "argmin", "argmax")


class Refusal(Exception):
    """Something that the language or the kernels do not have. refused() makes them, each of an ordinary class, too."""


_refusals = {}


def refused(kind, message):
    """An error of class `kind` that is a Refusal."""
    return _refusals.setdefault(kind, type(kind.__name__, (kind, Refusal), {}))(message)


def plain(error):
    """The error as one of its ordinary class."""
    return type(error).__base__(*error.args) if isinstance(error, Refusal) else error


class Node:
    """One value. `op` is "input" (value: index), "const" (value: a Python number), "cast", or an op of the library.
    `mask` has a bit for each array input that an element of this value is made of: 0 for what is one number for all."""
    __slots__ = ("op", "kind", "args", "value", "mask")

    def __init__(self, op, kind, args=(), value=None):
        self.op, self.kind, self.args, self.value = op, kind, args, value
        self.mask = 1 << value if op == "input" else 0
        if op not in REDUCTIONS:
            for a in args:
                self.mask |= a.mask

    def is_const(self):
        return self.op == "const"


def numexpr_common(kinds):
    """The kind that operands of these kinds meet in, by numexpr's rule: the greatest."""
    return max(kinds, key=RANK.__getitem__)


def numpy_common(kinds):
    """The kind that operands meet in, by NumPy's rule: float32 with 32- or 64-bit integers gives float64."""
    kind = numexpr_common(kinds)
    return F64 if kind == F32 and any(k in INTS for k in kinds) else kind


def kind_of_dtype(dtype):
    """The kind that holds every value of `dtype`; uint64 is taken as i64, and a float of more than 64 bits as f64, and left
    to the casting rule."""
    if dtype.kind == "b":
        return BOOL
    if dtype.kind == "i":
        return I32 if dtype.itemsize <= 4 else I64
    if dtype.kind == "u":
        return I32 if dtype.itemsize < 4 else I64
    if dtype.kind == "f":
        return F32 if dtype.itemsize <= 4 else F64
    cure = ": take real(z) and imag(z)" if dtype.kind == "c" else ""
    raise refused(NotImplementedError, f"arrays of {dtype} are not supported (bool, integers and floats up to 64 bits are){cure}")


def const(value, kind=None):
    """A constant of the kind that numexpr gives to a literal, or of `kind`."""
    if kind is None:
        if isinstance(value, (bool, np.bool_)):
            kind = BOOL
        elif isinstance(value, np.float32):
            kind = F32
        elif isinstance(value, np.int64):
            kind = I64
        elif isinstance(value, (int, np.integer)):
            kind = I32 if -2**31 <= value < 2**31 else I64
            if not -2**63 <= value < 2**63:
                raise refused(OverflowError, f"the integer {value} needs more than 64 bits")
        elif isinstance(value, (float, np.floating)):
            kind = F64
        else:
            raise refused(NotImplementedError, f"constants of type {type(value).__name__} are not supported")
    if kind == BOOL:
        return Node("const", BOOL, value=bool(value))
    if kind in INTS:
        bits = 32 if kind == I32 else 64
        wrapped = (int(value) + 2**(bits - 1)) % 2**bits - 2**(bits - 1)
        return Node("const", kind, value=wrapped)
    return Node("const", kind, value=float(np.float32(value)) if kind == F32 else float(value))


def cast(node, kind):
    """`node` as a value of `kind`: to bool is != 0, bool gives 0 or 1, to an integer truncates."""
    if node.kind == kind:
        return node
    if node.is_const() and not (kind in INTS and node.kind in FLOATS):
        return const(node.value, kind)
    if kind == BOOL:
        return Node("ne", BOOL, (node, const(0, node.kind)))
    return Node("cast", kind, (node,))


def _numeric(nodes, common):
    kind = common([n.kind for n in nodes])
    if kind == BOOL:
        raise refused(TypeError, "numbers are needed here, not only booleans; where(b, 1, 0) makes integers of b")
    return [cast(n, kind) for n in nodes], kind


def arithmetic(op, a, b, common):
    (a, b), kind = _numeric((a, b), common)
    return Node(op, kind, (a, b))


def true_divide(a, b, common):
    kind = common([a.kind, b.kind])
    if kind not in FLOATS:
        kind = F64
    return Node("div", kind, (cast(a, kind), cast(b, kind)))


def negative(a):
    if a.kind == BOOL:
        raise refused(TypeError, "booleans have no negative; write ~ for 'not'")
    return const(-a.value, a.kind) if a.is_const() else Node("neg", a.kind, (a,))


def function(op, args, common):
    """A function of reals: integers and booleans enter as float64."""
    kind = common([a.kind for a in args])
    if kind not in FLOATS:
        kind = F64
    return Node(op, kind, tuple(cast(a, kind) for a in args))


def compare(op, a, b, common):
    kind = common([a.kind, b.kind])
    if kind == BOOL:
        kind = I32
    return Node(op, BOOL, (cast(a, kind), cast(b, kind)))


_SYMBOLS = {"and": "&", "or": "|", "xor": "^"}


def bitwise(op, a, b, common):
    kind = common([a.kind, b.kind])
    if kind in FLOATS:
        power = "; a power is x**y" if op == "xor" else ""
        raise refused(TypeError, f"'{_SYMBOLS[op]}' needs booleans or integers{power}")
    return Node(op, kind, (cast(a, kind), cast(b, kind)))


def invert(a):
    if a.kind in FLOATS:
        raise refused(TypeError, "'~' needs a boolean or an integer")
    return Node("not", a.kind, (a,))


def shift(op, a, b, common):
    """Counts outside 0 .. width - 1 shift everything out, as NumPy defines it; the library takes them modulo the width."""
    (a, b), kind = _numeric((a, b), common)
    if kind in FLOATS:
        raise refused(TypeError, "shifts need integers")
    node, width = Node(op, kind, (a, b)), 32 if kind == I32 else 64
    if b.is_const() and 0 <= b.value < width:
        return node
    inside = Node("and", BOOL, (Node("ge", BOOL, (b, const(0, kind))), Node("lt", BOOL, (b, const(width, kind)))))
    out = const(0, kind) if op == "shl" else Node("sar", kind, (a, const(width - 1, kind)))
    return Node("select", kind, (inside, node, out))


def where(condition, a, b, common):
    if condition.is_const():
        return a if condition.value else b
    kind = common([a.kind, b.kind])
    if kind == BOOL:
        chosen = Node("select", I32, (condition, cast(a, I32), cast(b, I32)))
        return cast(chosen, BOOL)
    return Node("select", kind, (condition, cast(a, kind), cast(b, kind)))


def power(a, b, common):
    """a ** b; a literal integer exponent becomes a product. Powers of integers are exact and wrap; the library gives the
    integer part for a negative exponent (0, but for 1 and -1), so who wants NumPy's ValueError must look at exponents."""
    if b.is_const() and b.kind in INTS + (BOOL,) and a.kind in INTS + FLOATS:
        exponent = int(b.value)
        kind = common([a.kind, b.kind])
        if kind in INTS and exponent < 0:
            raise refused(ValueError, "Integers to negative integer powers are not allowed.")
        if -1024 <= exponent <= 1024:
            return Node("powi", kind, (cast(a, kind),), exponent)
    if b.is_const() and b.kind in FLOATS:
        kind = common([a.kind, b.kind])
        if b.value == 0.5:
            return Node("sqrt", kind, (cast(a, kind),))
        if math.isfinite(b.value) and abs(b.value) <= 1024 and b.value == int(b.value):
            return Node("powi", kind, (cast(a, kind),), int(b.value))
    (a, b), kind = _numeric((a, b), common)
    return Node("pow", kind, (a, b))


def trunc_mod(a, b, common):
    """The remainder with the sign of the dividend, as C's % and fmod; integers by zero give 0."""
    (a, b), kind = _numeric((a, b), common)
    if kind in FLOATS:
        return Node("fmod", kind, (a, b))
    rest = _without_multiple(a, b, _quotient_i32("trunc", a, b, a)) if kind == I32 else _trunc_mod_i64(a, b)
    return by_zero_gives_0(b, rest)


def by_zero_gives_0(b, result):
    zero = const(0, b.kind)
    return Node("select", b.kind, (Node("eq", BOOL, (b, zero)), zero, result))


def shift_instead_of(b):
    """k where b is the literal 2**k, else None."""
    value = int(b.value) if b.is_const() and b.kind in INTS else 0
    return value.bit_length() - 1 if value > 0 and not value & value - 1 else None


def floor_quotient_i32(a, b):
    return _quotient_i32("floor", a, b, b)


def _quotient_i32(rounding, a, b, sign):
    """a / b of I32, rounded by `rounding`; anything for b = 0. A half with the sign of `sign` moves the dividend away from
    the multiple of b at which the rounding starts. So the quotient is at least 1 / |2 b| from an integer, which is more than
    float64 can err by, or any policy's k lets it err by. fmod of float64 would take about a hundred times as long."""
    half = Node("copysign", F64, (const(0.5, F64), cast(sign, F64)))
    if sign.is_const():
        half = const(math.copysign(0.5, sign.value), F64)
    dividend = Node("add", F64, (cast(a, F64), half))
    if b.is_const() and b.value:
        quotient = Node("mul", F64, (dividend, const(1 / b.value, F64)))
    else:
        quotient = Node("div", F64, (dividend, cast(b, F64)))
    return cast(Node(rounding, F64, (quotient,)), I32)


def _without_multiple(a, b, quotient):
    return Node("sub", I32, (a, Node("mul", I32, (quotient, b))))


def divided_i64(a, b):
    """A quotient and a remainder of I64, less than |b| and of either sign; anything for b = 0. Each step divides what the
    last one has left, by float64, and leaves at most half of |b| and the error of its quotient; wrapping arithmetic loses
    nothing. The last quotient errs by less than 1/2, even where each operation errs as far as a policy with k = 1e6 lets
    it: that takes three steps, and two where |b| is at least 3."""
    known = b.is_const() and abs(b.value) > 2
    other = const(1 / b.value, F64) if known else cast(b, F64)
    quotient, rest = const(0, I64), a
    for _ in range(2 if known else 3):
        ratio = Node("mul" if known else "div", F64, (cast(rest, F64), other))
        step = cast(Node("rint", F64, (ratio,)), I64)
        quotient = Node("add", I64, (quotient, step))
        rest = Node("sub", I64, (rest, Node("mul", I64, (step, b))))
    return quotient, rest


def signs_differ(rest, other):
    """Where `rest` is not 0 and has another sign than `other`, two integers."""
    differ = Node("lt", BOOL, (Node("xor", rest.kind, (rest, other)), const(0, rest.kind)))
    return Node("and", BOOL, (Node("ne", BOOL, (rest, const(0, rest.kind))), differ))


def _trunc_mod_i64(a, b):
    rest = divided_i64(a, b)[1]
    towards_a = Node("select", I64, (Node("lt", BOOL, (Node("xor", I64, (a, b)), const(0, I64))), Node("neg", I64, (b,)), b))
    return Node("select", I64, (signs_differ(rest, a), Node("add", I64, (rest, towards_a)), rest))


def floor_mod(a, b, common):
    """The remainder with the sign of the divisor, as NumPy's and Python's %."""
    kind = common([a.kind, b.kind])
    if kind in INTS and shift_instead_of(b) is not None:
        return Node("and", kind, (cast(a, kind), const(int(b.value) - 1, kind)))
    if kind in INTS:
        a, b = cast(a, kind), cast(b, kind)
        if kind == I32:
            return by_zero_gives_0(b, _without_multiple(a, b, floor_quotient_i32(a, b)))
        rest = divided_i64(a, b)[1]
        return by_zero_gives_0(b, Node("select", I64, (signs_differ(rest, b), Node("add", I64, (rest, b)), rest)))
    rest = trunc_mod(a, b, common)
    kind = rest.kind
    zero = const(0, kind)
    a, b = cast(a, kind), cast(b, kind)
    lt = lambda x: Node("lt", BOOL, (x, zero))  # noqa: E731
    wrong = Node("and", BOOL, (Node("ne", BOOL, (rest, zero)), Node("xor", BOOL, (lt(rest), lt(b)))))
    fixed = Node("select", kind, (wrong, Node("add", kind, (rest, b)), rest))
    signed_zero = Node("copysign", kind, (zero, b))
    return Node("select", kind, (Node("eq", BOOL, (rest, zero)), signed_zero, fixed))


def reduce(op, a, nan):
    """sum, prod, minof, maxof over all elements. `nan` says what a NaN does to min and max: "ignore" (numexpr) or "keep"."""
    if a.kind == BOOL:
        raise refused(TypeError, f"{op} of booleans is not supported")
    if op in ("sum", "prod") or a.kind in INTS:
        return Node(op, a.kind, (a,))
    one, zero = const(1, I32), const(0, I32)
    counted = (one, zero) if nan == "ignore" else (zero, one)
    found = Node("maxof", I32, (Node("select", I32, (Node("eq", BOOL, (a, a)), *counted)),))
    spoilt = Node("le" if nan == "ignore" else "gt", BOOL, (found, zero))
    extreme = Node(op, a.kind, (a,))  # leaves NaN out
    return Node("select", a.kind, (spoilt, const(math.nan, a.kind), extreme))


def _literal(node):
    value, kind = node.value, node.kind
    if kind == BOOL:
        return "(0i32 == 0i32)" if value else "(0i32 != 0i32)"
    if kind in INTS:
        if value >= 0:
            return f"{value}{kind}"
        return f"(-{-value - 1}{kind} - 1{kind})"  # the least integer has no positive counterpart
    if math.isnan(value):
        return f"{kind}(nan)"
    if math.isinf(value):
        return f"{kind}(inf)" if value > 0 else f"(-{kind}(inf))"
    text = f"{abs(value)!r}{kind}"
    return text if math.copysign(1, value) > 0 else f"(-{text})"


def _operation(node, names):
    args = [names[id(a)] for a in node.args]
    if node.op == "cast":
        return f"{node.kind}({args[0]})"
    if node.op == "powi":
        return f"({args[0]})^{node.value}" if node.value >= 0 else f"({args[0]})^(-{-node.value})"
    return f"{node.op}({', '.join(args)})"


def in_order(roots):
    """Every node under `roots` once, each after those that it is made of."""
    done, stack = set(), list(reversed(roots))
    while stack:
        node = stack.pop()
        ready = node is None  # then the one below it, whose parts are done
        if ready:
            node = stack.pop()
        if id(node) in done:
            continue
        if ready or not node.args:
            done.add(id(node))
            yield node
        else:
            stack += (node, None, *node.args)


def emit(outputs):
    """The text of the graph under `outputs`; inputs are named x0, x1, ... by their index, outputs y0, y1, ..."""
    statements, names = [], {}
    for node in in_order(outputs):
        if node.op == "input":
            names[id(node)] = f"x{node.value}"
        elif node.op == "const":
            names[id(node)] = _literal(node)
        else:
            names[id(node)] = f"t{len(statements)}"
            statements.append(f"t{len(statements)} = {_operation(node, names)};")
    results = ", ".join(f"y{i} = {names[id(o)]}" for i, o in enumerate(outputs))
    return "\n".join(statements) + f"\n({results})"


def as_kernel(roots, bytes_out=False):
    """The graph in terms of what a kernel takes and gives: booleans enter as 32-bit integers, and leave as such, or as bytes."""
    done = {}
    for n in in_order(roots):
        if n.op == "input" and n.kind == BOOL:
            done[id(n)] = cast(Node("input", I32, value=n.value), BOOL)
        elif not n.args:
            done[id(n)] = n
        else:
            done[id(n)] = Node(n.op, n.kind, tuple(done[id(a)] for a in n.args), n.value)
    plain = [done[id(root)] for root in roots]
    if bytes_out:
        return [Node("bool8", BOOL, (root,)) if root.kind == BOOL else root for root in plain]
    return [cast(root, I32) if root.kind == BOOL else root for root in plain]
