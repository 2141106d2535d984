"""Compares neardup with Splink and dedupe on bibliographic records labelled by people, and prints a Markdown table.

    python3 bench/linkage/linkage.py [--data ../shared/data/docconflation] [--only neardup,splink,dedupe]

Run it at the top of a clone. It builds neardup and installs the others from PyPI into .cache/linkage, in the versions of splink.txt and
dedupe.txt; dedupe needs a C compiler. The code that a user of each tool writes is in *_user.*; docs/bench.md says how to read the table.
"""

import argparse
import collections
import csv
import io
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
import venv
import zlib

import sets

HERE = pathlib.Path(__file__).parent
CACHE = pathlib.Path(".cache/linkage")
WORK = pathlib.Path(".cache/bench/linkage")
NEARDUP = WORK / "neardup"
USERS = {"neardup": "neardup_user.sh", "Splink": "splink_user.py", "dedupe": "dedupe_user.py"}
TITLES = [".4", ".5", ".6", ".7", ".8"]  # similarities of titles, in neardup's second command
PROBABILITY = 0.95  # minimum probability at which Splink's README joins records
Measured = collections.namedtuple("Measured", "pairs cpu wall")


def install(tool):
    """Creates an environment with the pinned packages, and returns its Python."""
    python, want = CACHE / tool / "bin/python", (HERE / f"{tool}.txt").read_text()
    done = CACHE / tool / "installed.txt"
    if not done.exists() or done.read_text() != want:
        venv.create(CACHE / tool, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary", "-r", HERE / f"{tool}.txt"],
                       check=True, stdout=sys.stderr)
        done.write_text(want)
    return python


def run(*command, patience=None):
    """Returns the CPU and wall seconds of a command and its descendants, or None if it was stopped after patience seconds."""
    begun = time.monotonic()
    with open(WORK / "log", "w") as log:
        child = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, start_new_session=True)
        timer = threading.Timer(patience or threading.TIMEOUT_MAX, os.killpg, (child.pid, signal.SIGKILL))
        timer.daemon = True
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
    if patience and time.monotonic() - begun >= patience:
        return None
    if status:
        sys.exit(f"{command} failed:\n{(WORK / 'log').read_text()[-2000:]}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begun


def lines(user):
    """Returns the number of lines that a user writes."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in (HERE / user).read_text().splitlines())


def clusters(text):
    """Returns the records of each cluster in a table."""
    found = collections.defaultdict(list)
    for r in csv.DictReader(text):
        found[r["cluster"]].append(r["id"])
    return found.values()


def neardup(records, title=".7"):
    out = WORK / "neardup-out"
    shutil.rmtree(out, ignore_errors=True)
    took = run("sh", HERE / "neardup_user.sh", NEARDUP, records, out, title)
    joined = []
    for part in sorted(out.iterdir()):
        if not (part / "_SUCCESS").exists():  # no record has an abstract
            continue
        table = subprocess.run([NEARDUP, "export", part, "--table=clusters", "--format=csv", "--output=-"], check=True, capture_output=True)
        joined += [(c[0], one) for c in clusters(io.StringIO(table.stdout.decode())) for one in c[1:]]
    return Measured(sets.inside(sets.components(joined)), *took)


def splink(records):
    out = WORK / "splink.csv"
    took = run(install("splink"), HERE / "splink_user.py", records, out)
    pairs = {tuple(sorted((r["unique_id_l"], r["unique_id_r"]))): float(r["match_probability"]) for r in sets.rows(out)}
    return Measured(pairs, *took)


def dedupe(s, records, patience):
    labels, out = WORK / "labels.csv", WORK / "dedupe.csv"
    with open(labels, "w", encoding="utf-8", newline="") as f:
        known = csv.writer(f)
        known.writerow(["id", "group"])
        for one in (r["id"] for r in s.records):
            if (s.half(one) if one in s.group else zlib.crc32(one.encode()) % 2) == 0:
                known.writerow([one, s.group.get(one, "")])
    took = run(install("dedupe"), HERE / "dedupe_user.py", records, labels, out, patience=patience)
    if took is None:
        return None
    with open(out, encoding="utf-8", newline="") as f:
        return Measured(sets.inside(clusters(f)), *took)


def above(scored, probability):
    return {pair for pair, p in scored.items() if p >= probability}


def processor():
    with open("/proc/cpuinfo") as f:
        flags = set(f.read().split())
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "neither AVX2 nor AVX-512"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data/docconflation"))
    parser.add_argument("--only", default="neardup,splink,dedupe")
    parser.add_argument("--patience", type=int, default=1500, help="seconds after which dedupe is ended on a set (default: %(default)s)")
    a = parser.parse_args()
    only = a.only.split(",")
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-tags", "disable_grpc_modules", "-o", NEARDUP, "./cmd/neardup"], check=True)
    about, swept, costs = [], collections.defaultdict(dict), {}
    for name in sets.SETS:
        s = sets.Set(a.data, name)
        records = WORK / f"{name}.csv"
        s.write(records)
        about.append(s)
        # pairs by the value of the tool's setting; the first value is its own
        if "neardup" in only:
            costs[name, "neardup"] = neardup(records)
            swept["neardup"][name] = {float(t): neardup(records, t).pairs for t in TITLES}
        if "splink" in only:
            costs[name, "Splink"] = scored = splink(records)
            values = {PROBABILITY, *(round(p, 3) for p in scored.pairs.values())}
            swept["Splink"][name] = {v: above(scored.pairs, v) for v in values}
        if "dedupe" in only:
            costs[name, "dedupe"] = dedupe(s, records, a.patience)
    print("| set | tool | precision | recall | F1 | best F1, at | at the other set's best | F1 of a half | CPU s | wall s | lines |")
    print("|" + "---|" * 11)
    best = {(tool, s.name): max(found[s.name], key=lambda v: (s.judge(found[s.name][v])[2], v)) for tool, found in swept.items() for s in about}
    for s in about:
        for tool in [t for t in USERS if (s.name, t) in costs]:
            cost, judged = costs[s.name, tool], [""] * 5
            if cost is None:
                print(f"| {s.name} | {tool} | stopped after {a.patience} s {'| ' * 8}| {lines(USERS[tool])} |")
                continue
            found = above(cost.pairs, PROBABILITY) if tool == "Splink" else cost.pairs
            if tool in swept:
                value, other = (best[tool, n] for n in [s.name] + [o.name for o in about if o is not s])
                there = above(cost.pairs, other) if tool == "Splink" else swept[tool][s.name][other]
                judged = [f"{j:.3f}" for j in s.judge(found)]
                judged += [f"{s.judge(swept[tool][s.name][value])[2]:.3f}, {value}", f"{s.judge(there)[2]:.3f}"]
            half = f"{s.judge(found, 1)[2]:.3f}"
            print("| " + " | ".join([s.name, tool, *judged, half, f"{cost.cpu:.1f}", f"{cost.wall:.1f}", str(lines(USERS[tool]))]) + " |")
    print()
    for s in about:
        print(f"{s.name}: {len(s.records)} records, {len(s.truth)} pairs are the same work.", end=" ")
    version = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    pinned = [p for t in ("splink", "dedupe") for p in (HERE / f"{t}.txt").read_text().split() if p.split("==")[0] in ("splink", "duckdb", "dedupe")]
    print(f"neardup {version}, {', '.join(pinned)}, Python {platform.python_version()}, {os.cpu_count()} cores with {processor()}.")


if __name__ == "__main__":
    main()
