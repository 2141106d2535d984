"""Writes a small collection with every kind of bad JSON record, plain and as gzip, into a folder."""

import gzip
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
(folder / "deep").mkdir(parents=True)
text = " ".join(f"word{i}" for i in range(40))
near = text.replace("word39", "changed")
lines = [
    json.dumps({"id": "a", "text": text}),
    json.dumps({"id": "copy of a", "text": text.upper()}),
    "",
    json.dumps({"id": "near a", "text": near}),
    "not json",
    '{"id": "missing"}',
    '{"id": "null", "text": null}',
    '{"id": "wrong", "text": ["x"]}',
    '{"id": {}, "text": "x"}',
    '{"id": "half of a pair", "text": "\\ud800"}',
    '{"id": "another encoding", "text": "caf\udce9"}',
    "[1]",
    '{"id": "empty", "text": ""}',
    '{"id": "without a word", "text": "?!"}',
    json.dumps({"text": "without an id, and unlike the others in every word"}),
    json.dumps({"id": 7, "text": 3.5}),
]
(folder / "bad.jsonl").write_bytes("\n".join(lines).encode(errors="surrogateescape"))  # no newline at the end
zipped = [json.dumps({"id": "a again", "text": text}), json.dumps({"id": "b", "text": "nothing like it, whatever you compare"})]
with gzip.open(folder / "deep" / "more.jsonl.gz", "wb") as f:
    f.write(("\r\n".join(zipped) + "\r\n").encode())
