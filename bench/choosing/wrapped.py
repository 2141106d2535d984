"""Shows what similarity and containment find if one program extracts the text of pages, and another also extracts what frames it.

    wrapped.py NEARDUP FILE FRAMES [--texts N] [--threshold T]

FILE and FRAMES are JSON Lines (`text`), or WARC files (.warc.gz), whose pages without tags are the texts. The script writes each text of
FILE, up to N, twice: unchanged, and framed by the beginning and end of a page of one of ten sites, which are made of the texts of FRAMES.
For each share of frame words in the framed texts, it prints the share of these pairs of which `neardup dedup` removes one, by similarity
and by containment, and how many texts remain in neither form. It leaves out texts that are removed even without framed ones.
"""

import argparse
import csv
import gzip
import io
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

SITES = 10
HIDDEN = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>|&#?\w+;", re.DOTALL | re.IGNORECASE)


def texts(path):
    if path.name.endswith(".warc.gz"):
        with gzip.open(path) as records:
            return list(dict.fromkeys(pages(records)))
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def pages(records):
    """Yields the pages of a WARC file without tags, if they have enough words."""
    for line in records:
        if not line.startswith(b"WARC/"):
            continue
        header = dict(h.decode().strip().split(": ", 1) for h in iter(records.readline, b"\r\n"))
        http, _, page = records.read(int(header["Content-Length"])).partition(b"\r\n\r\n")
        text = " ".join(HIDDEN.sub(" ", page.decode("latin-1")).split())
        if header["WARC-Type"] == "response" and b"text/html" in http and len(text.split()) >= 20:
            yield text


def removed(neardup, documents, flags):
    """Returns the removed documents, each with the one kept in its place."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "in.jsonl")
        path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in documents.items()), encoding="utf-8")
        out = pathlib.Path(folder, "out")
        subprocess.run([neardup, "dedup", path, "-o", out, "--quiet", "--write=removed", *flags], check=True, stderr=subprocess.DEVNULL)
        table = subprocess.run([neardup, "export", out, "--format=csv", "--table=removed", "-o", "-"], check=True, capture_output=True)
    return {row["id"]: row["kept_id"] for row in csv.DictReader(io.StringIO(table.stdout.decode()))}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("neardup")
    p.add_argument("file", type=pathlib.Path)
    p.add_argument("frames", type=pathlib.Path)
    p.add_argument("--texts", type=int, default=1000)
    p.add_argument("--threshold", default="0.8")
    a = p.parse_args()
    plain = {f"plain-{i}": t for i, t in enumerate(texts(a.file)[: a.texts])}
    words = [t.split() for t in texts(a.frames)]
    frames = [list(itertools.chain(*words[i::SITES])) for i in range(SITES)]
    ways = {"similarity": [], "containment": ["--compare=containment"]}
    for way in ways.values():
        gone = removed(a.neardup, plain, ["--threshold", a.threshold, *way])
        plain = {i: t for i, t in plain.items() if i not in gone}
    print(f"{len(plain)} texts")
    print("share of frame | " + " | ".join(f"{name} finds | lost" for name in ways))
    for share in (0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        wrapped = {}
        for i, (name, text) in enumerate(plain.items()):
            frame = frames[i % SITES][: round(len(text.split()) * share / (1 - share))]
            half = len(frame) // 2
            wrapped[name.replace("plain", "framed")] = " ".join([*frame[:half], text, *frame[half:]])
        row = [str(share)]
        for name, way in ways.items():
            gone = removed(a.neardup, plain | wrapped, ["--threshold", a.threshold, *way])
            found, lost = 0, 0
            for i in plain:
                framed = i.replace("plain", "framed")
                found += gone.get(i) == framed or gone.get(framed) == i
                lost += i in gone and framed in gone
            row += [f"{found / len(plain):.3f}", str(lost)]
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
