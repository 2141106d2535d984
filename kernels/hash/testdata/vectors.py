"""Writes vectors.tsv from the definitions in the comments of hash.go.

A second implementation, sharing nothing with the Go code but those
definitions: integers of any size instead of 64-bit arithmetic, and the
reference XXH3 library. Run:

    python3 -m venv /tmp/v && /tmp/v/bin/pip install xxhash
    /tmp/v/bin/python vectors.py > vectors.tsv
"""

import random

import xxhash

WORD = (1 << 64) - 1

MASK_LOW = 0x243F6A8885A308D3
MASK_IN = 0xA4093822299F31D0
MASK_HIGH = 0x452821E638D01377
MASK_OUT = 0xBE5466CF34E90C6C
MUL_OUT = 0xC0AC29B7C97C50DD
MUL_IN = 0x3F84D5B5B5470917


def fold(a, b):
    product = a * b
    return (product >> 64) ^ (product & WORD)


def mix(x):
    return fold(fold(x ^ MASK_IN, MUL_IN) ^ MASK_OUT, MUL_OUT)


def hash_bytes(b):
    if len(b) > 16:
        return xxhash.xxh3_64_intdigest(b)
    if len(b) > 8:
        low, high = int.from_bytes(b[:8], "little"), int.from_bytes(b[-8:], "little")
    else:
        low, high = int.from_bytes(b, "little"), 0
    return fold(fold(low ^ MASK_LOW, high ^ MASK_HIGH) ^ MASK_OUT ^ len(b), MUL_OUT)


def sequence(values):
    hi, lo = MASK_LOW, MASK_HIGH
    for v in values:
        hi = fold(hi ^ v, MUL_IN)
        lo = fold((lo + v) & WORD, MUL_OUT)
    n = len(values)
    return mix(hi ^ n) << 64 | mix((lo + n) & WORD)


def main():
    rng = random.Random(1)
    texts = [b"", b"a", b"a\0", b"\0", b"\0\0", b"the", "é".encode(), "近".encode()]
    texts += [bytes([255] * n) for n in (1, 3, 4, 7, 8, 9, 15, 16, 17)]
    texts += [rng.randbytes(n) for n in range(65)]
    texts += [rng.randbytes(n) for n in (128, 129, 240, 241, 1024, 1025, 4096)]
    for b in texts:
        print(f"bytes\t{b.hex()}\t{hash_bytes(b):016x}")
        print(f"text\t{b.hex()}\t{xxhash.xxh3_128_intdigest(b):032x}")

    words = [0, 1, 2, 3, WORD, WORD - 1, 1 << 63, MASK_IN]
    words += [rng.getrandbits(64) for _ in range(24)]
    for x in words:
        print(f"mix\t{x:016x}\t{mix(x):016x}")
    for a, b in zip(words, reversed(words)):
        print(f"fold\t{a:016x},{b:016x}\t{fold(a, b):016x}")

    sequences = [[], [0], [0, 0], [1, 2], [2, 1], [WORD] * 5]
    sequences += [[rng.getrandbits(64) for _ in range(n)] for n in range(1, 20)]
    for values in sequences:
        print(f"sequence\t{','.join(f'{v:016x}' for v in values)}\t{sequence(values):032x}")
    sequences += [[rng.getrandbits(64) for _ in range(n)] for n in (30, 31, 127, 128, 129, 256, 300)]
    for values in sequences:
        packed = b"".join(v.to_bytes(8, "little") for v in values)
        print(f"values\t{','.join(f'{v:016x}' for v in values)}\t{xxhash.xxh3_128_intdigest(packed):032x}")


if __name__ == "__main__":
    main()
