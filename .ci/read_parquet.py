"""Reads an output of neardup as its users do, and checks it against docs/tables.md and docs/formats.md.

    read_parquet.py OUTPUT [--expect-reasons]

It checks, without any of neardup's own code: every table opens in DuckDB, pyarrow and pandas with
exactly the documented columns, types and nulls; files, rows, sizes and checksums are those of
manifest.json; the corpus is the input without the removed and the unreadable records, byte for byte; each
removed document's kept one is in the corpus. Inputs must be JSON lines, plain or gzip.
"""

import collections
import gzip
import hashlib
import json
import pathlib
import re
import sys

import duckdb
import pandas
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ["pairs", "clusters", "removed", "rejected", "documents"]
# The documented type → DuckDB's type, and pandas's for columns without nulls.
TYPES = {
    "string": ("VARCHAR", ("str", "object")),
    "int64": ("BIGINT", ("int64",)),
    "int32": ("INTEGER", ("int32",)),
    "double": ("DOUBLE", ("float64",)),
    "bool": ("BOOLEAN", ("bool",)),
    "binary": ("BLOB", ("object", "bytes")),
    "list<element: double not null>": ("DOUBLE[]", ()),
    "list<element: string not null>": ("VARCHAR[]", ()),
}


def check(ok, *message):
    if not ok:
        sys.exit("read_parquet.py: " + " ".join(str(m) for m in message))


def documented(markdown):
    """Returns the tables of docs/tables.md: name → [(column, type, nullable)]."""
    tables, name = {}, None
    for line in markdown.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ")
        row = re.match(r"\| `(\w+)` \| ([\w<>: ]+?)( or null)? \|", line)
        if row and name in TABLES:
            tables.setdefault(name, []).append((row[1], row[2], row[3] is not None))
    check(sorted(tables) == sorted(TABLES), "docs/tables.md documents", sorted(tables))
    return tables


def metadata_keys(markdown):
    section = re.search(r"\n### Metadata\n(.*?)\n#", markdown, re.S)[1]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return sorted(key for cell in cells for key in re.findall(r"`([\w.]+)`", cell))


def check_table(out, name, columns, keys, files):
    rows = 0
    for file in files:
        parquet = pyarrow.parquet.ParquetFile(out / file["path"])
        found = [(f.name, str(f.type), f.nullable) for f in parquet.schema_arrow]
        check(found == columns, file["path"], "has", found, "but docs/tables.md says", columns)
        stored = sorted(k.decode() for k in parquet.metadata.metadata or {} if k != b"ARROW:schema")
        check(stored == keys, file["path"], "has the metadata", stored, "but docs/formats.md says", keys)
        check(parquet.metadata.num_rows == file["rows"], file["path"], "rows", parquet.metadata.num_rows, file["rows"])
        rows += file["rows"]

    glob = str(out / name / "**/*.parquet").replace("'", "''")
    described = [(c[0], c[1]) for c in duckdb.sql(f"DESCRIBE FROM '{glob}'").fetchall()]
    check(described == [(c, TYPES[t][0]) for c, t, _ in columns], name, "in DuckDB is", described)
    check(duckdb.sql(f"SELECT count(*) FROM '{glob}'").fetchall()[0][0] == rows, name, "in DuckDB has other rows")

    frame = pandas.read_parquet(out / name)
    check(list(frame.columns) == [c for c, _, _ in columns], name, "in pandas has", list(frame.columns))
    check(len(frame) == rows, name, "in pandas has", len(frame), "rows, not", rows)
    for column, kind, nullable in columns:
        if not nullable:
            check(str(frame[column].dtype) in TYPES[kind][1], name, column, "in pandas is", frame[column].dtype)
            check(not frame[column].isna().any(), name, column, "has nulls")
    return pyarrow.parquet.read_table(out / name).to_pylist()


def records_of(path):
    """Returns whether a JSON Lines file is gzip, and position → record; blank lines may separate records."""
    data = path.read_bytes()
    zipped = data[:2] == b"\x1f\x8b"
    if zipped:
        data = gzip.decompress(data)
    lines, at = [], 0
    for line in data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+$", data):
        lines.append((at, line))
        at += len(line)
    return zipped, lines


def main():
    out = pathlib.Path(sys.argv[1])
    markdown = (ROOT / "docs/formats.md").read_text()
    success = json.loads((out / "_SUCCESS").read_text())
    digest = hashlib.sha256((out / "manifest.json").read_bytes()).hexdigest()
    check(success["manifest"] == digest, "_SUCCESS names another manifest.json")
    run = json.loads((out / "run.json").read_text())
    manifest = json.loads((out / "manifest.json").read_text())
    check(run["status"] == "done", "status", run["status"])

    listed = {f["path"]: f for f in manifest["files"]}
    there = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    expected = set(listed) | {"run.json", "manifest.json", "report.html", "_SUCCESS"}
    check(there == expected, "files not as in the manifest:", there ^ expected)
    for path, file in listed.items():
        data = (out / path).read_bytes()
        check(len(data) == file["bytes"], path, "bytes", len(data), file["bytes"])
        check(hashlib.sha256(data).hexdigest() == file["sha256"], path, "has another checksum")

    keys = metadata_keys(markdown)
    tables = {
        name: check_table(out, name, columns, keys, [f for p, f in listed.items() if p.startswith(name + "/")])
        for name, columns in documented((ROOT / "docs/tables.md").read_text()).items()
        if name in run["parameters"]["write"]
    }

    # The corpus is what follows from the input and the tables.
    root = pathlib.Path(run["input"]["root"])
    gone = collections.defaultdict(dict)
    for row in tables["removed"]:
        gone[row["source"]][row["position"]] = "removed"
    for row in tables["rejected"]:
        if row["raw"] is not None:
            gone[row["source"]][row["position"]] = "unreadable"
    total = kept = 0
    corpus = set()
    sources = sorted(p.removeprefix("corpus/") for p in listed if p.startswith("corpus/"))
    check(len(sources) == run["input"]["files"], len(sources), "corpus files of", run["input"]["files"])
    for source in sources:
        zipped, lines = records_of(root / source)
        expected = b""
        for at, line in lines:
            if line.strip():
                total += 1
                if at in gone[source]:
                    del gone[source][at]
                    continue
                corpus.add((source, at))
                kept += 1
            expected += line
        written = (out / "corpus" / source).read_bytes()
        check((written[:2] == b"\x1f\x8b") == zipped, source, "is compressed otherwise")
        check((gzip.decompress(written) if zipped else written) == expected, "corpus/" + source, "is not the input less what is gone")
        check(not gone[source], source, "has no records at", list(gone[source]))
    unreadable = sum(row["raw"] is not None for row in tables["rejected"])
    removed = len(tables["removed"])
    check(total == kept + removed + unreadable, f"{total} records, but {kept} kept + {removed} removed + {unreadable} unreadable")
    for name, count in {"records": total, "corpus": kept, "removed": removed, "unreadable": unreadable, "pairs": len(tables["pairs"])}.items():
        check(run["counts"][name] == count, "run.json counts", run["counts"][name], name, "but there are", count)

    if "documents" in tables:
        told = collections.Counter(row["status"] for row in tables["documents"])
        compared = {"removed": removed, "unreadable": unreadable, "not-compared": len(tables["rejected"]) - unreadable}
        check(told == {**compared, "kept": total - sum(compared.values())}, "documents says", told)

    # The decision keeps its promises.
    threshold = run["parameters"]["threshold"]
    for row in tables["removed"]:
        check((row["kept_source"], row["kept_position"]) in corpus, "the kept document of", row["id"], "is not in the corpus")
        chained = row["similarity"] is None and run["parameters"]["cluster"] == "components"
        check(chained or row["similarity"] >= threshold, row["id"], "was removed at", row["similarity"])
    for name, kind in {"near_pairs": True, "copies": False}.items():
        rows = sum((row["same"] is None) == kind for row in tables["pairs"])
        check(run["counts"][name] == rows, "run.json counts", run["counts"][name], name, "but there are", rows)
    reason_of = {(row["source"], row["position"], row["kept_source"], row["kept_position"]): row["reason"] for row in tables["removed"]}
    for row in tables["pairs"]:
        ends = (row["source_a"], row["position_a"]), (row["source_b"], row["position_b"])
        told = reason_of.get(ends[0] + ends[1]) or reason_of.get(ends[1] + ends[0])
        check(told in (None, row["same"] or "near"), "the two are a pair as", row["same"], "and one is removed as", told)
        check(not (ends[0] in corpus and ends[1] in corpus), "both documents of a pair are kept:", row)
        similarity = row["shared"] / (row["size_a"] + row["size_b"] - row["shared"])
        check(row["similarity"] == similarity >= threshold, "similarity of", row)
        check(row["same"] in (None, "identical", "equal", "same-set") and (row["same"] is None or similarity == 1), "what is the same of", row)

    if "--expect-reasons" in sys.argv:
        section = markdown[markdown.index("## Unreadable records"):markdown.index("## Output tables")]
        reasons = {row["reason"] for row in tables["rejected"]}
        known = set(re.findall(r"^\| `([^`]+)` \|", section, re.M))
        check(reasons and reasons <= known, "reasons", reasons - known, "are not documented")
        check(all((row["raw"] is None) == (row["reason"] in ("no text", "no text column", "no token", "too large", "id too long")) for row in tables["rejected"]), "raw is set elsewhere")

    print(f"{out}: {total} records = {kept} in corpus + {removed} removed + {unreadable} unreadable; "
          + ", ".join(f"{len(rows)} {name}" for name, rows in tables.items()) + ": all as documented")


main()
