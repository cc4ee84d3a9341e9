"""Codecs of types without parts, and of arrays of numbers."""

from __future__ import annotations

import math
import typing
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import EncodingError
from metalbench.isolation.encoding.shape import ArrayBytes, Codec

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
