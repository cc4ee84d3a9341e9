"""The reader of strangers' JSON: what it refuses, and how its errors name the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metalbench.errors import DeclarationError
from metalbench.json_files import MOST_DEPTH, Count, ShortText, parse_json, read_json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 200_000, "levels of nesting"),
        ("[" * 200_000 + "]" * 200_000, "levels of nesting"),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "levels of nesting"),
        ("[" * 65 + "]" * 65, "levels of nesting"),
        ('{"a":' * 65 + "1" + "}" * 65, "levels of nesting"),
        ('"' + "[" * 200, "truncated"),
        ('{"a": NaN}', "JSON is malformed: invalid character"),
        ('{"a": [-Infinity]}', "JSON is malformed: invalid character"),
        ('{"a": [1, 1e400]}', r"Number out of range - at `\$\[...\]\[1\]`"),
        ('{"a": 1' + "0" * 400 + "}", "expected numbers within the range of float64"),
        ('{"a": -1' + "0" * 400 + "}", "expected numbers within the range of float64"),
        ('{"a": 1' + "0" * 5000 + "}", "Integer value out of range"),
        (r'{"a": {"b": "x\ud800"}}', "truncated|malformed|surrogate"),
        (r'{"a": {"\udfff": 1}}', "surrogate"),
        ('{"a": 1} {}', "trailing characters"),
        ("", "truncated"),
        ("{", "truncated"),
    ],
)
def test_parse_json_refuses(text: str, says: str) -> None:
    with pytest.raises(DeclarationError, match=f"^file: .*({says})"):
        parse_json(text.encode(), object, "file")


def test_parse_json_refuses_bytes_that_are_not_utf8() -> None:
    # The message after it is msgspec's.
    with pytest.raises(DeclarationError, match=r"file: expected JSON; .*(?i:utf-8)"):
        parse_json(b'{"a": "\xff"}', object, "file")


def test_parse_json_takes_brackets_in_strings_and_the_deepest_nesting() -> None:
    text = json.dumps(["[" * 500, '"{' * 500, "\\" * 3, "\U0001f600"])
    assert parse_json(text.encode(), object, "file") == json.loads(text)
    deepest = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert parse_json(deepest.encode(), object, "file") == json.loads(deepest)


class Part(msgspec.Struct):
    text: ShortText
    number: float | None = None


class Whole(msgspec.Struct):
    parts: list[Part]
    count: Count = 0
    rest: dict[str, Any] | None = None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "Expected `object`, got `array`"),
        ("{}", "Object missing required field `parts`"),
        ('{"parts": {}}', r"Expected `array`, got `object` - at `\$.parts`"),
        ('{"parts": [{"text": 1}]}', r"Expected `str`, got `int` - at `\$.parts\[0\].text`"),
        ('{"parts": [{"text": null}]}', r"Expected `str`, got `null` - at `\$.parts\[0\].text`"),
        ('{"parts": [{"text": "%s"}]}' % ("x" * 201), r"length <= 200 - at `\$.parts\[0\].text`"),
        ('{"parts": [], "count": 1.5}', r"Expected `int`, got `float` - at `\$.count`"),
        ('{"parts": [], "count": true}', r"Expected `int`, got `bool` - at `\$.count`"),
        ('{"parts": [], "count": "1"}', r"Expected `int`, got `str` - at `\$.count`"),
        ('{"parts": [], "count": -1}', r"Expected `int` >= 0 - at `\$.count`"),
        ('{"parts": [], "count": 9223372036854775808}', r"at `\$.count`"),
        ('{"parts": [{"text": "", "number": true}]}', r"got `bool` - at `\$.parts\[0\].number`"),
    ],
)
def test_parse_json_names_the_file_and_the_place(text: str, says: str) -> None:
    with pytest.raises(DeclarationError, match=f"^file: expected a whole; .*{says}"):
        parse_json(text.encode(), Whole, "file", form="a whole")


def test_read_json_returns_the_declared_type(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(
        '{"parts": [{"text": "x", "number": 3, "other": [1]}], "rest": null, "parts": '
        '[{"text": "y", "number": 3}]}'
    )
    read = read_json(tmp_path / "a", Whole)
    assert read == Whole([Part("y", 3.0)])
    assert type(read.parts[0].number) is float


def test_read_json_limits_the_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[" + " " * (2 << 20) + "]")
    with pytest.raises(DeclarationError, match="at most 1 MiB of JSON"):
        read_json(tmp_path / "a", list, most_bytes=1 << 20)
