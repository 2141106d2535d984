"""Computes the results of `neardup study` by a second implementation, and compares all percentages.

    study.py NEARDUP FILE.jsonl     ten texts, each of twelve records, four of which are also in the next
    study.py NEARDUP FOLDER         its first ten files, in the order of their names

Stems come from the package snowballstemmer, words from a regular expression, and similarities from Python's sets, for 24 settings of
characters (k = 5, 7 and 9; spaces, stop words and stems) and 12 of words (k = 1, 2 and 3). It exits with 1 if a similarity differs by more
than 0.0001 per cent, or if the number of tokens that a setting leaves differs at all.
"""

import csv
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata

from snowballstemmer.english_stemmer import EnglishStemmer

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = {"char": (5, 7, 9), "word": (1, 2, 3)}


def texts(source):
    if source.is_dir():
        return [path.read_text(encoding="utf-8") for path in sorted(source.iterdir())[:10]]
    records = [json.loads(line)["text"] for line in source.read_text(encoding="utf-8").splitlines()]
    return ["\n".join(records[8 * i : 8 * i + 12]) for i in range(10)]


def normalised(text):
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    kept, blank = [], False  # accents on spaces are removed with them
    for c in text:
        if not (blank and unicodedata.combining(c)):
            blank = c.isspace()
            kept.append(c)
    return " ".join("".join(kept).split())


STOP = set((ROOT / "kernels/wordstep/lists/en.txt").read_text(encoding="utf-8").split())
STEMMER = EnglishStemmer()  # in Python, with the algorithms before Snowball 3.0, as in the binary


def steps(text, no_stop_words, stem):
    words = [w for w in re.findall(r"\w+", text) if not (no_stop_words and w in STOP)]
    return [STEMMER.stemWord(w) for w in words] if stem else words


def shingles(tokens, k):
    return {tuple(tokens[i : i + k]) for i in range(max(1, len(tokens) - k + 1))} if tokens else set()


def expected(texts, unit):
    """Returns, by the name of each setting, the similarities by pairs of texts, and the tokens."""
    spaces = (False, True) if unit == "char" else (False,)
    for no_space, no_stop_words, stem in itertools.product(spaces, (False, True), (False, True)):
        tokens = [steps(normalised(t), no_stop_words, stem) for t in texts]
        if unit == "char":
            tokens = [("" if no_space else " ").join(words) for words in tokens]
        taken = "_no_space" * no_space + "_no_stop_words" * no_stop_words + "_stem" * stem
        for k in SIZES[unit]:
            sets = [shingles(t, k) for t in tokens]
            yield f"{unit}{k}{taken}", (
                [100 * len(a & b) / max(1, len(a | b)) for a, b in itertools.combinations(sets, 2)],
                sum(map(len, tokens)),
            )


def main():
    neardup, source = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = False
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work, "in")
        folder.mkdir()
        studied = texts(source)
        for i, text in enumerate(studied):
            (folder / f"{i}.txt").write_text(text, encoding="utf-8")
        for unit in ("char", "word"):
            out = pathlib.Path(work, unit)
            subprocess.run(
                [neardup, "study", folder, "--format=files", f"--unit={unit}", f"--k={','.join(map(str, SIZES[unit]))}", f"--output={out}"],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            with open(out / "similarity.csv", encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            told = {s["name"]: s for s in json.loads((out / "study.json").read_text(encoding="utf-8"))["settings"]}
            wanted = dict(expected(studied, unit))
            if wanted.keys() != told.keys() or len(rows) != 45:
                sys.exit(f"{source}: {len(rows)} pairs under {sorted(told)}, not 45 under {sorted(wanted)}")
            for name, (similarities, tokens) in wanted.items():
                worst = max(abs(float(row[name]) - want) for row, want in zip(rows, similarities))
                if worst > 0.0001 or told[name]["tokens"] != tokens:
                    print(f"{source}: {name} is off by up to {worst} per cent; {told[name]['tokens']} tokens, not {tokens}", file=sys.stderr)
                    failed = True
            means = [sum(similarities) / 45 for similarities, _ in wanted.values()]
            print(f"{source}: 10 files, 45 pairs, {len(wanted)} settings of {unit}, means {min(means):.2f} to {max(means):.2f} per cent")
    sys.exit(failed)


main()
