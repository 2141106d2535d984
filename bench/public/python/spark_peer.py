"""Spark: MinHashLSH and its join of the corpus with itself, which compares the candidates exactly."""

import os
import re

import answer as a

WORD = r"\W+"
FEATURES = 1 << 24


def answer(corpus, tables, _):
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import SparkSession, functions

    home = os.environ["TMPDIR"]
    spark = (
        SparkSession.builder.master(f"local[{os.environ['WORKERS']}]")
        .config("spark.driver.memory", "8g")
        .config("spark.local.dir", home)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    documents = spark.read.schema("id string, text string").json(corpus)
    for step in (
        RegexTokenizer(inputCol="text", outputCol="words", pattern=WORD),
        NGram(n=a.SHINGLE, inputCol="words", outputCol="shingles"),
        HashingTF(inputCol="shingles", outputCol="features", numFeatures=FEATURES, binary=True),
    ):
        documents = step.transform(documents)
    documents = documents.where(functions.size("shingles") > 0).select("id", "features")
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=tables, seed=42).fit(documents)
    pairs = model.approxSimilarityJoin(documents, documents, 0.2 + 1e-9).where("datasetA.id < datasetB.id")
    found = pairs.select("datasetA.id", "datasetB.id").collect()
    ids = [i for i, _ in a.documents(corpus)]
    numbers, clusters = {i: n for n, i in enumerate(ids)}, a.Clusters()
    for x, y in found:
        clusters.join(numbers[x], numbers[y])
    return clusters, ids


def words(corpus):
    cut = re.compile(WORD, re.ASCII)
    for i, text in a.documents(corpus):
        found = [w for w in cut.split(text.lower()) if w]
        yield i, found if len(found) >= a.SHINGLE else []


if __name__ == "__main__":
    a.main(answer, words)
