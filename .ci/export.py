#!/usr/bin/env python3
"""Compares the output of neardup export with the Parquet files: CSV, JSON Lines and views have the same rows.

    export.py NEARDUP OUTPUT
"""

import csv
import json
import pathlib
import subprocess
import sys

import duckdb

binary, output = sys.argv[1:]


def export(*args):
    return subprocess.run([binary, "export", output, *args, "-o", "-"], check=True, capture_output=True, text=True).stdout


def text(value):
    """Returns a value as written in CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


db = duckdb.connect()
db.execute(export("--format", "sql"))
for table in ["pairs", "clusters", "removed"]:
    want = db.execute(f"SELECT * FROM read_parquet('{output}/{table}/*.parquet')").fetchall()
    assert want, f"{table} is empty: this shows nothing"
    assert db.execute(f"FROM {table}").fetchall() == want, f"view {table}"
    rows = [json.loads(line) for line in export("--format", "jsonl", "--table", table).splitlines()]
    columns = [c[0] for c in db.execute(f"DESCRIBE {table}").fetchall()]
    assert [tuple(row.values()) for row in rows] == want and all(list(row) == columns for row in rows), f"{table}.jsonl"
    lines = list(csv.reader(export("--format", "csv", "--table", table).splitlines(keepends=True)))
    assert lines[0] == columns and len(lines) == len(want) + 1, f"{table}.csv"
    for line, row in zip(lines[1:], want):
        for value, wanted in zip(line, row):
            assert value == text(wanted) or isinstance(wanted, float) and float(value) == wanted, (table, line, row)
    print(f"{table}: {len(want)} rows by CSV, JSON Lines and a view")
