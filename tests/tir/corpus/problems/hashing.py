"""Hashes, Merkle trees, commitments, sponges."""
from problems.field import P, Sponge, hash_10, hash_pair, hash_varlen
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


def siblings(leaves, index):
    """The way up from a leaf: the digests beside it, lowest first."""
    out = []
    while len(leaves) > 1:
        out.append(leaves[index ^ 1])
        leaves = [hash_pair(a, b) for a, b in zip(leaves[::2], leaves[1::2])]
        index >>= 1
    return out


def climbed(digest, node, ways):
    while node > 1:
        sibling = ways.pop(0)
        digest = hash_pair(sibling, digest) if node & 1 else hash_pair(digest, sibling)
        node >>= 1
    return digest


_LEAVES = [padded(x) for x in range(1000, 1064)]


@problem("merkle", "a secret leaf is in a tree of height 6", public=root_of(_LEAVES)[::-1] + [64 + 41],
         secret=_LEAVES[41][::-1], digests=siblings(_LEAVES, 41))
def merkle_verify(run):
    root, node, leaf = run.read(5)[::-1], run.read(), run.hint(5)[::-1]
    assert climbed(leaf, node, run.digests) == root
    return leaf


@problem("merkle", "a leaf replaced, the new root", public=root_of(_LEAVES[:32])[::-1] + [32 + 22],
         secret=[1022, 777], digests=siblings(_LEAVES[:32], 22) * 2)
def merkle_update(run):
    root, node, (old, new) = run.read(5)[::-1], run.read(), run.hint(2)
    assert climbed(padded(old), node, run.digests) == root
    return climbed(padded(new), node, run.digests)


def _paths_ram():
    leaves, ram, at = _LEAVES[:16], {}, 100
    for index in (3, 8, 15):
        words = [16 + index] + leaves[index] + [w for d in siblings(leaves, index) for w in d]
        ram.update({at + i: w for i, w in enumerate(words)})
        at += len(words)
    return ram


@problem("merkle", "three leaves whose ways up are in RAM", public=root_of(_LEAVES[:16])[::-1], ram=_paths_ram())
def merkle_paths(run):
    root, out = run.read(5)[::-1], []
    for base in (100, 126, 152):
        words = [run.ram[base + i] for i in range(26)]
        ways = [words[6 + 5 * k:11 + 5 * k] for k in range(4)]
        assert climbed(words[1:6], words[0], ways) == root
        out.append(words[0])
    return out


@problem("sponge", "Tip5 of a list of any length, from RAM", public=[34] + numbers("sponge_hash", 34, P))
def sponge_hash(run):
    return hash_varlen(run.read(run.read()))


@problem("sponge", "blocks absorbed as they come", public=[3] + numbers("sponge_stream", 30, P))
def sponge_stream(run):
    sponge = Sponge()
    for _ in range(run.read()):
        sponge.absorb(run.read(10)[::-1])
    return sponge.squeeze() + sponge.squeeze()


@problem("hash", "a secret hashed many times", public=[8], secret=numbers("hash_chain", 5, P))
def hash_chain(run):
    digest = run.hint(5)[::-1]
    for _ in range(run.read()):
        digest = hash_10(digest + [0] * 5)
    return digest


@problem("sponge", "a verifier's challenges", public=numbers("fiat_shamir", 10, P))
def fiat_shamir(run):
    sponge = Sponge()
    sponge.absorb(run.read(10)[::-1])
    words = sponge.squeeze()
    return [11] + words[:3] + [w % 1024 for w in words[3:8]]


_PREIMAGE = numbers("unlock", 10, P)


@problem("hash", "a lock for who knows a preimage", public=hash_10(_PREIMAGE[::-1])[::-1], secret=_PREIMAGE)
def unlock(run):
    assert hash_10(run.hint(10)[::-1]) == run.read(5)[::-1]
    return []


@problem("contract", "a lock that opens between two times", public=[1700000000, 1800000000, 1764000000])
def time_lock(run):
    start, end, now = run.read(3)
    assert start <= now < end
    return [end - now]


@problem("contract", "the sides of a right triangle", public=[73], secret=[48, 55])
def pythagoras(run):
    a, b = run.hint(2)
    assert a * a + b * b == run.read()**2
    return []


@problem("contract", "an invoice with tax, revealed and sealed", public=[9995, 42, 2026001])
def invoice(run):
    net, customer, number = run.read(3)
    gross = net * 120 // 100
    return [21, gross, customer, number] + hash_10([22, 0, 0, 0, 0, 0, 0, gross, customer, number])


_VOTERS = [(1111, 2), (2222, 0), (3333, 2), (4444, 3)]


@problem("hash", "secret votes counted", secret=[key for key, _ in _VOTERS],
         public=[len(_VOTERS)] + [w for key, choice in _VOTERS for w in padded(key)[::-1] + [choice]])
def vote_tally(run):
    counts, seen = [0] * 4, []
    for _ in range(run.read()):
        member, choice, key = run.read(5)[::-1], run.read(), run.hint()
        assert padded(key) == member
        seen.append(padded(key, 7)[0])
        counts[choice] += 1
    assert len(set(seen)) == len(seen)
    return seen + counts
