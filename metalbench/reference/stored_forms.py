"""Keep the libraries that MLX compiles on a CPU from one worker process to the next.

MLX compiles fused operations with `g++` into a folder of the temporary files, by the names of the
operations. A worker has its own temporary folder, so that each would compile the same libraries
again. They are copied from the build cache before MLX needs them, and to it afterwards. So is the
precompiled header of MLX's functions, which all of them include: reading it takes `g++` three
quarters of the time of a library, and the code is the same.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from metalbench import build_cache
from metalbench.errors import MachineError

FOLDER = "mlx"
SUFFIX = ".so"
# More libraries than that are not copied: each kernel of the library needs one or two.
MOST_LIBRARIES = 1024
# The header that MLX's libraries include, and the options with which MLX calls `g++`. `g++` ignores
# a precompiled header of other options or of another compiler.
PREAMBLE = PurePosixPath("mlx/backend/cpu/compiled_preamble.h")
OPTIONS = ("-std=c++17", "-O3", "-Wall", "-fPIC", "-shared")
LONGEST_PREAMBLE_S = 60.0


def load_stored_forms() -> None:
    """Copy what is stored for this MLX and compiler to MLX's temporary folder."""
    prepare_preamble(stored_only=True)
    source, target = _find_store(), _find_temporary_folder()
    for record in sorted(source.glob("*.json"))[:MOST_LIBRARIES]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(record.read_text(encoding="utf-8"))
            path, digest = PurePosixPath(found["path"]), str(found["digest"])
            library = source / f"{digest}{SUFFIX}"
            # A damaged file would end the process when it is loaded.
            if not _is_inside(path) or build_cache.digest_file(library) != digest:
                continue
            copy = target / path
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(library, copy)


def prepare_preamble(*, stored_only: bool = False) -> None:
    """Let `g++` find the precompiled header of MLX's libraries.

    Unless `stored_only`, the first call compiles it. Without it, because of an error or of another
    version of MLX, libraries take longer.
    """
    include = find_include_folder()
    if include is None or not identify_compiler():
        return
    text = include / PREAMBLE
    name = f"{build_cache.digest(str(include), repr(build_cache.read_file_state(text)))}.gch"
    stored = _find_store() / name
    # `g++` searches the folder of a library's source first.
    link = _find_temporary_folder() / find_version() / "cpu" / f"{PREAMBLE}.gch"
    with suppress(OSError, MachineError, subprocess.SubprocessError):
        if not stored.exists():
            if stored_only:
                return
            command = ["g++", *OPTIONS, "-I", str(include), "-x", "c++-header", str(text), "-o"]
            with build_cache.write_atomically(stored) as written:
                subprocess.run(
                    [*command, str(written)],
                    check=True,
                    capture_output=True,
                    timeout=LONGEST_PREAMBLE_S,
                )
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            os.symlink(stored, link)


def store_new_forms() -> None:
    """Copy the libraries that MLX has compiled in this process to the build cache."""
    source, target = _find_temporary_folder(), _find_store()
    for library in _list_libraries(source):
        path = library.relative_to(source).as_posix()
        record = target / f"{build_cache.digest(path)}.json"
        if record.exists():
            continue
        # A cache that cannot be written costs time, and no result.
        with suppress(OSError, MachineError):
            digest = build_cache.digest(library.read_bytes())
            with build_cache.write_atomically(target / f"{digest}{SUFFIX}") as copy:
                shutil.copyfile(library, copy)
            with build_cache.write_atomically(record) as written:
                written.write_text(json.dumps({"path": path, "digest": digest}), encoding="utf-8")


def identify_compiler() -> str:
    """Return the identity of the compiler that MLX calls on a CPU; empty if there is none."""
    program = shutil.which("g++")
    if program is None:
        return ""
    found = Path(program).resolve()
    return repr((str(found), found.stat().st_size, found.stat().st_mtime_ns))


def find_include_folder() -> Path | None:
    """Return the folder of the headers that MLX's libraries include; None where there is none."""
    found = importlib.util.find_spec("mlx")
    for folder in found.submodule_search_locations or () if found else ():
        if Path(folder, "include", PREAMBLE).is_file():
            return Path(folder, "include")
    return None


def find_version() -> str:
    """Return the version of MLX, which is a part of its temporary folder's path."""
    return importlib.metadata.version("mlx")


def _find_store() -> Path:
    key = build_cache.digest("mlx", find_version(), identify_compiler())
    return build_cache.find_cache_folder() / FOLDER / key


def _find_temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / FOLDER


def _list_libraries(folder: Path) -> Iterator[Path]:
    # MLX writes a library under a temporary name first.
    names = folder.rglob(f"*{SUFFIX}") if folder.is_dir() else iter(())
    return (each for each in names if each.is_file() and not each.name.startswith("tmp"))


def _is_inside(path: PurePosixPath) -> bool:
    return not path.is_absolute() and ".." not in path.parts and path.suffix == SUFFIX
