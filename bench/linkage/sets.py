"""Reads the sets of lamps-lab/docconflation into a common form, and judges pairs by their truth."""

import collections
import csv
import itertools
import zlib

COLUMNS = ["id", "title", "authors", "year", "abstract"]
SETS = {
    "citeseerx": ("citeseerx/TrialAbstract.csv", "id", "citeseerx/GT.csv"),
    "s2orc": ("s2orc/NEWyearTrial.csv", "corpus_id", "s2orc/groundTruth.csv"),
}


def rows(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as f:
        return list(csv.DictReader(f))


def components(pairs):
    """Returns the connected components of pairs."""
    of = {}

    def find(x):
        while of.setdefault(x, x) != x:
            x = of[x]
        return x

    for a, b in pairs:
        of[find(a)] = find(b)
    groups = collections.defaultdict(list)
    for x in list(of):
        groups[find(x)].append(x)
    return list(groups.values())


class Set:
    """The records of a set, and the pairs labelled by people."""

    def __init__(self, folder, name):
        records, key, truth = SETS[name]
        self.name = name
        self.records = [{c: (r.get(key if c == "id" else c) or "").strip() for c in COLUMNS} for r in rows(folder / records)]
        ids = {r["id"] for r in self.records}
        listed = [list(r.values()) for r in rows(folder / truth)]
        groups = components((of, one) for of, _, all in listed for one in all.split())
        groups = sorted(sorted(set(g) & ids) for g in groups)
        self.group = {one: g[0] for g in groups for one in g}
        self.truth = inside(groups)

    def write(self, path):
        with open(path, "w", encoding="utf-8", newline="") as f:
            out = csv.DictWriter(f, COLUMNS)
            out.writeheader()
            out.writerows(self.records)

    def half(self, one):
        """Returns which half of the groups has a record."""
        return zlib.crc32(self.group[one].encode()) % 2

    def judge(self, found, half=None):
        """Returns precision, recall and F1 over pairs with a record in the truth, as the study counts, or over one half.

        Most records of s2orc are in no group although many have copies, so the truth of their pairs is not known.
        """
        def counts(pair):
            return any(x in self.group and half in (None, self.half(x)) for x in pair)

        found, truth = set(filter(counts, found)), set(filter(counts, self.truth))
        right = len(found & truth)
        return right / max(len(found), 1), right / max(len(truth), 1), 2 * right / max(len(found) + len(truth), 1)


def inside(groups):
    """Returns the pairs within groups."""
    return {pair for g in groups for pair in itertools.combinations(sorted(g), 2)}
