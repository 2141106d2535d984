"""data-juicer: its operator document_minhash_deduplicator, called from Python, since its command does not report which
documents it removed. Documents that share a bucket are joined; they are not compared."""

import os

import answer as a


def answer(corpus, bands, rows):
    from data_juicer.ops.deduplicator.document_minhash_deduplicator import DocumentMinhashDeduplicator
    from datasets import Dataset

    chosen = {"num_permutations": rows}
    if bands:
        chosen = {"num_permutations": bands * rows, "num_bands": bands, "num_rows_per_band": rows}
    operator = DocumentMinhashDeduplicator(**chosen)
    ids, texts = zip(*a.documents(corpus))
    documents = Dataset.from_dict({"number": range(len(ids)), "text": texts})
    signed = documents.map(operator.compute_hash, num_proc=int(os.environ["WORKERS"]))
    _, found = operator.process(signed, show_num=len(ids) + 1)
    clusters = a.Clusters()
    for first, members in found.items():
        for member in members:
            clusters.join(first, member["number"])
    return clusters, ids


def words(corpus):
    from data_juicer.ops.common.helper_func import split_on_whitespace

    for i, text in a.documents(corpus):
        found = split_on_whitespace(text.lower())
        yield i, found if len(found) >= a.SHINGLE else []  # it takes shorter ones for copies of each other


if __name__ == "__main__":
    a.main(answer, words)
