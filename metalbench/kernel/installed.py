"""Locate the kernel library and the folders that `#include` searches."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from metalbench.errors import DeclarationError


def library_folder() -> Path:
    """Return the library's `kernels` folder."""
    return data_folder("kernels", "common")


def data_folder(name: str, content: str) -> Path:
    """Return a data folder with `content`: in the installed package, else in the checkout.

    Raise DeclarationError if neither has it.
    """
    package = Path(__file__).parents[1]
    inside, outside = package / name, package.parent / name
    for folder in (inside, outside):
        if (folder / content).exists():
            return folder
    raise DeclarationError(f"the folder {name} is missing: neither {inside} nor {outside} exists")


def include_folders(file: Path | str | None = None, more: Iterable[Path | str] = ()) -> list[str]:
    """Return the folders that `#include "..."` searches: that of `file`, `more`, the library's.

    The library's folder holds `metalbench/`, for `#include "metalbench/tiles.h"`.
    """
    own = [Path(file).absolute().parent] if file is not None else []
    return [*map(str, own), *map(str, more), str(library_folder() / "include")]
