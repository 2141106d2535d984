"""datatrove: the four stages of its example, one task for each part of the corpus. Documents that share a bucket are
joined; they are not compared."""

import glob
import gzip
import os

import answer as a
import orjson

HOME = os.environ["TMPDIR"]


def config(bands, rows):
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.utils.hashing import HashConfig

    return MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=bands, hashes_per_bucket=rows)


def answer(corpus, bands, rows):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import minhash
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    workers, settings = int(os.environ["WORKERS"]), config(bands, rows)
    ids = list(split(corpus, workers))

    def run(name, tasks, *steps):
        LocalPipelineExecutor(list(steps), tasks=tasks, workers=workers, logging_dir=f"{HOME}/logs/{name}").run()

    reader = JsonlReader(f"{HOME}/in")
    run("sign", workers, reader, minhash.MinhashDedupSignature(f"{HOME}/signed", config=settings))
    run("buckets", bands, minhash.MinhashDedupBuckets(f"{HOME}/signed", f"{HOME}/buckets", config=settings))
    connect = minhash.MinhashDedupCluster(f"{HOME}/buckets", f"{HOME}/ids", config=settings, save_cluster_id=True)
    run("cluster", 1, connect)
    removed = JsonlWriter(f"{HOME}/removed")
    keep = minhash.MinhashDedupFilter(f"{HOME}/ids", exclusion_writer=removed, load_cluster_ids=True)
    run("filter", workers, reader, keep, JsonlWriter(f"{HOME}/kept"))
    numbers = {i: n for n, i in enumerate(ids)}
    clusters, first = a.Clusters(), {}
    for path in glob.glob(f"{HOME}/kept/*") + glob.glob(f"{HOME}/removed/*"):
        for line in gzip.open(path):
            record = orjson.loads(line)
            cluster = record["metadata"].get("minhash_cluster_id", -1)
            if cluster != -1:
                number = numbers[record["id"]]
                clusters.join(number, first.setdefault(cluster, number))
    return clusters, ids


def split(corpus, parts):
    """Distributes the documents over one file per task, and yields their ids."""
    os.makedirs(f"{HOME}/in")
    files = [open(f"{HOME}/in/{part}.jsonl", "wb") for part in range(parts)]
    for number, (i, text) in enumerate(a.documents(corpus)):
        files[number % parts].write(orjson.dumps({"id": i, "text": text}) + b"\n")
        yield i
    for file in files:
        file.close()


def words(corpus):
    from datatrove.utils.text import simplify_text
    from datatrove.utils.typeshelper import Languages
    from datatrove.utils.word_tokenizers import load_word_tokenizer

    cut = load_word_tokenizer(Languages.english).word_tokenize
    for i, text in a.documents(corpus):
        found = cut(simplify_text(text, config(1, 1).norm_config))
        yield i, [w.replace(" ", "_") for w in found] if len(found) >= a.SHINGLE else []


if __name__ == "__main__":
    a.main(answer, words)
