"""Attributes of a module that are others for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replaced(module: object, **attributes: object) -> Iterator[None]:
    """Set those attributes that `module` has; afterwards they are what they were.

    Versions of MLX differ in what they have, and code must not find what its MLX lacks.
    """
    before = {name: getattr(module, name) for name in attributes if hasattr(module, name)}
    for name in before:
        setattr(module, name, attributes[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
