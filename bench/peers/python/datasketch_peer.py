"""datasketch: MinHash and MinHashLSH. Documents that share a band count as similar; they are not compared. datasketch
takes tokens, so the words are split and joined to shingles here."""

import answer as a
from datasketch import MinHash, MinHashLSH


def answer(corpus, bands, rows):
    index = MinHashLSH(num_perm=bands * rows, params=(bands, rows))
    clusters, ids = a.Clusters(), []
    for batch, texts in a.batches(corpus):
        tokens = ([s.encode() for s in a.shingles(a.split(text))] for text in texts)
        for i, signature in zip(batch, MinHash.generator(tokens, num_perm=bands * rows)):
            for other in index.query(signature):
                clusters.join(len(ids), other)
            index.insert(len(ids), signature)
            ids.append(i)
    return clusters, ids


if __name__ == "__main__":
    a.main(answer, a.words)
