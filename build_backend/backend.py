"""Build backend: scikit-build-core, with ziglang's clang where the machine has no C++ compiler."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import stat
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from scikit_build_core import build as _build

_COMPILERS = ("c++", "g++", "clang++")
_FINDER = "_editable_skbc_"
_ZIG = "ziglang>=0.17,<0.18"


def _has_compiler() -> bool:
    return "CXX" in os.environ or any(shutil.which(name) for name in _COMPILERS)


def _script(directory: Path, name: str, command: str) -> str:
    path = directory / name
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def _use_zig() -> None:
    """Make CMake use ziglang's compiler and archiver, through scripts that need only Python."""
    if _has_compiler():
        return
    directory = Path("build", "zig-tools").absolute()
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["CXX"] = _script(directory, "c++", "c++")
    os.environ["CC"] = _script(directory, "cc", "cc")
    archiver = _script(directory, "ar", "ar")
    ranlib = _script(directory, "ranlib", "ranlib")
    # CMake's own search would only find binutils, which such a machine does not have either.
    os.environ["CMAKE_ARGS"] = " ".join(
        [os.environ.get("CMAKE_ARGS", ""), f"-DCMAKE_AR={archiver} -DCMAKE_RANLIB={ranlib}"]
    )


def spare_from_rewriting(wheel: Path) -> None:
    """Keep pytest from warning of the module that finds an editable install.

    pytest rewrites the modules of every package that brings a plugin, and warns of those that are
    imported already, as this one always is: where warnings are errors no test would run.
    """
    with ZipFile(wheel) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}
    for name in [each for each in files if each.startswith(_FINDER) and each.endswith(".py")]:
        before = files[name]
        files[name] = b'"""PYTEST_DONT_REWRITE"""\n' + before
        for record in [each for each in files if each.endswith(".dist-info/RECORD")]:
            lines = files[record].replace(_entry(name, before), _entry(name, files[name]))
            files[record] = lines
    with ZipFile(wheel, "w", ZIP_DEFLATED) as new:
        for name, content in files.items():
            new.writestr(name, content)


def _entry(name: str, content: bytes) -> bytes:
    """A file's line in a wheel's RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}".encode()


def _requirements(found: list[str]) -> list[str]:
    return found if _has_compiler() else [*found, _ZIG]


def get_requires_for_build_wheel(config_settings=None):
    return _requirements(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings=None):
    return _requirements(_build.get_requires_for_build_editable(config_settings))


def get_requires_for_build_sdist(config_settings=None):
    return _build.get_requires_for_build_sdist(config_settings)


# Without these two, pip builds a whole wheel to read its metadata, and then builds it again.


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _build.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return _build.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _use_zig()
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _use_zig()
    name = _build.build_editable(wheel_directory, config_settings, metadata_directory)
    spare_from_rewriting(Path(wheel_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    return _build.build_sdist(sdist_directory, config_settings)
