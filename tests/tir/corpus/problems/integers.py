"""Numbers of 32 bits, and bigger ones in limbs."""
import binascii
import math

from problems.registry import numbers, problem

U32 = 2**32


@problem("u32", "steps of Collatz's map down to 1", public=[5, 1, 6, 7, 19, 9])
def collatz(run):
    def steps(x):
        return 0 if x == 1 else 1 + steps(x // 2 if x % 2 == 0 else 3 * x + 1)
    return [steps(x) for x in run.read(run.read())]


@problem("u32", "greatest common divisor by Euclid", public=[3267000000, 1836311904])
def gcd(run):
    return [math.gcd(*run.read(2))]


@problem("u32", "integer square roots bit by bit", public=[3, 99, 65536, 4294967295])
def isqrt(run):
    return [math.isqrt(x) for x in run.read(run.read())]


@problem("u32", "CRC-32 of bytes, bit by bit", public=[7] + list(b"Trident"))
def crc32(run):
    return [binascii.crc32(bytes(run.read(run.read())))]


@problem("u32", "Marsaglia's xorshift32", public=[2463534242, 20])
def xorshift(run):
    state, n = run.read(2)
    total = 0
    for _ in range(n):
        state ^= state << 13 & U32 - 1
        state ^= state >> 17
        state ^= state << 5 & U32 - 1
        total += state
    return [state, total]


@problem("u32", "primes below n by trial division", public=[61])
def prime_count(run):
    return [sum(all(x % d for d in range(2, x)) for x in range(2, run.read()))]


@problem("u32", "sieve of Eratosthenes, variables in RAM")
def sieve(run):
    primes = [x for x in range(2, 100) if all(x % d for d in range(2, x))]
    return primes + [len(primes)]


@problem("u32", "modular powers by squaring", public=[4, 3, 1000, 65521, 2, 65535, 40961, 12345, 77777, 9973, 5, 0, 7])
def modpow(run):
    return [pow(*run.read(3)) for _ in range(run.read())]


@problem("u32", "MurmurHash3 of whole words", public=[0x9747B28C, 12] + numbers("murmur3", 12, U32))
def murmur3(run):
    h, n = run.read(2)
    rotl = lambda x, k: (x << k | x >> 32 - k) & U32 - 1
    for k in run.read(n):
        h ^= rotl(k * 0xCC9E2D51 % U32, 15) * 0x1B873593 % U32
        h = (rotl(h, 13) * 5 + 0xE6546B64) % U32
    h ^= 4 * n
    h = (h ^ h >> 16) * 0x85EBCA6B % U32
    h = (h ^ h >> 13) * 0xC2B2AE35 % U32
    return [h ^ h >> 16]


def limbs(value, count):
    return [value >> 32 * i & U32 - 1 for i in range(count)]


def value_of(words):
    return sum(w << 32 * i for i, w in enumerate(words))


@problem("bigint", "sum of two numbers of 256 bits",
         public=[U32 - 1] * 3 + numbers("bigint_add", 5, U32) + [1] + numbers("bigint_add b", 7, U32))
def bigint_add(run):
    return limbs(value_of(run.read(8)) + value_of(run.read(8)), 9)


@problem("bigint", "product of two numbers of 192 bits", public=[U32 - 1] * 2 + numbers("bigint_mul", 10, U32))
def bigint_mul(run):
    return limbs(value_of(run.read(6)) * value_of(run.read(6)), 12)


@problem("bigint", "factorial in five limbs", public=[20])
def factorial(run):
    return limbs(math.factorial(run.read()), 5)
