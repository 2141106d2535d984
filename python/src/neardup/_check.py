"""Checks keyword arguments against the keys of job files before anything runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from . import _options

OWN: dict[str, Any] = {"text": str | Sequence[str], "id": str, "threshold": float, "of": str}


def check(command: str, options: Mapping[str, Any]) -> None:
    """Raises a TypeError or ValueError for a name or value that the command does not accept; None is ignored."""
    known = OWN | get_type_hints(getattr(_options, "Dedup" if command == "plan" else command.title()))
    for name, value in options.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; see help(neardup.{command})"
            raise TypeError(f"{command}() has no keyword argument {name!r}{hint}")
        hint = known[name]
        if value is None or _fits(value, hint):
            continue
        words = [word for one in _parts(hint) if get_origin(one) is Literal for word in get_args(one)]
        given = [value] if isinstance(value, str) else value
        if not words or not isinstance(given, (list, tuple)):
            raise TypeError(f"{name} must be {_named(hint)}, not {value!r}")
        wrong = next(one for one in given if one not in words)
        near = get_close_matches(str(wrong), words, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be {', '.join(words[:-1])} or {words[-1]}, not {wrong!r}{hint}")


def _parts(hint: Any) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if origin is not None and issubclass(origin, os.PathLike):
        return isinstance(value, os.PathLike)
    if origin is Sequence:
        return isinstance(value, (list, tuple)) and all(_fits(one, get_args(hint)[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, Mapping)
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    return isinstance(value, hint)


def _named(hint: Any) -> str:
    names = {
        str: "a string",
        int: "a whole number",
        float: "a number",
        bool: "True or False",
        Sequence: "a list of them",
    }
    names |= {Mapping: "a dictionary", os.PathLike: "a Path"}
    return " or ".join(names[get_origin(one) or one] for one in _parts(hint))
