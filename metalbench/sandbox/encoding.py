"""Encode values as bytes, and decode them by declared types. Decoding executes nothing.

A value becomes JSON: a dataclass is an object of its fields, an enumeration's member its value, an
array its shape. The bytes of the arrays follow. The bytes name no types.
"""

from __future__ import annotations

import collections.abc
import json
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union

import numpy as np

from metalbench.errors import EncodingError

__all__ = ["decode", "encode"]


# Base class of codecs, and the bytes of arrays.

LONGEST_SHOWN = 60


class Codec(ABC):
    """A codec of one declared type. Errors use `name` for the place of a value."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __str__(self) -> str:
        return str(getattr(self._declared, "__name__", self._declared))

    @abstractmethod
    def can_encode(self, value: object) -> bool:
        """Return whether `value` has this type, without regard to its parts."""

    @abstractmethod
    def can_decode(self, plain: object) -> bool:
        """Return whether `plain` is the JSON form of this type, without regard to its parts."""

    def encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        """Return the JSON form of `value`, and append the bytes of arrays to `arrays`."""
        if not self.can_encode(value):
            raise EncodingError(f"{name}: expected {self}, got {format_value(value)}")
        return self._encode(value, arrays, name)

    def decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        """Return the value of `plain`, and take the bytes of arrays from `rest`."""
        if not self.can_decode(plain):
            raise EncodingError(f"{name}: expected {self}, got {format_value(plain)}")
        return self._decode(plain, rest, name)

    @abstractmethod
    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any: ...

    @abstractmethod
    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any: ...


class ArrayBytes:
    """The bytes of arrays that were not decoded yet."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)

    def __len__(self) -> int:
        return len(self._data)

    def take(self, size: int, name: str) -> memoryview:
        """Remove and return the next `size` bytes."""
        if size > len(self):
            raise EncodingError(f"{name}: expected {size} more bytes, got {len(self)}")
        taken, self._data = self._data[:size], self._data[size:]
        return taken


def format_value(value: object) -> str:
    """Return a value as error messages show it."""
    text = repr(value)
    short = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
    return f"{type(value).__name__} {short}"


# Codecs of types without parts, and of arrays of numbers.

# Other element types may have bit patterns that are not numbers.
ELEMENTS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))


class ScalarCodec(Codec):
    """None, a bool, a number, a string or a path."""

    # Accepted types of a value, and of its JSON form.
    KINDS: typing.ClassVar[dict[Any, tuple[tuple[type, ...], tuple[type, ...]]]] = {
        type(None): ((type(None),), (type(None),)),
        bool: ((bool, np.bool_), (bool,)),
        int: ((int, np.integer), (int,)),
        float: ((float, np.floating, int, np.integer), (float, int)),
        str: ((str,), (str,)),
        Path: ((Path,), (str,)),
    }

    def can_encode(self, value: object) -> bool:
        """Return whether it has the type; numbers of NumPy are numbers."""
        return self._is_one_of(self.KINDS[self._declared][0], value)

    def can_decode(self, plain: object) -> bool:
        """Return whether it has the type's JSON form."""
        return self._is_one_of(self.KINDS[self._declared][1], plain)

    def _is_one_of(self, kinds: tuple[type, ...], value: object) -> bool:
        # In Python a bool is an int.
        return isinstance(value, kinds) and (self._declared is bool or not isinstance(value, bool))

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return str(value) if self._declared is Path else self._convert(value)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return self._convert(plain)

    def _convert(self, value: Any) -> Any:
        return None if value is None else self._declared(value)


class EnumCodec(Codec):
    """A member of an enumeration, by its value."""

    def can_encode(self, value: object) -> bool:
        """Return whether it is a member itself, not only a value."""
        return isinstance(value, self._declared)

    def can_decode(self, plain: object) -> bool:
        """Return whether a member has this value."""
        return any(
            type(plain) is type(each.value) and plain == each.value for each in self._declared
        )

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return value.value

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return self._declared(plain)


class LiteralCodec(Codec):
    """One of the strings of a Literal."""

    def can_encode(self, value: object) -> bool:
        """Return whether it is one of the strings."""
        return isinstance(value, str) and value in typing.get_args(self._declared)

    def can_decode(self, plain: object) -> bool:
        """Return whether it is one of the strings."""
        return self.can_encode(plain)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return value

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return plain


class BytesCodec(Codec):
    """Bytes: the length is in the JSON, the bytes follow it."""

    def can_encode(self, value: object) -> bool:
        """Return whether it is bytes."""
        return isinstance(value, bytes)

    def can_decode(self, plain: object) -> bool:
        """Return whether it is a length."""
        return type(plain) is int and plain >= 0

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        arrays.append(value)
        return len(value)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return bytes(rest.take(plain, name))


class ArrayCodec(Codec):
    """A NumPy array of numbers: the shape is in the JSON, the bytes follow it."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        # NDArray[float64] is ndarray[shape, dtype[float64]].
        (element,) = typing.get_args(typing.get_args(declared)[1])
        self._element = np.dtype(element)
        if self._element not in ELEMENTS:
            raise TypeError(f"{declared}: expected an array of one of {ELEMENTS}")

    def __str__(self) -> str:
        return f"an array of {self._element}"

    def can_encode(self, value: object) -> bool:
        """Return whether it is an array with this element type."""
        return isinstance(value, np.ndarray) and value.dtype == self._element

    def can_decode(self, plain: object) -> bool:
        """Return whether it is a shape."""
        return isinstance(plain, list) and all(type(each) is int and each >= 0 for each in plain)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        arrays.append(value.tobytes())
        return list(value.shape)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        taken = rest.take(math.prod(plain) * self._element.itemsize, name)
        if self._element == np.bool_ and (np.frombuffer(taken, np.uint8) > 1).any():
            raise EncodingError(f"{name}: expected bytes of 0 and 1, got others")
        return np.frombuffer(taken, self._element).reshape(plain).copy()


# Codecs of types with parts.


@cache
def make_codec(declared: Any) -> Codec:
    """Return the codec of a declared type. Raises TypeError for an unsupported type."""
    declared = _resolve_alias(declared)
    kind = (
        ScalarCodec if declared in ScalarCodec.KINDS else OF_ORIGIN.get(typing.get_origin(declared))
    )
    if is_dataclass(declared):
        kind = DataclassCodec
    elif declared is bytes:
        kind = BytesCodec
    elif isinstance(declared, type) and issubclass(declared, Enum):
        kind = EnumCodec
    if kind is None:
        raise TypeError(f"{declared}: values of this type cannot be encoded")
    return kind(declared)


def _resolve_alias(declared: Any) -> Any:
    """Return the type behind an alias of Python 3.12, such as NDArray from NumPy 2.5 on."""
    origin = typing.get_origin(declared)
    meant = getattr(origin, "__value__", None)
    return declared if meant is None else meant[typing.get_args(declared)]


class UnionCodec(Codec):
    """A value of the first matching type of a union."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        self._codecs = [make_codec(each) for each in typing.get_args(declared)]

    def __str__(self) -> str:
        return " or ".join(map(str, self._codecs))

    def can_encode(self, value: object) -> bool:
        """Return whether one of the types matches."""
        return any(each.can_encode(value) for each in self._codecs)

    def can_decode(self, plain: object) -> bool:
        """Return whether one of the types matches."""
        return any(each.can_decode(plain) for each in self._codecs)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        codec = next(each for each in self._codecs if each.can_encode(value))
        return codec.encode(value, arrays, name)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        codec = next(each for each in self._codecs if each.can_decode(plain))
        return codec.decode(plain, rest, name)


class SequenceCodec(Codec):
    """A list, or a tuple of any or of fixed length. Sequences are decoded as tuples."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        parts = typing.get_args(declared)
        self._make: Callable[[list[Any]], Any] = tuple
        self._fixed = None
        if typing.get_origin(declared) is list:
            self._make = list
        elif typing.get_origin(declared) is tuple and parts[-1] is not Ellipsis:
            self._fixed = [make_codec(each) for each in parts]
        self._each = make_codec(parts[0])

    def __str__(self) -> str:
        return str(self._declared)

    def can_encode(self, value: object) -> bool:
        """Return whether it is a list or tuple of the right length."""
        return isinstance(value, (list, tuple)) and self._has_length(value)

    def can_decode(self, plain: object) -> bool:
        """Return whether it is a list of the right length."""
        return isinstance(plain, list) and self._has_length(plain)

    def _has_length(self, items: list[Any] | tuple[Any, ...]) -> bool:
        return self._fixed is None or len(items) == len(self._fixed)

    def _codecs(self, count: int) -> list[Codec]:
        return self._fixed or [self._each] * count

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return [
            codec.encode(item, arrays, f"{name}[{i}]")
            for i, (item, codec) in enumerate(zip(value, self._codecs(len(value)), strict=True))
        ]

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return self._make(
            [
                codec.decode(item, rest, f"{name}[{i}]")
                for i, (item, codec) in enumerate(zip(plain, self._codecs(len(plain)), strict=True))
            ]
        )


class MappingCodec(Codec):
    """A mapping with string keys."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        key, held = typing.get_args(declared)
        if key is not str:
            raise TypeError(f"{declared}: expected string keys")
        self._held = make_codec(held)

    def __str__(self) -> str:
        return f"names with {self._held} each"

    def can_encode(self, value: object) -> bool:
        """Return whether it is a mapping with string keys."""
        return isinstance(value, collections.abc.Mapping) and all(type(key) is str for key in value)

    def can_decode(self, plain: object) -> bool:
        """Return whether it is a JSON object."""
        return isinstance(plain, dict)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return {
            key: self._held.encode(item, arrays, f"{name}[{key!r}]") for key, item in value.items()
        }

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return {
            key: self._held.decode(item, rest, f"{name}[{key!r}]") for key, item in plain.items()
        }


class DataclassCodec(Codec):
    """A dataclass, by its fields."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        self._names = {field.name for field in fields(declared)}
        self._hints: dict[str, Any] | None = None

    def _codecs(self) -> dict[str, Codec]:
        # Resolved on first use: a dataclass may have fields of its own type.
        if self._hints is None:
            self._hints = typing.get_type_hints(self._declared)
        return {field.name: make_codec(self._hints[field.name]) for field in fields(self._declared)}

    def can_encode(self, value: object) -> bool:
        """Return whether it is exactly this dataclass, not a subclass."""
        return type(value) is self._declared

    def can_decode(self, plain: object) -> bool:
        """Return whether it is a JSON object."""
        return isinstance(plain, dict)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return {
            part: codec.encode(getattr(value, part), arrays, f"{name}.{part}")
            for part, codec in self._codecs().items()
        }

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        for part in sorted(self._names ^ plain.keys()):
            wrong = "is missing" if part in self._names else "is not one of its fields"
            raise EncodingError(f"{name}: expected {self}, but {format_value(part)} {wrong}")
        return self._declared(
            **{
                part: codec.decode(plain[part], rest, f"{name}.{part}")
                for part, codec in self._codecs().items()
            }
        )


OF_ORIGIN: dict[Any, type[Codec]] = {
    Union: UnionCodec,
    types.UnionType: UnionCodec,
    Literal: LiteralCodec,
    np.ndarray: ArrayCodec,
    list: SequenceCodec,
    tuple: SequenceCodec,
    collections.abc.Sequence: SequenceCodec,
    dict: MappingCodec,
    collections.abc.Mapping: MappingCodec,
}


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
