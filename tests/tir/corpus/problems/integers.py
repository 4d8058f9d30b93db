"""Numbers of 32 bits, and bigger ones in limbs."""
import binascii
import datetime
import math
import zlib

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


@problem("u32", "days of dates", public=[3, 1970, 1, 1, 2000, 2, 29, 2026, 11, 24])
def civil_days(run):
    # 1 March of year 0 is day 305 before 1 January of year 1, whose ordinal is 1.
    return [datetime.date(*run.read(3)).toordinal() + 305 for _ in range(run.read())]


@problem("u32", "Adler-32 of bytes, variables in RAM", public=[24] + numbers("adler32", 24, 256))
def adler32(run):
    return [zlib.adler32(bytes(run.read(run.read())))]


def rotated(x, k):
    return (x << k | x >> 32 - k) & U32 - 1


@problem("u32", "a double round of ChaCha", public=numbers("chacha", 16, U32))
def chacha_double_round(run):
    s = run.read(16)
    for k in range(8):
        a, b, c, d = [4 * i + (k + (i if k > 3 else 0)) % 4 for i in range(4)]
        for x, y, z, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) % U32
            s[z] = rotated(s[z] ^ s[x], by)
    return s


@problem("u32", "words of SHA-256's message schedule", public=numbers("sha256", 16, U32))
def sha256_schedule(run):
    w = run.read(16)
    right = lambda x, k: rotated(x, 32 - k)
    for t in range(16, 20):
        s0 = right(w[t - 15], 7) ^ right(w[t - 15], 18) ^ w[t - 15] >> 3
        s1 = right(w[t - 2], 17) ^ right(w[t - 2], 19) ^ w[t - 2] >> 10
        w.append((w[t - 16] + s0 + w[t - 7] + s1) % U32)
    return w[16:]


@problem("u32", "bits in reverse order", public=[2, 0x12345678, 0xF0000001])
def bit_reverse(run):
    return [int(f"{x:032b}"[::-1], 2) for x in run.read(run.read())]


@problem("u32", "Hamming distances of neighbours", public=[16] + numbers("hamming", 16, U32))
def hamming(run):
    words = run.read(run.read())
    distances = [bin(a ^ b).count("1") for a, b in zip(words, words[1:])]
    return distances + [max(distances)]


@problem("bigint", "comparisons of numbers of 128 bits",
         public=[3] + [1, 2, 3, 4] * 2 + [1, 2, 3, 4, 1, 2, 4, 0] + [U32 - 1, 0, 0, 1, U32 - 2, 5, 5, 5])
def bigint_compare(run):
    out = []
    for _ in range(run.read()):
        a, b = value_of(run.read(4)[::-1]), value_of(run.read(4)[::-1])
        out.append(0 if a < b else 1 if a == b else 2)
    return out


@problem("bigint", "128 bits divided by 16", public=[40503] + numbers("bigint_divide", 8, 65536))
def bigint_divide(run):
    divisor = run.read()
    value = sum(x << 16 * (7 - i) for i, x in enumerate(run.read(8)))
    return [value // divisor >> 16 * (7 - i) & 65535 for i in range(8)] + [value % divisor]


@problem("bigint", "a Fibonacci number in four limbs", public=[40])
def fibonacci_big(run):
    a, b = 0, 1
    for _ in range(run.read()):
        a, b = b, a + b
    return limbs(a, 4)


@problem("u32", "the median of five by a network", public=[30, 10, 50, 20, 40])
def median(run):
    return [sorted(run.read(5))[2]]


@problem("bigint", "product of 64 by 64 bits on the stack", public=[U32 - 1, U32 - 1, U32 - 2, U32 - 1])
def u64_mul(run):
    return limbs(value_of(run.read(2)) * value_of(run.read(2)), 4)


@problem("field", "a Fibonacci number modulo p", public=[30])
def fibonacci_mod(run):
    a, b = 0, 1
    for _ in range(run.read()):
        a, b = b, a + b
    return [a % (2**64 - 2**32 + 1)]


@problem("u32", "rounds of SHA-256's compression on the stack", public=numbers("sha256_rounds", 10, U32))
def sha256_rounds(run):
    a, b, c, d, e, f, g, h = run.read(8)
    right = lambda x, k: rotated(x, 32 - k)
    for kw in run.read(2):
        t1 = h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) | (~e & U32 - 1 & g)) + kw
        t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) | (a & c) | (b & c))
        a, b, c, d, e, f, g, h = (t1 + t2) % U32, a, b, c, (d + t1) % U32, e, f, g
    return [a, b, c, d, e, f, g, h]


@problem("u32", "Base64 of bytes", public=[3] + list(b"\xff\xfe\xfbTIR"[:6]) + [0, 200, 190])
def base64(run):
    return list(binascii.b2a_base64(bytes(run.read(3 * run.read())), newline=False))
