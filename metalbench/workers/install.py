"""The version of metalbench that runs here as an archive, which pip installs on any machine.

An installed package has no C++ sources, and a wheel of it would do for the same system only: so the
archive is made of the checkout, which is either where this runs or where pip has installed it from.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from metalbench.workers.ssh import (
    DEFAULT_FOLDER,
    NO_PYTHON,
    NOT_OURS,
    Address,
    RemoteError,
    command_line,
    make_install_script,
)
from metalbench.workers.version import get_local_version, hash_sources

# Files that a build reads. Build products in the folders do not count.
FILES = ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE")
PARTS = (*FILES, "build_backend", "csrc", "include")
PACKAGES = ("metalbench", "agent_steel", "kernels", "puzzles")
PRODUCTS = frozenset({".so", ".pyc", ".pyd", ".pyi", ".typed"})


def get_archive_name() -> str:
    """Return the file name of the archive."""
    return f"metalbench-{metadata.version('metalbench')}.tar.gz"


def build_archive() -> bytes:
    """A .tar.gz of the sources; raises RemoteError where there is no checkout of this version."""
    root = find_checkout()
    made = io.BytesIO()
    inside = get_archive_name().removesuffix(".tar.gz")
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for path in _files(root):
            tar.add(path, f"{inside}/{path.relative_to(root).as_posix()}", recursive=False)
    return made.getvalue()


def find_checkout() -> Path:
    """The checkout that this package is, or was installed from and is still the same as.

    Raises RemoteError if there is none.
    """
    own = Path(__file__).parents[2]
    wanted = get_local_version().sources
    found = [folder for folder in (own, _find_install_source()) if folder and _is_checkout(folder)]
    for folder in found:
        if hash_sources(folder / "metalbench", folder / "csrc" / "msl") == wanted:
            return folder
    got = f"{found[0]} has changed since" if found else "none is known"
    raise RemoteError(
        f"[on] --install: expected the checkout that metalbench {get_local_version()} was "
        f"installed from, for an installed package has no C++ sources; {got}. `pip install .` "
        "in a checkout, or install the same on the other machine by hand"
    )


def _is_checkout(folder: Path) -> bool:
    return all((folder / part).exists() for part in (*PARTS, *PACKAGES))


def _find_install_source() -> Path | None:
    """Return the folder that pip installed from, as recorded by PEP 610; None if there is none."""
    text = metadata.distribution("metalbench").read_text("direct_url.json")
    url = urlsplit(json.loads(text).get("url", "")) if text else None
    return Path(unquote(url.path)) if url is not None and url.scheme == "file" else None


def _files(root: Path) -> Iterator[Path]:
    for part in (*PARTS, *PACKAGES):
        path = root / part
        for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if each.is_file() and each.suffix not in PRODUCTS and not _is_ignored(each, root):
                yield each


def _is_ignored(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in path.relative_to(root).parts)


# Installing this very version of metalbench on another machine.

REASONS = {
    NO_PYTHON: "no Python from 3.10 on was found there; on a Mac `brew install python` brings one",
    NOT_OURS: "the folder holds something that is not a virtual environment; name another one",
}


def install(address: Address) -> None:
    """Send the sources, and have pip build and install them in the folder that `address` names.

    What pip says is shown on standard error. Raises RemoteError if it fails.
    """
    sources = build_archive()
    done = subprocess.run(
        command_line(address, make_install_script(address, get_archive_name())),
        input=sources,
        stdout=sys.stderr.fileno() if _has_descriptor() else subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        said = REASONS.get(done.returncode, "see what it said above")
        raise RemoteError(
            f"[on] {address}: metalbench could not be installed in "
            f"{address.folder or DEFAULT_FOLDER}: {said}"
        )


def _has_descriptor() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):
        return False
