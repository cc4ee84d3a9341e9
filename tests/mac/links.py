"""Check a library for macOS as its linker and dyld would, without either of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from mac.mach_o import Library
from mac.stubs import StubError, Stubs

_SYSTEM = ("/usr/lib/", "/System/Library/")
_RELATIVE = ("@loader_path", "@executable_path")
_PYTHON = re.compile(r"__?Py")


def is_python_symbol(name: str) -> bool:
    """Tell whether a symbol, with Mach-O's underscore, is one of Python's API."""
    return _PYTHON.match(name) is not None


def read_symbol_lists(paths: Iterable[Path]) -> frozenset[str]:
    """Return the symbols of lists of `-U _name`, which may stay undefined.

    The linker reads such lists for `-Wl,@path`. Raises ValueError for another line.
    """
    names = set()
    for path in paths:
        for line in path.read_text().splitlines():
            if not line.startswith("-U _"):
                raise ValueError(f"{path}: expected `-U _name`, got `{line}`")
            names.add(line.removeprefix("-U "))
    return frozenset(names)


def find_problems(
    path: Path,
    library: Library,
    allowed: Set[str],
    stubs: Stubs,
    minimum_macos: tuple[int, int],
    others: Mapping[str, Library],
) -> list[str]:
    """Return what macOS would refuse in the library at `path`; an empty list if nothing.

    `allowed` are the symbols that the link line lets be undefined. `others` are libraries of the
    same build, by install name. A problem with several names has one of them on each further line.
    """
    problems = []
    exports: set[str] = set()
    for name in library.libraries:
        if name in others:
            exports |= others[name].exported
        elif not name.startswith(_SYSTEM):
            problems.append(f"loads `{name}`, which is neither macOS's nor of this build")
        else:
            try:
                exports |= stubs.exports(name)
            except StubError as error:
                problems.append(str(error))
    missing = sorted(library.undefined - allowed - exports)
    problems += _list(
        "the link line does not allow these Python symbols to be undefined:",
        [name for name in missing if is_python_symbol(name)],
    )
    problems += _list(
        "none of the linked libraries exports these symbols:",
        [name for name in missing if not is_python_symbol(name)],
    )
    # Neither names a folder: the library may lie anywhere.
    if library.install_name not in {None, path.name, f"@rpath/{path.name}"}:
        problems.append(f"expected install name `@rpath/{path.name}`, got `{library.install_name}`")
    problems += [
        f"expected a run path below @loader_path, got `{each}`"
        for each in library.run_paths
        if not each.startswith(_RELATIVE)
    ]
    if library.minimum_macos != minimum_macos:
        problems.append(f"expected macOS {minimum_macos}, got {library.minimum_macos}")
    return problems


def _list(heading: str, names: list[str]) -> list[str]:
    return ["\n  ".join([heading, *names])] if names else []
