"""Runs neardup with several settings on texts of several kinds, and shows how the removed documents differ.

    choosing.py NEARDUP [--corpora NAME,...] [--settings NAME,...] [--limit N] [--also KIND=FILE.jsonl] >table.md

For each corpus, it prints a Markdown table of how many documents each setting removes, for which reason, and the CPU
seconds. Below the table, it prints copies that are not identical and, for each setting, texts that only this setting or
only the default removes, each with the text kept in its place. A person must judge which removals are right. A setting
that NEARDUP does not know is marked "refused".

Corpora come from ../shared/data and from Go's standard library (code); missing ones are left out. A file given with
--also has JSON lines with id and text. The script needs duckdb, in the version of .ci/requirements.txt.
"""

import argparse
import collections
import csv
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared" / "data"
WORK = ROOT / ".cache" / "bench" / "choosing"

DEFAULT = "word:5"
SETTINGS = {
    DEFAULT: [],
    "t .6": ["--threshold", "0.6"],
    "char:9": ["--shingle", "char:9"],
    "stopword:3": ["--shingle", "stopword:3"],
    "digits-zero": ["--normalize", "default,digits-zero"],
    "keep-symbols": ["--normalize", "keep-symbols"],
    "none": ["--normalize", "none"],
    "exact bytes": ["--method", "exact", "--same", "bytes"],
    "exact tokens": ["--method", "exact", "--same", "tokens"],
    "exact set": ["--method", "exact", "--same", "set"],
}

EXAMPLES = 3
BEFORE, EXCERPT = 60, 240  # characters of an example: before the first difference, and in total


def decode(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def tar(path, wanted=r".*\.txt"):
    with tarfile.open(SHARED / path) as archive:
        for member in archive:
            if member.isfile() and re.fullmatch(wanted, member.name):
                yield member.name, decode(archive.extractfile(member).read())


def mails(path):
    """Yields texts without their header, which ends at the first empty line."""
    for name, text in tar(path):
        yield name, re.split(r"\r?\n\r?\n", text, maxsplit=1)[-1]


def rows(path, columns, delimiter=",", header=True, quoting=csv.QUOTE_MINIMAL):
    with open(SHARED / path, newline="", encoding="utf-8") as f:
        for i, row in enumerate(csv.reader(f, delimiter=delimiter, quoting=quoting)):
            if i >= header and len(row) > max(columns):
                yield str(i), " ".join(row[c].strip() for c in columns)


def tabs(path, columns, header):
    return rows(path, columns, "\t", header, csv.QUOTE_NONE)


def lines(*paths):
    for path in paths:
        for i, line in enumerate((SHARED / path).read_text("utf-8").split("\n")):
            if line:
                yield f"{path}:{i}", line


def jsonl(stream):
    for line in stream:
        record = json.loads(line)
        yield record["id"], record["text"]


def zstd(path):
    if not (SHARED / path).exists():
        raise FileNotFoundError(path)
    with subprocess.Popen(["zstdcat", str(SHARED / path)], stdout=subprocess.PIPE) as p:
        yield from jsonl(p.stdout)
        p.stdout.close()


def reuters():
    for path in sorted((SHARED / "reuters21578").glob("*.sgm")):
        for article in re.finditer(r"<REUTERS.*?</REUTERS>", path.read_text("latin-1"), re.S):
            if body := re.search(r"<BODY>(.*)</BODY>", article[0], re.S):
                yield re.search(r'NEWID="(\d+)"', article[0])[1], body[1]


def unzip(path):
    with zipfile.ZipFile(SHARED / path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".txt"):
                yield name, decode(archive.read(name))


def code():
    root = pathlib.Path(subprocess.run(["go", "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip())
    for path in sorted(p for p in (root / "src").rglob("*.go") if p.is_file()):
        yield str(path.relative_to(root)), decode(path.read_bytes())


CORPORA = {
    "bbc_news": ("prose: news", lambda: tar("bbc_news/bbc.tar.gz")),
    "reuters21578": ("prose: newswire, with tables", reuters),
    "imdb_reviews": ("prose: reviews, the first 20,000", lambda: itertools.islice(zstd("imdb_reviews/imdb.jsonl.zst"), 20_000)),
    "spamassassin": ("mail, without headers", lambda: mails("spamassassin/spamassassin_txt.tar.gz")),
    "license_texts": ("licences", lambda: tar("license_texts/spdx_license_texts.tar.gz")),
    "go_source": ("code: the standard library of Go", code),
    "tldr_pages": ("commands, explained in English", lambda: tar("tldr_pages/tldr_pages.tar.gz", r"pages/.*\.md")),
    "tldr_arabic": ("commands, explained in Arabic", lambda: tar("tldr_pages/tldr_pages.tar.gz", r"pages\.ar/.*\.md")),
    "tldr_chinese": ("commands, explained in Chinese", lambda: tar("tldr_pages/tldr_pages.tar.gz", r"pages\.zh/.*\.md")),
    "wisesight_thai": ("short messages in Thai", lambda: lines(*(f"wisesight_thai/{n}.txt" for n in ("neg", "neu", "pos", "q")))),
    "udhr2": ("one text in 387 languages", lambda: unzip("udhr2/udhr2.zip")),
    "sms_spam": ("short records: messages", lambda: tabs("sms_spam/sms.tsv", [1], header=False)),
    "kijiji_rome": ("records: classified ads, title and description", lambda: tabs("kijiji_rome/dataset_rent_rome_kijiji.tsv", [0, 1], header=True)),
    "s2orc_titles": ("metadata: titles, authors and years of papers", lambda: rows("docconflation/s2orc/NEWyearTrial.csv", [1, 2, 3])),
    "citeseerx": ("metadata: titles and abstracts", lambda: rows("docconflation/citeseerx/TrialAbstract.csv", [1, 3])),
}


def prepare(name, documents):
    """Writes a corpus as JSON lines, and returns the file and the texts by id."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = dict(documents)
    with open(folder / "in.jsonl", "w", encoding="utf-8") as f:
        for i, text in texts.items():
            f.write(json.dumps({"id": i, "text": text}) + "\n")
    return folder, texts


class Run:
    """A run with one setting: its row of the table, and the removed documents, id → (kept id, similarity, reason)."""

    def __init__(self, neardup, folder, flags):
        self.removed = {}
        output = folder / "out"
        command = [neardup, "dedup", str(folder / "in.jsonl"), "--output", str(output), "--overwrite", "--write", "pairs,removed", *flags]
        with open(folder / "stderr", "w+", encoding="utf-8") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
            stderr.seek(0)
            said = stderr.read().strip().split("\n")
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            print(" ".join(command), "\n".join(said), sep="\n", file=sys.stderr)
            why = "refused" if process.returncode == 2 else f"status {process.returncode}"
            self.row = [why] + [""] * 5
            return
        run = json.loads((output / "run.json").read_text())
        counts, chosen = run["counts"], run["chosen"]
        table = f"'{output}/removed/*.parquet'"
        for i, *why in duckdb.sql(f"SELECT id, kept_id, similarity, reason FROM {table}").fetchall():
            self.removed[i] = why
        reasons = sorted(collections.Counter(reason for _, _, reason in self.removed.values()).items())
        self.row = [
            f"{counts['removed']:,}", ", ".join(f"{n:,} {reason}" for reason, n in reasons), f"{counts['pairs']:,}",
            f"{counts['not_compared']:,}", f"{chosen['bands']} × {chosen['rows']}", f"{usage.ru_utime + usage.ru_stime:.2f}",
        ]


def excerpts(a, b):
    """Returns the parts of a and b around their first differing word, on one line each."""
    a, b = " ".join(a.split()), " ".join(b.split())
    if a == b:
        return a[:EXCERPT], "the same but for white space"
    common = len(os.path.commonprefix([a, b]))
    start = max(0, common - BEFORE)
    return [("…" if start else "") + s[start : start + EXCERPT] + ("…" if len(s) > start + EXCERPT else "") for s in (a, b)]


def show(title, only, run, texts):
    """Prints the least, the median and the most similar of the documents that only this run removed."""
    if not only:
        return
    print(f"\n{title}: {len(only):,}\n")
    ordered = sorted(only, key=lambda i: (run.removed[i][1] or 0, i))
    for at in sorted({0, len(ordered) // 2, len(ordered) - 1})[:EXAMPLES]:
        i = ordered[at]
        kept, similarity, _ = run.removed[i]
        removed, stays = excerpts(texts[i], texts[kept])
        print(f"- {similarity:.3f}" if similarity is not None else "- no pair")
        print(f"  - removed `{i}`: {removed}")
        print(f"  - kept `{kept}`: {stays}")


def study(neardup, name, kind, documents, settings):
    folder, texts = prepare(name, documents)
    print(f"\n## {name}: {kind}\n\n{len(texts):,} documents, {sum(map(len, texts.values())):,} characters\n")
    print("| setting | removed | by reason | pairs | not compared | bands × rows | CPU s |\n|---|---|---|---|---|---|---|")
    runs = {}
    for setting in settings:
        runs[setting] = Run(neardup, folder, SETTINGS[setting])
        print("|", " | ".join([setting] + runs[setting].row), "|", flush=True)
    base = runs[DEFAULT].removed
    for reason in ("equal", "same-set"):
        show(f"Removed by default as {reason}", [i for i, why in base.items() if why[2] == reason], runs[DEFAULT], texts)
    for setting, run in runs.items():
        if run.row[0] == "refused" or setting == DEFAULT:
            continue
        show(f"Removed with {setting} and not by default", run.removed.keys() - base.keys(), run, texts)
        show(f"Removed by default and not with {setting}", base.keys() - run.removed.keys(), runs[DEFAULT], texts)
    sys.stdout.flush()


def chosen(what, asked, known):
    unknown = [name for name in asked if name not in known]
    if unknown:
        sys.exit(f"choosing.py: there is no {what} {', '.join(unknown)}; there are {', '.join(known)}")
    return asked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neardup")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--limit", type=int, help="documents of each corpus")
    parser.add_argument("--also", action="append", default=[], metavar="KIND=FILE.jsonl")
    args = parser.parse_args()
    settings = chosen("setting", args.settings.split(","), SETTINGS)
    if DEFAULT not in settings:
        settings = [DEFAULT] + settings
    corpora = {name: CORPORA[name] for name in chosen("corpus", [n for n in args.corpora.split(",") if n], CORPORA)}
    for given in args.also:
        kind, _, path = given.partition("=")
        corpora[pathlib.Path(path).stem] = kind, lambda path=path: jsonl(open(path, "rb"))
    neardup = shutil.which(args.neardup) or sys.exit(f"choosing.py: there is no program {args.neardup}")
    for name, (kind, documents) in corpora.items():
        try:
            study(neardup, name, kind, itertools.islice(documents(), args.limit), settings)
        except FileNotFoundError as e:
            print(f"choosing.py: {name} is left out: {e}", file=sys.stderr)


main()
