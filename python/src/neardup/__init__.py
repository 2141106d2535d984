"""Find near-duplicate documents: every reported pair is verified exactly, and you choose the recall.

>>> import neardup
>>> texts = ["the cat sat on the mat by the door", "The cat sat on the mat, by the door.", "a dog"]
>>> neardup.dedup(texts).filter(texts)
['the cat sat on the mat by the door', 'a dog']
"""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from . import _options
from ._check import check
from ._data import Rows, loaded, paths
from ._process import Error, arguments, run
from ._result import Answer, Folder, Report, Result, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Answer", "Error", "Report", "Result", "Table", "compare", "dedup", "diff", "plan", "query"]

Path = str | os.PathLike[str]


def dedup(
    data: Any,
    output: Path | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    threshold: float | None = None,
    **spec: Unpack[_options.Dedup],
) -> Result:
    """Finds near-duplicates in data, which is a path, a list of Paths, or rows: texts or dictionaries, a pandas or
    Polars DataFrame, a pyarrow table, reader or dataset, or a Hugging Face dataset.

    The output is a folder, which is temporary unless you name it. Keyword arguments are the keys of a job file. By
    default, neardup compares the column text with threshold 0.8; if match names columns with thresholds, it compares
    only these, unless you also give text. from_ names a finished output, to decide again which of its documents to
    keep; data must then be None.
    """
    options = dict(spec, text=text, id=id, threshold=threshold)
    check("dedup", options)
    if (spec.get("from_") is None) == (data is None):
        raise TypeError("give either data or from_, and None for the other")
    data = loaded(data)
    folder = None
    if output is None:
        if spec.get("runner", "local") != "local" and data is not None and paths(data) is None:
            raise ValueError("workers cannot reach a temporary output; give output, a folder that they reach")
        folder = Folder(tempfile.mkdtemp(prefix="neardup-"))
        output = os.path.join(folder.path, "output")
        if data is not None and paths(data) is None and not {"write", "drop_not_compared", "max_removed"} & spec.keys():
            options["write"] = ["pairs", "clusters", "removed", "rejected"]
    try:
        summary, rows = _read("dedup", data, {**options, "output": output})
    except BaseException as error:
        if folder:
            folder.remove()
            if isinstance(error, Error):
                error.args = (folder.unnamed(str(error)), error.status)
        raise
    return Result(os.fspath(output), summary, rows, folder, spec.get("store_endpoint") or {})


def plan(
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    threshold: float | None = None,
    **spec: Unpack[_options.Dedup],
) -> Answer:
    """Forecasts a run of dedup from a sample of data. The rows list what the run shuffles between steps."""
    options = dict(spec, text=text, id=id, threshold=threshold)
    check("plan", options)
    columns = {"name": "string", "from": "string", "to": "string", "bytes": "int64"}
    return Answer(_read("plan", loaded(data), options)[0], lambda answer: answer["forecast"]["shuffled"], columns)


def query(
    data: Any,
    of: str | None = None,
    *,
    document: str | None = None,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    **spec: Unpack[_options.Query],
) -> Answer:
    """Finds the documents nearest to a document of data, named by its id (of), or to a text (document).

    The rows are the documents found.
    """
    options = dict(spec, text=text, id=id, of=of)
    check("query", options)
    if (of is None) == (document is None):
        raise TypeError("give either of (an id) or document (a text)")
    with _Texts() as texts:
        if document is not None:
            options["file"] = texts.path(document, "document")
        answer = _read("query", loaded(data), options, texts=texts)[0]
        if document is not None:
            answer["of"] = "document"
        columns = {"id": "string", "source": "string", "position": "int64", "estimate": "null", "buckets": "null"}
        columns |= {"similarity": "double", "shared": "int64", "size": "int64"}
        return Answer(answer, lambda answer: answer["neighbours"], columns)


def compare(
    data: Any,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    **spec: Unpack[_options.Compare],
) -> Answer:
    """Finds the similar pairs of a small collection with several methods. Each row shows how far a method agrees with
    the first one."""
    options = dict(spec, text=text, id=id)
    check("compare", options)
    return Answer(_read("compare", loaded(data), options)[0], lambda answer: answer["methods"])


def diff(
    a: Path,
    b: Path,
    data: Any = None,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    **spec: Unpack[_options.Diff],
) -> Answer:
    """Compares two documents of data, named by their ids. Without data, compares two texts, or two files if a and b are
    Paths.

    With measures=True, the rows are similarities and distances.
    """
    with _Texts() as texts:
        if data is None:
            options = dict(spec)
            check("diff", options)
            named = {"a": a, "b": b}.items()
            words = [os.fspath(one) if isinstance(one, os.PathLike) else texts.path(one, name) for name, one in named]
        else:
            options = dict(spec, text=text, id=id)
            check("diff", options)
            words = [os.fspath(a), os.fspath(b)]
        answer = _read("diff", loaded(data), options, words, texts)[0]
        for name, word in zip("ab", words, strict=True):
            if word.startswith("/dev/fd/"):
                answer[name]["name"] = name
        columns = {"name": "string", "value": "double", "of": "string", "metric": "bool"}
        return Answer(answer, lambda answer: answer.get("measures", []), columns)


class _Texts(ExitStack):
    """Unnamed files with the texts of arguments, for the program to open. Errors name the arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[int] = []
        self.names: dict[str, str] = {}

    def __exit__(self, *raised: Any) -> bool | None:
        error = raised[1]
        if isinstance(error, Error):
            names = r"(?:file )?(/dev/fd/\d+)"
            error.args = (re.sub(names, lambda found: self.names[found[1]], str(error)), error.status)
        return super().__exit__(*raised)

    def path(self, text: str, name: str) -> str:
        file = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        file.write(text.encode(errors="surrogatepass"))
        file.flush()
        file.seek(0)
        self.open.append(file.fileno())
        path = f"/dev/fd/{file.fileno()}"
        self.names[path] = name
        return path


def _read(
    command: str,
    data: Any,
    options: Mapping[str, Any],
    words: Sequence[str] = (),
    texts: _Texts | None = None,
) -> tuple[dict[str, Any], Rows | None]:
    """Runs a command on data. Also returns the Rows, which know their number, if data is not a path."""
    files = texts.open if texts else ()
    if data is None:
        return run(command, arguments(options), files=files, words=words), None
    given = paths(data)
    if given is not None:
        return run(command, arguments({"input": given, **options}), files=files, words=words), None
    if options.get("format") is not None:
        raise TypeError("format is only for files; leave it out")
    whole = command == "dedup" and "corpus" in options.get("write", "corpus")
    rows = Rows(data, *_columns(options), whole)
    taken = {**options, "format": rows.format}
    if command != "compare":
        return run(command, arguments({**taken, "input": "-"}), rows.write, files, words), rows
    with tempfile.NamedTemporaryFile(prefix="neardup-") as spooled:  # compare reads it once for each method
        rows.write(spooled)
        spooled.flush()
        return run(command, arguments({**taken, "input": spooled.name})), rows


def _columns(options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the columns that the options name: those of the text, and the others, of which the first is the id."""
    rules = [rule.rpartition("=") for rule in _listed(options.get("match"))]
    text = _listed(options["text"])
    # If no text is named, rules of similarity are the whole comparison.
    if not text and all(re.match("equal|different|within", rule) for _, _, rule in rules):
        text = ["text"]
    policies = [policy.partition(":") for policy in _listed(options.get("keep"))]
    ranked = [column for policy, _, column in policies if policy in ("max", "min")]
    others = [options.get("id") or "id", *ranked, *(column for column, _, _ in rules)]
    return text, [name for name in others if name]


def _listed(value: str | Sequence[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _signed(function: Callable[..., object], spec: type) -> None:
    """Adds the keyword arguments to the signature, for notebooks and other tools that show it."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in spec.__annotations__]
    function.__signature__ = signature.replace(parameters=own + more)  # type: ignore[attr-defined]


for _function in (dedup, plan, query, compare, diff):
    _signed(_function, getattr(_options, {"plan": "Dedup"}.get(_function.__name__, _function.__name__.title())))
