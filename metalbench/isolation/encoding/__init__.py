"""Values as bytes, and back by the types that are declared for them: nothing in the bytes is run.

A value becomes JSON in which a dataclass is an object of its fields, an enumeration's member its
value and an array its shape; the bytes of the arrays follow. No type is named in it.
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
    """The bytes of `value`, which is of the type `declared`; `name` is what errors call it."""
    arrays: list[bytes] = []
    text = json.dumps(make_codec(declared).encode(value, arrays, name)).encode("ascii")
    return b"".join((len(text).to_bytes(LENGTH_BYTES, "little"), text, *arrays))


def decode(data: bytes, declared: Any, name: str = "value") -> Any:
    """The value of the type `declared` that `data` stands for; raises EncodingError if for none."""
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
