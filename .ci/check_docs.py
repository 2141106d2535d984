"""Runs the examples of README and docs/algorithms/README.md, counts words, and checks the links of all pages.

    check_docs.py FILE      with the output of ./run_local.sh
"""

import itertools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent
problems = []

readme = (ROOT / "README.md").read_text()

# The screen in README is the output of run_local.sh, word for word; "..." stands for lines left out.
shown = re.search(r"```text\n(.*?)```", readme, re.S)[1]
printed = pathlib.Path(sys.argv[1]).read_text()
if not re.search(".*".join(re.escape(part) for part in shown.split("...\n")), printed, re.S):
    problems.append(f"README shows\n{shown}but run_local.sh prints\n{printed}")

# The sentence below it repeats its numbers.
box = re.search(r"^compared +([\d,]+) pairs, of ([\d,]+) in all$", shown, re.M)
told = re.search(r"neardup computed the similarity of only ([\d,]+) of the ([\d.]+)\s+million pairs", readme)
if not box or not told or (told[1], told[2]) != (box[1], f"{int(box[2].replace(',', '')) / 1e6:.1f}"):
    problems.append(f"README shows {box and box[0]!r}, and says {told and told[0]!r}")

# The queries find something.
rows = [sql for block in re.findall(r"^```sql\n(.*?)^```", readme, re.S | re.M) for sql in block.split(";") if sql.strip()]
if len(rows) != 2:
    problems.append(f"README has {len(rows)} queries, not 2")
for sql in rows:
    try:
        if not duckdb.sql(sql).fetchall():
            problems.append(f"README: {sql}\n  finds nothing")
    except duckdb.Error as e:
        problems.append(f"README: {sql}\n  {e}")

# The figures on other tools are those of docs/bench.md.
measured = re.search(r"^### imdb_reviews\n.*?^###", (ROOT / "docs" / "bench.md").read_text(), re.S | re.M)[0]
figures = {}
for line in re.findall(r"^\| (.*) \|$", measured, re.M):
    tool, cpu, _, _, wall, _, peak, recall, _, _, rightly = line.split(" | ") if line.count(" | ") == 10 else [""] * 11
    figures[tool] = [cpu, wall, peak, recall.partition(" ")[0], rightly]
tools = re.findall(r"^\| ((?:neardup|daft|gaoya|rensa).*?) \| (.*) \|$", readme, re.M)
for tool, told in tools:
    if told.split(" | ") != figures.get(tool):
        problems.append(f"README says {told} of {tool}, docs/bench.md {figures.get(tool)}")
if len(tools) != 4:
    problems.append(f"README has figures of {len(tools)} tools, not 4")

# The commands of the map, each with its own output, in the repository's folder.
NEARDUP = ROOT / "bin" / "neardup"
guide = (ROOT / "docs" / "algorithms" / "README.md").read_text()
commands = re.findall(r"`neardup ([^`]* [^`]*testdata[^`]*)`|^\$ bin/neardup (.*)$", guide, re.M)
commands = sorted({c for pair in commands for c in pair if c})
if len(commands) < 15:
    problems.append(f"docs/algorithms/README.md has {len(commands)} commands, fewer than it had")

def neardup(arguments, folder):
    """Runs a command that writes to a folder, and returns what is wrong."""
    arguments = [str(folder / a) if a in ("out", "compare.svg") else a for a in arguments]
    done = subprocess.run([NEARDUP, *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        problems.append(f"neardup {shlex.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.returncode == 0

for command in commands:
    with tempfile.TemporaryDirectory() as folder:
        neardup(shlex.split(command), pathlib.Path(folder))

# The query that lists all pairs of documents finds as many as comparing all records.
query = re.search(r"```sql\n(.*?)```", guide, re.S)[1]

def listed(folder):
    rows = duckdb.sql(query.replace("'out/", f"'{folder}/out/")).fetchall()
    return [(a[1], b[1]) for a, b, _ in rows]

ads = ["--text", "Title", "--text", "Short Description", "--write", "pairs", "--output", "out"]
with tempfile.TemporaryDirectory() as folder:
    made = ROOT / "testdata" / "made" / "made.tsv"
    if neardup(["dedup", str(made), "--bands", "40", "--rows", "3", *ads], pathlib.Path(folder)):
        position, sets = 0, {}
        for line in made.read_bytes().splitlines(keepends=True):
            title, description = line.decode().split("\t")[:2]
            words = re.findall(r"[^\W_]+", f"{title} {description}".lower())
            if position and words:
                sets[position] = {tuple(words[i:i + 5]) for i in range(max(1, len(words) - 4))}
            position += len(line)
        want = [(a, b) for a, b in itertools.combinations(sets, 2) if 5 * len(sets[a] & sets[b]) >= 4 * len(sets[a] | sets[b])]
        if sorted(listed(folder)) != want or not want:
            problems.append(f"the query of docs/algorithms/README.md lists {len(listed(folder))} pairs of made.tsv, all against all are {len(want)}")

kijiji = ROOT.parent / "shared" / "data" / "kijiji_rome" / "dataset_rent_rome_kijiji.tsv"
if kijiji.exists():
    with tempfile.TemporaryDirectory() as folder:
        flags = "--shingle char:10 --normalize lower,collapse-space --signature salted --seed 0 --bands 10 --rows 5".split()
        if neardup(["dedup", str(kijiji), *flags, *ads], pathlib.Path(folder)) and len(listed(folder)) != 10_360:
            problems.append(f"the query of docs/algorithms/README.md lists {len(listed(folder))} pairs of kijiji_rome, not 10,360")

# Links to files and headings exist. docs/reference.md is generated.
def anchors(text):
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}

# README can be read in one go, and all pages in an afternoon.
def words(*pages):
    return sum(len(re.sub(r"^\[Docs\].*$", "", page.read_text(), count=1, flags=re.M).split()) for page in pages)

docs = ROOT / "docs"
decisions = sorted((docs / "decisions").glob("*.md"))
users = [ROOT / "README.md", *(docs / "howto").glob("*.md"), *(docs / f"{name}.md" for name in "formats choosing limits commands lake flink dataflow report".split())]
builders = [ROOT / "CONTRIBUTING.md", *decisions, *(docs / "algorithms").glob("*.md"), *(docs / f"{name}.md" for name in "architecture testing performance scaling".split())]
counts = [("lines of README", len(readme.splitlines()), 120), ("words of README", words(users[0]), 900), ("words for users", words(*users), 18_000),
          ("words for builders", words(*builders), 22_000), ("decisions", len(decisions), 20)]
counts += [(f"words of {page.name}", words(page), 250) for page in decisions]
counts.append(("words of scaling.md", words(docs / "scaling.md"), 1_200))
problems += [f"{count} {what}, more than {most}: shorten, or link" for what, count, most in counts if count > most]

# Each page begins with its place, and then says what it answers.
for page in sorted(docs.rglob("*.md")):
    head = page.read_text().split("\n\n")
    if page != docs / "index.md" and not re.fullmatch(r"(\[[^\]]+\]\([^)]+\)|[^›\[]+)( › (\[[^\]]+\]\([^)]+\)|[^›\[]+))+", head.pop(1)):
        problems.append(f"{page.relative_to(ROOT)} does not begin with a heading and a line such as [Docs](../index.md) › How-to › Mail")
    if not re.match(r"(<!--.*?-->\n*)?(\*\*)?[\w`]", head[1] if not head[1].startswith("<!--") else head[2]):
        problems.append(f"{page.relative_to(ROOT)} does not say what it answers before anything else")

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
print(f"README's {len(rows)} queries and the map's {len(commands)} commands run, README's summary is what is printed, the links of {len(pages)} pages lead somewhere; "
      + ", ".join(f"{count:,} {what}" for what, count, _ in counts[:5]))
