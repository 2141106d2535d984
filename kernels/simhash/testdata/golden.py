"""Writes golden.json: SimHash signatures and keys of pieces from the definitions in simhash.go and
pieces.go, with quantiles from Python's statistics module.  Usage: python3 golden.py"""

import hashlib
import json
import os
from statistics import NormalDist

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
QUANTILES = [round(4096 * NormalDist().inv_cdf((u + 0.5) / 65536)) for u in range(65536)]


def splitmix64(state):
    while True:
        state = (state + GOLDEN) & M64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
        yield z ^ (z >> 31)


def fold(x, multiplier=GOLDEN):
    product = x * multiplier
    return (product >> 64) ^ (product & M64)


def mix(x):
    x = fold(x ^ 0xA4093822299F31D0, 0x3F84D5B5B5470917)
    return fold(x ^ 0xBE5466CF34E90C6C, 0xC0AC29B7C97C50DD)


def bit(entries, masks, features, weights, i):
    total = 0
    for x, w in zip(features, weights):
        if entries == "normal":
            total += w * QUANTILES[fold(x ^ masks[i // 4]) >> (16 * (i % 4)) & 0xFFFF]
        else:
            total += w if fold(x ^ masks[i // 64]) >> (i % 64) & 1 else -w
    return int(total > 0)


def key(piece, bits):
    """bits are the piece's, the first in the lowest place."""
    k = mix(piece)
    for at in range(0, len(bits), 64):
        k = fold(k ^ sum(b << j for j, b in enumerate(bits[at:at + 64])), 0xD1342543DE82EF95)
    return k


def features(count):
    """The first 8 bytes, little-endian, of the SHA-256 of each number."""
    return sorted(int.from_bytes(hashlib.sha256(str(i).encode()).digest()[:8], "little") for i in range(count))


def weights(kind, features):
    return [{"unit": 1, "small": 1 + x % 7, "large": 1 + x % (1 << 24)}[kind] for x in features]


cases = []
for entries, m, seed, count, kind, pieces in [
    ("normal", 1, 0, 1, "unit", 1), ("normal", 64, 0, 3, "unit", 8), ("normal", 256, 7, 100, "unit", 32),
    ("normal", 257, 2**64 - 1, 60, "small", 19), ("normal", 1021, 1, 40, "large", 5),
    ("sign", 1, 0, 1, "unit", 1), ("sign", 63, 0, 2, "unit", 63), ("sign", 64, 7, 200, "unit", 3),
    ("sign", 256, 1, 101, "small", 32), ("sign", 1024, 2**63, 37, "large", 7), ("sign", 130, 0, 8, "unit", 1),
]:
    stream = splitmix64(seed)
    masks = [next(stream) for _ in range(256)]
    x = features(count)
    w = weights(kind, x)
    sig = [bit(entries, masks, x, w, i) for i in range(m)]
    words = [sum(b << j for j, b in enumerate(sig[at:at + 64])) for at in range(0, m, 64)]
    bounds = [i * m // pieces for i in range(pieces + 1)]
    keys = [key(i, sig[bounds[i]:bounds[i + 1]]) for i in range(pieces)]
    cases.append({
        "entries": entries, "bits": m, "seed": "%x" % seed, "features": count, "weights": kind,
        "signature": ["%016x" % v for v in words], "pieces": pieces, "keys": ["%016x" % k for k in keys],
    })

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as f:
    f.write("[\n" + ",\n".join("  " + json.dumps(c) for c in cases) + "\n]\n")
