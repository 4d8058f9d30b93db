"""The field's extension: what verifiers of proofs compute."""
from problems.field import P, ext_add, ext_inverse, ext_mul, ext_pow, ext_scale, inverse
from problems.registry import numbers, problem


@problem("extension", "a polynomial's value at a point of the extension", public=numbers("ext_horner", 3, P) + [25] + numbers("c", 25, P))
def ext_horner(run):
    point, n = run.read(3)[::-1], run.read()
    total = [0, 0, 0]
    for i, c in enumerate(run.read(n)):
        total = ext_add(total, ext_scale(c, ext_pow(point, n - 1 - i)))
    return total


@problem("extension", "a sum of inverses", public=[5] + numbers("ext_inverses", 15, P))
def ext_inverses(run):
    total = [0, 0, 0]
    for _ in range(run.read()):
        total = ext_add(total, ext_inverse(run.read(3)[::-1]))
    return total


@problem("extension", "a dot product in RAM", public=numbers("ext_dot", 24, P))
def ext_dot(run):
    a, b = ([run.read(3) for _ in range(4)] for _ in range(2))
    total = [0, 0, 0]
    for x, y in zip(a, b):
        total = ext_add(total, ext_mul(x, y))
    return total


_ROWS = numbers("row_combination", 40, P)


@problem("extension", "two linear combinations of elements in RAM",
         ram={**{i: w for i, w in enumerate(_ROWS[:24])}, **{100 + i: w for i, w in enumerate(_ROWS[24:32])},
              **{200 + i: w for i, w in enumerate(_ROWS[32:])}})
def row_combination(run):
    out = []
    for base in (100, 200):
        total = [0, 0, 0]
        for i in range(8):
            total = ext_add(total, ext_scale(run.ram[base + i], [run.ram[3 * i + k] for k in range(3)]))
        out += total
    return out


@problem("extension", "a round of FRI", public=numbers("fri_fold", 3 + 28, P))
def fri_fold(run):
    challenge, out = run.read(3)[::-1], []
    for _ in range(4):
        x, plus, minus = run.read(), run.read(3)[::-1], run.read(3)[::-1]
        even = ext_scale(inverse(2), ext_add(plus, minus))
        odd = ext_scale(inverse(2 * x), ext_add(plus, ext_scale(-1, minus)))
        out += ext_add(even, ext_mul(challenge, odd))
    return out


_VECTORS = numbers("inner_product", 6 * 96, P)


@problem("extension", "a long inner product in RAM",
         ram={(i if i < 288 else 300 + i - 288): w for i, w in enumerate(_VECTORS)})
def inner_product(run):
    total = [0, 0, 0]
    for i in range(96):
        a, b = ([run.ram[base + 3 * i + k] for k in range(3)] for base in (0, 300))
        total = ext_add(total, ext_mul(a, b))
    return total
