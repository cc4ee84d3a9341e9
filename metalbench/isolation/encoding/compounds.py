"""Codecs of types with parts."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, Union

import numpy as np

from metalbench.errors import EncodingError
from metalbench.isolation.encoding.scalars import (
    ArrayCodec,
    BytesCodec,
    EnumCodec,
    LiteralCodec,
    ScalarCodec,
)
from metalbench.isolation.encoding.shape import ArrayBytes, Codec, format_value


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
