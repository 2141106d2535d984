"""Checks that an output is whole if it has _SUCCESS.

    whole.py OUT [MANIFEST ...]

If SHA-256 sums of manifests are given, it must have _SUCCESS and one of these manifests. Prints any problem.
"""

import hashlib
import json
import pathlib
import sys

out = pathlib.Path(sys.argv[1])
allowed = sys.argv[2:]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def problem():
    success, manifest = out / "_SUCCESS", out / "manifest.json"
    if not success.exists():
        return "no _SUCCESS" if allowed else None
    if not success.stat().st_size:
        return "_SUCCESS is empty"
    if digest(manifest) != json.loads(success.read_text())["manifest"]:
        return "manifest.json is not that of _SUCCESS"
    if allowed and digest(manifest) not in allowed:
        return "the manifest is that of another run"
    for file in json.loads(manifest.read_text())["files"]:
        path = out / file["path"]
        if not path.is_file():
            return f"{file['path']} is missing"
        if digest(path) != file["sha256"]:
            return f"{file['path']} has {path.stat().st_size} bytes, and is not that of the manifest"
    return None


found = problem()
if found:
    print(found)
    sys.exit(1)
