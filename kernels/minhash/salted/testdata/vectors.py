"""Writes vectors.tsv: signatures of shingles by the definition, with Python's hashlib.

    python3 vectors.py > vectors.tsv

Columns: shingles joined by |, number of functions, seed, values joined by a comma.
"""
import hashlib


def value(shingle, salt):
    return int(hashlib.sha1((shingle + str(salt).zfill(20)).encode()).hexdigest()[-8:], 16)


for shingles, n, seed in [
    (["i love piz", " love pizz"], 10, 0),
    (["affitto st"], 5, 0),
    (["perch\u00e9", "\u20ac 450", "\U0001f3e0"], 4, 0),
    (["abc", "bcd", "cde"], 6, 1),
    (["abc"], 3, 2**62),
    ([""], 2, 0),
]:
    salts = [seed * n + i for i in range(n)]
    print("|".join(shingles), n, seed, ",".join(str(min(value(s, salt) for s in shingles)) for salt in salts), sep="\t")
