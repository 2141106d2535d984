"""Compares the output of `neardup dedup` and `compare` with a plain program after the definitions in docs/algorithms.

    oracle.py NEARDUP [--corpora NAME,...] [--only TEXT] [--documents N]

Shingles are tuples of tokens in Python's sets, every pair is compared, and decisions follow the pages. Nothing is hashed, and nothing is shared with
the program except its lists of stop words and of Han variants. Unicode tables are Python's, word breaks follow the rules of UAX #29 below, and stems
are snowballstemmer's. Texts with joiners are left out, since Python lacks the tables for them. It prints each setting, and exits with 1 if any differs.
"""

import argparse
import collections
import csv
import fnmatch
import itertools
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
from fractions import Fraction

import duckdb
import snowballstemmer

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared/data"

# ---- texts


def ranges(*pairs):
    return {chr(c) for low, high in pairs for c in range(low, high + 1)}


JOINERS = ranges((0x200C, 0x200D), (0xE0020, 0xE007F))
IGNORABLE = ranges(
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | ranges((0x2000, 0x200A))
HAN = {c: line[0] for line in (ROOT / "kernels/textnorm/han.txt").read_text("utf-8").split("\n") if not line.startswith("#") for c in line}


def category(c):
    return unicodedata.category(c)


def small(c):
    """Returns the simple mapping, from one character to one."""
    return "i" if c == "İ" else low if len(low := c.lower()) == 1 else c


DEFAULT = {"invisible", "nfkc", "lower", "punctuation", "layout"}


def steps(normalize):
    """Returns the steps that a list names, and the languages of stop words and stems."""
    names = [n for n in normalize.split(",") if ":" not in n]
    languages = dict(n.split(":") for n in normalize.split(",") if ":" in n)
    taken = set(names) - {"default", "none"}
    if "default" in names or not names or taken <= {"keep-symbols", "keep-case", "fold-han"} and names != ["none"]:
        taken |= DEFAULT
    if "keep-case" in taken:
        taken.discard("lower")
    if taken & {"keep-symbols", "letters-only"}:
        taken.discard("punctuation")
    return taken, languages


def normalised(text, taken):
    if "invisible" in taken:
        text = "".join(c for c in text if c not in IGNORABLE)
    if "nfkc" in taken:
        text = unicodedata.normalize("NFKC", text)
    if "lower" in taken:
        text = "".join(map(small, text))
    if "strip-accents" in taken:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if category(c) != "Mn")
    if "strip-accents" in taken or {"nfkc", "lower"} <= taken:
        text = unicodedata.normalize("NFC", text)
    if "fold-han" in taken:
        text = "".join(HAN.get(c, c) for c in text)
    out = []
    for c in text:
        kind = category(c)[0]
        if "punctuation" in taken and kind in "PS" or "letters-only" in taken and kind not in "LM":
            c = " "
        if taken & {"punctuation", "letters-only"} and unicodedata.combining(c) and out and out[-1] in SPACE:
            continue
        out.append("0" if "digits-zero" in taken and category(c) == "Nd" else c)
    text = "".join(out)
    return unicodedata.normalize("NFC", text) if "invisible" in taken else text


def spaced(text, taken):
    if "no-space" in taken:
        return "".join(c for c in text if c not in SPACE)
    if not taken & {"layout", "collapse-space"}:
        return text
    runs = "".join(" " if c in SPACE else c for c in text)
    while "  " in runs:
        runs = runs.replace("  ", " ")
    return runs.strip(" ") if "layout" in taken else runs


# ---- words, by the rules of UAX #29 for characters of these classes

UNSPACED = ("CJK ", "HIRAGANA", "THAI ", "LAO ", "KHMER ", "MYANMAR ", "IDEOGRAPHIC ITERATION", "VERTICAL IDEOGRAPHIC ITERATION", "HENTAIGANA")
MARKS = {
    "_": "ExtendNumLet", "‿": "ExtendNumLet", "⁀": "ExtendNumLet", ".": "MidNumLet", "’": "MidNumLet", "‘": "MidNumLet", "'": "Single", '"': "Double",
    ":": "MidLetter", "·": "MidLetter", ",": "MidNum", ";": "MidNum", "،": "MidNum", "٬": "MidNum", "⁄": "MidNum", "\u202f": "ExtendNumLet", "：": "MidLetter",
    "\u2024": "MidNumLet", "，": "MidNum", "．": "MidNumLet", "；": "MidNum", "＿": "ExtendNumLet", "＇": "MidNumLet", "\u2027": "MidLetter",
}  # fmt: skip


def kind_of(c):
    kind, name = category(c), unicodedata.name(c, "")
    if c in "\r\n\v\f\x85\u2028\u2029":
        return "Newline"
    if kind[0] == "M" or "\U0001f3fb" <= c <= "\U0001f3ff":
        return "Extend"
    if kind == "Cf" and c != "\u200b":
        return "Format"
    if kind[0] == "L" and name.startswith(UNSPACED):
        return "Alone"
    if "KATAKANA" in name and kind[0] in "LS" or c in "\u3031\u3032\u3033\u3034\u3035\u309b\u309c":
        return "Katakana"
    if name.startswith("HEBREW LETTER"):
        return "Hebrew"
    if kind == "Nd" or c in "٫":
        return "Numeric"
    if kind[0] == "L" or kind == "Nl" or "CIRCLED LATIN" in name:
        return "Letter"
    if c in MARKS:
        return MARKS[c]
    return "Space" if kind == "Zs" and c not in "\xa0\u2007" else "Regional" if "\U0001f1e6" <= c <= "\U0001f1ff" else "Other"


LETTERS, MIDDLES = {"Letter", "Hebrew"}, {"MidLetter", "MidNumLet", "Single"}


def joins(kinds, i):
    """Returns whether there is no break between kinds i-1 and i; each Extend and Format belongs to the kind before it."""
    a, b = kinds[i - 1], kinds[i]
    before, behind = kinds[i - 2] if i > 1 else "", kinds[i + 1] if i + 1 < len(kinds) else ""
    return (
        a == b == "Space"
        or a in LETTERS and b in LETTERS
        or a in LETTERS and b in MIDDLES and behind in LETTERS
        or a in MIDDLES and b in LETTERS and before in LETTERS
        or a == "Hebrew" and (b == "Single" or b == "Double" and behind == "Hebrew")
        or a == "Double" and b == "Hebrew" and before == "Hebrew"
        or {a, b} <= LETTERS | {"Numeric"}
        or a == "Numeric" and b in {"MidNum", "MidNumLet", "Single"} and behind == "Numeric"
        or a in {"MidNum", "MidNumLet", "Single"} and b == "Numeric" and before == "Numeric"
        or a == b == "Katakana"
        or b == "ExtendNumLet" and a in LETTERS | {"Numeric", "Katakana", "ExtendNumLet"}
        or a == "ExtendNumLet" and b in LETTERS | {"Numeric", "Katakana"}
        or a == b == "Regional" and len(list(itertools.takewhile(lambda k: k == "Regional", kinds[i - 1 :: -1]))) % 2 == 1
    )  # fmt: skip


def segments(text):
    """Returns the parts between word breaks, which add up to the text."""
    units, kinds = [], []  # a character with its marks
    for c in text:
        kind = kind_of(c)
        if kind in {"Extend", "Format"} and units and kinds[-1] != "Newline":
            units[-1] += c
            continue
        units.append(c)
        kinds.append(kind)
    i = 0
    while i < len(units):
        end = i + 1
        run = kinds[i:]  # the rules begin anew in each segment
        while end < len(units) and kinds[i] != "Alone" and joins(run, end - i):
            end += 1
        if kinds[i] == "Alone" and (units[end : end + 1] or [" "])[0][0] in "ำຳ":
            end += 1  # SARA AM belongs to the grapheme before it
        yield "".join(units[i:end])
        i = end


def is_word(segment):
    return any(category(c)[0] in "LN" for c in segment)


def visible(c):
    return c not in SPACE and category(c) not in {"Cc", "Cf"}


def graphemes(text):
    cluster = ""
    for c in text:
        regional = "\U0001f1e6" <= c <= "\U0001f1ff"
        if cluster and (
            kind_of(c) in {"Extend", "Format"} and category(c) != "Cf" or regional and len(cluster) == 1 and "\U0001f1e6" <= cluster <= "\U0001f1ff"
        ):
            cluster += c
            continue
        if cluster:
            yield cluster
        cluster = c
    if cluster:
        yield cluster


def words(text, symbols):
    for segment in segments(text):
        if is_word(segment):
            yield segment.lstrip("".join(SPACE))
        elif symbols:
            yield from (g.lstrip("".join(SPACE)) for g in graphemes(segment) if any(map(visible, g)))


STOP = {}


def stop_words(language, taken):
    key = language, frozenset(taken)
    if key not in STOP:
        listed = (ROOT / f"kernels/wordstep/lists/{language}.txt").read_text("utf-8").split()
        normal = [normalised(w, taken) for w in listed]
        STOP[key] = {w for w in normal if list(words(w, False)) == [w]}
    return STOP[key]


STEMMERS = {"it": "italian", "en": "english"}


def rewritten(text, taken, languages):
    if not languages:
        return text
    stop = stop_words(languages["no-stop-words"], taken) if "no-stop-words" in languages else set()
    stemmer = snowballstemmer.stemmer(STEMMERS[languages["stem"]]) if "stem" in languages else None
    out = []
    for part in segments(text):
        word = part.lstrip("".join(SPACE))
        if is_word(part):
            out.append(part[: len(part) - len(word)])
            part = " " if word in stop or word != word.lower() and word.lower() in stop else stemmer.stemWord(word) if stemmer else word
        out.append(part)
    return "".join(out)


class Tokens:
    """The tokens of texts in one setting."""

    def __init__(self, shingle, normalize):
        self.kind, _, rest = shingle.partition(":")
        k, _, self.language = rest.partition(":")
        self.k, self.language = int(k), self.language or "en"
        self.taken, self.languages = steps(normalize)

    def of(self, text):
        taken = self.taken
        if self.kind == "byte":
            taken = taken - {"layout", "invisible"}
        text = spaced(rewritten(normalised(text, taken), taken, self.languages), taken)
        if self.kind in {"word", "stopword"}:
            return list(words(text, "keep-symbols" in taken))
        if not any(map(visible, text)):
            return []
        return list(text.encode()) if self.kind == "byte" else list(text)

    def shingles(self, tokens):
        if not tokens:
            return set()
        every = [tuple(tokens[i : i + self.k]) for i in range(len(tokens) - self.k + 1)]
        if self.kind == "stopword":
            stop = stop_words(self.language, self.taken)
            every = [s for s in every if s[0] in stop]
        return set(every or [tuple(tokens)])

    def count(self, text):
        """Returns the number of words, as --min-words counts them."""
        return len(list(words(spaced(normalised(text, self.taken), self.taken), False)))


# ---- decisions


def contains(setting):
    return setting.get("compare") == "containment"


def similarity(setting, common, a, b):
    """Returns the similarity of two sets by their sizes and the number of shingles in common."""
    return Fraction(common, min(a, b) if contains(setting) else a + b - common)


def decide(documents, setting):
    """Returns pairs with similarity and same, the outcome of each removed document, and the documents not compared."""
    tokens = Tokens(setting["shingle"], setting["normalize"])
    texts = [d["text"] for d in documents]
    cut = [tokens.of(t) for t in texts]
    sets = [tokens.shingles(c) for c in cut]
    threshold, excluded = Fraction(setting["threshold"]), {}
    for i, text in enumerate(texts):
        if len(text.encode()) > setting.get("max_doc_bytes", 1 << 24):
            excluded[i] = "too large"
        elif not setting.get("exact") and setting.get("min_words") and tokens.count(text) < setting["min_words"]:
            excluded[i] = "too few words"
        elif not (text if setting.get("same") == "bytes" else sets[i]):
            excluded[i] = "no token"
    compared = [i for i in range(len(texts)) if i not in excluded]
    same = setting.get("same", "set")
    keys = {i: texts[i] if same == "bytes" else tuple(cut[i]) if same == "tokens" else frozenset(sets[i]) for i in compared}
    first, groups = {}, collections.defaultdict(list)
    for i in compared:
        groups[keys[i]].append(i)
        first[i] = groups[keys[i]][0]
    heads = [i for i in compared if first[i] == i]

    def reason(a, b):
        return "identical" if texts[a] == texts[b] else "equal" if cut[a] == cut[b] else "same-set"

    near = collections.defaultdict(dict)
    if not setting.get("exact"):
        holders, common = collections.defaultdict(list), collections.Counter()
        for j in heads:
            for s in sets[j]:
                for i in holders[s]:
                    common[i, j] += 1
                holders[s].append(j)
        for (i, j), n in common.items():
            if (s := similarity(setting, n, len(sets[i]), len(sets[j]))) >= threshold:
                near[i][j] = near[j][i] = s
    pairs = {(i, j): (s, None) for i in heads for j, s in near[i].items() if i < j}
    pairs |= {(first[j], j): (Fraction(1), reason(first[j], j)) for j in compared if first[j] != j}

    def protected(i):
        return any(matches(documents[i]["source"], p) for p in setting.get("protect", []))

    keep, _, column = setting.get("keep", "first").partition(":")
    rank = {
        "first": lambda i: 0,
        "longest": lambda i: -len(texts[i].encode()),
        "max": lambda i: -documents[i][column] if column else 0,
        "min": lambda i: documents[i][column] if column else 0,
        "prefer": lambda i: next((n for n, p in enumerate(column.split(",")) if matches(documents[i]["source"], p)), len(documents)),
    }[keep]
    if contains(setting):

        def rank(i):
            return -len(sets[i])

    order = sorted(compared, key=lambda i: (not protected(i), rank(i), i))
    place = {i: n for n, i in enumerate(order)}
    best = {first[i]: min(groups[keys[i]], key=place.get) for i in compared}  # the preferred document of each group of copies

    parent = {i: i for i in heads}

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for i in heads:
        for j in near[i]:
            a, b = sorted((root(i), root(j)))
            parent[b] = a
    members = collections.Counter(root(first[i]) for i in compared)
    clusters = {i: (root(first[i]), members[root(first[i])]) for i in compared if members[root(first[i])] > 1}
    leader = {}
    for i in order:
        leader.setdefault(root(first[i]), i)

    kept_by, kept = {}, set()
    for head in sorted(heads, key=lambda h: place[best[h]]):
        b = best[head]
        favour, level = b, Fraction(1)
        if protected(b):
            pass
        elif setting.get("cluster") == "components":
            favour = leader[root(head)]
            level = Fraction(1) if first[favour] == head else near[head].get(first[favour])
        else:
            # the most similar one kept before it, among protected ones if there are any; the first of equal ones
            kept_near = [(k, near[head][first[k]]) for k in kept if first[k] in near[head]]
            if guarded := [(k, s) for k, s in kept_near if protected(k)]:
                kept_near = guarded
            if kept_near:
                favour, level = min(kept_near, key=lambda ks: (-ks[1], place[ks[0]]))
        if favour == b:
            kept.add(b)
        for i in groups[keys[head]]:
            if protected(i):
                kept.add(i)
            elif i != favour:
                kept_by[i] = (favour, level)
    removed = {}
    for i, (k, s) in kept_by.items():
        removed[i] = (k, s, reason(i, k) if keys[i] == keys[k] else "near")
    return pairs, removed, excluded, clusters


def matches(source, pattern):
    parts = source.split("/")
    return any(fnmatch.fnmatchcase("/".join(parts[:n]), pattern) and pattern.count("/") == n - 1 for n in range(1, len(parts) + 1))


# ---- corpora and settings


def tldr():
    with tarfile.open(SHARED / "tldr_pages/tldr_pages.tar.gz") as archive:
        pages = [m for m in archive if m.isfile() and m.name.endswith(".md")]
        yield from (archive.extractfile(m).read().decode() for m in pages[:: len(pages) // 900])


def sms():
    with open(SHARED / "sms_spam/sms.tsv", encoding="utf-8") as f:
        yield from (line.rstrip("\n").split("\t")[1] for line in f)


def thai():
    yield from (SHARED / "wisesight_thai/neu.txt").read_text("utf-8").split("\n")[:1500]


def ads():
    with open(SHARED / "kijiji_rome/dataset_rent_rome_kijiji.tsv", encoding="utf-8", newline="") as f:
        yield from (" ".join(row[:2]) for row in itertools.islice(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE), 1, None))


CORPORA = {"tldr_pages": tldr, "sms_spam": sms, "wisesight_thai": thai, "kijiji_rome": ads}
HAND = [
    "a々 1々 々〻", "a 々 1 々 々 〻", "____ x", "_ _ _ _ x", "don ´ t", "don t",
    "don´t go", "don't go", "DON'T GO!", "2々人々の道 ____ ---- a_b", "2々人々の道 ---- ____ a_b", "snake_case it's 3.14 1,000;5 e.g. x", "國語說明書, 群羣峯峰", "国语说明书, 群群峰峰",
    "C++ is + a - b", "C# is - a + b", "İstanbul ΣΊΣΥΦΟΣ ẞ ½ ﬁ", "istanbul σίσυφοσ ß 1⁄2 fi", "naïve cafe\u0301", "naive cafe", "R2-D2 ٣٤", "R2-D2 34", "", "!", "\u0301", "  ", "the and of", "the and of to",
    "soft\u00adhyphen", "softhyphen", "ﷺ ㌖ ⑽", "カタカナーと日本語、ひらがな", "น้ำที่นี่ ภาษาไทย", "한국어 문서", "🇨🇭🇫🇷 👍🏽 👍",
]  # fmt: skip


def settings():
    usual = {"shingle": "word:5", "normalize": "default", "threshold": "0.8"}
    for shingle in ("word:1", "word:2", "word:3", "char:3", "char:9", "byte:5", "byte:13", "stopword:2", "stopword:3:it"):
        yield {**usual, "shingle": shingle, "threshold": "0.7"}
    for normalize in (
        "none", "nfkc", "lower", "nfkc,lower", "keep-symbols", "keep-case", "keep-symbols,keep-case", "fold-han", "fold-han,keep-symbols", "default,digits-zero", "default,letters-only",
        "default,strip-accents", "nfkc,keep-symbols", "nfkc,lower,letters-only", "stem:it", "no-stop-words:en,stem:en", "default,keep-case,no-stop-words:it", "digits-zero",
    ):  # fmt: skip
        yield {**usual, "normalize": normalize, "shingle": "word:2"}
    for shingle, normalize in (
        ("char:5", "default,no-space"),
        ("char:7", "nfkc,collapse-space"),
        ("char:4", "none"),
        ("char:4", "no-stop-words:en,stem:en,no-space"),
        ("byte:7", "none"),
        ("byte:7", "lower,no-space"),
        ("char:3", "keep-symbols"),
    ):
        yield {**usual, "normalize": normalize, "shingle": shingle, "threshold": "0.75"}
    for keep in ("longest", "max:n", "min:n", "prefer:b/c*,b"):
        for cluster in ("star", "components"):
            yield {**usual, "shingle": "word:2", "threshold": "0.6", "keep": keep, "cluster": cluster}
            yield {
                **usual,
                "shingle": "word:2",
                "threshold": "0.6",
                "keep": keep,
                "cluster": cluster,
                "protect": ["b/b.jsonl", "a*"][: 1 + (keep == "longest")],
            }
    yield {**usual, "min_words": 10, "drop_not_compared": True}
    yield {**usual, "max_doc_bytes": 100, "keep": "longest", "shingle": "word:1"}
    for shingle, threshold in (("word:1", "0.9"), ("word:2", "0.5"), ("word:5", "0.8"), ("char:5", "0.8")):
        yield {**usual, "shingle": shingle, "threshold": threshold, "compare": "containment"}
    for same in ("bytes", "tokens", "set"):
        yield {**usual, "exact": True, "same": same, "keep": "longest"}


# ---- the output of the program


def flags(setting):
    given = ["--shingle=" + setting["shingle"], "--normalize=" + setting["normalize"], "--pair-budget=100000000"]
    if contains(setting):
        return given + ["--threshold=" + setting["threshold"], "--compare=containment"]
    given += ["--keep=" + setting.get("keep", "first")]
    if setting.get("exact"):
        given += ["--method=exact", "--same=" + setting["same"]]
    else:
        given += ["--threshold=" + setting["threshold"], "--cluster=" + setting.get("cluster", "star")]
        given += ["--method=complete"] if setting.get("complete", True) else ["--bands=1024", "--rows=1"]
    given += ["--protect=" + p for p in setting.get("protect", [])]
    given += [f"--min-words={setting['min_words']}"] if "min_words" in setting else []
    given += [f"--max-doc-bytes={setting['max_doc_bytes']}"] if "max_doc_bytes" in setting else []
    return given + ["--drop-not-compared"] * setting.get("drop_not_compared", False)


def rows(folder, table, columns):
    files = list((folder / table).glob("*.parquet"))
    return duckdb.sql(f"SELECT {columns} FROM read_parquet({[str(f) for f in files]})").fetchall() if files else []


def told(neardup, folder, setting):
    out = folder / "out"
    command = [
        neardup,
        "dedup",
        str(folder / "in"),
        "--output",
        str(out),
        "--overwrite",
        "--write=pairs,clusters,removed,rejected,corpus",
        "--quiet",
        *flags(setting),
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr}")
    pairs = {
        (int(a), int(b)): (similarity(setting, shared, a_size, b_size) if not exact else Fraction(1), exact)
        for a, b, shared, a_size, b_size, exact in rows(out, "pairs", "id_a, id_b, shared, size_a, size_b, same")
    }
    removed = {int(i): (int(k), s, reason) for i, k, s, reason in rows(out, "removed", "id, kept_id, similarity, reason")}
    excluded = {int(i): reason for i, reason in rows(out, "rejected", "id, reason")}
    clusters = collections.defaultdict(list)
    for i, cluster in rows(out, "clusters", "id, cluster"):
        clusters[cluster].append(int(i))
    corpus = {int(json.loads(line)["id"]) for f in (out / "corpus").rglob("*.jsonl") for line in open(f, encoding="utf-8")}
    return pairs, removed, excluded, {i: (min(c), len(c)) for c in clusters.values() for i in c}, corpus


def differs(documents, setting, neardup, folder):
    pairs, removed, excluded, clusters = decide(documents, setting)
    got_pairs, got_removed, got_excluded, got_clusters, corpus = told(neardup, folder, setting)
    kept = set(range(len(documents))) - removed.keys() - (excluded.keys() if setting.get("drop_not_compared") else set())
    removed = {i: (k, None if s is None else float(s), r) for i, (k, s, r) in removed.items()}
    for what, want, got in (
        ("pairs", pairs, got_pairs), ("removed", removed, got_removed), ("not compared", excluded, got_excluded), ("clusters", clusters, got_clusters), ("corpus", dict.fromkeys(kept), dict.fromkeys(corpus)),
    ):  # fmt: skip
        wrong = [key for key in want.keys() | got.keys() if want.get(key, "-") != got.get(key, "-")]
        if wrong:
            key = min(wrong, key=str)
            texts = [documents[i]["text"][:200] for i in (key if isinstance(key, tuple) else (key,))]
            yield f"{what}: {len(wrong)} of {len(want)} differ, first {key}: {want.get(key, '-')} is right, {got.get(key, '-')} was written; {texts}"
    print(f"  {' '.join(flags(setting))}: {len(pairs)} pairs, {len(removed)} removed, {len(excluded)} not compared", flush=True)


# ---- the output of compare on buckets


def compares(documents, neardup, folder):
    """Checks bands and pieces: pairs that share a bucket by label, those similar by the sets or by the labels' bits, and the counts."""
    tokens = Tokens("word:2", "default")
    sets = [tokens.shingles(tokens.of(d["text"])) for d in documents]
    compared = [i for i, s in enumerate(sets) if s]
    common = collections.Counter()
    holders = collections.defaultdict(list)
    for j in compared:
        for s in sets[j]:
            for i in holders[s]:
                common[i, j] += 1
            holders[s].append(j)
    jaccard = {(i, j): Fraction(n, len(sets[i]) + len(sets[j]) - n) for (i, j), n in common.items()}
    threshold = Fraction("0.6")
    for method, given in (
        ("bands", ["--bands=9", "--rows=3"]),
        ("bands", ["--bands=4", "--rows=2", "--signature=salted"]),
        ("pieces", ["--compare=cosine", "--bits=64", "--pieces=7"]),
        ("pieces", ["--compare=overlap", "--bits=48", "--pieces=5"]),
    ):
        out = folder / "compared"
        command = [
            neardup,
            "compare",
            str(folder / "in"),
            "--output",
            str(out),
            "--overwrite",
            "--json",
            "--shingle=word:2",
            "--threshold=0.6",
            f"--methods=brute-force,{method}",
            *given,
        ]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{' '.join(command)}: {run.stderr}")
        truth, found = json.loads(run.stdout)["methods"]
        labels, buckets = collections.defaultdict(dict), collections.defaultdict(list)
        for band, label, i in rows(out, "buckets", "band, label, id"):
            labels[int(i)][band] = label
            buckets[band, label].append(int(i))
        shared = collections.Counter(pair for ids in buckets.values() for pair in itertools.combinations(sorted(ids), 2))
        cosine = {(i, j) for (i, j), n in common.items() if Fraction(n * n, len(sets[i]) * len(sets[j])) >= threshold**2}
        bits = {i: "".join(of[band] for band in sorted(of)) for i, of in labels.items()}
        if "--compare=overlap" in given:
            equal = {p: sum(map(str.__eq__, bits[p[0]], bits[p[1]])) for p in itertools.combinations(compared, 2)}
            similar = {p for p, n in equal.items() if Fraction(n, 48) >= threshold}
        else:
            similar = cosine if method == "pieces" else {p for p, s in jaccard.items() if s >= threshold}
        written = {(int(a), int(b)): (set(m), s) for a, b, m, s in rows(out, "pairs", "id_a, id_b, methods, similarity")}
        for what, want, got in (
            ("documents", set(compared), set(labels)),
            ("candidates", set(shared), {(int(a), int(b)) for a, b in rows(out, "candidates", "id_a, id_b")}),
            ("pairs", {p: {"brute-force"} | ({method} if p in shared else set()) for p in similar}, {p: m for p, (m, _) in written.items()}),
            ("compared", len(compared) * (len(compared) - 1) // 2, truth["candidates"]),
            ("similar", len(similar), truth["similar_pairs"]),
            ("found", len(similar & set(shared)), found["similar_pairs"]),
            ("counts", [sum(shared.values()), len(shared), len(similar & set(shared))], [found["buckets"][n] for n in ("pairs", "distinct", "true")]),
            (
                "jaccard",
                {p: float(jaccard[p]) for p in similar} if method == "bands" else {},
                {p: s for p, (_, s) in written.items()} if method == "bands" else {},
            ),
        ):
            if want != got:
                yield f"compare {' '.join(given)}: {what}: {str(want)[:300]} is right, {str(got)[:300]} was written"
        if method == "bands":  # the share of equal values is about the similarity of the sets
            off = [
                sum(a == b for band in labels[i] for a, b in zip(labels[i][band].split("_"), labels[j][band].split("_")))
                - s * len(labels[i]) * len(labels[i][0].split("_"))
                for (i, j), s in jaccard.items()
            ]
            if abs(sum(off)) > len(off) * 0.05 * len(next(iter(labels.values()))):
                yield f"compare {' '.join(given)}: {float(sum(off) / len(off))} more values agree in a pair than by its similarity"
        print(f"  compare {' '.join(given)}: {len(similar)} pairs, {len(shared)} share a bucket", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neardup")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--only", default="", help="settings whose flags have this text")
    parser.add_argument("--documents", type=int, default=900)
    args = parser.parse_args()
    failed = False
    for name in args.corpora.split(","):
        try:
            texts = list(itertools.islice(CORPORA[name](), args.documents))
        except FileNotFoundError:
            print(f"{name}: absent")
            continue
        texts = [t for t in texts + HAND + HAND[:5] if not JOINERS & set(t)]
        documents = [{"text": t, "n": (7919 * i) % 1000, "source": ("a.jsonl", "b/b.jsonl", "b/c.jsonl")[3 * i // len(texts)]} for i, t in enumerate(texts)]
        print(f"{name}: {len(documents)} documents")
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            for i, d in enumerate(documents):
                path = folder / "in" / d["source"]
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "a", encoding="utf-8") as f:
                    f.write(json.dumps({"id": str(i), "text": d["text"], "n": d["n"]}) + "\n")
            asked = [(" ".join(flags(s)), differs(documents, s, args.neardup, folder)) for s in settings()]
            for setting, differences in [*asked, ("compare", compares(documents, args.neardup, folder))]:
                for difference in differences if args.only in setting else ():
                    failed = True
                    print(f"{name}: {setting}: {difference}", file=sys.stderr, flush=True)
    sys.exit(failed)


main()
