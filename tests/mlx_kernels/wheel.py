"""The Metal headers that MLX's wheel for macOS carries, fetched into a cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

VERSION = "0.32.4"
KERNELS = "mlx/include/mlx/backend/metal/kernels/"


class OutOfReachError(Exception):
    """The registry did not give the wheel; the message is what pip said."""


def headers() -> Path:
    """The folder to include from: `mlx/backend/metal/kernels/...` lies in it.

    Raises OutOfReachError when it is not in the cache and cannot be fetched.
    """
    target = _cache() / f"mlx-metal-{VERSION}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            _unpack(_download(Path(folder)), Path(folder) / "headers")
            try:
                (Path(folder) / "headers").rename(target)
            except OSError:
                if not target.is_dir():  # else another process was faster
                    raise
    return target / "mlx/include"


def _cache() -> Path:
    """The engine's cache folder; tests that use an empty one for kernels keep the headers."""
    named = os.environ.get("METALBENCH_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("metalbench"))


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", f"mlx-metal=={VERSION}", "--no-deps"]
    command += ["--platform", "macosx_15_0_arm64", "--only-binary=:all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OutOfReachError(f"pip could not fetch mlx-metal {VERSION}: {done.stderr.strip()}")
    return next(folder.glob("*.whl"))


def _unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(KERNELS) and name.endswith(".h"):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, (target / name).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
