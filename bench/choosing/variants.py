"""Shows which settings find variants of texts as people write them: with one character or word changed, or with other spellings.

    variants.py NEARDUP FILE.jsonl [--settings "default word:5 0.8,..."] [--texts N]

The script writes each text of the file (`text`), up to N, and each of its variants, and `neardup dedup` looks for the pairs. For each setting
of steps, shingle and threshold, it prints the share of variants found. `traditional` needs the package opencc-python-reimplemented.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import tempfile

import duckdb

SETTINGS = "default word:5 0.8,default word:3 0.8,default word:2 0.8,default word:2 0.65,default+strip-accents word:5 0.8,default+letters-only word:5 0.8,fold-han word:5 0.8,fold-han word:3 0.8,default char:9 0.8,default+no-space char:5 0.8"
RANDOM = random.Random(1)
VOWELS = "\u064e\u064f\u0650\u0652"


def letters(text):
    return [i for i, c in enumerate(text) if c.isalpha()]


def changed(text, alphabet):
    """Returns text with one character changed in its middle third or, in scripts with spaces, one word."""
    words = text.split()
    if len(words) > len(text) / 10:
        i = RANDOM.randrange(len(words) // 3, 2 * len(words) // 3 + 1)
        return " ".join(words[:i] + [RANDOM.choice(alphabet)] + words[i + 1 :])
    places = letters(text)
    if not places:
        return text
    i = places[RANDOM.randrange(len(places) // 3, min(len(places), 2 * len(places) // 3 + 1))]
    return text[:i] + RANDOM.choice(RANDOM.choice(alphabet)) + text[i + 1 :]


SPELLINGS = {
    "vowel marks": lambda t: "".join(c + (RANDOM.choice(VOWELS) if "ء" <= c <= "ي" and RANDOM.random() < 0.8 else "") for c in t),
    "no hamza": lambda t: re.sub("[أإآ]", "ا", t),
    "ة as ه, ى as ي": lambda t: re.sub(r"ى\b", "ي", re.sub(r"ة\b", "ه", t)),
    "Arabic digits": lambda t: t.translate({ord("0") + i: 0x660 + i for i in range(10)}),
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t),
    "spaces between characters": lambda t: re.sub(r"(?<=[\u3040-\u9fff])(?=[\u3040-\u9fff])", lambda _: " " * (RANDOM.random() < 0.15), t),
}
try:
    from opencc import OpenCC

    SPELLINGS["traditional"] = OpenCC("s2t").convert
except ImportError:
    pass


def found(neardup, rows, setting, work):
    steps, shingle, threshold = setting.split()
    with open(work / "in.jsonl", "w", encoding="utf-8") as f:
        for i, (_, *texts) in enumerate(rows):
            for side, text in zip("ab", texts):
                f.write(json.dumps({"id": f"{i}{side}", "text": text}) + "\n")
    flags = [f"--normalize={steps.replace('+', ',')}", f"--shingle={shingle}", f"--threshold={threshold}", "--write=removed", "--quiet"]
    subprocess.run([neardup, "dedup", work / "in.jsonl", "--output", work / "out", "--overwrite", *flags], check=True, capture_output=True)
    kept = dict(duckdb.sql(f"SELECT id, kept_id FROM '{work}/out/removed/*.parquet'").fetchall())

    def last(i):
        while i in kept:
            i = kept[i]
        return i

    hits = {}
    for i, (name, *_) in enumerate(rows):
        hits.setdefault(name, []).append(last(f"{i}a") == last(f"{i}b"))
    return {name: f"{sum(h) / len(h):.2f}" for name, h in hits.items()}


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("neardup")
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--settings", default=SETTINGS)
parser.add_argument("--texts", type=int, default=400)
args = parser.parse_args()
all_texts = [json.loads(line)["text"] for line in args.file.read_text("utf-8").splitlines()]
RANDOM.shuffle(all_texts)
texts = all_texts[: args.texts]
alphabet = [w for t in all_texts for w in t.split()]
rows = [(name, t, v) for t in texts for name, spell in SPELLINGS.items() if (v := spell(t)) != t]
for t in texts:
    n = len(t.split()) if len(t.split()) > len(t) / 10 else len(letters(t))
    group = next((g for g, least in (("49 or more", 49), ("29 to 48", 29), ("19 to 28", 19), ("10 to 18", 10)) if n >= least), None)
    if group and (v := changed(t, alphabet)) != t:
        rows.append((f"one changed of {group}", t, v))
names = sorted({name for name, *_ in rows})
print("| setting | " + " | ".join(f"{n} ({sum(r[0] == n for r in rows)})" for n in names) + " |\n|" + "---|" * (len(names) + 1))
with tempfile.TemporaryDirectory() as work:
    for setting in args.settings.split(","):
        hits = found(args.neardup, rows, setting, pathlib.Path(work))
        print(f"| {setting} | " + " | ".join(hits[n] for n in names) + " |", flush=True)
