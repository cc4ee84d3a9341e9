"""Read and write files in untrusted folders.

Such a folder may hold links to files of the user, pipes, devices, and files of any size.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from metalbench.errors import DeclarationError


def read_plain_file(path: Path, most_bytes: int, what: str) -> bytes:
    """Return the bytes of a regular file of at most `most_bytes`; `what` names its contents.

    Raise DeclarationError for a folder, a pipe or a device, for a file that is too long, and for
    one that cannot be read.
    """
    try:
        # A pipe without a writer would block forever.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise DeclarationError(f"{path}: expected a plain file, got {_kind(status)}")
            # A file may grow, and files of /proc have no size: the read is bounded as well.
            data = file.read(most_bytes + 1) if status.st_size <= most_bytes else b""
    except IsADirectoryError:
        raise DeclarationError(f"{path}: expected a plain file, got a folder") from None
    except DeclarationError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DeclarationError(f"{path} cannot be read: {reason}") from error
    size = max(status.st_size, len(data))
    if size > most_bytes:
        raise DeclarationError(
            f"{path}: expected at most {most_bytes >> 20} MiB of {what}, got {size} bytes"
        )
    return data


def replace_file(path: Path, text: str, *, inside: Path | None = None) -> None:
    """Write `text` to `path`, all of it or nothing. Create the folders that are missing.

    The text goes to a new file of a random name in the same folder, which then replaces `path`. A
    link at `path` is replaced; its target stays as it is. With `inside`, folders on the way must
    lie in that folder, once links are followed.

    Raise DeclarationError for a link that leads out of `inside`, OSError for what cannot be
    written.
    """
    if inside is not None:
        check_inside(path, inside)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.parent / f".{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(unfinished, flags, 0o666)
    try:
        # Text of a model may hold lone surrogates, which UTF-8 cannot encode.
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def check_inside(path: Path, folder: Path) -> None:
    """Raise DeclarationError if `path` or a folder above it is a link that leads out of `folder`.

    A path that does not exist yet is accepted. `folder` itself may be a link.
    """
    try:
        real, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):  # links in a circle
        real, root = Path("/"), folder
    if not real.is_relative_to(root):
        raise DeclarationError(
            f"{path}: expected a file in {folder}, got a link that leads out of it; remove the link"
        )


def _kind(status: os.stat_result) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "something else")


# Read untrusted JSON files with bounds and typed access.
#
# `read_json` refuses files that are too long or nested too deeply, NaN and infinities, integers
# beyond the range of float64, and lone surrogates. `JsonValue` is a value with its place in the
# file. Errors of typed access name this place.

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
