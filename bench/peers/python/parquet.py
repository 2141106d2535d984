"""Writes the documents of a JSON Lines file as Parquet: parquet.py WRITER FROM TO."""

import json
import sys

writer, source, target = sys.argv[1:]

if writer == "duckdb-zstd":  # one row group, in pages of 100 MB
    import duckdb

    duckdb.execute(
        "copy (select * from read_json(?, format='newline_delimited', columns={id: 'varchar', text: 'varchar'})) "
        f"to '{target}' (format parquet, compression zstd, row_group_size 1000000)",
        [source],
    )
else:  # row groups of 10,000 documents, in pages of 1 MB
    import pyarrow
    import pyarrow.parquet

    with open(source, encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    table = pyarrow.table({name: [d[name] for d in documents] for name in ("id", "text")})
    pyarrow.parquet.write_table(
        table, target, row_group_size=10_000, compression=writer.removeprefix("pyarrow-")
    )
