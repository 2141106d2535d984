"""incrededup: its command on a SQLite database, with all documents, even short ones. Shingles are three characters."""

import os
import sqlite3
import subprocess
import sys
import uuid

import answer as a

HOME = os.environ["TMPDIR"]


def answer(corpus, _bands, _rows):
    ids, file = [], f"{HOME}/documents.db"
    with sqlite3.connect(file) as db:
        db.execute(
            "create table documents (id text primary key, content text not null, content_len integer not null, "
            "filename text, is_parent integer)"
        )
        db.execute(
            "create table dupes (child_id text primary key, parent_id text not null, jaccard_similarity real not null, "
            "size_difference integer not null, size_difference_pct real not null)"
        )
        for batch, texts in a.batches(corpus):
            rows = [(str(uuid.UUID(int=len(ids) + n)), text, len(text)) for n, text in enumerate(texts)]
            db.executemany("insert into documents (id, content, content_len) values (?, ?, ?)", rows)
            ids += batch
    command = [os.environ["PEER"] + "/bin/incrededup", "--sqlite", file, "--data-dir", f"{HOME}/data"]
    command += ["--min-content-len", "1", "--workers", os.environ["WORKERS"]]
    subprocess.run(command, check=True, stdout=sys.stderr)
    clusters = a.Clusters()
    for child, parent in sqlite3.connect(file).execute("select child_id, parent_id from dupes"):
        clusters.join(uuid.UUID(child).int, uuid.UUID(parent).int)
    return clusters, ids


if __name__ == "__main__":
    a.main(answer, None)
