#!/usr/bin/env python3
"""What a DataFrame costs beside the same rows as JSON Lines: CPU of this process and of the program.

bench.py [FILE.jsonl [ROWS]]    neardup and pandas must be installed; status 1 if a DataFrame takes more than 1.5 times

Without a file: 100,000 rows of 200 random words, of which one in a hundred is there twice.
"""

import json
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

import neardup

MOST = 1.5


def cpu() -> float:
    """Seconds of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def lines() -> Iterator[str]:
    """Those of the file, or of random words."""
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as file:
            yield from file
        return
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghij", k=drawn.randint(1, 10))) for _ in range(20_000)]
    text = ""
    for row in range(1_000_000):
        text = text if row % 100 == 99 else " ".join(drawn.choices(words, k=200))
        yield json.dumps({"id": row, "text": text}) + "\n"


def main() -> int:
    """Measures both ways in turn, and compares medians."""
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        file.write_text("".join(islice(lines(), rows)), encoding="utf-8")
        frame = pd.read_json(file, lines=True)
        took: dict[str, list[float]] = {"JSON Lines": [], "DataFrame": []}
        removed = set()
        for _ in range(5):
            for name, data in (("JSON Lines", file), ("DataFrame", frame)):
                begun = cpu()
                result = neardup.dedup(data)
                took[name].append(cpu() - begun)
                removed.add(result.summary["counts"]["removed"])
        begun = cpu()
        left = result.filter(frame)
        print(f"{len(frame)} rows, {file.stat().st_size / 1e6:.0f} MB; filter takes {cpu() - begun:.2f} s")
        assert removed == {len(frame) - len(left)}
    medians = {name: statistics.median(seconds) for name, seconds in took.items()}
    print(*(f"{name}: {seconds:.2f} s of CPU" for name, seconds in medians.items()), sep="\n")
    ratio = medians["DataFrame"] / medians["JSON Lines"]
    print(f"DataFrame / JSON Lines: {ratio:.2f}, at most {MOST}")
    return ratio > MOST


if __name__ == "__main__":
    sys.exit(main())
