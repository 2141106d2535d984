"""rensa: RMinHash and RMinHashLSH in bulk calls. A candidate counts if its estimated similarity is enough. rensa takes
tokens: words are cut and joined to shingles here."""

import re

import answer as a
from rensa import RMinHash, RMinHashLSH

WORD = re.compile(r"\w+")
SEED, THRESHOLD = 42, 0.8


def split(text):
    return WORD.findall(text.lower())


def answer(corpus, bands, rows):
    index = RMinHashLSH(threshold=THRESHOLD, num_perm=bands * rows, num_bands=bands)
    clusters, ids, signatures = a.Clusters(), [], []
    for batch, texts in a.batches(corpus):
        signed = RMinHash.from_token_sets([a.shingles(split(text)) for text in texts], bands * rows, SEED)
        first = len(ids)
        index.insert_many(signed, first)
        ids += batch
        signatures += signed
        for number, candidates in enumerate(index.query_all(signed), first):
            for other in candidates:
                if other < number and signatures[other].jaccard(signatures[number]) >= THRESHOLD:
                    clusters.join(number, other)
    return clusters, ids


def words(corpus):
    for i, text in a.documents(corpus):
        yield i, split(text)


if __name__ == "__main__":
    a.main(answer, words)
