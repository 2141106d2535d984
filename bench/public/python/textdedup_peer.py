"""text-dedup: its minhash command, with the configuration of its README. It compares candidates, but then
also joins those that it has not confirmed."""

import os
import pickle
import subprocess
import sys

import answer as a
import regex

HOME = os.environ["TMPDIR"]
SETTINGS = """
[input]
input_type = "local_files"
file_type = "json"
[input.read_arguments]
path = "json"
data_files = "{corpus}"
split = "train"
[algorithm]
algorithm_name = "minhash"
text_column = "text"
seed = 42
batch_size = 10000
num_proc = {workers}
ngram_size = 5
check_false_positive = true
{bands}
[output]
output_dir = "{home}/out"
clean_cache = false
save_clusters = true
[debug]
enable_profiling = false
"""


def answer(corpus, bands, rows):
    # bands = 0: it chooses them for 0.7
    chosen = f"num_perm = {bands * rows}\nbands = {bands}\nrows = {rows}\nthreshold = 0.8"
    if bands == 0:
        chosen = f"num_perm = {rows}\nthreshold = 0.7"
    with open(f"{HOME}/config.toml", "w") as f:
        f.write(SETTINGS.format(corpus=os.path.abspath(corpus), workers=os.environ["WORKERS"], bands=chosen, home=HOME))
    env = {**os.environ, "HF_HOME": f"{HOME}/cache", "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-m", "text_dedup.minhash"], cwd=HOME, env=env, check=True, stdout=sys.stderr)
    with open(f"{HOME}/out/clusters.pickle", "rb") as f:
        found = pickle.load(f)
    clusters, first = a.Clusters(), {}
    for number in sorted(found):
        clusters.join(number, first.setdefault(found[number], number))
    return clusters, [i for i, _ in a.documents(corpus)]


NO_WORD = regex.compile(r"\W", regex.UNICODE)


def words(corpus):
    for i, text in a.documents(corpus):
        found = [w for w in NO_WORD.split(text.lower()) if w]
        yield i, found if len(found) >= a.SHINGLE else []  # it drops shorter ones


if __name__ == "__main__":
    a.main(answer, words)
