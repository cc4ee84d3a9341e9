"""What every declared type has in common: values of it are taken apart and put together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from metalbench.errors import EncodingError

LONGEST_SHOWN = 60


class Codec(ABC):
    """One declared type. `name` is what errors call the place of a value."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __str__(self) -> str:
        return str(getattr(self._declared, "__name__", self._declared))

    @abstractmethod
    def can_encode(self, value: object) -> bool:
        """Whether `value` itself, whatever its parts are, is of this type."""

    @abstractmethod
    def can_decode(self, plain: object) -> bool:
        """Whether `plain` itself, whatever its parts are, can stand for a value of this type."""

    def encode(self, value: Any, arrays: list[bytes], name: str) -> Any:
        """What JSON can say of `value`; bytes of arrays are appended to `arrays`."""
        if not self.can_encode(value):
            raise EncodingError(f"{name}: expected {self}, got {format_value(value)}")
        return self._encode(value, arrays, name)

    def decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any:
        """The value that `plain` stands for; bytes of arrays are taken from `rest`."""
        if not self.can_decode(plain):
            raise EncodingError(f"{name}: expected {self}, got {format_value(plain)}")
        return self._decode(plain, rest, name)

    @abstractmethod
    def _encode(self, value: Any, arrays: list[bytes], name: str) -> Any: ...

    @abstractmethod
    def _decode(self, plain: Any, rest: ArrayBytes, name: str) -> Any: ...


class ArrayBytes:
    """The bytes of arrays that are not taken yet."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)

    def __len__(self) -> int:
        return len(self._data)

    def take(self, size: int, name: str) -> memoryview:
        """Take the next `size` bytes."""
        if size > len(self):
            raise EncodingError(f"{name}: expected {size} more bytes, got {len(self)}")
        taken, self._data = self._data[:size], self._data[size:]
        return taken


def format_value(value: object) -> str:
    """A value as errors quote it."""
    text = repr(value)
    short = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
    return f"{type(value).__name__} {short}"
