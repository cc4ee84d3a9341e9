"""Encode values as MessagePack, and decode them by declared types. Decoding executes nothing.

A dataclass is a map of its fields, an enumeration's member its value, a path its bytes, and an
array its element type, shape and bytes. The bytes name no Python types.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import numpy as np

from metalbench.errors import EncodingError
from metalbench.safe_text import shorten

__all__ = ["decode", "encode"]

# Other element types may have bit patterns that are not numbers.
ELEMENTS = tuple(np.dtype(each) for each in (np.float64, np.int64, np.bool_))
ArrayForm = tuple[str, tuple[Annotated[int, msgspec.Meta(ge=0)], ...], Any]


def encode(value: object, declared: Any, name: str = "value") -> bytes:
    """Return the bytes of `value`; errors use `name` for it.

    Lone surrogates, which UTF-8 cannot encode, become escapes. Raises EncodingError if `value` does
    not have the type `declared`.
    """
    try:
        try:
            data = msgspec.msgpack.encode(value, enc_hook=_to_plain)
        except UnicodeEncodeError:
            plain = msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_to_plain)
            data = msgspec.msgpack.encode(_escape_surrogates(plain))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise EncodingError(f"{name}: {error}") from error
    decode(data, declared, name)
    return data


def decode(data: bytes, declared: Any, name: str = "value") -> Any:
    """Return the value of type `declared` in `data`. Raises EncodingError for other bytes."""
    decoder = _make_decoder(declared)
    try:
        return decoder.decode(data)
    except (ValueError, OverflowError, RecursionError) as error:
        # The message may quote text of any length.
        raise EncodingError(f"{name}: {shorten(str(error))}") from error


@cache
def _make_decoder(declared: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(declared, dec_hook=_from_plain)


def _to_plain(value: Any) -> Any:
    """Return the encoded form of a value of a type that msgspec does not know."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype in ELEMENTS:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Path):
        return str(value).encode("utf-8", "surrogatepass")
    raise TypeError(f"values of type {type(value).__name__} cannot be encoded")


def _from_plain(declared: Any, plain: Any) -> Any:
    """Return the value of a path's or an array's encoded form. `plain` may hold anything."""
    if declared is Path:
        return Path(_expect_bytes(plain).decode("utf-8", "surrogatepass"))
    if get_origin(declared) is not np.ndarray:
        raise TypeError(f"values of type {declared} cannot be decoded")
    # NDArray[float64] is ndarray[shape, dtype[float64]].
    expected = np.dtype(get_args(get_args(declared)[1])[0])
    try:
        element, shape, content = msgspec.convert(plain, ArrayForm)
    except msgspec.ValidationError as error:
        raise ValueError(error) from error  # to which msgspec adds the place of the array
    data = _expect_bytes(content)
    if expected not in ELEMENTS or element != expected.str:
        raise ValueError(f"Expected an array of {expected.str}, got one of {element[:20]!r}")
    if len(data) != math.prod(shape) * expected.itemsize:
        raise ValueError(f"Expected the bytes of shape {shape}, got {len(data)} bytes")
    if expected == np.bool_ and data.strip(b"\0\1"):
        raise ValueError("Expected bytes of 0 and 1, got others")
    return np.frombuffer(bytearray(data), expected).reshape(shape)


def _expect_bytes(plain: Any) -> bytes:
    # msgspec.convert would also accept text in base64.
    if not isinstance(plain, bytes):
        raise TypeError(f"Expected `bytes`, got `{type(plain).__name__}`")
    return plain


def _escape_surrogates(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(plain, dict):
        return {_escape_surrogates(key): _escape_surrogates(each) for key, each in plain.items()}
    if isinstance(plain, list | tuple):
        return [_escape_surrogates(each) for each in plain]
    return plain
