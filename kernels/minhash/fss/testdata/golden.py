"""Writes golden.json: FSS signatures from the definition in fss.go, in
exact integers, without rounds that stop early.  Usage: python3 golden.py"""

import hashlib
import json
import os

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def splitmix64(state):
    while True:
        state = (state + GOLDEN) & M64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
        yield z ^ (z >> 31)


def fold(x):
    product = x * GOLDEN
    return (product >> 64) ^ (product & M64)


def sign(n, seed, shingles):
    stream = splitmix64(seed)
    masks = [next(stream) for _ in range(64)]
    spare = [next(stream) for _ in range(n)]
    least = {}
    for r, mask in enumerate(masks):
        for x in shingles:
            y = x if r == 0 and seed == 0 else fold(x ^ mask)
            value = (r << 55) | (y >> 9)
            least[y % n] = min(value, least.get(y % n, value))
    return [
        least[i] if i in least else min((64 << 55) | (fold(x ^ spare[i]) >> 9) for x in shingles)
        for i in range(n)
    ]


def shingles(count):
    """The first 8 bytes, little-endian, of the SHA-256 of each number."""
    return [int.from_bytes(hashlib.sha256(str(i).encode()).digest()[:8], "little") for i in range(count)]


cases = []
for n, seed, count in [
    (32, 0, 1), (32, 7, 3), (32, 0, 20), (32, 0, 500), (32, 2**63, 200),
    (64, 0, 1), (64, 7, 1), (64, 0, 3), (64, 0, 200), (128, 0, 20), (128, 0, 500),
    (128, 1, 500), (256, 2**63, 50), (512, 0, 5000), (1024, 0, 2), (1024, 2**64 - 1, 1000),
]:
    sig = sign(n, seed, shingles(count))
    digest = hashlib.sha256(b"".join(v.to_bytes(8, "little") for v in sig)).hexdigest()
    head = ["%016x" % v for v in sig[:4]]
    cases.append({"n": n, "seed": "%x" % seed, "shingles": count, "head": head, "sha256": digest})

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as f:
    f.write("[\n" + ",\n".join("  " + json.dumps(c) for c in cases) + "\n]\n")
