"""Writes data of every kind for the program to read, and filters it."""

from __future__ import annotations

import errno
import itertools
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import SupportsWrite

GROUP_BYTES = 8 << 20  # maximum size of a row group, and so of the rows in memory


def paths(data: object) -> list[str] | None:
    """Returns the paths if data is a string, a Path or a list of Paths, or else None."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, os.PathLike) for one in data):
        return [os.fspath(one) for one in data]
    return None


def loaded(data: Any) -> Any:
    """Returns the dataset if data is the path of one that Hugging Face's save_to_disk wrote, or else data."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    words = f"data, a string of {len(str(data)):,} characters, cannot be a path; give texts as a list"
    if "\0" in str(data):
        raise ValueError(words)
    try:
        saved = (Path(data) / "state.json").exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError(words) from None
        return data  # the program says why it cannot read there
    if saved and any(Path(data).glob("*.arrow")):
        try:
            from datasets import load_from_disk
        except ImportError:
            return data  # the program says what it is
        return load_from_disk(os.fspath(data))
    return data


def kind(data: Any) -> str:
    """Returns the kind of data, judging by its attributes, so that no library need be imported."""
    if hasattr(data, "select_columns") and hasattr(data, "with_format") and hasattr(data, "features"):
        return "huggingface"
    module = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    if module in ("pandas", "polars") and name in ("DataFrame", "Series"):
        return module
    if module == "pyarrow" and hasattr(data, "scanner"):
        return "dataset"
    if module == "pyarrow" and hasattr(data, "read_next_batch"):
        return "reader"
    if module == "pyarrow" and name in ("Table", "RecordBatch"):
        return "arrow"
    if isinstance(data, (list, tuple)):
        return "list"
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, Mapping)) and module != "polars":
        return "iterator"
    hint = "give a path, a list of texts or dictionaries, a DataFrame, or a pyarrow or Hugging Face dataset"
    if module == "datasets" and isinstance(data, Mapping):
        hint = f"give one of its splits, as in data[{next(iter(data), 'train')!r}]"
    of = name if module == "builtins" else f"{module}.{name}"
    raise TypeError(f"data is of type {of}; {hint}")


class Rows:
    """Rows in memory. The program reads them as Parquet or, if they are Python objects, as JSON Lines."""

    def __init__(self, data: Any, text: Sequence[str], others: Sequence[str], whole: bool) -> None:
        self.data, self.text, self.others, self.whole = data, text, others, whole
        self.name = text[0] if text else "text"  # of the column, if data is texts
        self.kind = kind(data)
        self.format = "jsonl" if self.kind in ("list", "iterator") else "parquet"
        self.count = 0
        self.offsets = array("q")  # of the lines
        if self.kind in ("pandas", "polars") and type(data).__name__ == "Series":
            self.data = data.to_frame(self.name) if self.kind == "pandas" else data.alias(self.name).to_frame()
        self.found: set[str] = set()  # the columns that the program reads
        self.columns = self.read(self.names())

    def names(self) -> list[str]:
        """Returns the columns of a table, if they are known."""
        if self.format == "jsonl":
            return []
        if self.kind == "huggingface":
            return self.data.column_names or []
        if self.kind in ("pandas", "polars"):
            return [str(name) for name in self.data.columns]
        return list(self.data.schema.names)

    def read(self, names: Sequence[str]) -> list[str]:
        """Returns the columns to read. A path begins with the name of its column."""
        self.found = found = {self.column(name, names) for name in (*self.text, *self.others)} & set(names)
        missing = [name for name in self.text if self.column(name, names) not in found]
        if len(missing) < len(self.text):  # the program joins the others
            missing = []
        missing += [name for name in self.others if name != "id" and self.column(name, names) not in found]
        if names and missing:
            near = get_close_matches(missing[0], names, 1)
            give = "set text; " if missing[0] in self.text else ""
            hint = f"did you mean {near[0]!r}?" if near else f"{give}the columns are {', '.join(names)}"
            raise ValueError(f"there is no column {missing[0]!r}; {hint}")
        return [name for name in names if self.whole or name in found]

    @staticmethod
    def column(name: str, names: Container[str]) -> str:
        """Returns the column of a name or path."""
        return name if name in names else name.partition(".")[0]

    def opened(self) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """Returns the schema and the batches of the columns to read."""
        import pyarrow as pa

        data, columns = self.data, self.columns
        if self.kind == "huggingface":
            return _of_hugging_face(data.select_columns(columns) if columns else data)
        if self.kind == "dataset":
            scanner = data.scanner(columns=columns, batch_size=1024, batch_readahead=4, fragment_readahead=1)
            return scanner.projected_schema, scanner.to_batches()
        if self.kind == "reader":
            schema = pa.schema([data.schema.field(name) for name in columns], data.schema.metadata)
            return schema, (batch.select(columns) for batch in data)
        if self.kind == "pandas":
            index = None if self.whole else False  # None: keep an index that is not a range
            taken = data.iloc[:, [str(name) in columns for name in data.columns]]
            table = pa.Table.from_pandas(taken, preserve_index=index)
        else:
            table = pa.table(data.select(columns))
        return table.schema, table.to_batches()

    def write(self, sink: SupportsWrite[bytes]) -> None:
        """Writes all rows, and counts them."""
        if self.format == "jsonl":
            self.write_lines(sink)
        else:
            self.write_parquet(sink)

    def write_lines(self, sink: SupportsWrite[bytes]) -> None:
        at = 0
        for number, row in enumerate(self.data):
            if row is None or isinstance(row, str):
                row = {self.others[0]: number, self.name: row}
            elif not isinstance(row, Mapping):
                raise TypeError(f"row {number} is of type {type(row).__name__}; give texts or dictionaries")
            elif not self.whole:
                names = {self.column(name, row) for name in (*self.text, *self.others)}
                row = {name: row[name] for name in row if name in names}
            row = dict(row)
            try:
                text = json.dumps(row, ensure_ascii=False, allow_nan=False)
            except ValueError:  # NaN, which stands for a missing value, or infinity; JSON has neither
                row = json.loads(json.dumps(row), parse_constant=lambda _: None)
                text = json.dumps(row, ensure_ascii=False)
            try:
                line = text.encode() + b"\n"
            except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
                line = json.dumps(row).encode() + b"\n"
            self.offsets.append(at)
            at += len(line)
            self.count += 1
            sink.write(line)

    def write_parquet(self, sink: SupportsWrite[bytes]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema, batches = _without_dictionaries(*self.opened(), self.found)
        # The corpus is written like its source, so compress it if there will be a corpus.
        packed: Any = {"compression": "zstd"} if self.whole else {"compression": "none", "use_dictionary": False}
        file = pa.PythonFile(sink, mode="w")
        try:
            with pq.ParquetWriter(file, schema, write_statistics=False, **packed) as writer:
                for group in _groups(batches):
                    self.count += group.num_rows
                    writer.write_table(group, row_group_size=group.num_rows)
        except pa.ArrowNotImplementedError as error:
            lacking = _unsupported(schema, lambda table: pq.write_table(table, pa.BufferOutputStream()))
            raise TypeError(f"Parquet has no type for {lacking}") from error

    def mask(self, gone: Iterable[int], limit: int) -> bytearray:
        """Returns a byte for each row: 1 if it is kept, or 0 if its position is in gone or the row is beyond limit."""
        mask = bytearray(b"\1") * self.count
        for position in gone:
            mask[position if self.format == "parquet" else bisect_left(self.offsets, position)] = 0
        mask[limit:] = bytes(max(0, self.count - limit))
        return mask


def _of_hugging_face(data: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    tables: Iterator[pa.Table] = iter(data.with_format("arrow").iter(batch_size=1000))
    first = next(tables, None)
    schema = data.features.arrow_schema if first is None else first.schema
    rest = () if first is None else itertools.chain([first], tables)
    return schema, (batch for table in rest for batch in table.cast(schema).to_batches())


def _without_dictionaries(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], found: Container[str]
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Returns the data with values for dictionaries in the columns found, so that row groups have only their own.
    Other columns keep dictionaries, with strings for views, which Parquet cannot have there."""
    import pyarrow as pa

    places = [at for at, field in enumerate(schema) if pa.types.is_dictionary(field.type)]
    plain = schema
    for at in places:
        kind, values = schema[at].type, _without_views(schema[at].type.value_type)
        whole = pa.dictionary(kind.index_type, values, kind.ordered)
        plain = plain.set(at, schema[at].with_type(values if schema[at].name in found else whole))

    def changed(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = batch.columns
        for at in places:
            values = columns[at].dictionary.cast(_without_views(schema[at].type.value_type))
            columns[at] = pa.DictionaryArray.from_arrays(columns[at].indices, values, ordered=schema[at].type.ordered)
        for start in range(0, batch.num_rows, 1024):
            part = [column.slice(start, 1024) for column in columns]
            for at in places:
                if schema[at].name in found:
                    part[at] = part[at].dictionary_decode()
            yield pa.RecordBatch.from_arrays(part, schema=plain)

    return plain, itertools.chain.from_iterable(map(changed, batches)) if places else batches


def _unsupported(schema: pa.Schema, use: Callable[[pa.Table], object]) -> str:
    """Returns which column use does not support, and what to do."""
    import pyarrow as pa

    for field in schema:
        try:
            use(pa.table([pa.nulls(1, field.type)], names=[field.name]))
        except pa.ArrowNotImplementedError:
            return f"column {field.name!r}, which is {field.type}; cast it, for instance to strings"
    return "a column; cast it, for instance to strings"


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields tables of at most GROUP_BYTES, unless a single row is larger. It cuts larger batches."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        parts = [batch]
        while parts:
            part = parts.pop()
            part_bytes = _size(part)
            if part_bytes > GROUP_BYTES and part.num_rows > 1:
                half = part.num_rows // 2
                parts += [part.slice(half), part.slice(0, half)]
                continue
            if held and size + part_bytes > GROUP_BYTES:
                yield pa.Table.from_batches(held)
                held, size = [], 0
            held.append(part)
            size += part_bytes
    if held:
        yield pa.Table.from_batches(held)


def _size(batch: pa.RecordBatch) -> int:
    """Returns the bytes of a batch without dictionaries, which all parts of it share."""
    return sum(getattr(column, "indices", column).nbytes for column in batch.columns)


def kept(data: Any, mask: bytearray) -> Any:
    """Returns the rows of data that mask keeps, as the same kind of data."""
    what = kind(data)
    if hasattr(data, "__len__") and what != "huggingface" and len(data) != len(mask):
        raise ValueError(f"the run read {len(mask):,} rows, but data has {len(data):,}; give the same data")
    if what == "list":
        return type(data)(itertools.compress(data, mask))
    if what == "iterator":
        return _compressed(data, mask)
    if what == "pandas":
        import numpy as np

        return data[np.frombuffer(mask, dtype=bool)]
    if what == "polars":
        import polars as pl

        return data.filter(pl.Series(mask, dtype=pl.UInt8).cast(pl.Boolean))
    if what == "huggingface":
        return _kept_of_hugging_face(data, mask)
    if what == "arrow":
        return _filtered(data, mask)
    import pyarrow as pa
    import pyarrow.dataset

    batches = _kept_batches(
        data if what == "reader" else data.to_batches(batch_readahead=4, fragment_readahead=1), mask
    )
    reader = pa.RecordBatchReader.from_batches(data.schema, batches)
    return reader if what == "reader" else pyarrow.dataset.dataset(reader)


def _kept_of_hugging_face(data: Any, mask: bytearray) -> Any:
    if hasattr(data, "__len__"):
        if len(data) != len(mask):
            raise ValueError(f"the run read {len(mask):,} rows, but data has {len(data):,}; give the same data")
        return data.select(list(itertools.compress(range(len(mask)), mask)))
    return type(data).from_generator(_compressed, features=data.features, gen_kwargs={"data": data, "mask": mask})


def _filtered(data: Any, mask: bytearray) -> Any:
    """Returns the rows that mask keeps of a table or batch."""
    import pyarrow as pa

    try:
        return data.filter(_booleans(mask))
    except pa.ArrowNotImplementedError:  # of views
        plain = pa.schema([field.with_type(_without_views(field.type)) for field in data.schema], data.schema.metadata)
        try:
            return data.cast(plain).filter(_booleans(mask)).cast(data.schema)
        except pa.ArrowNotImplementedError as error:
            lacking = _unsupported(plain, lambda table: table.filter(_booleans(bytearray(b"\1"))))
            raise TypeError(f"pyarrow cannot filter {lacking}") from error


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Returns the type of strings for one of views."""
    import pyarrow as pa

    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def _booleans(mask: bytearray) -> pa.BooleanArray:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)]).cast(pa.bool_())


def _compressed(data: Iterable[Any], mask: bytearray) -> Iterator[Any]:
    """Yields the rows that mask keeps of data, which must have as many rows as mask."""
    count = 0
    for count, row in enumerate(data, 1):
        if count <= len(mask) and mask[count - 1]:
            yield row
    _same(count, mask)


def _kept_batches(batches: Iterable[pa.RecordBatch], mask: bytearray) -> Iterator[pa.RecordBatch]:
    at = 0
    for batch in batches:
        part = mask[at : at + batch.num_rows]
        at += batch.num_rows
        _same(max(at, len(mask)), mask)
        yield _filtered(batch, part)
    _same(at, mask)


def _same(count: int, mask: bytearray) -> None:
    if count != len(mask):
        raise ValueError(f"the run read {len(mask):,} rows, but data has {count:,}; give the same data")
