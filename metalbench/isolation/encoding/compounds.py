"""Types that have parts, each of a declared type of its own."""

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
from metalbench.isolation.encoding.scalars import Array, Bytes, Member, Scalar, Word
from metalbench.isolation.encoding.shape import Rest, Shape, shown


@cache
def shape_of(declared: Any) -> Shape:
    """The shape of a declared type; raises TypeError for one that has none."""
    declared = _spelled_out(declared)
    kind = Scalar if declared in Scalar.KINDS else OF_ORIGIN.get(typing.get_origin(declared))
    if is_dataclass(declared):
        kind = Record
    elif declared is bytes:
        kind = Bytes
    elif isinstance(declared, type) and issubclass(declared, Enum):
        kind = Member
    if kind is None:
        raise TypeError(f"{declared}: no way is known to encode values of this type")
    return kind(declared)


def _spelled_out(declared: Any) -> Any:
    """What a type is that an alias of Python 3.12 names, as NDArray does from NumPy 2.5 on."""
    origin = typing.get_origin(declared)
    meant = getattr(origin, "__value__", None)
    return declared if meant is None else meant[typing.get_args(declared)]


class OneOf(Shape):
    """A value of the first of several types that it is of."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        self._shapes = [shape_of(each) for each in typing.get_args(declared)]

    def __str__(self) -> str:
        return " or ".join(map(str, self._shapes))

    def holds(self, value: object) -> bool:
        """Whether it is of one of the types."""
        return any(each.holds(value) for each in self._shapes)

    def reads(self, plain: object) -> bool:
        """Whether it can stand for one of them."""
        return any(each.reads(plain) for each in self._shapes)

    def _apart(self, value: Any, arrays: list[bytes], name: str) -> Any:
        shape = next(each for each in self._shapes if each.holds(value))
        return shape.take_apart(value, arrays, name)

    def _together(self, plain: Any, rest: Rest, name: str) -> Any:
        shape = next(each for each in self._shapes if each.reads(plain))
        return shape.put_together(plain, rest, name)


class Several(Shape):
    """A list, or a tuple of any or of a fixed length; sequences come back as tuples."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        parts = typing.get_args(declared)
        self._make: Callable[[list[Any]], Any] = tuple
        self._fixed = None
        if typing.get_origin(declared) is list:
            self._make = list
        elif typing.get_origin(declared) is tuple and parts[-1] is not Ellipsis:
            self._fixed = [shape_of(each) for each in parts]
        self._each = shape_of(parts[0])

    def __str__(self) -> str:
        return str(self._declared)

    def holds(self, value: object) -> bool:
        """Whether it is a list or tuple of the right length."""
        return isinstance(value, (list, tuple)) and self._counts(value)

    def reads(self, plain: object) -> bool:
        """Likewise."""
        return isinstance(plain, list) and self._counts(plain)

    def _counts(self, items: list[Any] | tuple[Any, ...]) -> bool:
        return self._fixed is None or len(items) == len(self._fixed)

    def _shapes(self, count: int) -> list[Shape]:
        return self._fixed or [self._each] * count

    def _apart(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return [
            shape.take_apart(item, arrays, f"{name}[{i}]")
            for i, (item, shape) in enumerate(zip(value, self._shapes(len(value)), strict=True))
        ]

    def _together(self, plain: Any, rest: Rest, name: str) -> Any:
        return self._make(
            [
                shape.put_together(item, rest, f"{name}[{i}]")
                for i, (item, shape) in enumerate(zip(plain, self._shapes(len(plain)), strict=True))
            ]
        )


class ByName(Shape):
    """A mapping from names."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        key, held = typing.get_args(declared)
        if key is not str:
            raise TypeError(f"{declared}: expected names as keys")
        self._held = shape_of(held)

    def __str__(self) -> str:
        return f"names with {self._held} each"

    def holds(self, value: object) -> bool:
        """Whether it maps names."""
        return isinstance(value, collections.abc.Mapping) and all(type(key) is str for key in value)

    def reads(self, plain: object) -> bool:
        """Whether it is an object of JSON."""
        return isinstance(plain, dict)

    def _apart(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return {
            key: self._held.take_apart(item, arrays, f"{name}[{key!r}]")
            for key, item in value.items()
        }

    def _together(self, plain: Any, rest: Rest, name: str) -> Any:
        return {
            key: self._held.put_together(item, rest, f"{name}[{key!r}]")
            for key, item in plain.items()
        }


class Record(Shape):
    """A dataclass, by its fields."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        self._names = {field.name for field in fields(declared)}
        self._hints: dict[str, Any] | None = None

    def _shapes(self) -> dict[str, Shape]:
        # Looked up when they are needed: a dataclass may have fields of its own type.
        if self._hints is None:
            self._hints = typing.get_type_hints(self._declared)
        return {field.name: shape_of(self._hints[field.name]) for field in fields(self._declared)}

    def holds(self, value: object) -> bool:
        """Whether it is this dataclass itself, none that is derived from it."""
        return type(value) is self._declared

    def reads(self, plain: object) -> bool:
        """Whether it is an object of JSON."""
        return isinstance(plain, dict)

    def _apart(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return {
            part: shape.take_apart(getattr(value, part), arrays, f"{name}.{part}")
            for part, shape in self._shapes().items()
        }

    def _together(self, plain: Any, rest: Rest, name: str) -> Any:
        for part in sorted(self._names ^ plain.keys()):
            wrong = "is missing" if part in self._names else "is none of its fields"
            raise EncodingError(f"{name}: expected {self}, but {shown(part)} {wrong}")
        return self._declared(
            **{
                part: shape.put_together(plain[part], rest, f"{name}.{part}")
                for part, shape in self._shapes().items()
            }
        )


OF_ORIGIN: dict[Any, type[Shape]] = {
    Union: OneOf,
    types.UnionType: OneOf,
    Literal: Word,
    np.ndarray: Array,
    list: Several,
    tuple: Several,
    collections.abc.Sequence: Several,
    dict: ByName,
    collections.abc.Mapping: ByName,
}
