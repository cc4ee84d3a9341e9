"""Replace attributes of modules for a time. Imports no MLX: `metal_kernel` works without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replace_attributes(module: object, **attributes: object) -> Iterator[None]:
    """Set existing attributes of `module` in this context; restore them afterwards.

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
