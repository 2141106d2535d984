"""Writes vectors.tsv: shingle hashes of short texts under `default`.

A second implementation from the definition beside Shingles, on top of the
second implementation of package hash. Each window is summed on its own. Run:

    /tmp/v/bin/python vectors.py > vectors.tsv
"""

import pathlib
import re
import sys
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "hash" / "testdata"))
from vectors import WORD, hash_bytes, mix  # noqa: E402

MULTIPLIER = 0x9E3779B97F4A7C15

TEXTS = [
    "", "!!!", "...", "Hello", "Hello, World!", "one two three",
    "The quick brown fox jumps over the lazy dog.",
    "Dear Mr 17: you owe 4500 (due 2024-01-31); please pay.",
    "a-rose-is-a-rose-is-a-rose-is-a-rose",
    "incomprehensibilities and counterrevolutionaries, antidisestablishmentarianism",
    "Don´t ask 2々 questions of A人々, 一二三四五六!",
]
KINDS = ["word:1", "word:2", "word:5", "char:3", "char:9", "byte:13"]


def normalise(kind, text):
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    text = re.sub(" [\u0300-\u036f]+", " ", text)  # accents on blanks
    return " ".join(text.split()) if kind == "char" else text


def tokens(kind, text):
    if kind == "word":
        return [hash_bytes(w.encode()) for w in re.findall("[a-z0-9]+|[々一-鿿]", text)]
    if not text.strip():
        return []
    return [mix(b) for b in text.encode()] if kind == "byte" else [mix(ord(c)) for c in text]


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
