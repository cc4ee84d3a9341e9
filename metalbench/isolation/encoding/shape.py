"""Base class of codecs, and the bytes of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from metalbench.errors import EncodingError

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
