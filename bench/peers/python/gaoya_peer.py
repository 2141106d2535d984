"""gaoya: its own word analyser, index and bulk calls, which use all threads. The answers to a query share a band with it
and have a signature that is similar enough."""

import re

import answer as a
from gaoya.minhash import MinHashStringIndex


def answer(corpus, bands, rows):
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=a.ESTIMATE,
        num_bands=bands,
        band_size=rows,
        analyzer="word",
        lowercase=True,
        ngram_range=(a.SHINGLE, a.SHINGLE),
        id_container="smallvec",
    )
    clusters, ids = a.Clusters(), []
    for batch, texts in a.batches(corpus):
        numbers = list(range(len(ids), len(ids) + len(batch)))
        ids += batch
        index.par_bulk_insert_docs(numbers, texts)
        for number, similar in zip(numbers, index.par_bulk_query(texts)):
            for other in similar:
                clusters.join(number, other)
    return clusters, ids


# gaoya splits at ASCII punctuation and ASCII white space.
SEPARATORS = re.compile(r"[!-/:-@\[-`{-~\t\n\f\r ]+")


def words(corpus):
    for i, text in a.documents(corpus):
        found = [w for w in SEPARATORS.split(text.lower()) if w]
        yield i, found if len(found) >= a.SHINGLE else []  # gaoya makes no shingles of shorter documents


if __name__ == "__main__":
    a.main(answer, words)
