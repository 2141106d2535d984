"""Deduplicates a corpus in Cloud Storage on Dataflow every night."""

from datetime import datetime

from airflow.providers.apache.beam.operators.beam import BeamRunGoPipelineOperator
from airflow.providers.google.cloud.operators.dataflow import DataflowConfiguration
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("neardup_dataflow", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False):
    dedup = BeamRunGoPipelineOperator(
        task_id="dedup",
        runner="DataflowRunner",
        launcher_binary="/opt/neardup/neardup",
        worker_binary="/opt/neardup/neardup",
        pipeline_options={
            "input": "gs://BUCKET/corpus",
            "output": "gs://BUCKET/out-{{ ds_nodash }}",
            "stagingLocation": "gs://BUCKET/staging",
            "executeAsync": True,
        },
        dataflow_config=DataflowConfiguration(
            job_name="neardup-{{ ds_nodash }}", project_id="PROJECT", location="europe-west1"
        ),
    )
    finish = BashOperator(
        task_id="finish",
        bash_command="/opt/neardup/neardup finish gs://BUCKET/out-{{ ds_nodash }}",
        trigger_rule="all_done",
    )
    dedup >> finish
