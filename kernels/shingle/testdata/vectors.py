"""Writes vectors.tsv: shingle hashes of short ASCII texts under `default`.

A second implementation from the definition beside Shingles, on top of the
second implementation of package hash. Each window is summed on its own. Run:

    /tmp/v/bin/python vectors.py > vectors.tsv
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "hash" / "testdata"))
from vectors import WORD, hash_bytes, mix  # noqa: E402

MULTIPLIER = 0x9E3779B97F4A7C15

TEXTS = [
    "", "!!!", "...", "Hello", "Hello, World!", "one two three",
    "The quick brown fox jumps over the lazy dog.",
    "Dear Mr 17: you owe 4500 (due 2024-01-31); please pay.",
    "a-rose-is-a-rose-is-a-rose-is-a-rose",
    "incomprehensibilities and counterrevolutionaries, antidisestablishmentarianism",
]
KINDS = ["word:1", "word:2", "word:5", "char:3", "char:9", "byte:13"]


def normalise(kind, text):
    text = re.sub(r"[!-/:-@\[-`{-~]", " ", text.lower())
    return " ".join(text.split()) if kind == "char" else text


def tokens(kind, text):
    if kind == "word":
        return [hash_bytes(w.encode()) for w in re.findall("[a-z0-9]+", text)]
    return [mix(ord(c)) for c in text] if text.strip() else []


def polynomial(window):
    degree = len(window) - 1
    return sum(t * MULTIPLIER ** (degree - i) for i, t in enumerate(window)) & WORD


def shingles(kind, k, text):
    ts = tokens(kind, normalise(kind, text))
    if 0 < len(ts) < k:
        return [mix(mix(polynomial(ts)) ^ len(ts))]
    return [mix(polynomial(ts[i : i + k])) for i in range(len(ts) - k + 1)]


for config in KINDS:
    kind, k = config.split(":")
    for text in TEXTS:
        hashes = ",".join(f"{h:016x}" for h in shingles(kind, int(k), text))
        print(f"{config}\t{text}\t{hashes}")
