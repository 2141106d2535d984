"""Compares `neardup passages` with the suffix array of google-research/deduplicate-text-datasets on one corpus.

    compare.py NEARDUP DOCUMENTS.jsonl SOURCE [--bytes 250] [--words 50] [--rounds 3] [--temp-dir DIR]

SOURCE is a checkout of that repository; the script builds it with cargo. It prints the CPU seconds and peak memory of both, the disk
space of the suffix array, and what neardup does with the bytes that the suffix array cuts.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

PARTS, OVERLAP = 4, 100_000  # as in scripts/make_suffix_array.py for a corpus of this size
CUT, FIRST, SHORTER = 1, 2, 3
SHORTER_WORDS = 30


def run(command, out=subprocess.DEVNULL):
    """Returns the CPU seconds of a command, and its peak memory in MB."""
    child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command[0]} {command[1]} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def suffix_array(program, data, length, work):
    """Returns the repeated byte ranges, CPU seconds, peak memory and bytes on disk."""
    size, threads, costs, parts = data.stat().st_size, os.cpu_count(), [], []
    for i in range(PARTS):
        start = i * (size // PARTS)
        end = size if i == PARTS - 1 else min(start + size // PARTS + OVERLAP, size)
        costs.append(run([program, "make-part", "--data-file", data, "--start-byte", start, "--end-byte", end]))
        parts += ["--suffix-path", f"{data}.part.{start}-{end}"]
    merged = work / "merged"
    costs.append(run([program, "merge", "--output-file", merged, *parts, "--num-threads", threads]))
    disk = sum(f.stat().st_size for f in work.iterdir() if f.is_file() and f != data)
    with open(f"{data}.table.bin", "wb") as table:
        for piece in sorted(work.glob("merged.*")):
            with piece.open("rb") as f:
                shutil.copyfileobj(f, table)
    about = ["--data-file", data, "--length-threshold", length, "--cache-dir", work / "cache"]
    costs.append(run([program, "self-similar", *about, "--num-threads", threads]))
    with open(work / "ranges", "w+") as ranges:
        costs.append(run([program, "collect", *about], ranges))
        ranges.seek(0)
        lines = ranges.read().split("out\n", 1)[1].splitlines()
    return [tuple(map(int, line.split())) for line in lines], sum(c for c, _ in costs), max(m for _, m in costs), disk


def passages(neardup, documents, words, work):
    """Returns the rows of passages of at least this many words, CPU seconds and peak memory."""
    out = work / f"out{words}"
    shutil.rmtree(out, ignore_errors=True)
    cost = run([neardup, "passages", documents, "--length", words, "-o", out, "--quiet", "--no-text"])
    table = subprocess.run([neardup, "export", out, "--format=csv", "--table=passages", "-o", "-"], check=True, capture_output=True)
    return list(csv.DictReader(io.StringIO(table.stdout.decode()))), *cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("neardup", "documents", "source"):
        parser.add_argument(name, type=lambda p: pathlib.Path(p).absolute())
    parser.add_argument("--bytes", type=int, default=250)
    parser.add_argument("--words", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--temp-dir")
    a = parser.parse_args()
    subprocess.run(["cargo", "build", "--release"], cwd=a.source, check=True, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(dir=a.temp_dir) as temp:
        work = pathlib.Path(temp)
        data, at, size = work / "data", {}, 0
        with data.open("wb") as f, a.documents.open(encoding="utf-8") as lines:
            for n, line in enumerate(lines, 1):
                document = json.loads(line)
                text = document["text"].encode()
                at[document["id"]] = size + 6
                size += f.write(b"\xff\xff" + struct.pack("<I", n) + text)
        ranges, cpu, peak, disk = suffix_array(a.source / "target/release/dedup_dataset", data, a.bytes, work)
        ours = [passages(a.neardup, a.documents, a.words, work) for _ in range(a.rounds)]
        rows, cpus = ours[0][0], statistics.median(cost for _, cost, _ in ours)
        kinds = bytearray(size)

        def mark(rows, kind, prefix=""):
            for row in rows:
                base = at[row[prefix + "id"]]
                start, end = base + int(row[prefix + "start"]), base + int(row[prefix + "end"])
                kinds[start:end] = bytes([kind]) * (end - start)

        shorter = passages(a.neardup, a.documents, SHORTER_WORDS, work)[0]
        mark(shorter, SHORTER)
        mark(shorter, SHORTER, "from_")
        mark(rows, FIRST, "from_")
        mark(rows, CUT)
        cuts = sum(end - start for start, end in ranges)
        of = [sum(kinds.count(kind, start, end) for start, end in ranges) for kind in range(4)]
        print(f"suffix array: {cpu:.1f} s of CPU, {peak:.0f} MB, {disk / 1e6:.0f} MB on the disk; cuts {cuts} bytes")
        print(f"neardup: {cpus:.2f} s of CPU, {max(m for _, _, m in ours):.0f} MB; cuts {kinds.count(CUT)} bytes")
        print(f"neardup takes 1/{cpu / cpus:.0f} of the CPU")
        print(f"of what the suffix array cuts, neardup cuts {of[CUT] / cuts:.1%}")
        print(f"  {of[FIRST] / cuts:.1%} are first places, which stay")
        print(f"  {of[SHORTER] / cuts:.1%} are in runs of {SHORTER_WORDS} to {a.words - 1} words")
        print(f"  {of[0] / cuts:.1%} are neither")


if __name__ == "__main__":
    main()
