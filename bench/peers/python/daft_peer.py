"""Daft: the recipe of its guide (normalise, minhash, bands, group by band). Two of its steps are made cheaper: bands
are grouped by their hash, and connected documents are found by union-find instead of joins. Documents that share a band
count as similar; they are not compared."""

import answer as a
import daft
from daft import col
from daft.functions import chunk, hash, list_count, minhash, monotonically_increasing_id, normalize


def read(corpus):
    text = normalize(col("text"), remove_punct=True, lowercase=True, white_space=True)
    return daft.read_json(corpus).select(col("id"), text.alias("words"))


def answer(corpus, bands, rows):
    signature = minhash(col("words"), num_hashes=bands * rows, ngram_size=a.SHINGLE, seed=42, hash_function="xxhash")
    signed = (
        read(corpus)
        .with_column("document", monotonically_increasing_id())
        .select(col("id"), col("document"), signature.alias("signature"))
        .collect()
    )
    buckets = (
        signed.select(col("document"), chunk(col("signature"), rows).alias("band"), daft.lit(list(range(bands))).alias("place"))
        .explode("band", "place")
        .select(col("document"), hash(col("band"), seed=hash(col("place"))).alias("key"))
        .groupby("key")
        .agg(col("document").list_agg().alias("documents"))
        .where(list_count(col("documents")) > 1)
        .select("documents")
        .to_pydict()["documents"]
    )
    clusters = a.Clusters()
    for bucket in buckets:
        for document in bucket[1:]:
            clusters.join(bucket[0], document)
    columns = signed.select("document", "id").to_pydict()
    return clusters, dict(zip(columns["document"], columns["id"]))


def words(corpus):
    columns = read(corpus).to_pydict()
    for i, text in zip(columns["id"], columns["words"]):
        yield i, text.split(" ")


if __name__ == "__main__":
    a.main(answer, words)
