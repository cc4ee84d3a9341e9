"""Restrict file access with landlock(7). Rules are permanent and children inherit them.

Access that the kernel's version of Landlock does not handle remains allowed; see `version`.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import NamedTuple

from metalbench.errors import Unsupported
from metalbench.sandbox.system_calls import get_address, set_no_new_privileges, system_call

CREATE_RULESET_VERSION, PATH_BENEATH = 1, 1
# Python defines it on Linux only.
O_PATH = 0o10000000
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
# All rights of the first version, and those that later versions added.
FIRST_RIGHTS = (1 << 13) - 1
ADDED_RIGHTS = {2: REFER, 3: TRUNCATE, 5: IOCTL_DEVICE}
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
# Rights to create character devices, sockets and block devices.
MAKING_DEVICES = 1 << 6 | 1 << 9 | 1 << 11
READING = READ_FILE | READ_DIR
TCP = 0b11
TCP_SINCE, SCOPES_SINCE = 4, 6
# Scopes: abstract sockets and signals of processes outside this domain.
SCOPES = 0b11


class Files(NamedTuple):
    """Accessible folders and files. `executable` ones are readable too.

    `writable` folders are readable and include their content. Missing paths are skipped.
    """

    readable: tuple[str | os.PathLike[str], ...] = ()
    writable: tuple[str | os.PathLike[str], ...] = ()
    executable: tuple[str | os.PathLike[str], ...] = ()


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`."""

    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


class _Beneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


@cache
def version() -> int:
    """Return the version of the kernel's Landlock; 0 without Landlock."""
    try:
        return system_call("landlock_create_ruleset", None, 0, CREATE_RULESET_VERSION)
    except (OSError, Unsupported):
        return 0


@contextmanager
def open_ruleset(files: Files) -> Iterator[int]:
    """Yield a descriptor of rules that allow only these files. Raises Unsupported."""
    if not version():
        raise Unsupported("landlock: this kernel has none, or it is not among the modules in use")
    handled = _rights()
    attributes = _Ruleset(
        handled, TCP if version() >= TCP_SINCE else 0, SCOPES if version() >= SCOPES_SINCE else 0
    )
    size = 24 if version() >= SCOPES_SINCE else 16 if version() >= TCP_SINCE else 8
    try:
        ruleset = system_call("landlock_create_ruleset", get_address(attributes), size, 0)
    except OSError as error:
        raise Unsupported(f"landlock: {error.strerror}") from error
    try:
        _allow(ruleset, files.readable, READING)
        _allow(ruleset, files.executable, READING | EXECUTE)
        _allow(ruleset, files.writable, handled & ~(EXECUTE | MAKING_DEVICES))
        yield ruleset
    finally:
        os.close(ruleset)


def restrict_thread(ruleset: int) -> None:
    """Apply rules to this thread and its children. Raises Unsupported."""
    try:
        set_no_new_privileges()
        system_call("landlock_restrict_self", ruleset, 0)
    except OSError as error:
        raise Unsupported(f"landlock: {error.strerror}") from error


def _rights() -> int:
    added = (right for since, right in ADDED_RIGHTS.items() if version() >= since)
    return FIRST_RIGHTS | sum(added)


def _allow(ruleset: int, paths: Iterable[str | os.PathLike[str]], rights: int) -> None:
    for path in dict.fromkeys(os.fspath(path) for path in paths):
        with suppress(OSError):
            _allow_path(ruleset, path, rights)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    folder = os.open(path, O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            rights &= OF_FILES
        rule = _Beneath(rights, folder)
        system_call("landlock_add_rule", ruleset, PATH_BENEATH, get_address(rule), 0)
    finally:
        os.close(folder)
