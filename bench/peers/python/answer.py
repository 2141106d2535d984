"""Shared by all peers: reads the corpus, clusters the documents found similar, and writes the answer.

    NAME_peer.py answer CORPUS FILE BANDS ROWS   the measured run: FILE gets a line for each document to remove
    NAME_peer.py words CORPUS FILE               the words that the peer compares: FILE gets a line per document

CORPUS is JSON lines with id and text, perhaps compressed by zstd. A line of the answer is an id, a tab, and the id of
the first document of the same cluster, which is kept. A line of words is an id, a tab, and the words, separated by spaces.
"""

import io
import itertools
import os
import re
import sys

# Before a peer is imported, since peers use as many threads as there are cores.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(os.environ.get("WORKERS", "2"))])

import orjson
import zstandard

SHINGLE = 5
# Minimum estimated similarity of accepted candidates, if a peer estimates.
ESTIMATE = float(os.environ.get("ESTIMATE", "0.8"))
BATCH = 4096


def documents(path):
    """Yields the id and text of each document."""
    with open(path, "rb") as f:
        if path.endswith(".zst"):
            f = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(f), 1 << 20)
        for line in f:
            record = orjson.loads(line)
            yield record["id"], record["text"]


def batches(path):
    """Yields lists of ids and of texts."""
    stream = documents(path)
    while batch := list(itertools.islice(stream, BATCH)):
        yield [i for i, _ in batch], [text for _, text in batch]


def shingles(words):
    """Returns the runs of SHINGLE words; if there are fewer words, one run of all."""
    if len(words) < SHINGLE:
        return [" ".join(words)] if words else []
    return [" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]


WORD = re.compile(r"\w+")


def split(text):
    """Splits a text for peers that take tokens."""
    return WORD.findall(text.lower())


def words(path):
    """Yields the words of each document, for peers that take tokens."""
    for i, text in documents(path):
        yield i, split(text)


class Clusters:
    """Connected documents, by number. The root of a cluster is its first document."""

    def __init__(self):
        self.parents = {}

    def root(self, x):
        parents = self.parents
        while (parent := parents.get(x, x)) != x:
            parents[x] = parents.get(parent, parent)
            x = parent
        return x

    def join(self, x, y):
        x, y = self.root(x), self.root(y)
        if x != y:
            self.parents[max(x, y)] = min(x, y)

    def write(self, path, ids):
        with open(path, "w", encoding="utf-8") as f:
            for x in sorted(self.parents):
                f.write(f"{ids[x]}\t{ids[self.root(x)]}\n")


def main(answer, words):
    """Runs a peer: answer(corpus, bands, rows) returns Clusters and ids, words(corpus) yields ids and lists of words."""
    task, corpus, path, *parameters = sys.argv[1:]
    if task == "answer":
        clusters, ids = answer(corpus, *map(int, parameters))
        clusters.write(path, ids)
    else:
        with open(path, "w", encoding="utf-8") as f:
            for i, line in words(corpus):
                f.write(f"{i}\t{' '.join(line)}\n")
