# What a user of Splink writes: splink_user.py RECORDS.csv PAIRS.csv
import sys

import duckdb
import splink.comparison_level_library as cll
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

con = duckdb.connect()
con.sql(rf"""
    CREATE TABLE records AS
    WITH clean AS (
        SELECT id AS unique_id, nullif(year, '')::INT AS year,
            nullif(trim(regexp_replace(lower(title), '[^\pL\pN]+', ' ', 'g')), '') AS title,
            nullif(trim(regexp_replace(lower(abstract), '[^\pL\pN]+', ' ', 'g')), '') AS abstract,
            list_transform(string_split(lower(nullif(authors, '')), ','), lambda a: regexp_extract(trim(a), '\S+$')) AS surnames
        FROM read_csv('{sys.argv[1]}', all_varchar = true)
    )
    SELECT *, surnames[1] AS surname, title[:12] AS title_start, title[-12:] AS title_end,
        abstract[:300] AS abstract_start, abstract[:20] AS abstract_key
    FROM clean
""")
has = {c for c in ("surnames", "abstract") if con.sql(f"SELECT count({c}) FROM records").fetchall()[0][0]}
comparisons = [
    cl.JaroWinklerAtThresholds("title", [0.95, 0.88, 0.7]).configure(term_frequency_adjustments=True),
    cl.CustomComparison(output_column_name="year", comparison_levels=[
        cll.NullLevel("year"), cll.ExactMatchLevel("year"),
        cll.AbsoluteDifferenceLevel("year", 1), cll.ElseLevel()]),
]
keys = ["title", "title_start", "title_end"]
if "surnames" in has:
    comparisons.append(cl.ArrayIntersectAtSizes("surnames", [3, 2, 1]))
    keys.append("surname")
if "abstract" in has:
    comparisons.append(cl.JaroWinklerAtThresholds("abstract_start", [0.95, 0.88, 0.7]))
    keys.append("abstract_key")
rules = [block_on(k, "year") if k == "surname" else block_on(k) for k in keys]
db = DuckDBAPI(connection=con)
linker = Linker(db.register("records"), SettingsCreator(
    link_type="dedupe_only", comparisons=comparisons, blocking_rules_to_generate_predictions=rules))
linker.training.estimate_probability_two_random_records_match([block_on("title")], recall=0.8)
linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
for key in keys[:1] + keys[3:]:
    linker.training.estimate_parameters_using_expectation_maximisation(block_on(key))
pairs = linker.inference.predict(threshold_match_probability=0.01)
pairs.as_duckdbpyrelation().select("unique_id_l, unique_id_r, match_probability").write_csv(sys.argv[2])
