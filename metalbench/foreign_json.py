"""Read untrusted JSON files with bounds and typed access.

`read_json` refuses files that are too long or nested too deeply, NaN and infinities, integers
beyond the range of float64, and lone surrogates. `JsonValue` is a value with its place in the file.
Errors of typed access name this place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from metalbench.errors import DeclarationError
from metalbench.plain_file import read_plain_file

MOST_BYTES = 64 << 20
MOST_DEPTH = 64
MOST_TEXT = 10_000
MOST_INTEGER = 2**63 - 1
_QUOTE_OR_BRACKET = re.compile(rb'"|[\[\]{}]')
_IN_STRING = re.compile(rb'\\.|"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"\w{1,60}")
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "an integer"}


def read_json(path: Path, *, most_bytes: int = MOST_BYTES) -> JsonValue:
    """Return the JSON of a file; raise DeclarationError, with its path, for anything else."""
    return parse_json(read_plain_file(path, most_bytes, "JSON"), str(path))


def parse_json(data: bytes, file: str) -> JsonValue:
    """Return the JSON that `data` holds; `file` is its name in messages.

    Raise DeclarationError for what is not JSON or is refused (see above).
    """
    _check_depth(data, file)
    try:
        raw = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{file}: expected JSON in UTF-8: {error}") from None
    except (ValueError, RecursionError) as error:
        raise DeclarationError(f"{file}: expected JSON: {error}") from None
    document = JsonValue(file, "", raw)
    _check_values(document)
    return document


@contextmanager
def expect_form(path: Path, form: str) -> Iterator[None]:
    """Add what a file should be, `form`, to errors about its fields that are raised within."""
    try:
        yield
    except DeclarationError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise DeclarationError(f"{path}: expected {form}; {reason}") from error


@dataclass(frozen=True)
class JsonValue:
    """A value of a file of JSON. `place` is its path in the document, as ``results[0].ratio``."""

    file: str
    place: str
    raw: Any

    def __getitem__(self, name: str) -> JsonValue:
        """Return a field of an object, which must be there."""
        fields = self.object()
        if name not in fields:
            self._refuse(f"an object with the field {name!r}", "none")
        return fields[name]

    def get(self, name: str) -> JsonValue | None:
        """Return a field of an object; None where it is missing or null."""
        found = self.object().get(name)
        return None if found is None or found.raw is None else found

    def object(self) -> Mapping[str, JsonValue]:
        """Return the fields of an object."""
        if not isinstance(self.raw, dict):
            self._refuse("an object")
        return {name: JsonValue(self.file, self._of(name), each) for name, each in self.raw.items()}

    def list(self) -> tuple[JsonValue, ...]:
        """Return the elements of a list."""
        if not isinstance(self.raw, list):
            self._refuse("a list")
        return tuple(
            JsonValue(self.file, f"{self.place}[{index}]", each)
            for index, each in enumerate(self.raw)
        )

    def text(self, most: int = MOST_TEXT) -> str:
        """Return text of at most `most` characters."""
        if not isinstance(self.raw, str):
            self._refuse("text")
        if len(self.raw) > most:
            self._refuse(f"text of at most {most} characters", f"{len(self.raw)} characters")
        return self.raw

    def boolean(self) -> bool:
        """Return true or false."""
        if not isinstance(self.raw, bool):
            self._refuse("true or false")
        return self.raw

    def integer(self, least: int = -MOST_INTEGER - 1, most: int = MOST_INTEGER) -> int:
        """Return an integer from `least` to `most`."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int):
            self._refuse("an integer")
        if not least <= self.raw <= most:
            self._refuse(f"an integer from {least} to {most}")
        return self.raw

    def number(self, least: float = -math.inf, most: float = math.inf) -> float:
        """Return a finite number from `least` to `most`."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int | float):
            self._refuse("a number")
        if not least <= self.raw <= most:
            self._refuse(f"a number from {least:g} to {most:g}")
        return float(self.raw)

    def refuse(self, expected: str) -> NoReturn:
        """Raise DeclarationError: this value is not what was `expected`."""
        self._refuse(expected)

    def _refuse(self, expected: str, got: str = "") -> NoReturn:
        place = f"{self.place}: " if self.place else ""
        raise DeclarationError(f"{self.file}: {place}expected {expected}, got {got or self._shown}")

    @property
    def _shown(self) -> str:
        """A short description of the value."""
        if self.raw is None:
            return "null"
        if isinstance(self.raw, dict | list):
            return f"{_KINDS[type(self.raw)]} of {len(self.raw)}"
        text = json.dumps(self.raw)
        return text if len(text) <= 60 else f"{text[:60]}..."

    def _of(self, name: str) -> str:
        shown = name if _NAME.fullmatch(name) else json.dumps(name[:60])
        return f"{self.place}.{shown}" if self.place else shown


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {word}")


def _check_depth(data: bytes, file: str) -> None:
    """Refuse deep nesting before the parser recurses."""
    depth, at = 0, 0
    while (found := _QUOTE_OR_BRACKET.search(data, at)) is not None:
        at = found.end()
        if found[0] == b'"':
            at = _end_of_string(data, at)
        elif found[0] in b"[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise DeclarationError(
                    f"{file}: expected JSON of at most {MOST_DEPTH} levels of nesting, got more"
                )
        else:
            depth -= 1


def _end_of_string(data: bytes, at: int) -> int:
    while (found := _IN_STRING.search(data, at)) is not None:
        at = found.end()
        if found[0] == b'"':
            return at
    return len(data)  # not JSON, as the parser reports


def _check_values(document: JsonValue) -> None:
    """Refuse numbers beyond float64 and text that is not Unicode, at any depth."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value.raw, str):
            if _SURROGATE.search(value.raw):
                value.refuse("Unicode text without lone surrogates")
        elif isinstance(value.raw, float):
            if not math.isfinite(value.raw):
                value.refuse("a number within the range of float64")
        elif isinstance(value.raw, int):
            if abs(value.raw) > 2**1000:
                value.refuse("a number within the range of float64")
        elif isinstance(value.raw, dict | list):
            left.extend(_parts(value))


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the values that a compound may hold that need a check, and an object's names."""
    if isinstance(value.raw, list):
        yield from value.list()
        return
    for name, each in value.object().items():
        if _SURROGATE.search(name):
            value.refuse("names of Unicode text without lone surrogates")
        yield each
