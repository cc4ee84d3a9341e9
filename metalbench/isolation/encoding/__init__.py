"""Encode values as bytes, and decode them by declared types. Decoding executes nothing.

A value becomes JSON: a dataclass is an object of its fields, an enumeration's member its value, an
array its shape. The bytes of the arrays follow. The bytes name no types.
"""

from __future__ import annotations

import json
from typing import Any

from metalbench.errors import EncodingError
from metalbench.isolation.encoding.compounds import make_codec
from metalbench.isolation.encoding.shape import ArrayBytes

__all__ = ["decode", "encode"]

LENGTH_BYTES = 8


def encode(value: object, declared: Any, name: str = "value") -> bytes:
    """Return the bytes of `value`, which has type `declared`; errors use `name` for it."""
    arrays: list[bytes] = []
    text = json.dumps(make_codec(declared).encode(value, arrays, name)).encode("ascii")
    return b"".join((len(text).to_bytes(LENGTH_BYTES, "little"), text, *arrays))


def decode(data: bytes, declared: Any, name: str = "value") -> Any:
    """Return the value of type `declared` in `data`. Raises EncodingError for other bytes."""
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    if len(data) < max(end, LENGTH_BYTES):
        raise EncodingError(f"{name}: expected {end} bytes at least, got {len(data)}")
    try:
        plain = json.loads(data[LENGTH_BYTES:end].decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise EncodingError(f"{name}: expected JSON, got something else: {error}") from error
    rest = ArrayBytes(data[end:])
    try:
        value = make_codec(declared).decode(plain, rest, name)
    except EncodingError:
        raise
    except (ValueError, OverflowError) as error:
        raise EncodingError(f"{name}: {error}") from error
    if rest:
        raise EncodingError(f"{name}: expected its end, got {len(rest)} more bytes")
    return value
