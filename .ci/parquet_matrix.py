"""Writes Parquet files with many writers, and checks neardup's copies of them.

    parquet_matrix.py small DIR           a few small files, one per codec and page version: testdata/parquet
    parquet_matrix.py all DIR             every writer, codec, encoding and page version
    parquet_matrix.py check DIR COPIES    the rows of each COPIES/NAME are those of DIR/NAME whose number is not a multiple of 3
"""

import datetime
import decimal
import math
import pathlib
import random
import sys

import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet

WORDS = "the quick brown fox jumps over a lazy dog Größe 東京 naïve".split()


def table(rows):
    """Returns a table with every type, including nulls, empty lists and extreme values."""
    rng = random.Random(rows)
    pick = lambda values: [rng.choice(values) for _ in range(rows)]
    text = lambda n: " ".join(rng.choice(WORDS) for _ in range(rng.randrange(n)))
    day = datetime.date(2026, 11, 20)
    moment = datetime.datetime(2026, 11, 20, 12, 30, 15, 123456)
    columns = {
        "id": pyarrow.array([f"id-{i}" for i in range(rows)]),
        "text": pyarrow.array([None if rng.random() < 0.1 else text(30) for _ in range(rows)]),
        "label": pyarrow.array(pick(["a", "b", None, "much longer"])).dictionary_encode(),
        "flag": pyarrow.array(pick([True, False, None])),
        "always": pyarrow.array([True] * rows),
        "i8": pyarrow.array(pick([-128, 127, None]), pyarrow.int8()),
        "u16": pyarrow.array(pick([0, 65535, None]), pyarrow.uint16()),
        "i32": pyarrow.array(pick([-(2**31), 2**31 - 1, 0, None]), pyarrow.int32()),
        "u32": pyarrow.array(pick([2**32 - 1, 7]), pyarrow.uint32()),
        "i64": pyarrow.array([None if i % 7 == 0 else i * i * 1_000_003 - 5 for i in range(rows)], pyarrow.int64()),
        "u64": pyarrow.array(pick([2**64 - 1, 1]), pyarrow.uint64()),
        "f32": pyarrow.array(pick([1.5, -0.0, math.inf, None]), pyarrow.float32()),
        "f64": pyarrow.array([rng.random() if i % 5 else math.nan for i in range(rows)], pyarrow.float64()),
        "blob": pyarrow.array([None if rng.random() < 0.2 else rng.randbytes(rng.randrange(9)) for _ in range(rows)]),
        "decimal": pyarrow.array(pick([decimal.Decimal("-1.25"), decimal.Decimal("12345.67"), None]), pyarrow.decimal128(12, 2)),
        "date": pyarrow.array([day + datetime.timedelta(days=rng.randrange(-40000, 40000)) for _ in range(rows)]),
        "time": pyarrow.array(pick([datetime.time(1, 2, 3, 4), None]), pyarrow.time64("us")),
        "ms": pyarrow.array(pick([moment.replace(microsecond=7000), None]), pyarrow.timestamp("ms")),
        "us": pyarrow.array([moment + datetime.timedelta(seconds=rng.randrange(10**6)) for _ in range(rows)], pyarrow.timestamp("us", "UTC")),
        "tags": pyarrow.array([None if rng.random() < 0.1 else [rng.choice(WORDS + [None]) for _ in range(rng.randrange(4))] for _ in range(rows)], pyarrow.list_(pyarrow.string())),
        "meta": pyarrow.array([None if rng.random() < 0.2 else {"title": text(5), "year": rng.choice([None, 2026])} for _ in range(rows)], pyarrow.struct([("title", pyarrow.string()), ("year", pyarrow.int32())])),
        "turns": pyarrow.array([[{"role": "user", "content": text(4)} for _ in range(rng.randrange(3))] for _ in range(rows)], pyarrow.list_(pyarrow.struct([("role", pyarrow.string()), ("content", pyarrow.string())]))),
        "deep": pyarrow.array([[[i, None]] * rng.randrange(3) + [None, []] for i in range(rows)], pyarrow.list_(pyarrow.list_(pyarrow.int32()))),
        "map": pyarrow.array([[(w, rng.random()) for w in rng.sample(WORDS, rng.randrange(4))] for _ in range(rows)], pyarrow.map_(pyarrow.string(), pyarrow.float64())),
    }
    return pyarrow.table(columns)


def only_arrow(t):
    """Returns columns of types that other writers do not write."""
    rows = t.num_rows
    return (
        t.append_column("f16", pyarrow.array([i / 8 for i in range(rows)], pyarrow.float16()))
        .append_column("none", pyarrow.nulls(rows))
        .append_column("wide", pyarrow.array([decimal.Decimal(i) / 8 for i in range(rows)], pyarrow.decimal256(50, 10)))
        .append_column("fixed", pyarrow.array([bytes([i % 251] * 5) for i in range(rows)], pyarrow.binary(5)))
        .append_column("ns", pyarrow.array([i * 10**15 + i for i in range(rows)], pyarrow.timestamp("ns")))
        .append_column("large", pyarrow.array([WORDS[i % len(WORDS)] * (i % 4) for i in range(rows)], pyarrow.large_string()))
        .replace_schema_metadata({"owner": "me", "note": "kept"})
    )


ENCODINGS = {
    "plain": {"use_dictionary": False},
    "dictionary": {},
    "delta": {"use_dictionary": False, "column_encoding": {
        "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "u32": "DELTA_BINARY_PACKED", "date": "DELTA_BINARY_PACKED", "us": "DELTA_BINARY_PACKED", "deep.list.element.list.element": "DELTA_BINARY_PACKED",
        "id": "DELTA_BYTE_ARRAY", "text": "DELTA_LENGTH_BYTE_ARRAY", "tags.list.element": "DELTA_BYTE_ARRAY", "blob": "DELTA_BYTE_ARRAY", "flag": "RLE"}},
    "split": {"use_dictionary": False, "column_encoding": {
        "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT", "i32": "BYTE_STREAM_SPLIT", "i64": "BYTE_STREAM_SPLIT", "decimal": "BYTE_STREAM_SPLIT", "f16": "BYTE_STREAM_SPLIT", "map.key_value.value": "BYTE_STREAM_SPLIT"}},
}
ARROW_CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
DUCKDB_CODECS = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"]
POLARS_CODECS = ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]


def arrow(path, t, codec, version, encoding, **more):
    options = dict(ENCODINGS[encoding])
    options.update(compression=codec, data_page_version=version, data_page_size=256, write_batch_size=8, dictionary_pagesize_limit=2 << 10,
                   row_group_size=max(1, t.num_rows * 2 // 5), **more)
    pyarrow.parquet.write_table(t, path, **options)


def small(out):
    t = only_arrow(table(60))
    for codec in ARROW_CODECS:
        for version in ("1.0", "2.0"):
            encoding = {"none": "delta", "snappy": "dictionary", "gzip": "split", "brotli": "plain", "zstd": "dictionary", "lz4": "plain"}[codec]
            arrow(out / f"pyarrow-{codec}-{version[0]}.parquet", t, codec, version, encoding, write_page_index=codec in ("zstd", "gzip"), write_page_checksum=codec == "snappy")
    arrow(out / "pyarrow-legacy.parquet", only_arrow(table(60)), "snappy", "1.0", "dictionary", use_deprecated_int96_timestamps=True, use_compliant_nested_type=False)
    arrow(out / "pyarrow-fallback.parquet", table(400).select(["text"]), "none", "2.0", "dictionary")  # plain pages after the dictionary
    write_duckdb(out / "duckdb-zstd-2.parquet", table(60), "zstd", "v2")
    polars.from_arrow(table(60).drop_columns(["map"])).write_parquet(out / "polars-small.parquet", compression="zstd", row_group_size=25)


def write_duckdb(path, t, codec, version):
    duckdb.register("t", t)
    duckdb.sql(f"COPY t TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")


def everything(out):
    t = only_arrow(table(2000))
    for codec in ARROW_CODECS:
        for version in ("1.0", "2.0"):
            for encoding in ENCODINGS:
                for index in (False, True):
                    arrow(out / f"pyarrow-{codec}-{encoding}-{version[0]}{'-index' if index else ''}.parquet", t, codec, version, encoding, write_page_index=index, write_page_checksum=index)
            arrow(out / f"pyarrow-{codec}-legacy-{version[0]}.parquet", t, codec, version, "dictionary", use_deprecated_int96_timestamps=True, use_compliant_nested_type=False)
    for codec in DUCKDB_CODECS:
        for version in ("v1", "v2"):
            write_duckdb(out / f"duckdb-{codec}-{version}.parquet", table(2000), codec, version)
    for codec in POLARS_CODECS:
        polars.from_arrow(table(2000).drop_columns(["map"])).write_parquet(out / f"polars-{codec}.parquet", compression=codec, row_group_size=900, data_page_size=4096)


def same(a, b):
    """Returns whether two tables are equal; NaN equals NaN."""
    if a.schema != b.schema or a.schema.metadata != b.schema.metadata or a.num_rows != b.num_rows:
        return False
    plain = lambda c: c.cast(pyarrow.int64()) if c.type == pyarrow.timestamp("ns") else c  # beyond the range of Python's times
    return all(repr(plain(a[c]).to_pylist()) == repr(plain(b[c]).to_pylist()) for c in a.schema.names)


def schema(path):
    """Returns the schema as text, with field ids and logical types, but without the address at its beginning."""
    f = pyarrow.parquet.ParquetFile(path)
    return str(f.schema).split("\n", 1)[1], str(f.schema_arrow), f.metadata.metadata, f.metadata.created_by


def check(source, copies):
    checked = 0
    for path in sorted(source.glob("*.parquet")):
        t = pyarrow.parquet.read_table(path)
        want = t.filter(pyarrow.array([i % 3 != 0 for i in range(t.num_rows)]))
        got = pyarrow.parquet.read_table(copies / path.name)
        if not same(got, want):
            sys.exit(f"parquet_matrix.py: {path.name}: pyarrow reads other rows than it should")
        if schema(path) != schema(copies / path.name):
            sys.exit(f"parquet_matrix.py: {path.name}: the schema is another")
        checked += 1
        names = [c for c in t.schema.names if c not in ("map", "wide", "f16", "none")]
        try:
            a = polars.read_parquet(path, columns=names).with_row_index("#").filter(polars.col("#") % 3 != 0).drop("#")
        except polars.exceptions.ComputeError as error:
            print(f"{path.name}: Polars does not read the source: {error}")
        else:
            if not a.equals(polars.read_parquet(copies / path.name, columns=names)):
                sys.exit(f"parquet_matrix.py: {path.name}: Polars reads other rows than it should")
        columns = [f.name for f in t.schema if f.type not in (pyarrow.float16(), pyarrow.decimal256(50, 10))]
        names = ", ".join(f'CAST("{c}" AS VARCHAR)' for c in columns)
        query = f"SELECT {names} FROM read_parquet('{{}}', file_row_number = true) {{}}"
        try:
            a = duckdb.sql(query.format(path, "WHERE file_row_number % 3 <> 0")).fetchall()
        except duckdb.Error as error:
            print(f"{path.name}: DuckDB does not read the source: {error}")
        else:
            b = duckdb.sql(query.format(copies / path.name, "")).fetchall()
            if repr(a) != repr(b):
                sys.exit(f"parquet_matrix.py: {path.name}: DuckDB reads other rows than it should")
    print(f"{checked} files: the rows of each copy are equal in pyarrow, Polars and DuckDB")


def main():
    command, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    if command == "check":
        check(out, pathlib.Path(sys.argv[3]))
    else:
        {"small": small, "all": everything}[command](out)


main()
