"""Has Airflow run neardup, and compares what it writes on clusters with the local runner's.

    airflow_calls.py NEARDUP FLINK SPARK BOOT FOLDER      the addresses of job servers, a boot program, a folder to work in
"""

import filecmp
import os
import pathlib
import re
import sys

NEARDUP, FLINK, SPARK, BOOT, FOLDER = sys.argv[1:]
folder = pathlib.Path(FOLDER)
os.environ["AIRFLOW_HOME"] = str(folder / "airflow")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

from airflow.dag_processing.dagbag import DagBag

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "testdata" / "tldr"
two = folder / "two.jsonl"
two.write_text('{"title": "One more", "body": "text of two columns"}\n')
NONE = {"labels": {}}
# Calls as in DAGs; the operator alone decides on the command lines.
CALLS = {
    "local": ("DirectRunner", {"input": str(CORPUS), "output": f"{folder}/local", "labels": {"airflow-version": "v3-1-0", "team": "data"}}),
    "columns": ("DirectRunner", {
        "input": [str(two), str(CORPUS / "osx.jsonl")], "output": f"{folder}/columns", "text": ["title", "body", "text"], "threshold": 0.9,
        "tempLocation": f"{folder}/temp/beam", "jobName": "nightly", "dryRun": False, "memory": None, **NONE,
    }),
    "flink": ("FlinkRunner", {"jobEndpoint": FLINK, "environmentType": "LOOPBACK", "parallelism": 2, "input": str(CORPUS), "output": f"{folder}/flink.out", **NONE}),
    "portable": ("PortableRunner", {
        "job_endpoint": FLINK, "environment_type": "PROCESS", "environment_config": {"command": BOOT}, "input": str(CORPUS), "output": f"{folder}/portable", **NONE,
    }),
    "spark": ("SparkRunner", {"job_endpoint": SPARK, "input": str(CORPUS), "output": f"{folder}/spark.out", "overwrite": True, **NONE}),
}
dags = folder / "dags"
dags.mkdir()
dag = ["from datetime import datetime", "from airflow.sdk import DAG", "from airflow.providers.apache.beam.operators.beam import BeamRunGoPipelineOperator",
       'with DAG("calls", schedule=None, start_date=datetime(2026, 1, 1)):']
for name, (runner, options) in CALLS.items():
    dag.append(f"    BeamRunGoPipelineOperator(task_id={name!r}, launcher_binary={NEARDUP!r}, worker_binary={NEARDUP!r}, runner={runner!r}, pipeline_options={options!r})")
(dags / "calls.py").write_text("\n".join(dag) + "\n")

# The DAG of the documentation, with paths of this machine.
page = (ROOT / "docs" / "howto" / "nightly.md").read_text()
example = re.search(r"^```python\n# dags/\S+\n(.*?)^```", page, re.M | re.S)[1]
for there, here in (("/usr/local/bin/neardup", NEARDUP), ("/srv/lake/in", str(CORPUS)), ("/srv/lake/clean", f"{folder}/documented")):
    assert there in example, there
    example = example.replace(there, here)
(dags / "documented.py").write_text(example)

(dags / "dataflow.py").write_text((ROOT / "docs" / "dataflow" / "dag.py").read_text())  # for import

bag = DagBag(dag_folder=str(dags))
assert not bag.import_errors, bag.import_errors
assert [t.task_id for t in bag.dags["neardup_dataflow"].tasks] == ["dedup", "finish"]
for task in [*bag.dags["calls"].tasks, *bag.dags["neardup_nightly"].tasks]:
    task.execute({})
    print(f"airflow: {task.task_id}: done")


def files(output):
    return {str(p.relative_to(output)): p for p in output.rglob("*") if p.is_file() and p.name not in ("run.json", "report.html", "_SUCCESS")}


want = files(folder / "local")
assert len(want) > 5
for output in ("flink.out", "portable", "spark.out", "documented"):
    got = files(folder / output)
    assert got.keys() == want.keys() and all(filecmp.cmp(got[n], want[n], shallow=False) for n in want), f"{output}: not the bytes of the local runner"
print(f"airflow: {len(want)} files each, with the same bytes from every runner")
