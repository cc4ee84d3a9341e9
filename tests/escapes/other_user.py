"""To be another user, who may start the interpreter, though it lies in a folder of root's alone."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

NOT_ALLOWED = 77
CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
_system = ctypes.CDLL(None, use_errno=True)


def be(user: int) -> None:
    """Be another user, once everything is imported; raises OSError if that is not allowed."""
    if user == os.getuid():
        return
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def be_for_all_programs(user: int) -> None:
    """The same for a process that starts Python: in separate folders in place of root's.

    Exits with NOT_ALLOWED where it may not mount any.
    """
    if user == os.getuid():
        return
    try:
        _expect(_system.unshare(CLONE_NEWNS))
        _mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
    except OSError:
        raise SystemExit(NOT_ALLOWED) from None
    shown = _Shown()
    for path in (sys.base_prefix, sys.prefix, sys.executable, *filter(None, sys.path)):
        shown.show(Path(path))
        shown.show(Path(path).resolve())
    be(user)


class _Shown:
    """Folders that others may not enter, in whose place are new ones with only what is needed."""

    def __init__(self) -> None:
        self._originals: dict[Path, int] = {}

    def show(self, path: Path) -> None:
        for folder in reversed(path.parents):
            if folder not in self._originals:
                if not folder.is_dir() or folder.stat().st_mode & 1:
                    continue
                self._originals[folder] = os.open(folder, os.O_RDONLY)
                _mount("tmpfs", folder, "tmpfs", 0, "mode=755")
            self._show_in(folder, path.relative_to(folder).parts[0])

    def _show_in(self, folder: Path, name: str) -> None:
        source, target = Path(f"/proc/self/fd/{self._originals[folder]}/{name}"), folder / name
        if target.exists() or not source.exists():
            return
        if source.is_dir():
            target.mkdir()
        else:
            target.touch()
        _mount(str(source), target, None, MS_BIND | MS_REC)


def _mount(source: str, target: Path, kind: str | None, flags: int, options: str = "") -> None:
    _expect(
        _system.mount(
            source.encode(),
            bytes(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            options.encode() or None,
        )
    )


def _expect(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
