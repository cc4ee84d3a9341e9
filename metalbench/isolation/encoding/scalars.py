"""Types that have no parts, and arrays of numbers."""

from __future__ import annotations

import math
import typing
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import EncodingError
from metalbench.isolation.encoding.shape import ArrayBytes, Codec

# The bits of other element types could be more than numbers.
ELEMENTS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))


class ScalarCodec(Codec):
    """Nothing, a truth value, a number, a text or a path."""

    # What a value may be, and what may stand for it.
    KINDS: typing.ClassVar[dict[Any, tuple[tuple[type, ...], tuple[type, ...]]]] = {
        type(None): ((type(None),), (type(None),)),
        bool: ((bool, np.bool_), (bool,)),
        int: ((int, np.integer), (int,)),
        float: ((float, np.floating, int, np.integer), (float, int)),
        str: ((str,), (str,)),
        Path: ((Path,), (str,)),
    }

    def can_encode(self, value: object) -> bool:
        """Whether it is of the type; numbers of NumPy are numbers."""
        return self._is_one_of(self.KINDS[self._declared][0], value)

    def can_decode(self, plain: object) -> bool:
        """Whether it is what JSON has for the type."""
        return self._is_one_of(self.KINDS[self._declared][1], plain)

    def _is_one_of(self, kinds: tuple[type, ...], value: object) -> bool:
        # In Python truth values are integers.
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
        """Whether it is a member itself, not only its value."""
        return isinstance(value, self._declared)

    def can_decode(self, plain: object) -> bool:
        """Whether some member has this value."""
        return any(
            type(plain) is type(each.value) and plain == each.value for each in self._declared
        )

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return value.value

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return self._declared(plain)


class LiteralCodec(Codec):
    """One of the words of a Literal."""

    def can_encode(self, value: object) -> bool:
        """Whether it is one of them."""
        return isinstance(value, str) and value in typing.get_args(self._declared)

    def can_decode(self, plain: object) -> bool:
        """Likewise."""
        return self.can_encode(plain)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        return value

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return plain


class BytesCodec(Codec):
    """The content of a file; its length is in the JSON, the bytes are behind it."""

    def can_encode(self, value: object) -> bool:
        """Whether it is bytes."""
        return isinstance(value, bytes)

    def can_decode(self, plain: object) -> bool:
        """Whether it is a length."""
        return type(plain) is int and plain >= 0

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        arrays.append(value)
        return len(value)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        return bytes(rest.take(plain, name))


class ArrayCodec(Codec):
    """A NumPy array of numbers; the shape is in the JSON, its bytes are behind it."""

    def __init__(self, declared: Any) -> None:
        super().__init__(declared)
        # Of NDArray[float64]: the parameter of its second one, the dtype.
        (element,) = typing.get_args(typing.get_args(declared)[1])
        self._element = np.dtype(element)
        if self._element not in ELEMENTS:
            raise TypeError(f"{declared}: expected an array of one of {ELEMENTS}")

    def __str__(self) -> str:
        return f"an array of {self._element}"

    def can_encode(self, value: object) -> bool:
        """Whether it is an array of these elements."""
        return isinstance(value, np.ndarray) and value.dtype == self._element

    def can_decode(self, plain: object) -> bool:
        """Whether it is a shape."""
        return isinstance(plain, list) and all(type(each) is int and each >= 0 for each in plain)

    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        arrays.append(value.tobytes())
        return list(value.shape)

    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        taken = rest.take(math.prod(plain) * self._element.itemsize, name)
        if self._element == np.bool_ and (np.frombuffer(taken, np.uint8) > 1).any():
            raise EncodingError(f"{name}: expected bytes of 0 and 1, got others")
        return np.frombuffer(taken, self._element).reshape(plain).copy()
