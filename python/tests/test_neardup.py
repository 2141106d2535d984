"""The module as its users call it, with the libraries that they have."""

import gc
import inspect
import io
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import neardup
from neardup._data import Rows

TEXTS = ["the cat sat on the mat by the door", "The cat sat on the mat, by the door.", "a dog", None, "a dog"]
KEPT = [TEXTS[0], TEXTS[2], None]
COLUMNS = {"text": TEXTS, "n": [1, 2, 3, 4, 5]}
ROOT = Path(__file__).parents[2]
TLDR = ROOT / "testdata" / "tldr"


@pytest.fixture(autouse=True)
def leaves_nothing(tmp_path, monkeypatch):
    """No test leaves a process, a temporary file or an open descriptor."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = pipes()
    yield
    assert list(temporary.iterdir()) == []
    assert pipes() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def pipes():
    """The pipes that this process has."""
    links = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    return [link for link in links if "pipe:" in link]


def pandas_frame():
    frame = pd.DataFrame(COLUMNS, index=[5, 5, 6, 7, 8])
    return frame.assign(kind=pd.Categorical(list("abaca")), short=frame["n"].astype("int8"), odd=[object()] * 5)


FRAMES = {
    "pandas": (pandas_frame, lambda frame: [None if pd.isna(text) else text for text in frame["text"]]),
    "pandas, no strings as names": (
        lambda: pd.DataFrame({"text": TEXTS, 1: 2}),
        lambda frame: [TEXTS[i] for i in frame.index],
    ),
    "pandas series": (lambda: pd.Series(TEXTS), lambda series: [TEXTS[i] for i in series.index]),
    "polars": (lambda: pl.DataFrame(COLUMNS), lambda frame: frame["text"].to_list()),
    "polars series": (lambda: pl.Series("other", TEXTS), lambda series: series.to_list()),
    "table": (lambda: pa.table(COLUMNS), lambda table: table["text"].to_pylist()),
    "batch": (lambda: pa.RecordBatch.from_pydict(COLUMNS), lambda batch: batch["text"].to_pylist()),
    "reader": (
        lambda: pa.table(COLUMNS).to_reader(max_chunksize=2),
        lambda reader: reader.read_all()["text"].to_pylist(),
    ),
    "dataset": (lambda: pyarrow.dataset.dataset(pa.table(COLUMNS)), lambda data: data.to_table()["text"].to_pylist()),
    "datasets": (lambda: datasets.Dataset.from_dict(COLUMNS), lambda data: list(data["text"])),
    "streamed": (
        lambda: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(num_shards=2),
        lambda data: [row["text"] for row in data],
    ),
    "list": (lambda: list(TEXTS), lambda rows: rows),
    "tuple": (lambda: tuple(TEXTS), list),
    "iterator": (lambda: iter(TEXTS), list),
    "dictionaries": (
        lambda: [{"text": text, "odd": object()} for text in TEXTS],
        lambda rows: [row["text"] for row in rows],
    ),
}


VIEWS = pa.array(TEXTS, pa.string_view())
DICTIONARY = pa.DictionaryArray.from_arrays(
    pa.array([0, 1, 2, None, 2], pa.uint32()), pa.array(["a", "b", "c"], pa.string_view())
)
FRAMES |= {
    "views": (lambda: pa.table({"text": VIEWS, "n": VIEWS}), lambda table: table["text"].to_pylist()),
    "reader of views": (
        lambda: pa.table({"text": VIEWS}).to_reader(max_chunksize=2),
        lambda reader: reader.read_all()["text"].to_pylist(),
    ),
    "polars categorical": (
        lambda: pl.DataFrame({"text": TEXTS}, schema={"text": pl.Categorical}),
        lambda frame: frame["text"].to_list(),
    ),
    "polars enum": (
        lambda: pl.Series(TEXTS, dtype=pl.Enum(TEXTS[:3])),
        lambda series: series.to_list(),
    ),
    "pandas categorical": (
        lambda: pd.Series(TEXTS).astype("category"),
        lambda series: [TEXTS[i] for i in series.index],
    ),
}


SHORTER = {
    "reader of views": lambda reader: pa.table({"text": VIEWS})[:2].to_reader(),
    "reader": lambda reader: pa.table(COLUMNS)[:2].to_reader(),
    "dataset": lambda data: pyarrow.dataset.dataset(pa.table(COLUMNS)[:2]),
    "datasets": lambda data: data.select([0, 1]),
    "streamed": lambda data: data.take(2),
    "iterator": lambda rows: iter(TEXTS[:2]),
}


@pytest.mark.parametrize("name", FRAMES)
def test_filter(name):
    make, texts = FRAMES[name]
    result = neardup.dedup(make())
    data = make()
    left = result.filter(data)
    assert type(left) is type(data) or name in ("iterator", "dataset")
    assert texts(left) == KEPT
    assert result.removed.to_arrow()["reason"].to_pylist() == ["equal", "identical"]
    other = SHORTER.get(name, lambda data: data[:2])(make())
    with pytest.raises(ValueError, match=r"the run read 5 rows, but data has .; give the same data"):
        texts(result.filter(other))


def test_from(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one two three four five six\none two three four five seven\nanother text of other words\n")
    first = neardup.dedup(path, tmp_path / "first", threshold=0.3, format="lines")
    again = neardup.dedup(None, tmp_path / "again", from_=first.path, threshold=0.9)
    assert (len(first.removed), len(again.removed)) == (1, 0)
    high = neardup.dedup(path, tmp_path / "high", threshold=0.9, format="lines")
    assert neardup.dedup(None, from_=high.path).summary["parameters"]["threshold"] == 0.9
    with pytest.raises(neardup.Error, match="text"):
        neardup.dedup(None, from_=first.path, text="title")
    with pytest.raises(TypeError, match="give either data or from_"):
        neardup.dedup(path, from_=first.path)


def test_filter_keeps_columns_and_types():
    frame = pandas_frame()
    left = neardup.dedup(frame).filter(frame)
    pd.testing.assert_frame_equal(left, frame.iloc[[0, 2, 3]])
    data = datasets.Dataset.from_dict(COLUMNS).select([4, 3, 2, 1, 0])  # whose rows lie in another order
    left = neardup.dedup(data).filter(data)
    assert left["n"][:] == [5, 4, 2] and left.features == data.features


def test_types_that_parquet_lacks(tmp_path):
    frame = pl.DataFrame(COLUMNS).with_columns(kind=pl.Series(list("abaca"), dtype=pl.Enum(list("abc"))))
    result = neardup.dedup(frame, tmp_path / "out", match="kind=equal")
    assert pq.read_table(result.path / "corpus")["kind"].to_pylist() == result.filter(frame)["kind"].to_list()
    table = pa.table({"text": TEXTS, "kind": DICTIONARY})
    corpus = pq.read_table(neardup.dedup(table, tmp_path / "table").path / "corpus")["kind"]
    assert corpus.type.index_type and corpus.to_pylist() == ["a", "c", None]
    runs = pa.RunEndEncodedArray.from_arrays([5], ["a"])
    for odd in (runs, pa.ListArray.from_arrays(range(6), DICTIONARY)):
        table = pa.table({"text": TEXTS, "odd": odd})
        with pytest.raises(TypeError, match="Parquet has no type for column 'odd', which is"):
            neardup.dedup(table, tmp_path / "odd")
    table = pa.table({"text": TEXTS, "odd": runs})
    with pytest.raises(TypeError, match="pyarrow cannot filter column 'odd', which is run_end_encoded"):
        neardup.dedup(table).filter(table)


def test_filter_drops_what_the_corpus_lacks(tmp_path):
    rows = [{"text": "one of many words"}, {"text": {}}, {"text": ""}, {"text": "another one"}]
    result = neardup.dedup(rows, max_rejected=1, drop_not_compared=True)
    assert result.filter(rows) == [rows[0], rows[3]]
    result = neardup.dedup(rows, max_rejected=1, limit=2)
    assert result.filter(rows) == [rows[0], rows[2]]
    corpus = neardup.dedup(rows, tmp_path / "out", max_rejected=1).path / "corpus" / "stdin.jsonl"
    assert [json.loads(line) for line in corpus.read_text().splitlines()] == [rows[0], rows[2], rows[3]]


def test_half_a_surrogate_pair():
    texts = ["good \ud800 words", "good \ud800 words", "others"]
    assert neardup.dedup(texts, invalid_utf8="keep", shingle="char:9").filter(texts) == texts[::2]


def test_nan_is_null(tmp_path):
    nan = float("nan")
    rows = [{"text": "one text", "n": nan}, {"text": "ONE text", "n": 1.5}, {"text": nan, "n": [float("inf")]}]
    assert neardup.dedup(rows).filter(rows) == [rows[0], rows[2]]
    corpus = neardup.dedup(rows, tmp_path / "out").path / "corpus" / "stdin.jsonl"
    kept = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert kept == [{"text": "one text", "n": None}, {"text": None, "n": [None]}]


def test_output_has_whole_rows(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    result = neardup.dedup(frame, tmp_path / "out")
    pd.testing.assert_frame_equal(pd.read_parquet(result.path / "corpus"), result.filter(frame).reset_index(drop=True))
    with pytest.raises(
        neardup.Error, match="already contains a finished output; use overwrite to replace it"
    ) as caught:
        neardup.dedup(frame, tmp_path / "out")
    assert caught.value.status == 3
    neardup.dedup(frame, tmp_path / "out", overwrite=True)


def test_paths(tmp_path):
    result = neardup.dedup(TLDR, tmp_path / "out")
    assert (len(result.pairs), len(result.removed), len(result.clusters)) == (105, 97, 185)
    assert "2758 records, 97 removed, 2661 kept" in repr(result) and "105 rows" in repr(result.pairs)
    assert result.summary["counts"]["near"] == 94
    assert result.pairs.to_arrow().to_pylist() == list(result.pairs)
    assert pl.DataFrame(result.pairs).equals(result.pairs.to_polars())
    assert "srcdoc=" in result.report._repr_html_() and result.report.path.exists()
    with pytest.raises(TypeError, match=r"but the run read files; the kept rows are in .*/out/corpus"):
        result.filter(TLDR)
    files = [TLDR / "osx.jsonl", TLDR / "linux.jsonl"]
    assert neardup.dedup(files).summary["input"]["files"] == 2


@pytest.fixture(scope="session")
def lake_program(tmp_path_factory):
    """The stores that Go's tests have."""
    program = tmp_path_factory.mktemp("lake") / "lake"
    subprocess.run(["go", "build", "-o", program, "./bench/lake"], cwd=ROOT, check=True)
    return program


@pytest.fixture
def store(lake_program):
    """The variables by which an S3 store is reached. It has the bucket "lake"."""
    anywhere = ("-s3", "127.0.0.1:0", "-gs", "127.0.0.1:0")
    with subprocess.Popen(
        [lake_program, *anywhere, "-bucket", "lake", "-put", f"{TLDR}=lake/in"], stdout=subprocess.PIPE, text=True
    ) as lake:
        try:
            yield dict(word.split("=", 1) for word in lake.stdout.readline().split())
        finally:
            lake.terminate()


@pytest.mark.parametrize("said", [False, True])
def test_store(store, monkeypatch, said):
    endpoint = store.pop("AWS_ENDPOINT_URL_S3")
    how = {"store_endpoint": {"s3": endpoint}} if said else {}
    if not said:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    result = neardup.dedup("s3://lake/in", "s3://lake/out", **how)
    here = neardup.dedup(TLDR)
    for table in ("pairs", "clusters", "removed", "rejected"):
        assert getattr(result, table).to_arrow().equals(getattr(here, table).to_arrow())
    assert "s3://lake/out/report.html" in repr(result.report) and "srcdoc=" in result.report._repr_html_()
    frame = pd.DataFrame(COLUMNS)
    result = neardup.dedup(frame, "s3://lake/frame", **how)
    pd.testing.assert_frame_equal(result.filter(frame), neardup.dedup(frame).filter(frame))


@pytest.mark.parametrize(
    "use",
    [
        lambda dataset: dataset,
        lambda dataset: dataset.filter(pyarrow.dataset.field("position") > 1),
        lambda dataset: dataset.scanner(columns=["id"]),
        lambda dataset: next(dataset.get_fragments()),
        lambda dataset: pyarrow.dataset.dataset([dataset]),
    ],
)
def test_temporary_output_lives_with_its_datasets(use, tmp_path):
    rows = use(neardup.dedup(TEXTS).removed.dataset())
    gc.collect()
    assert rows.to_table().num_rows == 2
    del rows
    until = time.monotonic() + 20
    while list((tmp_path / "temporary").iterdir()):  # a thread of pyarrow may hold the files for some milliseconds
        assert time.monotonic() < until
        time.sleep(0.01)


def test_pickled_dataset():
    result = neardup.dedup(TEXTS)
    assert pickle.loads(pickle.dumps(result.removed.dataset())).count_rows() == 2


def test_columns():
    frame = pd.DataFrame({"body": TEXTS, "title": "a word", "key": list("abcde")})
    assert neardup.dedup(frame, text=["title", "body"], id="key").removed.to_pandas()["id"].tolist() == ["b", "e"]
    assert neardup.dedup(frame, text="body", keep="max:key").filter(frame)["key"].tolist() == ["b", "d", "e"]
    nested = pa.table({"a": [{"b": text} for text in TEXTS]})
    assert neardup.dedup(nested, text="a.b").filter(nested).num_rows == 3
    with pytest.raises(ValueError, match="there is no column 'boddy'; did you mean 'body'"):
        neardup.dedup(frame, text="boddy")


RULED = {"title": ["one and the same text"] * 4, "key": ["a", "b", "a", None], "day": [1, 1, 2, 3]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pa.table(columns).to_pylist()])
@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"text": "title", "match": "key=equal"}, [0, 1, 3]),
        ({"text": "title", "match": ["key=equal,missing-ok"]}, [0, 1]),
        ({"text": "title", "match": ("key=different", "day=within:1")}, [0, 2, 3]),
        ({"text": "title", "match": "key=equal", "keep": ["max:day", "longest"]}, [1, 2, 3]),
        ({"match": "title=char:3,.9", "keep": "prefer:curated/*"}, [0]),
        ({"match": ["title=char:3,.9", "key=equal"]}, [0, 1, 3]),
    ],
)
def test_columns_of_options(make, options, kept):
    """neardup gets the columns that options name. Rules of similarity are the whole comparison if text is not given."""
    data = make(RULED | {"row": range(4)})
    assert pl.DataFrame(neardup.dedup(data, **options).filter(data))["row"].to_list() == kept
    assert neardup.plan(data, **options)["forecast"]["documents"] == 4


def test_columns_that_are_missing():
    frame = pd.DataFrame(RULED)
    for options, message in (
        ({"text": "title", "match": "kye=equal"}, "'kye'; did you mean 'key'"),
        ({"text": "title", "keep": "min:kye"}, "'kye'; did you mean 'key'"),
        ({"text": "title", "id": "number"}, "'number'; the columns are title, key, day"),
        ({"match": "key=equal"}, "'text'; set text; the columns are title, key, day"),
    ):
        with pytest.raises(ValueError, match=f"there is no column {message}"):
            neardup.dedup(frame, **options)
    for rule, message in (("title=chr:3,.9", "is not a rule"), ("title", "name a column and its rule")):
        with pytest.raises(neardup.Error, match=message):
            neardup.dedup(frame, match=rule)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"treshold": 0.7}, TypeError, "no keyword argument 'treshold'; did you mean 'threshold'?"),
        ({"zebra": 1}, TypeError, "no keyword argument 'zebra'; see help(neardup.dedup)"),
        ({"threshold": "high"}, TypeError, "threshold must be a number, not 'high'"),
        ({"method": "minhsh"}, ValueError, "complete or exact, not 'minhsh'; did you mean 'minhash'?"),
        ({"write": ["pairs", "corpse"]}, ValueError, "not 'corpse'; did you mean 'corpus'?"),
        ({"overwrite": 1}, TypeError, "overwrite must be True or False, not 1"),
        ({"bands": 2.5}, TypeError, "bands must be a whole number, not 2.5"),
        ({"format": "csv"}, TypeError, "format is only for files"),
        ({"threshold": 7}, neardup.Error, "threshold 7: must be above 0 and at most 1; see help(neardup.dedup)"),
        ({"shingle": "word:x"}, neardup.Error, "shingle"),
    ],
)
def test_mistakes(arguments, error, message):
    def endless():
        while True:
            yield "a text"

    with pytest.raises(error) as caught:
        neardup.dedup(endless(), **arguments)
    assert message in str(caught.value)
    if error is neardup.Error:
        assert caught.value.status == 2 and "--" not in str(caught.value)


def test_commands_in_messages(tmp_path):
    with pytest.raises(neardup.Error, match=r"neardup export .*/out --table rejected --format csv"):
        neardup.dedup([{"id": "a", "text": None}], output=tmp_path / "out")


def test_messages_name_no_removed_folder(tmp_path, monkeypatch):
    command = "give output=OUTPUT, then neardup export OUTPUT --table rejected"
    with pytest.raises(neardup.Error, match=command) as caught:
        neardup.dedup([{"id": "a", "text": None}])
    assert caught.value.status == 4 and str(tmp_path) not in str(caught.value)
    with pytest.raises(TypeError, match="give output=OUTPUT, and read the kept rows in OUTPUT/corpus"):
        neardup.dedup(TLDR).filter(TLDR)
    failing = """#!/bin/sh
for word; do case $word in --output=*) printf '{"error": "write %s/a: full; free space"}' "${word#*=}" ;; esac; done
exit 1
"""
    (tmp_path / "neardup").write_text(failing)
    (tmp_path / "neardup").chmod(0o755)
    monkeypatch.setattr("neardup._process.binary", lambda: str(tmp_path / "neardup"))
    with pytest.raises(neardup.Error, match=f"^write the temporary output in {tmp_path}/temporary: full; free space$"):
        neardup.dedup(TEXTS)


def test_other_data():
    for data, message in (
        (
            datasets.DatasetDict(train=datasets.Dataset.from_dict(COLUMNS)),
            r"give one of its splits, as in data\['train'\]",
        ),
        (b"text", "data is of type bytes; give a path"),
        (3, "data is of type int;"),
        ({"a": 1}, "data is of type dict; give a path"),
        (pl.LazyFrame(COLUMNS), "data is of type polars.LazyFrame"),
        ([3], "row 0 is of type int; give texts or dictionaries"),
    ):
        with pytest.raises(TypeError, match=message):
            neardup.dedup(data)


def test_saved_dataset(tmp_path):
    saved = tmp_path / "saved"
    datasets.Dataset.from_dict(COLUMNS).save_to_disk(saved)
    left = neardup.dedup(saved).filter(saved)
    assert isinstance(left, datasets.Dataset) and list(left["text"]) == KEPT
    said = subprocess.run(["neardup", saved, "--dry-run"], capture_output=True, text=True).stderr
    assert "neardup does not read datasets that save_to_disk wrote" in said
    subprocess.run([sys.executable, "-c", said.split("python -c '")[1].split("'")[0]], check=True, capture_output=True)
    assert pq.read_table(f"{saved}.parquet").num_rows == 5


def test_large_rows_are_bounded_groups():
    written = io.BytesIO()
    Rows(pa.table({"text": ["x" * (1 << 20)] * 40, "n": range(40)}), ["text"], ["id"], whole=False).write(written)
    file = pq.ParquetFile(written).metadata
    assert [file.row_group(i).num_rows for i in range(file.num_row_groups)] == [5] * 8
    assert file.schema.names == ["text"]


@pytest.mark.parametrize("whole", [False, True])
def test_large_dictionaries_are_few_groups(whole):
    texts = pa.array([f"{number:09}" * 1000 for number in range(2000)]).dictionary_encode()
    written = io.BytesIO()
    Rows(pa.table({"text": texts, "same": texts}), ["text"], ["id"], whole).write(written)
    assert pq.ParquetFile(written).metadata.num_row_groups == 4


def test_other_commands(tmp_path):
    assert neardup.query(TLDR, "osx/as", nearest=1)["neighbours"][0]["id"] == "linux/as"
    nearest = neardup.query(
        pl.DataFrame({"text": [text or "" for text in TEXTS]}), document="the cat sat on the mat", nearest=2
    )
    assert nearest.to_pandas()["position"].tolist() == [0, 1]
    assert neardup.compare(TLDR, methods=["minhash", "complete"]).to_polars()["recall"].to_list() == [1, 1]
    assert neardup.plan(TEXTS)["forecast"]["documents"] == 5
    texts = neardup.diff("one two three", "one two four", measures=True)
    assert texts["b"]["name"] == "b" and texts.to_arrow().num_rows == 10
    (tmp_path / "a.txt").write_text("one two three")
    assert neardup.diff(tmp_path / "a.txt", tmp_path / "a.txt")["similarity"] == 1
    assert neardup.diff("linux/as", "osx/as", TLDR)["shared"] == 90
    hyphens = [{"id": "-a", "text": "one two three"}, {"id": "--b", "text": "one two four"}]
    assert neardup.diff("-a", "--b", hyphens)["only_b"] == ["four"]
    compared = neardup.compare(TLDR, methods=["minhash", "bands"]).to_polars()
    assert compared["buckets"].is_null().to_list() == [True, False]
    with pytest.raises(TypeError, match="did you mean 'nearest'"):
        neardup.query(TLDR, "osx/as", neares=1)
    with pytest.raises(TypeError, match=r"give either of \(an id\) or document \(a text\)"):
        neardup.query(TLDR)
    with pytest.raises(neardup.Error, match=r"^document: the text has no tokens"):
        neardup.query(TLDR, document="")
    for data in ("word " * 3000, "a\0b"):
        with pytest.raises(ValueError, match="cannot be a path; give texts as a list"):
            neardup.dedup(data)


def test_answers_without_rows():
    nothing = neardup.query(TEXTS, document="zebra")
    assert nothing["of"] == "document"
    found = neardup.query(TEXTS, document="the cat sat on the mat")
    assert nothing.to_arrow().num_rows == 0 and nothing.to_arrow().schema == found.to_arrow().schema
    measured = neardup.diff("one two", "one three", measures=True)
    assert neardup.diff("one two", "one three").to_arrow().schema == measured.to_arrow().schema


def test_signature():
    assert {"output", "threshold", "keep", "max_removed"} <= inspect.signature(neardup.dedup).parameters.keys()


def test_logging(caplog):
    with caplog.at_level(logging.INFO, "neardup"):
        neardup.plan(TLDR)
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert any("documents are too short" in message for message in warnings)


def slowly(begun):
    """Texts that have no end, and say when the program reads them."""
    for number in range(1 << 40):
        if number == 100_000:
            begun.set()
        yield f"text {number} of many"


def test_error_of_an_iterator(tmp_path):
    def broken():
        yield from ["a text"] * 100_000
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        neardup.dedup(broken(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def left_in(folder):
    """The names that a run has left, of which run.json says that it was interrupted."""
    return [path.name for path in folder.rglob("*") if path.name not in ("out", "in.jsonl", "temporary")]


@pytest.mark.parametrize("fed", [True, False])
def test_interrupt(tmp_path, fed):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started Python to ignore it
    begun = threading.Event()
    data = slowly(begun)
    if not fed:
        data = tmp_path / "in.jsonl"
        data.write_text("".join(f'{{"text": "text {i} of {i * i} and {i * i * i} more"}}\n' for i in range(300_000)))
        threading.Timer(0.7, begun.set).start()
    threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
    with pytest.raises(KeyboardInterrupt):
        neardup.dedup(data, tmp_path / "out", signature="salted", workers=1)
    assert left_in(tmp_path) in ([], ["run.json"])


def test_killed(tmp_path):
    """The program ends with the process that called it, whatever ends that."""
    code = "import neardup, itertools; neardup.dedup(itertools.repeat('a text'), 'out')"
    python = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)

    def reading():
        """The program once it has begun to read the texts: what it reads before is smaller."""
        found = subprocess.run(["pgrep", "-P", str(python.pid)], capture_output=True, text=True).stdout.split()
        process = Path("/proc") / found[0] if found else None
        return process if process and int((process / "io").read_text().split()[1]) > 4 << 20 else None

    until = time.monotonic() + 60
    while not (program := reading()):
        assert time.monotonic() < until
        time.sleep(0.05)
    python.kill()
    python.wait()
    while program.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    assert left_in(tmp_path) in ([], ["run.json"])


def test_program_killed(monkeypatch, tmp_path):
    (tmp_path / "neardup").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "neardup").chmod(0o755)
    monkeypatch.setattr("neardup._process.binary", lambda: str(tmp_path / "neardup"))
    with pytest.raises(neardup.Error, match="SIGKILL ended neardup; if it ran out of memory") as caught:
        neardup.dedup(TEXTS)
    assert caught.value.status == 137


def test_threads():
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(lambda text: neardup.dedup([*TEXTS, text], workers=1), ["a dog", "new", "a dog", "old"])
        )
    assert [len(result.removed) for result in results] == [3, 2, 3, 2]


def test_progress_on_terminal(tmp_path):
    """A run on a terminal shows a line that is written over, and in the end none."""
    texts = ["".join(f"{i * j} " for j in range(100)) for i in range(10_000)]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    code = "import neardup; neardup.dedup('in.txt', format='lines', signature='salted', workers=1)"
    reading, writing = os.openpty()
    python = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=writing, close_fds=True)
    os.close(writing)
    shown = b""
    try:
        while more := os.read(reading, 4096):
            shown += more
    except OSError:  # the terminal is closed
        pass
    os.close(reading)
    assert python.wait() == 0
    assert b"\r[=" in shown and b" %" in shown and b"\n" not in shown and shown.endswith(b" \r")
