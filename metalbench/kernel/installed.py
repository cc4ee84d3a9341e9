"""Where the kernel library lies, and the folders that `#include` finds headers in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from metalbench.errors import DeclarationError


def library_folder() -> Path:
    """Return the library's `kernels` folder."""
    return data_folder("kernels", "common")


def data_folder(name: str, content: str) -> Path:
    """A folder of data that has `content`: in the installed package, else beside it in a checkout.

    Raise DeclarationError if it is in neither.
    """
    package = Path(__file__).parents[1]
    inside, beside = package / name, package.parent / name
    for folder in (inside, beside):
        if (folder / content).exists():
            return folder
    raise DeclarationError(f"the folder {name} is missing: neither {inside} nor {beside} exists")


def include_folders(file: Path | str | None = None, more: Iterable[Path | str] = ()) -> list[str]:
    """The folders that `#include "..."` is looked for in: `file`'s own, `more`, the library's.

    The library's holds `metalbench/`, so that any kernel can say `#include "metalbench/tiles.h"`.
    """
    own = [Path(file).absolute().parent] if file is not None else []
    return [*map(str, own), *map(str, more), str(library_folder() / "include")]
