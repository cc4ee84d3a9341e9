"""The reader of strangers' JSON: what it refuses, and how its errors name the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metalbench.errors import DeclarationError
from metalbench.untrusted_files import MOST_DEPTH, JsonValue, parse_json, read_json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 200_000, "levels of nesting"),
        ("[" * 200_000 + "]" * 200_000, "levels of nesting"),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "levels of nesting"),
        ('"' + "[" * 200, "expected JSON: Unterminated string"),
        ('{"a": NaN}', "expected finite numbers, got NaN"),
        ('{"a": [-Infinity]}', "expected finite numbers, got -Infinity"),
        ('{"a": [1, 1e400]}', r"a\[1\]: expected a number within the range of float64"),
        ('{"a": 1' + "0" * 400 + "}", "a: expected a number within the range of float64"),
        ('{"a": 1' + "0" * 5000 + "}", "expected JSON"),
        (r'{"a": {"b": "x\ud800"}}', r"a\.b: expected Unicode text without lone surrogates"),
        (r'{"a": {"\udfff": 1}}', "a: expected names of Unicode text"),
        ("", "expected JSON"),
        ("{", "expected JSON"),
    ],
)
def test_parse_json_refuses(text: str, says: str) -> None:
    with pytest.raises(DeclarationError, match=f"^file: .*{says}"):
        parse_json(text.encode(), "file")


def test_parse_json_refuses_bytes_that_are_not_utf8() -> None:
    with pytest.raises(DeclarationError, match="file: expected JSON in UTF-8"):
        parse_json(b'{"a": "\xff"}', "file")


def test_parse_json_takes_brackets_in_strings_and_the_deepest_nesting() -> None:
    text = json.dumps(["[" * 500, '"{' * 500, "\\" * 3, "\U0001f600"])
    assert parse_json(text.encode(), "file").raw == json.loads(text)
    deepest = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert parse_json(deepest.encode(), "file").raw == json.loads(deepest)


VALUE = parse_json(b'{"a": [1, 2.5, true, null, "x"], "b c": {}}', "file")


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda v: v["c"], "file: expected an object with the field 'c', got none"),
        (lambda v: v["a"]["c"], "file: a: expected an object, got a list of 5"),
        (lambda v: v["a"].list()[1].integer(), r"a\[1\]: expected an integer, got 2.5"),
        (lambda v: v["a"].list()[2].integer(), r"a\[2\]: expected an integer, got true"),
        (lambda v: v["a"].list()[2].number(), r"a\[2\]: expected a number, got true"),
        (lambda v: v["a"].list()[0].number(2, 3), "expected a number from 2 to 3, got 1"),
        (lambda v: v["a"].list()[0].integer(2), "expected an integer from 2 to"),
        (lambda v: v["a"].list()[0].boolean(), "expected true or false, got 1"),
        (lambda v: v["a"].list()[3].text(), "expected text, got null"),
        (lambda v: v["a"].list()[4].text(0), "text of at most 0 characters, got 1 characters"),
        (lambda v: v["b c"].list(), '"b c": expected a list, got an object of 0'),
    ],
)
def test_typed_access_names_the_place(read: object, says: str) -> None:
    with pytest.raises(DeclarationError, match=says):
        read(VALUE)  # type: ignore[operator]


def test_typed_access_returns_the_values(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"a": null, "b": 3}')
    read: JsonValue = read_json(tmp_path / "a")
    assert read.get("a") is None
    assert read.get("c") is None
    assert (read["b"].integer(0, 3), read["b"].number()) == (3, 3.0)
