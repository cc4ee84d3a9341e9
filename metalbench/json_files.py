"""Read JSON files of unknown origin by declared types.

Files that are too long or nested too deeply, NaN and infinities, numbers beyond the range of
float64, and lone surrogates are refused. Errors name the file and the place in it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from metalbench.errors import DeclarationError
from metalbench.safe_text import shorten
from metalbench.untrusted_files import read_plain_file

MOST_BYTES = 64 << 20
MOST_DEPTH = 64
TOO_DEEP = f"expected at most {MOST_DEPTH} levels of nesting, got more"
MOST_INTEGER = 2**63 - 1
# Types of fields.
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
ShortText = Annotated[str, msgspec.Meta(max_length=200)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_INTEGER)]

Declared = TypeVar("Declared")


def read_json(
    path: Path, declared: type[Declared], *, form: str = "", most_bytes: int = MOST_BYTES
) -> Declared:
    """Return the content of a JSON file as a value of the type `declared`.

    `form` is the phrase of messages for what the file should be. Raise DeclarationError, with the
    path, for any other file.
    """
    data = read_plain_file(path, most_bytes, "JSON")
    return parse_json(data, declared, str(path), form=form)


def parse_json(data: bytes, declared: type[Declared], file: str, *, form: str = "") -> Declared:
    """Return the value of JSON text; `file` is its name in messages, the rest as in `read_json`."""
    try:
        plain = msgspec.json.decode(data)
        _check_limits(plain)
    except ValueError as error:
        raise _make_error(file, form or "JSON", str(error)) from None
    except RecursionError:
        raise _make_error(file, form, TOO_DEEP) from None
    return convert_json(plain, declared, file, form=form)


def convert_json(plain: Any, declared: type[Declared], file: str, *, form: str = "") -> Declared:
    """Return parsed JSON as a value of the type `declared`; errors are those of `read_json`."""
    try:
        return msgspec.convert(plain, declared)
    except (ValueError, OverflowError) as error:
        raise _make_error(file, form, str(error)) from None


def _make_error(file: str, form: str, reason: str) -> DeclarationError:
    expected = f"expected {form}; " if form else ""
    return DeclarationError(f"{file}: {expected}{shorten(reason)}")


def _check_limits(plain: Any) -> None:
    """Raise ValueError for nesting and for integers that only fields of any type may have."""
    left = [(plain, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, dict | list):
            if depth > MOST_DEPTH:
                raise ValueError(TOO_DEEP)
            parts = value.values() if isinstance(value, dict) else value
            left.extend((each, depth + 1) for each in parts)
        elif isinstance(value, int) and abs(value) > sys.float_info.max:
            raise ValueError("expected numbers within the range of float64, got a larger integer")
