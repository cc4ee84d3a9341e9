"""Mutations of a JSON document, as a stranger could write it: each changes one place."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

DEEP = object()
HOSTILE = "\x1b[31mE\u202e\n::error::x##[error]"
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 7, 2**63, 10**400, 1e-300, 1e300, float("inf"), float("nan")),
    *("", "x", HOSTILE, "\ud800", [], {}, [1e308, -1e308], {"x": 1}, {HOSTILE: None}, [[]], DEEP),
)


def mutations(document: Any, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the place of each mutation, and the whole document's text with it."""
    draw = random.Random(seed)
    places = [each for each in _places(document) if each]
    for _ in range(count):
        place, value = draw.choice(places), draw.choice((*VALUES, "remove"))
        changed = copy.deepcopy(document)
        parent = changed
        for key in place[:-1]:
            parent = parent[key]
        if value == "remove":
            del parent[place[-1]]
        else:
            parent[place[-1]] = "DEEP" if value is DEEP else value
        text = json.dumps(changed)
        deep = "[" * 100_000 + "]" * 100_000
        yield f"{place}: {value!r}"[:200], text.replace('"DEEP"', deep)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*place, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            yield from _places(value[index], (*place, index))
