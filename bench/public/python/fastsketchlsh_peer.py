"""FastSketchLSH: sketches and their bands. Documents that share a band count as similar; they are not compared. It
takes tokens, so the words are split and joined to shingles here."""

import answer as a
import numpy as np
from FastSketchLSH import LSH, FastSimilaritySketch


def answer(corpus, bands, rows):
    sketch, index = FastSimilaritySketch(size=bands * rows, seed=42), LSH(num_perm=bands * rows, num_bands=bands)
    clusters, ids, signed = a.Clusters(), [], []
    for batch, texts in a.batches(corpus):
        signed.append(sketch.batch([a.shingles(a.split(text)) for text in texts]))
        ids += batch
    signatures = np.concatenate(signed)
    index.insert(signatures)
    for number, others in enumerate(index.query(signatures)):
        for other in others:
            clusters.join(number, other)
    return clusters, ids


if __name__ == "__main__":
    a.main(answer, a.words)
