# The code that a user of Splink writes: splink_user.py RECORDS.csv PAIRS.csv
import sys

import duckdb
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

con = duckdb.connect()
con.sql(r"CREATE MACRO clean(s) AS nullif(trim(regexp_replace(lower(s), '[^\pL\pN]+', ' ', 'g')), '')")
con.sql(rf"""
    CREATE TABLE records AS
    SELECT id AS unique_id, nullif(year, '')::INT AS year, clean(title) AS title,
        clean(title)[:12] AS title_start, clean(title)[-12:] AS title_end,
        clean(authors) AS authors, nullif(regexp_extract(clean(string_split(authors, ',')[1]), '\S+$'), '') AS surname,
        clean(abstract)[:300] AS abstract, clean(abstract)[:20] AS abstract_start
    FROM read_csv('{sys.argv[1]}', all_varchar = true)
""")
has = {c for c in ("authors", "abstract") if con.sql(f"SELECT count({c}) FROM records").fetchall()[0][0]}
similar = [0.95, 0.88, 0.7]
comparisons = [
    cl.JaroWinklerAtThresholds("title", similar).configure(term_frequency_adjustments=True),
    cl.ExactMatch("year"),
    *(cl.JaroWinklerAtThresholds(c, similar) for c in sorted(has)),
]
rules = [block_on(key, "year") for key in ("title", "title_start", "title_end")]
training = [block_on("title")]
if "authors" in has:
    rules.append(block_on("surname", "year"))
    training.append(block_on("surname"))
if "abstract" in has:
    rules.append(block_on("abstract_start"))
    training.append(block_on("abstract_start"))
linker = Linker(DuckDBAPI(connection=con).register("records"), SettingsCreator(
    link_type="dedupe_only", comparisons=comparisons, blocking_rules_to_generate_predictions=rules))
linker.training.estimate_probability_two_random_records_match([block_on("title")], recall=0.8)
linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
for rule in training:
    linker.training.estimate_parameters_using_expectation_maximisation(rule)
pairs = linker.inference.predict(threshold_match_probability=0.01)
pairs.as_duckdbpyrelation().select("unique_id_l, unique_id_r, match_probability").write_csv(sys.argv[2])
