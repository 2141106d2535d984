"""Runs what README shows, and follows the links of all pages.

    check_docs.py FILE      with what ./run_local.sh printed
"""

import pathlib
import re
import sys

import duckdb
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parent.parent
problems = []

readme = (ROOT / "README.md").read_text()

# The summary in README is what run_local.sh prints, word for word.
shown = re.search(r"```text\n(.*?)```", readme, re.S)[1]
printed = pathlib.Path(sys.argv[1]).read_text()
if shown not in printed:
    problems.append(f"README shows\n{shown}but run_local.sh prints\n{printed}")

# The lines of the table of outputs.
rows = re.findall(r"^\| `\w+/` \| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$", readme, re.M)
if len(rows) != 5:
    problems.append(f"README has {len(rows)} outputs with a DuckDB and a pandas line, not 5")
for sql, python in rows:
    for line, run in ((sql, lambda: duckdb.sql(sql).fetchall()), (python, lambda: eval(python))):
        try:
            empty = len(run()) == 0
        except Exception as e:
            problems.append(f"README: {line}\n  {e}")
            continue
        if empty != ("rejected" in line):
            problems.append(f"README: {line}\n  finds {'nothing' if empty else 'something'}")

# Links to files and to headings. docs/reference.md is generated.
def anchors(text):
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}

pages = [p for p in ROOT.glob("*.md")] + sorted((ROOT / "docs").rglob("*.md"))
for page in pages:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists():
            problems.append(f"{page.relative_to(ROOT)} links to {link}, which is not there")
        elif heading and heading not in anchors(target.read_text()):
            problems.append(f"{page.relative_to(ROOT)} links to {link}, but there is no such heading")

if problems:
    sys.exit("check_docs.py: " + "\n".join(problems))
print(f"README's {2 * len(rows)} lines run, its summary is what is printed, the links of {len(pages)} pages lead somewhere")
