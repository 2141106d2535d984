"""The results of runs."""

from __future__ import annotations

import html
import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from ._data import Rows, kept, loaded, paths
from ._process import Error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.fs as fs

T = TypeVar("T")


class Folder:
    """A temporary folder for an output. It is removed with the last object that refers to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.remove = weakref.finalize(self, _remove, path, os.getpid())

    def unnamed(self, message: str) -> str:
        """Returns a message without the path of the folder, which is removed when users read it."""
        path = re.escape(self.path)
        message = re.sub(rf"(neardup [a-z]+) {path}/output", r"give output=OUTPUT, then \1 OUTPUT", message)
        return re.sub(rf"{path}[^\s:;,]*", f"the temporary output in {os.path.dirname(self.path)}", message)


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked process
        shutil.rmtree(path, ignore_errors=True)


class Reader:
    """Reads local files for pyarrow. Each dataset, fragment or scanner that reads there holds it, and so the folder."""

    def __init__(self, folder: Folder | None) -> None:
        import pyarrow.fs

        local = pyarrow.fs.LocalFileSystem()
        self.folder, self.get_type_name = folder, lambda: "local"
        self.get_file_info = self.get_file_info_selector = local.get_file_info
        self.open_input_file, self.open_input_stream = local.open_input_file, local.open_input_stream
        self.normalize_path = local.normalize_path

    def __reduce__(self) -> tuple[type[Reader], tuple[None]]:
        return Reader, (None,)  # another process does not own the folder


class Arrow:
    """Rows that pyarrow, pandas and Polars can read."""

    def to_arrow(self) -> pa.Table:
        """Returns the rows as a pyarrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows as a pandas DataFrame."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows as a Polars DataFrame."""
        import polars

        return polars.DataFrame(polars.from_arrow(self.to_arrow()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class Table(Arrow):
    """A table of an output, which is read on demand."""

    def __init__(self, result: Result, name: str) -> None:
        self._result, self._name = result, name

    def dataset(self) -> ds.Dataset:
        """Returns the table as a pyarrow dataset, which reads columns and rows on demand."""
        return self._opened(self._result._folder)

    def _opened(self, folder: Folder | None = None) -> ds.Dataset:
        """Returns the table, which holds folder."""
        import pyarrow.dataset
        import pyarrow.fs

        if self._name not in self._result.summary["parameters"]["write"]:
            raise Error(f"the run did not write {self._name}; run again with {self._name} in write")
        store, path = self._result._located(self._name)
        if folder:
            pyarrow.fs.FileSystemHandler.register(Reader)
            store = pyarrow.fs.PyFileSystem(Reader(folder))
        return pyarrow.dataset.dataset(path, filesystem=store, format="parquet")

    def to_arrow(self) -> pa.Table:
        """Returns the rows as a pyarrow table."""
        return self._opened().to_table()

    def __len__(self) -> int:
        return int(self._opened().count_rows())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._opened().to_batches():
            yield from batch.to_pylist()

    def __repr__(self) -> str:
        return f"<neardup.Table {self._name} of {self._result.path}: {len(self)} rows>"


class Report:
    """The page of a run, which notebooks display."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self.path = result.path / "report.html" if isinstance(result.path, Path) else f"{result.path}/report.html"

    def _repr_html_(self) -> str:
        store, path = self._result._located("report.html")
        with store.open_input_stream(path) as file:
            page = html.escape(file.readall().decode())
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:40em;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<neardup.Report {self.path}>"


class Result:
    """The result of `neardup.dedup`: its tables, its report, and the data without the removed rows.

    A temporary output is removed with the last object that refers to it.
    """

    def __init__(
        self,
        path: str,
        summary: dict[str, Any],
        rows: Rows | None,
        folder: Folder | None,
        endpoints: Mapping[str, str],
    ) -> None:
        self.path: Path | str = path if "://" in path else Path(path)
        self.summary = summary
        self._rows, self._folder, self._endpoints = rows, folder, endpoints

    pairs = property(lambda self: Table(self, "pairs"), doc="Pairs of similar documents.")
    clusters = property(lambda self: Table(self, "clusters"), doc="Documents in clusters of two or more.")
    removed = property(
        lambda self: Table(self, "removed"), doc="Documents removed, each with the one kept in its place."
    )
    rejected = property(lambda self: Table(self, "rejected"), doc="Unreadable records, and documents not compared.")
    documents = property(
        lambda self: Table(self, "documents"),
        doc="Every record, and what became of it. Runs write this table only if write names it.",
    )

    def _located(self, name: str) -> tuple[fs.FileSystem, str]:
        """Returns the pyarrow file system that has a part of the output, and the path there."""
        import pyarrow.fs

        path = f"{self.path}/{name}"
        store, separator, _ = path.partition("://")
        if not separator:
            return pyarrow.fs.LocalFileSystem(), path
        if endpoint := self._endpoints.get(store):
            scheme, _, host = endpoint.partition("://")
            path += "?" + urlencode({"scheme": scheme, "endpoint_override": host})
        located: tuple[fs.FileSystem, str] = pyarrow.fs.FileSystem.from_uri(path)
        return located

    @property
    def report(self) -> Report:
        """The page of the run."""
        return Report(self)

    def filter(self, data: T) -> T:
        """Returns the kept rows of data, which must be the data of the run. Kind, order, columns and types do not
        change."""
        rows = self._rows
        if rows is None or paths(loaded(data)) is not None:
            hint = f"the kept rows are in {self.path}/corpus"
            if self._folder:
                hint = "give output=OUTPUT, and read the kept rows in OUTPUT/corpus"
            raise TypeError(f"filter takes data in memory, but the run read files; {hint}")
        kept_rows: T = kept(loaded(data), rows.mask(self._gone(rows.format), self.summary["counts"]["records"]))
        return kept_rows

    def _gone(self, ending: str) -> Iterator[int]:
        """Yields the positions of the rows that are not in the corpus."""
        import pyarrow.dataset as ds

        spooled = ds.field("source") == f"stdin.{ending}"
        removed = self.removed._opened().to_table(["position"], filter=spooled)
        yield from removed["position"].to_pylist()
        left = spooled if self.summary["parameters"]["drop_not_compared"] else spooled & ds.field("raw").is_valid()
        if self.summary["counts"]["unreadable"] + self.summary["counts"]["not_compared"]:
            yield from self.rejected._opened().to_table(["position"], filter=left)["position"].to_pylist()

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        kept = counts["records"] - counts["unreadable"] - counts["removed"]
        return f"<neardup.Result {self.path}: {counts['records']} records, {counts['removed']} removed, {kept} kept>"


class Answer(dict[str, Any], Arrow):
    """The JSON output of a command, whose rows are also a table."""

    def __init__(
        self,
        answer: Mapping[str, Any],
        rows: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]],
        columns: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(answer)
        self._rows, self._columns = rows, columns or {}  # the columns, with their types, are for a table without rows

    def to_arrow(self) -> pa.Table:
        """Returns the rows as a pyarrow table."""
        import pyarrow as pa

        rows = self._rows(self)
        if not rows:
            return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in self._columns.items()]).empty_table()
        names = list(dict.fromkeys(name for row in rows for name in row))  # a value may be missing in the first row
        return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
