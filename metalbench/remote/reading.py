"""What a trial reads: the task's file, what that imports, and the headers of the kernel."""

from __future__ import annotations

import ast
import importlib.util
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from metalbench.kernel import Kernel
from metalbench.kernel.installed import include_folders
from metalbench.kernel.library import Entry

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)

_PACKAGES = frozenset({"site-packages", "dist-packages"})


def read_trial_files(entry: Entry, kernel: Kernel) -> dict[Path, bytes]:
    """The content of every file that a trial of `kernel` reads; its own text travels with it."""
    paths = dict.fromkeys((entry.task_path, *_find_headers(kernel)))
    return {path: path.read_bytes() for path in paths if path.is_file()}


def read_task_modules(entry: Entry) -> dict[Path, bytes]:
    """The content of the Python files that the task imports, by their path on Python's path."""
    return {
        file.relative_to(folder): file.read_bytes()
        for file, folder in _find_modules(entry.task_path)
    }


def _find_headers(kernel: Kernel) -> Iterator[Path]:
    """Those that the kernel includes, and that they include, in the folders that it may read."""
    folders = [Path(each) for each in include_folders(kernel.path, kernel.include_dirs)]
    seen: set[Path] = set()
    waiting = [(kernel.source, folders[0])]
    while waiting:
        text, own = waiting.pop()
        for quoted, angled in _INCLUDE.findall(text):
            places = [*([own] if quoted else []), *folders]
            paths = (place / (quoted or angled) for place in places)
            path = next((each for each in paths if each.is_file()), None)
            if path is None or path in seen or not _is_inside(path, folders):
                continue
            seen.add(path)
            yield path
            waiting.append((path.read_text(encoding="utf-8", errors="replace"), path.parent))


def _is_inside(path: Path, folders: list[Path]) -> bool:
    """What lies elsewhere no kernel may read, so that nobody need send it."""
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)


def _find_modules(path: Path) -> Iterator[tuple[Path, Path]]:
    """Files that a task's file imports, and those import, with the folder on Python's path.

    What is installed is expected there, too.
    """
    seen, waiting = {path}, [path]
    while waiting:
        for name in _find_imports(waiting.pop()):
            for file, folder in _find_module_files(name):
                if file not in seen:
                    seen.add(file)
                    waiting.append(file)
                    yield file, folder


def _find_imports(path: Path) -> Iterator[str]:
    """The first part of every imported name; none of a file that is no Python."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _find_module_files(name: str) -> list[tuple[Path, Path]]:
    """A module's file, or all of a package's; none of what is installed."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return []
    path = Path(spec.origin)
    if name == "metalbench" or _is_installed(path):
        return []
    if path.name != "__init__.py":
        return [(path, path.parent)]
    return [(each, path.parents[1]) for each in sorted(path.parent.rglob("*.py"))]


def _is_installed(path: Path) -> bool:
    if not _PACKAGES.isdisjoint(path.parts):
        return True
    return any(path.is_relative_to(sysconfig.get_path(each)) for each in ("stdlib", "platstdlib"))
