"""rensa: RMinHash and RMinHashLSH in bulk calls. A candidate is accepted if its estimated similarity suffices. rensa
takes tokens, so the words are split and joined to shingles here."""

import answer as a
from rensa import RMinHash, RMinHashLSH

SEED = 42

def answer(corpus, bands, rows):
    index = RMinHashLSH(threshold=a.ESTIMATE, num_perm=bands * rows, num_bands=bands)
    clusters, ids, signatures = a.Clusters(), [], []
    for batch, texts in a.batches(corpus):
        signed = RMinHash.from_token_sets([a.shingles(a.split(text)) for text in texts], bands * rows, SEED)
        first = len(ids)
        index.insert_many(signed, first)
        ids += batch
        signatures += signed
        for number, candidates in enumerate(index.query_all(signed), first):
            for other in candidates:
                if other < number and signatures[other].jaccard(signatures[number]) >= a.ESTIMATE:
                    clusters.join(number, other)
    return clusters, ids


if __name__ == "__main__":
    a.main(answer, a.words)
