"""Field arithmetic, matrices and transforms."""
from problems.field import P, inverse
from problems.registry import numbers, problem


@problem("field", "a polynomial's value by Horner's rule", public=[123456789, 60] + numbers("horner", 60, P))
def horner(run):
    x, n = run.read(2)
    coefficients = run.read(n)
    return [sum(c * pow(x, n - 1 - i, P) for i, c in enumerate(coefficients)) % P]


@problem("field", "product of two polynomials, schoolbook in RAM", public=numbers("poly_mul", 32, P))
def poly_mul(run):
    a, b = run.read(16), run.read(16)
    return [sum(a[i] * b[k - i] for i in range(16) if 0 <= k - i < 16) % P for k in range(31)]


@problem("field", "inverses of many elements with one inversion", public=[24] + numbers("batch_inverse", 24, P))
def batch_inverse(run):
    return [inverse(v) for v in run.read(run.read())]


@problem("field", "Lagrange interpolation at a point", public=[8, 77] + numbers("lagrange", 16, P))
def lagrange(run):
    n, x = run.read(2)
    points = [run.read(2) for _ in range(n)]
    total = 0
    for i, (xi, yi) in enumerate(points):
        for j, (xj, _) in enumerate(points):
            if i != j:
                yi = yi * (x - xj) * inverse(xi - xj) % P
        total += yi
    return [total % P]


@problem("field", "Euler's criterion for squares", public=[7, 0, 1, 7, 49] + numbers("legendre", 3, P))
def legendre(run):
    return [pow(a, (P - 1) // 2, P) for a in run.read(run.read())]


@problem("matrix", "product of 4 by 4 matrices", public=numbers("matmul", 32, P))
def matmul(run):
    a, b = run.read(16), run.read(16)
    return [sum(a[4 * i + k] * b[4 * k + j] for k in range(4)) % P for i in range(4) for j in range(4)]


@problem("field", "dot product of fixed-point vectors",
         public=[6] + [x % P for x in (19661, 32768, -98304, 147456, 45875, -13107, 6553, 6554, 1 << 30, -7, -1, 1)])
def fixed_dot(run):
    centred = [x - P if x > P // 2 else x for x in run.read(2 * run.read())]
    return [sum(a * b for a, b in zip(centred[::2], centred[1::2])) // 2**16 % P]


@problem("ntt", "transform of 8 elements by butterflies", public=numbers("ntt", 8, P))
def ntt(run):
    a, root = run.read(8), pow(2, 24, P)
    return [sum(a[j] * pow(root, i * j, P) for j in range(8)) % P for i in range(8)]


def determinant_of(m):
    if not m:
        return 1
    return sum((-1)**j * m[0][j] * determinant_of([r[:j] + r[j + 1:] for r in m[1:]]) for j in range(len(m))) % P


@problem("matrix", "determinant of a 3 by 3 matrix on the stack", public=numbers("determinant", 9, P))
def determinant(run):
    return [determinant_of([run.read(3) for _ in range(3)])]


@problem("matrix", "four linear equations by elimination", public=numbers("gauss", 20, P))
def gauss(run):
    rows = [run.read(5) for _ in range(4)]
    whole = inverse(determinant_of([r[:4] for r in rows]))
    # Cramer's rule
    return [determinant_of([r[:k] + [r[4]] + r[k + 1:4] for r in rows]) * whole % P for k in range(4)]


@problem("matrix", "a signal under a filter of three weights", public=[1, 2, 1, 20] + numbers("convolution", 20, 256))
def convolution(run):
    weights, signal = run.read(3), run.read(run.read())
    at = lambda i: signal[min(max(i, 0), len(signal) - 1)]
    return [sum(w * at(i + k - 1) for k, w in enumerate(weights)) % P for i in range(len(signal))]


@problem("matrix", "a matrix transposed, with sums of rows", public=numbers("transpose", 25, 1000))
def transpose(run):
    rows = [run.read(5) for _ in range(5)]
    return [x for column in zip(*rows) for x in list(column) + [sum(column)]]


@problem("matrix", "Fibonacci by powers of a matrix", public=[1000])
def matrix_fibonacci(run):
    a, b = 0, 1
    for _ in range(run.read()):
        a, b = b, (a + b) % P
    return [a]


@problem("field", "a multiple of a point of a curve", public=[5, 11, 23])
def curve_multiply(run):
    x, y, k = run.read(3)

    def added(p, q):
        slope = (3 * p[0]**2 + 3) * inverse(2 * p[1]) if p == q else (q[1] - p[1]) * inverse(q[0] - p[0])
        u = (slope**2 - p[0] - q[0]) % P
        return u, (slope * (p[0] - u) - p[1]) % P
    total = (x, y)
    for _ in range(k - 1):
        total = added(total, (x, y))
    return list(total)


@problem("field", "MiMC as a hash", public=[4] + numbers("mimc", 4, P))
def mimc(run):
    state = 0
    for word in run.read(run.read()):
        x = word
        for i in range(12):
            x = pow(x + state + i**3, 7, P)
        state = (state + word + x + state) % P
    return [state]


@problem("field", "sums of powers, deep on the stack", public=numbers("moments", 10, P))
def moments(run):
    x = run.read(10)
    return [sum(v**k for v in x) % P for k in (1, 2, 3)] + [sum(x[i] * x[9 - i] for i in range(5)) % P]


@problem("matrix", "a dense layer in fixed point",
         public=[v % P for v in [65536, -32768, 131072, 16384, 6554, 19661, 13107, -6554, 3277, -65536, 100, 200, -300, 400,
                                 0, -1, 65535, 32767, -99999]])
def dense_layer(run):
    centred = [v - P if v > P // 2 else v for v in run.read(19)]
    out = []
    for k in range(3):
        bias, weights = centred[4 + 5 * k], centred[5 + 5 * k:9 + 5 * k]
        total = bias * 65536 + sum(a * b for a, b in zip(centred[:4], weights))
        out.append(max(0, total // 65536))
    return out
