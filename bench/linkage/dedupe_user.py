# The code that a user of dedupe writes: dedupe_user.py RECORDS.csv LABELS.csv CLUSTERS.csv
import csv
import random
import re
import sys

import dedupe
from dedupe.variables import Exact, ShortString, String, Text


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return {r.pop("id"): {c: re.sub(r"\W+", " ", v.lower()).strip() or None for c, v in r.items()} for r in csv.DictReader(f)}


def main():
    random.seed(1)
    data = read(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8", newline="") as f:
        groups = {r["id"]: r["group"] for r in csv.DictReader(f)}  # records without a group were not judged
    has = {c for r in data.values() for c, v in r.items() if v}
    fields = [String("title"), ShortString("year", has_missing=True), Exact("year", has_missing=True)]
    fields += [String("authors", has_missing=True)] if "authors" in has else []
    fields += [Text("abstract", has_missing=True)] if "abstract" in has else []
    deduper = dedupe.Dedupe(fields, num_cores=2)
    deduper.prepare_training({i: data[i] for i in groups})
    names = {}
    for i in groups:
        names.setdefault(tuple(sorted((c, v) for c, v in data[i].items() if v)), []).append(i)
    for _ in range(200):
        pair = deduper.uncertain_pairs()[0]
        ids = [names[tuple(sorted((c, v) for c, v in r.items() if v))] for r in pair]
        known = [groups[a] and groups[a] == groups[b] for a in ids[0] for b in ids[1] if a != b and (groups[a] or groups[b])]
        deduper.mark_pairs({"match": [pair] if any(known) else [], "distinct": [pair] if known and not any(known) else []})
    deduper.train()
    clusters = deduper.partition(data, 0.5)
    with open(sys.argv[3], "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["cluster", "id"])
        out.writerows((n, i) for n, (ids, _) in enumerate(clusters) for i in ids)


if __name__ == "__main__":
    main()
