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
