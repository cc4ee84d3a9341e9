"""Merging of functions that differ in names only."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.places import Metadata, Places
from metalbench.msl.vectorize.scalar_regions import FunctionMerger

NODES = [
    '!1 = !DIFile(filename: "a.metal", directory: "")',
    '!2 = distinct !DISubprogram(name: "k", scope: !1, file: !1)',
    *(f"!{line} = !DILocation(line: {line}, scope: !2)" for line in (10, 11)),
]
TEXT = """define internal void @{name}(ptr %rows) cold !dbg {function} {{
start:
  %v.{a} = load {type}, ptr %rows, !dbg {place}
  br label %b{b}, !dbg {nowhere}
b{b}:
  store {type} %v.{a}, ptr %{to}, !dbg {place}
  ret void
}}"""
PLAIN = {"a": 1, "b": 2, "type": "%struct.A", "to": "rows", "line": "!10"}


@pytest.fixture
def first():
    merger, function = FunctionMerger(), Places(Metadata(NODES), "!2")

    def first(name: str, **changed: object) -> str:
        places = function.of_function(name)
        given = {**PLAIN, **changed}
        place = places.of(str(given.pop("line")))
        text = TEXT.format(
            name=name, place=place, nowhere=places.nowhere, function=places.subprogram, **given
        )
        return merger.find_first(name, text.splitlines(), places)

    return first


def test_names_of_values_and_blocks_are_ignored(first):
    assert first("one") == "one"
    assert first("two", a=7, b=9) == "one"


@pytest.mark.parametrize(
    "changed", [{"type": "%struct.B"}, {"to": "v.1"}, {"line": "!11"}], ids=["type", "use", "line"]
)
def test_other_instructions_or_lines_are_not_merged(first, changed):
    assert first("one") == "one"
    assert first("two", **changed) == "two"
    assert first("three", a=5, **changed) == ("two" if changed != {"to": "v.1"} else "three")
