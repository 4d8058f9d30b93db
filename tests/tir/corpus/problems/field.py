"""The field of p = 2^64 - 2^32 + 1 elements, its extension by x^3 = x - 1, and Tip5 with its constants' derivation."""
import hashlib

P = 2**64 - 2**32 + 1


def inverse(a):
    assert a % P != 0
    return pow(a, P - 2, P)


def ext_mul(a, b):
    """Coefficients from the lowest."""
    c = [0] * 5
    for i in range(3):
        for j in range(3):
            c[i + j] += a[i] * b[j]
    # x^3 = x - 1, x^4 = x^2 - x
    return [(c[0] - c[3]) % P, (c[1] + c[3] - c[4]) % P, (c[2] + c[4]) % P]


def ext_add(a, b):
    return [(x + y) % P for x, y in zip(a, b)]


def ext_pow(a, n):
    result = [1, 0, 0]
    while n:
        if n & 1:
            result = ext_mul(result, a)
        a = ext_mul(a, a)
        n >>= 1
    return result


def ext_inverse(a):
    return ext_pow(a, P**3 - 2)


def ext_scale(k, a):
    return [k * x % P for x in a]


# --- BLAKE3 of a message of one block, for Tip5's constants ---

_IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
_ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
_QUARTERS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
             (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]


def _rotated(x, n):
    return (x >> n | x << (32 - n)) & 0xFFFFFFFF


def blake3_words(message):
    """The first eight words of the digest; at most 64 bytes."""
    block = message + bytes(64 - len(message))
    m = [int.from_bytes(block[4 * i:4 * i + 4], "little") for i in range(16)]
    v = _IV + _IV[:4] + [0, 0, len(message), 1 | 2 | 8]  # first and last block of the root
    for _ in range(7):
        for k, (a, b, c, d) in enumerate(_QUARTERS):
            for x, first, second in ((m[2 * k], 16, 12), (m[2 * k + 1], 8, 7)):
                v[a] = (v[a] + v[b] + x) & 0xFFFFFFFF
                v[d] = _rotated(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = _rotated(v[b] ^ v[c], second)
        m = [m[i] for i in _ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)]


# --- Tip5 ---

_R = 2**64 % P
_R_INVERSE = inverse(_R)
_MDS_BYTES = hashlib.sha256(b"Tip5").digest()
_MDS = [int.from_bytes(_MDS_BYTES[2 * i:2 * i + 2], "little") for i in range(16)]
_LOOKUP = [((b + 1)**3 - 1) % 257 for b in range(256)]


def _round_constant(i):
    words = blake3_words(b"Tip5" + bytes([i]))
    return sum(w << 32 * k for k, w in enumerate(words[:4])) % P * _R_INVERSE % P


_ROUND_CONSTANTS = [_round_constant(i) for i in range(80)]


def _split_and_lookup(x):
    raw = (x * _R % P).to_bytes(8, "little")
    return int.from_bytes(bytes(_LOOKUP[b] for b in raw), "little") * _R_INVERSE % P


def permutation(state):
    for r in range(5):
        s = [_split_and_lookup(x) for x in state[:4]] + [pow(x, 7, P) for x in state[4:]]
        state = [(sum(_MDS[(i - j) % 16] * s[j] for j in range(16)) + _ROUND_CONSTANTS[16 * r + i]) % P
                 for i in range(16)]
    return state


def hash_10(words):
    assert len(words) == 10
    return permutation([w % P for w in words] + [1] * 6)[:5]


def hash_pair(left, right):
    return hash_10(list(left) + list(right))


class Sponge:
    def __init__(self):
        self.state = [0] * 16

    def absorb(self, words):
        assert len(words) == 10
        self.state = permutation([w % P for w in words] + self.state[10:])

    def squeeze(self):
        out = self.state[:10]
        self.state = permutation(self.state)
        return out


def hash_varlen(words):
    """A 1 and zeros fill the last ten."""
    sponge = Sponge()
    padded = list(words) + [1]
    padded += [0] * (-len(padded) % 10)
    for i in range(0, len(padded), 10):
        sponge.absorb(padded[i:i + 10])
    return sponge.state[:5]
