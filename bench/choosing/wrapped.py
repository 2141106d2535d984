"""Says what similarity and containment find of pages that two programs have extracted: one the text, the other with what frames it.

    wrapped.py NEARDUP FILE.jsonl FRAMES.jsonl [--texts N] [--threshold T]

Each text of the file (`text`), up to N, stands twice: as it is, and between the beginning and the end of the page of one of ten sites, of
so many words from a text of FRAMES. Prints for each number of words the share of these pairs that `neardup dedup` removes by similarity
and by containment, and how many others it removes that it does not remove of the texts alone.
"""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import tempfile

SITES = 10


def texts(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def removed(neardup, documents, flags):
    """The removed documents, each with the one kept in its place."""
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
    frames = [t.split() for t in texts(a.frames) if len(t.split()) > 400][:SITES]
    ways = {"similarity": [], "containment": ["--compare=containment"]}
    alone = {name: len(removed(a.neardup, plain, ["--threshold", a.threshold, *way])) for name, way in ways.items()}
    print("words of frame | " + " | ".join(f"{name} finds | others" for name in ways))
    for words in (0, 10, 25, 50, 100, 200, 400):
        wrapped = {}
        for i, (name, text) in enumerate(plain.items()):
            frame = frames[i % SITES][:words]
            half = len(frame) // 2
            wrapped[name.replace("plain", "framed")] = " ".join([*frame[:half], text, *frame[half:]])
        row = [str(words)]
        for name, way in ways.items():
            gone = removed(a.neardup, plain | wrapped, ["--threshold", a.threshold, *way])
            pairs = sum(1 for i in plain if i in gone or i.replace("plain", "framed") in gone)
            row += [f"{pairs / len(plain):.3f}", str(len(gone) - pairs - alone[name])]
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
