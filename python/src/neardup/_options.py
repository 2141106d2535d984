"""The keys of job files as types. Generated: go test ./cmd/neardup -run TestPython -update."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class Dedup(TypedDict, total=False):
    """Keyword arguments of `neardup.dedup`."""

    store_endpoint: Mapping[str, str]
    """Address of s3 or gs, as in s3=https://minio.example:9000 (default: AWS_ENDPOINT_URL_S3 and STORAGE_EMULATOR_HOST,
    or AWS and Google)."""

    s3_path_style: bool
    """Name the bucket in the path of a request, not in its host (default: only if an endpoint is set)."""

    anonymous: Literal["s3", "gs"] | Sequence[Literal["s3", "gs"]]
    """Read public buckets of s3 or gs without credentials; give a list for both."""

    requester_pays: bool
    """Pay for requests to requester-pays buckets; on Google Cloud Storage, the project in GOOGLE_CLOUD_QUOTA_PROJECT
    pays."""

    kms_key: str
    """KMS key that encrypts all that neardup writes to the output's store."""

    inputs_from: str | PathLike[str]
    """File that lists more inputs, one path per line; - is standard input."""

    include: str | Sequence[str]
    """Read only files that match, or are in a folder that matches; give a list for several patterns. A pattern without
    a slash matches any name in the path below an input folder; a pattern with a slash matches the whole path."""

    exclude: str | Sequence[str]
    """Skip files that match, or are in a folder that matches; patterns as for include."""

    format: str
    """Format of the input: json, jsonl, csv, tsv, lines, files, html, xml, parquet, reuters, warc, tar (default: by
    file name)."""

    encoding: str
    """Encoding of JSON, CSV, TSV and text files and of tar members, as named in the Encoding Standard, such as
    windows-1251, latin1, shift_jis, gbk or koi8-r. neardup reads files that are UTF-8 as UTF-8, except with utf-16le
    and utf-16be. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, assumes
    UTF-8. detect decides file by file; records of doubtful encoding are unreadable (default: utf-8)."""

    delimiter: str
    """Separator of CSV values: an ASCII character, or tab (default: ,)."""

    no_header: bool
    """Read the first line of CSV and TSV as data; text and id are then column numbers, from 1."""

    limit: int
    """Read only the first N readable documents."""

    max_doc_bytes: int | str
    """Do not compare documents whose text is larger than this or, when normalised, exceeds both this and twice its
    original size (default: 16MiB)."""

    max_window: int | str
    """Refuse a compressed file whose window, or a Parquet file whose largest page, exceeds this, because reading it
    takes that much memory (default: 128MiB)."""

    invalid_utf8: Literal["reject", "keep"]
    """Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare
    it unchanged, and its invalid parts byte by byte; needs shingle char:K or byte:K, or method exact) (default:
    reject)."""

    min_words: int
    """Do not compare documents with fewer than N words after normalising."""

    against: str | Sequence[str]
    """Documents that you already have: files, folders or patterns; a finished output, whose corpus/ is read; or an
    index. neardup removes documents of the input that are similar to one of these, and neither compares these with each
    other nor writes them. The file name gives their format. Give a list for several."""

    append: bool
    """Add to the against index the documents that this run keeps or removes, once the output is complete."""

    against_text: str | Sequence[str]
    """Text column of against; give a list to join several (default: those of text)."""

    against_id: str
    """Id column of against (default: that of id)."""

    max_rejected: int | str
    """Accept up to this number or percentage of unreadable records, and of documents in files without the text column;
    with more, the run ends with status 4 (default: 0)."""

    allow_empty: bool
    """Succeed with empty tables if there is no input file or no document to compare. A local path that does not exist
    is still an error, unless it is a pattern."""

    shingle: str
    """Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9
    is char:9 with hashes of 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop
    word. item takes each element of a list column as a shingle (default: word:5)."""

    normalize: str
    """Changes to texts before comparison: none, or a comma-separated list of strip-markup, default, nfkc, lower,
    strip-accents, fold-han, keep-symbols, keep-case, letters-only, digits-zero, collapse-space, no-space,
    no-stop-words:LANGUAGE and stem:LANGUAGE. default is NFKC and lower case, without punctuation, symbols, layout and
    invisible characters (shingle byte:K keeps the last two). keep-symbols keeps punctuation and symbols, and keep-case
    keeps capitals; both leave the rest of default in force, unless you list other steps. strip-markup keeps only
    visible HTML and XML text, and fold-han unifies the variants of a Han character. no-stop-words:LANGUAGE leaves out
    stop words, and stem:LANGUAGE replaces words with stems (Snowball), as in default,stem:en (default: default)."""

    match: str | Sequence[str]
    """Compare documents, even copies, only if they meet this rule, as in lang=equal; give a list to require several
    rules. Rules: equal (the same value, byte for byte), different (not equal), within:N (numbers at most N apart) and
    within:7d (dates or times; d, h, m or s). A rule like title=char:3,.7,lower requires a Jaccard similarity of .7,
    with shingles char:3 and normalize lower. Without text, such rules are the whole comparison. neardup compares
    documents without a value with no others, or with all if ,missing-ok follows the rule. Dotted paths reach nested
    fields."""

    match_numbers: bool
    """Compare documents, even copies, only if their texts have the same numbers in the same order, so that issue 12 and
    issue 13 are both kept. 1,000 and 1.000 count as 1000, and a date as its numbers."""

    method: Literal["minhash", "simhash", "complete", "exact"]
    """Way to find near-duplicates: minhash (by signatures), simhash (by SimHash signatures), complete (by comparing
    every document with every other, which finds them all) or exact (finds only copies, as same defines them, and
    ignores threshold) (default: minhash)."""

    same: str
    """Definition of a copy for method exact: bytes (the text as decoded), tokens (the same words, characters or bytes
    in the same order after normalize) or set (the same shingles) (default: bytes)."""

    recall: float
    """Minimum probability of finding a pair whose similarity is exactly the threshold; the probability is higher for
    pairs with a higher similarity (default: 0.999)."""

    bands: int
    """Number of bands, with rows, instead of the number that recall would choose."""

    rows: int
    """Rows per band, with bands."""

    signature: Literal["fss", "classic", "salted"]
    """Kind of signature: fss (Fast Similarity Sketching) or a slower textbook kind: classic (universal hashing of each
    shingle's number in a dictionary, for which neardup reads the input once more) or salted (SHA-1 of the shingles'
    text) (default: fss)."""

    seed: int
    """Seed of signatures and samples (default: 1)."""

    compare: str
    """Measure of similarity: jaccard (of shingle sets), containment (the share of the smaller shingle set that the
    larger one has), cosine (of vectors) or overlap (the share of equal bits of SimHash signatures). SimHash takes
    cosine or overlap (default: overlap for SimHash, otherwise jaccard)."""

    weights: Literal["1", "tf", "tf-idf"]
    """Weight of a shingle in a document's vector, for cosine and overlap: 1, tf (the number of its occurrences) or
    tf-idf (tf times log2(1 + N/n), where n of N documents have the shingle; neardup reads the input once more)
    (default: 1)."""

    bits: int
    """Bits of a SimHash signature, from 1 to 1024 (default: 256)."""

    pieces: int
    """Number of pieces of a SimHash signature; neardup compares documents with an equal piece at the same position
    (default: as many as recall needs, if you give it; otherwise 32, or neardup compares all documents if most would
    share a piece by chance)."""

    vectors: Literal["normal", "sign"]
    """Random vectors of SimHash: normal (normally distributed entries) or sign (entries 1 and -1, as in most programs;
    no guaranteed recall for cosine) (default: normal)."""

    measure_recall: int
    """Measure the recall: read the input again and compare N documents, drawn with seed, with all others. The summary
    gives the share of their near pairs that the run found."""

    cluster: Literal["star", "components"]
    """Which similar documents to remove: with star, those whose similarity to a kept one reaches the threshold; with
    components, all but one of each cluster, so a chain of similar documents can remove one that is not similar to the
    kept one (default: star)."""

    keep: str | Sequence[str]
    """Which of several similar documents to keep: first in input order, longest (bytes of text), max:COLUMN or
    min:COLUMN (numbers rank before strings, and missing values last), or prefer:GLOB,... (documents of files that match
    the first pattern, then the second, then others). Give a list to break ties, with at most one column; remaining ties
    go to the first in input order. max:date keeps the newest, and the value none removes all similar documents
    (default: first)."""

    protect: str | Sequence[str]
    """Never remove documents of files that match, even if they are similar to each other. neardup removes other
    documents that are similar to a protected one, whatever keep says. Give a list for several patterns."""

    drop_not_compared: bool
    """Also exclude from the corpus the documents that are not compared: those without text or tokens, with too few
    words, or beyond a limit."""

    max_removed: str
    """End with status 5 and publish nothing if the run would remove more than this percentage of the documents of any
    one input file, or of any one folder with one document per file."""

    pair_budget: int
    """Maximum number of pairs that pairs/ lists for a group of documents that candidates or similar pairs connect. If a
    group has more pairs, pairs/ lists each document with only some of the documents kept before it. If the ids of a
    cluster's pairs take more than 256 bytes times N, pairs/ lists each of its documents only with the document kept in
    its place. In a group of more than 4,096 documents, the number of pairs is an estimate (default: 262144)."""

    no_text: bool
    """Leave the texts of documents out of report.html."""

    write: Literal["pairs", "clusters", "removed", "rejected", "corpus", "documents"] | Sequence[Literal["pairs", "clusters", "removed", "rejected", "corpus", "documents"]]
    """Parts of the output to write: any of pairs,clusters,removed,rejected,corpus,documents (default: all but
    documents, which has a row for every record)."""

    runner: Literal["local", "flink", "spark", "dataflow", "portable", "direct"]
    """Beam runner: local (all cores, bounded memory) or direct (Beam's own), in this process; flink, spark or portable
    on a cluster, through job_server; or dataflow, for dedup and plan only. Beam's class names work too; DirectRunner
    means local (default: local)."""

    workers: int
    """Number of parallel workers; parallelism is the same (default: one per core, or the cluster's setting)."""

    memory: int | str
    """Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or,
    without one, of this machine's memory)."""

    temp_dir: str | PathLike[str]
    """Folder for temporary files; temp_location is the same, but makes the folder, except on Dataflow (default: a
    hidden folder in or beside the output, or the system's temporary folder)."""

    job_server: str
    """Beam job server of the cluster, for runner flink, spark or portable; job_endpoint is the same."""

    environment: str
    """Environment for the steps of a job on a cluster: loopback (this process), process:COMMAND (a boot program on the
    workers' machines), external:HOST:PORT (a worker pool at this address) or docker:IMAGE (default: loopback, if the
    job server is on this machine)."""

    flink_option: Mapping[str, str]
    """Option for the cluster's Beam runner, as in execution_mode_for_batch=BATCH_FORCED. The job server must know the
    option."""

    flink_rest: str
    """Flink's REST interface, which serves the web UI. neardup checks the cluster's settings before the job starts, and
    shows progress (default: port 8081 of the job server's machine, if Flink answers there)."""

    dataflow_option: Mapping[str, str]
    """Dataflow option by its Beam name, as in max-num-workers=20. On the command line, max_num_workers 20 is the same.
    project, region and staging-location are required; docs/dataflow.md lists the others."""

    job_name: str
    """Name of the job, for a cluster and for lineage_file; Dataflow accepts lower-case letters, digits and hyphens
    (default: neardup; on Dataflow, with random letters)."""

    overwrite: bool
    """Replace a finished output once the new one is complete; until then the old one stays."""

    weak_overwrite: bool
    """Like overwrite, but also on an object store without conditional DELETE, such as MinIO. No other program may write
    to the output meanwhile."""

    wait_lock: str
    """Time to wait for another run's lock on the output, as in 90s or 2h (default: 0s)."""

    resume: Literal["auto", "always", "never"]
    """Whether to keep a failed run's work, so that the same command can continue it: always, never (remove what an
    earlier run left) or auto (keep it if the input exceeds 8 GiB or 8 million documents) (default: auto)."""

    force_unlock: bool
    """Take the lock of the output from the run that holds it; that run then stops at its next step with status 3."""

    from_: str | PathLike[str]
    """Decide again which documents of a finished output of dedup to keep, using its tables. threshold (the same or
    higher), keep, cluster, protect, drop_not_compared and write may differ. neardup reads the input only to write the
    corpus."""

    metrics_file: str | PathLike[str]
    """Write metrics to this file in Prometheus' text format, for a textfile collector (which reads *.prom), when the
    run ends, successfully or not."""

    lineage_file: str | PathLike[str]
    """Append OpenLineage events to this file, one line of JSON each: START, and COMPLETE or FAIL. OPENLINEAGE_NAMESPACE
    sets the job's namespace; without it, the namespace is neardup."""

    temp_location: str
    """"""


class Query(TypedDict, total=False):
    """Keyword arguments of `neardup.query`."""

    store_endpoint: Mapping[str, str]
    """Address of s3 or gs, as in s3=https://minio.example:9000 (default: AWS_ENDPOINT_URL_S3 and STORAGE_EMULATOR_HOST,
    or AWS and Google)."""

    s3_path_style: bool
    """Name the bucket in the path of a request, not in its host (default: only if an endpoint is set)."""

    anonymous: Literal["s3", "gs"] | Sequence[Literal["s3", "gs"]]
    """Read public buckets of s3 or gs without credentials; give a list for both."""

    requester_pays: bool
    """Pay for requests to requester-pays buckets; on Google Cloud Storage, the project in GOOGLE_CLOUD_QUOTA_PROJECT
    pays."""

    kms_key: str
    """KMS key that encrypts all that neardup writes to the output's store."""

    inputs_from: str | PathLike[str]
    """File that lists more inputs, one path per line; - is standard input."""

    include: str | Sequence[str]
    """Read only files that match, or are in a folder that matches; give a list for several patterns. A pattern without
    a slash matches any name in the path below an input folder; a pattern with a slash matches the whole path."""

    exclude: str | Sequence[str]
    """Skip files that match, or are in a folder that matches; patterns as for include."""

    format: str
    """Format of the input: json, jsonl, csv, tsv, lines, files, html, xml, parquet, reuters, warc, tar (default: by
    file name)."""

    encoding: str
    """Encoding of JSON, CSV, TSV and text files and of tar members, as named in the Encoding Standard, such as
    windows-1251, latin1, shift_jis, gbk or koi8-r. neardup reads files that are UTF-8 as UTF-8, except with utf-16le
    and utf-16be. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, assumes
    UTF-8. detect decides file by file; records of doubtful encoding are unreadable (default: utf-8)."""

    delimiter: str
    """Separator of CSV values: an ASCII character, or tab (default: ,)."""

    no_header: bool
    """Read the first line of CSV and TSV as data; text and id are then column numbers, from 1."""

    limit: int
    """Read only the first N readable documents."""

    max_doc_bytes: int | str
    """Do not compare documents whose text is larger than this or, when normalised, exceeds both this and twice its
    original size (default: 16MiB)."""

    max_window: int | str
    """Refuse a compressed file whose window, or a Parquet file whose largest page, exceeds this, because reading it
    takes that much memory (default: 128MiB)."""

    invalid_utf8: Literal["reject", "keep"]
    """Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare
    it unchanged, and its invalid parts byte by byte; needs shingle char:K or byte:K) (default: reject)."""

    min_words: int
    """Do not compare documents with fewer than N words after normalising."""

    against: str
    """Search the documents that an index lists as kept, by its buckets, instead of an input."""

    nearest: int
    """Maximum number of documents to list (default: 10)."""

    min_similarity: float
    """List only documents of at least this similarity, in (0, 1]: up to nearest of them, and their total number."""

    sort: Literal["similarity", "estimate"]
    """Ranking of the documents: similarity or, only in a search by buckets, estimate (the share of equal signature
    values or bits) (default: similarity)."""

    output: str | PathLike[str]
    """Parquet file for the result; must be new."""

    shingle: str
    """Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9
    is char:9 with hashes of 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop
    word. item takes each element of a list column as a shingle (default: word:5)."""

    normalize: str
    """Changes to texts before comparison: none, or a comma-separated list of strip-markup, default, nfkc, lower,
    strip-accents, fold-han, keep-symbols, keep-case, letters-only, digits-zero, collapse-space, no-space,
    no-stop-words:LANGUAGE and stem:LANGUAGE. default is NFKC and lower case, without punctuation, symbols, layout and
    invisible characters (shingle byte:K keeps the last two). keep-symbols keeps punctuation and symbols, and keep-case
    keeps capitals; both leave the rest of default in force, unless you list other steps. strip-markup keeps only
    visible HTML and XML text, and fold-han unifies the variants of a Han character. no-stop-words:LANGUAGE leaves out
    stop words, and stem:LANGUAGE replaces words with stems (Snowball), as in default,stem:en (default: default)."""

    method: Literal["minhash", "simhash"]
    """Way to compare documents: minhash (by Jaccard similarity, unless compare names another measure) or simhash (by
    overlap, or by cosine with compare cosine; with pieces, only documents that share a piece) (default: minhash)."""

    compare: str
    """Measure of similarity: jaccard (of shingle sets), containment (the share of the smaller shingle set that the
    larger one has), cosine (of vectors) or overlap (the share of equal bits of SimHash signatures). SimHash takes
    cosine or overlap (default: overlap for SimHash, otherwise jaccard)."""

    weights: Literal["1", "tf", "tf-idf"]
    """Weight of a shingle in a document's vector, for cosine and overlap: 1, tf (the number of its occurrences) or
    tf-idf (tf times log2(1 + N/n), where n of N documents have the shingle; neardup reads the input once more)
    (default: 1)."""

    bits: int
    """Bits of a SimHash signature, from 1 to 1024 (default: 256)."""

    pieces: int
    """Number of pieces of a SimHash signature: compare only documents with an equal piece at the same position
    (default: compare all documents)."""

    vectors: Literal["normal", "sign"]
    """Random vectors of SimHash: normal (normally distributed entries) or sign (entries 1 and -1, as in most programs;
    no guaranteed recall for cosine) (default: normal)."""

    signature: Literal["fss", "classic", "salted"]
    """Compare only documents that share a bucket, by signatures of this kind: fss, classic or salted, as for dedup.
    Without signature, bands or rows, neardup compares all documents (default with bands and rows: fss)."""

    bands: int
    """Number of bands, with rows, instead of the number that recall would choose."""

    rows: int
    """Rows per band, with bands."""

    threshold: float
    """Jaccard similarity that determines bands and rows, in (0, 1]; to shorten the list, use min_similarity (default:
    0.8)."""

    recall: float
    """Minimum probability of finding a document at threshold (default: 0.999)."""

    seed: int
    """Seed of the signature (default: 1)."""

    runner: Literal["local", "flink", "spark", "dataflow", "portable", "direct"]
    """Beam runner: local (all cores, bounded memory) or direct (Beam's own); DirectRunner means local (default:
    local)."""

    workers: int
    """Number of parallel workers; parallelism is the same (default: one per core)."""

    memory: int | str
    """Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or,
    without one, of this machine's memory)."""

    temp_dir: str | PathLike[str]
    """Folder for temporary files; temp_location is the same, but makes the folder (default: a hidden folder in or
    beside the output, or the system's temporary folder)."""


class Compare(TypedDict, total=False):
    """Keyword arguments of `neardup.compare`."""

    store_endpoint: Mapping[str, str]
    """Address of s3 or gs, as in s3=https://minio.example:9000 (default: AWS_ENDPOINT_URL_S3 and STORAGE_EMULATOR_HOST,
    or AWS and Google)."""

    s3_path_style: bool
    """Name the bucket in the path of a request, not in its host (default: only if an endpoint is set)."""

    anonymous: Literal["s3", "gs"] | Sequence[Literal["s3", "gs"]]
    """Read public buckets of s3 or gs without credentials; give a list for both."""

    requester_pays: bool
    """Pay for requests to requester-pays buckets; on Google Cloud Storage, the project in GOOGLE_CLOUD_QUOTA_PROJECT
    pays."""

    kms_key: str
    """KMS key that encrypts all that neardup writes to the output's store."""

    inputs_from: str | PathLike[str]
    """File that lists more inputs, one path per line; - is standard input."""

    include: str | Sequence[str]
    """Read only files that match, or are in a folder that matches; give a list for several patterns. A pattern without
    a slash matches any name in the path below an input folder; a pattern with a slash matches the whole path."""

    exclude: str | Sequence[str]
    """Skip files that match, or are in a folder that matches; patterns as for include."""

    format: str
    """Format of the input: json, jsonl, csv, tsv, lines, files, html, xml, parquet, reuters, warc, tar (default: by
    file name)."""

    encoding: str
    """Encoding of JSON, CSV, TSV and text files and of tar members, as named in the Encoding Standard, such as
    windows-1251, latin1, shift_jis, gbk or koi8-r. neardup reads files that are UTF-8 as UTF-8, except with utf-16le
    and utf-16be. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, assumes
    UTF-8. detect decides file by file; records of doubtful encoding are unreadable (default: utf-8)."""

    delimiter: str
    """Separator of CSV values: an ASCII character, or tab (default: ,)."""

    no_header: bool
    """Read the first line of CSV and TSV as data; text and id are then column numbers, from 1."""

    limit: int
    """Read only the first N readable documents."""

    max_doc_bytes: int | str
    """Do not compare documents whose text is larger than this or, when normalised, exceeds both this and twice its
    original size (default: 16MiB)."""

    max_window: int | str
    """Refuse a compressed file whose window, or a Parquet file whose largest page, exceeds this, because reading it
    takes that much memory (default: 128MiB)."""

    invalid_utf8: Literal["reject", "keep"]
    """Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare
    it unchanged, and its invalid parts byte by byte; needs shingle char:K or byte:K) (default: reject)."""

    min_words: int
    """Do not compare documents with fewer than N words after normalising."""

    methods: Literal["brute-force", "complete", "minhash", "bands", "signatures", "classic", "salted", "simhash", "pieces"] | Sequence[Literal["brute-force", "complete", "minhash", "bands", "signatures", "classic", "salted", "simhash", "pieces"]]
    """Ways to find the pairs: any of brute-force, complete, minhash, simhash, classic, salted, bands, signatures and
    pieces, which docs/algorithms/README.md describes. The first method listed that uses a measure is the baseline of
    that measure. Without truth, only bands, signatures or pieces may stand alone (default: brute-force,minhash)."""

    truth: str | PathLike[str]
    """Also measure each method against known pairs or clusters: a CSV or JSON Lines file as for eval truth; - is
    standard input. A method may then stand alone."""

    output: str | PathLike[str]
    """Folder for tables of the pairs and buckets, and the comparison as run.json: new or empty; with overwrite also a
    finished output."""

    write: Literal["pairs", "buckets", "candidates"] | Sequence[Literal["pairs", "buckets", "candidates"]]
    """Tables for output: pairs (the similar pairs with their similarity, if all methods use the same measure), buckets
    (the documents of each bucket of each band) and candidates (the distinct pairs that share a bucket) (default:
    all)."""

    threshold: float
    """Minimum similarity to count as near-duplicates, in (0, 1]; Jaccard similarity, unless another measure is chosen
    (default: 0.8)."""

    shingle: str
    """Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9
    is char:9 with hashes of 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop
    word. item takes each element of a list column as a shingle (default: word:5)."""

    normalize: str
    """Changes to texts before comparison: none, or a comma-separated list of strip-markup, default, nfkc, lower,
    strip-accents, fold-han, keep-symbols, keep-case, letters-only, digits-zero, collapse-space, no-space,
    no-stop-words:LANGUAGE and stem:LANGUAGE. default is NFKC and lower case, without punctuation, symbols, layout and
    invisible characters (shingle byte:K keeps the last two). keep-symbols keeps punctuation and symbols, and keep-case
    keeps capitals; both leave the rest of default in force, unless you list other steps. strip-markup keeps only
    visible HTML and XML text, and fold-han unifies the variants of a Han character. no-stop-words:LANGUAGE leaves out
    stop words, and stem:LANGUAGE replaces words with stems (Snowball), as in default,stem:en (default: default)."""

    recall: float
    """Minimum probability of finding a pair whose similarity is exactly the threshold; the probability is higher for
    pairs with a higher similarity (default: 0.999)."""

    bands: int
    """Number of bands, with rows, instead of the number that recall would choose."""

    rows: int
    """Rows per band, with bands."""

    signature: Literal["fss", "classic", "salted"]
    """Kind of signature: fss (Fast Similarity Sketching) or a slower textbook kind: classic (universal hashing of each
    shingle's number in a dictionary, for which neardup reads the input once more) or salted (SHA-1 of the shingles'
    text) (default: fss)."""

    seed: int
    """Seed of signatures and samples (default: 1)."""

    compare: str
    """Measure of similarity: jaccard (of shingle sets), containment (the share of the smaller shingle set that the
    larger one has), cosine (of vectors) or overlap (the share of equal bits of SimHash signatures). SimHash takes
    cosine or overlap (default: overlap for SimHash, otherwise jaccard)."""

    weights: Literal["1", "tf", "tf-idf"]
    """Weight of a shingle in a document's vector, for cosine and overlap: 1, tf (the number of its occurrences) or
    tf-idf (tf times log2(1 + N/n), where n of N documents have the shingle; neardup reads the input once more)
    (default: 1)."""

    bits: int
    """Bits of a SimHash signature, from 1 to 1024 (default: 256)."""

    pieces: int
    """Number of pieces of a SimHash signature; neardup compares documents with an equal piece at the same position
    (default: as many as recall needs, if you give it; otherwise 32, or neardup compares all documents if most would
    share a piece by chance)."""

    vectors: Literal["normal", "sign"]
    """Random vectors of SimHash: normal (normally distributed entries) or sign (entries 1 and -1, as in most programs;
    no guaranteed recall for cosine) (default: normal)."""

    runner: Literal["local", "flink", "spark", "dataflow", "portable", "direct"]
    """Beam runner: local (all cores, bounded memory) or direct (Beam's own), in this process; flink, spark or portable
    on a cluster, through job_server; or dataflow, for dedup and plan only. Beam's class names work too; DirectRunner
    means local (default: local)."""

    workers: int
    """Number of parallel workers; parallelism is the same (default: one per core, or the cluster's setting)."""

    memory: int | str
    """Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or,
    without one, of this machine's memory)."""

    temp_dir: str | PathLike[str]
    """Folder for temporary files; temp_location is the same, but makes the folder, except on Dataflow (default: a
    hidden folder in or beside the output, or the system's temporary folder)."""

    job_server: str
    """Beam job server of the cluster, for runner flink, spark or portable; job_endpoint is the same."""

    environment: str
    """Environment for the steps of a job on a cluster: loopback (this process), process:COMMAND (a boot program on the
    workers' machines), external:HOST:PORT (a worker pool at this address) or docker:IMAGE (default: loopback, if the
    job server is on this machine)."""

    flink_option: Mapping[str, str]
    """Option for the cluster's Beam runner, as in execution_mode_for_batch=BATCH_FORCED. The job server must know the
    option."""

    flink_rest: str
    """Flink's REST interface, which serves the web UI. neardup checks the cluster's settings before the job starts, and
    shows progress (default: port 8081 of the job server's machine, if Flink answers there)."""

    overwrite: bool
    """Replace a finished output once the new one is complete; until then the old one stays."""

    weak_overwrite: bool
    """Like overwrite, but also on an object store without conditional DELETE, such as MinIO. No other program may write
    to the output meanwhile."""

    plot: str | PathLike[str]
    """SVG file for the result as a picture; must be new."""


class Diff(TypedDict, total=False):
    """Keyword arguments of `neardup.diff`."""

    store_endpoint: Mapping[str, str]
    """Address of s3 or gs, as in s3=https://minio.example:9000 (default: AWS_ENDPOINT_URL_S3 and STORAGE_EMULATOR_HOST,
    or AWS and Google)."""

    s3_path_style: bool
    """Name the bucket in the path of a request, not in its host (default: only if an endpoint is set)."""

    anonymous: Literal["s3", "gs"] | Sequence[Literal["s3", "gs"]]
    """Read public buckets of s3 or gs without credentials; give a list for both."""

    requester_pays: bool
    """Pay for requests to requester-pays buckets; on Google Cloud Storage, the project in GOOGLE_CLOUD_QUOTA_PROJECT
    pays."""

    kms_key: str
    """KMS key that encrypts all that neardup writes to the output's store."""

    inputs_from: str | PathLike[str]
    """File that lists more inputs, one path per line; - is standard input."""

    include: str | Sequence[str]
    """Read only files that match, or are in a folder that matches; give a list for several patterns. A pattern without
    a slash matches any name in the path below an input folder; a pattern with a slash matches the whole path."""

    exclude: str | Sequence[str]
    """Skip files that match, or are in a folder that matches; patterns as for include."""

    format: str
    """Format of the input: json, jsonl, csv, tsv, lines, files, html, xml, parquet, reuters, warc, tar (default: by
    file name)."""

    encoding: str
    """Encoding of JSON, CSV, TSV and text files and of tar members, as named in the Encoding Standard, such as
    windows-1251, latin1, shift_jis, gbk or koi8-r. neardup reads files that are UTF-8 as UTF-8, except with utf-16le
    and utf-16be. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, assumes
    UTF-8. detect decides file by file; records of doubtful encoding are unreadable (default: utf-8)."""

    delimiter: str
    """Separator of CSV values: an ASCII character, or tab (default: ,)."""

    no_header: bool
    """Read the first line of CSV and TSV as data; text and id are then column numbers, from 1."""

    limit: int
    """Read only the first N readable documents."""

    max_doc_bytes: int | str
    """Do not compare documents whose text is larger than this or, when normalised, exceeds both this and twice its
    original size (default: 16MiB)."""

    max_window: int | str
    """Refuse a compressed file whose window, or a Parquet file whose largest page, exceeds this, because reading it
    takes that much memory (default: 128MiB)."""

    invalid_utf8: Literal["reject", "keep"]
    """Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare
    it unchanged, and its invalid parts byte by byte; needs shingle char:K or byte:K) (default: reject)."""

    min_words: int
    """Do not compare documents with fewer than N words after normalising."""

    measures: bool
    """Print all measures: Jaccard similarity, containment, cosine and angle, L1, L2, Hamming distance of SimHash
    signatures, and edit distance."""

    shingle: str
    """Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9
    is char:9 with hashes of 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop
    word. item takes each element of a list column as a shingle (default: word:5)."""

    normalize: str
    """Changes to texts before comparison: none, or a comma-separated list of strip-markup, default, nfkc, lower,
    strip-accents, fold-han, keep-symbols, keep-case, letters-only, digits-zero, collapse-space, no-space,
    no-stop-words:LANGUAGE and stem:LANGUAGE. default is NFKC and lower case, without punctuation, symbols, layout and
    invisible characters (shingle byte:K keeps the last two). keep-symbols keeps punctuation and symbols, and keep-case
    keeps capitals; both leave the rest of default in force, unless you list other steps. strip-markup keeps only
    visible HTML and XML text, and fold-han unifies the variants of a Han character. no-stop-words:LANGUAGE leaves out
    stop words, and stem:LANGUAGE replaces words with stems (Snowball), as in default,stem:en (default: default)."""

    weights: Literal["1", "tf"]
    """Weight of a shingle in vectors: 1 or tf (the number of its occurrences) (default: 1)."""

    bits: int
    """Bits of the SimHash signatures, from 1 to 1024 (default: 256)."""

    seed: int
    """Seed of the SimHash signatures (default: 1)."""

    runner: Literal["local", "flink", "spark", "dataflow", "portable", "direct"]
    """Beam runner: local (all cores, bounded memory) or direct (Beam's own); DirectRunner means local (default:
    local)."""

    workers: int
    """Number of parallel workers; parallelism is the same (default: one per core)."""

    memory: int | str
    """Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or,
    without one, of this machine's memory)."""

    temp_dir: str | PathLike[str]
    """Folder for temporary files; temp_location is the same, but makes the folder (default: a hidden folder in or
    beside the output, or the system's temporary folder)."""
