"""Hashes, Merkle trees, commitments, sponges."""
from problems.field import P, hash_10, hash_pair
from problems.registry import numbers, problem

U32 = 2**32


def padded(*words):
    return hash_10(list(words) + [0] * (10 - len(words)))


def root_of(digests):
    while len(digests) > 1:
        digests = [hash_pair(a, b) for a, b in zip(digests[::2], digests[1::2])]
    return digests[0]


@problem("merkle", "root of a tree over 8 leaves, in RAM", public=numbers("merkle_root", 8, P))
def merkle_root(run):
    return root_of([padded(leaf) for leaf in run.read(8)])


_HEADER = numbers("proof_of_work", 5, P)


def _found_nonce(bound):
    return next(n for n in range(10000) if padded(*_HEADER, n)[0] >> 32 < bound)


@problem("hash", "a nonce found by another is checked", public=_HEADER + [1 << 25], secret=[_found_nonce(1 << 25)])
def proof_of_work(run):
    header, bound, nonce = run.read(5), run.read(), run.hint()
    assert padded(*header, nonce)[0] >> 32 < bound
    return [nonce]


@problem("hash", "payments chained by digests", public=[4, 1, 2, 300, 2, 3, 250, 3, 1, 99, 1, 4, 7])
def hash_list(run):
    digest, total = hash_10([0] * 10), 0
    for i in range(run.read()):
        payment = run.read(3)
        digest = hash_10(digest + payment + [i, 0])
        total += payment[2]
    return digest + [total]


_SEED = 8675309


@problem("hash", "winners drawn from a committed seed", public=padded(_SEED)[::-1] + [20], secret=[_SEED])
def lottery(run):
    commitment, n, seed = run.read(5)[::-1], run.read(), run.hint()
    assert padded(seed) == commitment
    winners, turn, out = [], 0, []
    while len(winners) < 3:
        turn += 1
        drawn = padded(seed, turn)[0] % U32 % n
        if drawn not in winners:
            winners.append(drawn)
            out += [5, drawn, turn]
    return out


_BIDS = [(500, 11), (720, 22), (640, 33), (90, 44)]


@problem("hash", "a sealed auction, second price",
         public=[len(_BIDS)] + [w for bid in _BIDS for w in padded(*bid)[::-1]], secret=[w for bid in _BIDS for w in bid])
def auction(run):
    bids = []
    for _ in range(run.read()):
        commitment, bid = run.read(5)[::-1], run.hint(2)
        assert padded(*bid) == commitment
        bids.append(bid[0])
    ranked = sorted(bids)
    return [bids.index(ranked[-1]), ranked[-2]]


@problem("hash", "a private note spent: nullifier and seals", secret=[1000, 0xC0FFEE, 77, 400, 5, 6])
def note_spend(run):
    amount, key, blinding, share, first, second = run.hint(6)
    notes = [hash_10([3, 0, 0, 0, 0, 0, 0] + [part, key, blind]) for part, blind in ((share, first), (amount - share, second))]
    return padded(key, blinding, 1) + notes[0] + notes[1]
