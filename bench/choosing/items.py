"""Plants items in documents and measures which are found: by neardup, decontaminate (decon) and corpus-assay.

    items.py NEARDUP DOCUMENTS.jsonl ITEMS.jsonl [--peers PYTHON] [--items 1000] [--words 60]

An item is a run of words of a text of ITEMS. Half of the items are each put into a document: unchanged, in capitals, without commas and
full stops, with other line breaks, or with one word changed. The script prints the CPU seconds of each program, the share of each kind that
it finds, and how many other documents it marks. Then it prints how much of an item with one changed word remains, by the length of runs.
PYTHON is an interpreter (3.12 or later) with `decontaminate==0.3.0.post4` and `corpus-assay==0.1.0`.
"""

import argparse
import csv
import io
import json
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import tempfile

RANDOM = random.Random(3)
KINDS = {
    "as it is": lambda words: words,
    "capitals": lambda words: [w.upper() for w in words],
    "no punctuation": lambda words: [w.strip(".,;:") for w in words if w.strip(".,;:")],
    "other lines": lambda words: [w + "\n" if i % 8 == 7 else w for i, w in enumerate(words)],
    "one word": lambda words: [*words[: len(words) // 2], "changed", *words[len(words) // 2 + 1 :]],
}
DECON = """
import decon, sys
decon.detect(decon.Config(*sys.argv[1:4]))
"""


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def cpu(command):
    """Returns the CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def contaminated(neardup, out):
    table = subprocess.run([neardup, "export", out, "--format=csv", "--table=contaminated", "-o", "-"], check=True, capture_output=True)
    return list(csv.DictReader(io.StringIO(table.stdout.decode())))


def by_neardup(a, work):
    took = cpu([a.neardup, "passages", work / "docs.jsonl", "--against", work / "items.jsonl", "-o", work / "out", "--quiet", "--no-text"])
    return took, {row["id"] for row in contaminated(a.neardup, work / "out")}


def by_decon(a, work):
    for name in ("train", "evals"):
        (work / name).mkdir()
    shutil.copy(work / "docs.jsonl", work / "train")
    with (work / "items.jsonl").open() as items:
        rows = [json.loads(line) for line in items]
    common = {"eval_key": "items", "split": "test", "is_correct": None, "passage": "", "answer": ""}
    lines(work / "evals" / "items.jsonl", [{**common, "eval_instance_index": i, "doc_id": i, "fingerprint": r["id"], "question": r["text"]} for i, r in enumerate(rows)])
    took = cpu([a.peers, "-c", DECON, work / "train", work / "evals", work / "decon"])
    found = set()
    for report in (work / "decon").glob("*.jsonl"):
        found |= {f"d{json.loads(line)['training_line']}" for line in report.open()}
    return took, found


def by_corpus_assay(a, work):
    config = work / "config.yaml"
    config.write_text(f"benchmarks:\n  - name: Items\n    dataset: json\n    data_files: {{test: {work / 'items.jsonl'}}}\n    splits: [test]\n    fields: [text]\n")
    program = pathlib.Path(a.peers).parent / "corpus-assay"
    took = cpu([program, "run", "--config", config, "--input", work / "docs.jsonl", "--out-dir", work / "assay", "--allow-unpinned", "--id-key=id", "--max-return-records=100000"])
    found = set()
    for report in (work / "assay").rglob("*.ndjson"):
        for line in report.open():
            row = json.loads(line)
            found.add(row["doc_id"].rpartition("-part-")[0])
    return took, found


def remaining(a, items, work):
    """Returns the share of items with one changed word that remains, by the length of runs."""
    changed = []
    for i, words in enumerate(items):
        at = RANDOM.randrange(len(words))
        changed.append({"id": f"c{i}", "text": " ".join([*words[:at], "changed", *words[at + 1 :]])})
    lines(work / "changed.jsonl", changed)
    for length in (8, 13, 20, 30, 50):
        out = work / f"length-{length}"
        subprocess.run([a.neardup, "passages", work / "changed.jsonl", "--against", work / "items.jsonl", f"--length={length}", "--item-share=0.000001", "-o", out, "--quiet"], check=True, stderr=subprocess.DEVNULL)
        shares = {row["id"]: float(row["share"]) for row in contaminated(a.neardup, out) if row["id"][1:] == row["item_id"][1:]}
        all_shares = [shares.get(row["id"], 0) for row in changed]
        print(f"{length} | {statistics.mean(all_shares):.2f} | {sum(s >= 0.5 for s in all_shares) / len(all_shares):.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("neardup")
    p.add_argument("documents", type=pathlib.Path)
    p.add_argument("items", type=pathlib.Path)
    p.add_argument("--peers")
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--words", type=int, default=60)
    a = p.parse_args()
    docs = [json.loads(line)["text"] for line in a.documents.open(encoding="utf-8")]
    texts = dict.fromkeys(json.loads(line)["text"] for line in a.items.open(encoding="utf-8"))
    items = list(dict.fromkeys(tuple(t.split()[20 : 20 + a.words]) for t in texts if len(t.split()) >= a.words + 20))[: a.count]
    kinds = list(KINDS)
    planted = {}
    for n, i in enumerate(RANDOM.sample(range(len(items)), len(items) // 2)):
        at = n * len(docs) // len(items)
        words = docs[at].split()
        cut = RANDOM.randrange(len(words) + 1)
        docs[at] = " ".join([*words[:cut], *KINDS[kinds[n % len(kinds)]](list(items[i])), *words[cut:]])
        planted[f"d{at}"] = kinds[n % len(kinds)]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        lines(work / "docs.jsonl", [{"id": f"d{i}", "text": t} for i, t in enumerate(docs)])
        lines(work / "items.jsonl", [{"id": f"q{i}", "text": " ".join(words)} for i, words in enumerate(items)])
        print("program | CPU, s | " + " | ".join(kinds) + " | others marked")
        ways = {"neardup": by_neardup}
        if a.peers:
            ways |= {"decontaminate": by_decon, "corpus-assay": by_corpus_assay}
        for name, way in ways.items():
            took, found = way(a, work)
            shares = [sum(1 for d, k in planted.items() if k == kind and d in found) / sum(1 for k in planted.values() if k == kind) for kind in kinds]
            print(f"{name} | {took:.2f} | " + " | ".join(f"{s:.2f}" for s in shares) + f" | {len(found - set(planted))}", flush=True)
        print("\nlength | share left | at least .5 left")
        remaining(a, items, work)


if __name__ == "__main__":
    main()
